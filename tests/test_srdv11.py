"""SRDV11 rerun: the orderings that hold of the paper's Synthetic, and the seven methods by name."""

from __future__ import annotations

import numpy as np
import pytest

import coterie as ct
from coterie.papers import srdv11
from coterie.papers.results import Run
from terminal import run

SEEDS = range(10)


@pytest.fixture(scope="module")
def found():
    return {name: srdv11.outcome(name, each, srdv11.synthetic, SEEDS) for name, each in srdv11.methods().items()}


def test_the_seven_methods():
    named = srdv11.methods(epoch=0.3)
    assert list(named) == list(srdv11.PRINTED)
    assert named["STL"] == ct.Pooled()
    assert named["OMTLLOG"] == ct.Primed(ct.LogDet(1e-4), 0.3)


def test_synthetic_is_as_described():
    split = srdv11.synthetic(0)
    assert (len(split.y), len(split.test_y)) == (200, 100)
    assert np.bincount(np.concatenate([split.task, split.test_task])).tolist() == [100, 100, 100]


def test_orderings_of_table_2(found):
    accuracy = {name: each.accuracy.mean() for name, each in found.items()}
    assert accuracy["STL"] < 60
    assert accuracy["CMTL"] < accuracy["IPL"]
    pair = {name: each.correlations[:, 0, 1].mean() for name, each in found.items()}
    assert pair["STL"] == pytest.approx(1)
    assert pair["CMTL"] > -0.65
    assert pair["OMTLLOG"] < -0.7
    assert pair["OMTLVON"] < -0.7
    third = {name: np.abs(each.correlations[:, :2, 2].mean(axis=0)).max() for name, each in found.items()}
    assert third["OMTLLOG"] < 0.2


def test_controls_only_where_there_is_an_epoch(found):
    assert found["IPL"].control is None
    assert found["OMTLLOG"].control.shape == (10,)


def test_learned_relations_with_the_mean_step_find_the_mirror():
    relation = srdv11.recommended(0.5, 1e-1)["OMTLLOG, step kept"]
    assert srdv11.outcome("", relation, srdv11.synthetic, SEEDS).correlations[:, 0, 1].mean() < -0.8


def test_table_2_is_whole():
    shares = []
    (table,) = srdv11.table_2(Run(1, advance=shares.append)).tables
    assert sum(shares) == pytest.approx(1.0)
    heads, rows = table.rows()
    assert heads[1:] == ["corr 12", "corr 13", "corr 23", "accuracy, %", "mistakes"]
    assert [row[0] for row in rows[:7]] == list(srdv11.methods())
    assert rows[2][1].endswith(" (-0.203)")


@pytest.mark.parametrize(("size", "verdict"), [(0.05, "holds"), (0.5, "does not hold")])
def test_correlations_of_mirrors_do_not_cancel(size, verdict):
    """Tasks 1 and 2 are opposite, so that task 3 is as much like one as unlike the other."""
    shape = np.array([[1.0, -0.9, -size], [-0.9, 1.0, size], [-size, size, 1.0]])
    names = [*srdv11.methods(), *srdv11.recommended()]
    made = {name: srdv11.Outcome(name, np.zeros(3), np.zeros(3), np.stack([shape] * 3), None) for name in names}
    claims = {claim.said: claim for claim in srdv11._claims_2(made)}
    said = "and that task 3 is related to neither: both correlations below 0.15, whatever their sign"
    assert claims[said].shown == verdict
    assert f"OMTLLOG 13: +{size:.3f}±0.000; OMTLLOG 23: +{size:.3f}±0.000" in claims[said].seen
    assert claims["CMTL relates task 3 to the others more than OMTLLOG does, whatever the sign"].shown == "tie"


def test_fixed_relations_ask_by_the_margin_and_learned_ones_by_their_row():
    asked = srdv11.questions(10)
    assert asked["CMTL"] == (ct.MeanRegularized(b=10), ct.asking.Margin(1.0))
    assert asked["OMTLLOG"][1] == ct.asking.RelationRow()
    assert asked["OMTLLOG, asks as IPL"] == (asked["OMTLLOG"][0], ct.asking.Margin(10.0))
    assert set(srdv11.PRINTED_ASKING) < set(asked)


@pytest.mark.slow
@pytest.mark.data
def test_learned_relations_beat_independent_perceptrons_on_reviews():
    split = srdv11.real("amazon4")
    alone = srdv11.run_accuracy(ct.Independent(), split(0))
    learned = srdv11.run_accuracy(srdv11.recommended()["OMTLLOG, step kept"], split(0))
    assert learned > alone + 1


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.usefixtures("data_folder")
@pytest.mark.parametrize("item", ["table3", "table5", "figure1"])
def test_items_of_real_data_quickly(item):
    """Small and dense, so that they are compiled already."""
    shown = run("reproduce", f"srdv11/{item}", "--quick").stdout
    assert ", quick)" in shown
    assert "OMTLVON, step kept" in shown
    assert "not tested" in shown
