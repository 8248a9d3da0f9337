"""Records that are not learned change nothing that is learned: in every form of records, and under every scale."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import coterie as ct
from terminal import run

pytestmark = pytest.mark.filterwarnings("ignore:column 'x' has")

rng = np.random.default_rng(3)
FRAME = pd.DataFrame({"x": rng.normal(5.0, 2.0, 60), "z": rng.exponential(1.0, 60)})
FRAME.loc[20:22, "z"] = np.nan
MIXED = FRAME.assign(shop=rng.choice(["north", "south"], 60))
LABELS = rng.choice(["no", "yes"], 60)
TASKS = rng.choice(["a", "b"], 60)
#: Records of weight 0 are far from the others, and may lack a value that no other lacks.
WEIGHTS = np.where(np.arange(60) % 7 == 3, 0.0, 1.0)
MIXED.loc[WEIGHTS == 0.0, "x"] = 1e4
FRAME.loc[WEIGHTS == 0.0, "x"] = 1e4
LEARNED = WEIGHTS > 0.0


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


def fit(model, X, rows, weights):
    return model.fit(cut(X, rows), LABELS[rows], TASKS[rows], sample_weight=weights)


def in_pieces(model, X, rows, weights):
    for first in range(0, 60, 11):
        piece = rows & (np.arange(60) >= first) & (np.arange(60) < first + 11)
        of_piece = None if weights is None else WEIGHTS[piece]
        model.partial_fit(cut(X, piece), LABELS[piece], TASKS[piece], sample_weight=of_piece)
    return model


def progressively(model, X, rows, weights):
    ct.progressive_validation(model, cut(X, rows), LABELS[rows], task=TASKS[rows], sample_weight=weights)
    return model


def with_delay(model, X, rows, weights):
    """With labels as late as there are records; then all predictions come before all labels."""
    ct.progressive_validation(model, cut(X, rows), LABELS[rows], task=TASKS[rows], sample_weight=weights, delay=60)
    return model


def one_by_one(model, X, rows, weights):
    for t, x in enumerate(X):
        if rows[t]:
            model.learn_one(x, LABELS[t], task=TASKS[t], sample_weight=None if weights is None else WEIGHTS[t])
    return model


PATHS = {"fit": fit, "partial_fit": in_pieces, "progressive validation": progressively, "delay": with_delay}
CASES = [(form, path) for form in FORMS for path in PATHS] + [
    (form, "one by one") for form in ("dictionaries", "dictionaries of numbers")
]
SCALES = ["none", "standard", "unit", "auto"]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(("form", "path"), CASES)
def test_records_of_weight_0_change_nothing(form, path, scale):
    X, learn = FORMS[form], one_by_one if path == "one by one" else PATHS[path]
    everything = np.ones(60, bool)
    weighted, without = (
        learn(ct.MultitaskLogistic(scale=scale), X, rows, weights)
        for rows, weights in ((everything, WEIGHTS), (LEARNED, None))
    )
    probe = cut(X, LEARNED)
    expected = without.decision_function(probe, task=TASKS[LEARNED])
    np.testing.assert_allclose(weighted.decision_function(probe, task=TASKS[LEARNED]), expected, rtol=1e-12)


@pytest.mark.parametrize("scale", SCALES)
def test_labels_of_weight_0_change_no_scale(scale):
    labels = np.where(LEARNED, LABELS, "maybe")
    model = ct.OneVsRest(ct.MultitaskLogistic(scale=scale, class_weight={"maybe": 0.0})).fit(MIXED, labels, TASKS)
    expected = ct.OneVsRest(ct.MultitaskLogistic(scale=scale)).fit(MIXED[LEARNED], LABELS[LEARNED], TASKS[LEARNED])
    found = model.__stream_model__().input.encoder.moments
    np.testing.assert_array_equal(found, expected.__stream_model__().input.encoder.moments)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("frame", [FRAME, MIXED], ids=["numbers", "text"])
def test_records_of_weight_0_in_files_change_nothing(frame, scale, tmp_path):
    whole = frame.assign(task=TASKS, label=LABELS, weight=WEIGHTS)
    whole.to_csv(tmp_path / "whole.csv", index=False)
    whole[LEARNED].to_csv(tmp_path / "learned.csv", index=False)
    models = []
    for name in ("whole", "learned"):
        model = tmp_path / f"{name}.coterie"
        options = ["-l", "label", "-t", "task", "--weight", "weight", "--scale", scale, "--learner", "logistic"]
        run("learn", tmp_path / f"{name}.csv", *options, "--alone", "--quiet", "--output", model)
        models.append(ct.load(model))
    found, expected = (model.decision_function(frame[LEARNED], task=TASKS[LEARNED]) for model in models)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
