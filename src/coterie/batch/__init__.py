"""Batch multi-output learning with the relations of the online learners as output kernels (ROS11)."""

from .filters import CutOff, IteratedTikhonov, Landweber, NuMethod, Tikhonov
from .learning import OptimalOutputKernel
from .ridge import MultitaskKernelRidge

__all__ = [
    "CutOff",
    "IteratedTikhonov",
    "Landweber",
    "MultitaskKernelRidge",
    "NuMethod",
    "OptimalOutputKernel",
    "Tikhonov",
]
