"""What holds for an estimator however it learns: the checks of scikit-learn, pieces, files, copies and parameters."""

import copy
import warnings
from functools import partial
from itertools import product

import numpy as np
import pytest
from sklearn.base import clone, is_regressor
from sklearn.utils.estimator_checks import parametrize_with_checks

import coterie as ct
import raw
from coterie import MultitaskKernelPerceptron as KernelPerceptron
from coterie import PNormMultitaskPerceptron as PNormPerceptron
from coterie import SecondOrderMultitaskPerceptron as SecondOrderPerceptron
from coterie import spec
from public import NAMES
from slow import slow, slow_where
from streams import CASES, FORMS, linear_stream
from test_cuts import CUTTINGS, assert_same, blocks_of, late_stream, learned

MODELS = [
    ct.MultitaskPerceptron(),
    KernelPerceptron(),
    SecondOrderPerceptron(),
    PNormPerceptron(),
    ct.PotentialMultitaskPerceptron(ct.updates.ExponentiatedGradient(), rate=0.5),
    ct.HeterogeneousMultitaskPerceptron(),
    ct.MultitaskAROW(covariance="full"),
    ct.OneVsRest(ct.MultitaskPerceptron(ct.Independent())),
    raw.MultitaskRegressor(),
    raw.AdaptiveSharingRegressor(),
    ct.SecondOrderMultitaskRegressor(),
    ct.MultitaskMixedEffectsRegressor(scale="none"),
    ct.MultitaskMixedEffectsClassifier(scale="none"),
    ct.batch.MultitaskKernelRidge(),
    ct.batch.MultitaskKernelClassifier(),
    ct.batch.MultitaskSVC(),
    ct.batch.MultitaskSVR(),
    ct.batch.VectorFieldRidge(ct.batch.Separable()),
]
#: Estimators without these checks: of several views, of choices and questions, and two whose models others compile.
UNCHECKED = {
    *("MultiviewPerceptron", "OrthogonalMultiviewPerceptron", "ParallelPerceptrons"),
    *("Bandit", "SelectiveSampling", "MultitaskLogistic", "AdaptiveSharingClassifier"),
}


def test_every_estimator_is_checked():
    spec.find_class(spec.ESTIMATORS, "")  # imports all
    modules = {name: cls.__module__ for name, cls in spec.ESTIMATORS.items()}
    names = {name for name, where in modules.items() if where.startswith("coterie.") and ".server." not in where}
    assert names - {type(model).__name__ for model in MODELS} == UNCHECKED


# -- the checks of scikit-learn ----------------------------------------------------------------------------------------

#: Checks that contradict what learners of one pass do, and why.
ONE_PASS = {
    f"check_sample_weight_equivalence_on_{form}_data": "a weight of two is one move twice as long, not two moves"
    for form in ("dense", "sparse")
} | {"check_class_weight_classifiers": "weights of 1000 and .0001 are no more to learners by mistakes than their order"}
NO_WEIGHTS = dict.fromkeys(
    [
        *("check_sample_weights_pandas_series", "check_sample_weights_not_an_array", "check_sample_weights_list"),
        *("check_sample_weights_shape", "check_sample_weights_not_overwritten"),
        "check_classifiers_one_label_sample_weights",
    ],
    "rounds of all tasks weigh no records",
)
BY_CONFIDENCE = {"check_decision_proba_consistency": "of two records of one margin, the surer is the more probable"}


#: Classes whose records have weights in the plain run, and one of each other kind that takes all other checks there.
WEIGHED = (ct.MultitaskPerceptron,)
OF_EACH_KIND = (
    *(*WEIGHED, KernelPerceptron, ct.HeterogeneousMultitaskPerceptron, ct.OneVsRest),
    *(ct.AdaptiveSharingRegressor, ct.MultitaskMixedEffectsClassifier, ct.batch.MultitaskKernelClassifier),
    ct.batch.VectorFieldRidge,
)


def expected_to_fail(model):
    """The checks that contradict what an estimator is for, and why."""
    if not hasattr(model, "partial_fit") or isinstance(model, ct.SecondOrderMultitaskRegressor):
        return {}
    if isinstance(model, ct.HeterogeneousMultitaskPerceptron):
        return ONE_PASS | NO_WEIGHTS
    by_order = "check_class_weight_classifiers"  # AROW and a Forgetron, which shrinks what it has, do see the weights
    if isinstance(model, ct.MultitaskAROW) or isinstance(getattr(model, "budget", None), ct.updates.Forgetron):
        one_pass = {name: why for name, why in ONE_PASS.items() if name != by_order}
        return one_pass | (BY_CONFIDENCE if isinstance(model, ct.MultitaskAROW) else {})
    return ONE_PASS


def some_slowly(checks):
    """Leave the checks of most models, and of weights and of read-only memory, which compile each anew, to the slow tests."""

    def slowly(value):
        estimator, check = getattr(value, "values", value)
        weighs = "sample_weight" in str(check) and type(estimator) not in WEIGHED
        compiles = hasattr(estimator, "partial_fit") and (weighs or "readonly_memmap" in str(check))
        if compiles or type(estimator) not in OF_EACH_KIND:
            return pytest.param(estimator, check, marks=[*getattr(value, "marks", ()), pytest.mark.slow])
        return value

    names, values = checks.mark.args
    return pytest.mark.parametrize(names, [slowly(value) for value in values], **checks.mark.kwargs)


# scikit-learn's mixins are not inherited: importing scikit-learn would triple the time that `import coterie` takes. All
# that its BaseEstimator does is there, as these checks show.
with warnings.catch_warnings():
    warnings.filterwarnings("ignore", "Estimator .* does not inherit from `sklearn.base.BaseEstimator`", UserWarning)
    checks = some_slowly(parametrize_with_checks(MODELS, expected_failed_checks=expected_to_fail))


@checks
@pytest.mark.filterwarnings("ignore:records without a task", "ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_checks_of_scikit_learn(estimator, check, request, monkeypatch):
    if expected := request.node.get_closest_marker("xfail"):
        pytest.xfail(expected.kwargs["reason"])  # at once: what fails would be compiled for it, with weights
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # or one of them is skipped
    check(estimator)


# -- copies, and records in pieces -------------------------------------------------------------------------------------

STREAM = linear_stream(72, n=120, zeros=0.3)
NUMBERS = 7.0 * STREAM.X[:, 0] + 3.0 * STREAM.X[:, 1] * STREAM.task + 40.0


def labels(model):
    """Labels of the stream's records such as a model learns: of a column a task, numbers, or two."""
    if isinstance(model, ct.batch.VectorFieldRidge):
        return NUMBERS[:, None] + np.where(STREAM.X[:, :3] + STREAM.X[:, 1:4] > 0, 1.0, -1.0)
    return NUMBERS if is_regressor(model) else STREAM.y


# -- every kind of learner: in pieces, through files and as copies, with labels that come late --------------------------

TASKS = ("a", "b", "c", "d", "e")
B, TREE = ct.MeanRegularized(b=5), CASES["tree b"].relation
CLUSTERS, MEAN = CASES["clusters b"].relation, ct.MeanRegularized(share=0.3)
LOG_DET = ct.LogDet(0.01, step_norm=True)
MEMBERS = [
    ct.Member(ct.updates.LinearWeights("sparse"), CLUSTERS, ct.updates.PassiveAggressive(C=0.3)),
    ct.Member(ct.updates.AdaptiveGradient(0.5), B, ct.updates.Logistic()),
    ct.Member(ct.updates.DiagonalAROW(3.0), ct.HalfUpdate(), ct.updates.AROW()),
]

LEARNERS = {
    "AROW": lambda: raw.MultitaskAROW(),
    "AROW by b": lambda: raw.MultitaskAROW(B, r=3.0),
    "AROW tree": lambda: raw.MultitaskAROW(TREE),
    "logistic by b": lambda: raw.MultitaskLogistic(B),
    "intercepts": lambda: raw.MultitaskLogistic(ct.tasks.Intercepts()),
    "half-life": lambda: ct.MultitaskPerceptron(MEAN, half_life=(30.0, 7.0)),
    "half-life by b": lambda: raw.MultitaskLogistic(CLUSTERS, half_life=12.0),
    "half-life AROW": lambda: raw.MultitaskAROW(MEAN, r=3, half_life=(30.0, 7.0)),
    "sharing": lambda: raw.AdaptiveSharingClassifier(),
    "sharing cheap": lambda: raw.AdaptiveSharingClassifier("cheap"),
    "sharing ensemble": lambda: raw.AdaptiveSharingClassifier("ensemble"),
    "sharing members": lambda: raw.AdaptiveSharingClassifier(MEMBERS),
    "sharing learned": lambda: raw.AdaptiveSharingClassifier([ct.MultitaskPerceptron(LOG_DET), raw.MultitaskAROW(B)]),
    "log det": lambda: ct.MultitaskPerceptron(LOG_DET),
    "log det trace": lambda: ct.MultitaskPerceptron(ct.LogDet(0.01, weights="new", trace_norm=True), average=True),
    "von Neumann": lambda: ct.MultitaskPerceptron(ct.tasks.VonNeumann(0.01, step_norm=True)),
    "covariance": lambda: ct.MultitaskPerceptron(ct.tasks.Covariance(0.1)),
    "covariance inverse": lambda: ct.MultitaskPerceptron(ct.tasks.Covariance(0.1, step_norm=True, role="Ainv")),
    "batch optimal": lambda: ct.MultitaskPerceptron(ct.tasks.BatchOptimal(0.1)),
    "batch optimal inverse": lambda: ct.MultitaskPerceptron(ct.tasks.BatchOptimal(0.1, step_norm=True, role="Ainv")),
    "divergence": lambda: ct.MultitaskPerceptron(ct.tasks.Bregman(ct.tasks.BetaDivergence(0.5), 1e-4)),
    "spectral": lambda: ct.MultitaskPerceptron(ct.tasks.Spectral(3)),
    "spectral primed": lambda: ct.MultitaskPerceptron(ct.tasks.Primed(ct.tasks.Spectral(2), 20)),
    "primed": lambda: ct.MultitaskPerceptron(ct.tasks.Primed(LOG_DET, 20)),
    "primed auto": lambda: ct.MultitaskPerceptron(ct.tasks.Primed(ct.tasks.VonNeumann(0.01), "auto"), average=True),
    "every rounds": lambda: ct.MultitaskPerceptron(ct.tasks.Primed(ct.LogDet(0.01, role="Ainv"), 0, every=17)),
    "primed by b": lambda: ct.MultitaskPerceptron(ct.tasks.Primed(B, 10)),
    "p-norm": lambda: PNormPerceptron(MEAN, 3.0),
    "p-norm by b": lambda: PNormPerceptron(B, 2.5, "Ainvsqrt"),
    "p-norm auto": lambda: PNormPerceptron(CLUSTERS),
    "exponentiated": lambda: ct.PotentialMultitaskPerceptron(ct.updates.ExponentiatedGradient(), B, rate=0.3),
    "numbers": lambda: raw.MultitaskRegressor(CLUSTERS),
    "numbers as they are": lambda: raw.MultitaskRegressor(CLUSTERS, targets="as they are"),
    "numbers by tube": lambda: raw.MultitaskRegressor(CLUSTERS, ct.updates.EpsilonInsensitive(0.1), average=True),
    "numbers forgotten": lambda: raw.MultitaskRegressor(MEAN, half_life=(30.0, 7.0)),
    "numbers of all shares": lambda: raw.AdaptiveSharingRegressor(),
    "mixed effects": lambda: ct.MultitaskMixedEffectsClassifier(scale="none"),
    "mixed effects of numbers": lambda: ct.MultitaskMixedEffectsRegressor(0.5, 0, half_life=(30.0, 7.0)),
    "classes": lambda: ct.OneVsRest(ct.MultitaskPerceptron(B, average=True)),
    "classes by AROW": lambda: ct.OneVsRest(raw.MultitaskAROW(CLUSTERS)),
}
#: Their sums are those of products of matrices.
ROUNDED = {
    "second order": lambda: SecondOrderPerceptron(B, solver="primal"),
    "second order dual": lambda: SecondOrderPerceptron(CLUSTERS, solver="dual"),
    "second order Gaussian": lambda: SecondOrderPerceptron(B, kernel=ct.kernels.Gaussian(1.0)),
    "ridge": lambda: ct.SecondOrderMultitaskRegressor(B, solver="primal"),
    "ridge dual": lambda: ct.SecondOrderMultitaskRegressor(MEAN, solver="dual"),
    "AROW full": lambda: raw.MultitaskAROW(B, covariance="full"),
    "kernel": lambda: KernelPerceptron(ct.kernels.Polynomial(2), B),
    "kernel Gaussian": lambda: KernelPerceptron(ct.kernels.Gaussian(2.0), TREE),
    "kernel random": lambda: KernelPerceptron(ct.kernels.Gaussian(1.0), CLUSTERS, ct.updates.RandomRemoval(5, seed=3)),
    "kernel Forgetron": lambda: KernelPerceptron(ct.kernels.Gaussian(1.0), B, ct.updates.Forgetron(5)),
    "kernel projection": lambda: KernelPerceptron(ct.kernels.Gaussian(1.0), B, ct.updates.Projection(5, 0.1)),
    "kernel Projectron": lambda: KernelPerceptron(ct.kernels.Gaussian(1.0), B, ct.updates.Projectron(0.5, plus=True)),
    "kernel shared": lambda: KernelPerceptron(ct.kernels.Gaussian(1.0), B, ct.updates.SharedProjection(5, 0.1)),
    "kernel printed Forgetron": lambda: KernelPerceptron(
        ct.kernels.Gaussian(1.0), B, ct.updates.Forgetron(5, variant="printed")
    ),
    "kernel shifting Forgetron": lambda: KernelPerceptron(ct.kernels.Gaussian(1.0), B, ct.updates.ShiftingForgetron(5)),
    "sharing geometries": lambda: raw.AdaptiveSharingClassifier(
        [PNormPerceptron(B, p=3.0), SecondOrderPerceptron(B, solver="dual")]
    ),
}
#: Those that go through each form of records in the plain run, and those that take sparse ones.
OF_ALL_FORMS = ("p-norm auto", "numbers of all shares")
SPARSE = ("kernel", "kernel Forgetron")
#: These compile what others have in parts.
SELDOM = (
    *("half-life AROW", "half-life by b", "numbers by tube", "numbers forgotten", "sharing ensemble"),
    *("sharing members", "sharing cheap", "spectral primed", "log det trace", "batch optimal inverse"),
    *("every rounds", "primed auto", "batch optimal", "covariance inverse", "divergence", "primed by b", "von Neumann"),
)
EVERY_LEARNER = LEARNERS | ROUNDED


def seldom(name, form):
    usual = "csr" if name in SPARSE else "dense"
    return name not in OF_ALL_FORMS and (form != usual or name in SELDOM)


def late_records(model, form):
    """Records whose tasks come one after the other, with labels such as a model learns, and the classes there are."""
    stream = late_stream(67, zeros=0.0 if form == "dense" else 0.4)
    y, classes = stream.y, (-1, 1)
    if is_regressor(model):
        y, classes = 3 * stream.X[:, 0] + stream.task + 10, None
    elif isinstance(model, ct.OneVsRest):
        classes = ["high", "low", "middle"]
        y = np.array(["low", "middle", "high"])[np.digitize(stream.X[:, 0] + 0.3 * stream.X[:, 1], [-0.4, 0.4])]
    return FORMS[form](stream.X), y, stream.named(TASKS), classes


@pytest.mark.parametrize(("name", "form"), slow_where(product(LEARNERS, FORMS), seldom))
def test_pieces_files_and_copies_give_the_same_bits(name, form):
    X, y, task, classes = late_records(LEARNERS[name](), form)
    assert_same(LEARNERS[name], X, y, task, CUTTINGS[2:], classes)


@pytest.mark.parametrize(("name", "form"), slow_where(product(ROUNDED, FORMS), seldom))
def test_learners_by_products_of_matrices_are_the_same_to_rounding(name, form):
    X, y, task, _ = late_records(ROUNDED[name](), form)
    whole, margins = learned(ROUNDED[name](), X, y, task, [])
    for ends in CUTTINGS[2:]:
        model, learned_so_far = learned(ROUNDED[name](), X, y, task, ends, stop=30)
        np.testing.assert_allclose(learned_so_far, margins, rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(y * learned_so_far <= 0, y * margins <= 0)
        if hasattr(whole, "support_rounds_"):
            np.testing.assert_array_equal(model.support_rounds_, whole.support_rounds_)


@pytest.mark.parametrize(
    "name",  # of classes that come late: test_many_classes.py
    [slow(name) if name in SELDOM else name for name in EVERY_LEARNER if not name.startswith("classes")],
)
def test_predictions_before_labels_that_come_late(name):
    make, form = EVERY_LEARNER[name], "csr" if name in SPARSE else "dense"
    X, y, task, _ = late_records(make(), form)

    def trace(ends):
        return ct.progressive_validation(make(), blocks_of(X, y, task, ends), delay=7)

    whole, pieces = trace([]), trace(CUTTINGS[1])
    to_rounding = partial(np.testing.assert_allclose, rtol=1e-9, atol=1e-9)
    same = np.testing.assert_array_equal if name in LEARNERS else to_rounding
    same(pieces.margin, whole.margin)
    np.testing.assert_array_equal(pieces.updated, whole.updated)


# -- parameters that change ----------------------------------------------------------------------------------------

SPECTRAL = ct.tasks.Spectral(2.0)
CHANGES = [
    slow(ct.MultitaskPerceptron(SPECTRAL), {"relation": ct.LogDet(0.1)}, False),
    slow(ct.MultitaskPerceptron(ct.LogDet(0.001)), {"relation": ct.LogDet(0.2)}, False),
    (ct.MultitaskPerceptron(), {"relation": SPECTRAL}, False),
    (ct.MultitaskPerceptron(), {"relation": ct.Pooled()}, False),
    (ct.MultitaskPerceptron(), {"relation": ct.MeanRegularized(b=2.0)}, False),
    (ct.MultitaskPerceptron(), {"average": True}, False),
    (ct.MultitaskPerceptron(), {"half_life": 100.0}, False),
    (ct.MultitaskPerceptron(), {"storage": "sparse"}, False),
    (ct.MultitaskPerceptron(), {"rule": ct.updates.PassiveAggressive(0.1)}, False),
    (ct.MultitaskPerceptron(), {"max_tasks": 3, "class_weight": "balanced"}, True),
    (ct.MultitaskPerceptron(), {"relation": ct.HalfUpdate(), "average": True}, False),
    (KernelPerceptron(), {"relation": ct.Pooled()}, False),
    (KernelPerceptron(), {"kernel": ct.kernels.Gaussian(3.0)}, False),
    (raw.MultitaskLogistic(), {"step": "coin"}, False),
    (raw.MultitaskLogistic(), {"step": 0.1}, False),
    (raw.MultitaskLogistic(), {"relation": ct.tasks.Intercepts()}, False),
    (raw.MultitaskLogistic(), {"half_life": 100.0}, False),
    (raw.MultitaskLogistic(), {"max_tasks": 2}, True),
    (ct.MultitaskAROW(covariance="full"), {"covariance": "diagonal"}, False),
    (ct.HeterogeneousMultitaskPerceptron(), {"b": (0.0, 1.0)}, False),
    (ct.HeterogeneousMultitaskPerceptron(), {"b": 2.0}, False),
    (PNormPerceptron(), {"p": 3.0}, False),
    (ct.OneVsRest(ct.MultitaskPerceptron()), {"model": ct.MultitaskPerceptron(SPECTRAL)}, False),
    (raw.AdaptiveSharingRegressor(), {"max_tasks": 3}, True),
    (ct.MultitaskMixedEffectsRegressor(scale="none"), {"half_life": 9.0}, False),
    (ct.MultitaskMixedEffectsRegressor(scale="none"), {"many_features": "ignore"}, False),
    (raw.AdaptiveSharingClassifier(), {"local": 5.0}, False),
]


@pytest.mark.parametrize(("model", "changed", "allowed"), CHANGES, ids=repr)
@pytest.mark.parametrize("how", ["as it is", slow("a copy")])
def test_a_parameter_that_changes_is_heard_of_or_refused(model, changed, allowed, how, tmp_path):
    """Refused once something is learned, and nothing is lost; or the model goes on, and so does its file."""
    fitted = clone(model)
    task = () if isinstance(model, ct.HeterogeneousMultitaskPerceptron) else (STREAM.task,)
    X, y = STREAM.X, labels(model)

    def predictions(model):
        return np.asarray(getattr(model, "decision_function", model.predict)(X, *task))

    fitted.fit(X, y, *task)
    before, parameters = predictions(fitted), {name: getattr(model, name) for name in changed}
    if how == "a copy":
        fitted = copy.deepcopy(fitted)
    fitted.set_params(**changed)
    if allowed:
        fitted.partial_fit(X, -y, *task).save(tmp_path / "m.coterie")
        again = ct.load(tmp_path / "m.coterie")
        for fitted_model in (fitted, again):
            fitted_model.partial_fit(X, y, *task)
        np.testing.assert_array_equal(predictions(again), predictions(fitted))
        return
    named = " and ".join(name for name in spec.parameters_of(type(model)) if name in changed)
    for use in (lambda: fitted.partial_fit(X, y, *task), lambda: fitted.save(tmp_path / "m.coterie")):
        with pytest.raises(ValueError, match=f"^{named} cannot change after the first update; fit a new model"):
            use()
    assert not (tmp_path / "m.coterie").exists()
    np.testing.assert_array_equal(predictions(fitted.set_params(**parameters)), before)


def test_the_first_tasks_of_some_at_a_time_are_taken_up_though_new_ones_are_refused():
    model = ct.MultitaskPerceptron(max_tasks=2, new_task="raise").partial_fit([[1.0], [2.0]], [1, 0], task=["a", "b"])
    assert model.tasks_ == ["a", "b"]
    with pytest.raises(ValueError, match="task 'c' was never seen"):
        model.partial_fit([[1.0]], [1], task=["c"])


def test_a_task_for_which_there_is_no_memory_is_not_known(monkeypatch):
    model = ct.MultitaskPerceptron().partial_fit([[1.0]], [1], task=["a"], classes=[0, 1])
    learner = model.__stream_model__().learner

    def full(*arguments):
        raise MemoryError

    with monkeypatch.context() as patches:
        patches.setattr(type(learner), "resize", full)
        with pytest.raises(MemoryError):
            model.partial_fit([[1.0]], [0], task=["b"])
    assert model.tasks_ == ["a"]
    assert model.partial_fit([[1.0]], [0], task=["b"]).tasks_ == ["a", "b"]


#: What estimators show beside their parameters: what scikit-learn and River call, and what the documentation names.
SHOWN = {
    *("fit", "partial_fit", "predict", "predict_proba", "decision_function", "score", "save"),
    *("learn_one", "learn_many", "predict_one", "predict_many", "predict_proba_one", "predict_proba_many"),
    *("decision_function_one", "predict_interval", "predict_interval_one", "margin_variance"),
    *("explain", "largest_weights", "feature_names", "forget_task", "forget_tasks"),
    *("wants_label", "wants_labels", "skip_unlabelled"),
    *("gradient", "divergence", "curl", "plot"),
    *("get_params", "set_params", "clone", "get_metadata_routing"),
}
#: Parameters that are attributes of estimators without them, too.
EVERYWHERE = {"class_weight", "kernel", "max_tasks", "new_task", "relation", "task_column"}


@pytest.mark.parametrize("name", [name for name, member in NAMES.items() if hasattr(member, "__sklearn_tags__")])
def test_an_estimator_shows_its_parameters_what_it_learned_and_the_methods_that_are_documented(name):
    kind = NAMES[name]
    shown = {name for name in dir(kind) if not name.startswith("_") and not name.endswith("_")}
    requests = {name for name in shown if name.startswith("set_") and name.endswith("_request")}
    choosing = {"choose", "choose_many", "learn", "predict_members", "probabilities", "scores"}
    choosing = choosing if name == "Bandit" else set()
    assert shown - requests - set(spec.parameters_of(kind)) <= SHOWN | EVERYWHERE | choosing
