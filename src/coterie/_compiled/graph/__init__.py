"""Sparse graphs: columns and the diagonal of (I + L)⁻¹, with the graph Laplacian L."""
