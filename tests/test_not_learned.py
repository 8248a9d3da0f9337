"""Records that are not learned, by weight 0 or because their label is not asked for, change nothing.

A stream with records of weight 0 is that without them, for every learner, path, form of records and scale. Labels that
are not asked for change no more, but their rounds count (SRDV11, Algorithm 1): see the last section.
"""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import coterie as ct
from coterie.evaluation.metrics import evaluate
from terminal import run

pytestmark = pytest.mark.filterwarnings("ignore:column 'x' has")

rng = np.random.default_rng(3)
FRAME = pd.DataFrame({"x": rng.normal(5.0, 2.0, 60), "z": rng.exponential(1.0, 60)})
FRAME.loc[20:22, "z"] = np.nan
MIXED = FRAME.assign(shop=rng.choice(["north", "south"], 60))
LABELS = np.where(np.arange(60) < 16, "no", rng.choice(["no", "yes"], 60))
TASKS = rng.choice(["a", "b"], 60)
#: Records of weight 0 or next to it, the first among them, are far from the others.
WEIGHTS = np.where(np.arange(60) % 7 == 0, [5e-324, 1e-13, 0.0] * 20, 1.0)
MIXED.loc[WEIGHTS < 1.0, "x"] = 1e4
FRAME.loc[WEIGHTS < 1.0, "x"] = 1e4
LEARNED = WEIGHTS == 1.0


def cut(X, rows):
    """The records of some rows, in any form."""
    if isinstance(X, list):
        return [x for x, row in zip(X, rows, strict=True) if row]
    return X.filter(pa.array(rows)) if isinstance(X, pa.Table) else X[rows]


FORMS = {
    "array": FRAME.to_numpy(),
    "frame": FRAME,
    "frame of text": MIXED,
    "Arrow table": pa.Table.from_pandas(MIXED),
    "dictionaries": MIXED.to_dict("records"),
    "dictionaries of numbers": FRAME.to_dict("records"),
}


#: With a delay labels are as late as there are records; then all predictions come before all labels.
PATHS = ["fit", "partial_fit", "progressive validation", "delay"]


def learn(path, model, X, y, tasks, weights):
    """Let a model learn records in one of these ways, or one by one; the trace, where there is one."""
    if path == "fit":
        model.fit(X, y, tasks, sample_weight=weights)
    elif path == "partial_fit":
        for first in range(0, len(y), 11):
            piece = slice(first, first + 11)
            of_piece = None if weights is None else weights[piece]
            model.partial_fit(X[piece], y[piece], tasks[piece], sample_weight=of_piece)
    elif path == "one by one":
        for t, (x, label, task) in enumerate(zip(X, y.tolist(), tasks, strict=True)):
            model.learn_one(x, label, task=task, sample_weight=None if weights is None else weights[t])
    else:
        delay = 60 if path == "delay" else 0
        return ct.progressive_validation(model, X, y, task=tasks, sample_weight=weights, delay=delay)
    return None


SCALES = ["none", "standard", "unit", "auto"]


def marked(form, *case, quick=True):
    """A case that is no slow test if its types are those that most other tests compile."""
    return pytest.param(form, *case, marks=() if quick and form not in ("array", "frame") else pytest.mark.slow)


CASES = [marked(form, path) for form in FORMS for path in PATHS] + [
    marked(form, "one by one") for form in ("dictionaries", "dictionaries of numbers")
]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(("form", "path"), CASES)
def test_records_of_weight_0_change_nothing(form, path, scale):
    weighted, without = (ct.MultitaskLogistic(scale=scale) for _ in "12")
    probe = cut(FORMS[form], LEARNED)
    learn(path, weighted, FORMS[form], LABELS, TASKS, WEIGHTS)
    learn(path, without, probe, LABELS[LEARNED], TASKS[LEARNED], None)
    expected = without.decision_function(probe, task=TASKS[LEARNED])
    np.testing.assert_allclose(weighted.decision_function(probe, task=TASKS[LEARNED]), expected, rtol=1e-12)


@pytest.mark.filterwarnings("ignore:A column-vector")
@pytest.mark.parametrize("scale", SCALES)
def test_labels_of_weight_0_change_no_scale(scale):
    labels = np.where(LEARNED, LABELS, "maybe")[:, None]
    model = ct.OneVsRest(ct.MultitaskLogistic(scale=scale, class_weight={"maybe": 0.0})).fit(MIXED, labels, TASKS)
    expected = ct.OneVsRest(ct.MultitaskLogistic(scale=scale)).fit(MIXED[LEARNED], LABELS[LEARNED], TASKS[LEARNED])
    learned_moments = model.__stream_model__().input.encoder.moments
    np.testing.assert_array_equal(learned_moments, expected.__stream_model__().input.encoder.moments)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(
    "frame", [pytest.param(FRAME, id="numbers", marks=pytest.mark.slow), pytest.param(MIXED, id="text")]
)
def test_records_of_weight_0_in_files_change_nothing(frame, scale, tmp_path):
    whole = frame.assign(task=TASKS, label=LABELS, weight=WEIGHTS)
    whole.to_csv(tmp_path / "whole.csv", index=False)
    whole[LEARNED].to_csv(tmp_path / "learned.csv", index=False)
    models = []
    for name in ("whole", "learned"):
        model = tmp_path / f"{name}.coterie"
        options = f"-l label -t task --weight weight --scale {scale} --learner MultitaskLogistic()".split()
        run("learn", tmp_path / f"{name}.csv", *options, "--alone", "--quiet", "--output", model)
        models.append(ct.load(model))
    margins, expected = (model.decision_function(frame[LEARNED], task=TASKS[LEARNED]) for model in models)
    np.testing.assert_allclose(margins, expected, rtol=1e-12)


# -- labels that are not asked for ------------------------------------------------------------------------------------

RECORDS = MIXED.to_dict("records")


def ask_progressively(model, X, delay=0):
    return ct.progressive_validation(model, X, LABELS, task=TASKS, delay=delay).queried


def ask_one_by_one(model, X):
    asked = []
    for x, label, task in zip(X, LABELS, TASKS, strict=True):
        asked.append(model.wants_label(x, task=task))
        if asked[-1]:
            model.learn_one(x, label, task=task)
        model.skip_unlabelled()
    return np.array(asked)


ASKING = {
    "progressive validation": ask_progressively,
    "delay": lambda model, X: ask_progressively(model, X, delay=7),
    "delay beyond the end": lambda model, X: ask_progressively(model, X, delay=100),
    "comparison": lambda model, X: ct.compare({"asking": model}, X, LABELS, task=TASKS).traces["asking"].queried,
    "one by one": ask_one_by_one,
}


@pytest.mark.parametrize(
    ("form", "path", "scale"),
    [
        marked(form, path, scale, quick=scale == "auto")
        for form in FORMS
        for path in ASKING
        for scale in ("none", "auto")
        if path != "one by one" or "dictionaries" in form
    ],
)
def test_labels_that_are_not_asked_for_change_nothing(form, path, scale):
    X, model = FORMS[form], ct.SelectiveSampling(ct.MultitaskLogistic(scale=scale), ct.updates.Randomly(0.6), seed=2)
    asked = ASKING[path](model, X)
    assert 20 < asked.sum() < 50
    assert asked[0]
    without = ct.MultitaskLogistic(scale=scale).fit(cut(X, asked), LABELS[asked], TASKS[asked])
    expected = without.decision_function(X, task=TASKS)
    np.testing.assert_allclose(model.decision_function(X, task=TASKS), expected, rtol=1e-12, atol=1e-14)


# -- what a model is ---------------------------------------------------------------------------------------------------

#: A record in seven has weight 0: of a task, or with a label or a name that no other has, or far from the others.
GHOST_TASKS = np.where(LEARNED, TASKS, "ghost")
present = [{name: value for name, value in x.items() if value == value} for x in RECORDS]
GHOST_RECORDS = [x | ({} if learned else {"more": 1.0}) for x, learned in zip(present, LEARNED, strict=True)]
PRIMED = ct.tasks.Primed(ct.LogDet(eta=1e-8), 20)


def yes_or_no(y):
    return y


def three(y):
    return np.where(LEARNED, y, "maybe")


def amounts(y):
    return np.where(LEARNED, np.arange(60.0) % 5, 1e6)


LEARNERS = {
    "average": (lambda **more: ct.MultitaskPerceptron(average=True, **more), yes_or_no),
    "balanced": (lambda **more: ct.MultitaskLogistic(class_weight="balanced", **more), yes_or_no),
    "half-life": (lambda **more: ct.MultitaskLogistic(half_life=20.0, **more), yes_or_no),
    "max_tasks": (lambda **more: ct.MultitaskLogistic(max_tasks=2, **more), yes_or_no),
    "one against the rest": (lambda **more: ct.OneVsRest(ct.MultitaskLogistic(**more)), three),
    "shared mean": (lambda **more: ct.MultitaskLogistic(ct.MeanRegularized(share=0.5), **more), yes_or_no),
    "mixture": (ct.AdaptiveSharingClassifier, yes_or_no),
    "numbers": (ct.AdaptiveSharingRegressor, amounts),
    "learned relation, average": (lambda **more: ct.MultitaskPerceptron(PRIMED, average=True, **more), yes_or_no),
    "confidence": (ct.MultitaskAROW, yes_or_no),
    "kernel": (lambda scale: ct.MultitaskKernelPerceptron(), yes_or_no),
    "second order": (lambda scale: ct.SecondOrderMultitaskRegressor(), amounts),
    "p-norm": (lambda scale: ct.PNormMultitaskPerceptron(), yes_or_no),
}
#: These alone are no slow tests: they use types that others compile.
QUICK = {"balanced", "one against the rest", "max_tasks"}
OF_LEARNERS = [
    pytest.param(name, path, marks=() if name in QUICK else pytest.mark.slow)
    for name in LEARNERS
    for path in (*PATHS, "one by one")
    if "delay" not in path or name != "max_tasks"
]


def everything(model):
    """All that a model predicts and counts."""
    inner = model.__stream_model__()
    decide = getattr(model, "decision_function", model.predict)
    facts = inner.state.rounds, list(model.tasks_), model.feature_names, str(inner.label_encoder.inside)
    return facts, decide(GHOST_RECORDS, task=TASKS)


@pytest.mark.parametrize("scale", ["none", "auto"])
@pytest.mark.parametrize(("name", "path"), OF_LEARNERS)
def test_a_stream_with_records_of_weight_0_is_that_without(name, path, scale):
    make, labels = LEARNERS[name]
    y = labels(LABELS)
    weighted, without = make(scale=scale), make(scale=scale)
    trace = learn(path, weighted, GHOST_RECORDS, y, GHOST_TASKS, WEIGHTS)
    expected = learn(path, without, cut(GHOST_RECORDS, LEARNED), y[LEARNED], GHOST_TASKS[LEARNED], None)
    (results, margins), (facts, others) = everything(weighted), everything(without)
    assert results == facts
    np.testing.assert_allclose(margins, others, rtol=1e-12, atol=1e-14)
    if trace is not None:
        np.testing.assert_allclose(trace.margin[LEARNED], expected.margin, rtol=1e-12, atol=1e-14)
        assert not trace.updated[~LEARNED].any()


@pytest.mark.parametrize("delay", [0, 7])
@pytest.mark.parametrize("name", ["balanced", "one against the rest", pytest.param("numbers", marks=pytest.mark.slow)])
def test_measures_verdicts_and_baselines_leave_out_records_of_weight_0(name, delay):
    make, labels = LEARNERS[name]
    X, y, late = 2 * RECORDS, np.tile(labels(LABELS), 2), {"delay": delay}
    weights, learned = np.tile(WEIGHTS, 2), np.tile(LEARNED, 2)
    if delay:  # rounds of weight 0 count for delays: they are all at the end
        order = np.argsort(~learned, kind="stable")
        X, y, weights, learned = [X[t] for t in order], y[order], weights[order], learned[order]
    tasks = np.tile(TASKS, 2)
    weighted = ct.compare(make(scale="auto"), X, y, task=tasks, sample_weight=weights, **late)
    without = ct.compare(make(scale="auto"), cut(X, learned), y[learned], task=tasks[learned], **late)
    for learner, trace in without.traces.items():
        np.testing.assert_allclose(*(list(evaluate(both).values()) for both in (weighted.traces[learner], trace)))
    one, two = weighted.verdict(), without.verdict()
    for part in ("average", "overall", "constant", "constant_error"):
        np.testing.assert_allclose(getattr(one, part), getattr(two, part), rtol=1e-9)
    assert one.base_rate.label == two.base_rate.label


@pytest.mark.parametrize("weights", [{"sample_weight": np.zeros(60)}, {}], ids=["records", "labels"])
def test_a_model_that_knew_only_records_of_weight_0_knows_nothing(weights):
    make = lambda: ct.MultitaskLogistic(class_weight=None if weights else {"no": 0, "yes": 0})  # noqa: E731
    for delay in (0, 7, 60):
        model = make()
        assert not ct.progressive_validation(model, RECORDS, LABELS, task=TASKS, delay=delay, **weights).margin.any()
        assert model.__stream_model__().state is None
    model = make()
    model.partial_fit(RECORDS, LABELS, TASKS, **weights)
    model.learn_one(RECORDS[0], LABELS[0], task="a", sample_weight=0.0)
    if weights:
        model.partial_fit(np.ones((2, 3)), ["left", "right"], ["a", "b"])
        assert (model.n_features_in_, model.classes_.tolist()) == (3, ["left", "right"])


@pytest.mark.parametrize("weights", [[1.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
def test_classes_that_are_announced_are_known_whatever_is_learned(weights):
    model = ct.MultitaskPerceptron().partial_fit(np.eye(3), ["no"] * 3, classes=["no", "yes"], sample_weight=weights)
    assert model.partial_fit(np.eye(3), ["no"] * 3).classes_.tolist() == ["no", "yes"]
    assert (model.decision_function(np.eye(3)) < 0.0).all()


def test_late_labels_among_records_of_weight_0_are_learned_in_their_round():
    X, y = [{"x": x, "z": z} for x, z in np.random.default_rng(4).normal(size=(60, 2)).tolist()], ["no", "yes"] * 30
    trace = ct.progressive_validation(
        ct.MultitaskLogistic(), X, y, task=TASKS, sample_weight=WEIGHTS, delay=7, tasks=["a", "b"]
    )
    model = ct.MultitaskLogistic()
    for t in range(60):  # the first of which nothing is learned comes in round 7
        margin = model.decision_function(X[t : t + 1], task=TASKS[t : t + 1])[0] if t > 8 else 0.0
        assert trace.margin[t] == pytest.approx(margin, abs=1e-14)
        if t >= 7:
            model.learn_one(X[t - 7], y[t - 7], task=TASKS[t - 7], sample_weight=WEIGHTS[t - 7])


# -- clocks of a query strategy: SRDV11's Algorithm 1 counts the rounds whose labels are not asked for -----------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["average", "half-life", "learned relation, average"])
def test_clocks_count_rounds_that_are_not_asked_for_in_every_path(name):
    make, _ = LEARNERS[name]
    X = [{"x": x, "z": z} for x, z in rng.normal(size=(60, 2)).tolist()]
    models = {path: ct.SelectiveSampling(make(), ct.updates.Randomly(rate=0.6), seed=2) for path in ASKING}
    for path, model in models.items():
        ASKING[path](model, X)
    expected = models["one by one"].decision_function(X, task=TASKS)
    for path, model in models.items():
        np.testing.assert_array_equal(model.decision_function(X, task=TASKS), expected, str(path))
        assert model.__stream_model__().state.rounds == 60, path
