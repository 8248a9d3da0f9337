"""Learning by several workers: on threads of one machine, or on a cluster of Ray's."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
