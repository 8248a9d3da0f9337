"""Online multitask learning: one model for every user, customer or sensor, each learning from the others."""

from .asking import Always, Below, Margin, Randomly, RelationRow
from .hypotheses import AdaptiveGradient, DiagonalAROW, Linear
from .mixture import Member
from .online import (
    AdaptiveSharingClassifier,
    MultiLabel,
    MultitaskAROW,
    MultitaskLogistic,
    MultitaskPerceptron,
    MultitaskRegressor,
    OneVsRest,
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
from .rules import Absolute, Arow, EpsilonInsensitive, Logistic, PassiveAggressive, Perceptron, Squared
from .streams.comparison import Comparison, compare
from .streams.progressive import Trace, progressive_validation
from .wrappers import Forgetting

__version__ = "0.1.0"

__all__ = [
    "Absolute",
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
    "EpsilonInsensitive",
    "Forgetting",
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
    "MultiLabel",
    "MultitaskAROW",
    "MultitaskLogistic",
    "MultitaskPerceptron",
    "MultitaskRegressor",
    "OneVsRest",
    "PassiveAggressive",
    "Perceptron",
    "Pooled",
    "Primed",
    "Randomly",
    "RelationRow",
    "SelectiveSampling",
    "Squared",
    "TaskGraph",
    "Trace",
    "VonNeumann",
    "compare",
    "load",
    "progressive_validation",
]
