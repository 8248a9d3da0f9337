"""Multitask linear regression."""

from __future__ import annotations

from dataclasses import KW_ONLY
from functools import partial
from typing import ClassVar, Literal

from coterie import spec
from coterie.data.label_encoders import NumberLabelEncoder
from coterie.models.linear_learner import LinearLearner
from coterie.tasks.relations import Intercepts
from coterie.types import Part
from coterie.updates.rules import Squared
from coterie.updates.weights import AdaptiveGradient, LinearWeights
from coterie.updates.weights.averaging import Averaged
from coterie.updates.weights.time_decay import with_half_life

from .online_model import LabelKind
from .parameter_fields import LinearEstimator


@spec.estimator
class MultitaskRegressor(LinearEstimator):
    """Online linear regression for many tasks, each task learning from the others.

    w_i are the weights of task i, tau is the size of the step, and M the inverse of the tasks' interaction matrix A, by
    which they share updates.

    The prediction of a record (x, i) is m + s f, where f = w_i · x is its margin and m and s are the mean and the
    standard deviation of all labels so far; internally, a label y is (y - m) / s. So labels can have any unit, and a
    new model starts at the mean. Every record with a positive loss updates every task j,

        w_j <- w_j + tau sign(y - f) M_ji x,

    by the ``loss``: along its gradient, with a rate per weight (``AdaptiveGradient``), for
    :class:`coterie.updates.Squared` and :class:`coterie.updates.Absolute`; by the shortest step to a loss of zero for
    :class:`coterie.updates.EpsilonInsensitive`.

    Parameters
    ----------
    relation : relation, optional
        The relation between tasks, by default :class:`coterie.HalfUpdate`. Relations that are not of nested groups,
        such as :class:`coterie.TaskGraph` and learned ones, need ``loss=EpsilonInsensitive()``.
    loss : rule, optional
        :class:`coterie.updates.Squared` (the default; predicts the mean), :class:`coterie.updates.Absolute` (predicts
        the median, robust to outliers) or :class:`coterie.updates.EpsilonInsensitive` (passive-aggressive, with any
        relation).
    step : float > 0, default=0.3
        The rate of the gradient losses, in standard deviations of the labels and for records of about unit length. On
        three real data sets (docs/appendix/tables.md) rates from 0.2 to 0.5 differ by some percent.
    average : bool, default=False
        Predict by the mean of the weights so far; with ``EpsilonInsensitive`` only.
    targets : {"standardise", "as they are"}, default="standardise"
        Standardise labels by their mean and standard deviation so far, or learn them unchanged; then ``epsilon`` and
        ``step`` are in the unit of the labels.
    fit_intercept, scale, log
        A constant feature (by default True), the scaling of numbers, and columns to take the logarithm of; see
        :class:`MultitaskPerceptron`.
    storage, task_column, new_task, max_tasks, half_life
        See :class:`MultitaskPerceptron`.

    Notes
    -----
    O(nnz · levels) per record for relations of nested groups, independent of the number of tasks. The constant
    lets the mean differ between tasks. ``predict_one`` of a new model is 0.0, as in River.

    Examples
    --------
    >>> import numpy as np, coterie as ct
    >>> rng = np.random.default_rng(0)
    >>> X, task = rng.standard_normal((2000, 3)) / 2, rng.integers(4, size=2000)
    >>> y = 30 + 10 * X[:, 0] + 5 * task + rng.standard_normal(2000)
    >>> model = ct.MultitaskRegressor(ct.MeanRegularized(share=0.25))
    >>> trace = ct.progressive_validation(model, X, y, task=task)
    >>> bool(abs(trace.residual[-500:]).mean() < 1.2)
    True

    One record at a time, as dictionaries:

    >>> model = ct.MultitaskRegressor(loss=ct.updates.EpsilonInsensitive(0.0, C=10.0))
    >>> for metres, price in ((50, 500), (100, 1000), (80, 800)):
    ...     model.learn_one({"metres": metres / 100}, price, task="centre")
    >>> round(model.predict_one({"metres": 0.5}, task="suburb"))
    781
    """

    _kind: ClassVar[Literal["classifier", "regressor"]] = "regressor"

    relation: Part = None
    loss: Part = None
    step: float = 0.3
    average: bool = False
    targets: Literal["standardise", "as they are"] = "standardise"
    _: KW_ONLY
    half_life: float | tuple[float, float] | None = None

    @property
    def _loss(self) -> Part:
        return Squared() if self.loss is None else self.loss

    def _label_kind(self) -> LabelKind:
        return partial(NumberLabelEncoder, standardised=self.targets == "standardise", tolerance=self._loss.tolerance)

    def _with_intercepts(self) -> MultitaskRegressor:
        """Return the baseline of an unfitted gradient model for all tasks with an intercept per task."""
        gradient = getattr(self.loss, "move", None) == "gradient"
        own = {"relation": Intercepts(), "loss": self.loss if gradient else None, "average": False, "max_tasks": None}
        return type(self)(**{**self.get_params(deep=False), **own})

    def _make_learner(self) -> LinearLearner:
        loss = self._loss
        if not hasattr(loss, "tolerance"):
            raise TypeError(f"loss must be Squared(), Absolute() or EpsilonInsensitive(), got {loss!r}")
        hypothesis: Part = LinearWeights(storage=self.storage)
        if loss.move == "gradient":
            hypothesis = AdaptiveGradient(self.step, storage=self.storage)
        hypothesis = with_half_life(hypothesis, self.half_life)
        if self.average:
            hypothesis = Averaged(hypothesis)
        return LinearLearner(hypothesis, self._relation_used, loss)
