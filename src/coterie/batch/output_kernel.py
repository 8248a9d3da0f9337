"""Learning the output kernel with the functions: alternating minimisation of one convex objective."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from coterie import spec

from .expansion import Expansion
from .problem import Problem

Array = NDArray[Any]


@spec.part
class OptimalOutputKernel:
    """The output kernel M of trace T that fits best, learned with the functions (Zhang & Yeung 2010; SRDV11 eq. 3.10).

    Over functions f and positive semidefinite M of trace T it minimises

        Σ_i (y_i - f_(t_i)(x_i))² + alpha tr(M⁻¹ (G + ridge I)),      G_st = ⟨f_s, f_t⟩,

    which is convex in both together. For given functions the best is M = T (G + ridge I)^½ / tr (G + ridge I)^½
    (BATCHOPT of SRDV11, with a ridge), for given M the functions are kernel ridge regression; each round does one and
    the other, so the objective never rises.

    Parameters
    ----------
    ridge : float > 0
        Keeps M positive definite, without which a round could not leave the span of the last.
    tolerance : float > 0
        It ends when a round lowers the objective by less than this part.
    steps : int
        Most rounds.

    Notes
    -----
    A round costs a kernel ridge regression and O(T³). It starts from M = I, independent tasks.

    Examples
    --------
    >>> import numpy as np, coterie as ct
    >>> rng = np.random.default_rng(0)
    >>> X, task = rng.normal(size=(60, 2)), np.repeat(["a", "b", "opposite"], 20)
    >>> y = X[:, 0] * np.where(task == "opposite", -1, 1)
    >>> model = ct.MultitaskKernelRidge("linear", ct.OptimalOutputKernel(), alpha=0.1).fit(X, y, task=task)
    >>> model.relation_matrix_.round(1)
    array([[ 1.,  1., -1.],
           [ 1.,  1., -1.],
           [-1., -1.,  1.]])
    >>> bool((np.diff(model.objective_) <= 0).all())
    True
    """

    form: ClassVar[str] = "alternated"

    ridge: float = 1e-6
    tolerance: float = 1e-6
    steps: int = 200

    def __post_init__(self) -> None:
        spec.check_positive("ridge", self.ridge)
        spec.check_positive("tolerance", self.tolerance)
        spec.check_count("steps", self.steps)

    def relation_matrix(self, tasks: Sequence[Hashable]) -> Array:
        """M before the first round."""
        return np.eye(len(tasks))

    def prior_rows(self, new: Sequence[Hashable], tasks: Sequence[Hashable]) -> Array:
        """Nothing is known of a task that was not learned from: its function is zero."""
        return np.zeros((len(new), len(tasks)))


def alternate(
    problem: Problem,
    relation: OptimalOutputKernel,
    alpha: float,
    used: Any,
    coefficients: Callable[[Problem, Array], Array],
) -> tuple[Expansion, Array]:
    """What was learned, with the output kernel that goes with it, and the objective after each round.

    Raises
    ------
    ValueError
        If another filter than Tikhonov was asked for, which minimises no objective to trace.
    """
    if used is not None:
        raise ValueError(f"an output kernel is learned with filter=None, which minimises an objective; got {used!r}")
    M = relation.relation_matrix(problem.tasks.labels)
    objective: list[float] = []
    while True:
        found = problem.expansion(coefficients(problem, M), M)
        G = found.inner_products() + relation.ridge * np.eye(len(M))
        objective.append(_loss(problem, found) + alpha * float(np.trace(np.linalg.solve(M, G))))
        if len(objective) > relation.steps or _settled(objective, relation.tolerance):
            return found, np.array(objective)
        M = optimal(G)


def optimal(G: Array) -> Array:
    """T G^½ / tr G^½, which minimises tr(M⁻¹ G) over M of trace T."""
    values, U = np.linalg.eigh(G)
    roots = np.sqrt(np.maximum(values, np.finfo(np.float64).tiny))
    return np.ascontiguousarray((U * (len(G) * roots / roots.sum())) @ U.T)


def _loss(problem: Problem, found: Expansion) -> float:
    """Σ_i w_i (y_i - f(x_i))²."""
    if problem.codes is None:
        values = found.sums(problem.points, found.C @ found.M)
    else:
        values = found.columns_at(problem.points, found.M, problem.codes)
    return float(np.sum((problem.Y - problem.row_roots * values) ** 2))


def _settled(objective: list[float], tolerance: float) -> bool:
    return len(objective) > 1 and objective[-2] - objective[-1] <= tolerance * abs(objective[-2])
