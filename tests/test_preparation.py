"""The constant, the scales and the marks of what is missing: the same in files, frames, arrays and dictionaries."""

import copy
import math
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array

import coterie as ct
from forms import records

pytestmark = [
    pytest.mark.filterwarnings("ignore:column 'flat' has the same value in the first"),
    pytest.mark.filterwarnings("ignore:records without a task are learned as one task"),
    pytest.mark.filterwarnings("ignore:column 'age' has values that tell the label nearly by themselves"),
]

N = 240
RNG = np.random.default_rng(1)
AMOUNT = (RNG.normal(size=N) * 2e4 + 5e4).round(2).tolist()
NUMBERS = {"amount": AMOUNT, "flat": [7.0] * N, "age": RNG.integers(18, 90, N).tolist()}
MIXED = NUMBERS | {"shop": RNG.choice(["north", "south"], N).tolist(), "vip": (RNG.random(N) < 0.3).tolist()}
NUMBERS["amount"][5] = NUMBERS["amount"][100] = MIXED["shop"][5] = MIXED["shop"][9] = None
USER = RNG.choice(["ann", "bob", "eve"], N).tolist()
Y = np.where(np.array([amount or 0.0 for amount in NUMBERS["amount"]]) + RNG.normal(size=N) * 1e4 > 6e4, "yes", "no")


def test_scores_are_those_of_the_definition():
    X = np.array([[1.0, 10.0], [3.0, math.nan], [5.0, 40.0]])
    model = ct.MultitaskLogistic(scale="standard").partial_fit(X, [0, 1, 1])
    expected = []
    for t in range(3):
        row = []
        for j in range(2):
            seen = X[: t + 1, j][~np.isnan(X[: t + 1, j])]
            row.append((X[t, j] - seen.mean()) / seen.std() if not math.isnan(X[t, j]) and seen.std() > 0 else 0.0)
        expected.append([*row, 1.0, float(math.isnan(X[t, 1]))])
    expected_model = ct.MultitaskLogistic(fit_intercept=False, scale="none").partial_fit(expected, [0, 1, 1])
    coefficients = np.c_[model.coef_[:, :2], model.intercept_, model.coef_[:, 2]]
    np.testing.assert_allclose(coefficients, expected_model.coef_, rtol=1e-12)
    unit = ct.MultitaskLogistic(scale="unit").partial_fit([[3.0, 4.0]], [1], classes=[0, 1])
    ones = np.array([[3.0, 4.0, 1.0]]) / math.sqrt(26)
    alone = ct.MultitaskLogistic(fit_intercept=False, scale="none").partial_fit(ones, [1], classes=[0, 1])
    np.testing.assert_allclose(np.c_[unit.coef_, unit.intercept_], alone.coef_, rtol=1e-12)


def test_sparse_rows_get_the_constant_and_are_not_shifted():
    X = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 1.0]])
    rows = np.c_[X, np.ones(3)]
    rows /= np.sqrt((rows * rows).sum(1))[:, None]
    y, task = [0, 1, 1], np.zeros(3)
    model = ct.AdaptiveSharingClassifier("cheap").fit(csr_array(X), y, task)
    expected_model = ct.AdaptiveSharingClassifier("cheap", fit_intercept=False, scale=None).fit(
        csr_array(rows), y, task
    )
    expected = expected_model.decision_function(csr_array(rows))
    np.testing.assert_array_equal(model.decision_function(csr_array(X)), expected)
    np.testing.assert_array_equal(model.decision_function(X), model.decision_function(csr_array(X)))
    dense = ct.AdaptiveSharingClassifier("cheap").fit(X, y, task)
    np.testing.assert_array_equal(dense.decision_function(X), dense.decision_function(csr_array(X)))


def test_what_is_refused_leaves_scales_as_they_were():
    model = ct.AdaptiveSharingClassifier().fit(records(MIXED)[:60], Y[:60], task=USER[:60])
    before = copy.deepcopy(model)
    for refused, message in [
        (lambda: model.partial_fit([{"amount": 1.0}, {"amount": math.inf}], ["yes", "no"], ["ann", "bob"]), "finite"),
        (lambda: model.learn_one({"amount": 1e5, "new": 2.0}, "maybe", "ann"), "maybe"),
        (lambda: model.learn_one({"amount": "much"}, "yes", "ann"), "'amount' was a number so far, but is 'much'"),
        (lambda: model.partial_fit(records(MIXED)[:5], Y[:4], USER[:5]), "one label per record"),
    ]:
        with pytest.raises(ValueError, match=message):
            refused()
    for fitted_model in (model, before):
        fitted_model.partial_fit(records(MIXED), Y, USER)
    predictions = before.decision_function(records(MIXED), USER)
    np.testing.assert_array_equal(model.decision_function(records(MIXED), USER), predictions)


def test_frames_with_columns_that_cannot_be_used_say_so():
    frame = pd.DataFrame(MIXED)
    model = ct.AdaptiveSharingClassifier().fit(frame, Y, task=USER)
    for wrong, message in [
        (frame.assign(amount="much"), "column 'amount'.*expected numbers"),
        (frame.drop(columns="age"), "there is no column 'age' among"),
        (frame[:0], "X has no records"),
        (
            frame.assign(age=[1, *["x"] * (N - 1)]),
            "mixed types .Conversion failed for column age .*; make it numbers by pandas.to_numeric, or text by",
        ),
    ]:
        with pytest.raises(ValueError, match=message):
            model.partial_fit(wrong, Y, task=USER)
    with (
        pytest.raises(ValueError, match="no columns are left for features"),
        pytest.warns(UserWarning, match="'nested'"),
    ):
        ct.AdaptiveSharingClassifier().fit(pd.DataFrame({"nested": [{"a": 1}] * 4}), [0, 1, 0, 1], np.zeros(4))


@pytest.mark.parametrize(
    ("fit", "message"),
    [
        (lambda: ct.MultitaskLogistic(scale="huge").fit([[1.0], [2.0]], [0, 1]), "scale must be one of 'none', 'stand"),
        (lambda: ct.MultitaskLogistic(scale="standard").fit(csr_array([[1.0], [2.0]]), [0, 1]), "needs numeric"),
        (lambda: ct.MultitaskLogistic(fit_intercept=False).fit([[1.0], [math.nan]], [0, 1]), "X contains NaN"),
    ],
)
def test_scales_that_cannot_be_are_refused(fit, message):
    with pytest.raises(ValueError, match=message):
        fit()


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_a_column_that_names_the_tasks_and_is_a_feature_is_warned_of(frame):
    table = frame({"customer": ["ann", "bob"] * 3, "price": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]})
    y = [True, False] * 3
    with pytest.warns(
        UserWarning, match="column 'customer' names the tasks and is a feature as well: give task_column="
    ):
        ct.AdaptiveSharingClassifier().fit(table, y, task=table["customer"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ct.AdaptiveSharingClassifier(task_column="customer").fit(table, y)
        ct.AdaptiveSharingClassifier().fit(table[["price"]], y, task=table["customer"])


def test_an_empty_name_is_that_of_the_constant_and_of_no_feature(tmp_path):
    """As a data frame's index has in a CSV: it would have shared the column of the constant."""
    model = ct.AdaptiveSharingClassifier()
    for t in range(60):  # until compiled code reads the dictionaries
        model.learn_one({"a": float(t % 3)}, t % 2 == 0, task="u")
    for call in (model.learn_one, lambda x, y, task: model.predict_one(x, task)):
        with pytest.raises(ValueError, match="a feature has the empty name"):
            call({"": 1.0, "a": 1.0}, True, "u")
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["x", "y", "x"]})
    frame.assign(user="ann", label=[0, 1, 0]).to_csv(tmp_path / "indexed.csv")
    reader = ct.read(tmp_path / "indexed.csv", label="label", task="user")
    list(reader)
    assert reader.dropped == {"": "it has no name"}
    with pytest.warns(UserWarning, match="column '' is left out: it has no name"):
        ct.AdaptiveSharingClassifier().fit(frame.assign(**{"": [1, 2, 3]}), [0, 1, 0], task=["u"] * 3)


# -- decimals ----------------------------------------------------------------------------------------------------------

AMOUNTS = [{"a": 1.5, "b": 2.0, "s": "x"}, {"a": 2.5, "b": 3.0, "s": "y"}, {"a": float("nan"), "b": 1.0, "s": "x"}]


def decimals(records):
    return [{name: Decimal(str(value)) if name == "a" else value for name, value in x.items()} for x in records]


def learned_one_by_one(records):
    model = ct.AdaptiveSharingClassifier()
    for t, x in enumerate(records):
        model.learn_one(x, t == 1)
    return model


DECIMALS = {
    "dictionaries": lambda X: ct.AdaptiveSharingClassifier().fit(X, [0, 1, 1]),
    "logarithms": lambda X: ct.AdaptiveSharingClassifier(log=["a"]).fit(X, [0, 1, 1]),
    "without scales": lambda X: ct.AdaptiveSharingClassifier(scale="none").fit(X[:2], [0, 1]),
    "one by one": learned_one_by_one,
    "frame": lambda X: ct.AdaptiveSharingClassifier().fit(pd.DataFrame(X), [0, 1, 1]),
    "numbers": lambda X: ct.AdaptiveSharingRegressor().fit(X, [0, 1, 1]),
}


@pytest.mark.parametrize("form", DECIMALS)
def test_decimals_are_numbers_in_every_form(form):
    margins, expected = (
        DECIMALS[form](X).predict(pd.DataFrame(X) if form == "frame" else X[:2]) for X in (decimals(AMOUNTS), AMOUNTS)
    )
    np.testing.assert_array_equal(margins, expected)


def test_decimals_are_labels_weights_and_rewards():
    model, weighed = ct.AdaptiveSharingRegressor(), ct.MultitaskLogistic(class_weight={True: Decimal(2)})
    model.learn_one({"x": 1.0}, Decimal("2.5"))
    model.fit([{"x": 1.0}, {"x": 2.0}], [Decimal(1), Decimal("2.5")], sample_weight=[Decimal(1), Decimal(2)])
    weighed.learn_one({"x": 1.0}, True, sample_weight=Decimal(3))
    ct.Bandit().learn({"x": Decimal(1)}, "left", Decimal("0.5"), probability=Decimal("0.5"))
