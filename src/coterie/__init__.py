"""Online multitask learning: one model for every user, customer or sensor, each learning from the others."""

from .asking import Always, Below, Margin, Randomly, RelationRow
from .hypotheses import AdaptiveGradient, DiagonalAROW, Linear
from .mixture import Member
from .online import AdaptiveSharingClassifier, MultitaskAROW, MultitaskLogistic, MultitaskPerceptron, SelectiveSampling
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
    "MultitaskLogistic",
    "MultitaskPerceptron",
    "PassiveAggressive",
    "Perceptron",
    "Pooled",
    "Primed",
    "Randomly",
    "RelationRow",
    "SelectiveSampling",
    "TaskGraph",
    "Trace",
    "VonNeumann",
    "compare",
    "load",
    "progressive_validation",
]
