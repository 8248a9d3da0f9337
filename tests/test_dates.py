"""Dates as features: by a slow definition, the same from every form of a table, saved, refused where they are none."""

import copy
import json
from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import coterie as ct
from coterie._compiled.core.hashing import feature_hash
from coterie.data.dates import moment
from coterie.data.errors import InputError
from coterie.data.readers import read
from coterie.data.record_encoders import RecordEncoder
from forms import records
from reference import text as reference

DATES = [datetime(2024, 2, 29, 18, 30), datetime(2023, 12, 31, 23, 59, 59, 999_999), datetime(2024, 12, 31)]
DATES += [datetime(1969, 7, 20, 20, 17), datetime(1, 1, 1), datetime(9999, 12, 31, 23)]


def parts(at):
    """The features of a date by the calendar of the standard library."""
    named = {"hour": at.hour, "weekday": f"{at:%a}", "month": at.month}
    return {f"t.{name}={value}": 1.0 for name, value in named.items()}


def expected(dates, bits):
    X = np.zeros((len(dates), 2**bits))
    for row, at in zip(X, dates, strict=True):
        for key, value in ({"t=": 1.0} if at is None else parts(at)).items():
            row[reference.column(key, bits)] += value
    return X


def encoded(array):
    return RecordEncoder([("t", "date")], bits=20, constant=False).encode(pa.record_batch({"t": array})).toarray()


@pytest.mark.parametrize("kind", ["s", "us", "ms", "text", "parts"])
def test_dates_become_what_the_calendar_says(kind):
    dates = [None, *DATES, None]
    cells = [None if at is None else at.isoformat(" ") for at in dates] if kind == "text" else dates
    if kind in ("s", "ms"):
        dates = [None if at is None else at.replace(microsecond=0) for at in dates]
    array = pa.array(cells) if kind in ("text", "parts") else pa.array(dates, pa.timestamp(kind))
    np.testing.assert_allclose(encoded(array), expected(dates, 20), rtol=1e-15)
    one = RecordEncoder([("t", "date")], bits=20, constant=False)
    rows = [one.encode_one({"t": at}) for at in array.to_pylist()]
    for row, (columns, values) in zip(encoded(array), rows, strict=True):
        np.testing.assert_array_equal(row[columns], values)
        assert np.count_nonzero(row) == len(columns)


def test_days_and_times_of_nanoseconds():
    days = pa.array([date(2024, 2, 29), None, date(1969, 12, 31)])
    wanted = expected([datetime(2024, 2, 29), None, datetime(1969, 12, 31)], 20)
    for array in (days, days.cast(pa.date64()), days.cast(pa.timestamp("ns"))):
        np.testing.assert_allclose(encoded(array), wanted, rtol=1e-15)
    fine = pa.array([-1], pa.timestamp("ns"))  # the day before 1970
    assert encoded(fine)[0, feature_hash("t.hour=23", 20)] == 1.0


def test_parts_are_those_of_the_clock_on_the_spot():
    zone = timezone(timedelta(hours=-5))
    utc = [datetime(2024, 1, 1, 2, tzinfo=UTC), datetime(2024, 1, 1, 3, tzinfo=UTC)]
    there = [at.astimezone(zone) for at in utc]
    for array in [pa.array([at.isoformat() for at in there]), pa.array(there, pa.timestamp("us", "America/New_York"))]:
        X = encoded(array)
        assert X[0, feature_hash("t.hour=21", 20)] == X[0, feature_hash("t.month=12", 20)] == 1.0
    X = encoded(pa.array([there[0].isoformat(), "2024-01-01T03:00Z"]))  # zones may differ in a column
    assert X[1, feature_hash("t.hour=3", 20)] == 1.0
    assert not X[:, feature_hash("t", 20)].any(), "the time passed is no feature"
    assert moment(np.datetime64("2024-01-01T02:00")).instant == moment(pd.Timestamp(utc[0])).instant


# -- a table

N = 90
RNG = np.random.default_rng(3)
WHEN = [datetime(2023, 11, 1, 7) + timedelta(minutes=int(m)) for m in np.cumsum(RNG.integers(400, size=N))]
WHEN[4] = WHEN[30] = None
TABLE = {"amount": RNG.normal(size=N).tolist(), "when": WHEN, "shop": RNG.choice(["north", "south"], N).tolist()}
USER = RNG.choice(["ann", "bob"], N).tolist()
Y = np.where([at is not None and at.hour < 12 for at in WHEN], "yes", "no")


def test_dates_that_are_refused_leave_nothing_behind():
    X = records(TABLE)
    model = ct.AdaptiveSharingClassifier().partial_fit(X[:40], Y[:40], task=USER[:40])
    before = copy.deepcopy(model)
    with pytest.raises(ValueError, match="maybe"):
        model.learn_one(X[40] | {"when": datetime(1999, 1, 1), "late": datetime(1999, 1, 1)}, "maybe", "ann")
    with pytest.raises(ValueError, match="'soon' is not a date such as 2024-02-29"):
        model.learn_one(X[40] | {"when": "soon"}, "yes", "ann")
    margins = [one.partial_fit(X[40:], Y[40:], task=USER[40:]).decision_function(X, USER) for one in (model, before)]
    np.testing.assert_array_equal(*margins)


# -- what is no date

BAD = [
    ("n.a.", "'n.a.' is not a date such as 2024-02-29 or 2024-02-29T18:30:00"),
    ("2023-02-29", "'2023-02-29' is not a date such as"),
    ("2024-01-01T25:00", "'2024-01-01T25:00' is not a date such as"),
    ("20240101", "'20240101' is not a date such as"),
]


@pytest.mark.parametrize(("word", "message"), BAD)
def test_what_is_no_date_is_a_fault(word, message, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(f"y,t,x\na,2024-01-01,1\nb,{word},2\na,NA,3\nb,2024-01-02 10:00,4\na,2024-01-03,5\n")
    with pytest.raises(InputError, match=f"a.csv:3: column 't': {message}"):
        list(read(path, label="y"))
    reader = read(path, label="y", on_error="skip")
    (block,) = reader
    assert (block.place.tolist(), reader.skipped, reader.encoder.missing) == ([2, 4, 5, 6], 1, ["t"])
    with pytest.raises(InputError, match=f"column 't': {message}"):
        reader.encoder.encode_one({"t": word, "x": 1.0})


# -- the order of records, and names that look like numbers


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("ignore", [(), "when"])
def test_a_time_says_the_order_and_is_checked(suffix, ignore, tmp_path):
    times = [at or datetime(2023, 11, 1, 7) for at in sorted(at for at in WHEN if at is not None)][:12]
    times[5], times[6] = times[4], times[3]  # at the same time, and earlier
    table = {"y": ["a", "b"] * 6, "when": times, "x": np.arange(12.0).tolist()}
    path = tmp_path / f"t.{suffix}"
    if suffix == "csv":
        pd.DataFrame(table).to_csv(path, index=False)
    elif suffix == "jsonl":
        path.write_text("".join(json.dumps(record, default=str) + "\n" for record in records(table)))
    else:
        parquet.write_table(pa.table(table), path)
    line = {"csv": 8}.get(suffix, 7)
    message = f"{path}:{line}: column 'when': {times[6]} is earlier than {times[5]}, of a record before"
    for rows in (1, 4, 99):
        reader = read(path, label="y", time="when", ignore=ignore, block_rows=rows)
        with pytest.raises(InputError) as caught:
            list(reader)
        assert str(caught.value) == message
        assert dict(reader.encoder.columns) == ({"x": "numeric"} if ignore else {"when": "date", "x": "numeric"})
        reader = read(path, label="y", time="when", ignore=ignore, block_rows=rows, on_error="skip")
        assert sum(map(len, reader)) == 11
        assert reader.columns["when"] == ("time" if ignore else "date")
    list(read(path, encoder=reader.encoder, update=False))  # to predict, the order does not matter


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"time": "x"}, "a.csv: column 'x': has neither dates nor numbers; expected times"),
        ({"time": "z"}, "there is no column 'z' among"),
        ({"time": "y"}, "label and time both name the column 'y'"),
        ({"categorical": "y"}, "categorical and label both name the column 'y'"),
        ({"categorical": ["x"], "text": "x"}, "categorical and text both name the column 'x'"),
        ({"categorical": "n", "time": "n"}, "categorical and time both name the column 'n'"),
        ({"categorical": "z"}, "there is no column 'z' among"),
    ],
)
def test_times_and_categories_that_cannot_be(value, message, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("y,x,n\na,red,1\nb,blue,2\n")
    with pytest.raises(ValueError, match=message):
        list(read(path, label="y", **value))
    rows = tmp_path / "a.vw"
    rows.write_text("1 |f x\n")
    for name in ("time", "categorical"):
        with pytest.raises(ValueError, match=f"{name} does not apply to vw, whose rows name their label and features"):
            read(rows, **{name: "f"})


def test_whole_numbers_may_be_names_in_every_form(tmp_path):
    codes = RNG.integers(8000, 8005, N)
    table = {"zip": codes, "amount": TABLE["amount"], "user": USER, "label": Y}
    pd.DataFrame(table).to_csv(tmp_path / "t.csv", index=False)
    parquet.write_table(pa.table(table), tmp_path / "t.parquet")
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(record, default=int) + "\n" for record in records(table)))
    frame = pd.DataFrame(table)[["zip", "amount"]].astype({"zip": "category"})
    wanted = ct.progressive_validation(ct.AdaptiveSharingClassifier(), frame, Y, task=USER).margin
    spelled = [{"zip": str(code), "amount": amount} for code, amount in zip(codes, TABLE["amount"], strict=True)]
    predictions = ct.progressive_validation(ct.AdaptiveSharingClassifier(), spelled, Y, task=USER).margin
    np.testing.assert_array_equal(predictions, wanted)
    for path in (tmp_path / "t.csv", tmp_path / "t.jsonl", tmp_path / "t.parquet"):
        reader = read(path, label="label", task="user", categorical="zip", scale="auto")
        predictions = ct.progressive_validation(ct.AdaptiveSharingClassifier(), reader).margin
        np.testing.assert_array_equal(predictions, wanted)
        assert reader.columns["zip"] == "categorical"
