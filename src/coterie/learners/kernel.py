"""The round in the dual form, a block of records at a time: kernel values by one matrix product, then a walk.

Kernel values of the next records with the support vectors and with each other are made at once. The walk goes through
the records one by one, and where a support vector comes or goes it patches the values of the records that follow. So
the mistakes are those of records learned one at a time.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie import spec
from coterie.budgets import with_rows
from coterie.hypotheses.dual import Dual, as_form
from coterie.learner import Margins
from coterie.learners.kernel_bindings import FORMS
from coterie.learners.kernel_checks import check_values
from coterie.numeric.asking import EVERY, settle
from coterie.numeric.expansion import COLUMN, DONE, EVICTED, OLDEST, ROOM, SIZE, WORN, Expansion, Work
from coterie.numeric.points import Points, piece, points
from coterie.numeric.records import cut
from coterie.numeric.trees import Arrays, flatten, rebuild
from coterie.numeric.walk import Turns, tell, walk
from coterie.state import State
from coterie.views import Index

#: Records in a block, dense and sparse: the inverted index of the support vectors is made anew for each.
DENSE_BLOCK, SPARSE_BLOCK = 128, 512
#: So many of the oldest have their kernel values made at once where a queue asks for them.
OLD_AT_ONCE = 64


class KernelLearner:
    """A dual hypothesis and a relation joined into one round; the rule is the Perceptron's, a step at a mistake.

    It has the methods of :class:`coterie.learner.Learner`.

    Parameters
    ----------
    hypothesis : Dual
        Kernel and budget.
    relation : part
        How tasks share; one that is learned goes with budgets that leave coefficients as they are.

    Raises
    ------
    TypeError
        If the budget or the features of records do not suit the relation, or if it is none.
    """

    log_odds: float | None = None

    def __init__(self, hypothesis: Dual, relation: Any) -> None:
        spec.require_part("relation", relation, "HalfUpdate()")
        form = getattr(relation, "form", None)
        if form not in hypothesis.forms:
            raise TypeError(
                f"Dual cannot learn under {relation!r}: it needs a relation by {' or '.join(hypothesis.forms)}"
            )
        self.hypothesis, self.relation = hypothesis, relation
        if form == "learned":
            _require_learnable(hypothesis, relation)
        self._bound = FORMS[form]

    # -- the state ----------------------------------------------------------------------------------------------------

    def init(
        self, tasks: Sequence[Hashable] = (), features: int = 0, dense: bool = False, length: int | None = None
    ) -> State:
        """The state before the first round; see :meth:`coterie.learner.Learner.init`."""
        index, sharing, given = self._bound.start(self.relation, tasks, features, length)
        state = State(self.hypothesis.start(given, features, dense), index, sharing, features, dense)
        self._note_top(state)
        return state

    def check_tasks(self, state: State, tasks: Sequence[Hashable]) -> None:
        """Refuse tasks that the relation does not know: ValueError naming the first."""
        self._bound.check(self.relation, state, [task for task in tasks if task not in state.tasks.numbers])

    def fit_tasks(self, state: State, tasks: Sequence[Hashable], features: int) -> None:
        """Make room for the labels that are new, and for so many features; all or nothing."""
        new = [task for task in dict.fromkeys(tasks) if task not in state.tasks.numbers]
        self._bound.check(self.relation, state, new)
        if new:
            state.model = state.model._replace(sharing=self._bound.extend(self.relation, state, new))
            state.tasks.add(new)
            self._note_top(state)
        if features > state.features:
            state.model = state.model._replace(store=state.model.store.wider(features))
            state.features = features

    def share(self, state: State) -> NDArray[np.float64]:
        """How much of each task's moves is shared with others: 0 for independent tasks, 1 for one model of all."""
        M = np.asarray(self.relation_matrix(state))
        length = np.sqrt(np.diag(M))
        return np.asarray((np.abs(M / length / length[:, None]).sum(axis=1) - 1.0) / max(len(M) - 1, 1))

    def relation_matrix(self, state: State, among: Sequence[int] | None = None) -> NDArray[np.float64]:
        """A⁻¹ on the paper's scale for the tasks known, or for those ``among`` them with these numbers."""
        return np.asarray(self._bound.relation_matrix(self.relation, state, among))

    def weights(self, state: State) -> NDArray[np.floating[Any]]:
        """Weights of features: there are none in a space of another kind.

        Raises
        ------
        AttributeError
            Always.
        """
        raise AttributeError("a kernel model has support vectors, not a weight for every feature")

    def dump(self, state: State) -> tuple[dict[str, Any], Arrays]:
        """The state as plain JSON data and named arrays, without the labels of the tasks."""
        shape, arrays = flatten(state.model._replace(sharing=self._bound.lean(state.model.sharing)))
        return {"shape": shape, "features": state.features, "dense": state.dense, "rounds": state.rounds}, arrays

    def restore(self, data: dict[str, Any], arrays: Arrays, tasks: Sequence[Hashable]) -> State:
        """Undo :meth:`dump`.

        Raises
        ------
        ValueError
            If the data do not fit together.
        """
        model = rebuild(data["shape"], arrays)
        sharing, given = self._bound.rebound(self.relation, model.sharing, tasks)
        model = model._replace(sharing=given)
        return State(model, Index(tasks), sharing, data["features"], data["dense"], data["rounds"])

    def _note_top(self, state: State) -> None:
        """Tell a queue max_i M_ii."""
        if hasattr(state.model.memory, "top"):
            state.model.memory.top[0] = self._bound.top(state)

    # -- predictions --------------------------------------------------------------------------------------------------

    def score(self, state: State, rows: Any, codes: NDArray[np.int64]) -> Margins:
        """Margins of records of known tasks: O(B) kernel values each; nothing is written."""
        return self._tell(state, state.model, rows, codes, np.flatnonzero(codes >= 0))

    def score_unseen(self, state: State, rows: Any, tasks: Sequence[Hashable]) -> Margins:
        """Margins of records of tasks that nobody has seen: what the relation says of them."""
        model = state.model._replace(sharing=self._bound.ghosts(state, tasks))
        return self._tell(state, model, rows, np.arange(len(tasks)), np.arange(len(tasks)))

    def score_any(self, state: State, rows: Any, codes: NDArray[np.int64], unseen: Sequence[Hashable]) -> Margins:
        """Margins of records of known tasks, and of those with code -1, whose labels are ``unseen`` in their order."""
        margins = self.score(state, rows, codes)
        if unseen:
            new = np.flatnonzero(codes < 0)
            model = state.model._replace(sharing=self._bound.ghosts(state, unseen))
            margins[new] = self._tell(state, model, _take(rows, new), np.arange(len(new)), np.arange(len(new)))
        return margins

    def _tell(
        self, state: State, model: Expansion, rows: Any, codes: NDArray[np.int64], known: NDArray[np.int64]
    ) -> Margins:
        margins, n = np.zeros(len(codes)), int(model.support.counts[SIZE])
        if n == 0 or len(known) == 0:
            return margins
        held, given = self.hypothesis.points(model), self._points(state, rows)
        for first in range(0, len(known), SPARSE_BLOCK):
            some = known[first : first + SPARSE_BLOCK]
            block = piece(given, first, first + len(some)) if len(known) == len(codes) else _chosen(given, some)
            values = np.zeros((len(some), n))
            self.hypothesis.kernel.values(block, held, values)
            work, told = _work(values, np.zeros((0, n)), n, n, 0), np.zeros(len(some))
            while tell(model, work, values, codes[some], told) == COLUMN:
                model = self._fetched(state, model, int(work.cursor[4]))
            margins[some] = told
        return margins

    def _points(self, state: State, rows: Any) -> Points:
        form = as_form(rows, state.dense, state.features, self.hypothesis.dtype)
        n = len(form.values) if state.dense else len(form.starts) - 1
        width = state.features if not state.dense else form.values.shape[1]
        if not state.dense and len(form.features):
            width = max(width, int(form.features[form.starts[0] : form.starts[-1]].max(initial=-1)) + 1)
        return points(form, state.rounds + np.arange(n), width)

    def _fetched(self, state: State, model: Expansion, i: int) -> Expansion:
        """The model with column i of M at hand."""
        state.sharing.fetch(i)
        state.model = state.model._replace(sharing=state.sharing.columns)
        return model._replace(sharing=state.sharing.columns)

    # -- learning -----------------------------------------------------------------------------------------------------

    def update_many(
        self,
        state: State,
        rows: Any,
        codes: NDArray[np.int64],
        y: NDArray[np.float64],
        last: int | None = None,
        asker: Any = EVERY,
    ) -> Turns:
        """Predict and learn records one after the other; see :meth:`coterie.learner.Learner.update_many`.

        With an asker they go one by one, without the gain of a block.

        Raises
        ------
        ValueError
            If the kernel's values are not finite, or show that it is not positive semidefinite; nothing is learned.
        """
        n = len(codes)
        turns = Turns(np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n, bool), np.full(n, -1, np.int64))
        last = n if last is None else last
        if asker is not EVERY:
            self._select(state, rows, codes, y, turns, last, asker)
            return turns
        given, before = self._points(state, rows), None
        if not self.hypothesis.kernel.trusted:
            before = _copied(state.model)
        try:
            done, room = 0, _Room()
            while done < last:
                done = self._block(state, given, codes, y, done, last, turns, room)
        except BaseException:
            if before is not None:
                state.model = before
            raise
        state.rounds += last
        self._bound.notice(self.relation, state)
        return turns

    def _select(
        self,
        state: State,
        rows: Any,
        codes: NDArray[np.int64],
        y: NDArray[np.float64],
        turns: Turns,
        last: int,
        asker: Any,
    ) -> None:
        for s in range(last):
            told = s + len(codes) - last
            turns.margins[told] = self.score(state, cut(rows, told, told + 1), codes[told : told + 1])[0]
            settle(asker, codes, turns.margins, told, told + 1)
            if asker.answer[s] > 0:
                made = self.update_many(state, cut(rows, s, s + 1), codes[s : s + 1], y[s : s + 1])
                for kept, new in zip(turns[1:], made[1:], strict=True):
                    kept[s] = new[0]
            else:
                self.pass_by(state)

    def update_one(self, state: State, rows: Any, i: int, y: float) -> None:
        """Learn one record of the known task i."""
        self.update_many(state, rows, np.array([i]), np.array([y]))

    def score_one(self, state: State, rows: Any, i: int) -> float:
        """Margin of one record of the known task i."""
        return float(self.score(state, rows, np.array([i]))[0])

    def pass_by(self, state: State, rounds: int = 1) -> None:
        """End rounds whose labels nobody saw: clocks go on, nothing is learned."""
        self._bound.skip(state, rounds)
        state.rounds += rounds

    def _block(
        self,
        state: State,
        given: Points,
        codes: NDArray[np.int64],
        y: NDArray[np.float64],
        first: int,
        last: int,
        turns: Turns,
        room: _Room,
    ) -> int:
        """Learn the next records; returns the first that is left."""
        size, delay = int(state.model.support.counts[SIZE]), len(codes) - last
        n = min(last - first, DENSE_BLOCK if state.dense else SPARSE_BLOCK)
        model = self.hypothesis.fit(state.model, n, len(state.tasks))
        state.model = self._bound.roomy(model, self.hypothesis.budget.size is not None)
        block, later = piece(given, first, first + n), piece(given, first + delay, first + delay + n)
        work = self._evaluated(state, block, later if delay else piece(given, 0, 0), size, room)
        work.cursor[5] = state.rounds + first
        while True:
            why = walk(state.model, work, codes, y, first, n, delay, turns)
            if why in (DONE, WORN):
                break
            work = self._provided(state, work, why, n)
        self._keep(state, block, work)
        if why == WORN or self.hypothesis.worn(state.model):
            self.hypothesis.refresh(state.model, self._shares(state))
        return first + int(work.cursor[0])

    def _evaluated(self, state: State, block: Points, later: Points, size: int, room: _Room) -> Work:
        """Kernel values of a block with the support vectors and itself."""
        width, n = len(state.model.support.tasks), len(block.squares)
        held, kernel = self.hypothesis.points(state.model), self.hypothesis.kernel
        values, told = room.take(n, width + n), np.zeros((len(later.squares), width + n))
        for made, out in ((block, values), (later, told)):
            if len(made.squares):
                if size:
                    kernel.values(made, held, out[:, :size])
                kernel.values(made, block, out[:, width:])
        if not (kernel.trusted and np.isfinite(values[:, width:].diagonal()).all()):
            check_values(self.hypothesis.kernel, state.model, values, width, size, block)
        return _work(values, told, width, width, n)

    def _provided(self, state: State, work: Work, why: int, n: int) -> Work:
        """The work with what the walk lacked."""
        if why == COLUMN:
            self._fetched(state, state.model, int(work.cursor[4]))
        if why == ROOM:
            state.model = state.model._replace(memory=with_rows(state.model.memory))
        return self._with_oldest(state.model, work, n) if why == OLDEST else work

    def _with_oldest(self, model: Expansion, work: Work, n: int) -> Work:
        """The work with kernel values of those that leave the queue next."""
        size, gone = int(model.support.counts[SIZE]), int(model.support.counts[EVICTED])
        most = min(size, OLD_AT_ONCE, max(n - int(work.cursor[0]), 1))
        slots = (gone + np.arange(most)) % size
        held = self.hypothesis.points(model)
        oldest = np.zeros((most, size))
        self.hypothesis.kernel.values(_chosen(held, slots), held, oldest)
        work.cursor[2:4] = most, gone
        return work._replace(oldest=oldest)

    def _keep(self, state: State, block: Points, work: Work) -> None:
        """Put the records of the block that have become support vectors where they belong."""
        slots = np.flatnonzero(work.holder >= 0)
        if len(slots):
            places = work.holder[slots]
            lengths = work.values[places, work.width + places]
            store = state.model.store.put(slots, _chosen(block, places), lengths)
            state.model = state.model._replace(store=store)

    def _shares(self, state: State) -> NDArray[np.float64]:
        """M for the tasks of the support vectors."""
        support = state.model.support
        return np.asarray(self._bound.among(state, support.tasks[: support.counts[SIZE]]))


class _Room:
    """Memory for the kernel values of a block, used again for the next: fresh memory would cost as much as the values.

    What is not written before it is read is nothing that is read.
    """

    def __init__(self) -> None:
        self.held = np.zeros(0)

    def take(self, n: int, m: int) -> NDArray[np.float64]:
        """An (n, m) array of whatever there was."""
        if self.held.size < n * m:
            self.held = np.zeros(n * m)
        return self.held[: n * m].reshape(n, m)


def _work(values: Any, told: Any, width: int, slots: int, n: int) -> Work:
    notes = np.zeros(max(n, 1), np.int64)
    holder = np.full(slots, -1, np.int64)
    shares, weights, along = np.zeros((3, slots))
    none, cursor = np.zeros((0, 0)), np.zeros(6, np.int64)
    return Work(values, told, width, holder, notes, notes.copy(), none, shares, weights, along, cursor)


def _chosen(given: Points, places: NDArray[np.int64]) -> Points:
    return Points(_take(given.rows, places), given.squares[places], given.rounds[places], given.features)


def _take(rows: Any, places: NDArray[np.int64]) -> Any:
    from coterie.numeric.records import take

    return take(rows, places)


def _copied(model: Any) -> Any:
    """The model with arrays of its own."""
    if isinstance(model, tuple):
        return type(model)(*map(_copied, model))
    return model.copy() if isinstance(model, np.ndarray) else model


def _require_learnable(hypothesis: Dual, relation: Any) -> None:
    """Refuse a learned relation beside what it cannot be learned with."""
    if not hypothesis.budget.keeps_coefficients:
        raise TypeError(
            f"{hypothesis.budget!r} cannot go with {relation!r}: what it does to support vectors holds for the M that "
            "they came with; take Unbounded() or RandomRemoval(size)"
        )
    if relation.needs_features:
        raise TypeError(f"Dual cannot learn under {relation!r}: its observations are features, which a kernel has not")
