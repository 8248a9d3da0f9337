import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import coterie as ct
import known
import samples
from coterie.evaluation.comparison import best_baseline
from coterie.evaluation.confidence_intervals import paired_interval
from coterie.evaluation.costs import RATES
from coterie.evaluation.metrics import evaluate
from coterie.evaluation.summary import summarize
from coterie.evaluation.verdict import Sums, conclusion, verdict
from coterie.wording import SPOKEN
from terminal import run, run_json

cells = st.tuples(st.integers(0, 300), st.integers(0, 300), st.integers(0, 300))


def pair(won, lost, both=0, neither=0):
    """Two traces of one task with the given cells."""
    ours = np.repeat([False, True, True, False], [won, lost, both, neither])
    theirs = np.repeat([True, False, True, False], [won, lost, both, neither])
    return samples.from_mistakes(ours), samples.from_mistakes(theirs)


def side_by_side(*pairs):
    """Several one-task pairs as one pair of traces over as many tasks."""
    task = np.repeat(np.arange(len(pairs)), [len(ours.mistake) for ours, _ in pairs])
    sides = (np.concatenate([p[side].mistake for p in pairs]) for side in (0, 1))
    return tuple(samples.from_mistakes(mistake, task, range(len(pairs))) for mistake in sides)


@given(cells)
def test_interval_is_the_printed_formula(cell):
    n11, won, lost = cell
    n = n11 + won + lost
    b, c, m = won + 0.5, lost + 0.5, n + 2
    half = 1.959963984540054 * np.sqrt((b + c) - (b - c) ** 2 / m) / m
    low, high = paired_interval(n, won - lost, won + lost)
    if n:
        assert low == pytest.approx(max((b - c) / m - half, -1), abs=1e-12)
        assert high == pytest.approx(min((b - c) / m + half, 1), abs=1e-12)
    else:
        assert (low, high) == (-1, 1)


@pytest.mark.parametrize("confidence", [0.9, 0.95])
@pytest.mark.parametrize(("p_won", "p_lost"), [(0.02, 0.02), (0.1, 0.05), (0.3, 0.1), (0.4, 0.4), (0.05, 0.5)])
def test_interval_covers_as_often_as_it_says(p_won, p_lost, confidence):
    rng = np.random.default_rng(7)
    for n in (20, 50, 200, 1000):
        won, lost, _ = rng.multinomial(n, [p_won, p_lost, 1 - p_won - p_lost], size=20_000).T
        low, high = paired_interval(n, won - lost, won + lost, confidence)
        covered = ((low <= p_won - p_lost) & (p_won - p_lost <= high)).mean()
        assert covered > confidence - 0.025  # counts are whole: at small n no interval keeps its level exactly
    assert covered == pytest.approx(confidence, abs=0.012)


def test_the_resultof_known_cells():
    result = verdict(*side_by_side(pair(40, 2, 10, 48), pair(1, 30, 5, 64), pair(3, 3, 3, 3), pair(0, 0, 4, 6)))
    assert result.outcome.tolist() == ["helped", "hurt", "unclear", "unclear"]
    np.testing.assert_allclose(result.error, [0.12, 0.35, 0.5, 0.4])
    np.testing.assert_allclose(result.error_against, [0.5, 0.06, 0.5, 0.4])
    np.testing.assert_allclose(result.gain, [0.38, -0.29, 0, 0], atol=1e-15)
    assert result.average.gain == pytest.approx((0.38 - 0.29) / 4)
    assert [(size.records, size.tasks) for size in result.sizes] == [("3 to 10", 1), ("11 to 50", 1), ("51 to 300", 2)]
    assert result.n.tolist() == [100, 100, 12, 10]
    assert result.overall.n == 222
    assert result.overall.gain == pytest.approx((44 - 35) / 222)
    assert result.overall.low < 0 < result.overall.high
    assert result.loss is result.words is RATES


def test_gains_are_log_losses_where_both_have_probabilities():
    given_ = samples.comparison(n=2000, n_tasks=20)
    ours, theirs = given_.traces["half-shared"], given_.traces["independent"]
    positive = ours.label == "yes"
    lost = [-np.log(np.where(positive, trace.probability, 1 - trace.probability)) for trace in (ours, theirs)]
    result = verdict(ours, theirs)
    assert result.loss.error == "log loss"
    for i in range(20):
        np.testing.assert_allclose(result.gain[i], (lost[1] - lost[0])[ours.task == i].mean())
    assert (result.average.error, result.average.error_against) == pytest.approx((lost[0].mean(), lost[1].mean()))
    assert verdict(given_.traces["pooled"], theirs).loss.error == "error"


def test_calls_agree_with_intervals_and_the_surest_come_first():
    given_ = samples.comparison(n=30_000, n_tasks=200, n_odd=12)
    result = verdict(given_.traces["pooled"], given_.traces["independent"])
    assert (result.low[result.outcome == "helped"] > 0).all()
    assert (result.high[result.outcome == "hurt"] < 0).all()
    assert result.helped
    assert result.hurt
    low, high = (dict(zip(result.tasks, bound, strict=True)) for bound in (result.low, result.high))
    assert sorted(result.helped, key=low.get, reverse=True) == list(result.helped)
    assert sorted(result.hurt, key=high.get) == list(result.hurt)


def test_refuses_traces_over_other_rounds():
    with pytest.raises(ValueError, match="against: 2 rounds, expected the 3 of trace"):
        verdict(samples.from_mistakes([True] * 3), samples.from_mistakes([True] * 2))
    with pytest.raises(ValueError, match="against: its rounds belong to other tasks"):
        verdict(samples.from_mistakes([True] * 2, [0, 1]), samples.from_mistakes([True] * 2, [1, 0]))
    with pytest.raises(ValueError, match="belong to other tasks"):
        verdict(samples.from_mistakes([True], [0], ["a"]), samples.from_mistakes([True], [0], ["b"]))
    with pytest.raises(ValueError, match="constant: 2 rounds, expected the 1 of trace"):
        verdict(*pair(1, 0), constant=samples.from_mistakes([True] * 2))


MEASURES = {
    "margins": (ct.MultitaskPerceptron, lambda X: X[:, 0] > 0, "error_rate", "error_rate"),
    "probabilities": (ct.AdaptiveSharingClassifier, lambda X: X[:, 0] > 0, "error_rate", "log_loss"),
    "many classes": (
        lambda: ct.OneVsRest(ct.MultitaskPerceptron()),
        lambda X: np.digitize(X[:, 0], [-0.5, 0.5]),
        "error_rate",
        None,
    ),
    "numbers": (ct.MultitaskRegressor, lambda X: X[:, 0], "mean_absolute_error", "squared_error"),
}


@pytest.mark.parametrize(("kind", "labels", "error", "loss"), MEASURES.values(), ids=MEASURES)
def test_json_names_the_measure_of_each_error(kind, labels, error, loss):
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(200, 3)), rng.integers(4, size=200)
    comparison = ct.compare({"together": kind()}, X, labels(X), task=task)
    result = comparison.verdict("together")
    data, metrics = result.to_json(), summarize(comparison).to_json()
    loss = loss or data["loss"]
    assert (data["loss"], result.words.key) == (loss, error)
    keys = {"n", "gain", "low", "high"}
    for names, key in ((("average", "constant"), loss), (("overall", "constant_error"), error)):
        assert all(set(data[name]) == keys | {key, f"{key}_against"} for name in names)
    for row in data["helped"] + data["hurt"]:
        assert set(row) == keys | {"task", error, f"{error}_against"}
    for learner in metrics["learners"].values():
        assert error in learner["measures"]
        assert "error" not in learner["measures"]


def test_sentences():
    helped, hurt, same = pair(400, 20, 100, 480), pair(10, 300, 50, 640), pair(30, 30, 30, 910)
    assert verdict(*side_by_side(helped, helped)).sentence() == (
        "Learning together cut the tasks' mean error by 38.0 points (95 % interval 36.5 to 39.1) against one model per "
        "task. The error over 2,000 examples fell from 50.0 % to 12.0 %; a constant guess has 50.0 %. It clearly "
        "helped 2 of 2 tasks and clearly hurt none; at most 1 in 20 of either is expected to be wrong. Use learning together."
    )
    assert (
        verdict(*side_by_side(helped, helped, helped, hurt, same))
        .sentence()
        .endswith(
            "It clearly helped 3 of 5 tasks and clearly hurt 1 (3); at most 1 in 20 of either is expected to be wrong. "
            "Use learning together, but look at that task: one model per task served better there."
        )
    )
    assert "(0, 1, 2, 3, 4 and 1 more)" in verdict(*side_by_side(*[hurt] * 6, helped)).sentence()
    sentence = replace(verdict(*hurt), against="one model").sentence()
    assert sentence.startswith("Learning together raised the mean error by 29.0 points (95 % interval 27.4 to 30.0) ag")
    assert "The error over 1,000 examples rose from 6.0 % to" in sentence
    assert sentence.endswith("Keep one model.")
    assert verdict(*same).sentence() == (
        "Learning together did not clearly change mean error (gain 0.0 points, 95 % interval -1.6 to 1.6) "
        "against one model per task. The error over 1,000 examples is 6.0 % against 6.0 %; a constant guess has 50.0 %. "
        "More examples are needed to choose between the two."
    )
    few = verdict(*side_by_side(*[helped] * 9, hurt))
    assert few.sentence().endswith("together, but look at that task: one model per task served better there.")


@pytest.mark.parametrize("name", sorted(SPOKEN))
@pytest.mark.parametrize("cell", [(400, 20, 100, 480), (10, 300, 50, 640), (30, 30, 30, 910), (100, 20, 440, 440)])
def test_a_headline_is_one_sentence_of_25_words_with_one_number_and_its_interval(name, cell):
    for result in (verdict(*pair(*cell)), verdict(*side_by_side(pair(*cell), pair(*cell)))):
        pairs = [("learning together", SPOKEN[name]), (SPOKEN[name], "one model per task")]
        for one, other in pairs[: 1 if name == "intercepts" else 2]:  # which nobody asks of that baseline
            headline = replace(result, name=one, against=other).headline()
            assert len(headline.replace(" %", "%").split()) <= 25, headline
            assert headline.count(". ") == 0
            assert len(re.findall(r"-?\d+\.\d+", headline)) == 3
            assert headline.count("95 % interval") == 1


def test_the_best_baseline_is_named_and_judged_against():
    given_ = samples.comparison(n=30_000, n_tasks=50)
    traces = {name: given_.traces[name] for name in ("half-shared", "independent")}
    traces["pooled"] = replace(traces["half-shared"], probability=0.9 * traces["half-shared"].probability + 0.05)
    comparison = ct.evaluation.Comparison(traces, dict.fromkeys(traces), {})
    assert best_baseline(traces, "half-shared") == "pooled"
    best, alone = comparison.verdict("half-shared", against="best"), comparison.verdict("half-shared")
    assert best.against == "one model for all tasks"
    assert best.average.gain < alone.average.gain
    headline, remarks = conclusion(best, alone)
    assert headline == best.headline()
    assert remarks[0] == "One model for all tasks is the best of the baselines."
    assert remarks[1].startswith("Against one model per task: it clearly helped ")
    with pytest.raises(ValueError, match="there is no baseline for 'pooled' among"):
        best_baseline({"pooled": traces["pooled"]}, "pooled")


def test_a_constant_that_does_as_well_is_the_headline():
    """Both learners are wrong half the time, the one less often than the other."""
    ours, theirs = pair(100, 20, 440, 440)
    result = verdict(ours, theirs)
    assert result.average.low > 0
    assert not result.beats_constant
    assert result.headline() == (
        "A constant guess does as well as learning together (gain in error 4.0 points, 95 % interval -0.4 to 8.4)."
    )
    assert result.sentence().endswith("Nothing has been learned yet that pays.")
    several = verdict(*side_by_side((ours, theirs), pair(400, 400)))
    assert (several.outcome == "unclear").all()
    assert several.remarks() == ["Nothing has been learned yet that pays."]


def test_better_probabilities_than_a_constants_are_said_where_errors_are_not_fewer():
    """One label in twenty is positive, and what makes it likelier never makes it likely."""
    rng = np.random.default_rng(0)
    risk = np.where(np.arange(4000) % 4 == 0, 0.18, 0.01)
    task, positive = np.arange(4000) % 3, rng.random(4000) < risk
    risks = risk, np.clip(risk + 0.1 * rng.random(4000), 0, 1)
    ours, theirs = (samples.trace(np.log(p / (1 - p)), positive, task, "abc", probability=p) for p in risks)
    sentence = verdict(ours, theirs).sentence()
    assert "In its predictions a constant guess does as well; what is better are the probabilities." in sentence
    assert sentence.endswith("Go by the probabilities of learning together, not by the labels it predicts.")


def judged(stream):
    comparison = ct.compare({"together": ct.AdaptiveSharingClassifier()}, stream.X, stream.y, task=stream.task)
    summary = summarize(comparison, "together")
    p = {name: np.clip(trace.probability, 1e-9, 1 - 1e-9) for name, trace in comparison.traces.items()}
    traces = {name: stream.trace(np.log(p_of_learner / (1 - p_of_learner))) for name, p_of_learner in p.items()}
    return summary, {name: stream.gains(traces["together"], traces[name]) for name in summary.against}


def test_what_is_said_of_streams_that_are_known_is_true():
    """Tasks with nothing in common, half of them the other way round, and a thousand with two records."""
    for stream in (
        known.labels(0, tasks=60, base=0.0, alike=False),
        known.labels(1, tasks=60, base=0.0, odd=0.5),
        known.labels(2, tasks=1000, base=-1.0, records=2),
    ):
        summary, expected = judged(stream)
        for name in ("independent", "pooled"):
            verdict = summary.against[name]
            assert verdict.average.low <= expected[name].mean() <= verdict.average.high
            order = np.array(verdict.tasks)
            assert (expected[name][order][verdict.outcome == "helped"] > 0).mean() >= 0.9 if verdict.helped else True
            assert (expected[name][order][verdict.outcome == "hurt"] < 0).mean() >= 0.9 if verdict.hurt else True
    assert "No single task clearly gains or loses." in summary.sentences
    assert [size.records for size in summary.verdict.sizes] == ["1 or 2"]
    assert summary.verdict.average.low > 0


def test_labels_by_lot_are_said_to_be_learned_no_better_than_by_a_constant():
    stream = known.labels(3, tasks=50, base=0.0)
    summary, _ = judged(replace(stream, y=np.random.default_rng(3).random(len(stream.y)) < 0.5))
    assert summary.sentences[0].startswith("A constant guess does ")
    assert summary.sentences[-1] == "Nothing has been learned yet that pays."
    assert not summary.verdict.helped + summary.verdict.hurt


LARGEST = np.random.default_rng(0).choice([-9e99, 9e99], 200).tolist()


@pytest.mark.parametrize("delay", [0, 40])
def test_calls_do_not_depend_on_how_far_from_0_numbers_are(delay):
    """The predictions before any label are 0, and count nowhere."""
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(1500, 2)), rng.integers(20, size=1500)
    y = (X * [1.0, 0.5]).sum(axis=1) + 0.3 * rng.normal(size=1500)
    both = [ct.compare({"a": ct.AdaptiveSharingRegressor()}, X, y + up, task=task, delay=delay) for up in (0, 1000)]
    for name in both[0].traces:
        np.testing.assert_allclose(*(list(evaluate(one.traces[name]).values()) for one in both), rtol=1e-6)
    near, far = (one.verdict() for one in both)
    assert len(near.helped) > 5
    assert far.outcome.tolist() == near.outcome.tolist()
    np.testing.assert_allclose(far.low, near.low, atol=1e-6)


def compare_largest(folder):
    X, task = np.random.default_rng(1).normal(size=(200, 2)), np.arange(200) % 12
    comparison = ct.compare({"together": ct.MultitaskRegressor()}, X, LARGEST, task=task)
    sums = Sums("together")
    for half in (slice(100), slice(100, 200)):
        sums.add({name: samples.cut(trace, half) for name, trace in comparison.traces.items()})
    for result in (comparison.verdict(), comparison.verdict(against="best"), sums.verdict("independent")):
        numbers = [getattr(result, name) for name in ("gain", "low", "high", "average", "overall", "constant")]
        assert np.isfinite(np.concatenate(numbers)).all()
    return [str(comparison.verdict())]


def learn_largest(folder):
    rows = "".join(f"{k % 12},{k % 7},{y:g}\n" for k, y in enumerate(LARGEST))
    (folder / "large.csv").write_text(f"user,a,pay\n{rows}")
    learner = ("--learner", "MultitaskRegressor()")
    command = ("learn", folder / "large.csv", "--task", "user", "--label", "pay", "--regression", *learner)
    assert None not in run_json(*command)["verdict"]["average"].values()
    return [run(*command, "--verbose", "--report", folder / "page.html").stdout]


@pytest.mark.parametrize("judge", [compare_largest, learn_largest])
def test_the_largest_numbers_have_a_verdict(judge, tmp_path):
    """Their squares are finite, the squares of these are not."""
    for text in judge(tmp_path):
        assert "inf" not in text
        assert "0" * 20 not in text
