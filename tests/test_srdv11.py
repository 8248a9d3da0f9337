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


def test_fixed_relations_ask_by_the_margin_and_learned_ones_by_their_row():
    asked = srdv11.questions(10)
    assert asked["CMTL"] == (ct.MeanRegularized(b=10), ct.Margin(1.0))
    assert asked["OMTLLOG"][1] == ct.RelationRow()
    assert asked["OMTLLOG, asks as IPL"] == (asked["OMTLLOG"][0], ct.Margin(10.0))
    assert set(srdv11.PRINTED_ASKING) < set(asked)


@pytest.mark.data
def test_learned_relations_beat_independent_perceptrons_on_reviews():
    split = srdv11.real("amazon4")
    alone = srdv11.run_accuracy(ct.Independent(), split(0))
    learned = srdv11.run_accuracy(srdv11.recommended()["OMTLLOG, step kept"], split(0))
    assert learned > alone + 1


@pytest.mark.data
@pytest.mark.usefixtures("data_folder")
@pytest.mark.parametrize("item", ["table3", "table5", "figure1"])
def test_items_of_real_data_quickly(item):
    """Small and dense, so that they are compiled already."""
    shown = run("reproduce", f"srdv11/{item}", "--quick").stdout
    assert ", quick)" in shown
    assert "OMTLVON, step kept" in shown
    assert "hold" in shown
