from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import coterie as ct
import samples
from coterie.evaluation.costs import RATES
from coterie.evaluation.paired import paired_interval
from coterie.evaluation.verdict import verdict
from coterie.wording import counted, digits_for, listed, percent, points

cells = st.tuples(st.integers(0, 300), st.integers(0, 300), st.integers(0, 300))


def pair(won, lost, both=0, neither=0):
    """Two traces of one task with the given cells."""
    ours = np.repeat([False, True, True, False], [won, lost, both, neither])
    theirs = np.repeat([True, False, True, False], [won, lost, both, neither])
    return samples.from_mistakes(ours), samples.from_mistakes(theirs)


def side_by_side(*pairs):
    """Several one-task pairs as one pair of traces over as many tasks."""
    task = np.repeat(np.arange(len(pairs)), [len(ours.mistake) for ours, _ in pairs])
    return tuple(
        samples.from_mistakes(np.concatenate([p[side].mistake for p in pairs]), task, range(len(pairs)))
        for side in (0, 1)
    )


@given(cells)
def test_interval_is_the_printed_formula(cell):
    n11, won, lost = cell
    n = n11 + won + lost
    b, c, m = won + 0.5, lost + 0.5, n + 2
    half = 1.959963984540054 * np.sqrt((b + c) - (b - c) ** 2 / m) / m
    low, high = paired_interval(n, won, lost)
    if n:
        assert low == pytest.approx(max((b - c) / m - half, -1), abs=1e-12)
        assert high == pytest.approx(min((b - c) / m + half, 1), abs=1e-12)
    else:
        assert (low, high) == (-1, 1)


@given(cells, st.floats(0.5, 0.99))
def test_changing_sides_turns_the_interval_over(cell, confidence):
    rest, won, lost = cell
    low, high = paired_interval(rest + won + lost, won, lost, confidence)
    other_low, other_high = paired_interval(rest + won + lost, lost, won, confidence)
    assert (low, high) == (-other_high, -other_low)
    assert -1 <= low <= high <= 1


@pytest.mark.parametrize("confidence", [0.9, 0.95])
@pytest.mark.parametrize(("p_won", "p_lost"), [(0.02, 0.02), (0.1, 0.05), (0.3, 0.1), (0.4, 0.4), (0.05, 0.5)])
def test_interval_covers_as_often_as_it_says(p_won, p_lost, confidence):
    rng = np.random.default_rng(7)
    for n in (20, 50, 200, 1000):
        won, lost, _ = rng.multinomial(n, [p_won, p_lost, 1 - p_won - p_lost], size=20_000).T
        low, high = paired_interval(n, won, lost, confidence)
        covered = ((low <= p_won - p_lost) & (p_won - p_lost <= high)).mean()
        assert covered > confidence - 0.025  # counts are whole: at small n no interval keeps its level exactly
    assert covered == pytest.approx(confidence, abs=0.012)


def test_the_verdict_of_known_cells():
    result = verdict(*side_by_side(pair(40, 2, 10, 48), pair(1, 30, 5, 64), pair(3, 3, 3, 3), pair(0, 0, 4, 6)))
    assert result.outcome.tolist() == ["helped", "hurt", "unclear", "unclear"]
    np.testing.assert_allclose(result.error, [0.12, 0.35, 0.5, 0.4])
    np.testing.assert_allclose(result.error_against, [0.5, 0.06, 0.5, 0.4])
    np.testing.assert_allclose(result.measured, [0.38, -0.29, 0, 0], atol=1e-15)
    assert 0 < result.gain[0] < 0.38
    assert -0.29 < result.gain[1] < 0
    assert result.n.tolist() == [100, 100, 12, 10]
    assert result.overall.n == 222
    assert result.overall.gain == pytest.approx((44 - 35) / 222)
    assert result.overall.low < 0 < result.overall.high
    assert result.loss is result.words is RATES


def test_gains_are_log_losses_where_both_have_probabilities():
    given_ = samples.comparison(n=2000, n_tasks=20)
    ours, theirs = given_.traces["half-shared"], given_.traces["independent"]
    positive = ours.label == "yes"
    lost = [-np.log(np.where(positive, each.probability, 1 - each.probability)) for each in (ours, theirs)]
    result = verdict(ours, theirs)
    assert result.loss.error == "log loss"
    for i in range(20):
        np.testing.assert_allclose(result.measured[i], (lost[1] - lost[0])[ours.task == i].mean())
    assert (result.average.error, result.average.error_against) == pytest.approx((lost[0].mean(), lost[1].mean()))
    assert verdict(given_.traces["pooled"], theirs).loss.error == "error"


def test_flags_agree_with_intervals_and_are_ordered():
    given_ = samples.comparison(n=30_000, n_tasks=200, n_odd=12)
    result = verdict(given_.traces["pooled"], given_.traces["independent"])
    np.testing.assert_array_equal(result.outcome == "helped", result.low > 0)
    np.testing.assert_array_equal(result.outcome == "hurt", result.high < 0)
    assert result.helped
    assert result.hurt
    gain = dict(zip(result.tasks, result.gain, strict=True))
    assert sorted(result.helped, key=gain.get, reverse=True) == list(result.helped)
    assert sorted(result.hurt, key=gain.get) == list(result.hurt)


def test_comparing_the_other_way_round_turns_every_sign():
    given_ = samples.comparison()
    one = verdict(given_.traces["pooled"], given_.traces["independent"])
    other = verdict(given_.traces["independent"], given_.traces["pooled"])
    np.testing.assert_allclose(one.gain, -other.gain, rtol=1e-12)
    np.testing.assert_allclose(one.low, -other.high, rtol=1e-12)
    assert set(one.helped) == set(other.hurt)
    assert set(one.hurt) == set(other.helped)


@pytest.mark.parametrize("cell", [(1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)])
def test_one_round_tells_nothing(cell):
    result = verdict(*pair(*cell))
    assert result.outcome.tolist() == ["unclear"]
    assert result.low[0] <= 0 <= result.high[0]


def test_no_rounds():
    result = verdict(samples.from_mistakes([]), samples.from_mistakes([]))
    assert result.sentence() == "There are no examples to compare."
    assert np.isnan(result.overall.gain)
    assert (result.overall.low, result.overall.high) == (-1.0, 1.0)
    assert json.loads(json.dumps(result.to_json(), allow_nan=False))["overall"]["gain"] is None


def test_a_task_without_rounds_is_unclear():
    ours, theirs = (samples.from_mistakes([True, False], [1, 1], ["never", "twice"]) for _ in range(2))
    result = verdict(ours, theirs)
    assert np.isnan([result.gain[0], result.low[0], result.high[0], result.error[0]]).all()
    assert result.outcome[0] == "unclear"


def test_equal_learners_are_never_told_apart():
    trace = samples.comparison().traces["pooled"]
    result = verdict(trace, trace)
    assert (result.outcome == "unclear").all()
    assert (result.gain == 0).all()
    assert (result.average.gain, result.spread) == (0.0, 0.0)


def test_gains_that_are_beyond_squaring_are_judged():
    X, y = np.ones((40, 1)), np.tile([1e100, -1e100], 20)
    trace = ct.progressive_validation(ct.MultitaskRegressor(), X, y, task=np.repeat(["a", "b"], 20))
    other = replace(trace, prediction=trace.prediction + 1e100)
    result = verdict(trace, other)
    assert np.isfinite(result.gain).all()
    assert result.average.gain > 0


def test_refuses_traces_over_other_rounds():
    with pytest.raises(ValueError, match="against: 2 rounds, expected the 3 of trace"):
        verdict(samples.from_mistakes([True] * 3), samples.from_mistakes([True] * 2))
    with pytest.raises(ValueError, match="against: its rounds belong to other tasks"):
        verdict(samples.from_mistakes([True] * 2, [0, 1]), samples.from_mistakes([True] * 2, [1, 0]))
    with pytest.raises(ValueError, match="belong to other tasks"):
        verdict(samples.from_mistakes([True], [0], ["a"]), samples.from_mistakes([True], [0], ["b"]))
    with pytest.raises(ValueError, match="constant: 2 rounds, expected the 1 of trace"):
        verdict(*pair(1, 0), constant=samples.from_mistakes([True] * 2))


@pytest.mark.parametrize("confidence", [0, 0.5, 1, 95, float("nan")])
def test_refuses_a_confidence_that_is_none(confidence):
    with pytest.raises(ValueError, match=r"confidence=.*: expected a number between 0.5 and 1"):
        verdict(*pair(1, 1), confidence=confidence)


def test_json_has_what_the_sentence_says():
    result = verdict(*side_by_side(pair(40, 2, 10, 48), pair(1, 30, 5, 64), pair(3, 3, 3, 3)))
    data = json.loads(json.dumps(result.to_json()))
    assert (data["tasks"], data["unclear"]) == (3, 1)
    assert [row["task"] for row in data["hurt"]] == [1]
    assert data["helped"][0]["measured"] == pytest.approx(0.38)
    assert data["base_rate"] == {"label": "yes", "share": 0.5}
    assert data["constant_error"]["error_against"] == pytest.approx(0.5, abs=0.02)


def test_sentences():
    helped, hurt, same = pair(400, 20, 100, 480), pair(10, 300, 50, 640), pair(30, 30, 30, 910)
    assert verdict(*side_by_side(helped, helped)).sentence() == (
        "Learning together cut the error of a task by 38.0 points on average (95 % interval: 35.7 to 40.3 points). The "
        "error over 2,000 examples fell from 50.0 % to 12.0 % (gain 35.7 to 40.3 points); a constant guess has 50.0 %. "
        "It helped 2 of 2 tasks and hurt none. All tasks are alike in this, as far as can be told. "
        "Use learning together."
    )
    assert (
        verdict(*side_by_side(helped, helped, helped, hurt, same))
        .sentence()
        .endswith(
            "It helped 3 of 5 tasks and hurt 1 (3); 1 cannot be told apart yet. Of such calls roughly 5 % are wrong on "
            "average. Use learning together, but look at that task: one model per task served better there."
        )
    )
    assert "(0, 1, 2, 3, 4 and 1 more)" in verdict(*side_by_side(*[hurt] * 6, helped)).sentence()
    assert "The error over 1,000 examples rose from 6.0 % to" in verdict(*hurt).sentence(against="one model")
    assert verdict(*hurt).sentence(against="one model").endswith("Keep one model.")
    assert verdict(*same).sentence() == (
        "Learning together made no clear difference to the error (95 % interval of the gain: -1.5 to 1.5 points). The "
        "error over 1,000 examples is 6.0 % against 6.0 % (gain -1.5 to 1.5 points); a constant guess has 50.0 %. More "
        "examples are needed to choose between the two."
    )
    few = verdict(*side_by_side(*[helped] * 9, hurt))
    assert few.sentence().endswith(
        "Use learning together, but look at that task: one model per task served better there."
    )


def test_nothing_is_advised_where_a_constant_does_as_well():
    """Both learners are wrong half the time, the one less often than the other."""
    ours, theirs = pair(100, 20, 440, 440)
    told = verdict(ours, theirs)
    assert told.average.low > 0
    assert not told.beats_constant
    assert told.sentence().endswith(
        "A constant guess does as well: its error is 50.0 % against 46.0 %. Nothing has been learned yet that pays."
    )
    several = verdict(*side_by_side((ours, theirs), pair(400, 400)))
    assert (several.outcome == "unclear").all()
    assert "task" not in several.sentence().split("constant guess", 1)[1]


def test_nothing_is_advised_where_every_task_has_one_record():
    ours = samples.from_mistakes(np.arange(200) % 10 == 0, np.arange(200))
    theirs = samples.from_mistakes(np.arange(200) % 3 == 0, np.arange(200))
    told = verdict(ours, theirs)
    assert told.beats_constant
    assert (told.outcome == "unclear").all()
    assert told.sentence().endswith(
        "Every task has a single record, so none can show what it would learn by itself. More records of each task are "
        "needed to choose between the two."
    )


def test_better_probabilities_than_a_constants_are_said_where_errors_are_not_fewer():
    """One label in twenty is positive, and what makes it likelier never makes it likely."""
    rng = np.random.default_rng(0)
    risk = np.where(np.arange(4000) % 4 == 0, 0.18, 0.01)
    task, positive = np.arange(4000) % 3, rng.random(4000) < risk
    ours, theirs = (
        samples.trace(np.log(p / (1 - p)), positive, task, "abc", probability=p)
        for p in (risk, np.clip(risk + 0.1 * rng.random(4000), 0, 1))
    )
    said = verdict(ours, theirs).sentence()
    assert "In its predictions a constant guess does as well; what is better are the probabilities." in said
    assert said.endswith("Go by the probabilities of learning together, not by the labels it predicts.")


def test_wording():
    assert percent(0.0263, digits_for(0.0004)) == "2.63 %"
    assert points(-0.05) == "-5.0"
    assert counted(0, "example") == "0 examples"
    assert listed([]) == ""
