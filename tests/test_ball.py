"""The Ballseptron of linear weights: against its definition in every storage, its length, and what it is refused with."""

from functools import partial
from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array

import coterie as ct
from coterie.geometries import MultitaskKernelPerceptron as KernelPerceptron
from coterie.hypotheses import AdaptiveGradient, LinearWeights
from coterie.potentials import PNorm
from coterie.round.ball import BallLearner
from coterie.wrappers import Forgetting, Measured
from reference import potential as reference
from reference.p_norm import transform_of
from slow import slow, slow_where
from streams import CASES, FORMS, K, assert_margins, linear_stream

STREAM = linear_stream(6, n=160, zeros=0.3)
#: The last is longer than the first weights, so that steps turn them round.
RADII = (0.05, 0.5, 4.0)
LINEAR, BY_KERNEL = ct.MultitaskPerceptron, partial(KernelPerceptron, "linear")


@pytest.mark.parametrize("radius", RADII)
@pytest.mark.parametrize(
    ("name", "form"),
    slow_where(
        product(["half", "clusters share", "tree share", "graph factor", "interaction"], ["dense", "csr"]),
        lambda name, form: name == "interaction" or (name == "graph factor" and form == "csr"),
    ),
)
def test_equal_to_the_definition(name, radius, form):
    case = CASES[name]
    expected, moved = reference.ballseptron(STREAM.X, STREAM.y, STREAM.task, transform_of(case.M, "Ainvsqrt"), radius)
    model = ct.MultitaskPerceptron(case.relation, ct.rules.Ballseptron(radius))
    trace = ct.progressive_validation(
        model, FORMS[form](STREAM.X), STREAM.y, task=STREAM.named(case.tasks), tasks=case.tasks
    )
    assert_margins(trace.margin, expected, STREAM.y)
    np.testing.assert_array_equal(trace.updated, moved)
    W, A = model.coef_, np.linalg.inv(case.M)
    np.testing.assert_allclose(model.state_.model.squares[0], np.trace(A @ W @ W.T), rtol=1e-9)


@pytest.mark.parametrize("name", ["half", "clusters share", slow("graph factor"), slow("interaction")])
@pytest.mark.parametrize("radius", RADII)
def test_kernels_equal_to_the_definition(name, radius):
    """The linear kernel has the margins of weights; a Gaussian one those of any root of its Gram matrix as records."""
    case = CASES[name]
    T, tasks = transform_of(case.M, "Ainvsqrt"), STREAM.named(case.tasks)
    gaussian = np.exp(-((STREAM.X[:, None] - STREAM.X) ** 2).sum(axis=2) / (2 * 1.5**2))
    values, vectors = np.linalg.eigh(gaussian)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    for kernel, X in ((ct.kernels.Linear(), STREAM.X), (ct.kernels.Gaussian(1.5), root)):
        expected, moved = reference.ballseptron(X, STREAM.y, STREAM.task, T, radius)
        model = KernelPerceptron(kernel, case.relation, rule=ct.rules.Ballseptron(radius))
        trace = ct.progressive_validation(model, STREAM.X, STREAM.y, task=tasks, tasks=case.tasks)
        assert_margins(trace.margin, expected, STREAM.y)
        np.testing.assert_array_equal(trace.updated, moved)
        assert model.n_support_ == moved.sum()


@pytest.mark.parametrize("make", [LINEAR, BY_KERNEL], ids=["linear", "kernel"])
def test_records_with_weights(make):
    weights = np.random.default_rng(0).uniform(0.2, 2.0, len(STREAM.y))
    T = transform_of((np.eye(K) + 1) / 2, "Ainvsqrt")
    expected, _ = reference.ballseptron(STREAM.X, STREAM.y, STREAM.task, T, 0.5, weights)
    model = make(rule=ct.rules.Ballseptron(0.5))
    trace = ct.progressive_validation(model, STREAM.X, STREAM.y, task=STREAM.task, sample_weight=weights)
    assert_margins(trace.margin, expected, STREAM.y)


@pytest.mark.parametrize("make", [LINEAR, BY_KERNEL], ids=["linear", "kernel"])
def test_models_do_not_forget_or_change_their_rule(make):
    model = make(rule=ct.rules.Ballseptron(0.1)).fit(STREAM.X, STREAM.y, STREAM.task)
    with pytest.raises(ValueError, match="cannot forget tasks"):
        model.forget_task(0)
    model = make().fit(STREAM.X, STREAM.y, STREAM.task)
    with pytest.raises(ValueError, match="its length not being known"):
        model.set_params(rule=ct.rules.Ballseptron(0.1)).partial_fit(STREAM.X, STREAM.y, STREAM.task)


@pytest.mark.parametrize("storage", ["sparse", slow("hashed")])
def test_every_storage(storage):
    plain = ct.MultitaskPerceptron(rule=ct.rules.Ballseptron(0.5)).fit(STREAM.X, STREAM.y, STREAM.task)
    other = ct.MultitaskPerceptron(rule=ct.rules.Ballseptron(0.5), storage=storage)
    other.fit(csr_array(STREAM.X), STREAM.y, STREAM.task)
    np.testing.assert_allclose(other.coef_, plain.coef_, rtol=1e-9, atol=1e-12)


def test_the_length_of_records_one_by_one():
    whole = ct.MultitaskPerceptron(rule=ct.rules.Ballseptron(0.5)).partial_fit(STREAM.X, STREAM.y, STREAM.task)
    single = ct.MultitaskPerceptron(rule=ct.rules.Ballseptron(0.5))
    for x, sign, task in zip(FORMS["dictionaries"](STREAM.X), STREAM.y, STREAM.task.tolist(), strict=True):
        single.partial_fit([x], [sign], [task], classes=[-1.0, 1.0])
    assert single.state_.model.squares[0] == pytest.approx(whole.state_.model.squares[0], rel=1e-9)


def test_a_radius_of_nothing_is_the_perceptron():
    plain = ct.MultitaskPerceptron().fit(STREAM.X, STREAM.y, STREAM.task)
    ball = ct.MultitaskPerceptron(rule=ct.rules.Ballseptron(1e-12)).fit(STREAM.X, STREAM.y, STREAM.task)
    np.testing.assert_allclose(ball.coef_, plain.coef_, rtol=1e-9, atol=1e-11)


def test_parts_and_states_that_are_refused():
    for hypothesis in (AdaptiveGradient(), Forgetting(LinearWeights()), ct.HalfUpdate()):
        with pytest.raises(TypeError, match="Measured needs LinearWeights"):
            Measured(hypothesis)
    with pytest.raises(TypeError, match=r"LinearWeights.* cannot move by Ballseptron"):
        BallLearner(LinearWeights(), ct.HalfUpdate(), ct.rules.Ballseptron(0.1))
    with pytest.raises(TypeError, match=r"Measured.* cannot move by Perceptron"):
        BallLearner(Measured(LinearWeights()), ct.HalfUpdate(), ct.rules.Perceptron())
    both = ct.geometries.PotentialMultitaskPerceptron(
        PNorm(2.0), ct.MeanRegularized(b=2.0), "Ainvsqrt", rule=ct.rules.Ballseptron(0.1)
    )
    assert len(both.fit(STREAM.X, STREAM.y, STREAM.task).tasks_) == K
