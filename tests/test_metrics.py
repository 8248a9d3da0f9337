from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score, log_loss, roc_auc_score

import coterie as ct
import samples
from coterie.evaluation.metrics import calibration_curve, error_curve, evaluate
from coterie.evaluation.trace import mean_class_f1
from reference import metrics as reference

chances = st.sampled_from([0.0, 0.125, 0.5, 0.75, 1.0, float("nan")])
rounds = st.tuples(st.integers(0, 4), st.booleans(), st.integers(-3, 3), chances)


def expected(trace):
    """Every measure, from the definitions."""
    positive = (trace.label == trace.classes[1]).tolist()
    return {
        "error": reference.error(trace.wrong.tolist()),
        "f1": reference.f1(positive, (trace.prediction == trace.classes[1]).tolist()),
        "auc": reference.auc(positive, trace.margin.tolist()),
        "log_loss": reference.log_loss(positive, trace.probability.tolist()),
    }


@given(st.lists(rounds, max_size=40))
def test_equal_to_the_definitions(drawn):
    columns = zip(*drawn, strict=True) if drawn else ([],) * 4
    task, positive, margin, probability = map(np.array, columns)
    columns = np.asarray(margin, float), np.asarray(positive, bool), np.asarray(task, np.int64)
    trace = samples.trace(*columns, range(5), probability=np.asarray(probability, float))
    metrics = evaluate(trace)
    for name, wanted in expected(trace).items():  # nan is equal to nan, and logarithms may differ in the last place
        assert metrics[name] == pytest.approx(wanted, rel=1e-13, abs=0, nan_ok=True)


def test_equal_to_scikit_learn():
    trace = samples.comparison(n=3000, n_tasks=7).traces["half-shared"]
    metrics, positive = evaluate(trace), trace.label == "yes"
    assert metrics["f1"] == pytest.approx(f1_score(trace.label, trace.prediction, pos_label="yes"))
    assert metrics["auc"] == pytest.approx(roc_auc_score(positive, trace.margin))
    assert metrics["log_loss"] == pytest.approx(log_loss(positive, trace.probability))
    assert metrics["error"] == trace.error


@pytest.mark.parametrize("n_classes", [2, 5])
def test_f1_of_many_classes_is_scikit_learns(n_classes):
    labels, predictions = np.random.default_rng(n_classes).integers(n_classes, size=(2, 60)).astype(object)
    assert mean_class_f1(labels, predictions) == pytest.approx(
        f1_score(labels.astype(int), predictions.astype(int), average="macro")
    )
    predictions[:5] = None  # which are of no class
    known = np.where(predictions == None, n_classes, predictions).astype(int)  # noqa: E711
    wanted = f1_score(labels.astype(int), known, average="macro", labels=range(n_classes))
    assert mean_class_f1(labels, predictions) == pytest.approx(wanted)


def test_without_probabilities_there_is_no_log_loss():
    assert np.isnan(evaluate(samples.comparison(n=200).traces["pooled"])["log_loss"])


@given(st.lists(st.booleans(), min_size=1, max_size=60), st.integers(1, 30), st.sampled_from(["even", "log"]))
def test_error_curve_equals_the_definition(mistakes, points, spacing):
    curve = error_curve(samples.from_mistakes(mistakes), points, spacing)
    assert curve.rounds[-1] == len(mistakes)
    assert (np.diff(curve.rounds) > 0).all()
    assert 1 <= len(curve.rounds) <= points
    for at, cumulative in zip(*curve, strict=True):
        assert cumulative == reference.error(mistakes[:at])
    weighted = replace(samples.from_mistakes(mistakes), weight=np.arange(len(mistakes)) % 3.0)
    assert error_curve(weighted, points, spacing).cumulative[-1] == pytest.approx(weighted.error, nan_ok=True)


def test_calibration_is_scikit_learns():
    from sklearn.calibration import calibration_curve as their_calibration

    trace = samples.comparison(n=1000).traces["half-shared"]
    positive = trace.label == "yes"
    curve = calibration_curve(trace, bins=8)
    seen, predictions = their_calibration(positive, trace.probability, n_bins=8, strategy="quantile")
    np.testing.assert_allclose(curve.predicted, predictions, rtol=1e-9)
    np.testing.assert_allclose(curve.observed, seen, rtol=1e-9)


# -- weights ------------------------------------------------------------------------------------------------------------


def decided(n=400, seed=0, weight=None):
    """A trace of log-odds that are about right."""
    rng = np.random.default_rng(seed)
    margin = rng.standard_normal(n).round(2)
    p = 1 / (1 + np.exp(-margin))
    trace = samples.trace(margin, rng.random(n) < p, rng.integers(3, size=n), "abc", probability=p)
    return replace(trace, weight=weight)


def test_errors_count_by_weight():
    weight = np.random.default_rng(1).choice([0.0, 1.0, 2.5], 400)
    trace = decided(weight=weight)
    assert trace.error == evaluate(trace)["error"] == pytest.approx(np.average(trace.wrong, weights=weight))
    assert decided().error == pytest.approx(decided(weight=np.ones(400)).error, rel=1e-15)
    assert np.isnan(decided(weight=np.zeros(400)).error)


def test_a_stream_with_one_label_has_an_error_and_a_log_loss():
    X, task = np.random.default_rng(0).normal(size=(40, 2)), ["ann", "bob"] * 20
    trace = ct.progressive_validation(ct.AdaptiveSharingClassifier(), X, ["no"] * 40, task=task)
    assert evaluate(trace)["error"] == 0.0
    assert 0.0 < evaluate(trace)["log_loss"] < 0.3
    assert np.isnan(evaluate(trace)["auc"])
    assert np.isnan(evaluate(trace)["f1"])  # "no" may turn out to be the positive label
    assert len(calibration_curve(trace).rounds) == 0
    assert ct.compare({"together": ct.AdaptiveSharingClassifier()}, X, ["no"] * 40, task=task).verdict().sentence()
