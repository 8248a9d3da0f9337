"""Hypotheses: how weights or support vectors are stored, and the geometry in which they move."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
