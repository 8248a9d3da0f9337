"""Input of multi-view records: validation, and conversion to rows."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, cast

import numpy as np
from numpy.typing import ArrayLike

from coterie import spec
from coterie._compiled.core.checks import require
from coterie._compiled.views.forms import emptied, side_by_side
from coterie.models.contract import InputShape
from coterie.models.multiview import ViewRecords, Views, Vocabulary
from coterie.models.multiview.view_records import views_from_json
from coterie.tasks.index import Index
from coterie.types import AnyLabels, AnyRecords, AnyRows, AnyTasks, Array, Arrays, Fields, Flags, Json

from . import tabular
from .block import Block
from .input import Input, ReadContext, Records, Undo


@dataclass(frozen=True, eq=False)
class PartialBlock:
    """Values of one view for a block of records, some of which do not have this view.

    Parameters
    ----------
    block : array, sparse matrix, data frame or list of dictionaries, n rows
        The view; rows of records without it are ignored.
    present : array of bool, shape (n,)
        True for the records that have the view.

    Examples
    --------
    >>> import coterie as ct
    >>> sound = ct.views.PartialBlock([[1.0], [0.0], [-2.0]], present=[True, False, True])
    >>> model = ct.views.OrthogonalMultiviewPerceptron(p=1).partial_fit([sound, [[1.0], [-1.0], [0.5]]], [1, 0, 0])
    >>> model.decision_function([sound, None])
    array([ 1.,  0., -2.])
    """

    block: AnyRecords
    present: ArrayLike


def pad_views(X: AnyRecords, how: Literal["zeros", "repeat"] = "zeros", width: int | None = None) -> AnyRecords:
    """Pad the views' feature vectors to equal length, for a :class:`coterie.views.MultiviewPerceptron` (FOR09 ch. 5).

    Parameters
    ----------
    X : list of blocks or dictionary name -> block
        The views; blocks are arrays, sparse matrices or data frames, may be :class:`PartialBlock` or None.
    how : {"zeros", "repeat"}, default="zeros"
        Short views are filled up with zeros, or with their own features again from the first on.
    width : int, optional
        The length, by default that of the longest view. Give it if a view may be absent from all records of a call.

    Returns
    -------
    list or dictionary
        A list or dictionary like X, with blocks of one width: arrays, or CSR matrices for sparse ones.

    Raises
    ------
    TypeError
        For dictionaries, because their features already correspond by name.
    ValueError
        For another ``how``, a block without features, or a view that is wider than ``width``.

    Examples
    --------
    >>> padded = pad_views({"image": [[1.0, 2.0, 3.0]], "sound": [[4.0, 5.0]]}, "repeat")
    >>> padded["sound"]
    array([[4., 5., 4.]])
    """
    if how not in ("zeros", "repeat"):
        raise ValueError(f"how must be 'zeros' or 'repeat', got {how!r}")
    names = names_of(X, None)
    if tabular.is_records(X):
        raise TypeError("dictionaries need no padding: features with equal names are the same in all views")
    blocks = [X[name] for name in names]
    checked = [_check_block(block, name) for block, name in zip(blocks, names, strict=True)]
    widths = [block[0].shape[1] for block in checked if block is not None]
    longest = max(widths, default=0) if width is None else width
    for name, block in zip(names, checked, strict=True):
        if block is not None and block[0].shape[1] > longest:
            raise ValueError(f"view {name!r} has {block[0].shape[1]} features, more than width={width!r}")
    padded = [None if block is None else _pad(*block, how, longest) for block in checked]
    return dict(zip(names, padded, strict=True)) if isinstance(X, Mapping) else padded


def _pad(block: AnyRecords, present: Flags, how: str, width: int) -> AnyRecords:
    """Pad the feature vectors of one view to ``width`` columns."""
    n, d = block.shape
    if how == "repeat":
        padded = block[:, np.arange(width) % d]
    elif hasattr(block, "indptr"):
        padded = block.copy()
        padded.resize((n, width))
    else:
        padded = np.pad(block, ((0, 0), (0, width - d)))
    return padded if present.all() else PartialBlock(padded, present)


def names_of(X: AnyRecords, chosen: Sequence[Hashable] | None) -> list[Hashable]:
    """Return the names of the views: ``chosen`` if the user passed names, else those of the first records X.

    Raises
    ------
    TypeError
        If X is neither a list of blocks, nor a dictionary of them, nor a list of dictionaries of dictionaries.
    """
    if chosen is not None:
        return list(chosen)
    if isinstance(X, Mapping):
        return list(X)
    if not isinstance(X, (list, tuple)):
        raise TypeError(
            "X must be a list of blocks, one per view, a dictionary name -> block, or a list of "
            f"dictionaries name -> features; got {type(X).__name__}"
        )
    return (
        list(dict.fromkeys(name for record in X for name in record)) if tabular.is_records(X) else list(range(len(X)))
    )


def present_in(X: AnyRecords, names: Sequence[Hashable]) -> list[Hashable]:
    """Return the names of the views in X that are not None; all names for dictionaries."""
    if isinstance(X, Mapping):
        return [name for name in names if X.get(name) is not None]
    if hasattr(X, "views") or tabular.is_records(X):
        return list(names)
    return [name for name, block in zip(names, X, strict=False) if block is not None]


class ViewInput(Input):
    """Converts multi-view records: one block per view, or dictionaries from view to features.

    Attributes
    ----------
    one_space : bool
        True if all views must have the same features.
    views : Views or None
        The views of the records learned from, their widths and the names of their features.
    """

    has_tasks: ClassVar[bool] = False
    encoder: None = None

    def __init__(self, one_space: bool) -> None:
        super().__init__()
        self.one_space = one_space
        self.views = cast(Views, None)

    def read(self, X: AnyRecords, y: AnyLabels, task: AnyTasks, context: ReadContext) -> Records:
        """Convert records to `Records`; the first learned records determine the views.

        In predictions unknown features of dictionaries are ignored unless they count.
        """
        if isinstance(X, Block):
            return super().read(X, y, task, context)
        self._refuse_tasks(task)
        labels = context.labels
        if labels is None:
            names_of(X, self.options.views)
            if tabular.is_records(X):
                return self._records(self.views.records(X, resize=False, unseen=self.options.counts_unseen))
            return self._records(self._read_views(X, self.views)[0])
        records, views = self._read_views(X, None if context.first else self.views)
        if np.ndim(y) != 1 or len(y) != len(records):
            raise ValueError(f"y must have one label per record: got shape {np.shape(y)} for {len(records)} records")
        values, self.views = labels.values(y, of_arrays=True), views
        return self._records(records)._replace(y=y, labels=labels, values=values)

    def read_block(self, block: Block, first: bool) -> Records:
        """Convert a validated block to `Records`."""
        if not isinstance(block.X, ViewRecords):
            owner = self.options.owner
            raise ValueError(f"{owner} does not support files; pass a dictionary of arrays or frames, one per view")
        return self._records(block.X)

    def as_block(self, records: Records, y: Array) -> Block:
        """Convert records and labels of any form to a validated `Block`."""
        return Block(records.rows, y, None, np.arange(1, len(records.rows) + 1))

    def split_one(self, x: AnyRecords, task: Hashable, known: Collection[Hashable]) -> tuple[AnyRecords, Hashable]:
        """Return a record unchanged (a dictionary from view to features), and the only task."""
        self._refuse_tasks(task)
        if not isinstance(x, Mapping):
            raise TypeError(
                f"one record must be a dictionary view -> features, got {type(x).__name__}; lists are for several"
            )
        return x, tabular.ONLY_TASK

    def read_one(
        self, x: AnyRecords, task: Hashable, known: Collection[Hashable], learning: bool
    ) -> tuple[ViewRecords, int, Hashable]:
        """Encode one record, a dictionary from view to features; views may be absent."""
        x, task = self.split_one(x, task, known)
        if not learning:
            return self.views.records([x], resize=False, unseen=self.options.counts_unseen), 0, task
        records, self.views = self._read_views([x], self.views)
        return records, 0, task

    def _read_views(self, X: AnyRecords, views: Views | None) -> tuple[ViewRecords, Views]:
        return read_views(X, views, self.options.views, self.one_space, self.options.any_sizes)

    def _refuse_tasks(self, task: AnyTasks) -> None:
        if task is not None:
            raise ValueError(f"{self.options.owner} has no tasks; leave out task")

    def _records(self, records: ViewRecords) -> Records:
        return Records(records, 0, np.zeros(len(records), np.int64))

    # -- states ---------------------------------------------------------------------------------------------------

    def snapshot(self, fitted: bool) -> Undo:
        """Return a function that restores the current state, to call if a later record is invalid."""
        before = cast("Views | Any", self.views if fitted else None)
        sizes = [] if before is None else before.sizes()

        def undo() -> None:
            self.views = before
            if before is not None:
                before.shorten(sizes)

        return undo

    def size(self, records: Records) -> InputShape:
        """Return the shape (views and their numbers of features) that a model needs for these records."""
        names, widths = self.views.names, tuple(self.views.widths)
        return InputShape(sum(widths), records.rows.rows.dense, names, widths)

    # -- files ----------------------------------------------------------------------------------------------------

    def to_saved(self) -> tuple[Json, Arrays]:
        """Return the state of the input as JSON data and named arrays."""
        return {"view": self.views.to_json()}, {}

    def index_of(self, data: Fields) -> Index:
        """Return an index of the views in saved data."""
        return Index(views_from_json(data["view"]).names)

    def from_saved(self, data: Fields, arrays: Arrays, state: Any) -> None:
        """Restore the input from :meth:`to_saved`; raise ValueError if its views are not those of the model's state."""
        self.views = views_from_json(data["view"])
        widths = tuple(self.views.widths)
        require(widths == tuple(state.widths), f"the views are {widths} wide, and the model {tuple(state.widths)}")


def read_views(
    X: AnyRecords, views: Views | None, chosen: Sequence[Hashable] | None, one_space: bool, any_sizes: bool = False
) -> tuple[ViewRecords, Views]:
    """Convert multi-view records X to rows; return them, and the known ``views`` extended by those of X.

    New feature names of dictionaries are added to the views in place: to all views in ``one_space``, whose blocks must
    have one size unless ``any_sizes``.

    Raises
    ------
    ValueError
        For unknown views, another width than before, different numbers of records, or blocks that scikit-learn rejects.
    """
    names = names_of(X, chosen)
    if views is None:
        spec.check_labels(names, "view")
        words = [Vocabulary()] * len(names) if one_space else [Vocabulary() for _ in names]
        views = Views(names, [0] * len(names), words) if tabular.is_records(X) else Views(names, [0] * len(names))
    if tabular.is_records(X):
        return views.records(X, resize=True), views
    if views.words is not None:
        raise ValueError("the model learned from dictionaries of features; pass a list of such records, not blocks")
    return _blocks(X, views, one_space and not any_sizes)


def _blocks(X: AnyRecords, views: Views, one_size: bool) -> tuple[ViewRecords, Views]:
    by_view: list[AnyRecords] = [None] * len(views)
    if isinstance(X, Mapping):
        for name, block in X.items():
            by_view[views.place(name)] = block
    elif len(X) != len(views):
        raise ValueError(f"X must have one block per view, None for one that is absent: got {len(X)} for {len(views)}")
    else:
        by_view = list(X)
    blocks = [_check_block(block, name) for block, name in zip(by_view, views.names, strict=True)]
    lengths = {name: len(block[1]) for name, block in zip(views.names, blocks, strict=True) if block is not None}
    if not lengths:
        raise ValueError("no view has a block; at least one is needed")
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name!r} has {n}" for name, n in lengths.items())
        raise ValueError(f"the views must have the same records, row by row: {shown}")
    n, widths = next(iter(lengths.values())), _widths(blocks, views, one_size)
    arrays = [None if block is None else block[0] for block in blocks]
    present = np.stack([np.zeros(n, bool) if block is None else block[1] for block in blocks], axis=1)
    return ViewRecords(side_by_side(arrays, widths, n), present), Views(views.names, widths)


def _check_block(block: AnyRecords, name: Hashable) -> tuple[AnyRows, Flags] | None:
    """Convert a view's block to an array or a CSR matrix, and return it with a mask of the present rows."""
    if block is None:
        return None
    from sklearn.utils.validation import check_array

    part = block if hasattr(block, "present") else PartialBlock(block, None)  # type: ignore[arg-type]
    if tabular.is_records(part.block):
        raise TypeError(
            f"the block of view {name!r} has dictionaries; pass records as [{{view: {{feature: value}}}}, ...]"
        )
    array = np.column_stack(part.block.columns) if hasattr(part.block, "column_names") else part.block
    n = tabular.count(array)
    present = np.ones(n, bool) if part.present is None else np.asarray(part.present)
    if present.shape != (n,) or present.dtype != bool:
        raise ValueError(
            f"present of view {name!r} must be one bool per record, shape ({n},), got shape {present.shape}"
        )
    if not present.all():
        array = emptied(array if hasattr(array, "indptr") else np.array(array, np.float64, ndmin=2), present)
    checked = check_array(array, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False)
    tabular.require_usable(checked, f"view {name!r}")
    return checked, present


def _widths(blocks: Sequence[tuple[AnyRows, Flags] | None], views: Views, one_size: bool) -> list[int]:
    """Return the number of features of each view, 0 if unknown; raise ValueError if it has changed."""
    new = [0 if block is None else block[0].shape[1] for block in blocks]
    known = [now or before for now, before in zip(new, views.widths, strict=True)]
    if one_size and len({width for width in known if width}) > 1:
        shown = ", ".join(f"{name!r} has {d}" for name, d in zip(views.names, known, strict=True) if d)
        raise ValueError(
            f"all views must have the same features here: {shown}; for views of different sizes use "
            "OrthogonalMultiviewPerceptron, or a kernel for each pair of views"
        )
    for name, now, before in zip(views.names, new, views.widths, strict=True):
        if now and before and now != before:
            raise ValueError(f"view {name!r} has {now} features, but the model is expecting {before}")
    return [max([*new, *views.widths])] * len(views) if one_size else list(map(max, new, views.widths))
