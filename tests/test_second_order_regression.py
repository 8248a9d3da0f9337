"""Ridge regression on all records under any relation, against its definition and GOB.Lin's."""

import numpy as np
import pytest

import coterie as ct
from coterie.kernels import gram
from reference import second_order as reference
from reference.gob_lin import GobLin
from streams import CASES, FORMS, D, K, linear_stream

STREAM = linear_stream(11, n=140, zeros=0.2)
Y = np.where(STREAM.X[:, 0] > 1, 0.0, STREAM.X @ np.arange(D) + STREAM.task)
SOLVERS = ("primal", "dual", "auto")
MEAN = ct.MeanRegularized(share=0.3)
M_MEAN = 0.7 * np.eye(K) + 0.3


def run(model, tasks=tuple(range(K)), X=STREAM.X, y=Y, **options):
    return ct.progressive_validation(model, X, y, task=STREAM.named(tasks), tasks=tasks, **options)


def same(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("solver", SOLVERS)
def test_equal_to_the_definition(name, solver):
    case = CASES[name]
    means, variances = reference.ridge(STREAM.X, Y, STREAM.task, case.M, 0.7)
    model = ct.geometries.SecondOrderMultitaskRegressor(case.relation, ridge=0.7, solver=solver)
    same(run(model, case.tasks).margin, means)
    assert model.solver_ == {"auto": "primal"}.get(solver, solver)
    model = ct.geometries.SecondOrderMultitaskRegressor(case.relation, ridge=0.7, solver=solver)
    tasks = np.array(STREAM.named(case.tasks), object)
    for some in (slice(0, 5), slice(5, 130)):
        model.partial_fit(STREAM.X[some], Y[some], tasks[some], tasks=case.tasks)
        after = slice(some.stop, some.stop + 1)
        same(model.predict(STREAM.X[after], tasks[after]), means[after])
        same(model.margin_variance(STREAM.X[after], tasks[after]), variances[after])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_every_form_of_input(form, solver):
    means, _ = reference.ridge(STREAM.X, Y, STREAM.task, M_MEAN, 1.0)
    model = ct.geometries.SecondOrderMultitaskRegressor(MEAN, solver=solver)
    same(run(model, X=FORMS[form](STREAM.X)).margin, means)
    assert model.solver_ == {"auto": "primal"}.get(solver, solver)


def test_kernels():
    kernel = ct.kernels.Gaussian(2.0)
    G, places = gram(kernel, STREAM.X), np.arange(len(STREAM))[:, None]
    means, _ = reference.ridge(places, Y, STREAM.task, M_MEAN, 0.5, lambda s, t: G[s[0], t[0]])
    same(run(ct.geometries.SecondOrderMultitaskRegressor(MEAN, 0.5, kernel)).margin, means)


@pytest.mark.parametrize("solver", SOLVERS)
def test_dictionaries_tasks_and_features_as_they_come(solver):
    """What is learned one by one is what is learned at once; an unseen task is one that was silent."""
    records, tasks = FORMS["dictionaries"](STREAM.X), np.array(list("abcde"))[STREAM.task]
    some = np.flatnonzero(STREAM.task < 4)
    single, block = (ct.geometries.SecondOrderMultitaskRegressor(MEAN, solver=solver) for _ in "12")
    assert single.predict_one(records[0], "a") == 0.0
    for t in some:
        single.learn_one(records[t], Y[t], tasks[t])
    block.partial_fit(records, Y * (STREAM.task < 4), tasks, sample_weight=(STREAM.task < 4).astype(float))
    same(single.predict(records, tasks), block.predict(records, tasks))
    same(single.margin_variance(records, tasks), block.margin_variance(records, tasks))
    same([single.predict_one(x, i) for x, i in zip(records, tasks, strict=True)], single.predict(records, tasks))


@pytest.mark.parametrize("solver", ["primal", "dual"])
def test_a_weight_of_two_is_the_record_twice_and_one_of_none_is_none(solver):
    weight = np.arange(len(Y)) % 3
    weighed, repeated = (ct.geometries.SecondOrderMultitaskRegressor(MEAN, solver=solver) for _ in "12")
    weighed.fit(STREAM.X, Y, STREAM.task, sample_weight=weight.astype(float))
    repeated.fit(*(np.repeat(each, weight, axis=0) for each in (STREAM.X, Y, STREAM.task)))
    for method in ("predict", "margin_variance"):
        same(getattr(weighed, method)(STREAM.X, STREAM.task), getattr(repeated, method)(STREAM.X, STREAM.task))


@pytest.mark.parametrize("solver", ["primal", "dual"])
def test_a_forgotten_task_was_never_there(solver):
    with_it, without = (ct.geometries.SecondOrderMultitaskRegressor(MEAN, solver=solver) for _ in "12")
    some = STREAM.task != 2
    with_it.fit(STREAM.X, Y, STREAM.task).forget_task(2)
    without.fit(STREAM.X[some], Y[some], STREAM.task[some])
    for method in ("predict", "margin_variance"):
        same(getattr(with_it, method)(STREAM.X, STREAM.task), getattr(without, method)(STREAM.X, STREAM.task))


def test_baselines_and_explanations():
    model = ct.geometries.SecondOrderMultitaskRegressor(new_task="raise").fit(STREAM.X, Y, STREAM.task)
    with_constants = ct.MultitaskRegressor(ct.relations.Intercepts(), new_task="raise")
    assert repr(model.__baselines__()["intercepts"]) == repr(with_constants)
    assert "intercepts" not in ct.geometries.SecondOrderMultitaskRegressor(kernel="rbf").__baselines__()
    predictions = model.explain(STREAM.X[0], STREAM.task[0])
    same(
        predictions.base + sum(each.part for each in predictions.parts), model.predict(STREAM.X[:1], STREAM.task[:1])[0]
    )


# -- GOB.Lin -----------------------------------------------------------------------------------------------------------

EDGES = [(0, 1), (1, 2), (0, 2), (3, 4)]
LAPLACIAN = np.zeros((K, K))
for edge in EDGES:
    LAPLACIAN[np.ix_(edge, edge)] += [[1, -1], [-1, 1]]
A = np.eye(K) + LAPLACIAN
ALPHA = 0.3


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    "relation",
    [ct.TaskGraph(EDGES, error=0.0), ct.relations.Interaction(A, tasks=list(range(K)))],
    ids=["graph", "interaction"],
)
def test_the_bandit_of_a_gang(relation, solver):
    """Payoffs, widths and choices are those of GOB.Lin by its definition."""
    rng = np.random.default_rng(3)
    literal, model = GobLin(A, D, ALPHA), ct.geometries.SecondOrderMultitaskRegressor(relation, solver=solver)
    U = rng.normal(size=(K, D))
    U[:3] = U[0]
    actions = rng.normal(size=(200, 6, D)) / np.sqrt(D)
    for t, contexts in enumerate(actions):
        user = int(rng.integers(K))
        chosen = literal.choose(user, contexts)
        if t:
            payoffs, squares = literal.scores(user, contexts)
            f, q = model.predict(contexts, [user] * 6), model.margin_variance(contexts, [user] * 6)
            same(f, payoffs)
            same(q, squares)
            assert chosen == int(np.argmax(f + ALPHA * np.sqrt(q * np.log(t + 2))))
        payoff = float(U[user] @ contexts[chosen] + 0.1 * rng.normal())
        literal.learn(user, contexts[chosen], payoff)
        model.partial_fit(contexts[chosen : chosen + 1], [payoff], [user])


# -- refusals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["primal", "dual"])
def test_records_that_are_too_long_are_told_apart_from_kernels_that_are_none(solver):
    with pytest.raises(ValueError, match=r"records of length .*e\+09 are too long for ridge=1; scale their columns"):
        ct.geometries.SecondOrderMultitaskRegressor(solver=solver).fit(STREAM.X * [1, 1, 1, 1, 1, 1e9], Y)
