"""`coterie reproduce`: what it lists, shows and writes, and what it refuses; CCG08 and ROS11 quickly."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from coterie.cli import progress
from coterie.evaluation.progressive import progressive_validation
from coterie.papers import catalogue, ccg08, results, ros11, srdv11, writing
from coterie.papers.claims import Claim, ClaimVerdict, exact
from coterie.papers.results import Cell, CellTable, Item, Picture, Rerun, Result
from terminal import refused, run


def made_up(run):
    """An item with everything in it."""
    values = np.array([seed / 2 for seed in run.seeds()])
    picture = Picture("errors", "p", "%", [1, 2], {"a": (np.ones(2), np.ones(2)), "b": (np.zeros(2), None)})
    claims = [exact("a is 1", "1.0", True), exact("a is 2", "1.0", False), Claim("b is 1", "", ClaimVerdict.UNTESTED)]
    return Result([CellTable("set, %", [results.cell("a", "error", values, 1.25, 2)])], claims, [picture], ["A note."])


@pytest.fixture
def one_paper(monkeypatch):
    """A paper of one item, in place of the others."""
    paper = catalogue.Paper("made05", "Made up", (Item("table1", "numbers", made_up, 5, "1 s", also=("table2",)),))
    monkeypatch.setattr(catalogue, "PAPERS", {"made05": paper})
    return paper


def test_all_items_are_listed():
    lines = run("reproduce").stdout.splitlines()
    assert lines[0].split() == ["item", "data", "about", "runs", "what"]
    named = [f"{paper.name}/{item.name}" for paper, item in catalogue.everything()]
    assert [line.split()[0] for line in lines[1:]] == named
    assert {
        "srdv11/table4",
        "srdv11/remarks",
        "cc12/table1",
        "cc12/theorem2",
        "for09/figure4.7-4.8",
        "ccg08/spectral",
        "ros11/boosting",
    } < set(named)


def test_every_item_stands_in_the_docs():
    """As the command wrote it, under a heading of its own."""
    page = (Path(__file__).parents[1] / "docs" / "appendix" / "reproduce.md").read_text(encoding="utf-8")
    for paper, item in catalogue.everything():
        assert f"\n### {paper.name}/{item.name}: {item.what} (" in page


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("cc13", "the paper is 'cc13'; expected one of ccg08, cc12, srdv11, for09, ros11; did you mean 'cc12'?"),
        (
            "cc12/table2",
            "the item of cc12 is 'table2'; expected one of table1, theorem1, theorem2, shifting-forgetron, proposition3.1; did you mean 'table1'?",
        ),
        ("ros11/", "the item of ros11 is ''; expected one of lemma1, mixed-effect, graph"),
    ],
)
def test_what_there_is_not(what, message):
    assert refused("reproduce", what).startswith(message)


def test_names_in_capitals_are_the_same():
    assert catalogue.find("CC12/Table1") == catalogue.find("cc12/table1")
    assert catalogue.find("ROS11") == catalogue.find("ros11")


def test_every_paper_stands_in_how_it_works():
    page = (Path(__file__).parents[1] / "docs" / "how-it-works.md").read_text(encoding="utf-8")
    for paper in catalogue.PAPERS.values():
        assert f"\n| {paper.name.upper()} | " in page


def test_a_data_set_that_is_missing_is_told_before_anything_runs(monkeypatch, tmp_path):
    monkeypatch.setenv("COTERIE_DATA", str(tmp_path))
    monkeypatch.setattr(srdv11, "synthetic", None)
    told = refused("reproduce", "srdv11")
    assert "no such file, so no data set 'newsgroups_200': coterie datasets newsgroups_200 --fetch, or put " in told


def test_a_result_is_shown(one_paper):
    shown = run("reproduce", "made05", "--shuffles", "3")
    assert shown.stderr == "made05/table1 ...\n"
    assert shown.stdout.splitlines() == [
        "made05/table1: numbers (3 runs)",
        "",
        "set, %             error",
        "a       0.50±0.41 (1.25)",
        "",
        "* holds, 3 runs: a is 1. Here: 1.0",
        "* does not hold, 3 runs: a is 2. Here: 1.0",
        "* not tested, 3 runs: b is 1. Here:",
        "",
        "A note.",
        "",
    ]
    assert run("reproduce", "made05/table2", "--quick", "--quiet").output == ""


def test_a_result_as_json(one_paper):
    """And nothing else on standard output, so that a script can read it."""
    asked = ("reproduce", "made05", "--shuffles", "3", "--json")
    (made,) = json.loads(run(*asked).stdout)
    assert (made["item"], made["what"], made["runs"], made["quick"]) == ("made05/table1", "numbers", 3, False)
    ((cell,),) = [table["cells"] for table in made["tables"]]
    assert cell == {
        "what": "a",
        "of": "error",
        "ours": 0.5,
        "deviation": pytest.approx(0.408, abs=1e-3),
        "printed": 1.25,
        "printed_deviation": None,
    }
    assert made["claims"][0] == {"said": "a is 1", "seen": "1.0", "verdict": "holds", "runs": 3}
    assert [claim["verdict"] for claim in made["claims"]] == ["holds", "does not hold", "not tested"]
    assert made["notes"] == ["A note."]
    assert json.loads(run(*asked, "--quiet").stdout) == [made]
    (listed,) = json.loads(run("reproduce", "--json").stdout)
    assert listed == {"item": "made05/table1", "what": "numbers", "runs": 5, "takes": "1 s", "data": []}


def test_a_result_is_written(one_paper, tmp_path):
    run("reproduce", "made05", "--output", tmp_path / "new", "--shuffles", "3")
    text = (tmp_path / "new" / "made05-table1.md").read_text()
    assert text.startswith(
        "### made05/table1: numbers (3 runs)\n\n| set, % | error |\n|---|---|\n| a | 0.50±0.41 (1.25) |\n"
    )
    assert "| a is 2 | 1.0 | does not hold | 3 |" in text
    with (tmp_path / "new" / "made05-table1.csv").open() as file:
        first, *_, last = csv.DictReader(file)
    assert (float(first["ours"]), float(first["paper"]), first["what"]) == (0.5, 1.25, "a")
    assert (last["what"], last["holds"], last["runs"]) == ("b is 1", "not tested", "3")
    assert (tmp_path / "new" / "made05-table1.png").read_bytes().startswith(b"\x89PNG")


def test_without_matplotlib_the_tables_are_written_and_the_lack_is_told(one_paper, tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "can_draw", lambda: False)
    told = run("reproduce", "made05", "--output", tmp_path).stderr
    assert told.startswith("coterie: figures are left out, they need matplotlib: pip install coterie[report]\n")
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".csv", ".md"]


def test_a_folder_that_cannot_be_made_is_refused_first(one_paper, tmp_path):
    assert "No such file or directory" in refused("reproduce", "made05", "--output", tmp_path / "no" / "folder")
    (tmp_path / "file").write_text("")
    assert "File exists" in refused("reproduce", "made05", "--output", tmp_path / "file", code=1)


def test_progress_is_whole():
    shares = []
    catalogue.find("ros11/mixed-effect")[0][1].run(Rerun(3, True, shares.append))
    assert sum(shares) == pytest.approx(1.0)
    with progress.stepping("an item", quiet=True) as advance:
        advance(1.0)


def test_a_bar_on_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with progress.stepping("an item", quiet=False) as advance:
        advance(1.0)
    assert capsys.readouterr().out == ""


@pytest.mark.slow
@pytest.mark.parametrize("name", [item.name for item in ccg08.ITEMS])
def test_theorems_of_ccg08_quickly(name):
    ((_, item),) = catalogue.find(f"ccg08/{name}")
    found = item.run(Rerun(1, quick=True))
    assert found.claims[0].holds
    ratios = [cell.ours for cell in found.tables[0].cells if cell.of.startswith("mistakes /")]
    assert len(ratios) == 2
    assert all(0.5 < ratio <= 1 for ratio in ratios)


def test_a_bound_that_is_too_low_is_told(monkeypatch):
    case = ccg08.of_tasks(lambda: ccg08.MultitaskPerceptron(ccg08.HalfUpdate()), lambda *_: 1.0)
    (claim,) = ccg08.theorem({"wrong": case}, Rerun(1, quick=True)).claims
    assert not claim.holds


def test_bounds_have_the_relation_that_was_learned_with():
    """Of a half-update the matrix of diagonal 1, for the bound of second order depends on its scale."""
    case = ccg08.of_tasks(lambda: ccg08.SecondOrderMultitaskPerceptron(ccg08.HalfUpdate()), lambda *_: 1.0)
    rng, model = np.random.default_rng(0), case.make()
    records, y = ccg08.drawn(case, rng, case.truth(rng), 60, 0.2)
    trace = progressive_validation(model, records.given, y, **records.named(), tasks=range(ccg08.K))
    M = ccg08.relation_in_order(trace, model)
    np.testing.assert_allclose(M, (np.eye(ccg08.K) + 1) / 2)
    z = np.array([np.kron(np.eye(ccg08.K)[i], x) for i, x in zip(trace.task, records.blocks[0], strict=True)])
    P, v = np.kron(np.linalg.inv(M), np.eye(ccg08.D)), np.zeros(z.shape[1])
    for t in range(trace.n):  # figure 2, with A + Σ zz' over the mistakes and the record itself
        margin = z[t] @ np.linalg.solve(P + np.outer(z[t], z[t]), v)
        assert (y[t] * margin <= 0) == trace.mistake[t]
        if trace.mistake[t]:
            P, v = P + np.outer(z[t], z[t]), v + y[t] * z[t]


def test_the_separable_adversary_leaves_the_truth_without_loss():
    case = ccg08.of_tasks(lambda: ccg08.MultitaskPerceptron(ccg08.HalfUpdate()), ccg08._first_order)
    rng = np.random.default_rng(0)
    U = case.truth(rng)
    records, y = ccg08.chosen(case, rng, U, 30, spite=False)
    assert (y * case.sides(records, U)).min() >= 1


@pytest.mark.slow
def test_ros11_quickly():
    found = {}
    for _, item in catalogue.find("ros11"):
        found |= {claim.said: claim for claim in item.run(Rerun(2, quick=True)).claims}
    fails = {said[:22] for said, claim in found.items() if claim.verdict is ClaimVerdict.FAILS}
    assert fails == {"§5.1 as printed: A_ω (", "§5.2 as printed: (Q + ", "Tried: M that is not s"}
    assert found["Tried: (Q + λnI) c = y does"].holds
    assert all((claim.verdict is ClaimVerdict.UNTESTED) != claim.exact for claim in found.values())


def test_an_item_through_the_command():
    assert "does not hold, 2 runs: §5.1 as printed" in run("reproduce", "ros11/mixed-effect", "--quick").stdout


def test_what_a_cell_says():
    assert Cell("a", "b", 0.00123, form=".1e").shown == "1.2e-03"
    assert ros11.by_kernel(np.eye(2), np.diag([1.0, 3.0])) == pytest.approx(4.0)
