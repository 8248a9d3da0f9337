"""Averaged weights: the mean of the weights before each round, exact."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from coterie import spec
from coterie.hypotheses.linear_weights import LinearWeights
from coterie.numeric.primal import averaged as models
from coterie.numeric.primal.grouped import Grouped

from .wrapper import HypothesisWrapper


@spec.part
class Averaged(HypothesisWrapper):
    """The low-risk hypothesis: predictions by the mean of the weights before each round, W̄ = (1/T) Σ_t W_{t-1}.

    The wrapped hypothesis goes on learning by its own margins (FOR09 §3.1.3). Exact, at twice the memory and at most a
    constant factor of the time: a twin gathers every move times the round it was made in, so that with the sum of the
    moves Θ and that of the timed moves Φ, T·W̄ = M(T·Θ - Φ). The twin is float64 whatever the weights are, and where
    they are float64, too, it lies beside them.

    Parameters
    ----------
    hypothesis : LinearWeights
        What is averaged.

    Examples
    --------
    >>> Averaged(LinearWeights(storage="dense")).hypothesis.storage
    'dense'
    """

    hypothesis: LinearWeights

    def __post_init__(self) -> None:
        if not isinstance(self.hypothesis, LinearWeights):
            raise TypeError(f"Averaged cannot average {self.hypothesis!r}: it needs a LinearWeights hypothesis")

    def make_model(
        self, form: str, sharing: Any, groups: int, tasks: int, features: int, dense: bool
    ) -> models.AveragedPairs | models.Averaged:
        """Make a model and its twin, which moves by the same relation: under nested groups, pairs of weights."""
        if form in ("levels", "repelling levels"):
            tables = replace(self.hypothesis.tables, numbers=2).make_pair(groups, tasks, features, dense)
            return models.AveragedPairs.from_model(Grouped(*tables, sharing), np.zeros(1))
        weights, twin = (
            self.hypothesis.make_model(form, sharing, groups, tasks, features, dense) for _ in ("weights", "twin")
        )
        return models.Averaged(weights, twin, np.zeros(1))
