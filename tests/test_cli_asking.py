"""`coterie ask` and learners that ask: out go the records worth a label, back come their labels."""

import csv
import json
from datetime import date
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import coterie as ct
from coterie.data.readers import read
from terminal import QUICK, WHO, refused, rows, run, run_json, write_csv


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


@pytest.fixture
def learned(tmp_path):
    """A function that learns a table, and returns the paths of the model and of the table without labels."""

    def learn(columns):
        table, model, path = pa.table(columns), tmp_path / "m.coterie", tmp_path / "t.parquet"
        pq.write_table(table.append_column("click", pa.array(["yes", "no"] * (len(table) // 2))), path)
        run("learn", path, *WHO, *QUICK, "-o", model)
        pq.write_table(table, tmp_path / "new.parquet")
        return model, tmp_path / "new.parquet"

    return learn


@pytest.mark.parametrize("tasks", [["a", "b"], [1, 2], [Decimal(1), Decimal("2.5")]])
def test_what_is_asked_can_be_learned_as_the_records_themselves(tasks, learned, tmp_path):
    numbers = {"x": [np.nan, *np.arange(39.0)], "price": [Decimal(k % 7) / 4 for k in range(40)]}
    model, new = learned({"user": tasks * 20, **numbers})
    run("ask", model, new, "-o", tmp_path / "a.jsonl", "--by", "Always()")
    lines = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    filled = [json.dumps(line | {"click": click}) for line, click in zip(lines, ["yes", "no"] * 20, strict=True)]
    (tmp_path / "a.jsonl").write_text("\n".join(filled))
    models = []
    for path in (tmp_path / "a.jsonl", tmp_path / "t.parquet"):
        run("learn", path, "--from", model, "-o", tmp_path / "again.coterie", "--force")
        models.append((tmp_path / "again.coterie").read_bytes())
    assert models[0] == models[1]


def test_tasks_that_json_does_not_have_are_not_asked_about(learned, tmp_path):
    model, new = learned({"user": [date(2026, 1, 1), date(2026, 1, 2)] * 10, "x": np.arange(20.0)})
    message = refused("ask", model, new, "-o", tmp_path / "a.jsonl", "--by", "Always()")
    assert "task datetime.date(2026, 1, 1) cannot be written to JSON Lines" in message
    assert not (tmp_path / "a.jsonl").exists()


def test_carriage_returns_are_quoted(learned, tmp_path):
    model, _ = learned({"user": ["a\rb", "c"] * 10, "x": np.arange(20.0)})
    (tmp_path / "new.csv").write_bytes(b'user,x\n"a\rb",1\n')
    run("ask", model, tmp_path / "new.csv", "-o", tmp_path / "a.csv", "--by", "Always()")
    assert (tmp_path / "a.csv").read_bytes().endswith(b':2,,"a\rb",1\n')
    run("predict", model, tmp_path / "new.csv", "-o", tmp_path / "p.csv")
    assert b'\n2,"a\rb",' in (tmp_path / "p.csv").read_bytes()


def test_a_model_of_numbers_asks_for_no_labels(tmp_path):
    (tmp_path / "n.csv").write_text("user,price,amount\n" + "".join(f"u{i % 3},{i},{i * 0.5}\n" for i in range(50)))
    options = ["--task", "user", "--label", "amount", "--regression", "--alone", "-q", "-o", tmp_path / "n.coterie"]
    run("learn", tmp_path / "n.csv", *options)
    message = refused("ask", tmp_path / "n.coterie", tmp_path / "n.csv", "-o", tmp_path / "ask.csv")
    assert "AdaptiveSharingRegressor does not query labels; expected a binary classifier" in message
