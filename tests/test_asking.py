"""Asking for labels: equal to the definition, within its budget, and bit for bit what it was after loading."""

from itertools import product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import coterie as ct
import raw
from coterie._compiled.core.generic import compiled
from coterie._compiled.core.randomness import uniform as fast_uniform
from coterie._compiled.primal.query_decisions import decide_all
from coterie.estimators.queries import LabelBudget, Questions
from reference import omtl
from reference.asking import Asking, selective_omtl, uniform
from slow import slow
from streams import CASES, K, linear_stream

NAMES = ("a", "b", "c", "d", "e")
ASKS = {
    "margin": (ct.updates.Margin(c=0.8), lambda margin, row: 0.8 / (0.8 + abs(margin))),
    "below": (ct.updates.Below(threshold=0.7), lambda margin, row: float(abs(margin) < 0.7)),
    "randomly": (ct.updates.Randomly(rate=0.3), lambda margin, row: 0.3),
    "always": (ct.updates.Always(), lambda margin, row: 1.0),
    "row": (ct.updates.RelationRow(), lambda margin, row: np.abs(row).sum() / (np.abs(row).sum() + abs(margin))),
    "scaled row": (
        ct.updates.RelationRow(scale=9.0),
        lambda margin, row: 9 * np.abs(row).sum() / (9 * np.abs(row).sum() + abs(margin)),
    ),
    "row of the inverse": (
        ct.updates.RelationRow(of="Ainv"),
        lambda margin, row: np.abs(row).sum() / (np.abs(row).sum() + abs(margin)),
    ),
}
LIMITS = {
    "free": ({}, {}),
    "ever": ({"budget": 60, "per_task": 15}, {"total": 60, "per_task": 15}),
    "sliding": ({"budget": 7, "window": 20, "per_task": 3}, {"total": 7, "per_task": 3, "window": 20}),
}
#: Chance, limits, model and form of records are compiled together: chances and limits come up with the plain Perceptron,
#: other models ask by margins within a sliding budget.
MODELS = {
    "half": lambda: ct.MultitaskPerceptron(),
    "logistic": lambda: raw.MultitaskLogistic(ct.MeanRegularized(share=0.3)),
    "AROW": lambda: raw.MultitaskAROW(),
    "passive-aggressive": lambda: ct.MultitaskPerceptron(CASES["tree b"].relation, ct.updates.PassiveAggressive()),
    "graph": lambda: ct.MultitaskPerceptron(CASES["graph factor"].relation),
    "mixture": lambda: raw.AdaptiveSharingClassifier(),
    "LogDet": lambda: ct.MultitaskPerceptron(ct.LogDet(eta=1e-4)),
    "averaged LogDet": lambda: ct.MultitaskPerceptron(ct.tasks.Primed(ct.LogDet(eta=1e-4), 50), average=True),
    "averaged": lambda: ct.MultitaskPerceptron(average=True),
}


def same(trace, literal, y):
    margins, asked = literal
    np.testing.assert_array_equal(trace.queried, asked)
    np.testing.assert_allclose(trace.margin, margins, rtol=1e-9, atol=1e-11)
    np.testing.assert_array_equal(trace.mistake, y * margins <= 0)


# -- equal to the definition ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "ask", "limit", "average"),
    [
        ("half", "margin", "free", False),
        slow("half", "margin", "sliding", True),
        slow("mean b", "below", "ever", False),
        slow("clusters share", "randomly", "sliding", False),
        slow("tree b", "margin", "sliding", True),
        slow("graph factor", "margin", "sliding", False),
        slow("interaction", "always", "ever", False),
    ],
)
def test_fixed_relations_ask_as_defined(name, ask, limit, average):
    case, stream = CASES[name], linear_stream(3, n=300)
    part, query_probability = ASKS[ask]
    mine, literal = LIMITS[limit]
    model = ct.SelectiveSampling(ct.MultitaskPerceptron(case.relation, average=average), part, seed=11, **mine)
    trace = ct.progressive_validation(model, stream.X, stream.y, task=stream.named(case.tasks), tasks=case.tasks)
    asking = Asking(query_probability, seed=11, **literal)
    A = np.linalg.inv(case.M)
    same(trace, selective_omtl(stream.X, stream.y, stream.task, asking, lambda A, W: A, A=A, average=average), stream.y)
    assert 0 < trace.queries < 300
    np.testing.assert_allclose(model.coef_[np.argsort(np.argsort(case.tasks))].shape, (K, stream.X.shape[1]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("relation", "update", "ask", "limit", "average"),
    [
        (ct.LogDet(eta=1e-3), omtl.logdet(1e-3), "row", "free", False),
        slow(ct.LogDet(eta=1e-3), omtl.logdet(1e-3), "scaled row", "sliding", True),
        slow(ct.tasks.VonNeumann(eta=1e-4), omtl.von_neumann(1e-4), "scaled row", "free", False),
        slow(ct.LogDet(eta=1e-3, role="Ainv"), omtl.logdet(1e-3, role="Ainv"), "row of the inverse", "free", False),
    ],
    ids=["LogDet", "averaged LogDet", "VonNeumann", "inverse LogDet"],  # the others keep M whole, as LogDet does
)
def test_learned_relations_ask_by_their_current_row(relation, update, ask, limit, average):
    stream = linear_stream(5, n=150)
    part, query_probability = ASKS[ask]
    mine, literal = LIMITS[limit]
    primed = ct.tasks.Primed(relation, epoch=40)
    model = ct.SelectiveSampling(ct.MultitaskPerceptron(primed, average=average), part, seed=2, **mine)
    trace = ct.progressive_validation(model, stream.X, stream.y, task=stream.named(NAMES), tasks=NAMES)
    asking = Asking(query_probability, seed=2, **literal)
    options = {"epoch": 40, "average": average, "asked_by": np.linalg.inv if "inverse" in ask else np.asarray}
    same(trace, selective_omtl(stream.X, stream.y, stream.task, asking, update, A=np.eye(K) / K, **options), stream.y)
    assert 0 < trace.queries < 150


def literally(model, stream, names, asking):
    """Round by round through the verbs of the model itself, which has no clock."""
    margins = []
    for x, y, i in zip(stream.X, stream.y, stream.task, strict=True):
        margins.append(
            float(model.decision_function([x], task=[names[i]])[0]) if model.__sklearn_is_fitted__() else 0.0
        )
        if asking(margins[-1], np.zeros(0), i):
            model.partial_fit([x], [y], task=[names[i]], classes=[-1.0, 1.0], tasks=names)
    return np.array(margins), np.array(asking.asked)


@pytest.mark.parametrize("name", ["logistic", *map(slow, ["graph", "mixture", "AROW", "passive-aggressive"])])
def test_any_model_asks_as_if_it_were_taught_only_what_it_asked_for(name):
    stream = linear_stream(8, n=250)
    margins, asked = literally(MODELS[name](), stream, NAMES, Asking(ASKS["margin"][1], seed=4, total=9, window=30))
    model = ct.SelectiveSampling(MODELS[name](), ct.updates.Margin(c=0.8), budget=9, window=30, seed=4)
    trace = ct.progressive_validation(model, stream.X, stream.y, task=stream.named(NAMES), tasks=NAMES)
    np.testing.assert_array_equal(trace.queried, asked)
    np.testing.assert_allclose(trace.margin, margins, rtol=1e-9, atol=1e-12)
    assert trace.updated[~trace.queried].sum() == 0


EVERYTHING = {"always": ct.updates.Always(), "c to infinity": ct.updates.Margin(c=1e100)}


@pytest.mark.parametrize(
    ("name", "ask", "delay"),
    [
        ("half", "c to infinity", 0),
        *(slow("half", *others) for others in product(EVERYTHING, (1, 13))),
        *(slow(name, "c to infinity", (0, 1, 13)[k % 3]) for k, name in enumerate(MODELS) if name != "half"),
    ],
)
def test_asking_for_everything_is_the_passive_learner_bit_for_bit(name, ask, delay):
    stream = linear_stream(9, n=120)
    task = stream.named(NAMES)
    passive = MODELS[name]()
    asking = ct.SelectiveSampling(MODELS[name](), EVERYTHING[ask])
    expected = ct.progressive_validation(passive, stream.X, stream.y, task=task, delay=delay)
    trace = ct.progressive_validation(asking, stream.X, stream.y, task=task, delay=delay)
    np.testing.assert_array_equal(trace.margin, expected.margin)
    np.testing.assert_array_equal(trace.updated, expected.updated)
    np.testing.assert_array_equal(asking.coef_, passive.coef_)
    assert trace.queries == expected.queries == 120


@pytest.mark.parametrize("delay", [1, 13, 500])
@pytest.mark.parametrize("name", ["logistic", slow("AROW")])
def test_late_labels_are_asked_for_when_their_record_is_predicted(name, delay):
    stream = linear_stream(10, n=200)
    task = stream.named(NAMES)
    model, asking = MODELS[name](), Asking(ASKS["margin"][1], seed=0, total=12, window=40)
    margins = []
    for t in range(len(stream) + delay):
        if t < len(stream):
            margin = model.decision_function(stream.X[[t]], task=[task[t]])[0] if model.__sklearn_is_fitted__() else 0.0
            margins.append(float(margin))
            asking(margins[t], np.zeros(0), stream.task[t])
        if 0 <= t - delay < len(stream) and asking.asked[t - delay]:
            s = t - delay
            model.partial_fit(stream.X[[s]], stream.y[[s]], task=[task[s]], classes=[-1.0, 1.0], tasks=NAMES)
    selective = ct.SelectiveSampling(MODELS[name](), ct.updates.Margin(c=0.8), budget=12, window=40)
    trace = ct.progressive_validation(selective, stream.X, stream.y, task=task, tasks=NAMES, delay=delay)
    np.testing.assert_array_equal(trace.queried, asking.asked)
    np.testing.assert_allclose(trace.margin, margins, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(selective.coef_, model.coef_, rtol=1e-9, atol=1e-12)


# -- one record at a time ---------------------------------------------------------------------------------------------


def test_the_same_question_has_the_same_answer_and_costs_nothing_until_it_is_over():
    model = ct.SelectiveSampling(raw.MultitaskLogistic(), ct.updates.Randomly(rate=0.5), budget=2)
    drawn = [uniform(0, t) < 0.5 for t in range(20)]
    first = model.wants_label({"p": 1.0, "q": 2.0}, task="ann")
    assert [model.wants_label({"q": 2.0, "p": 1.0}, task="ann") for _ in range(5)] == [first] * 5 == [drawn[0]] * 5
    assert model.rounds_ == 1
    model.learn_one({"p": 3.0}, True, task="ann")  # the label of another record: the question stays open
    assert model.wants_label({"p": 1.0, "q": 2.0}, task="ann") == first
    assert model.rounds_ == 1
    model.learn_one({"p": 1.0, "q": 2.0}, False, task="ann")
    model.wants_label({"p": 1.0, "q": 2.0}, task="ann")
    assert model.rounds_ == 2
    model.skip_unlabelled()
    model.wants_label({"p": 1.0, "q": 2.0}, task="ann")
    model.wants_label({"p": 1.0, "q": 2.0}, task="bob")
    assert model.rounds_ == 4


def test_many_records_are_asked_for_at_once_by_the_model_as_it_stands():
    stream, new = linear_stream(1, n=60), linear_stream(2, n=300)
    model = raw.MultitaskLogistic().fit(stream.X, stream.y, stream.named(NAMES))
    asking = ct.SelectiveSampling(model, ct.updates.Margin(c=0.5), budget=20, window=400, per_task=6, seed=3)
    wanted = asking.wants_labels(new.X, task=new.named(NAMES))
    literal = Asking(lambda margin, row: 0.5 / (0.5 + abs(margin)), seed=3, total=20, per_task=6)
    margins = model.decision_function(new.X, new.named(NAMES))
    assert wanted.tolist() == [literal(m, np.zeros(0), i) for m, i in zip(margins, new.task, strict=True)]
    assert wanted.sum() == 20
    assert asking.rounds_ == 300


# -- one uniform per round, budgets -------------------------------------------------------------------------------------


@given(
    st.integers(0, 2**62),
    st.one_of(st.none(), st.integers(1, 12)),
    st.one_of(st.none(), st.integers(1, 30)),
    st.one_of(st.none(), st.integers(1, 5), st.floats(0.05, 1.0)),
    st.lists(st.integers(1, 25), min_size=1, max_size=6),
    st.floats(0.05, 1.0),
)
@example(0, 10, None, 0.2, [25, 25], 1.0)
def test_budgets_are_never_exceeded_and_used_as_defined(seed, budget, window, per_task, runs, rate):
    if isinstance(per_task, float) and budget is None:
        per_task = None
    if budget is None and per_task is None:
        window = None
    limits = LabelBudget(budget, window, per_task)
    limits.check()
    questions, query_probability = Questions(limits, seed), ct.updates.Randomly(rate=rate).compiled(0)
    limit = per_task if isinstance(per_task, int) else max(int(per_task * budget), 1) if per_task else np.inf
    literal = Asking(lambda margin, row: rate, seed, budget or np.inf, limit, window or np.inf)
    tasks = np.random.default_rng(seed % 1000).integers(4, size=sum(runs))
    asked, first = [], 0
    for n in runs:
        query_strategy = questions.query_strategy(query_probability, tasks[first : first + n])
        decide_all(query_strategy, np.zeros(n, np.int64), np.zeros(n), 0, n)
        asked += (query_strategy.answer > 0).tolist()
        first += n
    assert asked == [literal(0.0, np.zeros(0), task) for task in tasks]
    flags, width = np.array(asked), window or len(asked)
    for t in range(len(flags)):
        recent = flags[max(t - width + 1, 0) : t + 1]
        assert recent.sum() <= (budget or np.inf)
        assert (recent & (tasks[max(t - width + 1, 0) : t + 1] == tasks[t])).sum() <= limit


# -- uniform numbers, which are functions of a seed and a round ----------------------------------------------------------


@compiled
def many(seed, first, n, stream):
    counts = np.zeros(n)
    for t in range(n):
        counts[t] = fast_uniform(seed, first + t, stream)
    return counts


@pytest.mark.parametrize("seed", [0, 1, 12345, 2**62])
@pytest.mark.parametrize("stream", [0, 3])
def test_numbers_are_those_of_the_definition(seed, stream):
    for first in (0, 10**9):
        assert many(seed, first, 20, stream).tolist() == [uniform(seed, first + t, stream) for t in range(20)]


def test_numbers_are_uniform_and_those_of_neighbouring_rounds_seeds_and_streams_uncorrelated():
    n = 100_000
    u = many(7, 0, n, 0)
    counts = np.histogram(u, bins=100, range=(0, 1))[0]
    assert ((counts - n / 100) ** 2 / (n / 100)).sum() < 180  # chi-squared, 99 degrees: beyond 1e-6
    for other in (many(7, 1, n, 0), many(8, 0, n, 0), many(7, 0, n, 1)):
        assert abs(np.corrcoef(u, other)[0, 1]) < 0.02
