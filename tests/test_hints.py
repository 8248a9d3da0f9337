"""Hints about columns that may be read better in another way: what gets one, and what does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import coterie as ct
from coterie.inputs.hints import are_names
from coterie.io.readers import read
from terminal import run, run_json

N = 3000


def table() -> pd.DataFrame:
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
    "zip": ("whole numbers whose order tells little of the label, as that of names", ("categorical",)),
}
OPTIONS: dict[str, Any] = {"label": "label", "task": "user", "bits": 8}


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_columns_that_may_be_read_better_get_a_hint(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"t.{suffix}"
    table().to_csv(path, index=False) if suffix == "csv" else table().to_parquet(path)
    for rows in (700, 8192):
        reader = read(path, **OPTIONS, block_rows=rows)
        assert reader.hints == []
        list(reader)
        assert {hint.column: hint[1:] for hint in reader.hints} == WANTED
    told = read(path, **OPTIONS, time="row", text="note", categorical="zip", ignore="order")
    list(told)
    assert told.hints == []
    again = read(path, **OPTIONS, encoder=reader.encoder)
    list(again)
    assert again.hints == [], "what a model reads stays as it is"
    few = read(path, **OPTIONS, skip=N - 99)
    list(few)
    assert few.hints == []


def test_the_summary_says_them_once(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    table()[["zip", "order", "user", "label"]].rename(columns={"order": "the order"}).to_csv(path, index=False)
    said = run("learn", path, "--task", "user", "--label", "label", "--alone", "--bits", "8").stdout
    assert said.count("Hint: ") == 2
    assert "Hint: the order has a new value in 100 % of the records: try --ignore 'the order'\n" in said
    assert "as that of names: try --categorical zip\n" in said
    told = run_json("learn", path, "--task", "user", "--label", "label", "--alone", "--bits", "8", "-q")
    assert told["reading"]["hints"][0] == {"column": "zip", "seen": WANTED["zip"][0], "options": ["categorical"]}


def test_frames_with_a_new_value_in_every_row_are_warned_of() -> None:
    frame = table()[["order", "shop"]].iloc[:200]
    with pytest.warns(
        UserWarning, match=r"column 'order' has a new value in 100 % of the records: it tells nothing of"
    ):
        ct.AdaptiveSharingClassifier().partial_fit(frame, table()["label"][:200])


def test_numbers_whose_order_tells_are_no_names() -> None:
    rng = np.random.default_rng(1)
    called, kinds = 0, [lambda: np.round(np.exp(rng.normal(4, 1, 2000))), lambda: rng.integers(0, 100, 2000)]
    for turn in range(20):
        x = kinds[turn % 2]().astype(float)
        z = (x - x.mean()) / x.std()
        called += are_names(x, (rng.random(2000) < 1 / (1 + np.exp(-2 * np.tanh(z) - np.sin(2 * z)))).astype(float))
        called += are_names(x, rng.normal(size=2000))  # of no meaning at all
    assert called == 0
    names = rng.integers(60, size=2000).astype(float)
    means = rng.normal(size=60)[names.astype(int)]
    assert are_names(names, means + rng.normal(size=2000))
    assert not are_names(names + 0.5, means + rng.normal(size=2000)), "not whole"
    assert not are_names(names % 19, means + rng.normal(size=2000)), "few"
