"""Text from sparse arrays, 2^18 features and 123 nonzero values per record, against Vowpal Wabbit and a lower limit.

    python -m bench.text [--quick]

The learners are passive-aggressive, every size of step tried standing in CANDIDATES, plain and averaged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numba import njit

import coterie as ct
from bench import streams
from bench.harness import Row, at_most, main, side_by_side
from bench.race import race
from coterie._compiled.core.prefetching import prefetch
from coterie.data.block import Block

CANDIDATES = {
    "PA-I, C = 1": {"C": 1.0},
    "PA-I, C = 0.3": {"C": 0.3},
    "PA-II, C = 0.3": {"C": 0.3, "variant": "II"},
    "PA-II, C = 0.1": {"C": 0.1, "variant": "II"},
}
SPARSE = "PA-I, C = 1, averaged"


def candidates(storage: str) -> dict[str, Callable[[], Any]]:
    """Models by what they are called."""
    return {
        f"{name}{', averaged' * average}": (
            lambda step=step, average=average: ct.MultitaskPerceptron(
                ct.HalfUpdate(), ct.updates.PassiveAggressive(**step), average, storage=storage
            )
        )
        for name, step in CANDIDATES.items()
        for average in (False, True)
    }


def plain(storage: str) -> Any:
    return candidates(storage)["PA-I, C = 1"]()


@njit(cache=True)
def bare(values, features, starts, places, shared, own, moves, ahead):
    """The least there is to do: a dot with shared and own weights, and where a move is made an axpy.

    ``ahead`` asks for the next record's memory first, as far as a processor can do that.
    """
    for t in range(len(starts) - 1):
        if ahead and t + 2 < len(starts):
            for k in range(starts[t + 1], starts[t + 2]):
                prefetch(shared, features[np.uint64(k)])
                prefetch(own, places[np.uint64(k)])
        total = 0.0
        for k in range(starts[t], starts[t + 1]):
            total += shared[np.uint64(features[np.uint64(k)])] * values[np.uint64(k)]
        for k in range(starts[t], starts[t + 1]):
            total += own[np.uint64(places[np.uint64(k)])] * values[np.uint64(k)]
        if moves[t]:
            step = 1e-3 if total > 0 else -1e-3
            for k in range(starts[t], starts[t + 1]):
                shared[np.uint64(features[np.uint64(k)])] += step * values[np.uint64(k)]
            for k in range(starts[t], starts[t + 1]):
                own[np.uint64(places[np.uint64(k)])] += step * values[np.uint64(k)]


def bare_works(block: Block, storage: str) -> dict[str, Callable[[], None]]:
    """The floor on tables as large as the storage's, new ones each time, at as many moves; with and without asking."""
    made = plain(storage)
    moves = made.__stream_model__().learn(block).updated
    size = made.state_.model.tasks.values.size
    rng = np.random.default_rng(0)
    offsets = rng.integers(size, size=int(block.task.max()) + 1)
    places = (np.repeat(offsets[block.task], streams.TEXT_ENTRIES) + block.X.indices) % size

    def work(ahead: bool) -> None:
        arguments = block.X.data, block.X.indices, block.X.indptr, places
        bare(*arguments, np.zeros(streams.TEXT_FEATURES), np.zeros(size), moves, ahead)

    return {"bare": lambda: work(False), "bare, asking ahead": lambda: work(True)}


def against_bare(tasks: int, storage: str, block: Block, repeats: int) -> Iterator[Row]:
    works = {"ours": lambda: plain(storage).__stream_model__().learn(block), **bare_works(block, storage)}
    found = side_by_side(works, repeats)
    asking = found["bare, asking ahead"]
    note = f"the same loop with prefetching takes {asking.shown(block.X.nnz)} an entry"
    what = f"text K = {tasks}, {storage}: time per stored entry over"
    target = None if storage == "sparse" else 1.5
    yield at_most(
        f"{what} a CSR dot product and axpy alone", target, found["ours"], found["bare"], block.X.nnz, floor=note
    )
    yield at_most(f"{what} the same with prefetching", target, found["ours"], asking, block.X.nnz)


def rows(quick: bool) -> Iterator[Row]:
    examples, repeats = (10_000, 1) if quick else (200_000, 3)
    for tasks, storage in ((100, "dense"), (10_000, "sparse")):
        block, times = streams.text(tasks, examples), 1 if storage == "sparse" else repeats
        tried = candidates(storage)
        if storage == "sparse":  # exact, and slow enough to be tried once
            tried = {SPARSE: tried[SPARSE]}
        yield race(f"text K = {tasks}, {storage}", block, tried, None if storage == "sparse" else 6, times)
    for tasks, storage in ((100, "dense"), (10_000, "sparse")):
        times = 1 if storage == "sparse" else repeats
        yield from against_bare(tasks, storage, streams.text(tasks, examples), times)


if __name__ == "__main__":
    main(rows, __doc__)
