"""One logistic regression of all tasks on the columns of a table crossed with each other."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from coterie.hypotheses import AdaptiveGradient
from coterie.index import Index
from coterie.learner import Features, Learner, Margins, RoundCount, StreamLearner, no_moves
from coterie.numeric.core.arrays import Dropped
from coterie.numeric.core.checks import require, require_shape, require_within
from coterie.numeric.core.records import Csr, Rows
from coterie.numeric.primal.asking import EVERY
from coterie.numeric.primal.stream import Moves
from coterie.numeric.tabular.crossings import BITS, Crossing, crossed, crossing_of, no_crossing
from coterie.numeric.tabular.entries import check_entries, joined, no_records, sorted_entries
from coterie.numeric.trees import Arrays, array_of, below, flatten
from coterie.relations import Pooled
from coterie.rules import Logistic
from coterie.state import State

from .task_means import require_every

Codes = NDArray[np.int64]

#: Records that settle the bins; before, nothing is learned.
FIRST = 300

#: So many records are crossed at a time: one becomes 465 entries at most.
PIECE = 4096


class _Saved(msgspec.Struct):
    """The data that :meth:`CrossedLogistic.dump` returns beside the arrays."""

    weights: dict[str, Any]
    features: Features
    rounds: RoundCount


@dataclass
class CrossedState:
    """Weights of tokens and pairs, the bins, and the first records, with their tasks, until these are settled."""

    inner: State
    features: int
    crossing: Crossing | None = None
    first: Csr = field(default_factory=no_records)
    codes: Codes = field(default_factory=lambda: np.zeros(0, np.int64))
    rounds: int = 0

    @property
    def tasks(self) -> Index:
        """The tasks known."""
        return self.inner.tasks

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        held = (*self.first, self.codes, *(self.crossing or ()))
        return self.inner.nbytes + sum(int(array.nbytes) for array in held)


class CrossedLogistic(StreamLearner):
    """Learns one logistic regression of all tasks on columns in bins and on pairs of them.

    The first 300 records settle the bins (:mod:`coterie.numeric.tabular.crossings`), for good; the margin is 0 until
    then. From then on a record is the indicator of its tokens and of their pairs, hashed to 2**18 columns and of unit
    length, and learns as :class:`coterie.MultitaskLogistic` with one model of all and steps of 0.7.

    Notes
    -----
    O(T²) a record of T ≤ 30 tokens, and four megabytes.
    """

    log_odds: float | None = 1.0
    beyond_features = "crossed columns"

    def __init__(self) -> None:
        self._inner = Learner(AdaptiveGradient(storage="sparse", bits=BITS), Pooled(), Logistic())

    def learner(self) -> CrossedLogistic:
        """Itself: as a member of a mixture it needs no parts."""
        return self

    def init(
        self, tasks: Sequence[Hashable] = (), features: int = 0, dense: bool = False, length: int | None = None
    ) -> CrossedState:
        """The state before the first round; see :meth:`coterie.learner.Learner.init`."""
        return CrossedState(self._inner.init(tasks, 1 << BITS), features)

    def check_tasks(self, state: CrossedState, tasks: Sequence[Hashable]) -> None:
        """Accept any task."""

    def fit_tasks(self, state: CrossedState, tasks: Sequence[Hashable], features: int) -> None:
        """Make room for new tasks, given by their labels, and for so many features."""
        self._inner.fit_tasks(state.inner, tasks, 1 << BITS)
        state.features = max(features, state.features)

    def check_dropping(self, state: CrossedState) -> None:
        """Accept that any task is dropped."""

    def check_bounded(self) -> None:
        """Accept ``max_tasks``, a limit on the tasks known at a time."""

    @property
    def comes_unnoticed(self) -> bool:
        """False: a task that leaves early takes its first records along."""
        return False

    def drop_tasks(self, state: CrossedState, dropped: Dropped) -> None:
        """Drop tasks and first records of theirs; what all have learned from them stays, until the last one leaves."""
        self._inner.drop_tasks(state.inner, dropped)
        codes = dropped.renumbered(state.codes)
        stay = np.flatnonzero(codes >= 0)
        state.first, state.codes = state.first.take(stay), codes[stay]

    def update_many(
        self,
        state: CrossedState,
        rows: Rows,
        codes: Codes,
        y: NDArray[np.float64],
        last: int | None = None,
        asker: Any = EVERY,
        new: Sequence[Hashable] = (),
    ) -> Moves:
        """Predict and learn records one after the other; see :meth:`coterie.learner.Learner.update_many`.

        Raises
        ------
        TypeError
            For an asker: it is for the mixture to ask.
        """
        require_every(asker, self)
        moves = no_moves(len(codes))
        last = len(codes) if last is None else last
        delay = len(codes) - last
        self.fit_tasks(state, new, state.features)
        plain = sorted_entries(rows)
        for begin, end in self._pieces(state, last, delay):
            if state.crossing is None:
                self._note(state, plain.cut(begin, end).trimmed(), codes[begin:end])
                continue
            some = slice(begin, end + delay)
            columns = crossed(state.crossing, plain.cut(begin, end + delay))
            made = self._inner.update_many(state.inner, columns, codes[some], y[some], end - begin)
            moves.margins[begin + delay : end + delay] = made.margins[delay:]
            moves.own[begin:end], moves.taus[begin:end] = made.own[: end - begin], made.taus[: end - begin]
        state.rounds += last
        return moves

    def _pieces(self, state: CrossedState, last: int, delay: int) -> Iterator[tuple[int, int]]:
        """Records learned together: up to the one that settles the bins, then so many at a time."""
        at = 0
        while at < last:
            most = FIRST - state.first.n_records if state.crossing is None else max(PIECE, delay)
            yield at, min(at + most, last)
            at = min(at + most, last)

    @staticmethod
    def _note(state: CrossedState, rows: Csr, codes: Codes) -> None:
        """Keep first records; once there are enough, settle the bins."""
        state.first, state.codes = joined(state.first, rows), np.append(state.codes, codes)
        if state.first.n_records == FIRST:
            state.crossing, state.first, state.codes = crossing_of(state.first), no_records(), state.codes[:0]

    def update_one(self, state: CrossedState, rows: Rows, i: int, y: float) -> None:
        """Learn one record of the known task i."""
        self.update_many(state, rows, np.array([i]), np.array([y]))

    def score_any(self, state: CrossedState, rows: Rows, codes: Codes, unseen: Sequence[Hashable]) -> Margins:
        """Margins of records of the tasks ``codes``; -1 is a new task, whose label is the next of ``unseen``."""
        margins = np.zeros(len(codes))
        if state.crossing is None or not len(state.tasks):
            return margins
        plain = sorted_entries(rows)
        anybody = np.zeros(len(codes), np.int64)  # all tasks have the same weights
        for begin in range(0, len(codes), PIECE):
            some = slice(begin, begin + PIECE)
            made = crossed(state.crossing, plain.cut(begin, min(begin + PIECE, len(codes))))
            margins[some] = self._inner.score(state.inner, made, anybody[some])
        return margins

    def score_one(self, state: CrossedState, rows: Rows, i: int) -> float:
        """Margin of one record of the known task i."""
        return float(self.score_any(state, rows, np.array([i]), ())[0])

    def skip_unlabelled(self, state: CrossedState, rounds: int = 1) -> None:
        """End rounds that have no labels."""
        self._inner.skip_unlabelled(state.inner, rounds)
        state.rounds += rounds

    def weights(self, state: CrossedState) -> NDArray[np.float64]:
        """Zeros: no feature has a weight of its own here."""
        return np.zeros((len(state.tasks), state.features))

    def relation_matrix(self, state: CrossedState, among: Sequence[int] | None = None) -> NDArray[np.float64]:
        """Ones, as of one model of all."""
        return self._inner.relation_matrix(state.inner, among)

    def share(self, state: CrossedState) -> NDArray[np.float64]:
        """Ones: weights are those of all tasks."""
        return self._inner.share(state.inner)

    def dump(self, state: CrossedState) -> tuple[dict[str, Any], Arrays]:
        """The state as plain JSON data and named arrays, without the labels of the tasks."""
        data, held = self._inner.dump(state.inner)
        arrays = {f"weights.{name}": array for name, array in held.items()}
        if state.crossing is not None:
            arrays |= flatten(state.crossing, "crossing.")[1]
        elif state.first.n_records:
            arrays |= flatten(state.first, "first.")[1] | {"first.codes": state.codes.copy()}
        return {"weights": data, "features": state.features, "rounds": state.rounds}, arrays

    def restore(self, data: dict[str, Any], arrays: Arrays, tasks: Sequence[Hashable]) -> CrossedState:
        """Undo :meth:`dump`.

        Raises
        ------
        ValueError
            If the data do not fit together.
        """
        held = msgspec.convert(data, _Saved)
        inner = self._inner.restore(held.weights, below(arrays, "weights."), tasks)
        require(inner.features == 1 << BITS, f"crossed columns are {inner.features}, expected {1 << BITS}")
        state = CrossedState(inner, held.features, rounds=held.rounds)
        bins, first = below(arrays, "crossing."), below(arrays, "first.")
        if bins:
            like = no_crossing()
            state.crossing = Crossing(*(array_of(bins, *each) for each in zip(like._fields, like, strict=True)))
            state.crossing.check(held.features)
        elif first:
            like_rows = no_records()
            state.first = Csr(*(array_of(first, *each) for each in zip(like_rows._fields, like_rows, strict=True)))
            n = len(state.first.starts) - 1
            require(0 <= n < FIRST, f"{n} first records wait, and {FIRST} settle the bins")
            check_entries("first records", state.first, n, held.features)
            state.codes = array_of(first, "codes", state.codes)
            require_shape("tasks of first records", state.codes, n)
            require_within("tasks of first records", state.codes, 0, len(inner.tasks) - 1)
        return state
