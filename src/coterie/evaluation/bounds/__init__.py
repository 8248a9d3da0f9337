"""Theorems of the papers as functions: mistake bounds for any stream, and the regret bound of a bandit."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
