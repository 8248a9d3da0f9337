"""A prefetch instruction for compiled code."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


def _prefetch(typing_context: Any, array: Any, place: Any) -> Any:
    """Ask the processor to load the cache line of ``array[place]``, without waiting and without a bounds check."""
    if not isinstance(array, types.Array) or not isinstance(place, types.Integer):
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        address = builder.bitcast(builder.gep(view.data, [arguments[1]]), cgutils.voidptr_t)
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, *[ir.IntType(32)] * 3])
        declare: Any = cgutils.get_or_insert_function
        instruction = declare(builder.module, kind, "llvm.prefetch.p0i8")
        for_writing, pack, data = ir.IntType(32)(0), ir.IntType(32)(3), ir.IntType(32)(1)
        builder.call(instruction, [address, for_writing, pack, data])
        return context.get_dummy_value()

    return types.void(array, place), generate


prefetch: Any = intrinsic(_prefetch)
