"""Learners with mixed-effects models: shared weights (fixed effects) and task weights (random effects).

The arithmetic is in ``_compiled/primal/kalman_filter.py``.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec
import numpy as np

from coterie import spec
from coterie._compiled.core.arrays import Dropped
from coterie._compiled.core.checks import require
from coterie._compiled.core.records import Rows, widths_of
from coterie._compiled.primal.calls import RecordCalls
from coterie._compiled.primal.gaussian import Gaussian
from coterie._compiled.primal.kalman_filter import (
    LIMIT,
    FilterStep,
    FilterWork,
    MixedEffects,
    SeenFeatures,
    is_in_time,
    margin_variances,
)
from coterie._compiled.primal.stream import predict
from coterie._compiled.trees import Arrays, array_of, require_held
from coterie.tasks.index import Index
from coterie.types import Floats, Json

from .contract import (
    Batch,
    Capabilities,
    Codes,
    Features,
    InputShape,
    Margins,
    Predictions,
    RoundCount,
    UpdateResult,
    learn_in_pieces,
)
from .linear_learner import CompiledLearner, result_of
from .state import State, arrays_of


class Prior(NamedTuple):
    """The parameters of a mixed-effects model: prior variances, decay, and the learning rate of the variances.

    ``constant`` and ``slopes`` are the variances of a task's own constant and of its other weights, ``own`` and
    ``shared`` the factors by which precisions are multiplied after each record of a task, and after each record.
    ``rate`` is that of learning the variances, one for each feature, from labels of two classes in time; else 0.
    ``slopes`` is divided by c / ``features`` if a record had c > ``features`` that were not 0; 0 for never.
    """

    constant: float
    slopes: float
    own: float = 1.0
    shared: float = 1.0
    rate: float = 0.0
    features: float = 0.0


#: Prior variances of the shared constant for numbers and for two classes; those of other shared weights are 1.
CONSTANT = {False: 10.0, True: 4.0}


class _Saved(msgspec.Struct):
    """Saved data of :meth:`MixedEffectsLearner.dump`, without the arrays."""

    parameters: dict[str, list[float]]
    features: Features
    rounds: RoundCount


class MixedEffectsLearner(CompiledLearner):
    """Mixed-effects model: shared weights with a covariance matrix, and task weights with variances.

    The equations are in :mod:`coterie._compiled.primal.kalman_filter`. A record costs O(d²), a task O(d) numbers.

    Parameters
    ----------
    prior : Prior
    logistic : bool
        True for labels of two classes, False for numbers.
    shared : tuple of two float, optional
        The prior variances of the shared constant and of other shared weights; by default ``CONSTANT`` and 1.
    too_wide : str, default=""
        The advice at the end of the error for records with more features than the limit. If empty, such records stop
        the model instead.
    most : int, default=LIMIT
        The number of features beyond which it stops, 0 for never; it learns the first ``LIMIT``.
    """

    def __init__(
        self,
        prior: Prior,
        logistic: bool,
        shared: tuple[float, float] | None = None,
        too_wide: str = "",
        most: int = LIMIT,
    ) -> None:
        for name in ("constant", "slopes"):
            spec.check_not_negative(name, getattr(prior, name))
        self.prior, self.logistic, self.compiled_rule = prior, logistic, FilterStep()
        self.shared, self.too_wide, self.most = shared or (CONSTANT[logistic], 1.0), too_wide, most
        self.traits = Capabilities(
            log_odds=1.0 if logistic else None,
            weighs=True,
            asks=True,
            tasks_independent=True,
            counts_unseen=True,
            has_variances=not logistic,  # log-odds are shrunk by them already
            has_intervals=not logistic,
            limits_features=bool(too_wide),
        )

    @property
    def _parameters(self) -> dict[str, list[float]]:
        """The parameters by name, which are stored in a saved model."""
        return {"prior": [float(number) for number in self.prior], "shared": [float(number) for number in self.shared]}

    def _empty(self, tasks: int) -> MixedEffects:
        constant, slopes, *decay, rate, features = self.prior
        own = constant, slopes, rate, features
        return MixedEffects.empty(self.shared, own, decay, self.logistic, tasks, self.most)

    # -- tasks and features -------------------------------------------------------------------------------------------

    def init(self, tasks: Index, size: InputShape, length: int | None = None) -> State:
        """Return the initial state for these tasks and records of the shape ``size``."""
        model = self._empty(len(tasks)).with_constant(size.constant)
        return State(model, tasks, None, size.features, size.dense, len(tasks))

    def refuse(self, state: State, tasks: Sequence[Hashable]) -> None:
        """Do nothing: new tasks are always allowed."""

    def refuse_rows(self, state: State, rows: Rows) -> None:
        """Raise ValueError for records with too many nonzero features, unless the model stops learning instead."""
        if not self.too_wide or max(state.features, widths_of(rows).max(initial=0)) < LIMIT:
            return
        entries = rows.to_csr().trimmed()
        seen = np.union1d(entries.features[entries.values != 0.0], state.model.columns[1:])
        features = len(np.setdiff1d(seen, state.model.columns[:1]))
        if features >= LIMIT:
            raise ValueError(
                f"a mixed-effects model supports at most {LIMIT - 1} features, got {features}: the cost of a record is "
                f"quadratic in them. {self.too_wide}"
            )

    def resize(self, state: State, tasks: int, size: InputShape, counted: bool = True) -> None:
        """Resize the state for this many tasks, and store the number of features."""
        model = state.model.with_constant(size.constant)
        require(
            model is state.model or len(model.columns) == 1,
            "records had no constant so far and have one now: give its column before the first record is learned",
        )
        state.replace_model(model.with_tasks(tasks))
        state.known, state.features = max(tasks, state.known), max(size.features, state.features)

    def drop(self, state: State, dropped: Dropped, tasks: Sequence[Hashable]) -> None:
        """Remove tasks with their own weights; without any task left, also the shared weights."""
        state.known = dropped.left
        if state.known or state.model.has_left:
            state.model.drop_tasks(dropped)
        else:
            state.model = self._empty(0).with_constant(int(state.model.seen.columns[0]))

    def mixing_arrays(self, state: State) -> Iterable[Any]:
        """Return all arrays, because the model is exact only if it learns each record once."""
        return arrays_of(state.model)

    def has_left(self, state: State) -> bool:
        """Return True if the model has stopped because of too many features; it then predicts NaN."""
        return bool(state.model.has_left)

    # -- rounds -------------------------------------------------------------------------------------------------------

    def predict(self, state: State, batch: Batch) -> Predictions:
        """Return the margins of a batch, NaN if the model has stopped."""
        margins = np.zeros(len(batch.tasks))
        predict(state.model.lent(), batch.rows, batch.tasks, 0, len(margins), margins)
        return Predictions(margins)

    def learn(self, state: State, batch: Batch, y: Floats) -> UpdateResult:
        """Predict and learn records; see :meth:`coterie.models.contract.BaseLearner.learn`.

        A delayed label does not update learned prior variances, because the margin is no longer the predicted one.
        """
        in_time = batch.predictions is None and len(y) == len(batch.tasks)
        if in_time or not len(y) or not self.prior.rate:
            return result_of(self.learn_compiled(state, batch, y), batch, len(y))
        return learn_in_pieces(batch, y, range(1, len(y) + 1), partial(self._learn_late, state))

    def _learn_late(self, state: State, batch: Batch, y: Floats) -> UpdateResult:
        """Learn the first record of a batch, which may have been predicted before a delay."""
        predicted = 0.0 if batch.predictions is None else batch.predictions.margins[0]
        rule = FilterStep(bool(is_in_time(predicted, self.predict(state, batch.cut(0, 1)).margins[0])))
        return result_of(self.learn_compiled(state, batch, y, rule=rule), batch, len(y))

    def make_room(self, state: State, i: int = 0, entries: int = 0) -> None:
        """Enlarge the arrays to all features seen so far."""
        state.model = state.model.with_room()

    def skip(self, state: State, rounds: int) -> None:
        """Count ``rounds`` rounds without labels; nothing is learned."""
        state.rounds += rounds

    def fast_calls(self, state: State) -> RecordCalls | None:
        """Return compiled functions for single records; None if their new features could exceed the limit."""
        return None if self.too_wide and state.features >= LIMIT else super().fast_calls(state)

    def variances(self, state: State, batch: Batch) -> Margins:
        """Return the variance of each record's margin under the posterior; 0 if the model has stopped."""
        variances = np.zeros(len(batch.tasks))
        margin_variances(state.model.lent(), batch.rows, batch.tasks, variances)
        return variances

    def intervals(self, state: State, batch: Batch, level: float) -> tuple[Margins, Floats]:
        """Return margins, and prediction intervals of labels by Student's t distribution, shape (n, 2)."""
        from scipy.special import stdtrit

        margins, (squares, count) = self.predict(state, batch).margins, state.model.noise
        spreads = np.sqrt(squares / count * (1.0 + self.variances(state, batch)))
        reach = stdtrit(count, 0.5 * (1.0 + level)) * spreads
        return margins, np.column_stack([margins - reach, margins + reach])

    # -- the fitted model ---------------------------------------------------------------------------------------------

    def weights(self, state: State) -> Floats:
        """Return the weights of each task, dense: shared weights m plus its own weights v.

        0 if the model has stopped.
        """
        weights, columns = np.zeros((state.known, state.features)), state.model.columns
        if len(columns):
            weights[:, columns[1:]] = state.model.coefficients(np.arange(state.known))[:, 1:]
        return weights

    def intercepts(self, state: State) -> Floats:
        """Return the intercept of each task's margin."""
        if state.model.has_left:
            return np.zeros(state.known)
        return np.asarray(state.model.coefficients(np.arange(state.known))[:, 0])

    def linear_part(self, state: State, batch: Batch, record: Rows | None = None) -> Margins:
        """Return the margins of records as weighted sums of features, shrunk by the factor of ``record``."""
        model, n = state.model, len(batch.tasks)
        if model.has_left:
            return np.full(n, np.nan)
        tasks, places = np.unique(batch.tasks, return_inverse=True)
        coefficients, columns = model.coefficients(tasks), model.columns
        rows = batch.rows.to_csr()
        positions = np.full(max(state.features, rows.width) + 1, len(columns))
        positions[columns[1:]] = np.arange(1, len(columns))
        owners = np.repeat(np.arange(n), np.diff(rows.starts))
        padded = np.pad(coefficients, ((0, 0), (0, 1)))
        entries = slice(int(rows.starts[0]), int(rows.starts[-1]))
        parts = padded[places[owners], positions[rows.features[entries]]] * rows.values[entries]
        constants, margins = coefficients[places, 0], np.bincount(owners, parts, n)
        if record is None:
            return np.asarray(constants + margins)
        whole = record.to_csr()
        constant = float(whole.values[whole.features == columns[0]].sum()) or 1.0
        variance = self.variances(state, Batch(record, batch.tasks[:1]))[0] if self.logistic else 0.0
        return np.asarray((constants + margins / constant) / np.sqrt(1.0 + np.pi / 8.0 * variance))

    def share(self, state: State) -> Floats:
        """Return the shared fraction of each task's weights.

        It is 1 - E[v · v] / E[w · w], at least 0, for the weights w = m + v, shared weights m and a task's own weights
        v.

        The constant is left out. If prior variances are not learned, it is that of the prior.
        """
        return self._share(state, np.arange(state.known))

    def relation_matrix(self, state: State, among: Sequence[int] | None = None) -> Floats:
        """Return a matrix with entries √(s_i s_j) and 1 on the diagonal; s_i is the share of task i."""
        share = self._share(state, np.arange(state.known) if among is None else np.array(among, np.int64))
        return np.asarray(np.sqrt(np.outer(share, share)) + np.diag(1.0 - share))

    def _share(self, state: State, tasks: Codes) -> Floats:
        features = slice(1, len(state.model.columns))
        if not self.prior.rate or features.stop < 2:
            own = self.prior.slopes and 1.0 / float(state.model.prior.ridges[LIMIT])
            return np.full(len(tasks), self.shared[1] / (self.shared[1] + own or 1.0))
        (m, P), (v, q) = state.model.shared, state.model.own_weights(tasks)
        own = (v**2 + q)[:, features].sum(axis=1)
        whole = ((m[: features.stop] + v) ** 2 + np.diag(P)[: features.stop] + q)[:, features].sum(axis=1)
        return np.asarray(np.maximum(1.0 - own / whole, 0.0))

    # -- files --------------------------------------------------------------------------------------------------------

    def dump(self, state: State) -> tuple[Json, Arrays]:
        """Return the state for a file, as JSON data and named arrays; task labels are saved elsewhere."""
        model = require_held(state.model.to_saved(state.known))
        data = {"parameters": self._parameters, "features": state.features, "rounds": state.rounds}
        return data, _own_arrays(model)

    def restore(self, data: Json, arrays: Arrays, tasks: Index) -> State:
        """Restore the model from the result of :meth:`dump`.

        Raises
        ------
        ValueError
            If the data do not fit together.
        """
        saved, empty = msgspec.convert(data, _Saved), self._empty(0)
        require(saved.parameters == self._parameters, "the priors are not those of the model's parameters")
        own = {name: array_of(arrays, name, like) for name, like in _own_arrays(empty).items()}
        columns, triangle, width = own["columns"], own["triangle"], len(own["mean"])
        require(len(columns) <= max(self.most, LIMIT), "there are more columns of features seen than the limit")
        require(triangle.shape == (width * (width + 1) // 2,), "the covariances of the shared weights do not fit")
        covariance = np.zeros((width, width))
        covariance[np.tril_indices(width)] = covariance.T[np.tril_indices(width)] = triangle
        prior, places = empty.prior, [*range(min(len(columns), LIMIT)), LIMIT]
        if prior.changes:
            sizes = {len(own["ridges"]), len(own["squares"])}
            require(sizes == {len(places)}, "the tasks' own prior does not fit")
            prior.ridges[places], prior.squares[places] = own["ridges"], own["squares"]
        model = empty._replace(
            seen=SeenFeatures.from_columns(columns),
            clock=own["clock"],
            shared=Gaussian(own["mean"], covariance),
            prior=prior,
            pulls=own["pulls"],
            precisions=own["precisions"],
            noise=own["noise"],
            work=FilterWork.with_width(width),
        )
        model.check(len(tasks), saved.features)
        counted = min(int(model.clock[0]), max(self.most, LIMIT))
        require(len(columns) == counted, f"it has {len(columns)} features seen, but its counter is {counted}")
        require(model.noise[1] >= 1.0, "the count of residuals is below 1")
        return State(model, tasks, None, saved.features, False, len(tasks), saved.rounds)


def _own_arrays(model: MixedEffects) -> Arrays:
    """Copy the arrays of a model that cannot be recomputed from others."""
    arrays = {name: getattr(model, name).copy() for name in ("clock", "pulls", "precisions", "noise")}
    mean, covariance = model.shared
    columns = model.seen.columns[: min(model.clock[0], max(model.most, LIMIT))].copy()
    triangle = covariance[np.tril_indices(len(mean))]
    if model.prior.changes:  # the last numbers are not those of a feature
        positions = [*range(min(len(columns), LIMIT)), LIMIT]
        arrays |= {"ridges": model.prior.ridges[positions], "squares": model.prior.squares[positions]}
    return arrays | {"columns": columns, "mean": mean.copy(), "triangle": triangle}
