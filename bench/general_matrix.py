"""Any dense interaction matrix: 100 tasks, text of 2^18 features, against numpy written from the definition.

python -m bench.general_matrix
"""

from __future__ import annotations

from typing import Any

import numpy as np

import coterie as ct
from bench import streams
from bench.harness import Timing, cpu, header, row, side_by_side

TASKS, EXAMPLES, NAIVE = 100, 20_000, 300


def matrix(seed: int = 0) -> np.ndarray:
    factor = np.random.default_rng(seed).normal(size=(TASKS, TASKS))
    return factor @ factor.T / TASKS + np.eye(TASKS)


def naive(block: Any, M: np.ndarray, W: np.ndarray) -> None:
    """W[:, features] += y M[:, i] x' at each mistake, one dense array of tasks and features."""
    for t in range(len(block)):
        entries = slice(block.X.indptr[t], block.X.indptr[t + 1])
        features, x, i = block.X.indices[entries], block.X.data[entries], block.task[t]
        if block.y[t] * (W[i, features] @ x) <= 0:
            W[:, features] += block.y[t] * np.outer(M[:, i], x)


def from_nothing(block: Any, M: np.ndarray, W: np.ndarray) -> float:
    """CPU seconds of the naive form on weights that are zero, their memory having been touched."""
    W[:] = 0.0
    return cpu(lambda: naive(block, M, W))


def main() -> None:
    block = streams.text(TASKS, EXAMPLES)
    relation = ct.Interaction(matrix(), tasks=range(TASKS))
    few, W = block.piece(0, NAIVE), np.zeros((TASKS, streams.TEXT_FEATURES))
    peer = Timing([from_nothing(few, relation.relation_matrix(), W) for _ in range(4)][1:])
    ours = side_by_side({"ours": lambda: ct.MultitaskPerceptron(relation).learn_block(block)}, 3)["ours"]
    ratio = (peer.median / NAIVE) / (ours.median / EXAMPLES)
    header()
    what = f"general dense A, K = {TASKS}, text, time an example of naive numpy over ours"
    row(what, "≥ 50", f"{ours.per(EXAMPLES)} ns", f"{peer.per(NAIVE)} ns", ratio, ratio >= 50)


if __name__ == "__main__":
    main()
