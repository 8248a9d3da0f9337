"""Frames with strings: pandas, Polars and Arrow, read as dictionaries of the same rows are."""

import copy

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone

import coterie as ct
from coterie.data.readers import read
from states import content, reloaded

N = 60
RNG = np.random.default_rng(5)
COLUMNS = {
    "carrier": RNG.choice(["VX", "AA", "DL"], N).tolist(),
    "delay": RNG.normal(size=N).round(3).tolist(),
    "seats": RNG.integers(5, 60, N).tolist(),
    "full": (RNG.random(N) < 0.5).tolist(),
}
COLUMNS["carrier"][7] = COLUMNS["delay"][9] = None
USER = RNG.choice(["ann", "bob"], N).tolist()
Y = (RNG.random(N) < 0.5).tolist()
FRAMES = {
    "pandas": pd.DataFrame,
    "pandas, categories": lambda columns: pd.DataFrame(columns).astype(
        {c: "category" for c in columns if c == "carrier"}
    ),
    "pandas, nullable": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "polars": pl.DataFrame,
    "arrow": pa.table,
}
frames = pytest.mark.parametrize("make_frame", FRAMES.values(), ids=FRAMES)


def rows(columns, gaps=False):
    """The rows as dictionaries, what is missing left out, or None."""
    listed = zip(*columns.values(), strict=True)
    return [{k: v for k, v in zip(columns, row, strict=True) if gaps or v is not None} for row in listed]


@frames
@pytest.mark.parametrize("estimator", [ct.MultitaskLogistic, ct.MultitaskRegressor, ct.batch.MultitaskKernelRidge])
def test_a_frame_with_strings_is_what_its_rows_are(make_frame, estimator):
    y = np.asarray(Y, float)
    same = rows(COLUMNS, gaps="fit_intercept" in estimator().get_params())
    framed = estimator().fit(make_frame(COLUMNS), y, task=USER)
    listed = estimator().fit(same, y, task=USER)
    expected = listed.predict(same, task=USER)
    np.testing.assert_array_equal(framed.predict(make_frame(COLUMNS), task=USER), expected)
    np.testing.assert_array_equal(framed.predict(same, task=USER), expected)
    np.testing.assert_array_equal(listed.predict(make_frame(COLUMNS), task=USER), expected)


@pytest.mark.parametrize("load", [pd.read_csv, pl.read_csv])
@pytest.mark.parametrize("numbers", [False, True], ids=["with strings", "numbers only"])
def test_a_model_of_a_file_takes_a_frame_of_the_file(load, numbers, tmp_path):
    columns = {name: column for name, column in COLUMNS.items() if not numbers or name in ("delay", "seats")}
    path = tmp_path / "flights.csv"
    pd.DataFrame({**columns, "user": USER, "late": Y}).to_csv(path, index=False)
    model = ct.MultitaskLogistic()
    reading = read(path, label="late", task="user", scale="standard")
    ct.progressive_validation(model, reading)
    model.__stream_model__().encoder = reading.encoder
    frame = load(path)
    expected = [model.decision_function_one(record, task) for record, task in zip(rows(columns), USER, strict=True)]
    np.testing.assert_array_equal(model.decision_function(frame, task=USER), expected)


@pytest.mark.parametrize("make_frame", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "arrow"])
@pytest.mark.parametrize("model", [ct.AdaptiveSharingClassifier(), ct.MultitaskPerceptron()])
def test_columns_of_frames_are_known_as_scikit_learn_has_them(make_frame, model, tmp_path):
    """Whether they are read as arrays are, encoded as files are, or by name."""
    numbers, words = {"a": [1.0, 2.0], "b": [0.5, 0.1]}, {"a": [1.0, 2.0], "colour": ["red", "blue"]}
    for columns in (numbers, words):
        fitted = clone(model).fit(make_frame(columns), [True, False], task=["x", "y"])
        for fitted_model in (fitted, reloaded(fitted, tmp_path / "m.coterie"), copy.deepcopy(fitted)):
            assert fitted_model.feature_names_in_.tolist() == list(columns)
            assert fitted_model.n_features_in_ == 2
    with_tasks = clone(model).set_params(task_column="who").fit(make_frame(words | {"who": ["x", "y"]}), [True, False])
    assert with_tasks.feature_names_in_.tolist() == ["a", "colour"]
    with pytest.raises(ValueError, match="only one class"):
        with_tasks.fit(make_frame(numbers | {"who": ["x", "y"]}), ["yes", "yes"])
    assert with_tasks.feature_names_in_.tolist() == ["a", "colour"]


COLUMN_NAMES = {"numbers": [0, 1, 2], "pairs": pd.MultiIndex.from_tuples([("p", 1), ("p", 2), ("q", "s")])}


@pytest.mark.parametrize("names", COLUMN_NAMES.values(), ids=COLUMN_NAMES)
@pytest.mark.parametrize("model", [ct.AdaptiveSharingClassifier(), ct.MultitaskLogistic()], ids=str)
def test_columns_whose_names_are_not_text_are_the_same_in_dictionaries(model, names):
    rng, task = np.random.default_rng(0), ["ann"] * 40
    frame = pd.DataFrame({0: rng.normal(size=40), 1: rng.choice(["a", "b"], 40), 2: rng.normal(size=40)})
    frame.columns = names
    y, records = frame[names[0]] > 0, frame.to_dict("records")
    model = model.__sklearn_clone__().partial_fit(frame, y, task=task)
    expected = model.decision_function(frame, task=task)
    assert model.decision_function(records, task=task) == pytest.approx(expected, rel=1e-9)
    for x, margin in zip(records, expected, strict=True):
        assert model.decision_function_one(x, "ann") == pytest.approx(margin, rel=1e-9)
        assert model.explain(x, "ann").margin == pytest.approx(margin, rel=1e-9)


@pytest.mark.parametrize("learned", [str, int])
def test_numbered_columns_of_a_frame_have_the_names_of_dictionaries(learned):
    """A file of text names its columns "0", "1" ...; pandas numbers the columns of an array."""
    X, task = np.random.default_rng(0).normal(size=(40, 3)), ["ann"] * 40
    records = [{learned(j): value for j, value in enumerate(x)} for x in X.tolist()]
    model = ct.MultitaskLogistic().partial_fit(records, X[:, 0] > 0, task=task)
    expected = model.decision_function(records, task=task)
    for name in (str, int):
        frame = pd.DataFrame(X, columns=[name(j) for j in range(3)])
        assert model.decision_function(frame, task=task) == pytest.approx(expected, rel=1e-9)


def test_a_gap_in_the_first_record_hides_no_name():
    frame = pd.DataFrame({0: [np.nan, 2.0], "b": [1.0, -1.0]})
    model = ct.MultitaskPerceptron().partial_fit([{"0": 1.0, "b": 0.5}, {"0": -1.0}], [1, -1], task=["ann"] * 2)
    expected = model.decision_function([{"b": 1.0}, {"0": 2.0, "b": -1.0}], task=["ann"] * 2)
    assert model.decision_function(frame, task=["ann"] * 2).tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], columns=["a", "a"]), "X has two columns named 'a'"),
        (pd.DataFrame([[1.0, "x"], [3.0, "y"]], columns=["a", "a"]), "X has two columns named 'a'"),
        (pd.DataFrame({"a": [1.0, 2.0], "z": [1j, 2j]}), "X has a column that cannot be read: .* column z .*complex"),
    ],
)
def test_frames_that_cannot_be_read_are_refused_in_a_sentence(frame, message):
    model = ct.AdaptiveSharingClassifier()
    with pytest.raises(ValueError, match=message):
        model.fit(frame, [True, False], ["x", "y"])
    assert not model.__sklearn_is_fitted__()


def test_a_model_of_other_records_refuses_those_of_a_file(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": ["x", "y"] * 2})
    numbers, y, task = frame[["a"]], ["no", "yes"] * 2, ["ann", "bob"] * 2
    renamed, path = frame.rename(columns={"b": "c"}), tmp_path / "x.csv"
    for table, others in ((frame, [numbers, numbers.to_numpy(), renamed]), (numbers, [frame]), (frame, [renamed])):
        table.assign(y=y, user=task).to_csv(path, index=False)
        for X in [*others, *(other.to_dict("records") for other in others if isinstance(other, pd.DataFrame))]:
            model = ct.AdaptiveSharingClassifier().partial_fit(X, y, task=task)
            before = model.predict_proba(X, task=task)
            with pytest.raises(ValueError, match=r"X has records of a file, but|X has . features, but|use read"):
                ct.progressive_validation(model, read(path, label="y", task="user"))
            np.testing.assert_array_equal(model.predict_proba(X, task=task), before)


def test_columns_are_those_of_the_frame_however_it_is_learned(tmp_path):
    frame, y, task = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}), ["no", "yes"], ["ann", "bob"]
    models = [ct.AdaptiveSharingClassifier().partial_fit(frame, y, task=task), ct.AdaptiveSharingClassifier()]
    ct.progressive_validation(models[1], frame, y, task=task)
    assert [model.feature_names_in_.tolist() for model in models] == [["a", "b"]] * 2
    assert content(models[0], tmp_path / "one") == content(models[1], tmp_path / "other")
