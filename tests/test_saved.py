"""A file of every estimator, as the first version of its format wrote it: read, it predicts and learns what it did.

`python tests/saved/make_saved.py CLASS` writes the file of a new estimator, and beside it what its model says.
"""

import inspect
import json
from pathlib import Path

import numpy as np
import pytest

import coterie as ct
import coterie.server.bandit_engine  # whose engines are saved, too
from coterie import spec
from coterie.server.bandit_engine import BanditEngine
from coterie.server.engine import Engine
from coterie.server.events import Event, JournalRecord
from kinds import form_of, learned, predictions, records, taught

FOLDER = Path(__file__).parent / "saved"

#: The kind of model, of tests/kinds.py, that the file of an estimator has.
KINDS = {
    "AdaptiveSharingClassifier": "sharing-default",
    "AdaptiveSharingRegressor": "regressor-adaptive",
    "HeterogeneousMultitaskPerceptron": "spaces-primal",
    "MultitaskAROW": "AROW",
    "MultitaskKernelClassifier": "kernel-classifier",
    "MultitaskKernelPerceptron": "kernel-projection",
    "MultitaskKernelRidge": "ridge",
    "MultitaskLogistic": "logistic-standardised",
    "MultitaskMixedEffectsClassifier": "mixed-effects-classes",
    "MultitaskMixedEffectsRegressor": "mixed-effects-numbers",
    "MultitaskPerceptron": "perceptron-sparse-average",
    "MultitaskRegressor": "read-file-numbers",
    "MultitaskSVC": "SVC",
    "MultitaskSVR": "SVR",
    "MultiviewPerceptron": "views",
    "OneVsRest": "classes",
    "OrthogonalMultiviewPerceptron": "orthogonal-average",
    "PNormMultitaskPerceptron": "p-norm-auto",
    "ParallelPerceptrons": "views-in-parallel",
    "PotentialMultitaskPerceptron": "potential",
    "SecondOrderMultitaskPerceptron": "second-order-primal",
    "SecondOrderMultitaskRegressor": "second-order-regressor",
    "SelectiveSampling": "asking-margin",
    "VectorFieldRidge": "field",
}


def known():
    """All classes whose models can be saved, by name."""
    spec.find_class(spec.ESTIMATORS, "")  # which imports every public name
    return {name: cls for name, cls in spec.ESTIMATORS.items() if cls.__module__.startswith("coterie.")}


def original(name):
    """The model of an estimator's file before it is saved, and the form of its records."""
    if name in KINDS:
        return learned(KINDS[name]), form_of(KINDS[name])
    if name == "Engine":
        return _engine(), "pairs"
    if name not in ("Bandit", "BanditEngine"):
        raise KeyError(f"{name}: name one of its kinds of model, of tests/kinds.py, in KINDS of tests/test_saved.py")
    engine = BanditEngine(ct.Bandit(actions=["shoes", "hats", "coats"], seed=1))
    _go_on(engine, "learned")
    return (engine if name == "BanditEngine" else engine.model), "pairs"


def _engine():
    """A service's state, of which some records wait for labels."""
    engine = Engine(ct.MultitaskLogistic())
    d = records("pairs", "learned")
    for t, (x, y, task) in enumerate(zip(d.X, d.y, d.task, strict=True)):
        record = JournalRecord(id=f"e{t}", task=task, x=x, y=y if t % 5 else None)
        engine.apply([Event("observed" if t % 5 else "predicted", float(t), [record])])
    return engine


def _go_on(engine, stage):
    """Choose and learn, one record after the other; the choices."""
    d, chosen = records("pairs", stage), []
    for t, (x, y, task) in enumerate(zip(d.X, d.y, d.task, strict=True)):
        choices = engine.choose([JournalRecord(id=f"{stage} {t}", task=task, x=x)])
        chosen += engine.apply([Event("chosen", float(t), choices)])[0].choices
        if t % 4:
            reward = JournalRecord(id=f"{stage} {t}", reward=float((chosen[-1].action == "hats") == (y == "yes")))
            engine.apply([Event("rewarded", t + 0.5, [reward])])
    return [[choice.action, choice.probability] for choice in chosen]


def outcome(model, form):
    """All that is expected of a model, which has learned more afterwards."""
    if isinstance(model, BanditEngine):
        return {"choices": _go_on(model, "more"), "scores": _scores(model.model)}
    if isinstance(model, ct.Bandit):
        return {"choices": _go_on(BanditEngine(model), "more"), "scores": _scores(model)}
    if isinstance(model, Engine):
        return {"waiting": list(model.waiting)} | outcome(model.model, form)
    expected = {"before": predictions(model, form)}
    if hasattr(model, "learn_one"):
        expected["mistakes"], expected["asked"] = taught(model, form)
        expected["after"] = predictions(model, form)
    return expected


def _scores(bandit):
    asked = records("pairs", "asked")
    return [bandit.scores(x, task=task) for x, task in zip(asked.X, asked.task, strict=True)]


def assert_same(actual, expected, name=""):
    """Labels as they were, and numbers but for rounding: BLAS does not promise the same bits everywhere."""
    if isinstance(actual, dict):
        assert actual.keys() == expected.keys()
        for key, value in actual.items():
            assert_same(value, expected[key], key)
    elif name in ("margins", "probabilities", "scores"):
        expected = np.array(expected)
        np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max(initial=1.0))
    elif name == "choices":
        assert [action for action, _ in actual] == [action for action, _ in expected]
        np.testing.assert_allclose([p for _, p in actual], [p for _, p in expected], rtol=1e-9)
    else:
        assert actual == expected


@pytest.mark.parametrize("name", sorted(known()))
def test_a_file_of_the_first_format_is_read_and_goes_on(name):
    path = FOLDER / f"{name}.coterie"
    assert path.exists(), f"no file of a {name} is kept: python tests/saved/make_saved.py {name}"
    expected, model = json.loads(path.with_suffix(".json").read_text()), ct.load(path)
    assert type(model).__name__ == name
    assert_same(outcome(model, form_of(expected["kind"]) if expected["kind"] else "pairs"), expected["outcome"])


def test_every_kept_file_is_of_an_estimator():
    """One that is gone has its files removed."""
    assert {path.stem for path in FOLDER.glob("*.[cj][os]*")} <= set(known())


#: Files of models, not of services.
MODEL_FILES = [path for path in sorted(FOLDER.rglob("*.coterie")) if not path.stem.endswith("Engine")]


@pytest.mark.parametrize("path", MODEL_FILES, ids=lambda path: path.stem)
def test_every_public_property_has_a_value_or_says_why_not(path):
    """Python's own "object has no attribute" speaks of our insides."""
    model, messages = ct.load(path), {}
    for name, value in inspect.getmembers_static(type(model), lambda value: isinstance(value, property)):
        if not name.startswith("_"):
            try:
                value.fget(model)
            except AttributeError as error:
                messages[name] = str(error)
    assert [name for name, message in messages.items() if "object has no attribute" in message] == []
