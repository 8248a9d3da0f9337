"""What is stored, and the geometry in which it moves."""

from .adaptive import AdaptiveGradient, DiagonalAROW
from .full import FullCovariance
from .heterogeneous import Heterogeneous
from .linear import Linear
from .p_norm import PNormed

__all__ = ["AdaptiveGradient", "DiagonalAROW", "FullCovariance", "Heterogeneous", "Linear", "PNormed"]
