"""Sparse graphs: columns and the diagonal of (I + L)^-1."""
