"""Boosted trees beside a learner, fitted anew each time that twice as many records have been learned."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from coterie.index import Index
from coterie.numeric.core.arrays import Dropped, grown
from coterie.numeric.core.checks import require, require_finite, require_rows, require_shape, require_within
from coterie.numeric.core.records import Csr
from coterie.numeric.primal.mixture import Layer, Losses, blend, first_layer, mix, room
from coterie.numeric.tabular.entries import check_entries, no_records, sorted_entries
from coterie.numeric.tabular.forest import CATEGORIES, Forest, no_forest, trees_say
from coterie.numeric.trees import Arrays, array_of, below, flatten, require_held
from coterie.numeric.weights.table import Weights
from coterie.round.contract import (
    Around,
    BaseLearner,
    Codes,
    Features,
    Learned,
    LearnedState,
    Margins,
    RoundCount,
    Run,
    Size,
    Told,
    in_pieces,
    told_to,
)
from coterie.round.mixture import rebuilt

from .boosting import boosted

#: Trees are fitted when so many records have been learned, and at each doubling, on this many of the last ones.
FIRST, WINDOW = 200, 8000

#: The experts that are mixed: the learner, and the trees.
EXPERTS = 2

#: Records that are learned together at most: their entries are copied.
PIECE = 65_536

#: After so many runs of kept records these are joined to one, so that there are never thousands.
RUNS = 64


class TreeRecords(NamedTuple):
    """Records that trees will be fitted to: sorted entries, numbers of tasks, labels, and the learner's log-odds."""

    rows: Csr
    codes: Codes
    y: NDArray[np.float64]
    told: NDArray[np.float64]


NOTHING_KEPT = TreeRecords(no_records(), np.zeros(0, np.int64), np.zeros(0), np.zeros(0))


class _Saved(msgspec.Struct):
    """The data that :meth:`RefittedTrees.dump` returns beside the arrays."""

    learner: dict[str, Any]
    features: Features
    learned: RoundCount


@dataclass
class RefittedState:
    """The state of the learner, records kept, trees, and what mixes them with the learner.

    ``categories`` (K,) has the category by which trees know each task, 0 for those without one; ``learned`` counts the
    records whose labels came.
    """

    inner: LearnedState
    known: int
    categories: NDArray[np.int64]
    losses: Losses
    layer: Layer
    kept: list[TreeRecords] = field(default_factory=list)
    forest: Forest | None = None
    learned: int = 0

    @property
    def features(self) -> int:
        """The width of records."""
        return self.inner.features

    @property
    def rounds(self) -> int:
        """The rounds so far."""
        return self.inner.rounds

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        runs = [array for run in self.kept for array in (*run.rows, *run[1:])]
        own = (self.categories, *self.losses, *self.layer, *(self.forest or ()), *runs)
        return self.inner.nbytes + sum(int(array.nbytes) for array in own)


class RefittedTrees(Around):
    """Mixes a learner with boosted trees that are fitted to recent records, on top of the learner's log-odds of them.

    When 200, 400, 800, ... records have been learned, trees are fitted to the last 8000 of them, with the log-odds f
    that the learner predicted before their labels came. LightGBM's trees are fitted on top of f, so g = f + trees(x);
    where it is not installed, scikit-learn's are fitted by themselves, g = trees(x). The task is a category among the
    254 of most records. Until the next fit f and g are mixed as the members of :class:`coterie.round.mixture.Mixture`
    are, so that trees that predict badly soon have little weight. Before the first fit, and after one to too few
    records or to labels that were all alike, everything stays as it was.

    Parameters
    ----------
    learner : learner
        Its margins are log-odds.
    local : float >= 0
        How much a task's own losses count in the weights of the learner and the trees.

    Raises
    ------
    ValueError
        If the learner's margins are no log-odds.

    Notes
    -----
    A fit takes about a second, and none comes before as many records again; a record O(trees · depth). A record is
    kept only if the next fit will look at it, 8000 at most.
    """

    def __init__(self, learner: BaseLearner, local: float = 0.1) -> None:
        if learner.traits.log_odds is None:
            raise ValueError("trees need a learner whose margins are log-odds")
        self.learner, self._factor, self._local = learner, float(learner.traits.log_odds), float(local)
        self.traits = replace(
            learner.traits,
            log_odds=1.0,
            weighs=False,
            asks=False,
            unnoticed=False,
            has_variances=False,
            has_intervals=False,
            mixes=True,
            cannot_repeat="trees correct what was predicted of records that had not been learned: with "
            "members='tabular' leave n_passes at 1",
            cannot_multiply="trees cannot be fitted beside a model of many classes or of sets of labels: leave out "
            "members='tabular'",
            beyond_features=" and ".join(filter(None, (learner.traits.beyond_features, "trees"))),
        )

    def pairs(self, state: RefittedState) -> Iterable[tuple[BaseLearner, LearnedState]]:
        """The learner with its state."""
        return [(self.learner, state.inner)]

    def init(self, tasks: Index, size: Size, length: int | None = None) -> RefittedState:
        """The state before the first round."""
        inner, known = self.learner.init(tasks, size, length), len(tasks)
        losses = Losses(np.zeros(EXPERTS), np.zeros((known, EXPERTS)))
        return RefittedState(inner, known, np.zeros(known, np.int64), losses, first_layer(EXPERTS))

    def grow(self, state: RefittedState, tasks: int, size: Size, counted: bool = True) -> None:
        """Make room for the first so many tasks of the index and for records so wide; all or nothing."""
        super().grow(state, tasks, size, counted)
        state.losses = state.losses._replace(tasks=grown(state.losses.tasks, tasks))
        state.categories, state.known = grown(state.categories, tasks), tasks

    def drop(self, state: RefittedState, dropped: Dropped, tasks: Sequence[Hashable]) -> None:
        """Drop tasks, their own weights and their kept records; trees that learned from these stay."""
        super().drop(state, dropped, tasks)
        dropped.move(state.losses.tasks)
        dropped.move(state.categories)
        state.known = dropped.left
        kept = _one(state.kept)
        codes = dropped.renumbered(kept.codes)
        stay = np.flatnonzero(codes >= 0)
        state.kept = [TreeRecords(kept.rows.take(stay), codes[stay], kept.y[stay], kept.told[stay])]

    def learn(self, state: RefittedState, run: Run, y: NDArray[np.float64]) -> Learned:
        """Predict and learn records one after the other.

        Trees are fitted after the very record that makes the number full, however a stream is cut into runs.
        """
        m, most = len(y), max(PIECE, len(run.tasks) - len(y))
        ends = [0]
        while ends[-1] < m:
            learned = state.learned + ends[-1]
            ends.append(min(m, ends[-1] + min(most, next_fit(learned) - learned)))
        return in_pieces(run, y, ends[1:] or ends, partial(self._learn_piece, state))

    def _learn_piece(self, state: RefittedState, run: Run, y: NDArray[np.float64]) -> Learned:
        """Learn records of which only the last may be due for a fit."""
        n, m = len(run.tasks), len(y)
        plain, before = sorted_entries(run.rows), max(run.given, n - m)  # these records were predicted before
        made = self.learner.learn(state.inner, run._replace(told=told_to(run.told, 1)[0]), y)
        margins = self._factor * made.told.margins[before:]
        experts = np.zeros((EXPERTS, n))
        experts[:, before:] = self._experts(state, plain.cut(before, n), run.tasks[before:], margins)
        if run.told is not None:
            experts[:, : run.given] = run.told.experts
        charged = np.ascontiguousarray(experts[:, :m])
        if before:
            unknown = np.flatnonzero(~charged.any(axis=0))
            own = self._factor * made.own[unknown]
            charged[:, unknown] = self._experts(state, plain.take(unknown), run.tasks[unknown], own)
        mixed, own = self._mix(state, run.tasks, y, charged if n == m else experts, charged)
        self._keep(state, TreeRecords(plain.cut(0, m).trimmed(), run.tasks[:m].copy(), y.copy(), charged[0].copy()))
        return Learned(Told(mixed, experts, (made.told,)).after(run.told), own, made.steps)

    def _mix(
        self,
        state: RefittedState,
        codes: Codes,
        y: NDArray[np.float64],
        asked: NDArray[np.float64],
        charged: NDArray[np.float64],
    ) -> tuple[Margins, Margins]:
        """Mix the experts and charge them; the margins predicted, zeros for the first, and those before each label."""
        n, m = len(codes), len(y)
        mixed, own = np.zeros(n), np.zeros(n)
        if state.forest is None:
            mixed[n - m :], own[:m] = asked[0, n - m :], charged[0]
        else:
            weights, work = np.ones(m), room(EXPERTS)
            mix(state.losses, state.layer, self._local, codes, y, weights, asked, charged, m, mixed, own, work)
        return mixed, own[:m]

    @staticmethod
    def _experts(state: RefittedState, rows: Csr, codes: Codes, margins: Margins) -> NDArray[np.float64]:
        """The log-odds of the learner and those of the trees, (2, n); a task that nobody has seen is number -1."""
        if state.forest is None:
            return np.array([margins, margins])
        categories = np.append(state.categories[: state.known], 0)[codes]
        return np.array([margins, trees_say(state.forest, rows, categories, margins)])

    def _keep(self, state: RefittedState, records: TreeRecords) -> None:
        """Keep those of the records learned that the next fit uses, and fit if it is due after them."""
        n, fit = len(records.y), next_fit(state.learned)
        fresh = min(n, max(state.learned + n - (fit - WINDOW), 0))
        if fresh:
            state.kept.append(_last(records, fresh))
        if len(state.kept) >= RUNS:
            state.kept = [_one(state.kept)]
        state.learned += n
        if state.learned == fit:
            kept = _one(state.kept)
            self._fit(state, kept)
            state.kept = [_last(kept, min(max(WINDOW - state.learned, 0), len(kept.y)))]

    @staticmethod
    def _fit(state: RefittedState, kept: TreeRecords) -> None:
        """Fit trees to records; where nothing can be learned from these, the trees fitted before stay."""
        categories = categories_of(kept.codes, state.known)
        forest = boosted(kept.rows, categories[kept.codes], kept.y, kept.told)
        if forest is not None:
            state.forest = forest
            state.categories[: len(categories)] = categories

    def predict(self, state: RefittedState, run: Run) -> Told:
        """Predict records; nothing is written."""
        inner = self.learner.predict(state.inner, run)
        margins = self._factor * inner.margins
        if state.forest is None:
            return Told(margins, np.array([margins, margins]), (inner,))
        experts = self._experts(state, sorted_entries(run.rows), run.tasks, margins)
        return Told(self._blended(state, run.tasks, experts), experts, (inner,))

    def linear_part(self, state: RefittedState, run: Run) -> Margins:
        """The part of margins that is a weighted sum of features: that of the learner, without the trees."""
        margins = self._factor * self.learner.linear_part(state.inner, run)
        if state.forest is None:
            return margins
        return self._blended(state, run.tasks, np.array([margins, state.forest.on_top[0] * margins]))

    def _blended(self, state: RefittedState, codes: Codes, experts: NDArray[np.float64]) -> Margins:
        mixed = np.zeros(len(codes))
        blend(state.losses, state.layer, self._local, codes, experts, mixed, room(EXPERTS))
        return mixed

    def adopt(self, state: RefittedState) -> None:
        """Let the learner go on with its state."""
        self.learner.adopt(state.inner)

    def expert_weights(self, state: RefittedState) -> NDArray[np.float64]:
        """The weights of the learner's members at every known task, where it is a mixture."""
        mixture: Any = self.learner
        return np.asarray(mixture.expert_weights(state.inner))

    def weights(self, state: RefittedState) -> Weights:
        """The learner's weights; the log-odds of trees are not part of them."""
        return np.asarray(self.learner.weights(state.inner))

    def relation_matrix(self, state: RefittedState, among: Sequence[int] | None = None) -> NDArray[np.float64]:
        """The relation matrix of the learner."""
        return self.learner.relation_matrix(state.inner, among)

    def share(self, state: RefittedState) -> NDArray[np.float64]:
        """The share of each task that the learner has."""
        return self.learner.share(state.inner)

    def dump(self, state: RefittedState) -> tuple[dict[str, Any], Arrays]:
        """The state as plain JSON data and named arrays, without the labels of the tasks."""
        data, held = self.learner.dump(state.inner)
        losses = state.losses._replace(tasks=state.losses.tasks[: state.known])
        arrays = {f"learner.{name}": array for name, array in held.items()}
        arrays |= {"categories": state.categories[: state.known].copy()}
        arrays |= flatten(losses, "losses.")[1]
        arrays |= flatten(require_held(state.layer, "layer."), "layer.")[1]
        kept = _one(state.kept)
        if len(kept.y):
            arrays |= flatten(kept, "kept.")[1]
        if state.forest is not None:
            arrays |= flatten(state.forest, "forest.")[1]
        return {"learner": data, "features": state.features, "learned": state.learned}, arrays

    def restore(self, data: dict[str, Any], arrays: Arrays, tasks: Index) -> RefittedState:
        """Undo :meth:`dump`; predictions that waited for labels in files of version 0.2 are left out.

        Raises
        ------
        ValueError
            If the data do not fit together.
        """
        held = msgspec.convert(data, _Saved)
        inner: LearnedState = self.learner.restore(held.learner, below(arrays, "learner."), tasks)
        known, features = len(tasks), held.features
        require(inner.features == features, f"the learner is {inner.features} features wide, expected {features}")
        losses = rebuilt(Losses(np.zeros(0), np.zeros((0, 0))), below(arrays, "losses."))
        losses.check(EXPERTS, known)
        layer = require_held(rebuilt(first_layer(EXPERTS), below(arrays, "layer.")), "layer.")
        layer.check(EXPERTS)
        categories = array_of(arrays, "categories", np.zeros(0, np.int64))
        require_rows("categories of tasks", categories, known)
        require_within("categories of tasks", categories, 0, CATEGORIES - 1)
        state = RefittedState(inner, known, categories, losses, layer, learned=held.learned)
        if kept := below(arrays, "kept."):
            state.kept = [_kept(kept, state)]
        if forest := below(arrays, "forest."):
            state.forest = rebuilt(no_forest(), forest)
            state.forest.check(features)
        return state


def next_fit(learned: int) -> int:
    """The number of records after which trees are fitted next.

    Examples
    --------
    >>> next_fit(0), next_fit(199), next_fit(200), next_fit(1000)
    (200, 200, 400, 1600)
    """
    return FIRST << (learned // FIRST).bit_length()


def categories_of(codes: Codes, tasks: int) -> Codes:
    """A category from 1 on for each of the tasks with the most of these records, 0 for the others, shape (tasks,).

    Examples
    --------
    >>> categories_of(np.array([0, 2, 2]), 3)
    array([2, 0, 1])
    """
    counts = np.bincount(codes, minlength=tasks)
    order = np.argsort(-counts, kind="stable")[: CATEGORIES - 1]
    order = order[counts[order] > 0]
    made = np.zeros(tasks, np.int64)
    made[order] = 1 + np.arange(len(order))
    return made


def _one(runs: Sequence[TreeRecords]) -> TreeRecords:
    """Concatenate runs of records."""
    if len(runs) <= 1:
        return runs[0] if runs else NOTHING_KEPT
    lengths = np.concatenate([np.diff(run.rows.starts) for run in runs])
    rows = Csr(
        np.concatenate([run.rows.values for run in runs]),
        np.concatenate([run.rows.features for run in runs]),
        np.concatenate([[0], np.cumsum(lengths)]),
    )
    codes, y, told = (np.concatenate(each) for each in zip(*(run[1:] for run in runs), strict=True))
    return TreeRecords(rows, codes, y, told)


def _last(records: TreeRecords, n: int) -> TreeRecords:
    """Copy the last so many of a run of records."""
    first = len(records.y) - n
    rows = records.rows.cut(first, len(records.y)).trimmed()
    rows = Csr(rows.values.copy(), rows.features.copy(), rows.starts.copy())
    return TreeRecords(rows, records.codes[first:].copy(), records.y[first:].copy(), records.told[first:].copy())


def _kept(arrays: Arrays, state: RefittedState) -> TreeRecords:
    """Records kept, of a file: ValueError for what none can be."""
    rows = rebuilt(no_records(), below(arrays, "rows."))
    codes, y, told = (
        array_of(arrays, name, like) for name, like in zip(TreeRecords._fields[1:], NOTHING_KEPT[1:], strict=True)
    )
    n = len(y)
    require(n <= WINDOW, f"{n} records are kept, expected {WINDOW} at most")
    check_entries("records kept", rows, n, state.features)
    require_shape("tasks of records kept", codes, n)
    require_within("tasks of records kept", codes, 0, state.known - 1)
    require(np.isin(y, (-1.0, 1.0)).all(), "labels of records kept are neither -1 nor 1")
    require_shape("log-odds told of records kept", told, n)
    require_finite("log-odds told of records kept", told)
    return TreeRecords(rows, codes, y, told)
