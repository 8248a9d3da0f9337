"""Mistake bounds of the matrix Perceptron: records of several views, and tasks as views."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from coterie import spec
from coterie._compiled.core.points import as_matrix
from coterie._compiled.views.forms import pick, points_of
from coterie.data.view_input import read_views
from coterie.evaluation.trace import Trace
from coterie.models.multiview import ViewRecords
from coterie.types import Floats, RowMatrix, ViewBlocks

from .perceptron_bounds import mistake_bound, signs

_EXPONENT = spec.Setting(at_least=1)


@dataclass(frozen=True)
class ViewBound:
    """The mistake bound of a stream of several views for one comparator, and its parts.

    Attributes
    ----------
    loss : float
        L, the hinge losses of the K comparators, each on its own view, summed over views and rounds with a mistake.
    radius, size : float
        The largest ‖X_t‖ over those rounds, and the comparators' norm in the dual of that norm.
    p : float
        The exponent.
    views : int
        The number of views, K.
    """

    loss: float
    radius: float
    size: float
    p: float
    views: int

    @property
    def mistakes(self) -> float:
        """The mistake bound, L/K + (2p - 1)(XU/K)² + (XU/K) sqrt((2p - 1) L/K), for K views.

        L, ``loss``, is the comparator's loss, U, ``size``, its size, and X, ``radius``, the largest norm of a record.
        """
        loss, reach = self.loss / self.views, self.radius * self.size / self.views
        steep = 2.0 * self.p - 1.0
        return loss + steep * reach**2 + reach * math.sqrt(steep * loss)


def view_bound(trace: Trace, X: ViewBlocks, U: ArrayLike, p: float) -> ViewBound:
    """Bound the mistakes of a :class:`coterie.views.MultiviewPerceptron` by a comparator (FOR09 Theorem 3.1.3).

    For every comparator U, a linear classifier u_k for each view,

        mistakes <= L/K + (2p - 1)(XU/K)² + (XU/K) sqrt((2p - 1) L/K)    (3.1.6)

    with X = max ‖X_t‖_S2p, U the Schatten-2q norm of the comparator, 2q = 2p / (2p - 1), and L the hinge losses
    max(0, 1 - y u_k · x_k) summed over views; rounds with a mistake are enough for both. An absent view costs 1, for
    its u_k · x_k is 0. It holds for the rule :class:`~coterie.updates.Perceptron` on linear views, without averaging
    and delay.

    Parameters
    ----------
    trace : Trace
        The trace of the first pass.
    X : list of blocks or dictionary name -> block
        The views of the stream, as for the model.
    U : array, shape (K, d)
        The comparator, one row per view.
    p : float >= 1
        The model's ``p_``.

    Raises
    ------
    ValueError
        If X does not have one row per round, or U does not have one row per view and one column per feature.

    Examples
    --------
    >>> import coterie as ct
    >>> X, y = [[[1.0, 0.0], [0.0, 1.0]], [[0.8, 0.0], [0.1, 0.9]]], [1, 0]
    >>> trace = ct.progressive_validation(ct.views.MultiviewPerceptron(p=2), X, y)
    >>> bound = view_bound(trace, X, [[1.0, -1.0], [1.0, -1.0]], p=2)
    >>> trace.mistakes, round(bound.mistakes, 3)
    (2, 6.687)
    """
    _EXPONENT.check("p", p)
    records, names, widths = _records(trace, X, one_space=True)
    V = np.asarray(U, np.float64)
    if V.shape != (len(names), widths[0]):
        raise ValueError(f"U must have shape ({len(names)}, {widths[0]}), got {V.shape}")
    blocks, power = _blocks(records, widths), 2.0 * p / (2.0 * p - 1.0)
    # eigenvalues of X'X are squared singular values: (Σ σ^2p)^(1/2p) is the root of their p-norm
    values = np.linalg.eigvalsh(_grams(blocks, len(records))).clip(0.0)
    radius = _norm(values, p).max(initial=0.0) ** 0.5
    return ViewBound(_loss(trace, blocks, list(V)), float(radius), schatten_norm(V, power), float(p), len(names))


def orthogonal_view_bound(
    trace: Trace, X: ViewBlocks, U: Sequence[ArrayLike] | Mapping[str, ArrayLike], p: float
) -> ViewBound:
    """Bound the mistakes of :class:`coterie.views.OrthogonalMultiviewPerceptron` with ``inner=2``, for any view sizes.

    The thesis does not have this bound. The learner is the matrix Perceptron on orthogonal views, so that (3.1.6) holds
    with X = max (Σ_k ‖x_k‖^2p)^(1/2p) and U = (Σ_k ‖u_k‖^2q)^(1/2q), 2q = 2p / (2p - 1).

    Parameters
    ----------
    trace, X, p
        See :func:`view_bound`.
    U : list of arrays or dictionary name -> array
        The comparator of each view, shapes (d_k,).

    Raises
    ------
    ValueError
        If X does not have one row per round, or U does not have one comparator of the right length per view.

    Examples
    --------
    >>> import coterie as ct
    >>> X, y = [[[1.0, 0.0], [0.0, 1.0]], [[0.8], [-0.9]]], [1, 0]
    >>> trace = ct.progressive_validation(ct.views.OrthogonalMultiviewPerceptron(p=2), X, y)
    >>> bound = orthogonal_view_bound(trace, X, [[1.0, -1.0], [1.0]], p=2)
    >>> trace.mistakes, round(bound.mistakes, 3)
    (1, 4.415)
    """
    _EXPONENT.check("p", p)
    records, names, widths = _records(trace, X, one_space=False)
    comparators = [U[name] for name in names] if isinstance(U, Mapping) else list(U)
    vectors = [np.asarray(u, np.float64) for u in comparators]
    if [u.shape for u in vectors] != [(d,) for d in widths]:
        raise ValueError(f"U must have one comparator per view, of lengths {widths}, got {[u.shape for u in vectors]}")
    blocks, power = _blocks(records, widths), 2.0 * p / (2.0 * p - 1.0)
    # orthogonal views: singular values of the block matrix are the lengths of its views
    lengths = np.stack([_products(block, block) for block in blocks], axis=1)
    radius = _norm(lengths, p).max(initial=0.0) ** 0.5
    size = _norm(np.array([np.linalg.norm(u) for u in vectors]), power)
    return ViewBound(_loss(trace, blocks, vectors), float(radius), float(size), float(p), len(names))


def spectral_bound(trace: Trace, X: RowMatrix, U: ArrayLike, p: float) -> ViewBound:
    """Bound the mistakes of a multitask Perceptron under ``Spectral(p)`` by a comparator (CCG08 Theorem 10).

    A record of task i is a matrix with x in column i and 0 in all others, which has the Schatten norm ‖x‖. So for every
    comparator U, a linear classifier u_i for each task,

        mistakes <= L + (2p - 1)(XU)² + XU sqrt((2p - 1) L),

    with X = max‖x‖, U the Schatten-2q norm of the comparator, 2q = 2p / (2p - 1), and L its hinge loss,
    Σ max(0, 1 - y u_i · x); rounds with a mistake are enough for X and L. It holds for the rule
    :class:`~coterie.updates.Perceptron`, from the first record on, without averaging and delay, whenever tasks arrive.
    It is least for p = 1, independent tasks: U grows with p, and the gain in the paper is for records with many
    non-zero columns, whose Schatten norm falls with p.

    Parameters
    ----------
    trace : Trace
        The trace of the first pass.
    X : array or sparse matrix, shape (n, d)
        The records of the stream.
    U : array, shape (K, d)
        The comparator; row i is for ``trace.tasks[i]``.
    p : float >= 1
        The relation's p.

    Raises
    ------
    ValueError
        If X does not have one row per round, or U does not have one row per task and one column per feature.

    Examples
    --------
    >>> import coterie as ct
    >>> X, y, users = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]]), [1, 0, 1], ["ann", "bob", "ann"]
    >>> trace = ct.progressive_validation(ct.MultitaskPerceptron(ct.tasks.Spectral(2)), X, y, task=users)
    >>> bound = spectral_bound(trace, X, [[1.0, 1.0], [0.0, -1.0]], p=2)
    >>> trace.mistakes, round(bound.mistakes, 3)
    (2, 11.336)
    """
    _EXPONENT.check("p", p)
    bound = mistake_bound(trace, X, U, 1.0, 1.0)  # L, and X² as the complexity
    size = schatten_norm(np.asarray(U, np.float64), 2.0 * p / (2.0 * p - 1.0))
    return ViewBound(bound.loss, float(np.sqrt(bound.complexity)), size, float(p), 1)


def schatten_norm(V: Floats, power: float) -> float:
    """Return the Schatten norm (Σ σ^power)^(1/power) of the singular values σ of V."""
    return float(_norm(np.asarray(np.linalg.svd(V, compute_uv=False), np.float64), power))


def _records(trace: Trace, X: ViewBlocks, one_space: bool) -> tuple[ViewRecords, list[Any], list[int]]:
    """Return the records with a mistake, the names of their views, and the numbers of features of the views."""
    records, views = read_views(X, None, None, one_space)
    if len(records) != trace.n:
        raise ValueError(f"X must have one row per round, {trace.n}, got {len(records)}")
    rounds = np.flatnonzero(trace.mistake)
    return ViewRecords(pick(records.rows, len(views), rounds), records.present[rounds]), views.names, views.widths


def _blocks(records: ViewRecords, widths: Sequence[int]) -> list[Any]:
    rounds = np.arange(len(records))
    return [as_matrix(points_of(records.rows, len(widths), k, rounds, d)) for k, d in enumerate(widths)]


def _products(X: RowMatrix, Z: RowMatrix) -> Floats:
    """Return the inner products of corresponding rows of X and Z."""
    both = X.multiply(Z) if hasattr(X, "multiply") else X * Z
    return np.asarray(both.sum(axis=1), np.float64).ravel()


def _grams(blocks: Sequence[Any], n: int) -> Floats:
    """Return the Gram matrices X'X of all records, shape (n, K, K)."""
    grams = np.zeros((n, len(blocks), len(blocks)))
    for a, X in enumerate(blocks):
        for b, Z in enumerate(blocks):
            grams[:, a, b] = _products(X, Z)
    return grams


def _loss(trace: Trace, blocks: Sequence[Any], U: Sequence[Floats]) -> float:
    # K comparators share one label: (3.1.6) sums their hinge losses, each with the target margin 1
    sign = signs(trace)[trace.mistake]
    return float(sum(np.maximum(0.0, 1.0 - sign * (X @ u)).sum() for X, u in zip(blocks, U, strict=True)))


def _norm(values: Floats, power: float) -> Floats:
    """Return (Σ values^power)^(1/power) over the last axis of ``values``, without overflow."""
    top = values.max(axis=-1, initial=0.0)
    # powers up to p = 20 and more leave the range of numbers unless the largest is 1
    scaled = values / np.where(top > 0, top, 1.0)[..., None]
    return np.asarray(top * (scaled**power).sum(axis=-1) ** (1.0 / power))
