"""Linear models: rules, relations, adaptive steps, variances, averaging, forgetting, ensembles."""
