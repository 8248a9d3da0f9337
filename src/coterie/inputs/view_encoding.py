"""From records to the rows of several views: an encoder a view, decided by the first records."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from coterie.multiview import ViewRecords, Views
from coterie.numeric.core.records import Csr
from coterie.numeric.trees import apart
from coterie.numeric.views.forms import emptied, side_by_side

from .encoding import Encoder, require_columns
from .preparation import Learning

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from .faults import Fault
    from .keys import HashedFeatures


class ViewColumns(NamedTuple):
    """A view of files: its name, the columns or Vowpal Wabbit namespaces it has, and what encodes them.

    ``called`` are the names from which keys of features are made: these, or where all views lie in one space those of
    the first view, so that the j-th columns of all views are one feature.
    """

    name: str
    own: tuple[str, ...]
    encoder: Encoder
    called: tuple[str, ...]

    def of(self, batch: Any) -> Any:
        """The view's columns, called as the encoder calls them."""
        import pyarrow as pa

        columns = [batch.column(name) for name in self.own]
        kind = pa.Table if hasattr(batch, "combine_chunks") else pa.RecordBatch
        return kind.from_arrays(columns, names=list(self.called))


class _State(msgspec.Struct):
    """The data that :meth:`ViewEncoder.to_state` returns."""

    views: list[tuple[str, tuple[str, ...], tuple[str, ...], dict[str, Any]]]
    label: str | None


class ViewEncoder:
    """Turns records of files into rows of several views, each by an :class:`Encoder` of its own.

    A view is absent from a record where all of its columns are empty (null, an empty string, an empty list), or none
    of its namespaces has a feature. Scaling is a view's own: with ``"unit"`` every view that is there has length one.
    So is the constant feature.

    Parameters
    ----------
    parts : sequence of ViewColumns
        The views in their order.
    label : str, optional
        The column that holds the label.

    Attributes
    ----------
    views : Views
        The views by name, and how wide they are.

    Examples
    --------
    >>> import pyarrow as pa
    >>> audio, video = (Encoder([(name, "numeric")], constant=False) for name in ("pitch", "red"))
    >>> parts = [ViewColumns("audio", ("pitch",), audio, ("pitch",)), ViewColumns("video", ("red",), video, ("red",))]
    >>> encoder = ViewEncoder(parts)
    >>> records = encoder.encode_sound(pa.table({"red": [0.5, None], "pitch": [2.0, 3.0]}))
    >>> records.rows.values.tolist(), records.present.tolist()
    ([[2.0, 0.5, 0.0], [3.0, 0.0, 0.0]], [[True, True], [True, False]])
    """

    task: None = None
    kind = "views"
    feature_names: None = None
    #: Rows are as wide as they were: what is missing has no feature.
    indicator_columns: int = 0

    def __init__(self, parts: Sequence[ViewColumns], *, label: str | None = None) -> None:
        self.parts, self.label = tuple(parts), label
        self.views = Views([each.name for each in parts], [each.encoder.n_features for each in parts])

    @property
    def source(self) -> str:
        """The kind of source that is encoded, as in `Encoder`."""
        return self.parts[0].encoder.source

    @property
    def bits(self) -> int:
        """Hashed views have ``2**bits`` columns."""
        return self.parts[0].encoder.bits

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """All columns by their names in the file, and their kinds."""
        kinds = [kind for each in self.parts for _, kind in each.encoder.columns]
        names = [name for each in self.parts for name in each.own] if kinds else []
        return tuple(zip(names, kinds, strict=True))

    @property
    def roles(self) -> dict[str, str]:
        """What each column or namespace is used as."""
        return {name: f"view {each.name}" for each in self.parts for name in each.own}

    def __repr__(self) -> str:
        return f"ViewEncoder({list(self.parts)!r}, label={self.label!r})"

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What `from_state` needs: a dictionary that JSON can hold, and named arrays."""
        made = [each.encoder.to_state() for each in self.parts]
        views = [
            [each.name, list(each.own), list(each.called), spec]
            for each, (spec, _) in zip(self.parts, made, strict=True)
        ]
        arrays = {f"{k}.{name}": array for k, (_, held) in enumerate(made) for name, array in held.items()}
        return {"views": views, "label": self.label}, arrays

    @classmethod
    def from_state(cls, spec: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> ViewEncoder:
        """Build the encoder that `to_state` described, with what it had learned."""
        state, own_arrays = msgspec.convert(spec, _State), apart(dict(arrays))
        parts = [
            ViewColumns(name, own, Encoder.from_state(held, own_arrays.get(str(k), {})), called)
            for k, (name, own, called, held) in enumerate(state.views)
        ]
        for each in parts:
            kinds = [name for name, _ in each.encoder.columns]
            if len(each.own) != len(each.called) or (kinds and list(each.called) != kinds):
                raise ValueError(f"the columns of view {each.name!r} are not those of its encoder")
        return cls(parts, label=state.label)

    def copy(self) -> ViewEncoder:
        """Another encoder with the same state, which learns on its own."""
        return ViewEncoder.from_state(*self.to_state())

    def alone(self, name: Hashable) -> ViewEncoder:
        """An encoder of one of the views, which shares what that one learns."""
        return ViewEncoder([self.parts[self.views.place(name)]], label=self.label)

    def faults(self, batch: pa.RecordBatch | pa.Table, path: str | None = None) -> Iterator[Fault]:
        """What keeps rows of a batch from being encoded, as `Encoder.faults`."""
        require_columns(self.columns, batch.schema, path)
        for each in self.parts:
            names: dict[str | None, str] = dict(zip(each.called, each.own, strict=True))
            for fault in each.encoder.faults(each.of(batch), path):
                yield fault._replace(column=names.get(fault.column, fault.column))

    def encode_sound(self, batch: pa.RecordBatch | pa.Table, update: Learning = True) -> ViewRecords:
        """Encode the rows of a batch in which `faults` finds none."""
        from .columns import filled, plain

        blocks = [each.encoder.encode_sound(each.of(batch), update) for each in self.parts]
        there = [[filled(plain(batch.column(name))) for name in each.own] for each in self.parts]
        return self._together(blocks, np.stack([np.any(columns, axis=0) for columns in there], axis=1))

    def assemble(self, entries: HashedFeatures, view: NDArray[np.int64], n: int) -> ViewRecords:
        """Put hashed entries of n rows together, ``view`` being that of each entry."""
        own = [_of_view(entries, view == k, n) for k in range(len(self.parts))]
        blocks = [each.encoder.assemble([mine], n) for each, mine in zip(self.parts, own, strict=True)]
        return self._together(blocks, np.stack([mine.counts > 0 for mine in own], axis=1))

    def _together(self, blocks: Sequence[Any], present: NDArray[np.bool_]) -> ViewRecords:
        held = [emptied(block, present[:, k]) for k, block in enumerate(blocks)]
        return ViewRecords(side_by_side(held, self.views.widths, len(present)), present, self.views)

    def records(self, records: Sequence[Mapping[Hashable, Any]], update: bool = True) -> ViewRecords:
        """Encode dictionaries view -> dictionary of its columns.

        Raises
        ------
        ValueError
            For an unknown view.
        InputError
            For a value that does not fit its column.
        """
        made = self.views.read(records, lambda k, features: self._row(self.parts[k], features, update))
        return replace(made, views=self.views)

    @staticmethod
    def _row(part: ViewColumns, record: Mapping[str, Any], update: bool) -> Csr:
        names = dict(zip(part.own, part.called, strict=True))
        return part.encoder.records([{names[name]: held for name, held in record.items() if name in names}], update)

    def snapshot(self) -> Callable[[], None]:
        """A function that undoes what the encoders learn from now on."""
        undo = [each.encoder.snapshot() for each in self.parts]

        def undo_all() -> None:
            for undo_one in undo:
                undo_one()

        return undo_all


def require_one_space(one_space: bool, names: Sequence[Hashable], widths: Sequence[int]) -> None:
    """Refuse views of different widths where all are to lie in one space; a width of 0 is not known yet.

    Raises
    ------
    ValueError
        With the widths, and what to use instead.
    """
    if one_space and len({width for width in widths if width}) > 1:
        shown = ", ".join(f"{name!r} has {d}" for name, d in zip(names, widths, strict=True) if d)
        raise ValueError(
            f"all views must have the same features here: {shown}; for views of different sizes use "
            "OrthogonalMultiviewPerceptron, or a kernel for each pair of views"
        )


def _of_view(entries: HashedFeatures, mine: NDArray[np.bool_], n: int) -> HashedFeatures:
    row = np.repeat(np.arange(n), entries.counts)[mine]
    counts = np.bincount(row, minlength=n).astype(np.int64)
    return entries._replace(counts=counts, indices=entries.indices[mine], values=entries.values[mine])
