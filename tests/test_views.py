"""Records of several views: learners against their definitions, degenerate cases, absent views, bad input."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import coterie as ct
from coterie import spec
from coterie.evaluation.summary import summarize
from coterie.kernels import Gaussian, Polynomial
from coterie.updates import ExponentiatedGradient, PNorm
from forms import INPUTS
from reference import views as reference
from slow import slow
from states import digest, reloaded

Matrix, Orthogonal = ct.views.MultiviewPerceptron, ct.views.OrthogonalMultiviewPerceptron
POWERS = [1, 1.3, 2, 5.5, 20]


def stream(seed=0, n=200, widths=(4, 4, 4), noise=1.0):
    """Views that have something in common, and labels that it decides but for noise."""
    rng = np.random.default_rng(seed)
    thing = rng.normal(size=(n, max(widths)))
    X = [thing[:, :d] + rng.normal(size=(n, d)) for d in widths]
    return X, np.where(thing[:, 0] + noise * rng.normal(size=n) > 0, 1, -1)


def records(X, present=None):
    """Record by record, as the reference takes them."""
    return [[X[k][t] if present is None or present[t, k] else None for k in range(len(X))] for t in range(len(X[0]))]


def partial(X, present, form=np.asarray):
    """Blocks in which absent rows are NaN, which does not matter."""
    spoilt = [np.where(present[:, [k]], block, np.nan) for k, block in enumerate(X)]
    return [ct.views.PartialBlock(form(block), present[:, k]) for k, block in enumerate(spoilt)]


def assert_literal(model, X, y, run):
    """The rounds of a model, and of its mean if it tells that, are those of the definition."""
    trace, margins = ct.progressive_validation(model, X, y), np.array(run.means if model.average else run.margins)
    assert np.array_equal(trace.mistake, y * margins <= 0)
    assert np.array_equal(trace.updated, np.array(run.step_sizes) > 0)
    np.testing.assert_allclose(trace.margin, margins, rtol=1e-9, atol=1e-9 * np.abs(margins).max())


def as_csr(X):
    return [csr_array(block) for block in X]


#: How records are given, the kernel, and whether the mean is told: each form is compiled for each norm, so it has one of
#: the two; for gauges and kernels it is the other.
FORMS = {
    "dense": (list, None, False),
    "sparse": (as_csr, None, True),
    "dual": (list, "linear", False),
    "sparse dual": (as_csr, "linear", True),
}


#: What is compiled anew in each form, where what the forms do is tried by others.
in_some_form = pytest.mark.parametrize("form", [form if form == "dense" else slow(form) for form in FORMS])


@pytest.mark.parametrize("form", ["dense", "dual", slow("sparse"), slow("sparse dual")])
@pytest.mark.parametrize(("p", "C"), [*((p, None) for p in POWERS), *(slow(p, 0.3) for p in (1, 2, 6.5))])
def test_both_perceptrons_are_the_literal_ones(p, C, form):
    """By mistakes, and by passive-aggressive steps of at most C."""
    prepare, kernel, average = FORMS[form]
    rule, step = (
        (None, reference.mistake) if C is None else (ct.updates.PassiveAggressive(C), reference.passive_aggressive(C))
    )
    X, y = stream(n=150)
    run = reference.matrix_perceptron(records(X), y, p, step)
    assert_literal(Matrix(p, kernel, average, rule=rule), prepare(X), y, run)
    X, y = stream(1, 150, (5, 2, 7))
    run = reference.orthogonal_perceptron(records(X), y, p, rule=step)
    assert_literal(Orthogonal(p, kernel, average, rule=rule), prepare(X), y, run)


@pytest.mark.parametrize(
    ("p", "inner", "C"), [(1, 3, None), (1.5, 3, None), (2, 2.5, None), (4, 8, None), slow(2, 3, 0.3)]
)
def test_group_norms_are_the_literal_ones(p, inner, C):
    X, y = stream(2, 150, (5, 2, 7))
    rule = {} if C is None else {"rule": reference.passive_aggressive(C)}
    run = reference.orthogonal_perceptron(records(X), y, p, inner, **rule)
    model = Orthogonal(p, inner=inner, rule=None if C is None else ct.updates.PassiveAggressive(C))
    assert_literal(model, X, y, run)
    for k, weights in enumerate(model.view_weights_.values()):
        np.testing.assert_allclose(weights, run.weights[k], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("average", [False, slow(True)])
@pytest.mark.parametrize("p", [1, 1.5, 4])
def test_kernels_are_the_literal_ones(p, average):
    X, y = stream(3, 40)
    here = np.random.default_rng(0).random((40, 3)) < 0.8
    kernels = [lambda x, z: np.exp(-((x - z) ** 2).sum() / 8), lambda x, z: x @ z, lambda x, z: (x @ z + 1.0) ** 2]
    own = Orthogonal(p, [Gaussian(2.0), "linear", Polynomial(2)], average)  # different views are at right angles
    for model, products in (
        (Matrix(p, Gaussian(2.0), average), lambda a, b, x, z: kernels[0](x, z)),
        (own, lambda a, b, x, z: kernels[a](x, z) if a == b else 0.0),
    ):
        assert_literal(model, partial(X, here), y, reference.kernel_perceptron(records(X, here), y, p, products))


@in_some_form
@pytest.mark.parametrize("p", [1.5, 4.0])
def test_parts_beyond_the_span_are_the_literal_ones(p, form, tmp_path):
    """FOR09 A.2.1: a coordinate that no record has, in every view's sum from the first on."""
    X, y = stream(9, 120, (5, 2, 7))
    run = reference.orthogonal_perceptron(records(X), y, p, beyond=2.5)
    prepare, kernels, average = FORMS[form]
    model = Orthogonal(p, kernels, average, beyond_span=2.5)
    assert_literal(model, prepare(X), y, run)
    again = reloaded(model, tmp_path / "model.coterie")
    assert digest(again) == digest(model)
    with pytest.raises(ValueError, match="beyond_span cannot change after the first update; fit a new model"):
        again.set_params(beyond_span=1.0).partial_fit(prepare(X), y)


@pytest.mark.parametrize("how", ["zeros", "repeat"])
@pytest.mark.parametrize(("form", "average"), [(np.asarray, False), slow(csr_array, True)], ids=["dense", "csr"])
def test_short_views_are_padded(how, form, average):
    X, y = stream(10, 80, (5, 2, 3))
    fill = {"zeros": lambda x: np.pad(x, ((0, 0), (0, 5 - x.shape[1]))), "repeat": lambda x: np.tile(x, 3)[:, :5]}[how]
    expected = [fill(x) for x in X]
    run = reference.matrix_perceptron(records(expected), y, 2.0)
    padded = ct.views.pad_views({name: form(x) for name, x in zip("abc", X, strict=True)}, how)
    for view, x in zip(padded.values(), expected, strict=True):
        np.testing.assert_array_equal(view.toarray() if hasattr(view, "toarray") else view, x)
    assert_literal(Matrix(2.0, average=average), padded, y, run)
    here = np.random.default_rng(0).random(80) < 0.7
    padded_views = ct.views.pad_views([X[0], None, ct.views.PartialBlock(X[2], here)], how, width=6)
    assert padded_views[1] is None
    np.testing.assert_array_equal(padded_views[2].present, here)
    assert [padded_views[0].shape[1], padded_views[2].block.shape[1]] == [6, 6]


@spec.part
class Ends:
    """Φ* = ½(‖σ‖_2² + ‖σ‖_3²), the square of a symmetric gauge that is no p-norm."""

    def gradient(self, v):
        size = float(np.sum(np.abs(v) ** 3) ** (1 / 3))
        return v + (np.sign(v) * v**2 / size if size > 0 else 0.0)


GAUGES = {"p-norm": PNorm(5.0), "exponentiated": ExponentiatedGradient(2.0), "own": Ends()}


@in_some_form
@pytest.mark.parametrize("name", GAUGES)
def test_gauges_of_singular_values_are_the_literal_ones(name, form, tmp_path):
    X, y = stream(8, 70)
    run = reference.matrix_perceptron(records(X), y, 1.0, gauge=GAUGES[name].gradient)
    prepare, kernel, average = FORMS[form]
    expected = run.means if average else run.margins
    model, pieces = (Matrix(kernel=kernel, average=average, gauge=GAUGES[name]) for _ in range(2))
    assert_literal(model, prepare(X), y, run)
    margins = []
    for chunk in (slice(0, 1), slice(1, 40), slice(40, 70)):
        margins.append(pieces.__stream_model__().learn([block[chunk] for block in prepare(X)], y[chunk]).margin)
        pieces = reloaded(pieces, tmp_path / "model.coterie")
    np.testing.assert_allclose(np.concatenate(margins), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


@spec.part
class Uneven:
    """A gradient that takes the first value for more than the others."""

    def gradient(self, v):
        return v * np.linspace(2.0, 1.0, len(v))[: len(v)] if v.ndim == 1 else v


@spec.part
class Breaking:
    """A gradient that overflows where singular values are large."""

    def gradient(self, v):
        return np.where(np.abs(v) > 4.0, np.inf, v)


@in_some_form
@pytest.mark.parametrize(("K", "d", "r"), [slow(9, 4, 4), (4, 9, 4), (2, 4, 2), slow(5, 1, 1)])
def test_p_auto_is_the_log_of_the_number_of_singular_values(K, d, r, form, tmp_path):
    """p = ln min(d, K), at least 1 (CCG08, after Theorem 10), in every form; with a kernel that is not linear ln K."""
    X, y = stream(5, 90, (d,) * K)
    p = max(1.0, np.log(r))
    run = reference.matrix_perceptron(records(X), y, p)
    prepare, kernel, average = FORMS[form]
    model = Matrix("auto", kernel, average)
    assert_literal(model, prepare(X), y, run)
    assert model.p_ == p
    again = reloaded(model, tmp_path / "model.coterie").partial_fit(prepare(X), -y)
    assert digest(again)[1] == digest(model.partial_fit(prepare(X), -y))[1]
    with pytest.raises(ValueError, match="p cannot change after the first update; fit a new model"):
        again.set_params(p=p).partial_fit(prepare(X), y)
    assert Matrix("auto", Gaussian(2.0)).fit(X, y).p_ == max(1.0, np.log(K))
    assert Orthogonal("auto").fit(X, y).p_ == max(1.0, np.log(K))


@pytest.mark.parametrize(("kernel", "average"), [slow(None, True), ("linear", False)])
def test_p_auto_grows_with_features_that_come_later(kernel, average):
    """What was learned is weighed by the p of the features so far: V stays, and W = ∇ ½‖V‖² is made of it anew."""
    rng, half = np.random.default_rng(3), 30
    X, y = [rng.normal(size=(2 * half, 12)) for _ in range(10)], rng.choice([-1, 1], 2 * half)
    for x in X:
        x[:half, 6:] = 0.0  # d = 6 in the first half
    rows = [{k: {f"x{j}": x[t, j] for j in range(12) if x[t, j]} for k, x in enumerate(X)} for t in range(2 * half)]
    model, V, past = Matrix("auto", kernel, average), np.zeros((12, 10)), np.zeros((12, 10))
    for t, (record, label) in enumerate(zip(rows, y, strict=True)):
        here, p = np.stack([x[t] for x in X], axis=1), np.log(6 if t < half else 10)
        W = reference.gradient(V, p)
        if t not in (0, half):  # before they are learned, new features are left out
            weights = past / t if average else W
            margin = model.decision_function([record])[0]
            np.testing.assert_allclose(margin, (weights * here).sum(), rtol=1e-9, atol=1e-12)
        past += W
        model.partial_fit([record], [label], classes=[-1, 1])
        V += label * here * (label * (W * here).sum() <= 0)
        assert model.p_ == p


def test_gauges_that_are_none_are_refused():
    X, y = stream(8, 40)
    for options, kind, message in (
        ({"gauge": Uneven()}, ValueError, r"the gauge Uneven\(\) must be symmetric in the singular values"),
        ({"gauge": "trace"}, TypeError, "gauge must be a part such as PNorm"),
        ({"gauge": ct.HalfUpdate()}, TypeError, "gauge must have a method gradient, as PNorm has"),
        (
            {"gauge": PNorm(4.0), "rule": ct.updates.PassiveAggressive()},
            ValueError,
            r"requires rule=Perceptron\(\), got",
        ),
    ):
        with pytest.raises(kind, match=message):
            Matrix(**options).fit(X, y)
    model = Matrix(gauge=PNorm(4.0)).fit(X, y)
    with pytest.raises(AttributeError, match="replaces p"):
        _ = model.p_
    for gauge in (PNorm(6.0), None):
        with pytest.raises(ValueError, match="gauge cannot change after the first update; fit a new model"):
            model.set_params(gauge=gauge).partial_fit(X, y)
        model.set_params(gauge=PNorm(4.0))


@pytest.mark.parametrize("kernel", [None, slow("linear")])
def test_a_gauge_that_breaks_changes_nothing(kernel):
    X, y = stream(8, 40)
    model = Matrix(kernel=kernel, gauge=Breaking()).partial_fit([0.1 * x for x in X], y)
    before = digest(model)
    with pytest.raises(ValueError, match="numbers that are not finite"):
        model.partial_fit([100.0 * x for x in X], -y)
    assert digest(model) == before


@pytest.mark.parametrize("average", [False, slow(True)])
def test_a_kernel_for_each_pair_of_views_is_the_literal_one(average, tmp_path):
    """What views have in common is linear, and each has something of its own beside it."""
    X, y = stream(3, 60)
    here = np.random.default_rng(0).random((60, 3)) < 0.8
    linear, own = ct.kernels.Linear(), [Gaussian(2.0), Polynomial(2), ct.kernels.Linear()]
    pairs = {("u", "v"): linear, ("w", "u"): linear, ("v", "w"): linear}
    pairs |= {(name, name): linear + kernel for name, kernel in zip("uvw", own, strict=True)}
    formulas = [lambda x, z: np.exp(-((x - z) ** 2).sum() / 8), lambda x, z: (x @ z + 1.0) ** 2, lambda x, z: x @ z]
    products = lambda a, b, x, z: x @ z + (formulas[a](x, z) if a == b else 0.0)  # noqa: E731
    run = reference.kernel_perceptron(records(X, here), y, 2.5, products)
    for form in (np.asarray, csr_array):
        blocks = {n: ct.views.PartialBlock(form(x), h) for n, x, h in zip("uvw", X, here.T, strict=True)}
        assert_literal(Matrix(2.5, pairs, average), blocks, y, run)
    model = Matrix(2.5, pairs, average).fit(blocks, y)
    again = reloaded(model, tmp_path / "model.coterie")
    np.testing.assert_array_equal(again.decision_function(blocks), model.decision_function(blocks))
    assert set(model.__baselines__(blocks)) == {"u alone", "v alone", "w alone", "in parallel", "side by side"}
    one, every = Gaussian(2.0), {("u", "u"): Gaussian(2.0), ("u", "v"): Gaussian(2.0), ("v", "v"): Gaussian(2.0)}
    margins = [ct.progressive_validation(Matrix(2.5, k), {"u": X[0], "v": X[1]}, y) for k in (one, every)]
    np.testing.assert_allclose(margins[0].margin, margins[1].margin, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("widths", [(4, 4, 4), (4, 2, 5)])
@pytest.mark.parametrize("names", [("u", "v"), ("v", "u")], ids=" ".join)
def test_the_kernel_of_a_pair_is_given_its_first_view_first(names, widths):
    """k_uv(x, z) = (x B_u) · (z B_v) is another number than k_uv(z, x), and views may have any sizes."""
    X, y = stream(3, 60, widths)
    rng = np.random.default_rng(5)
    maps = [rng.normal(size=(width, 3)) for width in widths]
    run = reference.matrix_perceptron(records([x @ B for x, B in zip(X, maps, strict=True)]), y, 2.5)

    def between(a, b):
        return lambda x, z: np.asarray(x @ maps[a]) @ np.asarray(z @ maps[b]).T

    pairs = {(name, name): between(k, k) for k, name in enumerate("uvw")}
    pairs |= {names: between(*map("uvw".index, names)), ("u", "w"): between(0, 2), ("w", "v"): between(2, 1)}
    for form in (np.asarray, csr_array):
        blocks = {name: form(x) for name, x in zip("uvw", X, strict=True)}
        assert_literal(Matrix(2.5, pairs), blocks, y, run)
        halves = Matrix(kernel=pairs).set_params(p=2.5)
        for chunk in (slice(0, 20), slice(20, 60)):
            late = {name: None if name == "w" and chunk.start == 0 else block[chunk] for name, block in blocks.items()}
            halves.partial_fit(late, y[chunk])
        assert halves.decision_function(blocks).shape == (60,)


# -- degenerate cases ---------------------------------------------------------------------------------------------


def test_a_large_p_neither_overflows_nor_loses_its_direction():
    X, y = stream(9, 400)
    for model in (Matrix(200), Orthogonal(200)):
        trace = ct.progressive_validation(model, [1e6 * block for block in X], y)
        assert np.isfinite(trace.margin).all()
        assert trace.mistakes < 200


# -- theorems -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [1, 1.3, 2, 5.5])
def test_the_weights_lead_back_to_the_sums_by_the_dual_norm(p):
    """CCG08 theorems 7 and 8: S_2q is dual to S_2p, 1/2p + 1/2q = 1, and V = ∇½‖W‖²_S2q, of the same length as V."""
    X, y = stream(n=150)
    model = Matrix(p)
    mistake = ct.progressive_validation(model, X, y).mistake
    V = np.column_stack([(y * mistake) @ block for block in X])
    W, q = np.column_stack(list(model.view_weights_.values())), p / (2 * p - 1)
    length = reference.schatten(V, 2 * p)
    np.testing.assert_allclose(W, reference.gradient(V, p), rtol=1e-8, atol=1e-9 * length)
    np.testing.assert_allclose(reference.gradient(W, q), V, rtol=1e-7, atol=1e-8 * length)
    assert reference.schatten(W, 2 * q) == pytest.approx(length)
    assert np.vdot(V, W) == pytest.approx(length**2)
    for U in np.random.default_rng(0).normal(size=(50, *V.shape)):
        assert np.vdot(U, V) <= reference.schatten(U, 2 * q) * length * (1 + 1e-12)


# -- absent views -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [1, 2.5])
def test_an_absent_view_adds_nothing_and_learns_nothing(p):
    X, y = stream(10)
    here = np.random.default_rng(0).random((200, 3)) < 0.7
    run = reference.matrix_perceptron(records(X, here), y, p)
    for model in (Matrix(p), Matrix(p, "linear")):
        assert_literal(model, partial(X, here), y, run)
    run = reference.orthogonal_perceptron(records(X, here), y, p)
    for form in (np.asarray, csr_array):
        for kernels in (None, "linear"):
            assert_literal(Orthogonal(p, kernels), partial(X, here, form), y, run)


def test_a_view_may_be_absent_from_the_start():
    X, y = stream(13, widths=(4, 3))
    for make in (Orthogonal, lambda **kwargs: Orthogonal(kernels="linear", **kwargs)):
        model = make(views=["a", "b"]).partial_fit({"a": X[0][:100]}, y[:100])
        model.partial_fit({"b": X[1][100:150], "a": X[0][100:150]}, y[100:150]).partial_fit([None, X[1][150:]], y[150:])
        here = np.ones((200, 2), bool)
        here[:100, 1], here[150:, 0] = False, False
        whole = make(views=["a", "b"]).partial_fit(partial(X, here), y)
        assert np.allclose(model.decision_function(X), whole.decision_function(X), rtol=1e-12, atol=1e-12)


# -- one record at a time, blocks, late labels, keeping -----------------------------------------------------------


def dictionaries(X, present):
    named = [[{f"f{j}": value for j, value in enumerate(x)} for x in block] for block in X]
    return [{f"v{k}": named[k][t] for k in np.flatnonzero(present[t])} for t in range(len(X[0]))]


VIEWS = ["v0", "v1", "v2"]
#: Records are dictionaries or sparse blocks: dense ones are compiled anew, and come up above.
MODELS = {
    "matrix": lambda: Matrix(2.5, average=True, views=VIEWS),
    "matrix, dual": lambda: Matrix(2.5, Gaussian(2.0), average=True, views=VIEWS),
    "orthogonal": lambda: Orthogonal(3, average=True, views=VIEWS),
    "orthogonal, inner": lambda: Orthogonal(2, inner=3.0, average=True, views=VIEWS),
    "orthogonal, dual": lambda: Orthogonal(3, {"v0": "linear", "v1": Gaussian(1.0), "v2": Polynomial(2)}, views=VIEWS),
    "aggressive": lambda: Orthogonal(2, rule=ct.updates.PassiveAggressive(0.1), views=VIEWS),
    "parallel": lambda: ct.views.ParallelPerceptrons(average=True, views=VIEWS),
    "parallel, dual": lambda: ct.views.ParallelPerceptrons(Gaussian(1.0), average=True, views=VIEWS),
}
of_some_models = pytest.mark.parametrize(
    "name", [name if name == "orthogonal, dual" else slow(name) for name in MODELS]
)


@of_some_models
def test_one_record_at_a_time_is_the_same(name):
    X, y = stream(14, 80)
    here = np.random.default_rng(0).random((80, 3)) < 0.8
    whole = MODELS[name]()
    trace = ct.progressive_validation(whole, dict(zip(VIEWS, partial(X, here, csr_array), strict=True)), y)
    single, margins = MODELS[name](), []
    for record, label in zip(dictionaries(X, here), y, strict=True):
        margins.append(single.decision_function_one(record))
        single.learn_one(record, label)
    np.testing.assert_allclose(np.array(margins)[2:], trace.margin[2:], rtol=1e-9, atol=1e-9)
    predictions = single.decision_function(dictionaries(X, here))
    np.testing.assert_allclose(predictions, whole.decision_function(partial(X, here, csr_array)), rtol=1e-9, atol=1e-9)
    assert single.predict_one(dictionaries(X, here)[0]) == single.predict([dictionaries(X, here)[0]])[0]


# -- the baselines ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("absent", [False, True])
@pytest.mark.parametrize(
    ("rule", "average", "form"),
    [
        (None, False, np.asarray),
        slow(None, True, csr_array),
        slow(ct.updates.PassiveAggressive(C=0.3), False, np.asarray),
    ],
    ids=["last", "mean, sparse", "aggressive"],
)
def test_perceptrons_in_parallel_are_the_literal_ones(rule, average, form, absent):
    X, y = stream(31, 90, (3, 2, 5))
    here = np.random.default_rng(1).random((90, 3)) < (0.8 if absent else 2.0)
    stepped = reference.mistake if rule is None else reference.passive_aggressive(0.3)
    functions = [np.dot, lambda x, z: np.exp(-((x - z) ** 2).sum() / 8), lambda x, z: (x @ z + 1.0) ** 2]
    for own_kernels, products in ((None, [np.dot] * 3), (["linear", Gaussian(2.0), Polynomial(2)], functions)):
        run = reference.in_parallel(records(X, here), y, products, stepped)
        assert_literal(ct.views.ParallelPerceptrons(own_kernels, average, rule=rule), partial(X, here, form), y, run)
    late = ct.progressive_validation(ct.views.ParallelPerceptrons(), X, y, delay=11).margin
    alone = [ct.progressive_validation(Orthogonal(1), [x], y, delay=11).margin for x in X]
    np.testing.assert_allclose(late, np.sum(alone, axis=0), rtol=1e-9, atol=1e-12)


# -- bad input ----------------------------------------------------------------------------------------------------

GOOD = [[[1.0, 2.0], [0.0, 1.0]], [[1.0, 0.0], [2.0, 1.0]]]
NAMED = dict(zip("ab", GOOD, strict=True))
OWN = {("a", "a"): "linear", ("b", "b"): "linear"}


#: A model, records, their labels, and what is said.
REFUSED = [
    (Matrix(views=["a", "b"], kernel=OWN), NAMED, [1, 0], "no kernel given for the views 'a' and 'b'"),
    (Matrix(kernel={("a", "b"): "linear", ("b", "a"): "linear"}), NAMED, [1, 0], "duplicate kernels for the views 'b'"),
    (Matrix(kernel={"a": "linear"}), NAMED, [1, 0], "kernel has the key 'a'; expected pairs"),
    (
        *(Matrix(kernel=OWN | {("a", "b"): 9 * Gaussian(9.0)}), NAMED, [1, 0]),
        r"the kernels of pairs of views are jointly not positive semidefinite, see the record of round 0",
    ),
    (
        *(Matrix(), [[[1.0]], [[1.0, 2.0]]], [1, 0]),
        "0 has 1, 1 has 2; for views of different sizes use OrthogonalMultiviewPerceptron, or a kernel for each pair",
    ),
    (
        *(Matrix(kernel=OWN | {("b", "a"): "linear"}), {"a": [[1.0], [2.0]], "b": GOOD[1]}, [1, 0]),
        "between views of different sizes a kernel must be a function of two arrays: 'a' has 1 features, 'b' has 2",
    ),
    (Orthogonal(), {"a": [[1.0]], "b": [[1.0], [2.0]]}, [1], "the same records, row by row: 'a' has 1, 'b' has 2"),
    (Matrix(views=["a", "b"]), {"a": GOOD[0], "c": GOOD[1]}, [1, 0], "view 'c' is unknown; the views are 'a', 'b'"),
    (Matrix(0.5), GOOD, [1, 0], "p must be 'auto' or a finite number, at least 1, got 0.5"),
    (Orthogonal(inner=1), GOOD, [1, 0], "inner must be a finite number, at least 2, got 1"),
    (Orthogonal(2, "linear", inner=3), GOOD, [1, 0], "kernels require inner=2"),
    (Orthogonal(2, {"a": "linear", "z": "linear"}), NAMED, [1, 0], "kernels has the unknown view 'z'"),
    (Orthogonal(2, ["linear"]), GOOD, [1, 0], "one kernel per view: got 1 for 2 views"),
    (Matrix(2, "precomputed"), GOOD, [1, 0], "kernel='precomputed' is not supported"),
    (Matrix(), GOOD, [1, 1], "y must have two classes"),
    (Matrix(), [[[np.nan]], [[1.0]]], [1], "contains NaN"),
    (Orthogonal(), [None, None], [1, 0], "no view has a block"),
    (*(Matrix(), [GOOD[0], ct.views.PartialBlock(GOOD[1], [True])], [1, 0]), r"one bool per record, .* got shape \(1"),
]


@pytest.mark.parametrize(("model", "X", "y", "message"), REFUSED)
def test_what_does_not_fit_is_refused(model, X, y, message):
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)


def test_records_of_views_have_no_tasks():
    with pytest.raises(ValueError, match="has no tasks"):
        ct.progressive_validation(Matrix(), GOOD, [1, 0], task=["a", "b"])


@pytest.mark.slow
def test_what_is_refused_changes_nothing():
    X, y = stream(23, 60)
    complete = dictionaries(X, np.ones((60, 3), bool))
    for name, make in MODELS.items():
        model = make().partial_fit(complete, y)
        before = digest(model)
        new = {"v0": {"new": 1.0}}
        for bad, label in ((new | {"v1": {"x": float("nan")}}, 1), (new | {"other": {"x": 1.0}}, 1), (new, 7)):
            with pytest.raises(ValueError, match=r"finite|unknown|binary"):
                model.learn_one(bad, label)
        assert digest(model) == before, name
        assert "new" not in model.__stream_model__().input.views.words[0].numbers
        with pytest.raises(ValueError, match="learned from dictionaries"):
            model.partial_fit(X, y)


def test_a_record_without_any_view():
    X, y = stream(26, 40)
    here = np.ones((40, 3), bool)
    here[[0, 20]] = False
    for name, make in MODELS.items():
        plain = {"average": False} if hasattr(make(), "average") else {}
        model, other = (make().set_params(**plain) for _ in "12")
        trace = ct.progressive_validation(model, partial(X, here), y)
        rest = np.flatnonzero(here[:, 0])
        without = ct.progressive_validation(other, [block[rest] for block in X], y[rest])
        assert trace.margin[20] == 0, name
        np.testing.assert_allclose(trace.margin[rest], without.margin, rtol=1e-9, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("form", ["list", "pandas", "polars", "arrow"])
def test_views_in_frames_and_lists_are_those_in_arrays(form):
    X, y = stream(27, 50)
    blocks = [INPUTS[form](block) for block in X]
    expected = Matrix().fit(X, y).decision_function(X)
    np.testing.assert_array_equal(Matrix().fit(blocks, y).decision_function(blocks), expected)


# -- comparisons


def test_compare_takes_views_and_gives_a_verdict():
    rng = np.random.default_rng(0)
    thing = rng.normal(size=(600, 5))
    y = np.where(thing[:, 0] > 0, "cat", "dog")
    X = {"left": thing + rng.normal(size=thing.shape), "right": thing + rng.normal(size=thing.shape)}
    comparison = ct.compare({"p=3": ct.views.OrthogonalMultiviewPerceptron(3)}, X, y)
    assert list(comparison.models) == ["p=3", "left alone", "right alone", "in parallel", "side by side"]
    baselines = {
        f"{name} alone": (ct.views.OrthogonalMultiviewPerceptron(1), {name: block}) for name, block in X.items()
    }
    baselines["in parallel"] = ct.views.ParallelPerceptrons(), X
    baselines["side by side"] = ct.views.OrthogonalMultiviewPerceptron(1), X
    for name, (model, records) in baselines.items():
        trace = comparison.traces[name]
        np.testing.assert_array_equal(trace.margin, ct.progressive_validation(model, records, y).margin)
    best = min(("left alone", "right alone"), key=lambda name: comparison.traces[name].error)
    assert comparison.reference_names == (best, "side by side")
    summary = summarize(comparison, "p=3")
    assert summary.verdict.overall.gain == pytest.approx(comparison.traces[best].error - comparison.traces["p=3"].error)
    assert summary.verdict.against == f"the view {best.removesuffix(' alone')} by itself"
    assert summary.sentences[0].endswith(f"against {summary.against[summary.best].against}.")
    assert summary.best in comparison.reference_names
