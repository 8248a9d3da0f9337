"""Relations between tasks: the interaction matrix A, through its inverse M = A⁻¹.

A record of task i updates the weights of every task j by M_ji times its step. Relations that are learned are updated in
``_compiled/primal/relation_updates.py``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
