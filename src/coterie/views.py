"""Online estimators of multi-view records, such as sound and image, and functions for such records."""

from coterie.data.view_input import PartialBlock, pad_views
from coterie.estimators.multiview import MultiviewPerceptron, OrthogonalMultiviewPerceptron, ParallelPerceptrons

__all__ = [
    "MultiviewPerceptron",
    "OrthogonalMultiviewPerceptron",
    "ParallelPerceptrons",
    "PartialBlock",
    "pad_views",
]
