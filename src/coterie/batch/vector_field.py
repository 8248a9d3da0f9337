"""Vector fields: regression with kernels whose values are matrices, free of divergence or of curl."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from coterie import persistence, spec
from coterie.streams import tabular

from . import memory
from .base import BatchParameters, numbers
from .designs import positive_factor

Array = NDArray[Any]

#: The kernel matrix of pairs is made in blocks of so many entries when predicting.
BLOCK_ENTRIES = 2**22


#: Arrays of the size of the kernel matrix that are there at once while it is made.
MATRICES = 4


def _gaussian(X: Array, Z: Array, sigma: float) -> tuple[Array, Array, Array]:
    """Delta = x - z for all pairs, (n, m, D), its squared length over sigma², and exp(-r²/(2 sigma²)) / sigma²."""
    delta = X[:, None, :] - Z[None, :, :]
    r2 = np.einsum("nmd,nmd->nm", delta, delta) / sigma**2
    return delta, r2, np.exp(-r2 / 2) / sigma**2


def _same(D: int, p: int) -> int:
    """D, if the field has as many components."""
    if p != D:
        raise ValueError(f"y must have a component for each of the {D} coordinates of X, got {p} components")
    return D


@spec.part
class DivergenceFree:
    """Fields without sources: Γ(x, z) = e^(-r²/2sigma²)/sigma² [δδ'/sigma² + ((D - 1) - r²/sigma²) I], δ = x - z.

    Every field that it makes has divergence zero, as the velocity of an incompressible fluid (ROS11 §6.1).

    Examples
    --------
    >>> DivergenceFree(sigma=1.0).blocks(np.zeros((1, 2)), np.zeros((1, 2)), 2)[0, 0]
    array([[1., 0.],
           [0., 1.]])
    """

    sigma: float = 1.0

    def __post_init__(self) -> None:
        spec.check_positive("sigma", self.sigma)

    def blocks(self, X: Array, Z: Array, p: int) -> Array:
        """Γ for all pairs, shape (n, m, p, p), p being the number of components."""
        delta, r2, height = _gaussian(X, Z, self.sigma)
        D = _same(X.shape[1], p)
        made = np.einsum("nmi,nmj->nmij", delta, delta) / self.sigma**2
        made += ((D - 1) - r2)[:, :, None, None] * np.eye(D)
        return np.asarray(made * height[:, :, None, None])

    def slopes(self, X: Array, Z: Array, p: int) -> Array:
        """∂Γ_ij/∂x_k for all pairs, shape (n, m, p, p, D)."""
        delta, r2, height = _gaussian(X, Z, self.sigma)
        D, s2 = _same(X.shape[1], p), self.sigma**2
        eye = np.eye(D)
        inside = np.einsum("nmi,nmj->nmij", delta, delta) / s2 + ((D - 1) - r2)[:, :, None, None] * eye
        made = np.einsum("ik,nmj->nmijk", eye, delta) + np.einsum("jk,nmi->nmijk", eye, delta)
        made -= 2 * np.einsum("ij,nmk->nmijk", eye, delta)
        made -= np.einsum("nmij,nmk->nmijk", inside, delta)
        return np.asarray(made / s2 * height[:, :, None, None, None])


@spec.part
class CurlFree:
    """Fields without vortices: Γ(x, z) = e^(-r²/2sigma²)/sigma² [I - δδ'/sigma²], δ = x - z.

    Every field that it makes is the gradient of a potential, as an electrostatic one (ROS11 §6.1).

    Examples
    --------
    >>> CurlFree(sigma=1.0).blocks(np.zeros((1, 2)), np.zeros((1, 2)), 2)[0, 0]
    array([[1., 0.],
           [0., 1.]])
    """

    sigma: float = 1.0

    def __post_init__(self) -> None:
        spec.check_positive("sigma", self.sigma)

    def blocks(self, X: Array, Z: Array, p: int) -> Array:
        """Γ for all pairs, shape (n, m, p, p), p being the number of components."""
        delta, _, height = _gaussian(X, Z, self.sigma)
        made = np.eye(_same(X.shape[1], p)) - np.einsum("nmi,nmj->nmij", delta, delta) / self.sigma**2
        return np.asarray(made * height[:, :, None, None])

    def slopes(self, X: Array, Z: Array, p: int) -> Array:
        """∂Γ_ij/∂x_k for all pairs, shape (n, m, p, p, D)."""
        delta, _, height = _gaussian(X, Z, self.sigma)
        eye, s2 = np.eye(_same(X.shape[1], p)), self.sigma**2
        inside = eye - np.einsum("nmi,nmj->nmij", delta, delta) / s2
        made = -np.einsum("ik,nmj->nmijk", eye, delta) - np.einsum("jk,nmi->nmijk", eye, delta)
        made -= np.einsum("nmij,nmk->nmijk", inside, delta)
        return np.asarray(made / s2 * height[:, :, None, None, None])


@spec.part
class FieldMixture:
    """mix · DivergenceFree + (1 - mix) · CurlFree: any field, as its two parts (Helmholtz) that are learned together.

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
        """Γ for all pairs, shape (n, m, p, p), p being the number of components."""
        free, other = DivergenceFree(self.sigma), CurlFree(self.sigma)
        return self.mix * free.blocks(X, Z, p) + (1 - self.mix) * other.blocks(X, Z, p)

    def slopes(self, X: Array, Z: Array, p: int) -> Array:
        """∂Γ_ij/∂x_k for all pairs, shape (n, m, p, p, D)."""
        free, other = DivergenceFree(self.sigma), CurlFree(self.sigma)
        return self.mix * free.slopes(X, Z, p) + (1 - self.mix) * other.slopes(X, Z, p)


@spec.part
class Separable:
    """Γ(x, z) = exp(-r²/(2 sigma²)) B, with one positive semidefinite matrix B for all pairs; the identity without.

    Examples
    --------
    >>> Separable(sigma=1.0, matrix=[[1.0, 0.5], [0.5, 1.0]]).blocks(np.zeros((1, 2)), np.zeros((1, 2)), 2)[0, 0]
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    sigma: float = 1.0
    matrix: Any = None

    def __post_init__(self) -> None:
        from coterie.relations.matrices import check_symmetric, square

        spec.check_positive("sigma", self.sigma)
        if self.matrix is not None:
            B = square(self.matrix, "matrix")
            check_symmetric(B, "matrix")
            if np.linalg.eigvalsh(B)[0] < -1e-10 * np.abs(B).max():
                raise ValueError("matrix must be positive semidefinite, and it has a negative eigenvalue")
            object.__setattr__(self, "matrix", B)

    def blocks(self, X: Array, Z: Array, p: int) -> Array:
        """Γ for all pairs, shape (n, m, p, p), p being the number of components."""
        _, _, height = _gaussian(X, Z, self.sigma)
        return np.asarray((height * self.sigma**2)[:, :, None, None] * self._matrix(p))

    def slopes(self, X: Array, Z: Array, p: int) -> Array:
        """∂Γ_ij/∂x_k for all pairs, shape (n, m, p, p, D)."""
        delta, _, height = _gaussian(X, Z, self.sigma)
        return np.asarray(-np.einsum("ij,nmk,nm->nmijk", self._matrix(p), delta, height))

    def _matrix(self, p: int) -> Array:
        B = np.eye(p) if self.matrix is None else np.asarray(self.matrix)
        if len(B) != p:
            raise ValueError(f"matrix of Separable has {len(B)} rows, and the field {p} components")
        return B


@persistence.register
class VectorFieldRidge(BatchParameters):
    """A vector field from measurements: (Γ + alpha I) c = vec(Y), f(x) = Σ_i Γ(x, x_i) c_i (ROS11 §6.1).

    Parameters
    ----------
    kernel : kernel of fields, optional
        :class:`DivergenceFree`, :class:`CurlFree`, :class:`FieldMixture` or :class:`Separable`;
        ``FieldMixture(mix=0.5, sigma=1.0)`` without.
    alpha : float > 0
        As in :class:`MultitaskKernelRidge`.

    Attributes
    ----------
    dual_coef_ : ndarray, shape (n, D)
        A vector for each point.

    Notes
    -----
    O((n D)³ / 3) once. A field has as many components as its points have coordinates; with :class:`Separable` it may
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
    >>> model = ct.VectorFieldRidge(ct.DivergenceFree(sigma=1.0), alpha=1e-4).fit(X, whirl)
    >>> model.predict([[0.5, 0.0]]).round(2)
    array([[-0. ,  0.5]])
    >>> bool(abs(model.divergence([[0.3, 0.2]])[0]) < 1e-9)
    True
    """

    _learned = "dual_coef_"

    def __init__(self, kernel: Any = None, alpha: float = 1.0) -> None:
        self.kernel = kernel
        self.alpha = alpha

    X_fit_: Array
    dual_coef_: Array
    n_features_in_: int
    dtype: ClassVar[Literal["float64"]] = "float64"

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from the field y, shape (n, D), at the points X, shape (n, D)."""
        if y is None:
            raise ValueError("VectorFieldRidge requires y to be passed, but the target y is None")
        spec.check_positive("alpha", self.alpha)
        fresh = type(self)(**self.get_params())
        points = fresh._points(X, reset=True)
        Y = numbers(y, len(points))
        needed = 8.0 * Y.size**2
        what = f"a kernel matrix of {len(points)} x {len(points)} points with {Y.size // len(points)} components"
        memory.require(MATRICES * needed, what, "take fewer points")
        fresh.dual_coef_ = _solved(self._kernel(), points, Y, self.alpha)
        fresh.X_fit_ = points
        return self._take_over(fresh)

    def predict(self, X: Any) -> Array:
        """The field at each point, shape (m, D)."""
        made = self._summed(X, "blocks", "nmij,mj->ni")
        return made[:, 0] if self.dual_coef_.ndim == 1 else made

    def gradient(self, X: Any) -> Array:
        """∂f_i/∂x_k of the prediction at each point, shape (m, D, D)."""
        return self._summed(X, "slopes", "nmijk,mj->nik")

    def divergence(self, X: Any) -> Array:
        """Σ_i ∂f_i/∂x_i of the prediction at each point, shape (m,); of as many components as coordinates."""
        self._check_square("divergence")
        return np.asarray(np.trace(self.gradient(X), axis1=1, axis2=2))

    def curl(self, X: Any) -> Array:
        """∂f_k/∂x_i - ∂f_i/∂x_k of the prediction at each point, shape (m, D, D): in any dimension D of both."""
        self._check_square("curl")
        slopes = self.gradient(X)
        return np.asarray(slopes.transpose(0, 2, 1) - slopes)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The explained variance R², its mean over components."""
        from sklearn.metrics import r2_score

        return float(r2_score(y, self.predict(X), sample_weight=sample_weight))

    def plot(self, path: str | PathLike[str], size: int = 20) -> None:
        """Draw a field of two dimensions as arrows over the box of its points, as a .png, .svg or .pdf file.

        Raises
        ------
        ValueError
            If the field has not two dimensions and two components.
        """
        from .drawing import draw_field

        self._check_square("plot")
        if self.n_features_in_ != 2:
            raise ValueError(f"a field is drawn in two dimensions, and this one has {self.n_features_in_}")
        low, high = self.X_fit_.min(axis=0), self.X_fit_.max(axis=0)
        axes = [np.linspace(low[d], high[d], size) for d in range(2)]
        grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
        draw_field(grid, self.predict(grid), self.X_fit_, Path(path))

    def dump(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Everything there is to keep, as data with a JSON form and named arrays."""
        names = [name for name in ("X_fit_", "dual_coef_") if name in self.__dict__]
        kept = ("n_features_in_", "feature_names_in_")
        data = {name: self.__dict__[name] for name in kept if name in self.__dict__}
        return data, {name: self.__dict__[name] for name in names}

    def restore(self, data: dict[str, Any], arrays: dict[str, Array]) -> Self:
        """Undo :meth:`dump`."""
        self.__dict__.update(data | arrays)
        return self

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn may expect: a regressor of as many outputs as there are features."""
        from sklearn.utils import InputTags, RegressorTags, Tags, TargetTags

        return Tags(
            estimator_type="regressor",
            target_tags=TargetTags(required=True, multi_output=True),
            transformer_tags=None,
            classifier_tags=None,
            regressor_tags=RegressorTags(),
            input_tags=InputTags(),
        )

    def _check_square(self, what: str) -> None:
        self._check_fitted()
        components = 1 if self.dual_coef_.ndim == 1 else self.dual_coef_.shape[1]
        if components != self.n_features_in_:
            raise ValueError(
                f"{what} needs a field of as many components as coordinates, and this one has {components} and "
                f"{self.n_features_in_}"
            )

    def _kernel(self) -> Any:
        kernel = FieldMixture() if self.kernel is None else self.kernel
        if isinstance(kernel, type):
            spec.require_part("kernel", kernel, "DivergenceFree(sigma=1.0)")
        if not hasattr(kernel, "blocks") or not hasattr(kernel, "slopes"):
            raise TypeError(f"kernel must be one of the kernels of fields, such as DivergenceFree(), got {kernel!r}")
        return kernel

    def _points(self, X: Any, reset: bool) -> Array:
        rows, _, _ = tabular.validated(self, X, "no_validation", reset)
        if not tabular.is_dense(rows):
            raise TypeError("Sparse data was passed, and points of a field are dense: give X.toarray()")
        return np.asarray(rows.values)

    def _summed(self, X: Any, what: str, sums: str) -> Array:
        self._check_fitted()
        points, made = self._points(X, reset=False), []
        C = self.dual_coef_ if self.dual_coef_.ndim == 2 else self.dual_coef_[:, None]
        size = C.size * C.shape[1] * (points.shape[1] if what == "slopes" else 1)
        height = max(BLOCK_ENTRIES // size, 1)
        for first in range(0, len(points), height):
            values = getattr(self._kernel(), what)(points[first : first + height], self.X_fit_, C.shape[1])
            made.append(np.einsum(sums, values, C))
        return np.concatenate(made)


def _solved(kernel: Any, points: Array, Y: Array, alpha: float) -> Array:
    """The vectors c, point by point."""
    G = kernel.blocks(points, points, Y.size // len(points)).transpose(0, 2, 1, 3).reshape(Y.size, Y.size)
    return positive_factor(G, alpha)(Y.ravel()).reshape(Y.shape)
