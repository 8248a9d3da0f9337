"""Multi-view models: norms over views, one shared space or one space per view."""
