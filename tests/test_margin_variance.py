"""The variance of a margin: that of the prior for features that no record had, whatever the learner and the form."""

import numpy as np
import pandas as pd
import pytest

import coterie as ct

FOUND = ct.relations.Interaction(np.array([[1.0, 0.0], [0.0, 4.0]]), tasks=["ann", "bob"])  # so M is 1 and 1/4
MODELS = {
    "primal": (ct.geometries.SecondOrderMultitaskRegressor(FOUND, solver="primal"), (1.0, 0.25)),
    "dual": (ct.geometries.SecondOrderMultitaskRegressor(FOUND, solver="dual"), (1.0, 0.25)),
    "perceptron": (ct.geometries.SecondOrderMultitaskPerceptron(FOUND), (1.0, 0.25)),
    "mixed effects": (
        ct.MultitaskMixedEffectsRegressor(0, 0.25, slope_variance=0.75, fit_intercept=False, scale="none"),
        (1.0, 1.0),
    ),
    "AROW": (ct.MultitaskAROW(fit_intercept=False), None),
    "AROW of groups": (ct.MultitaskAROW(ct.Clusters({"ann": 0, "bob": 1}), fit_intercept=False), None),
}


@pytest.mark.parametrize("name", MODELS)
def test_features_that_no_record_had_count_with_the_prior_variance(name):
    """As a record has them that was learned with weight on nothing else: the same as if they were known, and 0 so far."""
    model, prior = MODELS[name]
    model = model.__sklearn_clone__()
    for n in range(6):
        model.learn_one({"a": 1.0 + n, "b": 0.5}, n % 2 == 0 if "Regressor" not in repr(model) else 1.0 * n, task="ann")
        model.learn_one({"a": 2.0}, n % 2 == 1 if "Regressor" not in repr(model) else 1.0, task="bob")
    X, task = (
        [{"a": 2.0, "new": 3.0, "other": 1.0}, {"a": 2.0}, {"new": 3.0, "other": 1.0}] * 2,
        ["ann"] * 3 + ["bob"] * 3,
    )
    known = dict(model._model.input.form.vocabulary.numbers)
    q = model.margin_variance(X, task=task)
    np.testing.assert_allclose(q[0::3], q[1::3] + q[2::3])
    assert model._model.input.form.vocabulary.numbers == known
    np.testing.assert_array_equal(model.margin_variance(X, task=task), q)
    np.testing.assert_allclose(model.margin_variance(pd.DataFrame(X[:1]), task=task[:1]), q[:1])
    if prior is not None:
        np.testing.assert_allclose(q[2::3], 10.0 * np.array(prior))
    if prior is None:
        wide = model.__sklearn_clone__()
        wide.learn_one({"new": 0.0, "other": 0.0, "a": 1.0}, True, task="ann")
        wide.learn_one({"new": 0.0, "other": 0.0, "a": 1.0}, False, task="bob")
        np.testing.assert_allclose(q[2::3], wide.margin_variance(X[2::3], task=task[2::3]))


@pytest.mark.parametrize("model", [ct.MultitaskAROW(), ct.geometries.SecondOrderMultitaskPerceptron()], ids=str)
def test_of_tasks_nobody_has_seen_too(model):
    model = model.__sklearn_clone__()
    model.learn_one({"a": 1.0}, True, task="ann")
    model.learn_one({"a": 2.0}, False, task="bob")
    both, old, new = model.margin_variance([{"a": 2.0, "new": 3.0}, {"a": 2.0}, {"new": 3.0}], task=["eve"] * 3)
    none = model.margin_variance([{}], task=["eve"])[0]  # of the constant alone
    np.testing.assert_allclose(both - old, new - none)
    assert new - none > 0.0
