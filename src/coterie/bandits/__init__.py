"""Contextual bandits for many tasks, and off-policy evaluation from logs."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
