"""Online multitask learning: one model for every user, customer or sensor, each learning from the others."""

from .hypotheses import AdaptiveGradient, DiagonalAROW, Linear
from .mixture import Member
from .online import AdaptiveSharingClassifier, MultitaskAROW, MultitaskLogistic, MultitaskPerceptron
from .persistence import load
from .relations import (
    Clusters,
    HalfUpdate,
    Hierarchy,
    Independent,
    Interaction,
    MeanRegularized,
    Pooled,
    TaskGraph,
)
from .rules import Arow, Logistic, PassiveAggressive, Perceptron
from .streams.comparison import Comparison, compare
from .streams.progressive import Trace, progressive_validation

__version__ = "0.1.0"

__all__ = [
    "AdaptiveGradient",
    "AdaptiveSharingClassifier",
    "Arow",
    "Clusters",
    "Comparison",
    "DiagonalAROW",
    "HalfUpdate",
    "Hierarchy",
    "Independent",
    "Interaction",
    "Linear",
    "Logistic",
    "MeanRegularized",
    "Member",
    "MultitaskAROW",
    "MultitaskLogistic",
    "MultitaskPerceptron",
    "PassiveAggressive",
    "Perceptron",
    "Pooled",
    "TaskGraph",
    "Trace",
    "compare",
    "load",
    "progressive_validation",
]
