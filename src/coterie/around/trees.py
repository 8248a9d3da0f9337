"""Boosted trees beside a learner, fitted anew each time that twice as many records have been learned."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from coterie.index import Index
from coterie.learner import Features, Margins, RoundCount, StreamLearner, no_moves
from coterie.numeric.core.arrays import Dropped, grown
from coterie.numeric.core.checks import (
    require,
    require_finite,
    require_rows,
    require_shape,
    require_within,
)
from coterie.numeric.core.records import Csr, Rows
from coterie.numeric.primal.asking import EVERY, decide_all
from coterie.numeric.primal.mixture import Layer, Losses, blend, first_layer, mix, room
from coterie.numeric.primal.stream import Moves
from coterie.numeric.tabular.entries import check_entries, no_records, sorted_entries
from coterie.numeric.tabular.forest import CATEGORIES, Forest, no_forest, trees_say
from coterie.numeric.trees import Arrays, array_of, below, flatten, require_held
from coterie.numeric.weights.table import Weights
from coterie.state import LearnedState

from .boosting import boosted

Codes = NDArray[np.int64]

#: Trees are fitted when so many records have been learned, and at each doubling, on this many of the last ones.
FIRST, WINDOW = 200, 8000

#: The experts that are mixed: the learner, and the trees.
EXPERTS = 2

#: Records that are learned together at most: their entries are copied.
PIECE = 65_536

#: After so many runs of kept records these are joined to one, so that there are never thousands.
RUNS = 64


class Kept(NamedTuple):
    """Records that trees will be fitted to: sorted entries, numbers of tasks, labels, and the learner's log-odds."""

    rows: Csr
    codes: Codes
    y: NDArray[np.float64]
    told: NDArray[np.float64]


class Waiting(NamedTuple):
    """Records that were predicted and whose labels come later: log-odds of learner and trees, (2, m), and the tasks."""

    told: NDArray[np.float64]
    codes: Codes


NOTHING_KEPT = Kept(no_records(), np.zeros(0, np.int64), np.zeros(0), np.zeros(0))
NOBODY = Waiting(np.zeros((EXPERTS, 0)), np.zeros(0, np.int64))


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
    categories: NDArray[np.int64]
    losses: Losses
    layer: Layer
    kept: list[Kept] = field(default_factory=list)
    forest: Forest | None = None
    waiting: Waiting = NOBODY
    learned: int = 0

    @property
    def tasks(self) -> Index:
        """The tasks known."""
        return self.inner.tasks

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
        own = (self.categories, *self.losses, *self.layer, *self.waiting, *(self.forest or ()), *runs)
        return self.inner.nbytes + sum(int(array.nbytes) for array in own)


class RefittedTrees(StreamLearner):
    """Mixes a learner with boosted trees that are fitted to recent records, on top of the learner's log-odds of them.

    When 200, 400, 800, ... records have been learned, trees are fitted to the last 8000 of them, with the log-odds f
    that the learner predicted before their labels came. LightGBM's trees are fitted on top of f, so g = f + trees(x);
    where it is not installed, scikit-learn's are fitted by themselves, g = trees(x). The task is a category among the
    254 of most records. Until the next fit f and g are mixed as the members of :class:`coterie.mixture.Mixture` are, so
    that trees that predict badly soon have little weight. Before the first fit, and after one to too few records or to
    labels that were all alike, everything stays as it was.

    Parameters
    ----------
    learner : StreamLearner
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

    log_odds: float | None = 1.0
    mixes = True

    def __init__(self, learner: StreamLearner, local: float = 0.1) -> None:
        if learner.log_odds is None:
            raise ValueError("trees need a learner whose margins are log-odds")
        self._learner, self._factor, self._local = learner, float(learner.log_odds), float(local)
        self.beyond_features = " and ".join(filter(None, (learner.beyond_features, "trees")))

    @property
    def counts_features(self) -> bool:
        """True where the learner's computations depend on the number of features."""
        return self._learner.counts_features

    @property
    def names_tasks(self) -> bool:
        """True if the learner's relation names all its tasks."""
        return self._learner.names_tasks

    def init(
        self, tasks: Sequence[Hashable] = (), features: int = 0, dense: bool = False, length: int | None = None
    ) -> RefittedState:
        """The state before the first round; see :meth:`coterie.learner.Learner.init`."""
        inner = self._learner.init(tasks, features, dense, length)
        known = len(inner.tasks)
        losses = Losses(np.zeros(EXPERTS), np.zeros((known, EXPERTS)))
        return RefittedState(inner, np.zeros(known, np.int64), losses, first_layer(EXPERTS))

    def check_tasks(self, state: RefittedState, tasks: Sequence[Hashable]) -> None:
        """Refuse tasks that the learner does not know: ValueError naming the first."""
        self._learner.check_tasks(state.inner, tasks)

    def fit_tasks(self, state: RefittedState, tasks: Sequence[Hashable], features: int) -> None:
        """Make room for new tasks, given by their labels, and for so many features; all or nothing."""
        self._learner.fit_tasks(state.inner, tasks, features)
        self._note_tasks(state)

    @staticmethod
    def _note_tasks(state: RefittedState) -> None:
        """Make room for the losses and the categories of the tasks that the learner knows."""
        known = len(state.tasks)
        state.losses = state.losses._replace(tasks=grown(state.losses.tasks, known))
        state.categories = grown(state.categories, known)

    def check_dropping(self, state: RefittedState) -> None:
        """Refuse if the learner cannot drop tasks: ValueError."""
        self._learner.check_dropping(state.inner)

    def check_bounded(self) -> None:
        """Refuse ``max_tasks``, a limit on the tasks known at a time, if the learner does: ValueError."""
        self._learner.check_bounded()

    def check_passes(self) -> None:
        """Refuse to learn records more than once: trees are fitted to log-odds predicted before labels came."""
        raise ValueError(
            "trees correct what was predicted of records that had not been learned: with members='tabular' leave "
            "n_passes at 1"
        )

    def check_many(self) -> None:
        """Refuse to be copied for each of many classes: ValueError."""
        raise ValueError(
            "trees cannot be fitted beside a model of many classes or of sets of labels: leave out members='tabular'"
        )

    def drop_tasks(self, state: RefittedState, dropped: Dropped) -> None:
        """Drop tasks, their own weights and their kept records; trees that learned from these stay."""
        self._learner.drop_tasks(state.inner, dropped)
        dropped.move(state.losses.tasks)
        dropped.move(state.categories)
        kept = _one(state.kept)
        codes = dropped.renumbered(kept.codes)
        stay = np.flatnonzero(codes >= 0)
        state.kept = [Kept(kept.rows.take(stay), codes[stay], kept.y[stay], kept.told[stay])]
        codes = dropped.renumbered(state.waiting.codes)
        state.waiting = Waiting(np.where(codes >= 0, state.waiting.told, 0.0), codes)

    def update_many(
        self,
        state: RefittedState,
        rows: Rows,
        codes: Codes,
        y: NDArray[np.float64],
        last: int | None = None,
        asker: Any = EVERY,
        new: Sequence[Hashable] = (),
    ) -> Moves:
        """Predict and learn records one after the other; see :meth:`coterie.learner.Learner.update_many`.

        Trees are fitted after the very record that makes the number full, however a stream is cut into calls.
        """
        moves = no_moves(len(codes))
        last = len(codes) if last is None else last
        delay, known = len(codes) - last, len(state.tasks)
        if asker is not EVERY:
            self._select(state, rows, codes, y, moves, last, asker, new)
            return moves
        first = 0
        while first < last:
            end = min(last, first + max(PIECE, delay), first + next_fit(state.learned) - state.learned)
            self._piece(state, rows, codes, y, moves, first, end, delay, new[len(state.tasks) - known :])
            first = end
        if last == 0:
            self.fit_tasks(state, new, state.features)
        return moves

    def _piece(
        self,
        state: RefittedState,
        rows: Rows,
        codes: Codes,
        y: NDArray[np.float64],
        moves: Moves,
        first: int,
        end: int,
        delay: int,
        new: Sequence[Hashable] = (),
    ) -> None:
        """Learn the records ``first`` to ``end`` (not included), of which only the last may be due for a fit."""
        n, some = end - first, slice(first, end + delay)
        plain, tasks = sorted_entries(rows.cut(first, end + delay)), codes[some]
        coming = new[: max(int(tasks.max(initial=-1)) + 1 - len(state.tasks), 0)]
        made = self._learner.update_many(
            state.inner, rows.cut(first, end + delay), tasks, y[first:end], n, EVERY, coming
        )
        self._note_tasks(state)
        told = self._told(state, plain, tasks, self._factor * made.margins, delay)
        judged = np.ascontiguousarray(told[:, :n])
        if delay:
            unknown = np.flatnonzero(~judged.any(axis=0))
            own = self._factor * made.own[unknown]
            judged[:, unknown] = self._experts(state, plain.take(unknown), tasks[unknown], own)
        if state.forest is None:
            moves.margins[first + delay : end + delay], moves.own[first:end] = told[0, delay:], judged[0]
        else:
            mixed, own = moves.margins[some], moves.own[some]
            mix(
                state.losses,
                state.layer,
                self._local,
                tasks,
                y[first:end],
                np.ones(n),
                told,
                judged,
                n,
                mixed,
                own,
                room(EXPERTS),
            )
        moves.taus[first:end] = made.taus[:n]
        state.waiting = Waiting(told[:, n:].copy(), tasks[n:].copy())
        self._keep(state, Kept(plain.cut(0, n).trimmed(), tasks[:n].copy(), y[first:end].copy(), judged[0].copy()))

    def _told(self, state: RefittedState, rows: Csr, codes: Codes, margins: Margins, delay: int) -> NDArray[np.float64]:
        """Log-odds of records by learner and trees; of the first ones as they were predicted, zeros where not known."""
        told = np.zeros((EXPERTS, len(codes)))
        told[:, delay:] = self._experts(state, rows.cut(delay, len(codes)), codes[delay:], margins[delay:])
        waiting = state.waiting.codes
        if len(waiting) == delay and bool(((waiting == codes[:delay]) | (waiting < 0)).all()):
            told[:, :delay] = state.waiting.told
        return told

    @staticmethod
    def _experts(state: RefittedState, rows: Csr, codes: Codes, margins: Margins) -> NDArray[np.float64]:
        """The log-odds of the learner and those of the trees, (2, n); a task that nobody has seen is number -1."""
        if state.forest is None:
            return np.array([margins, margins])
        categories = np.append(state.categories[: len(state.tasks)], 0)[codes]
        return np.array([margins, trees_say(state.forest, rows, categories, margins)])

    def _keep(self, state: RefittedState, records: Kept) -> None:
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
    def _fit(state: RefittedState, kept: Kept) -> None:
        """Fit trees to records; where nothing can be learned from these, the trees fitted before stay."""
        categories = categories_of(kept.codes, len(state.tasks))
        forest = boosted(kept.rows, categories[kept.codes], kept.y, kept.told)
        if forest is not None:
            state.forest = forest
            state.categories[: len(categories)] = categories

    def _select(
        self,
        state: RefittedState,
        rows: Rows,
        codes: Codes,
        y: NDArray[np.float64],
        moves: Moves,
        last: int,
        asker: Any,
        new: Sequence[Hashable],
    ) -> None:
        """Learn record by record, and only those whose labels are asked for by the margin predicted."""
        delay, known = len(codes) - last, len(state.tasks)
        for s in range(last):
            end = s + delay + 1
            coming = new[len(state.tasks) - known : int(codes[:end].max(initial=-1)) + 1 - known]
            if coming:
                self.fit_tasks(state, coming, state.features)
            latest = rows.cut(end - 1, end)
            moves.margins[end - 1 : end] = self.score_any(state, latest, codes[end - 1 : end], ())
            decide_all(asker, codes, moves.margins, end - 1, end)
            if asker.answer[s] > 0:
                self._piece(state, rows, codes, y, moves, s, s + 1, delay)
            else:
                unasked = asker._replace(answer=np.zeros_like(asker.answer[s:end]))
                self._pass(state, rows.cut(s, end), codes[s:end], y[s : s + 1], delay, unasked)

    def _pass(
        self, state: RefittedState, rows: Rows, codes: Codes, y: NDArray[np.float64], delay: int, unasked: Any
    ) -> None:
        """End a round without a label; the prediction of its latest record waits for the label."""
        made = self._learner.update_many(state.inner, rows, codes, y, 1, unasked)
        told = self._told(state, sorted_entries(rows), codes, self._factor * made.margins, delay)
        state.waiting = Waiting(told[:, 1:].copy(), codes[1:].copy())

    def update_one(self, state: RefittedState, rows: Rows, i: int, y: float) -> None:
        """Learn one record of the known task i."""
        self.update_many(state, rows, np.array([i]), np.array([y]))

    def score_any(self, state: RefittedState, rows: Rows, codes: Codes, unseen: Sequence[Hashable]) -> Margins:
        """Margins of records of the tasks ``codes``; -1 is a new task, whose label is the next of ``unseen``."""
        margins = self._factor * self._learner.score_any(state.inner, rows, codes, unseen)
        if state.forest is None:
            return margins
        return self._blended(state, codes, self._experts(state, sorted_entries(rows), codes, margins))

    def linear_part(self, state: RefittedState, rows: Rows, codes: Codes, unseen: Sequence[Hashable]) -> Margins:
        """The part of :meth:`score_any` that is a weighted sum of features: that of the learner, without the trees."""
        margins = self._factor * self._learner.linear_part(state.inner, rows, codes, unseen)
        if state.forest is None:
            return margins
        return self._blended(state, codes, np.array([margins, state.forest.on_top[0] * margins]))

    def _blended(self, state: RefittedState, codes: Codes, told: NDArray[np.float64]) -> Margins:
        mixed = np.zeros(len(codes))
        blend(state.losses, state.layer, self._local, codes, told, mixed, room(EXPERTS))
        return mixed

    def score_one(self, state: RefittedState, rows: Rows, i: int) -> float:
        """Margin of one record of the known task i."""
        return float(self.score_any(state, rows, np.array([i]), ())[0])

    def skip_unlabelled(self, state: RefittedState, rounds: int = 1) -> None:
        """End rounds that have no labels; see :meth:`coterie.learner.Learner.skip_unlabelled`."""
        self._learner.skip_unlabelled(state.inner, rounds)
        state.waiting = NOBODY

    def expert_weights(self, state: RefittedState) -> NDArray[np.float64]:
        """The weights of the learner's members at every known task, where it is a mixture."""
        mixture: Any = self._learner
        return np.asarray(mixture.expert_weights(state.inner))

    def weights(self, state: RefittedState) -> Weights:
        """The learner's weights; the log-odds of trees are not part of them."""
        return np.asarray(self._learner.weights(state.inner))

    def relation_matrix(self, state: RefittedState, among: Sequence[int] | None = None) -> NDArray[np.float64]:
        """The relation matrix of the learner."""
        return self._learner.relation_matrix(state.inner, among)

    def share(self, state: RefittedState) -> NDArray[np.float64]:
        """The share of each task that the learner has."""
        return self._learner.share(state.inner)

    def dump(self, state: RefittedState) -> tuple[dict[str, Any], Arrays]:
        """The state as plain JSON data and named arrays, without the labels of the tasks."""
        data, held = self._learner.dump(state.inner)
        known = len(state.tasks)
        losses = state.losses._replace(tasks=state.losses.tasks[:known])
        arrays = {f"learner.{name}": array for name, array in held.items()}
        arrays |= {"categories": state.categories[:known].copy()}
        arrays |= flatten(losses, "losses.")[1]
        arrays |= flatten(require_held(state.layer, "layer."), "layer.")[1]
        kept = _one(state.kept)
        if len(kept.y):
            arrays |= flatten(kept, "kept.")[1]
        if state.forest is not None:
            arrays |= flatten(state.forest, "forest.")[1]
        if len(state.waiting.codes):
            arrays |= flatten(state.waiting, "waiting.")[1]
        return {"learner": data, "features": state.features, "learned": state.learned}, arrays

    def restore(self, data: dict[str, Any], arrays: Arrays, tasks: Sequence[Hashable]) -> RefittedState:
        """Undo :meth:`dump`.

        Raises
        ------
        ValueError
            If the data do not fit together.
        """
        held = msgspec.convert(data, _Saved)
        inner: LearnedState = self._learner.restore(held.learner, below(arrays, "learner."), tasks)
        known, features = len(inner.tasks), held.features
        require(inner.features == features, f"the learner is {inner.features} features wide, expected {features}")
        losses = _rebuilt(Losses(np.zeros(0), np.zeros((0, 0))), below(arrays, "losses."))
        losses.check(EXPERTS, known)
        layer = require_held(_rebuilt(first_layer(EXPERTS), below(arrays, "layer.")), "layer.")
        layer.check(EXPERTS)
        categories = array_of(arrays, "categories", np.zeros(0, np.int64))
        require_rows("categories of tasks", categories, known)
        require_within("categories of tasks", categories, 0, CATEGORIES - 1)
        state = RefittedState(inner, categories, losses, layer, learned=held.learned)
        if kept := below(arrays, "kept."):
            state.kept = [_kept(kept, state)]
        if forest := below(arrays, "forest."):
            state.forest = _rebuilt(no_forest(), forest)
            state.forest.check(features)
        if waiting := below(arrays, "waiting."):
            state.waiting = _rebuilt(NOBODY, waiting)
            require_shape("log-odds that wait", state.waiting.told, EXPERTS, len(state.waiting.codes))
            require_finite("log-odds that wait", state.waiting.told)
            require_within("tasks that wait", state.waiting.codes, -1, known - 1)  # -1: forgotten meanwhile
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


def _one(runs: Sequence[Kept]) -> Kept:
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
    return Kept(rows, codes, y, told)


def _last(records: Kept, n: int) -> Kept:
    """Copy the last so many of a run of records."""
    first = len(records.y) - n
    rows = records.rows.cut(first, len(records.y)).trimmed()
    rows = Csr(rows.values.copy(), rows.features.copy(), rows.starts.copy())
    return Kept(rows, records.codes[first:].copy(), records.y[first:].copy(), records.told[first:].copy())


def _kept(arrays: Arrays, state: RefittedState) -> Kept:
    """Records kept, of a file: ValueError for what none can be."""
    rows = _rebuilt(no_records(), below(arrays, "rows."))
    codes, y, told = (
        array_of(arrays, name, like) for name, like in zip(Kept._fields[1:], NOTHING_KEPT[1:], strict=True)
    )
    n = len(y)
    require(n <= WINDOW, f"{n} records are kept, expected {WINDOW} at most")
    check_entries("records kept", rows, n, state.features)
    require_shape("tasks of records kept", codes, n)
    require_within("tasks of records kept", codes, 0, len(state.tasks) - 1)
    require(np.isin(y, (-1.0, 1.0)).all(), "labels of records kept are neither -1 nor 1")
    require_shape("log-odds told of records kept", told, n)
    require_finite("log-odds told of records kept", told)
    return Kept(rows, codes, y, told)


def _rebuilt(like: Any, arrays: Arrays) -> Any:
    """A named tuple of the arrays of its fields, each of the same type as in another."""
    return type(like)(*(array_of(arrays, name, each) for name, each in zip(like._fields, like, strict=True)))
