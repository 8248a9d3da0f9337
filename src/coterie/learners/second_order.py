"""The round of second-order learners with all covariances, a block of records at a time.

Means f and covariances Q of the margins of a block are made at once, by matrix products; the walk through the block
then needs nothing but these; and what it moved on is taken up at the end of the block. Margins, mistakes and weights
are those of records learned one at a time.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from coterie import spec
from coterie.hypotheses import full
from coterie.hypotheses.dual import as_form
from coterie.learner import Margins, known_and_unseen
from coterie.learners.block import BLOCK, FixedLearner, Span, copied, spans
from coterie.numeric.points import Points, points
from coterie.numeric.records import cut, take
from coterie.numeric.second_order import Course, course_through
from coterie.numeric.stream import Moves
from coterie.state import State

Codes = NDArray[np.int64]


class SecondOrderLearner(FixedLearner):
    """All covariances, a fixed relation and a rule joined into one round.

    Parameters
    ----------
    hypothesis : FullCovariance
        Kernel and form.
    relation : part
        How tasks share; a fixed one.
    rule : part
        When to move: a rule by the confidence in weights.
    noise : float > 0
        The variance r of a label.
    relative : bool
        Whether the noise is relative to the mean square of the record's entries, r = noise · ‖x‖² / nnz(x).

    Raises
    ------
    TypeError
        If the relation is learned, or none; both are named.
    """

    def __init__(
        self, hypothesis: full.FullCovariance, relation: Any, rule: Any, noise: float, relative: bool = False
    ) -> None:
        super().__init__(hypothesis, relation)
        spec.require_part("rule", rule, "AROW()")
        if not hasattr(rule, "threshold"):
            raise TypeError(f"FullCovariance cannot move by {rule!r}: it needs a rule by confidence")
        spec.check_positive(rule.noise, noise)
        self.rule, self.noise, self.relative = rule, float(noise), relative
        self.log_odds = rule.log_odds
        self.by_mean = False

    def deciding(self) -> Self:
        """A learner whose margins have the right signs only: they need no covariance."""
        made = type(self)(self.hypothesis, self.relation, self.rule, self.noise, self.relative)
        made.by_mean = True
        return made

    def _grown(self, state: State, changed: bool) -> Any:
        model = state.model
        if hasattr(model, "alpha"):
            if state.features > model.store.features:
                model = model._replace(store=model.store.wider(state.features))
            return full.refreshed(model, self.hypothesis.kernel, self._shares(state)) if changed else model
        return full.widened(model, self.matrix(state), state.features)

    def weights(self, state: State) -> NDArray[np.floating[Any]]:
        """The weights that predictions use, one row a task, dense.

        Raises
        ------
        AttributeError
            Where the kernel is not linear, so that features have none.
        """
        if not self.hypothesis.linear:
            raise AttributeError("a kernel model has support vectors, not a weight for every feature")
        return np.asarray(full.weights(state.model, self._shares(state), len(state.tasks), state.features))

    # -- predictions --------------------------------------------------------------------------------------------------

    def score(self, state: State, rows: Any, codes: Codes) -> Margins:
        """Margins of records of known tasks; nothing is written."""
        return self._margins(*self.moments(state, rows, codes))

    def score_unseen(self, state: State, rows: Any, tasks: Sequence[Hashable]) -> Margins:
        """Margins of records of tasks that nobody has seen: what the relation says of them."""
        return self._margins(*self.moments_unseen(state, rows, tasks))

    def moments(self, state: State, rows: Any, codes: Codes) -> tuple[Margins, Margins]:
        """Mean and variance of the margins of records of known tasks."""
        told = [np.zeros((2, 0))]
        for first in range(0, len(codes), BLOCK):
            some = codes[first : first + BLOCK]
            X = self._points(state, cut(rows, first, first + len(some)), state.rounds + first)
            pairs = self._bound.between(state, some, self._tasks(state)), self._bound.diagonal(state, some)
            told.append(np.array(full.tell(state.model, self.hypothesis.kernel, X, some, pairs, not self.by_mean)))
        f, q = np.concatenate(told, axis=1)
        return f, q

    def moments_unseen(self, state: State, rows: Any, tasks: Sequence[Hashable]) -> tuple[Margins, Margins]:
        """Mean and variance of the margins of records of tasks that nobody has seen."""
        X = self._points(state, rows, state.rounds)
        pairs = self._bound.unseen(state, tasks, self._tasks(state))
        return full.tell_unseen(state.model, self.hypothesis.kernel, X, pairs, not self.by_mean)

    def variances(self, state: State, rows: Any, codes: Codes, unseen: Sequence[Hashable]) -> Margins:
        """Variances of margins, codes and ``unseen`` as in :meth:`score_any`."""
        return known_and_unseen(state, rows, codes, unseen, self._variances, self._variances_unseen)

    def _variances(self, state: State, rows: Any, codes: Codes) -> Margins:
        return self.moments(state, rows, codes)[1]

    def _variances_unseen(self, state: State, rows: Any, tasks: Sequence[Hashable]) -> Margins:
        return self.moments_unseen(state, rows, tasks)[1]

    def _margins(self, f: Margins, q: Margins) -> Margins:
        if self.by_mean or not self.rule.shrunk:
            return f
        return self.noise / (self.noise + q) * f

    def _tasks(self, state: State) -> Codes:
        """The tasks that the model's rows or support vectors are of."""
        model = state.model
        return model.tasks[: int(model.count[0])] if hasattr(model, "alpha") else np.arange(len(state.tasks))

    def _shares(self, state: State) -> full.Shares:
        return lambda tasks, others: self._bound.between(state, tasks, others)

    def _points(self, state: State, rows: Any, first: int) -> Points:
        primal = not hasattr(state.model, "alpha")
        dense, dtype = primal or state.dense, "float64" if primal else self.hypothesis.dtype
        form = as_form(rows, dense, state.features, dtype)
        n = len(form.values) if dense else len(form.starts) - 1
        return points(form, first + np.arange(n), form.values.shape[1] if dense else _width(form, state.features))

    def _noise(self, X: Points) -> Margins:
        if not self.relative:
            return np.full(len(X.squares), self.noise)
        rows = X.rows
        if hasattr(rows, "starts"):
            filled = np.add.reduceat(np.append(rows.values != 0, 0), rows.starts[:-1]) * (np.diff(rows.starts) > 0)
        else:
            filled = np.count_nonzero(rows.values, axis=1)
        return np.asarray(self.noise * X.squares / np.maximum(filled, 1))

    # -- learning -----------------------------------------------------------------------------------------------------

    def _kept(self, state: State) -> Any:
        return None if self.hypothesis.kernel.trusted else copied(state.model)

    def _learn(self, state: State, rows: Any, codes: Codes, y: Margins, last: int, moves: Moves) -> None:
        for span in spans(len(codes), last):
            self._learn_span(state, rows, codes, y, span, moves)

    def _learn_span(self, state: State, rows: Any, codes: Codes, y: Margins, span: Span, moves: Moves) -> None:
        places = span.places(len(codes))
        X = self._points(state, take(rows, places), state.rounds + span.first)
        X = X._replace(rounds=state.rounds + places)
        made = full.forecast(state.model, self.hypothesis.kernel, X, codes[places], self._shares(state))
        noise = self._noise(X)
        course = Course(
            made.f.copy(), made.Q.copy(), y[places], noise, self.rule.threshold, self.rule.strict, self.rule.shrunk
        )
        n, told = len(span), slice(span.first + span.delay, len(codes))
        learned = slice(span.first, span.last)
        course_through(course, n, span.delay, moves.margins[told], moves.own[learned], moves.taus[learned])
        moved = np.flatnonzero(moves.taus[learned] > 0)
        if len(moved):
            self._absorb(state, X, codes[places], y[places], noise, made, moved)

    def _absorb(
        self, state: State, X: Points, codes: Codes, y: Margins, noise: Margins, made: full.Forecast, moved: Codes
    ) -> None:
        made = full.Forecast(made.f[moved], made.Q[np.ix_(moved, moved)], made.H[:, moved])
        chosen = Points(take(X.rows, moved), X.squares[moved], X.rounds[moved], X.features)
        state.model = full.absorb(state.model, chosen, codes[moved], y[moved], noise[moved], made)
        if self.hypothesis.outgrown(state.model, len(state.tasks), state.features, state.dense):
            state.model = full.primal_of(state.model, self.matrix(state), state.features)


def _width(rows: Any, features: int) -> int:
    held = rows.features[rows.starts[0] : rows.starts[-1]]
    return max(features, int(held.max(initial=-1)) + 1)
