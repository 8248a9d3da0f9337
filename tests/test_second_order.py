"""The second-order Perceptron and AROW with whole covariances against their definitions."""

from functools import cache
from itertools import cycle

import numpy as np
import pytest

import coterie as ct
import raw
from coterie.kernels import gram
from reference import second_order as reference
from streams import CASES, FORMS, assert_margins, linear_stream, validated

STREAM = linear_stream(5, n=260, zeros=0.2).take(slice(130))


@cache
def defined(name):
    """The margins of the definition, which are the same by M and, where the papers have one, by A."""
    case = CASES[name]
    margins = reference.dual(STREAM.X, STREAM.y, STREAM.task, case.M, ridge=0.7)
    if case.A is not None:
        scale = 1.0 if np.allclose(np.linalg.inv(case.A), case.M) else case.M[0, 0] / np.linalg.inv(case.A)[0, 0]
        assert_margins(reference.literal(STREAM.X, STREAM.y, STREAM.task, case.A, ridge=0.7 / scale), margins, STREAM.y)
    return margins


@pytest.mark.parametrize(("name", "solver"), list(zip(CASES, cycle(("primal", "dual", "auto")), strict=False)))
def test_equal_to_the_definition(name, solver):
    case, expected = CASES[name], defined(name)
    model = ct.SecondOrderMultitaskPerceptron(case.relation, ridge=0.7, solver=solver)
    trace = validated(model, STREAM, case.tasks)
    assert_margins(trace.margin, expected, STREAM.y)
    assert model.n_mistakes_ == trace.mistakes == trace.updated.sum()
    assert model.solver_ == {"auto": "primal" if trace.mistakes >= 30 else "dual"}.get(solver, solver)


@pytest.mark.parametrize("kernel", [ct.kernels.Gaussian(2.0), ct.kernels.Polynomial(2), "laplacian"])
def test_kernels(kernel):
    G = gram(kernel, STREAM.X)
    places = np.arange(len(STREAM.X))[:, None]
    case = CASES["graph factor"]
    expected = reference.dual(places, STREAM.y, STREAM.task, case.M, 1.0, lambda s, t: G[s[0], t[0]])
    model = ct.SecondOrderMultitaskPerceptron(case.relation, kernel=kernel)
    assert_margins(validated(model, STREAM, case.tasks).margin, expected, STREAM.y)
    precomputed = ct.SecondOrderMultitaskPerceptron(case.relation, kernel="precomputed")
    assert_margins(validated(precomputed, STREAM, case.tasks, X=G).margin, expected, STREAM.y)


@pytest.mark.parametrize(("solver", "name"), [("primal", "half"), ("dual", "mean b"), ("auto", "tree b")])
def test_tasks_and_features_as_they_come_are_as_if_known(solver, name):
    """Records one by one as dictionaries: what is learned is what the mistakes make of M of all tasks."""
    case, stream = CASES[name], linear_stream(5, n=210, zeros=0.2)
    model = ct.SecondOrderMultitaskPerceptron(case.relation, solver=solver)
    records, tasks = FORMS["dictionaries"](stream.X), stream.named(case.tasks)
    moved, seen = [], []
    for t in range(120):
        here = list(dict.fromkeys(tasks[: t + 1]))
        M = case.relation.relation_matrix(here) if name.endswith(" b") else case.M
        number = {task: i for i, task in enumerate(here if name.endswith(" b") else case.tasks)}
        used = [*moved, t]
        places = [number[tasks[r]] for r in used]
        G = M[np.ix_(places, places)] * (stream.X[used] @ stream.X[used].T)
        expected = np.append(stream.y[moved], 0.0) @ np.linalg.inv(np.eye(len(used)) + G) @ G[:, -1]
        if (tasks[t] in seen or not name.endswith(" b")) and len(set(stream.y[:t])) == 2:
            assert model.decision_function_one(records[t], tasks[t]) == pytest.approx(expected, rel=1e-9, abs=1e-11)
        before = model.n_mistakes_ if t else 0
        model.learn_one(records[t], stream.y[t], tasks[t])
        assert (model.n_mistakes_ > before) == (stream.y[t] * expected <= 0)
        moved += [t] if stream.y[t] * expected <= 0 else []
        seen = here
    predictions = model.decision_function(records[120:], tasks[120:])
    signs = np.where(model.predict(records[120:], tasks[120:]) == 1.0, 1.0, -1.0)
    np.testing.assert_array_equal(signs, np.where(predictions >= 0, 1.0, -1.0))
    assert [model.predict_one(x, i) for x, i in zip(records[120:], tasks[120:], strict=True)] == list(signs)


@pytest.mark.parametrize(("solver", "name"), [("primal", "half"), ("dual", "mean share"), ("dual", "clusters share")])
def test_an_unseen_task_is_one_that_was_known_and_silent(solver, name):
    case, selected = CASES[name], STREAM.task < 4
    task = np.array(STREAM.named(case.tasks))
    models = [ct.SecondOrderMultitaskPerceptron(case.relation, solver=solver) for _ in "12"]
    for model, tasks in zip(models, (None, case.tasks), strict=True):
        model.partial_fit(STREAM.X[selected], STREAM.y[selected], task[selected], tasks=tasks)
    for method in ("decision_function", "margin_variance"):
        unseen, silent = (getattr(model, method)(STREAM.X[~selected], task[~selected]) for model in models)
        np.testing.assert_allclose(unseen, silent, rtol=1e-9, atol=1e-12)


# -- AROW --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["half", "mean b", "tree share", "graph factor", "interaction", "pooled"])
def test_arow_with_the_whole_covariance(name):
    case = CASES[name]
    means, variances = reference.arow(STREAM.X, STREAM.y, STREAM.task, case.M, 2.0)
    whole, model = (raw.MultitaskAROW(case.relation, 2.0, covariance="full") for _ in "12")
    assert_margins(validated(whole, STREAM, case.tasks).margin, means, STREAM.y)
    model.partial_fit(STREAM.X[:120], STREAM.y[:120], np.array(STREAM.named(case.tasks))[:120], tasks=case.tasks)
    predictions = model.margin_variance(STREAM.X[120:121], STREAM.named(case.tasks)[120:121])
    np.testing.assert_allclose(predictions, variances[120], rtol=1e-9)


# -- refusals ----------------------------------------------------------------------------------------------------------


def test_a_kernel_that_is_none_changes_nothing():
    def sometimes(X, Z):
        return -np.ones((len(X), len(Z))) if np.abs(X).max() > 50 else X @ Z.T

    model = ct.SecondOrderMultitaskPerceptron(kernel=sometimes).fit(STREAM.X[:120], STREAM.y[:120])
    before = model.decision_function(STREAM.X)
    with pytest.raises(ValueError, match="semidefinite"):
        model.partial_fit(np.concatenate([STREAM.X, 1e4 * STREAM.X]), np.tile(STREAM.y, 2))
    np.testing.assert_array_equal(model.decision_function(STREAM.X), before)


def test_covariances_that_fit_in_no_memory_are_refused():
    wide = {f"f{i}": 1.0 for i in range(40_000)}
    with pytest.raises(ValueError, match="weights of 1 task needs 12 GiB; use covariance='diagonal'"):
        ct.MultitaskAROW(covariance="full").learn_one(wide, True, task="u")
