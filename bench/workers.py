"""Two workers over independent components: wall time of two threads with a model each, over one thread with both.

python -m bench.workers [--quick]

Tasks of two countries that have nothing in common are two models. The compiled loops hold no lock, so that threads of one
process do.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import coterie as ct
from bench import streams
from bench.harness import Row, Timing, at_least, main
from coterie.inputs.block import Block

WORKERS = 2


def one_thread(components: list[Block]) -> None:
    for block in components:
        learned(block)


def two_threads(components: list[Block]) -> None:
    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(learned, components))


def learned(block: Block) -> ct.MultitaskPerceptron:
    model = ct.MultitaskPerceptron(rule=ct.rules.PassiveAggressive(), average=True, storage="hashed", bits=22)
    model.__stream_model__().learn(block)
    return model


def wall(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def rows(quick: bool) -> Iterator[Row]:
    n, repeats = (10_000, 1) if quick else (100_000, 5)
    components = [streams.text(100, n, seed) for seed in range(WORKERS)]
    two_threads(components)
    turns = [(wall(lambda: two_threads(components)), wall(lambda: one_thread(components))) for _ in range(repeats)]
    ours, peer = (Timing(each) for each in zip(*turns, strict=True))
    yield at_least(f"text, {WORKERS} threads over {WORKERS} components, wall", 1.6, ours, peer, 2 * n)


if __name__ == "__main__":
    main(rows, __doc__)
