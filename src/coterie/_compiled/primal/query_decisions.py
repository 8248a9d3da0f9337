"""Compiled selective sampling: query probabilities, one uniform number per round, and limits.

The loop of :mod:`coterie._compiled.primal.stream` calls ``decide`` when a record is predicted and ``wanted`` when its
label has arrived. ``Every`` queries all labels at no cost; ``QueryStrategy`` combines a probability and limits.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from coterie._compiled.core.checks import require, require_counts, require_shape, require_within
from coterie._compiled.core.generic import compiled, forward, generic, when
from coterie._compiled.core.randomness import uniform

from .learned_relations import LearnedModel, current
from .round import Wrapper, skip


class Every(NamedTuple):
    """All labels are known: the loop makes no queries."""

    share: float


class QueryStrategy(NamedTuple):
    """The queries for a batch of records.

    ``clock[0]`` counts the rounds decided so far, ``owner`` (n,) has the task numbers in the limits, and ``answer``
    (n,) is 1 for a query, 0 for none, and -1 before the decision.
    """

    query_probability: Any
    limits: Any
    seed: int
    clock: Any
    owner: Any
    answer: Any


QUERY_ALL = Every(1.0)


@generic
def decide(query_strategy, model, i, margin, t):
    """Decide, once, about the query of the label of record t."""


@generic
def wanted(query_strategy, t):
    """Return True if the label of record t was queried."""


@generic
def skip_unlabelled(query_strategy, model):
    """End a round without a label, or with a record of weight 0."""


when(decide, Every)(lambda query_strategy, model, i, margin, t: None)
when(wanted, Every)(lambda query_strategy, t: True)
when(wanted, QueryStrategy)(lambda query_strategy, t: query_strategy.answer[t] > 0)
_kind: Any
for _kind in (Every, QueryStrategy):
    when(skip_unlabelled, _kind)(lambda query_strategy, model: skip(model))


@when(decide, QueryStrategy)
def _decide(query_strategy, model, i, margin, t):
    # decided before, if the run was interrupted after the prediction or the label came late
    if query_strategy.answer[t] < 0:
        refresh(query_strategy.query_probability, model)
        _answer(query_strategy, i, margin, t)


@compiled
def _answer(query_strategy, i, margin, t):
    now = query_strategy.clock[0]
    # one uniform number per round, even if a limit forbids the label
    query_strategy.clock[0] += 1
    drawn = uniform(query_strategy.seed, now) < chance_of(query_strategy.query_probability, i, abs(margin))
    # permits() counts the label, so it is called only after the draw
    query_strategy.answer[t] = 1 if drawn and permits(query_strategy.limits, query_strategy.owner[t], now) else 0


@compiled
def decide_all(query_strategy, codes, margins, first, last):
    """Decide on the records ``first`` to ``last`` by their margins; an unseen task has the code -1."""
    for t in range(first, last):
        if query_strategy.answer[t] < 0:
            _answer(query_strategy, codes[t], margins[t], t)


@compiled
def skip_rounds(model, rounds):
    """End this many rounds without labels."""
    for _ in range(rounds):
        skip(model)


# -- chances ----------------------------------------------------------------------------------------------------------


class Constant(NamedTuple):
    """The same probability for every record."""

    rate: float


class Inverse(NamedTuple):
    """c / (c + |margin|)."""

    c: float


class Step(NamedTuple):
    """1 if |margin| < threshold, else 0."""

    threshold: float


class Row(NamedTuple):
    """b_i / (b_i + |margin|), b_i = scale · Σ_j |A_ij| of the relation.

    ``revision`` has the number of updates of the relation, and of tasks, at which the sums were computed.
    """

    sums: Any
    revision: Any
    scale: float


class RowOfInverse(Row):
    """The rule of :class:`Row` with A⁻¹, by which updates are shared, instead of A."""

    __slots__ = ()


@generic
def chance_of(query_probability, i, size):
    """Return the probability of a query for a record of task i with a margin of this size."""


@generic
def refresh(query_probability, model):
    """Recompute the relation's row sums for a query probability, if the relation has been updated."""


@generic
def row_matrix(query_probability, M):
    """Return the matrix of rows to sum, A or A⁻¹, given M = A⁻¹."""


@generic
def relation_in(model):
    """Return the learned relation of a model."""


# b / (b + |margin|) of Cesa-Bianchi et al. (2006) is Inverse; SRDV11 §4 takes b from row i of A
when(chance_of, Constant)(lambda query_probability, i, size: query_probability.rate)
when(chance_of, Inverse)(lambda query_probability, i, size: query_probability.c / (query_probability.c + size))
when(chance_of, Step)(lambda query_probability, i, size: 1.0 if size < query_probability.threshold else 0.0)
# a task that nobody has seen has the margin 0, whose chance is one whatever b is
when(chance_of, Row)(
    lambda query_probability, i, size: query_probability.sums[i] / (query_probability.sums[i] + size) if i >= 0 else 1.0
)

for _kind in (Constant, Inverse, Step):
    when(refresh, _kind)(lambda query_probability, model: None)

when(relation_in, LearnedModel)(lambda model: model.relation)
forward(Wrapper, relation_in)
when(row_matrix, Row)(lambda query_probability, M: np.linalg.inv(M))
when(row_matrix, RowOfInverse)(lambda query_probability, M: M)


@when(refresh, Row)
def _refresh_row(query_probability, model):
    _add_up(query_probability, relation_in(model))


@compiled
def _add_up(query_probability, relation):
    # O(K³), but only after a revision or a new task: between revisions the sums are the same
    if (
        query_probability.revision[0] != relation.status[2]
        or query_probability.revision[1] != relation.inverse.shape[0]
    ):
        query_probability.revision[0], query_probability.revision[1] = relation.status[2], relation.inverse.shape[0]
        A = row_matrix(query_probability, current(relation))
        for i in range(A.shape[0]):
            query_probability.sums[i] = query_probability.scale * np.abs(A[i]).sum()


@compiled
def renew(query_probability, model):
    """Call ``refresh`` from Python."""
    refresh(query_probability, model)


# -- limits -----------------------------------------------------------------------------------------------------------


class Unlimited(NamedTuple):
    """No limit on the number of queries."""

    most: int

    def check(self, tasks: int) -> None:
        """Accept any number of queries."""


class Ever(NamedTuple):
    """At most ``total`` queries and ``each`` per task; ``count[0]`` and ``held`` (K,) were made so far."""

    total: int
    each: int
    count: Any
    held: Any

    def check(self, tasks: int) -> None:
        """Raise ValueError for arrays of other lengths, and for impossible counts."""
        require_counts("labels asked for", self.count, 1)
        require_counts("labels asked for of tasks", self.held, len(self.held))


class Sliding(NamedTuple):
    """At most ``total`` queries, and ``each`` per task, in any ``width`` rounds.

    A ring of the rounds and tasks of the queries in the window: ``ends`` are the position of the oldest and their
    number; ``held`` (K,) counts them by task; a forgotten task is -1.
    """

    total: int
    each: int
    width: int
    rounds: Any
    owners: Any
    ends: Any
    held: Any

    def check(self, tasks: int) -> None:
        """Raise ValueError for positions outside the ring, and for wrong counts by task."""
        room = len(self.rounds)
        require_counts("rounds with a question", self.rounds, room)
        require_shape("tasks of questions", self.owners, room)
        require_counts("the ends of the ring of questions", self.ends, 2)
        first, length = (int(end) for end in self.ends)
        require(first < max(room, 1) and length <= room, f"{length} questions from {first} on do not go into {room}")
        owners = self.owners[(first + np.arange(length)) % max(room, 1)]
        require_within("tasks of questions", self.owners, -1, max(len(self.held) - 1, 0))
        require(
            np.array_equal(np.bincount(owners[owners >= 0], minlength=len(self.held)), self.held),
            "labels asked for of tasks are not those in the window",
        )


@generic
def permits(limits, owner, now):
    """Return True if one more query is allowed in round ``now``; if so, count it."""


when(permits, Unlimited)(lambda limits, owner, now: True)


@when(permits, Ever)
def _permits_ever(limits, owner, now):
    if limits.count[0] >= limits.total or limits.held[owner] >= limits.each:
        return False
    limits.count[0] += 1
    limits.held[owner] += 1
    return True


@when(permits, Sliding)
def _permits_sliding(limits, owner, now):
    ends, room = limits.ends, limits.rounds.size
    # rounds enter the ring in order, so those that have left the window are at its beginning
    while ends[1] > 0 and limits.rounds[ends[0]] <= now - limits.width:
        if limits.owners[ends[0]] >= 0:  # else of a task that was forgotten
            limits.held[limits.owners[ends[0]]] -= 1
        ends[0] = (ends[0] + 1) % room
        ends[1] -= 1
    if ends[1] >= limits.total or limits.held[owner] >= limits.each:
        return False
    # the ring has room for every label that this run may ask for
    place = (ends[0] + ends[1]) % room
    limits.rounds[place], limits.owners[place] = now, owner
    limits.held[owner] += 1
    ends[1] += 1
    return True
