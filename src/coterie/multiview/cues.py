"""The multi-cue learner: one Projectron++ per view, and a passive-aggressive learner of their margins."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from coterie.budgets import Projectron
from coterie.hypotheses.dual import Dual
from coterie.index import Index
from coterie.models.contract import Batch, InputShape, LearnerState, Margins
from coterie.models.kernel_learner import KernelLearner
from coterie.numeric.core.checks import require, require_finite, require_shape
from coterie.numeric.core.records import Rows
from coterie.numeric.primal.step_rules import ShortestStep
from coterie.numeric.primal.stream import Moves
from coterie.numeric.trees import Arrays, array_of
from coterie.numeric.views.forms import as_form, plain_rows
from coterie.relations import Independent
from coterie.rules import PassiveAggressive
from coterie.types import Json, Part

from .learner import FEWEST, ViewMoves, by_view, compiled_rule
from .view_members import MembersRound, ViewMembersState
from .view_records import ViewRecords


@dataclass
class CueState(ViewMembersState):
    """A learner and a state for every view, and the weights of the views' margins."""

    learners: list[KernelLearner]
    weights: NDArray[np.float64]
    rounds: int = 0

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return super().nbytes + self.weights.nbytes


class CueLearner(MembersRound):
    """One kernel learner per view, and a linear learner of their margins."""

    def __init__(self, kernels: Part, eta: float, rule: PassiveAggressive) -> None:
        hinge = compiled_rule(rule)
        if not isinstance(hinge, ShortestStep):
            raise TypeError(f"rule must be PassiveAggressive, got {rule!r}")
        self.kernels, self.budget, self._hinge = kernels, Projectron(eta, plus=True), hinge
        self.traits = replace(self.traits, can_refuse=True, counts_unseen=True)

    def rebind(self, state: CueState) -> None:
        """Raise ValueError if other parameters than the rule changed."""
        if [learner.hypothesis for learner in self._learners(state.names)] != [
            learner.hypothesis for learner in state.learners
        ]:
            raise ValueError("kernels and eta cannot change after the first update; fit a new model")

    def init(self, tasks: Index, size: InputShape, length: int | None = None) -> CueState:
        """Return the state before the first round; raise ValueError unless each view has a kernel."""
        learners = self._learners(size.names)
        widths = zip(learners, size.widths, strict=True)
        members = [learner.init(Index([0]), InputShape(width, size.dense)) for learner, width in widths]
        return CueState(members, list(size.names), size.dense, learners, np.zeros(len(members)))

    def resize(self, state: CueState, tasks: int, size: InputShape, counted: bool = True) -> None:
        """Resize the state to views of these widths."""
        for (learner, member), width in zip(self.pairs(state), size.widths, strict=True):
            learner.resize(member, 1, InputShape(width, state.dense))

    def _learn(self, state: CueState, records: ViewRecords, y: Margins) -> ViewMoves:
        n, last = len(records), len(y)
        moves, ends, lengths = Moves(*np.zeros((3, n))), [], []
        for s in range(last):
            ahead = s + n - last
            if ahead != s:
                moves.margins[ahead] = self.score(state, records[ahead : ahead + 1])[0]
            self._round(state, records[s : s + 1], y[s], moves, s, ahead == s)
            if (s + 1) % FEWEST == 0 or s + 1 == last:
                ends.append(s + 1)
                lengths.append(np.abs(state.weights))
        return ViewMoves(moves, ends, lengths)

    def _round(self, state: CueState, record: ViewRecords, y: float, moves: Moves, s: int, predicts: bool) -> None:
        h = self._margins(state, record)[0]
        moves.own[s] = float(state.weights @ h)
        if predicts:
            moves.margins[s] = moves.own[s]
        views = self._views(state, record)
        for k in np.flatnonzero(record.present[0]):
            learner, member = state.learners[k], state.members[k]
            moves.step_sizes[s] += learner.learn(member, Batch(views[k], np.zeros(1, np.int64)), np.array([y])).steps[0]
        h = self._margins(state, record)[0]
        loss, length = 1.0 - y * float(state.weights @ h), float(h @ h)
        if loss > 0.0 and length > 0.0:
            tau = min(self._hinge.C, loss / (length + self._hinge.ridge))
            state.weights += tau * y * h
            moves.step_sizes[s] += tau
        state.rounds += 1

    def score(self, state: CueState, records: ViewRecords) -> Margins:
        """Compute margins of records without changing the state."""
        return np.asarray(self._margins(state, records) @ state.weights)

    def _margins(self, state: CueState, records: ViewRecords) -> Margins:
        """The margin of each view's learner, 0 for an absent view, shape (n, K)."""
        codes, views = np.zeros(len(records), np.int64), self._views(state, records)
        learners = zip(self.pairs(state), views, strict=True)
        margins = [learner.predict(member, Batch(rows, codes)).margins for (learner, member), rows in learners]
        return np.asarray(np.stack(margins, axis=1) * records.present)

    def _views(self, state: CueState, records: ViewRecords) -> list[Rows]:
        rows, K = as_form(records.rows, state.dense, state.widths), len(state.names)
        return [plain_rows(rows, K, k) for k in range(K)]

    def _learners(self, names: Sequence[Hashable]) -> list[KernelLearner]:
        return [KernelLearner(Dual(kernel, self.budget), Independent()) for kernel in by_view(self.kernels, names)]

    def pairs(self, state: CueState) -> list[tuple[KernelLearner, LearnerState]]:
        """Return the learner of each view with its state."""
        return list(zip(state.learners, state.members, strict=True))

    def skip(self, state: CueState, rounds: int) -> None:
        """End rounds without labels."""
        super().skip(state, rounds)
        state.rounds += rounds

    def dump(self, state: CueState) -> tuple[Json, Arrays]:
        """Return the state as plain JSON data and named arrays."""
        data, arrays = super().dump(state)
        return data, {"weights": state.weights.copy()} | arrays

    def restore(self, data: Json, arrays: Arrays, tasks: Index) -> CueState:
        """Restore the result of :meth:`dump`; ``index`` has the names of the views."""
        learners = self._learners(tasks.labels)
        saved, members = self.restored(data, arrays, learners, [Index([0]) for _ in learners])
        require(all(member.dense == saved.dense for member in members), "views have different forms")
        weights = array_of(arrays, "weights", np.zeros(0))
        require_shape("weights of views", weights, len(learners))
        require_finite("weights of views", weights)
        return CueState(members, list(tasks.labels), saved.dense, learners, weights, saved.rounds)
