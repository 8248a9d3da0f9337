import re
import time
from threading import Thread

import numpy as np
import pyarrow.parquet as pq
import pytest
from numba.core import event

import coterie as ct
from coterie import datasets
from coterie.cli import compiling, precompile
from terminal import run, run_json


@pytest.fixture
def some_flights(working_folder, monkeypatch):
    """The demo, on the first flights only."""
    path = working_folder / "some.parquet"
    pq.write_table(pq.read_table(datasets.FLIGHTS).slice(0, 4000), path)
    monkeypatch.setattr(datasets, "FLIGHTS", path)
    return path


@pytest.mark.slow
def test_the_demo_says_what_it_does(some_flights, tmp_path):
    result = run("demo", "--output", "m.coterie")
    by_hand = re.search(r"^  coterie (learn .*)$", result.stderr, re.M)[1].split()
    assert by_hand[1] == str(some_flights)
    assert "--delay 300" in result.stderr
    assert "Labels come 300 flights late" in result.stdout.replace("\n", " ")
    assert "coterie-demo.html in a browser" in result.stdout.replace("\n", " ")
    page = (tmp_path / "coterie-demo.html").read_text()
    assert "Flights that left New York in 2013" in page
    assert "the flights that come with coterie" in page
    run(*by_hand, "--output", "by_hand.coterie", "-q")
    from_command, by_hand = (ct.load(name).__dump__()[1] for name in ("m.coterie", "by_hand.coterie"))
    assert from_command.keys() == by_hand.keys()
    assert all((from_command[name] == by_hand[name]).all() for name in from_command)


@pytest.mark.slow
def test_labels_at_once_flatter_and_the_demo_knows_other_tasks(some_flights):
    output = run("demo", "--delay", "0", "--report", "other.html").stdout.replace("\n", " ")
    assert "the results would be too good" in output
    assert "other.html" in output
    result = run_json("demo", "--task", "tailnum", "-q")
    assert (result["command"], result["reading"]["columns"]["task"]) == ("demo", ["tailnum"])
    assert result["reading"]["dropped"] == {}


@pytest.mark.slow
def test_the_whole_demo_shows_that_learning_together_helps(tmp_path):
    result = run_json("demo", "-q", "--report", tmp_path / "r.html")
    assert (result["examples"], result["tasks"]) == (327346, 104)
    error = {name: scores["measures"]["error_rate"] for name, scores in result["learners"].items()}
    assert error["together"] < error["pooled"] < error["independent"] < error["constant"]
    assert result["verdict"]["overall"]["low"] > 0.005
    assert len(result["verdict"]["helped"]) > 80
    assert result["verdict"]["hurt"] == []
    assert result["report"] == str(tmp_path / "r.html")


# -- compiling ahead of use --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kinds", [("tables",), pytest.param(precompile.KINDS, marks=pytest.mark.slow)])
def test_it_learns_and_predicts_streams_of_each_kind(kinds, monkeypatch, capsys):
    monkeypatch.setattr(precompile, "KINDS", kinds)
    precompile.precompile()
    assert re.findall(r"^(\w+): \d+ s$", capsys.readouterr().out, re.M) == list(kinds)


def test_a_line_says_so_once_when_much_is_compiled(monkeypatch, capsys):
    monkeypatch.setattr(compiling, "PATIENCE", 0.0)
    monkeypatch.setattr(compiling, "PAUSE", 0.01)
    monkeypatch.setitem(event._registered, "numba:compile", [])
    watch = Thread(target=compiling._watch, daemon=True)
    watch.start()
    while not event._registered["numba:compile"]:
        time.sleep(0.01)
    for _ in range(compiling.MANY):
        assert "compiling" not in capsys.readouterr().err
        with event.trigger_event("numba:compile"):
            pass
    watch.join(10)
    assert capsys.readouterr().err.count("compiling for this machine") == 1


# -- what tasks share, in words ----------------------------------------------------------------------------------------


def model_of(relation, tasks, path):
    model = ct.MultitaskPerceptron(relation)
    n = len(tasks)
    model.fit([[1.0]] * (2 * n), [1, 0] * n, task=[*tasks, *tasks])
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
