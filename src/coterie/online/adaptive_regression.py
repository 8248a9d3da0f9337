"""The regressor that learns how much its tasks share, with prediction intervals."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import KW_ONLY
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from coterie import persistence, spec
from coterie.hypotheses import AdaptiveGradient
from coterie.inputs.labels import Targets
from coterie.relations import HalfUpdate, Independent, Intercepts, Pooled
from coterie.round.linear import LinearLearner
from coterie.round.mixed_effects import PRIORS, MixedEffectsLearner, Prior
from coterie.round.regression import RegressionLearner
from coterie.rules import Squared

from .fields import SCALE, LinearEstimator
from .regression import MultitaskRegressor

#: The gradient members by name, with their relations.
GRADIENTS = {"independent": Independent(), "half-shared": HalfUpdate(), "pooled": Pooled()}
#: The members with mixed effects, and their priors.
MIXED = PRIORS | {"forgetting mixed effects": Prior(1.0, 0.3, 0.9, 0.999)}


@persistence.register
class AdaptiveSharingRegressor(LinearEstimator):
    r"""Predicts numbers for many tasks and learns online how much they share: the default for numbers.

    Five members go along side by side: :class:`MultitaskRegressor` with nothing, half and all of a step shared; one
    least squares of all tasks with an intercept for each; and least squares of each task by itself,

        f_4 = w · x + b_i,    w = argmin .1 ‖w‖² + Σ (z - b_i - w · x)²,    b_i = Σ_i (z - w · x) / (n_i + 3),
        f_5 = w_i · (1, x),        w_i = argmin ‖w‖² + Σ_i (z - w · (1, x))²,

    each record with the b_i of its time, n_i being the number of labels of task i. z is the label less the mean of all
    so far, in their standard deviations; so the unit of labels does not matter. Each f_a is kept within the range of
    the labels so far. The prediction is the mean plus the deviation times

        f = Σ_a v_a f_a,    v = argmin Σ_a (v_a - 1/S)² + Σ_t (z_t - Σ_a v_a f_a)²,

    the sums being of members' predictions before the label, from the 31st label on; until then v_a = 1/S. All three
    least squares are exact after each record. Parts that cost the square of the number of features are left out where
    these are many: beyond 32 features seen, least squares of each task; beyond 128, w · x is the pooled gradient
    learner's margin, with the intercepts as before.

    Parameters
    ----------
    step : float > 0
        Of the gradient members, as in :class:`MultitaskRegressor`.
    fit_intercept, scale, log
        A constant feature, the scaling of numbers, and columns whose logarithms are taken: as in
        :class:`AdaptiveSharingClassifier`.
    storage
        Of the gradient members, as in :class:`MultitaskPerceptron`.
    task_column, new_task, max_tasks
        As in :class:`MultitaskPerceptron`.

    Attributes
    ----------
    members_ : list of str
        The members' names.
    member_weights_ : ndarray, shape (S,)
        The weights v_a of the members, in that order; 0 for one that is left out.
    coef_ : ndarray, shape (n_tasks, n_features)
        The weights of the features: of all members together, as far as none is kept within the range of the labels.
    intercept_ : ndarray, shape (n_tasks,)
        The constant part: ``predict`` is ``X · coef_[i] + intercept_[i]`` where no member is limited to that range.

    Raises
    ------
    ValueError
        For a step that is not positive, or labels that are no finite numbers.

    Notes
    -----
    O(nnz + d²) a record and (d + 1)(d + 4)/2 numbers a task more than the gradient members have, where there are at
    most 32 features d; O(nnz + d²) a record up to 128, and O(nnz) beyond. Records should be of about unit length and
    have a constant feature, as they have by default. Least squares do not forget: where the truth drifts,
    ``MultitaskRegressor(half_life=...)`` follows it.

    References
    ----------
    W. M. Gentleman, "Basic procedures for large, sparse or weighted linear least squares problems", Journal of the
    Royal Statistical Society C 23 (1974): how a record is rotated in.

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
        """The members' names."""
        return [*GRADIENTS, *MIXED]

    @property
    def member_weights_(self) -> NDArray[np.float64]:
        """The weights of the members, in the order of ``members_``."""
        model = self._fitted_model()
        learner: Any = model.learner
        with model.lock:
            return np.asarray(learner.member_weights(model.state))

    def predict_interval(self, X: Any, task: Any = None, level: float = 0.9) -> NDArray[np.float64]:
        """Intervals in which labels lie with probability ``level``, by the residuals so far, shape (n, 2).

        The spread s of a prediction is s² = e · m_i, by the residuals r of predictions made before their labels, from
        the 31st label on: e is the mean of r² among those for tasks of which as many labels were known (in powers of
        two; none, for a task never seen), m_i that of r² / e of task i. They begin with ten and with three residuals of
        what is known before. The interval goes from f + s · q_low to f + s · q_high, by the quantiles of r / s among
        predictions for tasks of as many labels, beside which a normal distribution counts as 20 residuals.

        Parameters
        ----------
        X, task
            As in :meth:`predict`.
        level : float
            The probability, between 0 and 1; as much lies below as above.

        Returns
        -------
        ndarray, shape (n, 2)
            Lower and upper ends.

        Raises
        ------
        ValueError
            For a level that is not between 0 and 1, or as in :meth:`predict`.
        """
        self._check_fitted()
        return self._model.predict(X, task).intervals(level)[1]

    def predict_interval_one(
        self, x: Mapping[Any, Any], task: Hashable = None, level: float = 0.9
    ) -> tuple[float, float]:
        """The interval of one record given as a dictionary; see :meth:`predict_interval`."""
        self._check_fitted()
        low, high = self._model.read_one(x, task).intervals(level)[1][0].tolist()
        return low, high

    def _with_relation(self, relation: Any) -> MultitaskRegressor:
        """An unfitted gradient member under one relation: a baseline for learning the share."""
        return MultitaskRegressor(relation, **{**self.get_params(deep=False), "max_tasks": None})

    def _with_intercepts(self) -> MultitaskRegressor:
        """An unfitted gradient member of all tasks, with a constant of each: a baseline for learning the share."""
        return self._with_relation(Intercepts())

    def _label_kind(self) -> Any:
        return partial(Targets, tolerance=Squared().tolerance)

    def _make_learner(self) -> RegressionLearner:
        hypothesis = AdaptiveGradient(self.step, storage=self.storage)
        gradients = [LinearLearner(hypothesis, relation, Squared()) for relation in GRADIENTS.values()]
        return RegressionLearner([*gradients, *(MixedEffectsLearner(prior, False) for prior in MIXED.values())])
