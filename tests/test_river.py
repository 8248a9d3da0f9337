"""MultitaskPerceptron among River's tools, and one record at a time."""

import subprocess
import sys

import numpy as np
import pytest
from river import evaluate, metrics, preprocessing

import coterie as ct
from streams import as_dictionaries, linear_stream

STREAM = linear_stream(71, n=150, zeros=0.3)
RECORDS = as_dictionaries(STREAM.X)
NAMES = [f"user {i}" for i in STREAM.task]
WITH_TASK = [{**x, "user": name} for x, name in zip(RECORDS, NAMES, strict=True)]
LABELS = [bool(sign > 0) for sign in STREAM.y]


def test_a_model_made_before_river_was_imported_is_a_classifier_as_soon_as_one_is_made_after():
    """River asks for its own base class, which is told of ours when an instance is made."""
    code = (
        "import coterie as ct; model = ct.MultitaskPerceptron(); from river import base\n"
        "assert not isinstance(model, base.Classifier)\n"
        "ct.MultitaskPerceptron()\n"
        "assert isinstance(model, base.Classifier)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_progressive_val_score_with_the_task_in_the_record():
    model, records = ct.MultitaskPerceptron(task_column="user"), zip(WITH_TASK, LABELS, strict=True)
    score = evaluate.progressive_val_score(records, model, metrics.Accuracy()).get()  # predicts, and then learns
    trace = ct.progressive_validation(ct.MultitaskPerceptron(), RECORDS, LABELS, task=NAMES)
    right = trace.prediction == trace.label
    assert right[0]  # River does not count a record before which nothing was learned, and calls it neither
    assert score == pytest.approx(right[1:].mean(), abs=0.01)


def test_a_pipeline_of_river_hands_the_task_on():
    pipeline = preprocessing.StandardScaler() | ct.MultitaskPerceptron()
    for x, y, name in zip(RECORDS, LABELS, NAMES, strict=True):
        pipeline.learn_one(x, y, task=name)
    assert sorted(pipeline["MultitaskPerceptron"].tasks_) == sorted(set(NAMES))


def test_predicting_changes_nothing():
    model = ct.MultitaskPerceptron()
    model.learn_one({"a": 1.0}, True, task="ann")
    before = model.__dump__()
    for x in ({"a": 1.0, "new": 2.0}, {"word": "text"}, {}):
        model.predict_one(x, task="nobody")
        model.decision_function_one(x, task="ann")
    after = model.__dump__()
    assert before[0] == after[0]
    assert all(np.array_equal(before[1][name], after[1][name]) for name in before[1])


@pytest.mark.parametrize("first", [True, False, 1, 0, -1, "ham", "spam", 2.5])
def test_one_label_alone_is_what_is_predicted(first):
    model = ct.MultitaskPerceptron()
    model.learn_one({"a": 1.0}, first)
    assert model.predict_one({"a": 1.0}) == first
