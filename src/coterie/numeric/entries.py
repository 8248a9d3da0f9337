"""Calls of compiled functions for one record at a time, where finding out types costs more than the work."""

from __future__ import annotations

from typing import Any

from numba import typeof

from .stream import learn_one, predict_one


class Entry:
    """A compiled function of a model, called without looking at the arguments while the model is the same object.

    Numba finds out the type of every array at every call, 2 µs for a model of a dozen. When a model has come some times
    the way is noted by which such arguments enter; arguments behind it must have the same types at every call.
    """

    PATIENCE = 20  # noting it takes as long as so many calls

    def __init__(self, function: Any) -> None:
        self._function = function
        self.forget()

    def forget(self) -> None:
        """Hold no model any more."""
        self._seen: Any = None
        self._model: Any = None
        self._enter: Any = None
        self._calls = 0

    def __call__(self, model: Any, *rest: Any) -> Any:
        return self.of(model)(model, *rest)

    def of(self, model: Any) -> Any:
        """What to call with this model, now."""
        if model is self._model:
            return self._enter
        if model is not self._seen:
            self.forget()
            self._seen = model
        self._calls += 1
        return self._function if self._calls < self.PATIENCE else self._note

    def _note(self, model: Any, *rest: Any) -> Any:
        self._enter = self._function.compile(tuple(map(typeof, (model, *rest))))
        self._model = model
        return self._enter(model, *rest)


class Entries:
    """The entries of one learner; copies begin with none."""

    def __init__(self) -> None:
        self.predict = Entry(predict_one)
        self.learn = Entry(learn_one)

    def __reduce__(self) -> tuple[Any, ...]:
        return Entries, ()

    def forget(self) -> None:
        """Hold no model any more."""
        self.predict.forget()
        self.learn.forget()
