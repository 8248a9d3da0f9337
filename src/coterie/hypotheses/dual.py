"""The dual hypothesis: support vectors, f_i(x) = Σ_j beta_j M_(i_j i) k(x_j, x), as many as a budget allows."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from coterie import spec
from coterie.numeric.arrays import grown, roomy
from coterie.numeric.expansion import REPAIRED, SINCE, SIZE, Expansion, Support
from coterie.numeric.models import Levels
from coterie.numeric.points import Points
from coterie.numeric.records import Csr, Dense
from coterie.numeric.stores import DenseStore, SparseStore, joined

#: An inverse Gram matrix is made afresh after so many changes a support vector, and never after fewer than this.
FRESH, FEWEST = 16, 64


@spec.part
class Dual:
    """Support vectors on a budget.

    Parameters
    ----------
    kernel : kernel
        Of :mod:`coterie.kernels`.
    budget : budget
        Of :mod:`coterie.budgets`.
    dtype : {"float64", "float32"}
        Of the records kept; kernel values are float64 either way.

    Examples
    --------
    >>> from coterie import budgets, kernels
    >>> Dual(kernels.Gaussian(2.0), budgets.Forgetron(100)).forms
    ('levels', 'repelling levels', 'columns', 'learned')
    """

    kernel: Any
    budget: Any
    dtype: Literal["float64", "float32"] = "float64"

    forms: ClassVar[tuple[str, ...]] = ("levels", "repelling levels", "columns", "learned")

    def __post_init__(self) -> None:
        if self.dtype not in ("float64", "float32"):
            raise ValueError(f"dtype must be 'float64' or 'float32', got {self.dtype!r}")

    def start(self, sharing: Any, features: int, dense: bool) -> Expansion:
        """A model without support vectors."""
        levels = sharing.paths.shape[1] if isinstance(sharing, Levels) else 0
        none = np.zeros(0, np.int64)
        support = Support(none, np.zeros((levels, 0), np.int64), none.copy(), np.zeros(0), np.zeros(5, np.int64))
        kind = DenseStore if dense else SparseStore
        memory = self.budget.memory("levels" if isinstance(sharing, Levels) else "columns")
        return Expansion(support, memory, sharing, kind.empty(features, self.dtype))

    def fit(self, model: Expansion, fresh: int, tasks: int) -> Expansion:
        """The model with room for so many more support vectors, as far as the budget goes, and for so many tasks."""
        support, held = model.support, len(model.support.tasks)
        need = int(support.counts[SIZE]) + fresh
        most = need if self.budget.size is None else self.budget.size
        capacity = max(held, min(roomy(held, need), most))
        if capacity > held:
            groups = np.zeros((len(support.groups), capacity), np.int64)
            groups[:, :held] = support.groups
            support = Support(
                _room(support.tasks, capacity),
                groups,
                _room(support.births, capacity),
                _room(support.coefficients, capacity),
                support.counts,
            )
        paths = model.sharing.paths[:tasks] if isinstance(model.sharing, Levels) else np.zeros((0, 0), np.int64)
        memory = self.budget.fit(model.memory, capacity, paths, tasks)
        return model._replace(support=support, memory=memory, store=model.store.roomy(capacity))

    def points(self, model: Expansion, n: int | None = None) -> Points:
        """The records of the support vectors, by slot."""
        size = int(model.support.counts[SIZE]) if n is None else n
        return joined(model.store, size, model.support.births)

    def worn(self, model: Expansion) -> bool:
        """Whether it is time to make the inverse Gram matrix afresh."""
        counts = model.support.counts
        return self.budget.gram is not None and counts[SINCE] >= max(FEWEST, FRESH * int(counts[SIZE]))

    def refresh(self, model: Expansion, shares: NDArray[np.float64]) -> None:
        """Make the inverse Gram matrix afresh: O(B² d + B³).

        ``shares`` is M for the tasks of the support vectors, (B, B), or anything where the Gram matrix is the kernel's.
        """
        n, counts = int(model.support.counts[SIZE]), model.support.counts
        held = self.points(model)
        H = np.zeros((n, n))
        self.kernel.values(held, held, H)
        if self.budget.gram == "multitask":
            H *= shares
        model.memory.inverse[:n, :n], repaired = inverse_of(H)
        counts[REPAIRED] += repaired
        counts[SINCE] = 0


def inverse_of(H: NDArray[np.float64]) -> tuple[NDArray[np.float64], int]:
    """The inverse of a Gram matrix by Cholesky, and how often its diagonal had to be raised for it to have one."""
    from scipy.linalg import lapack

    ridge, n = 0.0, len(H)
    for attempt in range(60):
        factor, failed = lapack.dpotrf(H + ridge * np.eye(n), lower=1)
        if not failed:
            lower, failed = lapack.dpotri(factor, lower=1)
            lower = np.tril(lower)
            return np.asarray(lower + np.tril(lower, -1).T), attempt
        ridge = max(ridge * 10.0, np.finfo(np.float64).eps * max(float(np.abs(H).max()), 1e-300))
    raise ValueError("the Gram matrix of the support vectors has no inverse: is the kernel positive semidefinite?")


def _room(array: NDArray[Any], capacity: int) -> NDArray[Any]:
    """The array with exactly that room."""
    larger = np.zeros(capacity, array.dtype)
    larger[: len(array)] = array
    return larger


def as_form(rows: Any, dense: bool, features: int, dtype: str) -> Any:
    """Records in the form that the model keeps them in."""
    if dense and not isinstance(rows, Dense):
        made = np.zeros((len(rows.starts) - 1, features), dtype)
        lengths = np.diff(rows.starts)
        inside = slice(int(rows.starts[0]), int(rows.starts[-1]))
        np.add.at(made, (np.repeat(np.arange(len(made)), lengths), rows.features[inside]), rows.values[inside])
        return Dense(made)
    if not dense and isinstance(rows, Dense):
        from scipy.sparse import csr_array

        found = csr_array(rows.values)
        return Csr(found.data.astype(dtype), found.indices.astype(np.int32), found.indptr.astype(np.int64))
    if isinstance(rows, Dense) and rows.values.shape[1] < features:
        return Dense(np.pad(rows.values, ((0, 0), (0, features - rows.values.shape[1]))))
    return rows


__all__ = ["Dual", "as_form", "grown", "inverse_of"]
