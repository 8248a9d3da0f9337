"""What is stored, and the geometry in which it moves."""

from .adaptive import AdaptiveGradient, DiagonalAROW
from .linear import Linear

__all__ = ["AdaptiveGradient", "DiagonalAROW", "Linear"]
