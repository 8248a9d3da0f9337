"""Online multitask learning: one model for every user, customer or sensor, each learning from the others."""

from .asking import Always, Below, Margin, Randomly, RelationRow
from .budgets import Forgetron, Projection, Projectron, RandomRemoval, SharedProjection, Unbounded
from .hypotheses import AdaptiveGradient, DiagonalAROW, Linear
from .kernels import Gaussian, Normalised, Pairwise, Polynomial, Precomputed, median_distance
from .mixture import Member
from .online import (
    AdaptiveSharingClassifier,
    MultitaskAROW,
    MultitaskKernelPerceptron,
    MultitaskLogistic,
    MultitaskPerceptron,
    SelectiveSampling,
)
from .persistence import load
from .relations import (
    BatchOptimal,
    Clusters,
    Covariance,
    HalfUpdate,
    Hierarchy,
    Independent,
    Interaction,
    LogDet,
    MeanRegularized,
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
    "Always",
    "Arow",
    "BatchOptimal",
    "Below",
    "Clusters",
    "Comparison",
    "Covariance",
    "DiagonalAROW",
    "Forgetron",
    "Gaussian",
    "HalfUpdate",
    "Hierarchy",
    "Independent",
    "Interaction",
    "Linear",
    "LogDet",
    "Logistic",
    "Margin",
    "MeanRegularized",
    "Member",
    "MultitaskAROW",
    "MultitaskKernelPerceptron",
    "MultitaskLogistic",
    "MultitaskPerceptron",
    "Normalised",
    "Pairwise",
    "PassiveAggressive",
    "Perceptron",
    "Polynomial",
    "Pooled",
    "Precomputed",
    "Primed",
    "Projection",
    "Projectron",
    "RandomRemoval",
    "Randomly",
    "RelationRow",
    "SelectiveSampling",
    "SharedProjection",
    "TaskGraph",
    "Trace",
    "Unbounded",
    "VonNeumann",
    "compare",
    "load",
    "median_distance",
    "progressive_validation",
]
