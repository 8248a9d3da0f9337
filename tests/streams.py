"""Random streams of many tasks, and the relations that are tested on them with their matrices written out."""

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp

import coterie as ct
from reference import interaction_matrices as matrices
from slow import slow

K, D = 5, 6


@dataclass(frozen=True)
class Stream:
    """Records of K tasks: features, labels -1.0 and +1.0, task numbers."""

    X: np.ndarray
    y: np.ndarray
    task: np.ndarray

    def __len__(self):
        return len(self.y)

    def take(self, places):
        return Stream(self.X[places], self.y[places], self.task[places])

    def by_task(self):
        """The records of the first task, then those of the second, and so on."""
        return self.take(np.argsort(self.task, kind="stable"))

    def named(self, labels):
        """Each record's task by its label."""
        return [labels[i] for i in self.task]


def linear_stream(seed, n=200, d=D, n_tasks=K, noise=0.5, zeros=0.0):
    """Labels by half-shared linear truths with noise; a share ``zeros`` of the entries is 0."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) >= zeros)
    task = rng.integers(n_tasks, size=n)
    truth = rng.standard_normal(d) + rng.standard_normal((n_tasks, d))
    clean = np.einsum("td,td->t", truth[task], X)
    return Stream(X, np.where(clean + noise * rng.standard_normal(n) > 0, 1.0, -1.0), task)


def as_csr(X):
    return sp.csr_array(X)


def as_dictionaries(X):
    return [{f"f{j}": float(x[j]) for j in np.flatnonzero(x)} for x in X]


FORMS = {"dense": lambda X: X, "csr": as_csr, "dictionaries": as_dictionaries}


def spiteful(model, X, task, tasks=range(K)):
    """Labels each of which is the one that was not predicted, so that every round is a mistake; X may be views."""
    y = np.zeros(len(X[0]) if task is None else len(task), int)
    named = {} if task is None else {"tasks": tasks}
    for t in range(len(y)):
        record = X[[t]] if named else [x[[t]] for x in X]
        whose = (task[[t]],) if named else ()
        margin = model.decision_function(record, *whose)[0] if t else 0.0
        y[t] = -1 if margin > 0 else 1
        model.partial_fit(record, y[[t]], *whose, classes=[-1, 1], **named)
    return y


def validated(model, stream, tasks, X=None):
    """The trace of a model along a stream, whose records may come in another form."""
    X = stream.X if X is None else X
    return ct.progressive_validation(model, X, stream.y, task=stream.named(tasks), tasks=tasks)


def assert_margins(margins, expected, y):
    """Every mistake flag, and margins to nine digits."""
    np.testing.assert_array_equal(y * margins <= 0, y * expected <= 0)
    np.testing.assert_allclose(margins, expected, rtol=1e-9, atol=1e-12)


@dataclass(frozen=True)
class Case:
    """A relation, the labels of its tasks, the M it streams with, and the A of the papers where it has one."""

    relation: Any
    M: np.ndarray
    A: np.ndarray | None = None
    tasks: tuple = ("a", "b", "c", "d", "e")


def shared(n_tasks, *groups_and_shares):
    """(1 - Σ s) I + Σ s 11' over groups of equal label, a task lacking a level keeping that level's share itself."""
    M = np.eye(n_tasks)
    for groups, share in groups_and_shares:
        same = np.array([[float(a == b and a is not None) for b in groups] for a in groups])
        M += share * (same - np.diag(np.diag(same)))
    return M


def _by_b(relation, A, **named):
    return Case(relation, np.linalg.inv(A), A, **named)


EDGES = [("a", "b"), ("b", "c", 2.5), ("c", "a"), ("d", "e", 0.5)]
NUMBERED = [(0, 1), (1, 2, 2.5), (2, 0), (3, 4, 0.5)]
TREE = {"a": "x", "b": "x", "c": "y", "d": "y", "e": "all", "x": "all", "y": "all"}
TREE_PATHS = [("all", "x"), ("all", "x"), ("all", "y"), ("all", "y"), ("all",)]
PLACES = ("fr/paris/u1", "fr/u2", "it/rome/u3", "it/rome/u4", "es")
PLACE_PATHS = [("", "fr", "paris"), ("", "fr"), ("", "it", "rome"), ("", "it", "rome"), ("",)]
GROUPS = {"a": 1, "b": 1, "c": 2, "d": 2, "e": 2}
_B = np.random.default_rng(7).standard_normal((K, K + 2))
SPD = _B @ _B.T / K + 0.2 * np.eye(K)

CASES = {
    "independent": _by_b(ct.Independent(), matrices.identity(K)),
    "pooled": Case(ct.Pooled(), np.ones((K, K))),
    "half": Case(ct.HalfUpdate(), (np.eye(K) + 1) / 2, matrices.half_update(K)),
    "mean b": _by_b(ct.MeanRegularized(b=3), matrices.mean_regularized(K, 3.0)),
    "mean b<0": _by_b(ct.MeanRegularized(b=-0.5), matrices.mean_regularized(K, -0.5)),
    "mean share": Case(
        ct.MeanRegularized(share=0.2), 0.8 * np.eye(K) + 0.2, matrices.mean_regularized(K, 0.2 * K / 0.8)
    ),
    "clusters b": _by_b(ct.Clusters(GROUPS, b=2), matrices.clusters([1, 1, 2, 2, 2], 2.0)),
    "clusters share": Case(ct.Clusters(GROUPS, share=0.3), shared(K, ([1, 1, 2, 2, 2], 0.3))),
    "tree b": _by_b(ct.Hierarchy(TREE, b=(1.0, 4.0)), matrices.hierarchy(TREE_PATHS, [1.0, 4.0])),
    "tree share": Case(
        ct.Hierarchy(TREE, share=(0.25, 0.5)), shared(K, (["all"] * K, 0.25), (["x", "x", "y", "y", None], 0.5))
    ),
    "separator b": _by_b(
        ct.Hierarchy("/", b=(1.0, 2.0, 3.0)), matrices.hierarchy(PLACE_PATHS, [1.0, 2.0, 3.0]), tasks=PLACES
    ),
    "graph factor": _by_b(ct.TaskGraph(EDGES, error=0.0), matrices.graph(K, NUMBERED)),
    "interaction": _by_b(ct.tasks.Interaction(SPD, tasks=("a", "b", "c", "d", "e")), SPD),
    "inverse": _by_b(ct.tasks.Interaction(inverse=np.linalg.inv(SPD), tasks=("a", "b", "c", "d", "e")), SPD),
}

#: Their M is read column by column, by other compiled code than that of the others, whose M is given by levels.
BY_COLUMNS = tuple(name for name, case in CASES.items() if case.relation.form == "columns")

STORAGES = ("dense", "sparse", "auto")
RULES = {
    "perceptron": ct.updates.Perceptron(),
    "PA": ct.updates.PassiveAggressive(variant="0"),
    "PA-I": ct.updates.PassiveAggressive(C=0.3, variant="I"),
    "PA-II": ct.updates.PassiveAggressive(C=0.3, variant="II"),
}


#: Relation, storage, input, rule and averaging: few combinations, chosen greedily so that few types are compiled and
#: every relation comes up, every pair of values of the other four, each of these under relations of both forms, and each
#: kind of table with and without averages. `test_equality.py` asserts it.
COVER = [
    ("independent", "auto", "dense", "PA-I", True),
    ("pooled", "sparse", "dictionaries", "PA-II", True),
    ("half", "sparse", "dense", "PA-II", False),
    ("mean b", "sparse", "dictionaries", "PA-I", True),
    ("mean b<0", "dense", "csr", "perceptron", False),
    ("mean share", "auto", "dense", "PA", True),
    ("clusters b", "sparse", "dense", "PA-I", False),
    ("clusters b", "dense", "dense", "PA-I", True),
    ("clusters share", "dense", "dense", "PA-II", True),
    ("tree b", "sparse", "csr", "PA", True),
    ("tree share", "sparse", "dense", "PA", False),
    ("separator b", "auto", "dictionaries", "perceptron", False),
    ("graph factor", "dense", "dense", "perceptron", False),
    ("graph factor", "sparse", "csr", "perceptron", True),
    ("interaction", "dense", "dictionaries", "PA", True),
    ("interaction", "sparse", "csr", "PA-I", False),
    ("inverse", "auto", "csr", "PA-II", True),
]
#: The same for the plain run, without those that compile what has its parts in others: averages in sparse tables have the
#: one rule that tests of files need, too.
PLAIN_COVER = [
    slow(*row)
    if row[1:] in {("dense", "dictionaries", "PA", True), ("auto", "csr", "PA-II", True)}
    or (row[1] == "sparse" and (row[-1] or row[2] == "dense") and row[0] != "interaction")
    else row
    for row in COVER
]
PLAIN_COVER += [
    ("mean b", "sparse", "dictionaries", "perceptron", True),
    ("tree b", "sparse", "csr", "perceptron", True),
]
#: Some of all the other combinations, for `tools/check --slow`.
OTHERS = sorted(set(product(CASES, STORAGES, FORMS, RULES, (False, True))) - set(COVER))
SAMPLE = [slow(*OTHERS[place]) for place in np.random.default_rng(0).choice(len(OTHERS), 60, replace=False)]
