"""The multitask Perceptron and its passive-aggressive variants."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import KW_ONLY
from typing import Literal

from coterie import spec
from coterie.hypotheses import LinearWeights
from coterie.models.linear import LinearLearner
from coterie.rules import Perceptron
from coterie.types import Part
from coterie.wrappers import Averaged, with_half_life

from .logistic import logistic_with_intercepts
from .parameter_fields import LinearEstimator


@spec.estimator
class MultitaskPerceptron(LinearEstimator):
    """One linear classifier a task, each moved by the mistakes of all through M = A⁻¹ (CCG08 Fig. 1, SRDV11, CC12).

    The margin of a record (x, i) is w_i · x. When the rule asks for a move tau > 0, every task j moves,

        w_j <- w_j + tau y M_ji x,        tau = 1 on a mistake (y·margin <= 0) for the Perceptron.

    On any sequence the Perceptron makes at most L + c q + sqrt(c q L) mistakes, for every comparator u of hinge loss L,
    where q = u'(A ⊗ I)u and c = max‖x‖² max_i M_ii (CCG08 Theorem 1).

    Parameters
    ----------
    relation : relation, optional
        How tasks share; :class:`HalfUpdate` without.
    rule : rule, optional
        When and how far to move; :class:`Perceptron` without.
    average : bool
        Predict by the mean of the weights before each round (the low-risk hypothesis), which cuts a Perceptron's
        held-out errors by a fifth to two fifths; learning goes on by the weights themselves.
    fit_intercept : bool
        Give every record a constant feature, 1, whose weights are ``intercept_``. False here, as in the papers.
    scale : {"none", "standard", "unit", "auto"}, optional
        What is done to numbers before they are learned, as ``coterie learn`` does: ``"standard"`` makes z-scores by the
        mean and deviation of a column so far, ``"unit"`` divides a record, the constant included, by its length, and
        ``"auto"`` does both. Columns of arrays and frames are scaled, and dictionaries' numbers by their names; sparse
        matrices are not shifted: only their length is changed. None and ``"none"`` leave
        numbers unchanged.
    log : str or sequence of columns, optional
        Columns of numbers whose logarithm is taken before all that, sign(x) · log(1 + |x|): names of a frame's columns
        or of dictionaries' features, of arrays numbers of columns. For amounts and counts that are skewed.
    storage : {"auto", "dense", "sparse"}
        Where weights are kept, see :class:`coterie.hypotheses.LinearWeights`.
    task_column : hashable, optional
        The column of X, by name or index, or the key of a dictionary, that holds the task.
    new_task : {"grow", "raise"}
        Whether a task that was not known at first may come: it is predicted by the weights that the relation gives to
        new tasks (those shared by all, those of its group), and learning on it adds it.
    max_tasks : int >= 1, optional
        The most tasks to know: when another one comes, that which has not been learned from for longest is forgotten,
        as by :meth:`forget_task`. Not with relations that name all their tasks, or late labels. A task
        named beforehand (``tasks=``) is then known from its first record on, too.
    half_life : float, or two of them, optional
        Forget: what was learned counts half after this many rounds, or what is shared and what is a task's own after so
        many each; see :class:`coterie.wrappers.Forgetting`.
    class_weight : dict of label to weight, or "balanced", optional
        The weight of a record by its label, times its ``sample_weight``; 1 for a label that is not named.
        ``"balanced"``: of n records so far, this one among them, in K labels, n_k with its label, n / (K n_k). The
        probabilities of models that have some are then no rates: those for label frequencies changed by the weights.

    Notes
    -----
    Relations of nested groups cost O(nnz · levels) per record whatever the number of tasks K, and memory for what each
    task has seen; any other relation O(K · nnz) per mistake.

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

    _with_intercepts = logistic_with_intercepts

    def _make_learner(self) -> LinearLearner:
        hypothesis = with_half_life(LinearWeights(storage=self.storage), self.half_life)
        rule = Perceptron() if self.rule is None else self.rule
        if self.average:
            hypothesis = Averaged(hypothesis)
        return LinearLearner(hypothesis, self._relation_used, rule)
