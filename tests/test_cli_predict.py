import csv
import io
import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import coterie as ct
from coterie.data.readers import read
from terminal import WHO, refused, rows, run, write_csv, write_jsonl


@pytest.fixture
def later(tmp_path):
    return write_csv(tmp_path / "later.csv", rows(100, 7, seed=1))


def predicted(path, model, *options):
    """The rows of predictions that a command prints."""
    return list(csv.DictReader(io.StringIO(run("predict", model, path, *options).stdout)))


def predicted_json(path, model, *options):
    return [json.loads(line) for line in run("predict", model, path, *options, "--json").stdout.splitlines()]


def test_it_says_what_the_model_says(model, later):
    predicted_rows, loaded = predicted(later, model), ct.load(model)
    (block,) = read(later, encoder=loaded.encoder_, update=False)
    margins, labels = (call(block.X, task=block.task) for call in (loaded.decision_function, loaded.predict))
    assert list(predicted_rows[0]) == ["place", "task", "prediction", "margin", "probability"]
    np.testing.assert_array_equal([float(row["margin"]) for row in predicted_rows], margins)
    np.testing.assert_allclose([float(row["probability"]) for row in predicted_rows], 1 / (1 + np.exp(-margins)))
    assert [row["prediction"] for row in predicted_rows] == labels.tolist()
    assert [row["task"] for row in predicted_rows] == block.task.tolist()
    assert [int(row["place"]) for row in predicted_rows] == list(range(2, 102))
    numbers = {"place": int, "margin": float, "probability": float}
    as_json = [row | {name: number(row[name]) for name, number in numbers.items()} for row in predicted_rows]
    assert predicted_json(later, model) == as_json


def test_columns_of_the_records_stand_behind_the_predictions(model, later):
    predicted_rows = predicted(later, model, "--keep", "price")
    assert list(predicted_rows[0]) == ["place", "task", "prediction", "margin", "probability", "price"]
    source_rows = list(csv.DictReader(io.StringIO(later.read_text())))
    assert [row["price"] for row in predicted_rows] == [row["price"] for row in source_rows]
    assert list(predicted_json(later, model, "--keep", "price", "--keep", "user")[0])[-2:] == ["price", "user"]


def test_what_is_no_number_is_kept_as_json_has_it(model, tmp_path):
    values = [1.5, float("inf"), None]
    records = pa.table({"user": ["u1"] * 3, "price": [1.0] * 3, "age": [2.0] * 3, "held": [[v] for v in values]})
    parquet.write_table(records, tmp_path / "a.parquet")
    predicted_rows = predicted_json(tmp_path / "a.parquet", model, "--keep", "held")
    assert [row["held"] for row in predicted_rows] == [[1.5], [None], [None]]
    assert predicted(tmp_path / "a.parquet", model, "--keep", "held")[0]["held"] == "[1.5]"


def test_the_probability_of_each_label(tmp_path, later):
    model = tmp_path / "shops.coterie"
    table = write_csv(tmp_path / "s.csv", rows(), ("user", "price", "age", "shop"))
    learn = ("--task", "user", "--label", "shop", "--many-classes", "--alone", "-q", "--output")
    run("learn", table, *learn, model, "--learner", "OneVsRest(MultitaskLogistic())")
    predicted_rows, loaded = predicted(later, model, "--probabilities"), ct.load(model)
    (block,) = read(later, encoder=loaded.encoder_, update=False)
    wanted = loaded.predict_proba(block)
    columns = [f"probability_{label}" for label in ("north", "south", "west")]
    assert [name for name in predicted_rows[0] if name.startswith("probability_")] == columns
    np.testing.assert_array_equal([[float(row[name]) for name in columns] for row in predicted_rows], wanted)
    np.testing.assert_array_equal([float(row["probability"]) for row in predicted_rows], wanted.max(axis=1))
    predictions = predicted_json(later, model, "--probabilities")[0]["probabilities"]
    assert predictions == dict(zip(("north", "south", "west"), wanted[0].tolist(), strict=True))


def test_the_probabilities_of_two_labels_and_of_none(model, later, tmp_path):
    first = predicted(later, model, "--probabilities")[0]
    assert first["probability_yes"] == first["probability"]
    assert float(first["probability_no"]) == pytest.approx(1 - float(first["probability_yes"]))
    plain = tmp_path / "plain.coterie"
    run("learn", later, *WHO, "-q", "--alone", "--learner", "MultitaskPerceptron()", "--output", plain)
    none = "is not supported: MultitaskPerceptron has no probabilit"
    for which, options, message in (
        (plain, ("--probabilities",), f"--probabilities {none}ies"),
        (plain, ("--threshold", "0.3"), f"{none}y of one of two labels"),
        (model, ("--threshold", "2"), "--threshold must be from 0 to 1, got 2.0"),
    ):
        assert message in refused("predict", which, later, *options)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_a_column_that_a_file_lacks_is_missing_as_of_a_record(tmp_path, ending):
    records = [row | {"shop": "ns"[k % 2]} for k, row in enumerate(rows(100))]
    for record in records[::5]:
        record |= {"price": "", "shop": ""}
    learned = write_csv(tmp_path / "c.csv", records, ("user", "price", "age", "shop", "click"))
    run("learn", learned, *WHO, "-q", "--alone", "--bits", 8, "--output", tmp_path / "m.coterie")
    records = [{"user": f"u{k % 3}", "age": float(k)} for k in range(20)]
    path = tmp_path / f"later.{ending}"
    if ending == "parquet":
        parquet.write_table(pa.Table.from_pylist(records), path)
    elif ending == "csv":
        write_csv(path, records, ("user", "age"))
    else:
        write_jsonl(path, records)
    output = run("predict", tmp_path / "m.coterie", path, "--json")
    warned = f"{path} has no column 'price', 'shop', which the model has learned from: taken as missing"
    assert output.stderr.splitlines() == [f"coterie: warning: {warned}"]
    model = ct.load(tmp_path / "m.coterie")
    predictions = [json.loads(line)["margin"] for line in output.stdout.splitlines()]
    one_by_one = [model.decision_function([record], task=[record["user"]])[0] for record in records]
    np.testing.assert_allclose(predictions, one_by_one, rtol=1e-12)


def test_bad_records_are_refused_or_skipped(model, tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text("user,price,age\nu1,1,2\nu1,x,2\nu2,1,2\n")
    assert refused("predict", model, path) == f"{path}:3: column 'price': 'x' is not a number"
    result = run("predict", model, path, "--on-error", "skip")
    assert [line.split(",")[0] for line in result.stdout.splitlines()] == ["place", "2", "4"]
    assert "skipped 1 records; the first: " in result.stderr
    path.write_text("user,price,age\nu1,x,2\n")  # without a good record, without a head
    assert run("predict", model, path, "--on-error", "skip").stdout == "place,task,prediction,margin,probability\n"


def test_a_model_of_arrays_cannot_read_files(tmp_path, later):
    model = tmp_path / "arrays.coterie"
    ct.MultitaskPerceptron().fit([[1.0], [-1.0]], [1, 0]).save(model)
    assert "this model did not learn from a file" in refused("predict", model, later)


# -- weights and decisions ---------------------------------------------------------------------------------------------


def test_records_are_weighed_by_a_column(tmp_path):
    """A weight of 0 is a record that was not there, and the column is no feature."""
    test_rows = list(rows(200, 5, seed=3))
    for t, row in enumerate(test_rows):
        row["counts"] = float(t % 3 > 0)
    partial, whole = tmp_path / "some.coterie", tmp_path / "whole.coterie"
    names = ("click", "user", "price", "age")
    learn = ("-q", "--alone", "--learner", "MultitaskLogistic()", "--scale", "none", "--output")
    all_rows = write_csv(tmp_path / "all.csv", test_rows, (*names, "counts"))
    run("learn", all_rows, *WHO, "--weight", "counts", *learn, whole)
    counted = write_csv(tmp_path / "some.csv", [row for row in test_rows if row["counts"]], names)
    run("learn", counted, *WHO, *learn, partial)
    one, other = ct.load(partial), ct.load(whole)
    assert one.encoder_.feature_names == other.encoder_.feature_names
    np.testing.assert_array_equal(one.coef_, other.coef_[[other.tasks_.index(task) for task in one.tasks_]])


NO_RECORDS = {
    "csv": b"user,price,age,click\n",
    "csv without a label": b"user,price,age\n",
    "tsv": b"user\tprice\tage\tclick\n",
    "jsonl": b"",
    "parquet": None,
    "vw": b"",
    "svmlight": b"# none\n",
}
HEAD = "place,task,prediction,margin,probability"


@pytest.mark.parametrize("kind", NO_RECORDS)
def test_a_file_without_records_has_no_predictions_and_teaches_nothing(kind, model, tmp_path):
    ending, learned = kind.split()[0], tmp_path / "learned"
    path = tmp_path / f"none.{ending}"
    if ending in ("vw", "svmlight"):
        lines = {"vw": "1 |t a |x b:1\n-1 |t b |x b:2\n", "svmlight": "1 qid:1 1:2\n-1 qid:2 1:3\n"}[ending]
        partial = tmp_path / f"some.{ending}"
        partial.write_text(lines)
        options = ["--task", "t"] if ending == "vw" else []
        run("learn", partial, *options, "-q", "--alone", "--bits", 8, "--output", model, "--force")
    if NO_RECORDS[kind] is None:
        texts = pa.array([], "str")
        parquet.write_table(pa.table({"user": texts, "price": [], "age": [], "click": texts}), path)
    else:
        path.write_bytes(NO_RECORDS[kind])
    assert run("predict", model, path).stdout == HEAD + "\n"
    assert run("predict", model, path, "--json").stdout == ""
    if kind == "csv":
        printed = run("predict", model, path, "--keep", "age", "--probabilities").stdout
        assert printed == f"{HEAD},probability_no,probability_yes,age\n"
    if kind != "csv without a label":
        assert "0 records; the model is saved" in run("learn", path, "--from", model, "--output", learned).stderr
        assert learned.read_bytes() == model.read_bytes()
        assert json.loads(run("learn", path, "--from", model, "--json").stdout)["examples"] == 0
