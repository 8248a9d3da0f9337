"""Calls of compiled functions for single records that avoid numba's slow dispatch on argument types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from numba import typeof

#: The number of calls with one model before the code for its types is looked up, which takes as long as these calls.
PATIENCE = 20


def prepared(function: Any) -> Callable[..., Any]:
    """Return a callable for a compiled function that looks up the argument types only once per model object.

    numba determines the type of every array at every call, which takes 2 µs for a model of a dozen arrays. After
    ``PATIENCE`` calls with one model the code compiled for its types is stored and called directly. The arguments after
    the model must have the same types at every call.
    """
    seen = code = None
    calls = 0

    def call(model: Any, *rest: Any) -> Any:
        nonlocal seen, code, calls
        if model is not seen:
            seen, code, calls = model, None, 0
        if code is None:
            calls += 1
            if calls < PATIENCE:
                return function(model, *rest)
            code = function.compile(tuple(map(typeof, (model, *rest))))
        return code(model, *rest)

    return call


class RecordCalls(NamedTuple):
    """The compiled functions of one learner that predict and learn single records."""

    predict: Callable[..., Any]
    learn: Callable[..., Any]
