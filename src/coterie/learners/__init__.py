"""Learners whose rounds go by blocks or other loops than that over single records: kernels, covariances, views."""
