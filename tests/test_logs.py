"""Columns whose logarithms are taken: the same bits in every form, kept in the model, refused where there is none."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

import coterie as ct
from coterie._compiled.core.logs import signed_log, take_logs
from terminal import refused, run, run_json

N = 240


def table(words: bool = True) -> pd.DataFrame:
    """Amounts that are skewed, with gaps, zeros and a refund in the middle of the stream."""
    rng = np.random.default_rng(0)
    amount = np.exp(rng.normal(4, 1.5, N)).round(3)
    amount[[3, 120, 121]] = np.nan, 0.0, -12.5
    columns = {"amount": amount, "age": rng.normal(40, 9, N).round(1)}
    return pd.DataFrame(columns | ({"shop": rng.choice(["north", "south"], N)} if words else {}))


TASK = np.random.default_rng(1).choice(["a", "b", "c"], N)
Y = np.where(np.random.default_rng(2).random(N) < 0.4, "yes", "no")


def scores(model: Any, X: Any) -> np.ndarray:
    return np.asarray(model.decision_function(X, task=TASK))


def test_the_logarithm_is_that_of_the_equation() -> None:
    for x in (0.0, -0.0, 1e-9, 0.5, 1.0, 9.0, 1e300, -3.0, -1e300):
        assert signed_log(x) == math.copysign(math.log1p(abs(x)), x)
    values = np.array([[math.e - 1, 7.0], [1 - math.e, 7.0], [math.nan, 7.0]])
    take_logs(values, np.array([0]))
    np.testing.assert_allclose(values, [[1.0, 7.0], [-1.0, 7.0], [math.nan, 7.0]])


def test_scaled_logarithms_are_the_scaled_column_of_logarithms() -> None:
    frame = table(words=False)
    logs = frame.assign(amount=np.sign(frame["amount"]) * np.log1p(frame["amount"].abs()))
    for scale in ("auto", "standard", "unit", "none"):
        by_hand = ct.MultitaskLogistic(scale=scale).fit(logs, Y, task=TASK)
        model = ct.MultitaskLogistic(scale=scale, log=["amount"]).fit(frame, Y, task=TASK)
        np.testing.assert_allclose(scores(model, frame), scores(by_hand, logs), rtol=1e-9, atol=1e-12)
    # the numbers of columns are those of X, with the column of tasks
    tasks = np.unique(TASK, return_inverse=True)[1].astype(float)
    numbers, of_logs = (np.c_[tasks, form.fillna(0.0)] for form in (frame, logs))
    wanted = ct.MultitaskLogistic(task_column=0).fit(of_logs, Y).decision_function(of_logs)
    for X in (numbers, pd.DataFrame(numbers)[[2, 0, 1]]):
        model = ct.MultitaskLogistic(task_column=0, log=[1]).fit(X, Y)
        np.testing.assert_allclose(model.decision_function(X), wanted, rtol=1e-9, atol=1e-12)
    model.fit(numbers, Y)
    assert {part.name for part in model.explain(numbers[0]).parts} == {1, 2, "constant"}
    sparse, of_logs = (csr_array(form.fillna(0.0).to_numpy()) for form in (frame, logs))
    by_hand = ct.MultitaskLogistic(scale="unit").fit(of_logs, Y, task=TASK)
    model = ct.MultitaskLogistic(scale="unit", log=[0]).fit(sparse, Y, task=TASK)
    np.testing.assert_allclose(scores(model, sparse), scores(by_hand, of_logs), rtol=1e-9, atol=1e-12)


def test_a_command_takes_logarithms_and_goes_on_with_them(tmp_path: Path) -> None:
    path, frame = tmp_path / "t.csv", table()
    frame.assign(user=TASK, sold=Y).to_csv(path, index=False)
    lines = path.read_text().splitlines(keepends=True)
    for name, part in (("1.csv", lines[:101]), ("2.csv", [lines[0], *lines[101:]])):
        (tmp_path / name).write_text("".join(part))
    named = ["--task", "user", "--label", "sold", "-q", "--alone"]
    run("learn", path, *named, "--log", "amount", "--output", tmp_path / "whole.coterie")
    run("learn", tmp_path / "1.csv", *named, "--log", "amount", "--output", tmp_path / "1.coterie")
    run("learn", tmp_path / "2.csv", "-q", "--from", tmp_path / "1.coterie", "--output", tmp_path / "2.coterie")
    wanted = scores(ct.AdaptiveSharingClassifier(log=["amount"]).fit(frame, Y, task=TASK), frame)
    whole, parts = ct.load(tmp_path / "whole.coterie"), ct.load(tmp_path / "2.coterie")
    assert whole.encoder_.log == parts.encoder_.log == ("amount",)
    assert np.array_equal(scores(whole, frame), wanted)
    assert np.array_equal(scores(parts, frame), wanted)
    compared = ["learn", path, *named, "--learner", "AdaptiveSharingClassifier()"]
    losses = [run_json(*compared, *more)["learners"]["together"]["measures"] for more in ([], ["--log", "amount"])]
    assert losses[0]["log_loss"] != losses[1]["log_loss"]
    message = refused("learn", path, "--from", tmp_path / "1.coterie", "--log", "amount")
    assert message.startswith("--log is not supported with --from: the model reads as it first did")
