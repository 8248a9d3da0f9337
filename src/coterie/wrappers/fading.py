"""Weights that fade, what is shared and what is a task's own apart."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie import spec
from coterie.hypotheses import linear
from coterie.hypotheses.tables import Weights
from coterie.numeric.fading import Faded, Forgetful
from coterie.numeric.models import Columns, Levels, SparseColumns


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
                raise ValueError(f"{name} must be a positive half-life, got {getattr(self, name)!r}")
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
