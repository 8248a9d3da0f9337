"""Batch multi-output learning with the relations of the online learners as output kernels (ROS11)."""

from .classifier import MultitaskKernelClassifier
from .filters import CutOff, IteratedTikhonov, Landweber, NuMethod, Tikhonov
from .linear_svm import MultitaskLinearSVC, MultitaskLinearSVR
from .output_kernel import OptimalOutputKernel
from .path import RidgePath, ridge_path
from .ridge import MultitaskKernelRidge
from .svm import MultitaskSVC, MultitaskSVR
from .vector_field import CurlFree, DivergenceFree, FieldMixture, Separable, VectorFieldRidge

__all__ = [
    "CurlFree",
    "CutOff",
    "DivergenceFree",
    "FieldMixture",
    "IteratedTikhonov",
    "Landweber",
    "MultitaskKernelClassifier",
    "MultitaskKernelRidge",
    "MultitaskLinearSVC",
    "MultitaskLinearSVR",
    "MultitaskSVC",
    "MultitaskSVR",
    "NuMethod",
    "OptimalOutputKernel",
    "RidgePath",
    "Separable",
    "Tikhonov",
    "VectorFieldRidge",
    "ridge_path",
]
