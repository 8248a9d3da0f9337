"""The streams that are measured: text and dense records of K tasks whose labels are linear, half of the signal shared.

The label of a record x of task i is the sign of (w_0 + w_i) · x, the entries of w_0 and of every w_i being drawn from
the same distribution, so that a task's own part and the shared part carry half of the signal each.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.sparse import csr_array

from coterie.data.block import Block

TEXT_FEATURES = 2**18
TEXT_ENTRIES = 123
DRAWS = 4 * TEXT_ENTRIES


@cache
def text(tasks: int, n: int = 200_000, seed: int = 0) -> Block:
    """Texts: 123 distinct Zipf-distributed words each, value log(1 + count), rows of unit norm; tasks at random."""
    rng = np.random.default_rng([seed, tasks])
    X, task = _texts(n, seed), rng.integers(tasks, size=n)
    features, values = (array.reshape(n, TEXT_ENTRIES) for array in (X.indices, X.data))
    return _block(X, _text_margins(features, values, task, rng.normal(size=TEXT_FEATURES)), task)


@cache
def _texts(n: int, seed: int) -> csr_array:
    rng = np.random.default_rng(seed)
    share = np.cumsum(1.0 / np.arange(1, TEXT_FEATURES + 1))
    words = rng.permutation(TEXT_FEATURES).astype(np.int32)
    features, values = np.empty((n, TEXT_ENTRIES), np.int32), np.empty((n, TEXT_ENTRIES))
    seen = np.full(TEXT_FEATURES, -1, np.int64)
    for first in range(0, n, 10_000):
        last = min(first + 10_000, n)
        ranks = np.searchsorted(share, rng.random((last - first, DRAWS)) * share[-1])
        _count(words[ranks], features[first:last], values[first:last], seen)
        seen[:] = -1
    starts = np.arange(n + 1, dtype=np.int32) * np.int32(TEXT_ENTRIES)  # of one type, else scipy widens both
    return csr_array((values.ravel(), features.ravel(), starts), shape=(n, TEXT_FEATURES))


@njit(cache=True)
def _count(words, features, values, seen):
    """Count the first words of each row that are distinct; ``seen[word]`` is where it was counted last."""
    entries = features.shape[1]
    for t in range(len(words)):
        used = 0
        for word in words[t]:
            if t * entries <= seen[word] < t * entries + used:
                values[t, seen[word] - t * entries] += 1.0
            elif used < entries:
                features[t, used], values[t, used], seen[word] = word, 1.0, t * entries + used
                used += 1
        values[t] = np.log1p(values[t])
        values[t] /= np.sqrt(np.sum(values[t] ** 2))


@njit(cache=True)
def _text_margins(features, values, task, shared):
    """Margins under weights of which a task's own are drawn by hashing task and feature: as good as a table of them."""
    margins = np.zeros(len(task))
    for t in range(len(task)):
        for k in range(features.shape[1]):
            mixed = np.uint64(task[t] + 1) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(features[t, k])
            mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            uniform = np.float64(mixed >> np.uint64(11)) / 2.0**53
            margins[t] += (shared[features[t, k]] + (uniform - 0.5) * np.sqrt(12.0)) * values[t, k]
    return margins


@cache
def dense(features: int, tasks: int, n: int, seed: int = 0) -> Block:
    """Records of normal numbers, rows of unit norm."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, features))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    task = rng.integers(tasks, size=n)
    shared, own = rng.normal(size=features), rng.normal(size=(tasks, features))
    return _block(X, np.einsum("td,td->t", X, (shared + own)[task]), task)


@cache
def dense28(n: int = 200_000) -> Block:
    """28 features, 139 tasks: the shape of the School data."""
    return dense(28, 139, n)


@cache
def dense128(n: int = 200_000) -> Block:
    """128 features, 1000 tasks."""
    return dense(128, 1000, n)


def _block(X: NDArray[np.float64] | csr_array, margins: NDArray[np.float64], task: NDArray[np.int64]) -> Block:
    return Block(X, np.where(margins > 0, 1, -1), task, np.arange(1, len(task) + 1))
