"""Multitask logistic regression with adaptive gradients or coin betting."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import KW_ONLY
from typing import Literal

from coterie import spec
from coterie.models.linear_learner import LinearLearner
from coterie.tasks.relations import Intercepts
from coterie.types import Part
from coterie.updates.rules import Logistic
from coterie.updates.weights import AdaptiveGradient, CoinBetting
from coterie.updates.weights.time_decay import with_half_life

from .parameter_fields import LinearEstimator


@spec.estimator
class MultitaskLogistic(LinearEstimator):
    """Online logistic regression for many tasks, with calibrated probabilities (AdaLog).

    A is the interaction matrix of the tasks, w_i are the weights of task i, w_g those of a group g of tasks, and y is
    the label, -1 or 1.

    M = A⁻¹ is the matrix of the relation: a record of one task updates the vectors of the others by its entries.
    A task predicts by the sum of its own weights and those of its groups, f = (w_i + Σ_g w_g) · x. Every record updates
    each of these vectors by the gradient of the logistic loss. The rate decreases with the squared gradients of the
    weight so far, and is proportional to the vector's weight in M = A⁻¹ (with ``share=s``, s for the shared vector and
    1 - s for a task's own):

        c = y / (1 + exp(y f)),    Q_j += (c x_j)²,    w_j += step · M-weight · c x_j / sqrt(1e-6 + Q_j).

    Parameters
    ----------
    relation : relation of nested groups, optional
        The relation between tasks, by default :class:`HalfUpdate` (half of a step is shared). Relations that are not
        of nested groups, such as :class:`TaskGraph`, are not supported, because each group needs its own gradients.
    step : float > 0 or "coin", default=0.7
        The rate. 0.7 suits records of unit length; from 0.5 to 1 the mistakes differ by about one percent. ``"coin"``
        needs no rate: it updates by :class:`coterie.updates.CoinBetting`, and takes twice the memory.
    fit_intercept, scale, log
        A constant feature (by default True), the scaling of numbers, and columns to take the logarithm of; see
        :class:`MultitaskPerceptron`.
    storage
        See :class:`MultitaskPerceptron`; each weight takes twice the memory.
    task_column, new_task, max_tasks, half_life, class_weight
        See :class:`MultitaskPerceptron`.

    Notes
    -----
    O(nnz · levels) per record for any number of tasks, and memory for the features that each task has seen. Every
    record updates the weights, also correctly predicted ones. Rates use the current M, which changes as tasks
    arrive for relations given by ``b``.

    Examples
    --------
    >>> import coterie as ct
    >>> model = ct.MultitaskLogistic(relation=ct.MeanRegularized(share=0.25))
    >>> X, y, users = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], ["spam", "ham", "spam"], ["ann", "bob", "ann"]
    >>> model.partial_fit(X, y, task=users).predict_proba([[1.0, 0.0]], task=["ann"]).round(2)
    array([[0.13, 0.87]])

    One record at a time, as dictionaries:

    >>> model = ct.MultitaskLogistic()
    >>> model.learn_one({"price": 1.0, "word=free": 1.0}, True, task="u42")
    >>> {label: round(p, 2) for label, p in model.predict_proba_one({"price": 2.0}, task="u43").items()}
    {False: 0.26, True: 0.74}
    """

    relation: Part = None
    step: float | Literal["coin"] = 0.7
    _: KW_ONLY
    half_life: float | tuple[float, float] | None = None
    class_weight: Mapping[Hashable, float] | Literal["balanced"] | None = None

    def _with_intercepts(self) -> MultitaskLogistic:
        """Return an unfitted copy with one model for all tasks and an intercept per task, as a baseline."""
        model: MultitaskLogistic = self._with_relation(Intercepts())
        if model.step == "coin":
            model.step = MultitaskLogistic().step
        return model

    def _make_learner(self) -> LinearLearner:
        hypothesis: Part
        step: Part = self.step
        if step == "coin":
            hypothesis = CoinBetting(storage=self.storage)
        elif isinstance(step, str):
            raise ValueError(f"step must be a finite number above 0, or 'coin', got {step!r}")
        else:
            hypothesis = AdaptiveGradient(step, storage=self.storage)
        return LinearLearner(with_half_life(hypothesis, self.half_life), self._relation_used, Logistic())
