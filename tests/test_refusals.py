"""What no estimator can learn with, and parts that cannot be: one sentence says why, and nothing is learned."""

import math
from functools import partial
from itertools import product

import numpy as np
import pytest

import coterie as ct
import raw
from coterie.hypotheses import AdaptiveGradient
from coterie.potentials import PNorm
from streams import linear_stream

STREAM = linear_stream(5, n=20)

PNormed, Potential = ct.geometries.PNormMultitaskPerceptron, ct.geometries.PotentialMultitaskPerceptron
SecondOrder, SecondOrderRegressor = (
    ct.geometries.SecondOrderMultitaskPerceptron,
    ct.geometries.SecondOrderMultitaskRegressor,
)
Kernel, Sharing, Regressor = (
    ct.geometries.MultitaskKernelPerceptron,
    raw.AdaptiveSharingClassifier,
    raw.MultitaskRegressor,
)
AROW, SPECTRAL = raw.MultitaskAROW, ct.relations.Spectral()

VALUES = [
    (PNormed(p=1.5), "p must be 'auto' or a finite number, at least 2"),
    (PNormed(p=math.inf), "p must be"),
    (PNormed(p="best"), "p must be"),
    (PNormed(transformation="A"), "transformation must be 'Ainv', 'Ainvsqrt' or 'none'"),
    (Potential(rate=0.0), "rate must be a finite number above 0"),
    (Potential(rule=ct.rules.Ballseptron(0.1)), r"Ballseptron\(radius=0.1\) goes with PNorm\(2\)"),
    (SecondOrder(ridge=0.0), "ridge must be a finite number above 0"),
    (SecondOrder("halves"), "relation is 'halves'; expected"),
    (SecondOrder(solver="prima"), "solver must be 'auto', 'primal' or 'dual'"),
    (SecondOrder(kernel="rbf", solver="primal"), "needs the linear kernel"),
    (SecondOrder(dtype="int8"), "dtype must be"),
    (SecondOrderRegressor(ridge=0.0), "ridge must be a finite number above 0"),
    (SecondOrderRegressor(kernel="rbf", solver="primal"), "needs the linear kernel"),
    (AROW(r=-1.0, covariance="full"), "r must be a finite number above 0"),
    (AROW(covariance="full", half_life=9.0), "half_life needs"),
    (AROW(covariance="full", storage="hashed"), "storage must be"),
    (Regressor(targets="log"), "targets must be 'standardise' or"),
    (Sharing("all"), "one of default, cheap, ensemble, separable, signed, tabular, shares or"),
    (Sharing([]), "one or more models"),
    (Sharing([raw.MultitaskLogistic(), AROW(), raw.MultitaskLogistic()]), r"\[2\] is .*\[0\] again"),
    (Sharing([ct.MultitaskLogistic(), ct.MultitaskLogistic("half", max_tasks=3)]), r"\[0\] again"),
    (Sharing(local=-1.0), "local"),
    (Sharing(step=0.0), "step"),
    (Sharing(delay=-1), "delay must be a whole number, at least 0, got -1"),
    (
        ct.MultitaskPerceptron(SPECTRAL, average=True, max_tasks=3),
        "cannot have max_tasks while its weights are averaged",
    ),
    (ct.MultitaskPerceptron(SPECTRAL, storage="sparse"), "cannot keep what a learned relation needs"),
    (ct.MultitaskPerceptron(ct.LogDet(1e-3), storage="sparse"), "storage='sparse' cannot keep what a learned relation"),
    (ct.MultitaskPerceptron(ct.LogDet(1e-3), storage="hashed"), "storage='hashed' cannot keep what a learned relation"),
    (ct.batch.MultitaskSVC(C=0.0), "C must be a finite number above 0, got 0.0"),
    (ct.batch.MultitaskSVR(C=-1.0), "C must be a finite number above 0"),
    (ct.batch.MultitaskSVR(epsilon=-1.0), "epsilon must be a finite number, at least 0"),
    (ct.batch.MultitaskLinearSVR(epsilon="narrow"), "epsilon must be a finite number, at least 0, got 'narrow'"),
    (ct.batch.MultitaskLinearSVC(loss="log"), "loss must be 'squared_hinge' or 'hinge', got 'log'"),
    (ct.batch.MultitaskLinearSVR(loss="hinge"), "loss must be 'squared_epsilon_insensitive' or"),
    (ct.batch.MultitaskLinearSVC(ct.TaskGraph([(0, 1), (2, 3), (3, 4)])), "is not one of groups: take MultitaskSVC"),
    (ct.batch.MultitaskLinearSVC(ct.MeanRegularized(b=-0.5)), "has tasks that repel each other"),
]
KINDS = [
    (PNormed(ct.relations.VonNeumann(0.1)), "PNormed cannot learn under VonNeumann"),
    (Potential(relation=ct.LogDet(0.1)), "PotentialWeights cannot learn under LogDet"),
    (Potential("p-norm"), "potential must be a part such as PNorm"),
    (Potential(PNorm), "potential is the class PNorm; give one made of it"),
    (Potential(ct.HalfUpdate()), r"potential must have a method gradient, as PNorm has, got HalfUpdate\(\)"),
    (Potential(rule=ct.rules.PassiveAggressive()), "cannot move by PassiveAggressive"),
    (Potential(rule="ball"), "rule must be a part such as Perceptron"),
    (SecondOrder(ct.LogDet(0.1)), "FullCovariance cannot learn under LogDet"),
    (SecondOrderRegressor(ct.LogDet(0.1)), "FullCovariance cannot learn under LogDet"),
    (AROW(ct.LogDet(0.1), covariance="full"), "FullCovariance cannot learn"),
    (AROW(covariance="full", rule=ct.rules.Perceptron()), "a rule by confidence"),
    (Regressor(loss=ct.rules.Perceptron()), r"loss must be Squared\(\), Absolute"),
    (Regressor(average=True), "Averaged cannot average AdaptiveGradient"),
    (Regressor(ct.TaskGraph([(0, 1)])), r"AdaptiveGradient cannot learn under TaskGraph"),
    (Sharing([AdaptiveGradient()]), "Member"),
    (Sharing([ct.MultitaskRegressor()]), "members must be classifiers, got MultitaskRegressor"),
    (Sharing([ct.Member(AdaptiveGradient(), ct.Pooled(), ct.rules.AROW())]), "AdaptiveGradient"),
    (Kernel("linear", SPECTRAL, ct.budgets.Forgetron(10)), "cannot go with"),
    (ct.OneVsRest(Regressor()), "model must be an online classifier of two"),
    (ct.OneVsRest(raw.OneVsRest()), "model must be an online classifier of two classes"),
    (ct.OneVsRest(3), "model must be an online classifier of two classes, got 3"),
    (ct.SelectiveSampling(raw.OneVsRest()), "model must be an online classifier"),
    (ct.SelectiveSampling(Regressor()), "model must be an online classif"),
    (ct.SelectiveSampling(ct.views.MultiviewPerceptron()), "model must be an online classifier such as"),
]


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [(model, kind, said) for kind, held in ((ValueError, VALUES), (TypeError, KINDS)) for model, said in held],
)
def test_what_does_not_go_together_is_refused_before_anything_is_learned(model, error, message):
    with pytest.raises(error, match=message):
        model.fit(STREAM.X, STREAM.y, STREAM.task)
    assert not model.__sklearn_is_fitted__()


RATES = (ct.LogDet, ct.relations.VonNeumann)
RIDGES = (ct.relations.Covariance, ct.relations.BatchOptimal)
EPSILON, Primed, PRIMED = (
    ct.rules.EpsilonInsensitive,
    ct.relations.Primed,
    partial(ct.relations.Primed, ct.LogDet(1e-3)),
)
PARTS = [
    *(
        (partial(kind, bad), f"{name} of {kind.__name__} must be a finite number above 0, got")
        for name, kinds in (("eta", RATES), ("ridge", RIDGES))
        for kind, bad in product(kinds, (0, -1e-3, np.inf, np.nan, "1", None, True))
    ),
    *(
        (partial(kind, 1e-3, **{name: "M"}), f"{name} of {kind.__name__} must be {choices}, got 'M'")
        for name, choices in (("role", "'A' or 'Ainv'"), ("start", "'unit_trace' or 'identity'"))
        for kind in RATES + RIDGES
    ),
    (partial(ct.LogDet, 1e-3, weights="old"), "weights of LogDet must be 'previous' or 'new', got 'old'"),
    (partial(ct.LogDet, 1e-3, trace_norm="yes"), "trace_norm of LogDet must be True or False, got 'yes'"),
    (partial(ct.relations.BatchOptimal, 1e-3, step_norm=1), "step_norm of BatchOptimal must be True or False, got 1"),
    *((partial(ct.relations.BetaDivergence, bad), "beta of BetaDivergence must ") for bad in (-0.1, 1.1, np.nan, "0")),
    *(
        (partial(ct.relations.Bregman, bad, 1e-3), r"takes a divergence, such as BetaDivergence\(0.5\), got")
        for bad in (ct.relations.BetaDivergence, 0.5, None, ct.LogDet(1e-3))
    ),
    *((partial(PRIMED, 0, every=bad), "every must be a whole number") for bad in (0, -1, 0.5, "pass", True)),
    *((partial(PRIMED, bad), "epoch must be a fraction .* got") for bad in (-1, -0.1, 1.5, "soon", None, True, np.nan)),
    (partial(PRIMED, "auto", every=10), "every goes with an epoch in rounds or as a fraction, got epoch='auto'"),
    (partial(Primed, Primed(ct.LogDet(1e-3), 0.1), 0.1), "not primed itself"),
    (partial(Primed, "LogDet", 0.1), "takes a relation"),
    (partial(ct.relations.Spectral, 0.5), "p of Spectral must be"),
    (partial(EPSILON, -0.1), "epsilon must be a finite number, at least 0, got -0.1"),
    (partial(EPSILON, C=0), "C must be positive, got 0"),
    (partial(EPSILON, variant="III"), "variant must be"),
    (partial(ct.rules.Ballseptron, 0.0), "radius must be a finite number above 0"),
    (partial(PNorm, 1.5), "p must be 'auto' or a finite number, at least 2"),
    (partial(ct.potentials.ExponentiatedGradient, 0.0), "total must be a finite number above 0"),
    (partial(ct.batch.DivergenceFree, sigma=0), "sigma must be a finite number above 0"),
    (partial(ct.batch.FieldMixture, mix=1.5), "mix must lie between 0"),
    (partial(ct.batch.Separable, matrix=[[1, 2], [2, 1]]), "matrix must be positive semidefinite"),
    (partial(ct.batch.RecordGraph, 0.0), "gamma must be a finite number above 0, got 0.0"),
    (partial(ct.batch.RecordGraph, 1.0, 0), "neighbors must be a whole number of neighbours, at least 1"),
]


@pytest.mark.parametrize(("make", "message"), PARTS)
def test_parts_that_cannot_be_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
