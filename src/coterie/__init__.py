"""Online multitask learning: one model for every user, customer or sensor, each learning from the others."""

from .hypotheses import Linear
from .online import MultitaskPerceptron
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
from .rules import PassiveAggressive, Perceptron
from .streams.comparison import Comparison, compare
from .streams.progressive import Trace, progressive_validation

__version__ = "0.1.0"

__all__ = [
    "Clusters",
    "Comparison",
    "HalfUpdate",
    "Hierarchy",
    "Independent",
    "Interaction",
    "Linear",
    "MeanRegularized",
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
