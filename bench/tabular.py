"""Real sets with tasks for comparisons on tables, and LightGBM refitted nightly.

Nightly is after each twentieth of the stream: LightGBM with the task as a category, fitted to all records so far, on
their columns as they are here, and told until the next night; before the first all are told the base rate. The data
sets lie in the folder that COTERIE_DATA names; flights come with the package.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from papers import data as datasets
from scipy.sparse import issparse

from bench.harness import prepared

NIGHTS = 20
STRETCH = 40_000
FLIGHTS = {"flights by aircraft": "tailnum", "flights by destination": "dest"}
SETS = ("school", "landmine", "chem97", "a9a", *FLIGHTS, "parkinsons")


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
