"""How tasks share: the interaction matrix A, through its inverse M."""

from .graph import TaskGraph
from .hierarchy import Hierarchy
from .interaction import Interaction
from .levels import Clusters, HalfUpdate, Independent, MeanRegularized, Pooled

__all__ = [
    "Clusters",
    "HalfUpdate",
    "Hierarchy",
    "Independent",
    "Interaction",
    "MeanRegularized",
    "Pooled",
    "TaskGraph",
]
