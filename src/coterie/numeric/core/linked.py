"""Compiled functions that only compiled functions call: linked into their callers, and made machine code there.

Numba optimises each function that it compiles and makes machine code of it, however deep it is called, and with two
wrappers for calls from Python or C. A round of a learner is a hundred functions of which Python calls one: leaving this
to the outermost takes a third less time, and what comes out is the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.runtime.nrt import rtsys


class _Linked(JITCodeLibrary):
    """Code of a function, and of those it calls, that waits to be linked into a caller's."""

    def add_linking_library(self: Any, library: Any) -> None:
        if library is not rtsys.library:  # which numba gives to every function, so to the outermost too
            super().add_linking_library(library)  # type: ignore[no-untyped-call]

    def _optimize_final_module(self) -> None:
        """Do nothing: the outermost function is optimised with this code in it."""

    def _finalize_final_module(self: Any) -> None:
        """Mark the code as final without giving it to LLVM's engine."""
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
        """Do nothing: numba places Python objects for a function's machine code here, and there is none."""


class _LinkedCompiler(Compiler):
    def compile_extra(self: Any, function: Callable[..., Any]) -> Any:
        self.state.library = _Linked(self.state.targetctx.codegen(), function.__qualname__)  # type: ignore[no-untyped-call]
        return super().compile_extra(function)  # type: ignore[no-untyped-call]


#: What the classes above rest on, which is not numba's public interface.
_NEEDED = ("add_linking_library", "_optimize_final_module", "_finalize_final_module", "get_pointer_to_function")

#  Options of ``njit`` for functions that compiled code alone calls; a numba that is made otherwise compiles as it
# likes.
LINKED: Any = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
if all(hasattr(JITCodeLibrary, name) for name in _NEEDED):
    LINKED["pipeline_class"] = _LinkedCompiler
