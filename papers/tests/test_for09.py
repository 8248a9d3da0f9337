"""FOR09 rerun: the pieces on made-up views, and quickly on the real data."""

import numpy as np
import pytest
from papers import for09
from papers.__main__ import main
from papers.data import views as data
from papers.omcl import MultiCue
from papers.results import Rerun
from scipy.sparse import csr_array

import coterie as ct
from reference.budgets import projection


def made_up(n=300, seed=0):
    rng = np.random.default_rng(seed)
    thing = rng.normal(size=(n, 6))
    X = {str(k): thing + rng.normal(size=thing.shape) for k in range(2)}
    return data.ViewDataset("made up", X, np.where(thing[:, 0] > 0, 1, -1).astype(np.int8))


def multi_cue(X, y, kernels, eta, C):
    """The margins and weights of OMCL for two classes (Jie, Orabona, Caputo 2009; FOR09 §4.2.3): PA-I on those of views.

    Each view learns with Projectron++ by its own margins, so that its rounds can be made before; eta is a norm.
    """
    omega, margins, nobody = np.zeros(len(kernels)), [], [0] * len(y)
    runs = [
        projection(x, y, nobody, np.eye(1), kernel, np.inf, eta, plus=True)
        for x, kernel in zip(X, kernels, strict=True)
    ]
    for t in range(len(y)):
        margins.append(float(omega @ [run.margins[t] for run in runs]))
        h = np.array([run.after[t] for run in runs])
        loss, length = 1 - y[t] * float(omega @ h), float(h @ h)
        omega = omega + y[t] * h * (min(C, loss / length) if loss > 0 and length > 0 else 0.0)
    return np.array(margins), omega


@pytest.mark.parametrize("eta", [0.1, 0.6])
def test_multi_cue_learner_is_the_literal_one(eta):
    whole = made_up(120)
    kernels = {"0": ct.kernels.Gaussian(2.0), "1": ct.kernels.Polynomial(2)}
    functions = [lambda x, z: np.exp(-((x - z) ** 2).sum() / 8), lambda x, z: (x @ z + 1.0) ** 2]
    first = [block[:90] for block in whole.X.values()]
    margins, weights = multi_cue(first, whole.y[:90].astype(float), functions, eta, 0.5)
    grams = {name: ct.kernels.gram(kernels[name], block, block[:90]) for name, block in whole.X.items()}
    model = MultiCue(eta, 0.5)
    error = model.learn({name: values[:90] for name, values in grams.items()}, whole.y[:90])
    wrong = np.where(margins >= 0, 1, -1) != whole.y[:90]
    assert error == pytest.approx(100 * wrong.mean())
    np.testing.assert_allclose(model.weights, weights, rtol=1e-7)
    assert set(model.predict({name: values[90:] for name, values in grams.items()})) <= {1, -1}


def test_curves_are_errors_of_one_pass():
    whole = made_up()
    curves = for09.curves("made up", whole, range(3), (1, 2.5))
    both = ["Perceptron, in parallel", "Perceptron, side by side"]
    assert list(curves.lines) == ["Perceptron, view 0", "Perceptron, view 1", *both, "MMP", "OMMP"]
    shuffled = whole.taken(np.random.default_rng(2).permutation(300))
    trace = ct.progressive_validation(ct.views.MultiviewPerceptron(2.5), shuffled.X, shuffled.y)
    assert curves.lines["MMP"][2, 1] == 100 * trace.error
    assert np.array_equal(curves.lines["MMP"][:, 0], curves.lines["Perceptron, side by side"][:, 0])
    gaps = curves.lines["Perceptron, view 0"][:, 0] - curves.lines["MMP"][:, 1]
    claim = curves.better("it is", "MMP", "Perceptron, view 0")
    assert (claim.said, claim.seen) == ("made up: it is", f"{gaps.mean():+.2f}±{gaps.std():.2f} points")
    assert claim.holds
    assert not curves.hardly_better("", "MMP", "Perceptron, view 0", 0.5).holds
    heads, rows = curves.table().rows()
    assert heads == ["made up: error in %", "chosen", "p=1"]
    assert [row[0] for row in rows] == list(curves.lines)
    assert list(curves.picture().curves) == list(curves.lines)


@pytest.mark.slow
def test_at_p_of_1_an_algorithm_is_the_perceptron_and_does_not_count():
    """Each shuffle has the exponent above 1 that the others choose."""
    errors = np.array([[1.0, 5.0, 6.0], [1.0, 5.0, 4.0], [1.0, 7.0, 5.0]])
    curves = for09.Curves("made up", (1, 2, 3), {"MMP": errors, "Perceptron": np.full((3, 1), 4.5)})
    assert curves.best("MMP").tolist() == [6.0, 4.0, 7.0]
    assert not curves.better("", "MMP", "Perceptron").holds


@pytest.mark.slow
def test_the_risk_of_the_mean_hypothesis_is_bounded_quickly():
    """By losses of at most 1, and by the hinge loss, to which the thesis applies it."""
    result = for09.mean_hypothesis(Rerun(3, quick=True))
    assert [claim.holds for claim in result.claims] == [True, True]
    assert result.claims[0].seen == "in 0 of 3"
    on_the_way, risk = (
        [cell.ours for cell in result.tables[0].cells if cell.of == of]
        for of in ("loss on the way", "risk of the mean")
    )
    assert risk[1] < on_the_way[1]


def test_views_are_cut_from_columns():
    X = csr_array(np.array([[3.0, 4.0, 0.0, 2.0, 9.0]]))
    views = data.split(X, 2, normalised=True)
    assert [block.toarray().tolist() for block in views.values()] == [[[0.6, 0.8]], [[0.0, 1.0]]]


def test_a_kind_of_object_that_is_unknown():
    with pytest.raises(KeyError, match="no kind of object is called 'lion'"):
        data.eth80_pair("horse", "lion")


@pytest.mark.slow
@pytest.mark.data
def test_the_loaders():
    halves, pair, digits, news = (
        data.a9a_halves(),
        data.eth80_pair("cow", "dog"),
        data.mfeat(),
        data.newsgroups_views(3),
    )
    assert [block.shape for block in halves.X.values()] == [(32561, 61)] * 2
    assert repr(pair) == "ViewDataset('eth80 cow/dog': 820 rows; color 64, hog 512, shape 256, gray20 400)"
    assert pair.y.sum() == 0
    np.testing.assert_allclose(pair.X["color"].sum(axis=1), 1.0)
    assert len(digits.X) == 6
    assert (digits.y == 1).sum() == 1000
    assert [block.shape for block in news.X.values()] == [(18846, 22845)] * 3
    norms = np.sqrt(news.X["0"].multiply(news.X["0"]).sum(axis=1))
    assert set(norms.round(9)) <= {0.0, 1.0}


@pytest.mark.slow
@pytest.mark.data
def test_adult_quickly():
    claim = for09.adult(seeds=range(2), p=(1, 5), n=3000)
    assert all(claim.error(name) < claim.error("Perceptron, view 1") - 2 for name in ("MMP", "OMMP"))
    assert abs(claim.error("MMP") - claim.error("OMMP")) < 1


@pytest.mark.slow
@pytest.mark.data
def test_pictures_quickly():
    train, test = for09.pictures("cow/dog", range(1), (2, 5))
    assert train.error("OMMP: hog, gray20") < train.error("Perceptron: shape")
    assert test.error("OMMP: four") < test.error("OMMP: hog, gray20")
    assert all(test.error(name) < train.error(name) for name in ("OMMP: hog, gray20", "Perceptron: hog"))
    assert train.lines["OMCL: four"].shape == (1, 1)


@pytest.mark.slow
@pytest.mark.data
def test_open_ends_quickly():
    halves, digits, photographs = for09.beyond(range(1), n=2000)
    for claim in (halves, digits):
        assert claim.error("OMMP p=2, aggressive") < claim.error("OMMP p=2")
        assert claim.lines["OMMP p=2, aggressive"].shape == (1, len(for09.STEPS))
    assert photographs.title.startswith("eth80 cow/dog")


@pytest.mark.slow
@pytest.mark.data
def test_the_figure_quickly(capsys):
    main(["for09/figure4.2", "--quick"])
    assert "a9a, linear, 600 records: MMP and OMMP cannot be told apart" in capsys.readouterr().out
