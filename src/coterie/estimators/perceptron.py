"""The multitask Perceptron and its passive-aggressive variants."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import KW_ONLY
from typing import Literal

from coterie import spec
from coterie.models.linear_learner import LinearLearner
from coterie.types import Part
from coterie.updates.rules import Perceptron
from coterie.updates.weights import LinearWeights
from coterie.updates.weights.averaging import Averaged
from coterie.updates.weights.time_decay import with_half_life

from .parameter_fields import LinearEstimator


@spec.estimator
class MultitaskPerceptron(LinearEstimator):
    """One linear classifier per task, updated by the mistakes of all through M = A⁻¹ (CCG08 Fig. 1, SRDV11, CC12).

    w_i are the weights of task i, y is the label, -1 or 1, and A the K x K interaction matrix of the K tasks: updates
    are shared by its inverse M, and A ⊗ I is the penalty on all weights.

    The margin of a record (x, i) is w_i · x. If the rule has a step size tau > 0, it updates every task j,

        w_j <- w_j + tau y M_ji x,        tau = 1 on a mistake (y·margin <= 0) for the Perceptron.

    On any sequence the Perceptron makes at most L + c q + sqrt(c q L) mistakes, for every comparator u of hinge loss L,
    where q = u'(A ⊗ I)u and c = max‖x‖² max_i M_ii (CCG08 Theorem 1).

    Parameters
    ----------
    relation : relation, optional
        The relation between tasks, by default :class:`HalfUpdate`.
    rule : rule, optional
        The condition and the step size of updates, by default :class:`Perceptron`.
    average : bool, default=False
        Predict by the mean of the weights before each round (the low-risk hypothesis), which cuts a Perceptron's
        held-out errors by a fifth to two fifths; updates use the weights themselves.
    fit_intercept : bool, default=False
        Give every record a constant feature, 1, whose weights are ``intercept_``. False here, as in the papers.
    scale : {"none", "standard", "unit", "auto"}, optional
        The scaling of numbers, as in ``coterie learn``: ``"standard"`` converts them to z-scores by the mean and
        deviation of a column so far, ``"unit"`` divides a record, with its constant, by its length, and ``"auto"`` does
        both. Arrays and frames are scaled by column, dictionaries by name; sparse matrices are only divided by their
        length. None and ``"none"`` leave numbers unchanged.
    log : str or sequence of columns, optional
        Columns replaced by sign(x) · log(1 + |x|) before the scaling: names of a frame's columns or of dictionaries'
        features, or column numbers of arrays. For skewed amounts and counts.
    storage : {"auto", "dense", "sparse"}, default="auto"
        The storage of the weights, see :class:`coterie.updates.LinearWeights`.
    task_column : hashable, optional
        The column of X, by name or index, or the key of a dictionary, that holds the task.
    new_task : {"grow", "raise"}, default="grow"
        "grow" predicts a new task by the weights that the relation gives to it (those of all tasks, those of its
        group), and adds the task when it learns a record of it; "raise" raises ValueError.
    max_tasks : int >= 1, optional
        The maximum number of tasks. A further task replaces the least recently learned one, which is forgotten as by
        :meth:`forget_task`. Not supported with relations that name all their tasks, or with delayed labels. Tasks in
        ``tasks=`` are then only known from their first records on.
    half_life : float, or two of them, optional
        The number of rounds after which an update counts half; with two numbers, the first is for shared weights and
        the second for a task's own. See :class:`coterie.updates.Forgetting`.
    class_weight : dict of label to weight, or "balanced", optional
        The weight of a record by its label, multiplied by its ``sample_weight``; 1 for a label without an entry.
        ``"balanced"`` is n / (K n_k) for n records so far, including this one, with K labels, n_k of them with its
        label, counted by their sample weights. Predicted probabilities are then those for label frequencies changed by
        the weights.

    Notes
    -----
    Relations of nested groups cost O(nnz · levels) per record for any number of tasks K, and memory for the features
    that each task has seen; other relations cost O(K · nnz) per mistake.

    Examples
    --------
    >>> import coterie as ct
    >>> model = ct.MultitaskPerceptron(relation=ct.MeanRegularized(b=10))
    >>> X, y, users = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], ["spam", "ham", "spam"], ["ann", "bob", "ann"]
    >>> model.partial_fit(X, y, task=users).predict([[1.0, 0.0], [0.0, 1.0]], task=["bob", "carol"])
    array(['spam', 'ham'], dtype='<U4')

    One record at a time, as dictionaries:

    >>> model = ct.MultitaskPerceptron()
    >>> model.learn_one({"price": 1.0, "word=free": 1.0}, True, task="u42")
    >>> model.predict_one({"price": 2.0}, task="u43")
    True
    """

    relation: Part = None
    rule: Part = None
    average: bool = False
    _: KW_ONLY
    fit_intercept: bool = False
    half_life: float | tuple[float, float] | None = None
    class_weight: Mapping[Hashable, float] | Literal["balanced"] | None = None

    def _make_learner(self) -> LinearLearner:
        hypothesis = with_half_life(LinearWeights(storage=self.storage), self.half_life)
        rule = Perceptron() if self.rule is None else self.rule
        if self.average:
            hypothesis = Averaged(hypothesis)
        return LinearLearner(hypothesis, self._relation_used, rule)
