"""Second-order multitask Perceptron, and multitask ridge regression."""

from __future__ import annotations

from dataclasses import KW_ONLY
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from coterie import spec
from coterie.data.label_encoders import NumberLabelEncoder
from coterie.kernels import LinearKernel, as_kernel
from coterie.models.contract import BaseLearner
from coterie.models.second_order_learner import SecondOrderLearner
from coterie.types import Inputs, Part, Tasks
from coterie.updates.rules import SecondOrder, Squared
from coterie.updates.weights import FullCovariance

from .online_model import LabelKind
from .parameter_fields import TaskEstimator


def margin_variance(self: Any, X: Inputs, task: Tasks | None = None) -> NDArray[np.float64]:
    """Return the variance q = φ'Pφ of each record's margin, with P the covariance of the weights.

    It is the prior variance M_ii ‖x‖² for features without updates, and shrinks with updates. New features of
    dictionaries count with the prior variance.

    Raises
    ------
    ValueError
        For an unseen task, if ``new_task="raise"``.
    """
    return np.asarray(self._fitted_model().predict(X, task).variances)


@spec.with_constructor
class SecondOrderEstimator(TaskEstimator):
    """Base class of estimators with a full covariance of the weights."""

    _rule: ClassVar[Part]

    relation: Part = None
    ridge: float = 1.0
    kernel: Part = None
    _: KW_ONLY
    solver: Literal["auto", "primal", "dual"] = "auto"

    def _make_learner(self) -> BaseLearner:
        kernel = LinearKernel() if self.kernel is None else as_kernel(self.kernel)
        hypothesis = FullCovariance(kernel, self.solver)
        return SecondOrderLearner(hypothesis, self._relation_used, self._rule, self.ridge)

    margin_variance = margin_variance

    @property
    def solver_(self) -> str:
        """The form of the model, "primal" or "dual"."""
        return "dual" if hasattr(self.state_.model, "alpha") else "primal"


@spec.estimator
class SecondOrderMultitaskPerceptron(SecondOrderEstimator):
    """Second-order Perceptron for many tasks, with the full covariance of the weights (CCG08 Fig. 2, §4.1).

    A is the K x K interaction matrix of the K tasks, M = A⁻¹ the matrix by which they share, y_s is the label of
    mistake s, -1 or 1, and k the kernel.

    With φ the record x in the block of its task i, and sums over the mistakes so far, the margin of a record is

        r = φ'(ridge · A ⊗ I + Σ φ_s φ_s' + φφ')⁻¹ Σ y_s φ_s,

    where the inverse includes the record itself; a round with y r <= 0 is a mistake. The dual form has, with
    G_st = M_{i_s i_t} k(x_s, x_t), C = (ridge · I + G)⁻¹ and a record's column g and κ = M_ii k(x, x),

        f = g'C y,    q = κ - g'C g,    r = ridge · f / (ridge + q),

    so the predicted label needs only α = C y. On any sequence it makes at most
    :func:`coterie.evaluation.bounds.geometry_bounds.second_order_bound` mistakes.

    Parameters
    ----------
    relation : relation, optional
        A fixed relation between tasks, by default :class:`HalfUpdate`.
    ridge : float > 0, default=1.0
        The weight of the relation's penalty relative to the records; the paper has a = 1. The limit for large values
        is the Perceptron. It multiplies the A of learning: the paper's for relations given by ``b``, the inverse of
        an M with a unit diagonal for those given by ``share`` and for :class:`HalfUpdate`.
    kernel : kernel, name or function, optional
        See :class:`MultitaskKernelPerceptron`; by default the linear kernel.
    solver : {"auto", "primal", "dual"}, default="auto"
        The primal form stores the (K d)² covariances of the weights, the dual form the m² entries of a factor of C⁻¹
        for m mistakes. ``"auto"`` starts with the dual form; for dense records and the linear kernel it changes to the
        primal form when m reaches K d.
    task_column, new_task
        See :class:`MultitaskPerceptron`.

    Raises
    ------
    TypeError
        If the relation is learned; raised when the model first learns.
    ValueError
        If ridge is not positive, or for the primal form with a kernel that is not linear.

    Notes
    -----
    Dual: O(m) kernel values for the label, O(m²) for the margin and for a mistake. Primal: O(d) for the label, O(d²)
    for the margin, O((K d)²) for a mistake, O(d (K d)²) for a new task. Blocks of records make matrix products of both.
    If a relation given by ``b`` changes as tasks arrive, the factor of C or P is recomputed, O(m³) or O((K d)³).

    Examples
    --------
    >>> import numpy as np, coterie as ct
    >>> rng = np.random.default_rng(0)
    >>> X, users = rng.normal(size=(400, 4)) * [1, 1, 1, 10], rng.integers(3, size=400)
    >>> y = np.where(X @ [1, 1, 1, 0.1] > 0, "yes", "no")
    >>> first, second = ct.MultitaskPerceptron(), ct.SecondOrderMultitaskPerceptron()
    >>> [ct.progressive_validation(model, X, y, task=users).mistakes for model in (first, second)]
    [89, 32]
    """

    _rule: ClassVar[Part] = SecondOrder()

    @property
    def n_mistakes_(self) -> int:
        """The number of mistakes, i.e. of updates."""
        return int(self.state_.model.count[0])


@spec.estimator
class SecondOrderMultitaskRegressor(SecondOrderEstimator):
    """Multitask ridge regression, exact after each record, with variances of predictions.

    A is the K x K interaction matrix of the K tasks, M = A⁻¹ the matrix by which they share, y_s is the label of record
    s, and k the kernel.

    With φ the record x in the block of its task i and sums over all records so far, a prediction and its variance are

        S = ridge · A ⊗ I + Σ φ_s φ_s',    w = S⁻¹ Σ y_s φ_s,    f = w·φ,    q = ridge · φ'S⁻¹φ,

    that is, w minimises ridge · u'(A ⊗ I)u + Σ (y_s - u·φ_s)²: the geometry of :class:`SecondOrderMultitaskPerceptron`,
    learning from every record. It is a Gaussian process with the covariance M_ij k(x, x'), M = A⁻¹, and labels of
    variance ridge. With :class:`TaskGraph` and ridge 1, f and q are the mean and the squared width of GOB.Lin, a bandit
    that chooses the record with the largest f + alpha √(q log(t + 1)); its regret is below
    :func:`coterie.evaluation.bounds.bandit_bounds.regret_bound`.

    Labels are learned unchanged, and no constant is added: predictions for unseen tasks shrink towards 0. If that is
    wrong, add a constant column to the records, or subtract the mean from the labels.

    Parameters
    ----------
    relation : relation, optional
        A fixed relation between tasks, by default :class:`HalfUpdate`.
    ridge : float > 0, default=1.0
        The weight of the relation's penalty relative to the records, as in :class:`SecondOrderMultitaskPerceptron`:
        the variance of a label if M is the covariance of the weights.
    kernel
        See :class:`SecondOrderMultitaskPerceptron`.
    solver : {"auto", "primal", "dual"}, default="auto"
        See :class:`SecondOrderMultitaskPerceptron`, with m the number of learned records; ``"auto"`` changes to the
        primal form for sparse records, too.
    task_column, new_task
        See :class:`MultitaskPerceptron`.

    Raises
    ------
    TypeError
        If the relation is learned; raised when the model first learns.
    ValueError
        If ridge is not positive, or for the primal form with a kernel that is not linear.

    Notes
    -----
    Primal: O(d) for a prediction, O(d²) for its variance, O((K d)²) and as much memory to learn, so for K d up to
    some thousands; O(d (K d)²) for a new task and the variance of an unseen one, O((K d)²) for a new feature, and
    O((K d)³) if a relation given by ``b`` changes as tasks arrive. Dual, for m records: O(m) kernel values for a
    prediction, O(m²) for its variance and to learn, for any number of tasks. Blocks of records use matrix products
    in both forms. A record of weight w has a label of variance ridge / w. Only whole tasks can be forgotten.

    References
    ----------
    N. Cesa-Bianchi, C. Gentile and G. Zappella, "A gang of bandits", NIPS 2013.

    Examples
    --------
    >>> import numpy as np, coterie as ct
    >>> rng = np.random.default_rng(0)
    >>> friends = ct.TaskGraph([("ann", "bob"), ("bob", "cid")])
    >>> X, users = rng.normal(size=(300, 4)), rng.choice(["ann", "bob"], 300)
    >>> y = X @ [1, 2, 3, 4] + 0.1 * rng.normal(size=300)
    >>> model = ct.SecondOrderMultitaskRegressor(friends).fit(X, y, users)
    >>> model.predict([[1.0, 1.0, 0.0, 0.0]] * 2, task=["ann", "cid"]).round(1)
    array([3. , 1.5])
    >>> model.margin_variance([[1.0, 1.0, 0.0, 0.0]] * 2, task=["ann", "cid"]).round(2)
    array([0.01, 1. ])
    """

    _kind: ClassVar[Literal["classifier", "regressor"]] = "regressor"
    _rule: ClassVar[Part] = Squared()

    def _label_kind(self) -> LabelKind:
        return partial(NumberLabelEncoder, standardised=False)
