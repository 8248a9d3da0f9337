"""The learner of mirror descent that adapts to how different its tasks are."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.bindings import mean_share
from coterie.learner import Margins
from coterie.numeric.core.arrays import Dropped
from coterie.numeric.core.records import Dense, Rows, weights_of
from coterie.numeric.primal.stream import Moves
from coterie.state import State

from .block import Codes, FixedLearner, copied


class MirrorLearner(FixedLearner):
    """Mirror descent by the hinge loss under several shares, mixed; the relation matrix is the mean of the experts'."""

    @property
    def counts_features(self) -> bool:
        """True: a potential may depend on the number of features."""
        return True

    @property
    def _counts_tasks(self) -> bool:
        return True

    @property
    def weighs(self) -> bool:
        """True: losses, and so gradients, have the weight as a factor."""
        return True

    def check_bounded(self) -> None:
        """Accept ``max_tasks``: a task that is dropped takes the sum of its moves along."""

    def _grown(self, state: State, changed: bool) -> Any:
        return state.model.grown(len(state.tasks), state.features)

    def _without(self, state: State, dropped: Dropped, groups: Codes) -> Any:
        raw = dropped.moved_copy(state.model.raw)
        return state.model._replace(raw=raw, total=raw.sum(axis=0))

    def _backup(self, state: State) -> Any:
        return copied(state.model)  # a user's gradient may raise an error

    def _shares(self, model: Any) -> Any:
        return self.hypothesis.shares(*model.raw.shape)

    def _check(self, state: State) -> None:
        super()._check(state)
        if len(state.model.losses) != len(self.hypothesis.variances):
            raise ValueError(f"{len(state.model.losses)} experts, and {len(self.hypothesis.variances)} variances")

    def adopt(self, state: State) -> None:
        """Check that a state learned under other parameters can be continued: it must have as many experts."""
        if len(state.model.losses) != len(self.hypothesis.variances):
            raise ValueError("the number of variances cannot change once something is learned: fit anew")

    def score(self, state: State, rows: Rows, codes: Codes) -> Margins:
        """Margins of records of known tasks; nothing is written."""
        return self._predicted(state.model, rows, codes)

    def score_unseen(self, state: State, rows: Rows, tasks: Sequence[Hashable]) -> Margins:
        """Margins of records of tasks that nobody has seen: those of a known task that never moved."""
        K = len(state.tasks)
        return self._predicted(state.model.grown(K + 1, state.features), rows, np.full(len(tasks), K))

    def _predicted(self, model: Any, rows: Rows, codes: Codes) -> Margins:
        shares = self._shares(model)
        told = [
            model.mixed(model.margins(shares, i, *entries(rows, t, model.raw.shape[1])))
            for t, i in enumerate(codes.tolist())
        ]
        return np.array(told, np.float64)

    def _learn(self, state: State, rows: Rows, codes: Codes, y: Margins, last: int, moves: Moves) -> None:
        model, delay, n, tasks = state.model, len(codes) - last, len(codes), codes.tolist()
        shares, weights = self._shares(model), weights_of(rows)
        for t in range(last):
            x, features = entries(rows, t, model.raw.shape[1])
            margins = model.margins(shares, tasks[t], x, features)
            moves.own[t] = model.mixed(margins)
            if not delay:
                moves.margins[t] = moves.own[t]
            elif t + delay < n:
                ahead = entries(rows, t + delay, model.raw.shape[1])
                moves.margins[t + delay] = model.mixed(model.margins(shares, tasks[t + delay], *ahead))
            gradient, weight = float(weights[t]) * x, float(weights[t])
            length = self.hypothesis.length(gradient)
            moves.taus[t] = model.learn(weight * margins, length, tasks[t], float(y[t]), gradient, features, weight)

    def weights(self, state: State) -> NDArray[np.floating[Any]]:
        """The weights that predictions use, one row a task, dense: margins of the unit vectors."""
        K, every = len(state.tasks), np.eye(state.features)
        return np.array([self._predicted(state.model, Dense(every), np.full(len(every), i)) for i in range(K)])

    def relation_matrix(self, state: State, among: Sequence[int] | None = None) -> NDArray[np.float64]:
        """The mean of the experts' T², by their weights in the mixture."""
        K, own = len(state.tasks), self._shares(state.model).own
        square = float(state.model.chances() @ own**2)
        made = square * np.eye(K) + (1.0 - square) / max(K, 1)
        return made if among is None else made[np.ix_(among, among)]

    def share(self, state: State) -> NDArray[np.float64]:
        """The part of each task's moves that is shared with others."""
        return mean_share(self.relation_matrix(state))


def entries(rows: Rows, t: int, width: int) -> tuple[NDArray[np.float64], Any]:
    """The entries of a record and their features, without those beyond a width."""
    if isinstance(rows, Dense):
        return np.asarray(rows.values[t], np.float64), slice(None)
    some = slice(rows.starts[t], rows.starts[t + 1])
    x, features = np.asarray(rows.values[some], np.float64), rows.features[some]
    known = features < width
    return x[known], features[known]
