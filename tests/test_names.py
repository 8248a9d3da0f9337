"""Names of hashed features: kept as far as there is room, saved, checked, and told by `coterie explain`."""

import json

import numpy as np
import pyarrow as pa
import pytest

import coterie as ct
import terminal
from coterie._compiled.core.hashing import feature_hash
from coterie.data.feature_names import Names
from coterie.data.readers import read
from coterie.data.record_encoders import RecordEncoder

COLUMNS = [("price", "numeric"), ("shop", "categorical"), ("title", "text"), ("tags", "items"), ("size", "categorical")]
RECORDS = [
    {"price": 1.0, "shop": "north", "title": "A red Fox", "tags": ["new", "x"], "size": 1},
    {"price": 2.0, "shop": "", "title": "red  ÄÖ, fox!", "tags": [], "size": 2},
    {"price": None, "shop": "south", "title": None, "tags": ["x"], "size": None},
]
KEYS = {"", "price", "shop=north", "shop=south", "title^a", "title^red", "title^fox", "title^ÄÖ", "tags=new", "tags=x"}
KEYS |= {"size=1", "size=2"}


def kept_names(names):
    """All names by their columns."""
    return {column: names.find_name(column) for column in names.columns()}


def batch(encoder):
    return pa.table({name: [record[name] for record in RECORDS] for name, _ in COLUMNS})


def test_every_kind_of_feature_leaves_its_name():
    block, single = RecordEncoder(COLUMNS), RecordEncoder(COLUMNS)
    block.encode(batch(block))
    for record in RECORDS:
        single.encode_one(record)
    assert kept_names(block.names) == kept_names(single.names) == {feature_hash(key, 18): key for key in KEYS}
    assert (block.names.collisions, block.names.dropped) == (0, 0)
    assert block.name_of(feature_hash("", 18)) == "constant"


def test_names_of_vowpal_wabbit_text_have_their_namespaces(tmp_path):
    (tmp_path / "a.vw").write_text("1 |u ann |word free:2 now | plain\n-1 |u bob |word:3 now |word late:0.5\n")
    for block_rows in (1, 10):
        reader = read(tmp_path / "a.vw", task="u", block_rows=block_rows)
        list(reader)
        keys = ("", "word^free", "word^now", "plain", "word^late")
        assert kept_names(reader.encoder.names) == {feature_hash(key, 18): key for key in keys}
    predicting = read(tmp_path / "a.vw", encoder=RecordEncoder([], source="vw", task="u"), update=False)
    list(predicting)
    assert kept_names(predicting.encoder.names) == {feature_hash("", 18): ""}


def test_the_first_name_of_a_column_stays_and_others_are_counted():
    names, literal, several = Names(bits=6), {}, set()
    keys = [f"key {n}" for n in range(200)]
    for n in range(0, 200, 7):
        names.add(keys[n : n + 7])
    for key in keys:
        column = feature_hash(key, 6)
        if literal.setdefault(column, key) != key:
            several.add(column)
    assert kept_names(names) == literal
    assert names.collisions == len(several) > 10
    assert {int(column) % 64 for column in names.table.cells[names.table.shared]} == several


def test_names_come_back_from_a_file_and_go_on():
    one, two = Names(bits=6), Names(bits=6)
    one.add([f"key {n}" for n in range(20)] + ["\ud800", ""])
    two.add([f"key {n}" for n in range(20)] + ["\ud800", ""])
    two = Names.from_arrays(6, True, two.to_arrays())
    for names in (one, two):
        names.add([f"other {n}" for n in range(50)])
    assert kept_names(one) == kept_names(two)
    assert all(np.array_equal(one.to_arrays()[name], array) for name, array in two.to_arrays().items())
    assert Names.from_arrays(6, False, one.to_arrays()).to_arrays() == {}
    assert len(Names.from_arrays(6, True, {})) == 0


# -- the command


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A model of a table with words, one without names, and one of numbers alone, learned by the command line."""
    folder = tmp_path_factory.mktemp("names")
    terminal.write_csv(folder / "clicks.csv", terminal.rows(200), ("user", "price", "age", "shop", "title", "click"))
    common = ("--task", "user", "--label", "click", "--learner", "MultitaskLogistic()", "--alone", "--quiet")
    learn = ("learn", folder / "clicks.csv", *common)
    terminal.run(*learn, "--text", "title", "--output", folder / "words.coterie")
    terminal.run(*learn, "--text", "title", "--no-names", "--output", folder / "nameless.coterie")
    terminal.run(*learn, "--ignore", "title", "--ignore", "shop", "--output", folder / "numbers.coterie")
    return folder


def test_the_largest_weights_are_told_by_name(models):
    result = terminal.run("explain", models / "words.coterie").stdout.splitlines()
    assert result[0] == "Largest weights that all tasks share"
    assert result[1].split() == ["feature", "weight"]
    names = {line.split()[0] for line in result[2 : result.index("")]}
    assert names >= {"price", "shop=north", "title^red", "constant"}
    explained = terminal.run_json("explain", models / "words.coterie", "--task", "u1", "--top", "3")
    sizes = [abs(weight["own"]) for weight in explained["weights"]]
    assert sizes == sorted(sizes, reverse=True)
    assert len(sizes) == 3
    model = ct.load(models / "words.coterie")
    w = model.coef_[model.tasks_.index("u1")]
    for weight in explained["weights"]:
        assert weight["shared"] + weight["own"] == pytest.approx(w[feature_hash(weight["name"], 18)], rel=1e-9)
    assert explained["names"] == {"names": 10, "collisions": 0, "dropped": 0}


@pytest.mark.parametrize("name", ["words", "numbers", "nameless"])
def test_a_record_is_explained(models, name):
    path, clicks = models / f"{name}.coterie", models / "clicks.csv"
    record = json.loads(terminal.run("predict", path, clicks, "--json").stdout.splitlines()[40])
    x = next(row for n, row in enumerate(terminal.rows(200)) if n == 40)
    x = {key: value for key, value in x.items() if key != "click"}
    result = terminal.run_json("explain", path, json.dumps(x))
    of = result["explanation"]
    assert (result["task"], of["margin"]) == (record["task"], pytest.approx(record["margin"], rel=1e-12))
    assert sum(part["part"] for part in of["parts"]) == pytest.approx(of["margin"], rel=1e-9)
    named = [part["name"] for part in of["parts"]]
    assert "constant" in named
    assert {p["name"]: p["given"] for p in of["parts"] if p["name"] in x} == {n: x[n] for n in named if n in x}
    lines = terminal.run("explain", path, json.dumps(x), "--task", "u2", "--top", "2").stdout.splitlines()
    assert lines[0] == "What makes the margin of task u2"
    assert [line.split()[1] for line in lines[4:5]] == ["more"]
    assert lines[5].split()[0] == "margin"


def test_records_and_tasks_that_cannot_be_explained_are_refused(models, tmp_path, monkeypatch):
    monkeypatch.chdir(models)
    ridge = tmp_path / "r.coterie"
    ct.batch.MultitaskKernelRidge(ct.kernels.Gaussian(1.0)).fit([[1.0], [2.0]], [0.0, 1.0], task=[0, 1]).save(ridge)
    words = "words.coterie"
    for arguments, message in (
        ((words, "clicks.csv:3"), "the record is not a JSON object: "),
        ((words, '{"price": 1.0}'), "the record has no task; pass --task"),
        ((words, '{"price": "z"}', "--task", "u1"), "'z'"),
        ((words, "--task", "nobody"), f"{words}: task 'nobody' was never seen; tasks_ lists the 5 known tasks"),
        ((words, "--task", "u11"), "lists the 5 known tasks; did you mean 'u1'?"),
        ((ridge,), "contains a batch model (MultitaskKernelRidge), which has no weights to explain"),
    ):
        assert message in terminal.refused("explain", *arguments), arguments
