"""Weights whose tasks learn from each other's records, from some more than from others."""

from __future__ import annotations

from typing import Any, ClassVar

from coterie import spec
from coterie.numeric.smoothed import Smoothed


@spec.part
class SmoothedWeights:
    """Weights that all tasks' records move, by relations that are learned from losses (Murugesan et al. 2016).

    Parameters
    ----------
    share : float from 0 to 1
        How much other tasks' records count, all together, beside the task's own, which count 1 - share.
    rate : float >= 0
        How fast relations follow the losses of one task's weights on another one's records; 0 leaves them alike.
    step : float > 0
        How far a record moves.

    Raises
    ------
    ValueError
        For numbers out of range.

    Examples
    --------
    >>> SmoothedWeights(share=0.3)
    SmoothedWeights(share=0.3, rate=0.1, step=1.0)
    """

    share: float = spec.field(default=0.5, at_least=0, at_most=1)
    rate: float = spec.field(default=0.1, at_least=0)
    step: float = spec.field(default=1.0, above=0)

    forms: ClassVar[tuple[str, ...]] = ("levels",)

    def start(self, sharing: Any, features: int, dense: bool) -> Smoothed:
        """Make a model of no task."""
        return Smoothed.empty(sharing, features)
