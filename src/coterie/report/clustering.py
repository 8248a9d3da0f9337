"""A relation prepared for drawing: comparable entries, related tasks side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from coterie.explanation import dendrogram

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from numpy.typing import NDArray

    from coterie.jobs.shares import Shares

#: The most tasks that are drawn.
MOST = 200


class Clustered(NamedTuple):
    """Tasks in the order of their clustering, and the sharing of each pair.

    Attributes
    ----------
    tasks : list
        The k tasks shown.
    values : ndarray, shape (k, k)
        M_ij / sqrt(M_ii M_jj): 1 on the diagonal.
    limit : float
        The largest absolute value off the diagonal.
    uniform : bool
        True if all pairs share the same.
    """

    tasks: list[Hashable]
    values: NDArray[np.float64]
    limit: float
    uniform: bool


def clustered(relation: Shares, examples: Mapping[Hashable, int]) -> Clustered:
    """Order tasks by average linkage on 1 - sharing, at most 200 of them: those with most examples.

    Parameters
    ----------
    relation : Shares
        The matrix M and its K tasks.
    examples : mapping of task to int
        Examples seen of each; tasks that are not in it count as 0.

    Returns
    -------
    Clustered
        In about O(K log K + k^3) time and O(k^2) memory, k = min(K, 200).

    Examples
    --------
    >>> from coterie.jobs.shares import Shares
    >>> matrix = np.array([[2.0, 0.0, 1.0], [0.0, 2.0, 0.0], [1.0, 0.0, 2.0]])
    >>> shown = clustered(Shares("", ("a", "b", "c"), matrix, 3), {})
    >>> sorted(shown.tasks[1:] if shown.tasks[0] == "b" else shown.tasks[:2]), round(shown.limit, 3)
    (['a', 'c'], 0.5)
    """
    counts = np.array([examples.get(task, 0) for task in relation.tasks])
    most = np.sort(np.argsort(-counts, kind="stable")[:MOST])
    values = np.clip(relation.relative, -1.0, 1.0)[np.ix_(most, most)]
    order = np.arange(len(values)) if len(values) < 3 else dendrogram(values)[1]
    values, shown = values[np.ix_(order, order)], most[order]
    off = values[~np.eye(len(values), dtype=bool)]
    limit = float(np.abs(off).max(initial=0.0)) or 1.0
    return Clustered([relation.tasks[i] for i in shown], values, limit, bool(np.ptp(off) < 1e-9) if len(off) else True)
