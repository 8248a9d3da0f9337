"""Names of hashed features: kept as far as there is room, saved, checked, and told by `coterie explain`."""

import copy
import json

import numpy as np
import pyarrow as pa
import pytest

import coterie as ct
import terminal
from coterie.explanation import differing_features
from coterie.inputs import names as inputs_names
from coterie.inputs.encoding import Encoder
from coterie.inputs.names import Names
from coterie.io.readers import read
from coterie.numeric.core.hashing import feature_hash
from coterie.numeric.text import names as table

COLUMNS = [("price", "numeric"), ("shop", "categorical"), ("title", "text"), ("tags", "items"), ("size", "categorical")]
RECORDS = [
    {"price": 1.0, "shop": "north", "title": "A red Fox", "tags": ["new", "x"], "size": 1},
    {"price": 2.0, "shop": "", "title": "red  ÄÖ, fox!", "tags": [], "size": 2},
    {"price": None, "shop": "south", "title": None, "tags": ["x"], "size": None},
]
KEYS = {"", "price", "shop=north", "shop=south", "title^a", "title^red", "title^fox", "title^ÄÖ", "tags=new", "tags=x"}
KEYS |= {"size=1", "size=2"}


def kept(names):
    """All names by their columns."""
    return {column: names.of(column) for column in names.columns()}


def batch(encoder):
    return pa.table({name: [record[name] for record in RECORDS] for name, _ in COLUMNS})


def test_every_kind_of_feature_leaves_its_name():
    block, single = Encoder(COLUMNS), Encoder(COLUMNS)
    block.encode(batch(block))
    for record in RECORDS:
        single.encode_one(record)
    wanted = {feature_hash(key, 18): key for key in KEYS}
    assert kept(block.names) == kept(single.names) == wanted
    assert (block.names.collisions, block.names.dropped) == (0, 0)
    assert block.name_of(feature_hash("", 18)) == "constant"


def test_names_of_vowpal_wabbit_text_have_their_namespaces(tmp_path):
    (tmp_path / "a.vw").write_text("1 |u ann |word free:2 now | plain\n-1 |u bob |word:3 now |word late:0.5\n")
    for block_rows in (1, 10):
        reader = read(tmp_path / "a.vw", task="u", block_rows=block_rows)
        list(reader)
        keys = ("", "word^free", "word^now", "plain", "word^late")
        assert kept(reader.encoder.names) == {feature_hash(key, 18): key for key in keys}
    predicting = read(tmp_path / "a.vw", encoder=Encoder([], source="vw", task="u"), update=False)
    list(predicting)
    assert kept(predicting.encoder.names) == {feature_hash("", 18): ""}


def test_the_first_name_of_a_column_stays_and_others_are_counted():
    names, literal, several = Names(bits=6), {}, set()
    keys = [f"key {n}" for n in range(200)]
    for n in range(0, 200, 7):
        names.add(keys[n : n + 7])
    for key in keys:
        column = feature_hash(key, 6)
        if literal.setdefault(column, key) != key:
            several.add(column)
    assert kept(names) == literal
    assert names.collisions == len(several) > 10
    assert {int(column) % 64 for column in names.table.cells[names.table.shared]} == several


def test_a_table_that_is_full_takes_no_more_and_says_how_often(monkeypatch):
    monkeypatch.setattr(inputs_names, "MOST", 8)
    names = Names(bits=20)
    names.add([f"key {n}" for n in range(10)])
    names.add(["key 3", "key 9"])
    assert kept(names) == {feature_hash(f"key {n}", 20): f"key {n}" for n in range(8)}
    assert (len(names), names.dropped, names.collisions) == (8, 2, 0)


def test_of_many_texts_every_sixteenth_is_looked_through(tmp_path):
    lines = "".join(f"1 |u a |w common w{n}\n" for n in range(10_100))
    (tmp_path / "a.vw").write_text(lines)
    (tmp_path / "b.csv").write_text("u,w,y\n" + "".join(f"a,common w{n},1\n" for n in range(10_100)))
    expected = {"w^common", ""} | {f"w^w{n}" for n in range(10_100) if n < 10_000 or n % 16 == 0}
    for reader in (
        read(tmp_path / "a.vw", task="u", block_rows=999, bits=30),
        read(tmp_path / "b.csv", task="u", label="y", text="w", block_rows=999, bits=30),
    ):
        list(reader)
        named = set(kept(reader.encoder.names).values())
        assert named <= expected
        assert len(expected) - len(named) == reader.encoder.names.collisions == 1


def test_copies_go_on_by_themselves_and_marks_are_restored():
    names = Names(bits=4)
    names.add(["a", "b"])
    mark, other = names.mark(), names.copy()
    before = names.to_arrays()
    names.add([f"key {n}" for n in range(50)])
    assert len(other) == len(copy.deepcopy(other)) == 2
    names.restore(mark)
    after = names.to_arrays()
    assert all(np.array_equal(before[name], after[name]) for name in before)
    names.add(["c"])
    assert len(names) == 3


def test_names_come_back_from_a_file_and_go_on():
    one, two = Names(bits=6), Names(bits=6)
    one.add([f"key {n}" for n in range(20)] + ["\ud800", ""])
    two.add([f"key {n}" for n in range(20)] + ["\ud800", ""])
    two = Names.from_arrays(6, True, two.to_arrays())
    for each in (one, two):
        each.add([f"other {n}" for n in range(50)])
    assert kept(one) == kept(two)
    assert all(np.array_equal(one.to_arrays()[name], held) for name, held in two.to_arrays().items())
    assert Names.from_arrays(6, False, one.to_arrays()).to_arrays() == {}
    assert len(Names.from_arrays(6, True, {})) == 0


@pytest.mark.parametrize(
    ("name", "changed", "message"),
    [
        ("name_ends", lambda ends: ends[::-1].copy(), "names of features do not end in order"),
        ("name_ends", lambda ends: ends[:-1], "names of features are none"),
        ("names", lambda text: text[:-1], "names of features do not end in order"),
        ("names", lambda text: np.frombuffer(b"abab", np.uint8), "two names of features are in one column"),
        ("names_counts", lambda counts: counts - 1, "names of features are none"),
        ("names_shared", lambda shared: shared[:, None], "names of features are none"),
    ],
)
def test_names_that_are_none_or_too_many_are_refused(name, changed, message, monkeypatch):
    names = Names(bits=10)
    names.add(["ab", "cd"])
    arrays = names.to_arrays()
    with pytest.raises(ValueError, match=message):
        Names.from_arrays(10, True, arrays | {name: changed(arrays[name])})
    monkeypatch.setattr(inputs_names, "MOST", 1)
    with pytest.raises(ValueError, match="names of features are none"):
        Names.from_arrays(10, True, arrays)


def test_nothing_is_noted_where_no_names_are_kept():
    encoder = Encoder(COLUMNS, names=False)
    encoder.encode(batch(encoder))
    encoder.encode_one(RECORDS[0])
    assert (len(encoder.names), encoder.names.kept, encoder.name_of(5)) == (0, False, None)
    assert not table.NO_NAMES.counts.any()
    spec, arrays = encoder.to_state()
    assert set(arrays) == {"moments"}
    assert Encoder.from_state(spec, arrays).names.kept is False


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
    predictions = terminal.run("explain", models / "words.coterie").stdout.splitlines()
    assert predictions[0] == "Largest weights that all tasks share"
    assert predictions[1].split() == ["feature", "weight"]
    assert {line.split()[0] for line in predictions[2 : predictions.index("")]} >= {
        "price",
        "shop=north",
        "title^red",
        "constant",
    }
    found = terminal.run_json("explain", models / "words.coterie", "--task", "u1", "--top", "3")
    sizes = [abs(each["own"]) for each in found["weights"]]
    assert sizes == sorted(sizes, reverse=True)
    assert len(sizes) == 3
    model = ct.load(models / "words.coterie")
    w = model.coef_[model.tasks_.index("u1")]
    for each in found["weights"]:
        assert each["shared"] + each["own"] == pytest.approx(w[feature_hash(each["name"], 18)], rel=1e-9)
    assert found["names"] == {"names": 10, "collisions": 0, "dropped": 0}
    assert any(name.startswith("title^") for name, *_ in differing_features(model, "u1", "u2", n=20))


@pytest.mark.parametrize("name", ["words", "numbers", "nameless"])
def test_a_record_is_explained_from_its_file_and_as_json(models, name):
    path, clicks = models / f"{name}.coterie", models / "clicks.csv"
    predicted = terminal.run("predict", path, clicks, "--json").stdout.splitlines()
    record = json.loads(predicted[40])
    found = terminal.run_json("explain", path, f"{clicks}:{record['place']}")
    of = found["explanation"]
    assert (found["task"], of["margin"]) == (record["task"], pytest.approx(record["margin"], rel=1e-12))
    assert sum(each["part"] for each in of["parts"]) == pytest.approx(of["margin"], rel=1e-9)
    named = [each["name"] for each in of["parts"]]
    assert "constant" in named
    assert all(isinstance(each, int) for each in named if each != "constant") == (name == "nameless")
    x = next(row for n, row in enumerate(terminal.rows(200)) if n == 40)
    x = {key: held for key, held in x.items() if key != "click"}
    assert {each["name"]: each["given"] for each in of["parts"] if each["name"] in x} == {
        name: x[name] for name in named if name in x
    }
    again = terminal.run_json("explain", path, json.dumps(x))
    assert again["explanation"]["margin"] == pytest.approx(of["margin"], rel=1e-12)
    assert {each["name"] for each in again["explanation"]["parts"]} >= {"price", "age", "constant"}
    lines = terminal.run("explain", path, json.dumps(x), "--task", "u2", "--top", "2").stdout.splitlines()
    assert lines[0] == "What makes the margin of task u2"
    assert [line.split()[1] for line in lines[4:5]] == ["more"]
    assert lines[5].split()[0] == "margin"


def test_records_and_tasks_that_cannot_be_explained_are_refused(models, tmp_path, monkeypatch):
    monkeypatch.chdir(models)
    arrays, ridge = tmp_path / "array.coterie", tmp_path / "r.coterie"
    ct.MultitaskPerceptron().fit([[1.0], [-1.0]], [1, 0], task=["a", "b"]).save(arrays)
    ct.batch.MultitaskKernelRidge(ct.kernels.Gaussian(1.0)).fit([[1.0], [2.0]], [0.0, 1.0], task=[0, 1]).save(ridge)
    words = "words.coterie"
    for given, message in (
        ((words, "nothing"), "'nothing' is no record: give a JSON object, or FILE:PLACE with the line or row of one"),
        ((words, "clicks.csv:9999"), "clicks.csv: has no record in line or row 9999"),
        ((words, "{1"), "the record is no JSON object: "),
        ((words, '{"price": 1.0}'), "the record does not say whose it is: name the task"),
        ((words, '{"price": "z"}', "--task", "u1"), "'z'"),
        ((words, "--task", "nobody"), f"{words}: task 'nobody' was never seen: the model knows 5 tasks"),
        ((words, "--task", "u11"), "the model knows 5 tasks; did you mean 'u1'?"),
        ((words, "nowhere.csv:3"), "nowhere.csv: does not exist"),
        (
            (arrays, "clicks.csv:3", "--task", "a"),
            "did not learn from a file, so it does not know how to read one: give",
        ),
        ((ridge,), "holds a batch model (MultitaskKernelRidge), of whose records no weights are kept to explain by"),
    ):
        assert message in terminal.refused("explain", *given), given


def test_an_altered_name_is_refused_when_a_model_is_loaded(models, tmp_path):
    from safetensors.numpy import load_file

    model = ct.load(models / "words.coterie")
    assert len(model.encoder_.names) == 10
    assert any(name.endswith("encoder.names") for name in load_file(models / "words.coterie"))
    names = model.encoder_.names
    names._keys[3] = names._keys[4]
    model.save(tmp_path / "altered.coterie")
    with pytest.raises(ValueError, match="is not a model that this version can read: two names of features are in one"):
        ct.load(tmp_path / "altered.coterie")


def test_weights_of_a_class_and_of_no_relation():
    model = ct.OneVsRest().partial_fit([{"a": 1.0}, {"b": 1.0}, {"c": 1.0}], ["x", "y", "z"], task=["u", "v", "w"])
    found = model.largest_weights("u", n=2)
    assert list(found) == ["x", "y", "z"]
    w = dict(zip(model.feature_names, model.coef_[0][model.tasks_.index("u")], strict=True))
    w["constant"] = model.intercept_[0][model.tasks_.index("u")]
    for each in found["x"]:
        assert each.shared + each.own == pytest.approx(w[each.name])
    graph = ct.MultitaskPerceptron(ct.TaskGraph([("u", "v")])).partial_fit([[1.0]], [True], task=["u"])
    (only,) = graph.largest_weights()
    assert (only.name, only.shared) == (0, pytest.approx(float(graph.coef_.mean())))
    kernel = ct.geometries.MultitaskKernelPerceptron().partial_fit([[1.0]], [True], task=["u"])
    assert kernel.largest_weights("u") == []
    with pytest.raises(ValueError, match=r"task 'z' was never seen: the model knows 2 tasks, see tasks_"):
        graph.largest_weights("z")
    with pytest.raises(ValueError, match="n must be"):
        graph.largest_weights(n=0)


def test_a_record_of_a_file_is_explained_beside_bad_ones(models, tmp_path):
    lines = (models / "clicks.csv").read_text().splitlines(keepends=True)
    price = lines[0].split(",").index("price")
    cells = lines[3].split(",")
    bad = ",".join([*cells[:price], "many", *cells[price + 1 :]])
    (tmp_path / "bad.csv").write_text("".join([*lines[:3], bad, *lines[4:]]))
    words = models / "words.coterie"
    predictions = terminal.run_json("explain", words, f"{tmp_path / 'bad.csv'}:9")["explanation"]
    assert predictions == terminal.run_json("explain", words, f"{models / 'clicks.csv'}:9")["explanation"]
    said = terminal.refused("explain", words, f"{tmp_path / 'bad.csv'}:4")
    assert said == f"{tmp_path / 'bad.csv'}:4: column 'price': 'many' is not a number"
