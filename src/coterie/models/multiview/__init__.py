"""Multi-view learning: records with several feature vectors (views), and their learners."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
