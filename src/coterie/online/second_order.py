"""The second-order multitask Perceptron."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from coterie import persistence
from coterie.hypotheses import FullCovariance
from coterie.kernels import LinearKernel, as_kernel
from coterie.round.contract import BaseLearner
from coterie.round.second_order import SecondOrderLearner
from coterie.rules import SecondOrder

from .fields import TaskEstimator
from .logistic import logistic_with_intercepts


@persistence.register
class SecondOrderMultitaskPerceptron(TaskEstimator):
    """The Perceptron with the covariance of all weights, for many tasks (CCG08 Fig. 2, §4.1).

    With φ the record x in the block of its task i, and sums over the mistakes so far, the margin of a record is

        r = φ'(ridge · A ⊗ I + Σ φ_s φ_s' + φφ')⁻¹ Σ y_s φ_s,

    the record itself being inside the inverse; a round with y r <= 0 is a mistake. The dual form has, with
    G_st = M_{i_s i_t} k(x_s, x_t), C = (ridge · I + G)⁻¹ and a record's column g and κ = M_ii k(x, x),

        f = g'C y,    q = κ - g'C g,    r = ridge · f / (ridge + q),

    so that the label predicted needs no more than α = C y. On any sequence it makes at most
    :func:`coterie.bounds.geometries.second_order_bound` mistakes.

    Parameters
    ----------
    relation : relation, optional
        How tasks share, a fixed one; :class:`HalfUpdate` without. Learned ones are refused.
    ridge : float > 0
        How much the relation's penalty counts against what was seen; the paper's a, there 1. Towards infinity it is
        the Perceptron. It counts in units of M as it is streamed: the paper's for relations given by ``b``, with a unit
        diagonal for those given by ``share`` and for :class:`HalfUpdate`.
    kernel : kernel, name or function, optional
        As in :class:`MultitaskKernelPerceptron`; the linear kernel without.
    solver : {"auto", "primal", "dual"}
        The primal form keeps the (K d)² covariances of the weights, the dual one the m² entries of a factor of
        C⁻¹ for m mistakes.
        ``"auto"`` is dual, and for dense records and the linear kernel goes over to the primal form when m reaches K d.
    dtype : {"float64", "float32"}
        Of the records kept.
    task_column, new_task
        As in :class:`MultitaskPerceptron`.

    Raises
    ------
    TypeError
        If the relation is learned; when the model first learns.
    ValueError
        If ridge is not positive, or for the primal form with a kernel that is not linear.

    Notes
    -----
    Dual: O(m) kernel values for the label, O(m²) for the margin and for a mistake. Primal: O(d) for the label, O(d²)
    for the margin, O((K d)²) for a mistake. Blocks of records make matrix products of both. Where a relation given by
    ``b`` changes as tasks arrive, the factor of C or P is made anew, O(m³) or O((K d)³).

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

    relation: Any = None
    ridge: float = 1.0
    kernel: Any = None
    _: KW_ONLY
    solver: Literal["auto", "primal", "dual"] = "auto"
    dtype: Literal["float64", "float32"] = "float64"

    _with_intercepts = logistic_with_intercepts

    def _make_learner(self) -> BaseLearner:
        kernel = LinearKernel() if self.kernel is None else as_kernel(self.kernel)
        hypothesis = FullCovariance(kernel, self.solver, self.dtype)
        return SecondOrderLearner(hypothesis, self._relation_used, SecondOrder(), self.ridge)

    def _make_decider(self, learner: Any) -> BaseLearner:
        """The learner by the sign of f: O(m) kernel values or O(nnz) a record."""
        return learner.deciding()  # type: ignore[no-any-return]

    def margin_variance(self, X: Any, task: Any = None) -> NDArray[np.float64]:
        """The variance q = φ'Pφ of each record's margin, P being the covariance of the weights. Nothing is learned.

        It is the prior's, M_ii ‖x‖², where nothing was learned of the record's features, and falls with what was.

        Raises
        ------
        ValueError
            For a task never seen, if ``new_task="raise"``.
        """
        self._check_fitted()
        return self._model.predict(X, task).variances

    @property
    def n_mistakes_(self) -> int:
        """The number of mistakes."""
        self._check_fitted(AttributeError)
        return int(self.state_.model.count[0])

    @property
    def solver_(self) -> str:
        """The form that the model is in, "primal" or "dual"."""
        self._check_fitted(AttributeError)
        return "dual" if hasattr(self.state_.model, "alpha") else "primal"
