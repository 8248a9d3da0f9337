"""Kernel Perceptrons on a budget against tests/reference/budgets.py: every budget, relation and form of input."""

from itertools import product

import numpy as np
import pytest

import coterie as ct
from coterie import MultitaskKernelPerceptron as KernelPerceptron
from coterie._compiled.core.randomness import uniform
from coterie._compiled.dual.eviction import shrinking
from reference import budgets as literal
from slow import slow, slow_where
from streams import CASES, FORMS, D, linear_stream

B = 12
ETA = 0.3
KERNELS = {
    "gaussian": (ct.kernels.Gaussian(2.0), literal.gaussian(2.0)),
    "wide gaussian": (ct.kernels.Gaussian(6.0), literal.gaussian(6.0)),
    "polynomial": (ct.kernels.Normalised(ct.kernels.Polynomial(2)), literal.normalised(literal.polynomial(2))),
    "linear": ("linear", literal.linear),
}


BUDGETS = {
    "unbounded": (ct.updates.Unbounded(), literal.unbounded, {}),
    "random": (
        ct.updates.RandomRemoval(B, seed=5),
        literal.random_removal,
        {"B": B, "uniform": lambda n: float(uniform(5, n))},
    ),
    "forgetron": (ct.updates.Forgetron(B), literal.forgetron, {"B": B}),
    "printed forgetron": (ct.updates.Forgetron(B, variant="printed"), literal.forgetron, {"B": B, "printed": True}),
    "projection": (ct.updates.Projection(B, eta=ETA), literal.projection, {"B": B, "eta": ETA}),
    "shared projection": (ct.updates.SharedProjection(B, eta=ETA), literal.shared_projection, {"B": B, "eta": ETA}),
    "projectron": (ct.updates.Projectron(eta=ETA), literal.projection, {"B": np.inf, "eta": ETA}),
    "projectron++": (ct.updates.Projectron(ETA, plus=True), literal.projection, {"B": np.inf, "eta": ETA, "plus": 1}),
}
STRICT = {name: form for name, form in BUDGETS.items() if form[0].size is not None}
#: Each way through the compiled code (tiles of a dense Gaussian, dense rows, sparse rows) is compiled for each budget and
#: each form of M. In the plain run all budgets go in tiles under M by levels, and a few the other ways, too.
BY_SPARSE_ROWS = ("unbounded", "forgetron")
EVERY_WAY = ("unbounded", "forgetron", "projection", "shared projection")
NEAR = [("gaussian", "dense"), ("wide gaussian", "dense")]
DENSE = [("polynomial", "dense"), ("linear", "dense")]
SPARSE = [(kernel, form) for kernel in KERNELS for form in ("csr", "dictionaries")]
QUICK = {"levels": [NEAR[0], ("gaussian", "csr")], "columns": NEAR[:1], "graph": [("linear", "csr")]}
SLOW = {"levels": [], "columns": NEAR[1:] + DENSE + SPARSE[:1], "graph": NEAR[:1] + DENSE[:1] + SPARSE}
IN_PLAIN = {"levels": BUDGETS, "columns": (), "graph": ()}


def form_of(name):
    return "graph" if name.startswith("graph") else "columns" if CASES[name].relation.form == "columns" else "levels"


def turns():
    """Every budget with a third of the relations, whose turn it is with a kernel and a form of input; and what is slow."""
    for (r, budget), (s, name) in product(enumerate(BUDGETS), enumerate(CASES)):
        ways, plain = QUICK[form_of(name)], IN_PLAIN[form_of(name)]
        cell = (budget, name, *ways[(r + s) // 3 % len(ways)])
        if form_of(name) != "levels" or (r + s) % 3 == 0:
            yield cell if budget in plain and (cell[-1] != "csr" or budget in BY_SPARSE_ROWS) else slow(*cell)
        more = SLOW[form_of(name)]  # of the two relations by columns each has every other one
        yield from (slow(budget, name, *way) for way in (more[s % 2 :: 2] if form_of(name) == "columns" else more))


def model_of(budget, case, kernel="gaussian", **options):
    return KernelPerceptron(KERNELS[kernel][0], case.relation, BUDGETS[budget][0], **options)


def learned(model, case, stream, form="dense"):
    return model.__stream_model__().learn(FORMS[form](stream.X), stream.y, stream.named(case.tasks), tasks=case.tasks)


def expected(budget, case, stream, kernel="gaussian"):
    _, run, options = BUDGETS[budget]
    return run(stream.X, stream.y, stream.task, case.M, KERNELS[kernel][1], **options)


def assert_same(rounds, model, run, stream, case):
    margins = np.array(run.margins)
    np.testing.assert_array_equal(rounds.updated, run.updated)
    np.testing.assert_array_equal(stream.y * rounds.margin <= 0, stream.y * margins <= 0)
    np.testing.assert_allclose(rounds.margin, margins, rtol=1e-9, atol=1e-9 * np.abs(margins).max())
    assert model.support_rounds_.tolist() == sorted(run.active[-1])
    assert (model.evictions_, model.projections_) == (run.evicted, run.projected)
    assert model.support_tasks_ == [case.tasks[stream.task[t]] for t in sorted(run.active[-1])]


@pytest.mark.parametrize(("budget", "name", "kernel", "form"), list(turns()))
def test_fast_form_equals_the_literal_one(budget, name, kernel, form):
    case = CASES[name]
    stream = linear_stream(21, n=120, zeros=0.0 if form == "dense" else 0.4)
    model = model_of(budget, case, kernel)
    assert_same(learned(model, case, stream, form), model, expected(budget, case, stream, kernel), stream, case)


@pytest.mark.parametrize(
    ("budget", "kernel", "form"),
    slow_where(
        product(BUDGETS, KERNELS, ("dense", "csr")),
        lambda budget, kernel, form: (
            budget not in (BY_SPARSE_ROWS if form == "csr" else BUDGETS if "gaussian" in kernel else EVERY_WAY)
        ),
    ),
)
def test_every_kernel_dense_and_sparse(budget, kernel, form):
    case, stream = CASES["half"], linear_stream(22, n=120, zeros=0.4)
    model = model_of(budget, case, kernel)
    assert_same(learned(model, case, stream, form), model, expected(budget, case, stream, kernel), stream, case)


@pytest.mark.parametrize(
    ("name", "kernel", "form"),
    [("half", "gaussian", "dense"), slow("graph factor", "linear", "csr"), slow("mean b", "linear", "csr")],
)
def test_the_shifting_forgetron_is_the_literal_one(name, kernel, form):
    case, stream = CASES[name], linear_stream(21, n=160, zeros=0.4)
    model = KernelPerceptron(KERNELS[kernel][0], case.relation, ct.updates.ShiftingForgetron(B))
    run = literal.shifting_forgetron(stream.X, stream.y, stream.task, case.M, KERNELS[kernel][1], B)
    rounds = learned(model, case, stream, form)
    assert run.evicted > 20
    assert_same(rounds, model, run, stream, case)


def test_tasks_that_come_late_share_as_the_relation_says_of_the_moment():
    late = linear_stream(26, n=200).by_task()
    for budget in EVERY_WAY:
        kernel = KERNELS["wide gaussian"][0]
        known, growing = (KernelPerceptron(kernel, ct.HalfUpdate(), BUDGETS[budget][0]) for _ in "12")
        all_at_once = known.__stream_model__().learn(late.X, late.y, late.task, tasks=range(5))
        results = []
        for i in range(5):
            part = late.take(late.task == i)
            unseen = growing.decision_function(part.X[:1], [i]) if growing.__sklearn_is_fitted__() else np.zeros(1)
            rounds = growing.__stream_model__().learn(part.X, part.y, part.task, classes=[-1, 1])
            assert rounds.margin[0] == pytest.approx(unseen[0], abs=1e-9)
            results.append(rounds.margin)
        np.testing.assert_allclose(np.concatenate(results), all_at_once.margin, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("budget", ["forgetron", "printed forgetron", "projection", "projectron", "projectron++"])
def test_tasks_that_come_change_the_matrix_for_what_is_stored(budget):
    """By b, M_ii shrinks with each task: the inverse is that of the M of the round, c² has the largest M_ii so far."""
    case, late = CASES["mean b"], linear_stream(27, n=160).by_task()
    known = np.maximum.accumulate(late.task) + 1
    M = np.array([np.pad((np.eye(k) + 10 / k) / 11, (0, 5 - k)) for k in known])
    _, run, options = BUDGETS[budget]
    model = KernelPerceptron(KERNELS["wide gaussian"][0], ct.MeanRegularized(b=10), BUDGETS[budget][0])
    rounds = model.__stream_model__().learn(late.X, late.y, late.named(case.tasks))
    expected = run(late.X, late.y, late.task, M, KERNELS["wide gaussian"][1], **options)
    assert_same(rounds, model, expected, late, case)


@pytest.mark.parametrize("budget", STRICT)
def test_tasks_that_come_within_a_batch_change_nothing_before(budget):
    late = linear_stream(26, n=200).by_task()
    whole, single = (KernelPerceptron(KERNELS["gaussian"][0], budget=BUDGETS[budget][0]) for _ in "12")
    whole.fit(late.X, late.y, late.task)
    for t in range(200):
        single.partial_fit(late.X[t : t + 1], late.y[t : t + 1], late.task[t : t + 1], classes=[-1.0, 1.0])
    np.testing.assert_array_equal(whole.support_rounds_, single.support_rounds_)
    margins = [model.decision_function(late.X, late.task) for model in (whole, single)]
    np.testing.assert_allclose(*margins, rtol=1e-9, atol=1e-9)


# -- degenerate cases ----------------------------------------------------------------------------------------------------


def test_phi_is_the_largest_there_is():
    rng = np.random.default_rng(0)
    for _ in range(300):
        sigma, squared = rng.random() + 1e-3, rng.random() * 2 + 0.05
        mu, room = rng.normal() * 2, rng.random() * 3 + 1e-3
        a, b = squared * sigma**2 - 2 * sigma * mu, 2 * squared * sigma
        assert shrinking(a, b, room) == pytest.approx(literal.largest_factor(a, b, room), abs=2e-5)


def test_equal_records_with_opposite_labels_cancel_whatever_the_block():
    """A margin that is rounding only is zero: it is a mistake in one block as it is one by one."""
    rng = np.random.default_rng(2)
    X = np.repeat(rng.normal(size=(60, 5)), 4, axis=0)[rng.permutation(240)]
    y = rng.choice([-1.0, 1.0], 240)
    whole, single = (KernelPerceptron(ct.kernels.Gaussian(0.2), budget=ct.updates.RandomRemoval(40)) for _ in "12")
    rounds = whole.__stream_model__().learn(X, y)
    learn = single.__stream_model__().learn
    updated = [learn(x[None], [label], classes=[-1, 1]).updated[0] for x, label in zip(X, y, strict=True)]
    np.testing.assert_array_equal(rounds.updated, updated)


# -- memory --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("budget", "form"),
    slow_where(product(STRICT, ("dense", "csr")), lambda *case: case[1] == "csr" and case[0] not in BY_SPARSE_ROWS),
)
def test_the_budget_is_strict_and_memory_is_what_it_implies(budget, form):
    """A hundred thousand tasks: no array of tasks by tasks, and never more than B support vectors."""
    n_tasks, stream = 100_000, linear_stream(33, n=1500, n_tasks=1500)
    model = KernelPerceptron(ct.kernels.Gaussian(2.0), ct.HalfUpdate(), BUDGETS[budget][0])
    model.partial_fit(FORMS[form](stream.X), stream.y, stream.task * 60, tasks=range(n_tasks))
    assert model.n_support_ == B
    assert len(model.tasks_) == n_tasks
    moved = 1500 if budget == "shared projection" else 0
    levels = 5 * 8 * n_tasks
    assert model.memory_ <= 1.5 * levels + 2 * (B * (16 * D + 8 * 12) + 8 * B * B) + 2 * moved * 8 * (B + 1) + 2000


@pytest.mark.parametrize("budget", [ct.updates.Projection(40), ct.updates.SharedProjection(40)], ids=repr)
def test_the_inverse_does_not_drift(budget):
    """Over twenty thousand evictions it stays the inverse, up to a rounding that does not grow."""
    rng, gaps = np.random.default_rng(0), []
    model = KernelPerceptron(ct.kernels.Gaussian(3.0), ct.HalfUpdate(), budget)
    while not gaps or model.evictions_ < 20_000:
        model.partial_fit(rng.normal(size=(5000, 6)), rng.choice([-1.0, 1.0], 5000), rng.integers(5, size=5000))
        gaps.append(drift(model))
    assert max(gaps) < 1e-9
    assert model.repairs_ == 0


def drift(model):
    """How far inverse times Gram matrix is from the identity."""
    state, learner = model.state_, model.__stream_model__().learner
    points = state.model.points()
    H = np.zeros((len(points.squares), len(points.squares)))
    learner.hypothesis.kernel.values(points, points, H)
    if learner.hypothesis.budget.gram == "multitask":
        H *= learner._shares(state)
    n = len(H)
    return np.abs(state.model.memory.inverse[:n, :n] @ H - np.eye(n)).max()


# -- support vectors in a trace: whose there were, round by round --------------------------------------------------------

RNG, UP = np.random.default_rng(0), ct.updates
Z, OWNER = RNG.normal(size=(900, 3)), RNG.integers(8, size=900)
FAR = (Z**2).sum(axis=1) > 2.4
LIMITS = [None, UP.RandomRemoval(40), UP.Forgetron(40), UP.Projection(40), UP.SharedProjection(40)]


@pytest.mark.parametrize("delay", [0, 5])
@pytest.mark.parametrize("budget", LIMITS)
def test_a_trace_tells_whose_support_vectors_came_and_left(budget, delay):
    model = ct.MultitaskKernelPerceptron(ct.kernels.Gaussian(1.0), budget=budget)
    trace = ct.progressive_validation(model, Z, FAR, task=OWNER, delay=delay)
    assert trace.stored.sum() - (trace.evicted >= 0).sum() == model.n_support_
    assert (trace.evicted >= 0).sum() == model.evictions_
    assert trace.stored[model.support_rounds_].all()
    places = trace.task[trace.stored], trace.evicted[trace.evicted >= 0]
    came, left = (np.bincount(of_tasks, minlength=len(trace.tasks)) for of_tasks in places)
    assert (came - left).tolist() == [model.support_tasks_.count(task) for task in trace.tasks]


def test_going_on_counts_what_leaves_of_tasks_that_do_not_come_again():
    model = ct.MultitaskKernelPerceptron(budget=ct.updates.RandomRemoval(10))
    ct.progressive_validation(model, Z[:300], FAR[:300], task=["before"] * 300)
    assert (ct.progressive_validation(model, Z[300:], FAR[300:], task=OWNER[300:]).evicted == -2).sum() == 10
