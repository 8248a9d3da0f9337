"""Views: which task a record belongs to, and with which vector, or with which ones of several views of one thing."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from struct import Struct
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .numeric.dictionaries import PLAIN, read
from .numeric.fields import LARGEST_VALUE
from .numeric.hashing import feature_hash
from .numeric.records import Csr


class Vocabulary:
    """Turns dictionaries into records: every feature name gets a column of its own, in order of first appearance.

    Numbers and booleans are taken as they are under their name; a string is the feature ``name=value`` with value 1.

    Examples
    --------
    >>> Vocabulary().record({"price": 2.5, "colour": "red"}, grow=True)
    Csr(values=array([2.5, 1. ]), features=array([0, 1], dtype=int32), starts=array([0, 2]))
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.numbers: dict[str, int] = {name: j for j, name in enumerate(names)}

    def __len__(self) -> int:
        return len(self.numbers)

    def shorten(self, names: int) -> None:
        """Forget the names after the first so many."""
        while len(self.numbers) > names:
            self.numbers.popitem()

    def record(self, features: Mapping[str, Any], grow: bool) -> Csr:
        """One record as a block of one; new names are added if it may grow, else left out."""
        plain = self._plain(features, grow) if type(features) is dict else None
        if plain is not None:
            return plain
        names, values = _numbers(features)
        if grow:
            self._number(names)
        found = _integers([self.numbers.get(name, -1) for name in names], len(values))
        columns = found[found >= 0]
        return Csr(values[found >= 0], columns, _one_record(len(columns)))

    def _plain(self, features: dict[str, Any], grow: bool) -> Csr | None:
        """As :meth:`record`, of plain numbers; None if there is anything else."""
        values, columns = np.empty(len(features)), np.empty(len(features), np.int32)
        known = read(features, self.numbers, values, columns)
        if grow and 0 <= known < len(values):
            self._number(features)
            known = read(features, self.numbers, values, columns)
        return None if known < 0 else Csr(values[:known], columns[:known], _one_record(known))

    def _number(self, names: Iterable[str]) -> None:
        known = self.numbers
        for name in names:
            if name not in known:
                known[name] = len(known)

    def records(self, features: Sequence[Mapping[str, Any]], grow: bool) -> Csr:
        """Several records, in order."""
        return _together([self.record(each, grow) for each in features])

    def to_json(self) -> dict[str, Any]:
        """What :func:`view_from_json` needs."""
        return {"names": list(self.numbers)}


class HashedVocabulary:
    """Turns dictionaries into records without keeping a name: features share 2**bits columns by their hash.

    Keys are made as :class:`Vocabulary` makes them and hashed as the readers of files hash theirs.

    Examples
    --------
    >>> HashedVocabulary(bits=18).record({"word=free": 1.0}, grow=True).features
    array([22005], dtype=int32)
    """

    #: There are no names to have numbers.
    numbers: ClassVar[None] = None

    def __init__(self, bits: int) -> None:
        self.bits = bits

    def __len__(self) -> int:
        return int(2**self.bits)

    def shorten(self, names: int) -> None:
        """Forget names; there are none."""

    def record(self, features: Mapping[str, Any], grow: bool) -> Csr:
        """One record as a block of one."""
        names, values = _numbers(features)
        columns = np.array([feature_hash(name, self.bits) for name in names], np.int32)
        return Csr(values, columns, _one_record(len(columns)))

    def records(self, features: Sequence[Mapping[str, Any]], grow: bool) -> Csr:
        """Several records, in order."""
        return _together([self.record(each, grow) for each in features])

    def to_json(self) -> dict[str, Any]:
        """What :func:`view_from_json` needs."""
        return {"bits": self.bits}


View = Vocabulary | HashedVocabulary


def view_from_json(data: Mapping[str, Any]) -> Any:
    """The view, or the views, that gave these data."""
    if "views" in data:
        return _views_from_json(data)
    return Vocabulary(data["names"]) if "names" in data else HashedVocabulary(data["bits"])


def _together(parts: Sequence[Csr]) -> Csr:
    starts = np.cumsum([0, *(len(part.values) for part in parts)])
    values, features = (np.concatenate(each) for each in zip(*((p.values, p.features) for p in parts), strict=True))
    return Csr(values, features, starts)


@lru_cache(4096)
def _writer(code: str, n: int) -> Callable[..., None]:
    """What writes so many numbers to an array, quicker than NumPy makes one of few numbers."""
    return Struct(f"{n}{code}").pack_into


def _floats(held: Iterable[Any], n: int) -> NDArray[np.float64]:
    array = np.empty(n)
    _writer("d", n)(array, 0, *held)
    return array


def _integers(held: Iterable[int], n: int) -> NDArray[np.int32]:
    array = np.empty(n, np.int32)
    _writer("i", n)(array, 0, *held)
    return array


@lru_cache(4096)
def _one_record(entries: int) -> NDArray[np.int64]:
    """Where the only record begins and ends; never written to."""
    return np.array([0, entries], np.int64)


def _numbers(features: Mapping[str, Any]) -> tuple[Iterable[str], NDArray[np.float64]]:
    """Names and finite values of a dictionary's features."""
    held = features.values()
    try:
        if PLAIN.issuperset(map(type, held)) and sum(map(abs, held)) <= LARGEST_VALUE:
            return features, _floats(held, len(held))
    except OverflowError:  # an integer that no float can hold, which is named below
        pass
    return _mixed_numbers(features)


def _mixed_numbers(features: Mapping[str, Any]) -> tuple[Iterable[str], NDArray[np.float64]]:
    for name, held in features.items():
        if not _is_usable(held):
            raise ValueError(f"feature {name!r} must be a finite number or a string, got {held!r}")
        if not (isinstance(held, str) or abs(held) <= LARGEST_VALUE):
            raise ValueError(f"feature {name!r}: {unusable(float(held))}")
    pairs = [(f"{name}={held}", 1.0) if isinstance(held, str) else (name, held) for name, held in features.items()]
    return [name for name, _ in pairs], np.array([held for _, held in pairs], np.float64)


def unusable(number: float) -> str:
    """Why a number cannot be learned from: it is not finite, or its square may overflow."""
    reason = f"beyond the limit of {LARGEST_VALUE:g}" if math.isfinite(number) else "not a finite number"
    return f"{number!r} is {reason}"


def _is_usable(held: Any) -> bool:
    if isinstance(held, (str, bool, np.bool_)):
        return True
    return isinstance(held, numbers.Real) and _is_finite(held)


def _is_finite(number: Any) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:  # an integer that no float can hold
        return False


@dataclass(frozen=True)
class ViewRecords:
    """Records of several views, checked: row t·K + k of ``rows`` is view k of record t, if ``present[t, k]``.

    ``views`` are theirs, where they were read from a file.
    """

    rows: Any
    present: NDArray[np.bool_]
    views: Views | None = None

    def __len__(self) -> int:
        return len(self.present)

    def __getitem__(self, span: slice) -> ViewRecords:
        from .numeric.view_forms import cut

        first, last, _ = span.indices(len(self))
        return ViewRecords(cut(self.rows, self.present.shape[1], first, last), self.present[first:last], self.views)

    def joined(self, below: ViewRecords) -> ViewRecords:
        """These records and those after them."""
        from .numeric.view_forms import stack

        return ViewRecords(stack(self.rows, below.rows), np.concatenate([self.present, below.present]), self.views)

    def alone(self, name: Hashable) -> ViewRecords:
        """The records as one of the views, by name, shows them."""
        if self.views is None:
            raise ValueError(f"view {name!r} cannot be taken apart from records whose views have no names")
        from .numeric.view_forms import alone

        k = self.views.place(name)
        rows = alone(self.rows, len(self.views), k)
        return ViewRecords(rows, self.present[:, k : k + 1], Views([name], [self.views.widths[k]]))


class Views:
    """The views of one thing by name, how wide each is, and where records are dictionaries, their feature names.

    Parameters
    ----------
    names : sequence of labels
        The views.
    widths : sequence of int
        How many features each has; 0 where nobody has seen it.
    words : sequence of Vocabulary, optional
        The feature names of each; the same object for all where all views lie in one space.

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
            raise ValueError(f"views must be one name a view, each once, got {self.names!r}")

    def __len__(self) -> int:
        return len(self.names)

    def place(self, name: Hashable) -> int:
        """Which of the views it is.

        Raises
        ------
        ValueError
            If there is none of this name.
        """
        if name not in self._places:
            shown = ", ".join(map(repr, self.names))
            raise ValueError(f"view {name!r} is unknown: the views are {shown} (views= names them from the start)")
        return self._places[name]

    def sizes(self) -> list[int]:
        """How many feature names each view has, for :meth:`shorten`."""
        return [len(words) for words in self.words or ()]

    def shorten(self, sizes: Sequence[int]) -> None:
        """Forget the feature names that came after these."""
        for words, size in zip(self.words or (), sizes, strict=True):
            words.shorten(size)
        if self.words is not None:
            self.widths = list(sizes)

    def records(self, records: Sequence[Mapping[Hashable, Any]], grow: bool) -> ViewRecords:
        """Dictionaries of dictionaries; a view without a key, or None, is absent."""
        K = len(self)
        present = np.zeros((len(records), K), bool)
        parts = [_NOTHING] * (len(records) * K)
        for t, record in enumerate(records):
            for name, features in record.items():
                k = self.place(name)
                if features is not None:
                    if not isinstance(features, Mapping):
                        raise TypeError(f"view {name!r} of a record is a dictionary of features, got {features!r}")
                    present[t, k], parts[t * K + k] = True, _in_order_of_features(self._encode(k, features, grow))
        if grow and self.words is not None:
            self.widths = [len(words) for words in self.words]
        return ViewRecords(_together(parts), present)

    def _encode(self, k: int, features: Mapping[str, Any], grow: bool) -> Csr:
        if self.words is None:
            raise ValueError("the model learned from arrays: give blocks, not dictionaries of features")
        return self.words[k].record(features, grow)

    def to_json(self) -> dict[str, Any]:
        """What :func:`view_from_json` needs."""
        words = self.words or []
        shared = len(words) > 1 and all(each is words[0] for each in words)
        kept = [list(each.numbers) for each in (words[:1] if shared else words)]
        return {"views": self.names, "widths": self.widths, "words": kept, "shared": shared}


def _views_from_json(data: Mapping[str, Any]) -> Views:
    words = [Vocabulary(names) for names in data["words"]]
    words = words * len(data["views"]) if data["shared"] else words
    return Views(data["views"], data["widths"], words or None)


_NOTHING = Csr(np.zeros(0), np.zeros(0, np.int32), np.zeros(2, np.int64))


def _in_order_of_features(row: Csr) -> Csr:
    order = np.argsort(row.features, kind="stable")
    return Csr(row.values[order], row.features[order], row.starts)
