"""Wrappers: they keep the form of what they wrap and change one thing about it."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import spec
from .hypotheses import linear
from .hypotheses.linear import Linear
from .hypotheses.storage import Storage
from .hypotheses.tables import Weights
from .numeric import models
from .numeric.arrays import grown
from .numeric.fading import Faded, Forgetful
from .numeric.learned import FreeTrace, Learned
from .numeric.models import Columns, Grouped, Levels, SparseColumns, Spread
from .numeric.signed import Signed as SignedModel
from .numeric.tables import second

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

    @property
    def _twin(self) -> Linear:
        return Linear(self.hypothesis.storage, "float64", self.hypothesis.bits)

    @property
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


@spec.part
class Signed:
    """Tasks that mirror the others share with their signs turned: task i sees the model through sigma_i = sign(c_i).

    The vote c_i begins at ``prior`` and counts, round by round, whether the model unturned was right about task i,
    c_i += y · sign(margin unturned). A task whose vote falls below zero predicts and learns with all signs turned, so
    that what the others know of it is used rather than unlearned. With a quarter of the tasks turned round this takes
    back most of the loss; where none is, it costs nothing. Meant for :class:`coterie.relations.Pooled`.

    Parameters
    ----------
    hypothesis : part
        What is shared.
    prior : float >= 0
        How many rounds must have spoken against a task's sign before it turns.

    Examples
    --------
    >>> from coterie.hypotheses import AdaptiveGradient
    >>> Signed(AdaptiveGradient()).prior
    5.0
    """

    hypothesis: Any
    prior: float = 5.0

    def __post_init__(self) -> None:
        if not (self.prior >= 0 and np.isfinite(self.prior)):
            raise ValueError(f"prior must be finite and at least 0, got {self.prior!r}")
        if "levels" not in self.forms:
            raise TypeError(f"Signed cannot turn {self.hypothesis!r}: it needs a hypothesis for relations by levels")

    @property
    def forms(self) -> tuple[str, ...]:
        """The forms of relation that the wrapped hypothesis learns under, those that give columns excepted."""
        return tuple(form for form in self.hypothesis.forms if form != "columns")

    @property
    def moves(self) -> tuple[str, ...]:
        """The moves that the wrapped hypothesis can make."""
        return tuple(self.hypothesis.moves)

    def grouped(self, levels: Levels, groups: int, tasks: int, features: int, dense: bool) -> SignedModel:
        """As the wrapped hypothesis, with a vote for every task."""
        model = self.hypothesis.grouped(levels, groups, tasks, features, dense)
        return SignedModel(model, np.zeros(len(levels.own)), float(self.prior))

    def fit(self, model: SignedModel, groups: int, tasks: int, features: int, dense: bool) -> SignedModel:
        """The model with room for so many groups, tasks and features."""
        votes = grown(model.votes, len(linear.levels_of(model).own))
        return model._replace(model=self.hypothesis.fit(model.model, groups, tasks, features, dense), votes=votes)


@linear.make_room.register
def _(model: SignedModel, i: int, entries: int) -> SignedModel:
    return model._replace(model=linear.make_room(model.model, i, entries))


@linear.levels_of.register
def _(model: SignedModel) -> Levels:
    return linear.levels_of(model.model)


@linear.with_levels.register
def _(model: SignedModel, levels: Levels) -> SignedModel:
    return model._replace(model=linear.with_levels(model.model, levels))


@linear.as_unseen.register
def _(model: SignedModel, levels: Levels) -> SignedModel:
    return model._replace(model=linear.as_unseen(model.model, levels), votes=np.zeros(len(levels.own)))


@linear.weights.register
def _(model: SignedModel, tasks: int, features: int) -> Weights:
    signs = np.where(model.prior + model.votes[:tasks] >= 0.0, 1.0, -1.0)
    return np.asarray(signs[:, None] * linear.weights(model.model, tasks, features))


@spec.part
class Forgetting:
    """Weights that fade: after every round what is shared shrinks by 2^(-1/``shared``), a task's own by 2^(-1/``own``).

    A move counts half when so many rounds of the stream have passed, whatever their tasks and whether they moved
    anything. For :class:`coterie.AdaptiveGradient` the sums of squared gradients fade with the weights, so that rates
    grow again; for :class:`coterie.DiagonalAROW` the precision that was gained, so that variances do. A task that is
    seldom seen falls back to what is shared.

    Parameters
    ----------
    hypothesis : Linear, AdaptiveGradient or DiagonalAROW
        What forgets.
    shared, own : float > 0
        Half-lives in rounds; infinity forgets nothing. For relations that are not of nested groups the two must be the
        same.

    Raises
    ------
    ValueError
        If a half-life is not positive.
    TypeError
        If the hypothesis cannot forget.

    Notes
    -----
    O(1) a round beside what the hypothesis costs, by a scale for each table; memory as without.

    Examples
    --------
    >>> from coterie import Linear
    >>> Forgetting(Linear(), shared=10_000, own=1000).own
    1000
    """

    hypothesis: Any
    shared: float = 10_000.0
    own: float = 10_000.0

    def __post_init__(self) -> None:
        for name in ("shared", "own"):
            if not getattr(self, name) > 0:
                raise ValueError(f"the half-life {name} must be positive, got {getattr(self, name)!r}")
        if not getattr(self.hypothesis, "fades", False):
            raise TypeError(f"Forgetting needs Linear, AdaptiveGradient or DiagonalAROW, got {self.hypothesis!r}")

    @property
    def forms(self) -> tuple[str, ...]:
        """Nested groups, and any fixed relation where the half-lives are the same."""
        forms = self.hypothesis.forms
        return tuple(form for form in forms if "levels" in form or (form == "columns" and self.shared == self.own))

    @property
    def moves(self) -> tuple[str, ...]:
        """The moves that the wrapped hypothesis can make."""
        return tuple(self.hypothesis.moves)

    def grouped(self, levels: Levels, groups: int, tasks: int, features: int, dense: bool) -> Forgetful:
        """As the wrapped hypothesis, with a scale for each of the two tables."""
        model = self.hypothesis.grouped(levels, groups, tasks, features, dense)
        return self._forgetful(_scaled(model, {name: np.ones(1) for name in ("groups", "tasks")}))

    def spread(self, columns: Columns | SparseColumns, tasks: int, features: int, dense: bool) -> Forgetful:
        """As the wrapped hypothesis, with a scale for the table."""
        model = self.hypothesis.spread(columns, tasks, features, dense)
        return self._forgetful(_scaled(model, {"table": np.ones(1)}))

    def fit(self, model: Forgetful, groups: int, tasks: int, features: int, dense: bool) -> Forgetful:
        """The model with room for so many groups, tasks and features."""
        plain, scales = _plain_tables(model)
        return model._replace(model=_scaled(self.hypothesis.fit(plain, groups, tasks, features, dense), scales))

    def _forgetful(self, model: Any) -> Forgetful:
        return Forgetful(model, *(float(2.0 ** (-1.0 / half_life)) for half_life in (self.shared, self.own)))


def forgetting(hypothesis: Any, half_life: float | tuple[float, ...] | None) -> Any:
    """The hypothesis, forgetting if a half-life is given: one for all, or those of the shared and the own part."""
    if half_life is None:
        return hypothesis
    both = tuple(half_life) if isinstance(half_life, (tuple, list)) else (half_life, half_life)
    if len(both) != 2:
        raise ValueError(
            f"half_life must be one number or two, of what is shared and of a task's own, got {half_life!r}"
        )
    return Forgetting(hypothesis, *both)


def _scaled(model: Any, scales: dict[str, NDArray[np.float64]]) -> Any:
    return model._replace(**{name: Faded(getattr(model, name), scale) for name, scale in scales.items()})


def _plain_tables(model: Forgetful) -> tuple[Any, dict[str, NDArray[np.float64]]]:
    """What is wrapped, its tables as they are stored, and their scales."""
    names = [name for name in ("groups", "tasks", "table") if name in model.model._fields]
    faded = {name: getattr(model.model, name) for name in names}
    plain = model.model._replace(**{name: table.table for name, table in faded.items()})
    return plain, {name: table.scale for name, table in faded.items()}


@linear.make_room.register
def _(model: Forgetful, i: int, entries: int) -> Forgetful:
    plain, scales = _plain_tables(model)
    return model._replace(model=_scaled(linear.make_room(plain, i, entries), scales))


@linear.levels_of.register
def _(model: Forgetful) -> Levels:
    return linear.levels_of(model.model)


@linear.with_levels.register
def _(model: Forgetful, levels: Levels) -> Forgetful:
    return model._replace(model=linear.with_levels(model.model, levels))


@linear.as_unseen.register
def _(model: Forgetful, levels: Levels) -> Forgetful:
    return model._replace(model=linear.as_unseen(model.model, levels))


@linear.with_columns.register
def _(model: Forgetful, columns: Any) -> Forgetful:
    return model._replace(model=linear.with_columns(model.model, columns))


@linear.weights.register
def _(model: Forgetful, tasks: int, features: int) -> Weights:
    plain, scales = _plain_tables(model)
    if "table" in scales:
        return np.asarray(scales["table"][0] * linear.weights(plain, tasks, features))
    own, weight = linear.factors(plain, tasks)
    return linear.combine(plain, own * scales["tasks"][0], weight * scales["groups"][0], tasks, features)
