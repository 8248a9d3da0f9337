"""Models packed into memory as compiled code holds them, so that calls need not unpack arrays from Python's objects.

Taking a model of a dozen arrays out of Python's objects, and giving it back, costs as much as a short record.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import NativeValue, intrinsic, models, register_model, unbox

from coterie.numeric._numba import TreeType

from .generic import compiled


class Packed(TreeType):
    """The type of an address, an integer in Python, at which a tree of arrays and scalars is kept."""

    def __init__(self, tree: Any) -> None:
        super().__init__(f"Packed({tree})", tree)


class _Address(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, cgutils.intp_t)


register_model(Packed)(_Address)


def _unbox_address(kind: Any, address: Any, context: Any) -> Any:
    return _native(context.pyapi.long_as_longlong(address))


_native: Any = NativeValue
_unbox: Any = unbox
_unbox(Packed)(_unbox_address)


def _uncounted(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """The tree with arrays that count no references: the caller keeps their memory alive."""
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value)
        array.meminfo, array.parent = (ir.Constant(pointer.type, None) for pointer in (array.meminfo, array.parent))
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        inside: Any = kind
        for place, inner in enumerate(inside):
            field = _uncounted(context, builder, inner, builder.extract_value(value, place))
            value = builder.insert_value(value, field, place)
    return value


def _size(typing_context: Any, tree: Any) -> Any:
    """Bytes that the tree takes."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return ir.Constant(cgutils.intp_t, context.get_abi_sizeof(context.get_value_type(tree)))

    return types.intp(tree), generate


def _store(typing_context: Any, tree: Any, at: Any) -> Any:
    """Write the tree to an address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        stripped = _uncounted(context, builder, tree, arguments[0])
        builder.store(stripped, builder.inttoptr(arguments[1], stripped.type.as_pointer()))
        return context.get_dummy_value()

    return types.void(tree, types.intp), generate


def _opened(typing_context: Any, packed: Any) -> Any:
    """Read the tree from an address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = context.get_value_type(packed.tree).as_pointer()
        return builder.load(builder.inttoptr(arguments[0], pointer))

    return packed.tree(packed), generate


def _word(typing_context: Any, at: Any) -> Any:
    """The whole number at an address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(builder.inttoptr(arguments[0], cgutils.intp_t.as_pointer()))

    return types.intp(types.intp), generate


_size_of: Any = intrinsic(_size)
_write: Any = intrinsic(_store)
unpack: Any = intrinsic(_opened)
word: Any = intrinsic(_word)


@compiled
def pack(tree):
    """Memory with a tree packed into it, which shares the tree's arrays: keep both alive while it is used."""
    memory = np.empty((_size_of(tree) + 7) // 8, np.int64)
    _write(tree, memory.ctypes.data)
    return memory
