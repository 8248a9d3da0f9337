"""Dictionaries that leave out names: what is absent counts, in every form of records and for every learner."""

import copy

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.sparse import csr_array

import coterie as ct
from coterie.data.input_encoders import DictEncoder, InputOptions
from coterie.data.preprocessing import Preparation
from coterie.data.readers import read
from coterie.distributed.folder import encode_raw
from coterie.evaluation.learning import TOGETHER, learn
from coterie.expressions import LearnerExpression
from reference.absent_names import scaled
from slow import slow
from terminal import write_jsonl

N = 4000


def words(rng):
    """Eight of 300 words."""
    weights = rng.normal(size=300)
    chosen = [rng.choice(300, 8, replace=False) for _ in range(N)]
    return [{f"w{j}": 1 for j in words} for words in chosen], np.array([weights[words].sum() for words in chosen])


def counts(rng):
    """Counts of eight words, frequent and rare, without zeros."""
    weights, share = rng.normal(size=300), 1.0 / np.arange(1, 301)
    pairs = [np.unique(rng.choice(300, 8, p=share / share.sum()), return_counts=True) for _ in range(N)]
    records = [{f"w{j}": int(n) for j, n in zip(*pair, strict=True)} for pair in pairs]
    return records, np.array([weights[j] @ n for j, n in pairs])


def amount_and_flag(rng):
    """An amount in every record, and a flag in 30 % of them."""
    amount, flag = rng.normal(size=N), rng.random(N) < 0.3
    records = [{"amount": a} | ({"vip": 1} if f else {}) for a, f in zip(amount.tolist(), flag.tolist(), strict=True)]
    return records, 0.7 * amount + np.where(flag, 2.0, -1.0) + rng.normal(0.0, 0.2, N)


def one_hot(rng):
    """Three columns of 20 categories as numbers."""
    weights, chosen = rng.normal(size=(3, 20)), rng.integers(20, size=(N, 3))
    records = [{f"c{k}_{j}": 1 for k, j in enumerate(codes)} for codes in chosen.tolist()]
    return records, weights[np.arange(3), chosen].sum(1)


def half(rng):
    """N(3, 1) in half of the records, whose absence says nothing."""
    always, amount, there = rng.normal(size=N), rng.normal(3.0, 1.0, N), rng.random(N) < 0.5
    columns = zip(always.tolist(), amount.tolist(), there.tolist(), strict=True)
    records = [{"b": b} | ({"a": a} if has else {}) for b, a, has in columns]
    return records, 0.5 * always + np.where(there, amount - 3.0, 0.0) + rng.normal(0.0, 0.2, N)


STREAMS = {make.__name__: make for make in (words, counts, amount_and_flag, one_hot, half)}


def drawn(name):
    """Records, scores and tasks of a stream."""
    rng = np.random.default_rng(0)
    X, score = STREAMS[name](rng)
    return X, score, rng.choice(["ann", "bob", "eve"], N).tolist()


def with_zeros(X):
    """A frame of records in which zeros are written out."""
    names = list(dict.fromkeys(name for x in X for name in x))
    return pd.DataFrame([[float(x.get(name, 0)) for name in names] for x in X], columns=names)


def rows(records):
    """By record the nonzero features by their names, of a form that prepares dictionaries as the default does."""
    form, records_made = DictEncoder.with_options(InputOptions("", scale="standard")), []
    for record in records:
        row, _ = form.read_one(record, True)
        records_made.append((form, row.features.tolist(), row.values.tolist()))
    return records_made


def without_zeros(values):
    """The values, sorted, that are not 0 but for rounding."""
    return sorted(value for value in values if abs(value) > 1e-12)


def by_name(form, features, values):
    """The nonzero values of a row by the name of the number that they are of."""
    names, nonzero = form.feature_names, {}
    for j, value in zip(features, values, strict=True):
        if abs(value) > 1e-12:
            nonzero.setdefault(names[j].removesuffix(" is present"), []).append(value)
    return {name: sorted(values) for name, values in nonzero.items()}


def some_records(rng, n=120):
    """Records in which names are absent, missing and present, of the same value and of many."""
    draw = {"flag": lambda: 1, "count": lambda: int(rng.integers(1, 4)), "amount": lambda: float(rng.normal(3, 2))}
    chance = {"flag": (0.7, 0.0), "count": (0.5, 0.1), "amount": (0.2, 0.2), "late": (0.3, 0.1), "gap": (0.1, 0.5)}
    records = []
    for t in range(n):
        record = {}
        for name, (absent, missing) in chance.items():
            u = rng.random()
            if u >= absent and (name != "late" or t > 30):
                value = draw.get(name, draw["amount"])()
                record[name] = [None, float("nan")][t % 2] if u < absent + missing else value
        records.append(record)
    return records


@pytest.mark.parametrize("seed", [0, 1])
def test_features_are_those_of_the_definition(seed):
    records = some_records(np.random.default_rng(seed))
    for t, (form, features, values) in enumerate(rows(records)):
        expected = {}
        for (name, part), value in scaled(records, t).items():
            expected.setdefault(f"{name}=" if part == "missing" else name, []).append(value)
        expected = {name: nonzero for name, record in expected.items() if (nonzero := without_zeros(record))}
        decoded_rows = by_name(form, features, values)
        assert decoded_rows.keys() == expected.keys()
        for name in expected:
            np.testing.assert_allclose(decoded_rows[name], expected[name], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_names_that_are_always_there_are_scaled_as_columns_are(missing):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(3.0, 2.0, 300), rng.integers(0, 3, 300), np.ones(300), rng.standard_cauchy(300)])
    X[rng.random(X.shape) < missing] = np.nan
    expected = Preparation(False, "standard", 4).columns(X, learning=True)[:, :4]
    encoded_rows = rows([dict(zip("abcd", x, strict=True)) for x in X.tolist()])
    form = encoded_rows[-1][0]
    decoded = [dict(zip(features, values, strict=True)) for _, features, values in encoded_rows]
    columns = [form.vocabulary.numbers[name] for name in "abcd"]
    np.testing.assert_array_equal([[row.get(j, 0.0) for j in columns] for row in decoded], expected)
    assert form.preparation.second_columns == {}


def assert_same(saved, other):
    assert saved[0] == other[0]
    assert saved[1].keys() == other[1].keys()
    for name, array in saved[1].items():
        np.testing.assert_array_equal(array, other[1][name])


def test_refused_records_leave_nothing_behind():
    records = some_records(np.random.default_rng(0))
    form = rows(records[:40])[0][0]
    for record in records[40:]:
        before = copy.deepcopy(form.to_saved())
        undo = form.snapshot()
        form.read_one(record, True)
        undo()
        assert_same(form.to_saved(), before)
        undo = form.snapshot()
        form.read(records[:20], True)
        undo()
        assert_same(form.to_saved(), before)
        form.read_one(record, True)
    assert_same(form.to_saved(), rows(records)[-1][0].to_saved())


def json_lines(path, X, y, task):
    """Write records as JSON Lines, with what is absent left out and None as null."""
    known = [{name: None if value != value else value for name, value in x.items()} for x in X]
    lines = [x | {"label": label, "user": user} for x, label, user in zip(known, y, task, strict=True)]
    return write_jsonl(path, lines)


def by_lines(path, scale="auto", **options):
    """The margins of a learner of the command line, by record, and its model."""
    reader = read(path, label="label", task="user", scale=scale, bits=12, **options)
    outcome = learn(reader, {TOGETHER: LearnerExpression("MultitaskLogistic()")}, alone=True)
    return outcome.trace, outcome.model


def texts_and_flags(rng, n):
    """Text and truth values that are absent, missing and present; the last is one of each."""
    values = {"shop": ["north", "south", None], "vip": [True, False, None], "new": [True, None], "tag": ["x", None]}
    chance = {"shop": 0.2, "vip": 0.5, "new": 0.7, "tag": 0.9}
    records = [
        {name: values[name][rng.integers(len(values[name]))] for name in values if rng.random() >= chance[name]}
        for _ in range(n - 1)
    ]
    return [*records, {"shop": "south", "vip": True, "tag": None}]


MORE = {"numbers": lambda rng, n: [{}] * n, "mixed": lambda rng, n: [{"shop": "north"}] * n}
MORE["texts and flags"] = texts_and_flags


@pytest.mark.parametrize(
    ("scale", "more"),
    [("auto", "numbers"), ("auto", "mixed"), ("auto", "texts and flags"), ("unit", "numbers"), ("unit", "mixed")],
)
def test_json_lines_without_a_key_are_dictionaries_without_a_name(more, scale, tmp_path):
    rng = np.random.default_rng(0)
    X = [x | y for x, y in zip(some_records(rng, 120), MORE[more](rng, 120), strict=True)]
    y, task = ["yes" if x.get("amount", 0) and "flag" in x else "no" for x in X], ["ann", "bob"] * 60
    model = ct.MultitaskLogistic(scale=scale)
    expected = ct.progressive_validation(model, X, y, task=task)
    for block_rows in (7, 8192):
        from_lines, other = by_lines(json_lines(tmp_path / "x.jsonl", X, y, task), scale, block_rows=block_rows)
        np.testing.assert_allclose(from_lines.margin, expected.margin, rtol=1e-9, atol=1e-9)
    other.save(tmp_path / "model")
    again = ct.load(tmp_path / "model")
    asked = next(x for x in reversed(X) if x.get("amount") is not None and x["amount"] == x["amount"])
    for restored in (other, again):
        np.testing.assert_allclose(restored.decision_function(X, task), model.decision_function(X, task), atol=1e-9)
        parts = [part.name for part in restored.explain(asked, task="ann").parts]
        assert "amount" in parts
        assert ("amount is present" in parts) == (scale == "auto")
        restored.partial_fit(X[:50], y[:50], task[:50])
    np.testing.assert_array_equal(again.decision_function(X, task), other.decision_function(X, task))


def test_all_records_of_a_file_may_leave_out_a_key(tmp_path):
    rng = np.random.default_rng(0)
    draw = {"n": lambda: rng.normal(), "shop": lambda: "ns"[rng.integers(2)], "flag": lambda: True}
    draw |= {"day": lambda: f"2024-02-{rng.integers(10, 29)}", "tags": lambda: ["a", "b"][: rng.integers(3)]}
    first = [
        {"base": rng.normal(), **{name: make() for name, make in draw.items() if rng.random() < 0.5}} for _ in range(60)
    ]
    X = [*first, *[{"base": rng.normal()} for _ in range(5)], *first[:9]]
    y, task = ["no", "yes"] * 37, ["ann", "bob"] * 37
    paths = [tmp_path / f"{name}.jsonl" for name in ("all", "1", "2", "3")]
    for path, rows in zip(paths, (slice(None), slice(60), slice(60, 65), slice(65, None)), strict=True):
        json_lines(path, X[rows], y[rows], task[rows])
    models = [ct.MultitaskLogistic() for _ in range(3)]
    ct.progressive_validation(models[0], read(paths[0], label="label", task="user"))
    ct.progressive_validation(models[1], read(paths[1:], label="label", task="user"))
    ct.progressive_validation(models[2], read(paths[1], label="label", task="user"))
    for path in paths[2:]:
        ct.progressive_validation(models[2], read(path, label="label", encoder=models[2].encoder_))
    expected = models[0].decision_function(X, task)
    for model in models[1:]:
        np.testing.assert_array_equal(model.decision_function(X, task), expected)
    reader = read(paths[2], encoder=models[0].encoder_, update=False)
    (block,) = reader
    np.testing.assert_array_equal(models[0].decision_function(block), expected[60:65])
    assert reader.missing_columns == {}
    pd.DataFrame(X[60:65]).assign(user=task[60:65]).to_csv(tmp_path / "2.csv", index=False)
    (block,) = read(tmp_path / "2.csv", encoder=models[0].encoder_, update=False)
    missing = [x | dict.fromkeys(draw.keys() - {"tags"}) for x in X[60:65]]
    np.testing.assert_allclose(models[0].decision_function(block), models[0].decision_function(missing, task[60:65]))


#: The most by which the error may exceed that with zeros written out. Where 0 is far from the other numbers, the error must be smaller.
BOUNDS = {"words": 0.01, "counts": 0.02, "amount_and_flag": 0.01, "one_hot": 0.01, "half": -0.1}


def mistakes(trace):
    return float(np.mean(trace.mistake[N // 3 :]))


def test_what_is_missing_is_missing_to_a_model_of_json_lines_in_every_form(tmp_path):
    rng = np.random.default_rng(0)
    columns = {"a": rng.normal(size=60).tolist(), "job": ["x", "y"] * 30, "day": ["2024-02-29", "2023-05-01"] * 30}
    gaps = {name: rng.random(60) < 0.3 for name in columns}
    records = [{name: None if gaps[name][t] else columns[name][t] for name in columns} for t in range(60)]
    y = ["yes" if record["job"] is None else "no" for record in records]
    reader = read(json_lines(tmp_path / "x.jsonl", records, y, ["ann"] * 60), label="label", task="user")
    model = ct.AdaptiveSharingClassifier()
    ct.progressive_validation(model, reader)
    new = [*records[:5], {"a": 0.5, "job": None, "day": None}, dict.fromkeys(columns)]
    frame = pd.DataFrame(new)
    frame.assign(user="ann").to_csv(tmp_path / "x.csv", index=False)
    frame.assign(user="ann").to_parquet(tmp_path / "x.parquet")
    frame.assign(user="ann").to_feather(tmp_path / "x.feather")
    expected = [model.predict_proba_one(record, task="ann")["yes"] for record in new]
    assert max(expected) > 0.7 > 0.3 > min(expected)
    forms = {"dictionaries": new, "pandas": frame, "dates": frame.assign(day=pd.to_datetime(frame["day"]))}
    forms |= {"Arrow": pa.Table.from_pylist(new)}
    predicted = {name: model.predict_proba(form, task=["ann"] * len(new))[:, 1] for name, form in forms.items()}
    for suffix in ("csv", "parquet", "feather"):
        (block,) = read(tmp_path / f"x.{suffix}", task="user", encoder=reader.encoder, update=False)
        predicted[suffix] = model.__stream_model__().predict(block).of_block().probability
    for form, probabilities in predicted.items():
        np.testing.assert_allclose(probabilities, expected, rtol=1e-12, err_msg=form)


@pytest.mark.parametrize(
    "make", [ct.AdaptiveSharingClassifier, ct.AdaptiveSharingRegressor, slow(ct.MultitaskMixedEffectsClassifier)]
)
def test_the_first_gap_of_a_column_is_predicted_alike_in_every_form(make, tmp_path):
    rng = np.random.default_rng(0)
    task, regression = rng.choice(["ann", "bob", "eve"], 200), make is ct.AdaptiveSharingRegressor
    columns = pd.DataFrame({"a": rng.normal(size=200), "b": rng.normal(size=200)})
    y = columns["a"].to_numpy() if regression else np.where(columns["a"] > 0, "yes", "no")
    columns.assign(user=task, label=y).to_csv(tmp_path / "x.csv", index=False)
    model = make()
    ct.progressive_validation(model, read(tmp_path / "x.csv", label="label", task="user"))
    new, whose = columns.head(6).copy(), task[:6]
    new.loc[3, "a"] = np.nan
    table = new.assign(user=whose)
    table.to_csv(tmp_path / "new.csv", index=False)
    table.to_parquet(tmp_path / "new.parquet")
    table.to_json(tmp_path / "new.jsonl", orient="records", lines=True, double_precision=15)
    predict = model.predict_interval if regression else model.predict_proba
    expected = predict(new, task=whose)
    records = [{"a": None if np.isnan(a) else a, "b": b} for a, b in new.to_numpy().tolist()]
    np.testing.assert_allclose(predict(records, task=whose), expected, rtol=1e-12)
    for suffix in ("csv", "parquet", "jsonl"):
        for raw in (False, True):  # shards read raw records
            reader = read(tmp_path / f"new.{suffix}", task="user", encoder=model.encoder_, update=False)
            (block,) = reader.raw() if raw else reader
            block = encode_raw(block, model.encoder_)
            np.testing.assert_allclose(predict(block), expected, rtol=1e-12, err_msg=suffix)
    # a block in which nothing is learned, of a stream of labels that come late
    late = table.assign(label=y[:6], weight=0.0)
    pd.concat([late, columns.assign(user=task, label=y, weight=1.0)]).to_csv(tmp_path / "late.csv", index=False)
    options = {"label": "label", "task": "user", "weight": "weight", "encoder": model.encoder_}
    reader = read(tmp_path / "late.csv", block_rows=6, **options)
    trace = ct.progressive_validation(copy.deepcopy(model), reader, delay=9)
    predicted = trace.prediction if regression else trace.margin
    expected = (model.predict if regression else model.decision_function)(new, task=whose)
    np.testing.assert_allclose(predicted[:6], expected, rtol=1e-9)


@pytest.mark.parametrize("name", ["amount_and_flag", *(slow(name) for name in STREAMS if name != "amount_and_flag")])
def test_records_that_leave_out_zeros_are_learned_as_well_in_every_form(name, tmp_path):
    X, score, task = drawn(name)
    y = np.where(score > np.median(score), "yes", "no").tolist()
    forms = {"zeros": with_zeros(X), "dictionaries": X}
    if name != "half":  # in a sparse matrix 0 is a number
        forms["sparse"] = csr_array(with_zeros(X).to_numpy())

    def validated(X):
        return ct.progressive_validation(ct.MultitaskLogistic(scale="auto"), X, y, task=task)

    error = {form: mistakes(validated(form_records)) for form, form_records in forms.items()}
    error["lines"] = mistakes(by_lines(json_lines(tmp_path / "x.jsonl", X, y, task))[0])
    error["late"] = mistakes(ct.progressive_validation(ct.MultitaskLogistic(scale="auto"), X, y, task=task, delay=20))
    for form in error.keys() - {"zeros"}:
        assert error[form] <= error["zeros"] + BOUNDS[name], (form, error)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scale", "name"),
    [
        *(("standard", form) for form in ("words", "amount_and_flag", "half")),
        *(("auto", form) for form in ("words", "counts", "amount_and_flag", "half")),
    ],
)
def test_the_regressor_learns_records_that_leave_out_zeros(scale, name):
    X, score, task = drawn(name)
    make = lambda: ct.AdaptiveSharingRegressor(scale=scale)  # noqa: E731
    traces = [ct.progressive_validation(make(), form, score, task=task) for form in (X, with_zeros(X))]
    rmse = [float(np.sqrt(np.mean((trace.prediction - score)[N // 3 :] ** 2))) for trace in traces]
    assert rmse[0] <= 1.02 * rmse[1], rmse


def test_what_is_there_only_if_it_is_true_is_learned_one_by_one():
    model = ct.AdaptiveSharingClassifier()
    for _ in range(300):
        model.learn_one({"free": 1}, True, task="u")
        model.learn_one({"lunch": 1}, False, task="u")
    chance = [model.predict_proba_one(x, "u")[True] for x in ({"free": 1}, {}, {"lunch": 1})]
    assert chance[0] > 0.99 > 0.8 > chance[1] > 0.2 > 0.01 > chance[2]
    parts = {part.name: part for part in model.explain({"free": 1}, task="u").parts}
    assert parts["free"].given == 1
    assert parts["free"].part > 3.0
    assert model.feature_names == ["free", "lunch"]


@pytest.mark.slow
def test_a_bandit_learns_contexts_and_actions_of_what_is_there_only_if_it_is_true():
    bandit = ct.Bandit(actions=[{"shoes": 1}, {"hats": 1}], seed=0)
    for t in range(600):
        bandit.learn([{}, {"lunch": 1}][t // 2 % 2], bandit.actions[t % 2], float(t % 2 == t // 2 % 2), task="u")
    for context, best in (({}, 0), ({"lunch": 1}, 1)):
        scores = bandit.scores(context, task="u")
        assert scores[best] > 0.8 > 0.2 > scores[1 - best], (context, scores)


def test_a_probability_moves_little_when_a_name_that_was_always_there_is_absent_once():
    rng = np.random.default_rng(0)
    model = ct.AdaptiveSharingClassifier()
    for _ in range(1000):
        x = {"a": float(rng.normal(3.0)), "b": float(rng.normal())}
        model.learn_one(x, bool(x["a"] + x["b"] + rng.normal() > 3.0), task="u")
    tests = [{"a": float(rng.normal(3.0)), "b": float(rng.normal())} for _ in range(50)]
    other = copy.deepcopy(model)
    model.learn_one({"b": 0.0}, True, task="u")
    other.learn_one({"a": 3.0, "b": 0.0}, True, task="u")
    for _ in range(2):  # then there is a second column
        moved = [model.predict_proba_one(x, "u")[True] - other.predict_proba_one(x, "u")[True] for x in tests]
        assert np.abs(moved).max() <= 0.012
        for fitted in (model, other):
            fitted.learn_one(tests[0], True, task="u")
    assert "a is present" in model.feature_names
