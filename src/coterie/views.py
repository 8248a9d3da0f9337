"""Online estimators of records with several views, such as sound and image, and functions for such records."""

from coterie.inputs.view_input import PartialBlock, pad_views
from coterie.online.multiview import (
    MultiCueClassifier,
    MultiviewPerceptron,
    OrthogonalMultiviewPerceptron,
    ParallelPerceptrons,
    view_baselines,
)

__all__ = [
    "MultiCueClassifier",
    "MultiviewPerceptron",
    "OrthogonalMultiviewPerceptron",
    "ParallelPerceptrons",
    "PartialBlock",
    "pad_views",
    "view_baselines",
]
