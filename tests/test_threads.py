"""Threads that share a model: one at a time, whoever they are; several models go in parallel."""

import copy
import io
import pickle
import subprocess
import sys
import threading
from itertools import product

import numpy as np
import pytest

import coterie as ct
from slow import slow_where

#: Names and tasks keep coming, so that tables grow in one thread while the other is in the midst of a record.
TOGETHER = """
import threading
import coterie as ct

model = ct.MultitaskLogistic()
model.learn_one({"u": 1.0}, True, task="z")

def learn(k):
    for i in range(12_000):
        model.learn_one({f"f{k}-{i % 3000}": 1.0, "u": 1.0}, i % 2 == 0, task=f"{k}-{i % 500}")

threads = [threading.Thread(target=learn, args=(k,)) for k in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(model.state_.rounds, len(model.tasks_), len(model.feature_names))
"""


def test_four_threads_learn_every_record_in_one_model():
    done = subprocess.run([sys.executable, "-c", TOGETHER], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout.split()) == (0, ["48001", "2001", "12001"]), done.stderr


RECORDS = [({"a": 1.0, "b": -0.5}, True, "ann"), ({"a": -1.0}, False, "bob"), ({"b": 2.0}, True, "ann")]
XS, YS, TASKS = (list(each) for each in zip(*RECORDS, strict=True))
TWO_VIEWS = [{"sound": {"pitch": 1.0}, "image": {"red": 0.5}}, {"sound": {"pitch": -1.0}}]
VIEWED = {"orthogonal": lambda: ct.views.OrthogonalMultiviewPerceptron(), "cues": lambda: ct.views.MultiCueClassifier()}
MODELS = {
    "perceptron": lambda: ct.MultitaskPerceptron(),
    "logistic": lambda: ct.MultitaskLogistic(),
    "variances": lambda: ct.MultitaskAROW(),
    "second order": lambda: ct.geometries.SecondOrderMultitaskPerceptron(),
    "kernel": lambda: ct.geometries.MultitaskKernelPerceptron(),
    "mixture": lambda: ct.AdaptiveSharingClassifier(),
    "many classes": lambda: ct.OneVsRest(),
    "numbers": lambda: ct.MultitaskRegressor(),
    "numbers of all shares": lambda: ct.AdaptiveSharingRegressor(),
    "asking": lambda: ct.SelectiveSampling(ct.MultitaskLogistic()),
}
VERBS = {
    "learn_one": lambda model: model.learn_one(*RECORDS[0]),
    "partial_fit": lambda model: model.partial_fit(XS, YS, TASKS),
    "learn_block": lambda model: ct.progressive_validation(model, XS, YS, task=TASKS),
    "fit": lambda model: model.fit(XS, YS, TASKS),
    "predict_one": lambda model: model.predict_one(XS[0], TASKS[0]),
    "predict": lambda model: model.predict(XS, TASKS),
    "coef_": lambda model: getattr(model, "coef_", None) if hasattr(model, "coef_") else model.predict(XS, TASKS),
    "save": lambda model: model.__dump__(),
    "pickle": pickle.dumps,
    "deepcopy": copy.deepcopy,
}
OF_VIEWS = {
    "learn_one": lambda model: model.learn_one(TWO_VIEWS[0], True),
    "partial_fit": lambda model: model.partial_fit(TWO_VIEWS, [True, False]),
    "fit": lambda model: model.fit(TWO_VIEWS, [True, False]),
    "predict_one": lambda model: model.predict_one(TWO_VIEWS[1]),
    "predict": lambda model: model.predict(TWO_VIEWS),
    "save": lambda model: model.__dump__(),
    "pickle": pickle.dumps,
    "deepcopy": copy.deepcopy,
}


def waits(model, verb):
    """Whether a call waits until whoever has the model is done, and then comes to its end."""
    thread, failed = None, []

    def call():
        try:
            verb(model)
        except Exception as error:
            failed.append(error)

    with model.__stream_model__().lock:
        thread = threading.Thread(target=call)
        thread.start()
        thread.join(0.05)
        waited = thread.is_alive()
    thread.join(30)
    assert not failed, failed
    return waited and not thread.is_alive()


@pytest.mark.parametrize(
    ("name", "verb"),
    slow_where(product(MODELS, VERBS), lambda name, verb: name != "logistic" and verb != "partial_fit"),
)
def test_nobody_learns_or_looks_while_another_thread_learns(name, verb):
    model = MODELS[name]()
    model.partial_fit(XS, YS, TASKS)
    VERBS[verb](copy.deepcopy(model))  # compiled now, and not while the others wait
    assert waits(model, VERBS[verb])


@pytest.mark.parametrize(
    ("name", "verb"),
    slow_where(product(VIEWED, OF_VIEWS), lambda name, verb: name != "orthogonal" and verb != "partial_fit"),
)
def test_nobody_learns_or_looks_while_another_thread_learns_views(name, verb):
    model = VIEWED[name]().partial_fit(TWO_VIEWS, [True, False])
    OF_VIEWS[verb](copy.deepcopy(model))
    assert waits(model, OF_VIEWS[verb])


@pytest.mark.parametrize("made", [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m, 0))])  # noqa: S301
def test_a_copy_waits_for_nobody(made):
    model = ct.MultitaskLogistic().partial_fit(XS, YS, TASKS)
    other = made(model)
    with model.__stream_model__().lock:
        thread = threading.Thread(target=other.learn_one, args=RECORDS[0])
        thread.start()
        thread.join(30)
        assert not thread.is_alive()
    assert other.state_.rounds == model.state_.rounds + 1


def test_what_is_pickled_while_a_thread_learns_is_whole():
    model = ct.MultitaskLogistic()
    model.learn_one({"u": 1.0}, True, "z")
    done = threading.Event()

    def learn():
        for i in range(4000):
            model.learn_one({f"f{i % 700}": 1.0, "u": -1.0}, i % 3 == 0, task=i % 50)
        done.set()

    thread = threading.Thread(target=learn)
    thread.start()
    while not done.is_set():
        held = pickle.load(io.BytesIO(pickle.dumps(model)))  # noqa: S301
        assert held.state_.rounds >= 1
        assert len(held.tasks_) == len(held.coef_)
        assert np.isfinite(held.coef_).all()
    thread.join()


def test_parameters_are_the_same_objects_after_pickling_together():
    inner = ct.MultitaskLogistic()
    asked, again = pickle.loads(pickle.dumps((ct.SelectiveSampling(inner), inner)))  # noqa: S301
    assert asked.model is again
