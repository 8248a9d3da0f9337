"""Records one at a time: the quick way of calling compiled code gives what blocks give, whatever happens in between."""

import copy
import math
import pickle
import sys
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType

import numpy as np
import pytest

import coterie as ct
import raw
from coterie._compiled.core import dictionaries
from coterie._compiled.weights.dense import RowMajorPairs
from coterie._compiled.weights.table import second
from slow import slow
from states import dense

TASKS = ["ann", "bob", "cyd"]
MODELS = {
    "half": lambda **kw: ct.MultitaskPerceptron(**kw),
    "averaged": lambda **kw: ct.MultitaskPerceptron(average=True, **kw),
    "sparse": lambda **kw: ct.MultitaskPerceptron(storage="sparse", **kw),
    "averaged, sparse": lambda **kw: ct.MultitaskPerceptron(average=True, storage="sparse", **kw),
    "graph": lambda **kw: ct.MultitaskPerceptron(ct.TaskGraph([("ann", "bob"), ("bob", "cyd")]), **kw),
    "learned": lambda **kw: ct.MultitaskPerceptron(ct.LogDet(1e-6), **kw),
    "logistic": lambda **kw: raw.MultitaskLogistic(**kw),
    "mixture": lambda **kw: raw.AdaptiveSharingClassifier(**kw),
}
#: Each model has six functions of its own here, and these show little that the others do not.
SELDOM = ("averaged, sparse", "learned", "sparse", "graph", "logistic")


def models(*names):
    return pytest.mark.parametrize("name", [slow(name) if name in SELDOM else name for name in names])


def stream(n=150, features=40, seed=0):
    rng = np.random.default_rng(seed)
    records = []
    for _ in range(n):
        names = rng.choice(features, 6, replace=False)
        x = {f"f{j}": float(rng.normal()) for j in names}
        records.append((x, bool(rng.random() < 0.5), TASKS[rng.integers(3)]))
    return records


def learned(model=None, records=None):
    model = MODELS["averaged"]() if model is None else model
    for x, y, task in stream() if records is None else records:
        model.learn_one(x, y, task)
    return model


def learn_both(quick, slow, records):
    """Dictionaries, which the one reads quickly, and other mappings, which the other does not: both say the same."""
    for x, y, task in records:
        assert quick.predict_one(x, task) == slow.predict_one(MappingProxyType(x), task)
        quick.learn_one(x, y, task)
        slow.learn_one(MappingProxyType(x), y, task)
    np.testing.assert_array_equal(dense(quick.coef_), dense(slow.coef_))


@models("half", "averaged", "averaged, sparse")
@pytest.mark.parametrize("make", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])  # noqa: S301
def test_a_copy_goes_on_by_itself(make, name):
    records = stream()
    model, other = MODELS[name](), None
    for t, (x, y, task) in enumerate(records):
        if t == 100:
            other = make(model)
        model.learn_one(x, y, task)
    before = model.coef_.copy()
    for x, y, task in records[100:]:
        other.learn_one(x, y, task)
    np.testing.assert_array_equal(other.coef_, before)
    other.learn_one(*records[0][:2], "ann")
    np.testing.assert_array_equal(model.coef_, before)


ARRIVALS = {name: MODELS[name] for name in ("half", "averaged", "averaged, sparse", "learned", "logistic")} | {
    "clusters": lambda: ct.MultitaskPerceptron(
        ct.Clusters({f"u{i}": i % 3 for i in range(20)} | dict.fromkeys(TASKS, 7))
    )
}


@models(*ARRIVALS)
def test_tasks_that_arrive_between_quick_rounds_learn_as_any(name):
    late = enumerate(stream(80, seed=3))
    records = stream(60) + [(x, y, f"u{t // 4}" if t % 2 else task) for t, (x, y, task) in late]
    quick, slow = ARRIVALS[name](), ARRIVALS[name]()
    learn_both(quick, slow, records)
    assert quick.tasks_ == slow.tasks_ == list(dict.fromkeys(task for _, _, task in records))
    np.testing.assert_array_equal(quick.relation_matrix_, slow.relation_matrix_)


def test_a_weight_is_kept_whose_second_number_is_zero():
    pairs = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 3.0], [1.0, 1.0]])
    table = RowMajorPairs(pairs.ravel().copy(), 8).to_sparse()
    np.testing.assert_array_equal(table.rows(1, 4), [pairs[:, 0]])
    np.testing.assert_array_equal(second(table).rows(1, 4), [pairs[:, 1]])
    assert table.count.tolist() == [3]


@models("half", "mixture")
def test_unseen_features_of_dictionaries_read_by_compiled_code_count_as_in_any(name):
    model = learned(MODELS[name](), with_strings())
    unseen = [{"g": 2.0}, {"g": -1, "h": np.float32(0.5)}, {"colour": "g"}, {"f1": "x"}, {"g": "a", "h": 3}, {"": 1.0}]
    for (x, _, task), more in zip(with_strings(12, seed=1), 2 * unseen, strict=True):
        predictions = [model.decision_function_one(record, task) for record in (x | more, MappingProxyType(x | more))]
        assert predictions[0] == predictions[1]
        assert predictions[0] == pytest.approx(model.decision_function([x | more], [task])[0], rel=1e-12)


def with_strings(n=150, seed=0):
    """Records of the stream with strings as well, of few values, some of them with the sign between name and value."""
    rng = np.random.default_rng(seed)
    words = ["red", "blue", "", "a=b", "ö≠\N{GRINNING FACE}", "a longer string of several words"]
    more = [{"colour": words[rng.integers(6)], "colour=a": "bc"[rng.integers(2)]} for _ in range(n)]
    return [(x | also, y, task) for also, (x, y, task) in zip(more, stream(n, seed=seed), strict=True)]


@pytest.mark.parametrize("name", ["averaged", slow("sparse"), "mixture"])
def test_strings_are_read_by_quick_rounds_as_a_block_reads_them(name):
    records, tests = with_strings(), with_strings(30, seed=1)
    block = MODELS[name]()
    block.partial_fit(*(list(column) for column in zip(*records, strict=True)), tasks=TASKS)
    single = MODELS[name]()
    single.partial_fit([records[0][0]], [records[0][1]], task=[records[0][2]], tasks=TASKS)
    for x, y, task in records[1:]:
        single.learn_one(MappingProxyType(x) if y else x, y, task)
    assert single.feature_names == block.feature_names
    np.testing.assert_array_equal(single.coef_, block.coef_)
    predictions = [single.decision_function_one(x, task) for x, _, task in tests]
    xs, _, tasks = (list(column) for column in zip(*tests, strict=True))
    np.testing.assert_array_equal(predictions, block.decision_function(xs, task=tasks))
    fast, rounds = single.__stream_model__().fast_path, single.state_.rounds
    plain = [(x, y, task) for x, y, task in tests if x["colour"]]  # nothing is missing
    for x, y, task in plain:
        assert fast.score(x, task) == fast.score(x, task)  # not NaN: read by compiled code
        assert fast.learn(x, y, task, single.__stream_model__().label_encoder) is not None
    assert single.state_.rounds == rounds + len(plain) > rounds


class Odd(dict):
    """A dictionary whose walk gives something else than its cells hold."""

    def items(self):
        return [("f1", 1.0)]

    def values(self):
        return [1.0]

    def __iter__(self):
        return iter(["f1"])


@pytest.mark.parametrize(
    "same",
    [
        {"f1": 1},
        {"f1": True},
        {"f1": np.float32(1)},
        {"f1": np.int64(1)},
        {"f1": 1.0, "unknown": 5.0},
        {"f1": 1.0, "f1=red": 0.0, "unknown": "blue"},
        {str(np.str_("f1")): 1.0},
        OrderedDict(f1=1.0),
        Odd(f2=2.0),
    ],
)
def test_a_prediction_does_not_depend_on_how_numbers_are_written(same):
    model = learned()
    assert model.decision_function_one(same, "ann") == model.decision_function_one({"f1": 1.0}, "ann") != 0.0


class Hostile:
    """A name that cannot be compared with others of its hash."""

    def __hash__(self):
        return hash("f1")

    def __eq__(self, other):
        raise RuntimeError("not comparable")


class WithoutHash(type):
    __hash__ = None


class Strange(metaclass=WithoutHash):
    """A value whose type is found in no set."""


class Raising(float):
    def __float__(self):
        raise RuntimeError("not to be had")


class Once:
    """A name that a dictionary could hold once."""

    def __init__(self):
        self.asked = 0

    def __hash__(self):
        self.asked += 1
        if self.asked > 1:
            raise RuntimeError("asked twice")
        return 1


def test_reading_keeps_no_reference():
    model, x = learned(), {"f1": 1.0, "f2": np.float32(2), "unknown": 4.0, "f3": "a string", "f4": "red"}
    model.learn_one({"f4": "red"}, True, "ann")

    def references():
        return [sys.getrefcount(item) for item in (x, float, np.float32, *x, *x.values())]

    before = references()
    for _ in range(100):
        model.predict_one(x, "ann")
    assert references() == before


def test_threads_may_predict_with_one_model():
    model, records = learned(), stream(400, seed=2)
    expected = [model.decision_function_one(x, task) for x, _, task in records]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            assert list(pool.map(lambda record: model.decision_function_one(record[0], record[2]), records)) == expected


def settled(model=None):
    """A model that has come to its quickest way of learning one record."""
    model = learned(model)
    for x, y, task in stream(20):
        model.learn_one(x, y, task)
        model.predict_one(x, task)
    assert model.__stream_model__().fast_path is not None
    return model


class Text(str):
    """A string that is written otherwise than it is."""

    def __format__(self, code):
        return "red"


NAMES = ["a", "b", "ö", 3, -1, True, 2.5, (1, "a"), None, np.str_("a"), Text("b"), "unknown"]
VALUES = [1, -1, True, 0.5, -1.0, -0.0, 2**62, -(10**400), np.float64(-1), np.float32(0.1), np.int64(3), 1e200, np.inf]
VALUES += [math.nan, "red", "c=d", "ö", "", Text("red"), b"red", None, [1.0], Decimal(1), Fraction(1, 3), Raising(1.0)]


@pytest.mark.parametrize("plain", [dictionaries.PLAIN, dictionaries.WITHOUT_TRUTH_VALUES])
def test_compiled_code_reads_dictionaries_as_python_does(plain):
    named = [*NAMES, "a=red", "ö=ö", "b=c=d", Text("b=red"), "a="]
    numbers = {name: 7 * column for column, name in enumerate(dict.fromkeys(named)) if name != "unknown"}
    records = [{}] + [{"b": 2.0, name: value, "a": "red"} for name in NAMES for value in VALUES]
    plain_records = 0
    for record in records:
        read = dictionaries.read_dictionary(record, numbers, plain)
        expected = dictionaries.read_in_python(record, numbers, plain)
        assert (read is None) == (expected is None), record
        if read is not None:
            assert [array.dtype for array in read] == [np.float64, np.int32]
            assert [array.tobytes() for array in read] == [array.tobytes() for array in expected], record
            plain_records += 1
    assert 50 < plain_records < len(records)


LONG_WAY = [
    {"new": 1.0, "f1": 1.0},
    {"f1": "red", "f2": 1.0},
    {"f1": Text("blue"), "f2": 1.0},
    {"f2": 1.0, "f1": np.str_("red")},
    {Text("red"): "red"},
    MappingProxyType({"f1": 1.0}),
    {f"f{j % 40}" if j < 40 else f"more{j}": 0.1 for j in range(1500)},
]


@pytest.mark.parametrize("x", LONG_WAY)
@models("half", "averaged, sparse", "graph", "learned")
def test_quick_rounds_go_over_into_long_ones_and_back(name, x):
    quick, slow = settled(MODELS[name]()), settled(MODELS[name]())
    odd = [(x, True, "ann"), (x, False, "bob"), (x, True, "bob")]
    learn_both(quick, slow, odd[:1] + stream(20, seed=4) + odd[1:])
    assert quick.state_.rounds == slow.state_.rounds


#: Records after which a number, a category, and a name that was always missing are known.
TABLE = [
    ({"price": 0.5 * t, "colour": ["red", "blue"][t % 2], "gap": None, "flag": float(t % 3)}, t % 3 == 0)
    for t in range(60)
]
NEW = [
    {"new": 3.0},
    {"new": "x"},
    {"colour": "green"},
    {"price": "dear"},
    {"gap": 2.0},
    {"new": -1.0, "colour": "green", "other": "y", "gap": 4.0},
    {"colour": 2.0},
]


@pytest.mark.parametrize("new", NEW, ids=str)
@pytest.mark.parametrize(
    "model",
    [
        ct.AdaptiveSharingClassifier(),
        ct.MultitaskMixedEffectsClassifier(),
        ct.MultitaskMixedEffectsClassifier(scale="unit"),
        ct.MultitaskLogistic(),
        ct.MultitaskLogistic(scale="unit"),
    ],
    ids=str,
)
def test_features_that_no_record_had_take_the_fast_path(model, new):
    model = model.__sklearn_clone__()
    for t, (x, y) in enumerate(TABLE):
        model.learn_one(x, y, task=["ann", "bob"][t % 2])
    record = {"price": 3.0, "colour": "red"} | new
    model.predict_one({"price": 3.0, "colour": "red"}, "ann")  # known names only: opens the fast path
    margin = model.__stream_model__().fast_path.score(record, "ann")
    assert margin == pytest.approx(model.decision_function([record, record], task=["ann", "new"])[0], rel=1e-12)


CHANGES = {
    "set_params": lambda model: model.set_params(class_weight={True: 0.25}),
    "fit": lambda model: model.fit(*(list(column) for column in zip(*stream(9, seed=7), strict=True))),
    "partial_fit": lambda model: model.partial_fit([{"f1": 2.0}], [True], task=["ann"]),
    "restore": lambda model: model.__restore__(*learned(records=stream(9, seed=7)).__dump__()),
    "as_block": lambda model: model.__stream_model__().as_block([{"other": 2.0}], [True], task=["ann"]),
}


@pytest.mark.parametrize("change", CHANGES)
def test_quick_rounds_see_what_was_changed(change):
    quick, slow = settled(), settled()
    for model in (quick, slow):
        CHANGES[change](model)
    learn_both(quick, slow, [({"other": 1.0, "f1": 1.0}, True, "ann"), *stream(20, seed=4)])
    assert quick.feature_names == slow.feature_names


#: What no record may hold, and what is said of it.
NO_RECORDS = [
    ({"f1": 1.0, "f2": Strange()}, ValueError, "feature 'f2' must be a finite number or a string, got <"),
    ({"f1": Raising(1.0)}, RuntimeError, "not to be had"),
    ({"f1": [1.0]}, ValueError, r"feature 'f1' must be a finite number or a string, got \[1.0\]"),
    ({"f1": b"1"}, ValueError, "feature 'f1' must be a finite number or a string, got b'1'"),
    ({"f1": -(10**400)}, ValueError, "feature 'f1' must be a finite number or a string"),
    ({"f1": 1e101}, ValueError, r"feature 'f1': 1e\+101 is beyond the limit of 1e\+100"),
    ({Once(): 1.0}, RuntimeError, "asked twice"),
    ({"f1": None}, ValueError, "feature 'f1' must be a finite number or a string, got None"),
    ({"f1": 1.0, "f2": float("nan")}, ValueError, "feature 'f2' must be a finite number"),
    ({"f1": 1.0, "f2": -float("inf")}, ValueError, "feature 'f2' must be a finite number"),
    ({"f1": 1.0, "f2": 10**400}, ValueError, "feature 'f2' must be a finite number"),
    ({"f1": 1j}, ValueError, "feature 'f1' must be a finite number"),
    ({Hostile(): 1.0}, RuntimeError, "not comparable"),
]
NO_CALLS = [
    (lambda model: model.learn_one({"f1": 1.0}, "third", "ann"), ValueError, "expected two labels"),
    (lambda model: model.learn_one({"f1": 1.0}, True, ["ann"]), TypeError, "task must be a label"),
    (lambda model: model.predict_one({"f1": 1.0}, ["ann"]), TypeError, "task must be a label"),
    (lambda model: model.predict_one({"f1": 1.0}, float("nan")), ValueError, "is missing"),
    (lambda model: model.predict_one({"f1": 1.0}), ValueError, "task is missing"),
    (lambda model: model.learn_one([1.0], True, "ann"), TypeError, "dictionary of features"),
    *((lambda model, x=x: model.learn_one(x, True, "ann"), error, message) for x, error, message in NO_RECORDS),
    *((lambda model, x=x: model.predict_one(x, "ann"), error, message) for x, error, message in NO_RECORDS),
]


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize(("call", "error", "message"), NO_CALLS)
def test_what_is_refused_leaves_everything_as_it_was(call, error, message, quick):
    model = settled() if quick else learned()
    before, rounds, names = model.coef_.copy(), model.state_.rounds, model.feature_names
    with pytest.raises(error, match=message):
        call(model)
    model.predict_one({"f1": 1.0}, "ann")
    np.testing.assert_array_equal(model.coef_, before)
    assert (model.state_.rounds, model.feature_names, model.classes_.tolist()) == (rounds, names, [False, True])


def test_records_of_no_task_come_to_quick_rounds():
    model = ct.MultitaskPerceptron()
    for x, y, _ in stream(60):
        model.learn_one(x, y)
    assert model.__stream_model__().fast_path._number({"f1": 1.0}, None) == 0
    model.learn_one({"f1": 1.0}, True, "ann")
    with pytest.raises(ValueError, match="task is missing"):
        model.learn_one({"f1": 1.0}, True)
