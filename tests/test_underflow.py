"""``np.seterr(all="raise")`` of a caller: where 0 is the right result, an underflow raises no error."""

import numpy as np
import pytest

import coterie as ct
from coterie.bandits.exploration import _independent
from coterie.kernels import Pairwise
from coterie.updates import ExponentiatedGradient
from streams import linear_stream

STREAM = linear_stream(7, n=60)
X, TASK = 1e4 * STREAM.X, STREAM.task
SEPARABLE = np.tile(X, (10, 1)), np.tile(X[:, 0] > 0, 10), np.tile(TASK, 10)


def learned(model, y=STREAM.y):
    """All predictions for records with distant values, before and after they are learned."""
    trace = ct.progressive_validation(model, X, y, task=TASK)
    verbs = [verb for verb in ("decision_function", "predict_proba") if hasattr(model, verb)]
    return [trace.margin, trace.error, *(getattr(model, verb)(X, task=TASK) for verb in verbs)]


def one_record():
    model = ct.MultitaskLogistic(scale="none")
    for x, y in (({"a": 1e4}, True), ({"a": -1e4}, False)):
        model.learn_one(x, y)
    return [*model.predict_proba_one({"a": 1e6}).values()]


def verdict():
    X, y, task = SEPARABLE
    return str(ct.compare({"fast": ct.MultitaskLogistic(step=100.0)}, X, y, task=task).verdict())


CASES = {
    "two labels": lambda: learned(ct.MultitaskLogistic(scale="none")),
    "three labels": lambda: learned(ct.OneVsRest(ct.MultitaskLogistic()), np.digitize(STREAM.X[:, 0], [-0.5, 0.5])),
    "one record": one_record,
    "verdict": verdict,
    "kernel": lambda: learned(ct.MultitaskKernelPerceptron(Pairwise("rbf"))),
    "potential": lambda: ExponentiatedGradient().gradient(np.array([1e4, 0.0])),
    "field": lambda: ct.batch.VectorFieldRidge().fit(X[:9, :2], STREAM.X[:9, :2]).predict(X[:9, :2]),
    "choice": lambda: _independent(np.array([0.0, 1e4]), np.ones(2)),
}


@pytest.mark.parametrize("name", CASES)
def test_nothing_underflows_if_numpy_is_set_to_raise(name):
    with np.errstate(all="ignore"):
        expected = CASES[name]()
    with np.errstate(all="raise"):
        outputs = CASES[name]()
    assert repr(outputs) == repr(expected)
