"""Text streams: 2^18 features, 123 stored entries a record, K tasks; in process from CSR.

python -m bench.text                    # 200 000 records
python -m bench.text --examples 50000   # quicker
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

import coterie as ct
from bench import streams, vowpal
from bench.harness import Timing, header, row, side_by_side

RULE = ct.PassiveAggressive(C=1.0)
MILLION = 1_000_000


def model(storage: str) -> ct.MultitaskPerceptron:
    return ct.MultitaskPerceptron(ct.HalfUpdate(), RULE, storage=storage, bits=24)


def error(block: Any, storage: str) -> float:
    rounds = model(storage).learn_block(block)
    return float(np.mean(rounds.margin * block.y <= 0))


@njit(cache=True)
def floor(values, features, starts, places, shared, own, moves):
    """The least that can be done: for the shared and the own weights a dot, and where a move is made an axpy."""
    for t in range(len(starts) - 1):
        total = 0.0
        for k in range(starts[t], starts[t + 1]):
            total += shared[features[k]] * values[k]
        for k in range(starts[t], starts[t + 1]):
            total += own[places[k]] * values[k]
        if moves[t]:
            step = 1e-3 if total > 0 else -1e-3
            for k in range(starts[t], starts[t + 1]):
                shared[features[k]] += step * values[k]
            for k in range(starts[t], starts[t + 1]):
                own[places[k]] += step * values[k]


def floor_work(block: Any, storage: str) -> Any:
    """The floor on tables of the size that the storage has, at as many moves."""
    made = model(storage)
    moves = made.learn_block(block).updated
    size = made.state_.model.tasks.values.size
    rng = np.random.default_rng(0)
    offsets = rng.integers(size, size=int(block.task.max()) + 1)
    places = (np.repeat(offsets[block.task], streams.TEXT_ENTRIES) + block.X.indices) % size
    arguments = (block.X.data, block.X.indices, block.X.indptr, places, np.zeros(streams.TEXT_FEATURES), np.zeros(size))
    return lambda: floor(*arguments, moves)


def against_vowpal(tasks: int, storage: str, examples: int, repeats: int, folder: Path) -> None:
    block = streams.text(tasks, examples)
    path = folder / f"text{tasks}.vw"
    vowpal.write(block.X, block.y, block.task, path)
    settings = {each: vowpal.learn(path, each, bits=24) for each in vowpal.SETTINGS if each[1] == "crossed"}
    best = min(settings, key=lambda each: vowpal.error(settings[each].margin, block.y))
    peer_error, ours_error = vowpal.error(settings[best].margin, block.y), error(block, storage)
    peer = Timing([vowpal.learn(path, best, bits=24).seconds for _ in range(repeats)])
    ours = side_by_side({"ours": lambda: model(storage).learn_block(block)}, repeats)["ours"]
    ratio = peer.median / ours.median
    row(
        f"text K={tasks}, {storage}, examples per CPU second over VW {best}; error {ours_error:.3f} to {peer_error:.3f}",
        "≥ 6 at no more mistakes",
        f"{ours.per(examples)} ns",
        f"{peer.per(examples)} ns",
        ratio,
        ratio >= 6 and ours_error <= peer_error,
    )


def against_floor(tasks: int, storage: str, examples: int, repeats: int) -> None:
    block = streams.text(tasks, examples)
    entries = block.X.nnz
    found = side_by_side(
        {"ours": lambda: model(storage).learn_block(block), "floor": floor_work(block, storage)}, repeats
    )
    ratio = found["ours"].median / found["floor"].median
    what = f"text K={tasks}, {storage}, time a stored entry over bare CSR dot and axpy on such tables"
    row(what, "≤ 1.5", found["ours"].per(entries) + " ns", found["floor"].per(entries) + " ns", ratio, ratio <= 1.5)


def million(storage: str, examples: int, repeats: int) -> None:
    many, few = streams.text(MILLION, examples), streams.text(10_000, examples)
    found = side_by_side(
        {"many": lambda: model(storage).learn_block(many), "few": lambda: model(storage).learn_block(few)}, repeats
    )
    ratio = found["many"].median / found["few"].median
    what = f"text, {storage}, time an example at K = 10^6 over K = 10^4"
    row(what, "≤ 1.15", found["many"].per(examples) + " ns", found["few"].per(examples) + " ns", ratio, ratio <= 1.15)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=200_000)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    header()
    with tempfile.TemporaryDirectory() as folder:
        for tasks, storage in ((100, "dense"), (10_000, "hashed"), (10_000, "sparse")):
            against_vowpal(tasks, storage, given.examples, given.repeats, Path(folder))
    for tasks, storage in ((100, "dense"), (10_000, "hashed"), (10_000, "sparse")):
        against_floor(tasks, storage, given.examples, given.repeats)
    for storage in ("hashed", "sparse"):
        million(storage, given.examples, given.repeats)


if __name__ == "__main__":
    main()
