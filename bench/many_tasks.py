"""A million tasks of text: time per record with 10^6 tasks over that with 10^4, and the cost of names and of new tasks.

    python -m bench.many_tasks [--quick]

Of 200 000 records of 10^6 tasks nine in ten bring a task that is seen for the first time. So there are three rows for each
storage: the round itself, tasks being numbers; tasks that are known by their labels; and tasks that arrive, their labels
numbered and their rows made on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

import coterie as ct
from bench import streams
from bench.harness import Row, Timing, at_most, cpu, main
from coterie.data.block import Block
from coterie.data.tabular import block_rows
from coterie.models.contract import Batch, InputShape
from coterie.tasks.index import Index

FEW, MILLION = 10_000, 1_000_000


def new_model() -> ct.MultitaskPerceptron:
    return ct.MultitaskPerceptron(ct.HalfUpdate(), ct.updates.PassiveAggressive(C=1.0), storage="sparse")


def rounds(block: Block, tasks: int) -> float:
    """CPU seconds of the round, the number of each record's task being known."""
    learner = new_model().__stream_model__().learner
    state = learner.init(Index(range(tasks)), InputShape(streams.TEXT_FEATURES))
    rows, y = block_rows(block.X)[0], block.y.astype(np.float64)
    return cpu(lambda: learner.learn(state, Batch(rows, block.task), y))


def known(block: Block, tasks: int) -> float:
    """CPU seconds of a block whose tasks the model knows."""
    model = new_model()
    model.__stream_model__().learn(block.piece(0, 1), tasks=range(tasks))
    return cpu(lambda: model.__stream_model__().learn(block))


def arriving(block: Block, tasks: int) -> float:
    """CPU seconds of a block whose tasks are new."""
    return cpu(lambda: new_model().__stream_model__().learn(block))


def in_turn(run: Callable[[Block, int], float], examples: int, repeats: int) -> list[Timing]:
    """Timings at 10^6 and at 10^4 tasks, each after one of the same that does not count (harness.side_by_side)."""
    found: dict[int, list[float]] = {MILLION: [], FEW: []}
    for _ in range(repeats):
        for tasks, seconds in found.items():
            run(streams.text(tasks, examples), tasks)
            seconds.append(run(streams.text(tasks, examples), tasks))
    return [Timing(seconds) for seconds in found.values()]


def rows(quick: bool) -> Iterator[Row]:
    examples, repeats = (10_000, 1) if quick else (200_000, 1)
    seen = [len(np.unique(streams.text(tasks, examples).task)) for tasks in (MILLION, FEW)]
    for kind, run in (("the round", rounds), ("known by label", known), ("arriving", arriving)):
        many, few = in_turn(run, examples, repeats)
        each = (many.median - few.median) / (seen[0] - seen[1]) * 1e9
        note = f"{each:.0f} ns for each of the {seen[0] - seen[1]} labels more"
        what = f"text: time per record, K = 10^6 over K = 10^4, {kind}"
        yield at_most(what, 1.15, many, few, examples, floor="" if run is rounds else note)


if __name__ == "__main__":
    main(rows, __doc__)
