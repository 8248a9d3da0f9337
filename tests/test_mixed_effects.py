"""Mixed models: the literal filter, prior variances of 0, intervals on known truth, the limit of features."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student

import coterie as ct
import known
from coterie._compiled.core.records import Csr
from coterie._compiled.primal.kalman_filter import LIMIT
from coterie.models.contract import Batch, InputShape
from coterie.models.mixed_effects_learner import MixedEffectsLearner, Prior
from coterie.tasks.index import Index
from reference.mixed_effects import MixedEffects
from reference.moments import inside, scales
from streams import FORMS
from test_regression import NAMES, TASK, X, Y, assert_close

POSITIVE = np.median(Y) < Y
WEIGHTS = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 3.0], len(X))
LABELS = {"numbers": Y, "classes": POSITIVE}
KINDS = {"numbers": ct.MultitaskMixedEffectsRegressor, "classes": ct.MultitaskMixedEffectsClassifier}
PRIORS = {
    "slopes of their own": {},
    "random intercepts": {"random_slope_variance": 0.0},
    "no intercepts": {"fit_intercept": False},
    "wide": {"random_intercept_variance": 5.0, "intercept_variance": 100.0, "slope_variance": 0.3},
    "half-lives": {"half_life": (30.0, 7.0)},
    "half-lives of intercepts": {"half_life": 9.0, "random_slope_variance": 0.0},
}


def literal_of(model, logistic):
    """The model from its definition, records having their constant inside."""
    shared, own = (None, None) if model.half_life is None else np.broadcast_to(model.half_life, 2)
    decay = [1.0 if half_life is None else 2.0 ** (-1.0 / half_life) for half_life in (own, shared)]
    there = float(model.fit_intercept)
    priors = there * model.random_intercept_variance, model.random_slope_variance
    return MixedEffects(
        *priors, *decay, logistic=logistic, fixed=(there * model.intercept_variance, model.slope_variance)
    )


def run(literal, y, delay=0, weights=None, X=X, task=TASK):
    """What the literal model says of each record before its label, and the scale of labels then."""
    weights, margins = np.ones(len(y)) if weights is None else weights, np.zeros(len(y))
    known = [(0.0, 1.0)] * (len(y) + 1) if literal.logistic else scales(y, weights)
    for t in range(len(y) + delay):
        if t < len(y):
            mean, deviation = known[max(t - delay, 0)]
            margins[t] = mean + (deviation or 1.0) * literal.margin(X[t], task[t])
        if t >= delay:
            s = t - delay
            z = 2.0 * y[s] - 1.0 if literal.logistic else inside(y[s], known[s + 1])
            literal.learn(X[s], task[s], z, weight=weights[s])
    return margins


@pytest.mark.parametrize(("delay", "weights"), [(0, None), (7, None), (0, WEIGHTS)], ids=["at once", "late", "weighed"])
@pytest.mark.parametrize("priors", PRIORS)
@pytest.mark.parametrize("labels", LABELS)
def test_it_is_the_literal_filter(labels, priors, delay, weights):
    model, y = KINDS[labels](scale="none", **PRIORS[priors]), LABELS[labels]
    trace = ct.progressive_validation(model, X, y, task=TASK, delay=delay, sample_weight=weights)
    literal = literal_of(model, labels == "classes")
    assert_close(trace.margin if labels == "classes" else trace.prediction, run(literal, y, delay, weights))
    mean, deviation = (0.0, 1.0) if labels == "classes" else scales(Y, weights)[-1]
    tasks = [*model.tasks_, "new"]
    parts = [literal.parts(x, task) for x, task in zip(X, [*TASK, *tasks], strict=False)]
    assert_close(model.margin_variance(X, task=TASK), [variance for _, variance in parts])
    assert_close(model.intercept_, [mean + deviation * (literal.m + literal.own(task)[0])[0] for task in model.tasks_])


@pytest.mark.parametrize("form", [np.asarray, lambda X: [{f"f{j}": x[j] for j in np.flatnonzero(x)} for x in X]])
def test_weights_of_features_that_were_always_0_vary_as_before_any_record(form):
    """The margins are those of a literal model that knows all features from the start."""
    late = X * (np.arange(len(X))[:, None] >= np.arange(X.shape[1]) * 10)
    model = ct.MultitaskMixedEffectsClassifier(scale="none")
    literal, expected = literal_of(model, True), []
    literal.meet(np.ones(X.shape[1]))
    for x, task, label in zip(late, TASK, POSITIVE, strict=True):
        expected.append(literal.margin(x, task))
        literal.learn(x, task, 2.0 * label - 1.0)
    assert_close(ct.progressive_validation(model, form(late), POSITIVE, task=TASK).margin, expected)


@pytest.mark.parametrize("half_life", [None, 40.0])
def test_intervals_and_noise_are_the_literal_ones(half_life):
    model = ct.MultitaskMixedEffectsRegressor(scale="none", half_life=half_life).fit(X, Y, task=TASK)
    literal = literal_of(model, False)
    run(literal, Y)
    (mean, deviation), count = scales(Y)[-1], sum(literal.kept**n for n in range(len(literal.squares)))
    noise = sum(literal.squares) / count
    assert_close(model.noise_variance_, deviation**2 * noise)
    for task in (TASK[0], "new"):
        for level in (0.5, 0.9):
            f, variance = literal.parts(X[0], task)
            reach = student.ppf(0.5 + level / 2, count) * np.sqrt(noise * (1 + variance))
            expected = mean + deviation * (f + np.array([-reach, reach]))
            assert_close(model.predict_interval(X[:1], task=[task], level=level)[0], expected)


def test_a_prior_variance_of_zero_leaves_a_weight_at_zero():
    model = ct.MultitaskMixedEffectsRegressor(random_slope_variance=0.0, scale="none").fit(X, Y, task=TASK)
    assert np.ptp(model.coef_, axis=0).tolist() == [0.0] * X.shape[1]
    assert len(set(model.intercept_.tolist())) == len(model.tasks_)
    assert model.state_.model.pulls.shape == (len(model.tasks_), 1)
    for off in ({"fit_intercept": False}, {"intercept_variance": 0.0, "random_intercept_variance": 0.0}):
        model = ct.MultitaskMixedEffectsClassifier(scale="none", **off).fit(X, POSITIVE, task=TASK)
        assert model.intercept_.tolist() == [0.0] * len(model.tasks_)


def test_parts_of_log_odds_are_shrunk_by_their_variance():
    model = ct.MultitaskMixedEffectsClassifier(scale="none").fit([named(x) for x in X], POSITIVE, task=NAMES)
    for x, task in zip(X[:5], NAMES, strict=False):
        explanation = model.explain(named(x), task)
        assert explanation.rest == 0.0
        assert_close(
            explanation.base + sum(part.part for part in explanation.parts), model.decision_function_one(named(x), task)
        )
        shrunk = np.sqrt(1.0 + np.pi / 8.0 * model.margin_variance([named(x)], task=[task])[0])
        weights = dict(zip(model.feature_names, model.coef_[model.tasks_.index(task)], strict=True))
        assert_close(
            [part.part for part in explanation.parts], [weights[n] * v / shrunk for n, v, *_ in explanation.parts]
        )


# -- known truth -------------------------------------------------------------------------------------------------------


def mixed_world(seed, K, n, slopes, noise, d=4):
    """Numbers by a mixed model with these standard deviations."""
    rng = np.random.default_rng(seed)
    X, task = rng.standard_normal((n, d)), rng.integers(K, size=n)
    own = np.column_stack([rng.standard_normal(K), slopes * rng.standard_normal((K, d))])
    y = 50 + X @ rng.standard_normal(d) + own[task, 0] + (own[task, 1:] * X).sum(axis=1)
    return X, y + noise * rng.standard_normal(n), task


@pytest.mark.parametrize(("K", "n"), [(20, 3000), (300, 3000), (1500, 4500)])
@pytest.mark.parametrize(("slopes", "noise"), [(0.0, 1.0), (0.5, 1.0), (0.5, 3.0)])
def test_intervals_hold_on_known_truth(K, n, slopes, noise):
    """In nine of ten records, of tasks with many labels and with three: predicted before each label."""
    inside_, seen = {0.9: [], 0.99: []}, 0
    for seed in range(2):
        X, y, task = mixed_world(seed, K, n, slopes, noise)
        model = ct.MultitaskMixedEffectsRegressor(
            1.0 / noise**2, max(slopes, 0.1) ** 2 / noise**2, scale="none", intercept_variance=100.0
        )
        known.tell_intervals(model, X, y, task, inside_)
        seen += n
    assert abs(np.mean(inside_[0.9]) - 0.9) < 0.02
    assert np.mean(inside_[0.99]) > 0.98
    assert abs(model.noise_variance_ / noise**2 - 1) < 0.12


# -- the limit of features ---------------------------------------------------------------------------------------------

WIDE = np.random.default_rng(0).standard_normal((60, LIMIT + 3))
#: How records reach a model: what it learns of the first 20 and of the others.
WAYS = {
    "array": lambda model, X, y, task: model.partial_fit(X, y, task=task),
    "sparse": lambda model, X, y, task: model.partial_fit(FORMS["csr"](X), y, task=task),
    "frame": lambda model, X, y, task: model.partial_fit(pd.DataFrame(X), y, task=task),
    "dictionaries": lambda model, X, y, task: model.partial_fit([named(x) for x in X], y, task=task),
    "one": lambda model, X, y, task: [model.learn_one(named(x), *rest) for x, *rest in zip(X, y, task, strict=True)],
    "late": lambda model, X, y, task: ct.progressive_validation(model, X, y, task=task, delay=3),
    "bounded": lambda model, X, y, task: model.set_params(max_tasks=2).partial_fit(X, y, task=task),
    "one bounded": lambda model, X, y, task: WAYS["one"](model.set_params(max_tasks=2), X, y, task),
}


def named(x):
    return {f"f{j}": float(value) for j, value in enumerate(x)}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("first", [0, 20])
def test_more_features_than_the_limit_are_refused_before_anything_is_learned(way, first):
    singly = way.startswith("one")
    model = KINDS["classes"](scale="none") if singly else KINDS["numbers"](scale="none")
    y = (WIDE[:, 0] > 0).tolist() if singly else WIDE[:, 0]
    task, learn = ["ann", "bob"] * 30, WAYS[way]
    few = np.where(np.arange(LIMIT + 3) < 100, WIDE, 0.0)  # columns of zeros do not count
    if first:
        learn(model, few[:first], y[:first], task[:first])
    before = model.predict(few, task=task) if first and not singly and way != "dictionaries" else None
    expected = rf"at most {LIMIT - 1} features, got {LIMIT + 3}: .*Use AdaptiveSharing.*many_features='ignore'"
    with pytest.raises(ValueError, match=expected):
        learn(model, WIDE[first:], y[first:], ["eve", *task[first + 1 :]])
    if not first:
        assert not model.__sklearn_is_fitted__()
    else:
        assert model.tasks_ == ["ann", "bob"]
    if before is not None:
        np.testing.assert_array_equal(model.predict(few, task=task), before)
        assert model.state_.rounds == first
    learn(model, few[first:], y[first:], task[first:])


@pytest.mark.parametrize("labels", LABELS)
def test_features_beyond_the_limit_can_be_ignored(labels, tmp_path):
    """The first are learned as by the literal filter; a model of a file goes on alike."""
    y, task = (WIDE[:, 0] if labels == "numbers" else WIDE[:, 0] > 0), np.arange(60) % 3
    few = np.where((np.arange(60)[:, None] < 30) & (np.arange(LIMIT + 3) >= 100), 0.0, WIDE)
    model = KINDS[labels](scale="none", many_features="ignore")
    trace = ct.progressive_validation(model, few, y, task=task)
    literal = literal_of(model, labels == "classes")
    literal.most = 0
    assert_close(trace.margin if labels == "classes" else trace.prediction, run(literal, y, X=few, task=task))
    assert (model.coef_ != 0.0).any(axis=0).sum() == LIMIT - 1
    model.save(tmp_path / "model")
    again = ct.load(tmp_path / "model")
    for going in (model, again):
        going.partial_fit(few[::-1], y[::-1], task=task)
    np.testing.assert_array_equal(again.predict(few, task=task), model.predict(few, task=task))


# -- refusals ----------------------------------------------------------------------------------------------------------


def test_a_constant_that_comes_after_features_is_refused():
    learner = MixedEffectsLearner(Prior(1.0, 1.0), False)
    state = learner.init(Index([0]), InputShape(2))
    learner.learn(state, Batch(Csr(np.ones(1), np.zeros(1, np.int32), np.array([0, 1])), np.zeros(1, int)), np.ones(1))
    with pytest.raises(ValueError, match="give its column before the first record is learned"):
        learner.resize(state, 1, InputShape(3, constant=2))
    assert state.model.columns.tolist() == [-1, 0]


# -- the baseline of comparisons ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_a_mixed_model_is_ahead_where_tasks_differ_by_a_constant(kind):
    rng = np.random.default_rng(0)
    X, task = rng.standard_normal((3000, 4)), rng.integers(60, size=3000)
    score = 3.0 * X @ rng.standard_normal(4) + 2.0 * rng.standard_normal(60)[task] + rng.standard_normal(3000)
    model = ct.MultitaskLogistic() if kind == "classes" else ct.MultitaskRegressor()
    comparison = ct.compare({"together": model}, X, score > 0.0 if kind == "classes" else score, task=task)
    assert comparison.traces["mixed model"].error < 0.9 * min(
        comparison.traces[name].error for name in ("pooled", "independent")
    )
    assert comparison.verdict("together", against="best").against == "a mixed model"
    assert "a mixed model" in str(comparison.verdict("together", against="mixed model"))
