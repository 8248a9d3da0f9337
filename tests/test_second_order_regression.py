"""Ridge regression on all records under any relation, against its definition and GOB.Lin's."""

from itertools import cycle

import numpy as np
import pytest

import coterie as ct
from coterie.kernels import gram
from reference import second_order as reference
from streams import CASES, FORMS, D, K, linear_stream

STREAM = linear_stream(11, n=90, zeros=0.2)
Y = np.where(STREAM.X[:, 0] > 1, 0.0, STREAM.X @ np.arange(D) + STREAM.task)
SOLVERS = ("primal", "dual", "auto")
MEAN = ct.MeanRegularized(share=0.3)
M_MEAN = 0.7 * np.eye(K) + 0.3


def run(model, tasks=tuple(range(K)), X=STREAM.X, y=Y, **options):
    return ct.progressive_validation(model, X, y, task=STREAM.named(tasks), tasks=tasks, **options)


def same(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(("name", "solver"), list(zip(CASES, cycle(SOLVERS), strict=False)))
def test_equal_to_the_definition(name, solver):
    case = CASES[name]
    means, variances = reference.ridge(STREAM.X, Y, STREAM.task, case.M, 0.7)
    model = ct.SecondOrderMultitaskRegressor(case.relation, ridge=0.7, solver=solver)
    same(run(model, case.tasks).margin, means)
    assert model.solver_ == {"auto": "primal"}.get(solver, solver)
    model = ct.SecondOrderMultitaskRegressor(case.relation, ridge=0.7, solver=solver)
    tasks = np.array(STREAM.named(case.tasks), object)
    for chunk in (slice(0, 5), slice(5, 80)):
        model.partial_fit(STREAM.X[chunk], Y[chunk], tasks[chunk], tasks=case.tasks)
        after = slice(chunk.stop, chunk.stop + 1)
        same(model.predict(STREAM.X[after], tasks[after]), means[after])
        same(model.margin_variance(STREAM.X[after], tasks[after]), variances[after])


def test_kernels():
    kernel = ct.kernels.Gaussian(2.0)
    G, places = gram(kernel, STREAM.X), np.arange(len(STREAM))[:, None]
    means, _ = reference.ridge(places, Y, STREAM.task, M_MEAN, 0.5, lambda s, t: G[s[0], t[0]])
    same(run(ct.SecondOrderMultitaskRegressor(MEAN, 0.5, kernel)).margin, means)


@pytest.mark.parametrize("solver", SOLVERS)
def test_dictionaries_tasks_and_features_as_they_come(solver):
    """What is learned one by one is what is learned at once; an unseen task is one that was silent."""
    records, tasks = FORMS["dictionaries"](STREAM.X), np.array(list("abcde"))[STREAM.task]
    selected = np.flatnonzero(STREAM.task < 4)
    single, block = (ct.SecondOrderMultitaskRegressor(MEAN, solver=solver) for _ in "12")
    assert single.predict_one(records[0], "a") == 0.0
    for t in selected:
        single.learn_one(records[t], Y[t], tasks[t])
    block.partial_fit(records, Y * (STREAM.task < 4), tasks, sample_weight=(STREAM.task < 4).astype(float))
    same(single.predict(records, tasks), block.predict(records, tasks))
    same(single.margin_variance(records, tasks), block.margin_variance(records, tasks))
    same([single.predict_one(x, i) for x, i in zip(records, tasks, strict=True)], single.predict(records, tasks))


@pytest.mark.parametrize("solver", ["primal", "dual"])
def test_a_weight_of_two_is_the_record_twice_and_one_of_none_is_none(solver):
    weight = np.arange(len(Y)) % 3
    weighed, repeated = (ct.SecondOrderMultitaskRegressor(MEAN, solver=solver) for _ in "12")
    weighed.fit(STREAM.X, Y, STREAM.task, sample_weight=weight.astype(float))
    repeated.fit(*(np.repeat(array, weight, axis=0) for array in (STREAM.X, Y, STREAM.task)))
    for method in ("predict", "margin_variance"):
        same(getattr(weighed, method)(STREAM.X, STREAM.task), getattr(repeated, method)(STREAM.X, STREAM.task))
