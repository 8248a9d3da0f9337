"""Dual (kernel) models: support vectors, budgets, projections, covariances."""
