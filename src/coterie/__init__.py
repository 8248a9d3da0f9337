"""Online multitask learning: one model for every user, customer or sensor, each learning from the others."""

from .batch import (
    CutOff,
    IteratedTikhonov,
    Landweber,
    MultitaskKernelRidge,
    NuMethod,
    OptimalOutputKernel,
    Tikhonov,
)
from .hypotheses import AdaptiveGradient, DiagonalAROW, Linear
from .kernels import Gaussian, Normalised, Pairwise, Polynomial, Precomputed, median_distance
from .mixture import Member
from .online import AdaptiveSharingClassifier, MultitaskAROW, MultitaskLogistic, MultitaskPerceptron
from .persistence import load
from .relations import (
    BatchOptimal,
    ClusterPenalty,
    Clusters,
    Covariance,
    GraphPenalty,
    HalfUpdate,
    Hierarchy,
    Independent,
    Interaction,
    LogDet,
    MeanRegularized,
    MixedEffect,
    Pooled,
    Primed,
    TaskGraph,
    VonNeumann,
)
from .rules import Arow, Logistic, PassiveAggressive, Perceptron
from .streams.comparison import Comparison, compare
from .streams.progressive import Trace, progressive_validation

__version__ = "0.1.0"

__all__ = [
    "AdaptiveGradient",
    "AdaptiveSharingClassifier",
    "Arow",
    "BatchOptimal",
    "ClusterPenalty",
    "Clusters",
    "Comparison",
    "Covariance",
    "CutOff",
    "DiagonalAROW",
    "Gaussian",
    "GraphPenalty",
    "HalfUpdate",
    "Hierarchy",
    "Independent",
    "Interaction",
    "IteratedTikhonov",
    "Landweber",
    "Linear",
    "LogDet",
    "Logistic",
    "MeanRegularized",
    "Member",
    "MixedEffect",
    "MultitaskAROW",
    "MultitaskKernelRidge",
    "MultitaskLogistic",
    "MultitaskPerceptron",
    "Normalised",
    "NuMethod",
    "OptimalOutputKernel",
    "Pairwise",
    "PassiveAggressive",
    "Perceptron",
    "Polynomial",
    "Pooled",
    "Precomputed",
    "Primed",
    "TaskGraph",
    "Tikhonov",
    "Trace",
    "VonNeumann",
    "compare",
    "load",
    "median_distance",
    "progressive_validation",
]
