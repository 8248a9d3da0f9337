"""Functions with one body per named-tuple type, chosen while compiling.

A loop calls ``dot(table, row, rows, t)``; which body of ``locate`` runs in it is decided from the types of the
arguments, so the loop has no flag and no twin for sparse input, and compiled code can still be cached on disk.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit, types
from numba.extending import overload

Body = Callable[..., Any]
F = TypeVar("F", bound=Body)

_BODIES: dict[Body, list[tuple[tuple[type, ...], Body]]] = {}


def compiled(function: F) -> F:
    """Compile a function, cached on disk, without holding the interpreter lock while it runs."""
    return cast(F, njit(cache=True, nogil=True)(function))


def generic(function: F) -> F:
    """Declare a function whose bodies are given by :func:`when`; its own body is never run."""
    bodies = _BODIES[function] = []
    overload(function, strict=False)(lambda *arguments: _pick(bodies, arguments))
    return function


def when(function: Body, *kinds: type) -> Callable[[F], F]:
    """Register a body for arguments whose leading types are these named tuples (``object`` matches any)."""

    def register(body: F) -> F:
        _BODIES[function].append((kinds, body))
        return body

    return register


def _pick(bodies: list[tuple[tuple[type, ...], Body]], arguments: tuple[Any, ...]) -> Body | None:
    for kinds, body in bodies:
        if all(_is(argument, kind) for argument, kind in zip(arguments, kinds, strict=False)):
            return body
    return None


def _is(argument: Any, kind: type) -> bool:
    if kind is object:
        return True
    return isinstance(argument, types.BaseNamedTuple) and getattr(argument, "instance_class", None) is kind
