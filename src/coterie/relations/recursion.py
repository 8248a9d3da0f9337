"""The arrays of a learned relation as they are made and as tasks and features arrive."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.numeric import laws  # noqa: F401 - the bodies of what is compiled
from coterie.numeric import learned as compiled
from coterie.numeric.exponential import exponential

Matrix = NDArray[np.float64]

#: Moves since the latest revision, anything but 1, so that the next one inverts afresh; revisions since the inversion.
NEVER_INVERTED = np.array([2, 0])


def trace(unit: bool) -> Any:
    """What is done about the trace of A."""
    return compiled.UnitTrace(1) if unit else compiled.FreeTrace(0)


def from_round(first: float) -> compiled.FromRound:
    """A is revised from this round on, the first being 1."""
    return compiled.FromRound(np.zeros(1, np.int64), float(first))


def when_settled(n_tasks: int, moves: int, tolerance: float) -> compiled.WhenSettled:
    """A is revised when the correlations have settled, which is looked at after so many moves and each doubling."""
    counts = np.array([0, moves, 0])
    return compiled.WhenSettled(np.zeros(1, np.int64), counts, np.zeros((n_tasks, n_tasks)), tolerance)


def relation(law: Any, order: Any, pace: Any, start: Any, n_tasks: int) -> compiled.Relation:
    """The state before the first round: A_0 = I / K, W = 0."""
    K = n_tasks
    gram = compiled.Gram(np.zeros((K, K)), np.zeros(K))
    move = compiled.Move(np.zeros(K), np.zeros(K), np.zeros(2))
    first = float(max(K, 1))
    return compiled.Relation(law, order, pace, start, first * np.eye(K), gram, move, np.zeros(3, np.int64), first)


def grown_to(state: compiled.Relation, n_tasks: int, features: int) -> compiled.Relation:
    """The state with new tasks that have no weights yet, as if they had been known from the start."""
    fresh = n_tasks - len(state.inverse)
    diagonal = _untouched(state.law, state.first) if state.status[2] else state.first
    state = state._replace(
        law=_grown_law(state.law, fresh, features, state.first),
        start=_grown_start(state.start, fresh),
        inverse=bordered(state.inverse, fresh, diagonal),
        gram=compiled.Gram(bordered(state.gram.products, fresh), padded(state.gram.sums, fresh)),
        move=compiled.Move(padded(state.move.column, fresh), padded(state.move.along, fresh), state.move.size),
    )
    _bring_up(state.pace, state.law, state)
    return state


def bordered(M: Matrix, fresh: int, diagonal: float = 0.0) -> Matrix:
    """A square matrix with so many more rows and columns, zero but for the diagonal."""
    K = len(M)
    wider = np.zeros((K + fresh, K + fresh))
    wider[:K, :K] = M
    wider[range(K, K + fresh), range(K, K + fresh)] = diagonal
    return wider


def padded(vector: NDArray[Any], fresh: int, value: float = 0.0) -> NDArray[Any]:
    """The last axis with so many more entries."""
    widths = [(0, 0)] * (vector.ndim - 1) + [(0, fresh)]
    return np.pad(vector, widths, constant_values=value)


@singledispatch
def _untouched(law: Any, first: float) -> float:
    """The diagonal of A⁻¹ at a task without weights, once A was revised."""
    return first


@_untouched.register(compiled.PrecisionLaw)
@_untouched.register(compiled.InverseRootLaw)
def _(law: Any, first: float) -> float:
    return 1.0 / float(law.ridge)


@_untouched.register(compiled.CovarianceLaw)
@_untouched.register(compiled.RootLaw)
def _(law: Any, first: float) -> float:
    return float(law.ridge)


@singledispatch
def _grown_law(law: Any, fresh: int, features: int, first: float) -> Any:
    return law


@_grown_law.register
def _(law: compiled.VonNeumannLaw, fresh: int, features: int, first: float) -> Any:
    return law._replace(exponent=bordered(law.exponent, fresh, np.log(first)), known=padded(law.known, fresh, 1))


@_grown_law.register
def _(law: compiled.CovarianceLaw, fresh: int, features: int, first: float) -> Any:
    return law._replace(features=np.array([float(features)]))


@_grown_law.register
def _(law: compiled.PrecisionLaw, fresh: int, features: int, first: float) -> Any:
    since = law.since if features == law.features[0] else NEVER_INVERTED.copy()
    return law._replace(features=np.array([float(features)]), last=padded(law.last, fresh), since=since)


def _grown_start(start: Any, fresh: int) -> Any:
    return start._replace(last=bordered(start.last, fresh)) if hasattr(start, "last") else start


def _bring_up(pace: Any, law: Any, state: compiled.Relation) -> None:
    """The exponential of an exponent that has grown, where it is kept whole."""
    if type(pace) is compiled.MeanStep and type(law) is compiled.VonNeumannLaw:
        exponential(law.exponent, state.inverse)
