"""Views: records as one vector or as several vectors of one thing, and learners of several."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
