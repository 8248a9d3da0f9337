"""Kernels k(x, z): inner products of records in another feature space.

A kernel fills an array with its values for all pairs of two sets of records, ``values(X, Z, out)``. Those made of inner
products take one matrix product for a block of records, or an inverted index if records are sparse.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from coterie.types import AnyRecords, Json, Part

from . import spec
from ._compiled.core.points import Kernel as Kernel
from ._compiled.core.points import Points, as_matrix, divided, gaussians, piece, points, products
from ._compiled.core.records import Csr, Dense
from .types import Floats, Ints, RowMatrix

Values: TypeAlias = Floats

#: The number of records of a block of kernel values, of which only k(x, x) is needed.
_AT_ONCE = 64


#: A kernel parameter: a kernel object, its name, or a function of two arrays of records.
KernelLike: TypeAlias = Kernel | str | Callable[[Any, Any], ArrayLike]


class _Algebra:
    """Base class of kernels, with the operators ``k1 + k2``, ``k1 * k2`` and ``2.0 * k``."""

    __array_ufunc__ = None  # numbers of NumPy's leave the product to the kernel

    def __add__(self, other: KernelLike) -> Sum:
        return Sum(self, other)

    def __radd__(self, other: KernelLike) -> Sum:
        return Sum(other, self)

    def __mul__(self, other: KernelLike | float) -> Product | Scaled:
        return Scaled(self, other) if spec.is_number(other) else Product(self, other)

    def __rmul__(self, other: KernelLike | float) -> Product | Scaled:
        return Scaled(self, other) if spec.is_number(other) else Product(other, self)


@spec.part
class LinearKernel(_Algebra):
    """Linear kernel k(x, z) = x · z; ``kernels.Linear`` is a short name.

    Examples
    --------
    >>> gram(Linear(), [[1.0, 2.0], [3.0, 4.0]])
    array([[ 5., 11.],
           [11., 25.]])
    """

    trusted: ClassVar[bool] = True
    plain: ClassVar[bool] = True

    def values(self, X: Points, Z: Points, out: Values) -> None:
        """Fill ``out``, shape (n, m), with the kernel values of all pairs: O(n m d), or O(common entries) if sparse."""
        products(X, Z, out)

    def diagonal(self, X: Points) -> Values:
        """Return the kernel value k(x, x) of each record x with itself."""
        return np.asarray(X.squares, np.float64)


Linear = LinearKernel


@spec.part
class Polynomial(_Algebra):
    """Polynomial kernel k(x, z) = (x · z + coef0)^degree.

    Parameters
    ----------
    degree : int >= 1, default=2
        The degree.
    coef0 : float >= 0, default=1.0
        The weight of lower degrees. With a negative one the function is not positive semidefinite.

    Raises
    ------
    ValueError
        If the degree is not a whole number of at least 1, or coef0 is negative.

    Examples
    --------
    >>> gram(Polynomial(degree=2), [[1.0, 0.0], [1.0, 1.0]])
    array([[4., 4.],
           [4., 9.]])
    """

    trusted: ClassVar[bool] = True

    degree: int = 2
    coef0: float = spec.field(default=1.0, at_least=0)

    def __post_init__(self) -> None:
        if isinstance(self.degree, bool) or self.degree != int(self.degree) or self.degree < 1:  # 2.0 serves
            raise ValueError(f"degree must be a whole number, at least 1, got {self.degree!r}")

    @np.errstate(over="ignore", under="ignore")
    def values(self, X: Points, Z: Points, out: Values) -> None:
        """Fill ``out``, shape (n, m), with the kernel values of all pairs."""
        products(X, Z, out)
        out += self.coef0
        if self.degree == 2:
            np.multiply(out, out, out=out)
        elif self.degree > 2:
            np.power(out, int(self.degree), out=out)

    @np.errstate(over="ignore", under="ignore")
    def diagonal(self, X: Points) -> Values:
        """Return the kernel value k(x, x) of each record x with itself."""
        return np.asarray((X.squares + self.coef0) ** int(self.degree))


@spec.part
class Gaussian(_Algebra):
    """Gaussian (RBF) kernel k(x, z) = exp(-‖x - z‖² / (2 sigma²)).

    Parameters
    ----------
    sigma : float > 0, default=1.0
        The width, in the units of the records; :func:`~coterie.kernels.median_distance` is a good first value.

    Raises
    ------
    ValueError
        If sigma is not positive and finite.

    Examples
    --------
    >>> gram(Gaussian(sigma=1.0), [[0.0], [1.0]]).round(3)
    array([[1.   , 0.607],
           [0.607, 1.   ]])
    """

    trusted: ClassVar[bool] = True

    sigma: float = spec.field(default=1.0, above=0)

    @property
    def radial_scale(self) -> float:
        """The factor s = 1 / (2 sigma²) of exp(-s ‖x - z‖²), for compiled code."""
        return 0.5 / self.sigma**2

    def values(self, X: Points, Z: Points, out: Values) -> None:
        """Fill ``out``, shape (n, m), with the kernel values of all pairs."""
        products(X, Z, out)
        gaussians(out, X.squares, Z.squares, self.radial_scale)

    def diagonal(self, X: Points) -> Values:
        """Return the kernel value k(x, x) of each record x with itself."""
        return np.ones(len(X.squares))


class _OfOne(_Algebra):
    """Base class of kernels that transform the values of another kernel."""

    kernel: Any

    @property
    def trusted(self) -> bool:
        """True if the inner kernel is known to be positive semidefinite."""
        return bool(self.kernel.trusted)

    def __post_init__(self) -> None:
        _require_computed(self, "kernel")


@spec.part
class Normalised(_OfOne):
    """Normalised kernel k(x, z) / sqrt(k(x, x) k(z, z)); every record has norm one, as the bounds of CC12 require.

    A record of norm 0 is orthogonal to all others.

    Parameters
    ----------
    kernel : kernel
        The kernel to normalise.

    Examples
    --------
    >>> gram(Normalised(Polynomial(degree=2)), [[1.0, 0.0], [1.0, 1.0]]).round(3)
    array([[1.   , 0.667],
           [0.667, 1.   ]])
    """

    kernel: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernel", as_kernel(self.kernel))

    def values(self, X: Points, Z: Points, out: Values) -> None:
        """Fill ``out``, shape (n, m), with the kernel values of all pairs."""
        self.kernel.values(X, Z, out)
        divided(out, self.kernel.diagonal(X), self.kernel.diagonal(Z))

    def diagonal(self, X: Points) -> Values:
        """Return k(x, x) of each record: 1, or 0 for a zero record."""
        return np.asarray(self.kernel.diagonal(X) > 0, np.float64)


class _OfTwo(_Algebra):
    """Base class of kernels that combine the values of two kernels."""

    combine: ClassVar[np.ufunc]
    first: Any
    second: Any

    def __post_init__(self) -> None:
        _require_computed(self, "first", "second")

    @property
    def trusted(self) -> bool:
        """True if both kernels are known to be positive semidefinite."""
        return bool(self.first.trusted and self.second.trusted)

    def values(self, X: Points, Z: Points, out: Values) -> None:
        """Fill ``out``, shape (n, m), with the kernel values of all pairs."""
        self.first.values(X, Z, out)
        self.combine(out, _compute_values(self.second, X, Z), out=out)

    def diagonal(self, X: Points) -> Values:
        """Return k(x, x) of each record."""
        return np.asarray(self.combine(self.first.diagonal(X), self.second.diagonal(X)))


@spec.part
class Sum(_OfTwo):
    """Sum of two kernels, ``first + second``: k(x, z) = first(x, z) + second(x, z) (FOR09 2.2.7).

    Parameters
    ----------
    first, second : kernel
        The kernels; a precomputed one is not supported, add the Gram matrices instead.

    Raises
    ------
    ValueError
        If one is precomputed, or has an unknown name.

    Examples
    --------
    >>> gram(Linear() + Gaussian(sigma=1.0), [[0.0], [1.0]]).round(3)
    array([[1.   , 0.607],
           [0.607, 2.   ]])
    """

    combine: ClassVar[np.ufunc] = np.add
    first: Any
    second: Any


@spec.part
class Product(_OfTwo):
    """Product of two kernels, ``first * second``: k(x, z) = first(x, z) · second(x, z) (FOR09 2.2.7).

    Parameters
    ----------
    first, second : kernel
        The kernels; a precomputed one is not supported, multiply the Gram matrices instead.

    Raises
    ------
    ValueError
        If one is precomputed, or has an unknown name.

    Examples
    --------
    >>> gram(Linear() * Linear(), [[1.0], [2.0]])
    array([[ 1.,  4.],
           [ 4., 16.]])
    """

    combine: ClassVar[np.ufunc] = np.multiply
    first: Any
    second: Any


@spec.part
class Scaled(_OfOne):
    """Scaled kernel, ``factor * kernel``: k(x, z) = factor · kernel(x, z) (FOR09 2.2.7).

    Parameters
    ----------
    kernel : kernel
        The kernel; a precomputed one is not supported.
    factor : float > 0, default=1.0
        The factor.

    Raises
    ------
    ValueError
        If the factor is not positive and finite, or the kernel is precomputed.

    Examples
    --------
    >>> gram(0.5 * Gaussian(sigma=1.0) + 2.0 * Linear(), [[1.0]])
    array([[2.5]])
    """

    kernel: Any
    factor: float = spec.field(default=1.0, above=0)

    def values(self, X: Points, Z: Points, out: Values) -> None:
        """Fill ``out``, shape (n, m), with the kernel values of all pairs."""
        self.kernel.values(X, Z, out)
        out *= self.factor

    def diagonal(self, X: Points) -> Values:
        """Return k(x, x) of each record."""
        return np.asarray(self.factor * self.kernel.diagonal(X))


@spec.part
class Exponential(_OfOne):
    """Exponential of a kernel: k(x, z) = exp(kernel(x, z)) (FOR09 2.2.8).

    Normalised, that of ``Linear() * (1 / sigma**2)`` is the Gaussian kernel of width sigma.

    Parameters
    ----------
    kernel : kernel
        The kernel; a precomputed one is not supported. Its exponential overflows for long records, which raises
        ValueError.

    Raises
    ------
    ValueError
        If the kernel is precomputed, or has an unknown name.

    Examples
    --------
    >>> X = [[0.0], [1.0]]
    >>> gram(Exponential(Linear()), X).round(3)
    array([[1.   , 1.   ],
           [1.   , 2.718]])
    >>> bool(np.allclose(gram(Normalised(Exponential(0.25 * Linear())), X), gram(Gaussian(sigma=2.0), X)))
    True
    """

    kernel: Any

    @property
    def trusted(self) -> bool:
        """False: values must be checked, because they may overflow."""
        return False

    @np.errstate(over="ignore", under="ignore")
    def values(self, X: Points, Z: Points, out: Values) -> None:
        """Fill ``out``, shape (n, m), with the kernel values of all pairs."""
        self.kernel.values(X, Z, out)
        np.exp(out, out=out)

    @np.errstate(over="ignore", under="ignore")
    def diagonal(self, X: Points) -> Values:
        """Return k(x, x) of each record."""
        return np.asarray(np.exp(self.kernel.diagonal(X)))


def _require_computed(part: object, *names: str) -> None:
    """Convert names or functions in the kernel fields of ``part`` to kernels.

    Raise ValueError for ``"precomputed"``.
    """
    for name in names:
        kernel = as_kernel(getattr(part, name))
        if isinstance(kernel, Precomputed):
            raise ValueError(
                f"{type(part).__name__} does not support a precomputed kernel, whose columns are rounds; "
                "precompute the values of the combined kernel"
            )
        object.__setattr__(part, name, kernel)


def _compute_values(kernel: Any, X: Points, Z: Points) -> Values:
    """Return the kernel values of all pairs as a new array."""
    values = np.zeros((len(X.squares), len(Z.squares)))
    kernel.values(X, Z, values)
    return values


class _Opaque(_Algebra):
    """Base class of kernels that are computed by a function of arrays."""

    trusted: ClassVar[bool] = False

    def diagonal(self, X: Points) -> Values:
        """Return k(x, x) of each record."""
        diagonal = np.zeros(len(X.squares))
        for first in range(0, len(diagonal), _AT_ONCE):
            block = piece(X, first, min(first + _AT_ONCE, len(diagonal)))
            diagonal[first : first + _AT_ONCE] = _compute_values(self, block, block).diagonal()
        return diagonal


@spec.part
class Pairwise(_Opaque):
    """A kernel of ``sklearn.metrics.pairwise.pairwise_kernels``, by name.

    Parameters
    ----------
    metric : str
        The name, such as ``"rbf"``, ``"laplacian"``, ``"chi2"``, ``"cosine"``.
    parameters : mapping, optional
        Its parameters, such as ``{"gamma": 0.1}``.

    Raises
    ------
    ValueError
        For a name that scikit-learn does not know, or parameters that its kernel does not have.

    Examples
    --------
    >>> gram(Pairwise("laplacian", {"gamma": 1.0}), [[0.0], [1.0]]).round(3)
    array([[1.   , 0.368],
           [0.368, 1.   ]])
    """

    metric: str
    parameters: Json | None = None

    def __post_init__(self) -> None:
        from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS

        if self.metric not in PAIRWISE_KERNEL_FUNCTIONS:
            known = ", ".join([*sorted(PAIRWISE_KERNEL_FUNCTIONS), "gaussian", "precomputed"])
            raise ValueError(f"kernel {self.metric!r} is unknown; expected one of {known}")
        try:
            self._of(np.ones((1, 1)), np.ones((1, 1)))
        except (TypeError, ValueError) as error:
            message = f"the kernel {self.metric!r} does not take {self.parameters!r}: {error}"
            raise ValueError(message) from error

    @np.errstate(over="ignore", under="ignore")
    def values(self, X: Points, Z: Points, out: Values) -> None:
        """Fill ``out``, shape (n, m), with the kernel values of all pairs."""
        out[:] = self._of(_narrow(as_matrix(X)), _narrow(as_matrix(Z)))

    def _of(self, X: AnyRecords, Z: Any) -> Any:
        from sklearn.metrics.pairwise import pairwise_kernels

        return pairwise_kernels(X, Z, metric=self.metric, **dict(self.parameters or {}))


def _narrow(X: AnyRecords) -> Any:
    """Convert records to the form that scikit-learn reads: an array, or a sparse matrix with sorted 32-bit indices."""
    if not isinstance(X, np.ndarray):
        X = X.sorted_indices()
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X


@spec.part
class Precomputed:
    """Precomputed kernel: records are rows of a kernel matrix, with one column per training record.

    For training, X is the (n, n) Gram matrix of the stream in order; for prediction, X has the values with these n
    records. A further pass starts with column 0 again. Weights of 0 are not supported online.

    Examples
    --------
    >>> import coterie as ct
    >>> X, y = np.array([[0.0], [1.0], [0.1], [0.9]]), [0, 1, 0, 1]
    >>> model = ct.MultitaskKernelPerceptron(Precomputed()).fit(gram(Gaussian(0.5), X), y)
    >>> model.predict(gram(Gaussian(0.5), [[0.8]], X))
    array([1])
    """

    trusted: ClassVar[bool] = False

    def values(self, X: Points, Z: Points, out: Values) -> None:
        """Copy the kernel values of all pairs from a precomputed matrix to ``out``, shape (n, m).

        The columns are those of the training records Z.
        """
        out[:] = as_matrix(X)[:, Z.rounds % X.features]

    def diagonal(self, X: Points) -> Values:
        """Return k(x, x) of each record."""
        return np.asarray(as_matrix(X)[np.arange(len(X.squares)), X.rounds % X.features], np.float64)


class Function(_Opaque):
    """A kernel given by a function of two arrays of records, (n, d) and (m, d), that returns values (n, m).

    Sparse records and dictionaries come as sparse matrices.

    scikit-learn's kernels and support vector machines use such functions. A model with one can be pickled, if the
    function can, but not saved to a file, because model files contain no code.
    """

    def __init__(self, function: Callable[[Any, Any], ArrayLike]) -> None:
        self.function = function

    def values(self, X: Points, Z: Points, out: Values) -> None:
        """Fill ``out``, shape (n, m), with the kernel values of all pairs."""
        result = self.function(as_matrix(X), as_matrix(Z))
        values = np.asarray(result.toarray() if hasattr(result, "toarray") else result, np.float64)
        if values.shape != out.shape:
            raise ValueError(
                f"the kernel {self.function!r} must return one value per pair, shape {out.shape}, "
                f"got shape {values.shape}"
            )
        out[:] = values

    def __repr__(self) -> str:
        return repr(self.function)


_NAMES: dict[str, Callable[[], Kernel]] = {"linear": Linear, "gaussian": Gaussian, "precomputed": Precomputed}


def as_kernel(kernel: KernelLike) -> Kernel:
    """Convert a name, a function or a kernel to a kernel.

    Raises
    ------
    ValueError
        For an unknown name.
    TypeError
        For any other object.

    Examples
    --------
    >>> as_kernel("linear"), as_kernel("chi2")
    (LinearKernel(), Pairwise(metric='chi2'))
    """
    if isinstance(kernel, str):
        return _NAMES[kernel]() if kernel in _NAMES else Pairwise(kernel)
    if isinstance(kernel, type):
        spec.require_part("kernel", kernel, "Gaussian(sigma=1.0)")
    if isinstance(kernel, Kernel):
        return kernel
    if callable(kernel):
        return Function(kernel)
    raise TypeError(f"kernel must be a kernel, a name or a function of two arrays of records, got {kernel!r}")


def kernels_of(kernels: Part) -> Part:
    """Convert names or functions to kernels: a single one, a tuple for a list, or a dictionary."""
    if isinstance(kernels, Mapping):
        return {name: as_kernel(kernel) for name, kernel in kernels.items()}
    return tuple(map(as_kernel, kernels)) if isinstance(kernels, (list, tuple)) else as_kernel(kernels)


def gram(kernel: KernelLike, X: ArrayLike | RowMatrix, Z: ArrayLike | RowMatrix | None = None) -> Values:
    """Return the kernel matrix of X and Z (by default X), shape (n, m).

    Examples
    --------
    >>> gram("linear", [[1.0], [2.0]], [[3.0]])
    array([[3.],
           [6.]])
    """
    rows = _points(X)
    return _compute_values(as_kernel(kernel), rows, rows if Z is None else _points(Z))


def median_distance(X: ArrayLike | RowMatrix, pairs: int = 10_000, seed: int = 0) -> float:
    """Return the median distance between records, a good initial width for ``Gaussian``.

    Parameters
    ----------
    X : array or sparse matrix, shape (n, d)
        Records.
    pairs : int, default=10000
        The number of random pairs; all pairs if there are fewer.
    seed : int, default=0
        The seed of the pairs.

    Raises
    ------
    ValueError
        If there are fewer than two records, or more than half of the pairs are equal.

    Examples
    --------
    >>> median_distance([[0.0], [1.0], [3.0]])
    2.0
    """
    rows: Any = X if hasattr(X, "indptr") else np.asarray(X, np.float64)
    n = int(rows.shape[0])
    if n < 2:
        raise ValueError(f"X must have at least two records, got {n}")
    first, second = _pairs(n, pairs, seed)
    difference = rows[first] - rows[second]
    squares = difference.multiply(difference) if hasattr(difference, "multiply") else difference**2
    median = float(np.median(np.sqrt(np.asarray(squares.sum(axis=1)).ravel())))
    if not median > 0:
        raise ValueError("the median distance is 0: at least half of the pairs of records in X are equal")
    return median


def _pairs(n: int, most: int, seed: int) -> tuple[Ints, Ints]:
    if n * (n - 1) // 2 <= most:
        first, second = np.triu_indices(n, 1)
        return first.astype(np.int64), second.astype(np.int64)
    rng = np.random.default_rng(seed)
    first = rng.integers(n, size=most)
    return first, (first + rng.integers(1, n, size=most)) % n


def _points(X: AnyRecords) -> Points:
    if hasattr(X, "indptr"):
        rows: Any = Csr(X.data.astype(np.float64), X.indices.astype(np.int32), X.indptr.astype(np.int64))
    else:
        X = np.ascontiguousarray(X, np.float64)
        rows = Dense(X)
    return points(rows, np.arange(X.shape[0]), int(X.shape[1]))
