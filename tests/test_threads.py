"""Threads that share a model: one at a time, whoever they are; several models go in parallel."""

import copy
import io
import pickle
import signal
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import product

import numpy as np
import pytest

import coterie as ct
from coterie.evaluation.stopping_signals import interrupt_deferred
from coterie.tasks.relations.groups import GroupIndex
from coterie.updates.weights.storage import Storage
from slow import slow_where
from terminal import fork


#: Names and tasks keep coming, so that tables grow in one thread while the other is in the midst of a record.
def learn_together():
    model = ct.MultitaskLogistic()
    model.learn_one({"u": 1.0}, True, task="z")

    def learn(k):
        for i in range(1_000):
            model.learn_one({f"f{k}-{i % 800}": 1.0, "u": 1.0}, i % 2 == 0, task=f"{k}-{i % 100}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(learn, range(4)))
    print(model.state_.rounds, len(model.tasks_), len(model.feature_names))


def test_four_threads_learn_every_record_in_one_model():
    process = fork(learn_together, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    out, err = process.communicate(timeout=300)
    assert (process.returncode, out.split()) == (0, ["4001", "401", "3201"]), err


RECORDS = [{"a": 1.0, "b": -0.5}, {"a": -1.0}, {"b": 2.0}], [True, False, True], ["ann", "bob", "ann"]
OF_VIEWS = [{"sound": {"pitch": 1.0}, "image": {"red": 0.5}}, {"sound": {"pitch": -1.0}}], [True, False]
MODELS = {
    "perceptron": lambda: ct.MultitaskPerceptron(),
    "logistic": lambda: ct.MultitaskLogistic(),
    "variances": lambda: ct.MultitaskAROW(),
    "second order": lambda: ct.SecondOrderMultitaskPerceptron(),
    "kernel": lambda: ct.MultitaskKernelPerceptron(),
    "mixture": lambda: ct.AdaptiveSharingClassifier(),
    "many classes": lambda: ct.OneVsRest(),
    "numbers": lambda: ct.MultitaskRegressor(),
    "numbers of all shares": lambda: ct.AdaptiveSharingRegressor(),
    "asking": lambda: ct.SelectiveSampling(ct.MultitaskLogistic()),
    "orthogonal views": lambda: ct.views.OrthogonalMultiviewPerceptron(),
}
#: Calls with records, their labels and, but for views, their tasks.
VERBS = {
    "learn_one": lambda model, xs, ys, *tasks: model.learn_one(xs[0], ys[0], *(names[0] for names in tasks)),
    "partial_fit": lambda model, *records: model.partial_fit(*records),
    "learn_block": lambda model, xs, ys, *tasks: ct.progressive_validation(
        model, xs, ys, task=tasks[0] if tasks else None
    ),
    "fit": lambda model, *records: model.fit(*records),
    "predict_one": lambda model, xs, ys, *tasks: model.predict_one(xs[1], *(names[1] for names in tasks)),
    "predict": lambda model, xs, ys, *tasks: model.predict(xs, *tasks),
    "coef_": lambda model, xs, ys, *tasks: model.coef_ if hasattr(model, "coef_") else model.predict(xs, *tasks),
    "save": lambda model, *records: model.__dump__(),
    "pickle": lambda model, *records: pickle.dumps(model),
    "deepcopy": lambda model, *records: copy.deepcopy(model),
}


def waits(model, verb, records):
    """Whether a call waits until whoever has the model is done, and then comes to its end."""
    thread, failed = None, []

    def call():
        try:
            verb(model, *records)
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
    slow_where(
        product(MODELS, VERBS),
        lambda name, verb: name in ("variances", "orthogonal views") or (name != "logistic" and verb != "partial_fit"),
    ),
)
def test_nobody_learns_or_looks_while_another_thread_learns(name, verb):
    records = OF_VIEWS if "views" in name else RECORDS
    model = MODELS[name]().partial_fit(*records)
    VERBS[verb](copy.deepcopy(model), *records)  # compiled now, and not while the others wait
    assert waits(model, VERBS[verb], records)


CALLS = {
    "learn_one": lambda model: model.learn_one({"a": 1.0, "new": 2.0}, True, task="zoe"),
    "partial_fit": lambda model: model.partial_fit([{"a": 1.0}] * 3, [True, False, True], ["zoe", "yan", "ann"]),
    "forget": lambda model: model.forget_task("ann"),
}


@pytest.mark.parametrize("call", CALLS)
def test_an_interrupt_takes_effect_when_the_call_ends(call, monkeypatch, tmp_path):
    """In the midst of a new task it left a model whose files were refused."""
    model = ct.MultitaskLogistic().partial_fit(*RECORDS)
    expected, reweigh = copy.deepcopy(model), GroupIndex._reweigh
    CALLS[call](expected)

    def interrupted(*arguments):
        signal.raise_signal(signal.SIGINT)
        reweigh(*arguments)

    monkeypatch.setattr(GroupIndex, "_reweigh", interrupted)
    with pytest.raises(KeyboardInterrupt):
        CALLS[call](model)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    for learned, name in ((expected, "expected"), (model, "model")):
        learned.save(tmp_path / name)
    assert (tmp_path / "model").read_bytes() == (tmp_path / "expected").read_bytes()
    ct.load(tmp_path / "model")


@interrupt_deferred()
def interrupt_twice():
    signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):  # the second one at once
        signal.raise_signal(signal.SIGINT)


def test_a_second_interrupt_takes_effect_at_once():
    with pytest.raises(KeyboardInterrupt):
        interrupt_twice()


def test_a_task_for_which_memory_lacks_leaves_its_group(monkeypatch):
    model = ct.MultitaskLogistic().partial_fit(*RECORDS)
    before = repr(model.__dump__())

    def out_of_memory(*_):
        raise MemoryError

    monkeypatch.setattr(Storage, "fit", out_of_memory)
    with pytest.raises(MemoryError):
        CALLS["learn_one"](model)
    assert repr(model.__dump__()) == before


@pytest.mark.parametrize("copy_model", [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m, 0))])  # noqa: S301
def test_a_copy_waits_for_nobody(copy_model):
    model = ct.MultitaskLogistic().partial_fit(*RECORDS)
    other = copy_model(model)
    with model.__stream_model__().lock:
        thread = threading.Thread(target=other.learn_one, args=({"a": 1.0}, True, "ann"))
        thread.start()
        thread.join(30)
        assert not thread.is_alive()
    assert other.state_.rounds == model.state_.rounds + 1


@pytest.mark.slow
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
        restored = pickle.load(io.BytesIO(pickle.dumps(model)))  # noqa: S301
        assert restored.state_.rounds >= 1
        assert len(restored.tasks_) == len(restored.coef_)
        assert np.isfinite(restored.coef_).all()
    thread.join()


def test_parameters_are_the_same_objects_after_pickling_together():
    inner = ct.MultitaskLogistic()
    asked, again = pickle.loads(pickle.dumps((ct.SelectiveSampling(inner), inner)))  # noqa: S301
    assert asked.model is again
