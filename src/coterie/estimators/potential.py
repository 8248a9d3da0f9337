"""The multitask Perceptron with any potential."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Literal

from coterie import spec
from coterie.models.contract import BaseLearner
from coterie.models.potential_learner import PotentialLearner
from coterie.types import Part
from coterie.updates.potentials import PNorm
from coterie.updates.weights import PotentialWeights

from .parameter_fields import TaskEstimator


@spec.estimator
class PotentialMultitaskPerceptron(TaskEstimator):
    """The Perceptron of any potential for many tasks: exponentiated gradient, p-norms, and custom ones.

    T is a K x K matrix of the K tasks (the parameter ``transformation``), and y the label, -1 or 1.

    With φ the record x in the block of its task, z = (T ⊗ I)φ, and v = rate Σ y z over the mistakes so far,

        w = ∇Φ*(v),    margin = w·z,

    and a round with y·margin <= 0 is a mistake (FOR09 2.1.14 and Figure 2.5; CCG08 §5 with a p-norm). Φ* is the
    conjugate of the potential Φ; an update from w minimises Φ(u) - Φ(w) - ∇Φ(w)·(u - w) + rate · loss over u. The
    number of mistakes is bounded, see :func:`coterie.evaluation.bounds.geometry_bounds.potential_bound`.

    Parameters
    ----------
    potential : potential, optional
        An object with a method ``gradient``, such as ``updates.ExponentiatedGradient()``. By default
        ``potentials.PNorm("auto")``.
    relation : relation, optional
        A fixed relation between tasks, by default :class:`HalfUpdate`.
    transformation : {"Ainv", "Ainvsqrt", "none"}, default="Ainv"
        The matrix T, see :class:`PNormMultitaskPerceptron`.
    rate : float > 0, default=1.0
        λ, the weight of the loss relative to the divergence from the previous weights. With a p-norm it only scales
        margins.
    task_column, new_task
        As in :class:`MultitaskPerceptron`.

    Raises
    ------
    TypeError
        If the potential has no gradient, or the relation is learned; raised when the model first learns.
    ValueError
        If the gradient is not one finite number per weight, the rate not positive, or the transformation unknown.

    Notes
    -----
    O(nnz) per prediction, O(K² d) and one gradient a mistake. Three arrays of K d numbers.

    Examples
    --------
    >>> import numpy as np, coterie as ct
    >>> rng = np.random.default_rng(0)
    >>> X, users = rng.choice([-1.0, 1.0], size=(800, 200)), rng.integers(4, size=800)
    >>> y = X[:, 7]
    >>> plain = ct.MultitaskPerceptron()
    >>> sparse = ct.PotentialMultitaskPerceptron(ct.updates.ExponentiatedGradient(), rate=2.0)
    >>> [ct.progressive_validation(model, X, y, task=users).mistakes for model in (plain, sparse)]
    [132, 8]
    """

    potential: Part = None
    relation: Part = None
    transformation: Literal["Ainv", "Ainvsqrt", "none"] = "Ainv"
    rate: float = 1.0
    _: KW_ONLY

    def _make_learner(self) -> BaseLearner:
        potential = PNorm() if self.potential is None else self.potential
        hypothesis = PotentialWeights(potential, self.transformation, self.rate)
        return PotentialLearner(hypothesis, self._relation_used)
