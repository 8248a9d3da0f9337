"""`coterie ask` and learners that ask: out go the records worth a label, back come their labels."""

import csv
import json
from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
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


@pytest.mark.parametrize("tasks", [["a", "b\rc"], [1, 2], [Decimal(1), Decimal("2.5")]])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_what_is_asked_can_be_learned_as_the_records_themselves(tasks, ending, tmp_path):
    """Missing numbers that are NaN, decimals, and carriage returns alone, which CSV has to quote."""
    n, full, new, asked, model = 40, *(tmp_path / f"{k}.{ending}" for k in "fna"), tmp_path / "m.coterie"
    frame = pd.DataFrame({"user": pd.Series(tasks * (n // 2), dtype=object), "x": np.sin(np.arange(n))})
    frame["price"] = [Decimal(k % 7) / 4 for k in range(n)]
    frame["note"], frame["click"] = ["p\rq", "r"] * (n // 2), np.where(frame["x"] > 0, "yes", "no")
    if ending == "csv":
        frame.to_csv(full, index=False, lineterminator="\r\n")
        frame.drop(columns="click").to_csv(new, index=False, lineterminator="\r\n")
    else:
        table = pa.Table.from_pandas(frame.drop(columns="x"))
        table = table.append_column(
            "x", pa.array(np.where(np.arange(n) % 9 == 5, np.nan, frame["x"]), from_pandas=False)
        )
        pq.write_table(table, full)
        pq.write_table(table.drop_columns("click"), new)
    asked = asked if ending == "csv" else asked.with_suffix(".jsonl")
    run("learn", full, "-t", "user", "-l", "click", "--alone", "-q", "-o", model, "--learner", "MultitaskLogistic()")
    run("ask", model, new, "-o", asked, "--by", "Always()")
    if ending == "csv":
        filled = pd.read_csv(asked, dtype=str, lineterminator="\n").assign(click=frame["click"])
        filled.to_csv(asked, index=False, lineterminator="\r\n")
    else:
        lines = map(json.loads, asked.read_text().splitlines())
        lines = [json.dumps(line | {"click": y}) for line, y in zip(lines, frame["click"], strict=True)]
        asked.write_text("\n".join(lines))
    for path, name in ((full, "by.coterie"), (asked, "as.coterie")):
        run("learn", path, "--from", model, "-q", "-o", tmp_path / name)
    assert (tmp_path / "by.coterie").read_bytes() == (tmp_path / "as.coterie").read_bytes()


def test_tasks_that_json_does_not_have_are_not_asked_about(tmp_path):
    days = pa.array([date(2026, 1, 1 + k % 2) for k in range(20)])
    table, path, model = pa.table({"day": days, "x": np.sin(np.arange(20.0))}), tmp_path / "d.parquet", tmp_path / "m"
    pq.write_table(table.append_column("y", pa.array(["a", "b"] * 10)), path)
    run("learn", path, "-t", "day", "-l", "y", "--alone", "-q", "-o", model, "--learner", "MultitaskLogistic()")
    pq.write_table(table, path)
    message = refused("ask", model, path, "-o", tmp_path / "ask.jsonl", "--by", "Always()")
    assert "task datetime.date(2026, 1, 1) cannot be written to JSON Lines" in message
    assert not (tmp_path / "ask.jsonl").exists()


def test_a_model_of_numbers_asks_for_no_labels(tmp_path):
    (tmp_path / "n.csv").write_text("user,price,amount\n" + "".join(f"u{i % 3},{i},{i * 0.5}\n" for i in range(50)))
    options = ["--task", "user", "--label", "amount", "--regression", "--alone", "-q", "-o", tmp_path / "n.coterie"]
    run("learn", tmp_path / "n.csv", *options)
    message = refused("ask", tmp_path / "n.coterie", tmp_path / "n.csv", "-o", tmp_path / "ask.csv")
    assert "AdaptiveSharingRegressor does not query labels; expected a binary classifier" in message
