"""MultitaskKernelClassifier: codes of classes on the ridge solver, one-vs-all."""

import numpy as np
import pytest

import coterie as ct
from coterie.batch.target_codes import simplex
from coterie.tasks import Interaction
from reference import kernel_ridge as reference

RNG = np.random.default_rng(9)
N, D, T = 90, 3, 3
X = RNG.normal(size=(N, D))
TASK = np.r_[np.arange(T), RNG.integers(T, size=N - T)]
CLASS = np.array(["c", "a", "b"])[np.digitize(X[:, 0] + 0.5 * (TASK - 1) + 0.2 * RNG.normal(size=N), [-0.6, 0.6])]
NEW = RNG.normal(size=(8, D))


def test_one_vs_all_is_one_regression_a_class():
    model = ct.batch.MultitaskKernelClassifier(relation=ct.HalfUpdate(), alpha=0.3).fit(X, CLASS, TASK)
    assert model.classes_.tolist() == ["a", "b", "c"]
    scores = model.decision_function(NEW, TASK[:8])
    for place, label in enumerate(model.classes_):
        ridge = ct.batch.MultitaskKernelRidge(relation=ct.HalfUpdate(), alpha=0.3).fit(X, (label == CLASS) * 1.0, TASK)
        np.testing.assert_allclose(scores[:, place], ridge.predict(NEW, TASK[:8]) - 0.5, rtol=1e-8, atol=1e-10)
    np.testing.assert_array_equal(model.predict(NEW, TASK[:8]), model.classes_[scores.argmax(axis=1)])
    independent = ct.batch.MultitaskKernelClassifier(alpha=0.3, class_relation=ct.Independent()).fit(X, CLASS)
    plain = ct.batch.MultitaskKernelClassifier(relation=ct.tasks.MixedEffect(omega=0.0), alpha=0.3).fit(X, CLASS)
    np.testing.assert_allclose(independent.decision_function(NEW), plain.decision_function(NEW), rtol=1e-8)


def test_classes_that_share_are_the_kronecker_system():
    A = np.array([[2.0, -1.0, 0.0], [-1.0, 2.0, -0.5], [0.0, -0.5, 1.5]])
    relation = Interaction(A, tasks=["a", "b", "c"])
    codes = (CLASS[:, None] == np.array(["a", "b", "c"])) * 1.0
    K, M = reference.gaussian(1.0), np.linalg.inv(A)
    C = reference.kronecker(K(X, X), M, codes, 0.3)
    model = ct.batch.MultitaskKernelClassifier(alpha=0.3, class_relation=Interaction(A)).fit(X, CLASS)
    np.testing.assert_allclose(model.decision_function(NEW), K(NEW, X) @ C @ M - 0.5, rtol=1e-8, atol=1e-8)
    with pytest.raises(ValueError, match="class_relation is not supported together with task="):
        ct.batch.MultitaskKernelClassifier(class_relation=relation, task_column=0).fit(X, CLASS)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_a_simplex_has_equal_sides(n_classes):
    codes = simplex(n_classes)
    inner = codes @ codes.T
    np.testing.assert_allclose(inner[~np.eye(n_classes, dtype=bool)], -1 / (n_classes - 1), atol=1e-12)
    np.testing.assert_allclose(inner.diagonal(), 1.0)


def test_a_simplex_and_a_code_of_ones_own_predict_the_nearest():
    hamming = np.array([[1.0, 1, 1, -1], [1, -1, -1, 1], [-1, 1, -1, -1]])
    for coding, codes in (("simplex", simplex(3)), (hamming, hamming)):
        model = ct.batch.MultitaskKernelClassifier(alpha=0.1, coding=coding).fit(X, CLASS, TASK)
        away = ((model._outputs(X, TASK)[:, None] - codes) ** 2).sum(axis=2)
        np.testing.assert_array_equal(model.predict(X, TASK), model.classes_[away.argmin(axis=1)])
        assert model.score(X, CLASS, TASK) > 0.85


@pytest.mark.parametrize("codes", [[[1.0], [-1.0]], [[0.0], [3.0]], [[-1.0], [1.0], [2.5]]])
def test_codes_of_one_number_predict_the_nearest(codes):
    label = CLASS if len(codes) == 3 else CLASS == "a"
    model = ct.batch.MultitaskKernelClassifier(ct.kernels.Gaussian(1.0), alpha=0.1, coding=codes).fit(X, label, TASK)
    away = np.abs(model._outputs(X, TASK) - np.array(codes)[:, 0])
    np.testing.assert_array_equal(model.predict(X, TASK), model.classes_[away.argmin(axis=1)])


def test_scikit_learn_calibrates_probabilities():
    from sklearn.calibration import CalibratedClassifierCV

    model = ct.batch.MultitaskKernelClassifier(alpha=0.1, task_column=D)
    rows = np.column_stack([X, TASK])
    P = CalibratedClassifierCV(model, cv=3).fit(rows, CLASS).predict_proba(rows)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert np.mean(P.argmax(axis=1) == np.unique(CLASS, return_inverse=True)[1]) > 0.7
