"""The encoder: its keys, its scales, its state; columns equal dictionaries."""

import json
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import coterie as ct
from coterie._compiled.core.hashing import feature_hash
from coterie.data.errors import InputError
from coterie.data.readers import read
from coterie.data.record_encoders import RecordEncoder
from coterie.data.schema import ReadOptions, choose_encoder, schema_kinds
from reference import moments
from states import dense

COLUMNS = [("price", "numeric"), ("shop", "categorical"), ("title", "text"), ("tags", "items"), ("n", "numeric")]
TEXT = pa.string()
SCHEMA = pa.schema({"price": pa.float64(), "shop": TEXT, "title": TEXT, "tags": pa.list_(TEXT), "n": pa.int32()})
SHORT = st.text(max_size=8)
VALUES = {
    "price": st.none() | st.floats(-1e6, 1e6),
    "shop": st.none() | SHORT,
    "title": st.none() | st.text("ab C\u00e9,", max_size=20),
    "tags": st.none() | st.lists(st.none() | SHORT, max_size=3),
    "n": st.none() | st.integers(-9, 9),
}
RECORDS = st.lists(st.fixed_dictionaries(VALUES), min_size=1, max_size=30)


@pytest.mark.parametrize(
    ("kind", "line", "record"),
    [
        ("vw", "1 |user u1 |x a:0.5 b |y:2 c:3", {"x^a": 0.5, "x^b": 1, "y^c": 6, "x^d": None}),
        ("svmlight", "1 qid:1 0:0.5 7:2", {0: 0.5, "7": 2}),
    ],
)
def test_a_dictionary_with_the_keys_of_a_row_that_names_its_features_is_that_row(kind, line, record, tmp_path):
    (tmp_path / "s.txt").write_text(line)
    reader = read(tmp_path / "s.txt", format=kind, task="user" if kind == "vw" else None)
    (block,) = reader
    row = np.zeros(block.X.shape[1])
    columns, values = reader.encoder.encode_one(record)
    row[columns] = values
    if kind == "vw":
        assert sorted(reader.encoder.keys_of(record)) == ["", "x^a", "x^b", "y^c"]
    np.testing.assert_array_equal(row, block.X.toarray()[0])
    assert reader.encoder.name_of(feature_hash("", 18)) == "constant"


def one_by_one(encoder, records):
    encoded = [encoder.encode_one(record) for record in records]
    rows = np.zeros((len(records), encoder.n_features))  # as wide as it is now
    for row, (indices, values) in zip(rows, encoded, strict=True):
        assert len(set(indices.tolist())) == len(indices)
        row[indices] = values
    return rows


@given(RECORDS, st.sampled_from(["none", "standard", "unit", "auto"]), st.booleans(), st.sampled_from([3, 8]))
def test_columns_equal_dictionaries(records, scale, constant, bits):
    encoder = RecordEncoder(COLUMNS, bits=bits, scale=scale, constant=constant)
    one, cut = encoder.copy(), encoder.copy()
    batch, half = pa.RecordBatch.from_pylist(records, SCHEMA), len(records) // 2
    X = encoder.encode(batch)
    assert X.shape == (len(records), 2**bits)
    np.testing.assert_array_equal(dense(X), one_by_one(one, records))
    parts = [dense(cut.encode(part)) for part in (batch.slice(0, half), batch.slice(half)) if len(part)]
    np.testing.assert_array_equal(dense(X), np.concatenate(parts))
    for other in (one, cut):
        np.testing.assert_array_equal(encoder.moments, other.moments)


@given(
    st.lists(st.tuples(*[st.none() | st.floats(-1e6, 1e6)] * 9), min_size=1, max_size=30),
    st.sampled_from(["none", "standard", "unit", "auto"]),
)
def test_named_columns_equal_dictionaries(rows, scale):
    records = [dict(zip("abcdefghi", row, strict=True)) for row in rows]
    encoder = RecordEncoder([(name, "numeric") for name in "abcdefghi"], scale=scale)
    one = encoder.copy()
    X = encoder.encode(pa.RecordBatch.from_pylist(records, pa.schema([(name, pa.float64()) for name in "abcdefghi"])))
    np.testing.assert_array_equal(X, one_by_one(one, records))
    np.testing.assert_array_equal(encoder.moments, one.moments)


def test_keys_by_hand():
    record = {"price": 2.5, "shop": "north", "title": "The cat, the hat", "tags": ["x", "y", "x"], "n": 0, "other": 1}
    wanted = {"price": 2.5, "shop=north": 1.0, "tags=x": 2.0, "tags=y": 1.0, "": 1.0}
    wanted |= {"title^the": math.log(3), "title^cat": math.log(2), "title^hat": math.log(2)}
    indices, values = RecordEncoder(COLUMNS, bits=20).encode_one(record)
    features = dict(zip(indices.tolist(), values.tolist(), strict=True))
    assert features == {feature_hash(key, 20): value for key, value in wanted.items()}


@pytest.mark.parametrize(
    ("values", "kind", "spelled"),
    [
        ([True, False, None], pa.bool_(), ["True", "False", None]),
        ([1, 2, None], pa.int8(), ["1", "2", None]),
        ([1.0, 0.5, None], pa.float32(), ["1", "0.5", None]),
        (["a", "", None], pa.large_string(), ["a", None, None]),
        (["a", "", None], pa.string_view(), ["a", None, None]),
        (["a", "b", None], pa.dictionary(pa.int8(), pa.string()), ["a", "b", None]),
        ([3, 4, None], pa.dictionary(pa.int8(), pa.int64()), ["3", "4", None]),
        ([None, None, None], pa.null(), [None, None, None]),
    ],
)
def test_categories_of_every_type(values, kind, spelled):
    encoder = RecordEncoder([("c", "categorical")], bits=16, constant=False)
    X = dense(encoder.encode(pa.record_batch({"c": pa.array(values, kind)})))
    wanted = np.zeros_like(X)
    for row, word in zip(wanted, spelled, strict=True):
        row[feature_hash("c=" if word is None else f"c={word}", 16)] = 1.0
    np.testing.assert_array_equal(X, wanted)
    np.testing.assert_array_equal(X, one_by_one(encoder, [{"c": value} for value in values]))


def test_standard_scale_is_running_over_blocks():
    values = np.random.default_rng(0).normal(5, 3, 50)
    encoder = RecordEncoder([("a", "numeric")], scale="standard")
    blocks = [encoder.encode(pa.record_batch({"a": part})) for part in np.array_split(values, 7)]
    np.testing.assert_allclose(np.concatenate(blocks)[:, 0], moments.scores(values.tolist()), atol=1e-9)
    assert (np.concatenate(blocks)[:, 1] == 1.0).all()
    before = encoder.moments.copy()
    encoder.encode(pa.record_batch({"a": values}), update=False)
    assert (encoder.moments == before).all()


def test_unit_scale_takes_the_constant_in():
    batch = pa.record_batch({"a": [3.0, 0.0], "s": ["x", "y"]})
    for columns in ([("a", "numeric")], [("a", "numeric"), ("s", "categorical")]):
        X = dense(RecordEncoder(columns, scale="unit", bits=10).encode(batch))
        np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1.0)
    assert RecordEncoder([("a", "numeric")], scale="unit", constant=False).encode(batch).tolist() == [[1.0], [0.0]]


def test_state_round_trip():
    encoder = RecordEncoder(COLUMNS, label="y", task="user", bits=9, scale="auto")
    encoder.encode(pa.RecordBatch.from_pylist([{"price": 1.0, "n": 3}, {"price": 2.0, "n": None}], SCHEMA))
    spec, arrays = encoder.to_state()
    again = RecordEncoder.from_state(json.loads(json.dumps(spec)), arrays)
    assert repr(again) == repr(encoder)
    batch = pa.RecordBatch.from_pylist([{"price": 5.0, "shop": "x", "n": 1}], SCHEMA)
    np.testing.assert_array_equal(dense(again.encode(batch)), dense(encoder.encode(batch)))
    assert (again.moments == encoder.moments).all()
    with pytest.raises(ValueError, match=r"moments has the shape \(1, 3\); expected \(2, 7\)"):
        RecordEncoder.from_state(spec, {"moments": np.zeros((1, 3))})


# -- refusals


def wishes(**options):
    base = {"label": None, "task": None, "features": None, "ignore": (), "text": ()}
    return ReadOptions(**{**base, "bits": 18, "constant": True, "scale": "none", **options})


def batch(**columns):
    return pa.record_batch({name: pa.array(column) for name, column in columns.items()})


PRICE, SVM = RecordEncoder([("price", "numeric")]), RecordEncoder([], source="svmlight")
CLOCK = schema_kinds(pa.schema([("y", pa.int64()), ("day", pa.time32("s"))]))
REFUSED = {
    "bits is 0; expected a whole number from 1 to 30": lambda: RecordEncoder([], bits=0),
    "scale is 'log'; expected one of 'none', 'standard', 'unit', 'auto'": lambda: RecordEncoder([], scale="log"),
    "the kind of column 'a' is 'number'; expected one of 'numeric', 'categorical'": lambda: RecordEncoder(
        [("a", "number")]
    ),
    "column 'price': 'abc' is not a number": lambda: RecordEncoder(COLUMNS).encode_one({"price": "abc"}),
    "column 'a': is not a svmlight feature: expected a whole number below 262,144": lambda: SVM.encode_one({"a": 1.0}),
    "column 'a:b': 'c' is not a number": lambda: RecordEncoder([], source="vw").encode_one({"a:b": "c"}),
    "column 'title': 3 is not text": lambda: RecordEncoder(COLUMNS).encode_one({"title": 3}),
    "column 'tags': 'x' is not a list of strings": lambda: RecordEncoder(COLUMNS).encode_one({"tags": "x"}),
    "there is no column 'price' among 'prize'; did you mean 'prize'": lambda: PRICE.encode(batch(prize=[1.0])),
    "features and label both name the column 'y'": lambda: wishes(label="y", features=["y"]),
    "features and task both name the column 'y'": lambda: wishes(task="y", features=["y"]),
    r"features\['a'\] is 'word'; expected one of": lambda: wishes(features={"a": "word"}),
    r"no columns are left for features \('day': it holds time32": lambda: choose_encoder(CLOCK, wishes(label="y")),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_cannot_be_encoded_is_refused(message):
    with pytest.raises(ValueError, match=message):
        REFUSED[message]()


@pytest.mark.parametrize(
    ("value", "message"),
    [(-math.inf, "-inf is not a finite number"), (1e101, r"1e\+101 is beyond the limit of 1e\+100")],
)
def test_numbers_that_cannot_be_learned_from(value, message):
    for columns in ([("a", "numeric")], [("a", "numeric"), ("s", "categorical")]):
        encoder = RecordEncoder(columns, scale="standard")
        batch = pa.record_batch({"a": [1.0, value], "s": ["x", "y"]})
        with pytest.raises(InputError, match=f"column 'a': {message}"):
            encoder.encode(batch)
        with pytest.raises(InputError, match=f"column 'a': {message}"):
            encoder.encode_one({"a": value})
        assert not encoder.moments.any(), "nothing is learned from a refused batch"


# -- which column is what


KINDS = {"y": pa.int64(), "user": pa.string(), "a": pa.float32(), "b": pa.bool_(), "l": pa.list_(pa.string())}
KINDS |= {"c": pa.dictionary(pa.int8(), pa.string()), "day": pa.date32(), "time": pa.time32("s"), "nothing": pa.null()}
SCHEMA_ALL = pa.schema([*KINDS.items(), ("vector", pa.list_(pa.float64()))])


def test_kinds_by_type():
    encoder, dropped = choose_encoder(schema_kinds(SCHEMA_ALL), wishes(label="y", task="user"))
    words = {"b": "categorical", "l": "items", "c": "categorical"}
    assert encoder.columns == tuple(({"a": "numeric"} | words | {"day": "date"}).items())
    assert (encoder.label, encoder.task) == ("y", "user")
    assert dropped == {
        "time": "it holds time32[s], which is not a number, string, date or list of strings",
        "vector": "it holds list<item: double>, which is not a number, string, date or list of strings",
        "nothing": "it is empty in the first rows",
    }


def test_a_model_that_has_learned_files_refuses_a_reader_with_other_scales(tmp_path):
    (tmp_path / "x.csv").write_text("user,amount,label\n" + "".join(f"u,{1000 + i},{i > 9}\n" for i in range(20)))
    model = ct.AdaptiveSharingClassifier()
    ct.progressive_validation(model, read(tmp_path / "x.csv", label="label", task="user"))
    for validate in (ct.progressive_validation, lambda model, reader: ct.compare({"together": model}, reader)):
        with pytest.raises(ValueError, match=r"use read\(\.\.\., encoder=model\.encoder_\)"):
            validate(model, read(tmp_path / "x.csv", label="label", task="user"))
    assert len(ct.progressive_validation(model, read(tmp_path / "x.csv", encoder=model.encoder_)).margin) == 20
