"""What cannot be learned from: one clear sentence, and the model as it was before."""

import copy
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import coterie as ct
from coterie.data.readers import read
from slow import slow
from streams import D, linear_stream

STREAM = linear_stream(81, n=20)
X, Y, TASK = STREAM.X, STREAM.y, STREAM.task.tolist()
NAN, INFINITE = X.copy(), X.copy()
NAN[3, 2], INFINITE[5, 1] = np.nan, -np.inf
HUGE = X * 1e98
HUGE[4, 3] = -1e155
WIDE = sp.coo_array((np.ones(40), (np.tile(np.arange(20), 2), np.repeat([3, 2**32 + 3], 20))), shape=(20, 2**32 + 4))
RECORDS = [{f"f{j}": float(value) for j, value in enumerate(x)} for x in X]
FRAME = pd.DataFrame(X, columns=[f"f{j}" for j in range(D)])


def state_of(model):
    """Everything that a model holds, as bytes and plain data."""
    data, arrays = model.__dump__()
    names_before = [getattr(model, name, None) for name in ("n_features_in_", "feature_names_in_", "feature_names")]
    return repr((data, vars(model), names_before)), {name: array.tobytes() for name, array in arrays.items()}


def learned_from_arrays(**options):
    return ct.MultitaskPerceptron(ct.MeanRegularized(b=2), average=True, **options).fit(X, Y, TASK)


def learned_from_dictionaries(**options):
    return ct.MultitaskPerceptron(ct.MeanRegularized(b=2), **options).partial_fit(RECORDS, Y, TASK)


def refused(model, message, learn, error=ValueError):
    """The call is refused with one sentence, and the model is what it was, bit for bit."""
    before = state_of(model)
    with pytest.raises(error, match=message) as raised:
        learn(model)
    assert state_of(model) == before
    return str(raised.value)


ARRAYS = {
    "NaN": ((NAN, Y, TASK), r"X contains NaN, in column 2 of record 3 \(from 0\); leave out such records"),
    "infinity": ((INFINITE, Y, TASK), r"X contains infinity, in column 1 of record 5 \(from 0\)"),
    "NaN in a sparse matrix": ((sp.csr_array(NAN), Y, TASK), r"X contains NaN, in column 2 of record 3 \(from 0\)"),
    "squares that overflow": ((HUGE, Y, TASK), r"X contains -1e\+155, beyond the limit of 1e\+100, in column 3 of rec"),
    "the same, sparse": ((sp.csr_array(HUGE), Y, TASK), r"X contains -1e\+155, .* in column 3 of record 4 \(from 0\)"),
    "one record alone": ((X[0], Y[:1], TASK[:1]), "Expected 2D array, got 1D array"),
    "three dimensions": ((X[None], Y[:1], TASK[:1]), "dim 3"),
    "words": ((np.full(X.shape, "word"), Y, TASK), "could not convert string to float"),
    "complex numbers": ((X * 1j, Y, TASK), "Complex data not supported"),
    "columns beyond 31 bits": ((sp.csr_array(WIDE), Y, TASK), "X has 4,294,967,300 columns; at most 1,073,|but Multi"),
    "no records": ((X[:0], Y[:0], TASK[:0]), r"Found array with 0 sample\(s\)"),
    "fewer labels": ((X, Y[:5], TASK), "inconsistent numbers of samples"),
    "no labels": ((X, None, TASK), "y"),
    "labels in two columns": ((X, np.c_[Y, Y], TASK), "y should be a 1d array"),
    "three labels": ((X, [0, 1, 2] * 6 + [0, 1], TASK), "expected two labels, got"),
    "missing label": ((X, [None, *Y[1:]], TASK), r"label of record 0 \(from 0\) is missing: None"),
    "NaN as label": ((X, ["a", float("nan"), *Y[2:]], TASK), r"label of record 1 \(from 0\) is missing: nan"),
    "NaN among numbers": ((X, np.array([np.nan, *Y[1:]]), TASK), r"nan; 1 of \d+ labels are missing; leave out such"),
    "a target to regress on": ((X, X[:, 0], TASK), "Unknown label type: continuous"),
    "fewer tasks": ((X, Y, TASK[:5]), r"task must have one task per record: got shape \(5,\) for 20 records"),
    "tasks in two columns": ((X, Y, np.c_[TASK, TASK]), r"got shape \(20, 2\) for 20 records"),
    "one task for all": ((X, Y, "ann"), "got 'ann' for 20 records; use task_column= for a column"),
    "missing task": ((X, Y, [None, *TASK[1:]]), r"task of record 0 \(from 0\) is missing: None"),
    "NaN as task": ((X, Y, np.r_[np.nan, TASK[1:]]), r"task of record 0 \(from 0\) is missing: .*nan"),
}
MISFITS = {
    "too few columns": ((X[:, :3], Y, TASK), "X has 3 features, but MultitaskPerceptron is expecting 6 features"),
    "too many columns": ((np.hstack([X, X]), Y, TASK), "X has 12 features"),
    "another label": ((X, Y + 2, TASK), "expected two labels, got -1.0, 1.0, 3.0"),
    "dictionaries": ((RECORDS, Y, TASK), "learned from arrays without names"),
}
arrays = pytest.mark.parametrize(("arguments", "message"), ARRAYS.values(), ids=ARRAYS)


@pytest.mark.parametrize(("arguments", "message"), (ARRAYS | MISFITS).values(), ids=ARRAYS | MISFITS)
def test_arrays_that_cannot_be_learned_on_top_or_validated(arguments, message):
    rows, y, task = arguments
    model = learned_from_arrays()
    refused(model, message, lambda model: model.partial_fit(*arguments))
    if y is not None:  # without labels X is taken for blocks
        refused(model, message, lambda model: ct.progressive_validation(model, rows, y, task=task))


@arrays
def test_arrays_that_cannot_be_learned_first_and_a_refused_fit_forgets_nothing(arguments, message):
    model = ct.MultitaskPerceptron()
    refused(model, message, lambda model: model.partial_fit(*arguments))
    assert vars(model).keys() - {"_made"} == vars(ct.MultitaskPerceptron()).keys()
    model.partial_fit(RECORDS, Y)
    refused(learned_from_arrays(), message, lambda model: model.fit(*arguments))


DICTIONARIES = {
    "NaN": (([{"f0": 1.0}, {"f1": np.nan}], [1, -1]), "feature 'f1' must be a finite number or a string, got nan"),
    "infinity": (([{"f0": np.inf}], [1]), "feature 'f0' must be a finite number or a string, got inf"),
    "squares that overflow": (([{"f0": 0.5, "f1": -2e100}], [1]), r"feature 'f1': -2e\+100 is beyond the limit of 1e"),
    "a number beyond floats": (([{"f0": 10**400}], [1]), "feature 'f0' must be a finite number or a string"),
    "nothing": (([{"f0": None}], [1]), "feature 'f0' must be a finite number or a string, got None"),
    "a list": (([{"new": 1.0}, {"f0": [1, 2]}], [1, -1]), r"feature 'f0' must be .*, got \[1, 2\]"),
    "another label": (([{"new": 1.0}], [5]), "expected two labels, got -1.0, 1.0, 5"),
    "missing label": (([{"new": 1.0}], [None]), r"label of record 0 \(from 0\) is missing"),
    "fewer labels": (([{"new": 1.0}] * 3, [1]), "y must have one label per record: got 1 for 3 records"),
    "fewer tasks": (([{"new": 1.0}], [1], [1, 2]), r"got shape \(2,\) for 1 records"),
    "missing task": (([{"new": 1.0}], [1], [None]), r"task of record 0 \(from 0\) is missing"),
    "a list among dictionaries": (
        ([{"f0": 1.0}, [1.0]], [1, -1]),
        r"record 1 \(from 0\) must be a dictionary of features",
    ),
    "an array": ((X, Y), "learned features by name; pass a list of dictionaries or a frame, not an array"),
}


@pytest.mark.parametrize(("arguments", "message"), DICTIONARIES.values(), ids=DICTIONARIES)
def test_dictionaries_that_cannot_be_learned(arguments, message):
    model = learned_from_dictionaries()
    refused(model, message, lambda model: model.partial_fit(*arguments))


SINGLE = {
    "NaN": (({"new": np.nan}, 1.0, 1), ValueError, "feature 'new' must be a finite number"),
    "squares that overflow": (({"new": 2e100}, 1.0, 1), ValueError, r"feature 'new': 2e\+100 is beyond the limit"),
    "a whole number of 200 digits": (({"new": 10**199}, 1.0, 1), ValueError, "feature 'new': .* is beyond the limit"),
    "missing label": (({"new": 1.0}, None, 1), ValueError, "label of record 0 .* is missing"),
    "NaN as task": (({"new": 1.0}, 1.0, float("nan")), ValueError, "the task of the record is missing: nan"),
    "an array": ((np.ones(3), 1.0, 1), TypeError, "one record must be a dictionary of features, got ndarray"),
    "a list as task": (({"new": 1.0}, 1.0, [1]), TypeError, r"task must be a label such as .*, got \[1\]"),
}


@pytest.mark.parametrize(("arguments", "error", "message"), SINGLE.values(), ids=SINGLE)
def test_single_records_that_cannot_be_learned(arguments, error, message):
    refused(learned_from_dictionaries(), message, lambda model: model.learn_one(*arguments), error)
    refused(ct.MultitaskPerceptron(), message, lambda model: model.learn_one(*arguments), error)
    if "ndarray" in message:
        asking = ct.SelectiveSampling(learned_from_dictionaries())
        refused(asking, message, lambda model: model.wants_label(arguments[0]), error)


def test_a_task_that_may_not_be_new():
    message = "task 'nobody' was never seen and new_task is 'raise'"
    for model in (learned_from_arrays(new_task="raise"), learned_from_dictionaries(new_task="raise")):
        rows = X if hasattr(model, "n_features_in_") else RECORDS
        for learn in (
            lambda model, rows=rows: model.partial_fit(rows, Y, ["nobody", *TASK[1:]]),
            lambda model, rows=rows: model.partial_fit(rows, Y, TASK, tasks=["nobody"]),
            lambda model, rows=rows: model.predict(rows, ["nobody"] * len(Y)),
        ):
            refused(model, message, learn)
    refused(model, message, lambda model: model.learn_one({"new": 1.0}, 1.0, "nobody"))
    refused(model, message, lambda model: model.predict_one({"new": 1.0}, "nobody"))
    with pytest.raises(ValueError, match="new_task must be 'grow' or 'raise', got 'ignore'"):
        ct.MultitaskPerceptron(new_task="ignore").fit(X, Y)


@pytest.mark.parametrize(
    ("relation", "message"),
    [
        (ct.Clusters(dict.fromkeys(range(5), "g"), b=1), "task 'nobody' has no group in Clusters"),
        (ct.Hierarchy(dict.fromkeys(range(5), "g"), b=1), "task 'nobody' has no parent in Hierarchy"),
        slow(ct.TaskGraph([(0, 1), (1, 2), (2, 3), (3, 4)]), "task 'nobody' is unknown to TaskGraph, whose tasks are"),
        slow(ct.tasks.Interaction(np.eye(5)), "task 'nobody' is unknown to Interaction, whose tasks are 0, 1"),
    ],
    ids=["clusters", "hierarchy", "graph", "interaction"],
)
def test_a_task_that_the_relation_does_not_know(relation, message):
    for model in (ct.MultitaskPerceptron(relation), ct.MultitaskPerceptron(relation).partial_fit(RECORDS, Y, TASK)):
        refused(model, message, lambda model: model.partial_fit(RECORDS, Y, ["nobody", *TASK[1:]]))
        refused(model, message, lambda model: model.learn_one({"new": 1.0}, 1.0, "nobody"))
        fresh = copy.deepcopy(model)
        if fresh.__sklearn_is_fitted__():
            refused(fresh, "nobody", lambda model: model.predict(RECORDS, ["nobody"] * len(Y)))
    model = ct.MultitaskPerceptron(relation)
    with pytest.raises(ValueError, match=message):
        ct.progressive_validation(model, X, Y, task=["nobody", *TASK[1:]])
    assert vars(model).keys() - {"_made"} == vars(ct.MultitaskPerceptron()).keys()


def test_columns_that_do_not_hold_the_task():
    numbered = np.column_stack([TASK, X])
    message = "tasks are given twice, as task= and as task_column=0"
    refused(ct.MultitaskPerceptron(task_column=0), message, lambda model: model.fit(numbered, Y, TASK))
    for column, data, message in (
        (7, numbered, "task_column 7 is not among the 7 columns"),
        (-8, sp.csr_array(numbered), "task_column -8 is not among the 7 columns"),
        ("user", numbered, "task_column 'user' is a name, but X has no column names; pass a frame, or an index"),
        ("user", FRAME, r"task_column 'user' is not among the columns \['f0'"),
        (6, FRAME, "task_column 6 is not among the 6 columns"),
        ("f0", FRAME[["f0"]], "task_column 'f0' is the only column; add one, such as a column of ones"),
        ("user", RECORDS, r"record 0 \(from 0\) has no task_column 'user'; it has \['f0'"),
    ):
        model = ct.MultitaskPerceptron(task_column=column)
        refused(model, message, lambda model, data=data: model.partial_fit(data, Y))
    refused(model, "the record has no task_column 'user'", lambda model: model.learn_one({"f0": 1.0}, True))
    given_twice = {"f0": 1.0, "user": "ann"}
    refused(model, "the task is given twice", lambda model: model.learn_one(given_twice, True, task="bob"))
    refused(model, "the task of the record is missing", lambda model: model.learn_one({"user": None}, True))


@pytest.mark.parametrize("column", [None, "user"])
def test_what_has_no_length_is_not_a_table(column, tmp_path):
    path = tmp_path / "few.csv"
    path.write_text("user,f0,label\nann,1,-1\nbob,2,1\n")
    reader = read(path, label="label", task="user")
    model = ct.MultitaskPerceptron(task_column=column)
    for data in (reader, pl.scan_csv(path), iter(RECORDS)):
        refused(
            model, f"X cannot be a {type(data).__name__}: ", lambda model, data=data: model.partial_fit(data, [-1, 1])
        )
    with pytest.raises(ValueError, match="X cannot be a Block: "):  # its tasks would be lost
        ct.batch.MultitaskKernelRidge().fit(next(iter(reader)), [-1.0, 1.0])


def test_one_class_is_not_enough_for_fit():
    model, ones = learned_from_arrays(), np.ones(20)
    refused(model, r"y must have two classes, got only one class: 1.0", lambda model: model.fit(X, ones, TASK))
    message = "n_passes must be a whole number of 1 or more or 'auto', got 0"
    refused(model, message, lambda model: model.fit(X, Y, TASK, n_passes=0))
    fresh = ct.MultitaskPerceptron()
    refused(fresh, "expected two labels, got", lambda model: model.partial_fit(X, Y, classes=[-1, 0, 1]))
    assert fresh.partial_fit(X, ones, TASK).classes_.tolist() == [1.0]


# -- tasks that are not what was learned ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model", [ct.MultitaskPerceptron(), ct.AdaptiveSharingClassifier(), ct.MultitaskKernelPerceptron()]
)
@pytest.mark.parametrize("names", [["ann", "bob"], [0, 1], [3, 4]])
def test_a_task_that_was_forgotten_is_not_taken_for_a_new_one(model, names):
    X, y = [[1.0], [-1.0]], ["no", "yes"]
    model = clone(model).partial_fit(X, y, task=names)
    before = model.decision_function(X, names)
    for call in (model.predict, model.decision_function, lambda X: model.partial_fit(X, y)):
        with pytest.raises(ValueError, match=f"task is missing: the known tasks have names such as {names[0]!r}"):
            call(X)
    np.testing.assert_array_equal(model.decision_function(X, names), before)


@pytest.mark.parametrize(
    ("names", "other"), [(["ann", "7"], 7), ([6, 7], "7"), (["ann", "7"], 7.0), ([6, 7], "7.0"), (["ann", "7.0"], 7.0)]
)
def test_a_task_that_is_known_as_another_type_is_not_taken_for_a_new_one(names, other):
    X, y = [[1.0], [-1.0]], ["no", "yes"]
    message = f"task {other!r} is unknown, but {names[1]!r} is known; did you mean that type"
    models = ct.MultitaskPerceptron(), ct.MultitaskKernelPerceptron(), ct.batch.MultitaskKernelRidge()
    for model in models:
        fitted = model.fit(X, y if model is not models[-1] else [0.0, 1.0], task=names)
        assert fitted.predict(X[:1], ["8"]).shape == (1,)
        with pytest.raises(ValueError, match=message):
            fitted.predict(X[:1], [other])
    live = ct.MultitaskPerceptron()
    live.learn_one({"x": 1.0}, "yes", task=names[1])
    with pytest.raises(ValueError, match=message):
        live.predict_one({"x": 1.0}, task=other)
    with pytest.raises(ValueError, match="task is missing"):
        live.predict_one({"x": 1.0})


A, B = [[1.0], [-1.0]], [True, False]
SLIPS = {
    "no labels": (lambda: ct.progressive_validation(ct.MultitaskPerceptron(), X), "y is missing; .* got ndarray"),
    "no labels, many models": (lambda: ct.compare({"a": ct.MultitaskPerceptron()}, X), "y is missing; .* got ndarray"),
    "a path": (lambda: ct.progressive_validation(ct.MultitaskPerceptron(), "file.csv"), "y is missing; .* got str"),
    "one number": (lambda: ct.progressive_validation(ct.MultitaskPerceptron(), 3), "y is missing; .* got int"),
    "no models": (lambda: ct.compare("default", X, Y), "a dictionary from names to models, got str"),
    "a class to compare": (lambda: ct.compare(ct.MultitaskPerceptron, X, Y), "models is the class MultitaskPerceptron"),
    "one to compare that is fitted at once": (
        lambda: ct.compare([ct.MultitaskPerceptron(), ct.batch.MultitaskKernelRidge()], X, Y),
        r"models\[1\] must be an online estimator, got MultitaskKernelRidge",
    ),
    "a class along a stream": (
        lambda: ct.progressive_validation(ct.MultitaskPerceptron, X, Y),
        r"model is the class MultitaskPerceptron; pass an instance: MultitaskPerceptron\(...\)",
    ),
    "a class beside others": (lambda: ct.compare({"a": ct.MultitaskPerceptron}, X, Y), r"models\['a'\] is the class"),
    "a class that asks": (lambda: ct.SelectiveSampling(ct.MultitaskLogistic).partial_fit(A, B), "model is the class"),
    "a class of many": (lambda: ct.OneVsRest(ct.MultitaskLogistic).partial_fit(A, B), "model is the class"),
    "a class among members": (
        lambda: ct.AdaptiveSharingClassifier([ct.MultitaskLogistic]).partial_fit(A, B),
        r"members\[0\] is the class MultitaskLogistic",
    ),
}


@pytest.mark.parametrize(("call", "message"), SLIPS.values(), ids=SLIPS)
def test_slips_of_the_pen(call, message):
    with pytest.raises(TypeError, match=message):
        call()


SMALLEST = [1e-100, 1e-130, 1e-160, 1e-200, 5e-324]
LEARNERS = [
    *(ct.AdaptiveSharingClassifier(), ct.MultitaskAROW(), ct.MultitaskLogistic()),
    *(ct.SecondOrderMultitaskPerceptron(), ct.SecondOrderMultitaskRegressor(), ct.PNormMultitaskPerceptron()),
    ct.PotentialMultitaskPerceptron(ct.updates.ExponentiatedGradient()),
    ct.MultitaskPerceptron(rule=ct.updates.PassiveAggressive(C=math.inf)),
    ct.MultitaskRegressor(loss=ct.updates.EpsilonInsensitive(C=math.inf)),
]


@pytest.mark.parametrize("value", SMALLEST)
@pytest.mark.parametrize("model", LEARNERS, ids=lambda model: type(model).__name__)
def test_the_smallest_numbers_leave_numbers(model, value):
    """A step that sets them right would be infinite, and what came of it no number."""
    X, y, task = [[value, 0.0], [1.0, 2.0], [value, value]] * 3, [0, 1, 0, 1, 0, 1, 1, 0, 0], [0, 1, 0] * 3
    learned = clone(model).fit(X, y, task=task)
    say = learned.decision_function if hasattr(learned, "decision_function") else learned.predict
    assert np.isfinite(say([[1.0, 1.0], [value, 2.0]], task=[0, 1])).all()


NOT_NUMBERS = {
    "dates": np.arange(20).astype("datetime64[D]"),
    "pandas' dates": pd.Series(pd.date_range("2026-01-01", periods=20)),
    "durations": np.arange(20).astype("timedelta64[s]"),
    "text": ["1_0"] * 20,
    "one text": [1.0] * 19 + ["2"],
    "one text among objects": np.array([1.0] * 19 + ["2"], object),
    "complex": np.ones(20) * 1j,
}


@pytest.mark.parametrize("numbers", NOT_NUMBERS.values(), ids=NOT_NUMBERS)
def test_what_numpy_would_convert_to_numbers_is_refused(numbers):
    model = ct.MultitaskMixedEffectsRegressor().partial_fit(X, Y, TASK)
    message = "must be a number, got|Complex data not supported"  # of scikit-learn
    refused(model, message, lambda model: model.partial_fit(X, numbers, TASK))
    refused(model, "must be a number, got", lambda model: model.learn_one({"f0": 1.0}, list(numbers)[-1], TASK[0]))
    refused(model, "one number per record", lambda model: model.partial_fit(X, Y, TASK, sample_weight=numbers))


@pytest.mark.parametrize("place", ["X", "y", "task", "sample_weight"])
def test_masks_that_would_be_ignored_are_refused(place):
    arguments = {"X": X, "y": Y, "task": np.array(TASK), "sample_weight": np.ones(20)}
    arguments[place] = np.ma.masked_greater(arguments[place], 0.5)
    model = learned_from_arrays()
    refused(model, f"{place} is a masked array", lambda model: model.partial_fit(**arguments), TypeError)
    if place in ("X", "task"):
        asked = {name: arguments[name] for name in ("X", "task")}
        refused(model, f"{place} is a masked array", lambda model: model.predict(**asked), TypeError)
