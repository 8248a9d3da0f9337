"""What no estimator can learn with, and parts that cannot be: one sentence says why, and nothing is learned."""

import math
from functools import partial
from itertools import product

import numpy as np
import pytest

import coterie as ct
import raw
from coterie.updates import AdaptiveGradient, DiagonalAROW, Forgetting, LinearWeights, PNorm, budgets
from streams import linear_stream

STREAM = linear_stream(5, n=20)

PNormed, Potential = ct.PNormMultitaskPerceptron, ct.PotentialMultitaskPerceptron
SecondOrder = ct.SecondOrderMultitaskPerceptron
Sharing, Regressor = raw.AdaptiveSharingClassifier, raw.MultitaskRegressor
AROW, SPECTRAL = raw.MultitaskAROW, ct.tasks.Spectral()
Linear, Ridge = partial(ct.MultitaskKernelPerceptron, "linear"), ct.batch.MultitaskKernelRidge
BY_KERNEL = ct.batch.MultitaskKernelClassifier, ct.batch.MultitaskSVC, ct.batch.MultitaskSVR
SVR = ct.batch.MultitaskSVR
GRAPH = ct.TaskGraph([(0, 1)])
LEARNED = ct.LogDet(0.1), ct.tasks.Primed(ct.LogDet(0.1), 0.5)
NO_BOUND = "max_tasks must be a whole number of 1 or more, or None, got"

VALUES = [
    (PNormed(p=1.5), "p must be 'auto' or a finite number, at least 2"),
    (PNormed(transformation="A"), "transformation must be 'Ainv', 'Ainvsqrt' or 'none'"),
    (Potential(rate=0.0), "rate must be a finite number above 0"),
    (SecondOrder(ridge=0.0), "ridge must be a finite number above 0"),
    (SecondOrder(solver="prima"), "solver must be 'auto', 'primal' or 'dual'"),
    (SecondOrder(kernel="rbf", solver="primal"), "needs the linear kernel"),
    (AROW(r=-1.0, covariance="full"), "r must be a finite number above 0"),
    (AROW(covariance="full", half_life=9.0), "half_life requires"),
    (AROW(covariance="full", storage="sparse"), "requires storage="),
    (Regressor(targets="log"), "targets must be 'standardise' or"),
    (Sharing("all"), "one of default, cheap, ensemble or"),
    (Sharing([]), "one or more models"),
    (ct.MultitaskPerceptron(SPECTRAL, average=True, max_tasks=3), "averaged weights cannot have max_tasks"),
    (ct.MultitaskPerceptron(SPECTRAL, storage="sparse"), "is not supported for a learned relation"),
    (raw.MultitaskLogistic(step="Coin"), "step must be a finite number above 0, or 'coin', got 'Coin'"),
    (raw.MultitaskLogistic(half_life=(1, 2, 3)), "half_life must be one number, or two"),
    *((raw.MultitaskLogistic(max_tasks=bad), f"{NO_BOUND} {bad}") for bad in (0, True, 2.0)),
    (ct.MultitaskPerceptron(GRAPH, max_tasks=3), r"max_tasks is not supported with TaskGraph\(.*\), which names all"),
    (AROW(covariance="full", max_tasks=3), "max_tasks is not supported with this learner, which cannot drop tasks"),
    (ct.SelectiveSampling(raw.MultitaskLogistic(max_tasks=3)), "max_tasks=3 is not supported with selective sampling"),
    *((make(dtype="float16"), "dtype must be 'float64' or 'float32', got 'float16'") for make in (Ridge, SVR)),
    *(
        (
            make("linear", relation=ct.batch.OptimalOutputKernel()),
            r"OptimalOutputKernel\(.*\) is learned only by MultitaskKern",
        )
        for make in BY_KERNEL
    ),
    *(
        (ct.SelectiveSampling(raw.MultitaskLogistic(), **limits), message)
        for limits, message in (
            ({"budget": 0}, "budget must be a whole number of 1 or more, or None, got 0"),
            ({"budget": 2.5}, "budget must be a whole number of 1 or more, or None, got 2.5"),
            ({"budget": 5, "window": 0}, "window must be a whole number of 1 or more, or None, got 0"),
            ({"window": 5}, "window=5 needs a limit; set budget or per_task"),
            ({"per_task": 0}, "per_task must be a whole number of 1 or more, or a share of the budget between 0 and 1"),
            ({"per_task": 0.5}, "per_task=0.5 is a share of the budget; set budget"),
            ({"budget": 9, "per_task": 1.5}, r"per_task must be .* a share of the budget in \(0, 1\], got 1.5"),
            *(({"seed": bad}, "seed must be a whole number from 0 to") for bad in (-1, None)),
        )
    ),
    (ct.batch.MultitaskSVC(C=0.0), "C must be a finite number above 0, got 0.0"),
    (ct.batch.MultitaskSVR(epsilon=-1.0), "epsilon must be a finite number, at least 0"),
]
KINDS = [
    *((Linear(relation=relation), "Dual cannot learn under .*it needs a relation by levels") for relation in LEARNED),
    (Linear(budget=100), r"budget must be one of coterie\.updates\.budgets, got 100"),
    (ct.MultitaskPerceptron(average=True, half_life=3), "Averaged cannot average Forget"),
    (ct.MultitaskPerceptron(GRAPH, half_life=(1, 2)), "Forgetting cannot learn under TaskGraph"),
    (Ridge(filter=ct.batch.NuMethod), r"filter is the class NuMethod; pass .*: NuMethod\(\.\.\.\)"),
    (Ridge(filter="nu"), r"filter must be a part such as Landweber\(steps=10\), got 'nu'"),
    (Ridge(filter=ct.Pooled()), "filter must be one of coterie.batch.filters"),
    (Ridge(ct.kernels.Gaussian), r"kernel is the class Gaussian; pass an instance: Gaussian\(\.\.\.\)"),
    (Ridge("linear", ct.tasks.Intercepts()), r"relation must be one of coterie.tasks, got Intercepts\(\)"),
    (PNormed(ct.tasks.VonNeumann(0.1)), "PotentialWeights cannot learn under VonNeumann"),
    (Potential("p-norm"), "potential must be a part such as PNorm"),
    (Potential(PNorm), "potential is the class PNorm; pass an instance"),
    (Potential(ct.HalfUpdate()), r"potential must have a method gradient, as PNorm has, got HalfUpdate\(\)"),
    (SecondOrder(ct.LogDet(0.1)), "FullCovariance cannot learn under LogDet"),
    (AROW(covariance="full", rule=ct.updates.Perceptron()), "a rule by confidence"),
    (Regressor(loss=ct.updates.Perceptron()), r"loss must be Squared\(\), Absolute"),
    (Regressor(average=True), "Averaged cannot average AdaptiveGradient"),
    (Regressor(ct.TaskGraph([(0, 1)])), r"AdaptiveGradient cannot learn under TaskGraph"),
    (Sharing([AdaptiveGradient()]), "Member"),
    (Sharing([ct.MultitaskRegressor()]), "members must be binary classifiers of one vector per record, got MultitaskR"),
    (Sharing([ct.Member(AdaptiveGradient(), ct.Pooled(), ct.updates.AROW())]), "AdaptiveGradient"),
    (ct.OneVsRest(Regressor()), "model must be an online binary classifier"),
    (Sharing([ct.views.MultiviewPerceptron()]), "members must be binary classifiers of one vector per record"),
    (Sharing([raw.OneVsRest()]), "members must be binary classifiers of one vector per record"),
    *(
        (ct.OneVsRest(model), "model must be an online binary classifier of one vector per record")
        for model in (raw.OneVsRest(), ct.HeterogeneousMultitaskPerceptron(), ct.SelectiveSampling(Sharing()))
    ),
    *(
        (ct.SelectiveSampling(model, ct.updates.RelationRow()), "learned relation .* has none; use Margin")
        for model in (ct.MultitaskPerceptron(), Sharing())
    ),
    *(
        (ct.SelectiveSampling(model), "model must be an online classifier")
        for model in (raw.OneVsRest(), ct.SelectiveSampling(ct.MultitaskPerceptron()))
    ),
    (
        ct.SelectiveSampling(ct.MultitaskPerceptron(), 0.3),
        r"ask must be a query strategy such as Margin\(c=0.3\), got 0.3",
    ),
    (ct.SelectiveSampling(ct.views.MultiviewPerceptron()), "model must be an online classifier such as"),
]


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [(model, kind, message) for kind, cases in ((ValueError, VALUES), (TypeError, KINDS)) for model, message in cases],
)
def test_what_does_not_go_together_is_refused_before_anything_is_learned(model, error, message):
    with pytest.raises(error, match=message):
        model.fit(STREAM.X, STREAM.y, STREAM.task)
    assert not model.__sklearn_is_fitted__()


RATES = (ct.LogDet, ct.tasks.VonNeumann)
RIDGES = (ct.tasks.Covariance, ct.tasks.BatchOptimal)
EPSILON, Primed = ct.updates.EpsilonInsensitive, ct.tasks.Primed
PRIMED = partial(Primed, ct.LogDet(1e-3))
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
    (partial(ct.LogDet, 1e-3, trace_norm="yes"), "trace_norm of LogDet must be True or False, got 'yes'"),
    (partial(ct.tasks.BatchOptimal, 1e-3, step_norm=1), "step_norm of BatchOptimal must be True or False, got 1"),
    *((partial(ct.tasks.BetaDivergence, bad), "beta of BetaDivergence must ") for bad in (-0.1, 1.1, np.nan, "0")),
    *(
        (partial(ct.tasks.Bregman, bad, 1e-3), r"takes a divergence, such as BetaDivergence\(0.5\), got")
        for bad in (ct.tasks.BetaDivergence, 0.5, None, ct.LogDet(1e-3))
    ),
    *((partial(PRIMED, 0, every=bad), "every must be a whole number") for bad in (0, -1, 0.5, "pass", True)),
    *((partial(PRIMED, bad), "epoch must be a fraction .* got") for bad in (-1, -0.1, 1.5, "soon", None, True, np.nan)),
    (partial(PRIMED, "auto", every=10), "every requires an epoch in rounds or as a fraction, got epoch='auto'"),
    (partial(Primed, Primed(ct.LogDet(1e-3), 0.1), 0.1), "that is not Primed"),
    (partial(Primed, "LogDet", 0.1), "requires a relation"),
    (partial(ct.tasks.Spectral, 0.5), "p of Spectral must be"),
    (partial(EPSILON, -0.1), "epsilon must be a finite number, at least 0, got -0.1"),
    (partial(PNorm, 1.5), "p must be 'auto' or a finite number, at least 2"),
    (partial(ct.updates.ExponentiatedGradient, 0.0), "total must be a finite number above 0"),
    (partial(ct.batch.DivergenceFree, sigma=0), "sigma must be a finite number above 0"),
    (partial(ct.batch.FieldMixture, mix=1.5), "mix must lie between 0"),
    (partial(ct.batch.Separable, matrix=[[1, 2], [2, 1]]), "matrix must be positive semidefinite"),
    *(
        (partial(AdaptiveGradient, **bad), next(iter(bad)))
        for bad in ({"step": 0.0}, {"start": 0.0}, {"storage": "disk"})
    ),
    (partial(DiagonalAROW, r=-1.0), "r must"),
    (partial(DiagonalAROW, r=1e-51), "r must be at least 1e-50"),
    (partial(Forgetting, LinearWeights(), shared=0), "shared must be a positive half-life, got 0"),
    (partial(Forgetting, LinearWeights(), own=math.nan), "own must be a positive half-life, got nan"),
    *(
        (partial(ct.updates.Margin, bad), f"c of Margin must be a finite number above 0, got {bad}")
        for bad in (0, math.nan)
    ),
    (partial(ct.updates.RelationRow, of="M"), "of of RelationRow must be 'A' or 'Ainv', got 'M'"),
    (partial(ct.updates.Randomly, rate=1.5), "rate of Randomly must be a number above 0 and at most 1, got 1.5"),
    *(
        (partial(ct.kernels.Gaussian, bad), f"sigma must be a finite number above 0, got {bad}")
        for bad in (0.0, math.nan)
    ),
    (partial(ct.kernels.Polynomial, 0), "degree must be a whole number, at least 1, got 0"),
    *(
        (partial(ct.kernels.Pairwise, "laplacian", bad), "the kernel 'laplacian' does not take")
        for bad in ({"alpha": 1.0}, {"gamma": "wide"}, 3)
    ),
    *(
        (partial(budget, bad), f"size must be a whole number of support vectors, at least 1, got {bad}")
        for budget, bad in ((budgets.RandomRemoval, 0), (budgets.Forgetron, 2.5), (budgets.Projection, -1))
    ),
    (partial(budgets.Forgetron, 5, "new"), "variant must be 'corrected' or 'printed', got 'new'"),
    (partial(budgets.Projection, 5, eta=0), "eta must be a finite number above 0, got 0"),
    (partial(budgets.Projectron, 0.1, plus=3), "plus must be True or False, got 3"),
    (partial(ct.MeanRegularized, b=1, share=0.5), "pass either b or share, got b=1 and share=0.5"),
    (partial(ct.Hierarchy, "/", b=1, share=0.5), "pass either b or share, got b=1 and share=0.5"),
    *(
        (partial(ct.MeanRegularized, b=bad), f"b must be a finite number above -1 .*{bad}")
        for bad in (-1, np.nan, np.inf)
    ),
    (partial(ct.Clusters, ["a"], b=1), "groups must be a mapping from task to group, got list"),
    (partial(ct.Clusters, {"a": {"fr": 1}}, b=1), r"groups must be hashable, got {'fr': 1}"),
    (partial(ct.Hierarchy, {}, b=1), "parents must map nodes to parents or be a separator, got {}"),
    (partial(ct.Hierarchy, {"a": "b", "b": "a"}, b=1), "parents has a cycle through"),
    (partial(ct.Hierarchy, {"a": "b"}, b=(1, 2)), "got 2 for 1 levels"),
    (partial(ct.Hierarchy, "/", share=(0.8, 0.5)), "share must lie between 0"),
    *((partial(ct.updates.PassiveAggressive, C=bad), f"C must be positive, got {bad}") for bad in (0, np.nan)),
    (partial(ct.updates.PassiveAggressive, variant="III"), "variant must be '0', 'I' or 'II', got 'III'"),
]


@pytest.mark.parametrize(("make", "message"), PARTS)
def test_parts_that_cannot_be_are_refused(make, message):
    with pytest.raises(ValueError, match=message) as refusal:
        make()
    assert "\n" not in str(refusal.value)
