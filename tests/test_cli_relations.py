import numpy as np
import pytest

import coterie as ct
from coterie.explanation import relation_among
from coterie.jobs import shares as module
from coterie.jobs.shares import sharing
from terminal import refused, run, run_json


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


def test_of_many_tasks_the_strongest_pairs_are_shown(grouped):
    said = run("relations", grouped, "--top", "2").stdout.splitlines()
    head, *pairs = [line.split() for line in said[2:]]
    assert (head, pairs) == (["task", "and", "task", "shared"], [["a", "b", "0.333"], ["c", "d", "0.25"]])


def test_json_has_the_matrix_or_the_pairs(grouped):
    whole = run_json("relations", grouped)
    assert (whole["relation"], whole["tasks"], whole["uniform"]) == ("Clusters(share=0.5)", 5, None)
    np.testing.assert_allclose(whole["matrix"], ct.load(grouped).relation_matrix_)
    few = run_json("relations", grouped, "--top", "3")
    assert few["matrix"] is None
    assert few["strongest"][0]["tasks"] == ["a", "b"]


def test_the_same_between_all_is_said_in_words_and_one_task_has_no_pairs(tmp_path):
    half = model_of(None, "abc", tmp_path / "m.coterie")
    said = run("relations", half).stdout
    assert said.startswith("HalfUpdate(): 3 tasks\n")
    assert "Every pair shares the same: 0.5 of what a task itself learns reaches each other task." in said
    assert "and task" not in run("relations", half, "--top", "2").stdout
    one = run("relations", model_of(None, "a", tmp_path / "m.coterie")).stdout
    assert one.splitlines()[0] == "HalfUpdate(): 1 task"


def test_of_very_many_tasks_the_first_are_looked_at(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MOST", 3)
    many = model_of(ct.MeanRegularized(b=2), "abcde", tmp_path / "m.coterie")
    said = run("relations", many).stdout
    assert "5 tasks (the first 3 are looked at)" in said
    shown = sharing(ct.load(many))
    np.testing.assert_allclose(shown.matrix, ct.load(many).relation_matrix_[:3, :3])


def test_it_draws_the_matrix_also_of_negative_entries(grouped, tmp_path):
    plot = tmp_path / "m.html"
    assert f"Plot: {plot}" in run("relations", grouped, "--output", plot).stdout
    assert plot.read_bytes().startswith(b"<!DOCTYPE html>")
    assert "must end in .html" in refused("relations", grouped, "--output", tmp_path / "m.png")
    opposed = model_of(ct.relations.Interaction([[1.0, 0.5], [0.5, 1.0]], tasks=["a", "b"]), "ab", tmp_path / "m")
    assert "-0.667" in run("relations", opposed, "--output", tmp_path / "n.html").stdout


def test_models_without_tasks_are_refused(tmp_path):
    path = tmp_path / "m.coterie"
    ct.MultitaskPerceptron().save(path)
    assert refused("relations", path) == "the model has learned nothing yet, so it has no tasks"
    ct.batch.VectorFieldRidge().fit([[0.0, 1.0], [1.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]]).save(path)
    assert "m.coterie holds a VectorFieldRidge, which has no tasks" in refused("relations", path)


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
    ct.AdaptiveSharingClassifier("shares").fit(X, y, task=task).save(tmp_path / "m.coterie")
    return tmp_path / "m.coterie"


def test_a_model_that_learned_how_much_tasks_share_tells_it(adaptive):
    said = run("relations", adaptive).stdout
    members = "independent, pooled, half-shared AROW(30), pooled AROW(3)"
    assert said.startswith(f"AdaptiveSharingClassifier({members}): 3 tasks\n")
    assert "How much each task shares (0: a model of its own, 1: that of all)\ntask  share\n" in said
    shares = {each["task"]: each["share"] for each in run_json("relations", adaptive)["shares"]}
    assert min(shares, key=shares.get) == "odd"
    assert run("relations", adaptive, "--top", "2").stdout.splitlines()[-2].split()[0] == "odd"


def test_the_nearest_tasks_of_one(grouped):
    said = run("relations", grouped, "--task", "c", "--top", "2").stdout.splitlines()
    assert said == ["What shares most with c", "", "task  shared", "d        0.5", "e        0.5"]
    assert run_json("relations", grouped, "--task", "a", "--top", "1") == [{"task": "b", "shared": 0.5}]
    assert "--task is 'x'; expected one of a, b, c, d, e" in refused("relations", grouped, "--task", "x")


def test_where_two_tasks_differ(adaptive):
    model = ct.load(adaptive)
    (first, *_) = run_json("relations", adaptive, "--task", "a", "--other", "odd")
    i, j = model.tasks_.index("a"), model.tasks_.index("odd")
    assert first["feature"] == 0
    np.testing.assert_allclose([first["a"], first["odd"]], model.coef_[[i, j], 0])
    assert "--other needs --task" in refused("relations", adaptive, "--other", "a")


@pytest.mark.parametrize("method", [ct.batch.MultitaskKernelRidge, ct.batch.MultitaskSVR])
def test_batch_models_show_their_output_kernel(tmp_path, method):
    rng = np.random.default_rng(0)
    X, tasks, path = rng.normal(size=(20, 2)), np.array(["a", "b"] * 10), tmp_path / "m.coterie"
    method(relation=ct.relations.MixedEffect(omega=0.25)).fit(X, X[:, 0], tasks).save(path)
    said = run("relations", path).stdout
    assert said.startswith("MixedEffect(omega=0.25): 2 tasks\n")
    assert "Every pair shares the same: 0.25 of what a task itself learns" in said
    assert run_json("relations", path)["matrix"] == [[1.0, 0.25], [0.25, 1.0]]
    assert "--other compares weights" in refused("relations", path, "--task", "a", "--other", "b")
    with pytest.raises(ValueError, match="task 'c' was never fitted"):
        relation_among(ct.load(path), ["c"])


def test_the_relation_of_what_asks_is_that_of_its_model(tmp_path):
    model = ct.SelectiveSampling(ct.MultitaskPerceptron(ct.MeanRegularized(share=0.25)), ct.asking.Always())
    model.fit([[1.0], [-1.0], [2.0], [-2.0]], [1, 0, 1, 0], task=["a", "a", "b", "b"]).save(tmp_path / "model")
    assert "share=0.25" in run("relations", tmp_path / "model").stdout.splitlines()[0]
