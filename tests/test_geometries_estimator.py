"""The estimators of the other geometries among scikit-learn's tools."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

import coterie as ct
from streams import ONE_PASS, linear_stream

STREAM = linear_stream(72, zeros=0.3)
CONFIGURATIONS = [
    ct.SecondOrderMultitaskPerceptron(),
    ct.SecondOrderMultitaskPerceptron(ct.MeanRegularized(b=1), 2.0, solver="primal"),
    ct.SecondOrderMultitaskPerceptron(ct.Pooled(), kernel=ct.kernels.Gaussian(2.0), dtype="float32"),
    ct.PNormMultitaskPerceptron(),
    ct.PNormMultitaskPerceptron(ct.Interaction([[2.0]], tasks=[0]), 6.5, "Ainvsqrt"),
    ct.PotentialMultitaskPerceptron(ct.potentials.ExponentiatedGradient(), rate=0.5),
    ct.HeterogeneousMultitaskPerceptron(),
    ct.HeterogeneousMultitaskPerceptron(2.0, ct.kernels.Gaussian(2.0)),
    ct.MultitaskAROW(covariance="full"),
]


OF_WEIGHTS = (
    "check_sample_weights_pandas_series",
    "check_sample_weights_not_an_array",
    "check_sample_weights_list",
    "check_sample_weights_shape",
    "check_sample_weights_not_overwritten",
    "check_classifiers_one_label_sample_weights",
)


def expected_to_fail(estimator):
    """Checks that contradict what an estimator is for, and why."""
    if type(estimator) is ct.HeterogeneousMultitaskPerceptron:
        return ONE_PASS | dict.fromkeys(OF_WEIGHTS, "rounds of all tasks weigh no records")
    if type(estimator) is not ct.MultitaskAROW:
        return ONE_PASS
    of_two = "of two records with one margin, the surer has the larger probability"
    by_confidence = {name: why for name, why in ONE_PASS.items() if name != "check_class_weight_classifiers"}
    return by_confidence | {"check_decision_proba_consistency": of_two}


with warnings.catch_warnings():
    warnings.filterwarnings("ignore", "Estimator .* does not inherit from `sklearn.base.BaseEstimator`", UserWarning)
    of_scikit_learn = parametrize_with_checks(CONFIGURATIONS, expected_failed_checks=expected_to_fail)


@of_scikit_learn
def test_the_checks_of_scikit_learn(estimator, check, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    check(estimator)


@pytest.mark.parametrize("model", CONFIGURATIONS, ids=repr)
def test_clone_pickle_and_copy(model, tmp_path):
    fitted = clone(model).fit(STREAM.X, STREAM.y)
    assert not clone(fitted).fitted
    fitted.save(tmp_path / "model.coterie")
    before = fitted.decision_function(STREAM.X)
    for other in (pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted), ct.load(tmp_path / "model.coterie")):  # noqa: S301
        np.testing.assert_allclose(other.decision_function(STREAM.X), before, rtol=1e-12, atol=1e-12)
        other.partial_fit(STREAM.X, -STREAM.y)
        assert not np.array_equal(other.decision_function(STREAM.X), before)
    np.testing.assert_allclose(fitted.decision_function(STREAM.X), before, rtol=1e-12, atol=1e-12)
    named = vars(ct) | vars(ct.budgets) | vars(ct.kernels) | vars(ct.potentials) | {"array": np.array}
    assert eval(repr(model), named).get_params() == model.get_params()  # noqa: S307


def test_a_search():
    X = np.column_stack([STREAM.X, STREAM.task])
    for model, choices in (
        (
            ct.SecondOrderMultitaskPerceptron(task_column=-1),
            {"ridge": [0.1, 10.0], "kernel": [None, ct.kernels.Gaussian(3.0)]},
        ),
        (ct.PNormMultitaskPerceptron(task_column=-1), {"p": [2, 4, "auto"]}),
        (ct.MultitaskAROW(covariance="full", task_column=-1), {"r": [1.0, 10.0]}),
    ):
        search = GridSearchCV(model, choices, cv=3, error_score="raise").fit(X, STREAM.y)
        assert search.best_score_ > 0.6


def test_beside_models_of_the_same_geometry():
    """The two baselines of a comparison are like the learner, geometry included."""
    for model in (ct.SecondOrderMultitaskPerceptron(ridge=0.3), ct.PNormMultitaskPerceptron(p=5.0)):
        found = ct.compare({"together": model}, STREAM.X, STREAM.y, task=STREAM.task)
        assert found.models["independent"].get_params() == model.get_params() | {"relation": ct.Independent()}
        assert set(found.traces) == {"together", "independent", "pooled", "intercepts", "constant"}


def test_many_classes():
    y = np.digitize(STREAM.X[:, 0] + STREAM.X[:, 1], [-0.7, 0.7])
    model = ct.OneVsRest(ct.SecondOrderMultitaskPerceptron()).fit(STREAM.X, y, STREAM.task)
    assert model.score(STREAM.X, y, STREAM.task) > 0.6
