"""Streams cut as one likes: a block, its records one by one, any pieces and files give the same bits.

What goes by matrix products (kernels by blocks, all covariances, spaces of their own, views with kernels) is the same to
rounding, with the same mistakes: there a product of matrices is summed in another order when their shapes are others.
"""

import copy
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

import coterie as ct
import raw
from coterie.data.block import Block
from slow import slow
from states import digest, reloaded, unpickled
from streams import CASES, FORMS, PLAIN_COVER, RULES, SAMPLE, K, Stream, linear_stream

N = 60
#: The order in which tasks come, and the rounds between two of them.
ORDER, QUERY_ALL = (2, 0, 4, 1, 3), 9


def late_stream(seed, zeros=0.0, n=N):
    """A stream whose tasks come one after the other, the last of them when half is over."""
    stream = linear_stream(seed, n=n, zeros=zeros)
    return Stream(stream.X, stream.y, np.array(ORDER)[np.minimum(stream.task, np.arange(n) // QUERY_ALL)])


#: Ends of pieces: the places at which a stream of N records is cut.
ONE_BY_ONE = list(range(1, N))
CUTTINGS = [[1, 2, 30, 31, N - 1], [7, 20, 21, 40, 47], [30], ONE_BY_ONE]


def spans(ends, n=N):
    return list(zip([0, *ends], [*ends, n], strict=True))


def blocks_of(X, y, task, ends):
    """Blocks of a file that has been cut at these places."""
    labels = np.array(task, dtype=object)
    return [Block(X[a:b], y[a:b], labels[a:b], np.arange(a, b) + 1) for a, b in spans(ends)]


def learned(model, X, y, task, ends, classes=(-1, 1), stop=None):
    """The model after the stream cut at these places, and what it predicted before each label.

    At ``stop`` it goes through a file and a pickle, and as a copy.
    """
    predictions = []
    for a, b in spans(ends, len(y)):
        whose = None if task is None else task[a:b]
        predictions.append(model.__stream_model__().learn(part(X, a, b), y[a:b], whose, classes=classes).margin)
        if b == stop:
            with TemporaryDirectory() as folder:
                model = unpickled(copy.deepcopy(reloaded(model, Path(folder) / "model")))
    return model, np.concatenate(predictions)


def part(X, a, b):
    """Some of the records, of views the same of each."""
    if isinstance(X, list) and not isinstance(X[0], dict):
        Partial = ct.views.PartialBlock
        return [Partial(x.X[a:b], x.present[a:b]) if isinstance(x, Partial) else x[a:b] for x in X]
    return X[a:b]


def outputs_of(model, X, task):
    return getattr(model, "decision_function", model.predict)(X, **({} if task is None else {"task": task}))


def assert_same(make, X, y, task, cuttings, classes=(-1, 1)):
    """The same bits, whatever a stream is cut into, and where it goes on from a file and as a copy."""
    whole, margins = learned(make(), X, y, task, [], classes)
    for ends in cuttings:
        model, learned_so_far = learned(make(), X, y, task, ends, classes, stop=ends[len(ends) // 2] if ends else None)
        np.testing.assert_array_equal(learned_so_far, margins)
        assert digest(model) == digest(whole)


# -- relation, storage, input, rule, averaging -------------------------------------------------------------------------


def crossed(name, storage, form, rule, average):
    case, stream = CASES[name], late_stream(61, zeros=0.0 if form == "dense" else 0.4)

    def make():
        return ct.MultitaskPerceptron(case.relation, RULES[rule], average, storage=storage)

    return make, FORMS[form](stream.X), stream.y, stream.named(case.tasks)


@pytest.mark.parametrize(("name", "storage", "form", "rule", "average"), PLAIN_COVER + SAMPLE)
def test_any_pieces_equal_the_whole(name, storage, form, rule, average):
    assert_same(*crossed(name, storage, form, rule, average), CUTTINGS)


@pytest.mark.parametrize("delay", [7, 25])
def test_predictions_before_late_labels_where_a_new_task_changes_all(delay):
    """Where it comes before the labels of all that waited, some of the next piece were told in an earlier run, some not."""
    stream = late_stream(63)

    def trace(ends):
        blocks = blocks_of(stream.X, stream.y, stream.named("abcde"), ends)
        Potential, gradient = ct.PotentialMultitaskPerceptron, ct.updates.ExponentiatedGradient()
        return ct.progressive_validation(Potential(gradient, ct.MeanRegularized(b=5), rate=0.3), blocks, delay=delay)

    whole = trace([])
    for end in range(1, N):
        np.testing.assert_array_equal(trace([end]).margin, whole.margin, err_msg=str(end))


def test_a_block_that_is_broken_off_leaves_no_task_uncounted(monkeypatch):
    stream = late_stream(71)
    model = ct.MultitaskPerceptron(ct.MeanRegularized(b=5))
    model.partial_fit(stream.X[:5], stream.y[:5], stream.task[:5], classes=[-1, 1])

    def stopped(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr("coterie.models.linear_learner.learn", stopped)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(stream.X[5:], stream.y[5:], stream.task[5:])
    levels = model.state_.model.levels
    assert levels.members.tolist() == [len(model.tasks_)] == [K]
    assert levels.weight[0] == pytest.approx(5 / (6 * K))


# -- questions ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ask",
    [
        lambda: ct.SelectiveSampling(ct.MultitaskPerceptron(ct.MeanRegularized(b=5)), ct.updates.Margin(0.8)),
        slow(
            lambda: ct.SelectiveSampling(
                ct.MultitaskPerceptron(CASES["clusters b"].relation, average=True), ct.updates.Margin(0.5), 20, 30
            )
        ),
        slow(lambda: ct.SelectiveSampling(ct.MultitaskPerceptron(ct.LogDet(1e-4)), ct.updates.RelationRow(scale=25.0))),
        slow(
            lambda: ct.SelectiveSampling(raw.AdaptiveSharingClassifier(), ct.updates.Margin(0.8), 20, 30, per_task=0.5)
        ),
    ],
    ids=["margin", "averaged", "row", "sharing"],
)
def test_questions_too(ask):
    stream = late_stream(70)

    def trace(ends):
        return ct.progressive_validation(ask(), blocks_of(stream.X, stream.y, stream.named("abcde"), ends))

    whole = trace([])
    assert whole.queried.sum() > 0
    for ends in CUTTINGS:
        learned_trace = trace(ends)
        for field in ("margin", "queried", "updated"):
            np.testing.assert_array_equal(getattr(learned_trace, field), getattr(whole, field))


@pytest.mark.parametrize(
    ("make", "has_gaps"),
    [
        (ct.PNormMultitaskPerceptron, False),
        (lambda: ct.MultitaskPerceptron(ct.tasks.Covariance(0.1), max_tasks=3), False),
        (lambda: ct.MultitaskPerceptron(ct.tasks.Covariance(0.1), scale="standard"), True),
        (lambda: ct.MultitaskLogistic(scale="unit"), True),  # gaps of records that are not learned count in lengths
    ],
)
def test_columns_count_from_their_first_records_where_their_number_changes_all(make, has_gaps):
    stream, weight = late_stream(74), np.arange(N) % 3.0
    X = np.where((np.arange(N) % 10 == 6)[:, None] & (stream.X > 0.5), np.nan, stream.X)
    if not has_gaps:
        X = [
            {(t if np.isnan(x) else -j): 1.0 if np.isnan(x) else x for j, x in enumerate(row)}
            for t, row in enumerate(X, 9)
        ]

    def trace(ends):
        model, pieces = make(), [slice(a, b) for a, b in spans(ends)]
        validated, y, task = partial(ct.progressive_validation, model), stream.y, stream.task
        return [validated(X[s], y[s], task=task[s], sample_weight=weight[s]).margin for s in pieces], model

    margins, whole = trace([])
    for ends in CUTTINGS:
        pieces, model = trace(ends)
        np.testing.assert_array_equal(np.concatenate(pieces), margins[0])
        np.testing.assert_array_equal(outputs_of(model, X, stream.task), outputs_of(whole, X, stream.task))
