import numpy as np
import pytest

import coterie as ct
from coterie.cli import explaining
from coterie.explanation import relation_among
from terminal import run, run_json


def model_of(relation, tasks, path):
    model = ct.MultitaskPerceptron(relation)
    n = len(tasks)
    model.fit(np.ones((2 * n, 1)), [1, 0] * n, task=[*tasks, *tasks])
    model.save(path)
    return path


@pytest.fixture
def grouped(tmp_path):
    relation = ct.Clusters({"a": 1, "b": 1, "c": 2, "d": 2, "e": 2}, share=0.5)
    return model_of(relation, "abcde", tmp_path / "grouped.coterie")


def test_the_same_share_between_all_is_said_in_words(tmp_path):
    half = model_of(None, "abc", tmp_path / "m.coterie")
    shown = run("explain", half).stdout
    assert "HalfUpdate(): 3 tasks\n" in shown
    assert "Every pair shares the same: 0.5 of what a task learns reaches each other task." in shown
    assert "HalfUpdate(): 1 task\n" in run("explain", model_of(None, "a", tmp_path / "m.coterie")).stdout


def test_only_the_first_of_very_many_tasks_are_compared(tmp_path, monkeypatch):
    monkeypatch.setattr(explaining, "MOST", 3)
    path = model_of(ct.Clusters({"a": 1, "b": 1, "c": 1, "d": 2, "e": 2}, share=0.5), "abcde", tmp_path / "m.coterie")
    found = explaining.sharing_of(ct.load(path), path, None, 5)
    assert (found.tasks, round(found.uniform, 9)) == (5, 0.5)
    with pytest.raises(ValueError, match="the model has learned nothing yet, so it has no tasks"):
        explaining.sharing_of(ct.MultitaskPerceptron(), path, None, 5)


NESTED = {"a": "x", "b": "x", "c": "y", "d": "y", "e": "y", "x": "z", "y": "z"}
FIXED = [
    *(ct.Independent(), ct.Pooled(), ct.HalfUpdate(), ct.MeanRegularized(b=3)),
    ct.Clusters({"a": 1, "b": 1, "c": 2, "d": 2, "e": 2}, b=2),
    ct.Hierarchy(NESTED, share=(0.2, 0.3)),
    ct.TaskGraph([("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")]),
]


@pytest.mark.parametrize("relation", FIXED, ids=lambda each: type(each).__name__)
def test_some_tasks_have_the_rows_they_have_among_all(relation, tmp_path):
    model = ct.load(model_of(relation, "abcde", tmp_path / "m.coterie"))
    some = np.ix_([3, 0, 2], [3, 0, 2])
    np.testing.assert_allclose(relation_among(model, ["d", "a", "c"]), model.relation_matrix_[some], rtol=1e-12)
    with pytest.raises(ValueError, match="task 'z' was never seen"):
        relation_among(model, ["z"])


@pytest.fixture
def adaptive(tmp_path):
    rng = np.random.default_rng(0)
    X, task = rng.standard_normal((600, 3)), rng.choice(["a", "b", "odd"], 600)
    y = X[:, 0] * np.where(task == "odd", -1, 1) > 0
    ct.AdaptiveSharingClassifier().fit(X, y, task=task).save(tmp_path / "m.coterie")
    return tmp_path / "m.coterie"


def test_a_model_that_learned_how_much_tasks_share_shows_it(adaptive):
    assert "Learned shares (0: a model of its own, 1: the model of all tasks)" in run("explain", adaptive).stdout
    shares = {each["task"]: each["share"] for each in run_json("explain", adaptive)["sharing"]["values"]}
    assert min(shares, key=shares.get) == "odd"


def test_the_neighbours_of_a_task(grouped):
    lines = run("explain", grouped, "--task", "c", "--top", "2").stdout.splitlines()
    assert lines[-4:] == ["Tasks that share most with c", "task  share", "d       0.5", "e       0.5"]
    sharing = run_json("explain", grouped, "--task", "a", "--top", "1")["sharing"]
    assert (sharing["relation"], sharing["values"]) == ("Clusters(share=0.5)", [{"task": "b", "share": 0.5}])


def test_the_relation_of_what_asks_is_that_of_its_model(tmp_path):
    model = ct.SelectiveSampling(ct.MultitaskPerceptron(ct.MeanRegularized(share=0.25)), ct.asking.Always())
    model.fit([[1.0], [-1.0], [2.0], [-2.0]], [1, 0, 1, 0], task=["a", "a", "b", "b"]).save(tmp_path / "model")
    assert "share=0.25" in run("explain", tmp_path / "model").stdout
