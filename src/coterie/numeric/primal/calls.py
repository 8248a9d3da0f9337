"""Calls of compiled functions for one record at a time: numba's look at argument types would take longest."""

from __future__ import annotations

from typing import Any

from numba import typeof

from .stream import learn_one, predict_one


class PreparedCall:
    """A compiled function of a model, called without a look at argument types while the model is the same object.

    Numba determines the type of every array at every call, 2 µs for a model of a dozen arrays. After ``PATIENCE`` calls
    with one model the code compiled for its types is stored and called directly; the arguments behind the model must
    have the same types at every call.
    """

    PATIENCE = 20  # finding the code takes as long as so many calls

    def __init__(self, function: Any) -> None:
        self._function = function
        self.forget()

    def forget(self) -> None:
        """Release the model."""
        self._seen: Any = None
        self._model: Any = None
        self._code: Any = None
        self._calls = 0

    def __call__(self, model: Any, *rest: Any) -> Any:
        """Call the function."""
        if model is self._model:
            return self._code(model, *rest)
        if model is not self._seen:
            self.forget()
            self._seen = model
        self._calls += 1
        if self._calls < self.PATIENCE:
            return self._function(model, *rest)
        self._code, self._model = self._function.compile(tuple(map(typeof, (model, *rest)))), model
        return self._code(model, *rest)


class RecordCalls:
    """The compiled calls of one learner for single records; copies begin with none."""

    def __init__(self) -> None:
        self.predict, self.learn = PreparedCall(predict_one), PreparedCall(learn_one)

    def __reduce__(self) -> tuple[Any, ...]:
        return RecordCalls, ()

    def forget(self) -> None:
        """Release the model."""
        self.predict.forget()
        self.learn.forget()
