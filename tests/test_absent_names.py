"""Dictionaries that leave out names: what is absent counts, in every form of records and for every learner."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

import coterie as ct
from coterie.inputs.form import Words
from coterie.inputs.preparation import Preparation
from coterie.numeric.primal.calls import RecordCalls
from reference.absent_names import scaled

N = 2000


def words(rng):
    """Eight of 300 words."""
    weights = rng.normal(size=300)
    chosen = [rng.choice(300, 8, replace=False) for _ in range(N)]
    return [{f"w{j}": 1 for j in each} for each in chosen], np.array([weights[each].sum() for each in chosen])


def counts(rng):
    """Counts of eight words, frequent and rare, without zeros."""
    weights, share = rng.normal(size=300), 1.0 / np.arange(1, 301)
    made = [np.unique(rng.choice(300, 8, p=share / share.sum()), return_counts=True) for _ in range(N)]
    records = [{f"w{j}": int(n) for j, n in zip(*each, strict=True)} for each in made]
    return records, np.array([weights[j] @ n for j, n in made])


def amount_and_flag(rng):
    """An amount in every record, and a flag in 30 % of them."""
    amount, flag = rng.normal(size=N), rng.random(N) < 0.3
    records = [{"amount": a} | {"vip": 1} * f for a, f in zip(amount.tolist(), flag.tolist(), strict=True)]
    return records, 0.7 * amount + np.where(flag, 2.0, -1.0) + rng.normal(0.0, 0.2, N)


def one_hot(rng):
    """Three columns of 20 categories as numbers."""
    weights, chosen = rng.normal(size=(3, 20)), rng.integers(20, size=(N, 3))
    records = [{f"c{k}_{j}": 1 for k, j in enumerate(each)} for each in chosen.tolist()]
    return records, weights[np.arange(3), chosen].sum(1)


def half(rng):
    """N(3, 1) in half of the records, whose absence says nothing."""
    always, amount, there = rng.normal(size=N), rng.normal(3.0, 1.0, N), rng.random(N) < 0.5
    records = [
        {"b": b} | ({"a": a} if has else {})
        for b, a, has in zip(always.tolist(), amount.tolist(), there.tolist(), strict=True)
    ]
    return records, 0.5 * always + np.where(there, amount - 3.0, 0.0) + rng.normal(0.0, 0.2, N)


STREAMS = {made.__name__: made for made in (words, counts, amount_and_flag, one_hot, half)}


def drawn(name):
    """Records, scores and tasks of a stream."""
    rng = np.random.default_rng(0)
    X, score = STREAMS[name](rng)
    return X, score, rng.choice(["ann", "bob", "eve"], N).tolist()


def with_zeros(X):
    """A frame of records in which zeros are written out."""
    names = list(dict.fromkeys(name for x in X for name in x))
    return pd.DataFrame([[float(x.get(name, 0)) for name in names] for x in X], columns=names)


def rows(records, learned=True, form=None):
    """By record the nonzero features by their names, of a form that prepares dictionaries as the default does."""
    form = Words.of(None, (False, "standard", ())) if form is None else form
    made = []
    for record in records:
        row, _ = form.read_one(record, learned)
        made.append((form, row.features.tolist(), row.values.tolist()))
    return made


def without_zeros(values):
    """The values, sorted, that are not 0 but for rounding."""
    return sorted(value for value in values if abs(value) > 1e-12)


def by_name(form, features, values):
    """The nonzero values of a row by the name of the number that they are of."""
    names, made = form.feature_names, {}
    for j, value in zip(features, values, strict=True):
        if abs(value) > 1e-12:
            made.setdefault(names[j].removesuffix(" is present"), []).append(value)
    return {name: sorted(each) for name, each in made.items()}


def some_records(rng, n=120):
    """Records in which names are absent, missing and present, of the same value and of many."""
    draw = {"flag": lambda: 1, "count": lambda: int(rng.integers(1, 4)), "amount": lambda: float(rng.normal(3, 2))}
    chance = {"flag": (0.7, 0.0), "count": (0.5, 0.1), "amount": (0.2, 0.2), "late": (0.3, 0.1), "gap": (0.1, 0.5)}
    made = []
    for t in range(n):
        record = {}
        for name, (absent, missing) in chance.items():
            u = rng.random()
            if u >= absent and (name != "late" or t > 30):
                value = draw.get(name, draw["amount"])()
                record[name] = [None, float("nan")][t % 2] if u < absent + missing else value
        made.append(record)
    return made


@pytest.mark.parametrize("seed", range(5))
def test_features_are_those_of_the_definition(seed):
    records = some_records(np.random.default_rng(seed))
    for t, (form, features, values) in enumerate(rows(records)):
        expected = {}
        for (name, part), value in scaled(records, t).items():
            expected.setdefault(f"{name}=" if part == "missing" else name, []).append(value)
        expected = {name: made for name, each in expected.items() if (made := without_zeros(each))}
        found = by_name(form, features, values)
        assert found.keys() == expected.keys()
        for name in expected:
            np.testing.assert_allclose(found[name], expected[name], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_names_that_are_always_there_are_scaled_as_columns_are(missing):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(3.0, 2.0, 300), rng.integers(0, 3, 300), np.ones(300), rng.standard_cauchy(300)])
    X[rng.random(X.shape) < missing] = np.nan
    expected = Preparation(False, "standard", 4, indicators=False).columns(X, learning=True)
    made = rows([dict(zip("abcd", x, strict=True)) for x in X.tolist()])
    form = made[-1][0]
    found = [dict(zip(features, values, strict=True)) for _, features, values in made]
    columns = [form.vocabulary.numbers[name] for name in "abcd"]
    np.testing.assert_array_equal([[row.get(j, 0.0) for j in columns] for row in found], expected)
    assert form.preparation.second_columns == {}


def test_a_name_has_a_second_column_only_if_it_varies_and_is_sometimes_absent():
    records = [{"always": 1.0, "flag": 1}, {"always": 2.0}, {"always": 3.0, "flag": 1, "late": 2.0}]
    form = rows(records)[0][0]
    assert form.feature_names == ["always", "flag", "late"]
    form.read_one({"always": 4.0, "late": 5.0}, True)
    assert form.feature_names == ["always", "flag", "late is present", "late"]
    form.read_one({"late": 5.0}, True)
    assert len(form.feature_names) == 4
    form.read_one({"always": 4.0}, True)
    assert form.feature_names == ["always", "flag", "late is present", "late", "always is present"]


@pytest.mark.parametrize("name", ["late is present", "late~", "late=", ("late", 1), 2, 3])
def test_no_name_of_a_user_is_that_of_a_second_column(name):
    records = [{"always": 1.0}, {"late": 2.0}, {"late": 3.0}, {"always": 1.0, name: 1.0}]
    form = rows(records)[0][0]
    assert form.preparation.second_columns == {1: (2, True)}
    assert form.vocabulary.numbers[name] == 3


def test_prediction_changes_nothing():
    records = some_records(np.random.default_rng(0))
    form = rows(records[:80])[0][0]
    before = copy.deepcopy(form.to_saved())
    first = rows(records[80:], False, form)
    for (_, *row), (_, *again) in zip(first, rows(records[80:], False, form), strict=True):
        assert row == again
    assert_same(form.to_saved(), before)


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
    again = rows(records)[-1][0]
    assert_same(form.to_saved(), again.to_saved())


@pytest.mark.parametrize("again", ["saved", "pickled", "copied"])
@pytest.mark.parametrize("quick", [True, False])
def test_models_go_on_bit_for_bit(again, quick, monkeypatch, tmp_path):
    monkeypatch.setattr(RecordCalls, "PATIENCE", 4)
    rng = np.random.default_rng(0)
    records = some_records(rng, 200)
    if quick:
        records = [{name: value for name, value in x.items() if value == value and value is not None} for x in records]
    model = ct.MultitaskLogistic()
    for t, x in enumerate(records):
        if t == 100:
            model.save(tmp_path / "model")
            other = {
                "saved": lambda: ct.load(tmp_path / "model"),
                "pickled": lambda: pickle.loads(pickle.dumps(model)),  # noqa: S301
                "copied": lambda: copy.deepcopy(model),
            }[again]()
        for each in (model,) if t < 100 else (model, other):
            each.learn_one(x, bool(t % 3), "ann")
    for x in records:
        assert model.decision_function_one(x, "ann") == other.decision_function_one(x, "ann")
    block = ct.MultitaskLogistic().partial_fit(records, [bool(t % 3) for t in range(200)], task=["ann"] * 200)
    np.testing.assert_array_equal(block.coef_, model.coef_)
    assert block.feature_names == model.feature_names == other.feature_names
