"""The estimators of the other geometries among scikit-learn's tools."""

import numpy as np
from sklearn.model_selection import GridSearchCV

import coterie as ct
from streams import linear_stream

STREAM = linear_stream(72, zeros=0.3)


def test_a_search():
    X = np.column_stack([STREAM.X, STREAM.task])
    for model, choices in (
        (
            ct.geometries.SecondOrderMultitaskPerceptron(task_column=-1),
            {"ridge": [0.1, 10.0], "kernel": [None, ct.kernels.Gaussian(3.0)]},
        ),
        (ct.geometries.PNormMultitaskPerceptron(task_column=-1), {"p": [2, 4, "auto"]}),
        (ct.MultitaskAROW(covariance="full", task_column=-1), {"r": [1.0, 10.0]}),
    ):
        search = GridSearchCV(model, choices, cv=3, error_score="raise").fit(X, STREAM.y)
        assert search.best_score_ > 0.6


def test_beside_models_of_the_same_geometry():
    """The two baselines of a comparison are like the learner, geometry included."""
    for model in (
        ct.geometries.SecondOrderMultitaskPerceptron(ridge=0.3),
        ct.geometries.PNormMultitaskPerceptron(p=5.0),
    ):
        found = ct.compare({"together": model}, STREAM.X, STREAM.y, task=STREAM.task)
        assert found.models["independent"].get_params() == model.get_params() | {"relation": ct.Independent()}
        assert set(found.traces) == {"together", "independent", "pooled", "intercepts", "constant"}


def test_many_classes():
    y = np.digitize(STREAM.X[:, 0] + STREAM.X[:, 1], [-0.7, 0.7])
    model = ct.OneVsRest(ct.geometries.SecondOrderMultitaskPerceptron()).fit(STREAM.X, y, STREAM.task)
    assert model.score(STREAM.X, y, STREAM.task) > 0.6
