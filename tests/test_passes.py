"""Several passes of ``fit`` against their definition, and what they promise on streams whose truth is known."""

import copy

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import coterie as ct
from reference.passes import OF_MIXTURES, OF_NUMBERS, fit
from slow import slow

D, K = 4, 12


def stream(seed, n=400, noise=0.5):
    """Records of several tasks that have much in common, numbers that are linear in them, and two classes of these."""
    rng = np.random.default_rng(seed)
    X, task = rng.normal(size=(n, D)), rng.integers(K, size=n)
    W = rng.normal(size=D) + 0.5 * rng.normal(size=(K, D))
    z = np.einsum("td,td->t", X, W[task]) + noise * rng.logistic(size=n)
    return X, z, z > 0, task


def log_loss(model, X, y, task):
    predictions = model.predict_proba(X, task)[:, 1]
    return float(-np.log(np.where(y, predictions, 1 - predictions)).mean())


AS_THEY_ARE = {"scale": "none", "fit_intercept": False}
MIXTURES = {
    "default": ct.AdaptiveSharingClassifier(**AS_THEY_ARE),
    "not compiled": ct.AdaptiveSharingClassifier(
        [ct.MultitaskLogistic(ct.Independent()), ct.AdaptiveSharingClassifier("cheap")], **AS_THEY_ARE
    ),
    "no probabilities": ct.AdaptiveSharingClassifier([ct.MultitaskPerceptron(), ct.MultitaskLogistic()], **AS_THEY_ARE),
    "balanced": ct.AdaptiveSharingClassifier(class_weight="balanced", **AS_THEY_ARE),
}


@pytest.mark.parametrize("name", [slow(name) if name == "not compiled" else name for name in MIXTURES])
@pytest.mark.parametrize("seed", [1, 2])
def test_passes_of_a_mixture_are_those_of_their_definition(name, seed):
    X, _, y, task = stream(seed, n=200)
    model = MIXTURES[name]
    literal, passes = fit(clone(model), X, y, task, 6, OF_MIXTURES)
    fast = clone(model).fit(X, y, task, n_passes=6)
    assert np.array_equal(fast.decision_function(X, task), literal.decision_function(X, task))
    assert np.array_equal(fast.sharing_weights_, literal.sharing_weights_)
    margins = [clone(model).fit(X, y, task, n_passes=k).decision_function(X, task) for k in range(1, 7)]
    assert (
        next(k for k in range(6) if np.array_equal(margins[k], margins[-1])) + 1 == passes
    )  # more are made of no more


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_passes_of_numbers_are_those_of_their_definition(seed):
    X, z, _, task = stream(seed, n=300)
    literal, _ = fit(ct.AdaptiveSharingRegressor(**AS_THEY_ARE), X, z, task, 5, OF_NUMBERS)
    fast = ct.AdaptiveSharingRegressor(**AS_THEY_ARE).fit(X, z, task, n_passes=5)
    assert np.array_equal(fast.predict(X, task), literal.predict(X, task))
    assert np.array_equal(fast.predict_interval(X, task), literal.predict_interval(X, task))


def test_plain_learners_make_as_many_passes_as_they_are_told_to():
    X, _, y, task = stream(5)
    twice = ct.MultitaskLogistic().fit(X, y, task, n_passes=2)
    assert np.array_equal(twice.coef_, ct.MultitaskLogistic().partial_fit(X, y, task).partial_fit(X, y, task).coef_)


def test_weights_of_records_count_in_learning_and_in_stopping():
    X, _, y, task = stream(7)
    weight = np.random.default_rng(7).integers(0, 3, len(y)).astype(float)
    model = MIXTURES["default"]
    literal, _ = fit(clone(model), X, y, task, 5, OF_MIXTURES, weight)
    fast = clone(model).fit(X, y, task, n_passes=5, sample_weight=weight)
    assert np.array_equal(fast.decision_function(X, task), literal.decision_function(X, task))
    weight[-40:] = 0.0  # nothing says that a second pass is better
    once, several = (clone(model).fit(X, y, task, n_passes=k, sample_weight=weight) for k in (1, 5))
    assert np.array_equal(several.decision_function(X, task), once.decision_function(X, task))


def test_passes_over_labels_that_are_noise_do_no_harm():
    """Dishonest passes believe the members that know the records by heart: log loss 1.5 and more."""
    rng = np.random.default_rng(0)
    X, task, y = rng.normal(size=(600, D)), rng.integers(60, size=600), rng.random(600) < 0.5
    learned, left = (X[:400], y[:400], task[:400]), (X[400:], y[400:], task[400:])
    once, several = (log_loss(ct.AdaptiveSharingClassifier().fit(*learned, n_passes=k), *left) for k in (1, 20))
    assert several < once + 0.01
    dishonest = ct.AdaptiveSharingClassifier()
    for _ in range(5):
        dishonest.partial_fit(*learned)
    assert log_loss(dishonest, *left) > once + 0.1


@pytest.mark.parametrize("n_passes", [1, 5, 20])
def test_intervals_keep_their_share_of_labels_after_passes(n_passes):
    inside = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, task, n = rng.normal(size=(3500, D)), rng.integers(150, size=3500), 1500
        W = rng.normal(size=D) + 0.7 * rng.normal(size=(150, D))
        z = 5.0 + np.einsum("td,td->t", X, W[task]) + rng.normal(size=3500)
        model = ct.AdaptiveSharingRegressor().fit(X[:n], z[:n], task[:n], n_passes=n_passes)
        low, high = model.predict_interval(X[n:], task[n:], level=0.9).T
        inside.append(float(((low <= z[n:]) & (z[n:] <= high)).mean()))
    assert 0.87 < np.mean(inside) < 0.93
    assert min(inside) > 0.85
    assert max(inside) < 0.95


def test_labels_are_counted_once_whatever_the_number_of_passes():
    X, z, y, task = stream(11)
    balanced = ct.AdaptiveSharingClassifier(class_weight="balanced").fit(X, y, task, n_passes=5)
    assert sum(balanced.__stream_model__().weighing.counts.values()) == len(y)
    once, several = (ct.AdaptiveSharingRegressor().fit(X, z, task, n_passes=k) for k in (1, 5))
    assert once.__stream_model__().label_encoder.inside == several.__stream_model__().label_encoder.inside


def test_a_model_of_several_passes_goes_on_is_saved_and_is_searched(tmp_path):
    X, _, y, task = stream(12)
    model = ct.AdaptiveSharingClassifier().fit(X, y, task, n_passes=5)
    model.save(tmp_path / "m.coterie")
    others = [copy.deepcopy(model), ct.load(tmp_path / "m.coterie"), model]
    predictions = [model.partial_fit(X[:50], y[:50], task[:50]).predict_proba(X, task) for model in others]
    assert np.array_equal(predictions[0], predictions[2])
    assert np.array_equal(predictions[1], predictions[2])
    frame = pd.DataFrame(X).add_prefix("f").assign(who=task)
    search = GridSearchCV(ct.AdaptiveSharingClassifier(task_column="who"), {"step": [0.3, 0.7]}, cv=2)
    assert search.fit(frame, y, n_passes="auto").best_score_ > 0.7
