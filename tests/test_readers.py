"""Files of every format give the same blocks; bad input ends in one sentence with its place."""

import bz2
import csv
import gzip
import io
import json
import sys
from functools import partial
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from coterie._compiled.core.hashing import feature_hash
from coterie.data import lines, readers
from coterie.data.errors import InputError
from reference import moments
from reference import text as reference
from states import dense

read = partial(readers.read, scale="none")  # values as they stand in a file

NAMES = ["click", "user", "price", "shop", "title", "n"]
TABLES = ["csv", "tsv", "jsonl", "parquet", "feather", "arrows"]


def make_records(n):
    rng = np.random.default_rng(0)
    titles = ["a red car", "", 'says "hi", twice', "über\nlong", None, "line, two"]
    return [
        {
            "click": ["yes", "no"][rng.integers(2)],
            "user": f"u{rng.integers(5)}",
            "price": float(rng.normal()) if rng.random() < 0.9 else None,
            "shop": ["north", "söuth", None][rng.integers(3)],
            "title": titles[rng.integers(len(titles))],
            "n": int(rng.integers(-5, 5)),
        }
        for _ in range(n)
    ]


RECORDS = make_records(60)


def write(folder, kind, records):
    path = folder / f"data.{kind}"
    table = pa.Table.from_pylist(records)
    if kind in ("csv", "tsv"):
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, NAMES, delimiter="\t" if kind == "tsv" else ",")
            writer.writeheader()
            writer.writerows(records)
    elif kind == "jsonl":
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    elif kind == "parquet":
        parquet.write_table(table, path, row_group_size=13)
    elif kind == "feather":
        feather.write_feather(table, str(path), chunksize=11)
    else:
        with pa.ipc.new_stream(str(path), table.schema) as writer:
            writer.write_table(table, max_chunksize=7)
    return path


def compress(path, suffix):
    out = path.with_name(path.name + suffix)
    data = path.read_bytes()
    if suffix == ".gz":
        out.write_bytes(gzip.compress(data))
    elif suffix == ".bz2":
        out.write_bytes(bz2.compress(data))
    else:
        with pa.CompressedOutputStream(str(out), {".zst": "zstd", ".lz4": "lz4"}[suffix]) as file:
            file.write(data)
    return out


def whole(reader):
    blocks = list(reader)
    arrays = ([getattr(block, name) for block in blocks] for name in ("y", "task", "place"))
    there = (None if parts[0] is None else np.concatenate(parts) for parts in arrays)
    return np.vstack([dense(block.X) for block in blocks]), *there


def text_file(folder, name, content):
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.fixture
def pieces(monkeypatch):
    """Let files be read in pieces of this many bytes, and records be no longer than this many."""

    def pieces(size, longest=None):
        monkeypatch.setattr(lines, "PIECE_BYTES", size)
        monkeypatch.setattr(lines, "FEW_RECORDS", 0)
        if longest is not None:
            monkeypatch.setattr(lines, "LONGEST_RECORD", longest)

    return pieces


@pytest.fixture(scope="module")
def expected():
    """Row by row, keys written out, running scores and unit length from the definition."""
    rows = []
    scores = {}
    for name in ("price", "n"):
        scores[name] = moments.scores([r[name] for r in RECORDS if r[name] is not None])
    for record in RECORDS:
        row = reference.text_row("title", record["title"] or "", 12)
        for name in ("price", "n"):
            if record[name] is not None:
                reference.add(row, reference.column(name, 12), scores[name].pop(0))
        if record["shop"] is not None:
            reference.add(row, reference.column(f"shop={record['shop']}", 12), 1.0)
        reference.add(row, reference.column("", 12), 1.0)
        for name in ("price", "shop"):
            if record[name] is None:
                reference.add(row, reference.column(f"{name}=", 12), 1.0)
        rows.append(reference.unit(row))
    X = np.zeros((len(rows), 2**12))
    for encoded_row, row in zip(X, rows, strict=True):
        encoded_row[list(row)] = list(row.values())
    return X


# -- every format, the same data


@pytest.mark.parametrize(
    ("kind", "suffix"), [*product(TABLES, [""]), *product(["csv"], [".gz", ".bz2", ".zst", ".lz4"]), ("parquet", ".gz")]
)
def test_every_table_format(tmp_path, expected, kind, suffix):
    path = write(tmp_path, kind, RECORDS)
    path = compress(path, suffix) if suffix else path
    reader = read(path, label="click", task="user", text="title", bits=12, scale="auto", block_rows=9)
    X, y, task, _ = whole(reader)
    np.testing.assert_allclose(X, expected, atol=1e-9)
    assert y.tolist() == [record["click"] for record in RECORDS]
    assert task.tolist() == [record["user"] for record in RECORDS]
    assert reader.rows == 60
    assert reader.bytes_read == reader.bytes_total == path.stat().st_size
    roles = ["label", "task", "numeric", "categorical", "text", "numeric"]
    assert reader.columns == dict(zip(NAMES, roles, strict=True))


@pytest.mark.parametrize("piece", [16, 100, 1000])
@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_pieces_do_not_matter(tmp_path, kind, piece, pieces):
    features = {"price": "numeric", "shop": "categorical", "n": "numeric", "title": "text"}
    path = write(tmp_path, kind, [dict.fromkeys(NAMES, "1") | {"price": 0, "n": 0}] * (kind == "jsonl") + RECORDS)
    Y, *_ = whole(read(path, label="click", task="user", features=features, bits=12, scale="none"))
    pieces(piece)
    X, *_ = whole(read(path, label="click", task="user", features=features, bits=12, scale="none"))
    np.testing.assert_array_equal(X, Y)


@pytest.mark.parametrize("kind", TABLES)
def test_columns_are_kept_as_they_stand(tmp_path, kind):
    """Whatever they are used for, and whichever records around them are left out."""
    names = ("n", "title", "shop", "user")
    expected = [dict(record) for record in RECORDS]
    expected[17]["click"] = None
    path = write(tmp_path, kind, expected)
    options = {"label": "click", "task": "user", "bits": 12, "on_error": "skip", "block_rows": 7}
    blocks = list(read(path, **options, keep=(*names, "n"), ignore="title", skip=3))
    assert list(blocks[0].unchanged) == list(names)
    text = kind in ("csv", "tsv")
    for name in names:
        wanted = [record[name] for record in expected]
        wanted = ["" if value is None else str(value) for value in wanted] if text else wanted
        del wanted[17]
        assert [value for block in blocks for value in block.unchanged[name].tolist()] == wanted[3:]
    assert blocks[0].piece(1, 3).unchanged["n"].tolist() == blocks[0].unchanged["n"][1:3].tolist()
    assert blocks[0].joined(blocks[1]).unchanged["n"].tolist() == [*blocks[0].unchanged["n"], *blocks[1].unchanged["n"]]


def test_numbers_are_kept_with_all_their_digits(tmp_path):
    csv_file = text_file(tmp_path, "a.csv", "y,x,z\n1,2.50,007\n0,wrong,008\n1,1e3,\n")
    (block,) = read(csv_file, label="y", features=["x"], on_error="skip", keep=["x", "z"])
    assert [values.tolist() for values in block.unchanged.values()] == [["2.50", "1e3"], ["007", ""]]
    jsonl = text_file(tmp_path, "a.jsonl", '{"y":1,"x":2,"z":{"a":[1]}}\n{"y":0,"x":2.5}\n')
    (block,) = read(jsonl, label="y", keep=["x", "z"])
    assert [values.tolist() for values in block.unchanged.values()] == [[2, 2.5], [{"a": [1]}, None]]


@pytest.mark.parametrize("kind", TABLES)
def test_standard_input(tmp_path, kind, monkeypatch):
    path = write(tmp_path, kind, RECORDS)
    known = {"feather": "arrow", "arrows": "arrow"}.get(kind, kind)
    wanted = whole(read(path, label="click", task="user", text="title", bits=12))
    for data in (path.read_bytes(), gzip.compress(path.read_bytes())):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        reader = read("-", format=known, label="click", task="user", text="title", bits=12)
        for block_array, array in zip(whole(reader), wanted, strict=True):
            np.testing.assert_array_equal(block_array, array)
        assert (reader.bytes_total, reader.bytes_read) == (None, len(data))
        with pytest.raises(InputError, match="<stdin>: standard input can be read only once"):
            list(reader)


def test_svmlight_and_vowpal_agree(tmp_path):
    svm = text_file(tmp_path, "a.svm", "1 qid:3 5:0.5 2:1 5:0.25\n\n# nothing\n-1 qid:4 1:2 # why\n")
    X, y, task, place = whole(read(svm, bits=3, constant=False))
    assert X.tolist() == [[0, 0, 1, 0, 0, 0.75, 0, 0], [0, 2, 0, 0, 0, 0, 0, 0]]
    assert (y.tolist(), task.tolist(), place.tolist()) == ([1.0, -1.0], [3, 4], [1, 4])
    vw = text_file(tmp_path, "a.vw", "1 |u 3 |f five:0.5 two five:0.25\n\n-1 'tag |f:2 one |u 4\n")
    X, y, task, place = whole(read(vw, bits=10, task="u", constant=True))
    assert (y.tolist(), task.tolist(), place.tolist()) == ([1.0, -1.0], ["3", "4"], [1, 3])
    wanted = np.zeros((2, 2**10))
    for row, key, value in [(0, "f^five", 0.75), (0, "f^two", 1.0), (1, "f^one", 2.0), (0, "", 1.0), (1, "", 1.0)]:
        wanted[row, feature_hash(key, 10)] = value
    np.testing.assert_array_equal(X, wanted)


def test_dictionary_columns(tmp_path):
    columns = {"y": ["a", "b", "a"], "c": ["x", None, "y"]}
    table = pa.table({name: pa.array(values).dictionary_encode() for name, values in columns.items()})
    for path in (tmp_path / "d.parquet", tmp_path / "d.feather"):
        parquet.write_table(table, path) if path.suffix == ".parquet" else feather.write_feather(table, str(path))
        (block,) = read(path, label="y", constant=False)
        assert block.y is not None
        assert block.y.tolist() == ["a", "b", "a"]
        assert block.X.toarray().nonzero()[1].tolist() == [feature_hash(key, 18) for key in ("c=x", "c=", "c=y")]


# -- text as people write it


@pytest.mark.parametrize(
    ("newline", "delimiter", "mark"),
    [("\n", ",", b""), ("\r\n", ";", b"\xef\xbb\xbf"), ("\r", "|", b""), ("\n", "\t", b"\xef\xbb\xbf")],
)
def test_csv_dialects(tmp_path, newline, delimiter, mark):
    text = newline.join(["", "y,x, z ", "a,1,5", "", '"b",2,"6"', 'a,3,"say ""hi"""', ""]).replace(",", delimiter)
    reader = read(text_file(tmp_path, "a.csv", mark + text.encode()), label="y", ignore="z")
    X, y, *_ = whole(reader)
    assert (X.tolist(), y.tolist()) == ([[1, 1], [2, 1], [3, 1]], ["a", "b", "a"])
    assert [int(place) for block in reader for place in block.place] == [3, 5, 6]
    assert reader.dropped == {"z": "it was to be ignored"}


def test_numbers_and_blanks_in_csv(tmp_path):
    (block,) = read(text_file(tmp_path, "a.csv", "y,x\na,1\nb, 2.5 \na,\nb,NA\na,+3\nb,-1e-3\n"), label="y")
    assert block.X[:, 0].tolist() == [1, 2.5, 0, 0, 3, -0.001]


def test_a_field_over_many_lines_keeps_line_numbers(tmp_path):
    path = text_file(tmp_path, "a.csv", 'y,t\na,"one\n\ntwo\n"\nb,three\n"c","x"\nb,"four\r\nfive"\na,six\n')
    (block,) = read(path, label="y", text="t", constant=False)
    assert block.place.tolist() == [2, 6, 7, 8, 10]
    assert block.X.sum(axis=1) == pytest.approx(np.log(2) * np.array([2, 1, 1, 2, 1]))


def test_ids_are_features_only_if_asked(tmp_path):
    path = text_file(tmp_path, "a.csv", "y,x,day\na,1,2013-01-01\nb,2,2013-01-02\n")
    reader = read(path, label="y", features={"x": "categorical"}, bits=10, constant=False)
    (block,) = reader
    assert [block.X[[i]].indices.tolist() for i in (0, 1)] == [[feature_hash(f"x={i}", 10)] for i in (1, 2)]
    assert reader.dropped == {"day": "it is not among the features named"}


def test_json_escapes_and_absent_keys(tmp_path):
    records = '{"y":1,"s":"\\u00e9\\n","l":["a"]}\n\n {"l":[],"y":0}\n{"y":1,"s":null,"o":{"p":1}}\n'
    reader = read(text_file(tmp_path, "a.jsonl", records), label="y", bits=10, constant=False)
    (block,) = reader
    assert block.X.sum(axis=1).tolist() == [2.0, 0.0, 1.0]  # "s=" where it is null
    assert block.place.tolist() == [1, 3, 4]
    assert reader.dropped == {"o": "it holds objects or lists of other things than strings"}


# -- several files, one encoder


def test_globs_and_lists(tmp_path):
    for i in (2, 1, 3):
        text_file(tmp_path, f"part{i}.csv", f"y,x\n{'ab'[i % 2]},{i}\n")
    text_file(tmp_path, "part4.jsonl", '{"x": 4, "y": "a"}\n')
    reader = read(str(tmp_path / "part*.csv"), label="y")
    assert [block.X[0, 0] for block in reader] == [1, 2, 3]
    assert reader.bytes_read == reader.bytes_total
    listed = read([tmp_path / "part3.csv", str(tmp_path / "part[12].csv"), tmp_path / "part4.jsonl"], label="y")
    assert [block.X[0, 0] for block in listed] == [3, 1, 2, 4]


def test_columns_are_found_by_name(tmp_path):
    text_file(tmp_path, "1.csv", "y,x,z\na,1,2\n")
    text_file(tmp_path, "2.csv", "new,z,y,x\n0,4,b,3\n")
    X, *_ = whole(read(str(tmp_path / "?.csv"), label="y"))
    assert X.tolist() == [[1, 2, 1], [3, 4, 1]]


def test_an_encoder_goes_on(tmp_path):
    options = {"label": "click", "task": "user"}
    every = whole(read(write(tmp_path, "csv", RECORDS), **options, text="title", bits=12, scale="auto"))
    reader = read(write(tmp_path, "csv", RECORDS[:25]), **options, text="title", bits=12, scale="auto")
    first = whole(reader)
    encoder = reader.encoder
    assert encoder is not None
    second = whole(read(write(tmp_path, "jsonl", RECORDS[25:]), **options, encoder=encoder))
    np.testing.assert_allclose(np.vstack([first[0], second[0]]), every[0])
    unlabelled = [{key: value for key, value in record.items() if key != "click"} for record in RECORDS[25:]]
    for update in (True, False):
        before = encoder.moments.copy()
        (block,) = read(write(tmp_path, "parquet", unlabelled), encoder=encoder, update=update)
        assert block.y is None
        assert block.task is not None
        assert (encoder.moments == before).all(), "the reader learns on a copy"
        assert np.allclose(dense(block.X), second[0]) == update


def test_labels_that_are_all_missing_are_none(tmp_path):
    reader = read(text_file(tmp_path, "a.csv", "y,x\na,1\n"), label="y")
    list(reader)
    blank = text_file(tmp_path, "b.csv", "y,x\n,1\n,2\n")
    (block,) = read(blank, encoder=reader.encoder)
    assert block.y is None
    reader = read(blank, label="y", encoder=reader.encoder)
    assert (list(reader), reader.unlabelled, reader.rows) == ([], 2, 0)
    for name, rows in (("a.svm", "1:2\n3:1\n"), ("a.vw", "|f a\n|f b\n")):
        (block,) = read(text_file(tmp_path, name, rows), bits=4)
        assert (block.y, block.task) == (None, None)


OBJECTS = [('"a"', "p", 1), ("null", "q", 7), ('"a"', "q", 3)]
UNLABELLED = {
    "a.csv": "y,u,x\na,p,1\n ,q,many\nb,,2\n,q,1e300\na,q,3\n",
    "a.jsonl": "".join(f'{{"y":{y},"u":"{u}","x":{x}}}\n' for y, u, x in OBJECTS),
    "a.svm": "1 qid:1 1:1\nqid:1 1:1\n1:1\n1 qid:2 1:3\n",
    "a.vw": "1 |u p |f x\n|u q |f x\n1 |u q |f x:3\n",
}


@pytest.mark.parametrize("name", ["a.jsonl", "a.svm", "a.vw"])
def test_records_without_a_label_are_left_out_and_counted(tmp_path, name):
    path = text_file(tmp_path, name, UNLABELLED[name])
    roles = {"task": None if name == "a.svm" else "u", "label": None if path.suffix in (".svm", ".vw") else "y"}
    lines = UNLABELLED[name].splitlines(keepends=True)
    alone = text_file(tmp_path, f"alone{path.suffix}", lines[0] + lines[-1])
    for block_rows in (1, 9):
        reader = read(path, **roles, bits=4, scale="auto", block_rows=block_rows)
        (X, y, task, place), (Z, *wanted, _) = whole(reader), whole(read(alone, **roles, bits=4, scale="auto"))
        np.testing.assert_array_equal(X, Z)
        assert [y.tolist(), task.tolist()] == [array.tolist() for array in wanted]
        assert (place.tolist(), reader.unlabelled, reader.skipped) == ([1, len(lines)], len(lines) - 2, 0)
    learned = read(path, **roles, bits=4)
    list(learned)
    predict_reader = read(path, encoder=learned.encoder, task=roles["task"], update=False)
    if name != "a.svm":  # a row without a task is one that cannot be predicted either
        assert [block.y[1] is None or np.isnan(block.y[1]) for block in predict_reader] == [True]
        assert (predict_reader.rows, predict_reader.unlabelled) == (3, 0)


def test_records_without_a_label_have_no_faults(tmp_path):
    path = text_file(tmp_path, "a.csv", UNLABELLED["a.csv"].replace("many", "2"))
    with pytest.raises(InputError, match=r"a.csv:4: column 'u': the task is missing"):
        list(read(path, label="y", task="u"))
    reader = read(path, label="y", task="u", on_error="skip")
    (block,) = reader
    assert (block.place.tolist(), reader.unlabelled, reader.skipped) == ([2, 6], 2, 1)


def test_labels_may_begin_after_the_first_row_where_they_are_required(tmp_path):
    path = text_file(tmp_path, "a.vw", "|f a\n1 |f b\n-1 |f c\n")
    with pytest.raises(InputError, match=r"a.vw:2: the row has a label, which earlier rows do not"):
        list(read(path))
    reader = read(path)
    reader.require_labels()
    (block,) = reader
    assert (block.y.tolist(), reader.unlabelled) == ([1.0, -1.0], 1)


def test_importances_are_weights(tmp_path):
    reader = read(text_file(tmp_path, "a.vw", "1 2.0 |f a\n1 |f b\n-1 0 |f a\n"))
    (block,) = reader
    assert block.weight is not None
    assert block.weight.tolist() == [2.0, 1.0, 0.0]
    assert (reader.dropped, reader.columns) == ({}, {"label": "label"})
    (block,) = read(text_file(tmp_path, "b.vw", "1 |f a\n"))
    assert block.weight is None
    with pytest.raises(InputError, match=r"a.vw:2: the importance '-1' is not a number from 0 to 1,000,000"):
        list(read(text_file(tmp_path, "a.vw", "1 1 |f a\n1 -1 |f b\n")))


@pytest.mark.parametrize("kind", TABLES)
def test_a_column_of_weights(tmp_path, kind):
    path = write(tmp_path, kind, [record | {"n": abs(record["n"]) / 2} for record in RECORDS])
    reader = read(path, label="click", task="user", weight="n", features=["price"])
    assert np.concatenate([block.weight for block in reader]).tolist() == [abs(record["n"]) / 2 for record in RECORDS]
    assert reader.columns["n"] == "weight"
    for one, other in zip(reader, read(path, label="click", task="user", features=["price"]), strict=True):
        np.testing.assert_array_equal(one.X, other.X)


# -- bad input


BAD_WEIGHT = "y,u,x,w\na,p,1,1\nb,q,2,{}\na,r,3,2\n"
BAD_CSV = "y,u,x\na,p,1\nb,q,2\na,r,3\nb,s,{}\na,t,5\n"

LINE = b'{"y":1,"u":2,"x":1}\n'
CASES = {
    "ragged": ("a.csv", b"y,u,x\na,p,1\nb,q\na,r,3\n", 3, "the line has 2 fields, the header 3"),
    "blanks": ("a.csv", b"y,u,x\na,p,1\n  \na,r,3\n", 3, "the line has 1 field, the header 3"),
    "utf8": ("a.csv", b"y,u,x\na,p,1\nb,\xff,2\na,r,3\n", 3, "is not UTF-8 text: byte 0xff at position 3"),
    "word": ("a.csv", BAD_CSV.format("abc").encode(), 5, "column 'x': 'abc' is not a number"),
    "inf": ("a.csv", BAD_CSV.format("-inf").encode(), 5, "column 'x': -inf is not a finite number"),
    "huge": ("a.csv", BAD_CSV.format("1e200").encode(), 5, "column 'x': 1e+200 is beyond the limit of 1e+100"),
    "task": ("a.csv", b"y,u,x\na,p,1\nb,,2\na,r,3\n", 3, "column 'u': the task is missing"),
    "quote": ("a.csv", b'y,u,x\na,p,1\na,r,3\nb,"q,2\n', 4, "a quoted field is not closed"),
    "multiline": ("a.csv", b'y,u,x\n"a\nb",p,1\nb,q,oh\na,r,3\na,r,3\n', 4, "column 'x': 'oh' is not a number"),
    "weight -1": ("a.csv", BAD_WEIGHT.format("-1").encode(), 3, "the weight -1.0 is not a number from 0 to 1,000,000"),
    "weight none": ("a.csv", BAD_WEIGHT.format("").encode(), 3, "column 'w': the weight is missing"),
    "weight inf": ("a.csv", BAD_WEIGHT.format("inf").encode(), 3, "the weight inf is not a number from 0 to 1,000,000"),
    "weight word": ("a.csv", BAD_WEIGHT.format("many").encode(), 3, "column 'w': 'many' is not a number"),
    "json": ("a.jsonl", LINE + b'{"y":1,"u":\n{"y":0,"u":2,"x":1}\n', 2, "is not JSON: "),
    "json type": ("a.jsonl", LINE + b'{"y":1,"u":2,"x":"1"}\n' + LINE, 2, "column 'x': \"1\" is not a number"),
    "json object": ("a.jsonl", LINE + b'{"y":1,"u":{"id":2},"x":1}\n' + LINE, 2, "number: move its keys to the object"),
    "json utf8": ("a.jsonl", LINE + b'{"y":1,"u":"\xc3","x":1}\n', 2, "is not UTF-8 text: byte 0xc3"),
    "json nan": ("a.jsonl", LINE + b'{"y":1,"u":2,"x":NaN}\n', 2, "(JSON has no NaN and no Infinity)"),
    "svm": ("a.svm", b"1 1:1\n1 x:1\n", 2, "'x:1' does not begin with a whole number as its index"),
    "svm bits": ("a.svm", b"1 1:1\n1 16:1\n", 2, "the index in '16:1' is beyond the 16 columns of bits=4"),
    "svm labelled": ("a.svm", b"1:1\n1 1:1\n", 2, "the row has a label, which earlier rows do not"),
    "svm qid": ("a.svm", b"1 qid:1 1:1\n1 1:1\n", 2, "the row has no qid:, which earlier rows have"),
    "vw": ("a.vw", b"1 |a b\n1 a b\n", 2, "the line has no '|' before its features"),
    "vw task": ("a.vw", b"1 |u 1 |a b\n1 |a b\n", 2, "of the task is empty or missing; found 'a'"),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_records(tmp_path, case):
    name, content, line, message = CASES[case]
    path = text_file(tmp_path, name, content)
    options = {"label": "y", "task": "u"} if path.suffix in (".csv", ".jsonl") else {"bits": 4}
    options |= {"task": "u"} if case == "vw task" else {"weight": "w"} if case.startswith("weight") else {}
    with pytest.raises(InputError) as caught:
        list(read(path, **options))
    assert message in str(caught.value)
    assert (caught.value.path, caught.value.line) == (str(path), line)
    assert str(caught.value).startswith(f"{path}:{line}: ")
    reader = read(path, **options, on_error="skip")
    place = [int(p) for block in reader for p in block.place]
    assert (reader.skipped, reader.skipped_examples) == (1, [str(caught.value).removesuffix(f"; {caught.value.hint}")])
    assert line not in place
    assert len(place) == reader.rows > 0


def test_skipping_gives_the_good_rows(tmp_path):
    good = "y,x\n" + "".join(f"{'ab'[i % 2]},{i}\n" for i in range(1000))
    bad = good.replace("a,500\n", "a,500\na,x\na\n\xff,1\n".encode("latin1").decode("latin1"))
    data = bad.encode("latin1")
    reader = read(text_file(tmp_path, "b.csv", data), label="y", on_error="skip", block_rows=100, scale="standard")
    X, y, *_ = whole(reader)
    Z, wanted, *_ = whole(read(text_file(tmp_path, "g.csv", good), label="y", scale="standard"))
    np.testing.assert_array_equal(X, Z)
    assert (y.tolist(), reader.skipped, len(reader.skipped_examples)) == (wanted.tolist(), 3, 3)


def test_nan_and_nothing_are_missing_in_every_format(tmp_path):
    parquet.write_table(pa.table({"y": ["a", "b", "a"], "x": [1.0, float("nan"), None]}), tmp_path / "a.parquet")
    text_file(tmp_path, "a.csv", "y,x\na,1\nb,nan\na,\n")
    text_file(tmp_path, "a.jsonl", '{"y":"a","x":1.0}\n{"y":"b","x":null}\n{"y":"a","x":null}\n')
    for name in ("a.parquet", "a.csv", "a.jsonl"):
        (block,) = read(tmp_path / name, label="y", scale="auto")
        np.testing.assert_allclose(block.X, [[0.0, 1.0, 0.0], [0.0, 0.5**0.5, 0.5**0.5], [0.0, 0.5**0.5, 0.5**0.5]])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "a.csv: is empty: expected a header line"),
        ("a.csv", b"y,x\n", "a.csv: it has no records"),
        ("a.csv", b"y,x,x\n1,2,3\n", "a.csv:1: two columns have the name 'x'"),
        ("a.csv", b"y,\xff\n1,2\n", "a.csv:1: is not UTF-8 text"),
        ("a.csv", b'y,"x\n1,2\n3,4\n', "a.csv:1: a quoted field is not closed"),
        ("a.csv", b"\xff\xfey\0,\0x\0", "a.csv:1: is UTF-16 text; expected UTF-8"),
        ("a.csv", b"click,x\n1,2\n", "a.csv: there is no column 'y' among 'click', 'x'"),
        ("a.csv", b"y\n1\n", "a.csv: no columns are left for features"),
        ("a.jsonl", b"", "a.jsonl: is empty: expected a JSON object on each line"),
        ("a.jsonl", b"{}\n", "a.jsonl:1: the object has no key"),
        ("a.svm", b"", "a.svm: is empty: expected a record on each line"),
        ("a.vw", b"", "a.vw: is empty"),
        ("a.parquet", b"", "a.parquet: is empty: expected Parquet data"),
        ("a.parquet", b"PAR1 is broken PAR1", "a.parquet: cannot be read: "),
        ("a.arrow", b"", "a.arrow: is empty: expected Arrow IPC data"),
        ("a.arrow", b"y,x\n1,2\n", "a.arrow: is not Arrow IPC data"),
        ("a.csv.gz", gzip.compress(b"y,x\n" + bytes(range(48, 58)) * 500, mtime=0)[:-20], "csv.gz: cannot be read: T"),
        ("a.csv.gz", b"y,x\n1,2\n", "a.csv.gz: is not gzip data, although its extension says so"),
        ("a.csv.zst", b"\x28\xb5\x2f\xfd\x00broken", "a.csv.zst: cannot be read: "),
        ("a.csv.bz2", bz2.compress(b"y,x\n1,2\n")[:-8], "a.csv.bz2: cannot be read: "),
    ],
)
def test_files_that_cannot_be_used(tmp_path, name, content, message):
    path = text_file(tmp_path, name, content)
    label = None if path.suffix in (".svm", ".vw") else "y"
    with pytest.raises(InputError) as caught:
        list(read(path, label=label, on_error="skip"))
    assert message in str(caught.value)
    assert caught.value.path == str(path)


def test_truncated_tables(tmp_path):
    for kind in ("parquet", "feather", "arrows"):
        path = write(tmp_path, kind, RECORDS)
        data = path.read_bytes()
        for size in (len(data) // 2, len(data) - 30):
            path.write_bytes(data[:size])
            with pytest.raises(InputError, match=f"data.{kind}: cannot be read: "):
                list(read(path, label="click"))


def test_the_rows_before_a_broken_end_are_delivered(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "PIECE_BYTES", 100)
    text = "y,x\n" + "".join(f"a,{i}\n" for i in range(5000))
    reader = read(text_file(tmp_path, "a.csv.gz", gzip.compress(text.encode())[:-500]), label="y")
    with pytest.raises(InputError, match="Truncated"):
        list(reader)
    assert reader.rows > 1000


def test_a_record_or_a_header_without_end(tmp_path, pieces):
    pieces(64, longest=256)
    long = "y,x\na,1\nb," + "2" * 1000 + '\na,3\nb,"' + "4\n" * 500 + "a,5\n"
    path = text_file(tmp_path, "a.csv", long)
    with pytest.raises(InputError, match=r"a.csv:3: the record does not end within 256 bytes"):
        list(read(path, label="y"))
    reader = read(path, label="y", on_error="skip")
    assert [int(p) for block in reader for p in block.place] == [2, 4, 505]
    rows = "1 1:1\n" + "1" * 1000 + "\n2 2:2\n"
    objects = '{"y":1,"x":1}\n' + "1" * 999 + '\n{"y":1,"x":1}'
    for kind, text, label in (("svm", rows, None), ("jsonl", objects, "y")):
        reader = read(text_file(tmp_path, f"a.{kind}", text), label=label, on_error="skip")
        assert [int(p) for block in reader for p in block.place] == [1, 3]
        assert "a." + kind + ":2: the record does not end within 256 bytes" in reader.skipped_examples[0]
    header = text_file(tmp_path, "b.csv", ",".join(f"c{j}" for j in range(1000)) + "\n")
    with pytest.raises(InputError, match=r"b.csv:1: the record does not end within 256 bytes"):
        list(read(header, on_error="skip"))


FILES = {"a.csv": "y,x\n1,2\n", "a.dat": "y,x\n1,2\n", "w.csv": "y,x,w\na,1,1\nb,2,2\n", "a.vw": "1 |f a\n"}
REFUSED = [
    ("a.csv", {"format": "xml"}, "format is 'xml'; expected one of 'csv', 'tsv', 'jsonl'"),
    ("a.csv", {"block_rows": 0}, "block_rows is 0; expected a whole number of 1 or more"),
    ("a.csv", {"label": "x", "task": "x"}, "label and task both name the column 'x'"),
    ("a.csv", {"format": "svmlight", "label": "y"}, "label does not apply to svmlight"),
    ("a.csv", {"format": "vw", "scale": "standard"}, "scale='standard' needs numeric columns"),
    ("a.csv", {"label": "y", "keep": "xx"}, r"there is no column 'xx' among .*; did you mean 'x'"),
    ("a.vw", {"keep": "x"}, r"^keep does not apply to vw, whose rows have no columns$"),
    ("w.csv", {"weight": "w", "features": ["w"]}, "features and weight both name the column 'w'"),
    ("a.vw", {"weight": "w"}, "weight does not apply to vw, whose rows name their importances"),
    ("a.dat", {}, r"the extension of '.*a.dat' names no format; give format, one of 'csv'"),
    ("nowhere.csv", {}, "nowhere.csv: does not exist"),
    ("*.tsv", {}, r"\*.tsv: no file matches this pattern"),
    ("", {}, "is a folder; expected a file"),
]


@pytest.mark.parametrize(("name", "arguments", "message"), REFUSED)
def test_refused_arguments(tmp_path, name, arguments, message):
    for file_name, text in FILES.items():
        text_file(tmp_path, file_name, text)
    with pytest.raises(ValueError, match=message):
        list(read(str(tmp_path / name), **arguments))


def test_no_file_and_standard_input_without_a_format():
    with pytest.raises(InputError, match="no file was given"):
        read([])
    for frame in (pa.table({"x": [1.0]}), pa.table({"x": [1.0]}).to_pandas()):
        with pytest.raises(InputError, match="expected a path, got a frame; pass frames as X to fit"):
            readers.read(frame)
    with pytest.raises(ValueError, match="standard input has no extension; give format, one of"):
        read("-")


def test_weights_that_are_text_or_a_second_file_that_does_not_fit(tmp_path):
    first = text_file(tmp_path, "1.csv", "y,x\na,1\n")
    parquet.write_table(pa.table({"y": ["a"], "x": ["word"]}), tmp_path / "2.parquet")
    parquet.write_table(pa.table({"y": ["a", "b"], "x": [1.0, 2.0], "w": ["heavy", "light"]}), tmp_path / "w.parquet")
    with pytest.raises(InputError, match="it has the type string; expected numbers as weight"):
        list(read(tmp_path / "w.parquet", label="y", weight="w"))
    text_file(tmp_path, "2.csv", "y,z\na,1\n")
    text_file(tmp_path, "3.csv", "y,x\na,word\n")
    text_file(tmp_path, "4.svm", "1 1:1\n")
    for name, message in (
        ("2.csv", r"2.csv: there is no column 'x' among 'y', 'z'"),
        ("3.csv", r"3.csv:2: column 'x': 'word' is not a number"),
        ("2.parquet", r"2.parquet: column 'x': it has the type string; expected numbers"),
    ):
        with pytest.raises(InputError, match=message):
            list(read([first, tmp_path / name], label="y"))
    reader = read(tmp_path / "4.svm")
    list(reader)
    for source, options in ((first, {"label": "y", "encoder": reader.encoder}), ([tmp_path / "4.svm", first], {})):
        with pytest.raises(InputError, match=r"1.csv: contains columns; the encoder expects svmlight"):
            list(read(source, **options))


def test_a_part_without_records_decides_nothing(tmp_path, pieces):
    text_file(tmp_path, "1.csv", "y,x\n")
    text_file(tmp_path, "2.csv", "y,x\na,1\n")
    (block,) = read(str(tmp_path / "?.csv"), label="y")
    assert block.X.tolist() == [[1.0, 1.0]]
    pieces(8)  # nor does a piece
    (block,) = read(text_file(tmp_path, "a.csv", "y,x\n1\n2\n3\n4\n5\n6\na,1\n"), label="y", on_error="skip")
    assert block.X.tolist() == [[1.0, 1.0]]


def wide(path, d, n, name="c{}"):
    """A CSV file of n records with d numbers each, the j-th of the i-th being i + j, and a column that is empty."""
    lines = [",".join(["y", *(name.format(j) for j in range(d)), "nothing"])]
    lines += [",".join([f"{'ab'[i % 2]}", *(str(i + j) for j in range(d)), ""]) for i in range(n)]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_header_may_be_longer_than_a_mebibyte(tmp_path):
    d = 5000
    path = wide(tmp_path / "a.csv", d, 3, "a column with a long name " * 9 + "{}")
    assert len(path.read_text().partition("\n")[0]) > 1 << 20
    reader = read(path, label="y")
    (block,) = reader
    np.testing.assert_array_equal(block.X[:, :-1], np.add.outer(np.arange(3), np.arange(d)))
    assert reader.dropped == {"nothing": "it is empty in the first rows"}


def test_wide_tables_are_read_in_larger_pieces(tmp_path, monkeypatch):
    path = wide(tmp_path / "a.csv", 1000, 100)
    (whole_block,) = read(path, label="y", scale="auto")
    monkeypatch.setattr(lines, "PIECE_BYTES", 1 << 14)
    blocks = list(read(path, label="y", scale="auto"))
    assert [len(block) for block in blocks][1:] == [100 - len(blocks[0])]  # a few, and then all that are left
    np.testing.assert_array_equal(np.vstack([block.X for block in blocks]), whole_block.X)
    monkeypatch.setattr(lines, "LARGEST_PIECE", 1 << 15)
    assert max(len(block) for block in read(path, label="y", scale="auto")) < 20


@pytest.mark.parametrize("encoding", ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"])
def test_text_of_parquet_may_be_in_a_delta_encoding(tmp_path, encoding):
    table = pa.table({"y": ["y", "n"] * 3000, "t": [f"t{n % 9}" for n in range(6000)], "c": ["u", None, "v"] * 2000})
    paths = [tmp_path / "plain.parquet", tmp_path / "delta.parquet"]
    parquet.write_table(table, paths[0])
    options = {"use_dictionary": ["y"], "column_encoding": {"t": encoding, "c": encoding}, "row_group_size": 4000}
    parquet.write_table(table, paths[1], **options)
    expected, decoded = (whole(read(path, label="y", task="t", bits=8)) for path in paths)
    for one, other in zip(expected, decoded, strict=True):
        np.testing.assert_array_equal(one, other)


# -- small files of large records --------------------------------------------------------------------------------------

LONG, SHARING = 100_000, 2_000


def few_bytes(folder, kind):
    """A small file of texts of which many rows have the same one."""
    words = pa.array(["a" * LONG, "b"])
    codes = pa.array([int(n % 2) for n in range(SHARING)], pa.int32())
    table = pa.table({"y": codes, "t": pa.DictionaryArray.from_arrays(codes, words), "x": pa.array([1.0] * SHARING)})
    path = folder / f"small.{kind.partition(' ')[0]}"
    if kind == "arrow":
        feather.write_feather(table, str(path), compression="zstd")
    else:
        plain = table.set_column(1, "t", table["t"].cast(pa.string()))
        options = {"row_group_size": SHARING // 2}
        if "delta" in kind:
            options |= {"use_dictionary": False, "column_encoding": {"t": "DELTA_BYTE_ARRAY"}}
        parquet.write_table(plain, path, compression="zstd", **options)
    return compress(path, ".gz") if kind.endswith("compressed") else path


@pytest.mark.parametrize(
    ("kind", "role"),
    [
        ("parquet", "categorical"),
        ("parquet compressed", "text"),
        ("parquet delta compressed", "text"),
        ("arrow", "task"),
    ],
)
def test_a_block_of_long_texts_has_few_rows_however_small_the_file_is(tmp_path, kind, role):
    """A kilobyte of a text that 20,000 rows shared took gigabytes, as each row of a block has a copy of it."""
    path = few_bytes(tmp_path, kind)
    assert path.stat().st_size < 10_000
    used = {"task": "t"} if role == "task" else {"features": {"t": role, "x": "numeric"}}
    lengths = [len(block) for block in read(path, label="y", **used)]
    assert sum(lengths) == SHARING
    assert max(lengths) * LONG <= 2**25
