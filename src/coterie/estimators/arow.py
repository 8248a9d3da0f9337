"""Multitask AROW (adaptive regularisation of weights): weights with variances or a full covariance."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import KW_ONLY
from typing import Literal

from coterie import spec
from coterie.kernels import LinearKernel
from coterie.models.contract import BaseLearner
from coterie.models.linear_learner import ConfidenceLearner
from coterie.models.second_order_learner import SecondOrderLearner
from coterie.types import Part
from coterie.updates.rules import AROW
from coterie.updates.weights import DiagonalAROW, FullCovariance
from coterie.updates.weights.time_decay import with_half_life

from .parameter_fields import LinearEstimator
from .second_order import margin_variance


@spec.estimator
class MultitaskAROW(LinearEstimator):
    """Adaptive regularisation of weights (AROW) for many tasks: every weight has a mean and a variance.

    M is the inverse of the tasks' interaction matrix, by which they share updates, y the label, -1 or 1, and margin the
    score, the sign of which is the prediction.

    A task predicts with the sum of its own weights and those of its groups, whose prior variances are their weights in
    M. If y·margin < 1, the means move towards the label in proportion to their variances, and the variances shrink; see
    :class:`coterie.updates.DiagonalAROW` for the equations.

    Parameters
    ----------
    relation : relation of nested groups, optional
        The relation between tasks, by default :class:`HalfUpdate`.
    r : float > 0, default=10.0
        The noise of the labels, relative to the mean square of a record's entries: 3 for text, 10 in general, 30 for
        noisy labels.
    covariance : {"diagonal", "full"}, default="diagonal"
        One variance per weight, or the full covariance P of all weights of all tasks, at first M ⊗ I. In the full
        form, with r relative to the record, margin f = w·φ and v = φ'Pφ, a record with y f < 1 updates

            w <- w + (y - f) / (v + r) Pφ,    P <- P - Pφφ'P / (v + r).

    rule : rule, optional
        :class:`AROW` by default. :class:`SecondOrder` updates only on mistakes; this is the diagonal second-order
        Perceptron, and has no probabilities.
    fit_intercept, scale, log
        A constant feature (by default True), the scaling of numbers, and columns to take the logarithm of; see
        :class:`MultitaskPerceptron`.
    storage
        See :class:`MultitaskPerceptron`; each weight takes twice the memory. The full covariance is always dense.
    task_column, new_task, max_tasks, half_life, class_weight
        See :class:`MultitaskPerceptron`; the full covariance does not support ``half_life``.

    Notes
    -----
    Diagonal: O(nnz · levels) per record, independent of the number of tasks, for relations of nested groups. Full:
    O((K d)²) per update, and as much memory; for any fixed relation, and for K d up to some thousands. A new task costs
    O(d (K d)²); if it changes M, the covariance is recomputed, O((K d)³).

    ``predict_proba`` is Φ(m / √(1/4 + v)) for a margin m of variance v = ``margin_variance``, which costs another
    O(nnz · levels). So probabilities can rank records differently from margins, and one of scikit-learn's estimator
    checks fails. Traces, ensembles and :class:`OneVsRest` use twice the margin as log-odds.

    Examples
    --------
    >>> import coterie as ct
    >>> model = ct.MultitaskAROW(r=3)
    >>> X, y, users = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], ["spam", "ham", "spam"], ["ann", "bob", "ann"]
    >>> model = model.partial_fit(X * 5, y * 5, task=users * 5)
    >>> model.predict([[1.0, 0.0], [0.0, 1.0]], task=["bob", "carol"])
    array(['spam', 'ham'], dtype='<U4')
    """

    relation: Part = None
    r: float = 10.0
    covariance: Literal["diagonal", "full"] = "diagonal"
    _: KW_ONLY
    rule: Part = None
    half_life: float | tuple[float, float] | None = None
    class_weight: Mapping[Hashable, float] | Literal["balanced"] | None = None

    margin_variance = margin_variance

    def _make_learner(self) -> BaseLearner:
        relation = self._relation_used
        rule = AROW() if self.rule is None else self.rule
        if self.covariance == "full":
            return self._whole(relation, rule)
        hypothesis = DiagonalAROW(self.r, storage=self.storage)
        return ConfidenceLearner(with_half_life(hypothesis, self.half_life), relation, rule)

    def _whole(self, relation: Part, rule: Part) -> SecondOrderLearner:
        if self.half_life is not None:
            raise ValueError(f"half_life requires covariance='diagonal', got half_life={self.half_life!r}")
        if self.storage not in ("auto", "dense"):
            raise ValueError(f"covariance='full' requires storage='auto' or 'dense', got {self.storage!r}")
        return SecondOrderLearner(FullCovariance(LinearKernel(), "primal"), relation, rule, self.r, True)
