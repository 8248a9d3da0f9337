"""The trial of logarithms: columns that gain by them get a hint, others do not, and learning is as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import coterie as ct
from coterie.evaluation.metrics import evaluate
from coterie.inputs.hints import skewness
from coterie.io.readers import read
from coterie.jobs.skew import skew_hints
from terminal import run, run_json


def stream(path: Path, n: int = 2500) -> Path:
    """Labels that follow the logarithm of ``amount`` and ``linear`` as it is; ``noise`` is skewed, and tells nothing."""
    rng = np.random.default_rng(0)
    amount, linear = np.exp(rng.normal(4, 1.5, n)), rng.exponential(1.0, n)
    margin = 1.5 * (np.log(amount) - 4) / 1.5 + 1.5 * (linear - 1)
    frame = pd.DataFrame({"amount": amount, "linear": linear, "noise": np.exp(rng.normal(2, 1, n))})
    frame["even"] = rng.normal(size=n)
    frame["user"] = rng.integers(5, size=n)
    frame["label"] = np.where(rng.random(n) < 1 / (1 + np.exp(-margin)), "yes", "no")
    frame["number"] = margin + 0.3 * rng.normal(size=n)
    frame.to_csv(path, index=False)
    return path


def hints_of(path: Path, make: Any, **options: Any) -> list[Any]:
    reader = read(path, task="user", scale="auto", **options)
    list(reader)
    return skew_hints(reader, make)


def test_skewness_is_that_of_the_definition() -> None:
    from scipy.stats import skew

    values = np.random.default_rng(0).exponential(size=500)
    assert skewness(values) == pytest.approx(skew(values))
    assert skewness(-values) == pytest.approx(skew(values))
    assert skewness(np.ones(5)) == 0.0


def test_the_column_that_gains_by_its_logarithm_gets_a_hint_and_no_other(tmp_path: Path) -> None:
    path = stream(tmp_path / "t.csv")
    reader = read(path, label="label", task="user", scale="auto", ignore="number")
    list(reader)
    assert reader.skewed == ["amount", "noise", "linear"] or set(reader.skewed) >= {"amount", "noise"}
    assert "even" not in reader.skewed
    (hint,) = hints_of(path, ct.AdaptiveSharingClassifier, label="label", ignore="number")
    assert (hint.column, hint.options) == ("amount", ("log",))
    assert hint.seen.startswith("skewed numbers: with its logarithm the first 2,500 records have ")
    assert hint.seen.endswith(" % less log loss")
    less = float(hint.seen.split(" have ")[1].split(" %")[0])
    wanted = [
        evaluate(ct.progressive_validation(ct.AdaptiveSharingClassifier(), read(path, **given))).micro["log_loss"]
        for given in (
            {"label": "label", "task": "user", "scale": "auto", "ignore": "number"},
            {"label": "label", "task": "user", "scale": "auto", "ignore": "number", "log": "amount"},
        )
    ]
    assert less == pytest.approx(100 * (1 - wanted[1] / wanted[0]), abs=0.051)
    assert less > 1.0
    assert hints_of(path, ct.AdaptiveSharingClassifier, label="label", ignore="number", log="amount") == []


def test_numbers_are_judged_by_their_squared_error(tmp_path: Path) -> None:
    path = stream(tmp_path / "t.csv")
    found = hints_of(path, ct.AdaptiveSharingRegressor, label="number", ignore="label")
    assert [hint.column for hint in found] == ["amount"]
    assert found[0].seen.endswith(" % less squared error")


def test_of_few_records_there_is_no_hint(tmp_path: Path) -> None:
    path = stream(tmp_path / "t.csv", n=299)
    assert hints_of(path, ct.AdaptiveSharingClassifier, label="label", ignore="number") == []


def test_trials_end_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coterie.jobs.skew.SECONDS", 0.0)
    path = stream(tmp_path / "t.csv")
    assert hints_of(path, ct.AdaptiveSharingClassifier, label="label", ignore="number") == []


def test_the_summary_and_json_have_the_hint_and_the_model_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = stream(tmp_path / "t.csv")
    options = ["learn", path, "--task", "user", "--label", "label", "--ignore", "number", "--alone"]
    said = run(*options, "--output", tmp_path / "said.coterie").stdout
    assert "Hint: amount has skewed numbers: with its logarithm the first 2,500 records have" in " ".join(said.split())
    assert "try --log amount" in " ".join(said.split())
    (hint,) = run_json(*options, "-q")["reading"]["hints"]
    assert (hint["column"], hint["options"]) == ("amount", ["log"])
    monkeypatch.setattr("coterie.jobs.learning.skew_hints", lambda *given: pytest.fail("nobody reads it"))
    run(*options, "-q", "--output", tmp_path / "quiet.coterie")
    assert (tmp_path / "said.coterie").read_bytes() == (tmp_path / "quiet.coterie").read_bytes()
    run(*options, "--learner", "pa1(half)")  # another learner is not tried


def test_where_the_length_of_records_tells_something_a_hint_says_so(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 4))
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["user"], frame["number"] = rng.integers(5, size=1000), 3 * X @ [1.0, -1.0, 2.0, 0.5]
    frame.to_csv(tmp_path / "t.csv", index=False)
    (hint,) = hints_of(tmp_path / "t.csv", ct.AdaptiveSharingRegressor, label="number")
    assert (hint.column, hint.options, hint.advice) == ("", ("scale",), "standard")
    command = ["learn", tmp_path / "t.csv", "-t", "user", "-l", "number", "--regression", "--alone"]
    said = run(*command).stdout
    assert f"Hint: the table has {hint.seen}: try --scale standard\n" in said
    assert "Hint" not in run(*command, "--scale", "standard").stdout
