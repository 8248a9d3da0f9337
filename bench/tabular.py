"""Error, log loss and computing time of the default on tables, beside LightGBM refitted nightly.

    python -m bench.tabular [set ...] [--shuffles 3]

One pass, every prediction made before its label; all records are shuffled but those of flights, which come as they
departed. Nightly is after each twentieth of the stream: LightGBM with the task as a category, fitted to all records so
far, on their columns as they are here, and told until the next night; before the first all are told the base rate. The
data sets lie in the folder that COTERIE_DATA names; flights come with the package.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from papers import data as datasets
from scipy.sparse import issparse

import coterie as ct
from bench import plain
from bench.harness import prepared

NIGHTS = 20
STRETCH = 40_000
FLIGHTS = {"flights by aircraft": "tailnum", "flights by destination": "dest"}
SETS = ("school", "landmine", "chem97", "a9a", *FLIGHTS, "parkinsons")
DEFAULT, NIGHTLY = "default", "LightGBM nightly"

TABLES = """{shuffles}; errors in %, CPU in µs a record:

{table}

Error and log loss over those of the default; the mean is geometric:

{ratios}
"""


class Told(NamedTuple):
    """What a learner told: error in %, log loss, and CPU in µs a record."""

    error: float
    loss: float
    cpu: float


Scores = dict[str, list[Told]]  # by learner, one a shuffle


def load(name: str, seed: int) -> tuple[Any, Any, Any]:
    """A data set: records of unit length, labels, and numbers of tasks."""
    if name in FLIGHTS:
        data = datasets.flights(task=FLIGHTS[name])
        order = np.arange(seed * 100_000, seed * 100_000 + STRETCH)
    elif name == "parkinsons":
        return _shuffled(*_parkinsons(), seed)
    else:
        data = datasets.load(name)
        order = np.random.default_rng(seed).permutation(len(data.y))
    task = np.unique(data.task[order], return_inverse=True)[1]
    return data.X[order], np.asarray(data.y[order], float), task


def _parkinsons() -> tuple[Any, Any, Any]:
    """Whether an illness is above its median severity, from recordings of the voice, a task a patient."""
    data = prepared("parkinsons")
    X = (data["X"] - data["X"].mean(axis=0)) / data["X"].std(axis=0)
    X = np.column_stack([X, np.ones(len(X))])
    y = np.where(data["total"] > np.median(data["total"]), 1.0, -1.0)
    return X / np.linalg.norm(X, axis=1)[:, None], y, data["task"].astype(np.int64)


def _shuffled(X: Any, y: Any, task: Any, seed: int) -> tuple[Any, Any, Any]:
    order = np.random.default_rng(seed).permutation(len(y))
    return X[order], y[order], task[order]


def ours(members: str | None) -> Callable[..., Any]:
    """The log-odds that a mixture of these members tells."""

    def told(X: Any, y: Any, task: Any) -> Any:
        return ct.progressive_validation(plain.AdaptiveSharingClassifier(members), X, y, task=task).margin

    return told


def nightly(X: Any, y: Any, task: Any) -> Any:
    """The log-odds that LightGBM tells, fitted anew each night."""
    import lightgbm

    dense = X.toarray() if issparse(X) else X
    Z = np.column_stack([dense, task])
    parameters = {"objective": "binary", "verbosity": -1, "num_threads": 1, "seed": 0}
    told = np.zeros(len(y))
    ends = np.linspace(0, len(y), NIGHTS + 1).astype(int)
    for night, (first, end) in enumerate(pairwise(ends)):
        positive = (y[:first] > 0).astype(float)
        rate = np.clip(positive.mean(), 1e-3, 1 - 1e-3) if night else 0.5
        told[first:end] = np.log(rate / (1 - rate)) - 1e-9 * (rate == 0.5)
        if night and 0 < positive.mean() < 1:
            data = lightgbm.Dataset(Z[:first], positive, categorical_feature=[Z.shape[1] - 1], params={"verbosity": -1})
            told[first:end] = lightgbm.train(parameters, data, 100).predict(Z[first:end], raw_score=True)
    return told


LEARNERS = {DEFAULT: ours(None), NIGHTLY: nightly}


def measure(name: str, shuffles: int, learners: list[str]) -> Scores:
    """What each learner told on each shuffle of a set; each sees some records first that are not timed."""
    found: Scores = {learner: [] for learner in learners}
    for seed in range(shuffles):
        X, y, task = load(name, seed)
        for learner in learners:
            LEARNERS[learner](X[:700], y[:700], task[:700])
            before = time.process_time()
            margin = LEARNERS[learner](X, y, task)
            seconds = time.process_time() - before
            loss = float(np.logaddexp(0.0, -margin * y).mean())
            found[learner].append(Told(100 * float((margin * y <= 0).mean()), loss, 1e6 * seconds / len(y)))
    return found


def mean(told: list[Told]) -> Told:
    """The mean over shuffles."""
    return Told(*np.mean(told, axis=0))


def ratios(table: dict[str, Scores], learner: str, column: int, without: tuple[str, ...] = ()) -> tuple[float, list]:
    """A learner's error or log loss over the default's: the geometric mean over sets, and each."""
    each = [
        mean(scores[learner])[column] / mean(scores[DEFAULT])[column]
        for name, scores in table.items()
        if name not in without
    ]
    return float(np.exp(np.mean(np.log(each)))), each


def learners_here() -> list[str]:
    """The learners that can be measured: LightGBM where it is installed."""
    try:
        import lightgbm  # noqa: F401
    except ImportError:
        return [DEFAULT]
    return [DEFAULT, NIGHTLY]


def page(table: dict[str, Scores], shuffles: int) -> str:
    """Two tables: what was told, and over what the default told."""
    learners = list(next(iter(table.values())))
    heads = [f"{learner}: {what}" for learner in learners for what in ("error", "log loss", "CPU")]
    lines = ["| | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
    for name, scores in table.items():
        cells = [f"{t.error:.2f} | {t.loss:.4f} | {t.cpu:.1f}" for t in (mean(scores[each]) for each in learners)]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    below = ["| | " + " | ".join(table) + " | mean | without parkinsons |", "|---" * (len(table) + 3) + "|"]
    for learner in learners[1:]:
        for column, what in ((0, "error"), (1, "log loss")):
            whole, each = ratios(table, learner, column)
            rest, _ = ratios(table, learner, column, ("parkinsons",))
            cells = " | ".join(f"{ratio:.3f}" for ratio in each)
            below.append(f"| {learner}, {what} | {cells} | {whole:.3f} | {rest:.3f} |")
    often = "One shuffle" if shuffles == 1 else f"Means over {shuffles} shuffles"
    return TABLES.format(shuffles=often, table="\n".join(lines), ratios="\n".join(below))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--shuffles", type=int, default=3)
    asked = parser.parse_args()
    learners = learners_here()
    table = {}
    for name in asked.sets or SETS:
        table[name] = measure(name, asked.shuffles, learners)
        for learner, told in table[name].items():
            print(name, learner, *(f"{each:.4f}" for each in mean(told)), flush=True)
    print(page(table, asked.shuffles))


if __name__ == "__main__":
    main()
