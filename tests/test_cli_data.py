import re

import pyarrow.parquet as pq
import pytest

import coterie as ct
from coterie import datasets
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
