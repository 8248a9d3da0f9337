"""Mirror descent and smoothed relations, which find out how to share, beside fixed shares: mistakes on real data.

    python -m bench.mirror [set ...] [--shuffles 3]

One pass over records of unit length. Mirror descents have the best radius of four in hindsight, smoothed relations the best
of three steps and three rates; beside them stand the constant guess, multitask Perceptrons and the default. The prepared data lie in the folder that COTERIE_DATA names.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import coterie as ct
from bench import plain
from bench.random_features import errors, shuffled
from coterie.datasets.preparation import unit_rows, unit_rows_sparse

SETS = ("school", "landmine", "acl4")
RADII = (1.0, 3.0, 10.0, 30.0)
STEPS, RATES = (0.1, 0.5, 2.0), (0.003, 0.03, 0.3)
Make = Callable[[], Any]


def load(name: str) -> Any:
    held = ct.datasets.load(name)
    X = unit_rows_sparse(held.X) if hasattr(held.X, "indptr") else unit_rows(np.asarray(held.X, np.float64))
    return X, held.y, held.task


def models() -> dict[str, list[Make]]:
    """By name the models of which the best counts."""
    descents = {"a model a task": (1.0,), "one model": (0.0,), "σ² = 1/16": (1 / 16,), "adaptive": None}
    made: dict[str, list[Make]] = {
        f"mirror descent, {name}": [
            partial(ct.MultitaskMirrorDescent, radius=radius, variances=variances) for radius in RADII
        ]
        for name, variances in descents.items()
    }
    kinds = {"a model a task": (0.0, (0.0,)), "alike, half": (0.5, (0.0,)), "learned, half": (0.5, RATES)}
    for name, (share, rates) in kinds.items():
        made[f"smoothed, {name}"] = [
            partial(ct.SmoothedMultitaskPerceptron, share, rate, step) for rate in rates for step in STEPS
        ]
    relations = {"a model a task": ct.Independent(), "one model": ct.Pooled(), "half shared": ct.HalfUpdate()}
    for name, relation in relations.items():
        made[f"Perceptron, {name}"] = [partial(ct.MultitaskPerceptron, relation)]
    made["`AdaptiveSharingClassifier()`"] = [plain.AdaptiveSharingClassifier]
    return made


def lines(names: list[str], shuffles: int, models: dict[str, list[Make]]) -> Iterator[str]:
    streams = {name: [shuffled(load(name), seed) for seed in range(shuffles)] for name in names}
    yield "| % of mistakes | " + " | ".join(f"{name}, {len(set(streams[name][0][2].tolist()))} tasks" for name in names)
    yield "|---" * (1 + len(names)) + "|"
    constant = [np.mean([errors(ct.MultitaskPerceptron(), *stream)[1] for stream in streams[name]]) for name in names]
    yield f"| constant | {' | '.join(f'{each:.1f}' for each in constant)} |"
    for what, makes in models.items():
        found = [
            min(np.mean([errors(make(), *stream)[0] for stream in streams[name]]) for make in makes) for name in names
        ]
        yield f"| {what} | {' | '.join(f'{each:.1f}' for each in found)} |"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=list(SETS), metavar="set", help=", ".join(SETS))
    parser.add_argument("--shuffles", type=int, default=3)
    given = parser.parse_args()
    for line in lines(given.sets, given.shuffles, models()):
        print(line, flush=True)
