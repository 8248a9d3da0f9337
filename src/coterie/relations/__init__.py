"""How tasks share: the interaction matrix A, through its inverse M."""

from .hierarchy import Hierarchy
from .levels import Clusters, HalfUpdate, Independent, MeanRegularized, Pooled

__all__ = ["Clusters", "HalfUpdate", "Hierarchy", "Independent", "MeanRegularized", "Pooled"]
