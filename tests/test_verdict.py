from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, false_discovery_control

import samples
from coterie.evaluation.paired import benjamini_hochberg, mcnemar, paired_interval
from coterie.evaluation.verdict import verdict
from coterie.wording import counted, digits_for, listed, percent, points

p_values = st.lists(st.floats(0, 1), min_size=1, max_size=60)
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


@given(st.integers(0, 400), st.integers(0, 400))
def test_mcnemar_is_the_binomial_test(won, lost):
    exact = binomtest(won, won + lost).pvalue if won + lost else 1.0
    assert mcnemar(won, lost) == pytest.approx(exact, rel=1e-9)


@given(p_values)
def test_benjamini_hochberg_is_scipys(p):
    np.testing.assert_allclose(benjamini_hochberg(p), false_discovery_control(p, method="bh"), rtol=1e-12)


@given(p_values, st.floats(0.001, 0.5))
def test_benjamini_hochberg_rejects_by_its_definition(p, alpha):
    m, ranked = len(p), sorted(p)
    passing = [i for i in range(1, m + 1) if ranked[i - 1] * m / i <= alpha]
    assert (benjamini_hochberg(p) <= alpha).sum() == max(passing, default=0)


def test_benjamini_hochberg_of_nothing():
    assert len(benjamini_hochberg([])) == 0


def test_false_calls_stay_rare_among_the_calls():
    rng = np.random.default_rng(3)
    shares = [_false_share(rng) for _ in range(300)]
    assert np.mean(shares) < 0.05


def _false_share(rng, n_tasks=120, n_real=20):
    """Share of false calls when 20 tasks are really helped, the others not, many seen a few times only."""
    real = np.arange(n_tasks) < n_real
    differing = rng.integers(0, 60, n_tasks)
    won = rng.binomial(differing, np.where(real, 0.9, 0.5))
    result = verdict(*side_by_side(*(pair(w, d - w, 0, 5) for w, d in zip(won, differing, strict=True))))
    called = result.outcome != "unclear"
    return (called & ~real).sum() / max(called.sum(), 1)


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.9, 0.95, 0.99])
def test_a_small_p_value_keeps_the_interval_off_zero(confidence):
    differing = np.arange(1, 400)
    for lost in range(200):
        won = differing[differing >= 2 * lost] - lost
        for n in (won + lost, won + lost + 10**9):
            low, _ = paired_interval(n, won, lost, confidence)
            assert (low[mcnemar(won, lost) <= 1 - confidence] > 0).all()


def test_the_verdict_of_known_cells():
    result = verdict(*side_by_side(pair(40, 2, 10, 48), pair(1, 30, 5, 64), pair(3, 3, 3, 3), pair(0, 0, 4, 6)))
    assert result.outcome.tolist() == ["helped", "hurt", "unclear", "unclear"]
    np.testing.assert_allclose(result.error, [0.12, 0.35, 0.5, 0.4])
    np.testing.assert_allclose(result.error_against, [0.5, 0.06, 0.5, 0.4])
    np.testing.assert_allclose(result.gain, [0.38, -0.29, 0, 0])
    assert result.n.tolist() == [100, 100, 12, 10]
    assert result.p_value[2:].tolist() == [1.0, 1.0]
    assert result.overall.n == 222
    assert result.overall.gain == pytest.approx((44 - 35) / 222)
    assert result.overall.low < 0 < result.overall.high


def test_flags_agree_with_intervals_and_are_ordered():
    given_ = samples.comparison(n=30_000, n_tasks=200, n_odd=12)
    result = verdict(given_.traces["pooled"], given_.traces["independent"])
    assert (result.low[result.outcome == "helped"] > 0).all()
    assert (result.high[result.outcome == "hurt"] < 0).all()
    assert result.helped
    assert result.hurt
    gain = dict(zip(result.tasks, result.gain, strict=True))
    assert sorted(result.helped, key=gain.get, reverse=True) == list(result.helped)
    assert sorted(result.hurt, key=gain.get) == list(result.hurt)


def test_comparing_the_other_way_round_turns_every_sign():
    given_ = samples.comparison()
    one = verdict(given_.traces["pooled"], given_.traces["independent"])
    other = verdict(given_.traces["independent"], given_.traces["pooled"])
    np.testing.assert_array_equal(one.gain, -other.gain)
    np.testing.assert_array_equal(one.low, -other.high)
    assert (one.helped, one.hurt) == (other.hurt, other.helped)


def test_tasks_seen_a_few_times_do_not_weaken_the_rest():
    telling = pair(9, 0, 0, 20)
    alone = verdict(*side_by_side(telling))
    among = verdict(*side_by_side(telling, *[pair(1, 1, 1, 1)] * 500))
    assert alone.q_value[0] == among.q_value[0]
    assert among.helped == (0,)


@pytest.mark.parametrize("cell", [(1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)])
def test_one_round_tells_nothing(cell):
    result = verdict(*pair(*cell))
    assert result.outcome.tolist() == ["unclear"]
    assert result.low[0] < 0 < result.high[0]
    assert result.p_value[0] == 1.0


def test_no_rounds():
    result = verdict(samples.from_mistakes([]), samples.from_mistakes([]))
    assert result.sentence() == "There are no examples to compare."
    assert np.isnan(result.overall.gain)
    assert (result.overall.low, result.overall.high) == (-1.0, 1.0)
    assert result.to_json()["overall"]["gain"] is None


def test_a_task_without_rounds_is_unclear():
    ours, theirs = (samples.from_mistakes([True, False], [1, 1], ["never", "twice"]) for _ in range(2))
    result = verdict(ours, theirs)
    assert np.isnan(result.gain[0])
    assert (result.low[0], result.high[0], result.outcome[0]) == (-1.0, 1.0, "unclear")


def test_equal_learners_are_never_told_apart():
    trace = samples.comparison().traces["pooled"]
    result = verdict(trace, trace)
    assert (result.outcome == "unclear").all()
    assert (result.gain == 0).all()
    assert result.overall.p_value == 1.0


def test_refuses_traces_over_other_rounds():
    with pytest.raises(ValueError, match="against: 2 rounds, expected the 3 of trace"):
        verdict(samples.from_mistakes([True] * 3), samples.from_mistakes([True] * 2))
    with pytest.raises(ValueError, match="belong to other tasks"):
        verdict(samples.from_mistakes([True] * 2, [0, 1]), samples.from_mistakes([True] * 2, [1, 0]))
    with pytest.raises(ValueError, match="belong to other tasks"):
        verdict(samples.from_mistakes([True], [0], ["a"]), samples.from_mistakes([True], [0], ["b"]))


@pytest.mark.parametrize("confidence", [0, 1, 95, float("nan")])
def test_refuses_a_confidence_that_is_none(confidence):
    with pytest.raises(ValueError, match=r"confidence=.*: expected a number between 0 and 1"):
        verdict(*pair(1, 1), confidence=confidence)


def test_json_has_what_the_sentence_says():
    result = verdict(*side_by_side(pair(40, 2, 10, 48), pair(1, 30, 5, 64), pair(3, 3, 3, 3)))
    data = json.loads(json.dumps(result.to_json()))
    assert (data["tasks"], data["unclear"]) == (3, 1)
    assert [row["task"] for row in data["hurt"]] == [1]
    assert data["helped"][0]["gain"] == pytest.approx(0.38)


def test_sentences():
    helped, hurt, same = pair(400, 20, 100, 480), pair(10, 300, 50, 640), pair(30, 30, 30, 910)
    assert verdict(*side_by_side(helped, helped)).sentence() == (
        "Learning together cut the error from 50.0 % to 12.0 % over 2,000 examples (95 % interval of the gain: "
        "35.7 to 40.3 points). It helped 2 of 2 tasks and hurt none that can be told. Use learning together."
    )
    assert (
        verdict(*side_by_side(helped, helped, hurt, same))
        .sentence()
        .endswith(
            "It helped 2 of 4 tasks and hurt 1 (2); 1 cannot be told apart yet. "
            "Use learning together, but look at that task: one model per task served better there."
        )
    )
    assert "(0, 1, 2, 3, 4 and 1 more)" in verdict(*side_by_side(*[hurt] * 6, helped)).sentence()
    assert verdict(*hurt).sentence(against="one model").startswith("Learning together raised the error from 6.0 % to")
    assert verdict(*hurt).sentence(against="one model").endswith("Keep one model.")
    assert verdict(*same).sentence() == (
        "Learning together made no clear difference over 1,000 examples: 6.0 % error against 6.0 % "
        "(95 % interval of the gain: -1.5 to 1.5 points). More examples are needed to choose between the two."
    )


def test_wording():
    assert percent(0.0263, digits_for(0.0004)) == "2.63 %"
    assert points(-0.05) == "-5.0"
    assert counted(0, "example") == "0 examples"
    assert listed([]) == ""
