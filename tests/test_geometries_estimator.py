"""The estimators of the other geometries among scikit-learn's tools."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

import coterie as ct
from coterie.geometries import (
    MultitaskKernelPerceptron,
    PNormMultitaskPerceptron,
    SecondOrderMultitaskPerceptron,
)
from streams import linear_stream

STREAM = linear_stream(72, zeros=0.3)
SEARCHES = [
    (
        MultitaskKernelPerceptron(),
        {
            "kernel": [ct.kernels.Gaussian(1.0), ct.kernels.Gaussian(3.0), "linear"],
            "budget": [None, ct.budgets.Forgetron(30)],
        },
    ),
    (SecondOrderMultitaskPerceptron(), {"ridge": [0.1, 10.0], "kernel": [None, ct.kernels.Gaussian(3.0)]}),
    (PNormMultitaskPerceptron(), {"p": [2, 4, "auto"]}),
    (ct.MultitaskAROW(covariance="full"), {"r": [1.0, 10.0]}),
]


@pytest.mark.parametrize(("model", "choices"), SEARCHES, ids=repr)
def test_a_search(model, choices):
    X = np.column_stack([STREAM.X, STREAM.task])
    search = GridSearchCV(model.set_params(task_column=-1), choices, cv=3, error_score="raise").fit(X, STREAM.y)
    assert search.best_score_ > 0.6


@pytest.mark.parametrize(
    "model",
    [
        MultitaskKernelPerceptron(ct.kernels.Gaussian(2.0), ct.HalfUpdate(), ct.budgets.Forgetron(30)),
        SecondOrderMultitaskPerceptron(ridge=0.3),
        PNormMultitaskPerceptron(p=5.0),
    ],
    ids=repr,
)
def test_beside_models_of_the_same_geometry(model):
    """The two baselines of a comparison are like the learner: geometry, kernel and budget included."""
    found = ct.compare({"together": model}, STREAM.X, STREAM.y, task=STREAM.task)
    assert found.models["independent"].get_params() == model.get_params() | {"relation": ct.Independent()}
    linear = {"intercepts"} if getattr(model, "kernel", None) is None else set()
    assert set(found.traces) == {"together", "independent", "pooled", "constant"} | linear


def test_many_classes():
    y = np.digitize(STREAM.X[:, 0] + STREAM.X[:, 1], [-0.7, 0.7])
    model = ct.OneVsRest(SecondOrderMultitaskPerceptron()).fit(STREAM.X, y, STREAM.task)
    assert model.score(STREAM.X, y, STREAM.task) > 0.6
