"""The two forms of a batch problem: every row belongs to one task, or every row has an output for each task.

Both are ridge regression in the space of the kernel Q((x, s), (z, t)) = k(x, z) M_st. A design knows how to make Q in
parts, and what a solver would need; the solvers know nothing of rows and tasks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from coterie.kernels import Kernel
from coterie.numeric.core.points import Points, as_matrix
from coterie.types import Array, Codes

from . import products
from .products import block, dense, gram_product, joint_product, rank_bound, some
from .solvers import EigenBlock, JointSpectrum, KroneckerSpectrum, distinct, eigen, positive_factor, thin_eigen


@dataclass(frozen=True)
class Separate:
    """One output a row, that of its task: Q_ij = k(x_i, x_j) M_(t_i t_j)."""

    kernel: Kernel
    points: Points
    codes: Codes
    M: Array
    dtype: str

    what: ClassVar[str] = "a kernel matrix of {n} x {n} rows"

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.codes)

    @cached_property
    def parts(self) -> list[Codes]:
        """Groups of rows that share with no others: Q has a block for each."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        labels = connected_components(csr_array(self.M != 0), directed=False)[1][self.codes]
        order = np.argsort(labels, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)

    def values(self, rows: Codes, columns: Codes) -> Array:
        """Compute a block of Q."""
        from coterie.numeric.dual.joint import scale_by_tasks

        made = block(self.kernel, some(self.points, rows), some(self.points, columns), self.dtype)
        scale_by_tasks(made, self.M, self.codes[rows], self.codes[columns])
        return made

    def product(self, c: Array) -> Array:
        """Q c: O(n²) kernel values and O(n) memory, or by features where the kernel is linear."""
        return joint_product(self.kernel, self.points, self.codes, self.points, self.codes, self.M, c, self.dtype)

    def factored(self, alpha: float) -> Callable[[Array], Array]:
        """Factor Q + alpha I, with one Cholesky factor for each part: O(Σ n_p³ / 3)."""
        solvers = [(rows, positive_factor(self.values(rows, rows), alpha)) for rows in self.parts]

        def solve(y: Array) -> Array:
            c = np.empty_like(y)
            for rows, factor in solvers:
                c[rows] = factor(y[rows])
            return c

        return solve

    def spectrum(self) -> JointSpectrum:
        """Eigenvalues and eigenvectors of Q: O(Σ n_p³)."""
        return JointSpectrum([EigenBlock(rows, *eigen(self.values(rows, rows))) for rows in self.parts], self.n)

    def bytes(self, solver: str) -> float:
        """Estimate the memory that a solver needs at once."""
        largest = max(len(rows) for rows in self.parts)
        size = np.dtype(self.dtype).itemsize
        kept = sum(float(len(rows)) ** 2 for rows in self.parts)
        return {
            "cholesky": 1.1 * size * kept,
            "spectrum": size * (kept + 3.2 * float(largest) ** 2),
        }[solver]

    def preferred(self) -> str:
        """The quickest exact solver of Tikhonov systems."""
        return "cholesky"


@dataclass(frozen=True)
class Shared:
    """One output a task in every row: Q = M ⊗ K, which has the eigenvalues s_i l_j (ROS11 §5.2)."""

    kernel: Kernel
    points: Points
    M: Array
    dtype: str

    what: ClassVar[str] = "a kernel matrix of {n} x {n} inputs"

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.points.squares)

    def gram(self) -> Array:
        """K."""
        return block(self.kernel, self.points, self.points, self.dtype)

    @cached_property
    def tasks(self) -> tuple[Array, Array]:
        """The eigenvalues of M, none negative, equal ones made exactly so, and its eigenvectors."""
        lams, U = eigen(np.array(self.M, self.dtype))
        for lam, places in distinct(lams):
            lams[places] = lam
        return lams, U

    def product(self, C: Array) -> Array:
        """K C M, K made by blocks, or by features where the kernel is linear."""
        return gram_product(self.kernel, self.points, self.points, C @ self.M, self.dtype)

    def factored(self, alpha: float) -> Callable[[Array], Array]:
        """Factor the system K C M + alpha C = Y, with one Cholesky factor for each distinct eigenvalue of M."""
        lams, U = self.tasks
        K = self.gram()
        solvers = [(columns, positive_factor(lam * K, alpha)) for lam, columns in distinct(lams)]

        def solve(Y: Array) -> Array:
            turned = Y @ U
            for columns, factor in solvers:
                turned[:, columns] = factor(turned[:, columns])
            return np.asarray(turned @ U.T)

        return solve

    def spectrum(self) -> KroneckerSpectrum:
        """The eigenvalues and eigenvectors of K and of M: O(n³ + T³), O(n d² + T³) by fewer features than rows."""
        by_features = products.narrow(self.kernel, self.points)
        made = thin_eigen(dense(as_matrix(self.points)), self.dtype) if by_features else eigen(self.gram())
        return KroneckerSpectrum(*made, *self.tasks)

    def bytes(self, solver: str) -> float:
        """Estimate the memory that a solver needs at once."""
        size = np.dtype(self.dtype).itemsize
        outputs = 6.0 * self.n * len(self.M)
        square = float(self.n) ** 2
        factors = len(distinct(self.tasks[0])) if solver == "cholesky" else 0
        return (
            size * outputs
            + {
                "cholesky": size * (1.1 + factors) * square,
                "spectrum": size * 4.2 * self.n * rank_bound(self.kernel, self.points),
            }[solver]
        )

    def preferred(self) -> str:
        """The quickest exact solver of Tikhonov systems: a spectrum costs as much as some twenty Cholesky factors."""
        if products.narrow(self.kernel, self.points):
            return "spectrum"
        return "cholesky" if len(distinct(self.tasks[0])) <= 4 else "spectrum"
