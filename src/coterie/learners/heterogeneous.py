"""The round of tasks with feature spaces of their own, all of whose instances are seen in every round (MMPERC)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.hypotheses import heterogeneous as spaces
from coterie.hypotheses.dual import as_form
from coterie.index import Index
from coterie.learner import Margins
from coterie.learners.block import BLOCK, BlockLearner, Codes, Span, copied, spans
from coterie.numeric.heterogeneous import course_through, margin_of
from coterie.numeric.records import cut, take
from coterie.numeric.stream import Moves
from coterie.state import State


class HeterogeneousLearner(BlockLearner):
    """The heterogeneous hypothesis by the Perceptron's rule; records hold all instances side by side."""

    def __init__(self, hypothesis: spaces.Heterogeneous) -> None:
        self.hypothesis = hypothesis

    def init_spaces(self, tasks: Sequence[Hashable], owner: Codes) -> State:
        """The state before the first round: all tasks, and which of them each feature belongs to."""
        self.hypothesis.for_tasks(tasks)
        return State(self.hypothesis.start(owner), Index(tasks), None, len(owner), True)

    def check_tasks(self, state: State, tasks: Sequence[Hashable]) -> None:
        """Refuse tasks that there are no instances of: ValueError naming the first."""
        unseen = state.tasks.new_among(tasks)
        if unseen:
            known = ", ".join(map(repr, state.tasks.labels[:5]))
            raise ValueError(f"task {unseen[0]!r} has no instances: those of {known} are given")

    def fit_tasks(self, state: State, tasks: Sequence[Hashable], features: int) -> None:
        """Refuse new tasks and features: the spaces are fixed from the start."""
        self.check_tasks(state, tasks)
        if features > state.features:
            raise ValueError(f"instances have {features} features in all, and the model learned from {state.features}")

    def widen(self, state: State, owner: Codes) -> None:
        """Make room for features that are new; ``owner`` has the tasks of all."""
        state.model, state.features = spaces.widened(state.model, owner), len(owner)

    def relation_matrix(self, state: State, among: Sequence[int] | None = None) -> NDArray[np.float64]:
        """There is none: A is over features, and grows with the mistakes."""
        raise AttributeError("tasks with feature spaces of their own share by their margins: they have no matrix")

    def share(self, state: State) -> NDArray[np.float64]:
        """How much tasks share, by b: b/(b + K) for each."""
        K = len(state.tasks)
        return np.full(K, self.hypothesis.b / (self.hypothesis.b + K))

    def weights(self, state: State) -> NDArray[np.floating[Any]]:
        """The weights w = A⁻¹v, a row a task with zeros outside its own features, shape (K, D)."""
        if self.hypothesis.kernels is not None:
            raise AttributeError("a kernel model has support vectors, not a weight for every feature")
        model, K = state.model, len(state.tasks)
        w = model.w if hasattr(model, "w") else spaces.primal_of(model, self.hypothesis, K).w
        return np.where(np.arange(K)[:, None] == model.owner, w, 0.0)

    def score(self, state: State, rows: Any, codes: Codes) -> Margins:
        """Margins of the active tasks of rounds: O(D²) or O(m²) each; nothing is written."""
        margins, K = np.zeros(len(codes)), len(state.tasks)
        for first in range(0, len(codes), BLOCK):
            some = codes[first : first + BLOCK]
            X = self._instances(state, cut(rows, first, first + len(some)), some, state.rounds + first)
            F, Q, _ = spaces.products(state.model, self._among(state), X, K)
            n = len(some)
            margins[first : first + n] = margin_of.py_func(F[:n], F[n:], Q[:n, n:].diagonal(), Q[n:, n:].diagonal())  # type: ignore[attr-defined]
        return margins

    def score_unseen(self, state: State, rows: Any, tasks: Sequence[Hashable]) -> Margins:
        """There are none: ValueError."""
        self.check_tasks(state, tasks)
        return np.zeros(0)

    def _instances(self, state: State, rows: Any, codes: Codes, first: int) -> spaces.Instances:
        form = as_form(rows, True, state.features, "float64")
        return spaces.Instances(
            np.asarray(form.values, np.float64), state.model.owner, codes, first + np.arange(len(codes))
        )

    def _among(self, state: State) -> spaces.Heterogeneous:
        """The hypothesis with a kernel for each task."""
        return self.hypothesis.for_tasks(state.tasks.labels)

    def _kept(self, state: State) -> Any:
        kernels = self._among(state).kernels or ()
        return None if all(kernel.trusted for kernel in kernels) else copied(state.model)

    def _learn(self, state: State, rows: Any, codes: Codes, y: Margins, last: int, moves: Moves) -> None:
        for span in spans(len(codes), last):
            self._learn_span(state, rows, codes, y, span, moves)

    def _learn_span(self, state: State, rows: Any, codes: Codes, y: Margins, span: Span, moves: Moves) -> None:
        places, K = span.places(len(codes)), len(state.tasks)
        X = self._instances(state, take(rows, places), codes[places], 0)._replace(rounds=state.rounds + places)
        made = spaces.products(state.model, self._among(state), X, K)
        learned, told = slice(span.first, span.last), slice(span.first + span.delay, len(codes))
        course_through(
            *(made.F.copy(), made.Q.copy(), y[places], len(span), span.delay),
            *(moves.margins[told], moves.own[learned], moves.taus[learned]),
        )
        moved = np.flatnonzero(moves.taus[learned] > 0)
        if len(moved):
            X = spaces.Instances(X.rows[moved], X.owner, X.tasks[moved], X.rounds[moved])
            made = _of(made, moved, len(places))
            state.model = spaces.absorb(state.model, self._among(state), X, y[places][moved], made, K)
            if self.hypothesis.outgrown(state.model):
                state.model = spaces.primal_of(state.model, self.hypothesis, K)


def _of(made: spaces.Products, moved: Codes, n: int) -> spaces.Products:
    """The products of some rounds of a block of n."""
    both = np.concatenate([moved, n + moved])
    aside = made.aside
    if len(aside) == 2:
        U, H = aside
        return spaces.Products(made.F[both], made.Q[np.ix_(both, both)], (U[both], H[both]))
    to_stored, among, H = aside
    aside = to_stored[both], among[np.ix_(both, both)], H[both]
    return spaces.Products(made.F[both], made.Q[np.ix_(both, both)], aside)
