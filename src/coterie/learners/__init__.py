"""The round for hypotheses that a compiled loop over single records does not suit: kernels, covariances, views."""
