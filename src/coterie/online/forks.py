"""Processes forked while threads learn: the child has whole models, whose locks are free.

A fork copies the memory of all threads and lets one of them go on. A lock that another thread holds then is never given
back in the child, and what it was changing stays half-changed. So whoever forks waits until nobody is in the midst of a
model, nor compiling, as :mod:`logging` waits for its handlers.
"""

from __future__ import annotations

import os
from threading import RLock
from typing import Any
from weakref import WeakSet

from numba.core.compiler_lock import global_compiler_lock

#: All models with a field ``lock`` that are to be whole in a forked process.
_MODELS: WeakSet[Any] = WeakSet()

#: Held by the one thread that is forking; the locks that it holds for that.
_FORKING, _HELD = RLock(), dict[int, Any]()

#: Seconds for which all locks but one are held to get that one, at first: whoever has it may wait for one of them.
PATIENCE = 1.0


def whole_in_children(model: Any) -> None:
    """Let processes that are forked from now on have this model whole: the fork waits for its ``lock``."""
    _MODELS.add(model)


def _living() -> list[Any]:
    while True:
        try:
            return list(_MODELS)
        except RuntimeError:  # another thread has made one meanwhile
            continue


def _hold_all() -> None:
    _FORKING.acquire()
    patience = PATIENCE
    while not _held_within(patience):
        _release_held()
        patience *= 2.0
    global_compiler_lock.acquire()  # type: ignore[no-untyped-call]


def _held_within(seconds: float) -> bool:
    """Hold the locks of all models, those that are made meanwhile too; False if one is not to be had for so long."""
    while fresh := [model.lock for model in _living() if id(model.lock) not in _HELD]:
        for lock in fresh:
            if not lock.acquire(timeout=seconds):
                return False
            _HELD[id(lock)] = lock
    return True


def _release_held() -> None:
    while _HELD:
        _HELD.popitem()[1].release()


def _release_all() -> None:
    global_compiler_lock.release()  # type: ignore[no-untyped-call]
    _release_held()
    _FORKING.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_hold_all, after_in_parent=_release_all, after_in_child=_release_all)
