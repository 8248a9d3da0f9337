"""The noise of gains: equal to its definition, and intervals and calls as sure as they say."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.special import softmax

import coterie as ct
import known
import samples
from coterie.evaluation.confidence_intervals import FEW, Tally, mean_of_tasks
from coterie.evaluation.noise import (
    KINDS,
    OfClasses,
    OfLabels,
    OfNumbers,
    OfPredictions,
    class_of_size,
    farther_quantile,
    jump_tail,
    select_discoveries,
)
from coterie.evaluation.trace import ManyClassTrace
from coterie.evaluation.verdict import Sums, verdict
from reference import verdict as reference

RNG = np.random.default_rng(0)


def test_the_noise_of_two_labels_is_that_of_the_two_gains_that_may_be():
    positive, negative, p = RNG.normal(2, 0.5, 60), -RNG.uniform(0.1, 1, 60), RNG.uniform(0.01, 0.99, 60)
    task = RNG.integers(5, size=60)
    sums = OfLabels.from_rounds(positive, negative, p, np.where(p > 0.5, positive, negative), task, 5)
    by_learner = np.array([reference.moments_of_two(*row) for row in zip(positive, negative, p, strict=True)])
    fair = [reference.probability_of_no_gain(*counts) for counts in zip(positive, negative, strict=True)]
    null = np.array([reference.moments_of_two(*row)[0] for row in zip(positive, negative, fair, strict=True)])
    for actual, rounds in zip((sums.variance, sums.third, sums.null_variance), (*by_learner.T, null), strict=True):
        np.testing.assert_allclose(actual, np.bincount(task, rounds), rtol=1e-9)


def test_p_values_of_two_labels_are_those_of_the_definition():
    rng = np.random.default_rng(1)
    positive, negative = rng.choice([-1, 1], 60) * rng.exponential(size=(2, 60)) * [[1], [-0.1]]
    task, gain = rng.integers(5, size=60), np.where(rng.random(60) < 0.3, positive, negative)
    nothing = np.array([[np.nan, 0.1, 0.0], [0.2, 0.1, 0.0]])  # rounds that tell nothing: no label, both gains, none
    padded = [np.r_[values, more] for values, more in zip((positive, negative), nothing, strict=True)]
    sums_padded = OfLabels.from_rounds(*padded, np.full(63, 0.3), np.r_[gain, np.zeros(3)], np.r_[task, 0, 1, 2], 5)
    judged = sums_padded.judged(Tally.from_values(gain, task, 5), 0.95)
    for k in range(5):
        sums = reference.NullSums(list(zip(positive[task == k], negative[task == k], strict=True)))
        total = gain[task == k].sum()
        assert judged.helped[k] == pytest.approx(sums.helped(total))
        assert judged.hurt[k] == pytest.approx(sums.hurt(total))


@pytest.mark.parametrize("side", [1, -1])
def test_p_values_of_numbers_are_those_of_the_definition(side):
    rng = np.random.default_rng(2)
    labels, ours, theirs = side * rng.gamma(0.5, 2, 60), rng.normal(side, 0.3, 60), rng.normal(side, 0.5, 60)
    task = rng.integers(5, size=60)
    gains = Tally.from_values((labels - theirs) ** 2 - (labels - ours) ** 2, task, 5)
    result = OfNumbers.from_rounds(labels - ours, labels - theirs, task, 5).judged(gains, 0.95)
    of_tasks = [[column[task == k].tolist() for column in (labels, ours, theirs)] for k in range(5)]
    moments = [reference.residual_moments(*records) for records in of_tasks]
    of_all = tuple(np.average(moments, axis=0, weights=np.bincount(task)).tolist())
    gain = (labels - theirs) ** 2 - (labels - ours) ** 2
    to_gain = [reference.probability_to_gain(gain[side].tolist()) for side in (ours < theirs, ours > theirs)]
    for k, records in enumerate(of_tasks):
        expected = reference.p_values_of_numbers(*records, of_all, to_gain)
        assert (result.helped[k], result.hurt[k]) == pytest.approx(expected)


def test_p_values_of_many_classes_have_jumps_of_the_size_of_the_gains():
    gain = np.r_[np.full(30, 0.01), 2.0, np.full(30, -0.01), -2.0]
    task, zero = np.repeat([0, 1], 31), np.zeros(62)
    tallies = [(v, Tally.from_values(v, task, 2)) for v in (gain, -gain)]
    one, other = (OfClasses.from_rounds(values, task, 2).judged(tally, 0.95) for values, tally in tallies)
    np.testing.assert_allclose(one.helped, other.hurt)
    variance, part = 30 * 0.01**2 + 4.0, 31 / (31 + 10)  # both tasks have the same squares
    fourth = part * (30 * 0.01**4 + 2.0**4) * (1 + 10 / 62)  # the other task has none
    far, jump = gain[:31].sum() / variance**0.5, fourth**0.5 / variance
    assert one.helped[0] == pytest.approx(jump_tail(np.array([far]), np.array([jump]))[0])
    tally = Tally.from_values(zero, task, 2)
    assert OfClasses.from_rounds(zero, task, 2).judged(tally, 0.95).helped.tolist() == [0.5, 0.5]


def test_tasks_without_a_rare_class_so_far_are_not_called_helped():
    task = np.repeat(np.arange(200), 300)
    gain = np.where(np.random.default_rng(0).random(len(task)) < 0.007, -0.993, 0.007)  # 0 on average
    result = OfClasses.from_rounds(gain, task, 200).judged(Tally.from_values(gain, task, 200), 0.95)
    assert not select_discoveries(result.helped, 0.05).any()
    assert ((result.low <= 0) & (result.high >= 0)).mean() >= 0.95


#: The constant of the log-odds of streams of labels, and the share of positive labels that follows.
RARE = {-6.6: 0.005, -6.0: 0.01, -4.1: 0.05, -1.2: 0.3}


@pytest.mark.parametrize("case", [*RARE, *known.NOISE])
def test_where_nobody_gains_few_streams_have_a_task_called(case):
    """Both learners have the same expected loss in every record, of numbers in each task on the same sides."""
    called = {"helped": [], "hurt": []}
    for seed in range(6 if case == "large in 0.1 % of records" else 2):  # where chance counts most
        stream = known.labels(seed, tasks=500, base=case) if case in RARE else known.numbers(seed, tasks=800)
        assert case not in RARE or stream.truth.mean() == pytest.approx(RARE[case], rel=0.3)
        ours = known.drawn(stream, 100 + seed, off=0.3) if case in RARE else known.off_by_task(stream, 100 + seed)
        theirs = known.as_good(stream, ours)
        np.testing.assert_allclose(stream.gains(ours, theirs), 0.0, atol=1e-9)
        for k in range(10):
            labels = known.again(stream, k) if case in RARE else known.again(stream, k, case)
            result = verdict(*(labels.trace(trace.margin) for trace in (ours, theirs)))
            assert result.says_something
            for outcome, streams in called.items():
                streams.append(outcome in result.outcome)
    if case in RARE:
        assert np.logical_or(*called.values()).mean() <= 0.07
    assert max(map(np.mean, called.values())) <= 0.14  # 1 in 20, and what chance adds to that in so few streams


def test_where_labels_surprise_the_learner_variances_are_raised_and_tails_are_heavier():
    gains = Tally(np.array([20, 20]), np.array([2.0, -1.0]), np.array([4.0, 3.0]))
    sums = OfLabels(*np.array([[2.0, 1.0], [1.5, -0.5], [2.0, 1.0], [2.0, 1.0], *[[0.0, 0.0]] * 4]))
    as_said, surprised = sums.judged(gains, 0.9), sums._replace(surprise=3.0 * sums.variance).judged(gains, 0.9)
    raised = sums._replace(variance=3.0 * sums.variance, third=9.0 * sums.third, surprise=3.0 * sums.variance)
    for side in ("low", "high"):
        np.testing.assert_allclose(getattr(surprised, side), getattr(raised.judged(gains, 0.9), side), rtol=1e-12)
    assert (surprised.low < as_said.low).all()
    assert (surprised.high > as_said.high).all()
    spared = sums._replace(surprise=0.5 * sums.variance).judged(gains, 0.9)  # never lowered
    np.testing.assert_array_equal(spared.low, as_said.low)


def test_without_probabilities_the_test_is_the_sign_test():
    won, lost = np.array([0, 1, 5, 9, 3]), np.array([0, 0, 5, 1, 8])
    gains = Tally(won + lost + 7, (won - lost).astype(float), (won + lost).astype(float))
    result = OfPredictions((won + lost).astype(float)).judged(gains, 0.9)
    for i, (b, c) in enumerate(zip(won.tolist(), lost.tolist(), strict=True)):
        assert result.helped[i] == pytest.approx(reference.at_least(b, b + c))
        assert result.hurt[i] == pytest.approx(reference.at_least(c, b + c))
        if b + c:
            share = (b + c) / gains.n[i]
            exact = stats.binomtest(b, b + c).proportion_ci(0.9)
            ends = share * (2 * exact.low - 1), share * (2 * exact.high - 1)
            assert (result.low[i], result.high[i]) == pytest.approx(ends)
    assert (result.low[0], result.high[0]) == (0, 0)


@pytest.mark.parametrize("skewness", [-3.0, -0.5, 0.0, 0.2, 1.0, 6.0])
def test_tails_are_the_normal_or_the_shifted_gamma_whichever_is_heavier(skewness):
    far = np.linspace(-3, 6, 19)
    if skewness >= 0:
        skewed = stats.pearson3.sf(far - skewness / 2, skewness) if skewness else stats.norm.sf(far)
        expected = np.maximum(stats.norm.sf(far), skewed)
        np.testing.assert_allclose(jump_tail(far, np.full(19, skewness)), expected, rtol=1e-6, atol=1e-14)
    for left in (0.025, 0.05):
        exact = stats.pearson3.isf(left, skewness) if skewness else stats.norm.isf(left)
        assert farther_quantile(left, np.array([skewness]))[0] == pytest.approx(max(exact, stats.norm.isf(left)))


def test_calls_are_those_of_benjamini_and_hochberg():
    for size in (1, 2, 7, 50):
        p = RNG.beta(0.3, 2, size)
        assert select_discoveries(p, 0.05).tolist() == reference.called(p.tolist(), 0.05)
    assert select_discoveries(np.array([np.nan, 0.04, np.nan]), 0.05).tolist() == [False, True, False]
    assert select_discoveries(np.zeros(0), 0.05).tolist() == []


@pytest.mark.parametrize("kind", ["labels", "numbers", "classes", "predictions"])
def test_sums_of_parts_are_those_of_the_whole(kind):
    ours, theirs = of_kind(kind)
    whole, parts = Sums("ours"), Sums("ours")
    whole.add({"ours": ours, "theirs": theirs})
    for half in halves(ours.n):
        parts.add({"ours": samples.cut(ours, half), "theirs": samples.cut(theirs, half)})
    one, other = whole.pairs["theirs"], parts.pairs["theirs"]
    assert type(one.noise) is KINDS[kind]
    for sums, others in zip(one[3:], other[3:], strict=True):
        for own, its in zip(sums, others, strict=True):
            np.testing.assert_allclose(own, its, rtol=1e-9, atol=1e-12)
    gone = [ours.tasks[3], ours.tasks[7]]
    assert whole.forget([*gone, "never seen"]) == gone
    remaining, left = np.setdiff1d(np.arange(12), [3, 7]), whole.pairs["theirs"]
    assert whole.tasks == tuple(ours.tasks[i] for i in remaining)
    for own, its in zip(one.noise, left.noise, strict=True):
        np.testing.assert_array_equal(own[remaining], its)
    assert left.cost == one.cost


def test_tasks_have_their_sums_in_whatever_order_blocks_have_them():
    ours, theirs = of_kind("labels")
    whole, parts = Sums.from_traces("ours", {"ours": ours, "theirs": theirs}), Sums("ours")
    for half in halves(ours.n):
        seen, task = np.unique(ours.task[half], return_inverse=True)
        named = {"tasks": tuple(ours.tasks[i] for i in seen[::-1]), "task": len(seen) - 1 - task}
        parts.add(
            {name: replace(samples.cut(trace, half), **named) for name, trace in (("ours", ours), ("theirs", theirs))}
        )
    for task in ours.tasks:
        task_sums, literal = parts.of_task(task), whole.of_task(task)
        assert task_sums["examples"] == literal["examples"]
        measure = whole.words.key
        for name in ("ours", "theirs"):
            assert task_sums[measure][name] == pytest.approx(literal[measure][name])


def of_kind(kind):
    if kind in ("labels", "numbers"):
        stream = getattr(known, kind)(0, tasks=12)
        return known.drawn(stream, 1), known.drawn(stream, 2, slow=1.0)
    if kind == "predictions":
        task = RNG.integers(12, size=300)
        return tuple(samples.from_mistakes(RNG.random(300) < share, task, range(12)) for share in (0.2, 0.3))
    X, y, task = RNG.normal(size=(300, 3)), RNG.integers(3, size=300), RNG.integers(12, size=300)
    traces = ct.compare({"m": ct.OneVsRest(ct.MultitaskLogistic())}, X, y, task=task).traces
    assert type(traces["m"]) is ManyClassTrace
    return traces["m"], traces["independent"]


def halves(n):
    return np.arange(n) < n // 3, np.arange(n) >= n // 3


def test_the_mean_of_many_tasks_has_students_interval_over_tasks():
    gain = RNG.normal(0.1, 0.5, FEW)
    exact = stats.ttest_1samp(gain, 0).confidence_interval(0.95)
    assert mean_of_tasks(gain, gain - 9, gain + 9) == pytest.approx((gain.mean(), exact.low, exact.high))
    assert mean_of_tasks(gain[:1], gain[:1] - 1, gain[:1] + 2) == pytest.approx((gain[0], gain[0] - 1, gain[0] + 2))
    assert np.isnan(mean_of_tasks(gain[:0], gain[:0], gain[:0])).all()


#: Makers of streams of labels and of numbers, what is off in the predictions of either learner, and what that means.
CASES = {
    "new tasks gain": (known.labels, {}, {}, {"slow": 2.0}),
    "rare labels": (known.labels, {"base": -3.5}, {}, {"slow": 2.0}),
    "nobody gains": (known.labels, {"base": -1.0}, {}, {}),
    "half are hurt": (known.labels, {"base": 0.0}, {"wrong": range(400)}, {"slow": 1.0}),
    "new tasks gain, numbers": (known.numbers, {}, {}, {"slow": 3.0}),
    "nobody gains, numbers": (known.numbers, {}, {}, {}),
    "half are hurt, numbers": (known.numbers, {}, {"wrong": range(400)}, {"slow": 1.0}),
}


@pytest.fixture(scope="module")
def judged():
    """Verdicts on streams whose truth is known, with the expected gain of every task."""
    results = {}
    for case, (make, options, ours, theirs) in CASES.items():
        results[case] = []
        for seed in range(4):
            stream = make(seed, tasks=800, **options)
            traces = known.drawn(stream, 100 + seed, **ours), known.drawn(stream, 200 + seed, **theirs)
            results[case].append((traces, stream.gains(*traces), verdict(*traces)))
    return results


def covered_by_size(result, expected):
    """In each class of size, how many intervals cover the expected gain, and how many there are."""
    size = class_of_size(result.n)
    covered = (result.low <= expected) & (expected <= result.high)
    return np.array([np.bincount(size, covered, 5), np.bincount(size, minlength=5)])


@pytest.mark.parametrize("case", CASES)
def test_intervals_of_90_percent_hold_in_every_class_of_size(judged, case):
    covered, of = sum(covered_by_size(verdict(*traces, confidence=0.9), gains) for traces, gains, _ in judged[case])
    assert (of >= 10).all()
    assert (covered / of >= 0.8).all(), covered / of
    assert 0.87 < covered.sum() / of.sum() < 0.98


def test_the_headline_holds_and_so_do_the_gains_by_size(judged):
    covered, sizes = [], []
    for runs in judged.values():
        for _, expected, result in runs:
            covered.append(result.average.low <= expected.mean() <= result.average.high)
            of_size = class_of_size(result.n)
            for k, size in zip(np.unique(of_size), result.sizes, strict=True):
                sizes.append(size.low <= expected[of_size == k].mean() <= size.high)
    assert np.mean(covered) >= 0.9
    assert np.mean(sizes) >= 0.9


def test_of_the_tasks_called_few_are_not_what_they_are_called(judged):
    called = wrong = 0
    for runs in judged.values():
        for _, expected, result in runs:
            helped, hurt = result.outcome == "helped", result.outcome == "hurt"
            called += int((helped | hurt).sum())
            wrong += int((helped & (expected <= 0)).sum() + (hurt & (expected >= 0)).sum())
    assert called > 500
    assert wrong <= 0.08 * called


@pytest.mark.parametrize(("win", "lose"), [(0.75, 0.25), (0.6, 0.2), (0.3, 0.3)])
def test_intervals_without_probabilities_hold(win, lose):
    """Where win + lose < 1 both may be wrong although they differ, as with three classes."""
    covered = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        task, differ, drawn = np.repeat(np.arange(20), 12), rng.random(240) < 0.5, rng.random(240)
        gain = differ * np.where(drawn < win, 1.0, np.where(drawn < win + lose, -1.0, 0.0))
        result = OfPredictions.from_rounds(differ, task, 20).judged(Tally.from_values(gain, task, 20), 0.9)
        expected = (win - lose) * np.bincount(task, differ) / 12
        covered.append(((result.low <= expected) & (expected <= result.high)).mean())
    assert np.mean(covered) >= 0.9


def test_gains_of_many_classes_have_intervals_that_hold():
    """Three classes with known probabilities; both learners know them roughly, the other less so."""
    counts = np.zeros((2, 5))
    for seed in range(4):
        rng = np.random.default_rng(seed)
        stream = known.labels(seed, tasks=300)
        logits = np.c_[np.zeros(len(stream.task)), stream.X[:, :2] - 1.0]
        scores = [logits, *(logits + off * rng.normal(size=logits.shape) for off in (0.2, 0.8))]
        chance, mine, its = (softmax(values, axis=1) for values in scores)
        label = (rng.random(len(chance))[:, None] > chance.cumsum(axis=1)).sum(axis=1)
        rounds = np.arange(len(label))
        ours, theirs = (
            ManyClassTrace(
                **vars(samples.trace(margins[:, 0], label > 0, stream.task, range(300)))
                | {"label": label, "probability": margins[rounds, label], "prediction": margins.argmax(axis=1)}
            )
            for margins in (mine, its)
        )
        result = verdict(ours, theirs, confidence=0.9)
        expected = np.bincount(stream.task, (chance * np.log(mine / its)).sum(axis=1)) / result.n
        counts += covered_by_size(result, expected)
    covered, of = counts
    assert (covered[of > 0] / of[of > 0] >= 0.8).all(), covered / of
