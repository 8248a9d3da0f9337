"""The parts of an update: rules, weights, support vector budgets, potentials and query strategies.

They hold parameters and state; their arithmetic is in ``_compiled``: AROW in ``primal/confidence.py``, budgets in
``dual/eviction.py``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
