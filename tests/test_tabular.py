"""Members for tables: task means, crossed columns and refitted trees, against their definitions and in every stream."""

import copy
import random
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

import coterie as ct
import raw
import terminal
from coterie import persistence
from coterie.around import boosting, crossed, trees
from coterie.around.crossed import CrossedLogistic
from coterie.around.task_means import TaskMeanLogistic
from coterie.around.trees import RefittedTrees
from coterie.index import Index
from coterie.inputs.block import Block
from coterie.numeric.core.arrays import Dropped
from coterie.numeric.core.records import Csr, Dense
from coterie.numeric.tabular import crossings
from coterie.numeric.tabular.entries import sorted_entries
from coterie.numeric.tabular.forest import CATEGORIES, Nodes, trees_say
from coterie.round.contract import Run, Size
from coterie.round.mixture import Mixture
from reference import adalog, tabular
from reference.sharing import AdaptiveSharing, run
from slow import slow, slow_where
from states import digest
from terminal import WHO, rows, write_csv
from test_adaptive import as_records
from test_altered_files import altered, used
from test_cuts import part, spans
from test_saved import TASKS
from test_sharing import assert_asked, literal


def table(seed=0, n=400, unit=False, tasks=5):
    """Numbers, a number of three values, categories as 0 and 1, a rare number and a constant, by columns."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(3, size=n)
    columns = [rng.normal(size=n), rng.integers(3, size=n), *(kind == k for k in range(3))]
    columns += [np.where(rng.random(n) < 0.2, rng.normal(size=n), 0.0), np.ones(n)]
    X, task = np.column_stack(columns).astype(float), rng.integers(tasks, size=n)
    truth = X[:, 0] * (kind - 1) + (X[:, 1] == 1) + 0.5 * (task == 2) - 0.4
    y = np.where(truth + 0.5 * rng.logistic(size=n) > 0, 1.0, -1.0)
    return X / np.linalg.norm(X, axis=1)[:, None] if unit else X, y, task


def learner_told(learner, X, y, task, delay=0, ends=()):
    """The margins that a learner tells of a stream, cut at these places, and its state in the end."""
    state = learner.init(Index(range(int(task.max()) + 1)), Size(X.shape[1]))
    run = Run(X if isinstance(X, (Dense, Csr)) else Dense(X), task)
    told = np.zeros(len(y))
    told[:delay] = learner.predict(state, run.cut(0, delay)).margins
    for a, b in spans(sorted(ends), len(y) - delay):
        told[a + delay : b + delay] = learner.learn(state, run.cut(a, b + delay), y[a:b]).told.margins[delay:]
    learner.learn(state, run.cut(len(y) - delay, len(y)), y[len(y) - delay :])
    return told, state


def forget(learner, state, tasks, known):
    """Drop tasks, the labels of which are their numbers, as a population does."""
    dropped = Dropped.of(tasks, known)
    getattr(state, "inner", state).tasks.drop(dropped)
    learner.drop(state, dropped, tasks)


def pooled():
    return adalog.AdaLog(adalog.share(1.0))


@pytest.fixture
def early(monkeypatch):
    """Everything that waits for some records waits for few."""
    monkeypatch.setattr(crossed, "FIRST", 30)
    monkeypatch.setattr(trees, "FIRST", 40)
    monkeypatch.setattr(trees, "WINDOW", 100)
    monkeypatch.setattr(boosting, "LEAST", 5)
    monkeypatch.setattr(boosting, "TREES", 5)


# -- equality with the definitions -------------------------------------------------------------------------------------


@pytest.mark.parametrize("delay", [0, 7])
@pytest.mark.parametrize("unit", [False, True], ids=["as they are", "unit length"])
def test_task_means_are_the_literal_algorithm(delay, unit):
    X, y, task = table(0, unit=unit)
    told, state = learner_told(TaskMeanLogistic(), X, y, task, delay)
    definition = tabular.TaskMean()
    expected = run(definition, as_records(X), task.tolist(), y, delay)
    np.testing.assert_allclose(told[delay:], expected[delay:], rtol=1e-9, atol=1e-11)
    unseen = TaskMeanLogistic().predict(state, Run(Dense(X[:5]), np.full(5, -1), ["new"] * 5)).margins
    np.testing.assert_allclose(unseen, [definition.margin(x, "new", 0) for x in as_records(X[:5])], rtol=1e-9)


def test_of_many_features_the_first_128_have_a_factor():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 200)) * (rng.random((150, 200)) < 0.05)
    y, task = rng.choice([-1.0, 1.0], 150), rng.integers(3, size=150)
    told, state = learner_told(TaskMeanLogistic(), X, y, task)
    definition = tabular.TaskMean()
    np.testing.assert_allclose(told, run(definition, as_records(X), task.tolist(), y), rtol=1e-8, atol=1e-11)
    assert state.model.features.tolist() == definition.known
    weights = TaskMeanLogistic().weights(state)
    assert weights.shape == (3, 200)
    assert np.count_nonzero(weights[0]) == 128
    np.testing.assert_allclose(weights[0, definition.known], definition.mean[1:], rtol=1e-8)


@pytest.mark.parametrize("delay", [0, 7])
@pytest.mark.parametrize("unit", [False, True], ids=["as they are", "unit length"])
def test_crossed_columns_are_the_literal_algorithm(delay, unit, early):
    X, y, task = table(2, unit=unit)
    told, state = learner_told(CrossedLogistic(), X, y, task, delay)
    definition = tabular.Crossed(pooled(), first=30)
    expected = run(definition, as_records(X), task.tolist(), y, delay)
    np.testing.assert_allclose(told[delay:], expected[delay:], rtol=1e-9, atol=1e-12)
    assert np.any(told[60:])
    assert not told[: 30 + delay].any()
    assert state.crossing.features.tolist() == sorted(definition.crossing.edges)
    assert state.crossing.constant[0] == (6 if unit else -1)


@pytest.mark.parametrize("unit", [False, True], ids=["as they are", "unit length"])
def test_columns_become_the_tokens_that_the_definition_says(unit):
    X, _, _ = table(3, n=300, unit=unit)
    more, _, _ = table(4, n=100, unit=unit)
    more = np.column_stack([more, np.arange(100) % 4 == 0])  # a feature that none of the first records had
    made = crossings.crossing_of(sorted_entries(Dense(X)))
    definition = tabular.Crossing(as_records(X))
    for array, records in ((X, as_records(X)), (more, as_records(more))):
        columns = crossings.crossed(made, sorted_entries(Dense(array))).to_matrix(1 << crossings.BITS)
        for t, x in enumerate(records):
            expected, row = definition.crossed(x), columns[[t]].toarray()[0]
            assert sorted(np.flatnonzero(row)) == sorted(expected)
            np.testing.assert_allclose(row[list(expected)], list(expected.values()), rtol=1e-12)
    bins = {int(j): np.isfinite(edges).sum() for j, edges in zip(made.features, made.edges, strict=True)}
    assert bins == {0: 7, 1: 3, 2: 1, 3: 1, 4: 1, 5: 7, 6: 1}


def test_of_several_constants_all_are_divided_by_the_last():
    """As a record shows that lacks one of them."""
    X, _, _ = table(3, n=300)
    X = np.column_stack([X, np.full(300, 3.0)])
    X /= np.linalg.norm(X, axis=1)[:, None]
    made, definition = crossings.crossing_of(sorted_entries(Dense(X))), tabular.Crossing(as_records(X))
    assert made.constant[0] == definition.constant == 7
    for lacking in (6, 7):
        less = X[:50].copy()
        less[:, lacking] = 0.0
        columns = crossings.crossed(made, sorted_entries(Dense(less))).to_matrix(1 << crossings.BITS)
        for t, x in enumerate(as_records(less)):
            assert sorted(np.flatnonzero(columns[[t]].toarray()[0])) == sorted(definition.crossed(x))


def test_records_of_many_tokens_are_not_crossed():
    rng = np.random.default_rng(5)
    texts = (rng.random((300, 500)) < 0.1).astype(float)
    assert crossings.crossing_of(sorted_entries(Dense(texts))).on[0] == 0
    assert tabular.Crossing(as_records(texts)).off
    wide = sorted_entries(Dense(rng.normal(size=(300, 200))))
    made = crossings.crossing_of(wide)
    assert made.on[0] == 0
    none = crossings.crossed(made, wide)
    assert none.n_records == 300
    assert not len(none.values)


def test_a_record_of_more_tokens_than_are_crossed_has_its_first_crossed():
    made = crossings.crossing_of(sorted_entries(Dense(table(6, n=300)[0])))
    long = np.ones((1, 80))
    columns = crossings.crossed(made, sorted_entries(Dense(long)))
    assert len(columns.values) == 30 * 31 // 2
    definition = tabular.Crossing(as_records(table(6, n=300)[0]))
    assert set(columns.features.tolist()) == set(definition.crossed(as_records(long)[0]))


def test_entries_are_sorted_summed_and_without_zeros():
    features = np.array([4, 1, 4, 1, 0, 2], np.int32)
    rows = Csr(np.array([1.0, 2.0, 3.0, -2.0, 5.0, 0.0]), features, np.array([0, 4, 4, 6]))
    made = sorted_entries(rows)
    for found, wanted in ((made.values, [4.0, 5.0]), (made.features, [4, 0]), (made.starts, [0, 1, 1, 2])):
        np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(sorted_entries(rows.cut(2, 3)).features, [0])


def by_numbers(rows, categories, y, told):
    """A forest of two stumps whose leaves are means rounded so far that rounding elsewhere cannot show."""
    if len(set(y.tolist())) < 2:
        return None
    X = rows.to_dense(7, float).values
    x = np.round(X[:, 0] / np.where(X[:, 6] == 0.0, 1.0, X[:, 6]), 3)
    residual = y - np.tanh(told / 2.0)
    nodes = Nodes()
    for feature, left in ((0, x <= 0.2), (1, categories == 1)):
        node = nodes.add()
        nodes.roots.append(node)
        group = None if feature == 0 else np.arange(CATEGORIES) == 1
        nodes.split(node, feature, 0.2, group)
        sides = [float(np.round(residual[side].mean(), 5)) if side.any() else 0.0 for side in (left, ~left)]
        nodes.lead(node, *(nodes.add(value) for value in sides))
    return nodes.forest(np.array([0], np.int32), -1, True)


def fit_by_numbers(records, categories, y, told):
    width = 7
    X = np.array([[x.get(j, 0.0) for j in range(width)] for x in records])
    return by_numbers(sorted_entries(Dense(X)), np.array(categories), np.array(y), np.array(told))


def definition():
    mixed = literal("default")
    members = [*mixed.learners, tabular.TaskMean(), tabular.Crossed(pooled(), first=30)]
    factors = [2 if hasattr(learner, "rho") else 1 for learner in members]
    mixed.learners = members
    mixed.experts = lambda f: [k * each for k, each in zip(factors, f, strict=True)]
    return tabular.Refitted(mixed, AdaptiveSharing([]), fit_by_numbers, window=100, first=40)


@pytest.mark.parametrize("delay", [0, 7])
def test_the_whole_is_the_literal_algorithm(delay, early, monkeypatch):
    monkeypatch.setattr(trees, "boosted", by_numbers)
    X, y, task = table(7)
    model = raw.AdaptiveSharingClassifier("tabular")
    trace = ct.progressive_validation(model, X, y, task=task, delay=delay)
    literal_model = definition()
    told = run(literal_model, as_records(X), task.tolist(), y, delay)
    np.testing.assert_allclose(trace.margin, told, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(trace.probability, 1 / (1 + np.exp(-np.array(told))), rtol=1e-7)
    if not delay:  # what comes late is not learned once the stream is over
        unseen = model.decision_function(X[:9], task=["new"] * 9)
        np.testing.assert_allclose(unseen, [literal_model.margin(x, "new", -1) for x in as_records(X[:9])], rtol=1e-7)
    assert model.members_[-2:] == ["task mean", "crossed"]
    assert model.sharing_weights_.shape == (5, 6)
    assert model.sharing_.shape == (5,)
    assert model.relation_matrix_.shape == (5, 5)
    assert model.coef_.shape == (5, 7)
    assert model.memory_ > 0


@pytest.mark.parametrize("delay", [0, 5])
def test_labels_that_are_asked_for_are_the_literal_algorithm(delay, early, monkeypatch):
    monkeypatch.setattr(trees, "boosted", by_numbers)
    trace = assert_asked(raw.AdaptiveSharingClassifier("tabular"), definition(), table(8, n=300), delay, 120)
    assert 80 < trace.queries < 300


# -- streams -----------------------------------------------------------------------------------------------------------


def late(seed, n=180):
    """A stream whose tasks come one after the other, as dense rows."""
    X, y, task = table(seed, n=n)
    return X, y, np.minimum(task, np.arange(n) // 30)


FORMS = {
    "dense": lambda X: X,
    "single": lambda X: X.astype(np.float32),
    "sparse": csr_array,
    "dictionaries": lambda X: [{f"x{j}": float(value) for j, value in enumerate(x) if value} for x in X],
}


def some_cuts(n, seed):
    return sorted(set(np.random.default_rng(seed).integers(1, n, 6).tolist()) | {40, 79})


@pytest.mark.parametrize(
    ("form", "most"),
    slow_where(
        [*((form, None) for form in FORMS), ("dense", 5), ("dictionaries", 5)], lambda form, _: form == "single"
    ),
)
def test_any_pieces_equal_the_whole(form, most, early, monkeypatch):
    """Also where so many tasks are known at a time."""
    X, y, task = late(20) if most is None else table(36, n=180, tasks=12)
    X, found = FORMS[form](X), []
    monkeypatch.setattr(trees, "PIECE", 37)
    monkeypatch.setattr(crossed, "PIECE", 11)
    dtype = "float32" if form == "single" else "float64"
    for ends in ([], some_cuts(180, 0), some_cuts(180, 1), list(range(1, 180))):
        model = raw.AdaptiveSharingClassifier("tabular", dtype=dtype, max_tasks=most)
        inner = model.__stream_model__()
        told = [inner.learn(part(X, a, b), y[a:b], task[a:b], classes=(-1, 1)).margin for a, b in spans(ends, 180)]
        found.append([np.concatenate(told), model.decision_function(X, task=task), model.coef_, model.sharing_])
        found[-1].append(model.tasks_)
        assert most is not None or model.state_.forest is not None
    for other in found[1:]:
        for one, another in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, another)


def asking(model):
    return ct.SelectiveSampling(model, ct.asking.Margin(0.8), budget=100, window=20)


@pytest.mark.parametrize(("delay", "wrapped"), [(1, clone), (7, clone), (50, clone), (3, asking)])
def test_any_pieces_equal_the_whole_where_labels_come_late_or_are_asked_for(delay, wrapped, early):
    X, y, task = late(21)
    labels, margins = task.astype(object), []
    for ends in ([], some_cuts(180, 2), some_cuts(180, 3), list(range(1, 180))):
        model = wrapped(raw.AdaptiveSharingClassifier("tabular"))
        blocks = [Block(X[a:b], y[a:b], labels[a:b], np.arange(a, b) + 1) for a, b in spans(ends, 180)]
        margins.append(ct.progressive_validation(model, blocks, delay=delay).margin)
    for other in margins[1:]:
        np.testing.assert_array_equal(margins[0], other)


def test_records_one_by_one_equal_the_whole(early):
    X, y, task = late(23)
    records = FORMS["dictionaries"](X)
    whole, single = (raw.AdaptiveSharingClassifier("tabular") for _ in range(2))
    margins = whole.__stream_model__().learn(records, y, task).margin
    for x, label, i, margin in zip(records, y, task, margins, strict=True):
        if single.__stream_model__().fitted and len(single.classes_) == 2:
            assert single.decision_function_one(x, task=int(i)) == margin
        single.learn_one(x, label, task=int(i))
    np.testing.assert_array_equal(
        whole.decision_function(records, task=task), single.decision_function(records, task=task)
    )


def test_trees_are_fitted_when_the_number_of_records_has_doubled(monkeypatch):
    seen = []

    def noting(rows, categories, y, told):
        seen.append((len(y), y.copy(), told.copy()))

    monkeypatch.setattr(trees, "boosted", noting)
    X, y, task = table(24, n=1000)
    trace = ct.progressive_validation(raw.AdaptiveSharingClassifier("tabular"), X, y, task=task)
    assert [n for n, _, _ in seen] == [200, 400, 800]
    for n, labels, told in seen:
        np.testing.assert_array_equal(labels, y[:n])
        np.testing.assert_array_equal(told, trace.margin[:n])  # nothing was fitted: what was told is the mixture's


def test_of_records_before_the_window_nothing_is_kept(monkeypatch):
    seen = []
    monkeypatch.setattr(trees, "WINDOW", 300)
    monkeypatch.setattr(trees, "boosted", lambda rows, categories, y, told: seen.append(y.copy()))
    X, y, task = table(25, n=1000)
    model = raw.AdaptiveSharingClassifier("tabular")
    kept = []
    for a in range(0, 1000, 50):
        model.partial_fit(X[a : a + 50], y[a : a + 50], task=task[a : a + 50], classes=[-1, 1])
        kept.append(sum(len(run.y) for run in model.state_.kept))
    assert [len(each) for each in seen] == [200, 300, 300]
    np.testing.assert_array_equal(seen[1], y[100:400])
    np.testing.assert_array_equal(seen[2], y[500:800])
    assert max(kept) <= 300
    assert kept[-1] == 0  # the next fit is at 1600, by those from 1301 on


# -- trees as arrays ---------------------------------------------------------------------------------------------------


@pytest.fixture(params=["LightGBM", "scikit-learn"])
def engine(request, monkeypatch):
    """Who fits trees, and what it fitted last."""
    fitted = {}
    if request.param == "LightGBM":
        lightgbm = pytest.importorskip("lightgbm")
        train = lightgbm.train

        def noting(parameters, data, rounds):
            fitted["model"] = train(parameters, data, rounds)
            return fitted["model"]

        monkeypatch.setattr(lightgbm, "train", noting)
        fitted["say"] = lambda Z: fitted["model"].predict(Z, raw_score=True)
    else:
        from sklearn.ensemble import HistGradientBoostingClassifier

        class Noting(HistGradientBoostingClassifier):
            def fit(self, X, y):
                fitted["model"] = super().fit(X, y)
                return fitted["model"]

        monkeypatch.setattr("sklearn.ensemble.HistGradientBoostingClassifier", Noting)
        monkeypatch.setattr(boosting, "has_lightgbm", lambda: False)
        fitted["say"] = lambda Z: fitted["model"].decision_function(Z)
    return request.param, fitted


@pytest.mark.parametrize("unit", [False, True], ids=["as they are", "unit length"])
def test_arrays_say_what_the_library_says(engine, unit):
    X, y, task = table(26, n=2000, unit=unit, tasks=40)
    rows = sorted_entries(Dense(X))
    told = np.random.default_rng(0).normal(size=2000)
    codes = task % 39  # all of the categories are there, 0 among them
    forest = boosting.boosted(rows, codes, y, told)
    forest.check(7)
    name, fitted = engine
    assert forest.on_top[0] == (name == "LightGBM")
    assert (forest.group >= 0).any()
    fresh, _, _ = table(27, n=500, unit=unit)
    plain = table(27, n=500)[0]
    Z = np.column_stack([crossings.rounded(plain)[:, forest.columns], task[:500] % 39])
    expected = fitted["say"](Z) + forest.on_top[0] * told[:500]
    found = trees_say(forest, sorted_entries(Dense(fresh)), task[:500] % 39, told[:500])
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    for t in range(0, 500, 50):
        x = as_records(fresh[[t]])[0]
        assert found[t] == pytest.approx(tabular.forest_value(forest, x, int(task[t] % 39), told[t]), rel=1e-9)
    again = boosting.boosted(rows, codes, y, told)
    for one, other in zip(forest, again, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_category_that_trees_do_not_know_goes_one_way(engine):
    X, y, task = table(28, n=1000, tasks=6)
    forest = boosting.boosted(sorted_entries(Dense(X)), 1 + task, y, np.zeros(1000))
    said = trees_say(forest, sorted_entries(Dense(X[:1]).take(np.zeros(3, int))), np.array([0, 100, 254]), np.zeros(3))
    assert np.isfinite(said).all()
    assert len(set(said.tolist())) == 1


def test_tasks_beyond_254_have_no_category_of_their_own():
    codes = np.concatenate([np.arange(300), np.arange(100, 300), [299]])
    made = trees.categories_of(codes, 310)
    assert made[299] == 1
    assert made.max() == 254
    assert (made[:54] > 0).all()
    assert not made[54:100].any()
    assert not made[300:].any()


# -- what there is nothing to learn from -------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["one label", "few records"])
def test_without_history_everything_stays_as_it_was(what, early):
    X, y, task = table(29, n=60)
    n = 60 if what == "one label" else 39
    y = np.where(np.arange(60) < 40, 1.0, y) if what == "one label" else y
    model = raw.AdaptiveSharingClassifier("tabular")
    model.partial_fit(X[:n], y[:n], task=task[:n], classes=[-1, 1])
    assert model.state_.forest is None
    data = model.state_.inner
    inner = model.__stream_model__().learner.learner
    expected = inner.predict(data, Run(Dense(X), data.tasks.find(task.tolist()))).margins
    np.testing.assert_array_equal(model.decision_function(X, task=task), expected)


def test_trees_stay_where_a_later_fit_has_nothing_to_learn_from(early):
    X, y, task = table(30, n=160)
    y[60:] = 1.0  # the window of the second fit is all of one label
    model = raw.AdaptiveSharingClassifier("tabular").partial_fit(X[:150], y[:150], task=task[:150])
    forest = model.state_.forest
    assert forest is not None
    model.partial_fit(X[150:], y[150:], task=task[150:])
    assert model.state_.learned == 160
    assert model.state_.forest is forest


def test_columns_that_are_constant_are_learned_from_without_harm(early):
    _, y, task = table(31, n=100)
    for X in (np.ones((100, 3)), np.zeros((100, 3))):
        model = raw.AdaptiveSharingClassifier("tabular").fit(X, y, task=task)
        assert np.isfinite(model.decision_function(X, task=task)).all()
        assert len(model.state_.forest.columns) == 0  # trees go by the task alone


# -- forgetting --------------------------------------------------------------------------------------------------------


def test_a_forgotten_task_leaves_no_record(early):
    X, y, task = table(33, n=150)
    model = raw.AdaptiveSharingClassifier("tabular").partial_fit(X, y, task=task)
    state = model.state_
    number = model.tasks_.index(2)
    mine = sum(int((run.codes == number).sum()) for run in state.kept)
    kept = sum(len(run.y) for run in state.kept)
    assert mine > 0
    model.forget_task(2)
    assert sum(len(run.y) for run in state.kept) == kept - mine
    assert model.tasks_ == [i for i in model.tasks_ if i != 2]
    assert all((run.codes < 4).all() for run in state.kept)
    assert not state.categories[4:].any()
    assert not state.losses.tasks[4:].any()
    as_unseen = model.decision_function(X[:5], task=["never"] * 5)
    np.testing.assert_array_equal(model.decision_function(X[:5], task=[2] * 5), as_unseen)
    model.partial_fit(X, y, task=task)
    assert np.isfinite(model.decision_function(X, task=task)).all()


def test_first_records_of_a_forgotten_task_settle_no_bins():
    X, y, task = table(42, n=400, tasks=3)
    whole, without = (CrossedLogistic() for _ in range(2))
    _, state = learner_told(whole, X[:200], y[:200], task[:200])
    forget(whole, state, [1], 3)
    assert state.first.n_records == len(state.codes) == (task[:200] != 1).sum()
    stays = np.flatnonzero(task != 1)
    numbers = np.array([0, -1, 1])[task]
    rest = stays[stays >= 200]
    whole.learn(state, Run(Dense(X[rest]), numbers[rest]), y[rest])
    _, expected = learner_told(without, X[stays], y[stays], numbers[stays])
    np.testing.assert_array_equal(state.first.values, expected.first.values)
    np.testing.assert_array_equal(state.codes, expected.codes)


def test_labels_of_a_forgotten_task_may_still_be_awaited(early):
    X, y, task = table(34, n=150)
    model = raw.AdaptiveSharingClassifier("tabular").partial_fit(X[:60], y[:60], task=task[:60])
    block = model.__stream_model__().as_block(X, y, task)
    told = model.__stream_model__().learn(block.piece(60, 120), late=20).told.cut(40, 60)
    model.forget_task(2)
    model.__stream_model__().learn(block.piece(100, 150), late=20, told=told)
    assert np.isfinite(model.decision_function(X, task=task)).all()


def test_the_factors_of_task_means_outlast_a_task_and_its_counts_do_not():
    X, y, task = table(35, n=100, tasks=3)
    learner = TaskMeanLogistic()
    _, state = learner_told(learner, X, y, task)
    counts, mean = state.model.counts.copy(), state.model.mean.copy()
    forget(learner, state, [0], 3)
    np.testing.assert_array_equal(state.model.counts[:2], counts[[2, 1]])
    np.testing.assert_array_equal(state.model.mean, mean)
    assert state.tasks.labels == [2, 1]


# -- files -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["dense", "dictionaries"])
@pytest.mark.parametrize("n", [10, 35, 60, 150])
def test_going_on_after_loading_is_never_having_stopped(form, n, early, tmp_path):
    X, y, task = late(37)
    X = FORMS[form](X)
    model = raw.AdaptiveSharingClassifier("tabular", local=0.2).partial_fit(X[:n], y[:n], task=task[:n])
    model.save(tmp_path / "model")
    other = ct.load(tmp_path / "model")
    other.save(tmp_path / "other")
    assert (tmp_path / "model").read_bytes() == (tmp_path / "other").read_bytes()
    others = other, copy.deepcopy(model)
    for each in (model, *others):
        each.partial_fit(X[n:], y[n:], task=task[n:])
    for each in others:
        assert digest(each) == digest(model)


def test_members_for_tables_may_be_a_member_themselves(early, tmp_path):
    X, y, task = table(44, n=150)
    model = raw.AdaptiveSharingClassifier([raw.AdaptiveSharingClassifier("tabular"), raw.MultitaskAROW()])
    model.partial_fit(X[:100], y[:100], task=task[:100])
    model.save(tmp_path / "model")
    other = ct.load(tmp_path / "model")
    for each in (model, other):
        each.partial_fit(X[100:], y[100:], task=task[100:])
    np.testing.assert_array_equal(model.decision_function(X, task=task), other.decision_function(X, task=task))
    assert model.state_.members[0].forest is not None


def test_what_was_told_goes_along_with_a_file(early, tmp_path):
    X, y, task = table(38, n=200)
    whole, parts = (
        raw.AdaptiveSharingClassifier("tabular").partial_fit(X[:50], y[:50], task=task[:50]) for _ in range(2)
    )
    block = whole.__stream_model__().as_block(X, y, task)
    whole.__stream_model__().learn(block.piece(50, 200), late=20)
    told = parts.__stream_model__().learn(block.piece(50, 120), late=20).told.cut(50, 70)
    assert told.experts.shape == (2, 20)
    parts.save(tmp_path / "model")
    parts = ct.load(tmp_path / "model")
    parts.__stream_model__().learn(block.piece(100, 200), late=20, told=told)
    np.testing.assert_array_equal(whole.decision_function(X, task=task), parts.decision_function(X, task=task))


ALTERED = {
    "learner.members.4.covariance": (lambda a: a[:-1], "factors are not those of their features"),
    "learner.members.4.mean": (lambda a: a * np.nan, "array 'mean' holds numbers that are not finite"),
    "learner.members.4.features": (lambda a: a + 7, "features with a factor holds numbers outside -1 to 6"),
    "learner.members.4.counts": (lambda a: a[:, ::-1].copy(), "more labels were positive than there were"),
    "learner.members.4.overall": (lambda a: -a, "counts of labels holds numbers outside 0 to"),
    "learner.members.5.crossing.features": (lambda a: a[::-1].copy(), "features crossed are not in ascending order"),
    "learner.members.5.crossing.edges": (lambda a: a[:, ::-1].copy(), "edges of bins are not in ascending order"),
    "learner.members.5.crossing.quiet": (lambda a: a + 20, "quiet bins holds numbers outside -1 to 8"),
    "learner.members.5.crossing.constant": (lambda a: a + 20, "the constant feature holds numbers outside -1 to 6"),
    "learner.members.5.crossing.on": (lambda a: a + 2, "whether features are crossed holds numbers outside 0 to 1"),
    "learner.members.5.first.starts": (lambda a: np.repeat(a, 4), "403 first records wait, and 300 settle the bins"),
    "learner.members.5.first.codes": (lambda a: a + 5, "tasks of first records holds numbers outside 0 to 4"),
    "categories": (lambda a: a + 255, "categories of tasks holds numbers outside 0 to 254"),
    "losses.tasks": (lambda a: a[:2], "losses of tasks has room for 2, and there are 5"),
    "layer.mean": (lambda a: a[:2], "mean of the last step has shape"),
    "kept.codes": (lambda a: a + 5, "tasks of records kept holds numbers outside 0 to 4"),
    "kept.y": (lambda a: a * 0.5, "labels of records kept are neither -1 nor 1"),
    "kept.told": (lambda a: a * np.inf, "log-odds told of records kept holds numbers that are not finite"),
    "kept.rows.features": (lambda a: a[::-1].copy(), "features of records kept are not in ascending order"),
    "kept.rows.starts": (lambda a: a[::-1].copy(), "records kept do not begin and end where their entries do"),
    "forest.roots": (lambda a: a - 1, "roots of trees holds numbers outside 0"),
    "forest.left": (lambda a: a * 0, "left of nodes does not lead on to another node"),
    "forest.right": (lambda a: a + 10_000, "right of nodes does not lead on to another node"),
    "forest.feature": (lambda a: a + 100, "features of nodes holds numbers outside -1 to"),
    "forest.threshold": (lambda a: a * np.nan, "thresholds holds numbers that are not finite"),
    "forest.value": (lambda a: a[:-1], "value of nodes has shape"),
    "forest.group": (lambda a: a + 1, "is split by categories|group of nodes holds numbers outside"),
    "forest.groups": (lambda a: a[:, :100].copy(), "groups of categories has shape"),
    "forest.columns": (lambda a: a + 7, "columns of trees holds numbers outside 0 to 6"),
    "forest.constant": (lambda a: a + 20, "the constant feature holds numbers outside -1 to 6"),
    "forest.on_top": (lambda a: a + 2, "what trees add to holds numbers outside 0.0 to 1.0"),
}


@pytest.fixture(scope="module")
def learned_tables():
    """A model with trees and crossed columns, and one that has its first records still."""
    X, y, task = table(39, n=450)
    return [raw.AdaptiveSharingClassifier("tabular").fit(X[:n], y[:n], task=task[:n]) for n in (450, 100)]


@pytest.mark.parametrize("name", ALTERED)
def test_altered_arrays_are_refused(name, learned_tables):
    alter, message = ALTERED[name]
    model = learned_tables[".first." in name]
    learner = model.__stream_model__().learner
    data, arrays = learner.dump(model.state_)
    with np.errstate(invalid="ignore"):
        changed = arrays | {name: alter(arrays[name])}
    with pytest.raises(ValueError, match=message):
        learner.restore(data, changed, Index(model.tasks_))
    missing = {other: array for other, array in arrays.items() if other != name}
    with pytest.raises(ValueError, match="is missing"):
        learner.restore(data, missing, Index(model.tasks_))


@pytest.mark.parametrize("n", [40, 330])
@pytest.mark.parametrize("files", [40, slow(600)])
def test_an_altered_file_is_refused_or_safe_to_use(n, files, tmp_path):
    X, y, task = table(41, n=n, tasks=3)
    labels, tasks = np.where(y > 0, "yes", "no"), [TASKS[i] for i in task]
    raw.AdaptiveSharingClassifier("tabular").fit(X[:, :5], labels, task=tasks).save(tmp_path / "model")
    assert used(tmp_path / "model", "arrays") == "accepted"
    held, ended = persistence._read(tmp_path / "model"), []
    for seed in range(files):
        (tmp_path / "altered").write_bytes(altered(*held, random.Random(f"{n} {seed}")))  # noqa: S311
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a model says whose weights are of any size may overflow
            ended.append(used(tmp_path / "altered", "arrays").split()[0])
    assert set(ended) <= {"accepted", "refused", "stopped"}
    assert min(ended.count("accepted"), ended.count("refused")) > files / 20


# -- refusals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [ct.OneVsRest, ct.MultiLabel])
def test_trees_are_not_fitted_for_each_of_many_classes(kind):
    y = [{"a"}, {"b"}] if kind is ct.MultiLabel else ["a", "b"]
    message = "trees cannot be fitted beside a model of many classes or of sets of labels: leave out members='tabular'"
    tabular_one = raw.AdaptiveSharingClassifier("tabular")
    for model in (tabular_one, raw.AdaptiveSharingClassifier([tabular_one, raw.MultitaskAROW()])):
        with pytest.raises(ValueError, match=message):
            kind(model).fit([[1.0], [2.0]], y)


def test_trees_need_log_odds_and_members_a_name_that_is_known():
    with pytest.raises(ValueError, match="trees need a learner whose margins are log-odds"):
        RefittedTrees(Mixture([ct.MultitaskPerceptron().__stream_model__().learner]))
    with pytest.raises(ValueError, match="members must be one of default, cheap, ensemble, separable, signed, tabular"):
        raw.AdaptiveSharingClassifier("table").fit([[1.0], [2.0]], [0, 1])


# -- the command line --------------------------------------------------------------------------------------------------

MAY_PAY = 'The features are columns of a table: --learner "adaptive(members=tabular)", which adds task means'
COLUMNS = ("user", "price", "age", "shop", "click")


@pytest.fixture
def clicks(tmp_path):
    return write_csv(tmp_path / "clicks.csv", rows(1000), COLUMNS)


def test_the_command_line_learns_by_members_for_tables(clicks, tmp_path):
    model = tmp_path / "m.coterie"
    said = terminal.run("learn", clicks, *WHO, "--learner", "adaptive(members=tabular)", "--output", model).stdout
    assert MAY_PAY not in said
    loaded = ct.load(model)
    assert loaded.members == "tabular"
    assert loaded.state_.learned == 1000
    assert loaded.state_.forest is not None
    assert loaded.state_.inner.members[5].crossing.on[0] == 1
    assert len(terminal.run("predict", model, clicks).stdout.splitlines()) == 1001


def test_the_summary_of_a_table_says_that_they_may_pay(clicks, tmp_path):
    assert MAY_PAY in " ".join(terminal.run("learn", clicks, *WHO).stdout.split())
    for others in (("--alone",), ("--learner", "half"), ("--learner", "adaptive(members=cheap)"), ("--text", "shop")):
        assert MAY_PAY not in " ".join(terminal.run("learn", clicks, *WHO, *others).stdout.split())
    few = write_csv(tmp_path / "few.csv", rows(300), COLUMNS)
    assert MAY_PAY not in " ".join(terminal.run("learn", few, *WHO).stdout.split())
