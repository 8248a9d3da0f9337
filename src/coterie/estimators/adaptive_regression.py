"""The default regressor, an ensemble that learns how much the tasks share, with prediction intervals."""

from __future__ import annotations

from dataclasses import KW_ONLY
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from coterie import spec
from coterie._compiled.primal.kalman_filter import WIDEST
from coterie.data.label_encoders import NumberLabelEncoder
from coterie.models.linear_learner import LinearLearner
from coterie.models.mixed_effects_learner import MixedEffectsLearner, Prior
from coterie.models.regression_learner import RegressionLearner
from coterie.tasks.relations import HalfUpdate, Independent, Intercepts, Pooled
from coterie.types import Part
from coterie.updates.rules import Squared
from coterie.updates.weights import AdaptiveGradient

from .intervals import PredictsIntervals
from .online_model import LabelKind
from .parameter_fields import SCALE, LinearEstimator
from .regression import MultitaskRegressor

#: The gradient members by name: their relations, and the length of their steps relative to ``step``.
GRADIENTS = {
    "independent": (Independent(), 1.0),
    "half-shared": (HalfUpdate(), 1.0),
    "pooled": (Pooled(), 1.0),
    "fast pooled": (Pooled(), 2.0),
}
#: The members with mixed effects, and their priors: for tasks that differ much, and little.
MIXED = {
    "mixed effects": Prior(10.0, 0.3, features=2),
    "close mixed effects": Prior(0.3, 0.03, features=2),
    "forgetting mixed effects": Prior(1.0, 0.3, 0.9, 0.999, features=2),
}


@spec.estimator
class AdaptiveSharingRegressor(PredictsIntervals, LinearEstimator):
    r"""The default regressor: an ensemble that learns how much tasks share.

    Seven members learn each record: :class:`MultitaskRegressor` with share 0, 1/2 and 1, the last one also with twice
    the step, and three mixed-effects models,

        f = (m + v_i) · x,    m ~ N(0, P) of all tasks,    v_i ~ N(0, diag(q)) of task i,

    where x has the features and a constant, and is not scaled to unit length. In units of the variance of the noise,
    the prior P is 10 for the constant and 1 for others, and q is 10 for the constant and .3 for others; .3 and .03; and
    1 and .3 in a model that forgets: 1/10 of v_i with each record of the task, and 1/1000 of m with each record. If a
    record had c > 2 features that were not 0, the .3 and .03 are divided by c / 2, for the largest c so far. Each
    record is one step of a Kalman filter in which m and v_i are independent, see
    :mod:`coterie._compiled.primal.kalman_filter`. Members learn the standardised label z = (y - mean) / deviation over
    all labels so far, so the unit of labels does not matter. Each f_a is clipped to the range of z so far. The
    prediction is the mean plus the deviation times

        f = Σ_a v_a f_a,    v = argmin Σ_a (v_a - 1/S)² + Σ_t ½^(n_t / 300) (z_t - Σ_a v_a f_a)²,

    summed over the members' predictions before the label, from the 31st label on, with n_t the number of labels since
    then (no variance of v grows beyond 1); before that v_a = 1/S. The mixed-effects models learn the first 127
    features that are not 0; when more than 1,023 have been seen, they are removed permanently.

    Parameters
    ----------
    step : float > 0, default=0.3
        The rate of the gradient members, see :class:`MultitaskRegressor`.
    fit_intercept, scale, log
        A constant feature, the scaling of numbers, and columns to take the logarithm of; see
        :class:`AdaptiveSharingClassifier`.
    storage
        The storage of the gradient members, see :class:`MultitaskPerceptron`.
    task_column, new_task, max_tasks
        See :class:`MultitaskPerceptron`.

    Attributes
    ----------
    members_ : list of str
        The members' names.
    member_weights_ : ndarray, shape (S,)
        The weights v_a of the members, in that order; 0 for removed members.
    coef_ : ndarray, shape (n_tasks, n_features)
        The weights of the features, summed over members; clipping to the range of labels is not included.
    intercept_ : ndarray, shape (n_tasks,)
        The constant part: ``predict`` is ``X · coef_[i] + intercept_[i]`` if no member is clipped.

    Raises
    ------
    ValueError
        For a step that is not positive, or labels that are not finite numbers.

    Notes
    -----
    With d features: O(nnz + min(d, 127)²) per record, and 6 (min(d, 127) + 1) numbers per task in addition to those of
    the gradient members; with more than 1,023, O(nnz) per record. Records should have about unit length and a constant
    feature; by default they do.

    ``predict_interval`` uses the residuals r of out-of-sample predictions from the 31st label on. The scale s of a
    prediction is s² = e · m_i: e is the mean of r² over tasks with as many labels (in powers of two; an unseen task
    has none), m_i the mean of r² / e of task i; e has a prior of ten residuals, m_i of three. The interval is from
    f + s · q_low to f + s · q_high with the quantiles of r / s over tasks with as many labels, in which a normal prior
    counts as 20 residuals.

    References
    ----------
    N. M. Laird and J. H. Ware, "Random-effects models for longitudinal data", Biometrics 38 (1982); R. E. Kalman, "A
    new approach to linear filtering and prediction problems", Journal of Basic Engineering 82 (1960).

    Examples
    --------
    >>> import numpy as np, coterie as ct
    >>> rng = np.random.default_rng(0)
    >>> X, task = rng.standard_normal((2000, 3)), rng.integers(40, size=2000)
    >>> y = 30 + 5 * X[:, 0] + 2 * rng.standard_normal(40)[task] + rng.standard_normal(2000)
    >>> model = ct.AdaptiveSharingRegressor(scale="standard")
    >>> trace = ct.progressive_validation(model, X, y, task=task)
    >>> bool(trace.residual[-500:].std() < 1.1)
    True
    >>> low, high = model.predict_interval(X[:1], task=task[:1], level=0.9)[0]
    >>> bool(low < y[0] < high), bool(3 < high - low < 4.5)
    (True, True)
    """

    _kind: ClassVar[Literal["classifier", "regressor"]] = "regressor"

    _expects_tasks = True

    step: float = 0.3
    _: KW_ONLY
    scale: Literal["none", "standard", "unit", "auto"] | None = spec.field(SCALE, default="auto")

    @property
    def members_(self) -> list[str]:
        """The names of the ensemble's members."""
        return [*GRADIENTS, *MIXED]

    @property
    def member_weights_(self) -> NDArray[np.float64]:
        """The stacking weight of each member, in the order of ``members_``."""
        model = self._fitted_model()
        learner: Any = model.learner
        with model.lock:
            return np.asarray(learner.member_weights(model.state))

    def _with_relation(self, relation: Part) -> MultitaskRegressor:
        """Return an unfitted gradient model with this relation between tasks, as a baseline."""
        return MultitaskRegressor(relation, **{**self.get_params(deep=False), "max_tasks": None})

    def _with_intercepts(self) -> MultitaskRegressor:
        """Return an unfitted gradient model of all tasks with an intercept per task, as a baseline."""
        return self._with_relation(Intercepts())

    def _label_kind(self) -> LabelKind:
        return partial(NumberLabelEncoder, tolerance=Squared().tolerance)

    def _make_learner(self) -> RegressionLearner:
        gradients = [
            LinearLearner(AdaptiveGradient(factor * self.step, storage=self.storage), relation, Squared())
            for relation, factor in GRADIENTS.values()
        ]
        mixed = [MixedEffectsLearner(prior, logistic=False, most=WIDEST) for prior in MIXED.values()]
        return RegressionLearner([*gradients, *mixed])
