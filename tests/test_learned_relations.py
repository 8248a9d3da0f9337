"""Learned relations against their literal forms, and what must hold of them whatever the numbers."""

import warnings
from functools import partial
from itertools import product

import numpy as np
import pytest

import coterie as ct
from coterie import spec
from coterie.tasks.relations import learned as parts
from reference import omtl, perceptron
from slow import slow, slow_where

K, D = 4, 6
AVERAGED = {"rule": ct.updates.PassiveAggressive(C=0.05), "average": True}

LAWS = {
    "logdet": (ct.LogDet(1e-4), omtl.logdet(1e-4)),
    "logdet, large": (ct.LogDet(1e-1), omtl.logdet(1e-1)),
    "logdet, trace": (ct.LogDet(1e-3, trace_norm=True), omtl.logdet(1e-3, True)),
    "von Neumann": (ct.tasks.VonNeumann(1e-5), omtl.von_neumann(1e-5)),
    "von Neumann, trace": (ct.tasks.VonNeumann(1e-4, trace_norm=True), omtl.von_neumann(1e-4, True)),
    "covariance": (ct.tasks.Covariance(0.5), omtl.covariance(0.5)),
    "covariance, inverse": (ct.tasks.Covariance(0.1, role="Ainv"), omtl.covariance(0.1, "Ainv")),
    "batch optimal": (ct.tasks.BatchOptimal(0.1), omtl.batch_optimal(0.1)),
    "batch optimal, inverse": (ct.tasks.BatchOptimal(0.1, role="Ainv"), omtl.batch_optimal(0.1, "Ainv")),
    "logdet, inverse": (ct.LogDet(1e-3, role="Ainv"), omtl.logdet(1e-3, role="Ainv")),
    "von Neumann, inverse": (ct.tasks.VonNeumann(1e-4, role="Ainv"), omtl.von_neumann(1e-4, role="Ainv")),
    "between": (ct.tasks.Bregman(ct.tasks.BetaDivergence(0.5), 1e-5), omtl.beta_divergence(0.5, 1e-5)),
}
#: Law, trace and step are compiled together: the plain run has each law with the mean step or without, and LogDet with
#: both; forms that are compiled to the same are tested with the second.
WITH_STEP = ("logdet", "logdet, large", "von Neumann", "covariance, inverse")
WITHOUT = ("logdet", "covariance", "batch optimal", "between")
#: Laws whose steps, unless normalised, leave the positive matrices.
OUTGROWN = ("logdet, large", "covariance, inverse")
#: The quickest of them to compile, which the others share most code with, are in the plain run.
SELDOM = ("covariance, inverse", "batch optimal", "between", "von Neumann")
PLAIN = {*((name, True) for name in WITH_STEP), *((name, False) for name in WITHOUT)}
PLAIN -= {(name, step) for name in SELDOM for step in (True, False)}


def changed(relation, **fields):
    return type(relation)(**{**spec.values_of(relation), **fields})


def stream(seed=0, n=120, d=D, n_tasks=K, noise=0.3):
    """Two tasks alike, one their mirror, the others on their own."""
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((n_tasks, d))
    U[1 : 1 + (n_tasks > 2)] = U[0] + 0.2 * rng.standard_normal(d)
    U[-1] = -U[0]
    X, task = rng.standard_normal((n, d)), rng.integers(n_tasks, size=n)
    return X, np.where((U[task] * X).sum(axis=1) + noise * rng.standard_normal(n) > 0, 1.0, -1.0), task


def ran(relation, X, y, task, n_tasks=K, **options):
    model = ct.MultitaskPerceptron(relation, **options)
    return model, ct.progressive_validation(model, X, y, task=task, tasks=range(n_tasks))


def assert_same(model, trace, run, y, rtol=1e-9, W=None):
    assert trace.mistake.tolist() == run.mistakes.tolist()
    np.testing.assert_allclose(trace.margin, run.margins, rtol=rtol, atol=rtol * np.abs(run.margins).max())
    order = np.argsort(model.tasks_)
    weights = (run.W if W is None else W).T
    np.testing.assert_allclose(model.coef_[order], weights, rtol=rtol, atol=rtol * np.abs(weights).max())
    return order


# -- literal ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "step_norm"), slow_where(product(LAWS, [False, True]), lambda *case: case not in PLAIN)
)
@pytest.mark.parametrize("start", ["unit_trace", "identity"])
def test_equal_to_the_literal_form(name, step_norm, start):
    relation, update = LAWS[name]
    relation = ct.tasks.Primed(changed(relation, step_norm=step_norm, start=start), 40)
    X, y, task = stream(1)
    if name in OUTGROWN and not step_norm:
        with pytest.warns(RuntimeWarning, match=r"outgrew its limit in round \d+ and is kept as it was before"):
            ran(relation, X, y, task)
        return
    model, trace = ran(relation, X, y, task)
    A = np.eye(K) / (K if start == "unit_trace" else 1)
    assert_same(model, trace, omtl.omtl(X, y, task, update, n_tasks=K, epoch=40, A=A, step_norm=step_norm), y, 1e-8)


@pytest.mark.parametrize("step_norm", [False, True])
@pytest.mark.parametrize("name", ["logdet", slow("covariance")])
@pytest.mark.parametrize("weights", ["previous", slow("new")])
def test_the_matrix_is_that_of_the_literal_form(name, step_norm, weights):
    relation, update = LAWS[name]
    X, y, task = stream()
    model, trace = ran(ct.tasks.Primed(changed(relation, weights=weights, step_norm=step_norm), 0.3), X, y, task)
    run = omtl.omtl(X, y, task, update, n_tasks=K, epoch=0.3 * len(y), weights=weights, step_norm=step_norm)
    order = assert_same(model, trace, run, y)
    M = np.linalg.inv(run.A)
    M *= K**2 / np.trace(M) if step_norm else 1.0
    np.testing.assert_allclose(model.relation_matrix_[np.ix_(order, order)], M, rtol=1e-8, atol=1e-8 * np.abs(M).max())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["logdet", "covariance"])
def test_a_relation_revised_once_a_pass(name):
    """Independent in the first pass, and in each that follows under the A of the weights at its start (§5.4)."""
    relation, update = LAWS[name]
    X, y, task = stream(35)
    n = len(y)
    model, once = (ct.MultitaskPerceptron(ct.tasks.Primed(relation, 0.0, every=n)) for _ in range(2))
    for passes in (3, 1, 1):
        model.__stream_model__().learn(X, y, task, tasks=range(K), whole=passes > 1, passes=passes, weights=np.ones(n))
    run = omtl.omtl(*[np.concatenate([part] * 3) for part in (X, y, task)], update, n_tasks=K, every=n)
    np.testing.assert_allclose(model.coef_[np.argsort(model.tasks_)], run.W.T, rtol=1e-8, atol=1e-8)
    assert model.state_.model.relation.status[2] == 3
    first, _ = ran(ct.Independent(), X, y, task)
    once.__stream_model__().learn(X, y, task, tasks=range(K), whole=True, weights=np.ones(n))
    np.testing.assert_allclose(once.coef_, K * first.coef_[[first.tasks_.index(i) for i in once.tasks_]])


@pytest.mark.parametrize(
    ("name", "step_norm"),
    [("logdet", False), slow("von Neumann", True), ("covariance", False), slow("batch optimal", False)],
)
def test_without_priming_from_the_first_mistake(name, step_norm):
    relation, update = LAWS[name]
    relation = changed(relation, step_norm=step_norm)
    X, y, task = stream(2, n=30)
    run = omtl.omtl(X, y, task, update, n_tasks=K, step_norm=step_norm)
    for epoch in (None, 0, 1, 0.0):
        model, trace = ran(relation if epoch is None else ct.tasks.Primed(relation, epoch), X, y, task)
        # (W'W)^1/2 of a singular W'W is known to the square root of the precision
        assert_same(model, trace, run, y, 1e-6 if name == "batch optimal" else 1e-8)


B = np.random.default_rng(4).standard_normal((K, K))
GIVEN = B @ B.T + np.eye(K)


@pytest.mark.parametrize(
    ("relation", "A", "epoch"),
    [(ct.HalfUpdate(), (K + 1) * np.eye(K) - 1, 0.5), (ct.tasks.Interaction(GIVEN, tasks=range(K)), GIVEN, 20)],
    ids=["half", "given"],
)
@pytest.mark.slow
def test_a_relation_that_is_known_after_priming(relation, A, epoch):
    X, y, task = stream(3)
    run = omtl.omtl(X, y, task, omtl.fixed(A), n_tasks=K, epoch=epoch if epoch > 1 else epoch * len(y))
    model, trace = ran(ct.tasks.Primed(relation, epoch), X, y, task)
    assert_same(model, trace, run, y)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["logdet", "von Neumann, trace", "covariance, inverse"])
def test_passive_aggressive_steps_read_the_diagonal_and_the_average_is_of_the_weights_before_each_round(name):
    relation, update = LAWS[name]
    X, y, task = stream(5)
    run = omtl.omtl(X, y, task, update, n_tasks=K, epoch=20, step_norm=True, tau=partial(perceptron.step, "PA-I", 0.05))
    relation = ct.tasks.Primed(changed(relation, step_norm=True), 20)
    model, trace = ran(relation, X, y, task, **AVERAGED)
    np.testing.assert_allclose(model.coef_[np.argsort(model.tasks_)], run.mean.T, rtol=1e-8, atol=1e-8)
    assert trace.mistake.sum() > 0


@pytest.mark.slow
def test_a_covariance_of_more_tasks_than_features_keeps_its_digits():
    """Where it is nearly singular, an inverse that is changed by rank two loses them."""
    X, y, task = stream(n=300, d=5, n_tasks=6)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    model, _ = ran(ct.tasks.Covariance(0.1, step_norm=True, weights="new"), X, y, task, 6)
    M = np.linalg.inv(np.cov(model.coef_) + 0.1 * np.eye(6))
    np.testing.assert_allclose(model.relation_matrix_ * np.trace(M) / 36, M, rtol=0, atol=1e-9 * M.max())


# -- theorems and degenerate cases ------------------------------------------------------------------------------------


LONG = [
    *(ct.LogDet(1e-3, step_norm=True), ct.LogDet(1e-10), slow(ct.tasks.VonNeumann(1e-9, step_norm=True))),
    *map(slow, [ct.tasks.Covariance(0.1), ct.tasks.Covariance(0.1, step_norm=True, role="Ainv")]),
    *map(slow, [ct.tasks.BatchOptimal(0.1), ct.tasks.VonNeumann(1e-11)]),
]


@pytest.mark.parametrize("relation", LONG, ids=repr)
def test_symmetric_and_positive_definite_over_many_updates(relation):
    rng = np.random.default_rng(14)
    n, d = 210_000, 8
    X, task = rng.standard_normal((n, d)), rng.integers(5, size=n)
    model, trace = ran(relation, X, rng.choice([-1.0, 1.0], size=n), task, 5)
    assert trace.updated.sum() >= 100_000
    assert model.state_.model.relation.status[0] == 0
    M = model.relation_matrix_
    np.testing.assert_allclose(M, M.T, rtol=1e-7 * isinstance(relation, ct.tasks.VonNeumann), atol=0.0)
    assert np.linalg.eigvalsh(M)[0] > 0
    G = model.state_.model.relation.gram.products
    np.testing.assert_allclose(G, model.coef_ @ model.coef_.T, atol=1e-6 * np.abs(G).max())


# -- the stream -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, slow(AVERAGED)], ids=str)
def test_tasks_that_come_while_primed_were_known_from_the_start(options):
    X, y, task = stream(35, n=200)
    X = np.round(4 * X)  # whole numbers, whose sums are exact: zero margins are zero in both
    relation = ct.tasks.Primed(ct.LogDet(1e-3, step_norm=True), 120)
    known, expected = ran(relation, X, y, task, **options)
    arrive = ct.MultitaskPerceptron(relation, **options)
    trace = ct.progressive_validation(arrive, X, y, task=task)
    order = [known.tasks_.index(label) for label in arrive.tasks_]
    assert trace.mistake.tolist() == expected.mistake.tolist()
    np.testing.assert_allclose(arrive.coef_, known.coef_[order], rtol=1e-9, atol=1e-9)
    M = known.relation_matrix_[np.ix_(order, order)]
    np.testing.assert_allclose(arrive.relation_matrix_, M, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", [slow(name) if name in SELDOM else name for name in WITHOUT])
def test_a_late_task_is_learned_as_by_the_literal_form(name):
    relation, update = LAWS[name]
    X, y, task = stream(17, n=160)
    late = np.where(np.arange(160) < 80, task % 3, task)
    learn = ct.MultitaskPerceptron(ct.tasks.Primed(relation, 40)).__stream_model__().learn
    margins = [learn(X[:80], y[:80], late[:80], tasks=range(3)).margin, learn(X[80:], y[80:], late[80:]).margin]
    run = omtl.omtl(X, y, late, update, n_tasks=4, epoch=40, A=np.eye(4) / 3)
    np.testing.assert_allclose(np.concatenate(margins), run.margins, rtol=1e-8, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("relation", [ct.tasks.Covariance(0.1, role="Ainv"), ct.LogDet(1e-3)], ids=repr)
def test_features_that_come_later(relation):
    rng = np.random.default_rng(18)
    model = ct.MultitaskPerceptron(changed(relation, step_norm=True))
    for t in range(60):
        x = {f"x{j}": float(v) for j, v in enumerate(rng.standard_normal(3 + t // 20))}
        model.partial_fit([x], [x["x0"] > 0], task=[f"task {rng.integers(3)}"], classes=[False, True])
    relation_state = model.state_.model.relation
    np.testing.assert_allclose(relation_state.gram.products, model.coef_ @ model.coef_.T, atol=1e-10)
    assert np.isfinite(model.relation_matrix_).all()
    assert relation_state.first == 1.0


def test_a_task_nobody_has_seen_has_no_weights():
    X, y, task = stream(19)
    model, _ = ran(ct.LogDet(1e-3), X, y, task)
    np.testing.assert_array_equal(model.decision_function(X[:3], ["new", "newer", "new"]), 0.0)
    assert len(model.tasks_) == K


def test_several_passes_are_one_long_stream():
    X, y, task = stream(23)
    model = ct.MultitaskPerceptron(ct.tasks.Primed(ct.LogDet(1e-3, step_norm=True), 0.5))
    for passes in (2, 1):
        model.__stream_model__().learn(X, y, task, tasks=range(K), whole=passes > 1, passes=passes)
    twice = [np.concatenate([part, part]) for part in (X, y, task)]
    run = omtl.omtl(*twice, omtl.logdet(1e-3), n_tasks=K, epoch=len(y), step_norm=True)
    np.testing.assert_allclose(model.coef_[np.argsort(model.tasks_)], run.W.T, rtol=1e-9, atol=1e-9)


# -- priming that decides itself --------------------------------------------------------------------------------------


def correlations(W):
    G = W.T @ W
    length = np.sqrt(np.diag(G))
    return np.divide(G, np.outer(length, length), out=np.zeros_like(G), where=np.outer(length, length) > 0)


@pytest.mark.slow
def test_auto_is_the_first_look_that_finds_the_correlations_settled():
    X, y, task = stream(30, n=1500)
    looks, last, settled = 4 * K, np.zeros((K, K)), None
    W, moves = np.zeros((D, K)), 0
    for t, (x, label, i) in enumerate(zip(X, y, task, strict=True), start=1):
        if label * (W[:, i] @ x) > 0:
            continue
        moves += 1
        if moves == looks:
            R = correlations(W)
            if np.linalg.norm(R - last) <= 0.5 * np.linalg.norm(R):
                settled = t
                break
            looks, last = 2 * looks, R
        W[:, i] += K * label * x
    assert settled is not None
    relation = ct.LogDet(1e-3, step_norm=True)
    auto, _ = ran(ct.tasks.Primed(relation, "auto"), X, y, task)
    fixed, _ = ran(ct.tasks.Primed(relation, settled), X, y, task)
    np.testing.assert_array_equal(auto.coef_, fixed.coef_)
    assert auto.state_.model.relation.start.moves[0] == moves


# -- growth that cannot go on -----------------------------------------------------------------------------------------

EXPLODING = [ct.LogDet(0.1), ct.tasks.VonNeumann(0.1), ct.tasks.Covariance(0.1, role="Ainv")]


@pytest.mark.parametrize("relation", [EXPLODING[0], *map(slow, EXPLODING[1:])], ids=repr)
def test_a_relation_that_would_overflow_is_held_and_said_so_once(relation):
    X, y, task = stream(24, n=400)
    model = ct.MultitaskPerceptron(relation)
    with pytest.warns(RuntimeWarning, match=r"outgrew its limit in round \d+ .* take ") as predictions:
        trace = ct.progressive_validation(model, X, y, task=task)
    assert len(predictions) == 1
    assert predictions[0].filename == __file__  # the user's line, however deep in the package it was found
    assert "step_norm=True" in str(predictions[0].message)
    M = model.relation_matrix_
    assert np.isfinite(trace.margin).all()
    assert np.isfinite(model.coef_).all()
    assert np.linalg.eigvalsh(M)[0] > -1e-9 * np.abs(M).max()
    model.partial_fit(X, y, task=task)
    np.testing.assert_array_equal(model.relation_matrix_, M)


@pytest.mark.slow
@pytest.mark.parametrize("every", [None, 10])
def test_the_round_that_stops_a_relation_is_named(every):
    X, y, task = stream(24, n=400)
    model = ct.MultitaskPerceptron(ct.tasks.Primed(EXPLODING[0], 10, every=every))
    with warnings.catch_warnings(record=True) as messages:
        warnings.simplefilter("always")
        for t in range(400):
            model.partial_fit(X[t : t + 1], y[t : t + 1], task=task[t : t + 1], classes=[-1.0, 1.0])
            if messages:
                break
    assert f"outgrew its limit in round {t + 1} " in str(messages[0].message)


@pytest.mark.slow
@pytest.mark.parametrize("beta", [1.0, 0.5])
def test_an_eigenvalue_too_small_for_a_number_holds_the_relation(beta):
    """exp(-eta W'W) is 0 where records are long: A⁻¹ would be infinite."""
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(60, 5)) * (100.0 if beta == 1.0 else 1e80), rng.integers(3, size=60)
    model = ct.MultitaskPerceptron(ct.tasks.Bregman(ct.tasks.BetaDivergence(beta), 1.0), scale="none")
    with pytest.warns(RuntimeWarning, match="outgrew its limit"):
        model.fit(X, rng.choice([-1, 1], 60), task)
    assert np.isfinite(model.state_.model.relation.inverse).all()


# -- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epoch", "refused", "accepted", "message"),
    [
        (500, "whole", "partial_fit", "epoch=500 is beyond the end of the stream, which has 120 rounds"),
        (0.5, "partial_fit", "fit", "the length of the stream is unknown; pass a number of rounds or epoch='auto'"),
    ],
)
def test_an_epoch_that_no_stream_has_is_refused_where_its_length_tells(epoch, refused, accepted, message):
    X, y, task = stream(25)
    model = ct.MultitaskPerceptron(ct.tasks.Primed(ct.LogDet(1e-3), epoch))
    whole = partial(ct.progressive_validation, model)
    with pytest.raises(ValueError, match=message):
        (whole if refused == "whole" else getattr(model, refused))(X, y, task=task)
    assert not model.__sklearn_is_fitted__()
    assert getattr(model, accepted)(X, y, task=task).__sklearn_is_fitted__()


def test_too_many_tasks(monkeypatch):
    monkeypatch.setattr(parts, "MOST_TASKS", 3)
    X, y, task = stream(27)
    model = ct.MultitaskPerceptron(ct.LogDet(1e-3))
    message = "LogDet stores a matrix of all pairs of tasks and supports at most 3 tasks, got 4: .*MeanRegularized"
    with pytest.raises(ValueError, match=message):
        model.partial_fit(X, y, task=task)
    assert not model.__sklearn_is_fitted__()
    model.partial_fit(X, y, task=task % 3)
    before = model.coef_
    with pytest.raises(ValueError, match=message):
        model.partial_fit(X, y, task=task)
    np.testing.assert_array_equal(model.coef_, before)
    assert model.tasks_ == [0, 1, 2] or len(model.tasks_) == 3
