"""The round over support vectors: expansions, budgets, projections, covariances."""
