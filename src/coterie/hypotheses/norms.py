"""Norms of several views together: what makes weights of the sums of the moves, W = ∇ ½‖V‖²."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from coterie import spec
from coterie.numeric import potentials
from coterie.numeric.arrays import grown
from coterie.numeric.one_space import DenseMatrix, SparseMatrix, WideMatrix
from coterie.numeric.own_spaces import Flat
from coterie.numeric.view_forms import all_points, edges_of, points_of

Widths = Sequence[int]
Rounds = NDArray[np.int64]


@spec.part
class SchattenNorm:
    """‖V‖_S2p = (Σ σ_i^2p)^(1/2p) over the singular values of V = [v_1 … v_K], views of one space (FOR09 3.1.1).

    W = ∇ ½‖V‖² = V F with F = Tr(G^p)^(1/p - 1) G^(p - 1), G = V'V; 0 at V = 0.

    Parameters
    ----------
    p : float >= 1
        1 is the Perceptron on all views side by side.

    Raises
    ------
    ValueError
        If p is below 1 or not finite.

    Examples
    --------
    >>> SchattenNorm(2.0)
    SchattenNorm(p=2.0)
    """

    one_space: ClassVar[bool] = True

    p: float = 2.0

    def __post_init__(self) -> None:
        check_p(self.p)

    def potential(self, n: int) -> potentials.Schatten:
        """The products of all pairs of n views, or of n features where those are fewer; none yet."""
        return potentials.Schatten(np.zeros((n, n)), np.zeros(n * n), np.zeros(n * n), np.zeros(2), float(self.p))

    def primal(self, widths: Widths, dense: bool) -> tuple[Any, potentials.Schatten]:
        """Weights of nothing, and the products for them."""
        store = self.store(widths, dense)
        return store, self.potential(max(widths) if _is_wide(store) else len(widths))

    def store(self, widths: Widths, dense: bool) -> Any:
        """Weights of nothing."""
        d, K = max(widths), len(widths)
        if dense:
            kind: Any = WideMatrix if d < K else DenseMatrix
            return kind(np.zeros((K, d)), np.zeros((K, d)), np.zeros((K, d)))
        return SparseMatrix(np.zeros((d, K)), np.zeros((d, K)))

    def fit(self, store: Any, before: Widths, widths: Widths) -> Any:
        """The weights with room for views so wide."""
        if hasattr(store, "cached"):  # arrays have one width, which is known from the first on
            return store
        return type(store)(*(grown(array, max(widths)) for array in store))

    def weights(self, store: Any, potential: Any, widths: Widths) -> list[NDArray[np.float64]]:
        """W, view by view."""
        if hasattr(store, "cached"):
            return list(store.cached.copy())
        K = len(widths)
        return list(potential.factor.reshape(K, K) @ store.weights[: max(widths)].T)

    def lengths(self, store: Any, potential: Any) -> NDArray[np.float64]:
        """‖w_k‖ for every view, (diag FGF)^(1/2); there is no store in the dual form."""
        if _is_wide(store):
            return np.asarray(np.linalg.norm(store.cached, axis=1))
        K = len(potential.gram)
        F = potential.factor.reshape(K, K)
        return np.asarray(np.sqrt(np.maximum(np.einsum("ka,ab,bk->k", F.T, potential.gram, F), 0.0)))

    def values(self, kernels: Sequence[Any], X: Any, Z: Any, widths: Widths) -> NDArray[np.float64]:
        """Products of Z's records with X's, (n, m, K²): entry (a, b) is k(z_a, x_b); 0 for absent views."""
        K, ((rows, present, rounds), (others, there, births)) = len(widths), (X, Z)
        n, m = len(present), len(there)
        out = np.zeros((n * K, m * K))
        if n and m:
            left, right = (all_points(*each, max(widths)) for each in ((rows, K, rounds), (others, K, births)))
            kernels[0].values(left, right, out)
        made = out.reshape(n, K, m, K).transpose(0, 2, 3, 1) * there[None, :, :, None]
        return np.ascontiguousarray(made * present[:, None, None, :]).reshape(n, m, K * K)


@spec.part
class GroupNorm:
    """(Σ_k ‖v_k‖_r^2p)^(1/2p): views of any sizes, the r-norm inside each and the 2p-norm over them.

    W_k = ∇_k ½‖V‖² = ‖V‖^(2 - 2p) ‖v_k‖_r^(2p - r) sign(v_k)|v_k|^(r - 1). With r = 2 it is the Schatten norm of views
    at right angles (FOR09 4.1.6); with r = 2p the norm of all features side by side, whose potential is that of the
    p-norm Perceptron.

    Parameters
    ----------
    p : float >= 1
        1 adds views up, more prefers those with longer sums.
    inner : float >= 2
        r.

    Raises
    ------
    ValueError
        If p is below 1, inner below 2, or either is not finite.

    Examples
    --------
    >>> GroupNorm(3.0)
    GroupNorm(p=3.0, inner=2.0)
    """

    one_space: ClassVar[bool] = False

    p: float = 2.0
    inner: float = 2.0

    def __post_init__(self) -> None:
        check_p(self.p)
        if not spec.is_number(self.inner) or not 2.0 <= self.inner < np.inf:
            raise ValueError(f"inner must be finite and at least 2, got {self.inner!r}")

    def potential(self, K: int) -> potentials.Group:
        """The lengths of the views, none yet."""
        parts = (np.zeros(K), np.zeros(K), np.zeros(K), np.zeros(2))
        return potentials.Group(*parts, float(self.p), float(self.inner))

    def primal(self, widths: Widths, dense: bool) -> tuple[Flat, potentials.Group]:
        """Weights of nothing, and the lengths for them."""
        return self.store(widths, dense), self.potential(len(widths))

    def store(self, widths: Widths, dense: bool) -> Flat:
        """Weights of nothing."""
        edges = edges_of(widths)
        return Flat(np.zeros(edges[-1]), np.zeros(edges[-1]), edges[:-1].copy())

    def fit(self, store: Flat, before: Widths, widths: Widths) -> Flat:
        """The weights with room for views so wide; what grows gets half as much again."""
        room = np.diff(np.append(store.offsets, len(store.weights)))
        need = [
            have if width <= have else max(width, have + have // 2) for have, width in zip(room, widths, strict=True)
        ]
        if np.array_equal(need, room):
            return store
        made = self.store(need, dense=False)
        for k, width in enumerate(room):
            old, new = (
                slice(store.offsets[k], store.offsets[k] + width),
                slice(made.offsets[k], made.offsets[k] + width),
            )
            made.weights[new], made.twin[new] = store.weights[old], store.twin[old]
        return made

    def weights(self, store: Flat, potential: Any, widths: Widths) -> list[NDArray[np.float64]]:
        """W, view by view."""
        bent = np.sign(store.weights) * np.abs(store.weights) ** (self.inner - 1.0)
        return [
            potential.factor[k] * bent[store.offsets[k] : store.offsets[k] + width] for k, width in enumerate(widths)
        ]

    def lengths(self, store: Any, potential: Any) -> NDArray[np.float64]:
        """F_k ‖v_k‖_r^(r - 1) for every view: the length of its weights, in the norm dual to r, so ‖w_k‖ for r = 2."""
        sums = np.maximum(potential.sums, 0.0)
        return np.asarray(potential.factor * sums ** (1.0 - 1.0 / self.inner))

    def values(self, kernels: Sequence[Any], X: Any, Z: Any, widths: Widths) -> NDArray[np.float64]:
        """Products of the records of Z with those of X, view by view, (n, m, K); 0 for absent views."""
        K, ((rows, present, rounds), (others, there, births)) = len(widths), (X, Z)
        n, m = len(present), len(there)
        made = np.zeros((K, n, m))
        for k, width in enumerate(widths if n and m else ()):
            left, right = points_of(rows, K, k, rounds, width), points_of(others, K, k, births, width)
            kernels[k].values(left, right, made[k])
        made *= present.T[:, :, None] * there.T[:, None, :]
        return np.ascontiguousarray(made.transpose(1, 2, 0))


def _is_wide(store: Any) -> bool:
    return hasattr(store, "cached") and store.weights.shape[1] < store.weights.shape[0]


def check_p(p: Any) -> None:
    """Refuse what is no exponent."""
    if not spec.is_number(p) or not 1.0 <= p < np.inf:
        raise ValueError(f"p must be finite and at least 1, got {p!r}")
