"""Multi-view records, and the names and sizes of views."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from coterie import spec
from coterie._compiled.core.records import Csr
from coterie.models.contract import AnyRows
from coterie.types import Json, Record

from .vocabularies import Vocabulary, concatenated


@dataclass(frozen=True)
class ViewRecords:
    """Validated multi-view records: row t·K + k is view k of record t, which is absent unless ``present[t, k]``."""

    rows: AnyRows
    present: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.present)

    def __getitem__(self, span: slice) -> ViewRecords:
        from coterie._compiled.views.forms import cut

        first, last, _ = span.indices(len(self))
        return ViewRecords(cut(self.rows, self.present.shape[1], first, last), self.present[first:last])

    def joined(self, below: ViewRecords) -> ViewRecords:
        """Return these records followed by those of ``below``."""
        from coterie._compiled.views.forms import stack

        return ViewRecords(stack(self.rows, below.rows), np.concatenate([self.present, below.present]))


class Views:
    """The views of a model: their names and numbers of features; for dictionaries, also the feature names.

    Parameters
    ----------
    names : sequence of labels
        The views.
    widths : sequence of int
        The number of features of each view; 0 for a view that was never seen.
    words : sequence of Vocabulary, optional
        The feature names of each view; the same object for all views of one space.

    Examples
    --------
    >>> Views(["audio", "video"], [12, 400]).place("video")
    1
    """

    def __init__(
        self, names: Iterable[Hashable], widths: Iterable[int], words: Sequence[Vocabulary] | None = None
    ) -> None:
        self.names = list(names)
        self.widths = list(widths)
        self.words = words
        self._places = {name: k for k, name in enumerate(self.names)}
        if len(self._places) != len(self.names) or not self.names:
            raise ValueError(f"views must be one name per view, each once, got {self.names!r}")

    def __len__(self) -> int:
        return len(self.names)

    def place(self, name: Hashable) -> int:
        """Return the index of the view ``name``.

        Raises
        ------
        ValueError
            If there is no view with this name.
        """
        if name not in self._places:
            shown = ", ".join(map(repr, self.names))
            raise ValueError(
                f"view {name!r} is unknown; the views are {shown} (pass views= to name all from the start)"
            )
        return self._places[name]

    def sizes(self) -> list[int]:
        """Return the number of known feature names of each view."""
        return [len(words) for words in self.words or ()]

    def shorten(self, sizes: Sequence[int]) -> None:
        """Forget the latest feature names, so that each view has as many as ``sizes`` says."""
        for words, size in zip(self.words or (), sizes, strict=True):
            words.shorten(size)
        if self.words is not None:
            self.widths = list(sizes)

    def records(self, records: Sequence[Record], resize: bool, unseen: bool = False) -> ViewRecords:
        """Encode records that are dictionaries from view to features. New features get columns if ``resize``."""
        view_records = self.read(records, lambda k, features: self._encode(k, features, resize, unseen))
        if resize and self.words is not None:
            self.widths = [len(words) for words in self.words]
        return view_records

    def read(self, records: Sequence[Record], row: Callable[[int, Any], Csr]) -> ViewRecords:
        """Encode records that are dictionaries from view to features, each by ``row(view, features)``.

        A missing key or None is an absent view.
        """
        K = len(self)
        present = np.zeros((len(records), K), bool)
        parts = [_NOTHING] * (len(records) * K)
        for t, record in enumerate(records):
            for name, features in record.items():
                k = self.place(name)
                if features is not None:
                    if not isinstance(features, Mapping):
                        raise TypeError(f"view {name!r} of a record must be a dictionary of features, got {features!r}")
                    present[t, k], parts[t * K + k] = True, _in_order_of_features(row(k, features))
        return ViewRecords(concatenated(parts), present)

    def _encode(self, k: int, features: Record, resize: bool, unseen: bool) -> Csr:
        if self.words is None:
            raise ValueError("the model learned from arrays; pass blocks, not dictionaries of features")
        return self.words[k].record(features, resize, unseen)

    def to_json(self) -> Json:
        """Return the views as JSON data for :func:`views_from_json`."""
        words = self.words or []
        shared = len(words) > 1 and all(vocabulary is words[0] for vocabulary in words)
        names = [list(vocabulary.numbers) for vocabulary in (words[:1] if shared else words)]
        return {"views": self.names, "widths": self.widths, "words": names, "shared": shared}


class _Saved(msgspec.Struct):
    """Saved data of :meth:`Views.to_json`."""

    views: list[Any]
    widths: list[int]
    words: list[list[Any]]
    shared: bool


def views_from_json(data: Json) -> Views:
    """Restore the views from the result of :meth:`Views.to_json`.

    Raises
    ------
    ValueError
        If there is not one width per view, not one name per feature, or a name occurs twice.
    """
    saved = msgspec.convert(data, _Saved)
    spec.labels_of(saved.views)
    words = [Vocabulary(spec.labels_of(names)) for names in saved.words]
    if any(len(vocabulary) != len(names) for vocabulary, names in zip(words, saved.words, strict=True)):
        raise ValueError("a feature name occurs twice")
    words = words * len(saved.views) if saved.shared else words
    if len(saved.widths) != len(saved.views) or len(words) not in (0, len(saved.views)):
        raise ValueError(f"{len(saved.widths)} widths for {len(saved.views)} views and {len(words)} lists of names")
    for names, width in zip(words, saved.widths, strict=False):
        if len(names) != width:
            raise ValueError(f"{len(names)} features have a name in a view of width {width}")
    return Views(saved.views, saved.widths, words or None)


_NOTHING = Csr(np.zeros(0), np.zeros(0, np.int32), np.zeros(2, np.int64))


def _in_order_of_features(row: Csr) -> Csr:
    order = np.argsort(row.features, kind="stable")
    return Csr(row.values[order], row.features[order], row.starts)
