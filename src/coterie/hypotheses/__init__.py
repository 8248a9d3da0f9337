"""What is stored, and the geometry in which it moves."""

from .linear import Linear

__all__ = ["Linear"]
