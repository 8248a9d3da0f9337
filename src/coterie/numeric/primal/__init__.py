"""The round over weights: rules, relations, adaptive steps, variances, averaging, forgetting, mixtures."""
