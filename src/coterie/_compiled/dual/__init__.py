"""Dual models: support vectors, budgets, projections, covariances."""
