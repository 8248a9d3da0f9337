"""Support vector machines: duality gaps, the explicit features, equality with scikit-learn's on one task."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import SVC, SVR, LinearSVC

import coterie as ct
from coterie import kernels
from reference import kernel_ridge as reference
from reference import machines

RNG = np.random.default_rng(5)
N, D, T = 60, 3, 4
X = RNG.normal(size=(N, D))
TASK = np.r_[np.arange(T), RNG.integers(T, size=N - T)]
SIGNS = np.where(X[:, 0] + 0.4 * (TASK - 1.5) * X[:, 1] + 0.3 * RNG.normal(size=N) > 0, 1.0, -1.0)
TARGET = X[:, 0] + 0.4 * TASK + 0.1 * RNG.normal(size=N)
GROUPS = {0: "a", 1: "a", 2: "b", 3: "b"}
NEW = RNG.normal(size=(7, D))
GROUPED = {
    "independent": ct.Independent(),
    "pooled": ct.Pooled(),
    "half": ct.HalfUpdate(),
    "share": ct.MeanRegularized(share=0.6),
    "clusters": ct.Clusters(GROUPS, b=3.0),
    "clusters by share": ct.Clusters({0: "a", 1: "a", 2: "a", 3: "b"}, share=0.4),
    "tree": ct.Hierarchy({0: "a", 1: "a", 2: "b", 3: "b", "a": "all", "b": "all"}, b=(1.0, 2.0)),
    "omega": ct.relations.MixedEffect(omega=0.7),
    "penalty": ct.relations.ClusterPenalty(GROUPS, within=2.0, between=0.5),
}


def joint(relation, rows=X, task=TASK, kernel=reference.linear):
    names = list(dict.fromkeys(TASK.tolist()))
    M = relation.relation_matrix(names)
    return reference.joint(kernel(rows, X), M, [names.index(t) for t in task], [names.index(t) for t in TASK])


@pytest.mark.parametrize("relation", GROUPED.values(), ids=GROUPED)
def test_the_factor_of_a_relation_of_groups(relation):
    names = list(range(T))
    values, slots = relation.factor(names)
    F = np.zeros((T, slots.max() + 1))
    for i in range(T):
        np.add.at(F[i], slots[i], values[i])
    np.testing.assert_allclose(F @ F.T, relation.relation_matrix(names), rtol=1e-12)


@pytest.mark.parametrize("relation", GROUPED.values(), ids=GROUPED)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_a_linear_machine_is_the_dual_with_the_joint_kernel(relation, form):
    """The optimum's gap is rounding, and predictions by explicit features equal those by the kernel."""
    Q = joint(relation) + 1e-12 * np.eye(N)
    alpha = machines.hinge_without_intercept(Q, SIGNS, 0.5)
    primal, dual = machines.hinge_primal(Q, SIGNS, alpha, 0.5), machines.hinge_dual(Q, SIGNS, alpha)
    assert abs(primal - dual) < 1e-6 * primal
    model = ct.batch.MultitaskLinearSVC(relation, C=0.5, loss="hinge", tol=1e-10, max_iter=10**6).fit(
        form(X), SIGNS, TASK
    )
    margins = model.decision_function(form(X), TASK)
    losses = 0.5 * np.maximum(0, 1 - SIGNS * margins).sum()
    W = model.coef_
    order = model.tasks_
    assert relation.penalty(W, order) / 2 + losses == pytest.approx(dual, rel=1e-6)
    np.testing.assert_allclose(margins, Q @ (alpha * SIGNS), atol=2e-3)
    np.testing.assert_allclose(
        margins, np.einsum("nd,nd->n", X, W[[order.index(t) for t in TASK]]), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize(
    "relation", [*GROUPED.values(), ct.TaskGraph([(0, 1), (1, 2), (2, 3)])], ids=[*GROUPED, "graph"]
)
def test_duality_gaps_of_kernel_machines(relation):
    model = ct.batch.MultitaskSVC(kernels.Gaussian(1.5), relation, C=2.0, tol=1e-9).fit(X, SIGNS, TASK)
    assert 0 <= model.duality_gap_[0] + 1e-12 < 1e-7
    Q = joint(relation, kernel=reference.gaussian(1.5))
    c = np.zeros(N)
    c[model.support_] = model.dual_coef_[:, 0]
    assert abs(c.sum()) < 1e-8  # what an intercept that is not penalised asks for
    assert ((c * SIGNS >= -1e-12) & (c * SIGNS <= 2.0 + 1e-9)).all()
    np.testing.assert_allclose(model.decision_function(X, TASK), Q @ c + model.intercept_, rtol=1e-8, atol=1e-8)
    tube = ct.batch.MultitaskSVR(kernels.Gaussian(1.5), relation, C=2.0, epsilon=0.05, tol=1e-9).fit(X, TARGET, TASK)
    assert 0 <= tube.duality_gap_[0] + 1e-12 < 1e-6
    c = np.zeros(N)
    c[tube.support_] = tube.dual_coef_
    np.testing.assert_allclose(tube.predict(X, TASK), Q @ c + tube.intercept_, rtol=1e-8, atol=1e-8)


def test_one_task_is_the_machine_of_scikit_learn():
    one = ct.relations.MixedEffect(omega=0.5)
    theirs = SVC(C=2.0, gamma=0.5, tol=1e-8).fit(X, SIGNS)
    ours = ct.batch.MultitaskSVC(kernels.Gaussian(1.0), one, C=2.0, tol=1e-8).fit(X, SIGNS)
    np.testing.assert_allclose(ours.decision_function(NEW), theirs.decision_function(NEW), atol=1e-6)
    regression = SVR(C=2.0, gamma=0.5, epsilon=0.1, tol=1e-8).fit(X, TARGET)
    ours = ct.batch.MultitaskSVR(kernels.Gaussian(1.0), one, C=2.0, tol=1e-8).fit(X, TARGET)
    np.testing.assert_allclose(ours.predict(NEW), regression.predict(NEW), atol=1e-6)
    linear = LinearSVC(C=2.0, fit_intercept=False, tol=1e-10, dual=False).fit(X, SIGNS)
    ours = ct.batch.MultitaskLinearSVC(one, C=2.0, tol=1e-10).fit(X, SIGNS)
    np.testing.assert_allclose(ours.coef_, linear.coef_, rtol=1e-6)


@pytest.mark.parametrize("loss", ["squared_epsilon_insensitive", "epsilon_insensitive"])
def test_linear_regression_is_the_kernel_form(loss):
    relation = ct.relations.MixedEffect(omega=0.6)
    model = ct.batch.MultitaskLinearSVR(relation, C=2.0, epsilon=0.0, loss=loss, tol=1e-10, max_iter=10**6).fit(
        X, TARGET, TASK
    )
    if loss == "squared_epsilon_insensitive":  # that is ridge regression with alpha = 1 / (2 C)
        ridge = ct.batch.MultitaskKernelRidge("linear", relation, alpha=0.25).fit(X, TARGET, TASK)
        np.testing.assert_allclose(model.predict(X, TASK), ridge.predict(X, TASK), atol=1e-5)

    def objective(W):
        errors = np.abs(TARGET - np.einsum("nd,nd->n", X, W[codes]))
        losses = errors**2 if loss.startswith("squared") else errors
        return relation.penalty(W, model.tasks_) / 2 + 2.0 * losses.sum()

    codes = [model.tasks_.index(t) for t in TASK]
    for _ in range(20):
        assert objective(model.coef_) <= objective(model.coef_ + 1e-2 * RNG.normal(size=(T, D))) + 1e-6


def test_several_classes_are_machines_against_all_others():
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    for model in (ct.batch.MultitaskSVC(C=5.0), ct.batch.MultitaskLinearSVC(C=5.0)):
        scores = model.fit(X, y, TASK).decision_function(X, TASK)
        assert scores.shape == (N, 3)
        np.testing.assert_array_equal(model.predict(X, TASK), scores.argmax(axis=1))
        one = type(model)(**model.get_params()).fit(X, np.where(y == 1, 1, -1), TASK)
        np.testing.assert_allclose(one.decision_function(X, TASK), scores[:, 1], rtol=1e-6, atol=1e-6)


def test_rows_with_several_labels():
    Y = np.column_stack([X[:, 0] > 0, X[:, 1] > 0.3, np.ones(N)]).astype(int)
    for model in (ct.batch.MultitaskSVC("linear", C=10.0), ct.batch.MultitaskLinearSVC(C=10.0)):
        scores = model.fit(X, Y, TASK).decision_function(X, TASK)
        np.testing.assert_array_equal(model.predict(X, TASK), scores >= 0)
        assert model.score(X, Y, TASK) > 0.75
        assert (model.predict(X, TASK)[:, 2] == 1).all()


def test_new_tasks_of_linear_machines_get_the_part_of_their_group():
    grown = GROUPS | {"fresh": "b", "alone": "c"}
    relation = ct.Clusters(grown, b=3.0)
    linear = ct.batch.MultitaskLinearSVC(relation, C=0.5, loss="hinge", tol=1e-8, max_iter=10**6).fit(X, SIGNS, TASK)
    W = dict(zip(linear.tasks_, linear.coef_, strict=True))
    theirs = (W[2] + W[3]) / 2 * 3 / 4
    np.testing.assert_allclose(linear.decision_function(NEW, ["fresh"] * 7), NEW @ theirs, rtol=1e-8)
    assert (linear.decision_function(NEW, ["alone"] * 7) == 0).all()
    with pytest.raises(ValueError, match="task 'fresh' was never fitted"):
        linear.set_params(new_task="raise").predict(NEW, ["fresh"] * 7)


def test_one_class_is_refused():
    for model in (ct.batch.MultitaskSVC(), ct.batch.MultitaskLinearSVC(), ct.batch.MultitaskKernelClassifier()):
        with pytest.raises(ValueError, match="y must hold two classes, got one class only"):
            model.fit(X, np.ones(N), TASK)


def test_memory_is_estimated_before_it_is_asked_for(monkeypatch):
    from coterie.batch import memory

    monkeypatch.setattr(memory, "available_bytes", lambda: 2.0**12)
    with pytest.raises(MemoryError, match=r"a kernel matrix of 60 x 60 rows would take .* take a linear machine"):
        ct.batch.MultitaskSVC().fit(X, SIGNS, TASK)
    with pytest.raises(MemoryError, match="a machine of 5 tasks and groups with 3 features would take"):
        ct.batch.MultitaskLinearSVC().fit(X, SIGNS, TASK)
