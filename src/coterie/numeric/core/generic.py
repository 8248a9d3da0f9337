"""Functions with one body per named-tuple type, chosen while compiling.

A loop calls ``dot(table, row, rows, t)``; which body of ``locate`` runs in it is decided from the types of the
arguments, so the loop has no flag and no twin for sparse input, and compiled code can still be cached on disk.
"""

from __future__ import annotations

import contextlib
import hashlib
import pickle
import uuid
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from inspect import signature
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import __version__ as numba_version
from numba import njit, types
from numba.core.caching import FunctionCache
from numba.core.serialize import dumps
from numba.extending import overload

from .linked import LINKED

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

_BODIES: dict[Body, list[tuple[tuple[type, ...], Body]]] = {}


#: The rooms of :mod:`coterie.numeric`, each with those it may import from, and theirs.
ROOMS: dict[str, tuple[str, ...]] = {
    "core": (),
    "weights": ("core",),
    "primal": ("core", "weights"),
    "dual": ("core", "weights", "primal"),
    "views": ("core", "weights", "primal"),
    "text": ("core",),
    "graph": ("core",),
    "tabular": ("core", "weights", "primal"),
}


@cache
def _sources(room: str) -> str:
    """A digest of the sources of a room."""
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted((Path(__file__).parents[1] / room).glob("*.py")):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _sources_for(module: str) -> tuple[str, ...]:
    """Digests of what compiled code of a module may hold: its room and those below; of other packages' modules, all."""
    parts = module.split(".")
    room = parts[2] if parts[:2] == ["coterie", "numeric"] else ""
    return tuple(map(_sources, (*ROOMS[room], room) if room in ROOMS else ROOMS))


class TreeType(types.Type):
    """A type of numba's that stands for a tree of named tuples held elsewhere."""

    def __init__(self, name: str, tree: Any) -> None:
        self.tree = tree
        super().__init__(name)


def _kinds_in(kind: Any) -> Iterator[type]:
    """The named tuples in one of numba's types, those within others too."""
    if isinstance(kind, TreeType):
        yield from _kinds_in(kind.tree)
    elif isinstance(kind, types.BaseTuple):
        held: Any = kind
        if isinstance(kind, types.BaseNamedTuple):
            yield held.instance_class
        for each in held.types:
            yield from _kinds_in(each)


class _Files:
    """Machine code of one function on disk, a file for each combination of types, led by a digest of its sources.

    Numba keeps an index of such files for each function, which two processes that compile at once spoil for each other;
    a name that follows from the types needs none.
    """

    def __init__(self, start: Path) -> None:
        self._start = start

    def load(self, key: tuple[str, bytes]) -> Any:
        """The code for these types; None if there is none, or if it was compiled from other sources."""
        name, sources = key
        try:
            held = Path(f"{self._start}.{name}.nbc").read_bytes()
        except FileNotFoundError:
            return None
        return pickle.loads(held[len(sources) :]) if held.startswith(sources) else None  # noqa: S301 - we wrote it

    def save(self, key: tuple[str, bytes], code: Any) -> None:
        """Write the code for these types to its file, completely or not at all; where the system refuses, warn only."""
        name, sources = key
        target = Path(f"{self._start}.{name}.nbc")
        written = target.with_suffix(f".{uuid.uuid4().hex}")
        try:
            written.write_bytes(sources + dumps(code))  # type: ignore[no-untyped-call]
            written.replace(target)
        except OSError as error:
            with contextlib.suppress(OSError):
                written.unlink(missing_ok=True)
            _warn_unkept(f"{target.parent}: {error.strerror}")


class _Cache(FunctionCache):
    """Machine code on disk that is outdated when its sources are: those of its room and below, and of its types' rooms.

    A loop holds the bodies of the generic functions it calls, and these stand in the rooms of the named tuples they are
    for. Left to itself numba would look at the function's own file only, and at its time: contents stay the same when a
    checkout or the image of a container is copied.
    """

    def __init__(self, function: Body) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        self._cache_file: Any = _Files(Path(self._cache_path) / self._impl.filename_base)
        own = () if function.__module__.startswith("coterie.") else self._impl.locator.get_source_stamp()
        self._sources = repr((numba_version, _sources_for(function.__module__), own))

    def _index_key(self, sig: Any, codegen: Any) -> tuple[str, bytes]:
        _, machine, code = super()._index_key(sig, codegen)  # type: ignore[no-untyped-call]
        kinds = [kind for each in sig for kind in _kinds_in(each)]
        names = [(kind.__module__, kind.__qualname__) for kind in kinds]
        sources = sorted({_sources_for(module) for module, _ in names})
        return _digest(sig, names).hex(), _digest(self._sources, sources, machine, code)


@cache
def _warn_unkept(reason: str) -> None:
    warnings.warn(
        f"compiled code is not kept on disk ({reason}), so every process compiles anew: set NUMBA_CACHE_DIR to a "
        "folder that can be written to",
        RuntimeWarning,
        stacklevel=2,
    )


def _digest(*parts: Any) -> bytes:
    return hashlib.blake2b(repr(parts).encode(), digest_size=16).digest()


def compiled(function: F) -> F:
    """Compile a function, cached on disk, without holding the interpreter lock while it runs.

    What was compiled is outdated as soon as a module of its room, or of a room below, changes: :data:`ROOMS`.
    """
    return _cached(function, **_OPTIONS)


def holds_gil(function: F) -> F:
    """As :func:`compiled`, for functions that read Python's objects: the interpreter stays locked while they run."""
    return _cached(function, **_OPTIONS, nogil=False)


def noinline(function: F) -> F:
    """As :func:`compiled`, for what is long and seldom called: it stays a function of its own, compiled once."""
    return _cached(function, **_APART)


def no_refcount(function: F) -> F:
    """As :func:`compiled`, for functions that make no arrays (numba refuses others): no references are counted.

    Counting takes several times as long as all else where a model of thirty arrays passes through loops in loops. It
    must not return an array, nor call what returns one (a view is one): nobody would have counted it, or let go of it.
    """
    return _cached(function, **_LENT)


def no_refcount_noinline(function: F) -> F:
    """As :func:`no_refcount`, for what is long and seldom called: see :func:`noinline`."""
    return _cached(function, **_LENT_APART)


def _cached(function: F, **options: Any) -> F:
    options = {"nogil": True} | options
    made: Any = njit(**options)(function)
    try:
        made._cache = _Cache(function)
    except RuntimeError:  # numba's: no folder of those that it tries can be written to
        _warn_unkept("neither the package's folder nor the user's cache can be written to")
    called = njit(**options | LINKED)(function)  # what compiled code is given instead, not what Python calls
    made.linked = called  # numba's types of functions refer to them weakly
    made.get_call_template, made.get_overload = called.get_call_template, called.get_overload
    return cast(F, made)


def generic(function: F) -> F:
    """Declare a function whose bodies are given by :func:`when`; its own body is never run."""
    return _overloaded(function, _OPTIONS | LINKED)


def generic_noinline(function: F) -> F:
    """As :func:`generic`, for bodies that are long and seldom called: see :func:`noinline`."""
    return _overloaded(function, _APART | LINKED)


def generic_no_refcount(function: F) -> F:
    """As :func:`generic`, for bodies that make no arrays: see :func:`no_refcount`."""
    return _overloaded(function, _LENT | LINKED)


def _overloaded(function: F, options: Any) -> F:
    bodies = _BODIES[function] = []
    overload(function, jit_options=options, strict=False)(lambda *arguments: _pick(bodies, arguments))
    return function


def when(function: Body, *kinds: type) -> Callable[[F], F]:
    """Register a body for arguments whose leading types are these named tuples, or derived from them.

    ``object`` matches any, and so does what is not given. Of several bodies that fit, the one that names the most types
    is taken, then the one whose types are derived furthest, then the first.
    """

    def register(body: F) -> F:
        _BODIES[function].append((kinds, body))
        return body

    return register


#: Bodies of functions by how many arguments they take; a loop would have to look at the arguments.
_FORWARDED: dict[int, Callable[[Body], Body]] = {
    1: lambda function: lambda wrapper: function(wrapper[0]),
    2: lambda function: lambda wrapper, a: function(wrapper[0], a),
    3: lambda function: lambda wrapper, a, b: function(wrapper[0], a, b),
    4: lambda function: lambda wrapper, a, b, c: function(wrapper[0], a, b, c),
    5: lambda function: lambda wrapper, a, b, c, d: function(wrapper[0], a, b, c, d),
}


def forward(wrapper: type, *functions: Body) -> None:
    """Give named tuples that wrap a model, their first field, bodies of these functions that call the model's."""
    for function in functions:
        when(function, wrapper)(_FORWARDED[len(signature(function).parameters)](function))


def _pick(bodies: list[tuple[tuple[type, ...], Body]], arguments: tuple[Any, ...]) -> Body | None:
    fitting = [
        (len(kinds) - kinds.count(object), sum(len(kind.__mro__) for kind in kinds), body)
        for kinds, body in bodies
        if all(_is(argument, kind) for argument, kind in zip(arguments, kinds, strict=False))
    ]
    return max(fitting, key=lambda each: each[:2])[2] if fitting else None


def _is(argument: Any, kind: type) -> bool:
    return kind is object or issubclass(getattr(argument, "instance_class", object), kind)
