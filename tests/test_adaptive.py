"""Adaptive gradients and diagonal AROW against their literal forms."""

from functools import partial

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import norm

import coterie as ct
import raw
from coterie._compiled.core.records import Csr, Dense
from coterie.models.contract import Batch, InputShape
from coterie.models.linear_learner import LinearLearner
from coterie.tasks.index import Index
from coterie.updates import AdaptiveGradient, CoinBetting, DiagonalAROW
from reference import adalog
from reference.sharing import run
from slow import slow

N, D, K = 400, 12, 6


def stream(seed=0, n=N, d=D, tasks=K, density=0.5):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < density)
    X[:, 0] = 1.0
    task = rng.integers(tasks, size=n)
    W = rng.standard_normal(d) + rng.standard_normal((tasks, d))
    return X, np.where((X * W[task]).sum(axis=1) + 0.3 * rng.standard_normal(n) > 0, 1.0, -1.0), task


def as_records(X):
    return [{int(j): float(row[j]) for j in np.flatnonzero(row)} for row in X]


TREE = {i: "low" if i < 2 else "high" for i in range(K)} | {"low": "all", "high": "all"}
RELATIONS = {
    "independent": (ct.Independent(), lambda i, t: [((0, i), 1.0)]),
    "pooled": (ct.Pooled(), lambda i, t: [("all", 1.0)]),
    "half": (ct.HalfUpdate(), adalog.share(0.5)),
    "share 0": (ct.MeanRegularized(share=0.0), adalog.share(0.0)),
    "share .25": (ct.MeanRegularized(share=0.25), adalog.share(0.25)),
    "b": (ct.MeanRegularized(b=3), lambda i, t: [((0, i), 1 / 4), ("all", 3 / 4 / K)]),
    "clusters": (
        ct.Clusters({i: i % 2 for i in range(K)}, share=0.6),
        lambda i, t: [((0, i), 0.4), (("group", i % 2), 0.6)],
    ),
    "hierarchy": (ct.Hierarchy(TREE, share=(0.3, 0.2)), lambda i, t: [((0, i), 0.5), ("all", 0.3), (TREE[i], 0.2)]),
}
relations = pytest.mark.parametrize(("relation", "rows"), RELATIONS.values(), ids=RELATIONS.keys())


def agree(trace, predictions):
    np.testing.assert_allclose(trace.margin, predictions, rtol=1e-9, atol=1e-12)


# -- equality with the definition --------------------------------------------------------------------------------------


@relations
@pytest.mark.parametrize("delay", [0, 7])
@pytest.mark.parametrize(
    ("make", "literal"),
    [
        (partial(raw.MultitaskLogistic, step=0.4), partial(adalog.AdaLog, step=0.4)),
        (partial(raw.MultitaskAROW, r=3.0), partial(adalog.AROW, rho=3.0)),
    ],
    ids=["logistic", "AROW"],
)
def test_estimators_are_the_literal_algorithm(make, literal, relation, rows, delay):
    X, y, task = stream()
    trace = ct.progressive_validation(make(relation), X, y, task=task, delay=delay, tasks=list(range(K)))
    agree(trace, run(literal(rows), as_records(X), task.tolist(), y, delay))
    assert trace.updated.all() == isinstance(make(relation), ct.MultitaskLogistic)


def coin(relation, **margins_of):
    """Coin betting alone: of one member the mixture without a last step is the member."""
    return LinearLearner(CoinBetting(**margins_of), relation, ct.updates.Logistic())


def told_by(learner, X, y, task, delay=0):
    """Margins told by a learner that knows all tasks, whose records have numbers from 0 on."""
    dense = isinstance(X, np.ndarray)
    rows = Dense(X) if dense else Csr(X.data, X.indices.astype(np.int32), X.indptr.astype(np.int64))
    state = learner.init(Index(range(int(task.max()) + 1)), InputShape(X.shape[1], dense))
    return learner.learn(state, Batch(rows, task.astype(np.int64)), y[: len(y) - delay]).predictions.margins, state


@relations
@pytest.mark.parametrize("delay", [0, 7])
def test_coin_betting_is_the_literal_algorithm(relation, rows, delay):
    X, y, task = stream(2)
    predictions, _ = told_by(coin(relation, alpha=2.0, wealth=1.5), X, y, task, delay)
    literal = run(adalog.Coin(rows, alpha=2.0, wealth=1.5), as_records(X), task.tolist(), y, delay)
    np.testing.assert_allclose(predictions, literal, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["half", "share .25"])
def test_an_estimator_bets_by_the_literal_algorithm(name, tmp_path):
    """Margins after saving, too; the baseline with constants of tasks has a rate, since bets know nothing of those."""
    relation, rows = RELATIONS[name]
    X, y, task = stream(2)
    model = raw.MultitaskLogistic(relation, step="coin")
    trace = ct.progressive_validation(model, X[:-50], y[:-50], task=task[:-50], tasks=list(range(K)))
    literal = run(adalog.Coin(rows), as_records(X), task.tolist(), y, 0)
    agree(trace, literal[:-50])
    model.save(tmp_path / "m.coterie")
    agree(ct.progressive_validation(ct.load(tmp_path / "m.coterie"), X[-50:], y[-50:], task=task[-50:]), literal[-50:])
    with_intercepts = model._with_intercepts()
    assert (with_intercepts.step, with_intercepts.relation) == (0.7, ct.tasks.Intercepts())


@pytest.mark.parametrize(
    ("model", "form", "storage"),
    [
        (raw.MultitaskLogistic, "sparse rows", "auto"),
        (raw.MultitaskAROW, "dense rows", "auto"),
        slow(raw.MultitaskLogistic, "sparse rows", "sparse"),
        slow(raw.MultitaskAROW, "sparse rows", "sparse"),
    ],
)
def test_storages_agree(model, form, storage):
    X, y, task = stream(2)
    plain = ct.progressive_validation(model(storage="dense"), X, y, task=task)
    X = X if form == "dense rows" else csr_array(X)
    other = ct.progressive_validation(model(storage=storage), X, y, task=task)
    np.testing.assert_allclose(plain.margin, other.margin, rtol=1e-9, atol=1e-12)


def test_weights_of_the_moment_where_tasks_arrive():
    """Under b the rate of the group follows the number of tasks known."""
    X, y, task = stream(6, n=150)
    model, predictions = raw.MultitaskLogistic(ct.MeanRegularized(b=2)), []
    literal = adalog.AdaLog(lambda i, t: [(i, 1 / 3), ("all", 2 / 3 / len(set(task[: t + 1].tolist())))])
    for x, label, i in zip(X, y, task, strict=True):
        predictions.append(model.decision_function(x[None], task=[i])[0] if model.__sklearn_is_fitted__() else 0.0)
        model.partial_fit(x[None], [label], task=[i], classes=[-1.0, 1.0])
    np.testing.assert_allclose(predictions, run(literal, as_records(X), task.tolist(), y), rtol=1e-9, atol=1e-12)


# -- probabilities -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("model", "factor"), [(raw.MultitaskLogistic(), 1.0), (raw.MultitaskAROW(), 2.0)])
def test_probabilities_are_those_of_the_margins(model, factor):
    X, y, task = stream(11)
    trace = ct.progressive_validation(model, X, np.where(y > 0, "a", "b"), task=task)
    np.testing.assert_allclose(trace.probability, 1 / (1 + np.exp(-factor * trace.margin)), rtol=1e-12)
    assert trace.classes.tolist() == ["a", "b"]
    shown = model.predict_proba(X, task=task)
    np.testing.assert_allclose(shown.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X, task=task), np.array(["a", "b"])[shown.argmax(axis=1)])


@pytest.mark.parametrize("options", [{}, slow({"half_life": 100.0}), {"covariance": "full"}])
def test_probabilities_of_arow_are_a_probit_of_margin_over_variance(options):
    X, y, task = stream(11)
    model = raw.MultitaskAROW(**options).partial_fit(X, np.where(y > 0, "b", "a"), task=task)
    someone = [*task[:10].tolist(), "nobody"]
    m, v = (method(X[:11], someone) for method in (model.decision_function, model.margin_variance))
    shown = model.predict_proba(X[:11], task=someone)
    np.testing.assert_allclose(shown[:, 1], norm.cdf(m / np.sqrt(0.25 + v)), rtol=1e-12)
    np.testing.assert_allclose(shown[:, 0], norm.cdf(-m / np.sqrt(0.25 + v)), rtol=1e-12)
    block = model.__stream_model__().as_block(X[:10], np.where(y > 0, "b", "a")[:10], task[:10])
    np.testing.assert_array_equal(model.__stream_model__().predict(block).of_block().probability, shown[:10, 1])


def test_arow_stays_finite_with_the_largest_numbers_and_the_least_noise():
    X = [[1e100, -1e100, 1e-100], [1e100, 1e100, 1e-100], [-1e100, 1e100, 1e-100]]
    model = raw.MultitaskAROW(r=1e-50)
    for _ in range(50):
        model.partial_fit(X, [1, -1, -1])
    assert np.isfinite(model.decision_function(X)).all()
    assert (model.predict(X) == [1, -1, -1]).all()


def test_large_margins_are_stable():
    X = np.array([[1e100], [-1e100], [1e-200], [3e4], [-3e4]])
    model = raw.MultitaskLogistic(step=1e3)
    trace = ct.progressive_validation(model, np.tile(X, (20, 1)), np.tile([1, -1, 1, -1, 1], 20))
    assert np.isfinite(trace.margin).all()
    assert ((trace.probability >= 0) & (trace.probability <= 1)).all()
    assert np.isfinite(model.coef_).all()
    assert set(model.__stream_model__().label_encoder.probability(np.array([-1e4, 1e4]), 1.0)) == {0.0, 1.0}


# -- a file, parameters, refusals --------------------------------------------------------------------------------------


INTERCEPTS = ct.tasks.Intercepts()
REFUSED = [
    (AdaptiveGradient(), ct.TaskGraph([("a", "b")]), ct.updates.Logistic(), ["AdaptiveGradient", "TaskGraph"]),
    (AdaptiveGradient(), ct.MeanRegularized(b=-0.5), ct.updates.Logistic(), ["AdaptiveGradient", "MeanRegularized"]),
    (AdaptiveGradient(), ct.Pooled(), ct.updates.PassiveAggressive(), ["AdaptiveGradient", "PassiveAggressive"]),
    (AdaptiveGradient(), ct.Pooled(), ct.updates.AROW(), ["AdaptiveGradient", "AROW"]),
    (DiagonalAROW(), ct.Pooled(), ct.updates.Logistic(), ["DiagonalAROW", "Logistic"]),
    (DiagonalAROW(), ct.TaskGraph([("a", "b")]), ct.updates.AROW(), ["DiagonalAROW", "TaskGraph"]),
    (ct.updates.LinearWeights(), ct.Pooled(), ct.updates.AROW(), ["LinearWeights", "AROW"]),
    (ct.updates.LinearWeights(), INTERCEPTS, ct.updates.Perceptron(), ["LinearWeights cannot learn under Intercepts"]),
    (DiagonalAROW(), INTERCEPTS, ct.updates.AROW(), ["DiagonalAROW", "cannot learn under Intercepts()"]),
]


@pytest.mark.parametrize(("hypothesis", "relation", "rule", "names"), REFUSED)
def test_impossible_pairs_are_refused_with_both_names(hypothesis, relation, rule, names):
    with pytest.raises(TypeError) as refused:
        LinearLearner(hypothesis, relation, rule)
    for name in names:
        assert name in str(refused.value)
