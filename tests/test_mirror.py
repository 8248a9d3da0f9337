"""Mirror descent that finds out how different its tasks are: the definition, the theorem, and every face."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp

import coterie as ct
from coterie.bounds.mirror import mirror_bound
from coterie.hypotheses.mirror import VARIANCES, best_b
from coterie.jobs.shares import relation_name
from coterie.potentials import ExponentiatedGradient, PNorm
from reference import mirror as reference
from streams import as_dictionaries, linear_stream

STREAM = linear_stream(8, n=120, zeros=0.3)
X, Y, TASK, K = STREAM.X, STREAM.y, STREAM.task, 5
FEW = (1.0, 0.25, 0.01, 0.0)


def learned(model, X=X, y=Y, task=TASK, n=K):
    return ct.progressive_validation(model, X, y, task=task.tolist(), tasks=list(range(n)))


# -- the definition ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("radius", [0.5, 3.0])
@pytest.mark.parametrize("variances", [FEW, (0.3,)])
def test_equal_to_the_definition(radius, variances):
    model = ct.MultitaskMirrorDescent(radius=radius, variances=variances)
    trace, literal = learned(model), reference.literal(X, Y, TASK, K, variances, radius)
    np.testing.assert_allclose(trace.margin, literal.margins, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(trace.updated, literal.losses > 0)
    assert model.state_.model.scalars[0] == pytest.approx(literal.gap, rel=1e-9)


WEIGHTS = np.random.default_rng(0).choice([0.0, 1.0, 0.25, 3.0], len(Y))


def test_a_weight_is_a_factor_of_the_loss_and_of_its_gradient():
    model = ct.MultitaskMirrorDescent(variances=FEW)
    trace = ct.progressive_validation(model, X, Y, task=TASK, tasks=list(range(K)), sample_weight=WEIGHTS)
    literal = reference.literal(X, Y, TASK, K, FEW, weights=WEIGHTS)
    np.testing.assert_allclose(trace.margin, literal.margins, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(trace.updated, literal.losses > 0)
    balanced = ct.MultitaskMirrorDescent(class_weight={1.0: 2.0}).fit(X, Y, TASK)
    again = ct.MultitaskMirrorDescent().fit(X, Y, TASK, sample_weight=np.where(Y > 0, 2.0, 1.0))
    np.testing.assert_array_equal(balanced.coef_, again.coef_)


@pytest.mark.parametrize("potential", [PNorm(3.0), ExponentiatedGradient(2.0), PNorm(2.0)])
def test_any_potential_equal_to_the_definition(potential):
    d, some = X.shape[1], slice(0, 40)
    model = ct.MultitaskMirrorDescent(potential, 2.0, FEW)
    literal = reference.literal(
        X[some], Y[some], TASK[some], K, FEW, 2.0, potential.gradient, potential.norm, potential.smoothness(d)
    )
    trace = learned(model, X[some], Y[some], TASK[some])
    np.testing.assert_allclose(trace.margin, literal.margins, rtol=1e-9, atol=1e-9)


def test_the_norm_of_two_is_none():
    same = [learned(ct.MultitaskMirrorDescent(each, variances=FEW)) for each in (None, PNorm(2.0))]
    np.testing.assert_allclose(same[0].margin, same[1].margin, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("tasks", [1, 2, 3, 50])
@pytest.mark.parametrize("variance", [1.0, 0.5, 0.01, 0.0])
def test_the_best_b_is_the_best(tasks, variance):
    def factor(b):
        rho = variance * (tasks - 1) / tasks
        return (1 + b * rho) * (1 + (tasks - 1) / (1 + b))

    b = best_b(variance, tasks)
    if b < math.inf:
        rho = variance * (tasks - 1) / tasks
        assert all(factor(b) <= factor(other) * (1 + 1e-12) for other in np.geomspace(1e-4, 1e6, 200))
        if b > 0:
            assert factor(b) == pytest.approx((math.sqrt(1 - rho) + math.sqrt(rho * (tasks - 1))) ** 2)
    else:
        assert variance == 0.0


# -- the theorem -------------------------------------------------------------------------------------------------------


def streams(seed, kind, n=600, d=6, K=8):
    """Records of unit length, and what they are compared with, whose length is D."""
    rng = np.random.default_rng(seed)
    records, task = rng.normal(size=(n, d)), rng.integers(K, size=n)
    records /= np.linalg.norm(records, axis=1, keepdims=True)
    own = {"alike": 0.0, "near": 0.2, "unlike": 1.0, "mirrored": 1.0, "noise": 1.0}[kind]
    U = (1 - own) * rng.normal(size=d) + own * rng.normal(size=(K, d))
    if kind == "mirrored":
        U[1::2] = -U[0]
    U *= 5.0 / np.linalg.norm(U, axis=1).max()
    y = np.where((records * U[task]).sum(axis=1) > 0, 1.0, -1.0)
    return records, rng.choice([-1.0, 1.0], n) if kind == "noise" else y, task, U


@pytest.mark.parametrize("kind", ["alike", "near", "unlike", "mirrored", "noise"])
@pytest.mark.parametrize("potential", [None, PNorm(2.5)], ids=str)
def test_the_bound_holds_for_the_hinge_loss(kind, potential):
    n = 600 if potential is None else 80
    records, y, task, U = streams(3, kind, n)
    for radius in (1.0, 5.0):
        model = ct.MultitaskMirrorDescent(potential, radius, FEW)
        trace = learned(model, records, y, task, 8)
        hinge = np.maximum(0.0, 1.0 - y * trace.margin).sum()
        for comparator in (U, U.mean(axis=0) + np.zeros_like(U), 0.3 * U, np.zeros_like(U)):
            bound = mirror_bound(model, trace, records, comparator)
            assert trace.mistakes <= hinge <= bound.mistakes
            assert bound.regret == pytest.approx(bound.regrets.min() + bound.mixing)


def test_the_bound_holds_for_losses_that_count_by_weight():
    model = ct.MultitaskMirrorDescent(radius=2.0, variances=FEW)
    trace = ct.progressive_validation(model, X, Y, task=TASK, tasks=list(range(K)), sample_weight=WEIGHTS)
    hinge = WEIGHTS @ np.maximum(0.0, 1.0 - Y * trace.margin)
    rng = np.random.default_rng(2)
    for scale in (0.0, 0.3, 1.0, 3.0):
        comparator = scale * rng.normal(size=(K, X.shape[1]))
        assert WEIGHTS @ trace.mistake <= hinge <= mirror_bound(model, trace, X, comparator).mistakes


def test_the_bound_holds_against_an_adversary():
    """Who always says the contrary of what is predicted, with records of many lengths."""
    rng = np.random.default_rng(0)
    model = ct.MultitaskMirrorDescent(radius=2.0, variances=FEW)
    records, task, labels, margins = rng.normal(size=(150, 4)) * rng.choice([0.1, 1, 9], (150, 1)), [], [], []
    for t, x in enumerate(records):
        i = int(rng.integers(3))
        margin = float(model.decision_function([x], [i])[0]) if t else 0.0
        margins.append(margin)
        labels.append(-1 if margin >= 0 else 1)
        task.append(i)
        model.partial_fit([x], labels[-1:], task=[i], classes=[-1, 1], tasks=[0, 1, 2])
    again = ct.MultitaskMirrorDescent(radius=2.0, variances=FEW)
    trace = learned(again, records, np.array(labels), np.array(task), 3)
    np.testing.assert_array_equal(trace.margin, margins)
    for scale in (0.0, 0.1, 1.0):
        bound = mirror_bound(again, trace, records, scale * rng.normal(size=(3, 4)))
        assert np.maximum(0.0, 1.0 - np.array(labels) * trace.margin).sum() <= bound.mistakes


def test_with_the_variance_known_the_regret_is_that_of_the_paper_or_less():
    for kind in ("alike", "near", "unlike"):
        records, y, task, U = streams(1, kind)
        N, D = len(U), float(np.linalg.norm(U, axis=1).max())
        variance = ((U - U.mean(axis=0)) ** 2).sum() / ((N - 1) * D**2)
        model = ct.MultitaskMirrorDescent(radius=D, variances=[min(variance, 1.0)])
        trace = learned(model, records, y, task, N)
        bound, m = mirror_bound(model, trace, records, U), int(trace.updated.sum())
        assert bound.mixing == 0.0
        assert bound.regret <= 2 * D * math.sqrt((1 + variance * (N - 1)) * (m + N))


@pytest.mark.parametrize("kind", ["alike", "unlike"])
def test_it_finds_the_variance(kind):
    records, y, task, _ = streams(5, kind, n=1500)
    made = {name: ct.MultitaskMirrorDescent(radius=5.0, variances=each) for name, each in
            {"adaptive": None, "own": [1.0], "pooled": [0.0]}.items()}  # fmt: skip
    mistakes = {name: learned(model, records, y, task, 8).mistakes for name, model in made.items()}
    assert mistakes["adaptive"] <= 1.2 * min(mistakes["own"], mistakes["pooled"])
    weights = made["adaptive"].variance_weights_
    assert (np.argmax(weights) > 3) == (kind == "alike")
    assert weights.sum() == pytest.approx(1.0)
    assert (made["adaptive"].relation_matrix_[0, 1] > 0.05) == (kind == "alike")


# -- every face --------------------------------------------------------------------------------------------------------


def test_every_form_of_input_and_any_cut():
    whole = learned(ct.MultitaskMirrorDescent(variances=FEW)).margin
    for given in (sp.csr_array(X), as_dictionaries(X)):
        np.testing.assert_allclose(learned(ct.MultitaskMirrorDescent(variances=FEW), given).margin, whole, rtol=1e-9)
    ones = ct.MultitaskMirrorDescent(variances=FEW).__stream_model__()
    told = [
        ones.learn_rounds(X[t : t + 1], Y[t : t + 1], TASK[t : t + 1], tasks=list(range(K)), classes=[-1, 1]).margin[0]
        for t in range(len(Y))
    ]
    np.testing.assert_allclose(told, whole, rtol=1e-9)


def test_tasks_that_come_late_and_nobody_has_seen():
    model = ct.MultitaskMirrorDescent(variances=FEW)
    for t in range(60):
        told = model.decision_function(X[t : t + 1], [int(TASK[t])])[0] if t else 0.0
        margin = model.__stream_model__().learn_rounds(X[t : t + 1], Y[t : t + 1], TASK[t : t + 1], classes=[-1, 1])
        assert margin.margin[0] == pytest.approx(told, rel=1e-9)
    new = model.decision_function(X[:5], ["new"] * 5)
    met = ct.MultitaskMirrorDescent(variances=FEW).fit(X[:60], Y[:60], TASK[:60])
    met.__stream_model__().learn_rounds(X[:1], Y[:1], TASK[:1], tasks=["new"], late=1)  # met, and not learned from
    np.testing.assert_allclose(met.decision_function(X[:5], ["new"] * 5), new, rtol=1e-9)


def test_a_task_that_is_forgotten_leaves_nothing():
    model = ct.MultitaskMirrorDescent(variances=FEW).fit(X, Y, TASK)
    model.forget_task(2)
    held = model.state_.model
    np.testing.assert_allclose(held.total, held.raw.sum(axis=0))
    assert len(model.tasks_) == len(held.raw) == K - 1
    assert model.coef_.shape == (K - 1, X.shape[1])
    np.testing.assert_allclose(
        (X[:9] * model.coef_[0]).sum(axis=1), model.decision_function(X[:9], [model.tasks_[0]] * 9)
    )


def test_a_file_goes_on(tmp_path):
    model = ct.MultitaskMirrorDescent(PNorm(3.0), 2.0, FEW).fit(X[:50], Y[:50], TASK[:50])
    model.save(tmp_path / "model.coterie")
    again = ct.load(tmp_path / "model.coterie")
    for each in (model, again):
        each.partial_fit(X[50:70], Y[50:70], task=TASK[50:70])
    np.testing.assert_array_equal(again.decision_function(X[:9], TASK[:9]), model.decision_function(X[:9], TASK[:9]))
    data, arrays = model.__dump__()
    with pytest.raises(ValueError, match="4 experts, and 1 variances"):
        ct.MultitaskMirrorDescent(PNorm(3.0), 2.0, [1.0]).__restore__(data, arrays)
    for name in ("total", "scalars", "losses"):
        key = next(each for each in arrays if each.endswith(name))
        with pytest.raises(ValueError, match=r"finite|negative"):
            ct.MultitaskMirrorDescent(PNorm(3.0), 2.0, FEW).__restore__(data, {**arrays, key: arrays[key] * np.nan})


def test_baselines_and_parameters():
    model = ct.MultitaskMirrorDescent()
    assert model.with_relation(ct.Pooled()).variances == (0.0,)
    assert model.baselines()["independent"].variances == (1.0,)
    assert model.baselines()["intercepts"].relation == ct.Intercepts()
    assert len(VARIANCES) == 8
    assert relation_name(model) == "MultitaskMirrorDescent()"
    with pytest.raises(TypeError, match="finds its relation out: it cannot learn under HalfUpdate"):
        model.with_relation(ct.HalfUpdate())
    model.fit(X, Y, TASK).set_params(variances=[0.5])
    with pytest.raises(ValueError, match="the number of variances cannot change once something is learned"):
        model.predict(X, TASK)


REFUSED = {
    "radius": ({"radius": 0.0}, ValueError, "radius must be .*got 0"),
    "variance": ({"variances": [2.0]}, ValueError, r"variances must be numbers from 0 to 1, at least one, got \[2.0\]"),
    "none": ({"variances": []}, ValueError, "at least one"),
    "one": ({"variances": 0.5}, ValueError, "variances must be numbers"),
    "potential": ({"potential": 3}, TypeError, "potential must be a part such as PNorm"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name):
    given, kind, message = REFUSED[name]
    with pytest.raises(kind, match=message):
        ct.MultitaskMirrorDescent(**given).fit(X, Y, TASK)


def test_a_bound_of_other_shapes_is_refused():
    model = ct.MultitaskMirrorDescent()
    trace = learned(model)
    with pytest.raises(ValueError, match=r"U must have shape \(5, 4\)|U must have shape"):
        mirror_bound(model, trace, X, np.zeros((2, 2)))
    with pytest.raises(ValueError, match="X must have one row a round"):
        mirror_bound(model, trace, X[:3], np.zeros((K, X.shape[1])))
