"""Online mixed models: shared weights with a covariance matrix, and random effects of each task."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import KW_ONLY
from functools import partial
from typing import ClassVar, Literal, Self

from coterie import spec
from coterie.data.label_encoders import NumberLabelEncoder
from coterie.models.contract import BaseLearner
from coterie.models.mixed_effects_learner import MixedEffectsLearner, Prior
from coterie.types import Estimator, Json, Part
from coterie.updates.rules import Squared
from coterie.updates.weights.time_decay import half_lives

from .estimator import baseline_parameters
from .intervals import PredictsIntervals
from .logistic import MultitaskLogistic
from .online_model import LabelKind
from .parameter_fields import SCALE, LinearEstimator
from .regression import MultitaskRegressor
from .second_order import margin_variance


@spec.with_constructor
class MixedEffectsEstimator(LinearEstimator):
    """Base class of mixed-effects models, with their prior variances as parameters."""

    random_intercept_variance: float = spec.field(default=1.0, at_least=0)
    random_slope_variance: float = spec.field(default=0.3, at_least=0)
    _: KW_ONLY
    intercept_variance: float = spec.field(default=10.0, at_least=0)
    slope_variance: float = spec.field(default=1.0, at_least=0)
    half_life: float | tuple[float, float] | None = None
    many_features: Literal["raise", "ignore"] = "raise"
    scale: Literal["none", "standard", "unit", "auto"] | None = spec.field(SCALE, default="auto")

    _instead: ClassVar[str]

    _expects_tasks = True

    def _make_learner(self) -> BaseLearner:
        logistic, has_intercept = self._kind == "classifier", bool(self.fit_intercept)
        factors = (1.0, 1.0)
        if self.half_life is not None:
            shared, own = (float(2.0 ** (-1.0 / half_life)) for half_life in half_lives(self.half_life))
            factors = own, shared
        # as Python's numbers: NumPy would compute with those of narrow types in their precision
        random = has_intercept * float(self.random_intercept_variance), float(self.random_slope_variance)
        prior = Prior(*random, *factors)
        variances = has_intercept * float(self.intercept_variance), float(self.slope_variance)
        if self.many_features == "raise":
            return MixedEffectsLearner(prior, logistic, variances, self._instead)
        return MixedEffectsLearner(prior, logistic, variances, most=0)

    margin_variance = margin_variance

    def _with_intercepts(self) -> None:
        """Return None, because this model itself has an intercept per task."""

    @classmethod
    def _as_baseline(cls, model: Estimator) -> Self:
        """Return an unfitted mixed-effects model with random intercepts that reads records as ``model`` does."""
        reading: Json = {"scale": None} | baseline_parameters(model) | {"fit_intercept": True}
        baseline = cls(random_slope_variance=0.0, many_features="ignore", **reading)
        baseline._expects_tasks = False  # records without a task are the compared model's to warn of
        return baseline


@spec.estimator
class MultitaskMixedEffectsRegressor(PredictsIntervals, MixedEffectsEstimator):
    r"""Linear mixed model for regression, learned online: fixed effects of all tasks, random effects of each task.

    It is the online counterpart of a mixed model ``y ~ x + (x | task)``. With z the label less the mean of all labels
    so far, in their standard deviations, and x a record with a constant,

        z = (m + v_i) · x + noise,    m ~ N(0, σ² P),    v_i ~ N(0, σ² Q),    noise ~ N(0, σ²),

    P and Q diagonal a priori. Each record (x, i) is one step of a Kalman filter: with f = (m + v_i) · x and
    s² = x'Px + x'Q_i x,

        m <- m + P x (z - f) / (1 + s²),        P <- P - P x x'P / (1 + s²),
        v_ij <- v_ij + q_ij x_j (z - f) / (1 + s²),    q_ij <- q_ij - q_ij² x_j² / (1 + s²).

    So m has a full covariance and v_i one variance per weight, and both are updated as if they were independent. In the
    joint posterior, which has (K d)² numbers, they are correlated; predictions of this model are near those of the
    joint posterior, but not equal to them (docs/outputs.md has an example).

    All prior variances are relative to the variance σ² of a label's noise, which need not be known. Its estimate is the
    mean of (z - f)² / (1 + s²) over the records so far, each with the f and s² from before its label, and one record
    of 1.

    Parameters
    ----------
    random_intercept_variance : float >= 0, default=1.0
        Prior variance of a task's own intercept, relative to that of the noise; 0 for no such intercept.
    random_slope_variance : float >= 0, default=0.3
        Prior variance of each of a task's own slopes, likewise; 0 for random intercepts only, which take two numbers
        per task.
    intercept_variance, slope_variance : float >= 0
        Prior variances of the shared intercept and of each shared slope, likewise. Features are z-scores by default.
    half_life : float, or two of them, optional
        The number of records after which precisions beyond the prior count half. With two numbers, the
        first is for shared weights, the second, in records of the task, for a task's own weights.
    many_features : {"raise", "ignore"}, default="raise"
        The behaviour if there are more than 127 non-zero features. ``"raise"`` raises ValueError. ``"ignore"``
        learns the first 127; the weights of others keep their prior variances.
    fit_intercept, scale, log
        A constant feature, the scaling of numbers, and columns to take the logarithm of; see
        :class:`AdaptiveSharingRegressor`. Entries of records are divided by that of the constant, so they are z-scores
        under ``"auto"``, too. Without a constant there are no intercepts, shared or of a task.
    storage
        The storage of the gradient models that it is compared with, see :class:`MultitaskPerceptron`.
    task_column, new_task, max_tasks
        See :class:`MultitaskPerceptron`.

    Attributes
    ----------
    noise_variance_ : float
        The estimate of σ², in squared units of the labels.

    Raises
    ------
    ValueError
        For a negative variance, labels that are not finite numbers, or more than 127 features. The model is then
        unchanged.

    Notes
    -----
    O(d²) per record for d features seen, O(d) numbers per task, d² numbers for all. ``margin_variance`` is s², relative
    to σ². A record of weight w has the noise variance σ² / w. Each further pass counts all records once more, so one
    pass is enough.

    ``predict_interval`` uses Student's predictive distribution, f ± t √(σ² (1 + s²)), with the estimate of σ² and as
    many degrees of freedom as records in it. If the noise is not normal, the coverage differs from the level.

    References
    ----------
    N. M. Laird and J. H. Ware, "Random-effects models for longitudinal data", Biometrics 38 (1982): the model.
    R. E. Kalman, "A new approach to linear filtering and prediction problems", Journal of Basic Engineering 82 (1960).

    Examples
    --------
    >>> import numpy as np, coterie as ct
    >>> rng = np.random.default_rng(0)
    >>> X, school = rng.standard_normal((3000, 3)), rng.integers(50, size=3000)
    >>> y = 30 + 5 * X[:, 0] + 3 * rng.standard_normal(50)[school] + 2 * rng.standard_normal(3000)
    >>> model = ct.MultitaskMixedEffectsRegressor().fit(X, y, task=school)
    >>> bool(3.5 < model.noise_variance_ < 4.5)
    True
    >>> low, high = model.predict_interval(X[:1], task=school[:1], level=0.9)[0]
    >>> bool(low < y[0] < high), bool(6 < high - low < 7.5)
    (True, True)
    """

    _kind: ClassVar[Literal["classifier", "regressor"]] = "regressor"
    _instead: ClassVar[str] = "Use AdaptiveSharingRegressor(), or many_features='ignore' to learn the first of them"

    @property
    def noise_variance_(self) -> float:
        """The estimated noise variance of a label, in squared units of the labels."""
        model = self._fitted_model()
        with model.lock:
            squares, count = model.state.model.noise
            return float(model.label_encoder.factor**2 * squares / count)

    def _with_relation(self, relation: Part) -> MultitaskRegressor:
        """Return an unfitted gradient model with this relation between tasks, as a baseline."""
        return MultitaskRegressor(relation, **baseline_parameters(self))

    def _label_kind(self) -> LabelKind:
        return partial(NumberLabelEncoder, tolerance=Squared().tolerance)


@spec.estimator
class MultitaskMixedEffectsClassifier(MixedEffectsEstimator):
    r"""Logistic mixed model for two classes, learned online: fixed effects of all tasks, random effects of each task.

    It is the online counterpart of a mixed model ``logit(p) ~ x + (x | task)``. The log-odds of a record x of task i
    with a constant have the mean f and, under the posterior of the weights, the variance s²,

        f = (m + v_i) · x,    s² = x'Px + x'Q_i x,    p = 1 / (1 + exp(-f / √(1 + π s² / 8))),

    m ~ N(0, P) and v_i ~ N(0, Q_i) with P and Q_i diagonal a priori. Each label y of 0 or 1 is one step of an extended
    Kalman filter: with r = 1 / (p (1 - p)),

        m <- m + P x r (y - p) / (r + s²),        P <- P - P x x'P / (r + s²),
        v_ij <- v_ij + q_ij x_j r (y - p) / (r + s²),    q_ij <- q_ij - q_ij² x_j² / (r + s²).

    As in :class:`MultitaskMixedEffectsRegressor`, m and v_i are updated as if they were independent.

    Parameters
    ----------
    random_intercept_variance : float >= 0, default=1.0
        Prior variance of a task's own intercept, in squared log-odds; 0 for no such intercept.
    random_slope_variance : float >= 0, default=0.1
        Prior variance of each of a task's own slopes; 0 for random intercepts only.
    intercept_variance, slope_variance : float >= 0
        Prior variances of the shared intercept and of each shared slope. Features are z-scores by default.
    half_life, many_features, fit_intercept, scale, log, storage
        See :class:`MultitaskMixedEffectsRegressor`.
    task_column, new_task, max_tasks, class_weight
        See :class:`MultitaskPerceptron`.

    Attributes
    ----------
    coef_, intercept_
        The weights m + v_i of f, the log-odds before the division by √(1 + π s² / 8).

    Raises
    ------
    ValueError
        For a negative variance, other than two labels, or more than 127 features. The model is then unchanged.

    Notes
    -----
    O(d²) per record for d features seen, O(d) numbers per task, d² numbers for all. ``decision_function`` is
    f / √(1 + π s² / 8), the log-odds of ``predict_proba``; ``margin_variance`` is s². A record of weight w has w times
    the curvature.

    References
    ----------
    D. J. Spiegelhalter and S. L. Lauritzen, "Sequential updating of conditional probabilities on directed graphical
    structures", Networks 20 (1990): the step, and the probability of uncertain log-odds.

    Examples
    --------
    >>> import numpy as np, coterie as ct
    >>> rng = np.random.default_rng(0)
    >>> X, shop = rng.standard_normal((4000, 3)), rng.integers(50, size=4000)
    >>> log_odds = X[:, 0] + 1.5 * rng.standard_normal(50)[shop] - 1
    >>> bought = rng.random(4000) < 1 / (1 + np.exp(-log_odds))
    >>> model = ct.MultitaskMixedEffectsClassifier(random_slope_variance=0).fit(X, bought, task=shop)
    >>> bool(abs(model.decision_function(X, task=shop) - log_odds).mean() < 0.3)
    True
    """

    _instead: ClassVar[str] = "Use AdaptiveSharingClassifier(), or many_features='ignore' to learn the first of them"

    random_slope_variance: float = spec.field(default=0.1, at_least=0)
    _: KW_ONLY
    intercept_variance: float = spec.field(default=4.0, at_least=0)
    class_weight: Mapping[Hashable, float] | Literal["balanced"] | None = None

    def _with_relation(self, relation: Part) -> MultitaskLogistic:
        """Return an unfitted logistic regression with this relation between tasks, as a baseline."""
        return MultitaskLogistic(relation, **baseline_parameters(self))
