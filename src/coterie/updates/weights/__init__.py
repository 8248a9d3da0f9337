"""Weights: the storage of weights or support vectors, and the geometry of their updates."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
