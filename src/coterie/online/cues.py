"""The multi-cue learner: a Projectron++ a view, and a passive-aggressive learner of their margins."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie import persistence
from coterie.budgets import Projectron
from coterie.hypotheses.dual import Dual
from coterie.kernels import Gaussian
from coterie.learners.kernel import KernelLearner
from coterie.learners.views import FEWEST, ViewMoves, by_view, compiled_rule, with_lengths
from coterie.numeric.records import Csr, Dense, take
from coterie.numeric.stream import Moves
from coterie.numeric.trees import Arrays, below
from coterie.numeric.view_forms import as_form
from coterie.relations import Independent
from coterie.rules import PassiveAggressive
from coterie.state import State
from coterie.views import ViewRecords

from .multiview import MultiviewClassifier
from .rounds import Margins
from .views import beside, kernels_of


@dataclass
class CueState:
    """A learner and a state for every view, and the weights of the views' margins."""

    learners: list[KernelLearner]
    members: list[State]
    weights: NDArray[np.float64]
    names: list[Hashable]
    dense: bool
    rounds: int = 0

    @property
    def widths(self) -> tuple[int, ...]:
        """How wide each view is."""
        return tuple(member.features for member in self.members)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(member.nbytes for member in self.members) + self.weights.nbytes


class CueLearner:
    """As :class:`coterie.learners.views.ViewLearner`: one kernel learner a view, one linear learner above."""

    log_odds: float | None = None

    def __init__(self, kernels: Any, eta: float, rule: PassiveAggressive) -> None:
        self.kernels, self.budget, self._hinge = kernels, Projectron(eta, plus=True), compiled_rule(rule)
        if not hasattr(self._hinge, "ridge"):
            raise TypeError(f"rule must be PassiveAggressive, got {rule!r}")

    def check(self, names: Sequence[Hashable]) -> None:
        """Refuse views for which there are not the kernels: ValueError."""
        by_view(self.kernels, names)

    def adopt(self, state: CueState) -> None:
        """Go on with what a learner of other parameters has learned, if these differ in the rule only."""
        if [each.hypothesis for each in self._learners(state.names)] != [each.hypothesis for each in state.learners]:
            raise ValueError("kernels and eta cannot change once something is learned: fit anew")

    def init(self, names: Sequence[Hashable], widths: Sequence[int], dense: bool) -> CueState:
        """The state before the first round."""
        learners = self._learners(names)
        members = [learner.init([0], d, dense) for learner, d in zip(learners, widths, strict=True)]
        return CueState(learners, members, np.zeros(len(names)), list(names), dense)

    def fit_widths(self, state: CueState, widths: Sequence[int]) -> None:
        """Make room for views so wide."""
        for learner, member, width in zip(state.learners, state.members, widths, strict=True):
            learner.fit_tasks(member, [0], width)

    def update_many(self, state: CueState, records: ViewRecords, y: Margins, last: int | None = None) -> ViewMoves:
        """Predict and learn records one after the other; all or nothing."""
        n, before = len(records), (copy.deepcopy(state.members), state.weights.copy(), state.rounds)
        moves, last = Moves(np.zeros(n), np.zeros(n), np.zeros(n)), n if last is None else last
        ends, lengths = [], []
        try:
            for s in range(last):
                told = s + n - last
                if told != s:
                    moves.margins[told] = self.score(state, records[told : told + 1])[0]
                self._round(state, records[s : s + 1], y[s], moves, s, told == s)
                if (s + 1) % FEWEST == 0 or s + 1 == last:
                    ends.append(s + 1)
                    lengths.append(np.abs(state.weights))
        except BaseException:
            state.members, state.weights, state.rounds = before
            raise
        return with_lengths(moves, ends, lengths, len(state.names))

    def _round(self, state: CueState, record: ViewRecords, y: float, moves: Moves, s: int, tells: bool) -> None:
        h = self._margins(state, record)[0]
        moves.own[s] = float(state.weights @ h)
        if tells:
            moves.margins[s] = moves.own[s]
        views = self._views(state, record)
        for k in np.flatnonzero(record.present[0]):
            learner, member = state.learners[k], state.members[k]
            made = learner.update_many(member, views[k], np.zeros(1, np.int64), np.array([y]))
            moves.taus[s] += made.taus[0]
        h = self._margins(state, record)[0]
        loss, length = 1.0 - y * float(state.weights @ h), float(h @ h)
        if loss > 0.0 and length > 0.0:
            tau = min(self._hinge.C, loss / (length + self._hinge.ridge))
            state.weights += tau * y * h
            moves.taus[s] += tau
        state.rounds += 1

    def score(self, state: CueState, records: ViewRecords) -> Margins:
        """Margins of records; nothing is written."""
        return np.asarray(self._margins(state, records) @ state.weights)

    def _margins(self, state: CueState, records: ViewRecords) -> Margins:
        """What each view's learner says, 0 for an absent view, shape (n, K)."""
        codes, views = np.zeros(len(records), np.int64), self._views(state, records)
        learners = zip(state.learners, state.members, views, strict=True)
        told = [learner.score(member, rows, codes) for learner, member, rows in learners]
        return np.asarray(np.stack(told, axis=1) * records.present)

    def _views(self, state: CueState, records: ViewRecords) -> list[Any]:
        rows, K = as_form(records.rows, state.dense, state.widths), len(state.names)
        if state.dense:
            edges = rows.edges
            return [Dense(np.ascontiguousarray(rows.values[:, edges[k] : edges[k + 1]])) for k in range(K)]
        return [Csr(*take(rows, np.arange(k, len(rows.starts) - 1, K))) for k in range(K)]

    def _learners(self, names: Sequence[Hashable]) -> list[KernelLearner]:
        return [KernelLearner(Dual(kernel, self.budget), Independent()) for kernel in by_view(self.kernels, names)]

    def pass_by(self, state: CueState, rounds: int = 1) -> None:
        """End rounds whose labels nobody saw."""
        for learner, member in zip(state.learners, state.members, strict=True):
            learner.pass_by(member, rounds)
        state.rounds += rounds

    def dump(self, state: CueState) -> tuple[dict[str, Any], Arrays]:
        """The state as plain JSON data and named arrays."""
        arrays: Arrays = {"weights": state.weights}
        held = []
        for k, learner in enumerate(state.learners):
            data, own = learner.dump(state.members[k])
            held.append(data)
            arrays |= {f"view{k}.{name}": array for name, array in own.items()}
        return {"members": held, "dense": state.dense, "rounds": state.rounds}, arrays

    def restore(self, data: dict[str, Any], arrays: Arrays, names: Sequence[Hashable]) -> CueState:
        """Undo :meth:`dump`."""
        learners = self._learners(names)
        members = [
            learner.restore(data["members"][k], below(arrays, f"view{k}."), [0]) for k, learner in enumerate(learners)
        ]
        return CueState(learners, members, arrays["weights"].copy(), list(names), data["dense"], data["rounds"])


@persistence.register
class MultiCueClassifier(MultiviewClassifier):
    """A kernel learner for every view, and above them one that weighs what they say (OMCL; FOR09 §4.2.3).

    Below, a Projectron++ a view, f_k, learns by its own margin. Above, margin = ω · h with h = (f_1(x_1), …, f_K(x_K));
    after the lower ones have learned the record, h is made anew and ω moves by a passive-aggressive step on it, so that
    y·ω·h reaches 1 if C allows. ω begins at 0. An absent view has f_k = 0 and its Projectron does not learn.

    Parameters
    ----------
    kernels : kernel, list or dictionary of them, optional
        One for all views, one a view in order, or by name; ``Gaussian(sigma=1.0)`` without.
    eta : float > 0
        How far from its support vectors a record must lie, as a norm, for a Projectron to keep it.
    rule : PassiveAggressive, optional
        Of the upper learner; ``PassiveAggressive(C=1.0)`` without.
    views : sequence of labels, optional
        The names of the views; without, those of the first records.

    Attributes
    ----------
    cue_weights_ : dict
        ω by the name of the view.
    n_support_ : dict
        How many support vectors each view has.

    Notes
    -----
    Records go one by one, in Python: about half a millisecond a view. From Jie, Orabona and Caputo (ACCV 2009),
    for two classes.

    Examples
    --------
    >>> import numpy as np, coterie as ct
    >>> rng = np.random.default_rng(0)
    >>> near, noise = rng.normal(size=(300, 2)), rng.normal(size=(300, 3))
    >>> y = (near**2).sum(axis=1) > 1.4
    >>> model = ct.MultiCueClassifier(ct.Gaussian(1.0), eta=0.1)
    >>> trace = ct.progressive_validation(model, {"near": near, "noise": noise}, y)
    >>> bool(trace.wrong[150:].mean() < 0.2), model.cue_weights_["near"] > model.cue_weights_["noise"]
    (True, True)
    """

    def __init__(
        self,
        kernels: Any = None,
        eta: float = 0.1,
        rule: Any = None,
        *,
        views: Sequence[Hashable] | None = None,
    ) -> None:
        self.kernels = kernels
        self.eta = eta
        self.rule = rule
        self.views = views

    def _make_learner(self) -> Any:
        kernels = Gaussian() if self.kernels is None else kernels_of(self.kernels)
        return CueLearner(kernels, self.eta, PassiveAggressive() if self.rule is None else self.rule)

    def baselines(self, seen: Any) -> dict[str, Any]:
        """A kernel Perceptron on each view by itself, and one by the sum of their kernels."""
        return beside(seen, self.views, Gaussian() if self.kernels is None else self.kernels)

    @property
    def cue_weights_(self) -> dict[Hashable, float]:
        """The weight of each view's margin, by name."""
        self._check_fitted(AttributeError)
        return dict(zip(self.views_, self.state_.weights.tolist(), strict=True))

    @property
    def n_support_(self) -> dict[Hashable, int]:
        """How many support vectors each view has, by name."""
        self._check_fitted(AttributeError)
        sizes = [int(member.model.support.counts[0]) for member in self.state_.members]
        return dict(zip(self.views_, sizes, strict=True))
