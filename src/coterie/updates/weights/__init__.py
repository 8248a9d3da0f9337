"""Weights of models (primal or dual), and the way in which updates change them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
