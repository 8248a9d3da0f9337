"""Spectral co-regularization over tasks beside other relations: on tasks in a few directions, and on real data.

    COTERIE_DATA=... python -m bench.spectral [--shuffles 3] [--sets school ...]

Mistakes of the Perceptron in %, one pass, mean over shuffles, on streams of 12 tasks in R^20 that span so many
directions (100 records a task), then on real sets. Tasks arrive as their records do.
"""

from __future__ import annotations

import argparse

import numpy as np
from papers import data as datasets

import coterie as ct

SETS = ("school", "landmine", "a9a", "amazon4", "acl4", "newsgroups_pairs")
RANKS = (1, 2, 4, 8, 12)
RELATIONS = {
    "pooled": ct.Pooled(),
    "half": ct.HalfUpdate(),
    "independent": ct.Independent(),
    "LogDet": ct.LogDet(1e-3, step_norm=True),
    "LogDet, primed": ct.relations.Primed(ct.LogDet(1e-3, step_norm=True), "auto"),
    "spectral 2": ct.relations.Spectral(2.0),
    "spectral 3": ct.relations.Spectral(3.0),
    "spectral 5": ct.relations.Spectral(5.0),
    "spectral 3, primed": ct.relations.Primed(ct.relations.Spectral(3.0), "auto"),
}


def made(rank, seed, tasks=12, features=20, records=1200):
    """A stream of tasks that are random mixtures of ``rank`` directions; as many records a task, of length one."""
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((tasks, rank)) @ rng.standard_normal((rank, features))
    X, task = rng.standard_normal((records, features)), rng.integers(tasks, size=records)
    return X / np.linalg.norm(X, axis=1)[:, None], np.where((U[task] * X).sum(axis=1) > 0, 1, -1), task


def loaded(data, seed):
    order = np.random.default_rng(seed).permutation(len(data))
    return data.X[order], data.y[order], data.task[order]


def errors(streams):
    found = {}
    for name, relation in RELATIONS.items():
        traces = [
            ct.progressive_validation(ct.MultitaskPerceptron(relation), X, y, task=task) for X, y, task in streams
        ]
        found[name] = 100 * np.mean([trace.error for trace in traces])
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shuffles", type=int, default=3)
    parser.add_argument("--sets", nargs="*", default=SETS)
    asked = parser.parse_args()
    print("| stream | " + " | ".join(RELATIONS) + " |")
    print("|---" * (1 + len(RELATIONS)) + "|")
    seeds = range(asked.shuffles)
    for rank in RANKS:
        row(f"12 tasks, {rank} direction{'s' * (rank > 1)}", [made(rank, seed) for seed in seeds])
    for name in asked.sets:
        data = datasets.load(name)
        row(name, [loaded(data, seed) for seed in seeds])


def row(name, streams):
    print(f"| {name} | " + " | ".join(f"{error:.2f}" for error in errors(streams).values()) + " |", flush=True)


if __name__ == "__main__":
    main()
