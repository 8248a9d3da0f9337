"""What holds for an estimator however it learns: the checks of scikit-learn, clones, pickles, copies and parameters.

`MODELS` has a class once; its other configurations, which compile more code, are tried by `tools/check --slow`. Files
of the classes that are not in it are tried elsewhere: AdaptiveSharingClassifier in test_logs.py, MultitaskLogistic in
test_adaptive.py, those of views in test_views.py, those on random features in test_fourier.py, MultiLabel in
test_many_classes.py and SelectiveSampling in test_asking.py.
"""

import copy
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone, is_regressor
from sklearn.utils.estimator_checks import parametrize_with_checks

import coterie as ct
import raw
from streams import linear_stream

ONE_TASK = ct.Interaction([[2.0]], tasks=[0])
MODELS = [
    ct.MultitaskPerceptron(),
    ct.MultitaskKernelPerceptron(),
    ct.SecondOrderMultitaskPerceptron(),
    ct.PNormMultitaskPerceptron(),
    ct.PotentialMultitaskPerceptron(ct.potentials.ExponentiatedGradient(), rate=0.5),
    ct.HeterogeneousMultitaskPerceptron(),
    ct.MultitaskAROW(covariance="full"),
    ct.OneVsRest(ct.MultitaskPerceptron(ct.Independent())),
    ct.MultiOutputClassifier(),
    ct.MultiOutputRegressor(),
    raw.MultitaskRegressor(),
    raw.AdaptiveSharingRegressor(),
    ct.MultitaskKernelRidge(),
    ct.MultitaskKernelClassifier(),
    ct.MultitaskSVC(),
    ct.MultitaskSVR(),
    ct.MultitaskLinearSVC(),
    ct.MultitaskLinearSVR(),
    ct.VectorFieldRidge(ct.batch.Separable()),
]
CONFIGURATIONS = [
    ct.MultitaskPerceptron(ct.Independent(), average=True),
    ct.MultitaskPerceptron(ct.MeanRegularized(b=1), ct.PassiveAggressive(), storage="sparse"),
    ct.MultitaskPerceptron(ct.Pooled(), ct.PassiveAggressive(C=0.1, variant="II"), True, storage="hashed", bits=12),
    ct.MultitaskPerceptron(ONE_TASK, dtype="float32"),
    ct.MultitaskKernelPerceptron(ct.kernels.Polynomial(2), ct.Pooled(), ct.budgets.Forgetron(20)),
    ct.MultitaskKernelPerceptron("rbf", ONE_TASK, ct.budgets.SharedProjection(20, 0.1)),
    ct.MultitaskKernelPerceptron(
        ct.kernels.Gaussian(2.0), budget=ct.budgets.Projectron(0.1, plus=True), dtype="float32"
    ),
    ct.SecondOrderMultitaskPerceptron(ct.MeanRegularized(b=1), 2.0, solver="primal"),
    ct.SecondOrderMultitaskPerceptron(ct.Pooled(), kernel=ct.kernels.Gaussian(2.0), dtype="float32"),
    ct.PNormMultitaskPerceptron(ONE_TASK, 6.5, "Ainvsqrt"),
    ct.HeterogeneousMultitaskPerceptron(2.0, ct.kernels.Gaussian(2.0)),
    ct.OneVsRest(),
    raw.MultitaskRegressor(ct.Independent(), ct.Absolute(), step=0.7),
    raw.MultitaskRegressor(ct.MeanRegularized(b=1), ct.EpsilonInsensitive(), average=True, storage="sparse"),
    raw.MultitaskRegressor(ONE_TASK, ct.EpsilonInsensitive(0.0), dtype="float32"),
    ct.MultitaskKernelRidge("linear", ct.MixedEffect(omega=0.5), filter=ct.batch.Landweber(20), center=True),
    ct.MultitaskKernelRidge(solver="conjugate gradients"),
    ct.MultitaskKernelRidge(relation=ct.batch.OptimalOutputKernel(steps=3), dtype="float32"),
    ct.MultitaskKernelClassifier(ct.kernels.Gaussian(10.0), alpha=0.1, calibration=3),
]

# -- the checks of scikit-learn ----------------------------------------------------------------------------------------

#: Checks that contradict what learners of one pass do, and why.
ONE_PASS = {
    f"check_sample_weight_equivalence_on_{form}_data": "a weight of two is one move twice as long, not two moves"
    for form in ("dense", "sparse")
} | {
    "check_class_weight_classifiers": "weights of 1000 and 0.0001 are no more to learners by mistakes than their order"
}
NO_WEIGHTS = dict.fromkeys(
    [
        *("check_sample_weights_pandas_series", "check_sample_weights_not_an_array", "check_sample_weights_list"),
        *("check_sample_weights_shape", "check_sample_weights_not_overwritten"),
        "check_classifiers_one_label_sample_weights",
    ],
    "rounds of all tasks weigh no records",
)
ONE_DIMENSION = dict.fromkeys(
    [
        *("check_complex_data", "check_classifiers_one_label", "check_classifiers_one_label_sample_weights"),
        *("check_classifiers_classes", "check_classifiers_train", "check_classifiers_regression_target"),
        "check_classifier_not_supporting_multiclass",
    ],
    "labels of one dimension, where y has a column a task",
)
BY_CONFIDENCE = {
    "check_decision_proba_consistency": "of two records with one margin, the surer has the larger probability"
}


def expected_to_fail(model):
    """The checks that contradict what an estimator is for, and why."""
    if not hasattr(model, "partial_fit"):
        return {}
    if isinstance(model, ct.HeterogeneousMultitaskPerceptron):
        return ONE_PASS | NO_WEIGHTS
    if isinstance(model, (ct.MultiOutputClassifier, ct.MultiOutputRegressor)):
        return ONE_PASS | ONE_DIMENSION
    by_order = "check_class_weight_classifiers"  # AROW and a Forgetron, which shrinks what it has, do see the weights
    if isinstance(model, ct.MultitaskAROW) or isinstance(getattr(model, "budget", None), ct.budgets.Forgetron):
        one_pass = {name: why for name, why in ONE_PASS.items() if name != by_order}
        return one_pass | (BY_CONFIDENCE if isinstance(model, ct.MultitaskAROW) else {})
    return ONE_PASS


# scikit-learn's mixins are not inherited: importing scikit-learn would triple the time that `import coterie` takes. All
# that its BaseEstimator does is there, as these checks show.
with warnings.catch_warnings():
    warnings.filterwarnings("ignore", "Estimator .* does not inherit from `sklearn.base.BaseEstimator`", UserWarning)
    checks = parametrize_with_checks(MODELS, expected_failed_checks=expected_to_fail)
    other_checks = parametrize_with_checks(CONFIGURATIONS, expected_failed_checks=expected_to_fail)


def pass_check(estimator, check, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # or one of them is skipped
    check(estimator)


@checks
@pytest.mark.filterwarnings("ignore:.* records without a task", "ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_checks_of_scikit_learn(estimator, check, monkeypatch):
    pass_check(estimator, check, monkeypatch)


@pytest.mark.slow
@other_checks
@pytest.mark.filterwarnings("ignore:.* records without a task", "ignore::sklearn.exceptions.ConvergenceWarning")
def test_other_configurations_pass_the_checks_of_scikit_learn(estimator, check, monkeypatch):
    pass_check(estimator, check, monkeypatch)


# -- copies, and records in pieces -------------------------------------------------------------------------------------

EVERY = [*MODELS, *(pytest.param(model, marks=pytest.mark.slow) for model in CONFIGURATIONS)]
STREAM = linear_stream(72, n=120, zeros=0.3)
NUMBERS = 7.0 * STREAM.X[:, 0] + 3.0 * STREAM.X[:, 1] * STREAM.task + 40.0
PARTS = vars(ct) | vars(ct.budgets) | vars(ct.kernels) | vars(ct.potentials) | vars(ct.batch) | {"array": np.array}


def labels(model):
    """Labels of the stream's records such as a model learns: of a column a task, numbers, or two."""
    if isinstance(model, (ct.MultiOutputClassifier, ct.MultiOutputRegressor, ct.VectorFieldRidge)):
        signs = np.where(STREAM.X[:, :3] + STREAM.X[:, 1:4] > 0, 1.0, -1.0)
        return signs if isinstance(model, ct.MultiOutputClassifier) else NUMBERS[:, None] + signs
    return NUMBERS if is_regressor(model) else STREAM.y


def records(model):
    return STREAM.X[:, :3] if isinstance(model, ct.VectorFieldRidge) else STREAM.X


def said(model):
    return np.asarray(getattr(model, "decision_function", model.predict)(records(model)))


@pytest.mark.parametrize("model", EVERY, ids=repr)
@pytest.mark.filterwarnings("ignore:.* records without a task")
def test_clones_copies_pickles_and_files(model, tmp_path):
    """Each says the same and, if it learns on, goes on alike and changes no other."""
    X, y = records(model), labels(model)
    fitted = clone(model).fit(X, y)
    assert not clone(fitted).__sklearn_is_fitted__()
    assert repr(eval(repr(model), PARTS.copy())) == repr(model)  # noqa: S307
    fitted.save(tmp_path / "model.coterie")
    before, margins = said(fitted), []
    for other in (pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted), ct.load(tmp_path / "model.coterie")):  # noqa: S301
        assert repr(other) == repr(fitted)
        np.testing.assert_allclose(said(other), before, rtol=1e-12, atol=1e-12)
        if hasattr(model, "partial_fit"):
            other.partial_fit(X, -y)
            margins.append(said(other))
            np.testing.assert_array_equal(margins[-1], margins[0])
            assert not np.array_equal(margins[-1], before)
    np.testing.assert_allclose(said(fitted), before, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "model", [each for each in EVERY if hasattr(getattr(each, "values", [each])[0], "partial_fit")], ids=repr
)
@pytest.mark.filterwarnings("ignore:.* records without a task")
def test_a_stream_in_pieces_is_the_whole(model):
    whole, one_by_one, pieces = clone(model), clone(model), clone(model)
    X, y, n = records(model), labels(model), 60
    first = {} if is_regressor(model) else {"classes": [-1.0, 1.0]}
    whole.partial_fit(X[:n], y[:n], **first)
    for t in range(n):
        one_by_one.partial_fit(X[t : t + 1], y[t : t + 1], **({} if t else first))
    for part in (slice(0, 1), slice(1, 23), slice(23, n)):
        pieces.partial_fit(X[part], y[part], **({} if part.start else first))
    for other in (one_by_one, pieces):  # test_cuts.py: the same bits, but for learners by products of matrices
        np.testing.assert_allclose(said(other), said(whole), rtol=1e-9, atol=1e-12)


# -- parameters that change ----------------------------------------------------------------------------------------

SPECTRAL = ct.Spectral(2.0)
CHANGES = [
    (ct.MultitaskPerceptron(SPECTRAL), {"relation": ct.Spectral(3.0)}, False),
    (ct.MultitaskPerceptron(SPECTRAL), {"relation": ct.LogDet(0.1)}, False),
    (ct.MultitaskPerceptron(SPECTRAL), {"relation": ct.HalfUpdate()}, False),
    (ct.MultitaskPerceptron(SPECTRAL), {"average": True}, False),
    (ct.MultitaskPerceptron(ct.LogDet(0.001)), {"relation": SPECTRAL}, False),
    (ct.MultitaskPerceptron(ct.LogDet(0.001)), {"relation": ct.LogDet(0.2)}, False),
    (ct.MultitaskPerceptron(), {"relation": SPECTRAL}, False),
    (ct.MultitaskPerceptron(), {"relation": ct.Pooled()}, False),
    (ct.MultitaskPerceptron(), {"relation": ct.MeanRegularized(b=2.0)}, False),
    (ct.MultitaskPerceptron(), {"average": True}, False),
    (ct.MultitaskPerceptron(), {"half_life": 100.0}, False),
    (ct.MultitaskPerceptron(), {"storage": "hashed", "bits": 10}, False),
    (ct.MultitaskPerceptron(), {"rule": ct.PassiveAggressive(0.1)}, True),
    (ct.MultitaskPerceptron(), {"relation": ct.HalfUpdate(), "max_tasks": 3, "class_weight": "balanced"}, True),
    (ct.MultitaskKernelPerceptron(relation=SPECTRAL), {"relation": ct.Spectral(3.0)}, False),
    (ct.MultitaskKernelPerceptron(), {"relation": ct.Pooled()}, False),
    (ct.MultitaskKernelPerceptron(), {"kernel": ct.kernels.Gaussian(3.0)}, True),
    (raw.MultitaskLogistic(), {"step": "coin"}, False),
    (raw.MultitaskLogistic(), {"step": 0.1}, False),
    (raw.MultitaskLogistic(), {"relation": ct.Intercepts()}, False),
    (raw.MultitaskLogistic(), {"half_life": 100.0}, False),
    (raw.MultitaskLogistic(), {"max_tasks": 2}, True),
    (raw.MultitaskLogistic(step="coin"), {"step": 0.7}, False),
    (ct.MultitaskAROW(covariance="full"), {"covariance": "diagonal"}, False),
    (ct.HeterogeneousMultitaskPerceptron(), {"b": (0.0, 1.0)}, False),
    (ct.HeterogeneousMultitaskPerceptron(), {"b": 2.0}, True),
    (ct.PNormMultitaskPerceptron(), {"p": 3.0}, False),
    (ct.OneVsRest(ct.MultitaskPerceptron()), {"model": ct.MultitaskPerceptron(SPECTRAL)}, False),
    (raw.AdaptiveSharingRegressor(), {"max_tasks": 3}, True),
    (raw.AdaptiveSharingClassifier(), {"local": 5.0}, True),
]


@pytest.mark.parametrize(("model", "changed", "allowed"), CHANGES, ids=repr)
@pytest.mark.parametrize("how", ["as it is", "a copy"])
def test_a_parameter_that_changes_is_heard_of_or_refused(model, changed, allowed, how, tmp_path):
    """Refused once something is learned, and nothing is lost; or the model goes on, and so does its file."""
    fitted = clone(model)
    task = () if isinstance(model, ct.HeterogeneousMultitaskPerceptron) else (STREAM.task,)
    X, y = STREAM.X, labels(model)

    def told(model):
        return np.asarray(getattr(model, "decision_function", model.predict)(X, *task))

    fitted.fit(X, y, *task)
    before, given = told(fitted), {name: getattr(model, name) for name in changed}
    if how == "a copy":
        fitted = copy.deepcopy(fitted)
    fitted.set_params(**changed)
    if allowed:
        fitted.partial_fit(X, -y, *task).save(tmp_path / "m.coterie")
        again = ct.load(tmp_path / "m.coterie")
        for each in (fitted, again):
            each.partial_fit(X, y, *task)
        np.testing.assert_array_equal(told(again), told(fitted))
        return
    named = " and ".join(changed) if how == "as it is" else "parameters"
    for use in (lambda: fitted.partial_fit(X, y, *task), lambda: fitted.save(tmp_path / "m.coterie")):
        with pytest.raises(ValueError, match=f"^{named} cannot change once something is learned: fit anew"):
            use()
    assert not (tmp_path / "m.coterie").exists()
    np.testing.assert_array_equal(told(fitted.set_params(**given)), before)


def test_a_rule_that_changes_is_heard_of_record_by_record_as_well():
    one, block = (ct.MultitaskPerceptron(rule=ct.PassiveAggressive(1.0)) for _ in range(2))
    records = [({"a": x}, y) for x, y in zip(STREAM.X[:, 0].tolist(), STREAM.y.tolist(), strict=True)]
    for model in (one, block):
        for x, y in records:
            model.learn_one(x, y, "ann")
        model.set_params(rule=ct.PassiveAggressive(1e-6))
    for x, y in records:
        one.learn_one(x, -y, "ann")
    block.partial_fit([x for x, _ in records], [-y for _, y in records], task=["ann"] * len(records))
    np.testing.assert_array_equal(one.coef_, block.coef_)


def test_the_first_tasks_of_some_at_a_time_are_taken_up_though_new_ones_are_refused():
    model = ct.MultitaskPerceptron(max_tasks=2, new_task="raise").partial_fit([[1.0], [2.0]], [1, 0], task=["a", "b"])
    assert model.tasks_ == ["a", "b"]
    with pytest.raises(ValueError, match="task 'c' was never seen"):
        model.partial_fit([[1.0]], [1], task=["c"])


def test_a_task_for_which_there_is_no_memory_is_not_known(monkeypatch):
    model = ct.MultitaskPerceptron().partial_fit([[1.0]], [1], task=["a"], classes=[0, 1])
    learner = model.__stream_model__().learner

    def full(*given):
        raise MemoryError

    with monkeypatch.context() as held:
        held.setattr(type(learner), "grow", full)
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
    *("get_params", "set_params", "get_metadata_routing"),
}
#: Parameters that are attributes of estimators without them, too.
EVERYWHERE = {"class_weight", "kernel", "max_tasks", "new_task", "relation", "task_column"}


@pytest.mark.parametrize("name", [name for name in ct.__all__ if hasattr(getattr(ct, name), "__sklearn_tags__")])
def test_an_estimator_shows_its_parameters_what_it_learned_and_the_methods_that_are_documented(name):
    kind = getattr(ct, name)
    shown = {each for each in dir(kind) if not each.startswith("_") and not each.endswith("_")}
    requests = {each for each in shown if each.startswith("set_") and each.endswith("_request")}
    assert shown - requests - set(kind._parameter_names()) <= SHOWN | EVERYWHERE
