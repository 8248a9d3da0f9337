"""The constant: what it guesses, and what it settles."""

import numpy as np
import pytest

import coterie as ct
from coterie.evaluation.baselines import CONSTANT, LabelBaselines
from coterie.evaluation.metrics import evaluate
from reference import constant as reference

RNG = np.random.default_rng(4)
X, TASK = RNG.normal(size=(120, 3)), RNG.integers(12, size=120)
TWO = np.where(RNG.random(120) < 0.4, "yes", "no")
THREE = RNG.choice(["a", "b", "c"], p=[0.2, 0.5, 0.3], size=120)


def constant(model, trace):
    return model.predict_next(trace)[CONSTANT]


def pieces(trace, size=17):
    """The trace in stretches, as a comparison tells them on the way."""
    from dataclasses import replace

    for first in range(0, trace.n, size):
        span = slice(first, first + size)
        names = ("margin", "prediction", "mistake", "updated", "queried", "label", "task", "probability")
        yield replace(trace, **{name: getattr(trace, name)[span] for name in names if getattr(trace, name) is not None})


@pytest.mark.parametrize("delay", [0, 1, 30, 500])
def test_of_two_labels_it_guesses_the_more_frequent(delay):
    trace = ct.progressive_validation(ct.AdaptiveSharingClassifier(), X, TWO, task=TASK)
    predictions = constant(LabelBaselines(delay), trace)
    for t in range(120):
        before = TWO[: max(t - delay, 0)]
        positive = int((before == "yes").sum())
        assert predictions.prediction[t] == ("yes" if 2 * positive >= len(before) else "no")
        assert predictions.probability[t] == pytest.approx((positive + 0.5) / (len(before) + 1))
        p = predictions.probability[t]
        assert predictions.margin[t] == pytest.approx(np.log(p / (1 - p)), abs=1e-12)
    np.testing.assert_array_equal(predictions.mistake, np.where(TWO == "yes", 1, -1) * predictions.margin <= 0)
    running = LabelBaselines(delay)
    parts = [constant(running, piece) for piece in pieces(trace)]
    for name in ("margin", "prediction", "probability"):
        joined = np.concatenate([getattr(part, name) for part in parts])
        np.testing.assert_array_equal(joined, getattr(predictions, name))


@pytest.mark.parametrize("delay", [0, 7])
def test_of_many_classes_it_guesses_the_most_frequent(delay):
    trace = ct.progressive_validation(ct.OneVsRest(), X, THREE, task=TASK)
    expected = reference.constant(THREE.tolist(), delay)
    assert constant(LabelBaselines(delay), trace).prediction.tolist() == expected
    running = LabelBaselines(delay)
    assert [value for piece in pieces(trace) for value in constant(running, piece).prediction.tolist()] == expected


@pytest.mark.parametrize("delay", [0, 7])
def test_of_numbers_it_guesses_their_mean(delay):
    y = RNG.normal(50, 10, 120)
    trace = ct.progressive_validation(ct.MultitaskRegressor(), X, y, task=TASK)
    expected = [y[: max(t - delay, 0)].mean() if t > delay else 0.0 for t in range(120)]
    np.testing.assert_allclose(constant(LabelBaselines(delay), trace).prediction, expected, rtol=1e-12)
    running = LabelBaselines(delay)
    parts = [constant(running, piece).prediction for piece in pieces(trace)]
    np.testing.assert_allclose(np.concatenate(parts), expected, rtol=1e-12)


def test_a_task_of_which_nothing_was_learned_is_predicted_as_the_constant():
    comparison = ct.compare({"half": ct.AdaptiveSharingClassifier()}, X, TWO, task=TASK)
    alone, constant = comparison.traces["independent"], comparison.traces["constant"]
    fresh = np.zeros(120, bool)
    fresh[np.unique(TASK, return_index=True)[1]] = True
    np.testing.assert_array_equal(alone.margin == 0, fresh)
    np.testing.assert_array_equal(alone.prediction[fresh], constant.prediction[fresh])
    np.testing.assert_array_equal(alone.probability[fresh], constant.probability[fresh])
    raw = ct.progressive_validation(comparison.models["half"]._with_relation(ct.Independent()), X, TWO, task=TASK)
    np.testing.assert_array_equal(alone.margin, raw.margin)
    np.testing.assert_array_equal(alone.prediction[~fresh], raw.prediction[~fresh])
    assert (raw.prediction[fresh] == "yes").all()
    assert set(constant.prediction[fresh]) == {"no", "yes"}


def test_it_has_probabilities_where_a_learner_has():
    trace = ct.progressive_validation(ct.MultitaskPerceptron(), X, TWO, task=TASK)
    assert LabelBaselines().add_to({"plain": trace})["constant"].probability is None
    comparison = ct.compare({"half": ct.AdaptiveSharingClassifier()}, X, TWO, task=TASK)
    share = (TWO == "yes").mean()
    entropy = -share * np.log(share) - (1 - share) * np.log(1 - share)
    assert evaluate(comparison.traces["constant"])["log_loss"] == pytest.approx(entropy, abs=0.05)
