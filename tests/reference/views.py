"""Perceptrons of several views (FOR09 chapters 2 to 4), straight from their definitions.

A record is a list of K vectors, None where a view is absent: φ of an absent view is the zero of the feature space. The
Schatten norm is taken from a full singular value decomposition at every round; kernels are sums over all records that
moved, made anew at every round; the mean hypothesis is the mean of all weights there were.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.perceptron import step

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Record = Sequence[Any]
Kernel = Callable[[Any, Any], float]
Rule = Callable[[float, float], float]


@dataclass
class Batch:
    """Margins before each label, by the latest weights and by the mean of those before each round; the steps."""

    margins: list[float] = field(default_factory=list)
    means: list[float] = field(default_factory=list)
    step_sizes: list[float] = field(default_factory=list)
    weights: Any = None


def schatten(X: Matrix, power: float) -> float:
    """(Σ σ^power)^(1/power) over the singular values."""
    return float((np.linalg.svd(X, compute_uv=False) ** power).sum() ** (1.0 / power))


def gradient(V: Matrix, p: float) -> Matrix:
    """∇ ½‖V‖²_S2p by the singular value decomposition; 0 at 0."""
    left, values, right = np.linalg.svd(V, full_matrices=False)
    norm = (values ** (2 * p)).sum() ** (1 / (2 * p))
    if norm == 0:
        return np.zeros_like(V)
    return np.asarray(left @ np.diag(norm ** (2 - 2 * p) * values ** (2 * p - 1)) @ right)


def spectral_gradient(V: Matrix, gradient: Callable[[Vector], Vector]) -> Matrix:
    """L diag(∇Φ*(σ)) R' for V = L diag(σ) R', of the min(d, K) singular values of a d × K matrix (CCG08 Theorem 9)."""
    left, values, right = np.linalg.svd(V, full_matrices=False)
    return np.asarray(left @ np.diag(gradient(values)) @ right)


def group_norm(vs: Sequence[Vector], p: float, r: float) -> float:
    """(Σ_k ‖v_k‖_r^2p)^(1/2p)."""
    return float(sum((np.abs(v) ** r).sum() ** (2 * p / r) for v in vs) ** (1 / (2 * p)))


def group_gradient(vs: Sequence[Vector], p: float, r: float) -> list[Vector]:
    """∇ ½ (Σ_k ‖v_k‖_r^2p)^(1/p), view by view; 0 where a view is 0."""
    whole, gradients = group_norm(vs, p, r), []
    for v in vs:
        inside = float((np.abs(v) ** r).sum() ** (1 / r))
        scale = 0.0 if inside == 0 else whole ** (2 - 2 * p) * inside ** (2 * p - r)
        gradients.append(scale * np.sign(v) * np.abs(v) ** (r - 1))
    return gradients


def mistake(signed_margin: float, squared: float) -> float:
    """The Perceptron's step."""
    return 1.0 if signed_margin <= 0 else 0.0


def passive_aggressive(C: float) -> Rule:
    """PA-I with a record of that squared length."""
    return partial(step, "PA-I", C)


def matrix_perceptron(
    X: Sequence[Record], y: Vector, p: float, rule: Rule = mistake, gauge: Callable[[Vector], Vector] | None = None
) -> Batch:
    """MMP (Figure 3.1): the columns of X_t are the views; ``gauge`` is another gradient of the singular values."""
    d = next(len(x) for x in X[0] if x is not None)
    batch, V = Batch(), np.zeros((d, len(X[0])))
    total = np.zeros_like(V)
    for t, record in enumerate(X):
        here = np.stack([np.zeros(d) if x is None else x for x in record], axis=1)
        W = gradient(V, p) if gauge is None else spectral_gradient(V, gauge)
        batch.margins.append(float(np.trace(W.T @ here)))
        batch.means.append(float(np.trace(total.T @ here)) / max(t, 1))
        total += W
        tau = rule(y[t] * batch.margins[-1], (2 * p - 1) * schatten(here, 2 * p) ** 2)
        V = V + tau * y[t] * here
        batch.step_sizes.append(tau)
    batch.weights = gradient(V, p) if gauge is None else spectral_gradient(V, gauge)
    return batch


def orthogonal_perceptron(
    X: Sequence[Record], y: Vector, p: float, r: float = 2.0, rule: Rule = mistake, beyond: float = 0.0
) -> Batch:
    """OMMP (Figure 4.1) with its factor, and the group norm with another norm inside.

    ``beyond`` is the first value of a coordinate that every view has beside its own, and in which all records are 0.
    """
    if beyond:
        X = [[None if x is None else np.append(x, 0.0) for x in record] for record in X]
    widths = [max(0 if record[k] is None else len(record[k]) for record in X) for k in range(len(X[0]))]
    batch, vs = Batch(), [np.zeros(d) for d in widths]
    if beyond:
        vs = [np.append(v[:-1], beyond) for v in vs]
    total = [np.zeros(d) for d in widths]
    smooth = 2 * p - 1 + (r - 1 if r != 2 else 0)
    for t, record in enumerate(X):
        here = [np.zeros(d) if x is None else x for x, d in zip(record, widths, strict=True)]
        ws = group_gradient(vs, p, r)
        batch.margins.append(float(sum(w @ x for w, x in zip(ws, here, strict=True))))
        batch.means.append(float(sum(w @ x for w, x in zip(total, here, strict=True))) / max(t, 1))
        total = [before + w for before, w in zip(total, ws, strict=True)]
        tau = rule(y[t] * batch.margins[-1], smooth * group_norm(here, p, r) ** 2)
        vs = [v + tau * y[t] * x for v, x in zip(vs, here, strict=True)]
        batch.step_sizes.append(tau)
    batch.weights = group_gradient(vs, p, r)
    return batch


def kernel_perceptron(X: Sequence[Record], y: Vector, p: float, kernel: Callable[[int, int, Any, Any], float]) -> Batch:
    """MMP in the dual form: V'V and V'X as sums of kernel values over the records that moved, F from V'V (3.1.16, 17).

    ``kernel(a, b, x, z)`` is that of view a with view b; OMMP is the kernel that is 0 where a and b differ.
    """
    K, batch = len(X[0]), Batch()
    moved: list[tuple[float, Record]] = []
    factors: list[tuple[int, Matrix]] = []
    for t, record in enumerate(X):
        G = sum((c * e * cross(r, s, kernel) for c, r in moved for e, s in moved), np.zeros((K, K)))
        F = factor(G, p)
        products = [c * cross(s, record, kernel) for c, s in moved]
        batch.margins.append(float(np.trace(F.T @ sum(products, np.zeros((K, K))))))
        predictions = sum(np.trace(before.T @ sum(products[:n], np.zeros((K, K)))) for n, before in factors)
        batch.means.append(float(predictions) / max(t, 1))
        factors.append((len(moved), F))
        own = np.linalg.eigvalsh(cross(record, record, kernel)).clip(0)
        tau = mistake(y[t] * batch.margins[-1], (2 * p - 1) * float((own**p).sum() ** (1 / p)))
        batch.step_sizes.append(tau)
        if tau > 0:
            moved.append((tau * y[t], record))
    return batch


def cross(X: Record, Z: Record, kernel: Callable[[int, int, Any, Any], float]) -> Matrix:
    """X'Z in the feature space."""
    return np.array(
        [[0.0 if x is None or z is None else kernel(a, b, x, z) for b, z in enumerate(Z)] for a, x in enumerate(X)]
    )


def factor(G: Matrix, p: float) -> Matrix:
    """Tr(G^p)^(1/p - 1) G^(p - 1); 0 at 0."""
    values, vectors = np.linalg.eigh(G)
    values = values.clip(0)
    if values.max() <= 0:
        return np.zeros_like(G)
    return np.asarray((values**p).sum() ** (1 / p - 1) * vectors @ np.diag(values ** (p - 1)) @ vectors.T)


def in_parallel(X: Sequence[Record], y: Vector, kernels: Sequence[Kernel], rule: Rule = mistake) -> Batch:
    """A Perceptron a view, Σ_s c_s k(x_s, x), moving by its own margin; predictions by the sum of all (CCG08 §8)."""
    K, batch = len(kernels), Batch()
    moved: list[list[tuple[float, Any]]] = [[] for _ in range(K)]
    past: list[list[tuple[float, Any]]] = [[] for _ in range(K)]  # the weights before each round, added up
    for t, record in enumerate(X):
        steps, margin, mean = 0.0, 0.0, 0.0
        for k, x in enumerate(record):
            now = list(moved[k])
            if x is not None:
                own = sum(c * kernels[k](z, x) for c, z in now)
                margin += own
                mean += sum(c * kernels[k](z, x) for c, z in past[k]) / max(t, 1)
                tau = rule(y[t] * own, kernels[k](x, x))
                steps += tau
                if tau > 0:
                    moved[k].append((tau * y[t], x))
            past[k] += now
        batch.margins.append(margin)
        batch.means.append(mean)
        batch.step_sizes.append(steps)
    return batch
