"""Words that stand for a missing number or date, in every role and format."""

import json
from functools import cache, reduce

import pyarrow as pa
import pytest
from pyarrow import parquet

from coterie.data.dates import expand_dates
from coterie.data.feature_keys import MISSING_WORDS
from coterie.data.readers import read
from coterie.data.record_encoders import RecordEncoder
from terminal import refused, run_json

N = 12
WORDS = [word for word in MISSING_WORDS if word] + [" NA "]
#: By role, the number or date in the other rows.
ROLES = {"price": 2.5, "y": 3.5, "w": 0.5, "at": 7, "day": "2024-02-29"}


def records(role, value):
    """Records with numbers in all columns but in one, where the fifth has another value."""
    records = [{"user": "ann", "day": "2024-02-29", "w": 0.5, "at": i, "price": i % 3, "y": i / 2} for i in range(N)]
    records[4][role] = value
    return records


def write(path, table_rows):
    if path.suffix == ".csv":
        lines = [table_rows[0], *(row.values() for row in table_rows)]
        path.write_text("\n".join(",".join(map(str, line)) for line in lines))
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in table_rows))
    else:
        texts = [row | {name: str(row[name]) for name in ("y", "day")} for row in table_rows]
        parquet.write_table(pa.Table.from_pylist(texts), path)
    return path


def reading(path, on_error="skip"):
    reader = read(path, label="y", task="user", weight="w", time="at", scale="none", bits=12, on_error=on_error)
    reader.require_labels(numbers=True)
    return reader, reduce(lambda before, block: before.joined(block), reader)


CASES = [(role, "csv", word) for role in ROLES for word in WORDS]
CASES += [(role, "jsonl", word) for role in ROLES for word in WORDS[::3]]
CASES += [("y", "parquet", word) for word in WORDS[::3]]


@pytest.fixture(scope="module")
def with_an_empty_cell(tmp_path_factory):
    """What is read of records with an empty cell."""
    folder = tmp_path_factory.mktemp("empty")

    @cache
    def read_of(role, suffix):
        empty = {"csv": "", "jsonl": None, "parquet": ""}[suffix]
        return reading(write(folder / f"{role}.{suffix}", records(role, empty)))

    return read_of


@pytest.mark.parametrize(("role", "suffix", "word"), CASES)
def test_a_word_is_missing_as_an_empty_cell_is(role, suffix, word, tmp_path, with_an_empty_cell):
    reader, block = reading(write(tmp_path / f"a.{suffix}", records(role, word)))
    other, expected = with_an_empty_cell(role, suffix)
    assert (reader.skipped, reader.unlabelled) == (other.skipped, other.unlabelled) == {
        "y": (0, 1), "w": (1, 0), "at": (1, 0)
    }.get(role, (0, 0))  # fmt: skip
    assert block.X.toarray().tolist() == expected.X.toarray().tolist()
    assert block.y.tolist() == expected.y.tolist()


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_a_label_that_is_no_number_is_a_bad_record(suffix, tmp_path):
    path = write(tmp_path / f"a.{suffix}", records("y", "many"))
    reader, block = reading(path)
    assert (reader.skipped, reader.unlabelled, len(block)) == (1, 0, N - 1)
    (example,) = reader.skipped_examples
    assert example.replace('"', "'").endswith("column 'y': 'many' is not a number")
    with pytest.raises(ValueError, match="many"):
        reading(path, on_error="stop")


@pytest.mark.parametrize("word", ["NA", "nan", "null", "N/A", "None", ""])
def test_regression_leaves_out_records_whose_label_is_missing(word, tmp_path):
    path = write(tmp_path / "a.csv", records("y", word))
    names = ("--task", "user", "--label", "y", "--ignore", "at")
    names += ("--regression", "--alone", "--learner", "MultitaskRegressor(loss=Squared())")
    result = run_json("learn", path, *names, "-o", tmp_path / "m")
    assert (result["reading"]["unlabelled"], result["reading"]["rows"]) == (1, N - 1)
    again = run_json("learn", path, "--from", tmp_path / "m")
    assert (again["reading"]["unlabelled"], again["reading"]["rows"]) == (1, N - 1)
    assert "not a finite number" in refused("learn", write(tmp_path / "b.csv", records("y", "1e999")), *names)


@pytest.mark.parametrize("word", WORDS)
def test_dictionaries_of_typed_columns_take_the_words(word):
    encoder = RecordEncoder([("price", "numeric"), ("day", "date"), ("shop", "categorical")], bits=10)
    encoder.encode_one({"price": None, "day": None, "shop": "north"})
    expected = encoder.encode_one({"price": None, "day": None, "shop": "north"}, update=False)
    encoded = encoder.encode_one({"price": word, "day": word, "shop": "north"}, update=False)
    assert [part.tolist() for part in encoded] == [part.tolist() for part in expected]


@pytest.mark.parametrize("word", WORDS)
def test_dictionaries_take_the_words_in_place_of_dates(word):
    assert expand_dates({"day": word, "a": 1.0}, {"day": None}, update=False) == {"day": None, "a": 1.0}
    assert expand_dates({"shop": word}, {"day": None}, update=False) == {"shop": word}
