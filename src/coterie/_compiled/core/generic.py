"""Generic functions: one body per named-tuple type, selected at compile time by the types of the arguments.

A loop that calls ``dot(table, row, rows, t)`` needs no flags and no copies for sparse input, and its compiled code can
be cached on disk.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any, TypeVar

from numba.extending import overload

from coterie._compiled._numba import LINKED, cached

Body = Callable[..., Any]
F = TypeVar("F", bound=Body)

#: A whole loop becomes one machine function: between functions a model's arrays are counted in and out, which takes
#: longer than a short record (so does a conditional expression around a call that is given a model).
#: Division by zero is for the bodies to exclude: a test for it keeps loops from working on several numbers at once.
_OPTIONS: Any = {"forceinline": True, "error_model": "numpy", "_nrt": True}
#: Explicit, because a function inherits unset options from its first caller.
_APART: Any = _OPTIONS | {"forceinline": False}
_LENT: Any = _OPTIONS | {"_nrt": False}
_LENT_APART: Any = _LENT | {"forceinline": False}

_BODIES: dict[Body, list[tuple[tuple[type, ...], Body]]] = {}


def compiled(function: F) -> F:
    """Compile a function with numba, without the interpreter lock, and cache it on disk.

    Compiled code is invalid after a change to a module of its room, or of a room below: see `_numba.ROOMS`.
    """
    return cached(function, **_OPTIONS)


def holds_gil(function: F) -> F:
    """Compile a function as :func:`compiled`, but holding the interpreter lock, because it reads Python objects."""
    return cached(function, **_OPTIONS, nogil=False)


def noinline(function: F) -> F:
    """Compile a long, rarely called function as :func:`compiled`, without inlining it."""
    return cached(function, **_APART)


def no_refcount(function: F) -> F:
    """Compile a function as :func:`compiled` without reference counting, for functions that allocate no arrays.

    Reference counting can take several times as long as the computation, if a model of thirty arrays is passed through
    nested loops. The function must not return an array or view, nor call a function that does, because its memory would
    not be counted or released.
    """
    return cached(function, **_LENT)


def no_refcount_noinline(function: F) -> F:
    """Compile a long, rarely called function as :func:`no_refcount`, without inlining it."""
    return cached(function, **_LENT_APART)


def generic(function: F) -> F:
    """Declare a generic function: its bodies are registered by :func:`when`, and it has none itself."""
    return _overloaded(function, _OPTIONS | LINKED)


def generic_noinline(function: F) -> F:
    """Declare a generic function with long, rarely called bodies, which are not inlined: see :func:`noinline`."""
    return _overloaded(function, _APART | LINKED)


def generic_no_refcount(function: F) -> F:
    """Declare a generic function with bodies that allocate no arrays: see :func:`no_refcount`."""
    return _overloaded(function, _LENT | LINKED)


def _overloaded(function: F, options: Any) -> F:
    bodies = _BODIES[function] = []
    overload(function, jit_options=options, strict=False)(lambda *arguments: _pick(bodies, arguments))
    return function


def when(function: Body, *kinds: type) -> Callable[[F], F]:
    """Register a body of a generic function for arguments of these named-tuple types, or of their subclasses.

    ``object`` and omitted types match any type. If several bodies match, the one with the most types is chosen, then
    the one with the most derived types, then the first.
    """

    def register(body: F) -> F:
        _BODIES[function].append((kinds, body))
        return body

    return register


#: Bodies of functions by their number of arguments; a loop over arguments would not compile.
_FORWARDED: dict[int, Callable[[Body], Body]] = {
    1: lambda function: lambda wrapper: function(wrapper[0]),
    2: lambda function: lambda wrapper, a: function(wrapper[0], a),
    3: lambda function: lambda wrapper, a, b: function(wrapper[0], a, b),
    4: lambda function: lambda wrapper, a, b, c: function(wrapper[0], a, b, c),
    5: lambda function: lambda wrapper, a, b, c, d: function(wrapper[0], a, b, c, d),
}


def forward(wrapper: type, *functions: Body) -> None:
    """Register bodies for a named tuple that wraps a model (its first field): each calls the body of that model."""
    for function in functions:
        when(function, wrapper)(_FORWARDED[len(signature(function).parameters)](function))


def _pick(bodies: list[tuple[tuple[type, ...], Body]], arguments: tuple[Any, ...]) -> Body | None:
    fitting = [
        (len(kinds) - kinds.count(object), sum(len(kind.__mro__) for kind in kinds), body)
        for kinds, body in bodies
        if all(_is(argument, kind) for argument, kind in zip(arguments, kinds, strict=False))
    ]
    return max(fitting, key=lambda candidate: candidate[:2])[2] if fitting else None


def _is(argument: Any, kind: type) -> bool:
    return kind is object or issubclass(getattr(argument, "instance_class", object), kind)
