"""Selective sampling in compiled code: query probabilities, random decisions, and limits on the number of queries.

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
    """The query strategy without selective sampling: every label is queried."""

    share: float


class QueryStrategy(NamedTuple):
    """The query strategy for a batch: a query probability, limits, and the decisions so far.

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
    """Decide at random, once per record, if the label of record t is queried; the margin is the predicted one."""


@generic
def wanted(query_strategy, t):
    """Return True if the label of record t was queried."""


@generic
def skip_unlabelled(query_strategy, model):
    """Count a round without a label, or with a record of weight 0."""


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
    drawn = uniform(query_strategy.seed, now) < probability_of(query_strategy.query_probability, i, abs(margin))
    # permits() counts the label, so it is called only after the draw
    query_strategy.answer[t] = 1 if drawn and permits(query_strategy.limits, query_strategy.owner[t], now) else 0


@compiled
def decide_all(query_strategy, codes, margins, first, last):
    """Decide on the queries of the records ``first`` to ``last - 1``; an unseen task has number -1."""
    for t in range(first, last):
        if query_strategy.answer[t] < 0:
            _answer(query_strategy, codes[t], margins[t], t)


@compiled
def skip_rounds(model, rounds):
    """Count rounds without labels."""
    for _ in range(rounds):
        skip(model)


# -- chances ----------------------------------------------------------------------------------------------------------


class Constant(NamedTuple):
    """A constant query probability."""

    rate: float


class Inverse(NamedTuple):
    """The query probability c / (c + |margin|)."""

    c: float


class Step(NamedTuple):
    """The query probability 1 if |margin| < threshold, else 0."""

    threshold: float


class Row(NamedTuple):
    """The query probability b_i / (b_i + |margin|), with b_i from row i of the interaction matrix A of task i.

    ``revision`` has the number of updates of the relation, and of tasks, at which the sums were computed.
    """

    sums: Any
    revision: Any
    scale: float


class RowOfInverse(Row):
    """The query probability of :class:`Row`, computed from A⁻¹ instead of A."""

    __slots__ = ()


@generic
def probability_of(query_probability, i, size):
    """Return the query probability for a record of task i with |margin| = ``size``."""


@generic
def refresh(query_probability, model):
    """Recompute the row sums of the relation matrix if the relation has been updated."""


@generic
def row_matrix(query_probability, M):
    """Return the matrix with the rows to sum: A or A⁻¹, depending on the strategy, given M = A⁻¹."""


@generic
def relation_in(model):
    """Return the learned relation of a model."""


# b / (b + |margin|) of Cesa-Bianchi et al. (2006) is Inverse; SRDV11 §4 takes b from row i of A
when(probability_of, Constant)(lambda query_probability, i, size: query_probability.rate)
when(probability_of, Inverse)(lambda query_probability, i, size: query_probability.c / (query_probability.c + size))
when(probability_of, Step)(lambda query_probability, i, size: 1.0 if size < query_probability.threshold else 0.0)
# a task that nobody has seen has the margin 0, whose chance is one whatever b is
when(probability_of, Row)(
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
    """Recompute the row sums of the relation matrix; :func:`refresh` for calls from Python."""
    refresh(query_probability, model)


# -- limits -----------------------------------------------------------------------------------------------------------


class Unlimited(NamedTuple):
    """The absence of a limit on the number of queries."""

    most: int

    def check(self, tasks: int) -> None:
        """Do nothing: there is no limit to check."""


class Ever(NamedTuple):
    """Limits on the number of queries in a whole stream: ``total`` in all, and ``each`` per task."""

    total: int
    each: int
    count: Any
    held: Any

    def check(self, tasks: int) -> None:
        """Raise ValueError for arrays of the wrong shape, or invalid counts."""
        require_counts("labels asked for", self.count, 1)
        require_counts("labels asked for of tasks", self.held, len(self.held))


class Sliding(NamedTuple):
    """Limits on the number of queries in any ``width`` successive rounds: ``total`` in all and ``each`` per task.

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
        """Raise ValueError for invalid positions in the ring buffer, or wrong counts per task."""
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
    """Return True if the limits allow a query for task ``owner`` in round ``now``, and count it."""


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
