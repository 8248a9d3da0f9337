"""Online multitask learning: one model for every user, customer or sensor, each learning from the others."""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
