"""Records of several views as users give them, checked and brought to the form that learners take."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie.numeric.view_forms import emptied, side_by_side
from coterie.streams import tabular
from coterie.streams.view_encoding import require_one_space
from coterie.views import ViewRecords, Views, Vocabulary


@dataclass(frozen=True, eq=False)
class PartialBlock:
    """A view's block of records of which some are without this view.

    Parameters
    ----------
    block : array, sparse matrix, data frame or list of dictionaries, n rows
        The view; rows of records without it may hold anything.
    present : array of bool, shape (n,)
        Which records have it.

    Examples
    --------
    >>> import coterie as ct
    >>> sound = ct.PartialBlock([[1.0], [0.0], [-2.0]], present=[True, False, True])
    >>> model = ct.OrthogonalMultiviewPerceptron(p=1).partial_fit([sound, [[1.0], [-1.0], [0.5]]], [1, 0, 0])
    >>> model.decision_function([sound, None])
    array([ 1.,  0., -2.])
    """

    block: Any
    present: ArrayLike


def names_of(X: Any, given: Sequence[Hashable] | None) -> list[Hashable]:
    """The views of the first records that a model sees; ``given`` are those that its user has named.

    Raises
    ------
    TypeError
        If X is neither a list of blocks, nor a dictionary of them, nor a list of dictionaries of dictionaries.
    """
    if given is not None:
        return list(given)
    if getattr(X, "views", None) is not None:  # records from a file
        return list(X.views.names)
    if isinstance(X, Mapping):
        return list(X)
    if not isinstance(X, (list, tuple)):
        raise TypeError(
            "X must be a list of blocks, one a view, a dictionary name -> block, or a list of records that are "
            f"dictionaries name -> features; got {type(X).__name__}"
        )
    return (
        list(dict.fromkeys(name for record in X for name in record)) if tabular.is_records(X) else list(range(len(X)))
    )


def present_in(X: Any, names: Sequence[Hashable]) -> list[Hashable]:
    """Those of the views that have a block; all of them, where records are no blocks."""
    if isinstance(X, Mapping):
        return [name for name in names if X.get(name) is not None]
    if hasattr(X, "views") or tabular.is_records(X):
        return list(names)
    return [name for name, block in zip(names, X, strict=False) if block is not None]


def read(X: Any, views: Views | None, names: Sequence[Hashable] | None, one_space: bool) -> tuple[ViewRecords, Views]:
    """Records, and the views as they are with them; ``views`` are those learned so far, if any.

    With ``views`` of dictionaries their feature names are taken up in place.

    Raises
    ------
    ValueError
        For views that are unknown, of a width other than before, or that disagree on the number of records, and for
        what scikit-learn refuses of a block.
    """
    if views is None:
        found = names_of(X, names)
        views = Views(found, [0] * len(found))
        if tabular.is_records(X):
            words = [Vocabulary()] * len(found) if one_space else [Vocabulary() for _ in found]
            views = Views(found, [0] * len(found), words)
    else:
        names_of(X, names)
    if tabular.is_records(X):
        return views.records(X, grow=True), views
    if views.words is not None:
        raise ValueError("the model learned from dictionaries of features: give a list of such records, not blocks")
    return _blocks(X, views, one_space)


def read_only(X: Any, views: Views, names: Sequence[Hashable] | None, one_space: bool) -> ViewRecords:
    """As :func:`read`, for predictions: features of dictionaries that nobody has seen are left out."""
    names_of(X, names)
    if tabular.is_records(X):
        return views.records(X, grow=False)
    return read(X, views, names, one_space)[0]


def _blocks(X: Any, views: Views, one_space: bool) -> tuple[ViewRecords, Views]:
    given: list[Any] = [None] * len(views)
    if isinstance(X, Mapping):
        for name, block in X.items():
            given[views.place(name)] = block
    elif len(X) != len(views):
        raise ValueError(f"X must have one block a view, None for one that is absent: got {len(X)} for {len(views)}")
    else:
        given = list(X)
    blocks = [_block(block, name) for block, name in zip(given, views.names, strict=True)]
    n = _length(blocks, views.names)
    widths = _widths(blocks, views, one_space)
    alone = [None if each is None else each[0] for each in blocks]
    present = np.stack([np.zeros(n, bool) if each is None else each[1] for each in blocks], axis=1)
    return ViewRecords(side_by_side(alone, widths, n), present), Views(views.names, widths)


def _block(block: Any, name: Hashable) -> tuple[Any, NDArray[np.bool_]] | None:
    """A block as an array or a CSR matrix, and which of its rows are there."""
    if block is None:
        return None
    from sklearn.utils.validation import check_array

    part = block if hasattr(block, "present") else PartialBlock(block, None)  # type: ignore[arg-type]
    if tabular.is_records(part.block):
        raise TypeError(f"the block of view {name!r} holds dictionaries: give records as dictionaries of dictionaries")
    held = np.column_stack(part.block.columns) if hasattr(part.block, "column_names") else part.block
    n = held.shape[0] if hasattr(held, "shape") else len(held)
    present = np.ones(n, bool) if part.present is None else np.asarray(part.present)
    if present.shape != (n,) or present.dtype != bool:
        raise ValueError(f"present of view {name!r} must be one bool a record, shape ({n},), got shape {present.shape}")
    if not present.all():
        held = emptied(held if hasattr(held, "indptr") else np.array(held, np.float64, ndmin=2), present)
    checked = check_array(held, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False)
    tabular.require_usable(checked, f"view {name!r}")
    return checked, present


def _length(blocks: Sequence[Any], names: Sequence[Hashable]) -> int:
    lengths = {name: len(each[1]) for name, each in zip(names, blocks, strict=True) if each is not None}
    if not lengths:
        raise ValueError("no view has a block: one at least is needed")
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name!r} has {n}" for name, n in lengths.items())
        raise ValueError(f"the views must have the same records, row by row: {shown}")
    return next(iter(lengths.values()))


def _widths(blocks: Sequence[Any], views: Views, one_space: bool) -> list[int]:
    found = [0 if each is None else each[0].shape[1] for each in blocks]
    require_one_space(one_space, views.names, [now or before for now, before in zip(found, views.widths, strict=True)])
    for name, now, before in zip(views.names, found, views.widths, strict=True):
        if now and before and now != before:
            raise ValueError(f"view {name!r} has {now} features, but the model is expecting {before}")
    return [max([*found, *views.widths])] * len(views) if one_space else list(map(max, found, views.widths))
