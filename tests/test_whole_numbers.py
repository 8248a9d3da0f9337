"""Whole numbers that name something stay exact, however large they are and whatever stands beside them."""

import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import coterie as ct
from coterie.data.readers import read
from forms import records
from terminal import QUICK, run, write_jsonl

LARGE = 2**63 + 1
#: Whole numbers of which floats, or 64 bits with a sign, would make others.
NUMBERS = {
    "beyond 64 bits with a sign": [LARGE, LARGE + 1],
    "beside small ones": [LARGE, LARGE + 1, 5],
    "beyond 64 bits": [2**64 + 1, 2**64 + 2, 7],
    "below 64 bits": [-LARGE, -LARGE - 1],
    "of 64 bits": [2**53 + 1, 2**53 + 2, 2**53],
}
N = 60
PRICES = [float(1 + i % 7) for i in range(N)]


def column(numbers):
    return [numbers[i % len(numbers)] for i in range(N)]


def typed(numbers, kind):
    """A column of an Arrow type, None if that cannot hold it."""
    try:
        return pa.array([decimal.Decimal(number) for number in numbers] if pa.types.is_decimal(kind) else numbers, kind)
    except (pa.ArrowInvalid, OverflowError):
        return None


def files(folder, role, numbers):
    """Files of each format with these numbers in one column."""
    columns = {"user": ["ann"] * N, "click": [0, 1] * (N // 2), "shop": [1] * N, "price": PRICES, role: numbers}
    yield write_jsonl(folder / "a.jsonl", records(columns))
    for kind in (pa.int64(), pa.uint64(), pa.decimal128(38, 0), pa.decimal128(38, 2), pa.decimal256(76, 0)):
        array = typed(numbers, kind)
        if array is not None:
            parquet.write_table(pa.table(columns | {role: array}), folder / f"{kind}.parquet")
            yield folder / f"{kind}.parquet"
            parquet.write_table(pa.table(columns | {role: array.dictionary_encode()}), folder / f"coded-{kind}.parquet")
            yield folder / f"coded-{kind}.parquet"


def blocks(path, **options):
    return list(read(path, label="click", task="user", categorical="shop", bits=16, block_rows=7, **options))


@pytest.mark.parametrize(("role", "name"), [("user", "tasks"), ("click", "y")])
@pytest.mark.parametrize("case", NUMBERS)
def test_tasks_and_labels_of_files_are_the_same_python_numbers_in_each_format(case, role, name, tmp_path):
    for path in files(tmp_path, role, column(NUMBERS[case])):
        numbers = [number for block in blocks(path) for number in getattr(block, name).tolist()]
        assert numbers == column(NUMBERS[case]), path
        assert {type(number) for number in numbers} == {int}, path


def test_a_number_that_is_not_whole_beside_large_ones_is_a_bad_record(tmp_path):
    users = [LARGE, 1.5, LARGE + 1, 10**80]
    write_jsonl(tmp_path / "a.jsonl", [{"user": user, "click": i % 2, "price": 1} for i, user in enumerate(users)])
    reader = read(tmp_path / "a.jsonl", label="click", task="user", on_error="skip")
    assert [task for block in reader for task in block.tasks.tolist()] == [LARGE, LARGE + 1]
    first, second = reader.skipped_examples
    assert first.endswith(":2: column 'user': 1.5 is not a whole number, as others of this column are")
    assert second.endswith("is not a number of up to 76 digits")


def test_numbers_of_features_weights_and_times_may_be_large(tmp_path):
    records = [
        {"user": 1, "click": i % 2, "price": [10**30, 2.5, 5][i % 3], "w": [1, 0.5][i % 2], "at": 2**63 + 4096 * i}
        for i in range(N)
    ]
    write_jsonl(tmp_path / "a.jsonl", [*records, {"user": 1, "click": 0, "price": 10**400, "w": 1, "at": 2**70}])
    options = {"label": "click", "task": "user", "weight": "w", "time": "at", "scale": "none"}
    reader = read(tmp_path / "a.jsonl", **options, on_error="skip")
    (block,) = reader
    assert block.X[:3, 0].tolist() == [1e30, 2.5, 5.0]
    assert block.weight[:2].tolist() == [1.0, 0.5]
    assert reader.skipped == 1


def test_a_model_of_one_format_knows_the_tasks_and_labels_of_others(tmp_path):
    users, clicks = column([LARGE, LARGE + 1, 5]), column([LARGE + 3, LARGE + 4])
    first, *others = files(tmp_path, "user", users)
    columns = {"user": users, "click": clicks, "shop": [1] * N, "price": PRICES}
    write_jsonl(first, records(columns))
    model = tmp_path / "m.coterie"
    run("learn", first, "--task", "user", "--label", "click", *QUICK, "-o", model)
    assert list(ct.load(model).tasks_) == [LARGE, LARGE + 1, 5]
    assert ct.load(model).classes_.tolist() == [LARGE + 3, LARGE + 4]
    predicted = run("predict", model, first, "--json").stdout.splitlines()
    for path in others:
        assert run("predict", model, path, "--json").stdout.splitlines() == predicted
    run("learn", first, "--from", model, "-o", model, "--new-task", "raise")
    assert len(ct.load(model).tasks_) == 3


FORMS = {
    "lists": lambda values: values,
    "arrays": lambda values: np.array(values, object),
    "pandas": lambda values: pd.Series(values, dtype=object),
    "polars": lambda values: pl.Series(values, dtype=pl.UInt64),
    "unsigned": lambda values: np.array(values, np.uint64),
}


@pytest.mark.parametrize("form", FORMS)
def test_labels_and_tasks_in_memory_stay_exact(form):
    x = np.linspace(-1, 1, N)[:, None]
    users, clicks = column([LARGE, LARGE + 1, 5]), [LARGE + int(value > 0) for value in x[:, 0]]
    model = ct.MultitaskPerceptron().partial_fit(x, FORMS[form](clicks), task=FORMS[form](users))
    assert list(model.tasks_) == [LARGE, LARGE + 1, 5]
    assert model.classes_.tolist() == [LARGE, LARGE + 1]
    assert set(model.predict(x, task=FORMS[form](users)).tolist()) == {LARGE, LARGE + 1}
    many = ct.OneVsRest(ct.MultitaskPerceptron()).partial_fit(x, FORMS[form](column([LARGE, LARGE + 1, 5])))
    assert many.classes_.tolist() == [5, LARGE, LARGE + 1]
    assert set(many.predict(x).tolist()) <= {5, LARGE, LARGE + 1}
