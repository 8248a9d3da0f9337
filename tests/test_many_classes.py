"""More than two classes by reduction: equality, classes that appear, and every face."""

import numpy as np
import pytest
from river import base, evaluate, metrics
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GridSearchCV

import coterie as ct
import raw
from coterie.evaluation.metrics import evaluate as measure
from slow import slow
from streams import as_dictionaries, linear_stream

MODELS = {
    "logistic": raw.MultitaskLogistic(),
    "perceptron": ct.MultitaskPerceptron(rule=ct.updates.PassiveAggressive(), average=True),
    "passive": ct.MultitaskPerceptron(ct.MeanRegularized(b=2), ct.updates.PassiveAggressive()),
    "AROW": raw.MultitaskAROW(r=3),
    "sharing": raw.AdaptiveSharingClassifier("cheap"),
    "graph": ct.MultitaskPerceptron(ct.TaskGraph([(0, 1), (1, 2), (2, 3), (3, 4)])),
}
CLASSES = ("news", "ham", "spam", "ads")


def stream(n=150, appear=True, seed=4):
    """Records of four classes, the last two of which come late."""
    stream = linear_stream(seed, n=n, zeros=0.3)
    rng = np.random.default_rng(seed)
    scores = stream.X @ rng.standard_normal((stream.X.shape[1], 4)) + rng.standard_normal((5, 4))[stream.task]
    if appear:
        scores[: n // 3, 2] = scores[: n // 2, 3] = -100.0
    return stream.X, np.array(CLASSES)[scores.argmax(axis=1)], stream.task


X, Y, TASK = stream()


# -- equality ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [slow(name) if name == "sharing" else name for name in MODELS])
def test_each_class_is_a_model_of_that_class_against_all_others(name):
    """Also of classes that appear late: as if they had been known from the start."""
    model = ct.OneVsRest(MODELS[name])
    trace = ct.progressive_validation(model, X, Y, task=TASK, tasks=list(range(5)))
    margins = np.zeros((len(Y), 4))
    for c, label in enumerate(model.__stream_model__().label_encoder.seen):
        alone = ct.progressive_validation(clone(MODELS[name]), X, label == Y, task=TASK, tasks=list(range(5)))
        margins[:, c] = alone.margin
        whole = clone(MODELS[name]).partial_fit(X, label == Y, TASK, classes=[False, True], tasks=list(range(5)))
        margin = model.decision_function(X, TASK)[:, model.classes_.tolist().index(label)]
        np.testing.assert_array_equal(margin, whole.decision_function(X, TASK))
    check_against(trace, margins, model.__stream_model__().label_encoder.seen)


def check_against(trace, margins, seen):
    """By the definition, a round at a time: the largest margin of the classes seen, the first of several."""
    known = []
    for t, label in enumerate(trace.label.tolist()):
        predictions = {label: margins[t, seen.index(label)] for label in known}
        best = max(predictions.values(), default=None)
        prediction = next((label for label, margin in predictions.items() if margin == best), None)
        others = [margin for label, margin in predictions.items() if label != prediction]
        lead = best - max(others) if others else 0.0
        assert trace.prediction[t] == prediction
        assert trace.margin[t] == pytest.approx(lead, rel=1e-12, abs=1e-12)
        assert trace.mistake[t] == (prediction != label or lead <= 0)
        known += [label] if label not in known else []


# -- ties, probabilities, metrics --------------------------------------------------------------------------------------


def test_of_equal_margins_the_class_seen_first_wins():
    model = ct.OneVsRest(ct.MultitaskPerceptron()).partial_fit([[0.0]] * 3, ["z", "m", "a"])
    assert model.predict([[1.0]]).tolist() == ["z"]
    assert model.classes_.tolist() == ["a", "m", "z"]
    trace = ct.progressive_validation(ct.OneVsRest(ct.MultitaskPerceptron()), [[0.0]] * 4, ["z", "m", "z", "m"])
    assert trace.prediction.tolist() == [None, "z", "z", "z"]
    assert trace.mistake.all()


def test_probabilities_are_normalised_and_calibrated():
    x, _, task = stream(n=8000, appear=False, seed=9)
    rng = np.random.default_rng(0)
    scores = x @ rng.standard_normal((x.shape[1], 4)) + rng.gumbel(size=(8000, 4))  # draws by the softmax
    y, x = np.array(CLASSES)[scores.argmax(axis=1)], np.c_[x, np.ones(8000)]
    model = ct.OneVsRest(raw.MultitaskLogistic(ct.Pooled()))
    trace = ct.progressive_validation(model, x, y, task=task)
    proba = model.predict_proba(x, task)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    first, second = np.sort(proba, axis=1)[:, :-3:-1].T
    clear = first > second * (1 + 1e-9)  # or probabilities next to one of two classes are one and the same number
    assert clear.mean() > 0.99
    np.testing.assert_array_equal(model.classes_[proba.argmax(axis=1)][clear], model.predict(x, task)[clear])
    best = proba.max(axis=1)
    for low, high in ((0.5, 0.7), (0.7, 0.9)):
        inside = (best > low) & (best <= high)
        assert abs((model.predict(x, task) == y)[inside].mean() - best[inside].mean()) < 0.15
    assert np.isnan(trace.probability).sum() == 0
    assert measure(trace)["log_loss"] < np.log(4)
    with pytest.raises(AttributeError, match="no probabilities"):
        ct.OneVsRest(ct.MultitaskPerceptron()).fit(x, y).predict_proba(x)


# -- faces -------------------------------------------------------------------------------------------------------------


def test_river_scikit_learn_and_parameters():
    model = ct.OneVsRest(raw.MultitaskLogistic(task_column="user"))
    assert isinstance(model, base.Classifier)
    assert is_classifier(model)
    records = [{**x, "user": int(i)} for x, i in zip(as_dictionaries(X), TASK, strict=True)]
    assert evaluate.progressive_val_score(zip(records, Y.tolist(), strict=True), model, metrics.Accuracy()).get() > 0.3
    assert sum(model.predict_proba_one(records[0]).values()) == pytest.approx(1.0)
    assert raw.OneVsRest().predict_proba_one(records[0]) == {}
    model = ct.OneVsRest(raw.MultitaskLogistic(task_column=X.shape[1]))
    search = GridSearchCV(model, {"model__step": [0.3, 0.7]}, cv=3, error_score="raise")
    assert search.fit(np.column_stack([X, TASK]), Y).best_score_ > 0.4


@pytest.mark.parametrize(
    ("model", "y", "message"),
    [
        (raw.OneVsRest(), ["a"] * len(X), "two classes or more, got only one class: 'a'"),
        (raw.OneVsRest(), X[:, 0], "Unknown label type"),
    ],
)
def test_labels_that_are_no_classes_are_refused(model, y, message):
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
