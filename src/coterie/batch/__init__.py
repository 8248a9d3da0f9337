"""Batch multi-output learning, with the relations of the online learners as output kernels (ROS11)."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
