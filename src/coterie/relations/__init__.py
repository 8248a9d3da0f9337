"""How tasks share: the interaction matrix A, through its inverse M."""

from .graph import TaskGraph
from .hierarchy import Hierarchy
from .interaction import Interaction
from .learned import BatchOptimal, Covariance, LogDet, VonNeumann
from .levels import Clusters, HalfUpdate, Independent, MeanRegularized, Pooled
from .primed import Primed
from .regularizers import ClusterPenalty, GraphPenalty, MixedEffect

__all__ = [
    "BatchOptimal",
    "ClusterPenalty",
    "Clusters",
    "Covariance",
    "GraphPenalty",
    "HalfUpdate",
    "Hierarchy",
    "Independent",
    "Interaction",
    "LogDet",
    "MeanRegularized",
    "MixedEffect",
    "Pooled",
    "Primed",
    "TaskGraph",
    "VonNeumann",
]
