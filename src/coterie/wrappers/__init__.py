"""Wrappers: they keep the form of what they wrap and change one thing about it."""

from .averaged import Averaged
from .forgetting import Forgetting, forgetting
from .signed import Signed

__all__ = ["Averaged", "Forgetting", "Signed", "forgetting"]
