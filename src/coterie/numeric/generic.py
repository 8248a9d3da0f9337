"""Functions with one body per named-tuple type, chosen while compiling.

A loop calls ``dot(table, row, rows, t)``; which body of ``locate`` runs in it is decided from the types of the
arguments, so the loop has no flag and no twin for sparse input, and compiled code can still be cached on disk.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import __version__ as numba_version
from numba import njit, types
from numba.extending import overload

Body = Callable[..., Any]
F = TypeVar("F", bound=Body)

#: A whole loop becomes one machine function: between functions a model's arrays are counted in and out, which takes
#: longer than a short record (so does a conditional expression around a call that is given a model).
#: Division by zero is for the bodies to exclude: a test for it keeps loops from working on several numbers at once.
_OPTIONS: Any = {"forceinline": True, "error_model": "numpy", "_nrt": True}
#: Said in as many words, for a function takes over what it does not say from whoever calls it first.
_APART: Any = _OPTIONS | {"forceinline": False}
_LENT: Any = _OPTIONS | {"_nrt": False}
_LENT_APART: Any = _LENT | {"forceinline": False}

#: Python never calls bodies of generic functions: what would let it is not compiled.
_INNER: Any = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}

_BODIES: dict[Body, list[tuple[tuple[type, ...], Body]]] = {}


def _newest_source() -> tuple[float, int]:
    """Time and size of this package's sources taken together."""
    found = [path.stat() for path in Path(__file__).parent.glob("*.py")]
    return max(each.st_mtime for each in found), sum(each.st_size for each in found)


#: A version, since that is read before what names types, which a newer coterie may have moved to another module.
_VERSION = (numba_version, *_newest_source())


def compiled(function: F) -> F:
    """Compile a function, cached on disk, without holding the interpreter lock while it runs.

    A cached function holds the bodies of what it calls, whichever module they are from, so it is outdated as soon as
    any module of this package changes; left to itself numba would look at the function's own file only.
    """
    return _cached(function, **_OPTIONS)


def locked(function: F) -> F:
    """As :func:`compiled`, for what looks at Python's objects: nobody else may change them meanwhile."""
    return _cached(function, **_OPTIONS, nogil=False)


def apart(function: F) -> F:
    """As :func:`compiled`, for what is long and seldom called: it stays a function of its own, compiled once."""
    return _cached(function, **_APART)


def lent(function: F) -> F:
    """As :func:`compiled`, for what makes no arrays, which numba sees to: nothing is counted in it.

    Counting takes several times as long as all else where a model of thirty arrays passes through loops in loops. It
    must not return an array, nor call what returns one (a view is one): nobody would have counted it, or let go of it.
    """
    return _cached(function, **_LENT)


def lent_apart(function: F) -> F:
    """As :func:`lent`, for what is long and seldom called: see :func:`apart`."""
    return _cached(function, **_LENT_APART)


def _cached(function: F, **options: Any) -> F:
    made: Any = njit(**{"cache": True, "nogil": True} | options)(function)
    made._cache._cache_file._version = _VERSION
    return cast(F, made)


def generic(function: F) -> F:
    """Declare a function whose bodies are given by :func:`when`; its own body is never run."""
    return _overloaded(function, _OPTIONS | _INNER)


def generic_apart(function: F) -> F:
    """As :func:`generic`, for bodies that are long and seldom called: see :func:`apart`."""
    return _overloaded(function, _APART | _INNER)


def generic_lent(function: F) -> F:
    """As :func:`generic`, for bodies that make no arrays: see :func:`lent`."""
    return _overloaded(function, _LENT | _INNER)


def _overloaded(function: F, options: Any) -> F:
    bodies = _BODIES[function] = []
    overload(function, jit_options=options, strict=False)(lambda *arguments: _pick(bodies, arguments))
    return function


def when(function: Body, *kinds: type) -> Callable[[F], F]:
    """Register a body for arguments whose leading types are these named tuples.

    ``object`` matches any, and so does what is not given; of several bodies that fit, the one that names the most types
    is taken, then the first.
    """

    def register(body: F) -> F:
        _BODIES[function].append((kinds, body))
        return body

    return register


def _pick(bodies: list[tuple[tuple[type, ...], Body]], arguments: tuple[Any, ...]) -> Body | None:
    fitting = [
        (len(kinds) - kinds.count(object), body)
        for kinds, body in bodies
        if all(_is(argument, kind) for argument, kind in zip(arguments, kinds, strict=False))
    ]
    return max(fitting, key=lambda each: each[0])[1] if fitting else None


def _is(argument: Any, kind: type) -> bool:
    if kind is object:
        return True
    return isinstance(argument, types.BaseNamedTuple) and getattr(argument, "instance_class", None) is kind
