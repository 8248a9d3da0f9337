"""Priming: tasks learn on their own until their vectors tell enough for a relation (SRDV11 §3.2)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, ClassVar, Literal, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from coterie import spec
from coterie.numeric.primal import learned_relations as compiled
from coterie.numeric.primal.relation_updates import FixedUpdate

from .learned import LearnedRelation, tell_many
from .relation import RelationPart

#: Priming that decides itself looks first when there were so many moves a task, and then at each doubling,
FIRST_LOOK = 4
#: and ends when the correlations of the task vectors changed by less than this part of their norm since the last look.
SETTLED = 0.5


@spec.part
class Primed:
    """Another relation, from round ``epoch`` on; before it tasks are independent under A_0 = I/K (SRDV11 Algorithm 1).

    Parameters
    ----------
    relation : relation
        A learned relation, whose A is revised at mistakes in rounds t >= EPOCH; or a fixed one such as
        :class:`HalfUpdate`, whose A takes the place of A_0 at the first mistake of those rounds.
    epoch : float in [0, 1], int >= 0 or "auto"
        A fraction of the stream (fit, with all its passes, and progressive validation on arrays know how long it is), a
        number of rounds, counted from 1, or "auto": the first look, after 4 moves a task and at each doubling from
        there, that finds the correlations of the task vectors changed by less than half of their norm.
    every : int >= 1, optional
        Revise A at the end of every so many rounds, from EPOCH on, and at no mistake; with the number of records, once
        a pass, as in §5.4: tasks are independent in the first pass, and each further pass has the A that the weights
        at its start make. Not with ``epoch="auto"``.

    Raises
    ------
    ValueError
        If epoch or every is outside its range, or from a learner if epoch is a fraction and the length of the stream is
        not known, or if it lies beyond the stream.

    Examples
    --------
    >>> from coterie.relations import HalfUpdate, LogDet
    >>> Primed(LogDet(eta=1e-3, step_norm=True), epoch=0.05).epoch
    0.05
    >>> Primed(HalfUpdate(), epoch=1000)
    Primed(relation=HalfUpdate(), epoch=1000)
    """

    relation: RelationPart
    epoch: float | int | Literal["auto"]
    every: int | None = None

    form: ClassVar[str] = "learned"

    def __post_init__(self) -> None:
        if isinstance(self.relation, Primed) or not isinstance(self.relation, RelationPart):
            raise ValueError(f"Primed takes a relation that is not primed itself, got {self.relation!r}")
        check_epoch(self.epoch)
        if self.every is not None:
            spec.check_count("every", self.every)
            if self.epoch == "auto":
                raise ValueError("every goes with an epoch in rounds or as a fraction, got epoch='auto'")

    @property
    def remedy(self) -> str:
        """The advice to give if A⁻¹ grows too large."""
        return str(self._inner.remedy)

    def check_size(self, n_tasks: int) -> None:
        """Refuse more tasks than there is a matrix of."""
        self._inner.check_size(n_tasks)

    def begin(self, tasks: Sequence[Hashable], features: int, length: int | None) -> compiled.Relation:
        """The state before the first round; ``length`` rounds are expected, None if unknown."""
        self.check_size(len(tasks))
        tell_many(self._inner, 0, len(tasks))
        first = 1.0 if isinstance(self.epoch, str) else rounds_of(self.epoch, length)
        state: compiled.Relation = self._inner.begin_at(tasks, features, self._start(len(tasks), first))
        return state

    def blank(self) -> compiled.Relation:
        """The state of no task, of the same named tuples as every state under these parameters."""
        return LearnedRelation.begin_at(self._inner, (), 1, self._start(0, 1.0))

    def resize(self, state: compiled.Relation, tasks: Sequence[Hashable], features: int) -> compiled.Relation:
        """The state with room for all these tasks, the old ones first, and so many features."""
        resized: compiled.Relation = self._inner.resize(state, tasks, features)
        if self.epoch == "auto":
            resized.start.move_first_look(FIRST_LOOK * len(state.inverse), FIRST_LOOK * len(tasks))
        return resized

    def first(self, n_tasks: int) -> float:
        """The diagonal entry of A_0⁻¹ for so many tasks."""
        return self._inner.first(n_tasks)

    @property
    def needs_features(self) -> bool:
        """True if the relation is learned from the features of records, which kernels have not."""
        return self._inner.needs_features

    @property
    def definite(self) -> bool:
        """True if its M always has an inverse."""
        return self._inner.definite

    @property
    def _inner(self) -> LearnedRelation:
        if self.relation.form == "learned":
            return cast(LearnedRelation, self.relation)
        return _Waiting(cast(FixedRelation, self.relation))

    def _start(self, n_tasks: int, first: float) -> compiled.WhenSettled | compiled.FromRound | compiled.EveryRounds:
        if isinstance(self.epoch, str):
            return compiled.WhenSettled.begin(n_tasks, FIRST_LOOK * n_tasks, SETTLED)
        if self.every is not None:
            return compiled.EveryRounds.begin(first, self.every)
        return compiled.FromRound.begin(first)


def check_epoch(epoch: object) -> None:
    """Refuse an ``epoch`` that is neither a fraction, nor a number of rounds, nor "auto"."""
    whole = type(epoch) is not bool and isinstance(epoch, (int, np.integer)) and epoch >= 0
    part = isinstance(epoch, float) and 0 <= epoch <= 1
    if not (whole or part or (isinstance(epoch, str) and epoch == "auto")):
        raise ValueError(
            "epoch must be a fraction of the stream from 0.0 to 1.0, a whole number of rounds from 0 on, or 'auto', "
            f"got {epoch!r}"
        )


def rounds_of(epoch: Any, length: int | None) -> float:
    """The round from which A is revised.

    Raises
    ------
    ValueError
        For a fraction of a stream of unknown length, or a round beyond its end.
    """
    if isinstance(epoch, float):
        if length is None:
            raise ValueError(
                f"epoch={epoch!r} is a fraction of the stream, and nobody knows how long this stream is: give a number "
                "of rounds or epoch='auto'"
            )
        return epoch * length
    if length is not None and epoch > length:
        raise ValueError(f"epoch={epoch!r} lies beyond the stream, which has {length} rounds")
    return float(epoch)


class FixedRelation(RelationPart, Protocol):
    """A relation whose M can be written out for any tasks it knows."""

    def relation_matrix(self, tasks: Sequence[Any], /) -> NDArray[np.float64]:
        """Write out M for these tasks."""


class _Waiting(LearnedRelation):
    """A fixed relation in the form of a learned one, for priming to switch to."""

    step_norm = False
    weights = "previous"
    start = "unit_trace"
    remedy = ""

    def __init__(self, relation: FixedRelation) -> None:
        self.relation = relation

    def relation_update(self, n_tasks: int, features: int) -> Any:
        return FixedUpdate(np.zeros((n_tasks, n_tasks)))

    def begin_at(self, tasks: Sequence[Hashable], features: int, start: Any) -> compiled.Relation:
        return self._aimed(super().begin_at(tasks, features, start), tasks)

    def resize(self, state: compiled.Relation, tasks: Sequence[Hashable], features: int) -> compiled.Relation:
        return self._aimed(super().resize(state, tasks, features), tasks)

    def _aimed(self, state: compiled.Relation, tasks: Sequence[Hashable]) -> compiled.Relation:
        target = np.array(self.relation.relation_matrix(list(tasks)))
        if state.status[2]:
            state.inverse[:] = target
        return state._replace(relation_update=FixedUpdate(target))
