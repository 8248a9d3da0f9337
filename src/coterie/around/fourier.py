"""Any learner on random Fourier features of the records: a kernel in fixed memory, under the learner's relation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from coterie.index import Index
from coterie.kernels import SpectralKernel
from coterie.numeric.core.arrays import grown
from coterie.numeric.core.checks import require
from coterie.numeric.core.records import Csr, Dense, Rows, WeightedDense, weights_of
from coterie.numeric.trees import Arrays, below
from coterie.numeric.views.fourier import transform, uniforms
from coterie.round.contract import (
    Around,
    BaseLearner,
    Codes,
    Features,
    Learned,
    LearnedState,
    Margins,
    Run,
    Single,
    Size,
    Told,
    in_pieces,
    nothing,
)

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


class FourierLearner(Around):
    """A learner that is given random features of the records instead of these, with the same methods.

    Parameters
    ----------
    learner : learner
        Any that learns from one vector a record.
    features : RandomFeatures
        What becomes of a record.

    Notes
    -----
    O(nnz · size) a record beside what the learner takes for a dense record of ``size`` numbers.
    """

    def __init__(self, learner: BaseLearner, features: RandomFeatures) -> None:
        self.learner, self.features = learner, features
        self.traits = replace(
            learner.traits,
            feature_changes_all=False,
            cannot_repeat="",
            mixes=False,
            beyond_features="random Fourier features",
        )

    def pairs(self, state: FourierState) -> Iterable[tuple[BaseLearner, Any]]:
        """The learner with its state."""
        return [(self.learner, state.inner)]

    @property
    def _at_once(self) -> int:
        """How many records are transformed at a time."""
        return max(PIECE // self.features.size, 1)

    @property
    def _size(self) -> Size:
        """How wide records are that the learner is given."""
        return Size(self.features.size, True)

    def init(self, tasks: Index, size: Size, length: int | None = None) -> FourierState:
        """The state before the first round."""
        return FourierState(self.learner.init(tasks, self._size, length), size.features, self.features.drawn)

    def grow(self, state: FourierState, tasks: int, size: Size, counted: bool = True) -> None:
        """Make room for the first so many tasks of the index; features need none."""
        self.learner.grow(state.inner, tasks, self._size, counted)
        state.features = max(size.features, state.features)

    def learn(self, state: FourierState, run: Run, y: Any) -> Learned:
        """Predict and learn records, so many at a time."""
        most = max(self._at_once, len(run.tasks) - len(y))

        def learn_piece(piece: Run, labels: Any) -> Learned:
            return self.learner.learn(state.inner, self._mapped(piece), labels)

        return in_pieces(run, y, [*range(most, len(y), most), len(y)], learn_piece)

    def _mapped(self, run: Run) -> Run:
        return run._replace(rows=self.features.of(run.rows))

    def _pieces(self, run: Run) -> Iterator[Run]:
        """So many of the records at a time, with their random features."""
        for first in range(0, max(len(run.tasks), 1), self._at_once):
            yield self._mapped(run.cut(first, first + self._at_once))

    def predict(self, state: FourierState, run: Run) -> Told:
        """Predict records; nothing is written."""
        return Told.joined([self.learner.predict(state.inner, piece) for piece in self._pieces(run)])

    def linear_part(self, state: FourierState, run: Run) -> Margins:
        """Nothing: no feature of the records has a weight."""
        return np.zeros_like(self.predict(state, run).margins)

    def variances(self, state: FourierState, run: Run) -> Margins:
        """The variance of each record's margin, where the learner has them."""
        return np.concatenate([self.learner.variances(state.inner, piece) for piece in self._pieces(run)])

    def intervals(self, state: FourierState, run: Run, level: float) -> tuple[Margins, NDArray[np.float64]]:
        """Margins, and intervals of the labels, shape (n, 2), where the learner has them."""
        each = [self.learner.intervals(state.inner, piece, level) for piece in self._pieces(run)]
        margins, ends = zip(*each, strict=True)
        return np.concatenate(margins), np.concatenate(ends)

    def single(self, state: FourierState) -> FourierSingle:
        """Rounds of one record each, by those of the learner."""
        return FourierSingle(self, state)

    def hold_mixing(self, state: FourierState) -> Callable[[], None]:
        """A function that does nothing: several passes are plain ones."""
        return nothing

    def inform(self, state: FourierState, chance: Any) -> None:
        """Update what the chance of asking has stored of a learned relation."""
        self.learner.inform(state.inner, chance)

    def adopt(self, state: FourierState) -> None:
        """Check that a state learned under other parameters can be continued: it must have the same random features."""
        if state.drawn != self.features.drawn:
            raise ValueError("kernel, n_components and seed cannot change once something is learned: fit anew")
        super().adopt(state)

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

    def dump(self, state: FourierState) -> tuple[dict[str, Any], Arrays]:
        """The state as plain JSON data and named arrays, without the labels of the tasks."""
        data, arrays = self.learner.dump(state.inner)
        return {"inner": data, "features": state.features}, {f"inner.{name}": held for name, held in arrays.items()}

    def restore(self, data: dict[str, Any], arrays: Arrays, tasks: Index) -> FourierState:
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


class FourierSingle(Single):
    """Rounds of one record each, its random features given to those of the learner."""

    def __init__(self, learner: FourierLearner, state: FourierState) -> None:
        super().__init__(learner, state)
        self._inner = learner.learner.single(state.inner)

    def predict(self, rows: Rows, i: int) -> Any:
        """The margin of a record of task i, or its margins."""
        return self._inner.predict(self.learner.features.of_one(rows), i)

    def learn(self, rows: Rows, i: int, y: Any) -> None:
        """Learn a record of task i."""
        self._inner.learn(self.learner.features.of_one(rows), i, y)

    def forget(self) -> None:
        """Release the model."""
        self._inner.forget()
