"""The p-norm Perceptron against its definition, against the Perceptron at p = 2, and at its edges."""

import math
from functools import partial

import numpy as np
import pytest

import coterie as ct
from reference import p_norm as reference
from reference import potential
from slow import slow_where
from streams import BY_COLUMNS, CASES, FORMS, K, assert_margins, linear_stream, validated

STREAM = linear_stream(6, n=240, zeros=0.3)


def literal(X, y, task, M, p, transform="Ainv"):
    return potential.literal(X, y, task, reference.transform_of(M, transform), partial(reference.gradient, p=p))


@pytest.mark.parametrize(
    ("name", "p", "transform"),
    slow_where(
        [
            *((name, 3.7, "Ainvsqrt") for name in CASES),
            *(("tree b", *rest) for rest in ((2, "Ainv"), (6.8, "Ainv"), (50, "Ainv"), (12, "none"))),
        ],
        lambda name, p, transform: name in BY_COLUMNS,
    ),
)
def test_equal_to_the_definition(name, p, transform):
    case = CASES[name]
    expected = literal(STREAM.X, STREAM.y, STREAM.task, case.M, p, transform)
    trace = validated(ct.PNormMultitaskPerceptron(case.relation, p, transform), STREAM, case.tasks)
    assert_margins(trace.margin, expected, STREAM.y)


@pytest.mark.parametrize("p", [50.0, 400.0, 3000.0])
def test_large_norms_are_finite(p):
    """Sums of hundreds of moves, records of sizes from 1e-150 to nearly the limit of 1e100: neither overflow nor NaN."""
    rng = np.random.default_rng(3)
    for size in (1e-150, 1.0, 1e99):
        X = size * rng.normal(size=(300, 40))
        y = np.where(X[:, 0] + 0.5 * X[:, 1] > 0, 1.0, -1.0)
        task = rng.integers(3, size=300)
        trace = ct.progressive_validation(ct.PNormMultitaskPerceptron(ct.HalfUpdate(), p), X / size, y, task=task)
        assert np.isfinite(trace.margin).all()
        scaled = ct.progressive_validation(ct.PNormMultitaskPerceptron(ct.HalfUpdate(), p), X, y, task=task)
        np.testing.assert_array_equal(scaled.mistake, trace.mistake)
        expected = literal(X / size, y, np.searchsorted(np.unique(task), task), (np.eye(3) + 1) / 2, p)
        assert_margins(trace.margin, expected, y)


@pytest.mark.parametrize("transform", ["Ainv", "Ainvsqrt", "none"])
@pytest.mark.parametrize("p", [3.0, "auto"])
def test_tasks_and_features_as_they_come(transform, p):
    """What is known later was always known: the same mistakes make the same weights."""
    model = ct.PNormMultitaskPerceptron(ct.MeanRegularized(share=0.4), p, transform)
    records, tasks = FORMS["dictionaries"](STREAM.X), STREAM.named("abcde")
    for t in range(150):
        model.learn_one(records[t], STREAM.y[t], tasks[t])
    state = model.state_.model
    M = 0.6 * np.eye(K) + 0.4
    assert model.tasks_ == list(dict.fromkeys(tasks[:150]))
    if p == "auto":
        assert model.p_ == pytest.approx(2 * math.log(state.raw.size))
    v = np.kron(reference.transform_of(M, transform), np.eye(state.raw.shape[1])) @ state.raw.ravel()
    w = reference.gradient(v, model.p_).reshape(state.raw.shape)
    np.testing.assert_allclose(model.coef_, reference.transform_of(M, transform) @ w, rtol=1e-9, atol=1e-12)
