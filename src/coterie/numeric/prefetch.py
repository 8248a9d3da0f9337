"""Telling the processor which memory will be wanted soon."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .arenas import line
from .generic import compiled, generic_lent, lent, when
from .records import Csr, Dense, begin, end, feature
from .sparse_tables import Sparse, SparsePairs, bucket_of
from .tables import FeatureMajor, Hashed, HashedPairs, RowMajor, RowMajorPairs, Second, beside, locate


def _prefetch(typing_context: Any, array: Any, place: Any) -> Any:
    """Ask for the cache line of ``array[place]``; the place is not checked, and nothing waits for it."""
    if not isinstance(array, types.Array) or not isinstance(place, types.Integer):
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        held = context.make_array(signature.args[0])(context, builder, arguments[0])
        address = builder.bitcast(builder.gep(held.data, [arguments[1]]), cgutils.voidptr_t)
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, *[ir.IntType(32)] * 3])
        declare: Any = cgutils.get_or_insert_function
        instruction = declare(builder.module, kind, "llvm.prefetch.p0i8")
        for_writing, keep, data = ir.IntType(32)(0), ir.IntType(32)(3), ir.IntType(32)(1)
        builder.call(instruction, [address, for_writing, keep, data])
        return context.get_dummy_value()

    return types.void(array, place), generate


prefetch: Any = intrinsic(_prefetch)


@generic_lent
def fetch(table: Any, row: Any, rows: Any, t: Any) -> None:
    """Ask for the memory that record t needs of a row, ahead of its round: on text this halves the time of a round.

    A record that is dense reads its row from end to end, which a processor foresees by itself.
    """


@lent
def _fetch_each(table: Any, row: Any, rows: Any, t: Any) -> None:
    for k in range(begin(rows, t), end(rows, t)):
        prefetch(table.values, locate(table, row, feature(rows, t, k)))


@lent
def _fetch_buckets(table: Any, row: Any, rows: Any, t: Any) -> None:
    for k in range(begin(rows, t), end(rows, t)):
        place = line(table) * ((table.start[row] >> 2) + bucket_of(table, row, feature(rows, t, k)))
        prefetch(table.values, place)
        prefetch(table.values, np.uint64(place) + beside(table))


_kind: Any
for _kind in (RowMajor, FeatureMajor, Hashed, RowMajorPairs, HashedPairs):
    when(fetch, _kind, object, Csr)(lambda table, row, rows, t: _fetch_each(table, row, rows, t))
for _kind in (Sparse, SparsePairs):
    when(fetch, _kind)(lambda table, row, rows, t: _fetch_buckets(table, row, rows, t))
for _kind in (RowMajor, Hashed, RowMajorPairs, HashedPairs, FeatureMajor, Second):
    when(fetch, _kind)(lambda table, row, rows, t: None)


#: Of how many entries later the weights of all rows are asked for, how many of them, and how many lie in a cache line.
_LATER, _FIRST, _LINE = 8, 128, 8


@generic_lent
def fetch_rows(rows: Any, t: Any, k: Any, table: Any, n: Any) -> None:
    """Ask for the first weights that n rows hold of the feature some entries after k; the rest is foreseen."""


@when(fetch_rows, Csr)
def _fetch_rows(rows: Any, t: Any, k: Any, table: Any, n: Any) -> None:
    if k + _LATER < end(rows, t):
        first = feature(rows, t, k + _LATER) * table.stride
        for place in range(first, first + min(n, _FIRST), _LINE):
            prefetch(table.values, place)


when(fetch_rows, Dense)(lambda rows, t, k, table, n: None)


@compiled
def weights_of(table: Any, rows: Any, t: Any, k: Any, n: Any) -> Any:
    """The weights that n rows hold of the feature of entry k, in one piece."""
    fetch_rows(rows, t, k, table, n)
    first = feature(rows, t, k) * table.stride
    return table.values[first : first + n]
