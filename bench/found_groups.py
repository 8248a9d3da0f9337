"""Groups that are found (`examples/found_groups.py`): made groups recovered or not, real sets, and what a record costs.

    COTERIE_DATA=... python -m bench.found_groups [made] [real] [cost] [--shuffles 3] [--records 15000]

Made groups: 40 tasks, records of 10 features and unit length, labels of a group's vector. Real sets: one pass over at most so
many records, the same for all. The prediction of the paper is ridge regression on the records of a task's group, all of them,
also of the time before it was set apart; the library's learners are given groups as tasks. Confidences that set all tasks
apart, or none, are printed too.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from examples.found_groups import FoundGroups
from papers import data as datasets
from papers.data.preparation import unit_rows

import coterie as ct
from bench import plain, vowpal

SETS = ("school", "landmine", "chem97", "a9a", "flights", "amazon4_200")
ALPHAS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
NOISES, RECORDS, GROUPS = (0.0, 0.1, 0.2), (20, 100, 300), (2, 4, 10)
LINKS = 60  # of every task, where there are more tasks than that
BY_GROUPS: tuple[Callable[[], Any], ...] = (
    lambda: plain.MultitaskLogistic(ct.Independent()),
    plain.MultitaskLogistic,
    plain.AdaptiveSharingClassifier,
)


def made(K: int, groups: int, records: int, noise: float, seed: int, features: int = 10) -> Any:
    """Records, labels, tasks, and the group of each task."""
    rng = np.random.default_rng(seed)
    group, task = rng.permutation(np.arange(K) % groups), rng.permutation(np.repeat(np.arange(K), records))
    vectors, X = rng.normal(size=(groups, features)), unit_rows(rng.normal(size=(len(task), features)))
    y = np.where((X * vectors[group[task]]).sum(axis=1) > 0, 1.0, -1.0)
    y[rng.random(len(y)) < noise] *= -1
    return X, y, task, group


def agreement(a: Any, b: Any) -> float:
    """The adjusted Rand index: 1 for the same groups, 0 for those of chance."""
    pairs = np.zeros((a.max() + 1, b.max() + 1))
    np.add.at(pairs, (a, b), 1)
    both, ours, theirs, all_ = (
        float((n * (n - 1) / 2).sum()) for n in (pairs, pairs.sum(1), pairs.sum(0), np.array([len(a)]))
    )
    chance, most = ours * theirs / all_, (ours + theirs) / 2
    return 1.0 if most == chance else (both - chance) / (most - chance)


def print_made(shuffles: int) -> None:
    """Recovered or not, by the size of groups, noise, and records a task."""
    print("\nAdjusted Rand index and number of groups, 40 tasks, 10 features, alpha 3\n")
    columns = [(noise, records) for noise in NOISES for records in RECORDS]
    print("| groups of | " + " | ".join(f"noise {noise:g}, {records} a task" for noise, records in columns) + " |")
    print("|---" * (1 + len(columns)) + "|")
    for groups in GROUPS:
        cells = [recovered(groups, noise, records, shuffles) for noise, records in columns]
        print(f"| {40 // groups} | " + " | ".join(cells) + " |", flush=True)


def recovered(groups: int, noise: float, records: int, shuffles: int) -> str:
    told = []
    for seed in range(shuffles):
        X, y, task, group = made(40, groups, records, noise, seed)
        found = FoundGroups(40, 10)
        found.learn(X, y, task)
        told.append((agreement(group, found.groups_), len(np.unique(found.groups_))))
    return "{:.2f}, {:.0f}".format(*np.mean(told, axis=0))


class GroupRidge:
    """The prediction of the paper: ridge regression on all records of the tasks that are in a task's group now."""

    def __init__(self, K: int, d: int) -> None:
        self.squares, self.sums = np.zeros((K, d, d)), np.zeros((K, d))
        self.kept: dict[int, Any] = {}
        self.groups = np.zeros(K, dtype=int)

    def margin(self, x: Any, i: int, groups: Any) -> float:
        if groups is not self.groups:
            self.kept = self.kept if np.array_equal(groups, self.groups) else {}
            self.groups = groups
        if groups[i] not in self.kept:
            tasks = groups == groups[i]
            self.kept[groups[i]] = np.linalg.inv(np.eye(len(x)) + self.squares[tasks].sum(0)), self.sums[tasks].sum(0)
        inverse, total = self.kept[groups[i]]
        return float(x @ inverse @ total)

    def learn(self, x: Any, y: float, i: int) -> None:
        inverse, total = self.kept[self.groups[i]]
        z = inverse @ x
        inverse -= np.outer(z, z / (1.0 + x @ z))
        total += y * x
        self.squares[i] += np.outer(x, x)
        self.sums[i] += y * x


def along(found: FoundGroups, X: Any, y: Any, task: Any) -> tuple[Any, float]:
    """The group of each record's task before it, and the error of ridge regression by groups."""
    ridge, groups, wrong = GroupRidge(len(found.groups_), X.shape[1]), np.empty(len(y), dtype=int), 0
    for t, i in enumerate(task.tolist()):
        wrong += y[t] * ridge.margin(X[t], i, found.groups_) <= 0
        ridge.learn(X[t], y[t], i)
        groups[t] = found.learn(X[t : t + 1], y[t : t + 1], task[t : t + 1])[0]
    return groups, 100 * wrong / len(y)


def load(name: str, records: int, seed: int) -> tuple[Any, Any, Any]:
    """So many records in random order, of unit length, with tasks by numbers."""
    data = datasets.flights(task="dest") if name == "flights" else datasets.load(name)
    order = np.random.default_rng(seed).permutation(len(data))[:records]
    X = data.X[order].toarray() if sp.issparse(data.X) else data.X[order]
    return unit_rows(X), data.y[order].astype(float), np.unique(data.task[order], return_inverse=True)[1]


def scores(learner: Any, X: Any, y: Any, task: Any) -> tuple[float, float]:
    trace = ct.progressive_validation(learner, X, y, task=task)
    p = np.clip(trace.probability, 1e-15, 1 - 1e-15)
    return 100 * trace.error, vowpal.log_loss(np.log(p) - np.log1p(-p), y)


def measured(name: str, records: int, seed: int) -> dict[str, tuple[float, ...]]:
    """By the name of a row: error and log loss, or the number of groups, the largest, ridge's error, and those of learners."""
    X, y, task = load(name, records, seed)
    K, d = task.max() + 1, X.shape[1]
    rows: dict[str, tuple[float, ...]] = {
        "pooled": scores(plain.MultitaskLogistic(ct.Pooled()), X, y, task),
        "independent": scores(plain.MultitaskLogistic(ct.Independent()), X, y, task),
        "half-update": scores(plain.MultitaskLogistic(), X, y, task),
        "adaptive sharing": scores(plain.AdaptiveSharingClassifier(), X, y, task),
    }
    for alpha in (0.0, *ALPHAS, np.inf):
        found = FoundGroups(K, d, alpha, LINKS)
        groups, error = along(found, X, y, task)
        sizes = np.bincount(found.groups_)
        by_learner = [each for make in BY_GROUPS for each in scores(make(), X, y, groups)]
        rows[f"alpha {alpha:g}"] = (np.count_nonzero(sizes), sizes.max(), error, *by_learner)
    return rows


def print_real(sets: tuple[str, ...], records: int, shuffles: int) -> None:
    """Error and log loss of the library's learners on tasks, and of ridge and learners on the groups found."""
    means = {}
    for name in sets:
        runs = [measured(name, records, seed) for seed in range(shuffles)]
        mean = {row: np.mean([run[row] for run in runs], axis=0) for row in runs[0]}
        means[name] = mean
        print(f"\n{name}\n\n| by tasks | error, % | log loss |\n|---|---|---|")
        for row, each in mean.items():
            if len(each) == 2:
                print("| {} | {:.2f} | {:.4f} |".format(row, *each))
        learners = (f"{name}, error | log loss" for name in ("independent", "half-update", "adaptive"))
        print("\n| by groups found | groups | largest | ridge, error | " + " | ".join(learners) + " |")
        print("|---" * 10 + "|")
        for row, each in mean.items():
            if len(each) > 2:
                cells = (" | {:.0f} | {:.0f} | {:.2f}" + 3 * " | {:.2f} | {:.4f}").format(*each)
                print(f"| {row}{cells} |", flush=True)
    print(
        "\nError, % | log loss; groups by the confidence that is best of seven in hindsight, for each figure its own\n"
    )
    print("| set | pooled | independent | half-update | adaptive | groups: independent | half-update | adaptive |")
    print("|---" * 8 + "|")
    for name, mean in means.items():
        found = np.array([mean[f"alpha {alpha:g}"] for alpha in ALPHAS]).min(axis=0)[3:].reshape(-1, 2)
        cells = (
            "{:.2f}, {:.4f}".format(*each) for each in [*(each for each in mean.values() if len(each) == 2), *found]
        )
        print(f"| {name} | " + " | ".join(cells) + " |")
    print("\nError, % of ridge regression\n\n| set | alpha inf | alpha 0 | best of seven |\n|---|---|---|---|")
    for name, mean in means.items():
        best = min(mean[f"alpha {alpha:g}"][2] for alpha in ALPHAS)
        print("| {} | {:.2f} | {:.2f} | {:.2f} |".format(name, mean["alpha inf"][2], mean["alpha 0"][2], best))


def print_cost() -> None:
    """Microseconds a record, four groups, a noise of a tenth."""
    print("\n| tasks | records a task | CPU µs a record | groups | adjusted Rand |\n|---|---|---|---|---|")
    for K, records in ((1_000, 100), (1_000, 300), (100_000, 10)):
        X, y, task, group = made(K, 4, records, 0.1, 0)
        found = FoundGroups(K, 10, links=LINKS)
        begun = time.process_time()
        found.learn(X, y, task)
        spent = (time.process_time() - begun) / len(y)
        groups = len(np.unique(found.groups_))
        print(f"| {K} | {records} | {1e6 * spent:.1f} | {groups} | {agreement(group, found.groups_):.2f} |", flush=True)


def main() -> None:
    """Print the tables that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", default=("made", "real", "cost"))
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--shuffles", type=int, default=3)
    parser.add_argument("--records", type=int, default=15_000)
    asked = parser.parse_args()
    if "made" in asked.tables:
        print_made(asked.shuffles)
    if "real" in asked.tables:
        print_real(tuple(asked.sets), asked.records, asked.shuffles)
    if "cost" in asked.tables:
        print_cost()


if __name__ == "__main__":
    main()
