"""Loss on records left out after several passes of `fit`, over that after one, with the default learners.

    python -m bench.passes [--shuffles 3] [--most 20000] [--write]

A quarter of a shuffle, of its first 20,000 records where there are more, is left out, the rest is learned by
``fit(n_passes=...)``. Log loss of classes and mean squared error of numbers, over that after one pass; for numbers also
the share of labels in the intervals of 90 %. *dishonest* is what ``partial_fit`` called again and again makes of it: the
weights of members learn from predictions of records that members know. The data sets lie in the folder that COTERIE_DATA
names; flights come with the package. ``--write`` puts the tables into docs/appendix/tables.md.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bench import adaptive_regression, plain, tabular

PAGE, MARK = Path(__file__).parent.parent / "docs" / "appendix" / "tables.md", "<!-- bench.passes -->"
CLASSES = ("school", "landmine", "chem97", "a9a", *tabular.FLIGHTS, "parkinsons")
NUMBERS = ("school", "chem97", "parkinsons", "parkinsons motor")
PASSES = (2, 5, 20)
LEVEL = 0.9

Records = tuple[Any, np.ndarray, np.ndarray]


def classes(name: str, seed: int) -> Records:
    """A shuffle of a set with two labels."""
    X, y, task = tabular.load(name, seed)
    order = np.random.default_rng(seed).permutation(len(y))
    return X[order], y[order], task[order]


def numbers(name: str, seed: int) -> Records:
    """A shuffle of a set whose labels are numbers."""
    X, y, task = adaptive_regression.load(name)
    order = np.random.default_rng(seed).permutation(len(y))
    return X[order], y[order], task[order]


def log_loss(model: Any, X: Any, y: np.ndarray, task: np.ndarray) -> tuple[float, float]:
    """The log loss, and nothing."""
    told = model.decision_function(X, task=task)
    return float(np.logaddexp(0.0, -told * y).mean()), float("nan")


def squares(model: Any, X: Any, y: np.ndarray, task: np.ndarray) -> tuple[float, float]:
    """The mean squared error, and the share of labels in their intervals."""
    low, high = model.predict_interval(X, task=task, level=LEVEL).T
    return float(np.mean((model.predict(X, task=task) - y) ** 2)), float(np.mean((low <= y) & (y <= high)))


def several(make: Callable[[], Any], passes: int, X: Any, y: np.ndarray, task: np.ndarray) -> Any:
    """A model that has learned the records so often as if they were new each time."""
    model = make()
    for _ in range(passes):
        model.partial_fit(X, y, task)
    return model


def measure(
    load: Callable[[str, int], Records], name: str, make: Callable[[], Any], loss: Any, shuffles: int, most: int
) -> list[str]:
    """The cells of a row."""
    found = []
    for seed in range(shuffles):
        X, y, task = (held[:most] for held in load(name, seed))
        n = 3 * len(y) // 4
        learned, left = (X[:n], y[:n], task[:n]), (X[n:], y[n:], task[n:])
        each = [make().fit(*learned, n_passes=passes) for passes in (1, *PASSES)]
        each += [several(make, passes, *learned) for passes in PASSES[:2]]
        found.append([loss(model, *left) for model in each])
    of = np.mean(found, axis=0)
    cells = [f"{of[0, 0]:.4g}", *(f"{value:.3f}" for value in of[1:, 0] / of[0, 0])]
    return (
        cells if np.isnan(of[0, 1]) else [f"{cell} ({share:.3f})" for cell, share in zip(cells, of[:, 1], strict=True)]
    )


def lines(shuffles: int, most: int) -> Iterator[str]:
    """The tables, line by line."""
    heads = ["one pass", *(f"{k} passes" for k in PASSES), *(f"{k}, dishonest" for k in PASSES[:2])]
    for what, sets, load, make, loss in (
        ("log loss", CLASSES, classes, plain.AdaptiveSharingClassifier, log_loss),
        ("squared error (in the interval)", NUMBERS, numbers, plain.AdaptiveSharingRegressor, squares),
    ):
        yield from ("", f"| {what} | {' | '.join(heads)} |", f"|---{'|---' * len(heads)}|")
        for name in sets:
            yield f"| {name} | {' | '.join(measure(load, name, make, loss, shuffles, most))} |"


def main() -> None:
    """Print the tables, and write them where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shuffles", type=int, default=3)
    parser.add_argument("--most", type=int, default=20_000)
    parser.add_argument("--write", action="store_true")
    given, made = parser.parse_args(), []
    for line in lines(given.shuffles, given.most):
        print(line, flush=True)
        made.append(line)
    if given.write:
        text = "\n".join(made[1:])
        page = re.sub(f"{MARK}.*?{MARK}", lambda _: f"{MARK}\n{text}\n{MARK}", PAGE.read_text(), flags=re.DOTALL)
        PAGE.write_text(page)


if __name__ == "__main__":
    main()
