"""Batch learning on real data: explained variance on held-out rows of pooled, independent and related models.

python -m bench.batch_real_data school|parkinsons|chem97 [--splits 10]      needs COTERIE_DATA
"""

from __future__ import annotations

import argparse
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

import coterie as ct
from bench.harness import prepared

SHARES = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)
ALPHAS = np.logspace(-2, 4, 19).tolist()
#: Rows on which alpha and the share are chosen, by errors on rows left out.
CHOSEN_ON = 1500
#: Most tasks of which the output kernel is learned: a round takes their number's third power.
MOST_LEARNED = 200


class Data(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    task: np.ndarray


def load(name: str) -> Data:
    held = prepared(name)
    if name == "school":
        return Data(scaled(held["X"]), held["y"].astype(float), held["task"])
    if name == "parkinsons":
        return Data(scaled(held["X"]), np.column_stack([held["motor"], held["total"]]), held["task"])
    X = np.column_stack([held["gcse"], held["age"], held["female"]]).astype(float)
    return Data(scaled(X), held["score"].astype(float), held["school"])


def scaled(X: np.ndarray) -> np.ndarray:
    """Z-scores, with a constant for intercepts of tasks."""
    spread = X.std(axis=0)
    return np.column_stack([(X - X.mean(axis=0))[:, spread > 0] / spread[spread > 0], np.ones(len(X))])


def explained(model: Any, held: Data) -> float:
    errors = held.y - model.predict(held.X, held.task)
    return float(1 - np.mean(errors**2) / np.mean((held.y - held.y.mean(axis=0)) ** 2))


def take(data: Data, rows: np.ndarray) -> Data:
    return Data(data.X[rows], data.y[rows], data.task[rows])


def graph(train: Data) -> Any:
    """Each task joined to the three whose means of records are nearest."""
    tasks = np.unique(train.task)
    means = np.array([train.X[train.task == t].mean(axis=0) for t in tasks])
    away = ((means[:, None] - means[None]) ** 2).sum(axis=2)
    np.fill_diagonal(away, np.inf)
    near = np.argsort(away, axis=1)[:, :3]
    pairs = {tuple(sorted((int(tasks[i]), int(tasks[j])))) for i in range(len(tasks)) for j in near[i]}
    return ct.TaskGraph(sorted(pairs), tasks=[int(t) for t in tasks])


def one_split(data: Data, seed: int, kernel: Any) -> dict[str, float]:
    order = np.random.default_rng(seed).permutation(len(data.task))
    cut = int(0.75 * len(order))
    train, test = take(data, order[:cut]), take(data, order[cut:])
    few = take(train, np.arange(min(CHOSEN_ON, cut)))
    base = ct.batch.MultitaskKernelRidge(kernel, center=True)
    found = {}
    groups: dict[str, list[Any]] = {
        "independent": [ct.relations.MixedEffect(omega=0.0)],
        "pooled": [ct.relations.MixedEffect(omega=1.0)],
        "mixed effect": [ct.relations.MixedEffect(omega=omega) for omega in SHARES],
    }
    if len(known(train)) == len(known(data)):  # a graph knows nothing of a task that is no node
        groups["graph"] = [graph(train)]
    for name, relations in groups.items():
        path = ct.batch.ridge_path(base, few.X, few.y, few.task, values=ALPHAS, relations=relations, tasks=known(train))
        found[name] = explained(path.chosen.fit(train.X, train.y, train.task), test)
    if len(known(train)) <= MOST_LEARNED:
        found["learned"] = explained(learned(base, train).fit(train.X, train.y, train.task), test)
    return found


def learned(base: Any, train: Data) -> Any:
    """With an output kernel that is learned, alpha chosen by a quarter of the training rows left out."""
    cut = int(0.75 * len(train.task))
    kept, out = take(train, np.arange(cut)), take(train, np.arange(cut, len(train.task)))
    models = [
        clone(base).set_params(relation=ct.batch.OptimalOutputKernel(steps=5), alpha=alpha) for alpha in ALPHAS[::3]
    ]
    return max(models, key=lambda model: explained(model.fit(kept.X, kept.y, kept.task), out))


def known(train: Data) -> list[Any]:
    return [int(t) for t in np.unique(train.task)]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("name", choices=("school", "parkinsons", "chem97"))
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--kernel", default="linear")
    given = parser.parse_args()
    data = load(given.name)
    kernel = "linear" if given.kernel == "linear" else ct.kernels.Gaussian(ct.kernels.median_distance(data.X))
    rows = [one_split(data, seed, kernel) for seed in range(given.splits)]
    print(f"| {given.name}, {given.kernel}, {given.splits} splits of 75 % | explained variance, % |\n|---|---|")
    for name in rows[0]:
        values = 100 * np.array([row[name] for row in rows])
        print(f"| {name} | {values.mean():.1f} ± {values.std():.1f} |", flush=True)


if __name__ == "__main__":
    main()
