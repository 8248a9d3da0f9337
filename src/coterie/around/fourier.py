"""Any learner on random Fourier features of the records: a kernel in fixed memory, under the learner's relation."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from coterie.index import Index
from coterie.kernels import SpectralKernel
from coterie.learner import Features, Margins, Noted, StreamLearner
from coterie.numeric.core.arrays import Dropped, grown
from coterie.numeric.core.checks import require
from coterie.numeric.core.records import Csr, Dense, Rows, WeightedDense, weights_of
from coterie.numeric.primal.asking import EVERY
from coterie.numeric.trees import Arrays, below
from coterie.numeric.views.fourier import transform, uniforms
from coterie.state import LearnedState

Codes = NDArray[np.int64]

#: So many random features of records are made at a time, and so many numbers of directions are kept: a gigabyte.
PIECE, MOST = 2**19, 2**27


class _Saved(msgspec.Struct):
    """The data that :meth:`FourierLearner.dump` returns beside the arrays."""

    inner: dict[str, Any]
    features: Features


@dataclass
class FourierState:
    """The state of the learner on the random features, the width of the records before, and what made the former."""

    inner: Any
    features: int
    drawn: tuple[Any, int, int]

    @property
    def tasks(self) -> Index:
        """The tasks known."""
        return self.inner.tasks  # type: ignore[no-any-return]

    @property
    def rounds(self) -> int:
        """The rounds learned."""
        return self.inner.rounds  # type: ignore[no-any-return]

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays, without those of the directions, which can be drawn again."""
        return self.inner.nbytes  # type: ignore[no-any-return]


class RandomFeatures:
    """Records to rows of ``size`` numbers whose inner products are about a kernel's values.

    The directions of features are drawn when they first occur. They are kept to be used again, and drawn again once
    too many are there: what a record becomes depends on the record, the kernel, the size and the seed alone.

    Raises
    ------
    ValueError
        For a kernel whose frequencies are not known.
    """

    def __init__(self, kernel: SpectralKernel, size: int, seed: int) -> None:
        kernel.frequencies(np.array([0.5]))  # refuses what has none
        self.kernel, self.size, self.seed = kernel, size, seed
        self._forget()

    @property
    def drawn(self) -> tuple[SpectralKernel, int, int]:
        """All that the features of a record depend on."""
        return self.kernel, self.size, self.seed

    @property
    def nbytes(self) -> int:
        """Bytes of the directions that are kept."""
        return self._directions.nbytes

    def _forget(self) -> None:
        self._known, self._directions = Index(), np.zeros((0, self.size // 2))

    def of(self, rows: Rows) -> Dense:
        """The features of records, in the records' type and with their weights."""
        placed, directions = self._placed(rows)
        out = np.zeros((rows.n_records, self.size), rows.values.dtype)
        transform(placed, directions, np.zeros(self.size // 2), out)
        return WeightedDense(out, weights_of(rows)) if hasattr(rows, "weights") else Dense(out)

    def of_one(self, row: Rows) -> Csr:
        """The features of one record, as entries."""
        return Csr(self.of(row).values[0], np.arange(self.size, dtype=np.int32), np.array([0, self.size]))

    def _placed(self, rows: Rows) -> tuple[Rows, NDArray[np.float64]]:
        """The records with their features numbered as the rows of the directions beside them."""
        if isinstance(rows, Dense):
            every = np.arange(rows.values.shape[1])
            places = self._places(every)
            in_order = np.array_equal(places, every)  # nothing need be copied
            return Dense(rows.values), self._directions[: len(every)] if in_order else self._directions[places]
        held = Csr(*rows[:3]).trimmed()
        used, entries = np.unique(held.features, return_inverse=True)
        return held._replace(features=self._places(used)[entries].astype(np.int32)), self._directions

    def _places(self, features: Codes) -> Codes:
        """The rows of these features' directions, drawn where they have none."""
        places = self._known.codes(features)
        fresh = features[places < 0]
        if not len(fresh):
            return places
        if (len(self._known) + len(fresh)) * self.size > 2 * MOST:
            self._forget()
            fresh = features
        drawn = np.zeros((len(fresh), self.size // 2))
        uniforms(self.seed, fresh, drawn)
        first = len(self._known)
        self._known.add(fresh)
        self._directions = grown(self._directions, len(self._known))
        self._directions[first : len(self._known)] = self.kernel.frequencies(drawn)
        return self._known.codes(features)


class FourierLearner(StreamLearner):
    """A learner that is given random features of the records instead of these, with the same methods.

    Parameters
    ----------
    learner : StreamLearner
        Any that learns from one vector a record.
    features : RandomFeatures
        What becomes of a record.

    Notes
    -----
    O(nnz · size) a record beside what the learner takes for a dense record of ``size`` numbers.
    """

    beyond_features = "random Fourier features"

    def __init__(self, learner: StreamLearner, features: RandomFeatures) -> None:
        self.learner, self.features, self.log_odds = learner, features, learner.log_odds
        self.has_variances, self.has_intervals = learner.has_variances, learner.has_intervals

    @property
    def _at_once(self) -> int:
        """How many records are transformed at a time."""
        return max(PIECE // self.features.size, 1)

    def beside(self) -> Self:
        """The same learner for another state, of the same features."""
        made = copy.copy(self)
        made.learner = self.learner.beside()
        return made

    @property
    def weighs(self) -> bool:
        """True where the learner weighs records."""
        return self.learner.weighs

    @property
    def names_tasks(self) -> bool:
        """True if the learner's relation names all its tasks."""
        return self.learner.names_tasks

    def init(
        self, tasks: Sequence[Hashable] = (), features: int = 0, dense: bool = False, length: int | None = None
    ) -> FourierState:
        """The state before the first round; see :meth:`coterie.learner.Learner.init`."""
        inner = self.learner.init(tasks, self.features.size, True, length)
        return FourierState(inner, features, self.features.drawn)

    def fit_tasks(self, state: FourierState, tasks: Sequence[Hashable], features: int) -> None:
        """Make room for new tasks, given by their labels; features need none."""
        self.learner.fit_tasks(state.inner, tasks, self.features.size)
        state.features = max(features, state.features)

    def check_tasks(self, state: FourierState, tasks: Sequence[Hashable]) -> None:
        """Refuse tasks that the relation does not know: ValueError naming the first."""
        self.learner.check_tasks(state.inner, tasks)

    def check_dropping(self, state: FourierState) -> None:
        """Refuse if tasks cannot be dropped: ValueError."""
        self.learner.check_dropping(state.inner)

    def check_bounded(self) -> None:
        """Refuse ``max_tasks``, a limit on the tasks known at a time, if the learner does: ValueError."""
        self.learner.check_bounded()

    def check_many(self) -> None:
        """Refuse to be copied for each of many classes, if the learner does: ValueError."""
        self.learner.check_many()

    @property
    def comes_unnoticed(self) -> bool:
        """True if adding or dropping a task changes nothing for all others."""
        return self.learner.comes_unnoticed

    def drop_tasks(self, state: FourierState, dropped: Dropped) -> None:
        """Drop tasks and their own weights."""
        self.learner.drop_tasks(state.inner, dropped)

    def update_many(
        self,
        state: FourierState,
        rows: Rows,
        codes: Codes,
        y: NDArray[Any],
        last: int | None = None,
        asker: Any = EVERY,
        new: Sequence[Hashable] = (),
    ) -> Any:
        """Predict and learn records one after the other; see :meth:`coterie.learner.Learner.update_many`."""
        last = len(codes) if last is None else last
        delay, known, made = len(codes) - last, len(state.tasks), []
        most = max(self._at_once, delay)
        for first in range(0, max(last, 1), most):
            end = min(first + most, last)
            some = slice(first, end + delay)
            coming = new[len(state.tasks) - known : max(int(codes[some].max(initial=-1)) + 1 - known, 0)]
            asks = asker if asker is EVERY else asker._replace(owner=asker.owner[some], answer=asker.answer[some])
            mapped = self.features.of(rows.cut(first, end + delay))
            made.append(self.learner.update_many(state.inner, mapped, codes[some], y[some], end - first, asks, coming))
        return made[0] if len(made) == 1 else _joined(made, delay)

    def update_one(self, state: FourierState, rows: Rows, i: int, y: Any) -> None:
        """Learn one record of the known task i."""
        self.learner.update_one(state.inner, self.features.of_one(rows), i, y)

    def score_any(self, state: FourierState, rows: Rows, codes: Codes, unseen: Sequence[Hashable]) -> Margins:
        """Margins of records of the tasks ``codes``; -1 is a new task, whose label is the next of ``unseen``."""
        each = [self.learner.score_any(state.inner, *piece) for piece in self._pieces(rows, codes, unseen)]
        return each[0] if len(each) == 1 else np.concatenate(each)

    def _pieces(
        self, rows: Rows, codes: Codes, unseen: Sequence[Hashable]
    ) -> Iterator[tuple[Rows, Codes, Sequence[Hashable]]]:
        """Features of some of the records at a time, their tasks' numbers, and labels of tasks that are not known."""
        met, most = 0, self._at_once
        for first in range(0, max(len(codes), 1), most):
            some = codes[first : first + most]
            before, met = met, met + int((some < 0).sum())
            yield self.features.of(rows.cut(first, first + len(some))), some, unseen[before:met]

    def score_one(self, state: FourierState, rows: Rows, i: int) -> Any:
        """Margin of one record of the known task i."""
        return self.learner.score_one(state.inner, self.features.of_one(rows), i)

    def variances(self, state: FourierState, rows: Rows, codes: Codes, unseen: Sequence[Hashable]) -> Margins:
        """The variance of each record's margin, where the learner has them."""
        each = [self.learner.variances(state.inner, *piece) for piece in self._pieces(rows, codes, unseen)]
        return np.concatenate(each)

    def intervals(
        self, state: FourierState, rows: Rows, codes: Codes, unseen: Sequence[Hashable], level: float
    ) -> tuple[Margins, NDArray[np.float64]]:
        """Margins as :meth:`score_any`, and intervals of the labels, shape (n, 2), where the learner has them."""
        each = [self.learner.intervals(state.inner, *piece, level) for piece in self._pieces(rows, codes, unseen)]
        margins, ends = zip(*each, strict=True)
        return np.concatenate(margins), np.concatenate(ends)

    def linear_part(self, state: FourierState, rows: Rows, codes: Codes, unseen: Sequence[Hashable]) -> Margins:
        """Nothing: no feature of the records has a weight."""
        return np.zeros_like(self.score_any(state, rows, codes, unseen))

    def skip_unlabelled(self, state: FourierState, rounds: int = 1) -> None:
        """End rounds that have no labels: clocks advance, nothing else changes."""
        self.learner.skip_unlabelled(state.inner, rounds)

    def weights(self, state: FourierState) -> Any:
        """Refuse to show weights of the records' features: AttributeError, always."""
        raise AttributeError("a model of random Fourier features has a weight for each of these, none for a column")

    def relation_matrix(self, state: FourierState, among: Sequence[int] | None = None) -> NDArray[np.float64]:
        """A⁻¹ on the paper's scale for the tasks known, or for those ``among`` them with these numbers."""
        return self.learner.relation_matrix(state.inner, among)

    def share(self, state: FourierState) -> NDArray[np.float64]:
        """The part of each task's moves that is shared with others."""
        return self.learner.share(state.inner)

    def models(self, state: FourierState) -> int:
        """The number of models of two classes that the learner has."""
        return self.learner.models(state.inner)

    def adopt(self, state: FourierState) -> None:
        """Check that a state learned under other parameters can be continued: it must have the same random features."""
        if state.drawn != self.features.drawn:
            raise ValueError("kernel, n_components and seed cannot change once something is learned: fit anew")
        self.learner.adopt(state.inner)

    def inform(self, state: FourierState, chance: Any) -> None:
        """Update what the chance of asking has stored of a learned relation."""
        self.learner.inform(state.inner, chance)

    def noted(self, state: FourierState, moves: Any) -> Noted:
        """Events of a run of rounds other than moves of weights: changes of support vectors, lengths of views."""
        return self.learner.noted(state.inner, moves)

    def dump(self, state: FourierState) -> tuple[dict[str, Any], Arrays]:
        """The state as plain JSON data and named arrays, without the labels of the tasks."""
        data, arrays = self.learner.dump(state.inner)
        return {"inner": data, "features": state.features}, {f"inner.{name}": held for name, held in arrays.items()}

    def restore(self, data: dict[str, Any], arrays: Arrays, tasks: Sequence[Hashable]) -> FourierState:
        """Undo :meth:`dump`.

        Raises
        ------
        ValueError
            If the data do not fit together.
        """
        held = msgspec.convert(data, _Saved)
        inner: LearnedState = self.learner.restore(held.inner, below(arrays, "inner."), tasks)
        size = self.features.size
        require(inner.features == size, f"weights are of {inner.features} random features, expected {size}")
        return FourierState(inner, held.features, self.features.drawn)


def _joined(made: Sequence[Any], delay: int) -> Any:
    """The moves of pieces as one: each piece ends with the ``delay`` records with which the next one begins."""
    *before, last = made
    joined = {
        name: np.concatenate([*(getattr(each, name)[: len(each.taus) - delay] for each in before), getattr(last, name)])
        for name in ("own", "taus")
    }
    margins = np.concatenate([made[0].margins[:delay], *(each.margins[delay:] for each in made)])
    return last._replace(margins=margins, **joined)
