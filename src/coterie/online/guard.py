"""One call at a time: what keeps threads that share a model out of each other's way."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from functools import wraps
from threading import RLock
from typing import Any, Self, TypeVar, cast

from coterie.parameters import Parameters

F = TypeVar("F", bound=Callable[..., Any])


class Guarded(Parameters):
    """A model that learns by and by, and may be shared by threads: whoever learns, predicts or saves has it alone.

    Compiled code holds no interpreter lock, and learning makes tables anew while they grow; a call that came between
    would read and write memory that is no longer there. Each model has a lock of its own, so several models learn in
    parallel. A copy has its own, too; the lock is neither copied, nor pickled, nor saved.
    """

    __slots__ = ("_lock", "_quick")

    #: What was made ready for rounds of one record with which nothing new comes, if anything.
    _quick: Any

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Make an instance and its lock."""
        made = super().__new__(cls, *args, **kwargs)
        made._lock = RLock()
        return made

    def __setattr__(self, name: str, held: Any) -> None:
        """Set an attribute; what was made ready for quick rounds is void then."""
        object.__setattr__(self, "_quick", None)
        object.__setattr__(self, name, held)

    def __getstate__(self) -> dict[str, Any]:
        """What :mod:`pickle` keeps: parameters as they are, what was learned as a copy that nobody goes on changing."""
        given = self.parameter_names()
        with self._lock:
            return {name: held if name in given else copy.deepcopy(held) for name, held in self.__dict__.items()}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self._lock = RLock()
        self.__dict__.update(state)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        made = memo[id(self)] = type(self).__new__(type(self))
        with self._lock:
            made.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return made

    def _alias(self) -> Self:
        """The same model once more, not a copy: what was learned is shared, and so is the lock."""
        made = type(self).__new__(type(self))
        made._lock = self._lock
        made.__dict__.update(self.__dict__)
        return made


def exclusive(method: F) -> F:
    """A method during which no other thread is in a method of the same model."""

    @wraps(method)
    def held(self: Guarded, *args: Any, **kwargs: Any) -> Any:
        with self._lock:
            return method(self, *args, **kwargs)

    return cast(F, held)
