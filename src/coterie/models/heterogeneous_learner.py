"""MMPERC: a Perceptron for tasks with separate feature spaces and an instance of every task in each round."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from coterie import spec
from coterie._compiled.core.arrays import Dropped
from coterie._compiled.core.checks import Bounds
from coterie._compiled.core.records import Rows
from coterie._compiled.dual.own_features import Coupling, Instances, learn_course, margin_of
from coterie._compiled.primal.stream import Moves
from coterie._compiled.weights.table import Weights
from coterie.tasks.index import Index
from coterie.tasks.relations.matrices import inverse_of, positive_definite
from coterie.types import Part, Tree
from coterie.updates.weights.heterogeneous_weights import Heterogeneous

from .block_learner import BLOCK, BlockLearner, Span, spans
from .contract import Batch, Capabilities, Codes, InputShape, Margins
from .relation_adapters import mean_share
from .state import State


class HeterogeneousLearner(BlockLearner):
    """Perceptron for tasks with separate feature spaces. A record is the concatenation of one instance per task.

    Parameters
    ----------
    hypothesis : Heterogeneous
        The form of the model, and the strength of the similarity.
    relation : part, optional
        The similarities of tasks; by default all equal.

    Raises
    ------
    TypeError
        If the relation is learned, or not a relation.
    """

    def __init__(self, hypothesis: Heterogeneous, relation: Part = None) -> None:
        if relation is not None:
            spec.require_part("relation", relation, "TaskGraph([(0, 1)])")
            if getattr(relation, "form", "learned") == "learned":
                raise TypeError(
                    f"{type(hypothesis).__name__} does not support {relation!r}: tasks with separate feature "
                    "spaces need a fixed relation such as TaskGraph"
                )
        self.hypothesis, self.relation, kernels = hypothesis, relation, hypothesis.kernels
        if isinstance(kernels, Mapping):
            kernels = tuple(kernels.values())
        own = kernels if isinstance(kernels, tuple) else (kernels,)
        self.traits = Capabilities(
            fixed=True,
            cannot_drop="tasks with separate feature spaces cannot be forgotten, because every round has an instance "
            "of each task; train a new model without the task",
            cannot_bound="max_tasks is not supported with this learner, which cannot drop tasks",
            beyond_features="" if kernels is None else "support vectors",
            can_refuse=kernels is not None and not all(kernel.trusted for kernel in own),
        )
        self._held: tuple[tuple[Hashable, ...], Coupling] | None = None

    def init(self, tasks: Index, size: InputShape, length: int | None = None) -> State:
        """Return the initial state of all tasks; features without a task belong to the first task."""
        owner = np.zeros(size.features, np.int64) if size.owner is None else size.owner
        if len(tasks):
            self._coupling_of(tasks.labels)
        return State(self.hypothesis.start(owner), tasks, None, size.features, True, len(tasks))

    def _blank(self, tasks: Index, features: int, dense: bool) -> Sequence[Tree]:
        nothing = np.zeros(0, np.int64)
        linear = self.hypothesis.kernels is None
        forms: tuple[Literal["dual", "primal"], ...] = ("dual", "primal") if linear else ("dual",)
        return [replace(self.hypothesis, solver=solver).start(nothing) for solver in forms]

    def _check(self, state: State) -> None:
        self._coupling(state)
        state.model.check(Bounds(state.known, 0, state.features, state.rounds))

    def refuse(self, state: State, tasks: Sequence[Hashable]) -> None:
        """Raise ValueError for new tasks, because they have no instances."""
        if len(tasks):
            known = ", ".join(map(repr, state.labels[:5]))
            raise ValueError(f"task {tasks[0]!r} has no instances; the model has instances of {known}")

    def resize(self, state: State, tasks: int, size: InputShape, counted: bool = True) -> None:
        """Resize the state for new features, each of one task; raise ValueError for wider arrays than before."""
        if size.features <= state.features:
            return
        # arrays of one width a task cannot grow; dictionaries bring the owner of each new feature
        if size.owner is None:
            raise ValueError(f"instances must have {state.features} features in total as before, got {size.features}")
        state.model, state.features = state.model.with_features(size.owner), size.features

    def drop(self, state: State, dropped: Dropped, tasks: Sequence[Hashable]) -> None:
        """Do nothing: tasks cannot be dropped, because each update depends on the instances of all tasks."""

    def relation_matrix(self, state: State, among: Sequence[int] | None = None) -> NDArray[np.float64]:
        """Raise AttributeError: the matrix A relates features, not tasks."""
        raise AttributeError("tasks with separate feature spaces have no relation matrix")

    def share(self, state: State) -> NDArray[np.float64]:
        """Return the share of each task: b/(b + K) for K equally related tasks with strength b, else computed from R.

        R is the coupling matrix, and M = (I + R'R/K)⁻¹.
        """
        # z = Σ R_ik φ_k of CCG08 §6; a mean over active tasks stands for one round of each
        R = self._coupling(state).signed_margin
        return mean_share(inverse_of(np.eye(len(R)) + R.T @ R / len(R)))

    def weights(self, state: State) -> Weights:
        """Return the weights w = A⁻¹v of all K tasks and D features, shape (K, D).

        A row is zero outside the features of its task; v is the sum of the updates.
        """
        if self.hypothesis.kernels is not None:
            raise AttributeError("a kernel model has support vectors, not a weight for every feature")
        w = state.model.weights(self._coupling(state))
        return np.where(np.arange(state.known)[:, None] == state.model.owner, w, 0.0)

    def score(self, state: State, rows: Rows, codes: Codes) -> Margins:
        """Return the margins of the active tasks ``codes``, at O(D²) (primal) or O(m²) (dual) for each record.

        D is the number of features, and m that of mistakes.
        """
        margins, coupling = np.zeros(len(codes)), self._coupling(state)
        for first in range(0, len(codes), BLOCK):
            part = codes[first : first + BLOCK]
            n, numbers = len(part), state.rounds + first + np.arange(len(part))
            X = self._instances(state, rows.cut(first, first + n), part, numbers)
            F, Q, *_ = state.model.products(coupling, X)
            # rows 0 to n are the φ_i, the others the z: CCG08's margin has the current z inside the inverse
            margins[first : first + n] = margin_of.py_func(F[:n], F[n:], Q[:n, n:].diagonal(), Q[n:, n:].diagonal())  # type: ignore[attr-defined]
        return margins

    def score_unseen(self, state: State, rows: Rows, tasks: Sequence[Hashable]) -> Margins:
        """Raise ValueError: unseen tasks have no instances."""
        self.refuse(state, tasks)
        return np.zeros(0)

    def _instances(self, state: State, rows: Rows, codes: Codes, numbers: Codes) -> Instances:
        form = rows.to_dense(state.features)
        return Instances(np.asarray(form.values, np.float64), state.model.owner, codes, numbers)

    def _coupling(self, state: State) -> Coupling:
        return self._coupling_of(state.labels)

    def _coupling_of(self, tasks: Sequence[Hashable]) -> Coupling:
        """Return the matrix R that couples the margins of these tasks, cached because it takes O(K³) for K tasks."""
        cached = self._held
        if cached is None or cached[0] != tuple(tasks):
            M = None if self.relation is None else self.relation.relation_matrix(tasks)
            if M is not None:
                M = positive_definite(M, f"the matrix of {self.relation!r}")
            self._held = cached = tuple(tasks), self.hypothesis.coupling(tasks, M)
        return cached[1]

    def _learn(self, state: State, batch: Batch, y: Margins, moves: Moves) -> None:
        for span in spans(len(batch.tasks), len(y)):
            self._learn_span(state, batch, y, span, moves)

    def _learn_span(self, state: State, batch: Batch, y: Margins, span: Span, moves: Moves) -> None:
        n = len(batch.tasks)
        places, coupling = span.places(n), self._coupling(state)
        X = self._instances(state, batch.rows.take(places), batch.tasks[places], state.rounds + places)
        products = state.model.products(coupling, X)
        learned, ahead = slice(span.first, span.last), slice(span.first + span.delay, n)
        learn_course(
            *(products.F.copy(), products.Q.copy(), y[learned], len(span), span.delay),
            *(moves.margins[ahead], moves.own[learned], moves.step_sizes[learned]),
        )
        moved = np.flatnonzero(moves.step_sizes[learned] > 0)
        if len(moved):
            model = state.model.absorb(coupling, X.select(moved), y[learned][moved], products.select(moved))
            state.model = model.to_primal(coupling) if self.hypothesis.outgrown(model) else model
