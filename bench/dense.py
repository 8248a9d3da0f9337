"""Dense streams: 28 features and 139 tasks, 128 features and 1000 tasks; in process from arrays.

python -m bench.dense [--examples 200000]
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import SGDClassifier

import coterie as ct
from bench import streams, vowpal
from bench.harness import Timing, cpu, header, row, side_by_side

SHAPES = {"dense28": streams.dense28, "dense128": streams.dense128}
RULES = {"PA-I, C = 1": ct.PassiveAggressive(C=1.0), "PA-I, C = 0.1": ct.PassiveAggressive(C=0.1)}
PER_TASK_RECORDS = 2000


def learn(block: Any, rule: Any) -> Any:
    return ct.MultitaskPerceptron(ct.HalfUpdate(), rule).learn_block(block)


def best_rule(block: Any) -> tuple[str, float]:
    errors = {name: float(np.mean(learn(block, rule).margin * block.y <= 0)) for name, rule in RULES.items()}
    name = min(errors, key=lambda each: errors[each])
    return name, errors[name]


def against_vowpal(shape: str, block: Any, repeats: int, folder: Path) -> None:
    path = folder / f"{shape}.vw"
    vowpal.write(block.X, block.y, block.task, path)
    settings = {each: vowpal.learn(path, each) for each in vowpal.SETTINGS if each[1] == "crossed"}
    best = min(settings, key=lambda each: vowpal.error(settings[each].margin, block.y))
    peer_error = vowpal.error(settings[best].margin, block.y)
    peer = Timing([vowpal.learn(path, best).seconds for _ in range(repeats)])
    rule, error = best_rule(block)
    ours = side_by_side({"ours": lambda: learn(block, RULES[rule])}, repeats)["ours"]
    ratio, n = peer.median / ours.median, len(block)
    what = f"{shape}, {rule}, examples per CPU second over VW {best}; error {error:.3f} to {peer_error:.3f}"
    target, reached = "≥ 8 at no more mistakes", ratio >= 8 and error <= peer_error
    row(what, target, f"{ours.per(n)} ns", f"{peer.per(n)} ns", ratio, reached)


def against_dictionary(shape: str, block: Any) -> None:
    """A dictionary of scikit-learn models, one a task, fed record by record as a service would."""
    few = block.piece(0, PER_TASK_RECORDS)
    models: dict[int, SGDClassifier] = {}

    def feed() -> None:
        for x, y, task in zip(few.X, few.y, few.task.tolist(), strict=True):
            model = models.setdefault(task, SGDClassifier(loss="hinge", random_state=0))
            model.partial_fit(x[None, :], [y], classes=[-1, 1])

    seconds, mine = Timing([cpu(feed)]), side_by_side({"ours": lambda: learn(few, RULES["PA-I, C = 1"])}, 3)["ours"]
    ratio = seconds.median / mine.median
    what = f"{shape}, a block against a dictionary of scikit-learn's SGDClassifier fed record by record"
    row(what, "–", f"{mine.per(len(few))} ns", f"{seconds.per(len(few))} ns", ratio, True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=200_000)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    header()
    with tempfile.TemporaryDirectory() as folder:
        for shape, make in SHAPES.items():
            block = make(given.examples)
            against_vowpal(shape, block, given.repeats, Path(folder))
            against_dictionary(shape, block)


if __name__ == "__main__":
    main()
