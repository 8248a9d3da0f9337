"""When a claim of a paper holds: the one rule, on made-up runs."""

import numpy as np
import pytest
from papers import cc12
from papers.claims import Claim, ClaimVerdict, above, at_most, at_others_best, exact, judge, overall, together, within
from papers.results import Item, Rerun, Result

HOLDS, FAILS, TIE, UNTESTED = ClaimVerdict
#: Mean 1, deviation 1 (by n - 1), so that two standard errors are 2 / √4 = 1 for four runs.
SPREAD = np.array([1.0, 1.0, 1.0, 1.0]) + np.array([-1.0, 1.0, -1.0, 1.0]) * np.sqrt(3.0 / 4.0)


@pytest.mark.parametrize(("limit", "verdict"), [(-0.01, HOLDS), (0.01, TIE), (1.0, TIE), (1.99, TIE), (2.01, FAILS)])
def test_two_standard_errors_tell_a_mean_from_a_limit(limit, verdict):
    assert SPREAD.std(ddof=1) == pytest.approx(1.0)
    shared = np.array([5.0, 70.0, -3.0, 12.0])
    assert above("", SPREAD, 0.0, by=limit).verdict is verdict
    assert above("", shared + SPREAD, shared, by=limit).verdict is verdict
    assert at_most("", -SPREAD, 0.0, -limit).verdict is verdict


def test_alike_within_a_limit_either_way():
    for sign in (1.0, -1.0):
        verdicts = [within("", sign * SPREAD, 0.0, most).verdict for most in (2.01, 1.99, 0.01)]
        assert verdicts == [HOLDS, TIE, TIE]
        assert within("", sign * 3.0 * SPREAD, 0.0, 0.0).verdict is TIE
        assert within("", sign * (SPREAD + 1.0), 0.0, 0.99).verdict is FAILS


def test_runs_that_are_all_equal():
    assert above("", [3.0, 4.0], [2.0, 3.0]).verdict is HOLDS
    assert above("", [2.0, 3.0], [3.0, 4.0]).verdict is FAILS
    assert above("", [2.0, 3.0], [2.0, 3.0]).verdict is TIE
    assert above("", [0.1 + 0.2, 0.3], [0.3, 0.1 + 0.2 - 1e-16]).verdict is TIE
    assert above("", [0.3, 0.3], [0.1, 0.1], by=0.2).verdict is TIE


@pytest.mark.parametrize(
    "claim", [above("", [9.0], [1.0]), at_most("", [9.0], [1.0], 2.0), within("", [1.0], [1.0], 2.0)]
)
def test_one_run_is_no_test(claim):
    assert claim.verdict is UNTESTED
    assert not claim.holds
    assert "±" not in claim.seen
    assert claim.seen


def test_parts_are_judged_by_the_same_rule_and_the_worst_counts():
    yes, no, tie, none = (
        above("", *pair) for pair in (([2, 2], [1, 1]), ([1, 1], [2, 2]), ([1, 1], [1, 1]), ([2], [1]))
    )
    assert [together("", claims, "ab").verdict for claims in ((yes, yes), (yes, tie), (tie, none), (none, no), (no, yes))] == [
        HOLDS, TIE, UNTESTED, FAILS, FAILS
    ]  # fmt: skip
    assert together("", [yes, no, yes], "abc").shown == "does not hold (2 × holds, 1 × does not hold)"
    assert together("", [yes, yes], "ab").shown == "holds"
    assert overall([]) is HOLDS


def test_what_has_no_exceptions_needs_no_second_run_nor_many_records():
    mean, bound = above("", [2.0, 2.1], [1.0, 1.0]), exact("", "at most 0.9", holds=True)
    item = Item("a", "", lambda run: Result([], [mean, bound, exact("", "1.1", holds=False)]), 5, "1 s")
    assert [claim.verdict for claim in item.run(Rerun(2)).claims] == [HOLDS, HOLDS, FAILS]
    quick = item.run(Rerun(2, quick=True)).claims
    assert [claim.verdict for claim in quick] == [UNTESTED, HOLDS, FAILS]
    assert [claim.seen for claim in quick] == [mean.seen, bound.seen, "1.1"]


def test_a_candidate_is_chosen_by_the_other_runs():
    """So that what is best by chance in one run gains nothing by it."""
    errors = np.array([[1.0, 2.0, 9.0], [2.0, 1.0, 9.0], [2.0, 1.5, 0.0]])
    assert at_others_best(errors).tolist() == [2.0, 2.0, 2.0]
    assert at_others_best(errors[:1]).tolist() == [1.0]
    noise = np.random.default_rng(0).standard_normal((200, 20))
    assert noise.min(axis=1).mean() < -1.5
    assert abs(at_others_best(noise).mean()) < 0.3


def test_claims_have_their_number_of_runs():
    claims = [above("", [1.0, 2.0], 0.0), at_most("", [1.0] * 3, 0.0, 2.0), within("", [1.0] * 4, 0.0, 2.0)]
    assert [claim.runs for claim in claims] == [2, 3, 4]
    assert together("", claims, "abc").runs == 2
    item = Item("a", "", lambda run: Result([], [*claims, exact("", "", holds=True)]), 5, "1 s")
    assert [claim.runs for claim in item.run(Rerun(7)).claims] == [2, 3, 4, 7]


def made_up(second):
    """CC12's table of three shuffles: all cells alike but mtbprj-2 at 5 %, disconnected."""
    cells = {(a, g, f): np.array([10.0, 12.0, 11.0]) for a in cc12.algorithms() for g in "CD" for f in cc12.FRACTIONS}
    for place in list(cells):
        cells[place] = cells[place] + (place[1] == "C") + 2.0 * list(cc12.algorithms()).index(place[0])
    cells["mtbprj-2", "D", 0.05] = cells["mtbprj", "D", 0.05] + np.array(second)
    return cc12.ScoreTable("school", np.array([14.0, 15.0, 16.0]), np.array([9, 9, 9]), cells)


@pytest.mark.parametrize(
    ("second", "verdict", "shown"),
    [
        ((1.0, 1.1, 0.9), HOLDS, "holds"),
        ((1.0, -1.1, 0.0), TIE, "tie (5 × holds, 1 × tie)"),
        ((-1.0, -1.1, -0.9), FAILS, "does not hold (5 × holds, 1 × does not hold)"),
    ],
)
def test_cells_of_cc12_are_judged_one_by_one(second, verdict, shown):
    claims = {claim.said: claim for claim in cc12.conclusions(made_up(second))}
    claim = claims["school: mtbprj-2 above mtbprj"]
    assert (claim.verdict, claim.shown) == (verdict, shown)
    assert claim.seen.endswith("points in 6 cells; in print above in 6 of 6")


def test_one_run_of_cc12_is_no_test():
    table = made_up((1.0, 1.0, 1.0))
    alone = cc12.ScoreTable(
        "school", table.baseline[:1], table.support[:1], {at: cell[:1] for at, cell in table.cells.items()}
    )
    claims = cc12.conclusions(alone)
    assert {claim.shown for claim in claims} == {"not tested"}
    assert claims[0].seen == "+1.0 to +2.0 points in 12 cells; in print above in 12 of 12"


def test_a_claim_is_shown_with_its_parts_only_where_they_differ():
    assert Claim("", "", TIE, [TIE, TIE]).shown == "tie"
    assert Claim("", "", UNTESTED, [HOLDS, FAILS]).shown == "not tested"
    assert judge(np.array([1.0]), 1.0) is UNTESTED
