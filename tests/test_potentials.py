"""Perceptrons of any potential against their definition, against the p-norm Perceptron, and at their edges."""

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

import coterie as ct
from coterie import spec
from coterie.evaluation.bounds.geometry_bounds import p_norm_bound, potential_bound
from coterie.updates import ExponentiatedGradient, PNorm
from reference import potential as reference
from reference.p_norm import gradient as p_norm_gradient
from reference.p_norm import transform_of
from streams import CASES, FORMS, K, assert_margins, linear_stream, spiteful, validated

STREAM = linear_stream(6, n=100, zeros=0.3)
Potential, PNormed = ct.PotentialMultitaskPerceptron, ct.PNormMultitaskPerceptron


@spec.part
class Huber:
    """Φ* = Σ huber(v_i), whose gradient is v cut off at 1: a potential of one's own, with all that bounds need."""

    def gradient(self, v):
        return np.clip(v, -1.0, 1.0)

    def value(self, w):
        return 0.5 * float(np.vdot(w, w)) if np.abs(w).max(initial=0.0) <= 1.0 else math.inf

    def norm(self, z):
        return float(np.linalg.norm(z))

    def smoothness(self, size):
        return 1.0


LITERAL: dict[str, Any] = {
    "p-norm": (PNorm(3.5), lambda v: p_norm_gradient(v, 3.5)),
    "auto": (PNorm(), lambda v: p_norm_gradient(v, 2 * math.log(K * STREAM.X.shape[1]))),
    "exponentiated": (ExponentiatedGradient(2.0), lambda v: reference.entropy_gradient(v, 2.0)),
    "own": (Huber(), lambda v: np.sign(v) * np.minimum(np.abs(v), 1.0)),
}


@pytest.mark.parametrize("name", CASES)
def test_equal_to_the_definition(name):
    case = CASES[name]
    for potential, gradient in LITERAL.values():
        for rate, transform in ((1.0, "Ainv"), (0.3, "Ainvsqrt"), (2.0, "none")):
            T = transform_of(case.M, transform)
            expected = reference.literal(STREAM.X, STREAM.y, STREAM.task, T, gradient, rate)
            model = Potential(potential, case.relation, transform, rate)
            assert_margins(validated(model, STREAM, case.tasks).margin, expected, STREAM.y)


@pytest.mark.parametrize("form", [form for form in FORMS if form != "dictionaries"])
def test_every_form_of_input(form):
    case = CASES["mean share"]
    potential, gradient = LITERAL["exponentiated"]
    expected = reference.literal(STREAM.X, STREAM.y, STREAM.task, case.M, gradient, 0.5)
    model = Potential(potential, case.relation, rate=0.5)
    assert_margins(validated(model, STREAM, case.tasks, FORMS[form](STREAM.X)).margin, expected, STREAM.y)


@pytest.mark.parametrize("potential", [PNorm(2.0), PNorm(4.2), ExponentiatedGradient(1.5)])
def test_gradient_value_and_smoothness_belong_together(potential):
    """Φ(∇Φ*(v)) = v·∇Φ*(v) - Φ*(v), Φ* found by its gradient along a line; and Φ* is as smooth as it says."""
    rng = np.random.default_rng(1)
    nodes, shares = np.polynomial.legendre.leggauss(60)

    def dual(v):
        return 0.5 * float(shares @ [float(np.vdot(potential.gradient(0.5 * (node + 1) * v), v)) for node in nodes])

    assert potential.value(np.zeros((3, 4))) == 0.0
    for size in (0.1, 1.0, 8.0):
        v, z = size * rng.normal(size=(3, 4)), rng.normal(size=(3, 4))
        w = potential.gradient(v)
        assert potential.value(w) == pytest.approx(float(np.vdot(w, v)) - dual(v), rel=1e-6, abs=1e-9)
        np.testing.assert_allclose(reference.by_differences(dual, v), w, atol=1e-6 * max(1.0, size))
        most = dual(v) + float(np.vdot(w, z)) + 0.5 * potential.smoothness(12) * potential.norm(z) ** 2
        assert dual(v + z) <= most * (1 + 1e-9)
    assert potential.value(1e-6 * w) >= 0.0


@pytest.mark.parametrize("potential", [PNorm(2.0), PNorm(5.4), ExponentiatedGradient(), Huber()])
@pytest.mark.parametrize("rate", [0.05, 1.0])
def test_the_number_of_mistakes_is_bounded(potential, rate):
    rng = np.random.default_rng(3)
    relation, M = ct.HalfUpdate(), (np.eye(K) + 1) / 2

    def make():
        return Potential(potential, relation, rate=rate)

    X, task = rng.normal(size=(120, 4)), rng.integers(K, size=120)
    truth = np.array([1.0, 0.0, 0.0, 0.0]) + 0.1 * rng.normal(size=(K, 4))
    for y in (np.where(np.einsum("td,td->t", truth[task], X) > 0, 1, -1), spiteful(make(), X, task)):
        trace = ct.progressive_validation(make(), X, y, task=task, tasks=range(K))
        order = np.array(trace.tasks)
        for scale in (0.0, 0.3, 1.0, 10.0):
            bound = potential_bound(trace, X, scale * truth[order], M[np.ix_(order, order)], potential, rate)
            assert trace.mistakes <= bound.mistakes
            if isinstance(potential, PNorm):
                printed = p_norm_bound(trace, X, scale * truth[order], M[np.ix_(order, order)], potential.p)
                assert bound.mistakes <= printed.mistakes * (1 + 1e-3)
    assert trace.mistakes == 120


UNSEEN = [
    *product(("half", "clusters share", "independent"), ("Ainv", "Ainvsqrt", "none"), ("compiled",)),
    *(("half", "Ainv", "exponentiated"), ("half", "Ainv", "auto")),
]


@pytest.mark.parametrize(("name", "transform", "kind"), UNSEEN)
def test_an_unseen_task_is_one_that_was_known_and_silent(name, transform, kind):
    """It is predicted by what the same moves are under the M of the tasks known and itself."""
    case, selected, task = CASES[name], STREAM.task < 4, np.array(STREAM.named(CASES[name].tasks))
    potential, gradient = LITERAL.get(kind, (None, lambda v: p_norm_gradient(v, 4.0)))
    model = Potential(potential, case.relation, rate=0.5) if potential else PNormed(case.relation, 4.0, transform)
    model.partial_fit(STREAM.X[selected], STREAM.y[selected], task[selected], tasks=case.tasks[:4])
    T = transform_of(case.M, transform)
    v = (1.0 if potential is None else 0.5) * T @ np.vstack([model.state_.model.raw, np.zeros(STREAM.X.shape[1])])
    w = T @ gradient(v.ravel()).reshape(v.shape)
    margins = model.decision_function(STREAM.X[~selected], task[~selected])
    np.testing.assert_allclose(margins, STREAM.X[~selected] @ w[4], rtol=1e-9, atol=1e-12)


@spec.part
class Whole:
    """A gradient of another shape."""

    def gradient(self, v):
        return v.sum()


@spec.part
class Endless:
    """A gradient that overflows where sums are large."""

    def gradient(self, v):
        return np.where(np.abs(v) > 2.5, np.inf, v)


def test_refusals():
    message = r"the gradient of Whole\(\) must be one finite number per weight, shape \(2, 3\), got numbers of"
    with pytest.raises(ValueError, match=message):
        Potential(Whole()).fit(STREAM.X, STREAM.y)
    trace = ct.progressive_validation(Potential(), STREAM.X, STREAM.y)
    with pytest.raises(TypeError, match="potential must have value, norm, smoothness and gradient"):
        potential_bound(trace, STREAM.X, np.zeros((1, STREAM.X.shape[1])), [[1.0]], Endless())
    with pytest.raises(ValueError, match="rate must be"):
        potential_bound(trace, STREAM.X, np.zeros((1, STREAM.X.shape[1])), [[1.0]], PNorm(), rate=-1.0)


def test_a_gradient_that_fails_on_the_way_changes_nothing():
    model = Potential(Endless(), ct.Independent()).partial_fit([[1.0], [1.0]], [1, -1])
    before = model.coef_.copy()
    with pytest.raises(ValueError, match="numbers that are not finite"):
        model.partial_fit([[1.0], [-2.0], [7.0]], [1, 1, 1])
    np.testing.assert_array_equal(model.coef_, before)
    assert model.partial_fit([[1.0]], [1]).__sklearn_is_fitted__()
