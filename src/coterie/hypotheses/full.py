"""Second-order hypotheses that keep all covariances: of the weights (primal) or of the support vectors (dual)."""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie import spec
from coterie.numeric.arrays import roomy
from coterie.numeric.points import Points, as_matrix
from coterie.numeric.second_order import Bordered, FullPrimal
from coterie.numeric.stores import DenseStore, SparseStore, joined

from .factors import backward, border, forward, root

Matrix = NDArray[np.float64]
Codes = NDArray[np.int64]
#: M for all pairs of two lists of tasks.
Shares = Callable[[Codes, Codes], Matrix]

#: M between the tasks of two lots of records, and its diagonal for the first of them.
Pairs = tuple[Matrix, Matrix]

#: What the dual form has one number of for each support vector.
FLAT = ("alpha", "beta", "labels", "noise", "tasks", "births")

SOLVERS = ("auto", "primal", "dual")
#: The primal form keeps a square matrix of the weights; beyond so many bytes it is refused.
LARGEST = 2**33


class Forecast(NamedTuple):
    """What is known of the margins of a block before its labels: means f (n,), covariances Q (n, n), and H.

    H is P Φ' in the primal, L⁻¹ times the Gram matrix with the block in the dual: a column a record.
    """

    f: Matrix
    Q: Matrix
    H: Matrix


@spec.part
class FullCovariance:
    """All weights of all tasks with their whole covariance, whose prior is M ⊗ I (CCG08 §4).

    With φ the record x in the block of its task, S = Σ φφ'/r and b = Σ yφ/r over the records moved on,

        P = (A ⊗ I + S)⁻¹,    W = P b,    mean of a margin f = W·φ,    its variance q = φ'Pφ,

    or, with the multitask Gram matrix G_st = M_{i_s i_t} k(x_s, x_t), its column g of a record and
    κ = M_ii k(x, x),

        α = (R + G)⁻¹ y,    f = α·g,    q = κ - g'(R + G)⁻¹g.

    Parameters
    ----------
    kernel : kernel
        Of :mod:`coterie.kernels`; any but the linear one needs the dual form.
    solver : {"auto", "primal", "dual"}
        Which of the two; ``"auto"`` begins with the dual one and goes over to the primal one when there are as many
        support vectors as weights, for dense records and the linear kernel.
    dtype : {"float64", "float32"}
        Of the records kept; all else is float64.

    Raises
    ------
    ValueError
        For an unknown solver or dtype, or for the primal form with a kernel that is not linear.

    Examples
    --------
    >>> from coterie import kernels
    >>> FullCovariance(kernels.Linear(), solver="primal")
    FullCovariance(kernel=LinearKernel(), solver='primal', dtype='float64')
    """

    kernel: Any
    solver: Literal["auto", "primal", "dual"] = "auto"
    dtype: Literal["float64", "float32"] = "float64"

    forms: ClassVar[tuple[str, ...]] = ("levels", "repelling levels", "columns")

    def __post_init__(self) -> None:
        if self.solver not in SOLVERS:
            raise ValueError(f"solver must be one of {', '.join(SOLVERS)}, got {self.solver!r}")
        if self.dtype not in ("float64", "float32"):
            raise ValueError(f"dtype must be 'float64' or 'float32', got {self.dtype!r}")
        if self.solver == "primal" and not self.linear:
            raise ValueError(
                f"solver='primal' keeps a weight a feature and needs the linear kernel, got {self.kernel!r}"
            )

    @property
    def linear(self) -> bool:
        """Whether features have weights."""
        return type(self.kernel).__name__ == "LinearKernel"

    def start(self, sharing: Any, features: int, dense: bool) -> Any:
        """A model of no task and no record."""
        count = np.zeros(1, np.int64)
        if self.solver == "primal":
            empty = np.zeros((0, features))
            moments = np.zeros((0, features, features))
            return FullPrimal(empty, np.zeros((0, 0)), moments, empty.copy(), count, sharing)
        store = (DenseStore if dense else SparseStore).empty(features, self.dtype)
        alpha, beta, labels, noise = np.zeros((4, 0))
        tasks, births = np.zeros((2, 0), np.int64)
        return Bordered(np.zeros((0, 0)), alpha, beta, labels, noise, tasks, births, count, sharing, store)

    def outgrown(self, model: Any, tasks: int, features: int, dense: bool) -> bool:
        """Whether it is time for the primal form."""
        if self.solver != "auto" or not (self.linear and dense and hasattr(model, "alpha")):
            return False
        return int(model.count[0]) >= tasks * features


# -- the primal form --------------------------------------------------------------------------------------------------


def primal_of(model: Bordered, M: Matrix, features: int) -> FullPrimal:
    """The primal form of support vectors with the linear kernel: O(m d² + (K d)³)."""
    n, K = int(model.count[0]), len(M)
    check_size(K * features)
    X, weight = model.store.values[:n].astype(np.float64), 1.0 / model.noise[:n]
    moments, sums = np.zeros((K, features, features)), np.zeros((K, features))
    for i in np.unique(model.tasks[:n]):
        of_task = model.tasks[:n] == i
        moments[i] = (X[of_task] * weight[of_task, None]).T @ X[of_task]
        sums[i] = X[of_task].T @ (model.labels[:n] * weight)[of_task]
    return rebuilt(FullPrimal(sums, np.zeros((0, 0)), moments, sums, model.count, model.sharing), M)


def rebuilt(model: FullPrimal, M: Matrix) -> FullPrimal:
    """Weights and covariance made anew of the moments: P = (A ⊗ I + S)⁻¹ = (M ⊗ I)(I + S (M ⊗ I))⁻¹."""
    K, d = model.sums.shape
    prior = np.kron(M, np.eye(d))
    P = prior
    if int(model.count[0]):
        blocks = prior.reshape(K, d, K * d)
        inner = np.matmul(model.moments, blocks).reshape(K * d, K * d) + np.eye(K * d)
        P = np.linalg.solve(inner.T, prior).T
        P = (P + P.T) / 2
    return model._replace(P=P, W=(P @ model.sums.ravel()).reshape(K, d))


def check_size(weights: int) -> None:
    """Refuse a covariance that no memory holds."""
    if 8 * weights**2 > LARGEST:
        raise ValueError(
            f"solver='primal' keeps the covariance of {weights} weights, {8e-9 * weights**2:.0f} GB; give solver='dual'"
        )


def widened(model: FullPrimal, M: Matrix, features: int) -> FullPrimal:
    """The model with room for so many tasks and features, under M."""
    check_size(len(M) * features)
    K, d = model.sums.shape
    tasks = len(M) - K
    more = (0, features - d)
    sums = np.pad(model.sums, ((0, tasks), more))
    return rebuilt(model._replace(sums=sums, moments=np.pad(model.moments, ((0, tasks), more, more))), M)


def _forecast_primal(model: FullPrimal, X: Points, codes: Codes) -> Forecast:
    """O(n K d²) by matrix products."""
    x = np.asarray(X.rows.values, np.float64)
    n, d = x.shape
    H = np.zeros((len(model.P), n))
    for i in np.unique(codes):
        of_task = codes == i
        H[:, of_task] = model.P[:, i * d : (i + 1) * d] @ x[of_task].T
    own = H.reshape(-1, d, n)
    Q = np.zeros((n, n))
    for i in np.unique(codes):
        Q[codes == i] = x[codes == i] @ own[i]
    return Forecast(np.einsum("td,td->t", x, model.W[codes]), Q, H)


def _absorb_primal(model: FullPrimal, X: Points, codes: Codes, y: Matrix, noise: Matrix, made: Forecast) -> FullPrimal:
    """Rank-one updates for all records of a block at once: O((K d)²) a record, by a matrix product."""
    lower = root(made.Q + np.diag(noise))
    E = forward(lower, made.H.T)
    model.P[:] -= E.T @ E
    model.W[:] += (forward(lower, y - made.f) @ E).reshape(model.W.shape)
    for x, i, label, r in zip(np.asarray(X.rows.values, np.float64), codes, y, noise, strict=True):
        model.moments[i] += np.outer(x, x / r)
        model.sums[i] += label / r * x
    model.count[0] += len(y)
    return model


# -- the dual form ----------------------------------------------------------------------------------------------------


def records_of(model: Bordered) -> Points:
    """The records of the support vectors."""
    return joined(model.store, int(model.count[0]), model.births)


def cross(kernel: Any, model: Bordered, X: Points) -> Matrix:
    """Kernel values of the support vectors with records, shape (m, n)."""
    out = np.zeros((len(X.squares), int(model.count[0])))
    if out.size:
        kernel.values(X, records_of(model), out)
    return np.asarray(out.T)


def _forecast_dual(model: Bordered, kernel: Any, X: Points, codes: Codes, shares: Shares) -> Forecast:
    """O(n m) kernel values, and O(n m²) by matrix products."""
    n = int(model.count[0])
    G = cross(kernel, model, X) * shares(model.tasks[:n], codes)
    Q = np.zeros((len(codes), len(codes)))
    kernel.values(X, X, Q)
    if not kernel.trusted:
        _check_kernel(kernel, G, Q)
    V = forward(model.factor, G)
    return Forecast(model.beta[:n] @ V, Q * shares(codes, codes) - V.T @ V, V)


def _check_kernel(kernel: Any, G: Matrix, Q: Matrix) -> None:
    if not (np.isfinite(Q).all() and np.isfinite(G).all()):
        raise ValueError(f"the kernel {kernel!r} is not finite for records of this stream")
    if (Q.diagonal() < 0).any():
        raise ValueError(f"the kernel {kernel!r} is not positive semidefinite: k(x, x) < 0 for a record of this stream")


def _absorb_dual(model: Bordered, X: Points, codes: Codes, y: Matrix, noise: Matrix, made: Forecast) -> Bordered:
    """Border the factor by the records of a block: O(m²) a record, by a matrix product."""
    m, n = int(model.count[0]), len(y)
    lower = root(made.Q + np.diag(noise))
    model = _roomy(model, m + n)
    border(model.factor, m, made.H, lower)
    slots = np.arange(m, m + n)
    model.beta[slots] = forward(lower, y - made.f)
    model.labels[slots], model.noise[slots], model.tasks[slots], model.births[slots] = y, noise, codes, X.rounds
    model.count[0] = m + n
    model.alpha[: m + n] = backward(model.factor, model.beta[: m + n])
    holder = np.full(len(model.store.squares), -1)
    holder[slots] = np.arange(n)
    return model._replace(store=model.store.put(holder, X, X.squares))


def _roomy(model: Bordered, need: int) -> Bordered:
    have = len(model.alpha)
    size = roomy(have, need)
    if size == have:
        return model
    more = (0, size - have)
    flat = {name: np.pad(getattr(model, name), more) for name in FLAT}
    return model._replace(factor=np.pad(model.factor, (more, more)), store=model.store.roomy(size), **flat)


def refreshed(model: Bordered, kernel: Any, shares: Shares) -> Bordered:
    """The factor made anew, under another M: O(m²) kernel values and O(m³)."""
    n = int(model.count[0])
    if not n:
        return model
    tasks = model.tasks[:n]
    G = cross(kernel, model, records_of(model)) * shares(tasks, tasks)
    model.factor[:n, :n] = root(G + np.diag(model.noise[:n]))
    model.beta[:n] = forward(model.factor, model.labels[:n])
    model.alpha[:n] = backward(model.factor, model.beta[:n])
    return model


# -- both -------------------------------------------------------------------------------------------------------------


@singledispatch
def forecast(model: Any, kernel: Any, X: Points, codes: Codes, shares: Shares) -> Forecast:
    """Means and covariances of the margins of records of known tasks; nothing is written."""
    raise TypeError(f"not a second-order model: {type(model).__name__}")


@singledispatch
def absorb(model: Any, X: Points, codes: Codes, y: Matrix, noise: Matrix, made: Forecast) -> Any:
    """The model after moves on the records of a block, ``made`` being what was told of them before the block."""
    raise TypeError(f"not a second-order model: {type(model).__name__}")


@singledispatch
def tell(model: Any, kernel: Any, X: Points, codes: Codes, pairs: Pairs, spread: bool) -> tuple[Matrix, Matrix]:
    """Means of the margins of records of known tasks and, if asked for, their variances (else zeros).

    ``pairs`` has M between the tasks of the model and those of the records, and its diagonal for the latter.
    """
    raise TypeError(f"not a second-order model: {type(model).__name__}")


@singledispatch
def tell_unseen(model: Any, kernel: Any, X: Points, pairs: Pairs, spread: bool) -> tuple[Matrix, Matrix]:
    """As :func:`tell`, for tasks that nobody has seen: a row of M a record."""
    raise TypeError(f"not a second-order model: {type(model).__name__}")


@forecast.register
def _(model: FullPrimal, kernel: Any, X: Points, codes: Codes, shares: Shares) -> Forecast:
    return _forecast_primal(model, X, codes)


@forecast.register
def _(model: Bordered, kernel: Any, X: Points, codes: Codes, shares: Shares) -> Forecast:
    return _forecast_dual(model, kernel, X, codes, shares)


absorb.register(FullPrimal, _absorb_primal)
absorb.register(Bordered, _absorb_dual)


@tell.register
def _(model: FullPrimal, kernel: Any, X: Points, codes: Codes, pairs: Pairs, spread: bool) -> tuple[Matrix, Matrix]:
    x, d = np.asarray(X.rows.values, np.float64), model.W.shape[1]
    q = np.zeros(len(x))
    for i in np.unique(codes) if spread else ():
        own = slice(i * d, (i + 1) * d)
        q[codes == i] = np.einsum("td,td->t", x[codes == i] @ model.P[own, own], x[codes == i])
    return np.einsum("td,td->t", x, model.W[codes]), q


@tell_unseen.register
def _(model: FullPrimal, kernel: Any, X: Points, pairs: Pairs, spread: bool) -> tuple[Matrix, Matrix]:
    rows, diagonal = pairs
    x = np.asarray(X.rows.values, np.float64)
    raw = model.sums - np.einsum("kij,kj->ki", model.moments, model.W)
    f, q = np.einsum("td,td->t", x, rows @ raw), diagonal * X.squares
    for t in np.arange(len(x)) if spread else ():
        seen = (model.moments @ x[t]) * rows[t][:, None]  # S (M ⊗ I)φ, and q = φ'(M ⊗ I - (M ⊗ I)(S - S P S)(M ⊗ I))φ
        q[t] -= rows[t] ** 2 @ (model.moments @ x[t] @ x[t]) - seen.ravel() @ model.P @ seen.ravel()
    return f, q


@tell.register
def _(model: Bordered, kernel: Any, X: Points, codes: Codes, pairs: Pairs, spread: bool) -> tuple[Matrix, Matrix]:
    return _tell_dual(model, kernel, X, *pairs, spread)


@tell_unseen.register
def _(model: Bordered, kernel: Any, X: Points, pairs: Pairs, spread: bool) -> tuple[Matrix, Matrix]:
    return _tell_dual(model, kernel, X, *pairs, spread)


def _tell_dual(
    model: Bordered, kernel: Any, X: Points, rows: Matrix, diagonal: Matrix, spread: bool
) -> tuple[Matrix, Matrix]:
    """A prediction needs alpha only, O(m) kernel values; a variance the factor, O(m²)."""
    n = int(model.count[0])
    G = cross(kernel, model, X) * rows.T
    f = np.asarray(model.alpha[:n] @ G)
    if not spread:
        return f, np.zeros(len(f))
    V = forward(model.factor, G)
    return f, diagonal * kernel.diagonal(X) - np.einsum("st,st->t", V, V)


@singledispatch
def weights(model: Any, shares: Shares, tasks: int, features: int) -> Matrix:
    """The mean weights, one row a task; of support vectors, those of the linear kernel: O(m d + K² d)."""
    return np.asarray(model.W)


@weights.register
def _(model: Bordered, shares: Shares, tasks: int, features: int) -> Matrix:
    n, raw = int(model.count[0]), np.zeros((tasks, features))
    X = as_matrix(records_of(model))
    for i in np.unique(model.tasks[:n]):
        of_task = np.flatnonzero(model.tasks[:n] == i)
        raw[i] = X[of_task].T @ model.alpha[of_task]
    every = np.arange(tasks)
    return np.asarray(shares(every, every) @ raw)
