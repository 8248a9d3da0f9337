"""Averaged weights: the mean of the weights before each round, exact."""

from __future__ import annotations

from functools import cached_property, singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie import spec
from coterie.hypotheses import linear
from coterie.hypotheses.linear import Linear
from coterie.hypotheses.storage import Storage
from coterie.hypotheses.tables import Weights
from coterie.numeric import models
from coterie.numeric.learned import FreeTrace, Learned
from coterie.numeric.models import Columns, Grouped, Levels, SparseColumns, Spread
from coterie.numeric.tables import second

AnyAveraged = models.Averaged | models.AveragedPairs


@spec.part
class Averaged:
    """The low-risk hypothesis: predictions by the mean of the weights before each round, W̄ = (1/T) Σ_t W_{t-1}.

    The wrapped hypothesis goes on learning by its own margins (FOR09 §3.1.3). Exact, at twice the memory and at most a
    constant factor of the time: a twin gathers every move times the round it was made in, so that with the sum of the
    moves Θ and that of the timed moves Φ, T·W̄ = M(T·Θ - Φ). The twin is float64 whatever the weights
    are, and where they are float64, too, it lies beside them.

    Parameters
    ----------
    hypothesis : Linear
        What is averaged.

    Examples
    --------
    >>> Averaged(Linear(storage="dense")).hypothesis.storage
    'dense'
    """

    hypothesis: Linear

    def __post_init__(self) -> None:
        if "shortest" not in self.hypothesis.moves or not hasattr(self.hypothesis, "fades"):
            raise TypeError(f"Averaged cannot average {self.hypothesis!r}: it needs a Linear hypothesis")

    @property
    def forms(self) -> tuple[str, ...]:
        """The forms of relation that the wrapped hypothesis learns under."""
        return self.hypothesis.forms

    @property
    def moves(self) -> tuple[str, ...]:
        """The moves that the wrapped hypothesis can make."""
        return self.hypothesis.moves

    def grouped(self, levels: Levels, groups: int, tasks: int, features: int, dense: bool) -> AnyAveraged:
        """As the wrapped hypothesis, each weight with its twin beside it where the two are of one type."""
        if self.hypothesis.dtype == "float64":
            made = self._pairs.table(groups, features, dense, shared=True), self._pairs.table(tasks, features, dense)
            return _beside(Grouped(*made, levels), np.zeros(1))
        model, twin = (each.grouped(levels, groups, tasks, features, dense) for each in (self.hypothesis, self._twin))
        return models.Averaged(model, twin, np.zeros(1))

    def spread(self, columns: Columns | SparseColumns, tasks: int, features: int, dense: bool) -> models.Averaged:
        """As the wrapped hypothesis, with a twin beside it."""
        model, twin = (each.spread(columns, tasks, features, dense) for each in (self.hypothesis, self._twin))
        return models.Averaged(model, twin, np.zeros(1))

    def learned(self, relation: Any, tasks: int, features: int, dense: bool) -> models.Averaged:
        """As the wrapped hypothesis, with a twin beside it that moves by the same relation."""
        model, twin = (each.learned(relation, tasks, features, dense) for each in (self.hypothesis, self._twin))
        return models.Averaged(model, twin, np.zeros(1))

    def fit(self, model: AnyAveraged, groups: int, tasks: int, features: int, dense: bool) -> AnyAveraged:
        """The model and its twin with room for so many groups, tasks and features."""
        return _fit(model, self, groups, tasks, features, dense)  # type: ignore[no-any-return]

    @cached_property
    def _twin(self) -> Linear:
        return Linear(self.hypothesis.storage, "float64", self.hypothesis.bits)

    @cached_property
    def _pairs(self) -> Storage:
        return Storage(self.hypothesis.storage, self.hypothesis.dtype, self.hypothesis.bits, paired=True)


def _beside(model: Grouped, clock: NDArray[np.float64]) -> models.AveragedPairs:
    """A model of pairs with the twin that their second numbers are."""
    twin = model._replace(groups=second(model.groups), tasks=second(model.tasks))
    return models.AveragedPairs(model, twin, clock)


@singledispatch
def _fit(model: Any, averaged: Averaged, groups: int, tasks: int, features: int, dense: bool) -> Any:
    raise TypeError(f"not an averaged model: {type(model).__name__}")


@_fit.register
def _(model: models.Averaged, averaged: Averaged, groups: int, tasks: int, features: int, dense: bool) -> Any:
    return model._replace(
        model=averaged.hypothesis.fit(model.model, groups, tasks, features, dense),
        twin=averaged._twin.fit(model.twin, groups, tasks, features, dense),
    )


@_fit.register
def _(model: models.AveragedPairs, averaged: Averaged, groups: int, tasks: int, features: int, dense: bool) -> Any:
    return _beside(averaged._pairs.fit_grouped(model.model, groups, tasks, features, dense), model.clock)


@linear.make_room.register
def _(model: models.Averaged, i: int, entries: int) -> models.Averaged:
    return model._replace(
        model=linear.make_room(model.model, i, entries), twin=linear.make_room(model.twin, i, entries)
    )


@linear.make_room.register
def _(model: models.AveragedPairs, i: int, entries: int) -> models.AveragedPairs:
    return _beside(linear.make_room(model.model, i, entries), model.clock)


@linear.levels_of.register(models.Averaged)
@linear.levels_of.register(models.AveragedPairs)
def _(model: AnyAveraged) -> Levels:
    return linear.levels_of(model.model)


@linear.with_levels.register
def _(model: models.Averaged, levels: Levels) -> models.Averaged:
    return model._replace(model=linear.with_levels(model.model, levels), twin=linear.with_levels(model.twin, levels))


@linear.with_levels.register
def _(model: models.AveragedPairs, levels: Levels) -> models.AveragedPairs:
    return _beside(linear.with_levels(model.model, levels), model.clock)


@linear.without_copies.register
def _(model: models.AveragedPairs) -> models.AveragedPairs:
    return model._replace(twin=None)


@linear.with_columns.register
def _(model: models.Averaged, columns: Any) -> models.Averaged:
    return model._replace(
        model=linear.with_columns(model.model, columns), twin=linear.with_columns(model.twin, columns)
    )


@linear.relation_of.register
def _(model: models.Averaged) -> Any:
    return linear.relation_of(model.model)


@linear.with_relation.register
def _(model: models.Averaged, relation: Any) -> models.Averaged:
    return model._replace(
        model=linear.with_relation(model.model, relation), twin=linear.with_relation(model.twin, relation)
    )


@linear.without_copies.register
def _(model: models.Averaged) -> models.Averaged:
    return model._replace(twin=linear.with_relation(model.twin, FreeTrace(0)))


@linear.nothing.register
def _(model: models.Averaged, tasks: int) -> models.Averaged:
    return model._replace(model=linear.nothing(model.model, tasks), twin=linear.nothing(model.twin, tasks))


@linear.weights.register(models.Averaged)
@linear.weights.register(models.AveragedPairs)
def _(model: AnyAveraged, tasks: int, features: int) -> Weights:
    rounds = float(model.clock[0])
    return np.asarray(_MEANS[type(model.model)](model, tasks, features, rounds) / max(rounds, 1.0))


def _mean_grouped(model: AnyAveraged, tasks: int, features: int, rounds: float) -> Weights:
    levels = linear.levels_of(model)
    integral = levels.spent + levels.weight * (rounds - levels.since)
    moves = linear.combine(model.model, levels.own[:tasks] * rounds, integral, tasks, features)
    return moves - _plain(model.twin, tasks, features)


def _plain(twin: Grouped, tasks: int, features: int) -> Weights:
    specific: NDArray[np.float64] = (twin.levels.own[:tasks] != 0).astype(np.float64)
    return linear.combine(twin, specific, np.ones(len(twin.levels.weight)), tasks, features)


def _mean_spread(model: AnyAveraged, tasks: int, features: int, rounds: float) -> Weights:
    return rounds * linear.weights(model.model, tasks, features) - linear.weights(model.twin, tasks, features)


_MEANS: dict[type, Any] = {Grouped: _mean_grouped, Spread: _mean_spread, Learned: _mean_spread}
