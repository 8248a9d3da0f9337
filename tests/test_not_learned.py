"""Records that are not learned, by weight 0 or because their label is not asked for, change nothing but clocks.

Each of them is a round: means of weights are over all rounds, and half-lives and the priming of a learned relation count
all of them. In every path, form of records and scale.
"""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import coterie as ct
from coterie.io.readers import read
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
        options = [
            "-l",
            "label",
            "-t",
            "task",
            "--weight",
            "weight",
            "--scale",
            scale,
            "--learner",
            "MultitaskLogistic()",
        ]
        run("learn", tmp_path / f"{name}.csv", *options, "--alone", "--quiet", "--output", model)
        models.append(ct.load(model))
    found, expected = (model.decision_function(frame[LEARNED], task=TASKS[LEARNED]) for model in models)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


# -- labels that are not asked for ------------------------------------------------------------------------------------

RECORDS = MIXED.to_dict("records")


def asking(scale, learner=ct.MultitaskLogistic):
    return ct.SelectiveSampling(learner(scale=scale), ct.asking.Randomly(rate=0.6), seed=2)


def ask_progressively(model, X, delay=0):
    return ct.progressive_validation(model, X, LABELS, task=TASKS, delay=delay).queried


def ask_in_comparison(model, X):
    return ct.compare({"asking": model}, X, LABELS, task=TASKS).traces["asking"].queried


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
    "comparison": ask_in_comparison,
    "one by one": ask_one_by_one,
}


@pytest.mark.parametrize("scale", ["none", "auto"])
@pytest.mark.parametrize(
    ("form", "path"),
    [(form, path) for form in FORMS for path in ASKING if path != "one by one" or "dictionaries" in form],
)
def test_labels_that_are_not_asked_for_change_nothing(form, path, scale):
    X, model = FORMS[form], asking(scale)
    asked = ASKING[path](model, X)
    assert 20 < asked.sum() < 50
    assert asked[0]
    without = ct.MultitaskLogistic(scale=scale).fit(cut(X, asked), LABELS[asked], TASKS[asked])
    expected = without.decision_function(X, task=TASKS)
    np.testing.assert_allclose(model.decision_function(X, task=TASKS), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("scale", SCALES)
def test_blocks_ask_as_one_record_at_a_time(scale):
    one, block = (ct.SelectiveSampling(ct.MultitaskLogistic(scale=scale), seed=3) for _ in range(2))
    np.testing.assert_array_equal(ask_progressively(block, RECORDS), ask_one_by_one(one, RECORDS))
    expected = one.decision_function(RECORDS, task=TASKS)
    np.testing.assert_array_equal(block.decision_function(RECORDS, task=TASKS), expected)


@pytest.mark.parametrize("scale", ["none", "auto"])
@pytest.mark.parametrize("frame", [FRAME, MIXED], ids=["numbers", "text"])
@pytest.mark.parametrize("delay", [0, 7])
def test_labels_that_are_not_asked_for_in_files_change_nothing(delay, frame, scale, tmp_path):
    names = [f"{folder}.csv" for folder in ("whole", "asked")]
    columns = {"label": "label", "task": "task", "scale": scale}
    frame.assign(task=TASKS, label=LABELS).to_csv(tmp_path / names[0], index=False)
    model = asking(scale)
    reader = read(tmp_path / names[0], **columns, block_rows=17)
    asked = ct.progressive_validation(model, reader, delay=delay).queried
    frame[asked].assign(task=TASKS[asked], label=LABELS[asked]).to_csv(tmp_path / names[1], index=False)
    without = ct.MultitaskLogistic(scale=scale)
    ct.progressive_validation(without, read(tmp_path / names[1], **columns))
    expected = without.decision_function(frame, task=TASKS)
    np.testing.assert_allclose(model.decision_function(frame, task=TASKS), expected, rtol=1e-12, atol=1e-14)
    saved = tmp_path / "model.coterie"
    options = [
        "-l",
        "label",
        "-t",
        "task",
        "--scale",
        scale,
        "--learner",
        "SelectiveSampling(MultitaskLogistic(), Randomly(0.6), seed=2)",
    ]
    run("learn", tmp_path / names[0], *options, "--alone", "--quiet", "--delay", delay, "--output", saved)
    learned = ct.load(saved).decision_function(frame, task=TASKS)
    np.testing.assert_allclose(learned, expected, rtol=1e-12, atol=1e-14)


# -- clocks -----------------------------------------------------------------------------------------------------------

PRIMED = ct.relations.Primed(ct.LogDet(eta=1e-2), 20)
CLOCKS = {
    "average": lambda: ct.MultitaskPerceptron(average=True),
    "half-life": lambda: ct.MultitaskLogistic(half_life=20.0),
    "learned relation": lambda: ct.MultitaskPerceptron(PRIMED),
    "learned relation, average": lambda: ct.MultitaskPerceptron(PRIMED, average=True),
}


def rounds_of(model):
    return model.__stream_model__().state.rounds


@pytest.mark.parametrize("name", CLOCKS)
def test_clocks_count_records_that_are_not_learned_in_every_path(name):
    X = [{"x": x, "z": z} for x, z in rng.normal(size=(60, 2)).tolist()]
    models = {}
    for path, ask in {} if "kernel" in name else ASKING.items():
        models[path, "not asked"] = ct.SelectiveSampling(CLOCKS[name](), ct.asking.Randomly(rate=0.6), seed=2)
        asked = ask(models[path, "not asked"], X)
    weights = np.where(asked, 1.0, 0.0) if models else WEIGHTS
    for path in ("fit", "progressive validation", "delay", "one by one"):
        learn = one_by_one if path == "one by one" else PATHS[path]
        model = CLOCKS[name]()
        if path == "one by one":
            for x, label, task, weight in zip(X, LABELS, TASKS, weights, strict=True):
                model.learn_one(x, label, task=task, sample_weight=weight)
        elif path == "fit":
            model.fit(X, LABELS, TASKS, sample_weight=weights)
        else:
            learn(model, X, np.ones(60, bool), weights)
        models[path, "weight 0"] = model
    expected = models["fit", "weight 0"].decision_function(X, task=TASKS)
    for path, model in models.items():
        np.testing.assert_array_equal(model.decision_function(X, task=TASKS), expected, str(path))
        assert rounds_of(model) == 60, path


def test_a_first_record_of_weight_0_changes_nothing():
    models = [ct.MultitaskLogistic(scale="auto") for _ in range(2)]
    models[0].learn_one({"x": 1e6}, "no", task="a", sample_weight=0.0)
    for model in models:
        for x, label, task in zip(RECORDS, LABELS, TASKS, strict=True):
            model.learn_one(x, label, task=task)
    found, expected = (model.decision_function(RECORDS, task=TASKS) for model in models)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_labels_of_weight_0_count_in_no_scale_of_numbers():
    X, y = FRAME.to_numpy(), np.where(LEARNED, np.arange(60.0), 1e6)
    weighted = ct.MultitaskRegressor(scale="auto").fit(X, y, TASKS, sample_weight=WEIGHTS)
    expected = ct.MultitaskRegressor(scale="auto").fit(X[LEARNED], y[LEARNED], TASKS[LEARNED])
    np.testing.assert_allclose(weighted.predict(X, TASKS), expected.predict(X, TASKS), rtol=1e-12)


def test_rewards_of_weight_0_change_no_choice():
    bandits = [ct.Bandit(actions=["left", "right"]) for _ in range(3)]
    rewards = np.where(LEARNED, np.arange(60) % 3, 1e3).tolist()
    for t, context in enumerate(RECORDS):
        bandits[0].learn(context, "left", rewards[t], 0.5, sample_weight=WEIGHTS[t])
        if LEARNED[t]:
            bandits[1].learn(context, "left", rewards[t], 0.5)
    bandits[2].learn_many(RECORDS, ["left"] * 60, rewards, sample_weight=WEIGHTS)
    expected = bandits[1].probabilities(RECORDS[0])
    for bandit in bandits:
        assert bandit.n_rewards_ == LEARNED.sum()
        assert bandit.probabilities(RECORDS[0]) == pytest.approx(expected, rel=1e-12)
