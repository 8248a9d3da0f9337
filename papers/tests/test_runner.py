"""The runner of the papers: what it lists, shows, writes and refuses; CCG08 and ROS11 quickly."""

import re
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from papers import __main__ as runner
from papers import ccg08, results, ros11, srdv11
from papers.claims import Claim, ClaimVerdict, exact
from papers.results import Cell, CellTable, Item, Picture, Rerun, Result

import coterie
import public
from coterie.data.errors import InputError
from coterie.evaluation.progressive import progressive_validation

ROOT = Path(__file__).parents[2]


def made_up(run):
    """An item with everything in it."""
    values = np.array([seed / 2 for seed in run.seeds])
    picture = Picture("errors", "p", "%", [1, 2], {"a": (np.ones(2), np.ones(2)), "b": (np.zeros(2), None)})
    claims = [exact("a is 1", "1.0", True), exact("a is 2", "1.0", False), Claim("b is 1", "", ClaimVerdict.UNTESTED)]
    return Result([CellTable("set, %", [results.cell("a", "error", values, 1.25, 2)])], claims, [picture], ["A note."])


@pytest.fixture
def one_paper(monkeypatch):
    """A paper of one item, in place of the others."""
    monkeypatch.setattr(runner, "PAPERS", {"made05": [Item("table1", "numbers", made_up, 5, "1 s", also=("table2",))]})


def test_all_items_are_listed(capsys):
    runner.main([])
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert listed == [name for name, _ in runner.items()]
    assert {"srdv11/table4", "cc12/table1", "for09/figure4.7-4.8", "ccg08/spectral", "ros11/boosting"} < set(listed)


def test_every_item_has_its_section_on_the_page():
    page = (ROOT / "papers" / "README.md").read_text(encoding="utf-8")
    assert [name for name, item in runner.items() if f"\n### {name}: {item.what} (" not in page] == []


def test_every_paper_is_in_how_it_works():
    page = (ROOT / "docs" / "how-it-works.md").read_text(encoding="utf-8")
    assert [name for name in runner.PAPERS if f"\n| {name.upper()} | " not in page] == []


def test_the_page_of_rows_cites_what_exists():
    """Public names of the package, files of tests and items; a row names its check or says why there is none."""
    page = (ROOT / "papers" / "rows.md").read_text(encoding="utf-8")
    items = {name for name, _ in runner.items()}
    rooms = {name: getattr(coterie, name) for name in coterie.__all__}
    names = SimpleNamespace(**(public.NAMES | rooms))
    cited = re.findall(r"`([^`]+)`", page)
    assert items - set(cited) == set()
    for name in cited:
        if "tests/" in name:
            path, _, test = name.partition("::")
            assert not test or f"def {test}(" in (ROOT / path).read_text(encoding="utf-8"), name
        elif "/" in name:
            assert name in items, name
        elif not name.startswith(("coterie ", "python ")):
            attrgetter(name.partition("(")[0])(names)
    rows = re.findall(r"^\| (?!there|source|-)(.+?) \|(.*?)\|(.*?)\|(.*?)\|$", page, re.MULTILINE)
    assert len(rows) > 90
    assert [what for what, _, check, why in rows if "`" not in check and not why.startswith(" not here: ")] == []


@pytest.mark.parametrize("name", ["cc13", "cc12/table2", "cc1"])
def test_an_unknown_item_is_refused(name):
    with pytest.raises(SystemExit, match=f"^{name} is no paper or item of one; python"):
        runner.main([name])


def test_a_missing_data_set_is_refused_before_anything_runs(monkeypatch, tmp_path):
    monkeypatch.setenv("COTERIE_DATA", str(tmp_path))
    monkeypatch.setattr(srdv11, "synthetic", None)
    with pytest.raises(InputError, match="no data set 'newsgroups_200': python -m papers"):
        runner.main(["srdv11"])


@pytest.mark.usefixtures("one_paper")
def test_a_result_is_printed_and_written(capsys, tmp_path):
    runner.main(["made05/table2", "--output", str(tmp_path / "new"), "--shuffles", "3"])
    shown = capsys.readouterr()
    assert shown.err == "made05/table1 ...\n"
    assert shown.out.startswith(
        "### made05/table1: numbers (3 runs)\n\n| set, % | error |\n|---|---|\n| a | 0.50±0.41 (1.25) |\n"
    )
    assert "| a is 2 | 1.0 | does not hold | 3 |" in shown.out
    assert shown.out.endswith("\nA note.\n\n")
    assert (tmp_path / "new" / "made05-table1.md").read_text() == shown.out[:-1]
    assert (tmp_path / "new" / "made05-table1.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
@pytest.mark.parametrize("name", [item.name for item in ccg08.ITEMS])
def test_theorems_of_ccg08_quickly(name):
    ((_, item),) = runner.find(f"ccg08/{name}")
    claim = item.run(Rerun(1, quick=True))
    assert claim.claims[0].holds
    ratios = [cell.ours for cell in claim.tables[0].cells if cell.of.startswith("mistakes /")]
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
    claims = {}
    for _, item in runner.find("ros11"):
        claims |= {claim.said: claim for claim in item.run(Rerun(2, quick=True)).claims}
    fails = {sentence[:22] for sentence, claim in claims.items() if claim.verdict is ClaimVerdict.FAILS}
    assert fails == {"§5.1 as printed: A_ω (", "§5.2 as printed: (Q + ", "Tried: M that is not s"}
    assert claims["Tried: (Q + λnI) c = y does"].holds
    assert all((claim.verdict is ClaimVerdict.UNTESTED) != claim.exact for claim in claims.values())


def test_an_item_is_printed(capsys):
    runner.main(["ros11/mixed-effect", "--quick"])
    assert re.search(r"\| §5.1 as printed.* \| does not hold \| 2 \|", capsys.readouterr().out)


def test_what_a_cell_says():
    assert Cell("a", "b", 0.00123, form=".1e").shown == "1.2e-03"
    assert ros11.by_kernel(np.eye(2), np.diag([1.0, 3.0])) == pytest.approx(4.0)
