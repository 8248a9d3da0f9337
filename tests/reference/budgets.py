"""Kernel Perceptrons on a budget (CC12 Algorithms 1 to 3, section 4.3; FOR09 §4.2.3), straight from their definitions.

The Gram matrix is recomputed at every round and solved as it stands; nothing is carried on but the active set and its
coefficients. The errata of the paper are put right: the budget is strict, candidates are judged by |beta|, the weights
that are given away by mtbprj-2 are not multiplied with the inverse again, and phi is that of the Forgetron on K/c².
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Kernel = Callable[[Any, Any], float]


@dataclass
class Batch:
    """Margins before each label, the rounds that moved, and who is in the active set at the end of each round.

    ``after`` has, of projections, the margin of each record at the end of its round.
    """

    margins: list[float] = field(default_factory=list)
    after: list[float] = field(default_factory=list)
    updated: list[bool] = field(default_factory=list)
    active: list[tuple[int, ...]] = field(default_factory=list)
    evicted: int = 0
    projected: int = 0

    def predictions(self, margin: float, moved: bool, active: Sequence[int]) -> None:
        self.margins.append(float(margin))
        self.updated.append(bool(moved))
        self.active.append(tuple(active))


def gaussian(sigma: float) -> Kernel:
    """exp(-‖x - z‖² / (2 sigma²))."""
    return lambda x, z: float(np.exp(-np.sum((x - z) ** 2) / (2.0 * sigma**2)))


def polynomial(degree: int, coef0: float = 1.0) -> Kernel:
    """(x·z + coef0)^degree."""
    return lambda x, z: float((x @ z + coef0) ** degree)


def linear(x: Vector, z: Vector) -> float:
    """x·z."""
    return float(x @ z)


def normalised(kernel: Kernel) -> Kernel:
    """k(x, z) / sqrt(k(x, x) k(z, z))."""
    return lambda x, z: kernel(x, z) / np.sqrt(kernel(x, x) * kernel(z, z))


def multitask(X: Matrix, task: Sequence[int], M: Matrix, kernel: Kernel) -> Matrix:
    """The Gram matrix of the multitask kernel, M_(i_s i_t) k(x_s, x_t)."""
    return plain(X, kernel) * M[np.ix_(task, task)]


def moments(X: Matrix, task: Sequence[int], M: Matrix, kernel: Kernel) -> Iterator[tuple[Matrix, Matrix]]:
    """The Gram matrix of the multitask kernel and M in each round; M is a matrix, or one for each round."""
    K = plain(X, kernel)
    for M_t in np.broadcast_to(M, (len(X), *M.shape[-2:])):
        yield K * M_t[np.ix_(task, task)], M_t


def plain(X: Matrix, kernel: Kernel) -> Matrix:
    """The Gram matrix of the kernel."""
    return np.array([[kernel(x, z) for z in X] for x in X])


def unbounded(
    X: Matrix, y: Vector, task: Sequence[int], M: Matrix, kernel: Kernel, weights: Vector | None = None
) -> Batch:
    """Every mistake is kept (CCG08 §3), with its weight times y for a coefficient."""
    G, run = multitask(X, task, M, kernel), Batch()
    J: list[int] = []
    w = np.ones(len(X)) if weights is None else weights
    for t in range(len(X)):
        margin = sum(w[j] * y[j] * G[j, t] for j in J)
        if w[t] > 0 and y[t] * margin <= 0:
            J.append(t)
        run.predictions(margin, J[-1:] == [t], J)
    return run


def random_removal(
    X: Matrix, y: Vector, task: Sequence[int], M: Matrix, kernel: Kernel, B: int, uniform: Callable[[int], float]
) -> Batch:
    """mtrbp: a full active set loses the element in slot floor(u B); ``uniform(n)`` is the u of eviction n."""
    G, run = multitask(X, task, M, kernel), Batch()
    slots: list[int] = []
    for t in range(len(X)):
        margin = sum(y[j] * G[j, t] for j in slots)
        moved = y[t] * margin <= 0
        if moved and len(slots) < B:
            slots.append(t)
        elif moved:
            slots[int(uniform(run.evicted) * B)] = t
            run.evicted += 1
        run.predictions(margin, moved, slots)
    return run


def largest_factor(a: float, b: float, C: float, draws: int = 200_001) -> float:
    """The largest chi in (0, 1] with a chi² + b chi <= C, by trying many."""
    chi = np.linspace(0.0, 1.0, draws)[1:]
    return float(chi[a * chi**2 + b * chi <= C].max())


def closed_factor(a: float, b: float, C: float) -> float:
    """The same in closed form."""
    return 1.0 if a + b <= C else float(2.0 * C / (b + np.sqrt(b * b + 4.0 * a * C)))


def forgetron(
    X: Matrix,
    y: Vector,
    task: Sequence[int],
    M: Matrix,
    kernel: Kernel,
    B: int,
    printed: bool = False,
    weights: Vector | None = None,
) -> Batch:
    """mtforg: the oldest leaves and all are shrunk by phi; c² is the largest M_ii so far times the largest k(x, x) stored.

    M is a matrix, or one for each round, as tasks come.
    """
    grams, run = moments(X, task, M, kernel), Batch()
    J: list[int] = []
    beta: dict[int, float] = {}
    Q, mistakes, longest, top = 0.0, 0, 0.0, 0.0
    w = np.ones(len(X)) if weights is None else weights
    for t, (G, M_t) in enumerate(grams):
        top = max(top, M_t.diagonal().max())
        margin = sum(beta[j] * G[j, t] for j in J)
        moved = w[t] > 0 and y[t] * margin <= 0
        if moved:
            mistakes += 1
            longest = max(longest, kernel(X[t], X[t]))
            J.append(t)
            beta[t] = w[t] * y[t]
        if moved and len(J) == B + 1:
            r = J[0]
            squared = longest * top
            sigma, mu = abs(beta[r]), y[r] * sum(beta[j] * G[j, r] for j in J)
            if printed:
                a, b = squared * sigma**2 - 2.0 * sigma * sigma * mu, 2.0 * np.sqrt(squared) * sigma
            else:
                a, b = squared * sigma**2 - 2.0 * sigma * mu, 2.0 * squared * sigma
            phi = closed_factor(a, b, 15.0 * squared * mistakes / 32.0 - Q)
            beta = {j: phi * beta[j] for j in J}
            Q += a * phi**2 + b * phi
            run.evicted += 1
            J.pop(0)
        run.predictions(margin, moved, J)
    return run


def shifting_forgetron(X: Matrix, y: Vector, task: Sequence[int], M: Matrix, kernel: Kernel, B: int) -> Batch:
    """At every mistake all shrink by phi, the new one too; of B + 1 the oldest leaves."""
    G, run = multitask(X, task, M, kernel), Batch()
    J: list[int] = []
    beta: dict[int, float] = {}
    phi = (16.0 * (B + 1)) ** (-1.0 / (2 * (B + 1)))
    for t in range(len(X)):
        margin = sum(beta[j] * G[j, t] for j in J)
        moved = y[t] * margin <= 0
        if moved:
            J.append(t)
            beta[t] = y[t]
            beta = {j: phi * beta[j] for j in J}
        if len(J) == B + 1:
            run.evicted += 1
            J.pop(0)
        run.predictions(margin, moved, J)
    return run


def residual(H: Matrix, k: Vector, kappa: float) -> tuple[Vector, float]:
    """Coefficients of the projection of an element on the span of others, and the norm of what is left."""
    if not len(k):
        return np.zeros(0), float(np.sqrt(max(kappa, 0.0)))
    alpha = np.linalg.solve(H, k)
    left: float = max(float(kappa - k @ alpha), 0.0)
    return np.asarray(alpha, np.float64), float(np.sqrt(left))


def projection(
    X: Matrix,
    y: Vector,
    task: Sequence[int],
    M: Matrix,
    kernel: Kernel,
    B: float,
    eta: float,
    plus: bool = False,
    weights: Vector | None = None,
) -> Batch:
    """mtbprj: project on the active set, else add, else give the cheapest element away to the others.

    With B infinite it is the Projectron, with ``plus`` the Projectron++, which moves on margin errors too.
    M is a matrix, or one for each round, as tasks come.
    """
    grams, run = moments(X, task, M, kernel), Batch()
    J: list[int] = []
    beta: dict[int, float] = {}
    w = np.ones(len(X)) if weights is None else weights
    for t, (G, _) in enumerate(grams):
        margin = sum(beta[j] * G[j, t] for j in J)
        alpha, left = residual(G[np.ix_(J, J)], G[J, t], G[t, t])
        moved = w[t] > 0 and y[t] * margin <= 0
        if moved and left <= eta:
            beta = {j: beta[j] + w[t] * y[t] * a for j, a in zip(J, alpha, strict=True)}
            run.projected += 1
        elif moved:
            beta[t] = w[t] * y[t]
            if len(J) < B:
                J.append(t)
            else:
                _give_away(G, J, beta, t)
                run.evicted += 1
        elif w[t] > 0 and plus and 0 < y[t] * margin < 1 and 1 - y[t] * margin > left / eta:
            loss, length = 1 - y[t] * margin, G[J, t] @ alpha
            tau = min(loss / length, 2 * (loss - left / eta) / length, 1.0)
            beta = {j: beta[j] + tau * w[t] * y[t] * a for j, a in zip(J, alpha, strict=True)}
            moved = True
        run.predictions(margin, moved, J)
        run.after.append(float(sum(beta[j] * G[j, t] for j in J)))
    return run


def _give_away(G: Matrix, J: list[int], beta: dict[int, Any], t: int) -> None:
    """Drop the element whose loss is smallest, its projection on the others being kept; ties go to the oldest.

    ``beta`` has a coefficient for each element, or one for every task.
    """
    cost = []
    for j in J:
        others = [j_other for j_other in [*J, t] if j_other != j]
        cost.append(np.linalg.norm(beta[j]) * residual(G[np.ix_(others, others)], G[others, j], G[j, j])[1])
    r = J[int(np.argmin(cost))]
    J.remove(r)
    J.append(t)
    gamma, _ = residual(G[np.ix_(J, J)], G[J, r], G[r, r])
    for j, share in zip(J, gamma, strict=True):
        beta[j] = beta[j] + beta[r] * share
    del beta[r]


def shared_projection(
    X: Matrix, y: Vector, task: Sequence[int], M: Matrix, kernel: Kernel, B: float, eta: float
) -> Batch:
    """mtbprj-2: projections without task markers, a coefficient for every task and active element."""
    G, run = plain(X, kernel), Batch()
    J: list[int] = []
    beta: dict[int, Vector] = {}
    for t in range(len(X)):
        i = task[t]
        margin = sum(beta[j][i] * G[j, t] for j in J)
        moved = y[t] * margin <= 0
        if moved:
            alpha, left = residual(G[np.ix_(J, J)], G[J, t], G[t, t])
            if left <= eta:
                for j, a in zip(J, alpha, strict=True):
                    beta[j] = beta[j] + y[t] * a * M[:, i]
                run.projected += 1
            else:
                beta[t] = y[t] * M[:, i]
                if len(J) < B:
                    J.append(t)
                else:
                    _give_away(G, J, beta, t)
                    run.evicted += 1
        run.predictions(margin, moved, J)
    return run
