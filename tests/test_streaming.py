"""Streams in pieces: blocks and single records, tasks and features that come late, labels that come late, tables that
change their storage on the way."""

from functools import partial
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import coterie as ct
import raw
from coterie._compiled.weights.dense import RowMajor, RowMajorPairs
from coterie._compiled.weights.sparse import Sparse, SparsePairs
from coterie.data.block import Block
from reference import perceptron
from slow import slow, slow_where
from streams import BY_COLUMNS, CASES, FORMS, D, K, Stream, as_csr, as_dictionaries, linear_stream, validated
from test_budgets import BUDGETS, EVERY_WAY
from test_budgets import model_of as model_of_budget
from test_cuts import outputs_of, part
from test_heterogeneous import Heterogeneous
from test_heterogeneous import views as spaces
from test_many_classes import stream as stream_of_classes
from test_views import MODELS as VIEWED
from test_views import stream as stream_of_views

cases = pytest.mark.parametrize(
    "case", [slow(case) if name in BY_COLUMNS else case for name, case in CASES.items()], ids=CASES
)
averaging = pytest.mark.parametrize("average", [False, True], ids=["last", "mean"])


def pieces(seed, n):
    """Ends of consecutive runs of random sizes, some of them of one record."""
    rng = np.random.default_rng(seed)
    ends = np.unique(rng.integers(1, n, size=int(rng.integers(1, 12))))
    return list(zip([0, *ends], [*ends, n], strict=True))


def blocks(stream, tasks, spans):
    for first, last in spans:
        labels = np.array(stream.named(tasks)[first:last], dtype=object)
        yield Block(stream.X[first:last], stream.y[first:last], labels, np.arange(first, last) + 1)


# -- pieces ------------------------------------------------------------------------------------------------------------


@cases
def test_progressive_validation_is_predicting_and_then_learning(case):
    stream = linear_stream(43, n=60)
    tasks = stream.named(case.tasks)
    trace = validated(ct.MultitaskPerceptron(case.relation), stream, case.tasks)
    model = ct.MultitaskPerceptron(case.relation)
    model.partial_fit(stream.X[:1], stream.y[:1], tasks[:1], classes=[-1, 1], tasks=case.tasks)
    for t in range(1, len(stream)):
        assert model.decision_function(stream.X[[t]], [tasks[t]])[0] == trace.margin[t]
        assert model.predict(stream.X[[t]], [tasks[t]])[0] == trace.prediction[t]
        model.partial_fit(stream.X[[t]], stream.y[[t]], [tasks[t]])
    np.testing.assert_array_equal(trace.mistake, stream.y * trace.margin <= 0)
    np.testing.assert_array_equal(trace.wrong, trace.prediction != stream.y)
    np.testing.assert_array_equal(trace.mistake & ~trace.wrong, (trace.margin == 0) & (stream.y == 1))
    assert trace.error == trace.wrong.mean()


# -- tasks and features that come late ---------------------------------------------------------------------------------


def arriving(seed, n=150, n_tasks=8):
    """A stream whose tasks appear in order of their numbers, and how many are known in each round."""
    stream = linear_stream(seed, n=n, n_tasks=n_tasks)
    task = np.minimum(stream.task, np.arange(n) // 12)
    order = {old: new for new, old in enumerate(dict.fromkeys(task.tolist()))}
    task = np.array([order[i] for i in task.tolist()])
    return Stream(stream.X, stream.y, task), np.maximum.accumulate(task) + 1


def growing_clusters(b, groups, known):
    n_tasks = len(groups)
    sizes = {g: max(groups[:known].count(g), 1) for g in groups}
    M = np.eye(n_tasks) / (1 + b)
    for i, j in np.ndindex(n_tasks, n_tasks):
        M[i, j] += b / ((1 + b) * sizes[groups[i]]) if groups[i] == groups[j] else 0.0
    return M


#: M for the tasks known; the rows of the others say what a task nobody has seen gets, the shared part.
GROWING = {
    "mean": (ct.MeanRegularized(b=3), lambda k: np.full((8, 8), 3.0 / (4.0 * k)) + np.diag(np.full(8, 1 / 4.0))),
    "clusters": (
        ct.Clusters({i: i % 3 for i in range(8)}, b=2),
        lambda k: growing_clusters(2.0, [i % 3 for i in range(8)], k),
    ),
    "half": (ct.HalfUpdate(), lambda k: (np.eye(8) + 1) / 2),
    "independent": (ct.Independent(), lambda k: np.eye(8)),
}


@pytest.mark.parametrize(
    ("storage", "average", "delay"),
    [*product(["auto"], [False, True], [1, 40]), *(("sparse", False, 0), slow("sparse", True, 0))],
)
@pytest.mark.parametrize("name", GROWING)
def test_late_tasks_follow_the_number_of_tasks_of_the_moment(name, storage, average, delay):
    """Where labels are late, a task counts when it is predicted."""
    relation, M = GROWING[name]
    stream, known = arriving(46)
    run = perceptron.queued(stream.X, stream.y, stream.task, [M(k) for k in known], delay=delay)
    wanted, W = (run.averaged_margins, run.averaged_weights) if average else (run.margins, run.W)
    source = stream if storage == "auto" else Stream(as_csr(stream.X), stream.y, stream.task)
    n = len(stream)
    for spans in ([(0, n)], pieces(4, n), [(t, t + 1) for t in range(n)]):
        model = ct.MultitaskPerceptron(relation, average=average, storage=storage)
        trace = ct.progressive_validation(model, blocks(source, range(8), spans), delay=delay)
        np.testing.assert_allclose(trace.margin, wanted, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(model.coef_, W, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", GROWING)
@averaging
def test_a_task_nobody_has_seen_gets_the_shared_part(name, average):
    relation, M = GROWING[name]
    stream, _ = arriving(47)
    first = stream.take(stream.task < 6)
    run = perceptron.queued(first.X, first.y, first.task, [M(6)] * len(first))
    model = ct.MultitaskPerceptron(relation, average=average)
    model.__stream_model__().learn(first.X, first.y, first.task, tasks=range(6))
    W = run.averaged_weights if average else run.W
    before = model.__dump__()
    for unseen in (6, 7):
        margins = model.decision_function(stream.X, task=[unseen] * len(stream))
        np.testing.assert_allclose(margins, stream.X @ W[unseen], rtol=1e-9, atol=1e-9)
    mixed = model.decision_function(stream.X, task=stream.task)
    np.testing.assert_allclose(mixed, np.einsum("td,td->t", stream.X, W[stream.task]), rtol=1e-9, atol=1e-9)
    assert before[0] == model.__dump__()[0]
    assert model.tasks_ == list(dict.fromkeys(first.task.tolist()))


@cases
def test_features_that_come_late_find_room(case):
    """Dictionaries bring new names all the time; the margins are those of the full width."""
    stream = linear_stream(49, d=40, zeros=0.5)
    stream.X[np.arange(40) > np.arange(len(stream))[:, None] // 4] = 0.0
    run = perceptron.primal(stream.X, stream.y, stream.task, M=case.M)
    model = ct.MultitaskPerceptron(case.relation)
    margins = []
    for x, y, task in zip(as_dictionaries(stream.X), stream.y, stream.named(case.tasks), strict=True):
        margins.append(model.__stream_model__().learn([x], [y], [task], tasks=case.tasks, classes=[-1, 1]).margin[0])
    np.testing.assert_allclose(margins, run.margins, rtol=1e-9, atol=1e-9)


# -- tables ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [slow("csr"), "dictionaries"])
@pytest.mark.parametrize("average", [slow(False), True], ids=["last", "mean"])
def test_auto_changes_over_to_sparse_tables_without_changing_a_margin(average, form, small_dense_tables):
    width = D if form == "dictionaries" else 40
    small_dense_tables(8 * width * 3)  # three tasks fit densely, eight do not
    stream, _ = arriving(50)
    stream = Stream(np.pad(stream.X, ((0, 0), (0, width - D))), stream.y, stream.task)
    relation = ct.MeanRegularized(share=0.4)
    models = [ct.MultitaskPerceptron(relation, average=average, storage=s) for s in ("dense", "auto")]
    kinds = set()
    for first in range(0, len(stream), 10):
        X, span = FORMS[form](stream.X[first : first + 10]), slice(first, first + 10)
        y, task = stream.y[span], stream.task[span]
        margins = [m.__stream_model__().learn(X, y, task, classes=[-1, 1]).margin for m in models]
        np.testing.assert_allclose(*margins, rtol=1e-12, atol=1e-12)
        inner = models[1].state_.model
        kinds.add(type((inner.model if average else inner).tasks))
    np.testing.assert_allclose(models[0].coef_, models[1].coef_, rtol=1e-12, atol=1e-12)
    assert kinds == ({RowMajorPairs, SparsePairs} if average else {RowMajor, Sparse})


@pytest.mark.parametrize(
    ("name", "average"), [("half", False), ("tree b", True), slow("interaction", False), slow("graph factor", True)]
)
def test_sparse_tables_through_many_growths(name, average):
    """Thousands of columns, a few in each record: rows are moved and arenas compacted over and over."""
    case, rng = CASES[name], np.random.default_rng(51)
    X = sp.random_array((1500, 5000), density=0.004, format="csr", random_state=rng, data_sampler=rng.standard_normal)
    y, task = np.sign(rng.standard_normal(1500)), rng.integers(K, size=1500)
    models = [ct.MultitaskPerceptron(case.relation, average=average, storage=s) for s in ("dense", "sparse")]
    labels = [case.tasks[i] for i in task]
    dense, sparse = (model.__stream_model__().learn(X, y, labels, tasks=case.tasks) for model in models)
    rtol = 1e-12
    np.testing.assert_array_equal(dense.updated, sparse.updated)
    np.testing.assert_allclose(dense.margin, sparse.margin, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(models[0].coef_, models[1].coef_, rtol=rtol, atol=rtol)


# -- labels that come late ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "average", "delay"),
    slow_where(
        product(CASES, (False, True), (1, 7, 300)),
        lambda name, average, delay: name in BY_COLUMNS and average if delay == 7 else name not in ("half", "tree b"),
    ),
)
def test_late_labels_equal_a_literal_queue(name, average, delay):
    case, stream = CASES[name], linear_stream(53, n=120)
    run = perceptron.queued(stream.X, stream.y, stream.task, [case.M] * len(stream), delay=delay)
    wanted = run.averaged_margins if average else run.margins
    tasks = stream.named(case.tasks)
    for spans in ([(0, 120)], pieces(3, 120), [(t, t + 1) for t in range(120)]):
        model = ct.MultitaskPerceptron(case.relation, average=average)
        trace = ct.progressive_validation(model, blocks(stream, case.tasks, spans), tasks=case.tasks, delay=delay)
        np.testing.assert_allclose(trace.margin, wanted, rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(trace.updated, run.updated)
        assert model.state_.rounds == 120
    whole = ct.MultitaskPerceptron(case.relation, average=average)
    trace = ct.progressive_validation(whole, stream.X, stream.y, task=tasks, tasks=case.tasks, delay=delay)
    np.testing.assert_allclose(trace.margin, wanted, rtol=1e-9, atol=1e-9)
    W, order = run.averaged_weights if average else run.W, [whole.tasks_.index(i) for i in case.tasks]
    np.testing.assert_allclose(whole.coef_[order], W, rtol=1e-9, atol=1e-9)


MEAN, SOLVERS = ct.MeanRegularized(share=0.3), ("primal", "dual", "auto")
LATE = {
    ("signs", "p-norm"): lambda: ct.PNormMultitaskPerceptron(ct.HalfUpdate(), 4.0),
    **{("signs", s): partial(ct.SecondOrderMultitaskPerceptron, MEAN, solver=s) for s in SOLVERS},
    **{("numbers", s): partial(ct.SecondOrderMultitaskRegressor, MEAN, solver=s) for s in SOLVERS},
    ("numbers", "standardised"): raw.MultitaskRegressor,
    ("classes", "each against the others"): ct.OneVsRest,
    **{("spaces", str(kernels)): partial(Heterogeneous, 1.0, kernels) for kernels in (None, "linear")},
    **{("signs", name): partial(model_of_budget, name, CASES["half"]) for name in BUDGETS},
    **{("views", name): make for name, make in VIEWED.items()},
}
#: Each budget is compiled for itself.
SELDOM_LATE = set(BUDGETS) - set(EVERY_WAY)
#: What is predicted before anything is known.
NOTHING = {"classes": None}


def records_of(kind, n=100):
    """Records, labels such as a kind of model learns, and whose they are."""
    if kind == "views":
        X, y = stream_of_views(17, n)
        return [as_csr(block) for block in X], y, None
    if kind == "spaces":
        return spaces(1, n)
    if kind == "classes":
        return stream_of_classes(n)
    stream = linear_stream(5, n=n, zeros=0.2)
    return stream.X, stream.y if kind == "signs" else 40.0 + stream.X @ np.arange(D) + stream.task, stream.task


@pytest.mark.parametrize(
    ("kind", "name"), [slow(*case) if case[0] == "views" or case[1] in SELDOM_LATE else case for case in LATE]
)
def test_of_late_labels_those_that_have_come_are_known(kind, name):
    """Classes, moments of numbers and what is learned: a prediction is that of a model that has the labels so far."""
    make, (X, y, task), delay = LATE[kind, name], records_of(kind), 13
    options = {"tasks": None if task is None or kind == "spaces" else range(K)}
    trace = ct.progressive_validation(make(), X, y, task=task, delay=delay, **options)
    options |= {"classes": [-1, 1]} if kind in ("signs", "spaces", "views") else {}
    model, predictions = make(), []
    for t in range(len(y)):
        if (s := t - delay - 1) >= 0:
            whose = None if task is None else task[s : s + 1]
            model.__stream_model__().learn(part(X, s, s + 1), y[s : s + 1], whose, **options)
        say = model.predict if kind in NOTHING else partial(outputs_of, model)
        asked = (part(X, t, t + 1), None if task is None else task[t : t + 1])
        predictions.append(say(*asked)[0] if s >= 0 else NOTHING.get(kind, 0.0))
    if kind in NOTHING:
        assert trace.prediction.tolist() == predictions
    else:
        np.testing.assert_allclose(trace.margin, predictions, rtol=1e-9, atol=1e-9)
    if kind == "signs":
        np.testing.assert_array_equal(trace.mistake, y * predictions <= 0)


@pytest.mark.parametrize("delay", [0, 3, 40])
def test_progress_tells_what_the_whole_trace_tells(delay):
    stream, predictions = linear_stream(54, n=90), []
    case = CASES["half"]
    spans = [(first, first + 15) for first in range(0, 90, 15)]
    trace = ct.progressive_validation(
        ct.MultitaskPerceptron(), blocks(stream, case.tasks, spans), delay=delay, on_round=predictions.append
    )
    assert [trace.n for trace in predictions] == [15] * 6
    np.testing.assert_array_equal(np.concatenate([trace.margin for trace in predictions]), trace.margin)
    np.testing.assert_array_equal(np.concatenate([trace.mistake for trace in predictions]), trace.mistake)
    for place, piece in enumerate(predictions):  # of a record whose label has not come nothing is known yet
        known = max(15 - delay, 0)
        np.testing.assert_array_equal(piece.updated[:known], trace.updated[15 * place : 15 * place + known])
        assert not piece.updated[known:].any()


def test_learning_can_leave_the_last_labels_out():
    stream = linear_stream(55, n=20)
    model = ct.MultitaskPerceptron()
    assert not model.__stream_model__().learn(stream.X, stream.y, late=30).updated.any()
    assert model.state_.rounds == 0
    assert model.__stream_model__().learn(stream.X, stream.y, late=5).updated[-5:].sum() == 0
    assert model.state_.rounds == 15
    for late in (-1, -100):
        with pytest.raises(ValueError, match=f"late must be at least 0 rounds, got {late}"):
            model.__stream_model__().learn(stream.X, stream.y, late=late)
    for delay in (-1, 7.0, True, None):
        with pytest.raises(ValueError, match=f"delay must be a whole number of rounds, at least 0, got {delay}"):
            ct.progressive_validation(model, stream.X, stream.y, delay=delay)
    traces = [ct.progressive_validation(clone(model), stream.X, stream.y, delay=kind(7)) for kind in (int, np.uint8)]
    np.testing.assert_array_equal(*(trace.margin for trace in traces))
