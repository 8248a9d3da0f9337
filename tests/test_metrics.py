import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score, log_loss, roc_auc_score

import coterie as ct
import samples
from coterie.evaluation.metrics import calibration_curve, error_curve, evaluate
from coterie.evaluation.trace import Trace
from reference import metrics as reference

MEASURES = ("error", "f1", "auc", "log_loss")

chances = st.sampled_from([0.0, 0.125, 0.5, 0.75, 1.0, float("nan")])
rounds = st.tuples(st.integers(0, 4), st.booleans(), st.integers(-3, 3), chances)


def expected(trace, chosen):
    """Every measure over the chosen rounds, from the definitions."""
    positive = (trace.label[chosen] == trace.classes[1]).tolist()
    predicted = (trace.prediction[chosen] == trace.classes[1]).tolist()
    return {
        "error": reference.error(trace.wrong[chosen].tolist()),
        "f1": reference.f1(positive, predicted),
        "auc": reference.auc(positive, trace.margin[chosen].tolist()),
        "log_loss": reference.log_loss(positive, trace.probability[chosen].tolist()),
    }


def exactly(value, wanted):
    """Equal, nan being equal to nan; logarithms may differ in the last place."""
    assert value == pytest.approx(wanted, rel=1e-13, abs=0, nan_ok=True)


@given(st.lists(rounds, max_size=40))
def test_equal_to_the_definitions(drawn):
    columns = zip(*drawn, strict=True) if drawn else ([],) * 4
    task, positive, margin, probability = map(np.array, columns)
    columns = np.asarray(margin, float), np.asarray(positive, bool), np.asarray(task, np.int64)
    trace = samples.trace(*columns, range(5), probability=np.asarray(probability, float))
    metrics = evaluate(trace)
    per_task = [expected(trace, trace.task == i) for i in range(5)]
    micro = expected(trace, np.ones(trace.n, bool))
    for name in MEASURES:
        for i in range(5):
            exactly(metrics.per_task[name][i], per_task[i][name])
        exactly(metrics.micro[name], micro[name])
        mean, defined = reference.macro([values[name] for values in per_task])
        exactly(metrics.macro[name], mean)
        assert metrics.defined[name] == defined
    assert metrics.counts.tolist() == [int((trace.task == i).sum()) for i in range(5)]


def test_equal_to_scikit_learn():
    trace = samples.comparison(n=3000, n_tasks=7).traces["half-shared"]
    metrics = evaluate(trace)
    for i in range(7):
        mine = trace.task == i
        label, margin = trace.label[mine], trace.margin[mine]
        assert metrics.per_task["f1"][i] == pytest.approx(f1_score(label, trace.prediction[mine], pos_label="yes"))
        assert metrics.per_task["auc"][i] == pytest.approx(roc_auc_score(label == "yes", margin))
        assert metrics.per_task["log_loss"][i] == pytest.approx(log_loss(label == "yes", trace.probability[mine]))
    assert metrics.micro["auc"] == pytest.approx(roc_auc_score(trace.label == "yes", trace.margin))
    assert metrics.micro["error"] == trace.error


def test_without_probabilities_there_is_no_log_loss():
    trace = samples.comparison(n=200).traces["pooled"]
    metrics = evaluate(trace)
    assert np.isnan(metrics.micro["log_loss"])
    assert metrics.defined["log_loss"] == 0
    assert metrics.to_json()["macro"]["log_loss"] is None


@given(st.lists(st.booleans(), min_size=1, max_size=60), st.integers(1, 30), st.sampled_from(["even", "log"]))
def test_error_curve_equals_the_definition(mistakes, points, spacing):
    curve = error_curve(samples.from_mistakes(mistakes), points, spacing)
    assert curve.rounds[-1] == len(mistakes)
    assert (np.diff(curve.rounds) > 0).all()
    assert 1 <= len(curve.rounds) <= points
    for at, cumulative in zip(*curve, strict=True):
        assert cumulative == reference.cumulative_error(mistakes, at)


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
    label = np.where(rng.random(n) < p, "yes", "no")
    return Trace(
        margin=margin,
        prediction=np.where(margin >= 0, "yes", "no"),
        mistake=np.zeros(n, bool),
        updated=np.zeros(n, bool),
        queried=np.ones(n, bool),
        label=label,
        task=rng.integers(3, size=n),
        tasks=("a", "b", "c"),
        classes=np.array(["no", "yes"]),
        probability=p,
        weight=weight,
    )


def test_errors_count_by_weight():
    weight = np.random.default_rng(1).choice([0.0, 1.0, 2.5], 400)
    trace = decided(weight=weight)
    metrics = evaluate(trace)
    assert trace.error == pytest.approx(np.average(trace.wrong, weights=weight))
    assert metrics.micro["error"] == pytest.approx(trace.error)
    mine = trace.task == 1
    assert metrics.per_task["error"][1] == pytest.approx(np.average(trace.wrong[mine], weights=weight[mine]))
    assert evaluate(decided()).micro["error"] == evaluate(decided(weight=np.ones(400))).micro["error"]
    assert np.isnan(decided(weight=np.zeros(400)).error)


def test_a_stream_with_one_label_has_an_error_and_a_log_loss():
    X, task = np.random.default_rng(0).normal(size=(40, 2)), ["ann", "bob"] * 20
    trace = ct.progressive_validation(ct.AdaptiveSharingClassifier(), X, ["no"] * 40, task=task)
    assert evaluate(trace).micro["error"] == 0.0
    assert 0.0 < evaluate(trace).micro["log_loss"] < 0.3
    assert np.isnan(evaluate(trace).micro["auc"])
    assert len(calibration_curve(trace).rounds) == 0
    compared = ct.compare({"together": ct.AdaptiveSharingClassifier()}, X, ["no"] * 40, task=task)
    assert compared.verdict().sentence()
