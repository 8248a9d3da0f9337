"""Names of hashed features for explanations, in a table of bounded size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from coterie._compiled.core.checks import require
from coterie._compiled.core.hashing import as_bytes, bit_mask, encode_key
from coterie._compiled.text.names import MOST, NO_NAMES, NameTable, name_table, store_keys
from coterie.types import Array, Arrays

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray


class Names:
    """A table of the names of hashed features: the first name for each of at most 65,536 columns.

    Names are collected from texts and rows of the first 10,000 records, then of every 16th; from categories always.
    Code that hashes passes ``table`` to compiled code, and then calls :meth:`copy_names` with the hashed text.

    Parameters
    ----------
    bits : int
    enabled : bool
        False for a table that stays empty.

    Notes
    -----
    Takes about 140 bytes per name in memory; in a file 9 bytes and those of the name.

    Examples
    --------
    >>> from coterie._compiled.core.hashing import feature_hash
    >>> names = Names(bits=8)
    >>> names.add(["price", "shop=north", "price"])
    >>> len(names), names.find_name(feature_hash("price", bits=8)), names.collisions, names.dropped
    (2, 'price', 0, 0)
    """

    def __init__(self, bits: int, enabled: bool = True) -> None:
        self.bits = bits
        self.table: NameTable = name_table(MOST) if enabled else NO_NAMES
        self._keys: list[bytes] = []
        self._known: set[str] = set()
        self._numbers: dict[int, int] = {}

    def __len__(self) -> int:
        return int(self.table.counts[0])

    @property
    def enabled(self) -> bool:
        """True if names are stored."""
        return bool(self.table.cells.size)

    @property
    def collisions(self) -> int:
        """The number of named columns that also have features of other names."""
        return int(self.table.shared.sum())

    @property
    def dropped(self) -> int:
        """The number of features with names that are not stored because the table is full."""
        return int(self.table.counts[1])

    def find_name(self, column: int) -> str | None:
        """Return the name in a column; None if unknown."""
        for n in range(len(self._numbers), len(self)):
            self._numbers[self._column(n)] = n
        n = self._numbers.get(column, -1)
        return None if n < 0 else self._keys[n].decode("utf-8", "backslashreplace")

    def _column(self, n: int) -> int:
        return int(self.table.hashes[n] & bit_mask(self.bits))

    def columns(self) -> list[int]:
        """Return the named columns, in the order of their names' first occurrence."""
        return [self._column(n) for n in range(len(self))]

    def copy_names(
        self, data: NDArray[np.uint8], prefix: bytes = b"", convert: Callable[[bytes], bytes] = bytes
    ) -> None:
        """Store the names in the text ``data`` at the positions of the compiled ``table``.

        Each is ``prefix`` or a namespace, followed by the word that ``convert`` returns.
        """
        text: Any = memoryview(data)  # type: ignore[arg-type]
        for start, stop, first, last in self.table.place[len(self._keys) : len(self)].tolist():
            space = bytes(text[first:last]) + b"^" if first < last else prefix
            self._keys.append(space + convert(bytes(text[start:stop])))

    def add(self, keys: Iterable[str]) -> None:
        """Store the names of features that were hashed one by one."""
        new = [key for key in keys if key not in self._known] if self.enabled else []
        if new:
            self._add_keys(list(map(encode_key, new)))
            self._known.update(new if len(self._known) < MOST else ())

    def _add_keys(self, keys: list[bytes]) -> None:
        data, ends = as_bytes(b"".join(keys) or b"\0"), np.cumsum([len(key) for key in keys], dtype=np.int64)
        store_keys(data, ends, bit_mask(self.bits), self.table)
        self.copy_names(data)

    def count(self, records: int) -> None:
        """Count records: after the first 10,000, names are collected from every 16th record only."""
        if self.enabled:
            self.table.counts[2] += records

    def copy(self) -> Names:
        """Return a copy with a separate table."""
        names = Names(self.bits, self.enabled)
        if self.enabled:
            for name in ("cells", "shared", "hashes", "counts"):
                getattr(names.table, name)[:] = getattr(self.table, name)
            names._keys = list(self._keys)
        return names

    def __reduce__(self) -> tuple[object, ...]:
        return Names.from_arrays, (self.bits, self.enabled, self.to_arrays())

    def mark(self) -> tuple[int, Array, Array]:
        """Return the current size of the table, to which :meth:`restore` can return."""
        return len(self), self.table.counts[1:].copy(), self.table.shared.copy()

    def restore(self, mark: tuple[int, Array, Array]) -> None:
        """Remove the names that were added after :meth:`mark` returned ``mark``."""
        n, counts, shared = mark
        if n < len(self):
            self._fill(self._keys[:n])
        self.table.shared[:], self.table.counts[1:] = shared, counts

    def _fill(self, keys: list[bytes]) -> None:
        """Replace all stored names by those of ``keys``, in this order."""
        self.table, self._keys, self._known, self._numbers = name_table(MOST), [], set(), {}
        self._add_keys(keys)

    def to_arrays(self) -> Arrays:
        """Return the names as named arrays, ordered by column; empty without names."""
        if not self.enabled:
            return {}
        columns = np.array(self.columns(), np.int64)
        keys = [self._keys[n] for n in np.argsort(columns).tolist()]
        of_shared = self.table.cells[self.table.shared] & bit_mask(self.bits)
        return {
            "names": np.frombuffer(b"".join(keys), np.uint8).copy(),
            "name_ends": np.cumsum([len(key) for key in keys], dtype=np.int64),
            "names_shared": np.isin(np.sort(columns), of_shared.astype(np.int64)),
            "names_counts": self.table.counts[1:].copy(),
        }

    @classmethod
    def from_arrays(cls, bits: int, enabled: bool, arrays: Mapping[str, Array]) -> Names:
        """Restore the names from the arrays of :meth:`to_arrays`; empty without such arrays.

        Raises
        ------
        ValueError
            If the arrays do not fit, hold too many names, or two names of one column.
        """
        restored = cls(bits, enabled)
        if not enabled or "names" not in arrays:
            return restored
        names = ("names", "name_ends", "names_shared", "names_counts")
        types: tuple[type[np.generic], ...] = (np.uint8, np.int64, np.bool_, np.int64)
        text, ends, shared, counts = (np.asarray(arrays[name], kind) for name, kind in zip(names, types, strict=True))
        sound = text.ndim == ends.ndim == 1 and shared.shape == ends.shape and counts.shape == (2,)
        require(sound and len(ends) <= MOST and int(counts.min(initial=0)) >= 0, "the names of features are invalid")
        bounds = np.append(0, ends)
        require(
            bool((np.diff(bounds) >= 0).all()) and bounds[-1] == len(text),
            "the ends of the names of features are not in order",
        )
        raw = text.tobytes()
        restored._fill([raw[first:last] for first, last in zip(bounds[:-1].tolist(), ends.tolist(), strict=True)])
        require(len(restored) == len(ends), "two names of features are in one column")
        both = np.flatnonzero(np.isin(restored.table.cells, restored.table.hashes[: len(restored)][shared]))
        restored.table.shared[both], restored.table.counts[1:] = True, counts
        return restored
