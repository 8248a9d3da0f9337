"""Evaluation of predictions made before their labels: progressive validation, metrics, verdict."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
