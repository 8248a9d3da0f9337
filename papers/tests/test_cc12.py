"""CC12 rerun: table 1 on made-up tasks that are alike, and quickly on the real data."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from papers import cc12
from papers.__main__ import main
from papers.claims import judge, overall
from papers.results import Rerun

import coterie as ct
from coterie.evaluation.bounds.budget_bounds import BudgetBound


def made_up(n=1200, n_tasks=12, seed=0):
    """Tasks that are nearly the same, of which each has few records."""
    rng = np.random.default_rng(seed)
    X, task = rng.normal(size=(n, 4)), rng.integers(n_tasks, size=n)
    centres = 0.3 * rng.normal(size=(n_tasks, 4))
    return cc12.MailStream(
        X, np.where(((X - centres[task]) ** 2).sum(axis=1) > 4, 1, -1), task, ct.kernels.Gaussian(1.5)
    )


def test_the_four_algorithms():
    results = {name: make(7, 3) for name, make in cc12.algorithms().items()}
    assert list(results) == list(cc12.PRINTED["school"])
    assert results["mtrbp"] == ct.updates.RandomRemoval(7, seed=3)
    assert results["mtbprj-2"] == ct.updates.SharedProjection(7, eta=0.01)


@pytest.mark.slow
def test_orderings_on_tasks_that_are_alike():
    table = cc12.table_1("school", range(3), stream=made_up())
    assert len(table.cells) == 24
    assert all(table.mean(name, "C", f) > table.mean(name, "D", f) for name in cc12.algorithms() for f in (0.1, 0.05))
    assert table.mean("mtbprj-2", "D", 0.1) > table.mean("mtbprj", "D", 0.1)
    cells = {(cell.what, cell.of): cell for cell in cc12.cells(table)}
    assert len(cells) == 25
    assert cells["mtbprj", "D(5%)"].printed == 23.8
    assert cells["mtbprj", "D(5%)"].ours == table.mean("mtbprj", "D", 0.05)
    claims = {claim.said: claim for claim in cc12.conclusions(table)}
    gaps = [table.of(a, "C", f) - table.of(a, "D", f) for a in cc12.algorithms() for f in cc12.FRACTIONS]
    judged = claims["school: complete above disconnected"]
    assert list(judged.parts) == [judge(gap, gap.mean()) for gap in gaps]
    assert judged.verdict is overall(judged.parts)


def test_the_paper_does_not_print_all_that_it_concludes():
    """On Sentiment the complete graph brings no more at 5 % than at 25 %, and two fall short of the baseline."""
    theirs = cc12.gaps(partial(cc12._printed, "acl4"), np.array([cc12.PRINTED_BASELINES["acl4"]]), cc12.FRACTIONS)
    assert max(theirs["the smaller the budget, the more the complete graph brings"]) < 0
    assert min(theirs["complete above disconnected"]) > 0
    assert sorted(theirs["at 25 % all four match the baseline on the complete graph, within a point"])[1] < -4


def test_proposition_3_1_is_refuted_as_printed_and_holds_with_half_the_coefficient():
    printed, halved = cc12.proposition(Rerun(2)).claims
    assert not printed.holds
    assert halved.holds
    assert halved.seen.endswith("in the worst entry, over 10 graphs")


@pytest.mark.slow
@pytest.mark.parametrize("of", [cc12.FIRST, cc12.SECOND, cc12.SHIFTING])
def test_theorems_hold_quickly(of):
    claim = cc12.theorem(of, Rerun(1, quick=True))
    assert claim.claims[0].holds
    assert len(claim.tables[0].rows()[1]) == 4


def test_a_bound_of_a_budget_that_is_too_low_is_told():
    wrong = replace(cc12.SECOND, bound=lambda *_: BudgetBound(1.0, 0.0))
    (claim,) = cc12.theorem(wrong, Rerun(1, quick=True)).claims
    assert not claim.holds


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("name", cc12.STREAMS)
def test_quickly_on_real_data(name):
    table = cc12.table_1(name, range(1), n=2000, fractions=(0.25,))
    mean = table.mean
    assert mean("mtbprj", "C", 0.25) > mean("mtrbp", "C", 0.25)
    assert mean("mtrbp", "C", 0.25) > mean("mtrbp", "D", 0.25)
    assert mean("mtbprj-2", "C", 0.25) > 0.85 * table.baseline.mean()


@pytest.mark.slow
@pytest.mark.data
def test_the_table_quickly(capsys):
    main(["cc12/table1", "--quick"])
    shown = capsys.readouterr().out
    assert "| school: complete above disconnected | +" in shown
    assert "in 4 cells; in print above in 4 of 4 | not tested | 1 |" in shown
    assert "| school: at 5 % mtbprj and mtbprj-2 still do, within a point | one budget only | not tested | 1 |" in shown
