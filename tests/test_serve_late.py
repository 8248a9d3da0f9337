"""A service that predicts or chooses first and learns later learns what a stream with such a delay learns."""

import numpy as np
import pytest

import coterie as ct
from coterie import SecondOrderMultitaskRegressor
from coterie.server.bandit_engine import BanditEngine
from coterie.server.engine import Engine
from coterie.server.events import Event, JournalRecord, Record
from slow import slow
from states import digest, reloaded

N = 40


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
        label = int(np.clip(np.floor(score) % classes, 0, classes - 1)) if classes > 2 else bool(score > 0.5)
        y.append(float(score) if numbers else label)
    return X, task, y


def learned():
    return ct.MultitaskPerceptron(ct.LogDet(eta=1e-6, step_norm=True))


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
    "mean": (lambda: ct.MultitaskPerceptron(ct.MeanRegularized(b=2.0), average=True), False, 2),
    "learned": (learned, False, 2),
    "learned in a mixture": (lambda: ct.AdaptiveSharingClassifier([ct.MultitaskAROW(), learned()]), False, 2),
    "arow": (ct.MultitaskAROW, False, 2),
    "numbers": (ct.MultitaskRegressor, True, 2),
    "asking": (lambda: ct.SelectiveSampling(ct.AdaptiveSharingClassifier()), False, 2),
    "asking by a budget": (lambda: ct.SelectiveSampling(ct.MultitaskLogistic(), budget=30, window=200), False, 2),
}


#: These compile what few others use.
SELDOM = ("learned", "learned in a mixture", "arow")


def delayed(begin, X, task, y, delay):
    """What a stream learns whose labels come so late."""
    model = begin()
    ct.progressive_validation(model, X, y, task=task, delay=delay)
    return model


def rounds(delay):
    """Number each record that comes first, and each whose label or reward comes this many records later."""
    for t in range(N + delay):
        if t < N:
            yield "first", t
        if 0 <= t - delay < N:
            yield "later", t - delay


def events_of(X, task, y, delay):
    """Predictions, and labels this many records later."""
    return [
        Event("predicted", float(t), [Record(id=f"e{t}", task=task[t], x=X[t])])
        if when == "first"
        else Event("observed", float(t + delay), [Record(id=f"e{t}", y=y[t])])
        for when, t in rounds(delay)
    ]


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


@pytest.mark.parametrize(
    ("name", "delay"),
    [("adaptive", 1), ("adaptive", 80), *(slow(name, 25) if name in SELDOM else (name, 25) for name in LEARNERS)],
)
def test_late_labels_are_learned_as_in_a_stream(name, delay, tmp_path):
    """Bit by bit, in frames however they are, and with a restart in the middle."""
    begin, numbers, classes = LEARNERS[name]
    X, task, y = stream(numbers, classes, getattr(begin(), "scale", None) not in (None, "none"))
    expected = digest(delayed(begin, X, task, y, delay))
    events = events_of(X, task, y, delay)
    for frames in ("one each", "one", "several"):
        engine = Engine(begin(), compared=False)
        for k, frame in enumerate(in_frames(events, frames)):
            engine.apply_frame(frame, k + 1)
            if frames == "one each" and k == len(events) // 2:
                engine = reloaded(engine, tmp_path / "engine")
        assert not engine.waiting
        assert digest(engine.model) == expected, frames


@pytest.mark.parametrize("scale", ["auto", "none"])
def test_late_labels_are_learned_as_in_a_stream_under_max_tasks(scale):
    """Where no task is forgotten, by what was predicted; a task that is met with its label changes others' weights."""
    X, task, y = stream(gaps=scale == "auto")
    task = ["u0"] * N
    expected = delayed(lambda: ct.AdaptiveSharingClassifier(scale=scale), X, task, y, 25)
    engine = Engine(ct.AdaptiveSharingClassifier(scale=scale, max_tasks=4), compared=False)
    for k, event in enumerate(events_of(X, task, y, 25)):
        engine.apply_frame([event], k + 1)
    np.testing.assert_array_equal(engine.model.decision_function(X, task), expected.decision_function(X, task))


def test_a_waiting_record_of_a_forgotten_task_is_learned_by_its_prediction():
    X, task, y = stream()
    engine = Engine(ct.AdaptiveSharingClassifier(max_tasks=2), compared=False)
    for k, event in enumerate(events_of(X, task, y, 25)):
        engine.apply_frame([event], k + 1)
    assert not engine.waiting
    assert len(engine.model.tasks_) == 2
    assert engine.model.state_.rounds == N


# -- late rewards ------------------------------------------------------------------------------------------------------

OFFERS = [{"price": 1.0, "kind": "a"}, {"price": 3.0, "kind": "b"}]

TWO = ["shoes", "hats"]
BANDITS = {
    "adaptive": lambda: ct.Bandit(actions=TWO),
    "featured": lambda: ct.Bandit(actions=OFFERS),
    "rates": lambda: ct.Bandit(ct.AdaptiveSharingClassifier(fit_intercept=False), actions=TWO),
    "bounded": lambda: ct.Bandit(ct.AdaptiveSharingRegressor(fit_intercept=False, max_tasks=3), actions=TWO),
    "ucb": lambda: ct.Bandit(SecondOrderMultitaskRegressor(), "ucb", actions=TWO),
}


def late_bandit(bandit, delay, rewards):
    """Choose, and learn each choice this many choices later."""
    X, task, _ = stream()
    choices = {}
    for when, t in rounds(delay):
        if when == "first":
            choices[t] = bandit.choose(X[t], task=task[t], id=f"e{t}")
        else:
            bandit.learn(X[t], choices[t], rewards[t], task=task[t])
    return bandit


@pytest.mark.parametrize(
    ("name", "delay"), [("adaptive", 1), ("adaptive", 80), ("featured", 25), ("rates", 25), ("bounded", 25), ("ucb", 0)]
)
def test_late_rewards_in_a_service_are_learned_as_in_python(name, delay, tmp_path):
    """Bit by bit, in frames however they are, and with a restart in the middle."""
    X, task, y = stream(numbers=name != "rates")
    rewards = [float(label) for label in y]
    expected = digest(late_bandit(BANDITS[name](), delay, rewards))
    engine, events = BanditEngine(BANDITS[name]()), []
    for when, t in rounds(delay):
        record = JournalRecord(f"e{t}", task[t], X[t])
        records = engine.choose([record]) if when == "first" else [JournalRecord(f"e{t}", reward=rewards[t])]
        events.append(Event({"first": "chosen", "later": "rewarded"}[when], float(len(events)), records))
        engine.apply_frame(events[-1:], len(events))
        if len(events) == N:
            engine = reloaded(engine, tmp_path / "engine")
    assert digest(engine.model) == expected
    for size in (len(events), 7):
        engine = BanditEngine(BANDITS[name]())
        for first in range(0, len(events), size):
            engine.apply_frame(events[first : first + size], first + size)
        assert digest(engine.model) == expected, size
