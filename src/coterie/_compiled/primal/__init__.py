"""Primal (linear) models: rules, relations, adaptive step sizes, variances, averaging, decay, ensembles."""
