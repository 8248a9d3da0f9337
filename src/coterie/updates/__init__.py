"""The parts of an update: rules, weights, support vector budgets, potentials and query strategies."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
