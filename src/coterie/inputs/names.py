"""The names of hashed features, as far as a bounded table has room, for explanations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from coterie.numeric.core.checks import require
from coterie.numeric.core.hashing import as_bytes, bit_mask, encode_key
from coterie.numeric.text.names import MOST, NO_NAMES, NameTable, meet_keys, name_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray


class Names:
    """The first name met in each column of features hashed to 2**bits, of the first 65,536 columns that had one.

    Texts and rows of the first 10,000 records are looked through for names, then those of every 16th. Categories are,
    always. Whoever hashes hands ``table`` to compiled code, and then calls :meth:`take` with the text that was hashed.

    Parameters
    ----------
    bits : int
    kept : bool
        False for a table that stays empty.

    Notes
    -----
    Takes some 140 bytes a name, with what it is found by; in a file 9 bytes and its own.

    Examples
    --------
    >>> from coterie.numeric.core.hashing import feature_hash
    >>> names = Names(bits=8)
    >>> names.add(["price", "shop=north", "price"])
    >>> len(names), names.of(feature_hash("price", bits=8)), names.collisions, names.dropped
    (2, 'price', 0, 0)
    """

    def __init__(self, bits: int, kept: bool = True) -> None:
        self.bits = bits
        self.table: NameTable = name_table(MOST) if kept else NO_NAMES
        self._keys: list[bytes] = []
        self._met: set[str] = set()
        self._numbers: dict[int, int] = {}

    def __len__(self) -> int:
        return int(self.table.counts[0])

    @property
    def kept(self) -> bool:
        """True where names are kept."""
        return bool(self.table.cells.size)

    @property
    def collisions(self) -> int:
        """The columns with a name in which features of another name came, too."""
        return int(self.table.shared.sum())

    @property
    def dropped(self) -> int:
        """The number of features met whose names found no room in the table."""
        return int(self.table.counts[1])

    def of(self, column: int) -> str | None:
        """The name in a column; None where none is known."""
        for n in range(len(self._numbers), len(self)):
            self._numbers[self._column(n)] = n
        n = self._numbers.get(column, -1)
        return None if n < 0 else self._keys[n].decode("utf-8", "backslashreplace")

    def _column(self, n: int) -> int:
        return int(self.table.hashes[n] & bit_mask(self.bits))

    def columns(self) -> list[int]:
        """The columns that have a name, in the order in which they got it."""
        return [self._column(n) for n in range(len(self))]

    def take(self, data: NDArray[np.uint8], prefix: bytes = b"", change: Callable[[bytes], bytes] = bytes) -> None:
        """Copy the names that compiled code has found in a text: ``prefix`` and the words at their places, changed."""
        text: Any = memoryview(data)  # type: ignore[arg-type]
        for start, stop, first, last in self.table.place[len(self._keys) : len(self)].tolist():
            space = bytes(text[first:last]) + b"^" if first < last else prefix
            self._keys.append(space + change(bytes(text[start:stop])))

    def add(self, keys: Iterable[str]) -> None:
        """Note the names of features that were hashed one by one."""
        if not self.kept:
            return
        new = [key for key in keys if key not in self._met]
        if new:
            self._meet(list(map(encode_key, new)))
            self._met.update(new if len(self._met) < MOST else ())

    def _meet(self, keys: list[bytes]) -> None:
        data, ends = as_bytes(b"".join(keys) or b"\0"), np.cumsum([len(key) for key in keys], dtype=np.int64)
        meet_keys(data, ends, bit_mask(self.bits), self.table)
        self.take(data)

    def count(self, records: int) -> None:
        """Note how many records were read: of many, not all texts are looked through."""
        if self.kept:
            self.table.counts[2] += records

    def copy(self) -> Names:
        """A copy, which notes further names by itself."""
        made = Names(self.bits, self.kept)
        if self.kept:
            for name in ("cells", "shared", "hashes", "counts"):
                getattr(made.table, name)[:] = getattr(self.table, name)
            made._keys = list(self._keys)
        return made

    def __reduce__(self) -> Any:
        return Names.from_arrays, (self.bits, self.kept, self.to_arrays())

    def mark(self) -> Any:
        """A mark of the names known now, for :meth:`restore`."""
        return len(self), self.table.counts[1:].copy(), self.table.shared.copy()

    def restore(self, mark: Any) -> None:
        """Forget the names of records that were refused."""
        n, counts, shared = mark
        if n < len(self):
            self._fill(self._keys[:n])
        self.table.shared[:], self.table.counts[1:] = shared, counts

    def _fill(self, keys: list[bytes]) -> None:
        """Replace all names by those of these keys."""
        self.table, self._keys, self._met, self._numbers = name_table(MOST), [], set(), {}
        self._meet(keys)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The names as named arrays, by column, however the stream was cut; nothing where none are kept."""
        if not self.kept:
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
    def from_arrays(cls, bits: int, kept: bool, arrays: Mapping[str, NDArray[Any]]) -> Names:
        """The names of which :meth:`to_arrays` made arrays; none of a file that has none.

        Raises
        ------
        ValueError
            If they are no names, more than there is room for, or two of them are in one column.
        """
        made = cls(bits, kept)
        if not kept or "names" not in arrays:
            return made
        text, ends, shared, counts = (
            np.asarray(arrays[name], kind)
            for name, kind in (
                ("names", np.uint8),
                ("name_ends", np.int64),
                ("names_shared", np.bool_),
                ("names_counts", np.int64),
            )
        )
        sound = text.ndim == ends.ndim == 1 and shared.shape == ends.shape and counts.shape == (2,)
        require(sound and len(ends) <= MOST and int(counts.min(initial=0)) >= 0, "names of features are none")
        bounds = np.append(0, ends)
        require(bool((np.diff(bounds) >= 0).all()) and bounds[-1] == len(text), "names of features do not end in order")
        raw = text.tobytes()
        made._fill([raw[first:last] for first, last in zip(bounds[:-1].tolist(), ends.tolist(), strict=True)])
        require(len(made) == len(ends), "two names of features are in one column")
        both = np.flatnonzero(np.isin(made.table.cells, made.table.hashes[: len(made)][shared]))
        made.table.shared[both], made.table.counts[1:] = True, counts
        return made
