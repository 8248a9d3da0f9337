"""The p-norm multitask Perceptron."""

from __future__ import annotations

from typing import Literal

from coterie import spec
from coterie.models.contract import BaseLearner
from coterie.models.potential_learner import PotentialLearner
from coterie.types import Part
from coterie.updates.potentials import PNorm
from coterie.updates.weights import PotentialWeights

from .parameter_fields import TaskEstimator


@spec.estimator
class PNormMultitaskPerceptron(TaskEstimator):
    """The p-norm Perceptron for many tasks: for comparators with few non-zero weights (CCG08 §5).

    T is a K x K matrix of the K tasks (the parameter ``transformation``), y the label, -1 or 1, d the number of
    features, and u any weights with which the learner is compared.

    With φ the record x in the block of its task, z = (T ⊗ I)φ, and v the sum of y z over the mistakes so far,

        w = ∇½‖v‖_p² = sign(v) |v|^(p-1) / ‖v‖_p^(p-2),    margin = w·z,

    and a round with y·margin <= 0 is a mistake. The number of mistakes grows with (p - 1) X² U², X = max ‖z‖_p and
    U = ‖(T ⊗ I)⁻¹u‖_q for 1/p + 1/q = 1: with p = 2 ln(K d), with the logarithm of the dimension for a truth u of few
    entries; see :func:`coterie.evaluation.bounds.geometry_bounds.p_norm_bound`.

    Parameters
    ----------
    relation : relation, optional
        A fixed relation between tasks, by default :class:`HalfUpdate`.
    p : float >= 2, or "auto", default="auto"
        The norm; any real number. ``"auto"`` is 2 ln(K d) for the tasks and features so far, and changes with them.
    transformation : {"Ainv", "Ainvsqrt", "none"}, default="Ainv"
        T = M, M^(1/2) or I, for M = A⁻¹. With p = 2, ``"Ainvsqrt"`` is the multitask Perceptron under this relation,
        and ``"Ainv"`` the one under A².
    task_column, new_task
        See :class:`MultitaskPerceptron`.

    Raises
    ------
    TypeError
        If the relation is learned; raised when the model first learns.
    ValueError
        If p is below 2 or not finite, or the transformation unknown.

    Notes
    -----
    :class:`PotentialMultitaskPerceptron` with ``potentials.PNorm(p)``: O(nnz) per prediction, O(K² d) per mistake.
    Three arrays of K d numbers.

    Examples
    --------
    >>> import numpy as np, coterie as ct
    >>> rng = np.random.default_rng(0)
    >>> X, users = rng.choice([-1.0, 1.0], size=(800, 200)), rng.integers(4, size=800)
    >>> y = X[:, 7]
    >>> plain, sparse = ct.MultitaskPerceptron(), ct.PNormMultitaskPerceptron(p="auto")
    >>> [ct.progressive_validation(model, X, y, task=users).mistakes for model in (plain, sparse)]
    [132, 7]
    """

    relation: Part = None
    p: float | Literal["auto"] = "auto"
    transformation: Literal["Ainv", "Ainvsqrt", "none"] = "Ainv"

    def _make_learner(self) -> BaseLearner:
        return PotentialLearner(PotentialWeights(PNorm(self.p), self.transformation), self._relation_used)

    @property
    def p_(self) -> float:
        """The current exponent p; ``"auto"`` depends on the numbers of tasks and features."""
        return PNorm(self.p).order(self.state_.model.values.size)
