"""A service that predicts records first and gets their labels later learns what a stream with such a delay learns."""

import numpy as np
import pytest

import coterie as ct

pytest.importorskip("starlette")

from coterie.serve.engine import Engine
from coterie.serve.events import Event, Record
from coterie.serve.service import Service
from states import digest, reloaded
from test_serve import rebuilt
from test_serve_damage import kill

N, DELAYS = 60, (1, 25, 80)


def stream(numbers=False, classes=2, gaps=True, seed=0):
    """Records with features that come and go, on scales of their own, of tasks that come one after the other."""
    rng = np.random.default_rng(seed)
    X, task, y = [], [], []
    for t in range(N):
        x = {f"w{j}": float(rng.normal(3.0 * j, 1.0 + j)) for j in range(4)}
        if rng.random() < 0.3:
            x[f"rare{rng.integers(3)}"] = 1.0
        if gaps and rng.random() < 0.2:
            x["w1"] = None
        x["word"] = "abc"[rng.integers(3)]
        X.append(x)
        task.append(f"u{min(int(rng.integers(6)), 2 + t // 9)}")
        score = x["w0"] + 0.3 * (x["w3"] - 9.0) + (task[-1] > "u2")
        y.append(
            float(score)
            if numbers
            else int(np.clip(np.floor(score) % classes, 0, classes - 1))
            if classes > 2
            else bool(score > 0.5)
        )
    return X, task, y


#: What is begun, whether labels are numbers, and how many classes there are.
LEARNERS = {
    "adaptive": (ct.AdaptiveSharingClassifier, False, 2),
    "adaptive, unscaled": (lambda: ct.AdaptiveSharingClassifier(scale="none"), False, 2),
    "adaptive, standard": (lambda: ct.AdaptiveSharingClassifier(scale="standard"), False, 2),
    "regression": (ct.AdaptiveSharingRegressor, True, 2),
    "many classes": (lambda: ct.OneVsRest(ct.AdaptiveSharingClassifier()), False, 4),
    "many classes, unmixed": (lambda: ct.OneVsRest(ct.MultitaskLogistic()), False, 4),
    "logistic": (ct.MultitaskLogistic, False, 2),
    "balanced": (lambda: ct.MultitaskLogistic(class_weight="balanced"), False, 2),
    "hashed": (lambda: ct.MultitaskPerceptron(storage="hashed", bits=10), False, 2),
    "mean": (lambda: ct.MultitaskPerceptron(ct.MeanRegularized(b=2.0), average=True), False, 2),
    "learned": (lambda: ct.MultitaskPerceptron(ct.LogDet(eta=1e-6)), False, 2),
    "learned in a mixture": (
        lambda: ct.AdaptiveSharingClassifier([ct.MultitaskAROW(), ct.MultitaskPerceptron(ct.LogDet(eta=1e-6))]),
        False,
        2,
    ),
    "arow": (ct.MultitaskAROW, False, 2),
    "numbers": (ct.MultitaskRegressor, True, 2),
    "asking": (lambda: ct.SelectiveSampling(ct.AdaptiveSharingClassifier()), False, 2),
    "asking a perceptron": (lambda: ct.SelectiveSampling(ct.MultitaskPerceptron(), budget=30), False, 2),
}


def delayed(begin, X, task, y, delay):
    """What a stream learns whose labels come so late."""
    model = begin()
    ct.progressive_validation(model, X, y, task=task, delay=delay)
    return model


def events_of(X, task, y, delay):
    """Predictions, and labels so many records later."""
    events = []
    for t in range(N + delay):
        if t < N:
            events.append(Event("predicted", float(t), [Record(id=f"e{t}", task=task[t], x=X[t])]))
        if 0 <= t - delay < N:
            events.append(Event("observed", float(t), [Record(id=f"e{t - delay}", y=y[t - delay])]))
    return events


def in_frames(events, frames):
    """Events in frames: one each, all in one, or several, with requests of many records."""
    if frames == "one each":
        return [[event] for event in events]
    if frames == "one":
        return [events]
    joined = []
    for event in events:
        if joined and joined[-1].kind == event.kind:
            joined[-1].records = [*joined[-1].records, *event.records]
        else:
            joined.append(Event(event.kind, event.at, list(event.records)))
    return [joined[k : k + 5] for k in range(0, len(joined), 5)]


@pytest.mark.parametrize("delay", DELAYS)
@pytest.mark.parametrize("name", LEARNERS)
def test_late_labels_are_learned_as_in_a_stream(name, delay, tmp_path):
    """Bit by bit, in frames however they are, and with a restart in the middle."""
    begin, numbers, classes = LEARNERS[name]
    X, task, y = stream(
        numbers, classes, gaps=begin().scale not in (None, "none") if hasattr(begin(), "scale") else False
    )
    expected = digest(delayed(begin, X, task, y, delay))
    events = events_of(X, task, y, delay)
    for frames in ("one each", "one", "several"):
        engine = Engine(begin(), compared=False)
        for k, frame in enumerate(in_frames(events, frames)):
            engine.take(frame, k + 1)
            if frames == "one each" and k == len(events) // 2:
                engine = reloaded(engine, tmp_path / "engine")
        assert not engine.waiting
        assert digest(engine.model) == expected, frames


@pytest.mark.parametrize("name", ["adaptive", "regression", "many classes", "asking", "mean"])
def test_late_labels_are_learned_as_in_a_stream_over_crashes(name, tmp_path):
    """From snapshots, from the journal behind them, and from the whole journal."""
    begin, numbers, classes = LEARNERS[name]
    X, task, y = stream(numbers, classes, gaps=name != "mean")
    expected = digest(delayed(begin, X, task, y, 9))

    def make():
        return Engine(begin(), compared=False)

    service = Service(tmp_path, make)
    for k, event in enumerate(events_of(X, task, y, 9)):
        service.submit(event.kind, event.records).result()
        if k in (5, 40):
            service.snapshot()
        if k in (20, 60, 90):
            kill(service)
            service = Service(tmp_path, make)
    kill(service)
    assert digest(service.engine.model) == expected
    assert digest(rebuilt(tmp_path, make).model) == expected
