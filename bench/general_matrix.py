"""Any dense interaction matrix: 100 tasks, text of 2^18 features, against numpy written in four ways.

    python -m bench.general_matrix [--quick]

The definition is W += y M[:, i] x' with x a dense vector. Nobody would run that on text, so the naive numpy of the target
moves only the features that a record has: task by task, as one would first write it, or all tasks in one expression,
the weights of a task or those of a feature lying side by side. All but the definition learn the same records as ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import coterie as ct
from bench import streams
from bench.harness import Row, Timing, at_least, cpu, main, side_by_side
from coterie.inputs.block import Block

TASKS, EXAMPLES, DEFINITION = 100, 20_000, 20
Move = Callable[[Any, Any, Any, Any], None]


def matrix(seed: int = 0) -> np.ndarray:
    factor = np.random.default_rng(seed).normal(size=(TASKS, TASKS))
    return factor @ factor.T / TASKS + np.eye(TASKS)


def from_the_definition(W: Any, column: Any, features: Any, x: Any) -> None:
    dense = np.zeros(W.shape[1])
    dense[features] = x
    W += np.outer(column, dense)


def task_by_task(W: Any, column: Any, features: Any, x: Any) -> None:
    for j in range(len(W)):
        W[j, features] += column[j] * x


def in_one_expression(W: Any, column: Any, features: Any, x: Any) -> None:
    W[:, features] += np.outer(column, x)


def feature_by_feature(W: Any, column: Any, features: Any, x: Any) -> None:
    W.T[features] += np.outer(x, column)


def naive(block: Block, M: Any, W: Any, move: Move) -> None:
    """The Perceptron, one dense array of tasks and features."""
    for t in range(len(block)):
        entries = slice(block.X.indptr[t], block.X.indptr[t + 1])
        features, x, i = block.X.indices[entries], block.X.data[entries], block.task[t]
        if block.y[t] * (W[i, features] @ x) <= 0:
            move(W, block.y[t] * M[:, i], features, x)


def timed(block: Block, M: Any, W: Any, move: Move) -> float:
    """CPU seconds on weights that are zero, their memory having been touched."""
    W[:] = 0.0
    return cpu(lambda: naive(block, M, W, move))


def rows(quick: bool) -> Iterator[Row]:
    examples, repeats = (300, 1) if quick else (EXAMPLES, 3)
    block, relation = streams.text(TASKS, examples), ct.relations.Interaction(matrix(), tasks=range(TASKS))
    M, W = relation.relation_matrix(), np.zeros((TASKS, streams.TEXT_FEATURES))
    by_feature = np.zeros(W.T.shape).T
    ours = side_by_side({"ours": lambda: ct.MultitaskPerceptron(relation).__stream_model__().learn(block)}, repeats)[
        "ours"
    ]
    for what, move, weights, n, target in (
        ("the definition, x dense", from_the_definition, W, DEFINITION, None),
        ("numpy, task by task", task_by_task, W, examples, 50.0),
        ("numpy, all tasks in one expression", in_one_expression, W, examples, None),
        ("numpy, all tasks in one expression, feature-major", feature_by_feature, by_feature, examples, None),
    ):
        peer = Timing([timed(block.piece(0, n), M, weights, move) for _ in range(repeats)])
        shown = f"general dense A, K = {TASKS}, text: time an example over {what}"
        yield at_least(shown, target, ours, peer, examples, counts=(examples, n), unit="µs")


if __name__ == "__main__":
    main(rows, __doc__)
