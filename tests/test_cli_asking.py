"""`coterie ask` and learners that ask: out go the records worth a label, back come their labels."""

import csv

import numpy as np
import pytest

import coterie as ct
from coterie.data.readers import read
from terminal import refused, rows, run, run_json, write_csv


@pytest.fixture
def new(tmp_path):
    return write_csv(tmp_path / "new.csv", rows(n=120, seed=1), ("user", "price", "age"))


@pytest.mark.slow
def test_records_worth_a_label_go_out_and_their_labels_come_back(new, model, tmp_path):
    out, truth = tmp_path / "ask.csv", list(rows(n=120, seed=1))
    limits = ("--budget", 15, "--per-task", "0.3", "--by", "Margin(0.5)")
    assert "15 are worth a label" in run("ask", model, new, "--output", out, *limits, "--save", model).stdout
    before = ct.load(model)
    assert (before.rounds_, before.ask, before.budget) == (120, ct.updates.Margin(c=0.5), 15)
    with out.open(newline="") as file:
        asked = list(csv.DictReader(file))
    assert len(asked) == 15
    for row in asked:
        assert row["click"] == ""
        row["click"] = truth[int(row["place"].rpartition(":")[2]) - 2]["click"]
    write_csv(out, asked, list(asked[0]))
    users = [row["user"] for row in asked]
    assert max(map(users.count, users)) <= 4
    result = run_json("learn", out, "--from", model, "--output", model)
    assert (result["examples"], result["learners"]["together"]["labels"]) == (15, 15)
    for block in read(out, encoder=before.encoder_):
        before.model.__stream_model__().learn(block)
    after = ct.load(model)
    assert after.rounds_ == 120
    np.testing.assert_array_equal(after.coef_, before.coef_)


def test_a_budget_goes_on_in_the_next_run(new, model, tmp_path):
    first, second, out = (tmp_path / f"ask{n}.csv" for n in range(3))
    output = run("ask", model, new, "-o", first, "--by", "Always()", "--budget", 100, "--save", model).stdout
    assert f"The budget was spent with {new}:101, and nothing after it is asked for" in " ".join(output.split())
    output = run("ask", model, new, "-o", second, "--save", model).stdout
    assert "0 are worth a label" in output
    assert "The budget of 100 was spent in earlier runs: --budget begins a new one." in " ".join(output.split())
    assert "Next" not in output
    again = run_json("ask", model, new, "-o", out, "--by", "Always()", "--budget", 7)
    assert (again["labels"], again["examples"], again["output"]) == (7, 120, str(out))


def test_queries_that_cannot_be_made_are_refused_and_write_nothing(clicks, new, model, tmp_path):
    out = tmp_path / "out.csv"
    for options, message in (
        ((model, new), "Missing option '--output' / '-o'."),
        ((model, clicks, "-o", out), "clicks.csv:2: has a label, and only records without one are asked about"),
        ((model, "-", "--format", "csv", "-o", out), "because records are read twice"),
        ((model, new, "-o", "out.jsonl"), "use a file that ends in .csv or .tsv"),
        ((model, new, "-o", out, "--per-task", "many"), "Invalid value for '--per-task'"),
        ((model, new, "-o", out, "--window", 9), "--window=9 needs a limit"),
        ((model, new, "-o", tmp_path / "no" / "out.csv"), "there is no folder"),
    ):
        assert message in refused("ask", *options)
    assert not out.exists()


def test_a_model_of_numbers_asks_for_no_labels(tmp_path):
    (tmp_path / "n.csv").write_text("user,price,amount\n" + "".join(f"u{i % 3},{i},{i * 0.5}\n" for i in range(50)))
    options = ["--task", "user", "--label", "amount", "--regression", "--alone", "-q", "-o", tmp_path / "n.coterie"]
    run("learn", tmp_path / "n.csv", *options)
    message = refused("ask", tmp_path / "n.coterie", tmp_path / "n.csv", "-o", tmp_path / "ask.csv")
    assert "AdaptiveSharingRegressor does not query labels; expected a binary classifier" in message
