import numpy as np

import coterie as ct
from terminal import run, run_json


def model_of(relation, tasks, path):
    model = ct.MultitaskPerceptron(relation)
    n = len(tasks)
    model.fit(np.ones((2 * n, 1)), [1, 0] * n, task=[*tasks, *tasks])
    model.save(path)
    return path


def test_the_same_share_between_all_is_said_in_words(tmp_path):
    shown = run("explain", model_of(None, "abc", tmp_path / "m.coterie")).stdout
    assert "HalfUpdate(): 3 tasks\n" in shown
    assert "Every pair shares the same: 0.5 of what a task learns reaches each other task." in shown
    assert "HalfUpdate(): 1 task\n" in run("explain", model_of(None, "a", tmp_path / "m.coterie")).stdout


def test_a_model_that_learned_how_much_tasks_share_shows_it(tmp_path):
    rng = np.random.default_rng(0)
    X, task = rng.standard_normal((600, 3)), rng.choice(["a", "b", "odd"], 600)
    y = X[:, 0] * np.where(task == "odd", -1, 1) > 0
    adaptive = tmp_path / "m.coterie"
    ct.AdaptiveSharingClassifier().fit(X, y, task=task).save(adaptive)
    assert "Learned shares (0: a model of its own, 1: the model of all tasks)" in run("explain", adaptive).stdout
    shares = {entry["task"]: entry["share"] for entry in run_json("explain", adaptive)["sharing"]["values"]}
    assert min(shares, key=shares.get) == "odd"


def test_the_neighbours_of_a_task(tmp_path):
    relation = ct.Clusters({"a": 1, "b": 1, "c": 2, "d": 2, "e": 2}, share=0.5)
    grouped = model_of(relation, "abcde", tmp_path / "grouped.coterie")
    lines = run("explain", grouped, "--task", "c", "--top", "2").stdout.splitlines()
    assert lines[-4:] == ["Tasks that share most with c", "task  share", "d       0.5", "e       0.5"]
    sharing = run_json("explain", grouped, "--task", "a", "--top", "1")["sharing"]
    assert (sharing["relation"], sharing["values"]) == ("Clusters(share=0.5)", [{"task": "b", "share": 0.5}])


def test_the_relation_of_what_asks_is_that_of_its_model(tmp_path):
    model = ct.SelectiveSampling(ct.MultitaskPerceptron(ct.MeanRegularized(share=0.25)), ct.updates.Always())
    model.fit([[1.0], [-1.0], [2.0], [-2.0]], [1, 0, 1, 0], task=["a", "a", "b", "b"]).save(tmp_path / "model")
    assert "share=0.25" in run("explain", tmp_path / "model").stdout
