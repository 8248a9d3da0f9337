"""A model in a file: going on equals never having stopped, no other file is loaded, a full disk does no harm."""

from __future__ import annotations

import copy
import datetime
import importlib
import json
import os
import pickle
import pkgutil
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import pytest
import scipy.sparse as sp
from safetensors.numpy import save as pack

import coterie as ct
from coterie import numeric, persistence
from coterie.numeric import trees
from states import digest, reloaded
from streams import CASES, COVER, FORMS, RULES, as_dictionaries, linear_stream

STREAM = linear_stream(91, zeros=0.3)
HALF = 90


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.coterie"


def learn(model, case, first, last, form="dense"):
    tasks = STREAM.named(case.tasks)[first:last]
    return model.__stream_model__().learn(FORMS[form](STREAM.X[first:last]), STREAM.y[first:last], tasks).margin


def assert_same_state(one, other):
    assert digest(one) == digest(other)


def names(folder):
    return [each.name for each in folder.iterdir()]


# -- going on ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "storage", "form", "rule", "average"), COVER)
def test_going_on_equals_never_having_stopped(name, storage, form, rule, average, path):
    """From a file or as a copy, apart from the model: the two views that a sparse table has of its memory stay together."""
    case = CASES[name]
    through = ct.MultitaskPerceptron(case.relation, RULES[rule], average, storage=storage, bits=12)
    learn(through, case, 0, HALF, form)
    before = digest(through)
    others = reloaded(through, path), copy.deepcopy(through), pickle.loads(pickle.dumps(through))  # noqa: S301
    X, tasks = FORMS[form](STREAM.X), STREAM.named(case.tasks)
    told = through.decision_function(X, tasks)
    if storage == "sparse":  # which is in the file once, and as it lies there
        assert others[0].memory_ <= through.memory_ + 64
        assert path.stat().st_size < through.memory_ + 4000
    for other in others:
        assert other.get_params() == through.get_params()
        assert (other.tasks_, other.classes_.tolist()) == (through.tasks_, through.classes_.tolist())
        np.testing.assert_array_equal(other.decision_function(X, tasks), told)
    margins = [learn(other, case, HALF, 200, form) for other in others]
    assert digest(through) == before
    told = learn(through, case, HALF, 200, form)
    for other, margin in zip(others, margins, strict=True):
        np.testing.assert_array_equal(margin, told)
        assert_same_state(through, other)
        np.testing.assert_array_equal(through.coef_, other.coef_)


@pytest.mark.parametrize("name", ["half", "graph factor", "learned"])
def test_averages_of_single_precision_are_saved_with_their_twins(name, path):
    case = CASES["half" if name == "learned" else name]
    relation = ct.LogDet(0.01, step_norm=True) if name == "learned" else case.relation
    through = ct.MultitaskPerceptron(relation, average=True, dtype="float32")
    learn(through, case, 0, HALF)
    stopped = reloaded(through, path)
    np.testing.assert_array_equal(*(learn(model, case, HALF, 200) for model in (through, stopped)))
    assert_same_state(through, stopped)


@pytest.mark.parametrize("storage", ["auto", "sparse", "hashed"])
def test_stopping_after_every_record_changes_nothing(storage, path):
    relation = ct.Hierarchy("/", b=2.0)
    through, stopped = (ct.MultitaskPerceptron(relation, average=True, storage=storage, bits=10) for _ in range(2))
    for t, x in enumerate(as_dictionaries(STREAM.X[:60])):
        task = f"{t % 3}/{t % 11}"
        for model in (through, stopped):
            model.learn_one(x, bool(STREAM.y[t] > 0), task=task)
        stopped = reloaded(stopped, path)
        assert_same_state(through, stopped)


def test_parameters_too_long_for_a_header(path, monkeypatch):
    """A relation may map millions of tasks to their groups."""
    relation = ct.Clusters({f"task {i}": i % 7 for i in range(1000)}, b=1)
    model = ct.MultitaskPerceptron(relation).fit(STREAM.X, STREAM.y, [f"task {i}" for i in STREAM.task])
    for most in (2**24, 1000):
        monkeypatch.setattr(persistence, "HEADER_BYTES", most)
        again = reloaded(model, path)
        assert again.relation == relation
        assert_same_state(model, again)
        assert (len(persistence._read(path)[0]["spec"]) > 1000) == (most > 1000)


def test_a_model_that_learned_nothing(path):
    model = ct.MultitaskPerceptron(ct.MeanRegularized(b=3), bits=10)
    again = reloaded(model, path)
    assert (again.__sklearn_is_fitted__(), repr(again)) == (False, repr(model))
    again.fit(STREAM.X, STREAM.y)


def test_labels_of_numpys_kinds_become_plain(path):
    model = ct.MultitaskPerceptron()
    labels = (np.str_("a"), np.int64(3), np.float32(0.5), np.bool_(True), np.datetime64("2024-01-01"))
    for label in labels:
        model.learn_one({"x": 1.0}, True, task=label)
    assert model.tasks_ == ["a", 3, 0.5, True, datetime.date(2024, 1, 1)]
    assert reloaded(model, path).tasks_ == model.tasks_


def test_a_parameter_without_a_form_is_refused_before_anything_is_written(path):
    model = ct.MultitaskPerceptron().fit(STREAM.X, STREAM.y, STREAM.task).set_params(task_column=3j)
    with pytest.raises(TypeError, match=r"a complex .* has no JSON form; use numbers, strings, tuples or dates"):
        model.save(path)
    assert names(path.parent) == []


# -- files that are refused --------------------------------------------------------------------------------------------


@pytest.fixture
def saved(path):
    ct.MultitaskPerceptron(ct.MeanRegularized(b=3)).fit(STREAM.X[:5], [1, 0, 1, 0, 1]).save(path)
    return path


def refused(path, message, error=ValueError):
    with pytest.raises(error, match=message) as raised:
        ct.load(path)
    text = str(raised.value)
    assert str(path) in text
    assert "\n" not in text
    return text


def rewritten(path, tensors=None, **changes):
    """The file with other metadata under a checksum that fits."""
    metadata, held = persistence._read(path)
    metadata, held = metadata | changes, held | (tensors or {})
    metadata["checksum"] = persistence._checksum(metadata, held)
    path.write_bytes(pack(held, metadata))


@pytest.mark.parametrize(("version", "told"), [(f"{persistence.VERSION + 1}",) * 2, ("9" * 5000, "999999999")])
def test_a_newer_format(saved, version, told):
    rewritten(saved, version=version)
    refused(saved, f"has format {told}, and this version of coterie reads up to {persistence.VERSION}$")


def test_truncations(saved):
    whole = saved.read_bytes()
    for size in [*range(64), *range(64, len(whole), 5), len(whole) - 1]:
        saved.write_bytes(whole[:size])
        refused(saved, "is not a whole coterie model")
    saved.write_bytes(whole + b"\0")
    refused(saved, "is not a whole coterie model")


def test_every_altered_byte(saved):
    whole = saved.read_bytes()
    for place in range(len(whole)):
        flipped = whole[place] ^ (1 << place % 8)
        saved.write_bytes(whole[:place] + bytes([flipped]) + whole[place + 1 :])
        refused(saved, "is not a|was altered|has format")
    saved.write_bytes(whole)
    ct.load(saved)


def test_files_that_are_something_else(tmp_path):
    other, arrays = tmp_path / "other", {"weights": np.zeros(3)}
    foreign = "is not a coterie model: it is a safetensors file of another kind"
    for metadata, message in ((None, foreign), ({"format": "pt"}, foreign), ({"format": "coterie"}, "was altered")):
        other.write_bytes(pack(arrays, metadata))
        refused(other, message)
    for content in (b"", b"PAR1", b"\xff" * 100, json.dumps({"a": 1}).encode(), pickle.dumps([1, 2, 3])):
        other.write_bytes(content)
        refused(other, "is not a whole coterie model")
    refused(tmp_path / "nowhere" / "model", "there is no file", FileNotFoundError)
    refused(tmp_path, "is not a coterie model: it is a folder$")
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path / "pipe", Path("/dev/zero")):
        refused(place, "is not a coterie model: it is a pipe or a device, and a model is read from several places$")


def test_a_class_or_part_that_is_not_known(saved):
    spec = msgspec.json.decode(persistence._read(saved)[0]["spec"])
    rewritten(saved, spec=json.dumps(spec | {"class": "os.system"}))
    refused(saved, "holds a os.system, which this version of coterie does not know")
    for relation, message in (
        ({"$part": "Quantum", "fields": {}}, "unknown part 'Quantum': this version knows"),
        ({"$eval": "1"}, r"unknown JSON tag '\$eval'"),
    ):
        rewritten(saved, spec=json.dumps(spec | {"parameters": {"$dict": [["relation", relation]]}}))
        with pytest.raises(ValueError, match=message):
            ct.load(saved)


@pytest.mark.parametrize("name", ["MultitaskMirrorDescent", "SmoothedMultitaskPerceptron"])
def test_an_estimator_that_was_removed(name, saved):
    said = f"{name} was removed in coterie 0.3: version 0.2 reads the file"
    spec = msgspec.json.decode(persistence._read(saved)[0]["spec"])
    rewritten(saved, spec=json.dumps(spec | {"class": name}))
    refused(saved, said)
    inner = {"$model": name, "parameters": {}}
    around = {"class": "SelectiveSampling", "parameters": {"$dict": [["model", inner]]}}
    rewritten(saved, spec=json.dumps(spec | around))
    refused(saved, said)


def test_nothing_in_a_file_is_run(saved, tmp_path):
    """A file made with all care, checksum included, to name what would do harm if it were looked up or unpickled."""
    mark = tmp_path / "harm"
    harm = f"__import__('pathlib').Path({str(mark)!r}).touch()"
    spec = msgspec.json.decode(persistence._read(saved)[0]["spec"])
    for value in (
        {"$part": harm, "fields": {}},
        {"$part": "MeanRegularized", "fields": {harm: 1}},
        {"$part": "MeanRegularized", "fields": {"b": harm}},
        {"$array": "AAAA", "dtype": "O", "shape": [1]},
        {"$float": harm},
        {"$datetime": harm},
    ):
        rewritten(saved, spec=json.dumps(spec | {"parameters": {"$dict": [["relation", value]]}}))
        with pytest.raises((ValueError, TypeError)):
            ct.load(saved)
    assert not mark.exists()


# -- writing -----------------------------------------------------------------------------------------------------------


def test_a_link_stays_one_and_what_is_no_file_is_not_replaced(tmp_path):
    model, link = ct.MultitaskPerceptron(), tmp_path / "link.coterie"
    link.symlink_to(tmp_path / "model.coterie")
    model.save(link)
    assert link.is_symlink()
    assert ct.load(tmp_path / "model.coterie").get_params() == model.get_params()
    with pytest.raises(OSError, match="nowhere"):
        model.save(tmp_path / "nowhere" / "model")
    if Path("/dev/full").exists():
        with pytest.raises(OSError, match="is not a regular file"):
            model.save("/dev/full")
        assert Path("/dev/full").is_char_device()


def test_saving_replaces_and_takes_any_kind_of_path(tmp_path, monkeypatch):
    model = ct.MultitaskPerceptron().fit(STREAM.X, STREAM.y)
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        model.save("model")
        model.save(str(tmp_path / "model"))
        model.save(tmp_path / "model")
    assert names(tmp_path) == ["model"]
    np.testing.assert_array_equal(ct.load("model").coef_, model.coef_)


def test_zeros_take_no_room(path):
    model = ct.AdaptiveSharingClassifier(storage="dense")
    rows = sp.csr_array((np.ones(8), ([0, 0, 0, 0, 1, 1, 1, 1], [0, 3, 99_998, 99_999, 0, 4, 5, 6])), (2, 100_000))
    model.partial_fit(rows, [1, 0], task=["a", "b"])
    model.save(path)
    assert path.stat().st_size < 100_000

    assert_same_state(ct.load(path), model)


def test_thin_arrays_come_back_bit_for_bit():
    given = {name: np.zeros((2, 1024), name) for name in ("float64", "float32", "int64", "int32", "uint8", "bool")}
    given["float64"][0, 3], given["float64"][1, 1023] = -0.0, np.nan
    for array in given.values():
        array[1, 5] = 1
    thinned = persistence._thinned(given)
    assert sum(array.nbytes for array in thinned.values()) < 400
    for name, array in persistence._filled(thinned).items():
        assert array.tobytes() == given[name].tobytes()
        assert array.shape == given[name].shape


def test_no_two_kinds_of_model_have_one_name():
    """Which is what a file knows them by."""
    met = set()
    for found in pkgutil.walk_packages(numeric.__path__, "coterie.numeric."):
        module = importlib.import_module(found.name)
        for name, kind in vars(module).items():
            if name in trees._MODULES and hasattr(kind, "_fields") and kind.__module__ == module.__name__:
                assert trees.kind_named(name) is kind
                met.add(name)
    assert met == set(trees._MODULES)


def test_a_kind_of_model_from_outside_needs_a_name_of_its_own():
    class Grouped(NamedTuple):
        x: int

    with pytest.raises(ValueError, match="there is another kind of model named 'Grouped'"):
        trees.saved(Grouped)
