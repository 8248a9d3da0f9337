"""How tasks share: the interaction matrix A, through its inverse M."""

from .graph import TaskGraph
from .hierarchy import Hierarchy
from .interaction import Interaction
from .learned import BatchOptimal, Covariance, LogDet, VonNeumann
from .levels import Clusters, HalfUpdate, Independent, MeanRegularized, Pooled
from .primed import Primed

__all__ = [
    "BatchOptimal",
    "Clusters",
    "Covariance",
    "HalfUpdate",
    "Hierarchy",
    "Independent",
    "Interaction",
    "LogDet",
    "MeanRegularized",
    "Pooled",
    "Primed",
    "TaskGraph",
    "VonNeumann",
]
