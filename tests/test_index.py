"""Labels are numbered as a dictionary would number them, whoever numbers them."""

import sys
from functools import partial

import numpy as np
import pytest

import coterie as ct
from coterie.tasks import index
from coterie.tasks.index import MANY, Index, WholeNumbers, distinct_labels

RNG = np.random.default_rng(0)
DRAWN = RNG.integers(-500, 500, 2000)
EXTREME = np.array([0, -1, 2**63 - 1, -(2**63), 2**32, 1 << 44, 3 << 44])

#: Labels that come one after the other, in every form and mixed.
COMING = {
    "array": [DRAWN],
    "narrow": [DRAWN.astype(np.int16), DRAWN.astype(np.uint8)],
    "list, then array": [DRAWN[:900].tolist(), DRAWN],
    "few, then many, then few": [[5, 7], DRAWN, [5, 1001], DRAWN + 400, range(900, 1300)],
    "text afterwards": [DRAWN, ["a", "b"], DRAWN + 10, ["a", 3]],
    "text before": [["a"], DRAWN],
    "true is one": [DRAWN, [True, 2.0, 2.5], DRAWN + 1],
    "true before": [[True, 0.0], DRAWN],
    "larger than 64 bits": [DRAWN, [2**64, -(2**70)], DRAWN + 3],
    "larger before": [[2**64], DRAWN],
    "unsigned": [DRAWN, np.full(300, 2**63 + 5, np.uint64)],
    "nothing": [[], DRAWN, [], np.zeros(0, np.int64)],
    "extreme": [np.tile(EXTREME, 50), EXTREME.tolist()],
    "a stride": [np.arange(0, 2**62, 2**52)],
    "another order": [np.asfortranarray(DRAWN.reshape(40, 50))[:, 3], DRAWN[::-3]],
}


def by_dictionary(coming):
    numbers = {}
    for labels in coming:
        for label in labels.tolist() if isinstance(labels, np.ndarray) else labels:
            numbers.setdefault(label, len(numbers))
    return numbers


@pytest.mark.parametrize("name", COMING)
@pytest.mark.parametrize("asked", [True, False])
def test_an_index_numbers_as_a_dictionary(name, asked):
    index = Index()
    for k, labels in enumerate(COMING[name]):
        expected = by_dictionary(COMING[name][: k + 1])
        before = by_dictionary(COMING[name][:k])
        listed = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
        new = [label for label in dict.fromkeys(listed) if label not in before]
        assert list(index.new_among(listed)) == new
        if isinstance(labels, np.ndarray) and labels.dtype == np.int64:
            assert list(index.new_among(WholeNumbers(labels))) == new
        index.add(labels)
        assert len(index) == len(expected)
        if asked:
            assert index.labels == list(index.sequence) == list(expected)
            assert index.numbers == expected
        assert index.find(listed).tolist() == [expected[label] for label in listed]
        assert index.codes(labels).tolist() == [expected[label] for label in listed]
        assert index.find(["unknown", 77_777, None]).tolist() == [-1, -1, -1]
    assert index.labels == list(expected)
    assert [type(label) for label in index.labels] == [type(label) for label in expected]


def test_what_is_known_is_found_at_once():
    index = Index(range(1000))
    codes, new = index.number(DRAWN)
    assert list(new) == list(dict.fromkeys(DRAWN[DRAWN < 0].tolist()))
    expected = {label: len(index) + n for n, label in enumerate(new)}
    assert codes.tolist() == [expected.get(label, label) for label in DRAWN.tolist()]
    for known in (np.abs(DRAWN), np.abs(DRAWN).astype(float), np.abs(DRAWN)[: MANY - 1]):
        codes, new = index.number(known)
        assert (codes.tolist(), len(new)) == (known.tolist(), 0)


def blocks(tasks, seed=3):
    X = np.random.default_rng(seed).normal(size=(len(tasks), 4))
    return X, X[:, 0] > 0, tasks


def run(model):
    """A model of whole numbers: learned in blocks, one by one, predicted, saved, with text in the end."""
    rng = np.random.default_rng(5)
    predictions = []
    for tasks in (rng.integers(40, size=400), rng.integers(900, size=700), rng.integers(30, size=300)):
        X, y, task = blocks(tasks)
        predictions.append(model.__stream_model__().learn(X, y, task).margin)
        predictions.append(model.decision_function(X, task + 5))
    restored = type(model)(**model.get_params()).__restore__(*model.__dump__())
    X, y, task = blocks(np.array(["5", "ann"] * 200))
    predictions.append(restored.__stream_model__().learn(X, y, task).margin)
    return predictions, model.tasks_, restored.tasks_


INDEPENDENT = partial(ct.MultitaskPerceptron, ct.Independent())
LEARNERS = [ct.MultitaskPerceptron, INDEPENDENT, ct.MultitaskLogistic, ct.AdaptiveSharingClassifier]


@pytest.mark.parametrize("make", LEARNERS)
def test_models_of_whole_numbers_are_those_that_dictionaries_number(make, monkeypatch):
    quick = run(make())
    monkeypatch.setattr(index, "whole_numbers", lambda labels, least=0: None)
    slow = run(make())
    for predictions, expected in zip(quick[0], slow[0], strict=True):
        np.testing.assert_array_equal(predictions, expected)
    assert quick[1:] == slow[1:]
    assert {type(task) for task in quick[1]} == {int}


def test_a_block_with_a_task_never_seen_is_refused_and_changes_nothing():
    X, y, task = blocks(RNG.integers(50, size=400))
    model = ct.MultitaskPerceptron().fit(X, y, task)
    model.set_params(new_task="raise")
    before, known = model.coef_.copy(), model.tasks_
    with pytest.raises(ValueError, match="task 51 was never seen"):
        model.partial_fit(X, y, np.where(np.arange(400) == 7, 51, task))
    with pytest.raises(ValueError, match="did you mean that type"):
        model.set_params(new_task="grow").predict(X, task.astype(str))
    np.testing.assert_array_equal(model.coef_, before)
    assert model.tasks_ == known


@pytest.mark.parametrize("two", [["a", "b"], [0, 1.5], [True, 2], [7, 8]])
@pytest.mark.parametrize("form", [list, lambda labels: np.array(labels, object)])
def test_labels_are_told_apart_without_arrow_as_with_it(monkeypatch, two, form):
    """Loading it takes longer than a dictionary for fewer than a million."""
    labels = form([two[place] for place in RNG.integers(2, size=20_000)])
    import pyarrow  # noqa: F401

    by_arrow = distinct_labels(labels)
    monkeypatch.delitem(sys.modules, "pyarrow")
    by_dictionary = distinct_labels(labels)
    assert "pyarrow" not in sys.modules
    assert [(type(label), label) for label in by_dictionary[0]] == [(type(label), label) for label in by_arrow[0]]
    np.testing.assert_array_equal(by_dictionary[1], by_arrow[1])
