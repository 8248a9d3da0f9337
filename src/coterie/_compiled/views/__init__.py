"""Multi-view models: norms over views in one common feature space, or in one space per view."""
