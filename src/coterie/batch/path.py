"""Select the relation between tasks and the regularisation parameter by cross-validation."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from coterie import spec
from coterie.types import Array, Codes, Json, Labels, Records, Tasks

from .designs import Separate, Shared, require_spectrum
from .filters import Filter, filter_of
from .output_kernels import BatchRelation, is_learned, output_kernel, relation_of
from .problem import Problem, problem_of
from .products import block
from .ridge import MultitaskKernelRidge
from .solvers import JointSpectrum, KroneckerSpectrum

T = TypeVar("T")

#: What :func:`ridge_path` takes as folds: their number, the fold of each row, or None for one row at a time.
Folds: TypeAlias = int | ArrayLike | None


@dataclass(frozen=True)
class RidgePath:
    """Squared errors on held-out rows for each relation and each value of the filter's parameter.

    Attributes
    ----------
    model : MultitaskKernelRidge
        The model, unfitted.
    relations : list
        The relations tried.
    varied : str
        The parameter that varies: "alpha", "steps" or "threshold".
    values : list
        The values of this parameter.
    tasks : list
        The tasks.
    errors : ndarray, shape (n_relations, n_values, n_tasks)
        The mean squared error of each task on held-out rows, NaN for a task without rows.
    counts : ndarray, shape (n_tasks,)
        The number of outputs of each task.
    """

    model: MultitaskKernelRidge
    relations: list[BatchRelation]
    varied: str
    values: list[float]
    tasks: list[Hashable]
    errors: Array
    counts: Codes

    @property
    def curve(self) -> Array:
        """The mean squared error over rows for each relation and value, shape (n_relations, n_values)."""
        known = self.counts > 0
        # weighted by outputs, so the mean over rows and not over tasks
        return np.asarray(np.average(self.errors[:, :, known], axis=2, weights=self.counts[known]))

    @property
    def best(self) -> tuple[BatchRelation, float]:
        """The relation and the value with the least error."""
        return self._least(self.curve)

    @property
    def best_by_task(self) -> dict[Hashable, tuple[BatchRelation, float]]:
        """Return the relation and the value with the least error on each task."""
        known = np.flatnonzero(self.counts)
        return {self.tasks[t]: self._least(self.errors[:, :, t]) for t in known}

    def _least(self, errors: Array) -> tuple[BatchRelation, float]:
        relation, value = np.unravel_index(np.argmin(errors), errors.shape)
        return self.relations[relation], self.values[value]

    @property
    def chosen(self) -> MultitaskKernelRidge:
        """Return an unfitted model with the best relation and value."""
        relation, value = self.best
        used = self.model.filter
        varied: Json = {"alpha": value} if used is None else {"filter": used.with_value(value)}
        return type(self.model)(**{**self.model.get_params(), "relation": relation, **varied})


def ridge_path(
    model: MultitaskKernelRidge,
    X: Records,
    y: Labels,
    task: Tasks | None = None,
    *,
    tasks: Sequence[Hashable] | None = None,
    values: Sequence[float] | None = None,
    relations: Sequence[BatchRelation] | None = None,
    folds: Folds = None,
    seed: int = 0,
) -> RidgePath:
    """Compute errors on rows left out along the values of alpha (or steps, or threshold), and for several relations.

    One spectrum per relation (for shared inputs, one in total) serves all values. With G = Q + alpha I and c = G⁻¹y,
    the errors on held-out rows F are (G⁻¹_FF)⁻¹ c_F; for single rows this is c_i / (G⁻¹)_ii. If each row has the
    outputs of all tasks, all of them are held out together.

    Parameters
    ----------
    model : MultitaskKernelRidge
        The model with its kernel, filter and risk; alpha, or the parameter of its filter, is replaced by ``values``.
    X, y, task, tasks
        See :meth:`MultitaskKernelRidge.fit`.
    values : sequence, optional
        By default 50 values of alpha from 1e-4 to 1e4, or 1, 2, 4, ... 512 steps. A threshold has no default.
    relations : sequence, optional
        The relations to try, such as ``[MeanRegularized(b=b) for b in ...]``. By default the model's relation, or
        ``MixedEffect(omega=0.5)`` if it has none.
    folds : None, int or array of shape (n,), optional
        None holds out one row at a time, with Tikhonov's filter only; a number splits the rows of each task into this
        many folds; an array has the fold of each row. For other filters every fold has its own spectrum.
    seed : int, default=0
        The seed of the split into folds.

    Returns
    -------
    RidgePath
        Errors, the best values, and the model with them.

    Raises
    ------
    ValueError
        For values out of range, fewer than two folds, or single held-out rows with another filter than Tikhonov's.
    TypeError
        For a model that is not a ridge regression.
    MemoryError
        If the spectrum would not fit in memory.

    Notes
    -----
    The weights of rows with ``risk="tasks"``, and the subtracted mean with ``center=True``, are those of all rows,
    including held-out ones.

    Examples
    --------
    >>> import numpy as np, coterie as ct
    >>> rng = np.random.default_rng(0)
    >>> X, task = rng.normal(size=(80, 3)), np.arange(80) % 8
    >>> y = X[:, 0] + 0.1 * task * X[:, 1] + 0.3 * rng.normal(size=80)
    >>> relations = [ct.relations.MixedEffect(omega=omega) for omega in (0.0, 0.5, 0.9)]
    >>> path = ct.batch.ridge_path(ct.batch.MultitaskKernelRidge("linear"), X, y, task, relations=relations)
    >>> path.best[0], path.chosen.fit(X, y, task=task).predict(X[:1], task=[0]).shape
    (MixedEffect(omega=0.9), (1,))
    """
    if not isinstance(model, MultitaskKernelRidge):
        raise TypeError(f"model must be a MultitaskKernelRidge, got {type(model).__name__}")
    problem = problem_of(model, X, y, task, tasks, model.risk, model.center)
    used = filter_of(model.filter, model.alpha)
    along = _values(used, values)
    asked = [model.relation] if relations is None else _list_of("relations", relations)
    tried = [relation_of(relation) for relation in asked]
    errors = np.array([*_errors(problem, used, along, tried, _folds(folds, problem, seed))])
    return RidgePath(model, tried, used.varied, along, list(problem.tasks.labels), errors, _counts(problem))


def _errors(
    problem: Problem, used: Filter, values: list[float], relations: list[BatchRelation], folds: list[Codes] | None
) -> Iterator[Array]:
    """Yield the mean squared errors by value and task for each relation."""
    factored: KroneckerSpectrum | None = None
    for relation in relations:
        if is_learned(relation):
            # its M depends on the rows left out, too, so the shortcut for a fixed Q would be optimistic
            raise ValueError(f"{relation!r} is learned: held-out errors have no closed form; choose a fixed relation")
        M = output_kernel(relation, problem.tasks.labels)
        design = problem.design(M)
        require_spectrum(design)
        # (g(Q)_FF)⁻¹ c_F is the residual only if g(Q) is the inverse of a matrix Q + alpha I
        if folds is not None and not used.one_system:
            missing: Iterable[Array] = _refitted(problem, M, used, values, folds)
        elif isinstance(design, Shared):  # of the kernel matrix one spectrum serves all relations
            factored = design.spectrum() if factored is None else factored.under(*design.tasks)
            missing = _left_out(factored, used, problem.Y, values, folds)
        else:
            missing = _left_out(design.spectrum(), used, problem.Y, values, folds)
        yield np.array([_by_task(problem, residuals) for residuals in missing])


def _left_out(
    spectrum: JointSpectrum | KroneckerSpectrum, used: Filter, Y: Array, values: list[float], folds: list[Codes] | None
) -> Iterator[Array]:
    if folds is not None:
        return spectrum.folds_left_out(used, Y, values, folds)
    if not used.one_system:
        raise ValueError(f"leave-one-out has a closed form only for Tikhonov's filter; pass folds= for {used!r}")
    return spectrum.left_out(used, Y, values)


def _refitted(problem: Problem, M: Array, used: Filter, values: list[float], folds: list[Codes]) -> list[Array]:
    """Return the residuals of held-out rows, with a spectrum of the other rows for each fold."""
    design, missing = problem.design(M), [np.empty_like(problem.Y) for _ in values]
    for fold, rest, inner in _splits(problem, folds):
        for place, C in enumerate(inner.design(M).spectrum().path(used, inner.Y, values)):
            missing[place][fold] = problem.Y[fold] - _predicted(design, problem, fold, rest, C)
    return missing


def _splits(problem: Problem, folds: Sequence[Codes]) -> Iterator[tuple[Codes, Codes, Problem]]:
    """Yield the rows of each fold, the other rows, and the problem of the other rows."""
    for fold in folds:
        rest = np.setdiff1d(np.arange(len(problem.Y)), fold)
        codes = None if problem.codes is None else problem.codes[rest]
        yield fold, rest, replace(problem, points=problem.points.take(rest), codes=codes, Y=problem.Y[rest])


def _predicted(design: Separate | Shared, problem: Problem, fold: Codes, rest: Codes, C: Array) -> Array:
    """Return the outputs at the rows of a fold, by coefficients of the other rows."""
    if isinstance(design, Separate):
        return np.asarray(design.values(fold, rest) @ C)
    # out of sample: f at the rows of the fold by coefficients of the others
    K = block(design.kernel, problem.points.take(fold), problem.points.take(rest), design.dtype)
    return np.asarray(K @ C @ design.M)


def _by_task(problem: Problem, missing: Array) -> Array:
    """The mean squared error of each task."""
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


def _values(used: Filter, values: Sequence[float] | None) -> list[float]:
    defaults: dict[str, list[float]] = {"alpha": np.logspace(-4, 4, 50).tolist(), "steps": [2**k for k in range(10)]}
    if values is None and used.varied not in defaults:
        raise ValueError(f"{used.varied} has no default values; pass values= in the units of the eigenvalues of Q")
    along = _list_of("values", defaults[used.varied] if values is None else values)
    for value in along:
        used.with_value(value)  # refuses one out of range
    return along


def _list_of(name: str, values: Sequence[T]) -> list[T]:
    """Make a list; raise ValueError if it is empty."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ValueError(f"{name} must be a sequence, got {values!r}")
    if not list(values):
        raise ValueError(f"{name} must not be empty")
    return list(values)


def _folds(folds: Folds, problem: Problem, seed: int) -> list[Codes] | None:
    """Return the rows of each fold."""
    if folds is None:
        return None
    n = len(problem.Y)
    codes = np.asarray(folds) if np.ndim(folds) else _deal(cast(int, folds), problem.codes, n, seed)
    if codes.shape != (n,):
        raise ValueError(f"folds must name one fold per row, shape ({n},), got shape {codes.shape}")
    names = np.unique(codes)
    if len(names) < 2:
        raise ValueError(f"there must be at least two folds, got {len(names)}")
    return [np.flatnonzero(codes == name) for name in names]


def _deal(folds: int, codes: Codes | None, n: int, seed: int) -> Codes:
    """Assign rows to folds: each task's rows in random order, spread evenly."""
    spec.Setting(kind="whole", at_least=2, at_most=n, must=f"be a number from 2 to the {n} rows").check("folds", folds)
    order = np.random.default_rng(seed).permutation(n)
    if codes is not None:
        # dealt out task by task, so that every fold has its part of each task with enough rows
        order = order[np.argsort(codes[order], kind="stable")]
    dealt = np.empty(n, np.int64)
    dealt[order] = np.arange(n) % folds
    return dealt
