"""Calls of compiled functions for one record at a time: numba's look at argument types would take longest."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import typeof, types

from coterie.numeric._numba import STOCK
from coterie.numeric.core.dictionaries import AT_PLAIN, allocate_record
from coterie.numeric.core.packed import Packed, pack
from coterie.numeric.core.records import Csr

from .preparation import UNPREPARED, Preparing
from .stream import learn_one, learn_packed, predict_one, predict_packed


class PlainRecords(NamedTuple):
    """How dictionaries of numbers are read: the column of each name, the types of numbers, and their preparation.

    ``plain`` is :data:`coterie.numeric.core.dictionaries.AT_PLAIN` or ``AT_NUMBERS``.
    """

    numbers: dict[Any, int]
    plain: int = AT_PLAIN
    preparing: Preparing = UNPREPARED


class PreparedCall:
    """A compiled function of a model, called without a look at argument types while the model is the same object.

    Numba determines the type of every array at every call, 2 µs for a model of a dozen arrays. After ``PATIENCE`` calls
    with one model the code compiled for its types is kept and called directly; the arguments behind the model must have
    the same types at every call.
    """

    PATIENCE = 20  # finding the code takes as long as so many calls

    def __init__(self, function: Any) -> None:
        self._function = function
        self.forget()

    def forget(self) -> None:
        """Release the model."""
        self._seen: Any = None
        self._model: Any = None
        self._enter: Any = None
        self._calls = 0

    def __call__(self, model: Any, *rest: Any) -> Any:
        return self.find_code(model)(model, *rest)

    def find_code(self, model: Any) -> Any:
        """The function to call with this model: the code for its types once it has come often enough."""
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


class BoundCall:
    """Compiled rounds for dictionaries of known names, bound to one model, one rule and one table of names.

    ``predict(at, id(dictionary), task)`` and ``learn(at, id(dictionary), task, label)`` return the results of
    :func:`predict_packed` and :func:`learn_packed`.
    """

    __slots__ = ("_held", "at", "learn", "model", "names", "predict", "preparing")

    def __init__(self, model: Any, rule: Any, room: Csr, records: PlainRecords) -> None:
        self.model, (self.names, plain, self.preparing) = model, records
        tree = model, rule, room, id(self.names), plain, self.preparing
        memory = pack(tree)
        self._held = tree, memory
        self.at = memory.ctypes.data
        self.predict, self.learn = _entered(tree)


_FUNCTIONS: tuple[Any, ...] = predict_packed, learn_packed, typeof
_ENTERED: dict[Any, tuple[Any, Any]] = {}


def _entered(tree: Any) -> tuple[Any, Any]:
    """Return ``predict`` and ``learn`` compiled for trees of these types; their numba type is computed once."""
    look = _look(tree)
    if look not in _ENTERED:
        predict, learn, type_of = _FUNCTIONS
        packed = Packed(type_of(tree))
        _ENTERED[look] = (
            predict.compile((packed, types.intp, types.intp)),
            learn.compile((packed, types.intp, types.intp, types.float64)),
        )
    return _ENTERED[look]


_FLAGS = 0x1 | 0x2 | 0x100 | 0x400  # both orders, aligned, writeable


def _look(tree: Any) -> Any:
    """A key for numba's type of a tree: trees with the same key have the same type."""
    if isinstance(tree, tuple):
        return type(tree), *map(_look, tree)
    return (tree.dtype, tree.ndim, tree.flags.num & _FLAGS) if isinstance(tree, np.ndarray) else type(tree)


class RecordCalls:
    """The calls of one learner, prepared for its model; copies begin with none."""

    #: Making a bound call takes as long as it saves in four calls; the very first takes half a second more.
    PATIENCE, AGAIN = 100, 4
    #: Names of the longest dictionary for which no memory is asked.
    LONGEST = 1000

    def __init__(self) -> None:
        self.predict = PreparedCall(predict_one)
        self.learn = PreparedCall(learn_one)
        self._room, self._calls = allocate_record(2 * self.LONGEST + 1), 0
        self._forget_bound(None)

    def __reduce__(self) -> tuple[Any, ...]:
        return RecordCalls, ()

    def forget(self) -> None:
        """Release the model."""
        self.predict.forget()
        self.learn.forget()
        self._forget_bound(None)

    def _forget_bound(self, model: Any) -> None:
        self._bound: BoundCall | None = None
        self._seen, self._times = model, 0

    def bound_call(self, model: Any, rule: Any, records: PlainRecords) -> BoundCall | None:
        """The bound call of this model; None until the model has come so often that making one pays."""
        call = self._bound
        same = call is not None and call.names is records.numbers and call.preparing is records.preparing
        if call is not None and call.model is model and same:
            return call
        if model is not self._seen:
            self._forget_bound(model)
        self._calls += 1
        self._times += 1
        if self._calls > self.PATIENCE and self._times > self.AGAIN and not STOCK:
            self._bound = BoundCall(model, rule, self._room, records)
        return self._bound
