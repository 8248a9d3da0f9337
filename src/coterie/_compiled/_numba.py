"""The use of numba's private interfaces: the cache of compiled code on disk, and linking of callees.

**Linking.** numba optimises each function separately and makes machine code with two wrappers for it. A learner's round
has about a hundred functions, of which Python calls one. Optimising only the outermost function takes a third less
time, with the same result.

**Cache.** A loop contains the bodies of generic functions from other modules, but numba checks only the function's own
file and its time. Its index is not safe for processes that compile at the same time. Therefore cache files are named
after the types and start with a digest of all sources.

``tests/test_numba.py`` lists the private interfaces used. With COTERIE_STOCK_NUMBA=1 in the environment numba compiles
and caches as usual. The cache then depends only on the file of the outermost function; delete ``__pycache__`` after
changing another file of this package.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import uuid
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import __version__ as numba_version
from numba import njit, types
from numba.core.caching import FunctionCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.runtime.nrt import rtsys
from numba.core.serialize import dumps

F = TypeVar("F", bound=Callable[..., Any])

#: True if numba is to be used as it comes.
STOCK = os.environ.get("COTERIE_STOCK_NUMBA") == "1"

#: The rooms of :mod:`coterie._compiled`, each with those it may import from, and theirs.
ROOMS: dict[str, tuple[str, ...]] = {
    "core": (),
    "weights": ("core",),
    "primal": ("core", "weights"),
    "dual": ("core", "weights", "primal"),
    "views": ("core", "weights", "primal"),
    "text": ("core",),
    "graph": ("core",),
}


@cache
def _sources(room: str) -> str:
    """Return a hash of the source files of a subpackage (``room``)."""
    digest = hashlib.blake2b(Path(__file__).read_bytes(), digest_size=16)
    for path in sorted((Path(__file__).parent / room).glob("*.py")):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _sources_for(module: str) -> tuple[str, ...]:
    """Return hashes of the subpackages that a module may use; of all of them for modules of other packages."""
    parts = module.split(".")
    room = parts[2] if parts[:2] == ["coterie", "_compiled"] else ""
    return tuple(map(_sources, (*ROOMS[room], room) if room in ROOMS else ROOMS))


def _kinds_in(kind: Any) -> Iterator[type]:
    """Yield the named-tuple types that occur in a numba type, nested ones included."""
    if isinstance(kind, types.BaseTuple):
        inner: Any = kind
        if isinstance(kind, types.BaseNamedTuple):
            yield inner.instance_class
        for field in inner.types:
            yield from _kinds_in(field)


class _Files:
    """The cached machine code of one function: one file per combination of argument types, with a hash of the sources.

    numba's own index of such files is not safe for concurrent processes; file names that depend on the types need no
    index.
    """

    def __init__(self, start: Path) -> None:
        self._start = start

    def load(self, key: tuple[str, bytes]) -> Any:
        """Load the machine code for these argument types; None if there is none for the current sources."""
        name, sources = key
        try:
            content = Path(f"{self._start}.{name}.nbc").read_bytes()
        except FileNotFoundError:
            return None
        return pickle.loads(content[len(sources) :]) if content.startswith(sources) else None  # noqa: S301 - we wrote it

    def save(self, key: tuple[str, bytes], code: Any) -> None:
        """Write the machine code for these argument types to its file atomically; warn if that fails."""
        name, sources = key
        target = Path(f"{self._start}.{name}.nbc")
        written = target.with_suffix(f".{uuid.uuid4().hex}")
        try:
            written.write_bytes(sources + dumps(code))
            written.replace(target)
        except OSError as error:
            with contextlib.suppress(OSError):
                written.unlink(missing_ok=True)
            _warn_not_saved(f"{target.parent}: {error.strerror}")


class _Cache(FunctionCache):
    """A cache of machine code that is invalidated when source files change that the code may depend on.

    Sources are compared by content, which does not change when a checkout or a container image is copied; times do.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file: Any = _Files(Path(self._cache_path) / self._impl.filename_base)
        own = () if function.__module__.startswith("coterie.") else self._impl.locator.get_source_stamp()
        self._sources = repr((numba_version, _sources_for(function.__module__), own))

    def _index_key(self, sig: Any, codegen: Any) -> tuple[str, bytes]:
        _, machine, code = super()._index_key(sig, codegen)
        kinds = [kind for argument in sig for kind in _kinds_in(argument)]
        names = [(kind.__module__, kind.__qualname__) for kind in kinds]
        sources = sorted({_sources_for(module) for module, _ in names})
        return _digest(sig, names).hex(), _digest(self._sources, sources, machine, code)


@cache
def _warn_not_saved(reason: str) -> None:
    warnings.warn(
        f"compiled code is not kept on disk ({reason}), so every process compiles anew: set NUMBA_CACHE_DIR to a "
        "folder that can be written to",
        RuntimeWarning,
        stacklevel=2,
    )


def _digest(*parts: Any) -> bytes:
    return hashlib.blake2b(repr(parts).encode(), digest_size=16).digest()


# -- code that is linked -----------------------------------------------------------------------------------------------


class _Linked(JITCodeLibrary):
    """Compiled code of a function and its callees, which is linked into the code of a caller."""

    def add_linking_library(self: Any, library: Any) -> None:
        if library is not rtsys.library:  # which numba gives to every function, so to the outermost too
            super().add_linking_library(library)

    def _optimize_final_module(self) -> None:
        """Do nothing, because the outermost function is optimised together with this code."""

    def _finalize_final_module(self: Any) -> None:
        """Mark the code as final without passing it to LLVM's execution engine."""
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def get_pointer_to_function(self: Any, name: str) -> int:
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> _NoEnvironment:
        return _NoEnvironment()


class _NoEnvironment:
    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing: numba stores Python objects here, and linked code has none."""


class _LinkedCompiler(Compiler):
    def compile_extra(self: Any, function: Callable[..., Any]) -> Any:
        self.state.library = _Linked(self.state.targetctx.codegen(), function.__qualname__)
        return super().compile_extra(function)


#: Options of ``njit`` for functions that only compiled code calls.
LINKED: Any = {} if STOCK else {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "pipeline_class": _LinkedCompiler}


def cached(function: F, **options: Any) -> F:
    """Compile a function at its first call, with its callees linked into it, and cache the code on disk."""
    options = {"nogil": True} | options
    dispatcher: Any = njit(**options)(function)
    try:
        if STOCK:
            dispatcher.enable_caching()
        else:
            dispatcher._cache = _Cache(function)
    except RuntimeError:  # numba's: no folder of those that it tries can be written to
        _warn_not_saved("neither the package's folder nor the user's cache can be written to")
    if not STOCK:  # compiled code is given another function than Python calls
        called = njit(**options | LINKED)(function)
        dispatcher.linked = called  # numba's types of functions refer to them weakly
        dispatcher.get_call_template, dispatcher.get_overload = called.get_call_template, called.get_overload
    return cast(F, dispatcher)


# -- code of Python ----------------------------------------------------------------------------------------------------


def python_function(name: str, result: Any, *arguments: Any) -> Any:
    """Declare a function of Python's C API for use in compiled code that holds the interpreter lock (GIL)."""
    return types.ExternalFunction(name, result(*arguments))
