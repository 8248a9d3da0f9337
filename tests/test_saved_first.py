"""A model is saved before anything else is done with it, so that no later failure loses it."""

import datetime

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import coterie as ct
from terminal import QUICK, WHO, rows, run, write_csv

N = 150
DAY = datetime.datetime(2024, 2, 29, 18, 30)
FIRST = {
    "user": [f"u{i % 3}" for i in range(N)],
    "click": [i % 2 for i in range(N)],
    "price": [float(i % 7) for i in range(N)],
}

#: A column of two files, of different types that reading accepts: as the label, or as another feature.
MIXED = {
    "labels, truth values and whole numbers": ("click", [i % 2 == 1 for i in range(N)], FIRST["click"]),
    "labels, whole numbers of two sizes": ("click", pa.array(FIRST["click"], pa.int8()), FIRST["click"]),
    "categories, text and whole numbers": ("shop", [str(i % 5) for i in range(N)], [i % 5 for i in range(N)]),
    "categories, text and truth values": ("shop", ["north"] * N, [True] * N),
    "dates and times": ("at", [DAY.date()] * N, [DAY] * N),
    "times with and without a zone": ("at", [DAY] * N, pa.array([DAY] * N, pa.timestamp("us", "Europe/Rome"))),
    "times of two zones": ("at", pa.array([DAY] * N, pa.timestamp("us", "UTC")), pa.array([DAY] * N, pa.timestamp("us", "Asia/Tokyo"))),
    "times as text and as times": ("at", ["2024-02-29T18:30:00+02:00"] * N, [DAY] * N),
    "numbers and truth values": ("count", [1.5] * N, [True] * N),
    "numbers and decimals": ("count", [1.5] * N, pa.array([1] * N, pa.decimal128(38, 0))),
    "categories in two forms": ("shop", pa.array(["a", "b"] * (N // 2)).dictionary_encode(), ["a", None] * (N // 2)),
    "nothing, then text": ("shop", ["a"] * N, pa.nulls(N)),
}  # fmt: skip


@pytest.mark.parametrize("case", MIXED)
def test_a_column_whose_type_changes_between_files_loses_no_model(case, tmp_path):
    name, *columns = MIXED[case]
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for path, column in zip(paths, columns, strict=True):
        parquet.write_table(pa.table(FIRST | {name: column}), path)
    more = ("--categorical", "shop") if name == "shop" else ()
    for order in (paths, paths[::-1]):
        assert "no hints" not in run("learn", *order, *WHO, *QUICK, *more, "--output", tmp_path / "m.coterie").output
        assert ct.load(tmp_path / "m.coterie").encoder_.columns[0] == ("price", "numeric")
        (tmp_path / "m.coterie").unlink()


def test_truth_values_then_whole_numbers_of_json_lose_no_model(tmp_path):
    for name, word in (("a.jsonl", "true"), ("b.jsonl", "1")):
        lines = [f'{{"user": "u", "click": {i % 2}, "seen": {word}, "price": {i % 7}}}\n' for i in range(N)]
        (tmp_path / name).write_text("".join(lines))
    run("learn", tmp_path / "a.jsonl", tmp_path / "b.jsonl", *WHO, *QUICK, "-o", tmp_path / "m.coterie")
    assert (tmp_path / "m.coterie").exists()


STEPS = {
    "hints": ("coterie.data.readers.Reader.hints", property(lambda self: 1 / 0), 0),
    "the last line of progress": ("coterie.cli.progress.ProgressTable.finish", None, 0),
    "the summary": ("coterie.evaluation.summary.summarize", None, 1),
    "the report": ("coterie.evaluation.report.write_report", None, 1),
    "lines of the summary": ("coterie.cli.printing.short_lines", None, 1),
    "printing": ("coterie.cli.printing.print_lines", None, 1),
    "JSON": ("coterie.cli.printing.print_result", None, 1),
    "a pipe that broke": ("coterie.cli.printing.print_lines", BrokenPipeError, 141),
    "a key that interrupts": ("coterie.cli.printing.print_lines", KeyboardInterrupt, 130),
}


@pytest.mark.parametrize("step", STEPS)
def test_whatever_fails_after_learning_the_model_is_saved(step, tmp_path, monkeypatch):
    place, instead, code = STEPS[step]

    def fail(*arguments, **options):
        raise instead if isinstance(instead, type) else ZeroDivisionError("a fault of the program")

    monkeypatch.setattr(place, instead if isinstance(instead, property) else fail)
    write_csv(tmp_path / "t.csv", rows())
    options = {"the report": ["--report", tmp_path / "r.html"], "JSON": ["--json"]}.get(step, ["--alone"])
    result = run("learn", tmp_path / "t.csv", *WHO, *options, "-o", tmp_path / "m.coterie", code=code)
    assert ct.load(tmp_path / "m.coterie").tasks_
    if code == 0 and "--alone" in options:
        assert "ZeroDivisionError" in result.stderr or "division by zero" in result.stderr


def test_bandit_saves_its_model_before_policies_are_valued(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    lines = [f"u{i % 3},{rng.normal():.3f},{'ab'[i % 2]},{rng.integers(2)},0.5\n" for i in range(60)]
    (tmp_path / "log.csv").write_text("user,x,offer,reward,p\n" + "".join(lines))
    monkeypatch.setattr("coterie.bandits.log_evaluation.policy_value", lambda *arguments, **options: 1 / 0)
    names = ("--task", "user", "--action", "offer", "--reward", "reward", "--probability", "p")
    run("bandit", tmp_path / "log.csv", *names, "-o", tmp_path / "m.coterie", code=1)
    assert ct.load(tmp_path / "m.coterie").n_rewards_ == 60
