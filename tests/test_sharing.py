"""Adaptive sharing against its definition, its members and what it promises."""

import copy
from itertools import product

import numpy as np
import pytest

import coterie as ct
import raw
from coterie._compiled.core.records import Dense
from coterie._compiled.primal.mixture import slope_after
from coterie.evaluation.explanation import relation_among
from coterie.models.contract import BaseLearner, Batch, Capabilities, InputShape, Predictions, UpdateResult
from coterie.models.ensemble import Ensemble
from coterie.models.state import State
from coterie.tasks.index import Index
from reference import adalog
from reference.mixed_effects import WIDEST, MixedEffects
from reference.sharing import AdaptiveSharing, root, run
from slow import slow_where
from test_adaptive import as_records, stream


def logistic(*shares):
    return [adalog.AdaLog(adalog.share(s)) for s in shares]


def arows(*chosen):
    return [adalog.AROW(adalog.share(s), rho) for rho, s in chosen]


def literal(members):
    """The learners and the experts of a named set."""
    default = [*logistic(0.0, 1.0), *arows((30.0, 0.5)), adalog.Coin(adalog.share(0.5), alpha=3.0, wealth=2.0)]
    coins = [adalog.Coin(adalog.share(s), alpha=3.0, wealth=1.0) for s in (0.0, 1.0)]
    mixed = [MixedEffects(5.0, 0.2, logistic=True, rate=0.7, most=WIDEST, features=2)]
    if members == "cheap":
        return AdaptiveSharing(logistic(1.0, 0.0), experts=lambda f: [f[0], f[1], f[0] + f[1]])
    learners = {"default": [*default, *mixed], "ensemble": [*default, *arows((3.0, 1.0)), *coins, *mixed]}[members]
    factors = [2 if hasattr(learner, "rho") else 1 for learner in learners]  # of AROW, log-odds are twice the margin
    return AdaptiveSharing(
        learners, experts=lambda f: [k * factor_margin for k, factor_margin in zip(factors, f, strict=True)]
    )


# -- equality with the definition --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("members", "delay"),
    slow_where(product(["default", "cheap", "ensemble"], [0, 9]), lambda members, delay: members != "default"),
)
def test_named_sets_are_the_literal_algorithm(members, delay):
    X, y, task = stream(0)
    y = np.where(task == 0, -y, y)
    trace = ct.progressive_validation(raw.AdaptiveSharingClassifier(members), X, y, task=task, delay=delay)
    result = run(literal(members), as_records(X), task.tolist(), y, delay)
    np.testing.assert_allclose(trace.margin, result, rtol=1e-8, atol=1e-11)
    np.testing.assert_allclose(trace.probability, 1 / (1 + np.exp(-np.array(result))), rtol=1e-8)


@pytest.mark.parametrize("local", [0.0, 1.0])
def test_any_members_by_their_margins(local):
    X, y, task = stream(1)
    model = raw.AdaptiveSharingClassifier([ct.MultitaskPerceptron(), ct.MultitaskPerceptron(ct.Pooled())], local=local)
    trace = ct.progressive_validation(model, X, y, task=task)
    result = run(
        AdaptiveSharing([adalog.Perceptron(adalog.share(s)) for s in (0.5, 1.0)], local=local, log_odds=False),
        as_records(X),
        task.tolist(),
        y,
    )
    np.testing.assert_allclose(trace.margin, result, rtol=1e-9, atol=1e-12)
    assert trace.probability is None
    with pytest.raises(AttributeError, match="log-odds"):
        model.predict_proba(X, task=task)


def test_an_unseen_task_is_mixed_by_what_holds_for_all():
    X, y, task = stream(4)
    model = raw.AdaptiveSharingClassifier().fit(X, y, task=task)
    definition = literal("default")
    run(definition, as_records(X), task.tolist(), y)
    expected = [definition.margin(x, "new", 0) for x in as_records(X[:9])]
    np.testing.assert_allclose(model.decision_function(X[:9], task=["new"] * 9), expected, rtol=1e-8)


# -- what it says of sharing -------------------------------------------------------------------------------------------


def related(kind, seed=0, n=12_000, d=12, tasks=8):
    """Tasks that are all alike, all different, or alike but for one."""
    rng = np.random.default_rng(seed)
    X, task = rng.standard_normal((n, d)) / np.sqrt(d), rng.integers(tasks, size=n)
    shared, own = rng.standard_normal(d), rng.standard_normal((tasks, d))
    W = {"alike": np.tile(shared, (tasks, 1)), "different": own, "but one": np.tile(shared, (tasks, 1))}[kind]
    if kind == "but one":
        W[3] = own[3]
    return X, np.where((X * W[task]).sum(axis=1) + 0.2 * rng.standard_normal(n) > 0, 1, -1), task


def errors(X, y, task, members="default"):
    learners = {"independent": ct.Independent(), "half": ct.HalfUpdate(), "pooled": ct.Pooled()}
    fixed = {n: ct.progressive_validation(raw.MultitaskLogistic(r), X, y, task=task) for n, r in learners.items()}
    model = raw.AdaptiveSharingClassifier(members)
    return model, ct.progressive_validation(model, X, y, task=task), fixed


def test_answers_whether_a_task_shares():
    model, trace, fixed = errors(*related("but one"))
    odd = model.tasks_.index(3)
    assert model.sharing_[odd] < 0.2
    assert np.delete(model.sharing_, odd).min() > 0.4
    assert trace.error <= min(trace.error for trace in fixed.values())
    np.testing.assert_allclose(model.sharing_weights_.sum(axis=1), 1.0)
    assert model.members_ == ["independent", "pooled", "half-shared AROW(30)", "coin betting", "mixed effects"]


def test_the_share_of_mixed_effects_is_the_shared_part_of_weights():
    X, y, task = stream(0)
    model, definition = raw.AdaptiveSharingClassifier().fit(X, y, task=task), literal("default")
    run(definition, as_records(X), task.tolist(), y)
    mixed, inner = definition.learners[-1], model.__stream_model__()
    share = inner.learner.learners[-1].share(inner.state.members[-1])
    for i, of_task in enumerate(model.tasks_):
        v, q = mixed.own(of_task)
        own, whole = v**2 + q, (mixed.m + v) ** 2 + np.diag(mixed.P) + q
        assert share[i] == pytest.approx(max(1.0 - own[1:].sum() / whole[1:].sum(), 0.0), abs=1e-12)


def test_relation_matrix_has_a_unit_diagonal_and_shows_who_shares():
    model, _, _ = errors(*related("but one"))
    M = model.relation_matrix_
    np.testing.assert_allclose(M, M.T)
    np.testing.assert_allclose(np.diag(M), 1.0)
    assert np.linalg.eigvalsh(M).min() > -1e-12
    odd = model.tasks_.index(3)
    others = [i for i in range(8) if i != odd]
    assert M[odd, others].max() < M[np.ix_(others, others)].min()
    np.testing.assert_allclose(relation_among(model, [model.tasks_[2], model.tasks_[5]]), M[np.ix_([2, 5], [2, 5])])


# -- regret ------------------------------------------------------------------------------------------------------------


class Scripted(BaseLearner):
    """A learner whose margins are given beforehand: what an adversary would play."""

    def __init__(self, margins, log_odds=None):
        self.margins, self.traits = margins, Capabilities(log_odds=log_odds)

    def init(self, tasks, size, length=None):
        return State((np.zeros(1),), tasks, None, size.features, size.dense, len(tasks))

    def learn(self, state, run, y):
        predictions = self.margins[state.rounds : state.rounds + len(y)]
        state.rounds += len(y)
        return UpdateResult(Predictions(predictions), predictions, np.ones(len(y)))

    refuse = resize = drop = predict = skip = dump = restore = None


# -- the last step -----------------------------------------------------------------------------------------------------


def log_loss(log_odds, y):
    return np.logaddexp(0.0, -y * log_odds).mean()


def experts_of_other_scales(n, rng, scale):
    """Margins of three experts, all off their scale by some factor, and labels by the log-odds behind them."""
    truth = rng.normal(size=n) * 2.0
    y = np.where(rng.logistic(size=n) < truth, 1.0, -1.0)
    margins = [3.0 * truth + rng.normal(size=n), 0.2 * truth + 0.1 * rng.normal(size=n), rng.normal(size=n)]
    return scale * np.array(margins), y


def run_scripted(margins, y):
    mixture = Ensemble([Scripted(margin, log_odds=1.0) for margin in margins])
    state = mixture.init(Index(["only"]), InputShape(1))
    return state, mixture.learn(
        state, Batch(Dense(np.zeros((len(y), 1))), np.zeros(len(y), np.int64)), y
    ).predictions.margins


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0, 1e3])
def test_probabilities_come_near_those_of_the_best_combination_in_hindsight(scale):
    """Over all rounds the loss is below the least of loss and prior together, but for the logarithm of the rounds."""
    from scipy.optimize import minimize

    n = 4000
    margins, y = experts_of_other_scales(n, np.random.default_rng(0), scale)
    _, predictions = run_scripted(margins, y)
    best = minimize(lambda u: n * log_loss(u @ margins / scale, y) + 5.0 * u @ u / scale**2, np.zeros(3))
    if scale <= 10.0:  # beyond it the first rounds, by margins taken for log-odds, cost more than that
        assert n * log_loss(predictions, y) <= best.fun + 2.0 * len(margins) * np.log(n)
    half = slice(n // 2, None)
    assert log_loss(predictions[half], y[half]) < log_loss((best.x @ margins / scale)[half], y[half]) + 0.01
    assert log_loss(predictions[half], y[half]) < min(log_loss(margin[half], y[half]) for margin in margins)


@pytest.mark.parametrize("size", [1e-300, 1e-3, 1e8, 1e200])
def test_margins_of_any_size_leave_the_last_step_finite(size):
    margins, y = experts_of_other_scales(500, np.random.default_rng(2), 1.0)
    state, predictions = run_scripted(size * margins, y)
    assert np.isfinite(predictions).all()
    assert np.linalg.eigvalsh(state.layer.covariance).min() > -1e-15
    np.testing.assert_array_equal(state.layer.covariance, state.layer.covariance.T)


@pytest.mark.parametrize("signed_margin", [-1e6, -30.0, -1.0, 0.0, 0.5, 40.0, 800.0])
@pytest.mark.parametrize("q", [0.0, 1e-12, 0.3, 10.0, 1e9])
def test_the_slope_is_the_one_where_the_step_leads(signed_margin, q):
    assert slope_after(signed_margin, q) == pytest.approx(root(signed_margin, q), rel=1e-9, abs=1e-15)


def late_block(X, y, task, first, last):
    return raw.AdaptiveSharingClassifier().__stream_model__().as_block(X, y, task).piece(first, last)


@pytest.mark.parametrize("between", ["nothing", "a file", "a copy"])
def test_what_experts_told_travels_with_the_records(between, tmp_path):
    X, y, task = stream(15, n=300)
    whole, parts = (raw.AdaptiveSharingClassifier().partial_fit(X[:50], y[:50], task=task[:50]) for _ in range(2))
    whole.__stream_model__().learn(late_block(X, y, task, 50, 300), late=20)
    predictions = parts.__stream_model__().learn(late_block(X, y, task, 50, 170), late=20).predictions.cut(100, 120)
    if between == "a file":
        parts.save(tmp_path / "model")
        parts = ct.load(tmp_path / "model")
    if between == "a copy":
        parts = copy.deepcopy(parts)
    parts.__stream_model__().learn(late_block(X, y, task, 150, 300), late=20, predictions=predictions)
    np.testing.assert_array_equal(whole.state_.layer.mean, parts.state_.layer.mean)
    np.testing.assert_array_equal(whole.state_.losses.tasks, parts.state_.losses.tasks)


# -- the learner's form, a file, refusals ------------------------------------------------------------------------------


def test_given_graphs_are_members():
    X, y, task = stream(9, tasks=4)
    names = np.array(list("abcd"), object)[task]
    members = [raw.MultitaskLogistic(), ct.MultitaskPerceptron(ct.TaskGraph([("a", "b"), ("c", "d")]))]
    model = raw.AdaptiveSharingClassifier(members).fit(X, y, task=names)
    assert sorted(model.tasks_) == list("abcd")
    assert model.relation_matrix_.shape == (4, 4)
    before = model.decision_function(X, task=names)
    with pytest.raises(ValueError, match="'e'"):
        model.partial_fit(X, y, task=["e"] * len(y))
    np.testing.assert_array_equal(model.decision_function(X, task=names), before)
    model.partial_fit(X, y, task=names)


@pytest.mark.parametrize("rate", [0.01, 0.02, 0.05])
def test_rare_labels_are_predicted_as_often_as_they_come(rate):
    """Over four streams, which have more than a thousand such labels together."""
    predicted, came = 0.0, 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, task = rng.standard_normal((30_000, 3)), rng.integers(50, size=30_000)
        log_odds = 0.7 * X[:, 0] + rng.standard_normal(50)[task] + np.log(rate) - 0.7
        y = rng.random(30_000) < 1.0 / (1.0 + np.exp(-log_odds))
        trace = ct.progressive_validation(ct.AdaptiveSharingClassifier(), X, y, task=task)
        predicted, came = predicted + trace.probability.sum(), came + y.sum()
    assert 0.85 * rate < came / 120_000 < 1.15 * rate  # as drawn
    assert abs(predicted / came - 1.0) < 0.05
