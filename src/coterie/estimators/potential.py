"""The multitask Perceptron with any potential."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Literal

from coterie import spec
from coterie.hypotheses import PotentialWeights
from coterie.models.contract import BaseLearner
from coterie.models.potential_learner import PotentialLearner
from coterie.potentials import PNorm
from coterie.types import Part

from .logistic import logistic_with_intercepts
from .parameter_fields import TaskEstimator


@spec.estimator
class PotentialMultitaskPerceptron(TaskEstimator):
    """The Perceptron of any potential for many tasks: exponentiated gradient, p-norms, and those of one's own.

    With φ the record x in the block of its task, z = (T ⊗ I)φ, and v = rate Σ y z over the mistakes so far,

        w = ∇Φ*(v),    margin = w·z,

    and a round with y·margin <= 0 is a mistake (FOR09 2.1.14 and Figure 2.5; CCG08 §5 with a p-norm). Φ* is the
    conjugate of the potential Φ, the least of Φ(u) - Φ(w) - ∇Φ(w)·(u - w) + rate · loss being what a move goes to. The
    number of mistakes is bounded, see :func:`coterie.bounds.geometry_bounds.potential_bound`.

    Parameters
    ----------
    potential : potential, optional
        Such as ``potentials.ExponentiatedGradient()``; any part with a gradient. ``potentials.PNorm("auto")`` without.
    relation : relation, optional
        How tasks share, a fixed one; :class:`HalfUpdate` without. Learned ones are refused.
    transformation : {"Ainv", "Ainvsqrt", "none"}
        T, as in :class:`PNormMultitaskPerceptron`.
    rate : float > 0
        λ: how much the loss counts beside the divergence from the weights before. With a p-norm it only scales margins.
    task_column, new_task
        As in :class:`MultitaskPerceptron`.

    Raises
    ------
    TypeError
        If the potential is no part with a gradient, or the relation is learned; when the model first
        learns.
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
    >>> sparse = ct.geometries.PotentialMultitaskPerceptron(ct.potentials.ExponentiatedGradient(), rate=2.0)
    >>> [ct.progressive_validation(model, X, y, task=users).mistakes for model in (plain, sparse)]
    [132, 8]
    """

    potential: Part = None
    relation: Part = None
    transformation: Literal["Ainv", "Ainvsqrt", "none"] = "Ainv"
    rate: float = 1.0
    _: KW_ONLY

    _with_intercepts = logistic_with_intercepts

    def _make_learner(self) -> BaseLearner:
        potential = PNorm() if self.potential is None else self.potential
        hypothesis = PotentialWeights(potential, self.transformation, self.rate)
        return PotentialLearner(hypothesis, self._relation_used)
