"""What learners of several views are compared with: a Perceptron on each view, and one on all of them side by side."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from coterie.learners.views import by_view
from coterie.streams.view_input import names_of

from .views import OrthogonalMultiviewPerceptron, kernels_of


def view_baselines(X: Any, kernels: Any = None, joint: Any = None) -> dict[Hashable, tuple[Any, Any]]:
    """The baselines of FOR09 §4.2 for a stream of several views: what to learn, and from which records.

    Parameters
    ----------
    X : list of blocks or dictionary name -> block
        The stream.
    kernels : kernel, list or dictionary of them, optional
        As in :class:`coterie.OrthogonalMultiviewPerceptron`; the Perceptrons are linear without.
    joint : kernel, optional
        For the views side by side, as one vector; without, one kernel for all views if there is such, else the sum of
        the views' kernels.

    Returns
    -------
    dict
        For every view by its name and for ``"side by side"`` an unfitted Perceptron and the records for it.

    Raises
    ------
    ValueError
        If there is not one kernel a view.

    Examples
    --------
    >>> import coterie as ct
    >>> X, y = {"a": [[1.0], [-1.0], [2.0]], "b": [[1.0, 0.0], [1.0, 0.5], [0.0, 1.0]]}, [1, 0, 1]
    >>> for name, (model, records) in ct.view_baselines(X).items():
    ...     print(name, ct.progressive_validation(model, records, y).mistakes)
    a 1
    b 3
    side by side 2
    """
    names = names_of(X, None)
    blocks = X if isinstance(X, Mapping) else dict(zip(names, X, strict=True))
    if kernels is None:
        alone = {name: (OrthogonalMultiviewPerceptron(1.0), {name: blocks[name]}) for name in names}
        return {**alone, "side by side": (OrthogonalMultiviewPerceptron(1.0), dict(blocks))}
    given = kernels_of(kernels)
    own = by_view(given, names)
    alone = {
        name: (OrthogonalMultiviewPerceptron(1.0, kernel), {name: blocks[name]})
        for name, kernel in zip(names, own, strict=True)
    }
    one = joint if joint is not None else None if isinstance(given, (Mapping, list)) else given
    if one is None:
        return {**alone, "side by side": (OrthogonalMultiviewPerceptron(1.0, list(own)), dict(blocks))}
    whole = {"side by side": _side_by_side(list(blocks.values()))}
    return {**alone, "side by side": (OrthogonalMultiviewPerceptron(1.0, one), whole)}


def _side_by_side(blocks: list[Any]) -> Any:
    if any(block is None or hasattr(block, "present") for block in blocks):
        raise ValueError("views side by side under one kernel must all be there: an absent view is no vector of zeros")
    if any(hasattr(block, "indptr") for block in blocks):
        from scipy.sparse import csr_array, hstack

        return csr_array(hstack([csr_array(block) for block in blocks], format="csr"))
    return np.concatenate([np.asarray(block, np.float64) for block in blocks], axis=1)
