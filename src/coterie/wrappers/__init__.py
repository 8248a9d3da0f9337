"""Wrappers: they keep the form of what they wrap and change one thing about it."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
