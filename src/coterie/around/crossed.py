"""One logistic regression of all tasks on the columns of a table crossed with each other."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from coterie.hypotheses import AdaptiveGradient
from coterie.index import Index
from coterie.numeric.core.arrays import Dropped
from coterie.numeric.core.checks import require, require_shape, require_within
from coterie.numeric.core.records import Csr
from coterie.numeric.tabular.crossings import BITS, Crossing, crossed, crossing_of, no_crossing
from coterie.numeric.tabular.entries import check_entries, joined, no_records, sorted_entries
from coterie.numeric.trees import Arrays, array_of, below, flatten
from coterie.relations import Pooled
from coterie.round.contract import (
    BaseLearner,
    Codes,
    Features,
    Learned,
    RoundCount,
    Run,
    Size,
    Told,
    Traits,
    in_pieces,
)
from coterie.round.linear import LinearLearner
from coterie.round.mixture import rebuilt
from coterie.rules import Logistic
from coterie.state import State

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
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        held = (*self.first, self.codes, *(self.crossing or ()))
        return self.inner.nbytes + sum(int(array.nbytes) for array in held)


class CrossedLogistic(BaseLearner):
    """Learns one logistic regression of all tasks on columns in bins and on pairs of them.

    The first 300 records settle the bins (:mod:`coterie.numeric.tabular.crossings`), for good; the margin is 0 until
    then. From then on a record is the indicator of its tokens and of their pairs, hashed to 2**18 columns and of unit
    length, and learns as :class:`coterie.MultitaskLogistic` with one model of all and steps of 0.7.

    Notes
    -----
    O(T²) a record of T ≤ 30 tokens, and four megabytes.
    """

    traits = Traits(log_odds=1.0, beyond_features="crossed columns")

    def __init__(self) -> None:
        self._inner = LinearLearner(AdaptiveGradient(storage="sparse", bits=BITS), Pooled(), Logistic())

    def init(self, tasks: Index, size: Size, length: int | None = None) -> CrossedState:
        """The state before the first round."""
        return CrossedState(self._inner.init(tasks, Size(1 << BITS)), size.features)

    def refuse(self, state: CrossedState, tasks: Sequence[Hashable]) -> None:
        """Accept any task."""

    def grow(self, state: CrossedState, tasks: int, size: Size, counted: bool = True) -> None:
        """Make room for the first so many tasks of the index, which count at once, and for so many features."""
        self._inner.grow(state.inner, tasks, Size(1 << BITS))
        state.features = max(size.features, state.features)

    def drop(self, state: CrossedState, dropped: Dropped, tasks: Sequence[Hashable]) -> None:
        """Drop tasks and first records of theirs; what all have learned from them stays, until the last one leaves."""
        self._inner.drop(state.inner, dropped, tasks)
        codes = dropped.renumbered(state.codes)
        stay = np.flatnonzero(codes >= 0)
        state.first, state.codes = state.first.take(stay), codes[stay]

    def learn(self, state: CrossedState, run: Run, y: NDArray[np.float64]) -> Learned:
        """Predict and learn records up to the one that settles the bins, then so many at a time."""
        m, most = len(y), max(PIECE, len(run.tasks) - len(y))
        first = FIRST - state.first.n_records if state.crossing is None else most
        done = in_pieces(run, y, [*range(first, m, most), m], partial(self._learn_piece, state))
        state.rounds += m
        return done

    def _learn_piece(self, state: CrossedState, run: Run, y: NDArray[np.float64]) -> Learned:
        plain, m = sorted_entries(run.rows), len(y)
        if state.crossing is not None:
            return self._inner.learn(state.inner, run._replace(rows=crossed(state.crossing, plain)), y)
        self._note(state, plain.cut(0, m).trimmed(), run.tasks[:m])
        return Learned(Told(np.zeros(len(run.tasks))).after(run.told), np.zeros(m), np.zeros(m))

    @staticmethod
    def _note(state: CrossedState, rows: Csr, codes: Codes) -> None:
        """Keep first records; once there are enough, settle the bins."""
        state.first, state.codes = joined(state.first, rows), np.append(state.codes, codes)
        if state.first.n_records == FIRST:
            state.crossing, state.first, state.codes = crossing_of(state.first), no_records(), state.codes[:0]

    def predict(self, state: CrossedState, run: Run) -> Told:
        """Predict records; nothing is written."""
        n = len(run.tasks)
        margins = np.zeros(n)
        if state.crossing is None or not state.inner.known:
            return Told(margins)
        plain = sorted_entries(run.rows)
        anybody = np.zeros(n, np.int64)  # all tasks have the same weights
        for begin in range(0, n, PIECE):
            some = slice(begin, begin + PIECE)
            made = crossed(state.crossing, plain.cut(begin, min(begin + PIECE, n)))
            margins[some] = self._inner.score(state.inner, made, anybody[some])
        return Told(margins)

    def skip(self, state: CrossedState, rounds: int) -> None:
        """End rounds that have no labels."""
        self._inner.skip(state.inner, rounds)
        state.rounds += rounds

    def weights(self, state: CrossedState) -> NDArray[np.float64]:
        """Zeros: no feature has a weight of its own here."""
        return np.zeros((state.inner.known, state.features))

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

    def restore(self, data: dict[str, Any], arrays: Arrays, tasks: Index) -> CrossedState:
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
            state.crossing = rebuilt(no_crossing(), bins)
            state.crossing.check(held.features)
        elif first:
            state.first = rebuilt(no_records(), first)
            n = len(state.first.starts) - 1
            require(0 <= n < FIRST, f"{n} first records wait, and {FIRST} settle the bins")
            check_entries("first records", state.first, n, held.features)
            state.codes = array_of(first, "codes", state.codes)
            require_shape("tasks of first records", state.codes, n)
            require_within("tasks of first records", state.codes, 0, inner.known - 1)
        return state
