"""The time that compiling takes is no working time."""

import time

from numba.core import event

from coterie.evaluation.working import working_seconds


def burn(seconds):
    start = time.process_time()
    while time.process_time() < start + seconds:
        pass


def test_what_is_done_under_the_lock_of_compiling_is_no_work():
    before = working_seconds()
    with event.trigger_event("numba:compiler_lock"):
        burn(0.2)
        with event.trigger_event("numba:compiler_lock"):
            burn(0.2)
    assert working_seconds() - before < 0.1
    burn(0.2)
    assert 0.2 <= working_seconds() - before < 0.3
