"""Frozen traces: what the learners do on small fixed streams, so that no number changes unnoticed.

`python tests/golden/make.py` writes them anew; a commit that changes one says why.
"""

import json
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import coterie as ct

FOLDER = Path(__file__).parent
N, D, K = 60, 7, 4
TREE = {"fr/u0": "fr", "fr/u1": "fr", "it/u2": "it", "it/u3": "it", "fr": "all", "it": "all"}
TASKS = ("fr/u0", "fr/u1", "it/u2", "it/u3")

MODELS = {
    "independent": ct.MultitaskPerceptron(ct.Independent()),
    "pooled": ct.MultitaskPerceptron(ct.Pooled(), average=True),
    "half": ct.MultitaskPerceptron(),
    "half-mean-sparse": ct.MultitaskPerceptron(average=True, storage="sparse"),
    "b-pa1": ct.MultitaskPerceptron(ct.MeanRegularized(b=3), ct.rules.PassiveAggressive(C=0.1)),
    "share-pa2-mean": ct.MultitaskPerceptron(
        ct.MeanRegularized(share=0.8), ct.rules.PassiveAggressive(C=0.5, variant="II"), average=True
    ),
    "clusters": ct.MultitaskPerceptron(ct.Clusters({task: task[:2] for task in TASKS}, b=2)),
    "tree": ct.MultitaskPerceptron(ct.Hierarchy(TREE, b=(1.0, 4.0)), storage="sparse"),
    "separator": ct.MultitaskPerceptron(ct.Hierarchy("/", share=(0.3, 0.3)), average=True),
    "graph-pa": ct.MultitaskPerceptron(
        ct.TaskGraph([("fr/u0", "fr/u1"), ("fr/u1", "it/u2", 0.5), ("it/u2", "it/u3")]),
        ct.rules.PassiveAggressive(variant="0"),
    ),
    "interaction": ct.MultitaskPerceptron(
        ct.relations.Interaction(
            [[2.0, -1.0, 0.0, 0.0], [-1.0, 2.0, -0.5, 0.0], [0.0, -0.5, 1.5, 0.25], [0, 0, 0.25, 1.0]], tasks=TASKS
        )
    ),
}


def stream(seed):
    """Uniform records, a third of whose entries are 0, with labels by half-shared truths and noise."""
    rng = np.random.default_rng(seed)
    X = (2 * rng.random((N, D)) - 1) * (rng.random((N, D)) > 1 / 3)
    truths = rng.random(D) + rng.random((K, D)) - 1
    task = (K * rng.random(N)).astype(int)
    y = np.where((truths[task] * X).sum(axis=1) + 0.2 * (rng.random(N) - 0.5) > 0, "yes", "no")
    return X, y, [TASKS[i] for i in task]


def trace_of(name):
    """What is frozen of one model's run: first half dense, all known; then tasks and labels that come late, sparse."""
    model = ct.MultitaskPerceptron(**MODELS[name].get_params())
    X, y, task = stream(len(name))
    first = ct.progressive_validation(model, X[:30], y[:30], task=task[:30])
    second = ct.progressive_validation(model, sp.csr_array(X[30:]), y[30:], task=task[30:], delay=3)
    return {
        "model": repr(model),
        "margins": [float(f"{margin:.12g}") for trace in (first, second) for margin in trace.margin],
        "mistakes": "".join("01"[int(flag)] for trace in (first, second) for flag in trace.mistake),
        "updated": "".join("01"[int(flag)] for trace in (first, second) for flag in trace.updated),
        "weights": [[float(f"{weight:.12g}") for weight in row] for row in model.coef_.tolist()],
        "tasks": model.tasks_,
    }


if __name__ == "__main__":
    for each in MODELS:
        (FOLDER / f"{each}.json").write_text(json.dumps(trace_of(each), indent=1) + "\n")
