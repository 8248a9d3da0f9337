"""The batch estimators: every form of input, tasks, centres, searches, and an output kernel that is learned."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GridSearchCV

import coterie as ct
from coterie.batch import MultitaskKernelRidge as KernelRidge
from forms import INPUTS, dictionaries, with_task

RNG = np.random.default_rng(13)
N, D, T = 60, 3, 4
X = np.where(RNG.random((N, D)) < 0.2, 0.0, RNG.normal(size=(N, D)))
TASK = np.r_[np.arange(T), RNG.integers(T, size=N - T)]
NAMES = [f"user {t}" for t in TASK]
NUMBER = X[:, 0] + 0.4 * TASK + 0.1 * RNG.normal(size=N)
LABEL = np.where(NUMBER > 0.6, "high", "low")
MODELS = [*(KernelRidge(), ct.batch.MultitaskKernelClassifier(), ct.batch.MultitaskSVC(), ct.batch.MultitaskSVR())]


def target(model):
    return LABEL if is_classifier(model) else NUMBER


def outcome(model, rows, task=None):
    return (model.decision_function if is_classifier(model) else model.predict)(rows, task)


EACH_FORM = INPUTS | {"dictionaries": dictionaries}


@pytest.mark.parametrize(
    ("model", "form"),
    [*((MODELS[0], form) for form in EACH_FORM), *product(MODELS[1:], ("csr", "pandas", "dictionaries"))],
)
def test_every_form_of_input_gives_the_same(model, form):
    make = EACH_FORM[form]
    expected = outcome(clone(model).fit(X, target(model), NAMES), X, NAMES)
    fitted = clone(model).fit(make(X), target(model), NAMES)
    np.testing.assert_allclose(outcome(fitted, make(X), NAMES), expected, rtol=1e-5, atol=1e-5)


WITH_TASK = with_task(X, TASK, NAMES)
WITH_TASK["dictionaries"] = (WITH_TASK["pandas"][0].to_dict("records"), "user")


@pytest.mark.parametrize(
    ("model", "form"), [*((MODELS[0], form) for form in WITH_TASK), *((model, "pandas") for model in MODELS[1:3])]
)
def test_tasks_from_a_column_equal_tasks_by_argument(model, form):
    rows, column = WITH_TASK[form]
    expected = outcome(clone(model).fit(X, target(model), TASK), X, TASK)
    by_column = clone(model).set_params(task_column=column).fit(rows, target(model))
    np.testing.assert_allclose(outcome(by_column, rows), expected, rtol=1e-4, atol=1e-4)
    with pytest.raises(ValueError, match="tasks are given twice"):
        by_column.predict(rows, TASK)


def test_grid_search_over_relations_and_kernels():
    rows, column = WITH_TASK["pandas"]
    relations = [ct.Independent(), ct.tasks.MixedEffect(omega=0.5)]
    grid = {"kernel": ["linear", ct.kernels.Gaussian(2.0)], "relation": relations}
    search = GridSearchCV(ct.batch.MultitaskSVC(task_column=column), grid, cv=3, error_score="raise").fit(rows, LABEL)
    assert search.best_score_ > 0.7


def test_columns_of_y_have_names():
    Y = pd.DataFrame(np.column_stack([NUMBER, -NUMBER]), columns=["motor", "total"])
    model = KernelRidge().fit(X, Y)
    assert model.tasks_ == ["motor", "total"]
    np.testing.assert_allclose(model.predict(X, task=["total"] * N), model.predict(X)[:, 1])
    for edge, tasks in ((("a", "b"), ["a", "b"]), (("total", "motor"), ["motor", "total"])):
        assert KernelRidge(relation=ct.TaskGraph([edge])).fit(X, Y).tasks_ == tasks
    assert KernelRidge().fit(X, Y.to_numpy(), tasks=["p", "q"]).tasks_ == ["p", "q"]


def test_a_center_is_subtracted_and_added_again():
    for shift in (0.0, 100.0):
        model = KernelRidge(center=True).fit(X, NUMBER + shift, TASK)
        np.testing.assert_allclose(model.center_, [NUMBER.mean() + shift])
        plain = KernelRidge().fit(X, NUMBER - NUMBER.mean(), TASK)
        np.testing.assert_allclose(model.predict(X, TASK) - shift, plain.predict(X, TASK) + NUMBER.mean(), rtol=1e-6)
    Y = np.column_stack([NUMBER, 50 + NUMBER])
    model = KernelRidge(center=True).fit(X, Y, tasks=["a", "b"])
    np.testing.assert_allclose(model.center_, Y.mean(axis=0))
    np.testing.assert_allclose(model.predict(X, task=["b"] * N), model.predict(X)[:, 1])


# -- learning the output kernel ----------------------------------------------------------------------------------------


def test_the_objective_of_a_learned_output_kernel_never_rises():
    for more in ({"task": TASK}, {}):
        y = NUMBER if more else np.column_stack([NUMBER, -NUMBER, X[:, 1]])
        relation = ct.batch.OptimalOutputKernel(ridge=1e-4, tolerance=1e-9)
        model = KernelRidge("linear", relation, alpha=0.5).fit(X, y, **more)
        assert (np.diff(model.objective_) <= 1e-9 * model.objective_[0]).all()
        M = model.relation_matrix_
        assert np.trace(M) == pytest.approx(len(M))
        order = [model.tasks_.index(t) for t in TASK] if more else None
        expected = objective(weights_of(model), M, y, order, 1e-4)
        assert model.objective_[-1] == pytest.approx(expected, rel=1e-8)


def weights_of(model):
    """Those of a linear kernel by task."""
    return np.array([model.predict(np.eye(D), task=[t] * D) for t in model.tasks_])


def objective(W, M, y, order, ridge):
    """Errors plus tr(M⁻¹ (W W' + ridge I)) / 2."""
    errors = y - (X @ W.T if order is None else (X @ W.T)[np.arange(N), order])
    return np.sum(errors**2) + 0.5 * np.trace(np.linalg.solve(M, W @ W.T + ridge * np.eye(len(M))))


def test_a_learned_output_kernel_is_a_minimum_among_all():
    """The problem is convex, so no small change of weights and kernel together lowers it."""
    relation = ct.batch.OptimalOutputKernel(ridge=1e-2, tolerance=1e-12, steps=2000)
    model = KernelRidge("linear", relation, alpha=0.5).fit(X, NUMBER, TASK)
    M, order = model.relation_matrix_, [model.tasks_.index(t) for t in TASK]
    W = weights_of(model)
    best = objective(W, M, NUMBER, order, 1e-2)
    for _ in range(50):
        moved = M + 1e-3 * M @ (lambda S: S + S.T)(RNG.normal(size=(T, T))) @ M
        W_moved = W + 1e-3 * RNG.normal(size=W.shape)
        assert objective(W_moved, moved * T / np.trace(moved), NUMBER, order, 1e-2) > best - 1e-9
