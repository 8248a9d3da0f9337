"""Smoothed relations: the definition, what is proved of its two halves, and every face."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp

import coterie as ct
from reference import smoothed as reference
from streams import as_dictionaries, linear_stream

STREAM = linear_stream(9, n=150, zeros=0.3)
X, Y, TASK, K = STREAM.X, STREAM.y, STREAM.task, 5
NUMBERS = [(0.5, 0.1, 1.0), (0.9, 2.0, 0.3), (0.2, 0.0, 2.0), (0.0, 1.0, 1.0), (1.0, 0.5, 1.0)]


def learned(model, X=X, y=Y, task=TASK, n=K):
    return ct.progressive_validation(model, X, y, task=task.tolist(), tasks=list(range(n)))


@pytest.mark.parametrize("numbers", NUMBERS)
def test_equal_to_the_definition(numbers):
    model = ct.SmoothedMultitaskPerceptron(*numbers)
    trace, literal = learned(model), reference.literal(X, Y, TASK, K, *numbers)
    np.testing.assert_allclose(trace.margin, literal.margins, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(trace.updated, (literal.losses * literal.counts > 0).any(axis=1))
    np.testing.assert_allclose(model.relations_, literal.relations[:K], rtol=1e-9, atol=1e-300)
    np.testing.assert_allclose(model.coef_, literal.weights[:K], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.decision_function(X, ["nobody"] * len(X)), X @ literal.weights[K], atol=1e-9)


def test_a_weight_is_a_factor_of_the_losses():
    weights = np.random.default_rng(0).choice([0.0, 1.0, 0.25, 3.0], len(Y))
    model = ct.SmoothedMultitaskPerceptron()
    trace = ct.progressive_validation(model, X, Y, task=TASK, tasks=list(range(K)), sample_weight=weights)
    literal = reference.literal(X, Y, TASK, K, weights=weights)
    np.testing.assert_allclose(trace.margin, literal.margins, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.relations_, literal.relations[:K], rtol=1e-9, atol=1e-300)
    np.testing.assert_allclose(model.coef_, literal.weights[:K], rtol=1e-9, atol=1e-12)
    assert not trace.updated[weights == 0.0].any()
    balanced = ct.SmoothedMultitaskPerceptron(class_weight={1.0: 2.0}).fit(X, Y, TASK)
    again = ct.SmoothedMultitaskPerceptron().fit(X, Y, TASK, sample_weight=np.where(Y > 0, 2.0, 1.0))
    np.testing.assert_array_equal(balanced.coef_, again.coef_)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("numbers", NUMBERS[:3])
@pytest.mark.parametrize("labels", ["linear", "random"])
def test_both_halves_keep_their_bounds(seed, numbers, labels):
    """Each task's weights are gradient descent on losses that count so much, and each row of η is Hedge."""
    share, rate, step = numbers
    stream, rng = linear_stream(seed, n=200), np.random.default_rng(seed)
    y = rng.choice([-1.0, 1.0], 200) if labels == "random" else stream.y
    _, losses, counts, _, _ = reference.literal(stream.X, y, stream.task, K, share, rate, step)
    trace = learned(ct.SmoothedMultitaskPerceptron(share, rate, step), stream.X, y, stream.task)
    np.testing.assert_allclose(np.maximum(0, 1 - y * trace.margin), losses[np.arange(200), stream.task], atol=1e-9)
    lengths = (stream.X**2).sum(axis=1)
    for k in range(K):
        for u in rng.normal(size=(4, stream.X.shape[1])) * np.array([[0.0], [0.3], [1.0], [3.0]]):
            best = counts[:, k] @ np.maximum(0, 1 - y * (stream.X @ u))
            slack = u @ u / (2 * step) + step / 2 * (counts[:, k] ** 2 * lengths * (losses[:, k] > 0)).sum()
            assert counts[:, k] @ losses[:, k] <= best + slack + 1e-9
        others = stream.task != k
        trusted = counts[others, k] / share
        mixed = -np.log(1 + trusted * np.expm1(-rate * losses[others, k])).sum()
        least = min(losses[stream.task == m, k].sum() for m in range(K) if m != k)
        assert mixed <= rate * least + math.log(K - 1) + 1e-9


def test_it_finds_whom_to_trust():
    rng = np.random.default_rng(1)
    records, task = rng.normal(size=(1200, 6)), rng.integers(4, size=1200)
    y = np.where(records[:, 0] * np.where(task % 2, 1, -1) > 0, 1, -1)
    model = ct.SmoothedMultitaskPerceptron()
    trace = learned(model, records, y, task, 4)
    assert (model.relations_[[0, 1, 2, 3], [2, 3, 0, 1]] > 0.95).all()
    np.testing.assert_allclose(model.relations_.sum(axis=1), 1.0)
    alike = learned(ct.SmoothedMultitaskPerceptron(rate=0.0), records, y, task, 4)
    assert trace.mistakes < 0.8 * alike.mistakes
    matrix = model.relation_matrix_
    np.testing.assert_array_equal(matrix, matrix.T)
    assert matrix[0, 2] == pytest.approx(0.5, abs=0.05)


def test_a_single_task_and_no_share():
    once = ct.SmoothedMultitaskPerceptron(share=0.0, step=0.7)
    trace, w = learned(once, task=np.zeros(len(Y), np.int64), n=1), np.zeros(X.shape[1])
    for x, y, margin in zip(X, Y, trace.margin, strict=True):
        assert margin == pytest.approx(w @ x, abs=1e-12)
        w = w + 0.7 * y * x * (y * (w @ x) < 1)


def test_every_form_of_input_and_late_labels():
    whole = learned(ct.SmoothedMultitaskPerceptron())
    for given in (sp.csr_array(X), as_dictionaries(X)):
        np.testing.assert_allclose(learned(ct.SmoothedMultitaskPerceptron(), given).margin, whole.margin, atol=1e-9)
    late = ct.progressive_validation(ct.SmoothedMultitaskPerceptron(), X, Y, task=TASK, tasks=range(K), delay=7)
    assert late.n == len(Y)
    assert not np.array_equal(late.margin, whole.margin)


def test_a_new_task_begins_where_nobody_stands():
    model = ct.SmoothedMultitaskPerceptron()
    for t in range(90):
        told = model.decision_function(X[t : t + 1], [int(TASK[t])])[0] if t else 0.0
        margin = model.__stream_model__().learn_rounds(X[t : t + 1], Y[t : t + 1], TASK[t : t + 1], classes=[-1, 1])
        assert margin.margin[0] == pytest.approx(told, abs=1e-12)
        sums = model.relations_.sum(axis=1)
        np.testing.assert_allclose(sums, 1.0 if len(sums) > 1 else 0.0)
        assert (np.diag(model.relations_) == 0).all()


def test_a_task_that_is_forgotten_leaves_the_rows_whole():
    model = ct.SmoothedMultitaskPerceptron().fit(X, Y, TASK)
    before = {task: margins for task in model.tasks_ for margins in [model.decision_function(X[:9], [task] * 9)]}
    model.forget_task(2)
    assert len(model.tasks_) == K - 1
    for task in model.tasks_:
        np.testing.assert_array_equal(model.decision_function(X[:9], [task] * 9), before[task])
    np.testing.assert_allclose(model.relations_.sum(axis=1), 1.0)
    assert (np.diag(model.relations_) == 0).all()
    model.partial_fit(X, Y, task=TASK)
    assert len(model.tasks_) == K


def test_relations_that_vanish_begin_anew():
    """A rate so large that nobody is trusted any more."""
    model = learned(ct.SmoothedMultitaskPerceptron(rate=1e6)), ct.SmoothedMultitaskPerceptron(rate=1e6).fit(X, Y, TASK)
    assert np.isfinite(model[0].margin).all()
    np.testing.assert_allclose(model[1].relations_.sum(axis=1), 1.0)


def test_a_file_goes_on(tmp_path):
    model = ct.SmoothedMultitaskPerceptron(0.3).fit(X[:60], Y[:60], TASK[:60])
    model.save(tmp_path / "model.coterie")
    again = ct.load(tmp_path / "model.coterie")
    for each in (model, again):
        each.partial_fit(X[60:], Y[60:], task=TASK[60:])
    np.testing.assert_array_equal(again.decision_function(X, TASK), model.decision_function(X, TASK))
    data, arrays = model.__dump__()
    for name, message in (("weights", "not finite|finite"), ("relations", "relations")):
        key = next(each for each in arrays if each.endswith(name))
        for bad in (arrays[key] * np.nan, arrays[key][:-1]):
            with pytest.raises(ValueError, match=rf"{message}|shape"):
                ct.SmoothedMultitaskPerceptron(0.3).__restore__(data, {**arrays, key: bad})


def test_baselines():
    model = ct.SmoothedMultitaskPerceptron(step=0.5)
    found = model.baselines()
    assert (found["independent"].share, found["independent"].step) == (0.0, 0.5)
    assert [found[name].relation for name in ("pooled", "intercepts")] == [ct.Pooled(), ct.Intercepts()]
    with pytest.raises(TypeError, match="finds its relation out: it cannot learn under HalfUpdate"):
        model.with_relation(ct.HalfUpdate())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"share": 1.5}, "share must lie between 0 and 1, got 1.5"),
        ({"rate": -1.0}, "rate must be .*got -1"),
        ({"step": 0.0}, "step must be .*got 0"),
    ],
)
def test_what_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        ct.SmoothedMultitaskPerceptron(**given).fit(X, Y, TASK)
