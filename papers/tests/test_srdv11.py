"""SRDV11 rerun: the orderings that hold of the paper's Synthetic, and the seven methods by name."""

import numpy as np
import pytest
from papers import srdv11
from papers.__main__ import main
from papers.results import Rerun

import coterie as ct

SEEDS = range(10)


@pytest.fixture(scope="module")
def outcomes_by_relation():
    tried = srdv11.methods(srdv11.SYNTHETIC, short=0.5)
    return {name: srdv11.outcome(name, learner, srdv11.synthetic, SEEDS) for name, learner in tried.items()}


def test_the_seven_methods():
    named = srdv11.methods({"OMTLLOG": 1e-4, "OMTLLOG by A": 1e-5, "OMTLCOV, step kept": 0.1}, epoch=0.3, short=0.1)
    assert list(named)[:3] == list(srdv11.PRINTED)[:3]
    assert named["STL"] == ct.Pooled()
    assert named["OMTLLOG"] == ct.tasks.Primed(ct.LogDet(1e-4, start="identity"), 0.3)
    assert named["OMTLLOG by A"] == ct.tasks.Primed(ct.LogDet(1e-5, role="Ainv", start="identity"), 0.3)
    assert named["OMTLCOV, step kept"] == ct.tasks.Primed(ct.tasks.Covariance(0.1, step_norm=True, role="Ainv"), 0.1)
    assert {srdv11.in_print(name) for name in [*srdv11.FIXED, *srdv11.LEARNED]} == set(srdv11.PRINTED)


def test_numbers_in_print_fit_together():
    """Accuracies lie about those with all labels, and the labels asked for are parts of those there are."""
    for name, (accuracies, mistakes) in srdv11.PRINTED.items():
        asked, labels = srdv11.PRINTED_ASKING[name]
        assert len(accuracies) == len(asked) == len(mistakes) == len(labels) == len(srdv11.LABELS)
        assert all(abs(one[0] - other[0]) < 2.5 for one, other in zip(accuracies, asked, strict=True))
        assert all(0.3 < part / whole < 0.91 for part, whole in zip(labels, srdv11.LABELS, strict=True))


@pytest.mark.slow
def test_a_rate_is_chosen_on_a_part_of_the_training_records():
    split = srdv11.synthetic(0)
    inner = split.inner()
    assert (len(inner.y), len(inner.test_y)) == (160, 40)
    np.testing.assert_array_equal(np.concatenate([inner.X, inner.held_out]), split.X)
    chosen = srdv11.choose(srdv11.synthetic, quick=True)
    assert set(chosen) == {*srdv11.LEARNED, *srdv11.KEPT}
    assert all(chosen[name] in grid for name, (_, grid) in (srdv11.LEARNED | srdv11.KEPT).items())


@pytest.mark.slow
def test_a_rate_under_which_a_relation_outgrows_its_limit_is_not_chosen():
    relation = srdv11.methods({"OMTLVON": 1.0})["OMTLVON"]
    assert srdv11._stable_accuracy(relation, srdv11.synthetic(0).inner()) == -np.inf


@pytest.mark.slow
def test_a_control_makes_the_steps_that_the_relation_came_to():
    """Of both starts the mean step from EPOCH on is that of the learned relation, beside the one before it."""
    split = srdv11.synthetic(1)
    for start, before in (("identity", 1.0), ("unit_trace", 3.0)):
        relation = ct.tasks.Primed(ct.tasks.Covariance(0.1, start=start), 0.5)
        model, _ = srdv11.learn(relation, split)
        step = np.trace(model.relation_matrix_) / 3
        control = srdv11.control(relation, model)
        np.testing.assert_allclose(control.relation.relation_matrix(model.tasks_), 3 / before * step * np.eye(3))
        assert control.epoch == 0.5


def test_synthetic_is_as_described():
    split = srdv11.synthetic(0)
    assert (len(split.y), len(split.test_y)) == (200, 100)
    assert np.bincount(np.concatenate([split.task, split.test_task])).tolist() == [100, 100, 100]


@pytest.mark.slow
def test_orderings_of_table_2(outcomes_by_relation):
    accuracy = {name: outcome.accuracy.mean() for name, outcome in outcomes_by_relation.items()}
    assert accuracy["STL"] < 60
    assert accuracy["CMTL"] < accuracy["IPL"]
    pair = {name: outcome.correlations[:, 0, 1].mean() for name, outcome in outcomes_by_relation.items()}
    assert pair["STL"] == pytest.approx(1)
    assert pair["CMTL"] > -0.65
    assert pair["OMTLLOG"] < -0.7
    assert pair["OMTLVON"] < -0.7
    third = {
        name: np.abs(outcome.correlations[:, :2, 2].mean(axis=0)).max()
        for name, outcome in outcomes_by_relation.items()
    }
    assert third["OMTLLOG"] < 0.2


@pytest.mark.slow
def test_controls_only_where_there_is_an_epoch(outcomes_by_relation):
    assert outcomes_by_relation["IPL"].control is None
    assert outcomes_by_relation["OMTLLOG"].control.shape == (10,)


@pytest.mark.slow
def test_learned_relations_with_the_mean_step_find_the_mirror(outcomes_by_relation):
    assert outcomes_by_relation["OMTLLOG, step kept"].correlations[:, 0, 1].mean() < -0.8


@pytest.mark.slow
def test_table_2_is_whole():
    (table,) = srdv11.table_2(Rerun(1)).tables
    heads, rows = table.rows()
    assert heads[1:] == ["corr 12", "corr 13", "corr 23", "accuracy, %", "mistakes", "rate or ridge"]
    assert [row[0] for row in rows[:7]] == list(srdv11.PRINTED)
    assert rows[2][1].endswith(" (-0.203)")


@pytest.mark.parametrize(("size", "verdict"), [(0.05, "holds"), (0.5, "does not hold")])
def test_correlations_of_mirrors_do_not_cancel(size, verdict):
    """Tasks 1 and 2 are opposite, so that task 3 is as much like one as unlike the other."""
    shape = np.array([[1.0, -0.9, -size], [-0.9, 1.0, size], [-size, size, 1.0]])
    names = list(srdv11.methods(srdv11.SYNTHETIC))
    outcomes = {name: srdv11.Outcome(name, np.zeros(3), np.zeros(3), np.stack([shape] * 3), None) for name in names}
    claims = {claim.said: claim for claim in srdv11._claims_2(outcomes)}
    sentence = "and that task 3 is related to neither: both correlations below 0.15, whatever their sign"
    assert claims[sentence].shown == verdict
    assert f"OMTLLOG 13: +{size:.3f}±0.000; OMTLLOG 23: +{size:.3f}±0.000" in claims[sentence].seen
    assert claims["CMTL relates task 3 to the others more than OMTLLOG does, whatever the sign"].shown == "tie"


def test_fixed_relations_ask_by_the_margin_and_learned_ones_by_their_row():
    assert srdv11.rule("CMTL", 3.0) == ct.updates.Margin(3.0)
    assert srdv11.rule("OMTLLOG", 3.0) == ct.updates.RelationRow(3.0)
    assert srdv11.rule("OMTLLOG by A", 3.0) == ct.updates.RelationRow(3.0, of="Ainv")


def test_the_constant_is_that_by_which_as_many_labels_are_asked_for():
    split = srdv11.synthetic(0)
    c = srdv11.constant(split, 0.6)
    assert srdv11._share(split, c) == pytest.approx(0.6, abs=0.05)


@pytest.mark.slow
@pytest.mark.data
def test_learned_relations_beat_independent_perceptrons_on_reviews():
    split = srdv11.real("amazon4")
    alone = srdv11.run_accuracy(ct.Independent(), split(0))
    learned = srdv11.run_accuracy(srdv11.methods({"OMTLLOG, step kept": 1e-3})["OMTLLOG, step kept"], split(0))
    assert learned > alone + 1


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("item", ["table3", "table4", "table5", "figure1", "inflection", "remarks"])
def test_items_of_real_data_quickly(item, capsys):
    """Small and dense, so that they are compiled already."""
    main([f"srdv11/{item}", "--quick"])
    shown = capsys.readouterr().out
    assert ", quick)" in shown
    assert "OMTLLOG by A" in shown
    assert "not tested" in shown


@pytest.mark.parametrize(("top", "verdict"), [(0.7, "holds"), (0.3, "does not hold")])
def test_an_inflection_is_where_curves_turn(top, verdict):
    """Straight up to the top and down after it, over four shuffles that differ by a constant."""
    epochs = np.array(srdv11.LATER)
    curve = (75 - 10 * np.abs(epochs - top))[:, None] + np.arange(4) / 8
    curves = {"OMTLCOV": curve, "OMTLLOG by A": curve, "IPL": curve - 0.5}
    rises, falls, near, best = srdv11._claims_inflection("sentiment", curves, "OMTLLOG by A", list(epochs))
    assert (best.shown, near.shown, falls.shown) == (verdict, "holds", "holds")
    assert rises.shown == verdict
