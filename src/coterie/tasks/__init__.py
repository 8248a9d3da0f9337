"""Tasks: their numbers in order of first appearance, their recency, and the relations between them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
