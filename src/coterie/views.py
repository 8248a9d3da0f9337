"""Online estimators of multi-view records, such as sound and image, and functions for such records."""

from coterie.estimators.multiview import (
    MultiviewPerceptron,
    OrthogonalMultiviewPerceptron,
    ParallelPerceptrons,
)
from coterie.inputs.view_input import PartialBlock, pad_views

__all__ = [
    "MultiviewPerceptron",
    "OrthogonalMultiviewPerceptron",
    "ParallelPerceptrons",
    "PartialBlock",
    "pad_views",
]
