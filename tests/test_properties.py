"""Properties of whole streams, on examples that hypothesis draws: small ones, in any form and any order of events."""

import tempfile
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import coterie as ct
from reference import perceptron
from slow import but_slowly
from streams import FORMS

# Multiples of 1/4 keep sums exact, so that ties are ties in every form.
values = st.integers(-12, 12).map(lambda k: k / 4)
shares = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])
WIDTH, KNOWN = 4, 3


@st.composite
def streams(draw, largest=25):
    """Records, labels and tasks of a short stream, zeros and repeats among them."""
    n = draw(st.integers(1, largest))
    X = np.array(draw(st.lists(st.lists(values, min_size=WIDTH, max_size=WIDTH), min_size=n, max_size=n)))
    y = np.array(draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=n, max_size=n)))
    return X, y, np.array(draw(st.lists(st.integers(0, KNOWN - 1), min_size=n, max_size=n)))


def share_matrix(share):
    return (1 - share) * np.eye(KNOWN) + share


def known(model, X, y, task):
    return model.__stream_model__().learn(X, y, task, tasks=range(KNOWN), classes=[-1, 1])


@pytest.mark.parametrize(
    ("storage", "form"), but_slowly(list(product(["dense", "sparse"], FORMS)), ("sparse", "dense"))
)
@given(streams(), shares)
def test_exact_numbers_give_exact_margins(storage, form, stream, share):
    """With sums that need no rounding even ties agree with the literal form, in every storage and input."""
    X, y, task = stream
    run = perceptron.primal(X, y, task, M=share_matrix(share))
    rounds = known(ct.MultitaskPerceptron(ct.MeanRegularized(share=share), storage=storage), FORMS[form](X), y, task)
    np.testing.assert_array_equal(rounds.margin, run.margins)
    np.testing.assert_array_equal(rounds.updated, run.mistakes)


#: Any b that has a square.
strengths = st.floats(-0.9, 100).filter(lambda b: b == 0.0 or abs(b) >= 1e-100)


@given(streams(), strengths, st.sampled_from(["0", "I", "II"]), st.floats(0.01, 10), st.booleans())
def test_any_b_and_any_passive_aggressive_rule(stream, b, variant, C, average):
    X, y, task = stream
    M = (np.eye(KNOWN) + b / KNOWN) / (1 + b)
    run = perceptron.primal(X, y, task, M=M, rule={"0": "PA", "I": "PA-I", "II": "PA-II"}[variant], C=C)
    model = ct.MultitaskPerceptron(ct.MeanRegularized(b=b), ct.updates.PassiveAggressive(C, variant), average)
    margin = known(model, X, y, task).margin
    expected = run.averaged_margins if average else run.margins
    np.testing.assert_allclose(margin, expected, rtol=1e-7, atol=1e-7 * max(1.0, np.abs(expected).max()))


@given(streams(), shares, st.lists(st.integers(1, 24), max_size=4), st.integers(0, 30))
def test_blocks_and_delays_of_any_size(stream, share, cuts, delay):
    X, y, task = stream
    run = perceptron.queued(X, y, task, [share_matrix(share)] * len(y), delay=delay)
    model = ct.MultitaskPerceptron(ct.MeanRegularized(share=share))
    blocks = []
    for first, last in zip([0, *sorted(cuts)], [*sorted(cuts), len(y)], strict=True):
        reader = ct.MultitaskPerceptron()
        if first < min(last, len(y)):
            blocks.append(reader.__stream_model__().as_block(X[first:last], y[first:last], task[first:last]))
    trace = ct.progressive_validation(model, blocks, tasks=range(KNOWN), delay=delay)
    sign = 1.0 if 1.0 in y else -1.0  # margins are positive for the only label there is
    np.testing.assert_array_equal(trace.margin, sign * run.margins)
    np.testing.assert_array_equal(trace.updated, run.updated)


class LongLife(RuleBasedStateMachine):
    """One model learns, predicts, refuses, is saved and loaded in any order; a literal one goes along."""

    storages = "auto", "dense"

    @initialize(share=shares, average=st.booleans(), draw=st.data())
    def start(self, share, average, draw):
        self.share, self.average, storage = share, average, draw.draw(st.sampled_from(self.storages))
        self.model = ct.MultitaskPerceptron(ct.MeanRegularized(share=share), average=average, storage=storage)
        self.records, self.labels, self.tasks = [], [], []

    def literal_weights(self):
        if not self.records:
            return np.zeros((KNOWN, WIDTH))
        X, y, task = np.array(self.records), np.array(self.labels), np.array(self.tasks)
        run = perceptron.primal(X, y, task, M=share_matrix(self.share))
        return run.averaged_weights if self.average else run.W

    @rule(stream=streams(largest=4), single=st.booleans())
    def learn(self, stream, single):
        X, y, task = stream
        dictionaries = [{f"f{j}": value for j, value in enumerate(x)} for x in X]
        if single:
            for x, label, i in zip(dictionaries, y, task, strict=True):
                self.model.learn_one(x, float(label), task=int(i))
        else:
            self.model.partial_fit(dictionaries, y, task)
        self.records.extend(X.tolist())
        self.labels.extend(y.tolist())
        self.tasks.extend(task.tolist())

    @rule(bad=st.sampled_from([({"f0": np.nan}, 1.0), ({"new": 1.0}, "third"), ({"f0": [1]}, 1.0)]))
    def refuse(self, bad):
        if len(set(self.labels)) == 2 or bad[1] != "third":
            with np.testing.assert_raises(ValueError):
                self.model.learn_one(*bad, task=0)

    @rule()
    def save_and_load(self):
        with tempfile.TemporaryDirectory() as folder:
            self.model.save(Path(folder) / "model")
            self.model = ct.load(Path(folder) / "model")

    @rule(x=st.lists(values, min_size=WIDTH, max_size=WIDTH), task=st.integers(0, KNOWN - 1))
    def predict(self, x, task):
        margin = self.model.decision_function_one({f"f{j}": value for j, value in enumerate(x)}, task)
        if self.model.__sklearn_is_fitted__():
            np.testing.assert_allclose(margin, self.sign() * (self.literal_weights()[task] @ x), rtol=1e-9, atol=1e-9)

    def sign(self):
        """Margins of a label that came alone are positive for it."""
        return -1.0 if set(self.labels) == {-1.0} else 1.0

    @invariant()
    def weights_are_the_literal_ones(self):
        if self.model.__sklearn_is_fitted__():
            literal = self.literal_weights()[self.model.tasks_]
            np.testing.assert_allclose(self.model.coef_, self.sign() * literal, rtol=1e-9, atol=1e-9)


class SparseLongLife(LongLife):
    """One whose weights are stored sparsely."""

    storages = ("sparse",)


TestLongLife, TestSparseLongLife = LongLife.TestCase, SparseLongLife.TestCase
TestLongLife.settings = TestSparseLongLife.settings = settings(max_examples=15, stateful_step_count=12)
TestSparseLongLife.pytestmark = [pytest.mark.slow]
