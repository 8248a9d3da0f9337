"""Predictions made before their labels are seen, and how good they were: progressive validation, metrics, verdict."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
