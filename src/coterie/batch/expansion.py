"""What a batch estimator has learned: f(x, t) = Σ_j k(x, x_j) Σ_s M_ts c_js over the rows it learned from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.numeric.points import Points, points
from coterie.numeric.records import Csr, Dense
from coterie.views import Index

from .products import block, pieces

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
        from coterie.numeric.joint import joint_sums

        if self.codes is None:
            raise ValueError("outputs at a task need rows that have one task each")
        out = np.empty((len(X.squares), self.C.shape[1]))
        for where, some in pieces(X, len(self.codes)):
            values = block(self.kernel, some, self.points, str(self.C.dtype))
            joint_sums(values, rows, places[where], self.codes, self.C, out[where])
        return out

    def shaped(self, values: Array) -> Array:
        """One column as a vector where y was one."""
        return values[:, 0] if self.flat else values

    def sums(self, X: Points, C: Array) -> Array:
        """K(X, ·) C."""
        out = np.empty((len(X.squares), C.shape[1]))
        for where, some in pieces(X, len(self.points.squares)):
            out[where] = block(self.kernel, some, self.points, str(self.C.dtype)) @ C
        return out

    def penalty(self) -> float:
        """Σ_st A_st ⟨f_s, f_t⟩ = c'Qc."""
        return float(np.sum(self.M * self._task_products()))

    def inner_products(self) -> Array:
        """⟨f_s, f_t⟩ in the space of k for all pairs of tasks, shape (T, T), summed over outputs: O(n²) values of k."""
        made = self.M @ self._task_products() @ self.M
        return np.asarray((made + made.T) / 2)

    def _task_products(self) -> Array:
        B = np.zeros_like(self.M)
        for where, some in pieces(self.points, len(self.points.squares)):
            B += self._products(where, block(self.kernel, some, self.points, str(self.C.dtype)))
        return B

    def _products(self, where: slice, K: Array) -> Array:
        """Σ_ij c_i k(x_i, x_j) c_j by the tasks of i and j, for some rows i."""
        if self.codes is None:
            return np.asarray(self.C[where].T @ (K @ self.C))
        total = np.zeros_like(self.M)
        places = _indicator(self.codes, len(self.M))
        for c in self.C.T:
            total += places[where].T @ (c[where, None] * (K @ places.multiply(c[:, None])))
        return total

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


def _indicator(codes: NDArray[np.int64], n_tasks: int) -> Any:
    from scipy.sparse import csr_array

    n = len(codes)
    return csr_array((np.ones(n), (np.arange(n), codes)), shape=(n, n_tasks))
