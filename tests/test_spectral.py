"""Spectral co-regularization over tasks: against its definition, the matrix Perceptron of views, and its bound."""

import numpy as np
import pytest

import coterie as ct
from coterie.evaluation.bounds.view_bounds import spectral_bound
from coterie.evaluation.explanation import correlations, nearest_tasks
from reference.spectral import spectral
from slow import slow
from streams import spiteful

K, D, N = 5, 6, 150


def stream(seed=0, n=N, rank=2, noise=0.1):
    """Tasks in a few directions, the last one with records of its own features; some records make no sense."""
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((K, rank)) @ rng.standard_normal((rank, D))
    X, task = rng.standard_normal((n, D)), rng.integers(K, size=n)
    y = np.where((U[task] * X).sum(axis=1) > 0, 1.0, -1.0)
    return X, np.where(rng.random(n) < noise, -y, y), task


def primed(p, **when):
    """The relation, which begins and is revised when it is said."""
    return ct.tasks.Primed(ct.tasks.Spectral(p), **when) if when else ct.tasks.Spectral(p)


def ran(relation, X, y, task, **options):
    model = ct.MultitaskPerceptron(relation, **options)
    return model, ct.progressive_validation(model, X, y, task=task, tasks=range(K))


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 3.0, 8.0])
@pytest.mark.parametrize("when", [{}, {"epoch": 40}, slow({"epoch": 20, "every": 30})], ids=repr)
def test_equal_to_the_literal_form(p, when):
    X, y, task = stream(int(10 * p))
    model, trace = ran(primed(p, **when), X, y, task)
    run = spectral(X, y, task, p, n_tasks=K, **when)
    assert trace.mistake.tolist() == run.mistakes.tolist()
    np.testing.assert_allclose(trace.margin, run.margins, rtol=1e-9, atol=1e-9)
    order = np.argsort(model.tasks_)
    np.testing.assert_allclose(model.coef_[order], run.W.T, rtol=1e-9, atol=1e-9)
    if "every" not in when:  # or what was learned since A was revised is not in it
        np.testing.assert_allclose(model.relation_matrix_[np.ix_(order, order)], run.A, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("p", [1.0, 2.0, 3.0])
@pytest.mark.parametrize("when", [{}, slow({"epoch": 20, "every": 30})], ids=repr)
def test_average_is_the_mean_of_the_weights_before_each_round(p, when):
    X, y, task = stream(2)
    model, trace = ran(primed(p, **when), X, y, task, average=True)
    run = spectral(X, y, task, p, n_tasks=K, **when)
    assert trace.updated.tolist() == run.mistakes.tolist()
    np.testing.assert_allclose(model.coef_[np.argsort(model.tasks_)], run.mean.T, rtol=1e-9, atol=1e-9)
    margins = (X * run.mean.T[task]).sum(axis=1)
    np.testing.assert_allclose(model.decision_function(X, task), margins, rtol=1e-9, atol=1e-9)


# -- what the other learned relations can do --------------------------------------------------------------------------


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0])
def test_tasks_that_arrive_are_as_if_known_from_the_start(p):
    X, y, task = stream(7)
    model, known = ran(ct.tasks.Spectral(p), X, y, task)
    for when in ({}, {"epoch": 30}):
        relation = primed(p, **when)
        _, known = ran(relation, X, y, task)
        model = ct.MultitaskPerceptron(relation)
        trace = ct.progressive_validation(model, X, y, task=task)
        assert trace.mistake.tolist() == known.mistake.tolist()
        np.testing.assert_allclose(trace.margin, known.margin, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
def test_a_task_without_a_move_shares_nothing():
    X, y, task = stream(8)
    model = ct.MultitaskPerceptron(ct.tasks.Spectral(3))
    model.__stream_model__().learn(X[task < 4], y[task < 4], task[task < 4], tasks=[9, *range(4)])
    assert model.decision_function(X, np.full(N, 9)).tolist() == [0.0] * N
    assert model.decision_function(X, np.full(N, "never seen", object)).tolist() == [0.0] * N
    assert dict(nearest_tasks(model, 9)) == dict.fromkeys(range(4), 0.0)
    assert np.isfinite(correlations(model)).all()
    assert model.state_.model.relation.status[0] == 0


# -- the bound --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [1, 1.5, 2, 3, 10])
@pytest.mark.parametrize("hard", [False, slow(True)])
def test_the_bound_holds(p, hard):
    rng = np.random.default_rng(int(10 * p))
    for seed in range(3):
        X, y, task = stream(seed, noise=0.05 * seed)
        model = ct.MultitaskPerceptron(ct.tasks.Spectral(p))
        if hard:
            y = spiteful(ct.MultitaskPerceptron(ct.tasks.Spectral(p)), X, task, None)
        trace = ct.progressive_validation(model, X, y, task=task)
        assert not hard or trace.mistakes == N
        for scale in (0.0, 0.1, 0.5, 1.0, 5.0):
            for U in (rng.standard_normal((K, D)), model.coef_ / max(np.abs(model.coef_).max(), 1e-9)):
                assert trace.mistakes <= spectral_bound(trace, X, scale * U, p).mistakes + 1e-9


def test_the_bound_refuses_other_shapes():
    X, y, task = stream(16)
    _, trace = ran(ct.tasks.Spectral(), X, y, task)
    with pytest.raises(ValueError, match="U must have shape"):
        spectral_bound(trace, X, np.ones((2, D)), 2)
    with pytest.raises(ValueError, match="p must be"):
        spectral_bound(trace, X, np.ones((K, D)), 0.5)
