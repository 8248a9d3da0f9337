"""Multi-view learning: online estimators for records with several feature vectors, such as sound and image."""

from coterie.data.view_input import PartialBlock, pad_views
from coterie.estimators.multiview import MultiviewPerceptron, OrthogonalMultiviewPerceptron, ParallelPerceptrons

__all__ = ["MultiviewPerceptron", "OrthogonalMultiviewPerceptron", "ParallelPerceptrons", "PartialBlock", "pad_views"]
