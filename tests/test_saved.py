"""Model files of an earlier version: they are read, predict what they did, and go on learning as they did.

`saved/make_saved.py` made the files, under the version that wrote them first, and `saved/expected.json`: what each model says
of some records, and says again after it has learned more. The records are drawn here, so that they need not be kept.
"""

from __future__ import annotations

import contextlib
import copy
import datetime
import json
import pickle
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

import coterie as ct

FOLDER = Path(__file__).parent / "saved"

#: Seed, records and tasks of what a model had learned when it was saved, of what it is asked, and of what it learns
#: then: there is a task that comes late.
STAGES = {"learned": (1, 20, 3), "asked": (2, 7, 4), "more": (3, 14, 4)}
D = 5
TASKS = ("fr/a", "fr/b", "it/c", "it/d")
KINDS = (("ann", 1), 2.5, datetime.date(2024, 2, 29), True)
TRUTHS = np.random.default_rng(0).random(D) + np.random.default_rng(1).random((4, D)) - 1


class Records(NamedTuple):
    """Records, their labels and, where they have such, their tasks."""

    X: Any
    y: Any
    task: Any = None

    @property
    def given(self):
        """The tasks by the name under which models take them."""
        return {} if self.task is None else {"task": self.task}


class Drawn(NamedTuple):
    """Uniform records, a third of whose entries are 0, with numbers by half-shared truths and noise."""

    X: np.ndarray
    value: np.ndarray
    task: np.ndarray
    name: str

    @property
    def labels(self):
        return np.where(self.value > 0, "yes", "no")

    @property
    def tasks(self):
        return [TASKS[i] for i in self.task]

    @property
    def pairs(self):
        """Dictionaries; late ones have a feature more."""
        late = self.name != "learned"
        made = [{f"f{j}": float(x[j]) for j in np.flatnonzero(x)} for x in self.X]
        return [x | {"late": 0.5} if late and t % 3 == 0 else x for t, x in enumerate(made)]


def drawn(name):
    seed, n, n_tasks = STAGES[name]
    rng = np.random.default_rng(seed)
    X = (2 * rng.random((n, D)) - 1) * (rng.random((n, D)) > 1 / 3)
    task = (n_tasks * rng.random(n)).astype(int)
    return Drawn(X, (TRUTHS[task] * X).sum(axis=1) + 0.2 * (rng.random(n) - 0.5), task, name)


def parts(X):
    """Three views of three features each, of which the first has most to say."""
    return [X[:, :3], X[:, 1:4], X[:, 2:]]


def partial(X):
    """Views, every one of them absent from some records."""
    return [ct.views.PartialBlock(block, np.arange(len(X)) % 4 != k) for k, block in enumerate(parts(X))]


def nested(X, names):
    """Dictionaries of dictionaries: of views, or of the instances of tasks."""
    blocks = parts(X)
    views = [[{f"f{j}": float(x) for j, x in enumerate(row)} for row in block] for block in blocks]
    return [dict(zip(names, row, strict=True)) for row in zip(*views, strict=True)]


def columns(d):
    """The columns of a file, as dictionaries."""
    shops, words = ("north", "south", "west"), ("red", "blue")
    return [
        {
            "price": float(x[0]) if x[0] else None,
            "age": float(x[1]),
            "shop": shops[int(abs(x[2]) * 3)],
            "note": " ".join(word for word, there in zip(words, x[3:], strict=True) if there),
        }
        for x in d.X
    ]


def wide(X):
    """Rows as wide as the tables of models that hash features into five bits."""
    return sp.csr_array(np.pad(np.tile(X, 6), ((0, 0), (0, 2))))


def matrix(d):
    return np.column_stack([d.value > -0.5, d.value > 0, d.value > 0.5]).astype(int)


def classes(d):
    """Three classes, and later a fourth."""
    edges = [-0.4, 0.4] if d.name == "learned" else [-0.4, 0.4, 0.7]
    return np.array(["low", "middle", "high", "top"])[np.digitize(d.value, edges)]


def sets(d):
    return [{name for name, has in zip("abc", row, strict=True) if has} for row in matrix(d)]


def frame(d):
    import pandas as pd

    return pd.DataFrame(d.X, columns=[f"f{j}" for j in range(D)])


FORMS = {
    "arrays": lambda d: Records(d.X, d.labels, d.tasks),
    "sparse": lambda d: Records(sp.csr_array(d.X), d.labels, d.tasks),
    "pairs": lambda d: Records(d.pairs, d.labels.tolist(), d.tasks),
    "frames": lambda d: Records(frame(d), d.labels, d.tasks),
    "no tasks": lambda d: Records(d.X, d.labels),
    "kinds": lambda d: Records(d.X, d.value > 0, [KINDS[i] for i in d.task]),
    "task column": lambda d: Records(np.column_stack([d.X, d.task]), np.where(d.value > 0, 2, 1)),
    "columns": lambda d: Records(columns(d), d.labels.tolist(), d.tasks),
    "wide": lambda d: Records(wide(d.X), np.sign(d.value), d.tasks),
    "wide and numbered": lambda d: Records(wide(d.X), np.sign(d.value), d.task),
    "numbers": lambda d: Records(d.X, 3 * d.value + 10, d.tasks),
    "sparse numbers": lambda d: Records(sp.csr_array(d.X), 3 * d.value + 10, d.tasks),
    "pairs and numbers": lambda d: Records(d.pairs, (3 * d.value + 10).tolist(), d.tasks),
    "columns and numbers": lambda d: Records(columns(d), (3 * d.value + 10).tolist(), d.tasks),
    "outputs": lambda d: Records(d.X, np.column_stack([d.value, d.X[:, 0]])),
    "field": lambda d: Records(d.X[:, :2], np.column_stack([d.X[:, 1], -d.X[:, 0]])),
    "gram": lambda d: Records(d.X @ drawn("learned").X.T, d.labels, d.tasks),
    "classes": lambda d: Records(d.X, classes(d), d.tasks),
    "sparse classes": lambda d: Records(sp.csr_array(d.X), classes(d), d.tasks),
    "pairs and classes": lambda d: Records(d.pairs, classes(d).tolist(), d.tasks),
    "columns and classes": lambda d: Records(columns(d), classes(d).tolist(), d.tasks),
    "sets": lambda d: Records(d.X, sets(d), d.tasks),
    "matrix": lambda d: Records(d.X, matrix(d), d.tasks),
    "spaces": lambda d: Records(parts(d.X), d.labels, (d.task % 3).tolist()),
    "nested spaces": lambda d: Records(nested(d.X, range(3)), d.labels.tolist(), (d.task % 3).tolist()),
    "views": lambda d: Records(parts(d.X), d.labels),
    "sparse views": lambda d: Records([sp.csr_array(block) for block in parts(d.X)], d.labels),
    "narrow views": lambda d: Records([d.X[:, j : j + 2] for j in range(3)], d.labels),
    "partial views": lambda d: Records(partial(d.X), d.labels),
    "nested views": lambda d: Records(nested(d.X, "uvw"), d.labels.tolist()),
}  # fmt: skip


def records(form, stage):
    return FORMS[form](drawn(stage))


def told(model, form):
    """What a model says of the records that all are asked: margins, labels, probabilities."""
    asked = records(form, "asked")
    if not model.__sklearn_is_fitted__():
        return {}
    said = {"margins": getattr(model, "decision_function", model.predict)(asked.X, **asked.given)}
    if hasattr(model, "decision_function"):
        labels = model.predict(asked.X, **asked.given)
        said["labels"] = [sorted(each) if isinstance(each, frozenset) else each for each in labels]
    if hasattr(model, "predict_proba"):
        with contextlib.suppress(AttributeError):  # a mixture whose members have none says so when asked
            said["probabilities"] = model.predict_proba(asked.X, **asked.given)[:, 1:]
    return {name: [each.tolist() if hasattr(each, "tolist") else each for each in held] for name, held in said.items()}


def taught(model, form):
    """Learn more: dictionaries one by one, all else in one go. What came of each: a mistake, or a question.

    The version that wrote the files counted all tasks of a block at its start, as if they were named.
    """
    more = records(form, "more")
    if not (isinstance(more.X, list) and isinstance(more.X[0], dict)):
        tasks = None if more.task is None else list(dict.fromkeys(more.task))
        trace = ct.progressive_validation(model, more.X, more.y, **more.given, tasks=tasks)
        return flags(trace.mistake), flags(trace.queried)
    wanted = []
    for t, (x, y) in enumerate(zip(more.X, more.y, strict=True)):
        task = {} if more.task is None else {"task": more.task[t]}
        wanted.append(model.wants_label(x, **task) if hasattr(model, "wants_label") else True)
        if wanted[-1]:
            model.learn_one(x, y, **task)
    return "", flags(wanted)


def flags(each):
    return "".join("01"[int(flag)] for flag in each)


def outcome(model, form):
    """All that is expected of a model; it has learned more afterwards."""
    said = {"before": told(model, form)}
    if hasattr(model, "learn_one"):
        said["mistakes"], said["asked"] = taught(model, form)
        said["after"] = told(model, form)
    return said


def assert_same(said, expected):
    """Labels as they were, and numbers but for rounding: BLAS does not promise the same bits everywhere."""
    assert said.keys() == expected.keys()
    for name, held in said.items():
        if isinstance(held, dict):
            assert_same(held, expected[name])
        elif name in ("margins", "probabilities"):
            wanted = np.array(expected[name])
            np.testing.assert_allclose(held, wanted, rtol=1e-12, atol=1e-12 * np.abs(wanted).max(initial=1.0))
        else:
            assert held == expected[name]


EXPECTED = json.loads((FOLDER / "expected.json").read_text()) if (FOLDER / "expected.json").exists() else {}


def test_nothing_is_left_out():
    assert {path.stem for path in FOLDER.glob("*.coterie")} == set(EXPECTED)


QUICK = {
    *("AROW", "SVC", "asking-margin", "baseline-of-views", "classes", "field", "kernel-classifier"),
    *("kernel-projection", "logistic", "perceptron-dense", "perceptron-graph", "perceptron-half-life"),
    *("perceptron-log-det", "perceptron-sparse-average", "potential", "read-csv", "regressor", "regressor-adaptive"),
    *("ridge", "second-order-primal", "sharing", "sharing-parts", "spaces-primal", "views"),
}


#: Saved while they were primed, A_0 being I/3 for three tasks for good. Now it is I/K until A is first revised, the sums
#: of moves follow it, and the fourth task comes before that: what they predict is as it was, what they learn differs.
START_FOLLOWS_TASKS = {"perceptron-primed", "perceptron-primed-auto-average", "perceptron-primed-mean", "kernel-primed"}


#: A projection multiplies matrices whose room differs after loading, and BLAS sums them in another order: what goes on is
#: equal to rounding, not bit for bit (docs/appendix/file-format.md). Copies are equal all the same.
TO_ROUNDING = {"kernel-shared-projection"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in EXPECTED]
)
def test_a_file_of_an_earlier_version_goes_on(name, tmp_path):
    form, expected = EXPECTED[name]["form"], EXPECTED[name]["outcome"]
    model = ct.load(FOLDER / f"{name}.coterie")
    assert type(model).__name__ == EXPECTED[name]["model"].partition("(")[0]
    model.save(tmp_path / "first.coterie")
    if name in START_FOLLOWS_TASKS:
        before, expected = expected["before"], outcome(ct.load(tmp_path / "first.coterie"), form)
        assert_same(expected["before"], before)
    assert_same(outcome(model, form), expected)
    stopped = ct.load(tmp_path / "first.coterie")
    assert_same(outcome(stopped, form), expected)
    model.save(tmp_path / "second.coterie")
    again = ct.load(tmp_path / "second.coterie")
    copies = [again, copy.deepcopy(model), pickle.loads(pickle.dumps(model))]  # noqa: S301
    for other in copies if name in TO_ROUNDING else [stopped, *copies]:
        other.save(tmp_path / "other.coterie")
        assert (tmp_path / "other.coterie").read_bytes() == (tmp_path / "second.coterie").read_bytes()
    assert repr(again) == repr(model)
    assert_same({"after": told(again, form)}, {"after": expected.get("after", expected["before"])})
