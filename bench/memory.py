"""Memory of a model: per task if all weights are stored, and per weight if only updated ones are.

``memory_`` counts what is in use. A table of what moved has room for several times as much, which takes no memory of the
machine before it is written to.

python -m bench.memory [--quick]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from river import linear_model

import coterie as ct
from bench import streams
from bench.harness import Row, main
from coterie.data.block import Block


def dense(features: int, tasks: int) -> Row:
    """Every task seen once, in blocks as a stream brings them."""
    each, weights = bytes_a_task(ct.MultitaskPerceptron(), features, tasks), 8 * features
    return _row(f"dense, {features} features, {tasks} tasks: bytes a task", weights + 200, each, weights)


def default(limit: int, features: int, tasks: int) -> Row:
    """The default learner, which keeps eight numbers of each feature for a task."""
    each = bytes_a_task(ct.AdaptiveSharingClassifier(), features, tasks)
    return _row(f"the default, {features} dense features, {tasks} tasks: bytes a task", limit, each, 64 * features)


def bytes_a_task(model: Any, features: int, tasks: int) -> float:
    """What a model takes for each of so many tasks, all of them seen once."""
    rng = np.random.default_rng(0)
    for first in range(0, tasks, 10_000):
        n = min(10_000, tasks - first)
        place, task = np.arange(1, n + 1), np.arange(first, first + n)
        model.__stream_model__().learn(
            Block(rng.normal(size=(n, features)), np.where(rng.random(n) < 0.5, -1, 1), task, place)
        )
    return float(model.memory_ / tasks)


def sparse(tasks: int, examples: int) -> Row:
    model = ct.MultitaskPerceptron(rule=ct.updates.PassiveAggressive(), storage="sparse")
    model.__stream_model__().learn(streams.text(tasks, examples))
    stored = int(model.state_.model.tasks.count.sum())
    return _row(f"sparse, {tasks} tasks: bytes a weight that was ever moved", 64, model.memory_ / stored, 8)


def river(features: int) -> Row:
    model = linear_model.LogisticRegression()
    model.learn_one({f"f{j}": 1.0 for j in range(features)}, True)
    theirs, ours = model._raw_memory_usage, 8 * features + 200
    return Row(
        f"a model of {features} features a task, beside River's", "–", f"≤ {ours}", f"{theirs}", f"{theirs / ours:.3g}"
    )


#: In a process of its own, whose largest size ever is looked at before and after the file is written.
SAVE = """
import resource, sys
import numpy as np
import coterie as ct
features, tasks = 4096, int(sys.argv[2])
model = ct.MultitaskPerceptron()
model.save(sys.argv[1])
model.partial_fit(np.ones((2, features)), [0, 1], tasks=list(range(tasks)))
weights = model.state_.model.tasks.values
weights[:] = 1.5
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
model.save(sys.argv[1])
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / weights.nbytes)
"""


def saving(tasks: int) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        given = [sys.executable, "-c", SAVE, str(Path(folder) / "model"), str(tasks)]
        more = float(subprocess.run(given, capture_output=True, text=True, check=True).stdout)
    what = f"saving {4096 * 8 * tasks / 2**20:.0f} MiB of weights: memory taken meanwhile, of the model's"
    return Row(what, "≤ 1.5", f"{more:.2f}", "1", f"{more:.3g}", reached=more <= 1.5)


def _row(what: str, limit: float, ours: float, peer: float) -> Row:
    return Row(what, f"≤ {limit:g}", f"{ours:.0f}", f"{peer:g}", f"{ours / peer:.3g}", reached=ours <= limit)


def rows(quick: bool) -> Iterator[Row]:
    yield dense(28, 10_000 if quick else 1_000_000)
    yield dense(128, 10_000 if quick else 100_000)
    yield default(1500, 20, 10_000 if quick else 100_000)
    yield sparse(10_000, 10_000 if quick else 50_000)
    yield saving(2048 if quick else 16384)
    yield river(20)


if __name__ == "__main__":
    main(rows, __doc__)
