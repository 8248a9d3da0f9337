"""Batch multi-output learning with the relations of the online learners as output kernels (ROS11)."""

from .choice import RidgePath, ridge_path
from .filters import CutOff, IteratedTikhonov, Landweber, NuMethod, Tikhonov
from .learning import OptimalOutputKernel
from .ridge import MultitaskKernelRidge
from .vector_field import CurlFree, DivergenceFree, FieldMixture, Separable, VectorFieldRidge

__all__ = [
    "CurlFree",
    "CutOff",
    "DivergenceFree",
    "FieldMixture",
    "IteratedTikhonov",
    "Landweber",
    "MultitaskKernelRidge",
    "NuMethod",
    "OptimalOutputKernel",
    "RidgePath",
    "Separable",
    "Tikhonov",
    "VectorFieldRidge",
    "ridge_path",
]
