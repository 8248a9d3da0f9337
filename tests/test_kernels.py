"""Kernels against their formulas, dense and sparse; what they refuse; what a model makes of one that is none."""

import copy

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

import coterie as ct
from coterie import MultitaskKernelPerceptron as KernelPerceptron
from coterie import kernels
from coterie._compiled.core.points import gaussians
from coterie.kernels import gram, median_distance
from reference import budgets as literal
from slow import slow
from streams import linear_stream


def first_two(X):
    """A number a record, of an array or a sparse matrix."""
    return np.asarray(X[:, [0, 1]].sum(axis=1)).ravel()


STREAM = linear_stream(51, n=120, zeros=0.4)
X, Y, TASK = STREAM.X, STREAM.y, STREAM.task
C = np.random.default_rng(0).normal(size=(3, X.shape[1]))
B = C.T @ C + np.eye(X.shape[1])
#: Those of the end are FOR09 2.2.16 to 2.2.18.
PAIRS = {
    "linear": (kernels.Linear(), literal.linear),
    "cubic": (kernels.Polynomial(3, 0.5), literal.polynomial(3, 0.5)),
    "gaussian": (kernels.Gaussian(0.7), literal.gaussian(0.7)),
    "normalised": (kernels.Normalised(kernels.Polynomial(2)), literal.normalised(literal.polynomial(2))),
    "scikit-learn": (kernels.Pairwise("rbf", {"gamma": 0.3}), lambda x, z: np.exp(-0.3 * np.sum((x - z) ** 2))),
    "function": (rbf_kernel, lambda x, z: np.exp(-np.sum((x - z) ** 2) / len(x))),
    "sum": (0.5 * kernels.Gaussian(0.7) + "linear", lambda x, z: 0.5 * literal.gaussian(0.7)(x, z) + x @ z),
    "product": (rbf_kernel * kernels.Linear(), lambda x, z: np.exp(-np.sum((x - z) ** 2) / len(x)) * (x @ z)),
    "exponential": (kernels.Exponential(np.float64(0.1) * kernels.Linear()), lambda x, z: np.exp(0.1 * (x @ z))),
    "mapped": (
        lambda X, Z: gram(kernels.Gaussian(2.0), X @ C.T, Z @ C.T),
        lambda x, z: literal.gaussian(2.0)(C @ x, C @ z),
    ),
    "x'Bz": (lambda X, Z: X @ sp.csr_array(B) @ Z.T, lambda x, z: x @ B @ z),
    "f(x)f(z)": (lambda X, Z: np.outer(first_two(X), first_two(Z)), lambda x, z: (x[0] + x[1]) * (z[0] + z[1])),
    "normalised name": (kernels.Normalised("poly"), literal.normalised(lambda x, z: (x @ z / len(x) + 1) ** 3)),
}


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_values_are_those_of_the_formula(name, form):
    kernel, formula = PAIRS[name]
    expected = np.array([[formula(x, z) for z in X[40:70]] for x in X[:40]])
    np.testing.assert_allclose(gram(kernel, form(X[:40]), form(X[40:70])), expected, rtol=1e-10, atol=1e-12)
    square = gram(kernel, form(X[:40]))
    np.testing.assert_allclose(square, square.T, rtol=1e-12, atol=1e-12)
    assert np.linalg.eigvalsh(square).min() > -1e-9


@pytest.mark.parametrize("name", PAIRS)
def test_a_model_takes_it(name):
    kernel, formula = PAIRS[name]
    run = literal.forgetron(X, Y, TASK, (np.eye(5) + 1) / 2, formula, 15)
    for form in (np.asarray, sp.csr_array):
        model = KernelPerceptron(kernel, ct.HalfUpdate(), ct.updates.Forgetron(15))
        rounds = model.__stream_model__().learn(form(X), Y, TASK, tasks=range(5))
        np.testing.assert_array_equal(rounds.updated, run.updated)
        np.testing.assert_allclose(rounds.margin, run.margins, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("budget", [ct.updates.Forgetron(15), ct.updates.Projection(15, 0.3)])
def test_precomputed_is_the_kernel_it_was_computed_with(budget):
    values = gram(kernels.Gaussian(2.0), X)
    precomputed, computed = (KernelPerceptron(k, budget=budget) for k in ("precomputed", kernels.Gaussian(2.0)))
    for part in (slice(0, 50), slice(50, 120)):
        both = (precomputed.__stream_model__(), values), (computed.__stream_model__(), X)
        rounds = [model.learn(form[part], Y[part], TASK[part], tasks=range(5)) for model, form in both]
        np.testing.assert_array_equal(rounds[0].updated, rounds[1].updated)
        np.testing.assert_allclose(rounds[0].margin, rounds[1].margin, rtol=1e-9, atol=1e-9)
    fresh = linear_stream(52, n=20).X
    margins = precomputed.decision_function(gram(kernels.Gaussian(2.0), fresh, X), TASK[:20])
    np.testing.assert_allclose(margins, computed.decision_function(fresh, TASK[:20]), rtol=1e-9, atol=1e-9)
    # columns are rounds, so a record without a weight would shift them
    for model in (precomputed, ct.SecondOrderMultitaskPerceptron(kernel="precomputed"), ct.OneVsRest(precomputed)):
        with pytest.raises(ValueError, match="record 1 has weight 0; leave out its row and column"):
            sklearn.clone(model).fit(values[:3], Y[:3], TASK[:3], sample_weight=[1, 0, 1])
        assert model.__sklearn_tags__().input_tags.pairwise


def test_kernels_calculate_as_their_values_do(tmp_path):
    a, b, c = kernels.Gaussian(0.7), kernels.Polynomial(2), kernels.Linear()
    A, B, C = (gram(kernel, X) for kernel in (a, b, c))
    np.testing.assert_allclose(gram((a + b) * c, X), (A + B) * C, rtol=1e-12)
    np.testing.assert_allclose(gram(a * c + b * c, X), (A + B) * C, rtol=1e-12)
    np.testing.assert_allclose(gram("linear" * a * 3, X), 3 * C * A, rtol=1e-12)
    np.testing.assert_allclose(gram(kernels.Normalised(kernels.Exponential(c * (1 / 0.7**2))), X), A, rtol=1e-9)
    assert a + b == kernels.Sum(a, b) != b + a
    assert (a + b).trusted
    assert not (a + "rbf").trusted
    model = KernelPerceptron((a + b) * kernels.Exponential(0.1 * c)).fit(X, Y, TASK)
    model.save(tmp_path / "model.coterie")
    again = ct.load(tmp_path / "model.coterie")
    assert again.kernel == model.kernel
    np.testing.assert_array_equal(again.decision_function(X, TASK), model.decision_function(X, TASK))


def test_what_kernels_cannot_be_calculated_with_is_refused():
    a = kernels.Gaussian(0.7)
    for make, kind, message in (
        (lambda: a + "precomputed", ValueError, "Sum does not support a precomputed kernel, whose columns are rounds"),
        (lambda: kernels.Precomputed() * a, ValueError, "Product does not support a precomputed kernel"),
        (lambda: kernels.Exponential("precomputed"), ValueError, "Exponential does not support a precomputed kernel"),
        (lambda: 0 * a, ValueError, "factor must be a finite number above 0, got 0"),
        (lambda: a * -1.0, ValueError, "factor must be a finite number above 0, got -1.0"),
        (lambda: a + 3, TypeError, "kernel must be a kernel, a name or a function of two arrays of records, got 3"),
        (lambda: "guassian" + a, ValueError, "kernel 'guassian' is unknown"),
    ):
        with pytest.raises(kind, match=message):
            make()
    model = KernelPerceptron(kernels.Exponential("linear")).partial_fit(X, Y, TASK)
    before = model.decision_function(X, TASK)
    with pytest.raises(ValueError, match=r"the kernel Exponential\(kernel=LinearKernel\(\)\) is not finite"):
        model.partial_fit(100.0 * X, Y, TASK)
    np.testing.assert_array_equal(model.decision_function(X, TASK), before)


def refuses_wide(X, Z):
    if X.shape[1] > 2:
        raise ValueError("more than two features")
    return (X @ Z.T).toarray()


@pytest.mark.parametrize("way", ["one", "weighed", "told", "block", "both"])
def test_a_record_that_a_kernel_refuses_leaves_the_model_as_it_was(way):
    rows, new = [{"a": 1.0, "b": 2.0}, {"a": -1.0, "b": 1.0}], {"a": 1.0, "c": 1.0}
    model = KernelPerceptron(refuses_wide)
    learn = {
        "one": lambda: model.learn_one(new, 1),
        "weighed": lambda: model.learn_one(new, 1, sample_weight=2.0),
        "told": lambda: model.__stream_model__().predict_and_learn_one(new, 1, None),
        "block": lambda: model.partial_fit([new], [1]),
        "both": lambda: model.partial_fit([{"a": 3.0}, new], [0, 1]),
    }[way]
    model.partial_fit(rows, [1, 0])
    before = model.decision_function(rows)
    for _ in range(2):
        with pytest.raises(ValueError, match="features"):
            learn()
        assert model.__stream_model__().input.form.feature_names == ["a", "b"]
        with pytest.raises(ValueError, match="features"):
            model.decision_function([new])
        np.testing.assert_array_equal(model.decision_function(rows), before)
    model.partial_fit([{"b": 3.0}], [0])
    assert model.predict_one({"b": 1.0}) == 0


def test_median_distance():
    points = np.random.default_rng(0).normal(size=(400, 3))
    distances = np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))[np.triu_indices(400, 1)]
    assert median_distance(points) == pytest.approx(np.median(distances), rel=0.02)
    assert median_distance(sp.csr_array(points[:50])) == pytest.approx(median_distance(points[:50]))
    for wrong, message in ((points[:1], "at least two records, got 1"), (np.ones((5, 2)), "records in X are equal")):
        with pytest.raises(ValueError, match=message):
            median_distance(wrong)


def none(values):
    return lambda A, C: values * np.ones((len(A), len(C)))


NONE = {
    "not finite": (none(np.nan), "is not finite for the records of rounds 0 and 0"),
    "negative": (none(-1.0), r"k\(x, x\) < 0, for the records of rounds 0 and 0"),
    "pair": (
        lambda A, C: np.where(rbf_kernel(A, C) == 1, 1.0, 2.0),
        r"is not positive semidefinite, k\(x, z\)² > k\(x, x\) k\(z, z\), for the records of rounds 0 and 1",
    ),
    "asymmetric": (lambda A, C: laplacian_kernel(A, C) * (1 + 0.1 * (A[:, [0]] > C[:, 0])), "is not symmetric for the"),
    "shape": (lambda A, C: np.zeros(3), r"must return one value per pair, shape \(120, 120\), got shape \(3,\)"),
}


@pytest.mark.parametrize("name", NONE)
def test_what_is_no_kernel_is_refused_with_the_pair(name):
    kernel, message = NONE[name]
    with pytest.raises(ValueError, match=message):
        KernelPerceptron(kernel).fit(X, Y, TASK)


def sometimes(A, C):
    return np.where((A[:, [0]] > 90) & (C[:, 0] > 90), -1.0, rbf_kernel(A, C))


def test_a_model_is_as_it_was_where_a_kernel_turns_out_to_be_none():
    """Found in the second block of a call: nothing of the first is kept either, and the model can go on."""
    wide = np.repeat(X, 3, axis=0)
    wrong = wide.copy()
    wrong[200, 0] = 100.0
    model = KernelPerceptron(sometimes, budget=ct.updates.Projection(20, 0.1)).fit(X, Y, TASK)
    before = {name: array.copy() for name, array in model.__dump__()[1].items()}
    labels, tasks = np.repeat(Y, 3), np.repeat(TASK, 3)
    with pytest.raises(ValueError, match=r"k\(x, x\) < 0, for the records of rounds 320 and 320"):
        model.partial_fit(wrong, labels, tasks)
    after = model.__dump__()[1]
    assert all(np.array_equal(before[name], after[name]) for name in before)
    assert model.partial_fit(wide, labels, tasks).n_support_ == 20


@pytest.mark.parametrize("way", ["M changes with each task", "a class comes"])
def test_tasks_and_classes_that_came_before_a_refusal_are_taken_back(way):
    model = KernelPerceptron(sometimes, ct.MeanRegularized(b=1.0))
    model = ct.OneVsRest(model) if way == "a class comes" else model
    tasks, labels, wrong = np.arange(len(X)) // 9, Y.copy(), X.copy()
    wrong[-1, 0] = 100.0
    if way == "a class comes":
        labels[30] = 7
    model.partial_fit(X[:20], labels[:20], tasks[:20])
    before = copy.deepcopy(model.__dump__())
    with pytest.raises(ValueError, match=r"k\(x, x\) < 0, for the records of rounds"):
        model.partial_fit(wrong[20:], labels[20:], tasks[20:])
    after = model.__dump__()
    assert after[0] == before[0]
    assert all(np.array_equal(before[1][name], array) for name, array in after[1].items())
    assert model.partial_fit(X[20:], labels[20:], tasks[20:]).tasks_ == [*range(tasks[-1] + 1)]


def test_a_gram_matrix_that_turns_singular_is_regularised_and_counted():
    """Seven dimensions and thirty vectors, rounding taken for news: eta² is below it. The model stays usable."""
    stream = linear_stream(53, n=2000)
    for budget in (ct.updates.Projection(30, 1e-10), ct.updates.SharedProjection(30, 1e-10)):
        model = KernelPerceptron("linear", ct.HalfUpdate(), budget).fit(stream.X, stream.y, stream.task)
        assert model.repairs_ > 0
        assert np.isfinite(model.decision_function(stream.X, stream.task)).all()


@pytest.mark.parametrize(
    "budget",
    [
        *(ct.updates.Forgetron(20), ct.updates.Projection(20, 1e-3)),
        *(slow(ct.updates.SharedProjection(20, 1e-3)), slow(ct.updates.Projectron(1e-3))),
    ],
    ids=repr,
)
def test_an_indefinite_kernel_that_no_pair_gives_away_ends_and_stays_finite(budget):
    """Three kinds of record at more than 120 degrees from each other."""
    rng = np.random.default_rng(4)
    kind, y = rng.integers(3, size=600), rng.choice([-1.0, 1.0], 600)
    values = np.where(kind[:, None] == kind, 0.95, -0.8) + 0.05 * np.eye(600)
    assert np.isfinite(KernelPerceptron("precomputed", budget=budget).fit(values, y).decision_function(values)).all()


# -- exponentials in compiled code ---------------------------------------------------------------------------------------


def exponentials(values):
    """What compiled code makes of these exponents."""
    products, nought = np.array([values]), np.zeros(len(values))
    gaussians(products, nought[:1], nought, 0.5)
    return products[0]


def test_exponentials_are_right_to_two_units_in_the_last_place():
    values = -np.concatenate(
        [np.linspace(0.0, 708.0, 100_001), np.logspace(-320, 2, 20_001), np.linspace(708, 760, 20_001)]
    )
    expected = np.exp(values)  # below the smallest normal number the last place is the same for all
    assert (np.abs(exponentials(values) - expected) <= 2 * np.spacing(expected)).all()
    assert exponentials(np.array([0.0, -0.0, -1e-300])).tolist() == [1.0, 1.0, 1.0]
    assert exponentials(np.array([-750.0, -1e5, -1e300, -np.inf])).tolist() == [0.0] * 4
