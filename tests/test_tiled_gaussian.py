"""Kernel values of a few records at a time, support vectors laid out for them; and where that begins and ends."""

import numpy as np
import pytest
import scipy.sparse as sp
from numba import njit

import coterie as ct
from coterie.numeric.core.arithmetic import fma
from coterie.numeric.core.points import gaussians, points
from coterie.numeric.core.records import Csr, Dense
from coterie.round import kernel_values
from coterie.round.kernel_values import Blocks, KernelStrategy, Tiles
from reference import budgets as literal
from streams import CASES, Stream, linear_stream
from test_budgets import BUDGETS, assert_same, learned

HALF = CASES["half"]


def exponentials(values):
    """What compiled code makes of these exponents."""
    products, nought = np.array([values]), np.zeros(len(values))
    gaussians(products, nought[:1], nought, 0.5)
    return products[0]


def repeated(stream, seed=0):
    """The stream with a third of its records being copies of earlier ones, some of them of the one just before."""
    rng, X = np.random.default_rng(seed), stream.X.copy()
    for t in range(1, len(X)):
        if rng.random() < 1 / 3:
            X[t] = X[t - 1 - rng.integers(min(t, rng.choice([1, 3, 150])))]
    return Stream(X, stream.y, stream.task)


def assert_literal(budget, case, stream, sigma=2.0, X=None, **options):
    """One call's rounds against the literal form."""
    held, run, known = BUDGETS[budget]
    model = ct.geometries.MultitaskKernelPerceptron(ct.kernels.Gaussian(sigma), case.relation, held, **options)
    rounds = learned(model, case, stream)
    found = run(stream.X if X is None else X, stream.y, stream.task, case.M, literal.gaussian(sigma), **known)
    assert_same(rounds, model, found, stream, case)
    return rounds


def test_a_product_with_a_sum_is_rounded_once():
    @njit
    def both(a, b, c):
        return fma(a, b, c), a * b + c

    assert both(1.0 + 2.0**-30, 1.0 - 2.0**-30, -1.0) == (-(2.0**-60), 0.0)


def test_exponentials_are_right_to_two_units_in_the_last_place():
    values = np.concatenate([-np.linspace(0.0, 708.0, 100_001), -np.logspace(-320, 2, 20_001)])
    expected = np.exp(values)
    assert (np.abs(exponentials(values) - expected) <= 2 * np.spacing(expected)).all()


def test_exponentials_end_as_those_of_numpy_do():
    """Below the smallest normal number the last place is the same for all, and then there is nothing."""
    values = -np.linspace(708.0, 760.0, 20_001)
    assert (np.abs(exponentials(values) - np.exp(values)) <= 2 * 2.0**-1074).all()
    assert exponentials(np.array([0.0, -0.0, -1e-300])).tolist() == [1.0, 1.0, 1.0]
    assert exponentials(np.array([-750.0, -1e5, -1e300, -np.inf])).tolist() == [0.0] * 4


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("slots", [0, 30, 2**12])
def test_where_support_vectors_are_no_longer_laid_out_changes_nothing(budget, slots, monkeypatch):
    """Without a limit the way changes in the middle of a stream; blocks end in the middle of a few."""
    stream = repeated(linear_stream(61, n=330))
    monkeypatch.setattr(kernel_values, "LAID_OUT_PER_RECORD", slots * stream.X.shape[1] / len(stream.y))
    monkeypatch.setattr(kernel_values, "TILED_BLOCK", 22)
    monkeypatch.setattr(kernel_values, "LONG_BLOCK", 22)
    assert_literal(budget, HALF, stream)


@pytest.mark.parametrize("budget", [ct.budgets.Unbounded(), ct.budgets.RandomRemoval(600), ct.budgets.Forgetron(1100)])
def test_support_vectors_beyond_what_is_gone_through_at_once_are_learned_the_same_both_ways(budget, monkeypatch):
    stream, traces = repeated(linear_stream(67, n=2500)), []
    y = np.where(np.random.default_rng(68).random(2500) < 0.5, 1, -1)
    for numbers in (kernel_values.LAID_OUT_PER_RECORD, 0):
        monkeypatch.setattr(kernel_values, "LAID_OUT_PER_RECORD", numbers)
        model = ct.geometries.MultitaskKernelPerceptron(ct.kernels.Gaussian(0.3), HALF.relation, budget)
        named = {"task": stream.named(HALF.tasks), "tasks": HALF.tasks}
        traces.append(ct.progressive_validation(model, stream.X, y, **named))
        assert model.n_support_ == (budget.size or traces[0].stored.sum()) > 512
    np.testing.assert_allclose(traces[0].margin, traces[1].margin, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(traces[0].mistake, traces[1].mistake)


@pytest.mark.parametrize("n", [16, 17, 18, 19, 120, 121, 513])
def test_any_number_of_records(n):
    assert_literal("random", HALF, repeated(linear_stream(62, n=n)))


@pytest.mark.parametrize("budget", ["unbounded", "random", "projection"])
@pytest.mark.parametrize("sigma", [1e-2, 0.1, 30.0, 1e3])
def test_kernels_narrow_and_wide(budget, sigma):
    stream = linear_stream(63, n=200)
    rounds = assert_literal(budget, HALF, stream if sigma < 1.0 else repeated(stream), sigma)
    assert rounds.updated.any()


@pytest.mark.parametrize("features", [1, 2, 3, 5, 28, 33])
def test_any_number_of_features(features):
    assert_literal("random", HALF, linear_stream(64, n=150, d=features), 2.0 * np.sqrt(features))


@pytest.mark.slow
@pytest.mark.parametrize("budget", ["random", "shared projection"])
def test_single_precision(budget):
    stream = linear_stream(65, n=200)
    held = stream.X.astype(np.float32).astype(np.float64)
    assert_literal(budget, HALF, stream, X=held, dtype="float32")


@pytest.mark.parametrize("delay", [1, 3, 30, 150])
def test_labels_that_come_late_are_learned_the_same_both_ways(delay, monkeypatch):
    stream, traces = repeated(linear_stream(66, n=300)), []
    for numbers in (kernel_values.LAID_OUT_PER_RECORD, 0):
        monkeypatch.setattr(kernel_values, "LAID_OUT_PER_RECORD", numbers)
        model = ct.geometries.MultitaskKernelPerceptron(
            ct.kernels.Gaussian(2.0), HALF.relation, ct.budgets.Forgetron(12)
        )
        named = {"task": stream.named(HALF.tasks), "tasks": HALF.tasks}
        traces.append(ct.progressive_validation(model, stream.X, stream.y, delay=delay, **named))
    np.testing.assert_allclose(traces[0].margin, traces[1].margin, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(traces[0].stored, traces[1].stored)


def test_the_way_is_chosen_by_the_size_of_the_work():
    def way(kernel, budget, n=100, features=28, form=Dense):
        X = np.ones((4, features))
        rows = Dense(X) if form is Dense else Csr(*(getattr(sp.csr_array(X), a) for a in ("data", "indices", "indptr")))
        model = ct.geometries.MultitaskKernelPerceptron(kernel, budget=budget).fit(X, [0, 1, 0, 1])
        strategy = KernelStrategy(
            model.__stream_model__().learner.hypothesis, points(rows, np.arange(4), features), form is Dense, n
        )
        return type(strategy.choose(model.state_.model))

    few, many = ct.budgets.RandomRemoval(100), ct.budgets.RandomRemoval(5000)
    assert way(ct.kernels.Gaussian(), few) is way(ct.kernels.Gaussian(), ct.budgets.Unbounded()) is Tiles
    assert (
        way(ct.kernels.Gaussian(), few, features=2000)
        is way(ct.kernels.Gaussian(), ct.budgets.Unbounded(), features=2000)
        is Blocks
    )
    assert (
        way(ct.kernels.Gaussian(), few, n=2, features=200)
        is way(ct.kernels.Gaussian(), few, form=Csr)
        is way("linear", few)
        is Blocks
    )
    assert way(ct.kernels.Gaussian(), ct.budgets.RandomRemoval(10), n=1, features=50) is Tiles
    assert way(ct.kernels.Gaussian(), many) is Tiles, "a budget that is not full counts for what it may have soon"
