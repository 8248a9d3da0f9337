"""Vector field regression with matrix-valued kernels, also divergence-free or curl-free."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from os import PathLike
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from coterie import persistence, spec
from coterie._compiled.core.checks import require, require_finite, require_shape
from coterie.data.input import Input, InputOptions, ReadContext
from coterie.parameters import Parameters, tags
from coterie.settings import check_fields
from coterie.tasks.relations.matrices import check_symmetric, square
from coterie.types import Array, Arrays, Json, Labels, Records

from . import memory
from .designs import logger
from .solvers import positive_factor
from .target_codes import numbers

if TYPE_CHECKING:
    from sklearn.utils import Tags


#: The kernel matrix of pairs is made in blocks of this many entries when predicting.
BLOCK_ENTRIES = 2**22

#: The number of arrays with the size of the kernel matrix that are needed to compute it.
MATRICES = 4


@np.errstate(under="ignore")
def _gaussian(X: Array, Z: Array, sigma: float) -> tuple[Array, Array, Array]:
    """Return δ = x - z for all pairs of points, shape (n, m, D), r² = ‖δ‖²/sigma², and exp(-r²/2)/sigma²."""
    delta = X[:, None, :] - Z[None, :, :]
    r2 = np.einsum("nmd,nmd->nm", delta, delta) / sigma**2
    return delta, r2, np.exp(-r2 / 2) / sigma**2


class FieldKernel(ABC):
    """Base class of matrix-valued kernels Γ(x, z), for vector fields of p components at points x and z."""

    @abstractmethod
    def blocks(self, X: Array, Z: Array, p: int) -> Array:
        """Return Γ(x, z), a p x p matrix, for all pairs of points, shape (n, m, p, p)."""

    @abstractmethod
    def slopes(self, X: Array, Z: Array, p: int) -> Array:
        """Return the derivatives ∂Γ_ij/∂x_k by the D coordinates of x.

        They have the shape (n, m, p, p, D), for all pairs of points.
        """


class _Derivatives(FieldKernel):
    """Second derivatives of the Gaussian: Γ = e^(-r²/2)/sigma² [sign δδ'/sigma² + g(r²) I], which has D components.

    The base class of two kernels; δ = x - z, and r = ‖δ‖/sigma.
    """

    sigma: float
    sign: ClassVar[float]
    slope: ClassVar[float]  # of g

    def __post_init__(self) -> None:
        spec.check_positive("sigma", self.sigma)

    @abstractmethod
    def _g(self, r2: Array, D: int) -> Array:
        """Return g(r²), the factor of the identity matrix in the formula of the class."""

    def _inside(self, delta: Array, r2: Array, p: int) -> Array:
        """Return the matrix in brackets of the formula of the class for all pairs of points."""
        D = delta.shape[2]
        if p != D:
            raise ValueError(f"y must have a component for each of the {D} coordinates of X, got {p} components")
        inner = np.einsum("nmi,nmj->nmij", delta, delta)
        # sign is 1 or -1, so dividing by it multiplies
        inner /= self.sign * self.sigma**2
        inner += self._g(r2, D)[:, :, None, None] * np.eye(D)
        return np.asarray(inner)

    def blocks(self, X: Array, Z: Array, p: int) -> Array:
        delta, r2, height = _gaussian(X, Z, self.sigma)
        return self._inside(delta, r2, p) * height[:, :, None, None]

    def slopes(self, X: Array, Z: Array, p: int) -> Array:
        delta, r2, height = _gaussian(X, Z, self.sigma)
        inside, eye = self._inside(delta, r2, p), np.eye(p)
        # product rule: ∂(δδ')_ij/∂x_k = δ_ik δ_j + δ_jk δ_i, then g's slope, then that of the Gaussian
        slopes = self.sign * (np.einsum("ik,nmj->nmijk", eye, delta) + np.einsum("jk,nmi->nmijk", eye, delta))
        # ∂r²/∂x_k = 2 δ_k / sigma²; 1 / sigma² is multiplied in the last line
        slopes += 2 * self.slope * np.einsum("ij,nmk->nmijk", eye, delta)
        slopes -= np.einsum("nmij,nmk->nmijk", inside, delta)
        return np.asarray(slopes / self.sigma**2 * height[:, :, None, None, None])


@spec.part
class DivergenceFree(_Derivatives):
    """Divergence-free kernel: Γ(x, z) = e^(-r²/2)/sigma² [δδ'/sigma² + ((D - 1) - r²) I], δ = x - z, r = |δ|/sigma.

    Every field that it makes has divergence zero, as the velocity of an incompressible fluid (ROS11 §6.1).

    Examples
    --------
    >>> DivergenceFree(sigma=1.0).blocks(np.zeros((1, 2)), np.zeros((1, 2)), 2)[0, 0]
    array([[1., 0.],
           [0., 1.]])
    """

    sign: ClassVar[float] = 1.0
    slope: ClassVar[float] = -1.0

    sigma: float = 1.0

    def _g(self, r2: Array, D: int) -> Array:
        return (D - 1) - r2


@spec.part
class CurlFree(_Derivatives):
    """Curl-free kernel: Γ(x, z) = e^(-r²/2)/sigma² [I - δδ'/sigma²], δ = x - z, r = |δ|/sigma.

    Every field that it makes is the gradient of a potential, as an electrostatic one (ROS11 §6.1).

    Examples
    --------
    >>> CurlFree(sigma=1.0).blocks(np.zeros((1, 2)), np.zeros((1, 2)), 2)[0, 0]
    array([[1., 0.],
           [0., 1.]])
    """

    sign: ClassVar[float] = -1.0
    slope: ClassVar[float] = 0.0

    sigma: float = 1.0

    def _g(self, r2: Array, D: int) -> Array:
        return np.ones_like(r2)


@spec.part
class FieldMixture(FieldKernel):
    """Mixture of kernels, mix · DivergenceFree + (1 - mix) · CurlFree, for the Helmholtz components of any field.

    Examples
    --------
    >>> FieldMixture(mix=0.5, sigma=2.0)
    FieldMixture(mix=0.5, sigma=2.0)
    """

    mix: float = 0.5
    sigma: float = 1.0

    def __post_init__(self) -> None:
        spec.check_positive("sigma", self.sigma)
        if not 0 <= self.mix <= 1:
            raise ValueError(f"mix must lie between 0 (curl-free) and 1 (divergence-free), got {self.mix!r}")

    def blocks(self, X: Array, Z: Array, p: int) -> Array:
        free, other = DivergenceFree(self.sigma), CurlFree(self.sigma)
        return self.mix * free.blocks(X, Z, p) + (1 - self.mix) * other.blocks(X, Z, p)

    def slopes(self, X: Array, Z: Array, p: int) -> Array:
        free, other = DivergenceFree(self.sigma), CurlFree(self.sigma)
        return self.mix * free.slopes(X, Z, p) + (1 - self.mix) * other.slopes(X, Z, p)


@spec.part
class Separable(FieldKernel):
    """Separable kernel: Γ(x, z) = exp(-r²/(2 sigma²)) B, with a positive semidefinite matrix B.

    Examples
    --------
    >>> Separable(sigma=1.0, matrix=[[1.0, 0.5], [0.5, 1.0]]).blocks(np.zeros((1, 2)), np.zeros((1, 2)), 2)[0, 0]
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    sigma: float = 1.0
    matrix: ArrayLike | None = None

    def __post_init__(self) -> None:
        spec.check_positive("sigma", self.sigma)
        if self.matrix is not None:
            B = square(self.matrix, "matrix")
            check_symmetric(B, "matrix")
            # a singular B is allowed, whose zero eigenvalues rounding can make negative
            if np.linalg.eigvalsh(B)[0] < -1e-10 * np.abs(B).max():
                raise ValueError("matrix must be positive semidefinite, got one with a negative eigenvalue")
            object.__setattr__(self, "matrix", B)

    def blocks(self, X: Array, Z: Array, p: int) -> Array:
        _, _, height = _gaussian(X, Z, self.sigma)
        # without the 1 / sigma² of second derivatives
        return np.asarray((height * self.sigma**2)[:, :, None, None] * self._matrix(p))

    def slopes(self, X: Array, Z: Array, p: int) -> Array:
        delta, _, height = _gaussian(X, Z, self.sigma)
        return np.asarray(-np.einsum("ij,nmk,nm->nmijk", self._matrix(p), delta, height))

    def _matrix(self, p: int) -> Array:
        B = np.eye(p) if self.matrix is None else np.asarray(self.matrix)
        if len(B) != p:
            raise ValueError(f"matrix must have one row per component: got {len(B)} rows for {p} components")
        return B


@spec.estimator
class VectorFieldRidge(Parameters):
    """Ridge regression of a vector field: (Γ + alpha I) c = vec(Y), f(x) = Σ_i Γ(x, x_i) c_i (ROS11 §6.1).

    Γ is the matrix-valued kernel, Y has the values of the field at the points x_i, c_i are coefficient vectors, and vec
    stacks vectors.

    Parameters
    ----------
    kernel : kernel of fields, optional
        ``DivergenceFree``, ``CurlFree``, ``FieldMixture`` or ``Separable``;
        by default ``FieldMixture(mix=0.5, sigma=1.0)``.
    alpha : float > 0, default=1.0
        See :class:`MultitaskKernelRidge`.

    Attributes
    ----------
    dual_coef_ : ndarray, shape (n, D)
        A vector for each point.

    Notes
    -----
    O((n D)³ / 3) once. A field has as many components as its points have coordinates; with ``Separable`` it may
    have any number of them. Its gradient, divergence and curl are exact derivatives of the prediction.

    Raises
    ------
    ValueError
        For alpha <= 0, fields of another dimension than their points, NaN or infinity.
    MemoryError
        If the (n D, n D) kernel matrix would not fit in memory.

    Examples
    --------
    >>> import numpy as np, coterie as ct
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(60, 2))
    >>> whirl = np.column_stack([-X[:, 1], X[:, 0]])
    >>> model = ct.batch.VectorFieldRidge(ct.batch.DivergenceFree(sigma=1.0), alpha=1e-4).fit(X, whirl)
    >>> model.predict([[0.5, 0.0]]).round(2)
    array([[-0. ,  0.5]])
    >>> bool(abs(model.divergence([[0.3, 0.2]])[0]) < 1e-9)
    True
    """

    _kind = "regressor"
    _learns_streams = False
    _learned = "dual_coef_"
    _learning = "fit"

    kernel: FieldKernel | None = None
    alpha: float = spec.field(default=1.0, above=0)

    def fit(self, X: Records, y: Labels) -> Self:
        """Fit the field to values y, shape (n, D), at points X, shape (n, D)."""
        if y is None:
            raise ValueError("VectorFieldRidge requires y to be passed, but the target y is None")
        check_fields(self)
        fresh = self.__sklearn_clone__()
        points = fresh._points(X, reset=True)
        Y = numbers(y, len(points))
        what = f"a kernel matrix of {len(points)} x {len(points)} points with {Y.size // len(points)} components"
        memory.require(MATRICES * 8.0 * Y.size**2, what, "take fewer points")
        logger.info("%s", what)
        fresh.dual_coef_ = _solved(self._kernel(), points, Y, self.alpha)
        fresh.X_fit_ = points
        return self._take_over(fresh)

    def predict(self, X: Records) -> Array:
        """Predict the field at each point, shape (m, D)."""
        field = self._summed(X, self._kernel().blocks, "nmij,mj->ni")
        return field[:, 0] if self.dual_coef_.ndim == 1 else field

    def gradient(self, X: Records) -> Array:
        """Return the derivatives ∂f_i/∂x_k of the predicted field at each point, shape (m, D, D)."""
        return self._summed(X, self._kernel().slopes, "nmijk,mj->nik")

    def divergence(self, X: Records) -> Array:
        """Return the divergence Σ_i ∂f_i/∂x_i of the predicted field at each point, shape (m,)."""
        self._check_square("divergence")
        return np.asarray(np.trace(self.gradient(X), axis1=1, axis2=2))

    def curl(self, X: Records) -> Array:
        """Return the curl ∂f_k/∂x_i - ∂f_i/∂x_k of the predicted field at each point, shape (m, D, D)."""
        self._check_square("curl")
        slopes = self.gradient(X)
        # antisymmetric; in three dimensions its three entries are the usual curl
        return np.asarray(slopes.transpose(0, 2, 1) - slopes)

    def score(self, X: Records, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return R², averaged over components."""
        from sklearn.metrics import r2_score

        return float(r2_score(y, self.predict(X), sample_weight=sample_weight))

    def save(self, path: str | PathLike[str]) -> None:
        """Save the model to one file atomically; see :func:`coterie.load`."""
        persistence.save(self, path)

    def __dump__(self) -> tuple[Json, Arrays]:
        """Return the fitted attributes as JSON data and named arrays."""
        names = [name for name in ("X_fit_", "dual_coef_") if name in self.__dict__]
        data = self.input_.to_saved()[0]["kept"] if self._fitted else {}
        return data, {name: self.__dict__[name] for name in names}

    def __restore__(self, data: Json, arrays: Arrays) -> Self:
        """Restore the fitted attributes from the result of :meth:`__dump__`.

        Raises
        ------
        ValueError
            If the points, their coefficients and the kernel do not fit together.
        """
        kernel = self._kernel()
        if data:
            X, C = (arrays.get(name, np.zeros(0)) for name in ("X_fit_", "dual_coef_"))
            require(X.dtype == C.dtype == np.float64 and C.ndim in (1, 2), "a field has points and coefficients")
            require_shape("X_fit_", X, len(C), None)
            require(X.size and C.size, "a field has no points")
            for name, array in (("X_fit_", X), ("dual_coef_", C)):
                require_finite(name, array)
            kernel.blocks(X[:1], X[:1], C.size // len(C))
            self.input_ = Input()
            self.input_.restore_form({"kept": data, "view": None}, {}, X.shape[1])
            self.X_fit_, self.dual_coef_ = X, C
        return self

    def __sklearn_tags__(self) -> Tags:
        return tags("regressor", several_outputs=True, sparse=False)

    def _check_square(self, what: str) -> None:
        self._check_fitted()
        components = 1 if self.dual_coef_.ndim == 1 else self.dual_coef_.shape[1]
        if components != self.n_features_in_:
            raise ValueError(
                f"{what} needs as many components as coordinates, got {components} and {self.n_features_in_}"
            )

    def _kernel(self) -> FieldKernel:
        kernel = FieldMixture() if self.kernel is None else self.kernel
        if isinstance(kernel, type):
            spec.require_part("kernel", kernel, "DivergenceFree(sigma=1.0)")
        if not isinstance(kernel, FieldKernel):
            raise TypeError(f"kernel must be a vector field kernel such as DivergenceFree(), got {kernel!r}")
        return kernel

    def _points(self, X: Records, reset: bool) -> Array:
        if reset:
            self.input_ = Input()
        self.input_.configure(InputOptions(type(self).__name__))
        rows = self.input_.read(X, None, None, ReadContext(learning=reset, first=reset)).rows
        if not rows.dense:
            raise TypeError("Sparse data was passed, but dense data is required. Use X.toarray() to convert")
        return np.asarray(rows.values)

    def _summed(self, X: Records, values: Callable[[Array, Array, int], Array], sums: str) -> Array:
        """Return Σ_j values(x_i, x_j) c_j at each point x_i, in blocks of points.

        The x_j are the training points, and c_j their coefficients.
        """
        self._check_fitted()
        points = self._points(X, reset=False)
        C = self.dual_coef_ if self.dual_coef_.ndim == 2 else self.dual_coef_[:, None]
        height = max(BLOCK_ENTRIES // (C.size * C.shape[1] * points.shape[1]), 1)
        blocks = (points[first : first + height] for first in range(0, len(points), height))
        return np.concatenate([np.einsum(sums, values(block, self.X_fit_, C.shape[1]), C) for block in blocks])


def _solved(kernel: FieldKernel, points: Array, Y: Array, alpha: float) -> Array:
    """Solve (Γ + alpha I) c = vec(Y) for the coefficient vectors c, one per training point."""
    # the rows of G are (point, component), as Y.ravel() has them
    G = kernel.blocks(points, points, Y.size // len(points)).transpose(0, 2, 1, 3).reshape(Y.size, Y.size)
    return positive_factor(G, alpha)(Y.ravel()).reshape(Y.shape)
