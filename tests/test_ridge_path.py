"""Errors on rows left out, in closed form and from one factorisation, against brute force."""

import numpy as np
import pytest

import coterie as ct
from coterie import kernels
from reference import kernel_ridge as reference

RNG = np.random.default_rng(11)
N, D, T = 20, 3, 3
X = RNG.normal(size=(N, D))
TASK = np.r_[np.arange(T), RNG.integers(T, size=N - T)]
Y = np.sin(X[:, 0]) + 0.3 * TASK + 0.2 * RNG.normal(size=N)
OUT = np.sin(X @ RNG.normal(size=(D, T))) + 0.2 * RNG.normal(size=(N, T))
ALPHAS = [1e-3, 0.1, 3.0]
RELATIONS = [ct.Independent(), ct.MeanRegularized(b=2.0), ct.Pooled(), ct.TaskGraph([(0, 1), (1, 2)])]
MODEL = ct.batch.MultitaskKernelRidge(kernels.Gaussian(1.3))


def brute(model, relation, value, fitted, left_out):
    """Squared errors of every row (and output) when it is left out with its fold."""
    errors = np.empty_like(fitted["y"])
    for out in left_out:
        train = np.setdiff1d(np.arange(N), out)
        part = {name: array[train] for name, array in fitted.items()}
        candidate = type(model)(**{**model.get_params(), "relation": relation, **value})
        candidate.fit(X[train], part["y"], part.get("task"), tasks=range(T))
        asked = {"task": fitted["task"][out]} if "task" in fitted else {}
        errors[out] = (fitted["y"][out] - candidate.predict(X[out], **asked)) ** 2
    return errors


def by_task(errors, task):
    return np.array([errors[task == t].mean() for t in range(T)]) if errors.ndim == 1 else errors.mean(axis=0)


def fitted(shared):
    return {"y": OUT} if shared else {"y": Y, "task": TASK}


@pytest.mark.parametrize(
    ("shared", "model"), [(False, MODEL), (True, MODEL), (True, ct.batch.MultitaskKernelRidge("linear"))]
)
def test_errors_on_rows_left_out_equal_brute_force(shared, model):
    left_out = [[i] for i in range(N)]
    path = ct.batch.ridge_path(model, X, **fitted(shared), tasks=range(T), values=ALPHAS, relations=RELATIONS)
    assert path.tasks == list(range(T))
    for r, relation in enumerate(RELATIONS):
        for v, alpha in enumerate(ALPHAS):
            errors = brute(model, relation, {"alpha": alpha}, fitted(shared), left_out)
            np.testing.assert_allclose(path.errors[r, v], by_task(errors, TASK), rtol=1e-8)
            assert path.curve[r, v] == pytest.approx(errors.mean(), rel=1e-8)


def test_leaving_out_under_the_risk_of_tasks():
    weights = N / (T * np.bincount(TASK)[TASK])
    M = ct.HalfUpdate().relation_matrix(list(dict.fromkeys(TASK.tolist())))
    names = {t: i for i, t in enumerate(dict.fromkeys(TASK.tolist()))}
    codes = [names[t] for t in TASK]
    Q = reference.joint(reference.gaussian(1.3)(X, X), M, codes, codes)
    expected = []
    for i in range(N):
        train = np.delete(np.arange(N), i)
        c = reference.tikhonov(Q[np.ix_(train, train)], Y[train], 0.5, weights[train])
        expected.append((Y[i] - Q[i, train] @ c) ** 2)
    model = ct.batch.MultitaskKernelRidge(kernels.Gaussian(1.3), ct.HalfUpdate(), risk="tasks")
    path = ct.batch.ridge_path(model, X, Y, TASK, values=[0.5])
    assert path.curve[0, 0] == pytest.approx(np.mean(expected), rel=1e-8)


def test_the_model_chosen_has_the_best_of_all():
    path = ct.batch.ridge_path(MODEL, X, Y, TASK, relations=RELATIONS)
    assert path.errors.shape == (4, 50, T)
    assert (path.chosen.relation, path.chosen.alpha) == path.best


def test_other_filters_are_searched_by_scikit_learn():
    from sklearn.model_selection import GridSearchCV

    with pytest.raises(ValueError, match=r"use GridSearchCV for Landweber\(steps=1\)"):
        ct.batch.ridge_path(ct.batch.MultitaskKernelRidge(filter=ct.batch.Landweber(1)), X, Y, TASK)
    model = ct.batch.MultitaskKernelRidge(kernels.Gaussian(1.3), task_column=D)
    filters = [ct.batch.Landweber(steps) for steps in (1, 30)]
    search = GridSearchCV(model, {"filter": filters}, cv=4).fit(np.column_stack([X, TASK]), Y)
    assert search.best_params_["filter"] in filters


def test_the_relation_chosen_is_the_one_used_where_the_model_has_none():
    path = ct.batch.ridge_path(ct.batch.MultitaskKernelRidge(), X, Y, TASK)
    assert path.best[0] == path.chosen.relation == ct.tasks.MixedEffect(omega=0.5)
    named = ct.batch.ridge_path(ct.batch.MultitaskKernelRidge(relation=ct.tasks.MixedEffect(omega=0.5)), X, Y, TASK)
    np.testing.assert_array_equal(path.errors, named.errors)
