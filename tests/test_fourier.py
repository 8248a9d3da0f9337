"""Random Fourier features: the definition, the kernel they stand for, what learns from them, and every face."""

import copy
import math
import pickle
from statistics import NormalDist

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_regressor

import coterie as ct
import raw
from coterie.around import fourier
from coterie.around.fourier import RandomFeatures
from coterie.geometries import RandomFourierClassifier as FourierClassifier
from coterie.jobs.learners import LearnerSpec
from coterie.jobs.shares import relation_name
from coterie.kernels import Gaussian, Pairwise, gram
from coterie.numeric.core.records import Csr, Dense
from reference import fourier as reference
from reference import perceptron
from streams import as_dictionaries, linear_stream
from terminal import run

STREAM = linear_stream(3, n=150, zeros=0.3)
X, Y, TASK = STREAM.X, STREAM.y, STREAM.task
HALF = ct.MeanRegularized(share=0.5)
KERNELS = {
    "Gaussian": (Gaussian(1.5), lambda u: NormalDist().inv_cdf(u) / 1.5),
    "laplacian": (Pairwise("laplacian", {"gamma": 0.7}), lambda u: 0.7 * math.tan(math.pi * (u - 0.5))),
}


def model(**given):
    return FourierClassifier(**{"model": ct.MultitaskPerceptron(HALF), "n_components": 20, **given})


# -- the features ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", KERNELS)
def test_features_are_those_of_the_definition(name):
    kernel, quantile = KERNELS[name]
    wanted = reference.features(X[:20], quantile, 10, seed=7)
    np.testing.assert_allclose(RandomFeatures(kernel, 10, 7).of(Dense(X[:20])).values, wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "kernel", [Gaussian(1.5), Pairwise("laplacian", {"gamma": 0.2}), Pairwise("rbf", {"gamma": 0.3})]
)
def test_inner_products_are_the_kernel_with_the_error_that_is_promised(kernel):
    """Hoeffding: a mean of m cosines is off by more than t with a chance below 2 exp(-m t² / 2)."""
    m = 4000
    Z = RandomFeatures(kernel, 2 * m, 1).of(Dense(X[:40])).values
    pairs = 40 * 39 / 2
    t = math.sqrt(2 * math.log(2 * pairs / 1e-3) / m)
    assert np.abs(Z @ Z.T - gram(kernel, X[:40])).max() < t
    np.testing.assert_allclose((Z**2).sum(axis=1), 1.0, rtol=1e-12)


def test_dense_and_sparse_records_in_any_pieces_have_the_same_bits():
    made = RandomFeatures(Gaussian(), 16, 0)
    whole = made.of(Dense(X)).values
    held = sp.csr_array(X)
    rows = Csr(held.data, held.indices.astype(np.int32), held.indptr.astype(np.int64))
    np.testing.assert_array_equal(made.of(rows).values, whole)
    for t in (0, 5, 149):
        np.testing.assert_array_equal(RandomFeatures(Gaussian(), 16, 0).of(rows.cut(t, t + 1)).values[0], whole[t])
    np.testing.assert_array_equal(made.of(Dense(X[::-1])).values[::-1], whole)


def test_directions_that_are_too_many_are_drawn_again(monkeypatch):
    made, fresh = RandomFeatures(Gaussian(), 16, 0), RandomFeatures(Gaussian(), 16, 0)
    monkeypatch.setattr(fourier, "MOST", 8 * 12)  # of twelve features
    for first in range(0, 60, 10):
        features = np.arange(first, first + 10, dtype=np.int32)
        row = Csr(np.ones(10), features, np.array([0, 10]))
        np.testing.assert_array_equal(made.of(row).values, fresh.of(row).values)
        assert made._directions.nbytes <= 8 * 8 * 18  # with the room that arrays grow by


def test_a_record_of_nothing_has_cosines_of_one():
    made = RandomFeatures(Gaussian(), 6, 0)
    nothing = Csr(np.zeros(0), np.zeros(0, np.int32), np.array([0, 0]))
    np.testing.assert_allclose(made.of(nothing).values, [[3**-0.5] * 3 + [0.0] * 3])
    assert made.of(Dense(np.zeros((0, 5)))).values.shape == (0, 6)


# -- learning ----------------------------------------------------------------------------------------------------------


def test_the_perceptron_is_the_literal_one_on_the_features():
    Z = reference.features(X, lambda u: NormalDist().inv_cdf(u), 20, seed=0)
    literal = perceptron.primal(Z, Y, TASK, M=0.5 * np.eye(5) + 0.5)
    trace = ct.progressive_validation(model(), X, Y, task=TASK.tolist())
    np.testing.assert_array_equal(trace.mistake, literal.mistakes)
    np.testing.assert_allclose(trace.margin, literal.margins, rtol=1e-9, atol=1e-12)


def test_many_features_are_the_kernel_perceptron():
    some = X[:60], Y[:60]
    exact = ct.progressive_validation(
        ct.geometries.MultitaskKernelPerceptron(Gaussian(2.0), HALF), *some, task=TASK[:60]
    )
    near = ct.progressive_validation(model(kernel=Gaussian(2.0), n_components=20_000), *some, task=TASK[:60])
    np.testing.assert_array_equal(near.mistake, exact.mistake)
    assert np.abs(near.margin - exact.margin).max() < 0.3


MODELS = {
    "perceptron": model,
    "logistic": lambda: FourierClassifier(raw.MultitaskLogistic(), n_components=20),
    "mixture": lambda: FourierClassifier(raw.AdaptiveSharingClassifier("cheap"), n_components=20),
    "learned": lambda: FourierClassifier(ct.MultitaskPerceptron(ct.LogDet(1e-3)), n_components=20),
    "single": lambda: FourierClassifier(ct.MultitaskPerceptron(HALF, dtype="float32"), n_components=20),
    "inside": lambda: ct.OneVsRest(model()),
    "outside": lambda: FourierClassifier(ct.OneVsRest(ct.MultitaskPerceptron(HALF)), n_components=20),
}


@pytest.mark.parametrize("name", MODELS)
def test_blocks_pieces_and_single_records_give_the_same_bits(name, monkeypatch):
    whole = MODELS[name]()
    margins = whole.__stream_model__().learn(X, Y, TASK, classes=[-1, 1]).margin
    monkeypatch.setattr(fourier, "PIECE", 7 * 20)
    pieces = MODELS[name]()
    np.testing.assert_array_equal(pieces.__stream_model__().learn(X, Y, TASK, classes=[-1, 1]).margin, margins)
    ones = MODELS[name]()
    inner = ones.__stream_model__()
    told = [inner.learn(X[t : t + 1], Y[t : t + 1], TASK[t : t + 1], classes=[-1, 1]).margin for t in range(150)]
    np.testing.assert_array_equal(np.concatenate(told), margins)
    new = [*TASK[:-1].tolist(), "new"]
    for other in (pieces, ones, copy.deepcopy(whole), pickle.loads(pickle.dumps(whole))):  # noqa: S301
        np.testing.assert_array_equal(other.decision_function(X, new), whole.decision_function(X, new))


def test_dictionaries_one_by_one_are_the_sparse_rows():
    records = as_dictionaries(X)
    block, single = model().partial_fit(records, Y, task=TASK), model()
    for x, y, task in zip(records, Y, TASK.tolist(), strict=True):
        single.learn_one(x, y, task)
    told = [single.decision_function_one(x, task) for x, task in zip(records, TASK.tolist(), strict=True)]
    np.testing.assert_array_equal(told, block.decision_function(records, TASK))


@pytest.mark.parametrize("delay", [3, 40])
def test_labels_that_come_late_in_any_pieces(delay, monkeypatch):
    def margins():
        return ct.progressive_validation(model(), X, Y, task=TASK, delay=delay).margin

    whole = margins()
    monkeypatch.setattr(fourier, "PIECE", 11 * 20)
    np.testing.assert_array_equal(margins(), whole)


def test_labels_that_are_asked_for_in_any_pieces(monkeypatch):
    def asked():
        sampler = ct.SelectiveSampling(model(), ct.asking.Margin(0.5))
        trace = ct.progressive_validation(sampler, X, Y, task=TASK)
        return trace.queried, trace.margin

    queried, margin = asked()
    assert 0 < queried.sum() < len(Y)
    monkeypatch.setattr(fourier, "PIECE", 11 * 20)
    for found, wanted in zip(asked(), (queried, margin), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_numbers_and_their_intervals():
    Z, value = X[:, :1] * 2, np.sin(4 * X[:, 0]) + TASK
    for inner in (raw.MultitaskRegressor(), raw.AdaptiveSharingRegressor()):
        made = ct.geometries.RandomFourierRegressor(inner, n_components=60)
        assert is_regressor(made)
        made.fit(Z, value, TASK, n_passes=4)
        linear = clone(inner).fit(Z, value, TASK, n_passes=4)
        assert made.score(Z, value, TASK) > linear.score(Z, value, TASK) + 0.1
    low, high = made.__stream_model__().predict(Z, TASK).intervals(0.9)[1].T
    assert (low < high).all()


def test_weights_of_records_and_probabilities_and_variances():
    made = FourierClassifier(raw.MultitaskAROW(), n_components=20)
    made.fit(X, Y, TASK, sample_weight=np.where(np.arange(150) < 100, 1.0, 0.0))
    first = FourierClassifier(raw.MultitaskAROW(), n_components=20).fit(X[:100], Y[:100], TASK[:100])
    np.testing.assert_array_equal(made.predict_proba(X, TASK), first.predict_proba(X, TASK))
    surer = made.predict_proba(X, TASK).max(axis=1).mean()
    assert 0.5 < surer < 1.0


def test_a_task_is_forgotten_and_others_come():
    made = FourierClassifier(ct.MultitaskPerceptron(HALF, max_tasks=3), n_components=20)
    made.partial_fit(X, Y, task=TASK)
    assert len(made.tasks_) == 3
    before = made.decision_function(X[:5], ["nobody"] * 5)
    made.forget_task(made.tasks_[0])
    assert len(made.tasks_) == 2
    np.testing.assert_array_equal(made.decision_function(X[:5], ["nobody"] * 5), before)


# -- the estimator -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["perceptron", "mixture", "outside"])
def test_a_file_goes_on_to_the_bit(name, tmp_path):
    made, labels = MODELS[name]().partial_fit(X[:100], Y[:100], task=TASK[:100]), Y[100:]
    made.save(tmp_path / "model.coterie")
    again = ct.load(tmp_path / "model.coterie")
    for each in (made, again):
        each.partial_fit(X[100:], labels, task=TASK[100:])
    np.testing.assert_array_equal(again.decision_function(X, TASK), made.decision_function(X, TASK))
    assert repr(again) == repr(made)


def test_a_file_of_other_features_is_refused(tmp_path):
    made = model().fit(X, Y, TASK)
    data, arrays = made.__dump__()
    with pytest.raises(ValueError, match="weights are of 20 random features, expected 30"):
        model(n_components=30).__restore__(data, arrays)


def test_explained_it_is_all_rest():
    made = model().fit(X, Y, TASK)
    said = made.explain(X[0], TASK[0])
    assert (said.parts, said.base, said.rest_of) == ([], 0.0, "random Fourier features")
    assert said.rest == said.margin == made.decision_function(X[:1], TASK[:1])[0]
    with pytest.raises(AttributeError, match="a weight for each of these, none for a column"):
        _ = made.coef_


def test_parameters_of_what_is_inside():
    made = model().set_params(model__average=True, kernel__sigma=3.0)
    assert (made.model.average, made.kernel) == (True, Gaussian(3.0))
    assert clone(made).get_params(deep=False).keys() == {"model", "kernel", "n_components", "seed"}
    assert made._with_relation(ct.Pooled()).relation == ct.Pooled()
    assert not np.array_equal(model(seed=1).fit(X, Y).decision_function(X), model().fit(X, Y).decision_function(X))


@pytest.mark.parametrize("changed", [{"n_components": 30}, {"seed": 2}, {"kernel": Gaussian(2.0)}])
def test_other_features_are_refused_once_something_is_learned(changed):
    made = model().fit(X, Y, TASK)
    margins = made.decision_function(X, TASK)
    made.set_params(**changed)
    with pytest.raises(ValueError, match="kernel, n_components and seed cannot change once something is learned"):
        made.partial_fit(X, Y, task=TASK)
    made.set_params(n_components=20, seed=0, kernel=None)
    np.testing.assert_array_equal(made.decision_function(X, TASK), margins)


# -- the command -------------------------------------------------------------------------------------------------------


@pytest.fixture
def circles(tmp_path):
    """A file of records that no line tells apart."""
    rng = np.random.default_rng(0)
    points, users = rng.normal(size=(400, 2)), rng.integers(3, size=400)
    path = tmp_path / "circles.csv"
    lines = [f"u{u},{a:.3f},{b:.3f},{int(a * a + b * b > 1.4)}" for (a, b), u in zip(points, users, strict=True)]
    path.write_text("\n".join(["user,a,b,far", *lines]) + "\n")
    return path


def test_the_command_learns_with_them(circles, tmp_path):
    kept = tmp_path / "model.coterie"
    learner = "fourier(perceptron(mean(b=1)), gaussian(0.8), 50)"
    run("learn", circles, "-t", "user", "-l", "far", "--learner", learner, "-o", kept)
    made = ct.load(kept)
    assert "MeanRegularized" in run("relations", kept).output
    assert relation_name(ct.OneVsRest(model())) == relation_name(model()) == relation_name(model().model)
    assert (made.n_components, made.kernel, made.model.relation) == (50, Gaussian(0.8), ct.MeanRegularized(b=1.0))
    assert isinstance(
        LearnerSpec("fourier(n_components=50)", regression=True).make(), ct.geometries.RandomFourierRegressor
    )
    assert isinstance(LearnerSpec("fourier(adaptive, n_components=50)").make().model, ct.AdaptiveSharingClassifier)
