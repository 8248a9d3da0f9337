"""MultitaskKernelClassifier: codes of classes on the ridge solver, one-vs-all, calibrated probabilities."""

import numpy as np
import pytest

import coterie as ct
from coterie.batch.target_codes import simplex
from coterie.relations import Interaction
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
    plain = ct.batch.MultitaskKernelClassifier(relation=ct.relations.MixedEffect(omega=0.0), alpha=0.3).fit(X, CLASS)
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


def test_rows_with_several_labels():
    Y = np.column_stack([X[:, 0] > 0, X[:, 1] + X[:, 2] > 0.3]).astype(int)
    model = ct.batch.MultitaskKernelClassifier(alpha=0.1, calibration=3).fit(X, Y, TASK)
    outputs = ct.batch.MultitaskKernelRidge(alpha=0.1).fit(X, Y.astype(float), task=TASK).predict(X, TASK)
    np.testing.assert_array_equal(model.predict(X, TASK), outputs >= 0.5)
    assert model.score(X, Y, TASK) > 0.9
    P = model.predict_proba(X, TASK)
    assert P.shape == (N, 2)
    assert P[Y == 1].mean() > 0.6 > 0.4 > P[Y == 0].mean()


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
        outputs = model._outputs(X, TASK)
        away = ((outputs[:, None] - codes) ** 2).sum(axis=2)
        np.testing.assert_array_equal(model.predict(X, TASK), model.classes_[away.argmin(axis=1)])
        assert model.score(X, CLASS, TASK) > 0.85


@pytest.mark.parametrize("codes", [[[1.0], [-1.0]], [[0.0], [3.0]], [[-1.0], [1.0], [2.5]]])
def test_codes_of_one_number_predict_the_nearest(codes):
    label = CLASS if len(codes) == 3 else CLASS == "a"
    model = ct.batch.MultitaskKernelClassifier(ct.kernels.Gaussian(1.0), alpha=0.1, coding=codes).fit(X, label, TASK)
    away = np.abs(model._outputs(X, TASK) - np.array(codes)[:, 0])
    np.testing.assert_array_equal(model.predict(X, TASK), model.classes_[away.argmin(axis=1)])


def test_probabilities_are_fitted_to_scores_of_rows_held_out():
    """By hand: learn on all folds but one, score that one, fit a sigmoid to all these scores."""
    from coterie.batch.path import _deal
    from coterie.batch.target_codes import sigmoid

    y = CLASS == "a"
    model = ct.batch.MultitaskKernelClassifier(alpha=0.3, calibration=4).fit(X, y, TASK)
    dealt, scores = _deal(4, y.astype(np.int64), N, 0), np.empty(N)
    for fold in range(4):
        out = dealt == fold
        part = ct.batch.MultitaskKernelClassifier(alpha=0.3).fit(X[~out], y[~out], TASK[~out], tasks=model.tasks_)
        scores[out] = part.decision_function(X[out], TASK[out])
    np.testing.assert_allclose(model.calibrated_, [sigmoid(scores, y)], rtol=1e-6)
    P = model.predict_proba(NEW, TASK[:8])
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    (a,) = model.calibrated_
    np.testing.assert_allclose(P[:, 1], 1 / (1 + np.exp(-a * model.decision_function(NEW, TASK[:8]))))


def test_probabilities_are_calibrated_on_rows_never_seen():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3000, 2))
    places = np.array([rng.choice(3, p=p) for p in softmax(2 * np.column_stack([rows, -rows.sum(axis=1)]))])
    model = ct.batch.MultitaskKernelClassifier(ct.kernels.Gaussian(1.5), alpha=1.0, calibration=5)
    model.fit(rows[:600], places[:600])
    P = model.predict_proba(rows[600:])
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    for c in range(3):
        for low, high in ((0.1, 0.4), (0.4, 0.7), (0.7, 0.95)):
            in_bin = (P[:, c] >= low) & (P[:, c] < high)
            assert abs(P[in_bin, c].mean() - (places[600:][in_bin] == c).mean()) < 0.1


def softmax(z):
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)
