"""Every relation, storage, input, rule and form of prediction against the literal Perceptron of tests/reference."""

from itertools import combinations, product

import numpy as np
import pytest

import coterie as ct
from reference import perceptron
from slow import slow, slow_where
from states import weights
from streams import BY_COLUMNS, CASES, COVER, FORMS, PLAIN_COVER, RULES, SAMPLE, STORAGES, K, as_csr, linear_stream


def model_of(case, storage="auto", rule="perceptron", average=False, **options):
    return ct.MultitaskPerceptron(case.relation, RULES[rule], average, storage=storage, **options)


def learned(model, case, stream, form):
    rounds = model.__stream_model__().learn(FORMS[form](stream.X), stream.y, stream.named(case.tasks), tasks=case.tasks)
    return rounds, weights_of(model, case, stream.X.shape[1], form)


def weights_of(model, case, d, form):
    """The weights in the order of the case's tasks and the stream's features, however the model numbered them."""
    rows = [model.tasks_.index(task) for task in case.tasks]
    if form == "dictionaries":
        vocabulary = model.__stream_model__().input.form.vocabulary
        columns = [int(vocabulary.record({f"f{j}": 1.0}, resize=False).features[0]) for j in range(d)]
        return weights(model)[np.ix_(rows, columns)]
    return weights(model)[rows]


def expected(case, stream, rule, average):
    run = perceptron.primal(stream.X, stream.y, stream.task, M=case.M, rule=rule, C=0.3)
    return run, *((run.averaged_margins, run.averaged_weights) if average else (run.margins, run.W))


def assert_same(rounds, W, case, stream, rule, average, rtol=1e-9):
    run, margins, weights = expected(case, stream, rule, average)
    scale = np.abs(margins).max()
    clear = (np.abs(margins) > 1e-3 * rtol * scale) | (not average)
    flags, literal = stream.y * rounds.margin <= 0, stream.y * margins <= 0
    assert clear.mean() > 0.9
    np.testing.assert_array_equal(flags[clear], literal[clear])
    np.testing.assert_array_equal(rounds.updated, run.updated)
    np.testing.assert_allclose(rounds.margin, margins, rtol=rtol, atol=rtol * scale)
    np.testing.assert_allclose(W, weights, rtol=rtol, atol=rtol * np.abs(weights).max())


def test_every_pair_comes_up():
    axes = (STORAGES, FORMS, RULES, (False, True))
    results = [(CASES[name].relation.form == "columns", *rest) for name, *rest in COVER]
    for one, other in combinations(range(5), 2):
        values = [(False, True), *axes]
        assert {(row[one], row[other]) for row in results} == set(product(values[one], values[other]))
    tables = {(columns, storage.replace("auto", "dense"), average) for columns, storage, *_, average in results}
    assert tables == set(product((False, True), ("dense", "sparse"), (False, True)))
    assert {name for name, *_ in COVER} == set(CASES)


@pytest.mark.parametrize(("name", "storage", "form", "rule", "average"), PLAIN_COVER + SAMPLE)
def test_fast_form_equals_the_literal_one(name, storage, form, rule, average):
    case = CASES[name]
    stream = linear_stream(11, zeros=0.0 if form == "dense" else 0.4)
    rounds, W = learned(model_of(case, storage, rule, average), case, stream, form)
    assert_same(rounds, W, case, stream, rule, average)


@pytest.mark.parametrize(
    ("name", "rule", "average"),
    slow_where(
        product(CASES, RULES, (False, True)),
        lambda name, rule, average: (
            average or rule != "perceptron" if name in BY_COLUMNS else name != "tree b" and average == (rule != "PA-II")
        ),
    ),
)
def test_every_rule_under_every_relation(name, rule, average):
    """In one storage, that of the quickest compilation."""
    case, stream = CASES[name], linear_stream(12)
    rounds, W = learned(model_of(case, "dense", rule, average), case, stream, "dense")
    assert_same(rounds, W, case, stream, rule, average)


@pytest.mark.parametrize(("name", "case"), CASES.items(), ids=CASES)
def test_relation_matrix_is_the_inverse_of_the_papers(name, case):
    model = model_of(case).partial_fit(np.eye(K), [0, 1, 0, 1, 0], task=list(case.tasks))
    if case.A is not None:
        np.testing.assert_allclose(model.relation_matrix_, np.linalg.inv(case.A), rtol=1e-9, atol=1e-12)
    if name == "pooled":  # where b of the mean has no end
        np.testing.assert_allclose(model.relation_matrix_, 1 / K)
    factor = case.M[0, 0] / model.relation_matrix_[0, 0]
    if name != "clusters share":  # there each group has a factor of its own
        np.testing.assert_allclose(model.relation_matrix_ * factor, case.M, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("storage", "rule"), [("dense", "perceptron"), slow("dense", "PA-II"), ("sparse", "perceptron")]
)
def test_the_order_of_a_records_entries_does_not_matter(storage, rule):
    case, stream = CASES["mean b"], linear_stream(16, zeros=0.4)
    straight = as_csr(stream.X)
    turned = straight.copy()
    for first, last in zip(turned.indptr[:-1], turned.indptr[1:], strict=True):
        turned.indices[first:last] = turned.indices[first:last][::-1]
        turned.data[first:last] = turned.data[first:last][::-1]
    turned.has_sorted_indices = False
    margins = []
    for X in (straight, turned):
        model = model_of(case, storage, rule, average=True)
        margins.append(model.__stream_model__().learn(X, stream.y, stream.named(case.tasks), tasks=case.tasks).margin)
    np.testing.assert_allclose(*margins, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("rule", RULES)
def test_records_without_length(rule):
    """They are mistakes, the plain Perceptron counts them as moves of nothing, and they move no weight."""
    case, stream = CASES["half"], linear_stream(17, n=60)
    stream.X[::3] = 0.0
    rounds, W = learned(model_of(case, "dense", rule), case, stream, "dense")
    assert (rounds.margin[::3] == 0).all()
    assert_same(rounds, W, case, stream, rule, False)
