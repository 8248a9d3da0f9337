"""Batch (offline) kernel methods for many tasks, with relations between tasks as output kernels (ROS11)."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
