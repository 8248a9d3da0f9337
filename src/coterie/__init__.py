"""Online multitask learning: one model for every user, customer or sensor, each learning from the others."""

from .hypotheses import Linear
from .online import MultitaskPerceptron
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
from .rules import PassiveAggressive, Perceptron
from .streams.comparison import Comparison, compare
from .streams.progressive import Trace, progressive_validation

__version__ = "0.1.0"

__all__ = [
    "BatchOptimal",
    "Clusters",
    "Comparison",
    "Covariance",
    "HalfUpdate",
    "Hierarchy",
    "Independent",
    "Interaction",
    "Linear",
    "LogDet",
    "MeanRegularized",
    "MultitaskPerceptron",
    "PassiveAggressive",
    "Perceptron",
    "Pooled",
    "Primed",
    "TaskGraph",
    "Trace",
    "VonNeumann",
    "compare",
    "load",
    "progressive_validation",
]
