"""What is said of a model's tasks, on relations whose answer is known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import coterie as ct
from coterie import explanation


def learned(seed=0, n=4000):
    """Tasks a, b alike, c on its own, d the mirror of a; names of features."""
    rng = np.random.default_rng(seed)
    U = {"a": np.array([1.0, 0, 0, 1, 0]), "b": np.array([1.0, 0, 0, 1, 0]), "c": np.array([0.0, 1, 0, 0, 0])}
    U["d"] = -U["a"]
    task = rng.choice(list("cadb"), size=n)
    X = rng.standard_normal((n, 5))
    y = np.array([U[label] @ x > 0 for label, x in zip(task, X, strict=True)])
    relation = ct.Primed(ct.LogDet(1e-2, step_norm=True), 0.05)
    frame = pd.DataFrame(X, columns=["price", "age", "size", "year", "rank"])
    return ct.MultitaskPerceptron(relation).fit(frame, y, task)


def test_relations_that_were_planted_are_told():
    model = learned()
    R = explanation.correlations(model)
    np.testing.assert_allclose(np.diag(R), 1)
    (nearest, value), *_, (farthest, least) = explanation.nearest_tasks(model, "a")
    assert (nearest, farthest) == ("b", "d")
    assert value > 0.8
    assert least < -0.8
    found = explanation.sharing(model)
    assert abs(found.tasks.index("a") - found.tasks.index("b")) == 1
    places = [model.tasks_.index(task) for task in found.tasks]
    np.testing.assert_array_equal(found.matrix, R[np.ix_(places, places)])
    assert found.linkage.shape == (3, 4)


def test_features_on_which_two_tasks_differ():
    model = learned()
    found = explanation.differing_features(model, "a", "d", n=2)
    assert {name for name, _, _ in found} == {"price", "year"}
    assert all(one > 0 > other for _, one, other in found)
    W = dict(zip(model.tasks_, model.coef_, strict=True))
    every = explanation.differing_features(model, "a", "c", n=99)
    gaps = [abs(one - other) for _, one, other in every]
    assert gaps == sorted(gaps, reverse=True)
    for name, one, other in every:
        j = ["price", "age", "size", "year", "rank"].index(name)
        assert (one, other) == (W["a"][j], W["c"][j])


def test_numbers_where_there_are_no_names_and_names_given():
    model = ct.MultitaskPerceptron(ct.Independent()).fit([[1.0, 0.0], [0.0, -1.0]], [1, 0], task=["a", "b"])
    assert [each[0] for each in explanation.differing_features(model, "a", "b")] == [0, 1]
    assert explanation.differing_features(model, "a", "b", names=["x", "y"])[0][0] == "x"
    assert explanation.differing_features(model, "a", "a") == []


def test_one_task():
    model = ct.MultitaskPerceptron().fit([[1.0], [-1.0]], [1, 0])
    assert explanation.sharing(model).tasks == [0]
    assert explanation.nearest_tasks(model, 0) == []


def test_a_task_nobody_knows():
    model = ct.MultitaskPerceptron().fit([[1.0], [-1.0]], [1, 0], task=["a", "b"])
    for ask in (lambda: explanation.nearest_tasks(model, "z"), lambda: explanation.differing_features(model, "a", "z")):
        with pytest.raises(ValueError, match=r"task 'z' is not known to the model, which has 'a', 'b'$"):
            ask()
