"""Records of several views from files: learned, gone on with, predicted, compared and reported."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import coterie as ct
from coterie.inputs.encoding import Encoder
from coterie.inputs.view_encoding import ViewColumns, ViewEncoder
from coterie.io.readers import read
from coterie.io.schema import named_views
from coterie.jobs.summary import summarize
from terminal import refused, run, run_json

VIEWS = ("--view", "sound=pitch,loud", "--view", "image=i_*")


def clips(n=240, seed=0):
    """Records with a sound, an image of three numbers, a title, and a column that is in no view."""
    rng = np.random.default_rng(seed)
    for i in range(n):
        kind = ("cat", "dog")[int(rng.integers(2))]
        sign = 1.0 if kind == "dog" else -1.0
        sound = sign + rng.normal(size=2) if rng.random() < 0.8 else [None, None]
        image = 0.5 * sign + rng.normal(size=3)
        title = " ".join(rng.choice(["bark", "bone"] if sign > 0 else ["purr", "milk"], 2))
        names = ("pitch", "loud", "i_0", "i_1", "i_2")
        numbers = [None if x is None else round(float(x), 3) for x in (*sound, *image)]
        yield {"kind": kind} | dict(zip(names, numbers, strict=True)) | {"title": title, "number": i}


def write(path, records):
    records = list(records)
    if path.suffix == ".csv":
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, records[0])
            writer.writeheader()
            writer.writerows(records)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    else:
        table = pa.Table.from_pylist(records)
        (pq.write_table if path.suffix == ".parquet" else pyarrow.feather.write_feather)(table, str(path))
    return path


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return write(tmp_path_factory.mktemp("clips") / "clips.csv", clips())


def learned(path, *options):
    """The model that a command saves."""
    out = path.parent / "made.coterie"
    run("learn", path, *options, "--quiet", "--alone", "--output", out)
    return ct.load(out)


def test_views_of_a_table_are_those_of_arrays(file):
    records = list(clips())
    reader = read(file, label="kind", views=named_views(VIEWS[1::2]), constant=False, scale="none")
    found = ct.progressive_validation(ct.views.OrthogonalMultiviewPerceptron(p=3), reader)
    sound = np.array([[record["pitch"] or 0.0, record["loud"] or 0.0] for record in records])
    image = np.array([[record[f"i_{j}"] for j in range(3)] for record in records])
    X = {"sound": ct.views.PartialBlock(sound, [record["pitch"] is not None for record in records]), "image": image}
    y = np.array([record["kind"] for record in records])
    wanted = ct.progressive_validation(ct.views.OrthogonalMultiviewPerceptron(p=3), X, y)
    np.testing.assert_array_equal(found.margin, wanted.margin)
    np.testing.assert_array_equal(found.weights.lengths, wanted.weights.lengths)
    assert reader.columns["pitch"] == "view sound"
    assert reader.dropped == dict.fromkeys(("title", "number"), "it is in no view")


@pytest.mark.parametrize("suffix", ["jsonl", "parquet", "arrow"])
def test_all_formats_of_columns_have_views(file, suffix, tmp_path):
    options = {"label": "kind", "views": {"sound": ("pitch", "loud"), "words": ("title",)}, "text": "title", "bits": 10}
    blocks = [next(iter(read(path, **options))) for path in (file, write(tmp_path / f"f.{suffix}", clips()))]
    for array in ("values", "features", "starts"):
        np.testing.assert_array_equal(*(getattr(block.X.rows, array) for block in blocks))
    np.testing.assert_array_equal(*(block.X.present for block in blocks))
    assert not blocks[0].X.present[:, 0].all()
    assert blocks[0].X.present[:, 1].all()


def test_an_absent_view_has_no_constant_either(tmp_path):
    records = [{"y": "a", "u": 1.0, "t": "x"}, {"y": "b", "u": None, "t": "x"}, {"y": "b", "u": 2.0, "t": ""}]
    path = write(tmp_path / "c.csv", records)
    X = next(iter(read(path, label="y", views=named_views(["u", "t"]), bits=10, scale="none"))).X
    assert X.present.tolist() == [[True, True], [False, True], [True, False]]
    assert np.diff(X.rows.starts).tolist() == [2, 2, 0, 2, 2, 0]


def test_namespaces_are_views(tmp_path):
    path = tmp_path / "f.vw"
    path.write_text("1 |A x:2 y |B x |C z\n-1 |B w:0.5\n1 |A\n")
    reader = read(path, views={"one": ("A", "C"), "B": ("B",)}, bits=10, constant=False, scale="none")
    X = next(iter(reader)).X
    assert X.present.tolist() == [[True, True], [False, True], [False, False]]
    plain = ["A^x", "A^y", "C^z"]
    from coterie.numeric.core.hashing import feature_hash

    order = np.argsort([feature_hash(key, 10) for key in plain])
    assert X.rows.features[:3].tolist() == sorted(feature_hash(key, 10) for key in plain)
    assert X.rows.values.tolist() == [*np.array([2.0, 1.0, 1.0])[order], 1.0, 0.5]
    assert reader.columns == {"label": "label", "A": "view one", "C": "view one", "B": "view B"}
    every = read(path, views={"*": ("*",)}, one_space=True, bits=10, constant=False)
    X = next(iter(every)).X
    assert X.views.names == ["A", "B", "C"]
    assert set(X.rows.features.tolist()) == {feature_hash(f"A^{name}", 10) for name in "xyzw"}  # one feature x for all


def test_going_on_equals_one_pass_and_predicting_reads_the_same_views(tmp_path):
    records = list(clips())
    parts = {"whole": records, "first": records[:100], "rest": records[100:]}
    whole, first, rest = (write(tmp_path / f"{name}.csv", part) for name, part in parts.items())
    run("learn", whole, "--label", "kind", *VIEWS, "-q", "--alone", "--output", tmp_path / "a")
    run("learn", first, "--label", "kind", *VIEWS, "-q", "--output", tmp_path / "b")
    run("learn", rest, "--from", tmp_path / "b", "-q", "--output", tmp_path / "b")
    told = [run("predict", tmp_path / name, whole).stdout for name in "ab"]
    assert told[0] == told[1]
    table = list(csv.DictReader(told[0].splitlines()))
    assert list(table[0]) == ["place", "prediction", "margin"]
    model = ct.load(tmp_path / "a")
    named = {"sound": {name: records[0][name] for name in ("pitch", "loud")}}
    named["image"] = {f"i_{j}": records[0][f"i_{j}"] for j in range(3)}
    assert model.decision_function_one(named) == pytest.approx(float(table[0]["margin"]), rel=1e-12)
    model.learn_one(named, "dog")
    with pytest.raises(ValueError, match="view 'smell' is unknown"):
        model.learn_one({"smell": {}}, "dog")
    reader = read(whole, encoder=model.encoder_, update=False, label="kind")
    other = ct.views.OrthogonalMultiviewPerceptron().partial_fit(
        {"sound": [[1.0], [2.0]], "image": [[1.0], [2.0]]}, [0, 1]
    )
    with pytest.raises(ValueError, match=r"widths are .*'sound': 3, 'image': 4.*model learned .*'sound': 1"):
        other.__stream_model__().predict(next(iter(reader)))


def test_encoders_of_views_come_back():
    columns = ViewColumns("a", ("x",), Encoder([("x", "numeric")], scale="auto"), ("x",))
    encoder = ViewEncoder([columns], label="y")
    assert repr(ViewEncoder.from_state(*encoder.to_state())) == repr(encoder)


ASKED_FOR = {
    "orthogonal": "OrthogonalMultiviewPerceptron(average=True)",
    "orthogonal(5, rule=pa1(C=0.5), average=false)": (
        "OrthogonalMultiviewPerceptron(p=5.0, rule=PassiveAggressive(C=0.5, variant='I'))"
    ),
    "orthogonal(auto)": "OrthogonalMultiviewPerceptron(p='auto', average=True)",
}


def test_learners_of_views_can_be_asked_for(file):
    for learner, model in ASKED_FOR.items():
        assert repr(learned(file, "--label", "kind", *VIEWS, "--learner", learner)) == model
    views = ("--view", "sound=pitch,loud", "--view", "image=i_0,i_1", "--learner", "matrix(average=false)")
    model = learned(file, "--label", "kind", *views)
    assert repr(model) == "MultiviewPerceptron()"
    assert [part.called for part in model.encoder_.parts] == [("pitch", "loud")] * 2
    assert refused("learn", file, "--label", "kind", *VIEWS, "--learner", "matrix") == (
        "all views must have the same features here: 'sound' has 2, 'image' has 3; for views of different sizes use "
        "OrthogonalMultiviewPerceptron, or a kernel for each pair of views"
    )


def test_views_are_compared_with_each_alone_and_all_side_by_side(file, tmp_path):
    told = run_json("compare", file, "--label", "kind", *VIEWS, "--learner", "p=1", "--learner", "p=4")
    alone = ["sound alone", "image alone", "in parallel", "side by side"]
    assert list(told["learners"]) == ["p=1", "p=4", *alone, "constant"]
    measured = told["learners"]
    assert measured["p=1"]["micro"] == measured["side by side"]["micro"]
    assert sum(told["views"].values()) == pytest.approx(1.0)
    assert told["sentences"][0].startswith("p=1 did not clearly change mean error")


def test_the_summary_tells_the_weight_of_each_view(file, tmp_path):
    out = tmp_path / "r.html"
    said = run("learn", file, "--label", "kind", *VIEWS, "--report", out, "--output", tmp_path / "m").stdout
    assert re.search(r"(?m)^sound +\d+\.\d %$", said)
    assert "2 views)" in said
    page = out.read_text()
    ids = re.findall(r'\sid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert "Does it help to combine the views?" in page


def test_shares_are_those_of_the_weights():
    rng = np.random.default_rng(0)
    X, y = [rng.normal(size=(300, 3)) for _ in range(2)], rng.choice([-1, 1], 300)
    four = [rng.normal(size=(300, 2)) for _ in range(4)]  # more views than features
    for model, views in (
        (ct.views.MultiviewPerceptron(2), four),
        (ct.views.OrthogonalMultiviewPerceptron(3), X),
        (ct.views.MultiviewPerceptron(3), X),
    ):
        weights = ct.progressive_validation(model, views, y, delay=2).weights
        assert weights.rounds[-1] == 300
        assert (np.diff(weights.rounds) > 0).all()
        own = [np.linalg.norm(each) for each in model.view_weights_.values()]
        np.testing.assert_allclose(weights.lengths[-1], own, rtol=1e-9)
        np.testing.assert_allclose(weights.shares[-1].sum(), 1.0)
    dual = ct.progressive_validation(ct.views.MultiviewPerceptron(3, "linear"), X, y, delay=2).weights
    np.testing.assert_allclose(dual.lengths[-1], own, rtol=1e-9)
    model = ct.views.OrthogonalMultiviewPerceptron(3, inner=4.0)
    weights = ct.progressive_validation(model, X, y).weights
    own = [np.sum(np.abs(each) ** (4 / 3)) ** (3 / 4) for each in model.view_weights_.values()]  # the norm dual to 4
    np.testing.assert_allclose(weights.lengths[-1], own, rtol=1e-9)


def test_compare_takes_views_and_gives_a_verdict():
    rng = np.random.default_rng(0)
    thing = rng.normal(size=(600, 5))
    y = np.where(thing[:, 0] > 0, "cat", "dog")
    X = {"left": thing + rng.normal(size=thing.shape), "right": thing + rng.normal(size=thing.shape)}
    found = ct.compare({"p=3": ct.views.OrthogonalMultiviewPerceptron(3)}, X, y)
    assert list(found.models) == ["p=3", "left alone", "right alone", "in parallel", "side by side"]
    for name, (model, records) in ct.views.view_baselines(X).items():
        told = found.traces[f"{name} alone" if name in X else name]
        np.testing.assert_array_equal(told.margin, ct.progressive_validation(model, records, y).margin)
    best = min(("left alone", "right alone"), key=lambda name: found.traces[name].error)
    assert found.reference_names == (best, "side by side")
    summary = summarize(found, "p=3")
    assert summary.verdict.overall.gain == pytest.approx(found.traces[best].error - found.traces["p=3"].error)
    assert summary.verdict.against == f"the view {best.removesuffix(' alone')} by itself"
    assert summary.sentences[0].endswith(f"against {summary.against[summary.best].against}.")
    assert summary.best in found.reference_names
    as_records = [{name: dict(enumerate(block[t])) for name, block in X.items()} for t in range(60)]
    named = [{view: {str(j): float(x) for j, x in own.items()} for view, own in each.items()} for each in as_records]
    again = ct.compare({"p=3": ct.views.OrthogonalMultiviewPerceptron(3)}, named, y[:60])
    np.testing.assert_allclose(again.traces["p=3"].margin, found.traces["p=3"].margin[:60], rtol=1e-9, atol=1e-12)


def test_a_view_that_no_record_has_is_not_compared_with():
    y = [0, 1, 0]
    for X in ({"a": [[1.0], [2.0], [1.0]], "b": None}, [[[1.0], [2.0], [1.0]], None]):
        found = ct.compare({"both": ct.views.OrthogonalMultiviewPerceptron()}, X, y)
        first = next(iter(X)) if isinstance(X, dict) else 0
        assert list(found.models) == ["both", f"{first} alone", "in parallel", "side by side"]


def test_heterogeneous_tasks_are_compared_with_independent_ones():
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(200, 3))
    X = {"text": hidden @ rng.normal(size=(3, 6)), "image": hidden @ rng.normal(size=(3, 4))}
    y, active = np.where(hidden[:, 0] > 0, "yes", "no"), rng.choice(["text", "image"], 200)
    found = ct.compare({"agreeing": ct.geometries.HeterogeneousMultitaskPerceptron(b=1.0)}, X, y, task=active)
    assert list(found.models) == ["agreeing", "independent"]
    alone = ct.progressive_validation(ct.geometries.HeterogeneousMultitaskPerceptron(b=0.0), X, y, task=active)
    np.testing.assert_array_equal(found.traces["independent"].margin, alone.margin)
    assert set(summarize(found).against) == {"independent", "constant"}


REFUSED = {
    "--view sound=pich": "there is no column 'pich' among .*; did you mean 'pitch'?",
    "--view sound=q_*": "no column matches 'q_*' of the view 'sound'",
    "--view a=pitch --view a=loud": "the view 'a' is given twice",
    "--view a=pitch --view b=pitch": "the column 'pitch' is in two views, 'a' and 'b'",
    "--view a=i_0 --view b=i_*": "the column 'i_0' is in two views, 'a' and 'b'",
    "--view =pitch": "view is '=pitch'; expected NAME=COLUMN",
    "--view kind": "the column 'kind' is named both as label and in the view 'kind'",
    "--view pitch --task number": "--task does not go with views",
    "--view pitch --features loud": "--features does not go with views, which name their columns themselves",
    "--view pitch --share 0.5": "share cannot be given with the other options of the learner",
    "--view pitch --learner orthogonal(rule=arow)": "views cannot move by AROW()",
    "--view pitch --learner orthogonal(0.5)": "p must be 'auto' or a finite number, at least 1, got 0.5",
    "--view pitch --learner matrx": "did you mean 'matrix'?",
    "--view pitch --learner ask(adaptive)": "ask is a learner of classes; expected one of matrix, orthogonal",
    "--task number --learner orthogonal": "orthogonal is a learner of records of views; expected one of adaptive",
    "--view a=pitch --ignore pitch": "the column 'pitch' is to be ignored, and is named in the view 'a'",
}
ELSEWHERE = {
    "learn clips.csv --from m --view pitch": "--view cannot be given with --from",
    "relations m": "learned records of several views, which have no tasks",
    "learn f.svm --view a=1": "views do not apply to svmlight",
    "learn f.vw --view A --view C": "there is no namespace 'C' among 'A', 'B'",
    "predict m f.vw": "holds vw, and the encoder was made for columns",
    "learn t.csv --label kind --view pitch": "'c' is a third label, after 'a' and 'b'; learners of several views know two",
}


def test_what_does_not_go_with_views(file, tmp_path, monkeypatch):
    for options, message in REFUSED.items():
        told = refused("learn", file, "--label", "kind", *options.split())
        assert re.search(re.escape(message).replace(r"\.\*", ".*"), told), options
    monkeypatch.chdir(tmp_path)
    write(Path("clips.csv"), clips())
    run("learn", "clips.csv", "--label", "kind", *VIEWS, "-q", "--alone", "--output", "m")
    Path("f.svm").write_text("1 1:2\n")
    Path("f.vw").write_text("1 |A x\n-1 |B y\n")
    write(Path("t.csv"), [{"kind": kind, "pitch": 1.0} for kind in "abc"])
    for command, message in ELSEWHERE.items():
        assert message in refused(*command.split()), command
