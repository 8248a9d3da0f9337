"""Bytes that a model keeps: by task where every weight is kept, by weight where only what moved is.

python -m bench.memory
"""

from __future__ import annotations

import numpy as np
from river import linear_model

import coterie as ct
from bench import streams
from bench.harness import header, row
from coterie.streams.block import Block


def dense(features: int, tasks: int) -> None:
    """Every task seen once, in blocks as a stream brings them."""
    model, rng = ct.MultitaskPerceptron(), np.random.default_rng(0)
    for first in range(0, tasks, 10_000):
        n = min(10_000, tasks - first)
        place, task = np.arange(1, n + 1), np.arange(first, first + n)
        model.learn_block(Block(rng.normal(size=(n, features)), np.where(rng.random(n) < 0.5, -1, 1), task, place))
    bytes_a_task, limit = model.memory_ / tasks, 8 * features + 200
    what = f"dense, {features} features, {tasks} tasks, bytes a task"
    row(
        what, f"≤ {limit}", f"{bytes_a_task:.0f}", f"{8 * features}", bytes_a_task / 8 / features, bytes_a_task <= limit
    )


def sparse(tasks: int, examples: int) -> None:
    model = ct.MultitaskPerceptron(rule=ct.PassiveAggressive(), storage="sparse")
    model.learn_block(streams.text(tasks, examples))
    stored = int(model.state_.model.tasks.count.sum())
    bytes_a_weight = model.memory_ / stored
    row(
        f"sparse, {tasks} tasks, bytes a weight",
        "≤ 64",
        f"{bytes_a_weight:.0f}",
        "8",
        bytes_a_weight / 8,
        bytes_a_weight <= 64,
    )


def hashed(examples: int) -> None:
    model = ct.MultitaskPerceptron(rule=ct.PassiveAggressive(), storage="hashed", bits=22)
    sizes = [bytes_after(model, tasks, examples) for tasks in (100, 100_000)]
    row(
        "hashed, 2^22 weights, bytes of the table after 100 and 100 000 tasks",
        "same",
        *map(str, sizes),
        1.0,
        sizes[0] == sizes[1],
    )


def bytes_after(model: ct.MultitaskPerceptron, tasks: int, examples: int) -> int:
    model.learn_block(streams.text(tasks, examples))
    return model.state_.model.tasks.values.nbytes


def river(features: int) -> None:
    model = linear_model.LogisticRegression()
    model.learn_one({f"f{j}": 1.0 for j in range(features)}, True)
    theirs, ours = model._raw_memory_usage, 8 * features + 200
    row(f"a model of {features} features a task", "–", f"≤ {ours}", f"{theirs} (River)", theirs / ours, True)


def main() -> None:
    header()
    dense(28, 1_000_000)
    dense(128, 100_000)
    sparse(10_000, 50_000)
    hashed(20_000)
    river(20)


if __name__ == "__main__":
    main()
