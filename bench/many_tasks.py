"""A million tasks: time an example at K = 10^6 over K = 10^4, text, and what it costs that tasks are new.

    python -m bench.many_tasks [--quick]

Of 200 000 records of 10^6 tasks nine in ten bring a task never seen. So there are two rows for each storage: tasks that are
known before, the cost of a round; and tasks that arrive, with their labels numbered and their rows made on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import coterie as ct
from bench import streams
from bench.harness import Row, Timing, at_most, cpu, main
from coterie.streams.block import Block

FEW, MILLION = 10_000, 1_000_000


def new_model(storage: str) -> ct.MultitaskPerceptron:
    return ct.MultitaskPerceptron(ct.HalfUpdate(), ct.PassiveAggressive(C=1.0), storage=storage, bits=24)


def known(storage: str, block: Block, tasks: int) -> float:
    """CPU seconds of a block whose tasks the model knows."""
    model = new_model(storage)
    model.learn_block(block.piece(0, 1), tasks=range(tasks))
    return cpu(lambda: model.learn_block(block))


def arriving(storage: str, block: Block, tasks: int) -> float:
    """CPU seconds of a block whose tasks are new."""
    return cpu(lambda: new_model(storage).learn_block(block))


def in_turn(run: Callable[[str, Block, int], float], storage: str, examples: int, repeats: int) -> list[Timing]:
    """Timings at 10^6 and at 10^4 tasks, the first of each left out."""
    found: dict[int, list[float]] = {MILLION: [], FEW: []}
    for _ in range(repeats + 1):
        for tasks, seconds in found.items():
            seconds.append(run(storage, streams.text(tasks, examples), tasks))
    return [Timing(seconds[1:]) for seconds in found.values()]


def rows(quick: bool) -> Iterator[Row]:
    examples, repeats = (10_000, 2) if quick else (200_000, 5)
    for storage in ("hashed", "sparse"):
        what = f"text, {storage}: time an example at K = 10^6 over K = 10^4, tasks"
        many, few = in_turn(known, storage, examples, repeats)
        yield at_most(f"{what} known before", 1.15, many, few, examples)
        many, few = in_turn(arriving, storage, examples, repeats)
        new = len(set(streams.text(MILLION, examples).task.tolist())) - len(
            set(streams.text(FEW, examples).task.tolist())
        )
        each = (many.median - few.median) / new * 1e9
        note = f"{new} more tasks are numbered and given rows, {each:.0f} ns each; Python's dictionary of labels alone takes about 100"
        yield at_most(f"{what} arriving", 1.15, many, few, examples, floor=note)


if __name__ == "__main__":
    main(rows, __doc__)
