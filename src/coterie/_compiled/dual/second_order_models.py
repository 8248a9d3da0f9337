"""Second-order models (primal and dual), and the loop over a block of records with known covariances.

With f_t the margin of record t by the mean of the weights, and Q_tu the covariance of the margins of two records, a
move at t changes the later records of its block by

    f_u += Q_ut (y_t - f_t) / (r_t + Q_tt),        Q_uv -= Q_ut Q_tv / (r_t + Q_tt),

r_t being the noise of its label. The loop needs no records, weights or support vectors; the model absorbs the records
with an update at the end of the block, by matrix products.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from coterie._compiled.core.arrays import Dropped, resized, roomy
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
from coterie._compiled.core.points import Kernel, Points, as_matrix
from coterie._compiled.core.records import Rows

from .factors import backward, border, forward, root
from .stores import Store, dense_points, widened

Matrix = NDArray[np.float64]
Codes = NDArray[np.int64]
#: M for all pairs of two lists of tasks.
Shares = Callable[[Codes, Codes], Matrix]
#: M between the tasks of a model's rows and those of some records, a row a record, and its diagonal for the records.
Pairs = tuple[Matrix, Matrix]

#: The maximum number of bytes of the square matrix of the primal form.
LARGEST = 2**33
#: Records of unseen tasks whose variances are computed at once.
ROWS = 128


class Forecast(NamedTuple):
    """The predicted margins of a block before its labels: means f (n,) and covariances Q (n, n).

    H is a matrix for the update.

    H is P Φ' in the primal, L⁻¹ times the Gram matrix with the block in the dual, with one column per record.
    """

    f: Matrix
    Q: Matrix
    H: Matrix

    def select(self, places: Codes) -> Forecast:
        """Return the forecast of the records at these indices."""
        return Forecast(self.f[places], self.Q[np.ix_(places, places)], self.H[:, places])


class FullPrimal(NamedTuple):
    """Primal second-order model of K tasks and d features: weights W (K, d), and their covariance P (K d, K d).

    ``moments`` (K, d, d) has the blocks of S = Σ φφ'/r and ``sums`` (K, d) is b = Σ yφ/r over the learned records, from
    which P and W are recomputed when M or the number of features changes. ``count`` is the number of these records.
    """

    W: Any
    P: Any
    moments: Any
    sums: Any
    count: Any
    sharing: Any

    @classmethod
    def empty(cls, sharing: Any, features: int) -> Self:
        """Return a model without tasks and records."""
        none, moments = np.zeros((0, features)), np.zeros((0, features, features))
        return cls(none, np.zeros((0, 0)), moments, none.copy(), np.zeros(1, np.int64), sharing)

    def check(self, bounds: Bounds) -> None:
        """Raise ValueError for arrays of wrong shape, or with entries that are not finite."""
        K, d = bounds.tasks, bounds.features
        require_shape("W", self.W, K, d)
        require_shape("P", self.P, K * d, K * d)
        require_shape("moments", self.moments, K, d, d)
        require_shape("sums", self.sums, K, d)
        require_counts("count", self.count, 1)
        for name in ("W", "P", "moments", "sums"):
            require_finite(name, getattr(self, name))

    @property
    def solver(self) -> Literal["primal", "dual"]:
        """The name of this form of the model, "primal"."""
        return "primal"

    def to_saved(self, tasks: int) -> Self:
        """Return the model itself; it has no unused capacity."""
        return self

    @property
    def tasks_of_rows(self) -> Codes:
        """The task of each row of W."""
        return np.arange(len(self.W))

    def convert(self, rows: Rows, rounds: Codes) -> Points:
        """Convert records to `Points` in the storage of the model."""
        return dense_points(rows, rounds, self.W.shape[1])

    def with_room(self, kernel: Kernel, shares: Shares, tasks: int, features: int, changed: bool) -> Self:
        """Resize the model for this many tasks and features: O((K d)³) if the relation matrix M has ``changed``.

        Otherwise only new features and then new tasks are added: O((K d)²) and O(d (K d)²).
        """
        check_size(tasks * features)
        M = _between_all(shares, tasks)
        if not changed:
            return self._with_features(features, M)._with_tasks(M)
        sums = resized(self.sums, (tasks, features))
        moments = resized(self.moments, (tasks, features, features))
        return self._replace(sums=sums, moments=moments).refreshed(M)

    def _with_features(self, features: int, M: Matrix) -> Self:
        """Add features without data; the relation matrix M gives the covariances of their weights."""
        K, d = self.W.shape
        if features == d:
            return self
        P, new = np.zeros((K, features, K, features)), np.arange(d, features)
        # (K, d, K, d) puts the new features behind the old ones of each task in one assignment
        P[:, :d, :, :d] = self.P.reshape(K, d, K, d)
        P[:, new, :, new] = M[:K, :K]
        return self._replace(
            W=resized(self.W, (K, features)),
            P=P.reshape(K * features, K * features),
            moments=resized(self.moments, (K, features, features)),
            sums=resized(self.sums, (K, features)),
        )

    def _with_tasks(self, M: Matrix) -> Self:
        """Add tasks without records; M is the relation matrix of all tasks.

        For the weights w of the model and new ones v, E v = (M_vw ⊗ I)(b - S W), cov(v, w) = (M_vw ⊗ I)(I - S P) and
        cov(v) = M_vv ⊗ I - (M_vw ⊗ I) S cov(w, v).
        """
        (K, d), n = self.W.shape, len(M) - len(self.W)
        if n == 0:
            return self
        toward = M[K:, :K]
        # blocks M_vw,ik S_k of (M_vw ⊗ I) S, which is block diagonal in the tasks of w
        seen = (toward[:, :, None, None] * self.moments).transpose(0, 2, 1, 3).reshape(n * d, K * d)
        across = np.kron(toward, np.eye(d)) - seen @ self.P
        own = np.kron(M[K:, K:], np.eye(d)) - seen @ across.T
        return self._replace(
            W=np.concatenate([self.W, toward @ self._unexplained()]),
            P=np.block([[self.P, across.T], [across, (own + own.T) / 2]]),
            moments=resized(self.moments, (K + n, d, d)),
            sums=resized(self.sums, (K + n, d)),
        )

    def _unexplained(self) -> Matrix:
        """Return for each task the sum of (y - f) x / r over its records, with the current margins f."""
        return np.asarray(self.sums - np.einsum("kij,kj->ki", self.moments, self.W))

    def drop_tasks(self, dropped: Dropped) -> Self:
        """Remove the moments and sums of tasks; :meth:`with_room` recomputes the rest."""
        return self._replace(sums=dropped.moved_copy(self.sums), moments=dropped.moved_copy(self.moments))

    def refreshed(self, M: Matrix) -> Self:
        """Return the model with weights and covariance recomputed for the relation matrix M: O((K d)³)."""
        K, d = self.sums.shape
        prior = np.kron(M, np.eye(d))
        P = prior
        if int(self.count[0]):
            # M need not have an inverse here: a pooled relation has a singular M, and A does not exist
            blocks = prior.reshape(K, d, K * d)
            inner = np.matmul(self.moments, blocks).reshape(K * d, K * d) + np.eye(K * d)
            # P (I + S (M ⊗ I)) = M ⊗ I up to transposition; the prior is symmetric, so it is not transposed
            P = np.linalg.solve(inner.T, prior).T
            P = (P + P.T) / 2
        return self._replace(P=P, W=(P @ self.sums.ravel()).reshape(K, d))

    def forecast(self, kernel: Kernel, X: Points, codes: Codes, shares: Shares) -> Forecast:
        """Return means and covariances of the margins of records of known tasks, in O(n K d²)."""
        x = np.asarray(X.rows.values, np.float64)
        n, d = x.shape
        H = np.zeros((len(self.P), n))
        # φ is zero outside the block of its task, so d columns of P per task are all that is read
        for i in np.unique(codes):
            of_task = codes == i
            H[:, of_task] = self.P[:, i * d : (i + 1) * d] @ x[of_task].T
        own = H.reshape(-1, d, n)
        Q = np.zeros((n, n))
        for i in np.unique(codes):
            Q[codes == i] = x[codes == i] @ own[i]
        return Forecast(np.einsum("td,td->t", x, self.W[codes]), Q, H)

    def absorb(self, X: Points, codes: Codes, y: Matrix, noise: Matrix, forecast: Forecast) -> Self:
        """Learn a block's records in place, O((K d)²) each; ``forecast`` is from before the block."""
        # Q + R for the whole block: P -= H (Q + R)⁻¹H' and W += H (Q + R)⁻¹(y - f), in any order of records
        lower = root(forecast.Q + np.diag(noise))
        E = forward(lower, forecast.H.T)
        self.P[:] -= E.T @ E
        self.W[:] += (forward(lower, y - forecast.f) @ E).reshape(self.W.shape)
        # moments and sums do not depend on M: with them P can be computed again when M changes
        for x, i, label, r in zip(np.asarray(X.rows.values, np.float64), codes, y, noise, strict=True):
            self.moments[i] += np.outer(x, x / r)
            self.sums[i] += label / r * x
        self.count[0] += len(y)
        return self

    def predict(
        self, kernel: Kernel, X: Points, codes: Codes, pairs: Pairs, with_variances: bool
    ) -> tuple[Matrix, Matrix]:
        """Return the means of the margins of records of known tasks; variances are zero unless ``with_variances``."""
        d = self.W.shape[1]
        x, unseen = np.hsplit(np.asarray(X.rows.values, np.float64), [d])
        q = pairs[1] * (unseen**2).sum(1)  # features that no record had vary as before any came
        for i in np.unique(codes) if with_variances else ():
            own = slice(i * d, (i + 1) * d)
            q[codes == i] += np.einsum("td,td->t", x[codes == i] @ self.P[own, own], x[codes == i])
        return np.einsum("td,td->t", x, self.W[codes]), q

    def predict_unseen(self, kernel: Kernel, X: Points, pairs: Pairs, with_variances: bool) -> tuple[Matrix, Matrix]:
        """Return means and variances as :meth:`predict` does, for records of unseen tasks."""
        shares, diagonal = pairs
        x = np.asarray(X.rows.values, np.float64)[:, : self.W.shape[1]]
        f, q = np.einsum("td,td->t", x, shares @ self._unexplained()), diagonal * X.squares
        # in pieces, because (records, tasks, features) numbers are written at once
        for first in range(0, len(x), ROWS) if with_variances else ():
            piece = slice(first, first + ROWS)
            along = np.einsum("kij,tj->tki", self.moments, x[piece])
            # with seen = S (M ⊗ I)φ, q = φ'(M ⊗ I - (M ⊗ I)(S - S P S)(M ⊗ I))φ
            seen = (along * shares[piece, :, None]).reshape(len(along), -1)
            q[piece] -= np.einsum("tk,tki,ti->t", shares[piece] ** 2, along, x[piece])
            q[piece] += np.einsum("ti,ti->t", seen @ self.P, seen)
        return f, q

    def weights(self, shares: Shares, tasks: int, features: int) -> Matrix:
        """Return the mean weights, shape (n_tasks, features)."""
        return np.asarray(self.W)


class Bordered(NamedTuple):
    """Dual second-order model: support vectors, and the Cholesky factor of their Gram matrix plus the noise.

    ``noise`` is the diagonal of R; ``tasks`` and ``births`` are the task and the round of each support vector;
    ``count`` is their number. The arrays have spare capacity.
    """

    factor: Any
    alpha: Any
    beta: Any
    labels: Any
    noise: Any
    tasks: Any
    births: Any
    count: Any
    sharing: Any
    store: Store

    @classmethod
    def empty(cls, sharing: Any, store: Store) -> Self:
        """Return a model without tasks and records."""
        (alpha, beta, labels, noise), (tasks, births) = np.zeros((4, 0)), np.zeros((2, 0), np.int64)
        count = np.zeros(1, np.int64)
        return cls(np.zeros((0, 0)), alpha, beta, labels, noise, tasks, births, count, sharing, store)

    def check(self, bounds: Bounds) -> None:
        """Raise ValueError for too many support vectors, unknown tasks, or numbers that are not finite."""
        require_counts("count", self.count, 1)
        slots, n = len(self.alpha), int(self.count[0])
        require(n <= slots, f"{n} support vectors do not fit into {slots} slots")
        require_shape("factor", self.factor, slots, slots)
        require_finite("factor", self.factor[:n, :n])
        for name in ("alpha", "beta", "labels", "noise"):
            require_shape(name, getattr(self, name), slots)
            require_finite(name, getattr(self, name)[:n])
        for name in ("tasks", "births"):
            require_shape(name, getattr(self, name), slots)
        require((self.noise[:n] > 0).all() and (self.factor.diagonal()[:n] > 0).all(), "the noise is not positive")
        require_within("tasks of support vectors", self.tasks[:n], 0, bounds.tasks - 1)
        require_within("births", self.births, 0, MOST_ROUNDS)
        self.store.check(slots, bounds.features)

    @property
    def solver(self) -> Literal["primal", "dual"]:
        """The name of this form of the model, "dual"."""
        return "dual"

    def to_saved(self, tasks: int) -> Self:
        """Return the model without unused capacity."""
        n = int(self.count[0])
        arrays = self._of_slots(lambda array: array[:n])
        return self._replace(factor=self.factor[:n, :n], store=self.store.to_saved(n), **arrays)

    def _of_slots(self, change: Callable[[Any], Any]) -> dict[str, Any]:
        """Apply a function to each array that has one entry per support vector; return the results by field name."""
        return {name: change(getattr(self, name)) for name in ("alpha", "beta", "labels", "noise", "tasks", "births")}

    @property
    def tasks_of_rows(self) -> Codes:
        """The task of each support vector."""
        return np.asarray(self.tasks[: int(self.count[0])])

    def points(self) -> Points:
        """The records of the support vectors."""
        return self.store.points(int(self.count[0]), self.births)

    def convert(self, rows: Rows, rounds: Codes) -> Points:
        """Convert records to `Points` in the storage of the model."""
        return self.store.convert(rows, rounds)

    def with_room(self, kernel: Kernel, shares: Shares, tasks: int, features: int, changed: bool) -> Self:
        """Resize the model for this many features; recompute the factor if the relation matrix M has ``changed``."""
        model = self
        if features > self.store.features:
            model = self._replace(store=self.store.with_features(features))
        return model.refreshed(kernel, shares) if changed else model

    def drop_tasks(self, dropped: Dropped) -> Self:
        """Remove the support vectors of tasks; :meth:`with_room` recomputes the factor."""
        tasks = dropped.renumbered(self.tasks_of_rows)
        slots = np.flatnonzero(tasks >= 0)
        arrays = self._of_slots(lambda array: array[slots]) | {"tasks": tasks[slots]}
        factor, count = np.zeros((len(slots), len(slots))), np.array([len(slots)])
        return self._replace(factor=factor, count=count, store=self.store.select(slots), **arrays)

    def refreshed(self, kernel: Kernel, shares: Shares) -> Self:
        """Recompute the factor for another relation matrix M, in place: O(m³) for m support vectors."""
        n = int(self.count[0])
        if n:
            tasks = self.tasks[:n]
            G = self._products(kernel, self.points()) * shares(tasks, tasks)
            self.factor[:n, :n] = root(G + np.diag(self.noise[:n]))
            self.beta[:n] = forward(self.factor, self.labels[:n])
            self.alpha[:n] = backward(self.factor, self.beta[:n])
        return self

    def forecast(self, kernel: Kernel, X: Points, codes: Codes, shares: Shares) -> Forecast:
        """Return means and covariances of the margins of records of known tasks: O(n m) kernel values, O(n m²).

        Raises
        ------
        ValueError
            If values of the kernel are not finite, or one of k(x, x) is negative.
        """
        n = int(self.count[0])
        G = self._products(kernel, X) * shares(self.tasks[:n], codes)
        Q = np.zeros((len(codes), len(codes)))
        kernel.values(X, X, Q)
        if not kernel.trusted:
            _check_values(kernel, G, Q)
        V = forward(self.factor, G)
        # beta'V = y'L'⁻¹L⁻¹G = alpha'G, with the V that the covariances need anyway
        return Forecast(self.beta[:n] @ V, Q * shares(codes, codes) - V.T @ V, V)

    def absorb(self, X: Points, codes: Codes, y: Matrix, noise: Matrix, forecast: Forecast) -> Self:
        """Extend the factor by a block's records, O(m²) each; ``forecast`` is from before the block."""
        m, n = int(self.count[0]), len(y)
        lower = root(forecast.Q + np.diag(noise))
        model = self._with_slots(m + n)
        border(model.factor, m, forecast.H, lower)
        slots = np.arange(m, m + n)
        # f is beta'V, the part of the labels that the old rows explain: forward substitution goes on from there
        model.beta[slots] = forward(lower, y - forecast.f)
        model.labels[slots], model.noise[slots], model.tasks[slots], model.births[slots] = y, noise, codes, X.rounds
        model.count[0] = m + n
        # beta keeps its old entries when the factor is bordered, alpha changes in all of them
        model.alpha[: m + n] = backward(model.factor, model.beta[: m + n])
        holder = np.full(len(model.store.squares), -1)
        holder[slots] = np.arange(n)
        return model._replace(store=model.store.with_records(holder, X, X.squares))

    def predict(
        self, kernel: Kernel, X: Points, codes: Codes, pairs: Pairs, with_variances: bool
    ) -> tuple[Matrix, Matrix]:
        """Return the means of the margins of records of known tasks; variances are zero unless ``with_variances``.

        A mean needs alpha only, O(m) kernel values; a variance the factor, O(m²).
        """
        return self.predict_unseen(kernel, X, pairs, with_variances)

    def predict_unseen(self, kernel: Kernel, X: Points, pairs: Pairs, with_variances: bool) -> tuple[Matrix, Matrix]:
        """Return means and variances as :meth:`predict` does, for records of known or unseen tasks."""
        (shares, diagonal), n = pairs, int(self.count[0])
        G = self._products(kernel, X) * shares.T
        f = np.asarray(self.alpha[:n] @ G)
        if not with_variances:
            return f, np.zeros(len(f))
        V = forward(self.factor, G)
        return f, diagonal * kernel.diagonal(X) - np.einsum("st,st->t", V, V)

    def weights(self, shares: Shares, tasks: int, features: int) -> Matrix:
        """Return the mean weights under the linear kernel, shape (n_tasks, features): O(m d + K² d)."""
        n, raw = int(self.count[0]), np.zeros((tasks, features))
        X = as_matrix(self.points())
        for i in np.unique(self.tasks[:n]):
            of_task = np.flatnonzero(self.tasks[:n] == i)
            raw[i] = X[of_task].T @ self.alpha[of_task]
        return np.asarray(_between_all(shares, tasks) @ raw)

    def to_primal(self, shares: Shares, tasks: int, features: int) -> FullPrimal:
        """Convert a model with the linear kernel to the primal form: O(m d² + (K d)³)."""
        n = int(self.count[0])
        check_size(tasks * features)
        X, weight = as_matrix(self.points()).astype(np.float64), 1.0 / self.noise[:n]
        moments, sums = np.zeros((tasks, features, features)), np.zeros((tasks, features))
        for i in np.unique(self.tasks[:n]):
            of_task = self.tasks[:n] == i
            # the moments of a task are dense, so its records are written out one task at a time
            rows = X[of_task].toarray() if hasattr(X, "toarray") else X[of_task]
            moments[i] = (rows * weight[of_task, None]).T @ rows
            sums[i] = rows.T @ (self.labels[:n] * weight)[of_task]
        primal = FullPrimal(sums, np.zeros((0, 0)), moments, sums, self.count, self.sharing)
        return primal.refreshed(_between_all(shares, tasks))

    def _products(self, kernel: Kernel, X: Points) -> Matrix:
        """Return the kernel values of the support vectors with records, shape (m, n)."""
        out = np.zeros((len(X.squares), int(self.count[0])))
        if out.size:
            kernel.values(X, widened(self.points(), X.features), out)
        return np.asarray(out.T)

    def _with_slots(self, need: int) -> Self:
        size = roomy(len(self.alpha), need)
        arrays = self._of_slots(lambda array: resized(array, (size,)))
        return self._replace(factor=resized(self.factor, (size, size)), store=self.store.with_room(size), **arrays)


def check_size(weights: int) -> None:
    """Raise ValueError if the covariance matrix of this many weights would not fit into memory."""
    if 8 * weights**2 > LARGEST:
        raise ValueError(
            f"solver='primal' needs {8e-9 * weights**2:.0f} GB for the covariance of {weights} weights; "
            "choose solver='dual'"
        )


def _between_all(shares: Shares, tasks: int) -> Matrix:
    """Return the relation matrix M of all tasks, shape (n_tasks, n_tasks)."""
    every = np.arange(tasks)
    return shares(every, every)


def _check_values(kernel: Kernel, G: Matrix, Q: Matrix) -> None:
    if not (np.isfinite(Q).all() and np.isfinite(G).all()):
        raise ValueError(f"the kernel {kernel!r} is not finite for records of this stream")
    if (Q.diagonal() < 0).any():
        raise ValueError(f"the kernel {kernel!r} is not positive semidefinite: k(x, x) < 0 for a record of this stream")


class Course(NamedTuple):
    """The input of the loop over a block: margins, covariances, labels and noise of its records, and the rule.

    ``f`` and ``Q`` are updated in the loop. A record is learned if y·f does not exceed ``threshold`` (or is below it,
    if ``strict`` is 0). With ``shrunk`` 1 the public margin is r f / (r + Q_tt), else f. A record of weight w has the
    noise r / w; one of weight 0 is not learned.
    """

    f: Any
    Q: Any
    y: Any
    noise: Any
    weights: Any
    threshold: float
    strict: int
    shrunk: int


@compiled
def _reported(course, t):
    """Return the margin of record t as users see it, shrunk by its variance if the rule says so."""
    f, r = course.f[t], course.noise[t]
    total = r + course.Q[t, t]
    # CCG08 Figure 2 has the present record inside the inverse, which shrinks f by r / (r + q)
    return f * r / total if course.shrunk == 1 and total > 0.0 else f


@compiled
def _called(course, t):
    signed_margin = course.y[t] * course.f[t]
    return signed_margin < course.threshold or (course.strict == 0 and signed_margin == course.threshold)


@compiled
def learn_course(course, n, delay, margins, own, step_sizes):
    """Learn the first n records of a block; with a ``delay``, predict the records after them."""
    f, Q = course.f, course.Q
    # rows and columns up to t are not updated: a record's row is read in its own round for the last time
    for t in range(n):
        if delay == 0:
            margins[t] = _reported(course, t)
        elif n + t < f.size:
            margins[t] = _reported(course, n + t)
        own[t] = _reported(course, t)
        # a weight of 0 divides to infinity or NaN, and the condition below leaves the record out
        total = course.noise[t] / course.weights[t] + Q[t, t]
        # a record of length 0 has no variance and no noise under a relative noise: it moves nothing
        if course.weights[t] > 0.0 and total > 0.0 and _called(course, t):
            step = (course.y[t] - f[t]) / total
            step_sizes[t] = abs(step)
            for u in range(t + 1, f.size):
                # row t stays as it is while the rows behind it change, so no copy of it is needed
                along = Q[t, u]
                f[u] += along * step
                for v in range(t + 1, f.size):
                    Q[u, v] -= along * Q[t, v] / total
