"""Support vector machines: optimal by their duality gaps, equal to scikit-learn's on one task."""

import numpy as np
import pytest
from sklearn.svm import SVC, SVR

import coterie as ct
from coterie import kernels
from reference import kernel_ridge as reference

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
    "omega": ct.tasks.MixedEffect(omega=0.7),
    "penalty": ct.tasks.ClusterPenalty(GROUPS, within=2.0, between=0.5),
}


def joint(relation, rows=X, task=TASK, kernel=reference.linear):
    names = list(dict.fromkeys(TASK.tolist()))
    M = relation.relation_matrix(names)
    return reference.joint(kernel(rows, X), M, [names.index(t) for t in task], [names.index(t) for t in TASK])


@pytest.mark.parametrize(
    "relation", [*GROUPED.values(), ct.TaskGraph([(0, 1), (1, 2), (2, 3)])], ids=[*GROUPED, "graph"]
)
def test_kernel_machines_are_the_optimum(relation):
    """Of the objective and its dual on the explicit joint kernel, which have one value there alone."""
    model = ct.batch.MultitaskSVC(kernels.Gaussian(1.5), relation, C=2.0, tol=1e-9).fit(X, SIGNS, TASK)
    Q = joint(relation, kernel=reference.gaussian(1.5))
    c = np.zeros(N)
    c[model.support_] = model.dual_coef_[:, 0]
    assert abs(c.sum()) < 1e-8  # what an intercept that is not penalised asks for
    assert ((c * SIGNS >= -1e-12) & (c * SIGNS <= 2.0 + 1e-9)).all()
    np.testing.assert_allclose(model.decision_function(X, TASK), Q @ c + model.intercept_, rtol=1e-8, atol=1e-8)
    losses = 2.0 * np.maximum(0.0, 1.0 - SIGNS * (Q @ c + model.intercept_)).sum()
    assert c @ Q @ c / 2 + losses == pytest.approx(np.abs(c).sum() - c @ Q @ c / 2, rel=1e-7)
    tube = ct.batch.MultitaskSVR(kernels.Gaussian(1.5), relation, C=2.0, epsilon=0.05, tol=1e-9).fit(X, TARGET, TASK)
    c = np.zeros(N)
    c[tube.support_] = tube.dual_coef_
    np.testing.assert_allclose(tube.predict(X, TASK), Q @ c + tube.intercept_, rtol=1e-8, atol=1e-8)
    losses = 2.0 * np.maximum(0.0, np.abs(TARGET - Q @ c - tube.intercept_) - 0.05).sum()
    assert c @ Q @ c / 2 + losses == pytest.approx(TARGET @ c - 0.05 * np.abs(c).sum() - c @ Q @ c / 2, rel=1e-6)


def test_one_task_is_the_machine_of_scikit_learn():
    one = ct.tasks.MixedEffect(omega=0.5)
    theirs = SVC(C=2.0, gamma=0.5, tol=1e-8).fit(X, SIGNS)
    ours = ct.batch.MultitaskSVC(kernels.Gaussian(1.0), one, C=2.0, tol=1e-8).fit(X, SIGNS)
    np.testing.assert_allclose(ours.decision_function(NEW), theirs.decision_function(NEW), atol=1e-6)
    regression = SVR(C=2.0, gamma=0.5, epsilon=0.1, tol=1e-8).fit(X, TARGET)
    ours = ct.batch.MultitaskSVR(kernels.Gaussian(1.0), one, C=2.0, tol=1e-8).fit(X, TARGET)
    np.testing.assert_allclose(ours.predict(NEW), regression.predict(NEW), atol=1e-6)


def test_several_classes_are_machines_against_all_others():
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    model = ct.batch.MultitaskSVC(C=5.0)
    scores = model.fit(X, y, TASK).decision_function(X, TASK)
    assert scores.shape == (N, 3)
    np.testing.assert_array_equal(model.predict(X, TASK), scores.argmax(axis=1))
    one = ct.batch.MultitaskSVC(C=5.0).fit(X, np.where(y == 1, 1, -1), TASK)
    np.testing.assert_allclose(one.decision_function(X, TASK), scores[:, 1], rtol=1e-6, atol=1e-6)


def test_one_class_is_refused():
    for model in (ct.batch.MultitaskSVC(), ct.batch.MultitaskKernelClassifier()):
        with pytest.raises(ValueError, match="y must have two classes, got only one class"):
            model.fit(X, np.ones(N), TASK)
