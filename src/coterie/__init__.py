"""Online multitask learning: one model for every user, customer or sensor, each learning from the others."""

from .hypotheses import Linear
from .online import MultitaskPerceptron
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

__version__ = "0.1.0"

__all__ = [
    "Clusters",
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
]
