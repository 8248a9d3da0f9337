"""Mistake bounds and regret bounds of the papers as functions of a stream."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
