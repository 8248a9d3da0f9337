"""Second-order learners, with the full covariance of all weights; records are processed in blocks.

Means f and covariances Q of the margins of a block are computed at once, by matrix products; the loop over the block
needs nothing else; the model is updated with the learned records at the end of the block. Margins, mistakes and weights
are those of learning one record at a time.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from coterie import spec
from coterie._compiled.core.arrays import Dropped
from coterie._compiled.core.points import Points
from coterie._compiled.core.records import Rows, place_unseen, weights_of
from coterie._compiled.dual.second_order_models import Course, Forecast, Pairs, Shares, learn_course
from coterie._compiled.primal.stream import Moves
from coterie._compiled.weights.table import Weights
from coterie.kernels import Precomputed
from coterie.tasks.index import Index
from coterie.types import Part, Tree
from coterie.updates.rules import ConfidenceRule
from coterie.updates.weights.full_covariance import FullCovariance
from coterie.wording import counted

from .block_learner import BLOCK, BoundLearner, Span, spans
from .contract import AnyRows, Batch, Codes, Margins, score_known_and_unseen
from .state import State

#: The most weights of all tasks whose covariances are kept: 8 GiB.
MOST_WEIGHTS = 1 << 15


def _require_room(tasks: int, features: int) -> None:
    """Raise ValueError if the covariance matrix of this many tasks and features would need too much memory."""
    if tasks * features > MOST_WEIGHTS:
        raise ValueError(
            f"a covariance for each pair of the {features:,} weights of {counted(tasks, 'task')} needs "
            f"{(tasks * features) ** 2 / 2**27:,.0f} GiB; use covariance='diagonal' of MultitaskAROW, solver='dual' of "
            "second-order estimators, or fewer features"
        )


class SecondOrderLearner(BoundLearner):
    """A learner with a full covariance matrix of the weights, for a fixed relation.

    Parameters
    ----------
    hypothesis : FullCovariance
        Kernel and form.
    relation : part
        A fixed relation between tasks.
    rule : AROW, SecondOrder or Squared
        The condition and the step size of updates.
    noise : float > 0
        The variance r of a label.
    relative : bool
        True if the noise is relative to the mean square of the record's entries, r = noise · ‖x‖² / nnz(x).

    Raises
    ------
    TypeError
        If the relation is learned, or not a relation; the message has both.
    """

    hypothesis: FullCovariance

    def __init__(
        self, hypothesis: FullCovariance, relation: Part, rule: Part, noise: float, relative: bool = False
    ) -> None:
        super().__init__(hypothesis, relation)
        spec.require_part("rule", rule, "AROW()")
        if not isinstance(rule, ConfidenceRule):
            raise TypeError(f"FullCovariance does not support {rule!r}; choose a rule by confidence such as AROW")
        spec.check_positive(rule.noise, noise)
        self.rule, self.noise, self.relative = rule, float(noise), relative
        self.shrinks, self.every = bool(rule.shrunk), math.isinf(rule.threshold)
        sure = "how sure the model is of the record" if rule.shrunk else ""
        self.traits = replace(
            self.traits,
            log_odds=rule.log_odds,
            has_variances=True,
            counts_unseen=True,
            beyond_features=sure if hypothesis.linear else "support vectors",
            can_refuse=not hypothesis.kernel.trusted,
            by_round=isinstance(hypothesis.kernel, Precomputed),
        )

    def _resized(self, state: State, changed: bool) -> Tree:
        if state.model.solver == "primal":
            _require_room(max(state.known, 1), state.features)  # also before the first task
        shares = self._shares(state)
        return state.model.with_room(self.hypothesis.kernel, shares, state.known, state.features, changed)

    def _without(self, state: State, dropped: Dropped, groups: Codes) -> Tree:
        state.model = state.model.drop_tasks(dropped)
        return self._resized(state, True)

    def weights(self, state: State) -> Weights:
        """Return the weights as a dense array, shape (n_tasks, n_features).

        Raises
        ------
        AttributeError
            If the kernel is not linear, because features then have no weights.
        """
        if not self.hypothesis.linear:
            raise AttributeError("a kernel model has support vectors, not a weight for every feature")
        return np.asarray(state.model.weights(self._shares(state), state.known, state.features))

    def _blank(self, tasks: Index, features: int, dense: bool) -> Sequence[Tree]:
        sharing = self.adapter.blank()
        forms: tuple[Literal["dual", "primal"], ...] = ("dual", "primal") if self.hypothesis.linear else ("dual",)
        return [replace(self.hypothesis, solver=solver).start(sharing, 1, dense) for solver in forms]

    def linear_part(self, state: State, batch: Batch, record: AnyRows | None = None) -> Margins:
        """Return the means of the margins, which are linear in the features for a linear kernel."""
        if not self.hypothesis.linear:
            return np.zeros(len(batch.tasks))
        return self.decide(state, batch)

    def decide(self, state: State, batch: Batch) -> Margins:
        """Return the means of margins. They have the correct sign but, without variances, not the correct size."""
        return score_known_and_unseen(
            batch,
            lambda rows, codes: self.moments(state, rows, codes, with_variances=False)[0],
            lambda rows, tasks: self.moments_unseen(state, rows, tasks, with_variances=False)[0],
        )

    # -- predictions --------------------------------------------------------------------------------------------------

    def score(self, state: State, rows: Rows, codes: Codes) -> Margins:
        """Return the margins of records of known tasks."""
        return self._margins(*self.moments(state, rows, codes, self.shrinks))

    def score_unseen(self, state: State, rows: Rows, tasks: Sequence[Hashable]) -> Margins:
        """Return the margins of records of unseen tasks, predicted from known tasks by the relation."""
        return self._margins(*self.moments_unseen(state, rows, tasks, self.shrinks))

    def moments(self, state: State, rows: Rows, codes: Codes, with_variances: bool = True) -> tuple[Margins, Margins]:
        """Return the means of margins of known tasks and, if ``with_variances``, their variances.

        ``codes`` are the task numbers of the records.
        """
        parts = [np.zeros((2, 0))]
        for first in range(0, len(codes), BLOCK):
            part = codes[first : first + BLOCK]
            X = self._points(state, rows.cut(first, first + len(part)), state.rounds + first)
            between = self.adapter.between(state, part, state.model.tasks_of_rows)
            pairs: Pairs = between, self.adapter.diagonal(state, part)
            parts.append(np.array(state.model.predict(self.hypothesis.kernel, X, part, pairs, with_variances)))
        f, q = np.concatenate(parts, axis=1)
        return f, q

    def moments_unseen(
        self, state: State, rows: Rows, tasks: Sequence[Hashable], with_variances: bool = True
    ) -> tuple[Margins, Margins]:
        """Return the means and variances of margins of records of unseen tasks, as :meth:`moments` does."""
        X = self._points(state, rows, state.rounds)
        pairs: Pairs = self.adapter.unseen(state, tasks, state.model.tasks_of_rows)
        f, q = state.model.predict_unseen(self.hypothesis.kernel, X, pairs, with_variances)
        return f, q

    def variances(self, state: State, batch: Batch) -> Margins:
        """Return the variances of the margins of records, at least 0."""
        variances = score_known_and_unseen(
            batch,
            lambda rows, codes: self.moments(state, rows, codes)[1],
            lambda rows, tasks: self.moments_unseen(state, rows, tasks)[1],
        )
        # M_ii k(x, x) minus what was learned is a difference of nearly equal numbers for familiar records
        return np.maximum(variances, 0.0)

    def _margins(self, f: Margins, q: Margins) -> Margins:
        # the record itself inside the inverse: r = a f / (a + q) has the sign of f (CCG08 §4.1)
        return self.noise / (self.noise + q) * f if self.shrinks else f

    def _shares(self, state: State) -> Shares:
        return lambda tasks, others: self.adapter.between(state, tasks, others)

    def _points(self, state: State, rows: Rows, first: int) -> Points:
        rows = place_unseen(rows, state.features)
        points: Points = state.model.convert(rows, first + np.arange(rows.n_records))
        return points

    def _noise(self, X: Points) -> Margins:
        # a mean square over nonzero entries, so that the length of sparse records does not decide on the noise
        if not self.relative:
            return np.full(len(X.squares), self.noise)
        return np.asarray(self.noise * X.squares / np.maximum(X.rows.non_zeros(), 1))

    # -- learning -----------------------------------------------------------------------------------------------------

    def _learn(self, state: State, batch: Batch, y: Margins, moves: Moves) -> None:
        for span in spans(len(batch.tasks), len(y)):
            self._learn_span(state, batch, y[span.first : span.last], span, moves)

    def _learn_span(self, state: State, batch: Batch, y: Margins, span: Span, moves: Moves) -> None:
        places = span.places(len(batch.tasks))
        codes = batch.tasks[places]
        X = self._points(state, batch.rows.take(places), state.rounds + span.first)
        X = X._replace(rounds=state.rounds + places)
        forecast = state.model.forecast(self.hypothesis.kernel, X, codes, self._shares(state))
        noise, weights = self._noise(X), weights_of(batch.rows)[places]
        rule = self.rule
        course = Course(
            # the loop updates f and Q of the block's later records in place; the forecast is still needed to absorb
            forecast.f.copy(),
            forecast.Q.copy(),
            y,
            noise,
            weights,
            rule.threshold,
            rule.strict,
            rule.shrunk,
        )
        ahead, learned = slice(span.first + span.delay, len(batch.tasks)), slice(span.first, span.last)
        learn_course(course, len(span), span.delay, moves.margins[ahead], moves.own[learned], moves.step_sizes[learned])
        # a label that was predicted to the last bit makes ridge regression surer, too
        moved = np.flatnonzero(weights[: len(span)] > 0 if self.every else moves.step_sizes[learned] > 0)
        if len(moved):
            with np.errstate(divide="ignore"):  # records of no weight have not moved
                self._absorb(state, X, codes, y, noise / weights, forecast, moved)

    def _absorb(
        self, state: State, X: Points, codes: Codes, y: Margins, noise: Margins, forecast: Forecast, moved: Codes
    ) -> None:
        try:
            model = state.model.absorb(X.take(moved), codes[moved], y[moved], noise[moved], forecast.select(moved))
        except ValueError as error:
            if not self.hypothesis.kernel.trusted:
                raise
            longest, name = math.sqrt(X.squares.max()), self.rule.noise
            raise ValueError(
                f"the variance of margins is lost to rounding: the norm {longest:.2g} of records is too large for "
                f"{name}={self.noise:g}; scale the columns"
            ) from error
        # mistakes on sparse records are few compared with features; all records soon outnumber these
        if self.hypothesis.outgrown(model, state.known, state.features, state.dense or self.every):
            model = model.to_primal(self._shares(state), state.known, state.features)
        state.model = model
