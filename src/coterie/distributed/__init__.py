"""Sharded learning: tasks are divided among several estimators, which learn in parallel on Ray."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
