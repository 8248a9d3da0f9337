"""The round of tasks with feature spaces of their own, all of whose instances are seen in every round (MMPERC)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from coterie import spec
from coterie.bindings import mean_share
from coterie.hypotheses.heterogeneous import Heterogeneous
from coterie.index import Index
from coterie.learner import Margins
from coterie.mixture import Mixture, MixtureState
from coterie.numeric.core.arrays import Dropped
from coterie.numeric.core.checks import Bounds
from coterie.numeric.core.records import Rows
from coterie.numeric.dual.heterogeneous import Coupling, Instances, course_through, margin_of
from coterie.numeric.primal.mixture import Losses
from coterie.numeric.primal.stream import Moves
from coterie.relations.matrices import inverse_of, positive_definite
from coterie.state import State

from .block import BLOCK, BlockLearner, Codes, Span, copied, spans


class HeterogeneousLearner(BlockLearner):
    """The heterogeneous hypothesis by the Perceptron's rule; records hold all instances side by side.

    Parameters
    ----------
    hypothesis : Heterogeneous
        What is stored, and how much tasks are to agree.
    relation : part, optional
        Which tasks are to agree; all alike without.

    Raises
    ------
    TypeError
        If the relation is learned, or none.
    """

    def __init__(self, hypothesis: Heterogeneous, relation: Any = None) -> None:
        if relation is not None:
            spec.require_part("relation", relation, "TaskGraph([(0, 1)])")
            if getattr(relation, "form", "learned") == "learned":
                raise TypeError(
                    f"{type(hypothesis).__name__} cannot learn under {relation!r}: a relation of tasks with feature "
                    "spaces of their own is a fixed one, such as TaskGraph"
                )
        self.hypothesis, self.relation = hypothesis, relation
        self.beyond_features = "" if hypothesis.kernels is None else "support vectors"
        self._held: tuple[tuple[Hashable, ...], Coupling] | None = None

    def init(
        self, tasks: Sequence[Hashable] = (), features: int = 0, dense: bool = False, length: int | None = None
    ) -> State:
        """The state before the first round of one task, to which all features belong; see :meth:`init_spaces`."""
        return self.init_spaces(tuple(tasks[:1]) or (0,), np.zeros(features, np.int64))

    def init_spaces(self, tasks: Sequence[Hashable], owner: Codes) -> State:
        """The state before the first round: all tasks, and which of them each feature belongs to."""
        self._coupling_of(tasks)
        return State(self.hypothesis.start(owner), Index(tasks), None, len(owner), True)

    def _blank(self, tasks: Index, features: int, dense: bool) -> Sequence[Any]:
        nothing = np.zeros(0, np.int64)
        linear = self.hypothesis.kernels is None
        forms: tuple[Literal["dual", "primal"], ...] = ("dual", "primal") if linear else ("dual",)
        return [replace(self.hypothesis, solver=solver).start(nothing) for solver in forms]

    def _check(self, state: State) -> None:
        self._coupling_of(state.tasks.labels)
        state.model.check(Bounds(len(state.tasks), 0, state.features, state.rounds))

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

    @property
    def names_tasks(self) -> bool:
        """True: the instances of all tasks are in every round."""
        return True

    def check_dropping(self, state: State) -> None:
        """Refuse: what a round has taught depends on the instances of all tasks together."""
        raise ValueError(
            "tasks with feature spaces of their own cannot be forgotten: every round has an instance of each, and what "
            "was learned is of them together; learn anew without the task"
        )

    def drop_tasks(self, state: State, dropped: Dropped) -> None:
        """Refuse, as :meth:`check_dropping`."""
        self.check_dropping(state)

    def widen(self, state: State, owner: Codes) -> None:
        """Make room for features that are new; ``owner`` has the tasks of all."""
        state.model, state.features = state.model.with_features(owner), len(owner)

    def relation_matrix(self, state: State, among: Sequence[int] | None = None) -> NDArray[np.float64]:
        """Refuse to give a matrix: A is over features, and grows with the mistakes."""
        raise AttributeError("tasks with feature spaces of their own share by their margins: they have no matrix")

    def share(self, state: State) -> NDArray[np.float64]:
        """The share of each task by M = (I + R'R/K)⁻¹, as all tasks together ask: b/(b + K) if all are alike."""
        R = self._coupling(state).agreement
        return mean_share(inverse_of(np.eye(len(R)) + R.T @ R / len(R)))

    def weights(self, state: State) -> NDArray[np.floating[Any]]:
        """The weights w = A⁻¹v, a row a task with zeros outside its own features, shape (K, D)."""
        if self.hypothesis.kernels is not None:
            raise AttributeError("a kernel model has support vectors, not a weight for every feature")
        w = state.model.weights(self._coupling(state))
        return np.where(np.arange(len(state.tasks))[:, None] == state.model.owner, w, 0.0)

    def score(self, state: State, rows: Rows, codes: Codes) -> Margins:
        """Margins of the active tasks of rounds: O(D²) or O(m²) each; nothing is written."""
        margins, coupling = np.zeros(len(codes)), self._coupling(state)
        for first in range(0, len(codes), BLOCK):
            some = codes[first : first + BLOCK]
            n, numbers = len(some), state.rounds + first + np.arange(len(some))
            X = self._instances(state, rows.cut(first, first + n), some, numbers)
            F, Q, *_ = state.model.products(coupling, X)
            margins[first : first + n] = margin_of.py_func(F[:n], F[n:], Q[:n, n:].diagonal(), Q[n:, n:].diagonal())  # type: ignore[attr-defined]
        return margins

    def score_unseen(self, state: State, rows: Rows, tasks: Sequence[Hashable]) -> Margins:
        """Refuse tasks that nobody has seen, which have no instances: ValueError."""
        self.check_tasks(state, tasks)
        return np.zeros(0)

    def _instances(self, state: State, rows: Rows, codes: Codes, numbers: Codes) -> Instances:
        form = rows.to_dense(state.features, np.float64)
        return Instances(np.asarray(form.values, np.float64), state.model.owner, codes, numbers)

    def _coupling(self, state: State) -> Coupling:
        return self._coupling_of(state.tasks.labels)

    def _coupling_of(self, tasks: Sequence[Hashable]) -> Coupling:
        """What is asked of these tasks, whose root takes O(K³), made once."""
        held = self._held
        if held is None or held[0] != tuple(tasks):
            M = None if self.relation is None else self.relation.relation_matrix(tasks)
            if M is not None:
                M = positive_definite(M, f"the matrix of {self.relation!r}")
            self._held = held = tuple(tasks), self.hypothesis.coupling(tasks, M)
        return held[1]

    def _backup(self, state: State) -> Any:
        kernels = self._coupling(state).kernels or ()
        return None if all(kernel.trusted for kernel in kernels) else copied(state.model)

    def _learn(self, state: State, rows: Rows, codes: Codes, y: Margins, last: int, moves: Moves) -> None:
        for span in spans(len(codes), last):
            self._learn_span(state, rows, codes, y, span, moves)

    def _learn_span(self, state: State, rows: Rows, codes: Codes, y: Margins, span: Span, moves: Moves) -> None:
        places, coupling = span.places(len(codes)), self._coupling(state)
        X = self._instances(state, rows.take(places), codes[places], state.rounds + places)
        made = state.model.products(coupling, X)
        learned, ahead = slice(span.first, span.last), slice(span.first + span.delay, len(codes))
        course_through(
            *(made.F.copy(), made.Q.copy(), y[places], len(span), span.delay),
            *(moves.margins[ahead], moves.own[learned], moves.taus[learned]),
        )
        moved = np.flatnonzero(moves.taus[learned] > 0)
        if len(moved):
            model = state.model.absorb(coupling, X.of(moved), y[places][moved], made.of(moved))
            state.model = model.to_primal(coupling) if self.hypothesis.outgrown(model) else model


class AgreementMixture(Mixture):
    """A mixture of learners with several values of b, the agreement asked of tasks, weighted by their losses so far."""

    def init_spaces(self, tasks: Sequence[Hashable], owner: Codes) -> MixtureState:
        """The state before the first round: all tasks, and which of them each feature belongs to."""
        members = [learner.init_spaces(tasks, owner) for learner in self.learners]  # type: ignore[attr-defined]
        S = len(members)
        losses = Losses(np.zeros(S), np.zeros((len(tasks), S)))
        return MixtureState(members, Index(tasks), losses, self._layer(), len(owner))

    def widen(self, state: MixtureState, owner: Codes) -> None:
        """Make room for features that are new; ``owner`` has the tasks of all."""
        for learner, member in self._members(state):
            learner.widen(member, owner)  # type: ignore[attr-defined]
        state.features = len(owner)
