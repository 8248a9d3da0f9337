"""Data input: read files, validate arrays and frames, and encode records as numeric feature rows and labels."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
