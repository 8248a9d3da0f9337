"""The hypothesis of tasks with feature spaces of their own, whose margins of one round are to be alike (MMPERC)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import singledispatch
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie import spec
from coterie.numeric.arrays import roomy
from coterie.numeric.heterogeneous import Joined, Rounds
from coterie.numeric.points import Points
from coterie.numeric.records import Dense

from .factors import backward, border, forward, root

Matrix = NDArray[np.float64]
Codes = NDArray[np.int64]

SOLVERS = ("auto", "primal", "dual")


class Instances(NamedTuple):
    """Rounds: the instances of all tasks side by side (n, D), the owner of each column, active tasks and numbers."""

    rows: Matrix
    owner: Codes
    tasks: Codes
    rounds: Codes


class Products(NamedTuple):
    """F (2n,) and Q (2n, 2n) of a block, its φ first and then its z, and what the model needs to take it up."""

    F: Matrix
    Q: Matrix
    aside: Any


@spec.part
class Heterogeneous:
    """Weights of tasks with feature spaces of their own under A = I + Σ z_s z_s' (CCG08 §6).

    z_s = sqrt(b K)(φ_i - φ/K) of each round s with a mistake, φ_i being the instance of its active task in its own
    part of the space and φ the sum of all instances, so that u'z_s z_s'u = b K (u_i·x_i - mean_k u_k·x_k)².

    Parameters
    ----------
    b : float >= 0
        How much tasks are to agree; with 0 they are independent.
    kernels : kernel, tuple of kernels, mapping from task to kernel, or None
        One for all tasks or one for each; linear ones without.
    solver : {"auto", "primal", "dual"}
        The primal form keeps A⁻¹, (D, D); the dual one (I + Z'Z)⁻¹ of the mistakes. ``"auto"`` begins with the dual
        one, and goes over when there are D mistakes, if there are no kernels.

    Raises
    ------
    ValueError
        If b is negative or not finite, for an unknown solver, or for the primal form with kernels.

    Examples
    --------
    >>> Heterogeneous(b=2.0)
    Heterogeneous(b=2.0, solver='auto')
    """

    b: float = 1.0
    kernels: Any = None
    solver: Literal["auto", "primal", "dual"] = "auto"

    def __post_init__(self) -> None:
        if not (self.b >= 0 and np.isfinite(self.b)):
            raise ValueError(f"b must be finite and at least 0, got {self.b!r}")
        if self.solver not in SOLVERS:
            raise ValueError(f"solver must be one of {', '.join(SOLVERS)}, got {self.solver!r}")
        if self.solver == "primal" and self.kernels is not None:
            raise ValueError(f"solver='primal' keeps a weight a feature and takes no kernels, got {self.kernels!r}")

    def start(self, owner: Codes) -> Any:
        """A model of no round, with the task that owns each feature."""
        D, count, none = len(owner), np.zeros(1, np.int64), np.zeros(0)
        if self.solver == "primal":
            return Joined(np.eye(D), np.zeros(D), np.zeros(D), owner, count)
        numbers = np.zeros(0, np.int64)
        return Rounds(
            *(np.zeros((0, 0)), none, none.copy(), none.copy(), numbers, numbers.copy(), np.zeros((0, D))), owner, count
        )

    def outgrown(self, model: Any) -> bool:
        """Whether it is time for the primal form."""
        if self.solver != "auto" or self.kernels is not None or not hasattr(model, "gamma"):
            return False
        return int(model.count[0]) >= len(model.owner)

    def coefficients(self, tasks: Codes, K: int) -> Matrix:
        """What each task's instance counts in φ_i (first n rows) and in z, shape (2n, K)."""
        active = (tasks[:, None] == np.arange(K)).astype(np.float64)
        return np.concatenate([active, np.sqrt(self.b * K) * (active - 1.0 / K)])

    def for_tasks(self, tasks: Sequence[Hashable]) -> Heterogeneous:
        """The same hypothesis with one kernel for each of these tasks, in their order.

        Raises
        ------
        ValueError
            If there is not one kernel a task.
        """
        kernels = self.kernels
        if kernels is None:
            return self
        if isinstance(kernels, Mapping):
            if set(kernels) != set(tasks):
                raise ValueError(f"kernels must name one for each of the tasks {list(tasks)}, got {list(kernels)}")
            kernels = tuple(kernels[task] for task in tasks)
        elif not isinstance(kernels, tuple):
            kernels = (kernels,) * len(tasks)
        if len(kernels) != len(tasks):
            raise ValueError(f"kernels must be one for each task, {len(tasks)}, got {len(kernels)}")
        return Heterogeneous(self.b, kernels, self.solver)

    def grams(self, A: Instances, B: Instances, K: int) -> list[Matrix]:
        """k_i(x_i, x'_i) for every pair of rounds, task by task."""
        found = []
        for i in range(K):
            x, z = (each.rows[:, each.owner == i] for each in (A, B))
            out = np.zeros((len(x), len(z)))
            if self.kernels is None:
                np.matmul(x, z.T, out=out)
            else:
                self.kernels[i].values(_points(x, A.rounds), _points(z, B.rounds), out)
            found.append(out)
        return found


def _points(x: Matrix, rounds: Codes) -> Points:
    x = np.ascontiguousarray(x)
    return Points(Dense(x), np.einsum("td,td->t", x, x), rounds, x.shape[1])


@singledispatch
def products(model: Any, hypothesis: Heterogeneous, X: Instances, K: int) -> Products:
    """F and Q for a block of rounds; nothing is written."""
    raise TypeError(f"not a heterogeneous model: {type(model).__name__}")


@singledispatch
def absorb(model: Any, hypothesis: Heterogeneous, X: Instances, y: Matrix, made: Products, K: int) -> Any:
    """The model after mistakes in these rounds, ``made`` being the products of these before the block."""
    raise TypeError(f"not a heterogeneous model: {type(model).__name__}")


@singledispatch
def widened(model: Any, owner: Codes) -> Any:
    """The model with more features, ``owner`` being the tasks of all."""
    raise TypeError(f"not a heterogeneous model: {type(model).__name__}")


@widened.register
def _(model: Joined, owner: Codes) -> Joined:
    new = len(owner) - len(model.owner)
    P = np.pad(model.P, (0, new))
    P[len(model.owner) :, len(model.owner) :] = np.eye(new)
    return Joined(P, np.pad(model.w, (0, new)), np.pad(model.v, (0, new)), owner, model.count)


@widened.register
def _(model: Rounds, owner: Codes) -> Rounds:
    rows = np.pad(model.rows, ((0, 0), (0, len(owner) - len(model.owner))))
    return model._replace(rows=rows, owner=owner)


# -- the primal form --------------------------------------------------------------------------------------------------


@products.register
def _(model: Joined, hypothesis: Heterogeneous, X: Instances, K: int) -> Products:
    U = np.concatenate([X.rows, X.rows]) * hypothesis.coefficients(X.tasks, K)[:, model.owner]
    H = U @ model.P
    return Products(U @ model.w, H @ U.T, (U, H))


@absorb.register
def _(model: Joined, hypothesis: Heterogeneous, X: Instances, y: Matrix, made: Products, K: int) -> Joined:
    n, (U, H) = len(y), made.aside
    E = forward(root(np.eye(n) + made.Q[n:, n:]), H[n:])
    model.P[:] -= E.T @ E
    model.v[:] += y @ U[:n]
    model.w[:] = model.P @ model.v
    model.count[0] += n
    return model


# -- the dual form ----------------------------------------------------------------------------------------------------


def _kept(model: Rounds) -> Instances:
    n = int(model.count[0])
    return Instances(model.rows[:n], model.owner, model.tasks[:n], model.births[:n])


def _weighed(grams: list[Matrix], left: Matrix, right: Matrix) -> Matrix:
    """Σ_k a_k a'_k k_k(x_k, x'_k) for φ and z on the left with φ and z on the right."""
    made = np.zeros((len(left), len(right)))
    for k, gram in enumerate(grams):
        made += np.tile(gram, (2, 2)) * left[:, k][:, None] * right[:, k]
    return made


@products.register
def _(model: Rounds, hypothesis: Heterogeneous, X: Instances, K: int) -> Products:
    held, n = _kept(model), int(model.count[0])
    a, stored = hypothesis.coefficients(X.tasks, K), hypothesis.coefficients(held.tasks, K)
    to_stored = _weighed(hypothesis.grams(X, held, K), a, stored)
    among = _weighed(hypothesis.grams(X, X, K), a, a)
    if hypothesis.kernels is not None and not (np.isfinite(among).all() and np.isfinite(to_stored).all()):
        raise ValueError("a kernel is not finite for the records of this stream")
    V = forward(model.factor, to_stored[:, n:].T).T
    F = to_stored[:, :n] @ model.labels[:n] - V @ model.half[:n]
    return Products(F, among - V @ V.T, (to_stored, among, V))


@absorb.register
def _(model: Rounds, hypothesis: Heterogeneous, X: Instances, y: Matrix, made: Products, K: int) -> Rounds:
    m, n = int(model.count[0]), len(y)
    to_stored, among, V = made.aside
    lower = root(np.eye(n) + made.Q[n:, n:])
    model = _roomy(model, m + n)
    border(model.factor, m, V[n:].T, lower)
    model.half[:m] += forward(model.factor, to_stored[:n, m:].T @ y)
    mixed = to_stored[n:, :m] @ model.labels[:m] + among[n:, :n] @ y
    model.half[m : m + n] = forward(lower, mixed - V[n:] @ model.half[:m])
    slots = slice(m, m + n)
    model.labels[slots], model.tasks[slots], model.births[slots], model.rows[slots] = y, X.tasks, X.rounds, X.rows
    model.count[0] = m + n
    model.gamma[: m + n] = backward(model.factor, model.half[: m + n])
    return model


def _roomy(model: Rounds, need: int) -> Rounds:
    have = len(model.labels)
    size = roomy(have, need)
    if size == have:
        return model
    more = (0, size - have)
    flat = {name: np.pad(getattr(model, name), more) for name in ("half", "gamma", "labels", "tasks", "births")}
    return model._replace(factor=np.pad(model.factor, (more, more)), rows=np.pad(model.rows, (more, (0, 0))), **flat)


def primal_of(model: Rounds, hypothesis: Heterogeneous, K: int) -> Joined:
    """The primal form of rounds without kernels: P = (I + ZZ')⁻¹, O(m D² + D³)."""
    held, n = _kept(model), int(model.count[0])
    U = np.concatenate([held.rows, held.rows]) * hypothesis.coefficients(held.tasks, K)[:, model.owner]
    P = np.linalg.inv(np.eye(len(model.owner)) + U[n:].T @ U[n:])
    v = model.labels[:n] @ U[:n]
    P = (P + P.T) / 2
    return Joined(P, P @ v, v, model.owner, model.count)
