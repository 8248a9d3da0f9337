"""From a design and a filter to coefficients: by Cholesky factors, by the spectrum, or by products alone."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import memory
from .designs import rank_for

Array = NDArray[Any]

SOLVERS = ("auto", "cholesky", "spectrum", "conjugate gradients")

#: What is left to do where no solver fits.
FEWER = "no solver would fit, take fewer rows or dtype='float32'"

#: Most steps of conjugate gradients.
STEPS = 1000


def solve(design: Any, used: Any, y: Array, solver: str, tol: float) -> Array:
    """The coefficients c = g(Q) y.

    Parameters
    ----------
    design : Separate or Shared
        What makes Q.
    used : filter
        g.
    y : array
        As the design takes it, (n,) or (n, T).
    solver : {"auto", "cholesky", "spectrum", "conjugate gradients"}
        Which; "auto" is an exact one where it fits in memory.
    tol : float
        Conjugate gradients end when the residual is this part of y.

    Raises
    ------
    OutOfMemoryError
        Before it is asked for; the message names the solver that would fit.
    ValueError
        For an unknown solver, or one that cannot apply the filter.
    """
    name = chosen(design, used, solver)
    if name == "spectrum":
        return np.asarray(design.spectrum().coefficients(used, y))
    if name == "cholesky":
        return np.asarray(used.iterate(design.product, _remembered(design.factored), y, _no_largest))
    return np.asarray(used.iterate(design.product, _by_gradients(design, tol), y, lambda: largest_of(design, y)))


def chosen(design: Any, used: Any, solver: str) -> str:
    """The solver's name, refused if it cannot apply the filter or would not fit."""
    if solver not in SOLVERS:
        raise ValueError(f"solver must be one of {', '.join(map(repr, SOLVERS))}, got {solver!r}")
    able = _able(design, used)
    if solver == "auto":
        solver = next((each for each in able if memory.fits(design.bytes(each))), able[-1])
    if solver not in able:
        raise ValueError(f"solver={solver!r} cannot apply {used!r}: take {' or '.join(map(repr, able))}")
    instead = next((f"solver={each!r} would fit" for each in able if memory.fits(design.bytes(each))), FEWER)
    memory.require(design.bytes(solver), f"{design.what.format(n=design.n)} for solver={solver!r}", instead)
    return solver


def require_spectrum(design: Any) -> None:
    """Refuse to choose by a spectrum that would not fit."""
    instead = "choose on fewer rows, a part of them drawn at random, and fit all"
    memory.require(design.bytes("spectrum"), f"the spectrum of {design.what.format(n=design.n)}", instead)


def _able(design: Any, used: Any) -> list[str]:
    """The solvers that can apply a filter, the quickest exact one first."""
    exact = [design.preferred(), "cholesky"] if hasattr(used, "alpha") else []
    products = ["conjugate gradients"] if hasattr(used, "iterate") else []
    return list(dict.fromkeys([*exact, "spectrum", *products]))


def _no_largest() -> float:
    raise AssertionError("Tikhonov systems need no largest eigenvalue")


def _remembered(factored: Callable[[float], Callable[[Array], Array]]) -> Callable[[Array, float], Array]:
    """Solves systems, each alpha factored once."""
    known: dict[float, Callable[[Array], Array]] = {}

    def solved(y: Array, alpha: float) -> Array:
        if alpha not in known:
            known[alpha] = factored(alpha)
        return known[alpha](y)

    return solved


def _by_gradients(design: Any, tol: float) -> Callable[[Array, float], Array]:
    """Solves systems by conjugate gradients, the preconditioner made once for each alpha."""
    precondition = _remembered(lambda alpha: design.preconditioner(alpha, rank_for(design.n)))

    def solved(y: Array, alpha: float) -> Array:
        return conjugate_gradients(
            lambda c: design.product(c) + alpha * c, y, lambda r: precondition(r, alpha), tol, STEPS
        )

    return solved


def conjugate_gradients(
    product: Callable[[Array], Array], y: Array, precondition: Callable[[Array], Array], tol: float, steps: int
) -> Array:
    """The solution of a positive definite system, known by its products: one product a step.

    Warns
    -----
    ConvergenceWarning
        If the residual is still above ``tol`` ‖y‖ after so many steps.
    """
    c, r = np.zeros_like(y), y.copy()
    z = precondition(r)
    p, rz = z, float(np.vdot(r, z))
    goal = tol * float(np.linalg.norm(y))
    for _ in range(steps):
        if np.linalg.norm(r) <= goal:
            return c
        q = product(p)
        step = rz / float(np.vdot(p, q))
        c, r = c + step * p, r - step * q
        z = precondition(r)
        rz, before = float(np.vdot(r, z)), rz
        p = z + (rz / before) * p
    _warn(float(np.linalg.norm(r)) / max(float(np.linalg.norm(y)), 1e-300), tol, steps)
    return c


def _warn(reached: float, tol: float, steps: int) -> None:
    from sklearn.exceptions import ConvergenceWarning

    message = f"conjugate gradients stopped after {steps} steps at a residual of {reached:.2g}, tol is {tol:.2g}"
    warnings.warn(message, ConvergenceWarning, stacklevel=2)


def largest_of(design: Any, y: Array) -> float:
    """The largest eigenvalue of Q by Lanczos steps, each one product."""
    from scipy.sparse.linalg import LinearOperator, eigsh

    def product(c: Array) -> Array:
        return np.asarray(design.product(c.reshape(y.shape)).ravel(), np.float64)

    start = np.random.default_rng(0).normal(size=y.size)
    moved = product(start)
    if y.size == 1 or not moved.any():
        return float(moved[0] / start[0])
    operator: Any = LinearOperator((y.size, y.size), matvec=product, dtype=np.float64)
    return float(eigsh(operator, k=1, which="LA", tol=1e-10, v0=start, return_eigenvectors=False)[0])
