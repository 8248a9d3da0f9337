"""Records one at a time: the quick way of calling compiled code gives what blocks give, whatever happens in between."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import coterie as ct
from coterie.hypotheses import tables
from coterie.numeric.entries import Entry
from coterie.numeric.tables import RowMajorPairs, second
from coterie.views import Vocabulary, distinct_labels

TASKS = ["ann", "bob", "cyd"]
MODELS = {
    "half": lambda **kw: ct.MultitaskPerceptron(**kw),
    "averaged": lambda **kw: ct.MultitaskPerceptron(rule=ct.PassiveAggressive(), average=True, **kw),
    "averaged, float32": lambda **kw: ct.MultitaskPerceptron(average=True, dtype="float32", **kw),
    "sparse": lambda **kw: ct.MultitaskPerceptron(storage="sparse", **kw),
    "averaged, sparse": lambda **kw: ct.MultitaskPerceptron(average=True, storage="sparse", **kw),
    "graph": lambda **kw: ct.MultitaskPerceptron(ct.TaskGraph([("ann", "bob"), ("bob", "cyd")]), **kw),
    "learned": lambda **kw: ct.MultitaskPerceptron(ct.LogDet(1e-6), **kw),
    "logistic": lambda **kw: ct.MultitaskLogistic(**kw),
    "mixture": lambda **kw: ct.AdaptiveSharingClassifier(**kw),
}


def stream(n=150, features=40, seed=0):
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(n):
        names = rng.choice(features, 6, replace=False)
        x = {f"f{j}": float(rng.normal()) for j in names}
        made.append((x, bool(rng.random() < 0.5), TASKS[rng.integers(3)]))
    return made


def in_one_block(model, records):
    xs, ys, tasks = (list(each) for each in zip(*records, strict=True))
    return model.partial_fit(xs, ys, task=tasks, tasks=TASKS)


@pytest.mark.parametrize("name", MODELS)
def test_one_by_one_gives_what_a_block_gives(name):
    records, tests = stream(), stream(30, seed=1)
    block = in_one_block(MODELS[name](), records)
    single = MODELS[name]()
    in_one_block(single, records[:1])
    for x, y, task in records[1:]:
        single.learn_one(x, y, task)
    told = [single.decision_function_one(x, task) for x, _, task in tests]
    expected = block.decision_function([x for x, _, _ in tests], task=[task for _, _, task in tests])
    np.testing.assert_array_equal(told, expected)
    np.testing.assert_array_equal(single.coef_, block.coef_)


@pytest.mark.parametrize("name", ["half", "averaged", "averaged, sparse"])
@pytest.mark.parametrize("make", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])  # noqa: S301
def test_a_copy_goes_on_by_itself(make, name):
    records = stream()
    model, other = MODELS[name](), None
    for t, (x, y, task) in enumerate(records):
        if t == 100:
            other = make(model)
        model.learn_one(x, y, task)
    before = model.coef_.copy()
    for x, y, task in records[100:]:
        other.learn_one(x, y, task)
    np.testing.assert_array_equal(other.coef_, before)
    other.learn_one(*records[0][:2], "ann")
    np.testing.assert_array_equal(model.coef_, before)


def test_blocks_in_between_are_seen():
    records = stream()
    mixed, single = MODELS["half"](), MODELS["half"]()
    for first in range(0, 150, 50):
        for x, y, task in records[first : first + 30]:
            mixed.learn_one(x, y, task)
        xs, ys, tasks = (list(each) for each in zip(*records[first + 30 : first + 50], strict=True))
        mixed.partial_fit(xs, ys, task=tasks)
    for x, y, task in records:
        single.learn_one(x, y, task)
    np.testing.assert_array_equal(mixed.coef_, single.coef_)


def test_growth_into_another_storage_is_seen(monkeypatch):
    monkeypatch.setattr(tables, "DENSE_LIMIT", 8 * 3 * 25)
    records = stream()
    changing, dense = ct.MultitaskPerceptron(average=True), ct.MultitaskPerceptron(average=True, storage="dense")
    for t, (x, y, task) in enumerate(records):
        kept = {name: value for name, value in x.items() if t > 60 or name in ("f1", "f2", "f3", "f4")}
        changing.learn_one(kept, y, task)
        dense.learn_one(kept, y, task)
    assert type(changing.state_.model.model.tasks) is not type(dense.state_.model.model.tasks)
    np.testing.assert_allclose(changing.coef_, dense.coef_, rtol=1e-9, atol=1e-12)


def test_a_weight_is_kept_whose_second_number_is_zero():
    pairs = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 3.0], [1.0, 1.0]])
    made = tables.to_sparse(RowMajorPairs(pairs.ravel().copy(), 8))
    np.testing.assert_array_equal(tables.rows_of(made, 1, 4), [pairs[:, 0]])
    np.testing.assert_array_equal(tables.rows_of(second(made), 1, 4), [pairs[:, 1]])


def test_an_entry_follows_the_model():
    called = []

    class Function:
        def __call__(self, model, *rest):
            called.append("looked at")
            return model[0]

        def compile(self, kinds):
            return lambda model, *rest: called.append("entered") or model[0]

    entry, first, second = Entry(Function()), (np.zeros(1),), (np.ones(1),)
    assert [float(entry(first)[0]) for _ in range(Entry.PATIENCE + 1)] == [0.0] * (Entry.PATIENCE + 1)
    assert called[-2:] == ["entered", "entered"]
    assert entry(second)[0] == 1.0
    assert called[-1] == "looked at"


@pytest.mark.parametrize("labels", [["b", "a", "b"], [3, 1, 3], [True, False, True]])
def test_few_labels_are_told_apart_as_many_are(labels):
    distinct, places = distinct_labels(labels)
    many, far = distinct_labels(labels * 20)
    assert (distinct, places.tolist()) == (many, far[:3].tolist())
    assert [type(label) for label in distinct] == [type(label) for label in many]


def test_numpy_numbers_are_numbers():
    record = Vocabulary().record({"a": np.float64(1.5), "b": np.int64(2), "c": True, "d": 3}, grow=True)
    assert record.values.tolist() == [1.5, 2.0, 1.0, 3.0]
    assert record.features.tolist() == [0, 1, 2, 3]
