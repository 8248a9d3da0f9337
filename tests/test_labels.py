"""Labels, tasks and names of features: what a file could not give back is refused before anything is learned of it."""

import datetime
import decimal
import enum
import math
import uuid
import zoneinfo
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import coterie as ct
from states import content, reloaded
from terminal import refused

HALF = "\ud83d"
NEW_YORK = zoneinfo.ZoneInfo("America/New_York")


class Colour(enum.Enum):
    RED = 1


class InputShape(enum.IntEnum):
    SMALL = 1


class Shop(enum.StrEnum):
    NORTH = "north"


def nested(depth):
    return (nested(depth - 1),) if depth else "leaf"


#: Labels that come back from a file as they are.
KEPT = {
    "text": "ann",
    "umlaut": "Żółć Jörg 😀",
    "empty": "",
    "control": "a\nb\x00c",
    "number": 7,
    "large number": -(10**30),
    "fraction": 0.1,
    "smallest fraction": 5e-324,
    "infinity": float("inf"),
    "truth": True,
    "bytes": b"\xff\x00\x01",
    "tuple": ("fr", 2.5, (True, b"x", None)),
    "empty tuple": (),
    "nested": nested(49),
    "day": datetime.date(2020, 2, 29),
    "time": datetime.datetime(2020, 2, 29, 12, 30, 1, 999999),
    "time of a zone": datetime.datetime(2020, 2, 29, tzinfo=datetime.timezone(datetime.timedelta(hours=5.5))),
    "pandas' time": pd.Timestamp(1577836800123456000),
    "NumPy's text": np.str_("bob"),
    "word of an enumeration": Shop.NORTH,
    "number of an enumeration": InputShape.SMALL,
    "Decimal": decimal.Decimal("1.50"),
    "UUID": uuid.UUID(int=1),
}

#: Labels that do not, and what is said of them.
LOST = {
    "half a surrogate pair": (HALF, "half a surrogate pair"),
    "half a pair in a tuple": (("fr", HALF), "half a surrogate pair"),
    "nanoseconds": (pd.Timestamp(1577836800123456001), "finer than microseconds"),
    "first of two": (datetime.datetime(2022, 11, 6, 1, 30, tzinfo=NEW_YORK), "occurs twice or never in its zone"),
    "second of two": (datetime.datetime(2022, 11, 6, 1, 30, tzinfo=NEW_YORK, fold=1), "occurs twice or never"),
    "in no clock": (datetime.datetime(2022, 3, 13, 2, 30, tzinfo=NEW_YORK), "occurs twice or never in its zone"),
    "nested too deep": (nested(150), "nested too deep"),
    "much too deep": (nested(900), "nested too deep"),
    "infinite Decimal": (decimal.Decimal("inf"), "is not finite"),
    "set": (frozenset("a"), "a frozenset .* has no JSON form"),
    "enumeration": (Colour.RED, "a Colour .* has no JSON form"),
    "time of a day": (datetime.time(12, 30), "a time .* has no JSON form"),
    "duration": (datetime.timedelta(1), "a timedelta .* has no JSON form"),
    "complex": (1j, "a complex .* has no JSON form"),
    "part": (ct.Pooled(), "would come back as Pooled"),
    "NaN within": (("fr", float("nan")), "would come back as"),
    "too many digits": (10**5000, "digits"),
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.coterie"


def models():
    return [ct.MultitaskPerceptron(), ct.OneVsRest(), ct.MultitaskLogistic(max_tasks=9), ct.AdaptiveSharingClassifier()]


@pytest.mark.parametrize("name", KEPT)
def test_a_label_that_is_learned_comes_back_from_a_file(name, path):
    label = KEPT[name]
    for model in models():
        model.learn_one({"a": 1.0, ("b", 2): 1.0, 3: 1.0, 0.5: -1.0}, label, task=label)
        model.learn_one({"a": -1.0, 3: 1.0}, False if label is True else "other", task="other")
        again = reloaded(model, path)
        assert again.tasks_ == model.tasks_ == [label, "other"]
        assert hash(again.tasks_[0]) == hash(label)
        assert type(again.tasks_[0]) is type(label) or type(label).__module__ not in ("builtins", "datetime")
        assert again.__stream_model__().label_encoder.inside == model.__stream_model__().label_encoder.inside
        assert again.predict_one({"a": 1.0, 3: 0.5}, task=label) == model.predict_one({"a": 1.0, 3: 0.5}, task=label)
        assert path.read_bytes() == content(again, path)


def test_labels_that_look_alike_are_several_tasks(path):
    labels = [True, "True", (True,), 3, "3", 2.5, "2.5", b"a", "a", ("a",), datetime.date(2024, 2, 29), "2024-02-29"]
    task = np.array([*labels, None], object)[:-1]
    model = ct.MultitaskPerceptron().fit([[k + 1.0] for k in range(12)], [0, 1] * 6, task=task)
    again = reloaded(model, path)
    assert [(type(task), task) for task in again.tasks_] == [(type(task), task) for task in labels]
    np.testing.assert_array_equal(again.coef_, model.coef_)


@pytest.mark.parametrize("name", LOST)
def test_a_label_that_would_not_come_back_is_refused_before_it_is_learned(name, path):
    label, reason = LOST[name]
    record, tasks = {"a": 1.0}, np.empty(2, object)
    tasks[:] = ["ann", label]
    for model in models():
        for again in range(2):  # of a model that has learned nothing, and of one that has
            before = repr(model.__dump__()) if again else None
            for what, call, value in (
                ("task", model.learn_one, (record, "yes", label)),
                ("task", model.partial_fit, ([record, record], ["yes", "yes"], tasks, ["yes", "no"])),
                ("label", model.learn_one, (record, label, "ann")),
            ):
                with pytest.raises(ValueError, match=f"(?s){what} .* cannot be saved to a file: .*{reason}"):
                    call(*value)
            assert not again or repr(model.__dump__()) == before
            if not again:
                assert not model.__stream_model__().fitted
                model.learn_one(record, "yes", task="ann")
        reloaded(model, path)


@pytest.mark.parametrize("label", ["yes\0", b"yes\0", "\0"])
def test_a_label_that_arrays_of_text_would_cut_is_refused(label, tmp_path):
    """In arrays "yes" and "yes\\0" are one label; tasks, which are kept in lists, are two."""
    X, other = np.array([[1.0], [-1.0]] * 2), label[:-1]
    y = [other, label] * 2
    objects = np.array(y, object)
    frame = pd.DataFrame({"a": X[:, 0]})
    for model in models():
        for again in range(2):
            before = repr(model.__dump__()) if again else None
            for records, labels in ((X, y), (X, objects), (frame, pd.Series(objects)), (frame.to_dict("records"), y)):
                with pytest.raises(ValueError, match=r"label .*ends with a null character"):
                    model.partial_fit(records, labels, ["ann"] * 4)
            with pytest.raises(ValueError, match=r"label .*ends with a null character"):
                model.learn_one({"a": 1.0}, label, task="ann")
            assert not again or repr(model.__dump__()) == before
            if not again:
                model = type(model)(**model.get_params(deep=False))
                model.partial_fit(frame, ["no", "maybe"] * 2, ["ann"] * 4)
    for batch in (ct.batch.MultitaskSVC(), ct.batch.MultitaskKernelClassifier()):
        with pytest.raises(ValueError, match=r"label .*ends with a null character"):
            batch.fit(X, y, task=["ann"] * 4)
    if isinstance(label, str):
        path = tmp_path / "records.parquet"
        parquet.write_table(pa.table({"task": ["a", "b"] * 2, "a": X[:, 0], "y": y}), path)
        assert "ends with a null character" in refused("learn", path, "--task", "task", "--label", "y")
        model = ct.MultitaskPerceptron().fit(X, [True, False] * 2, task=objects)
        assert model.tasks_ == [other, label]
        assert reloaded(model, tmp_path / "model.coterie").tasks_ == [other, label]


@pytest.mark.parametrize("name", [HALF, ("a", HALF), 1j, None, math.nan, frozenset("a"), nested(80)])
def test_a_name_of_a_feature_that_would_not_come_back_is_refused(name, path):
    """One such record made a model impossible to save for ever."""
    for model in models():
        model.learn_one({"page": "home", "a": 1.0}, True, task="ann")
        before = repr(model.__dump__())
        with pytest.raises(ValueError, match=r"feature .* cannot be saved to a file"):
            model.learn_one({"a": 1.0, name: 1.0}, False, task="bob")
        with pytest.raises(ValueError, match=r"feature .* cannot be saved to a file"):
            model.partial_fit([{"a": 1.0}, {"b": 1.0, name: 1.0}], [True, False], ["ann", "bob"])
        assert repr(model.__dump__()) == before
        assert reloaded(model, path).tasks_ == ["ann"]


# -- commands ----------------------------------------------------------------------------------------------------------

ROWS = 60
#: Columns of Parquet that are no task, what is said, and what the first record at fault is.
COLUMNS = {
    "time": (pa.array([n % 3 for n in range(ROWS)], pa.time32("s")), 1, "a time"),
    "duration": (pa.array([n % 3 for n in range(ROWS)], pa.duration("s")), 1, "a timedelta"),
    "nanoseconds": (pa.array([1000 + n % 3 for n in range(ROWS)], pa.timestamp("ns")), 2, "finer than microseconds"),
    "list": (pa.array([[n % 3] for n in range(ROWS)]), None, "it has the type list"),
    "struct": (pa.array([{"a": n % 3} for n in range(ROWS)]), None, "it has the type struct"),
}


@pytest.mark.parametrize("role", ["task", "label"])
@pytest.mark.parametrize("name", COLUMNS)
def test_a_run_that_could_not_save_its_tasks_or_labels_does_not_begin(name, role, working_folder):
    column, line, reason = COLUMNS[name]
    names = {"task": "shop", "label": "late"} | {role: "odd"}
    shop, late = [f"s{n % 2}" for n in range(ROWS)], [n % 2 == 0 for n in range(ROWS)]
    table = pa.table({"odd": column, "shop": shop, "late": late, "x": np.linspace(-1, 1, ROWS)})
    parquet.write_table(table, "records.parquet")
    command = ["learn", "records.parquet", "--task", names["task"], "--label", names["label"], "--output", "m.coterie"]
    message = refused(*command)
    assert message.startswith(f"records.parquet{'' if line is None else f':{line}'}: column 'odd': ")
    assert reason in message
    assert not Path("m.coterie").exists()


@pytest.mark.parametrize(
    "of",
    [
        lambda words: pd.Categorical(words, categories=["unused", "y", "n"]),
        lambda words: pd.Series(pd.Categorical(words, categories=["n", "y", "unused"])),
        lambda words: pa.DictionaryArray.from_arrays(pa.array([{"n": t % 2 * 2, "y": 1}[w] for t, w in enumerate(words)]), pa.array(["n", "y", "n"])),
    ],
)  # fmt: skip
def test_categories_that_do_not_occur_are_no_labels_and_no_tasks(of):
    words, numbers = ["y", "n", "n", "y"] * 3, np.arange(12.0)
    for X in (numbers[:, None], pd.DataFrame({"a": numbers}), pd.DataFrame({"a": numbers, "w": ["x", "y"] * 6})):
        for records in (X, X.to_dict("records")) if isinstance(X, pd.DataFrame) else (X,):
            model = ct.OneVsRest(ct.MultitaskPerceptron()).partial_fit(records, of(words), task=of(words))
            assert list(model.classes_) == ["n", "y"]
            assert sorted(model.tasks_) == ["n", "y"]


@pytest.mark.parametrize("unit", ["D", "s", "ms", "us", "ns"])
def test_a_task_that_is_a_time_of_numpy_is_one_task_in_every_call(unit):
    days = np.array(["2024-01-01", "2024-02-29"], f"M8[{unit}]")
    model = ct.MultitaskLogistic().partial_fit([{"a": 1.0}, {"a": -1.0}], [True, False], task=days)
    for day in days:
        model.learn_one({"a": 1.0}, True, task=day)
    assert len(model.tasks_) == 2
    with pytest.raises(ValueError, match="finer than microseconds"):
        model.learn_one({"a": 1.0}, True, task=np.datetime64("2024-01-01T00:00:00.000000001"))
