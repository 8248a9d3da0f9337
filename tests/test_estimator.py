"""MultitaskPerceptron among scikit-learn's tools: its checks, pipelines, searches, clones; tasks, labels and inputs."""

import copy
import datetime
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import coterie as ct
from coterie.estimators.explaining import weights_of
from forms import INPUTS, columns, with_task
from streams import D, linear_stream

STREAM = linear_stream(61, zeros=0.3)
NAMES = [f"user {i}" for i in STREAM.task]
COLUMNS = columns(STREAM.X)
WITH_TASK = with_task(STREAM.X, STREAM.task, NAMES)


# -- scikit-learn's tools ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", WITH_TASK)
def test_tasks_from_a_column_equal_tasks_by_argument(form):
    X, column = WITH_TASK[form]
    by_argument = ct.MultitaskPerceptron().__stream_model__().learn(STREAM.X, STREAM.y, STREAM.task)
    model = ct.MultitaskPerceptron(task_column=column)
    np.testing.assert_array_equal(model.__stream_model__().learn(X, STREAM.y).margin, by_argument.margin)
    expected = ct.MultitaskPerceptron().fit(STREAM.X, STREAM.y, STREAM.task).decision_function(STREAM.X, STREAM.task)
    np.testing.assert_array_equal(model.decision_function(X), expected)
    np.testing.assert_array_equal(model.predict(X), np.where(expected >= 0, 1.0, -1.0))


@pytest.mark.parametrize("form", ["array", "sparse", "pandas"])
def test_cross_validation_and_grid_search(form):
    X, column = WITH_TASK[form]
    model = ct.MultitaskPerceptron(task_column=column)
    scores = cross_validate(model, X, STREAM.y, cv=3, return_train_score=True, error_score="raise")
    assert (scores["test_score"] > 0.6).all()
    relations = [ct.Independent(), ct.Pooled(), ct.MeanRegularized(share=0.5)]
    search = GridSearchCV(model, {"relation": relations, "average": [False, True]}, cv=3, error_score="raise")
    search.fit(X, STREAM.y)
    assert search.best_params_["relation"] in relations
    assert len(search.best_estimator_.tasks_) == 5
    assert search.predict(X).shape == STREAM.y.shape


def test_pipelines():
    X, column = WITH_TASK["array"]
    scores = cross_val_score(make_pipeline(StandardScaler(), ct.MultitaskPerceptron()), STREAM.X, STREAM.y, cv=3)
    assert scores.shape == (3,)
    pipeline = make_pipeline(StandardScaler(), ct.MultitaskPerceptron())
    pipeline.fit(STREAM.X, STREAM.y, multitaskperceptron__task=STREAM.task)
    pipeline.set_params(multitaskperceptron__rule=ct.updates.PassiveAggressive())
    with pytest.raises(ValueError, match="rule cannot change after the first update"):
        pipeline.predict(STREAM.X)
    pipeline.fit(STREAM.X, STREAM.y, multitaskperceptron__task=STREAM.task)
    assert pipeline[-1].rule == ct.updates.PassiveAggressive()
    assert pipeline[-1].tasks_ == list(dict.fromkeys(STREAM.task.tolist()))
    assert ct.MultitaskPerceptron(task_column=column).fit(X, STREAM.y).score(X, STREAM.y) > 0.6


@pytest.fixture
def routing():
    with config_context(enable_metadata_routing=True):
        yield


MIRRORED = np.where(STREAM.task % 2 == 1, -STREAM.y, STREAM.y)


@pytest.mark.parametrize(
    "model",
    [
        ct.MultitaskPerceptron(ct.Independent()),
        ct.SelectiveSampling(ct.MultitaskPerceptron(ct.Independent()), ask=ct.updates.Always()),
        ct.batch.MultitaskSVC("linear", ct.Independent()),
        make_pipeline(StandardScaler(), ct.MultitaskPerceptron(ct.Independent())),
    ],
    ids=repr,
)
def test_tasks_are_passed_on(model, routing):
    scores = cross_val_score(model, STREAM.X, MIRRORED, params={"task": STREAM.task}, cv=4, error_score="raise")
    assert scores.mean() > cross_val_score(model, STREAM.X, MIRRORED, cv=4).mean() + 0.1


def test_weights_are_passed_on_where_they_are_asked_for(routing):
    params = {"task": STREAM.task, "sample_weight": np.arange(len(STREAM.X)) % 2.0}
    model = ct.MultitaskPerceptron()
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        cross_val_score(model, STREAM.X, STREAM.y, params=params, cv=3)
    assert model.set_fit_request(sample_weight=True).set_score_request(sample_weight=False) is model
    for copied in (clone(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):  # noqa: S301
        weighed = cross_val_score(copied, STREAM.X, STREAM.y, params=params, cv=3, error_score="raise")
        assert (weighed != cross_val_score(copied, STREAM.X, STREAM.y, params={"task": STREAM.task}, cv=3)).any()


def test_blocks_by_the_names_of_river():
    frame = pd.DataFrame(STREAM.X, np.arange(len(STREAM.X)) + 7, [f"x{j}" for j in range(STREAM.X.shape[1])])
    model = ct.MultitaskLogistic()
    assert model.predict_many(frame[:3]).tolist() == [None] * 3
    assert model.predict_proba_many(frame[:3]).shape == (3, 0)
    assert model.predict_many(STREAM.X[:2]).tolist() == [None] * 2
    model.learn_many(frame, STREAM.y, STREAM.task)
    labels, chances = (predict(frame, STREAM.task) for predict in (model.predict_many, model.predict_proba_many))
    assert labels.index.equals(frame.index)
    assert chances.index.equals(frame.index)
    assert chances.columns.tolist() == model.classes_.tolist()
    np.testing.assert_array_equal(labels, model.predict(frame, STREAM.task))
    np.testing.assert_array_equal(chances, model.predict_proba(frame, STREAM.task))


@pytest.mark.parametrize("model", [ct.MultitaskPerceptron(), ct.OneVsRest(ct.MultitaskAROW()), ct.batch.MultitaskSVC()])
def test_score_weighs_records_and_takes_a_column_of_labels(model):
    model.fit(STREAM.X, STREAM.y, STREAM.task)
    right = model.predict(STREAM.X, STREAM.task) == STREAM.y
    assert model.score(STREAM.X, STREAM.y, STREAM.task) == right.mean()
    weights = np.arange(len(right))
    assert model.score(STREAM.X, STREAM.y[:, None], STREAM.task, weights) == np.average(right, weights=weights)
    with pytest.raises(ValueError, match=f"one label per record: got 1 for {len(right)}"):
        model.score(STREAM.X, STREAM.y[:1], STREAM.task)


# -- forms of input ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", INPUTS.values(), ids=INPUTS)
def test_every_form_of_input_gives_the_same(make):
    expected = ct.MultitaskPerceptron().__stream_model__().learn(STREAM.X, STREAM.y, STREAM.task).margin
    X = make(STREAM.X)
    model = ct.MultitaskPerceptron()
    learned = model.__stream_model__().learn(X, STREAM.y, STREAM.task).margin
    np.testing.assert_allclose(learned, expected, rtol=1e-12, atol=1e-12)
    assert model.n_features_in_ == D
    margins, places = model.decision_function(X, STREAM.task), [model.tasks_.index(i) for i in STREAM.task]
    np.testing.assert_allclose(margins, (STREAM.X * model.coef_[places]).sum(axis=1), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("form", ["pandas", "polars", "arrow"])
def test_frames_bring_names_and_then_dictionaries_can_follow(form):
    X = INPUTS[form](STREAM.X)
    model = ct.MultitaskPerceptron().partial_fit(X, STREAM.y, STREAM.task)
    assert list(model.feature_names_in_) == COLUMNS
    margin = model.decision_function(X, STREAM.task)[0]
    assert model.decision_function_one(dict(zip(COLUMNS, STREAM.X[0], strict=True)), STREAM.task[0]) == margin
    model.learn_one({"f0": 1.0, "unknown": 5.0}, 1.0, task=STREAM.task[0])
    assert model.coef_.shape == (5, D)
    model.partial_fit(X, STREAM.y, STREAM.task)
    turned = X.select(COLUMNS[::-1]) if form != "pandas" else X[COLUMNS[::-1]]
    with pytest.raises(ValueError, match=r"feature names|columns"):
        model.predict(turned)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8, bool])
def test_types_of_numbers(dtype):
    X = (STREAM.X > 0).astype(dtype)
    expected = ct.MultitaskPerceptron().__stream_model__().learn(X.astype(float), STREAM.y).margin
    for form in (np.asarray, sp.csr_array):
        margin = ct.MultitaskPerceptron().__stream_model__().learn(form(X), STREAM.y).margin
        np.testing.assert_array_equal(margin, expected)


# -- tasks and labels --------------------------------------------------------------------------------------------------


DAY = datetime.date(2024, 2, 29)
TASKS = {
    "strings": ["ann", "bob", "", "Żółć", "a\nb"],
    "numbers": [0, -5, 2**62, 7, 10**6],
    "numbers too large for Arrow": [2**70, 1, 2, 3, 4],
    "floats": [0.5, -1.0, 1e300, 2.0, 3.0],
    "tuples": [("a", 1), ("a", 2), (), ("b", ("c",)), (1,)],
    "dates": [DAY + datetime.timedelta(days=i) for i in range(5)],
    "times": [datetime.datetime(2024, 1, 1, i) for i in range(5)],
    "booleans and others": [True, False, "True", (True,), 3],
    "bytes": [b"a", b"b", b"", b"\xff", b"c"],
    "of all kinds": ["ann", 3, ("x",), DAY, 2.5],
}


@pytest.mark.parametrize("labels", TASKS.values(), ids=TASKS)
def test_tasks_of_any_hashable_kind(labels):
    expected = ct.MultitaskPerceptron().fit(STREAM.X, STREAM.y, STREAM.task)
    tasks = STREAM.named(labels)
    model = ct.MultitaskPerceptron().fit(STREAM.X, STREAM.y, tasks)
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    assert model.tasks_ == [labels[i] for i in expected.tasks_]
    margins = expected.decision_function(STREAM.X, STREAM.task)
    np.testing.assert_array_equal(model.decision_function(STREAM.X, tasks), margins)
    assert model.decision_function(STREAM.X[:1], tasks[:1]) == margins[0]
    model.partial_fit(STREAM.X, STREAM.y, tasks)
    assert len(model.tasks_) == 5


@pytest.mark.parametrize(
    "container",
    [
        np.array,
        pd.Series,
        pl.Series,
        pa.array,
        lambda labels: pa.chunked_array([labels[:50], labels[50:]]),
        lambda labels: pd.Series(labels, dtype="category"),
        lambda labels: pl.Series(labels, dtype=pl.Categorical),
        lambda labels: pa.array(labels).dictionary_encode(),
    ],
    ids=["numpy", "pandas", "polars", "arrow", "chunks", "pandas categories", "polars categories", "arrow dictionary"],
)
def test_tasks_and_labels_in_any_container(container):
    expected = ct.MultitaskPerceptron().fit(STREAM.X, STREAM.y, NAMES)
    model = ct.MultitaskPerceptron().fit(STREAM.X, STREAM.y, container(NAMES))
    assert model.tasks_ == expected.tasks_
    np.testing.assert_array_equal(model.coef_, expected.coef_)


LABELS = {
    "strings": ("ham", "spam"),
    "booleans": (False, True),
    "0 and 1": (0, 1),
    "-1 and 1": (-1, 1),
    "floats": (-1.0, 1.0),
    "large numbers": (3, 10**9),
}


@pytest.mark.parametrize("negative_first", [True, False])
@pytest.mark.parametrize(("low", "high"), LABELS.values(), ids=LABELS)
def test_any_two_labels(low, high, negative_first):
    """The larger label is the positive one, whichever came first and whether it came alone."""
    stream = STREAM.take(np.r_[np.flatnonzero(STREAM.y == (-1 if negative_first else 1))[:3], np.arange(200)])
    expected = ct.MultitaskPerceptron().__stream_model__().learn(stream.X, stream.y, stream.task)
    y = [high if sign > 0 else low for sign in stream.y]
    model = ct.MultitaskPerceptron()
    margins = [model.__stream_model__().learn(stream.X[:3], y[:3], stream.task[:3]).margin]
    assert model.classes_.tolist() == ([low] if negative_first else [high]) or model.classes_.tolist() == [low, high]
    assert set(model.predict(stream.X[:3], stream.task[:3])) <= {low, high}
    margins.append(model.__stream_model__().learn(stream.X[3:], y[3:], stream.task[3:]).margin)
    np.testing.assert_array_equal(margins[1], expected.margin[3:])
    assert model.classes_.tolist() == [low, high]
    assert set(model.predict(stream.X, stream.task).tolist()) == {low, high}
    above = model.decision_function(stream.X, stream.task) >= 0
    np.testing.assert_array_equal(model.predict(stream.X, stream.task) == high, above)


RNG = np.random.default_rng(0)
MANY_X, MANY_Y, MANY_TASKS = RNG.normal(size=(100, 3)), np.arange(100) % 2, np.arange(100) % 5


def test_the_weights_of_hashed_names_are_sparse():
    frame = pd.DataFrame({"word": ["red", "blue", "red", "green"], "n": [0.0, 1.0, 2.0, 3.0]})
    model = ct.AdaptiveSharingClassifier().fit(frame, [1, 0, 1, 0], ["a", "b", "a", "b"])
    assert sp.issparse(model.coef_)
    assert model.coef_.shape == (2, 2**18)
    np.testing.assert_array_equal(model.coef_.toarray(), weights_of(model._model))
    assert model.intercept_.shape == (2,)  # of mixed effects, whose constant has no column


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize(
    "model",
    [ct.AdaptiveSharingClassifier(), ct.AdaptiveSharingRegressor(), ct.OneVsRest(ct.AdaptiveSharingClassifier())],
)
def test_records_without_a_task_are_warned_of_once(model, method):
    model = clone(model)
    message = r"records without a task are learned as one task.*task=.*task_column=.*np.zeros"
    with pytest.warns(UserWarning, match=message) as warned:
        getattr(model, method)(MANY_X, MANY_Y)
    assert [warning.filename for warning in warned] == [__file__]
    model.partial_fit(MANY_X, MANY_Y)  # said once
    with pytest.warns(UserWarning, match=message):
        model.fit(MANY_X.tolist(), MANY_Y)
    for goes in (ct.progressive_validation, ct.compare):
        with pytest.warns(UserWarning, match=message) as warned:
            goes(clone(model), MANY_X, MANY_Y)
        assert [warning.filename for warning in warned] == [__file__]


def test_nothing_is_said_of_tasks_that_are_there_nor_of_models_that_learn_no_sharing():
    model = ct.AdaptiveSharingClassifier()
    model.fit(MANY_X, MANY_Y, np.zeros(100))
    ct.MultitaskPerceptron().fit(MANY_X, MANY_Y)
    frame = pd.DataFrame(MANY_X, columns=list("abc")).assign(who=MANY_TASKS)
    steps = make_pipeline(FunctionTransformer(), ct.AdaptiveSharingClassifier(task_column="who"))
    assert steps.fit(frame, MANY_Y).score(frame, MANY_Y) > 0.4
    with pytest.raises(ValueError, match="Expected 2D array"):
        model.fit(np.array(3.0), MANY_Y, np.zeros(100))


def test_a_warning_that_is_an_error_leaves_the_model_as_it_was():
    model = ct.AdaptiveSharingClassifier()
    with pytest.raises(UserWarning, match="without a task"):  # as the settings of these tests have it
        model.fit(MANY_X, MANY_Y)
    assert not model.__sklearn_is_fitted__()
