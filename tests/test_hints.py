"""Hints about columns that may be read better in another way: what gets one, and what does not."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import coterie as ct
from coterie.data.readers import read
from terminal import run, run_json

N = 3000


def table():
    """Records with a number that is a name, two that are not, and columns that are new in every record."""
    rng = np.random.default_rng(0)
    codes, age, price = rng.integers(8000, 8050, N), rng.integers(18, 90, N), np.round(np.exp(rng.normal(4, 1, N)))
    chance = 1 / (1 + np.exp(-(rng.normal(size=50)[codes - 8000] + 0.05 * (age - 50) + np.sin(age / 12))))
    return pd.DataFrame(
        {
            "row": np.arange(N),
            "order": [f"o{k}" for k in rng.permutation(N)],
            "note": [f"about number {k} we know" for k in range(N)],
            "zip": codes,
            "age": age,
            "price": price,
            "shop": rng.choice(["north", "south"], N),
            "user": rng.integers(9, size=N),
            "label": np.where(rng.random(N) < chance, "yes", "no"),
        }
    )


WANTED = {
    "row": ("a larger number in every record", ("ignore", "time")),
    "order": ("a new value in 100 % of the records", ("ignore",)),
    "note": ("a new text of several words in 100 % of the records", ("text", "ignore")),
}


@pytest.mark.parametrize(("marks", "first"), [(",.", "1,275.22"), (".,", "1.275,22"), ("'.", "1'275.22")])
def test_numbers_in_a_local_form_get_a_hint(marks, first, tmp_path):
    """They were called ids."""
    prices = np.exp(np.random.default_rng(0).normal(7, 1.2, N))
    texts = [f"{price:,.2f}".translate(str.maketrans(",.", marks)) for price in prices]
    frame = table()[["user", "label"]].assign(price=texts)
    frame.to_csv(tmp_path / "t.csv", index=False)
    seen = [hint.seen for hint in hints(tmp_path / "t.csv")]
    assert [text.startswith(f"numbers in a local form ({first}), read as categories") for text in seen] == [True]
    with pytest.warns(UserWarning, match=r"column 'price' has numbers in a local form .*: convert it to numbers"):
        ct.AdaptiveSharingClassifier().fit(frame[["price"]], frame["label"], frame["user"])


def hints(path, **options):
    """What is said of columns once a file has been read."""
    reader = read(path, **{"label": "label", "task": "user", "bits": 8} | options)
    assert reader.hints == []
    list(reader)
    return reader.hints


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_columns_that_may_be_read_better_get_a_hint(suffix, tmp_path):
    path = tmp_path / f"t.{suffix}"
    table().to_csv(path, index=False) if suffix == "csv" else table().to_parquet(path)
    for rows in (700, 8192):
        assert {hint.column: hint[1:3] for hint in hints(path, block_rows=rows)} == WANTED
    assert hints(path, time="row", text="note", ignore="order") == []
    reader = read(path, label="label", task="user", bits=8)
    list(reader)
    assert hints(path, encoder=reader.encoder) == [], "what a model reads stays as it is"
    assert hints(path, skip=N - 99) == []


def leaky(n=600):
    """Records with columns to leave out, whose truth is known, beside some that are to stay."""
    rng = np.random.default_rng(2)
    y, near = rng.random(n) < 0.4, rng.normal(size=n)
    return pd.DataFrame(
        {
            "paid": 2.9 * y + near,  # AUC Phi(2.9 / sqrt 2) = .980
            "useful": 1.8 * y + near,  # .898
            "status": np.where(y, "closed", rng.choice(["open", "new"], n)),
            "ended": np.where(y, "2024-02-29", ""),
            "unit": 7.5,
            "empty": np.nan,
            "one shop": "north",
            "number": rng.permutation(n) + 5000,
            "count": rng.integers(0, 9 * n, n),  # some are there twice
            "where": rng.choice(["north", "south"], n),
            "user": rng.integers(4, size=n),
            "label": np.where(y, "yes", "no"),
        }
    )


TO_LEAVE_OUT = {
    "paid": "values that tell the label nearly by themselves",
    "status": "values that tell the label nearly by themselves",
    "ended": "values that tell the label nearly by themselves",
    "unit": "the same value in the first 600 records",
    "one shop": "the same value in the first 600 records",
    "number": "a whole number of its own in every record, as ids are",
}


def test_columns_that_are_nearly_the_label_or_constant_or_ids_are_named_before_anything_is_learned(tmp_path):
    leaky().to_csv(tmp_path / "t.csv", index=False)
    hints_of_reader = []
    reader = read(tmp_path / "t.csv", label="label", task="user", bits=8, text="where", block_rows=300)
    reader.before_first(hints_of_reader.append)
    rows = 0
    for block in reader:
        assert len(hints_of_reader) == 1, "before the first block, and once"
        assert {hint.column for hint in hints_of_reader[0]} == set(TO_LEAVE_OUT) - {"unit", "one shop"}
        rows += len(block)
    assert rows == 600
    by_column = {hint.column: hint for hint in reader.hints}
    assert {name: hint.seen.partition(" (")[0] for name, hint in by_column.items()} == TO_LEAVE_OUT
    assert by_column["status"].seen.endswith("(AUC 1.000)")
    assert {hint.options for hint in by_column.values()} == {("ignore",)}
    message = hints(tmp_path / "t.csv", categorical=["number", "status"])
    assert {hint.column for hint in message} == set(TO_LEAVE_OUT) - {"number"}, "how it is read was said"


def test_a_command_names_them_in_one_line_before_it_learns(tmp_path):
    leaky()[["paid", "unit", "useful", "user", "label"]].to_csv(tmp_path / "t.csv", index=False)
    options = ["learn", tmp_path / "t.csv", "--task", "user", "--label", "label", "--alone"]
    result = run(*options)
    line, *rest = result.stderr.splitlines()
    assert line.startswith("coterie: columns to look at: paid has values that tell the label nearly by themselves (AUC")
    assert line.endswith("; unit has the same value in the first 600 records")
    assert rest[0].split()[0] == "examples"
    assert "Hint: unit has the same value in the first 600 records: try --ignore unit\n" in result.stdout
    assert run(*options, "-q").stderr == ""
    assert [hint["column"] for hint in run_json(*options, "-q")["reading"]["hints"]] == ["paid", "unit"]


@pytest.mark.parametrize(
    "make_frame", [pd.DataFrame, pa.Table.from_pandas, pl.from_pandas], ids=["pandas", "Arrow", "Polars"]
)
def test_frames_are_warned_of_columns_to_leave_out(make_frame):
    whole = leaky()
    task = whole["user"].to_numpy()
    with pytest.warns(UserWarning) as caught:  # noqa: PT030 (all that are told are compared)
        ct.AdaptiveSharingClassifier().partial_fit(
            make_frame(whole[[*TO_LEAVE_OUT, "empty", "useful", "where"]]), whole["label"], task=task
        )
    assert {str(warning.message).split("'")[1] for warning in caught} == {*TO_LEAVE_OUT, "empty"}
    numbers = make_frame(whole[["paid", "unit", "useful", "count"]])
    with pytest.warns(UserWarning) as caught:  # noqa: PT030
        model = ct.AdaptiveSharingClassifier().partial_fit(numbers, whole["label"], task=task)
    assert {str(warning.message).split("'")[1] for warning in caught} == {"paid", "unit"}
    model.partial_fit(numbers, whole["label"], task=task)  # no more than once: a warning would be an error here
    first = whole[:99]
    ct.AdaptiveSharingClassifier().partial_fit(make_frame(first[["paid"]]), first["label"], task=task[:99])
