"""The same records in every form: tables, files, dictionaries at once and one by one, in pieces and late, learn the same."""

import json
from datetime import datetime, timedelta, timezone
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet
from scipy.sparse import csr_array

import coterie as ct
from coterie.data.readers import read
from forms import records

pytestmark = pytest.mark.filterwarnings("ignore:column 'flat' has the same value in the first")

N = 60
RNG = np.random.default_rng(1)
USER = RNG.choice(["ann", "bob", "eve"], N).tolist()


def with_gaps(values):
    """The values as a list, of which two are missing."""
    values = list(values)
    values[5] = values[40] = None
    return values


AMOUNT, AGE, SHOP = with_gaps((2e4 * RNG.normal(size=N) + 5e4).round(2)), RNG.integers(18, 90, N).tolist(), ["n", "s"]
SKEWED = with_gaps(np.exp(RNG.normal(4, 1.5, N)).round(3))
SKEWED[20:22] = 0.0, -12.5
FAR = RNG.normal(size=(N, 2))
FAR[RNG.random(N) < 0.05, 1] = -1e9
WHEN = [datetime(2023, 11, 1, 7) + timedelta(minutes=int(m)) for m in np.cumsum(RNG.integers(400, size=N))]
ZONES = [timezone(timedelta(minutes=int(m))) for m in RNG.choice([-480, 0, 120, 330], N)]
NUMBERS = {"amount": AMOUNT, "flat": [7.0] * N, "age": AGE}
MIXED = NUMBERS | {"shop": with_gaps(RNG.choice(SHOP, N).tolist()), "vip": (RNG.random(N) < 0.3).tolist()}
LABELS = np.where(np.array([amount or 0.0 for amount in AMOUNT]) + 1e4 * RNG.normal(size=N) > 5e4, "yes", "no")


class Table(NamedTuple):
    """Records by column, their labels, and options of the model and of the reader."""

    columns: dict[str, list]
    labels: Any = LABELS
    options: dict[str, Any] = {}  # noqa: RUF012 - nobody changes it

    @property
    def model(self):
        numbers = self.labels.dtype.kind == "f"
        return (ct.AdaptiveSharingRegressor if numbers else ct.AdaptiveSharingClassifier)(**self.options)


TABLES = {
    "numbers": Table(NUMBERS),
    "text and flags": Table(MIXED),
    "numbers as labels": Table(MIXED, 0.1 * np.array(AGE) + 2.0 * np.array(MIXED["vip"]) + RNG.normal(size=N)),
    "logarithms": Table({"amount": SKEWED, "age": AGE}, options={"log": ["amount"]}),
    "values that are wrong by far": Table({"x0": FAR[:, 0].tolist(), "x1": FAR[:, 1].tolist()}),
    "dates": Table({"age": AGE, "when": with_gaps(WHEN), "shop": RNG.choice(SHOP, N).tolist()}),
    "lists": Table({"age": AGE, "tags": [["u", "u", "v"], ["v"], [], ["u"]] * (N // 4)}),
    "times of several offsets": Table(
        {"age": AGE, "when": [at.replace(tzinfo=zone) for at, zone in zip(WHEN, ZONES, strict=True)]}
    ),
}


def as_text(columns):
    """The columns with dates as text."""
    return {name: [v.isoformat() if isinstance(v, datetime) else v for v in values] for name, values in columns.items()}


def views_of_strings(columns):
    """An Arrow table as newer tools export it: text as views, which few functions of Arrow take."""
    table = pa.table(columns)
    kinds = [pa.string_view() if kind == pa.string() else kind for kind in table.schema.types]
    return table.cast(pa.schema(list(zip(table.column_names, kinds, strict=True))))


def write_views(columns, path):
    table = views_of_strings(columns)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


FORMS = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "Arrow": pa.table,
    "views": views_of_strings,
    "dates as text": lambda columns: pd.DataFrame(as_text(columns)),
    "array": lambda columns: pd.DataFrame(columns).to_numpy(float),
}
FILES = {
    "csv": lambda columns, path: pd.DataFrame(as_text(columns)).to_csv(path, index=False),
    "jsonl": lambda columns, path: path.write_text("".join(json.dumps(x) + "\n" for x in records(as_text(columns)))),
    "parquet": lambda columns, path: parquet.write_table(pa.table(columns), path),
    "arrow": write_views,
}
#: Arrays have numbers only, few forms have lists, and columns of tables one offset.
CASES = [
    (name, form)
    for name in TABLES
    for form in (*FORMS, *FILES, "one by one", "in pieces")
    if form != "array" or name in ("numbers", "logarithms", "values that are wrong by far")
    if name != "lists" or form in ("Arrow", "jsonl", "parquet", "one by one")
    if name != "times of several offsets" or form not in ("polars", "Arrow", "views", "parquet", "arrow")
]


def ask(model, X):
    return getattr(model, "decision_function", model.predict)(X, task=USER)


@cache
def expected(name, delay):
    """What is predicted before each label of dictionaries, and at the end."""
    table, X = TABLES[name], records(TABLES[name].columns)
    model = table.model
    return ct.progressive_validation(model, X, table.labels, task=USER, delay=delay).margin, ask(model, X)


def learned_from_file(table, form, path, delay):
    """The trace and the model after a file, of which some are read in blocks of seven records."""
    FILES[form](table.columns | {"user": USER, "label": table.labels.tolist()}, path)
    options = {"label": "label", "task": "user", "scale": "auto", **table.options}
    options["block_rows"] = 8192 if form == "csv" else 7
    reader, model = read(path, **options), type(table.model)()
    reader.require_labels(numbers=table.labels.dtype.kind == "f")
    return ct.progressive_validation(model, reader, delay=delay), model


@pytest.mark.parametrize(("name", "form"), CASES)
def test_the_same_is_learned_in_every_form(name, form, tmp_path):
    """But for rounding: members add up features in the order in which they are first other than 0."""
    table, model = TABLES[name], TABLES[name].model
    X, delay = records(table.columns), 9 * (form in ("polars", "dates as text", "csv", "parquet"))
    margin, predictions = expected(name, delay)
    if form == "one by one":
        for x, label, user in zip(X, table.labels.tolist(), USER, strict=True):
            model.learn_one(x, label, user)
    elif form == "in pieces":
        model.partial_fit(pd.DataFrame(table.columns)[:40], table.labels[:40], task=USER[:40]).save(tmp_path / "m")
        model = ct.load(tmp_path / "m").partial_fit(X[40:], table.labels[40:], task=USER[40:])
    else:
        if form == "array" and table.options:
            model.set_params(log=[0])
        if form in FILES:
            trace, model = learned_from_file(table, form, tmp_path / f"table.{form}", delay)
            X = records(as_text(table.columns))
        else:
            X = FORMS[form](table.columns)
            trace = ct.progressive_validation(model, X, table.labels, task=USER, delay=delay)
        np.testing.assert_allclose(trace.margin, margin, rtol=1e-9)
    np.testing.assert_allclose(ask(model, X), predictions, rtol=1e-9)


def test_rows_that_name_their_features_say_which_one_is_the_constant(tmp_path):
    rng, path = np.random.default_rng(0), tmp_path / "rows.svmlight"
    X, y, task = rng.normal(size=(N, 2)).round(3), rng.choice([-1, 1], N), rng.integers(3, size=N)
    path.write_text("".join(f"{label} qid:{i} 1:{a} 2:{b}\n" for label, i, (a, b) in zip(y, task, X, strict=True)))
    model = ct.MultitaskMixedEffectsClassifier(scale="none")
    expected = ct.progressive_validation(model, [{"1": a, "2": b} for a, b in X.tolist()], y, task=task, delay=9).margin
    trace = ct.progressive_validation(model.__sklearn_clone__(), read(path, scale="none", block_rows=7), delay=9)
    np.testing.assert_allclose(trace.margin, expected, rtol=1e-9)
    # rows of unit length have their lengths in the constant
    of_file = ct.progressive_validation(ct.AdaptiveSharingClassifier(), read(path), delay=9)
    of_array = ct.progressive_validation(ct.AdaptiveSharingClassifier(), csr_array(X), y, task=task, delay=9)
    np.testing.assert_allclose(of_array.margin, of_file.margin, rtol=1e-9)
