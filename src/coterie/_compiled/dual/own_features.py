"""Models of tasks with separate feature spaces (CCG08 §6), and the loop over a block of rounds.

In a round with the active task i, φ_i is its instance, and z = Σ_k R_ik φ_k a difference of instances with a penalised
margin: R = sqrt(b K)(I - 11'/K) draws each margin to the mean of all. The loop over a block needs only F_u = v'P u and
Q_uv = u'P v for the u and v among its φ_i and z: a mistake in round t changes those of later rounds by

    Q_uv -= Q_uz Q_zv / (1 + Q_zz),        F_u += y Q_uφ - Q_uz F_z / (1 + Q_zz)    (with the new Q, the old F).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from coterie._compiled.core.arrays import resized, roomy
from coterie._compiled.core.checks import (
    MOST_ROUNDS,
    Bounds,
    require,
    require_counts,
    require_finite,
    require_shape,
    require_within,
)
from coterie._compiled.core.generic import compiled
from coterie._compiled.core.points import Kernel, Points, points
from coterie._compiled.core.records import Dense

from .factors import backward, border, forward, root

Matrix = NDArray[np.float64]
Codes = NDArray[np.int64]


class Instances(NamedTuple):
    """Rounds of several tasks: concatenated instances of all tasks, the task of each column, and the active tasks."""

    rows: Matrix
    owner: Codes
    tasks: Codes
    rounds: Codes

    def select(self, places: Codes) -> Instances:
        """Return the rounds at these indices."""
        return Instances(self.rows[places], self.owner, self.tasks[places], self.rounds[places])


class Coupling(NamedTuple):
    """The matrix R (K, K) that couples the margins of K tasks, and a kernel for each task (by default linear)."""

    signed_margin: Matrix
    kernels: Sequence[Kernel] | None

    def factors(self, active: Codes) -> Matrix:
        """Return the factors of the tasks' instances in φ_i (first n rows) and in z (last n rows), shape (2n, K)."""
        one = (active[:, None] == np.arange(len(self.signed_margin))).astype(np.float64)
        # φ_i has the instance of the active task alone, z = Σ_k R_ik φ_k those of all tasks
        return np.concatenate([one, self.signed_margin[active]])

    def products(self, A: Instances, B: Instances) -> Matrix:
        """Return the inner products of the vectors φ and z of the rounds A with those of the rounds B."""
        left, right = self.factors(A.tasks), self.factors(B.tasks)
        products = np.zeros((len(left), len(right)))
        for k in range(len(self.signed_margin)):
            # views are orthogonal, so inner products of φ and z are sums over tasks of products of their factors
            products += np.tile(self._gram(k, A, B), (2, 2)) * left[:, k][:, None] * right[:, k]
        return products

    def _gram(self, k: int, A: Instances, B: Instances) -> Matrix:
        """Return the values of task k's kernel for every pair of rounds."""
        x, z = (instances.rows[:, instances.owner == k] for instances in (A, B))
        out = np.zeros((len(x), len(z)))
        if self.kernels is None:
            np.matmul(x, z.T, out=out)
        else:
            self.kernels[k].values(_points(x, A.rounds), _points(z, B.rounds), out)
        return out


def _points(x: Matrix, rounds: Codes) -> Points:
    return points(Dense(np.ascontiguousarray(x)), rounds, x.shape[1])


class PrimalProducts(NamedTuple):
    """The products F (2n,) and Q (2n, 2n) of a block of n rounds, for the primal form.

    They are defined in the module's docstring; U are the vectors, and H = U P.
    """

    F: Matrix
    Q: Matrix
    U: Matrix
    H: Matrix

    def select(self, rounds: Codes) -> PrimalProducts:
        """Return the products of the rounds at these indices."""
        both = np.concatenate([rounds, len(self.F) // 2 + rounds])
        return PrimalProducts(self.F[both], self.Q[np.ix_(both, both)], self.U[both], self.H[both])


class DualProducts(NamedTuple):
    """The products F and Q of a block, as in :class:`PrimalProducts`, for the dual form.

    It also has the inner products of the block's vectors with those of the model.

    ``V`` is the factor's inverse times the products of the model's z with them, one row each.
    """

    F: Matrix
    Q: Matrix
    with_model: Matrix
    among: Matrix
    V: Matrix

    def select(self, rounds: Codes) -> DualProducts:
        """Return the products of the rounds at these indices."""
        both = np.concatenate([rounds, len(self.F) // 2 + rounds])
        pairs = np.ix_(both, both)
        return DualProducts(self.F[both], self.Q[pairs], self.with_model[both], self.among[pairs], self.V[both])


class Joined(NamedTuple):
    """Primal model of tasks with separate features: P = A⁻¹ (D, D), the sum v of updates, and weights w = P v."""

    P: Any
    w: Any
    v: Any
    owner: Any
    count: Any

    @classmethod
    def empty(cls, owner: Codes) -> Self:
        """Return the initial model; ``owner`` is the task of each feature."""
        D = len(owner)
        return cls(np.eye(D), np.zeros(D), np.zeros(D), owner, np.zeros(1, np.int64))

    def check(self, bounds: Bounds) -> None:
        """Raise ValueError for arrays of the wrong shape, or with entries that are not finite."""
        D = bounds.features
        require_shape("P", self.P, D, D)
        for name in ("w", "v", "owner"):
            require_shape(name, getattr(self, name), D)
        for name in ("P", "w", "v"):
            require_finite(name, getattr(self, name))
        require_within("owner", self.owner, 0, bounds.tasks - 1)
        require_counts("count", self.count, 1)

    @property
    def solver(self) -> Literal["primal", "dual"]:
        """The name of this form of the model, "primal"."""
        return "primal"

    def to_saved(self, tasks: int) -> Self:
        """Return the model itself; it has no unused capacity."""
        return self

    def with_features(self, owner: Codes) -> Self:
        """Resize the model for more features; ``owner`` is the task of each feature."""
        old, D = len(self.owner), len(owner)
        P = resized(self.P, (D, D))
        P[old:, old:] = np.eye(D - old)
        return self._replace(P=P, w=resized(self.w, (D,)), v=resized(self.v, (D,)), owner=owner)

    def products(self, coupling: Coupling, X: Instances) -> PrimalProducts:
        """Return the products F and Q for a block of rounds: O(n D²)."""
        U = np.concatenate([X.rows, X.rows]) * coupling.factors(X.tasks)[:, self.owner]
        H = U @ self.P
        return PrimalProducts(U @ self.w, H @ U.T, U, H)

    def absorb(self, coupling: Coupling, X: Instances, y: Matrix, products: PrimalProducts) -> Self:
        """Update the model in place with the mistakes in these rounds: O(n D²).

        ``products`` are from before the block.
        """
        n = len(y)
        # Woodbury for all mistakes at once: P -= H_z'(I + Z'PZ)⁻¹ H_z, with the root of I + Z'PZ
        E = forward(root(np.eye(n) + products.Q[n:, n:]), products.H[n:])
        self.P[:] -= E.T @ E
        self.v[:] += y @ products.U[:n]
        # from v and not from the old w: errors of w do not accumulate
        self.w[:] = self.P @ self.v
        self.count[0] += n
        return self

    def weights(self, coupling: Coupling) -> Matrix:
        """Return the weights w = A⁻¹v of all features."""
        return np.asarray(self.w)


class Rounds(NamedTuple):
    """Dual model of tasks with separate features: the rounds with a mistake, and a factor of their matrix.

    With the factor L L' = I + Z'Z, ``half`` is L⁻¹Z'Φy and ``gamma`` is L'⁻¹ times that.
    """

    factor: Any
    half: Any
    gamma: Any
    labels: Any
    tasks: Any
    births: Any
    rows: Any
    owner: Any
    count: Any

    @classmethod
    def empty(cls, owner: Codes) -> Self:
        """Return the initial model; ``owner`` is the task of each feature."""
        (half, gamma, labels), (tasks, births) = np.zeros((3, 0)), np.zeros((2, 0), np.int64)
        rows, count = np.zeros((0, len(owner))), np.zeros(1, np.int64)
        return cls(np.zeros((0, 0)), half, gamma, labels, tasks, births, rows, owner, count)

    def check(self, bounds: Bounds) -> None:
        """Raise ValueError for too many rounds, or unknown tasks or features."""
        require_counts("count", self.count, 1)
        slots, n = len(self.labels), int(self.count[0])
        require(n <= slots, f"{n} rounds do not fit into {slots} slots")
        require_shape("factor", self.factor, slots, slots)
        require_shape("rows", self.rows, slots, bounds.features)
        for name in ("half", "gamma", "tasks", "births"):
            require_shape(name, getattr(self, name), slots)
        for name, array in (("factor", self.factor[:n, :n]), ("rows", self.rows[:n])):
            require_finite(name, array)
        for name in ("half", "gamma", "labels"):
            require_finite(name, getattr(self, name)[:n])
        require((self.factor.diagonal()[:n] > 0).all(), "the factor is not that of a positive definite matrix")
        require_shape("owner", self.owner, bounds.features)
        require_within("owner", self.owner, 0, bounds.tasks - 1)
        require_within("tasks of rounds", self.tasks[:n], 0, bounds.tasks - 1)
        require_within("births", self.births, 0, MOST_ROUNDS)

    @property
    def solver(self) -> Literal["primal", "dual"]:
        """The name of this form of the model, "dual"."""
        return "dual"

    def to_saved(self, tasks: int) -> Self:
        """Return the model without unused capacity."""
        n = int(self.count[0])
        return self._replace(factor=self.factor[:n, :n], **self._of_rounds(lambda array: array[:n]))

    def _of_rounds(self, change: Callable[[Any], Any]) -> dict[str, Any]:
        """Apply a function to each array that has one row per round; return the results by field name."""
        return {name: change(getattr(self, name)) for name in ("half", "gamma", "labels", "tasks", "births", "rows")}

    def with_features(self, owner: Codes) -> Self:
        """Resize the model for more features; ``owner`` is the task of each feature."""
        return self._replace(rows=resized(self.rows, (len(self.rows), len(owner))), owner=owner)

    def products(self, coupling: Coupling, X: Instances) -> DualProducts:
        """Return the products F and Q for a block of rounds, from the m rounds of the model: O(n m²) and kernel values.

        Raises
        ------
        ValueError
            If values of a kernel are not finite.
        """
        n = int(self.count[0])
        with_model, among = coupling.products(X, self._instances()), coupling.products(X, X)
        if coupling.kernels is not None and not (np.isfinite(among).all() and np.isfinite(with_model).all()):
            raise ValueError("a kernel is not finite for the records of this stream")
        # A⁻¹ = I - Z (I + Z'Z)⁻¹ Z' (CCG08 §6.1), so all products with A⁻¹ are products minus products of V
        V = forward(self.factor, with_model[:, n:].T).T
        F = with_model[:, :n] @ self.labels[:n] - V @ self.half[:n]
        return DualProducts(F, among - V @ V.T, with_model, among, V)

    def absorb(self, coupling: Coupling, X: Instances, y: Matrix, products: DualProducts) -> Self:
        """Extend the factor by the mistakes in these rounds: O(n m²). ``products`` are from before the block."""
        m, n = int(self.count[0]), len(y)
        lower = root(np.eye(n) + products.Q[n:, n:])
        model = self._with_slots(m + n)
        border(model.factor, m, products.V[n:].T, lower)
        # L⁻¹Z'Φy has one row for each z: the old rows gain the labels of the new φ
        model.half[:m] += forward(model.factor, products.with_model[:n, m:].T @ y)
        mixed = products.with_model[n:, :m] @ model.labels[:m] + products.among[n:, :n] @ y
        # the new rows see all φ; forward substitution subtracts the part of the old rows, updated above
        model.half[m : m + n] = forward(lower, mixed - products.V[n:] @ model.half[:m])
        slots = slice(m, m + n)
        model.labels[slots], model.tasks[slots], model.births[slots], model.rows[slots] = y, X.tasks, X.rounds, X.rows
        model.count[0] = m + n
        model.gamma[: m + n] = backward(model.factor, model.half[: m + n])
        return model

    def weights(self, coupling: Coupling) -> Matrix:
        """Return the weights w = A⁻¹v of all features, without kernels; they equal those of the primal form."""
        return self.to_primal(coupling).weights(coupling)

    def to_primal(self, coupling: Coupling) -> Joined:
        """Convert to the primal form, without kernels: P = (I + ZZ')⁻¹, O(m D² + D³)."""
        instances, n = self._instances(), int(self.count[0])
        U = np.concatenate([instances.rows, instances.rows]) * coupling.factors(instances.tasks)[:, self.owner]
        P = np.linalg.inv(np.eye(len(self.owner)) + U[n:].T @ U[n:])
        v = self.labels[:n] @ U[:n]
        # the inverse is symmetric but for rounding
        P = (P + P.T) / 2
        return Joined(P, P @ v, v, self.owner, self.count)

    def _instances(self) -> Instances:
        n = int(self.count[0])
        return Instances(self.rows[:n], self.owner, self.tasks[:n], self.births[:n])

    def _with_slots(self, need: int) -> Self:
        size = roomy(len(self.labels), need)
        arrays = self._of_rounds(lambda array: resized(array, (size, *array.shape[1:])))
        return self._replace(factor=resized(self.factor, (size, size)), **arrays)


@compiled
def margin_of(f, fz, cross, zz):
    """Return the margin of a round from the products of its vectors φ and z with v and with each other."""
    # Sherman-Morrison, P_t = P - P z z'P / (1 + z'P z): CCG08 Figure 3 predicts by A_t, not by A_{s-1}
    return f - fz * cross / (1.0 + zz)


@compiled
def learn_course(F, Q, y, n, delay, margins, own, step_sizes):
    """Learn the first n rounds of a block from the products F and Q.

    Entry t belongs to the φ of round t, and entry len(F)/2 + t to its z.
    """
    half = F.size // 2
    for t in range(n):
        z = half + t
        own[t] = margin_of(F[t], F[z], Q[t, z], Q[z, z])
        if delay == 0:
            margins[t] = own[t]
        elif n + t < half:
            other = half + n + t
            margins[t] = margin_of(F[n + t], F[other], Q[n + t, other], Q[other, other])
        # a margin of zero is a mistake. Without one A loses the z of the round again (Figure 3, line 7)
        if y[t] * own[t] <= 0.0:
            step_sizes[t] = 1.0
            total, margin_z = 1.0 + Q[z, z], F[z]
            # copies: the loop below changes both columns while it reads them
            along_z, along_phi = Q[:, z].copy(), Q[:, t].copy()
            for u in range(F.size):
                # along_z[t] is Q_φz, so the bracket is φ'P u with the new P
                F[u] += y[t] * (along_phi[u] - along_z[u] * along_z[t] / total) - along_z[u] * margin_z / total
                for v in range(F.size):
                    # entries of earlier rounds change as well, though nothing reads them again: one loop is simpler
                    Q[u, v] -= along_z[u] * along_z[v] / total
