"""The two forms of a batch problem: one task per record, or the outputs of all tasks for each record.

Both are ridge regression with the kernel Q((x, s), (z, t)) = k(x, z) M_st. A design computes blocks of Q and estimates
the memory of each solver; solvers do not depend on rows and tasks.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from coterie._compiled.core.points import Points, as_matrix
from coterie.kernels import Kernel
from coterie.types import Array, Codes

from . import memory
from .filters import Filter
from .products import block, dense, gram_product, is_narrow, joint_product, rank_bound
from .solvers import EigenBlock, JointSpectrum, KroneckerSpectrum, distinct, eigen, positive_factor, thin_eigen

#: Progress of long fits; silent unless configured.
logger = logging.getLogger("coterie.batch")

SOLVERS = ("auto", "cholesky", "spectrum")

#: The advice if no solver fits into memory.
FEWER = "no solver would fit, take fewer rows or dtype='float32'"


@dataclass(frozen=True)
class Separate:
    """Design with one task per record: the kernel matrix is Q_ij = k(x_i, x_j) M_(t_i t_j).

    The task of record i is t_i, k is the kernel of records, and M the matrix by which tasks share.
    """

    kernel: Kernel
    points: Points
    codes: Codes
    M: Array
    dtype: str

    what: ClassVar[str] = "a kernel matrix of {n} x {n} rows"

    @property
    def n(self) -> int:
        """The number of rows of Q."""
        return len(self.codes)

    @cached_property
    def parts(self) -> list[Codes]:
        """Groups of records with zero entries of Q between the groups, which are the diagonal blocks of Q."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        # through a third task rows of two tasks can share although their own entry of M is 0
        labels = connected_components(csr_array(self.M != 0), directed=False)[1][self.codes]
        order = np.argsort(labels, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)

    def values(self, rows: Codes, columns: Codes) -> Array:
        """Compute the block of Q with these rows and columns."""
        from coterie._compiled.dual.joint import scale_by_tasks

        Q = block(self.kernel, self.points.take(rows), self.points.take(columns), self.dtype)
        scale_by_tasks(Q, self.M, self.codes[rows], self.codes[columns])
        return Q

    def product(self, c: Array) -> Array:
        """Compute the product of Q and c without storing Q: O(n²) kernel values, or by features for a linear kernel."""
        return joint_product(self.kernel, self.points, self.codes, self.points, self.codes, self.M, c, self.dtype)

    def factored(self, alpha: float) -> Callable[[Array], Array]:
        """Factor Q + alpha I by Cholesky, block by block: O(Σ n_p³ / 3) for blocks of n_p rows."""
        solvers = [(rows, positive_factor(self.values(rows, rows), alpha)) for rows in self.parts]

        def solve(y: Array) -> Array:
            c = np.empty_like(y)
            for rows, factor in solvers:
                c[rows] = factor(y[rows])
            return c

        return solve

    def spectrum(self) -> JointSpectrum:
        """Compute the eigenvalues and eigenvectors of Q, block by block: O(Σ n_p³) for blocks of n_p rows."""
        return JointSpectrum([EigenBlock(rows, *eigen(self.values(rows, rows))) for rows in self.parts], self.n)

    def bytes(self, solver: str) -> float:
        """Estimate the peak memory in bytes that a solver, given by name, would need."""
        size, squares = np.dtype(self.dtype).itemsize, [float(len(rows)) ** 2 for rows in self.parts]
        # Cholesky overwrites its block; divide and conquer needs the eigenvectors and two more squares as workspace
        return size * (1.1 * sum(squares) if solver == "cholesky" else sum(squares) + 3.2 * max(squares))

    def preferred(self) -> str:
        """The fastest exact solver for ridge regression."""
        return "cholesky"


@dataclass(frozen=True)
class Shared:
    """Design with the outputs of all tasks for each record: the kernel matrix is Q = M ⊗ K (ROS11 §5.2).

    K is the kernel matrix of the records, and M the matrix by which tasks share.
    """

    kernel: Kernel
    points: Points
    M: Array
    dtype: str

    what: ClassVar[str] = "a kernel matrix of {n} x {n} inputs"

    @property
    def n(self) -> int:
        """The number of rows of Q."""
        return len(self.points.squares)

    def gram(self) -> Array:
        """The kernel matrix K of the records."""
        return block(self.kernel, self.points, self.points, self.dtype)

    @cached_property
    def tasks(self) -> tuple[Array, Array]:
        """The eigenvalues and eigenvectors of M.

        Rounding is removed: negative eigenvalues are 0, nearly equal ones equal.
        """
        lams, U = eigen(np.array(self.M, self.dtype))
        for lam, places in distinct(lams):
            lams[places] = lam
        return lams, U

    def product(self, C: Array) -> Array:
        """Compute the product K C M without storing K, or by features for a linear kernel.

        C are coefficients, one row per record and one column per task.
        """
        return gram_product(self.kernel, self.points, self.points, C @ self.M, self.dtype)

    def factored(self, alpha: float) -> Callable[[Array], Array]:
        """Factor the system K C M + alpha C = Y for the coefficients C.

        It needs one Cholesky factor for each distinct eigenvalue of M.
        """
        lams, U = self.tasks
        K = self.gram()
        # in the eigenbasis of M the columns separate: lam_j K c_j + alpha c_j = (Y U)_j
        solvers = [(columns, positive_factor(lam * K, alpha)) for lam, columns in distinct(lams)]

        def solve(Y: Array) -> Array:
            turned = Y @ U
            for columns, factor in solvers:
                turned[:, columns] = factor(turned[:, columns])
            return np.asarray(turned @ U.T)

        return solve

    def spectrum(self) -> KroneckerSpectrum:
        """Compute the eigenvalues and eigenvectors of K and of M: O(n³ + T³) for n records and T tasks."""
        if is_narrow(self.kernel, self.points):
            return KroneckerSpectrum(*thin_eigen(dense(as_matrix(self.points)), self.dtype), *self.tasks)
        return KroneckerSpectrum(*eigen(self.gram()), *self.tasks)

    def bytes(self, solver: str) -> float:
        """Estimate the peak memory in bytes that a solver, given by name, would need."""
        size, outputs = np.dtype(self.dtype).itemsize, 6.0 * self.n * len(self.M)
        if solver == "cholesky":
            return size * (outputs + (1.1 + len(distinct(self.tasks[0]))) * float(self.n) ** 2)
        return size * (outputs + 4.2 * self.n * rank_bound(self.kernel, self.points))

    def preferred(self) -> str:
        """The fastest exact solver for ridge regression."""
        if is_narrow(self.kernel, self.points):
            return "spectrum"
        # each distinct eigenvalue of M costs a factor, one spectrum serves them all
        return "cholesky" if len(distinct(self.tasks[0])) <= 4 else "spectrum"


def solve(design: Separate | Shared, used: Filter, y: Array, solver: str) -> Array:
    """Compute the dual coefficients c = g(Q) y.

    Q is the kernel matrix of the design, and g the spectral filter ``used``.

    Parameters
    ----------
    design : Separate or Shared
        The kernel Q.
    used : filter
        The filter g.
    y : array, shape (n, p) or (n, T)
        The outputs, in the form of the design.
    solver : {"auto", "cholesky", "spectrum"}
        "auto" is the quickest that fits in memory.

    Raises
    ------
    OutOfMemoryError
        Before the memory is allocated; the message names the solver that would fit.
    ValueError
        For an unknown solver, or one that cannot apply the filter.
    """
    name = choose_solver(design, used, solver)
    logger.info("%s, by %s", design.what.format(n=design.n), name)
    if name == "spectrum":
        return np.asarray(next(design.spectrum().path([used], y)))
    return np.asarray(used.iterate(design.product, _remembered(design.factored), y))


def choose_solver(design: Separate | Shared, used: Filter, solver: str) -> str:
    """Return the name of the solver to use; raise an error if the requested one cannot apply the filter ``used``."""
    if solver not in SOLVERS:
        raise ValueError(f"solver must be one of {', '.join(map(repr, SOLVERS))}, got {solver!r}")
    quickest = [design.preferred()] if "cholesky" in used.solvers else []  # of the exact ones
    able = list(dict.fromkeys([*quickest, *used.solvers]))
    if solver == "auto":
        solver = next((name for name in able if memory.fits(design.bytes(name))), min(able, key=design.bytes))
    if solver not in able:
        raise ValueError(f"solver={solver!r} does not support {used!r}; choose {' or '.join(map(repr, able))}")
    instead = next((f"solver={name!r} would fit" for name in able if memory.fits(design.bytes(name))), FEWER)
    memory.require(design.bytes(solver), f"{design.what.format(n=design.n)} for solver={solver!r}", instead)
    return solver


def require_spectrum(design: Separate | Shared) -> None:
    """Raise OutOfMemoryError if an eigendecomposition of the design's matrix does not fit in memory."""
    instead = "choose on fewer rows, a part of them drawn at random, and fit all"
    memory.require(design.bytes("spectrum"), f"the spectrum of {design.what.format(n=design.n)}", instead)


def _remembered(factored: Callable[[float], Callable[[Array], Array]]) -> Callable[[Array, float], Array]:
    """Return a function that solves the system for y and alpha. It caches the factor of each alpha."""
    known: dict[float, Callable[[Array], Array]] = {}

    def solved(y: Array, alpha: float) -> Array:
        if alpha not in known:
            known[alpha] = factored(alpha)
        return known[alpha](y)

    return solved
