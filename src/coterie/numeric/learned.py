"""Relations that are learned: M = A⁻¹ is state, and the Gram matrix of the task vectors is all that a relation sees.

A move W <- W + x a' changes W'W by h a' + a h' + ‖x‖² a a' with h = W'x, whatever the features are. The hypothesis
leaves a, h and ‖x‖² in a :class:`Move`; ``absorb`` adds them to the Gram matrix, and ``revise`` takes M one step on:
its body is chosen by the law (:mod:`coterie.numeric.laws`), so a relation is a named tuple of arrays and the loop has
no flag.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .generic import apart, compiled, generic_apart, when
from .models import adapt, add, add_timed, diagonal, foresee, mean, ready, report, score, skip, tick
from .prefetch import weights_of
from .records import begin, end, value
from .tables import dot

#: M may grow to so many times its start where moves are spread by M itself: beyond that one move outweighs all before.
GROWTH = 1e6
#: Where the mean step is kept, M may grow as far as its square can be summed.
ROOM = 1e140


class Move(NamedTuple):
    """The move just made, W + x a': ``column`` is a, ``along`` is W'x from before it, ``size`` is (‖x‖², sum of x)."""

    column: Any
    along: Any
    size: Any


class Gram(NamedTuple):
    """``products`` is W'W, ``sums`` the sum of every task vector's entries."""

    products: Any
    sums: Any


class Relation(NamedTuple):
    """A learned relation of K tasks.

    ``inverse`` is A⁻¹ as the law has it, ``first`` the number of tasks at the start (A_0 = I / first), and ``status``
    counts (1 if the relation is held because it outgrew its limit and 2 once that is told, the round, revisions).
    """

    law: Any
    order: Any
    pace: Any
    start: Any
    inverse: Any
    gram: Any
    move: Any
    status: Any
    first: float


class Learned(NamedTuple):
    """The weights W themselves, feature by feature, and the relation that they teach."""

    table: Any
    relation: Any


# -- laws: how M follows from the Gram matrix -----------------------------------------------------------------------


class LogDetLaw(NamedTuple):
    """A⁻¹ <- A⁻¹ + eta W'W."""

    eta: float
    trace: Any


class VonNeumannLaw(NamedTuple):
    """B <- B + eta W'W with A⁻¹ = exp(B); ``known`` says which columns of the exponential are at hand."""

    eta: float
    trace: Any
    exponent: Any
    known: Any


class CovarianceLaw(NamedTuple):
    """A⁻¹ <- cov(W) + ridge I, the features being the observations."""

    ridge: float
    features: Any


class PrecisionLaw(NamedTuple):
    """A <- cov(W) + ridge I, its inverse kept.

    ``last`` holds the a and b of the latest change (a b' + b a') / (d - 1) of the covariance, ``since`` how many moves
    came after the latest revision and how many revisions after the latest inversion.
    """

    ridge: float
    features: Any
    last: Any
    since: Any


class RootLaw(NamedTuple):
    """A⁻¹ <- (W'W)^(1/2) / tr + ridge I."""

    ridge: float


class InverseRootLaw(NamedTuple):
    """A <- (W'W)^(1/2) / tr + ridge I."""

    ridge: float


class FixedLaw(NamedTuple):
    """A⁻¹ <- ``target``, whatever the task vectors are."""

    target: Any


class FreeTrace(NamedTuple):
    """A as it comes."""

    exponent: int


class UnitTrace(NamedTuple):
    """A is divided by its trace after every revision."""

    exponent: int


class Previous(NamedTuple):
    """M is revised with the weights from before the move, W_{s-1}."""

    lag: int


class New(NamedTuple):
    """M is revised with the weights after the move, W_s."""

    lag: int


class AsLearned(NamedTuple):
    """Moves are spread by A⁻¹."""

    power: int


class MeanStep(NamedTuple):
    """Moves are spread by K² A⁻¹ / tr A⁻¹, so that the mean step stays that of the start."""

    power: int


class FromRound(NamedTuple):
    """M is revised from round ``first`` on, rounds counted from 1."""

    clock: Any
    first: float


class WhenSettled(NamedTuple):
    """M is revised once the correlations of the task vectors change little from one checkpoint to the next.

    ``moves`` counts the moves, the next checkpoint and those settled in a row; ``last`` is what the latest checkpoint
    saw.
    """

    clock: Any
    moves: Any
    last: Any
    tolerance: float


@generic_apart
def revise(law: Any, relation: Any) -> Any:
    """Take M one step on; False if it would outgrow its limit, M being then left as it is."""


@generic_apart
def absorb(law: Any, relation: Any) -> Any:
    """Add the move to the Gram matrix."""


@generic_apart
def fetch(law: Any, relation: Any, i: Any) -> Any:
    """Bring row i of ``relation.inverse`` up to date."""


@generic_apart
def scale(pace: Any, relation: Any) -> Any:
    """What A⁻¹ is multiplied with in a move."""


@generic_apart
def limit(pace: Any, first: Any) -> Any:
    """How large an entry of M may become."""


@generic_apart
def turn(order: Any, relation: Any) -> Any:
    """Revise and absorb in the order asked for; False if M would outgrow its limit."""


@generic_apart
def due(start: Any, relation: Any) -> Any:
    """Whether M is revised at this move."""


@generic_apart
def log_trace(trace: Any, exponent: Any) -> Any:
    """Log tr A of A = exp(-exponent), if that is to be taken out; else 0."""


@generic_apart
def unit_trace(trace: Any, inverse: Any) -> Any:
    """Divide A by its trace, if asked for."""


@generic_apart
def exponentiate(pace: Any, law: Any, relation: Any) -> Any:
    """Bring ``relation.inverse`` up to date with an exponent that has changed."""


@generic_apart
def may_grow(pace: Any, exponent: Any, largest: Any) -> Any:
    """Whether moves can be spread by the exponential of this exponent."""


# -- the model --------------------------------------------------------------------------------------------------------

when(score, Learned)(lambda model, i, rows, t: dot(model.table, i, rows, t))
when(report, Learned)(lambda model, i, rows, t, margin: margin)
when(ready, Learned)(lambda model, i, rows, t: True)
when(foresee, Learned)(lambda model, i, rows, t: None)


@when(diagonal, Learned)
def _diagonal_learned(model: Any, i: Any) -> Any:
    relation = model.relation
    fetch(relation.law, relation, i)
    return relation.inverse[i, i] * scale(relation.pace, relation)


@when(add, Learned)
def _add_learned(model: Any, i: Any, c: Any, rows: Any, t: Any) -> Any:
    relation = model.relation
    fetch(relation.law, relation, i)
    step = c * scale(relation.pace, relation)
    for j in range(relation.inverse.shape[0]):
        relation.move.column[j] = step * relation.inverse[i, j]
    _spread(model.table, relation.move, rows, t)


@compiled
def _spread(table: Any, move: Any, rows: Any, t: Any) -> None:
    """W += x a', taking down W'x and ‖x‖² on the way; exact for a feature that stands twice, as the terms add up."""
    column, along = move.column, move.along
    along[:] = 0.0
    length = total = 0.0
    for k in range(begin(rows, t), end(rows, t)):
        weights, x = weights_of(table, rows, t, k, column.size), value(rows, t, k)
        length += x * x
        total += x
        for j in range(column.size):
            along[j] += x * weights[j]
            weights[j] += x * column[j]
    move.size[0], move.size[1] = length, total


@when(add_timed, Learned)
def _add_timed_learned(model: Any, i: Any, c: Any, rows: Any, t: Any, clock: Any) -> Any:
    column = model.relation.move.column
    for k in range(begin(rows, t), end(rows, t)):
        weights, x = weights_of(model.table, rows, t, k, column.size), value(rows, t, k) * clock
        for j in range(column.size):
            weights[j] += x * column[j]


@when(mean, Learned)
def _mean_learned(model: Any, twin: Any, i: Any, rows: Any, t: Any, clock: Any, margin: Any) -> Any:
    return clock * margin - dot(twin.table, i, rows, t)


@when(tick, Learned)
def _tick_learned(model: Any, i: Any, agreement: Any) -> Any:
    model.relation.start.clock[0] += 1


@when(skip, Learned)
def _skip_learned(model: Any) -> Any:
    model.relation.start.clock[0] += 1


@when(adapt, Learned)
def _adapt_learned(model: Any) -> Any:
    _learn(model.relation)


@apart  # whatever the records, the rule and the weights are
def _learn(relation: Any) -> None:
    if relation.status[0] == 0:
        if due(relation.start, relation):
            relation.status[2] += 1
            if not turn(relation.order, relation):
                relation.status[0], relation.status[1] = 1, relation.start.clock[0] + 1
        else:
            absorb(relation.law, relation)


@when(turn, Previous)
def _turn_previous(order: Any, relation: Any) -> Any:
    fits = revise(relation.law, relation)
    absorb(relation.law, relation)
    return fits


@when(turn, New)
def _turn_new(order: Any, relation: Any) -> Any:
    absorb(relation.law, relation)
    return revise(relation.law, relation)


when(limit, AsLearned)(lambda pace, first: GROWTH * first)
when(limit, MeanStep)(lambda pace, first: ROOM)
when(scale, AsLearned)(lambda pace, relation: 1.0)


@when(scale, MeanStep)
def _scale_mean_step(pace: Any, relation: Any) -> Any:
    return relation.inverse.shape[0] ** 2 / np.trace(relation.inverse)


@compiled
def current(relation: Any) -> Any:
    """The M that spreads the next move, (K, K)."""
    K = relation.inverse.shape[0]
    for i in range(K):
        fetch(relation.law, relation, i)
    return relation.inverse * scale(relation.pace, relation)


# -- when it starts ---------------------------------------------------------------------------------------------------

when(due, FromRound)(lambda start, relation: start.clock[0] + 1 >= start.first)


@when(due, WhenSettled)
def _due_when_settled(start: Any, relation: Any) -> Any:
    return _settled(start.moves, start.last, start.tolerance, relation.gram.products)


@apart
def _settled(moves: Any, last: Any, tolerance: Any, products: Any) -> Any:
    """At a checkpoint, compare the correlations of the task vectors with those of the one before; O(K²) there."""
    if moves[2] > 0:
        return True
    moves[0] += 1
    if moves[0] >= moves[1]:
        moves[1] = 2 * moves[0]
        change, size = _correlation_change(products, last)
        if change <= tolerance * tolerance * size:
            moves[2] = 1
    return moves[2] > 0


@apart
def _correlation_change(products: Any, last: Any) -> Any:
    """Squared Frobenius norms of the change since ``last``, which is replaced, and of the correlations themselves."""
    change = size = 0.0
    for j in range(products.shape[0]):
        for k in range(products.shape[0]):
            length = np.sqrt(products[j, j] * products[k, k])
            r = products[j, k] / length if length > 0.0 else 0.0
            change += (r - last[j, k]) ** 2
            size += r * r
            last[j, k] = r
    return change, size
