"""Averaged weights: the exact mean of the weights before each round.

The arithmetic is in ``_compiled/primal/averaged.py``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from coterie import spec
from coterie._compiled.primal import averaged as models
from coterie._compiled.primal.grouped import Grouped

from .linear_weights import LinearWeights
from .wrapper import HypothesisWrapper


@spec.part
class Averaged(HypothesisWrapper):
    """Averaged weights: predict by the mean of the weights before each round, W̄ = (1/T) Σ_t W_{t-1}.

    W_{t-1} are the weights before round t, T is the number of rounds, and M = A⁻¹ the matrix by which tasks share
    updates.

    The wrapped weights learn by their own margins (FOR09 §3.1.3). The mean is exact and takes twice the memory: a
    second table sums every update times its round, so that with the sum of the updates Θ and that of the timed updates
    Φ, T·W̄ = M(T·Θ - Φ). The second table is always float64; if the weights are float64 too, it is stored next to them.

    Parameters
    ----------
    hypothesis : LinearWeights
        The weights to average.

    Examples
    --------
    >>> Averaged(LinearWeights(storage="dense")).hypothesis.storage
    'dense'
    """

    hypothesis: LinearWeights

    def __post_init__(self) -> None:
        if not isinstance(self.hypothesis, LinearWeights):
            raise TypeError(f"Averaged cannot average {self.hypothesis!r}; pass LinearWeights()")

    def make_model(
        self, form: str, sharing: Any, groups: int, tasks: int, features: int, dense: bool
    ) -> models.AveragedPairs | models.Averaged:
        """Return an empty model with a second table, which sums the updates times their rounds."""
        if form in ("levels", "repelling levels"):
            tables = replace(self.hypothesis.tables, numbers=2).make_pair(groups, tasks, features, dense)
            return models.AveragedPairs.from_model(Grouped(*tables, sharing), np.zeros(1))
        weights, twin = (
            self.hypothesis.make_model(form, sharing, groups, tasks, features, dense) for _ in ("weights", "twin")
        )
        return models.Averaged(weights, twin, np.zeros(1))
