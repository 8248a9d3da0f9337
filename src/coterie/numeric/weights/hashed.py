"""Tables of a fixed size, whose places rows and features share by hashing: exact up to collisions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from coterie.numeric.core.arrays import Dropped, aligned
from coterie.numeric.core.checks import require
from coterie.numeric.core.generic import no_refcount, when
from coterie.numeric.core.records import Csr

from .table import LINE, Table, locate, numbers_of, prefetch_row, prefetch_weights


class _Fields(NamedTuple):
    values: Any
    shift: int


class _HashedTable(Table):
    __slots__ = ()

    dense: ClassVar[bool] = False
    shift: Any
    _asdict: Callable[[], dict[str, Any]]
    _replace: Callable[..., Self]

    @classmethod
    @abstractmethod
    def empty(cls, bits: int, dtype: str, numbers: int = 1) -> Self:
        """Make a table of 2**bits weights."""

    @classmethod
    def blank(cls, dtype: str, numbers: int) -> Self:
        """Make the smallest table there is, which has the types of the arrays that are saved."""
        return cls.empty(1, dtype, numbers)

    def clear_rows(self, rows: NDArray[np.int64]) -> Self:
        """Refuse: rows share places, so that the weights of one row cannot be told from those of others.

        Raises
        ------
        ValueError
            Always.
        """
        raise ValueError("hashed weights cannot be dropped: tasks share their places")

    def drop_rows(self, dropped: Dropped) -> Self:
        """Refuse, as :meth:`clear_rows`."""
        return self.clear_rows(dropped.rows)

    def to_saved(self, rows: int | None = None, features: int | None = None) -> dict[str, Any]:
        """Copy the fields: every place may be that of some row and feature."""
        return self._replace(values=self.values.copy())._asdict()

    def check(self, rows: int, features: int) -> None:
        """Refuse any number of places but that which the shift makes of a hash."""
        fits = 0 < self.shift < 64 and self.values.size == self.numbers << (64 - self.shift)
        require(fits, f"a hashed table of {self.values.size} weights shifts by {self.shift}")


class Hashed(_Fields, _HashedTable):
    """2**(64 - shift) weights that rows and features share by hashing."""

    __slots__ = ()
    numbers: ClassVar[int] = 1

    @classmethod
    def empty(cls, bits: int, dtype: str, numbers: int = 1) -> Self:
        """Make a table of 2**bits weights."""
        return cls(np.zeros(cls.numbers * 2**bits, dtype), 64 - bits)


class HashedPairs(Hashed):
    """As :class:`Hashed`, each weight followed by its second number."""

    __slots__ = ()
    numbers = 2


class _ManyFields(NamedTuple):
    values: Any
    shift: int
    numbers: int


class HashedMany(_ManyFields, _HashedTable):
    """As :class:`Hashed`, each weight followed by ``numbers`` - 1 others; it begins where a line of cache does."""

    __slots__ = ()

    @classmethod
    def empty(cls, bits: int, dtype: str, numbers: int = 1) -> Self:
        """Make a table of 2**bits weights."""
        return cls(aligned(numbers * 2**bits, dtype, LINE), 64 - bits, numbers)


@no_refcount
def _hash(table: Any, row: Any, feature: Any) -> Any:
    mixed = np.uint64(row) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(feature) * np.uint64(0xC2B2AE3D27D4EB4F)
    return mixed >> np.uint64(table.shift)


when(locate, Hashed)(lambda table, row, feature: _hash(table, row, feature))
when(locate, HashedPairs)(lambda table, row, feature: np.uint64(2) * _hash(table, row, feature))
when(locate, HashedMany)(lambda table, row, feature: np.uint64(table.numbers) * _hash(table, row, feature))
when(numbers_of, HashedPairs)(lambda table: 2)
when(numbers_of, HashedMany)(lambda table: table.numbers)
when(prefetch_row, Hashed, object, Csr)(prefetch_weights)
when(prefetch_row, HashedMany, object, Csr)(prefetch_weights)
when(prefetch_row, HashedPairs, object, Csr)(prefetch_weights)
