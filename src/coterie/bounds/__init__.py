"""The papers' theorems as functions: the most mistakes that a learner can make on any stream, and a bandit's regret."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
