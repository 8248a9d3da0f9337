"""Relations that are learned, in the dual: the same as in the primal, kernels and random removal included."""

import numpy as np
import pytest
import scipy.sparse as sp

import coterie as ct
from coterie.kernels import gram
from coterie.numeric.core.randomness import uniform
from reference import omtl
from slow import slow
from streams import linear_stream

K, N = 5, 150
STREAM = linear_stream(61, n=N, n_tasks=K)
X, Y, TASK = STREAM.X, STREAM.y, STREAM.task
#: Few, for every combination is compiled apart; all are tested in the primal.
RELATIONS = {
    "LogDet": (ct.LogDet(1e-4), omtl.logdet(1e-4), {}),
    "von Neumann": (ct.relations.VonNeumann(2e-5), omtl.von_neumann(2e-5), {}),
    "half after priming": (
        ct.relations.Primed(ct.HalfUpdate(), 60),
        omtl.fixed((K + 1) * np.eye(K) - 1),
        {"epoch": 60},
    ),
}


FORMS = {"dense": np.asarray, "csr": sp.csr_array}


def assert_equal(rounds, run):
    np.testing.assert_array_equal(rounds.updated, run.mistakes)
    np.testing.assert_allclose(rounds.margin, run.margins, rtol=1e-9, atol=1e-9 * np.abs(run.margins).max())


@pytest.mark.parametrize(
    ("name", "form"),
    [("LogDet", "dense"), slow("LogDet", "csr"), slow("half after priming", "dense"), slow("von Neumann", "dense")],
)
def test_the_linear_kernel_is_the_primal_form(name, form):
    relation, update, options = RELATIONS[name]
    model = ct.geometries.MultitaskKernelPerceptron("linear", relation)
    rounds = model.__stream_model__().learn(FORMS[form](X), Y, TASK, tasks=range(K))
    run = omtl.omtl(X, Y, TASK, update, n_tasks=K, **options)
    assert_equal(rounds, run)
    primal = ct.MultitaskPerceptron(relation)
    primal.__stream_model__().learn(X, Y, TASK, tasks=range(K))
    np.testing.assert_allclose(model.relation_matrix_, primal.relation_matrix_, rtol=1e-8)
    np.testing.assert_allclose(
        model.decision_function(X, TASK), primal.decision_function(X, TASK), rtol=1e-9, atol=1e-8
    )


@pytest.mark.slow
def test_the_root_of_the_gram_matrix_is_that_of_the_primal_form():
    """The root of a matrix that is nearly singular is good to half of the digits, in either form."""
    model, primal = (
        ct.geometries.MultitaskKernelPerceptron("linear", ct.relations.BatchOptimal(0.1)),
        ct.MultitaskPerceptron(ct.relations.BatchOptimal(0.1)),
    )
    made, expected = (each.__stream_model__().learn(X, Y, TASK, tasks=range(K)) for each in (model, primal))
    np.testing.assert_array_equal(made.updated, expected.updated)
    np.testing.assert_allclose(made.margin, expected.margin, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["LogDet", slow("von Neumann")])
def test_a_kernel_is_the_primal_form_on_its_features(name):
    """Rows of a root of the Gram matrix are features whose inner products are the kernel's values."""
    relation, update, options = RELATIONS[name]
    kernel = ct.kernels.Gaussian(2.0)
    features = np.linalg.cholesky(gram(kernel, X) + 1e-14 * np.eye(N))
    model = ct.geometries.MultitaskKernelPerceptron(kernel, relation)
    assert_equal(
        model.__stream_model__().learn(X, Y, TASK, tasks=range(K)),
        omtl.omtl(features, Y, TASK, update, n_tasks=K, **options),
    )


def removing(size, seed, update):
    """SRDV11's Algorithm 1 on a budget of support vectors, one of which leaves at random for a new one."""
    W, A, held, margins, gone = np.zeros((X.shape[1], K)), np.eye(K) / K, [], np.zeros(N), 0
    for t, (x, label, i) in enumerate(zip(X, Y, TASK, strict=True)):
        margins[t] = W[:, i] @ x
        if label * margins[t] <= 0:
            move = label * np.outer(x, np.linalg.inv(A)[:, i])
            if len(held) == size:
                slot = int(uniform(np.uint64(seed), gone) * size)
                W, gone = W - held[slot], gone + 1
                held[slot] = move
            else:
                held.append(move)
            A = update(A, W)
            W = W + move
    return omtl.Run(margins, margins * Y <= 0, W, A, W)


@pytest.mark.parametrize("name", ["LogDet", slow("von Neumann")])
def test_what_leaves_is_no_longer_seen_by_the_relation(name):
    relation, update, _ = RELATIONS[name]
    model = ct.geometries.MultitaskKernelPerceptron("linear", relation, ct.budgets.RandomRemoval(12, seed=3))
    rounds = model.__stream_model__().learn(X, Y, TASK, tasks=range(K))
    assert model.evictions_ > 10
    assert_equal(rounds, removing(12, 3, update))


def test_tasks_that_come_later_are_those_that_never_moved():
    early = ct.geometries.MultitaskKernelPerceptron("linear", ct.LogDet(1e-4))
    first = TASK[:60] % 3
    early.__stream_model__().learn(X[:60], Y[:60], first, tasks=range(3))
    assert early.decision_function(X[:2], ["new", "new"]).tolist() == [0.0, 0.0]
    primal = ct.MultitaskPerceptron(ct.LogDet(1e-4))
    primal.__stream_model__().learn(X[:60], Y[:60], first, tasks=range(3))
    for model in (early, primal):
        model.__stream_model__().learn(X[60:], Y[60:], TASK[60:])
    np.testing.assert_allclose(early.relation_matrix_, primal.relation_matrix_, rtol=1e-8)


def test_tasks_that_come_while_primed_were_known_from_the_start():
    relation = ct.relations.Primed(ct.LogDet(1e-4), N // 2)
    known, arrive = (ct.geometries.MultitaskKernelPerceptron("linear", relation) for _ in range(2))
    expected = ct.progressive_validation(known, X, Y, task=TASK, tasks=range(K))
    trace = ct.progressive_validation(arrive, X, Y, task=TASK)
    assert trace.mistake.tolist() == expected.mistake.tolist()
    np.testing.assert_allclose(arrive.decision_function(X, TASK), known.decision_function(X, TASK), rtol=1e-9)
    np.testing.assert_allclose(arrive.relation_matrix_, known.relation_matrix_[np.ix_(*2 * [arrive.tasks_])], rtol=1e-9)


@pytest.mark.filterwarnings("error")
def test_a_relation_that_would_overflow_is_held_and_said_so_once():
    model = ct.geometries.MultitaskKernelPerceptron("linear", ct.LogDet(1e3))
    with pytest.warns(RuntimeWarning, match="outgrew its limit"):
        model.__stream_model__().learn(X[:100], Y[:100], TASK[:100], tasks=range(K))
    model.__stream_model__().learn(X[100:], Y[100:], TASK[100:])
    assert np.isfinite(model.relation_matrix_).all()


@pytest.mark.parametrize(
    "budget",
    [ct.budgets.Forgetron(9), ct.budgets.Projection(9), ct.budgets.SharedProjection(9), ct.budgets.Projectron()],
)
def test_budgets_that_need_an_m_that_stays_are_refused(budget):
    with pytest.raises(TypeError, match=r"cannot go with LogDet\(.*take Unbounded\(\) or RandomRemoval\(size\)"):
        ct.geometries.MultitaskKernelPerceptron(relation=ct.LogDet(0.1), budget=budget).fit(X, Y, TASK)
    with pytest.raises(TypeError, match=r"Dual cannot learn under Covariance\(.*features, which a kernel has not"):
        ct.geometries.MultitaskKernelPerceptron(relation=ct.relations.Covariance(0.1)).fit(X, Y, TASK)


@pytest.mark.slow
@pytest.mark.parametrize("delay", [0, 7])
def test_labels_are_asked_for_by_the_learned_relation_as_in_the_primal(delay):
    traces = []
    for model in (
        ct.geometries.MultitaskKernelPerceptron("linear", ct.LogDet(1e-4)),
        ct.MultitaskPerceptron(ct.LogDet(1e-4)),
    ):
        asking = ct.SelectiveSampling(model, ct.asking.RelationRow(scale=3.0), seed=4)
        traces.append(ct.progressive_validation(asking, X, Y, task=TASK, tasks=range(K), delay=delay))
    dual, primal = traces
    np.testing.assert_array_equal(dual.queried, primal.queried)
    assert 20 < dual.queried.sum() < N - 20
    np.testing.assert_allclose(dual.margin, primal.margin, rtol=1e-9, atol=1e-9)
