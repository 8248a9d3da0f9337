"""What is said of a model's tasks, on relations whose answer is known."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import coterie as ct
import raw
from coterie.evaluation import explanation
from slow import slow


def learned(seed=0, n=4000):
    """Tasks a, b alike, c on its own, d the mirror of a; names of features."""
    rng = np.random.default_rng(seed)
    U = {"a": np.array([1.0, 0, 0, 1, 0]), "b": np.array([1.0, 0, 0, 1, 0]), "c": np.array([0.0, 1, 0, 0, 0])}
    U["d"] = -U["a"]
    task = rng.choice(list("cadb"), size=n)
    X = rng.standard_normal((n, 5))
    y = np.array([U[label] @ x > 0 for label, x in zip(task, X, strict=True)])
    frame = pd.DataFrame(X, columns=["price", "age", "size", "year", "rank"])
    return ct.MultitaskPerceptron(ct.tasks.Primed(ct.LogDet(1e-2, step_norm=True), 0.05)).fit(frame, y, task)


def test_relations_that_were_planted_are_told():
    model = learned()
    np.testing.assert_allclose(np.diag(explanation.correlations(model)), 1)
    (nearest, value), *_, (farthest, least) = explanation.nearest_tasks(model, "a")
    assert (nearest, farthest) == ("b", "d")
    assert value > 0.8
    assert least < -0.8


def records(n=60, seed=0, size=1.0):
    """Records of numbers of some size and strings, with labels and tasks."""
    rng = np.random.default_rng(seed)
    records_made = []
    for _ in range(n):
        x = {f"f{j}": size * float(rng.normal()) for j in range(5)} | {"colour": ["red", "blue"][rng.integers(2)]}
        records_made.append((x, bool(x["f0"] > 0), ["ann", "bob", "cyd"][rng.integers(3)]))
    return records_made


def total(explanation):
    return explanation.base + sum(part.part for part in explanation.parts) + explanation.rest


#: All of their margins is a weighted sum of features, and a constant.
LINEAR = {
    "averaged": lambda: ct.MultitaskPerceptron(average=True),
    "default": raw.AdaptiveSharingClassifier,
    "AROW": raw.MultitaskAROW,
    "p-norm": ct.PNormMultitaskPerceptron,
    "potential": ct.PotentialMultitaskPerceptron,
    "numbers": raw.MultitaskRegressor,
    "default of numbers": raw.AdaptiveSharingRegressor,
    "mixed effects of numbers": lambda: ct.MultitaskMixedEffectsRegressor(scale="none"),
}


@pytest.mark.parametrize("name", [slow(name) if name in ("AROW", "p-norm") else name for name in LINEAR])
def test_the_parts_of_features_add_up_to_the_margin(name):
    model, numbers = LINEAR[name](), "numbers" in name
    xs, ys, tasks = (list(column) for column in zip(*records(), strict=True))
    model.partial_fit(xs, [3.0 + x["f0"] for x in xs] if numbers else ys, task=tasks)
    for x, _, task in records(5, seed=1, size=0.3):
        for of in (task, "dan"):
            explanation = model.explain(x, of)
            predictions = model.predict_one(x, of) if numbers else model.decision_function_one(x, of)
            assert explanation.margin == predictions
            assert (explanation.rest, explanation.rest_of) == (0.0, "")
            np.testing.assert_allclose(total(explanation), predictions, rtol=1e-9)
            sizes = [abs(part.part) for part in explanation.parts]
            assert sizes == sorted(sizes, reverse=True)
        W = dict(zip(model.feature_names, model.coef_[model.tasks_.index(task)], strict=True))
        for name_, value, part, _ in model.explain(x, task).parts:
            assert value == (1.0 if name_.startswith("colour") else x[name_])
            if name != "default":  # whose log-odds of mixed effects are shrunk by the variance of each record
                np.testing.assert_allclose(part, W[name_] * value, rtol=1e-9, atol=1e-12)
    assert (explanation.base != 0.0) == (numbers or name in ("default", "pool of signs"))


def test_what_is_no_sum_over_features_is_a_rest_that_says_what_it_is():
    xs, ys, tasks = (list(column) for column in zip(*records(250), strict=True))
    model = ct.MultitaskKernelPerceptron(ct.kernels.Gaussian(1.0)).partial_fit(xs, ys, task=tasks)
    kernel = model.explain(xs[0], tasks[0])
    assert (kernel.parts, kernel.base, kernel.rest_of) == ([], 0.0, "support vectors")
    assert kernel.rest == kernel.margin != 0.0
    second = ct.SecondOrderMultitaskPerceptron()
    for model in (second, raw.AdaptiveSharingClassifier([ct.MultitaskLogistic(), second])):
        explanation = model.partial_fit(xs, ys, task=tasks).explain(xs[0], tasks[0])
        assert explanation.rest_of == "how sure the model is of the record"
        assert explanation.rest * explanation.margin < 0.0 < len(explanation.parts)
        np.testing.assert_allclose(total(explanation), model.decision_function_one(xs[0], tasks[0]), rtol=1e-9)


RECORDS = [{"price": 1.0, "shop": "north"}, {"price": None, "shop": "south"}, {"price": 2.0, "shop": None}]
ARRAY = np.array([[1.0, 5.0], [np.nan, 7.0], [2.0, 6.0]])


@pytest.mark.parametrize(
    ("records", "gaps", "known"),
    [
        (ARRAY, ["0="], {0, 1}),
        (pd.DataFrame(ARRAY, columns=["price", "age"]), ["price="], {"price", "age"}),
        (pd.DataFrame(RECORDS), ["price=", "shop="], {"price", "shop=north", "shop=south"}),
        (RECORDS, ["price=", "shop="], {"price", "shop=north", "shop=south"}),
    ],
    ids=["array", "frame of numbers", "frame", "dictionaries"],
)
def test_the_constant_and_what_is_missing_have_names(records, gaps, known):
    model = ct.AdaptiveSharingClassifier().partial_fit(records, [1, 0, 1], task=["a", "b", "a"])
    assert {weight.name for weight in model.largest_weights()} == {*known, "constant", *gaps}
    assert {weight.name for weight in model.largest_weights("b")} <= {*known, "constant", *gaps}
    second = records[1:2] if hasattr(records, "shape") else records[1]
    parts = {part.name for part in model.explain(second, task="b").parts}
    assert {"constant", gaps[0]} <= parts <= {*known, "constant", *gaps}


@pytest.mark.parametrize("words", [True, False], ids=["frame", "frame of numbers"])
def test_rows_of_frames_are_explained_with_values_as_they_were_given(words):
    rng = np.random.default_rng(0)
    numbers = {"price": rng.normal(100.0, 20.0, 40), "age": rng.integers(20, 60, 40)}
    frame = pd.DataFrame(numbers | ({"shop": ["north", "south"] * 20} if words else {}))
    model = ct.AdaptiveSharingClassifier().fit(frame, frame["price"] > 100, task=["a", "b", "b", "a"] * 10)
    x = {name: value.item() if hasattr(value, "item") else value for name, value in frame.iloc[7].items()}
    rows = [frame.iloc[7], frame.iloc[[7]], [x], pa.Table.from_pandas(frame.iloc[[7]], preserve_index=False)]
    explanation = model.explain(x, "b")
    assert explanation.margin == model.decision_function(frame.iloc[[7]], task=["b"])[0]
    raw_values = {part.name: part.given for part in explanation.parts}
    more = {"shop=south": None} if words else {}
    assert raw_values == {"price": x["price"], "age": x["age"], "constant": None} | more
    assert all(model.explain(row, "b") == explanation for row in rows)
    assert {part.name: part.value for part in explanation.parts}["price"] != x["price"]
    lines = str(explanation).splitlines()
    assert lines[0].split() == ["feature", "given", "value", "part"]
    assert f"{x['price']:.6g}" in next(line for line in lines if line.startswith("price")).split()
    with pytest.raises(ValueError, match="explain takes one record, got 2"):
        model.explain(frame.iloc[:2], "b")
