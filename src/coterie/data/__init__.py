"""Records to rows: files are read, and arrays, frames, Arrow columns and dictionaries are checked and encoded."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
