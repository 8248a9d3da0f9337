"""The running mean of each task and the constant: equal to their definitions, cut, late, forgotten; and in every comparison."""

import json
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest

import coterie as ct
import samples
from coterie.evaluation import baselines
from coterie.evaluation.baselines import CONSTANT, LabelBaselines
from coterie.evaluation.metrics import evaluate
from coterie.server.engine import Engine
from coterie.server.events import Event, Record
from reference import running as reference

RNG = np.random.default_rng(8)
N = 150
TASK = RNG.choice(["a", "b", "c", "d", "e", "f"], N, p=[0.4, 0.3, 0.1, 0.1, 0.05, 0.05])
X = RNG.normal(size=(N, 2))
RATE = dict(zip("abcdef", [0.9, 0.2, 0.7, 0.1, 0.5, 0.95], strict=True))
TWO = np.where(RNG.random(N) < [RATE[task] for task in TASK], "yes", "no")
THREE = np.where(RNG.random(N) < 0.6, TASK, RNG.choice(["a", "b", "x"], N))
NUMBERS = 50 + 10 * np.array([RATE[task] for task in TASK]) + RNG.normal(size=N)


@cache
def traces():
    models = ct.MultitaskLogistic(), ct.OneVsRest(), ct.MultitaskRegressor()
    labels = TWO, THREE, NUMBERS
    return [ct.progressive_validation(model, X, y, task=TASK) for model, y in zip(models, labels, strict=True)]


def running(model, trace):
    return next(iter(model.predict_next(trace).values()))


def pieces(trace, size=17):
    """The trace in stretches that name their tasks themselves."""
    for first in range(0, trace.n, size):
        piece = samples.cut(trace, slice(first, first + size))
        tasks, codes = np.unique(np.array(trace.tasks)[piece.task], return_inverse=True)
        yield replace(piece, task=codes, tasks=tuple(tasks.tolist()))


@pytest.mark.parametrize("delay", [0, 1, 20, 500])
def test_it_is_what_its_definition_says(delay):
    two, three, numbers = (running(LabelBaselines(delay), trace) for trace in traces())
    task = TASK.tolist()
    rates = reference.rates(TWO.tolist(), task, delay, ("no", "yes"))
    np.testing.assert_allclose(two.probability, [rate["yes"] for rate in rates], rtol=1e-9)
    np.testing.assert_array_equal(two.prediction, np.where(two.probability >= 0.5, "yes", "no"))
    np.testing.assert_allclose(np.exp(two.margin), two.probability / (1 - two.probability), rtol=1e-9)
    rates = reference.rates(THREE.tolist(), task, delay)
    expected = [rate.get(label, 0.0) for rate, label in zip(rates, THREE.tolist(), strict=True)]
    np.testing.assert_allclose(three.probability, expected, rtol=1e-9)
    assert three.prediction.tolist() == reference.likelier(THREE.tolist(), task, delay)
    np.testing.assert_allclose(numbers.prediction, reference.numbers(NUMBERS.tolist(), task, delay), rtol=1e-9)


@pytest.mark.parametrize("delay", [0, 30])
@pytest.mark.parametrize("place", range(3), ids=["two", "many", "numbers"])
def test_they_are_the_same_however_the_stream_is_cut(place, delay, monkeypatch):
    trace = traces()[place]
    whole, resume = LabelBaselines(delay).predict_next(trace), LabelBaselines(delay)
    parts = [resume.predict_next(piece) for piece in pieces(trace)]
    monkeypatch.setattr(baselines, "_CHUNK", 11)
    again = LabelBaselines(delay).predict_next(trace)
    for key, name in product(whole, ("margin", "prediction", "mistake", "probability")):
        expected = getattr(whole[key], name)
        if expected is not None:
            np.testing.assert_array_equal(np.concatenate([getattr(part[key], name) for part in parts]), expected)
            np.testing.assert_array_equal(getattr(again[key], name), expected)


def test_a_forgotten_task_begins_anew():
    model = LabelBaselines()
    model.predict_next(traces()[2])
    model.forget(["a", "never seen"])
    assert "a" not in model.tasks
    assert model.total.n == N
    later = replace(next(pieces(traces()[2], 1)), task=np.zeros(1, np.int64), tasks=("a",))
    assert running(model, later).prediction[0] == pytest.approx(NUMBERS.mean())


def test_a_service_compares_with_it_forgets_and_goes_on():
    records = [{"a": value} for value in X[:, 0].tolist()]
    engine = Engine(ct.MultitaskLogistic())
    for t, (x, y, task) in enumerate(zip(records, TWO == "yes", TASK.tolist(), strict=True)):
        engine.apply([Event("observed", float(t), [Record(task=task, x=x, y=bool(y))])])
    live = engine.live
    live.catch_up(1e9)
    compared = ct.compare(ct.MultitaskLogistic(), records, TWO == "yes", task=TASK)
    assert live.errors["running rate"] == pytest.approx(compared.traces["running rate"].error)
    assert list(live.errors)[-2:] == ["running rate", "constant"]
    live.forget(["a"], 1e9)
    assert set(live._labels_seen.tasks) == set("bcdef")
    saved = json.loads(json.dumps(live._labels_seen.to_saved()))
    assert "a" not in {task for task, *_ in saved["tasks"]}
    again = LabelBaselines.from_saved(saved)
    assert (again.tasks, again.total) == (live._labels_seen.tasks, live._labels_seen.total)
    np.testing.assert_array_equal(again.losses, live._labels_seen.losses)


# -- the constant ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delay", [0, 1, 30, 500])
def test_the_constant_is_the_more_frequent_label_or_the_mean(delay):
    two, three, numbers = (LabelBaselines(delay).predict_next(trace)[CONSTANT] for trace in traces())
    for t in range(N):
        before = TWO[: max(t - delay, 0)]
        positive = int((before == "yes").sum())
        assert two.prediction[t] == ("yes" if 2 * positive >= len(before) else "no")
        assert two.probability[t] == pytest.approx((positive + 0.5) / (len(before) + 1))
        p = two.probability[t]
        assert two.margin[t] == pytest.approx(np.log(p / (1 - p)), abs=1e-12)
    np.testing.assert_array_equal(two.mistake, np.where(TWO == "yes", 1, -1) * two.margin <= 0)
    assert three.prediction.tolist() == [reference.leader(THREE[: max(t - delay, 0)].tolist()) for t in range(N)]
    expected = [NUMBERS[: max(t - delay, 0)].mean() if t > delay else 0.0 for t in range(N)]
    np.testing.assert_allclose(numbers.prediction, expected, rtol=1e-12)


def test_a_task_of_which_nothing_was_learned_is_predicted_as_the_constant():
    comparison = ct.compare({"half": ct.AdaptiveSharingClassifier()}, X, TWO, task=TASK)
    alone, constant = comparison.traces["independent"], comparison.traces["constant"]
    fresh = np.zeros(N, bool)
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
