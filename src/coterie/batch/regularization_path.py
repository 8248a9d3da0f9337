"""Selection of relation and regularisation parameter by leave-one-out cross-validation."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from coterie.types import Array, Codes, Labels, Records, Tasks

from .designs import Shared, require_spectrum
from .filters import Tikhonov
from .output_kernels import BatchRelation, is_learned, output_kernel, relation_of
from .problem import Problem, problem_of
from .ridge import MultitaskKernelRidge

T = TypeVar("T")


@dataclass(frozen=True)
class RidgePath:
    """Leave-one-out errors of ridge regression for each relation and each value of alpha.

    Attributes
    ----------
    model : MultitaskKernelRidge
        The model, unfitted.
    relations : list
        The relations tried.
    values : list
        The values of alpha.
    tasks : list
        The tasks.
    errors : ndarray, shape (n_relations, n_values, n_tasks)
        The mean squared error of each task on rows left out, NaN for a task without rows.
    counts : ndarray, shape (n_tasks,)
        The number of outputs of each task.
    """

    model: MultitaskKernelRidge
    relations: list[BatchRelation]
    values: list[float]
    tasks: list[Hashable]
    errors: Array
    counts: Codes

    @property
    def curve(self) -> Array:
        """The mean squared leave-one-out errors, shape (n_relations, n_values)."""
        known = self.counts > 0
        # weighted by outputs, so the mean over rows and not over tasks
        return np.asarray(np.average(self.errors[:, :, known], axis=2, weights=self.counts[known]))

    @property
    def best(self) -> tuple[BatchRelation, float]:
        """The relation and the value with the smallest error."""
        return self._least(self.curve)

    @property
    def best_by_task(self) -> dict[Hashable, tuple[BatchRelation, float]]:
        """Return the relation and the value with the smallest error for each task."""
        known = np.flatnonzero(self.counts)
        return {self.tasks[t]: self._least(self.errors[:, :, t]) for t in known}

    def _least(self, errors: Array) -> tuple[BatchRelation, float]:
        relation, value = np.unravel_index(np.argmin(errors), errors.shape)
        return self.relations[relation], self.values[value]

    @property
    def chosen(self) -> MultitaskKernelRidge:
        """Return an unfitted model with the best relation and value."""
        relation, value = self.best
        return type(self.model)(**{**self.model.get_params(), "relation": relation, "alpha": value})


def ridge_path(
    model: MultitaskKernelRidge,
    X: Records,
    y: Labels,
    task: Tasks | None = None,
    *,
    tasks: Sequence[Hashable] | None = None,
    values: Sequence[float] | None = None,
    relations: Sequence[BatchRelation] | None = None,
) -> RidgePath:
    """Compute leave-one-out errors for several values of alpha, and for several relations.

    One spectrum per relation (for shared inputs, one in total) serves all values. With G = Q + alpha I and c = G⁻¹y,
    the error on row i is c_i / (G⁻¹)_ii. If each row has the outputs of all tasks, all of them are left out together.

    Parameters
    ----------
    model : MultitaskKernelRidge
        The model with its kernel and risk, without a filter; alpha is replaced by ``values``.
    X, y, task, tasks
        See :meth:`MultitaskKernelRidge.fit`.
    values : sequence, optional
        By default 50 values of alpha from 1e-4 to 1e4.
    relations : sequence, optional
        The relations to try, such as ``[MeanRegularized(b=b) for b in ...]``. By default the model's relation, or
        ``MixedEffect(omega=0.5)`` if it has none.

    Returns
    -------
    RidgePath
        Errors, the best values, and the model with them.

    Raises
    ------
    ValueError
        For values out of range, or a model with another filter than Tikhonov's.
    TypeError
        For a model that is not a ridge regression.
    MemoryError
        If the spectrum would not fit in memory.

    Notes
    -----
    The weights of rows with ``risk="tasks"``, and the subtracted mean with ``center=True``, are those of all rows,
    including those left out.

    Examples
    --------
    >>> import numpy as np, coterie as ct
    >>> rng = np.random.default_rng(0)
    >>> X, task = rng.normal(size=(80, 3)), np.arange(80) % 8
    >>> y = X[:, 0] + 0.1 * task * X[:, 1] + 0.3 * rng.normal(size=80)
    >>> relations = [ct.tasks.MixedEffect(omega=omega) for omega in (0.0, 0.5, 0.9)]
    >>> path = ct.batch.ridge_path(ct.batch.MultitaskKernelRidge("linear"), X, y, task, relations=relations)
    >>> path.best[0], path.chosen.fit(X, y, task=task).predict(X[:1], task=[0]).shape
    (MixedEffect(omega=0.9), (1,))
    """
    if not isinstance(model, MultitaskKernelRidge):
        raise TypeError(f"model must be a MultitaskKernelRidge, got {type(model).__name__}")
    if model.filter is not None:
        raise ValueError(f"errors have a closed form for Tikhonov's filter only; use GridSearchCV for {model.filter!r}")
    problem = problem_of(model, X, y, task, tasks, model.risk, model.center)
    along = _list_of("values", np.logspace(-4, 4, 50).tolist() if values is None else values)
    asked = [model.relation] if relations is None else _list_of("relations", relations)
    tried = [relation_of(relation) for relation in asked]
    errors = np.array([*_errors(problem, along, tried)])
    return RidgePath(model, tried, along, list(problem.tasks.labels), errors, _counts(problem))


def _errors(problem: Problem, alphas: list[float], relations: list[BatchRelation]) -> Iterator[Array]:
    """Yield for each relation the mean squared errors by alpha and task, shape (n_alphas, n_tasks)."""
    filters, factored = [Tikhonov(alpha) for alpha in alphas], None
    for relation in relations:
        if is_learned(relation):
            # its M depends on the rows left out, too, so the shortcut for a fixed Q would be optimistic
            raise ValueError(f"{relation!r} is learned: held-out errors have no closed form; choose a fixed relation")
        design = problem.design(output_kernel(relation, problem.tasks.labels))
        require_spectrum(design)
        if isinstance(design, Shared):  # of the kernel matrix one spectrum serves all relations
            factored = design.spectrum() if factored is None else factored.under(*design.tasks)
            missing = factored.left_out(filters, problem.Y)
        else:
            missing = design.spectrum().left_out(filters, problem.Y)
        yield np.array([_by_task(problem, residuals) for residuals in missing])


def _by_task(problem: Problem, missing: Array) -> Array:
    """Return the mean squared error of each task; ``missing`` are residuals of left-out records."""
    # rows are multiplied by the roots of their weights; errors are those of y itself
    squares = (missing / problem.row_roots) ** 2
    if problem.codes is None:
        return np.asarray(squares.mean(axis=0))
    sums = np.bincount(problem.codes, squares.sum(axis=1), len(problem.tasks))
    counts = _counts(problem)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _counts(problem: Problem) -> Codes:
    n, p = problem.Y.shape
    if problem.codes is None:
        return np.full(p, n, np.int64)
    return np.asarray(np.bincount(problem.codes, minlength=len(problem.tasks)) * p, np.int64)


def _list_of(name: str, values: Sequence[T]) -> list[T]:
    """Return ``values`` as a list; raise ValueError, with the argument ``name``, if it is empty."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ValueError(f"{name} must be a sequence, got {values!r}")
    if not list(values):
        raise ValueError(f"{name} must not be empty")
    return list(values)
