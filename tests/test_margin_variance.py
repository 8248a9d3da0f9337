"""Features that no record had: in the variance of a margin, and in predictions by variances, kernels and lengths."""

import numpy as np
import pandas as pd
import pytest

import coterie as ct
import raw
from slow import slow

FOUND = ct.tasks.Interaction(np.array([[1.0, 0.0], [0.0, 4.0]]), tasks=["ann", "bob"])  # so M is 1 and 1/4
TREE = ct.Hierarchy("/", share=(0.0, 0.5))
MODELS = {
    "primal": (ct.SecondOrderMultitaskRegressor(FOUND, solver="primal"), (1.0, 0.25)),
    "dual": (ct.SecondOrderMultitaskRegressor(FOUND, solver="dual"), (1.0, 0.25)),
    "perceptron": (ct.SecondOrderMultitaskPerceptron(FOUND), (1.0, 0.25)),
    "mixed effects": (
        ct.MultitaskMixedEffectsRegressor(0, 0.25, slope_variance=0.75, fit_intercept=False, scale="none"),
        (1.0, 1.0),
    ),
    "AROW": (ct.MultitaskAROW(fit_intercept=False), None),
    "AROW of groups": (ct.MultitaskAROW(ct.Clusters({"ann": 0, "bob": 1}), fit_intercept=False), None),
}


@pytest.mark.parametrize("name", MODELS)
def test_features_that_no_record_had_count_with_the_prior_variance(name):
    """As a record has them that was learned with weight on nothing else: the same as if they were known, and 0 so far."""
    model, prior = MODELS[name]
    model = model.__sklearn_clone__()
    for n in range(6):
        labels = [1.0 * n, 1.0] if "Regressor" in repr(model) else [n % 2 == 0, n % 2 == 1]
        model.partial_fit([{"a": 1.0 + n, "b": 0.5}, {"a": 2.0}], labels, task=["ann", "bob"])
    task = ["ann"] * 3 + ["bob"] * 3
    X = [{"a": 2.0, "new": 3.0, "other": 1.0}, {"a": 2.0}, {"new": 3.0, "other": 1.0}] * 2
    known = dict(model._model.input.form.vocabulary.numbers)
    q = model.margin_variance(X, task=task)
    np.testing.assert_allclose(q[0::3], q[1::3] + q[2::3])
    assert model._model.input.form.vocabulary.numbers == known
    np.testing.assert_array_equal(model.margin_variance(X, task=task), q)
    np.testing.assert_allclose(model.margin_variance(pd.DataFrame(X[:1]), task=task[:1]), q[:1])
    if prior is not None:
        np.testing.assert_allclose(q[2::3], 10.0 * np.array(prior))
    if prior is None:
        wide = model.__sklearn_clone__()
        wide.partial_fit([{"new": 0.0, "other": 0.0, "a": 1.0}] * 2, [True, False], task=["ann", "bob"])
        np.testing.assert_allclose(q[2::3], wide.margin_variance(X[2::3], task=task[2::3]))


@pytest.mark.parametrize("model", [ct.MultitaskAROW(), ct.SecondOrderMultitaskPerceptron()], ids=str)
def test_of_tasks_nobody_has_seen_too(model):
    model = model.__sklearn_clone__().partial_fit([{"a": 1.0}, {"a": 2.0}], [True, False], task=["ann", "bob"])
    both, old, new = model.margin_variance([{"a": 2.0, "new": 3.0}, {"a": 2.0}, {"new": 3.0}], task=["eve"] * 3)
    none = model.margin_variance([{}], task=["eve"])[0]  # of the constant alone
    np.testing.assert_allclose(both - old, new - none)
    assert new - none > 0.0


@pytest.mark.parametrize("model", [raw.MultitaskAROW(relation=TREE), ct.SecondOrderMultitaskRegressor(TREE)], ids=str)
def test_a_task_in_a_group_without_tasks_has_the_prior_variance(model):
    model = model.__sklearn_clone__().partial_fit(np.eye(2), [0.0, 1.0], ["fr/ann", "fr/bob"])
    np.testing.assert_allclose(model.margin_variance(np.eye(2), task=["it/eve", "it/eve"]), 1.0)


# -- predictions -------------------------------------------------------------------------------------------------------


def new_names(n=28):
    """Records of numbers and a category, of which names and values go on coming; labels, and tasks."""
    rng = np.random.default_rng(3)
    records = []
    for t in range(n):
        names = rng.choice(4 + t // 3, 4, replace=False)
        records.append({f"f{j}": float(rng.normal()) for j in names} | {"shop": f"s{rng.integers(2 + t // 8)}"})
    return records, rng.choice(["no", "yes"], n).tolist(), rng.choice(["ann", "bob"], n).tolist()


def known_from_the_start(records):
    """The same records with all features written out."""

    def flattened(name, x):
        return (f"{name}={x}", 1.0) if type(x) is str else (name, x)

    flat = [dict(flattened(*item) for item in record.items()) for record in records]
    zeros = dict.fromkeys([name for record in flat for name in record], 0.0)
    return [zeros | record for record in flat]


PREDICTORS = {
    "second order, primal": ct.SecondOrderMultitaskPerceptron(solver="primal"),
    "second order, dual": ct.SecondOrderMultitaskPerceptron(solver="dual"),
    "second order, Gaussian": ct.SecondOrderMultitaskPerceptron(kernel=ct.kernels.Gaussian(2.0)),
    "Gaussian": ct.MultitaskKernelPerceptron(ct.kernels.Gaussian(2.0)),
    "normalised polynomial": ct.MultitaskKernelPerceptron(ct.kernels.Normalised(ct.kernels.Polynomial(2))),
    "Laplacian": ct.MultitaskKernelPerceptron(ct.kernels.Pairwise("laplacian", {"gamma": 0.5})),
    "AROW of all covariances": ct.MultitaskAROW(covariance="full", fit_intercept=False),
    "AROW": ct.MultitaskAROW(),
    "mixed effects": ct.MultitaskMixedEffectsClassifier(scale="none"),
    "mixed effects of unit length": ct.MultitaskMixedEffectsClassifier(scale="unit"),
    "ensemble": ct.AdaptiveSharingClassifier(scale="none"),
    "ensemble of unit length": ct.AdaptiveSharingClassifier(scale="unit"),
    "unit length": ct.MultitaskLogistic(scale="unit"),
    "several classes": ct.OneVsRest(ct.MultitaskMixedEffectsClassifier(scale="none")),
    "queries": ct.SelectiveSampling(ct.SecondOrderMultitaskPerceptron(), ask=ct.updates.Always()),
}


def in_every_form(model, record, task):
    """The margin and the probability of a record of the second label, or of the last class."""
    forms = {"dictionaries": [record, {}], "frame": pd.DataFrame([record])}
    decide = model.decision_function
    margins = {form: np.atleast_1d(decide(X, task=[task] * len(X))[0])[-1] for form, X in forms.items()}
    margins["one"] = margins["frame"] if len(model.classes_) > 2 else model.decision_function_one(record, task)
    assert model.predict_one(record, task) == model.predict([record], task=[task])[0]
    probabilities = {}
    if hasattr(model, "predict_proba"):
        probabilities = {form: model.predict_proba(X, task=[task] * len(X))[0, -1] for form, X in forms.items()}
        probabilities["one"] = list(model.predict_proba_one(record, task).values())[-1]
    if hasattr(model, "explain") and len(model.classes_) == 2:
        margins["explained"] = model.explain(record, task).margin
    return margins, probabilities


@pytest.mark.parametrize("name", [slow(name) if name == "AROW" else name for name in PREDICTORS])
def test_features_that_no_record_had_count_in_predictions_as_if_known(name):
    model, known = (PREDICTORS[name].__sklearn_clone__() for _ in "12")
    records, y, task = new_names()
    y = [f"{label}{t % 2}" for t, label in enumerate(y)] if "classes" in name else y
    trace = ct.progressive_validation(PREDICTORS[name].__sklearn_clone__(), records, y, task=task)
    for t, (record, full) in enumerate(zip(records, known_from_the_start(records), strict=True)):
        if t >= 10 and t % 4 == 0:
            margins, probabilities = in_every_form(model, record, task[t])
            expected = in_every_form(known, full, task[t])
            for form in margins:
                assert margins[form] == pytest.approx(expected[0]["one"], rel=1e-9, abs=1e-12), form
            for form in probabilities:
                assert probabilities[form] == pytest.approx(expected[1]["one"], rel=1e-9), form
            if len(model.classes_) == 2:
                assert trace.margin[t] == pytest.approx(expected[0]["one"], rel=1e-9, abs=1e-12)
        model.learn_one(record, y[t], task[t])
        known.learn_one(full, y[t], task[t])


GAPS = {
    "dictionaries": lambda x: [dict(zip("ab", x, strict=True))],
    "array": lambda x: np.array([x], float),
    "frame": lambda x: pd.DataFrame([x], columns=list("ab"), dtype=float),
    "frame with text": lambda x: pd.DataFrame([x], columns=list("ab"), dtype=float).assign(shop="s"),
}


@pytest.mark.parametrize("form", GAPS)
@pytest.mark.parametrize(
    "model", [ct.MultitaskMixedEffectsClassifier(scale="unit"), ct.MultitaskLogistic(scale="unit")], ids=str
)
def test_the_first_gap_of_a_column_counts_as_it_does_in_learning(model, form):
    model, rng = model.__sklearn_clone__(), np.random.default_rng(0)
    for t in range(10):
        model.partial_fit(GAPS[form](rng.normal(size=2).tolist()), [t % 2], task=["ann"], classes=[0, 1])
    X = GAPS[form]([0.5, None])
    margin = model.decision_function(X, task=["ann"])
    assert margin == pytest.approx(ct.progressive_validation(model, X, [1], task=["ann"]).margin, rel=1e-9)
    assert margin != pytest.approx(model.decision_function(GAPS[form]([0.5, 0.0]), task=["ann"]), rel=1e-3)


@pytest.mark.parametrize("new", [{"amount": 3.0}, {"shop": "east"}, {"amount": None}, {"tags": ["a", "b", "a"]}])
def test_features_that_no_record_had_are_prepared_as_if_learned(new):
    """By the default preparation, in which nothing else of these records is scaled."""
    model = ct.AdaptiveSharingClassifier()
    for t in range(20):
        model.learn_one({"shop": ["north", "south"][t % 2]}, t % 3 > 0, task="ann")
    record = {"shop": "north"} | new
    margin = model.decision_function_one(record, "ann")
    assert margin == pytest.approx(ct.progressive_validation(model, [record], [True], task=["ann"]).margin[0], rel=1e-9)
    assert margin != pytest.approx(model.decision_function_one({"shop": "north"}, "ann"), rel=1e-3)


@pytest.mark.parametrize("kernel", [ct.kernels.Gaussian(2.0), "linear"])
def test_batch_estimators_compare_records_by_all_features(kernel):
    records, y, task = new_names()
    known = known_from_the_start(records)
    X, full = ct.batch.MultitaskKernelRidge(kernel=kernel), ct.batch.MultitaskKernelRidge(kernel=kernel)
    labels = [float(label == "yes") for label in y[:20]]
    X.fit(records[:20], labels, task[:20])
    full.fit(known[:20], labels, task[:20])
    np.testing.assert_allclose(X.predict(records[20:], task[20:]), full.predict(known[20:], task[20:]), rtol=1e-9)


BANDITS = [
    ("thompson", ct.MultitaskMixedEffectsRegressor(scale="none")),
    ("thompson", ct.SecondOrderMultitaskRegressor()),
    ("epsilon", ct.MultitaskMixedEffectsClassifier(scale="unit")),
]


@pytest.mark.parametrize(("explore", "model"), BANDITS, ids=str)
def test_bandits_count_what_is_new_in_contexts(explore, model):
    scale = getattr(model, "scale", "none")
    bandit, known = (ct.Bandit(model, actions=["x", "y"], explore=explore, seed=0, scale=scale) for _ in "12")
    rng = np.random.default_rng(0)
    for t in range(12):
        x = {"a": float(rng.normal())}
        bandit.learn(x, "xy"[t % 2], t % 3 == 0, task="ann")
        known.learn(x | {"new": 0.0}, "xy"[t % 2], t % 3 == 0, task="ann")
    x = {"a": 1.0, "new": 2.0}
    for method in ("scores", "probabilities"):
        np.testing.assert_allclose(*(getattr(one, method)(x, task="ann") for one in (bandit, known)), rtol=1e-6)


VIEWS = {
    "one space": lambda: ct.views.MultiviewPerceptron(kernel=ct.kernels.Gaussian(2.0)),
    "own spaces": lambda: ct.views.OrthogonalMultiviewPerceptron(kernels=ct.kernels.Gaussian(2.0)),
}


@pytest.mark.parametrize("name", VIEWS)
def test_kernels_of_views_compare_records_by_all_features(name):
    model, known, (records, y, _) = VIEWS[name](), VIEWS[name](), new_names()
    full = known_from_the_start(records)
    for t, y_t in enumerate(y):
        if t >= 10:
            pairs = (model, records[t]), (known, full[t])
            margins = [one.decision_function([{"a": x, "b": x}])[0] for one, x in pairs]
            assert margins[0] == pytest.approx(margins[1], rel=1e-9)
        model.learn_one({"a": records[t], "b": records[t]}, y_t)
        known.learn_one({"a": full[t], "b": full[t]}, y_t)
