"""What a batch estimator has learned: f(x, t) = Σ_j k(x, x_j) Σ_s M_ts c_js over the rows it learned from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.index import Index
from coterie.numeric.points import Points, points
from coterie.numeric.records import Csr, Dense

from .products import by_tasks, gram_product, joint_product, quadratic

Array = NDArray[Any]


@dataclass
class Expansion:
    """Rows, their coefficients and the output kernel.

    Attributes
    ----------
    kernel : kernel
        k.
    points : Points
        The rows learned from.
    tasks : Index
        The tasks learned from.
    codes : ndarray of int64, shape (n,), or None
        The task of each row; None where every row holds the outputs of all tasks.
    C : ndarray, shape (n, p)
        Coefficients: one column an output, or one a task where every row holds all.
    M : ndarray, shape (T, T)
        The output kernel.
    flat : bool
        Whether y was a vector, not a matrix of one column.
    """

    kernel: Any
    points: Points
    tasks: Index
    codes: NDArray[np.int64] | None
    C: Array
    M: Array
    flat: bool

    def all_tasks(self, X: Points) -> Array:
        """Every task's value at each record, shape (m, T): K(X, ·) C M."""
        return self.sums(X, self.C @ self.M)

    def at_tasks(self, X: Points, rows: Array, places: NDArray[np.int64]) -> Array:
        """The value of the task of each record, whose row of M is ``rows[place]``: shape (m,) or (m, p)."""
        if self.codes is None:
            return np.asarray(np.einsum("mt,mt->m", self.sums(X, self.C), rows[places]))
        return self.shaped(self.columns_at(X, rows, places))

    def columns_at(self, X: Points, rows: Array, places: NDArray[np.int64]) -> Array:
        """All outputs of the task of each record, shape (m, p)."""
        if self.codes is None:
            raise ValueError("outputs at a task need rows that have one task each")
        made = joint_product(self.kernel, X, places, self.points, self.codes, rows, self.C, str(self.C.dtype))
        return np.asarray(made)

    def shaped(self, values: Array) -> Array:
        """One column as a vector where y was one."""
        return values[:, 0] if self.flat else values

    def sums(self, X: Points, C: Array) -> Array:
        """K(X, ·) C."""
        return gram_product(self.kernel, X, self.points, C, str(self.C.dtype))

    def penalty(self) -> float:
        """Σ_st A_st ⟨f_s, f_t⟩ = c'Qc."""
        return float(np.sum(self.M * self._task_products()))

    def inner_products(self) -> Array:
        """⟨f_s, f_t⟩ in the space of k for all pairs of tasks, shape (T, T), summed over outputs: O(n²) values of k."""
        made = self.M @ self._task_products() @ self.M
        return np.asarray((made + made.T) / 2)

    def _task_products(self) -> Array:
        """Σ_ij c_i k(x_i, x_j) c_j by the tasks of i and j, summed over outputs."""
        if self.codes is None:
            return quadratic(self.kernel, self.points, self.C, str(self.C.dtype))
        by_output = [by_tasks(self.codes, c, len(self.M)) for c in self.C.T]
        return np.asarray(sum(quadratic(self.kernel, self.points, D, str(self.C.dtype)) for D in by_output))

    def dump(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Everything but the kernel, as data with a JSON form and named arrays."""
        rows: Any = self.points.rows
        arrays = {f"rows.{name}": array for name, array in rows._asdict().items()}
        arrays |= {"C": self.C, "M": self.M, "rounds": self.points.rounds}
        if self.codes is not None:
            arrays["codes"] = self.codes
        return {"tasks": self.tasks.labels, "features": self.points.features, "flat": self.flat}, arrays

    @classmethod
    def restored(cls, kernel: Any, data: dict[str, Any], arrays: dict[str, Array]) -> Expansion:
        """Undo :meth:`dump`."""
        held = {name.removeprefix("rows."): array for name, array in arrays.items() if name.startswith("rows.")}
        rows: Any = Csr(**held) if "starts" in held else Dense(**held)
        made = points(rows, arrays["rounds"], int(data["features"]))
        return cls(kernel, made, Index(data["tasks"]), arrays.get("codes"), arrays["C"], arrays["M"], data["flat"])
