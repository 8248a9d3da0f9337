"""The library behind the commands: running totals, files of tasks, choices, the job, summaries, and what shows progress."""

import itertools
import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import rich.progress
from hypothesis import given
from hypothesis import strategies as st

import coterie as ct
import samples
from coterie.cli import progress
from coterie.cli.printing import summary_lines
from coterie.data.readers import read
from coterie.evaluation.costs import RATES
from coterie.evaluation.learning import learn
from coterie.evaluation.summary import summarize
from coterie.evaluation.verdict import shown_gain
from coterie.expressions import LearnerExpression
from coterie.tasks.relations.files import read_edges, read_groups, read_matrix
from coterie.wording import percent, spoken
from terminal import Terminal


def stretch(wrong, tasks):
    """A trace of some rounds, its tasks numbered in order of first appearance as traces have them."""
    order = list(dict.fromkeys(tasks))
    codes = np.array([order.index(task) for task in tasks], np.int64)
    return SimpleNamespace(costs=np.array(wrong, bool), task=codes, tasks=tuple(order), words=RATES)


@given(
    st.lists(st.tuples(st.booleans(), st.booleans(), st.sampled_from("abcdef")), min_size=1, max_size=80),
    st.lists(st.integers(0, 80), max_size=6),
)
def test_progress_is_the_same_however_the_stream_is_cut(records, cuts):
    cuts = sorted({0, len(records), *(cut for cut in cuts if cut < len(records))})
    lines = []
    table = progress.ProgressTable(lines.append)
    for first, last in itertools.pairwise(cuts):
        part = records[first:last]
        tasks = [task for _, _, task in part]
        table.add({name: stretch([instance[i] for instance in part], tasks) for i, name in enumerate(("x", "y"))})
    table.finish()
    head, *rows = lines
    assert head.split() == ["examples", "tasks", "x", "since", "last", "y"]
    examples = [int(row.split()[0]) for row in rows]
    assert examples == sorted({*(2**k for k in range(len(records).bit_length())), len(records)})
    for n, before, row in zip(examples, [0, *examples], rows, strict=False):
        errors = [sum(x for x, _, _ in records[:n]) / n, sum(x for x, _, _ in records[before:n]) / (n - before)]
        errors.append(sum(y for _, y, _ in records[:n]) / n)
        tasks = len({task for _, _, task in records[:n]})
        assert row.split() == [str(n), str(tasks), *" ".join(percent(error, 2) for error in errors).split()]


@pytest.mark.parametrize(
    ("reads", "text", "message"),
    [
        (read_groups, b"a,x,y\n", "f.csv:1: 3 fields; expected 2"),
        (read_groups, b"a;x\nb;y;z\n", "f.csv:2: 3 fields; expected 2"),
        (read_groups, b"\xff,x\n", "f.csv: not a CSV file in UTF-8"),
        (read_groups, b'"a\nb', "f.csv"),
        (read_edges, b"a\n", "f.csv:1: 1 field; expected task,task or task,task,weight"),
        (read_edges, b"task,task\n", "f.csv: no edge"),
        (read_matrix, b"", "f.csv: file is empty"),
        (read_matrix, b"a,b\n1,2,3\n", "f.csv:2: 3 fields; expected 2"),
    ],
)
def test_small_files_that_cannot_be_read_are_refused_with_their_place(working_folder, reads, text, message):
    (working_folder / "f.csv").write_bytes(text)
    with pytest.raises(ValueError, match=r"f\.csv") as refused:
        reads("f.csv")
    assert str(refused.value).startswith(message)


def errors(rate, n=4000, seed=0):
    return samples.from_mistakes(np.random.default_rng(seed).random(n) < rate)


@pytest.mark.parametrize(
    ("together", "alone", "pooled", "best", "advice"),
    [
        (0.1, 0.3, 0.2, "pooled", "Use learning together."),
        (0.2, 0.3, 0.1, "pooled", "Keep one model for all tasks."),
        (0.3, 0.1, 0.2, "independent", "Keep one model per task."),
        (0.3, 0.2, 0.1, "pooled", "Keep one model for all tasks."),
        (0.2, 0.1, 0.3, "independent", "Keep one model per task."),
    ],
)
def test_there_is_one_piece_of_advice_and_it_is_about_the_best_baseline(together, alone, pooled, best, advice):
    traces = {"together": errors(together), "independent": errors(alone, seed=1), "pooled": errors(pooled, seed=2)}
    summary = summarize(ct.evaluation.Comparison(traces, dict.fromkeys(traces), {}), "together")
    assert summary.best == best
    headline, *remarks = summary.sentences
    assert headline.startswith("Learning together ")
    assert headline.endswith(f"against {spoken(best)}.")
    assert remarks[-1] == advice
    assert ("is the best of the baselines." in remarks[0]) == (best != "independent")


def test_on_a_terminal_a_bar_shows_how_much_is_read(clicks, monkeypatch):
    monkeypatch.setattr("sys.stderr", Terminal())
    bars = []

    class Remembered(rich.progress.Progress):
        def __init__(self, *columns, **options):
            super().__init__(*columns, **options)
            bars.append(self)

    monkeypatch.setattr("rich.progress.Progress", Remembered)
    reader = read(clicks, task="user", label="click", block_rows=100)
    with progress.show_progress(reader, quiet=False) as on_round:
        learn(reader, {"a": LearnerExpression(None)}, on_round=on_round)
    (task,) = bars[0].tasks
    assert task.total == reader.bytes_total
    assert task.completed == reader.bytes_total


# -- the process of a command ------------------------------------------------------------------------------------------


def test_what_openblas_is_told_comes_before_numpy():
    """It reads its settings when it is loaded, and what the user has set stays."""
    code = (
        "import os, sys; from coterie import cli; assert 'numpy' not in sys.modules; os.environ |= {0}\n"
        "try: cli.main()\nexcept SystemExit: print(os.environ['OPENBLAS_THREAD_TIMEOUT'])"
    )
    for set_by_user, timeout in (({}, "20"), ({"OPENBLAS_THREAD_TIMEOUT": "9"}, "9")):
        run = [sys.executable, "-c", code.format(set_by_user), "--version"]
        clean = {name: value for name, value in os.environ.items() if name != "OPENBLAS_THREAD_TIMEOUT"}
        assert subprocess.run(run, capture_output=True, text=True, check=True, env=clean).stdout.split()[-1] == timeout


def test_the_summary_has_a_table_of_learners_and_one_by_size_of_task() -> None:
    rng = np.random.default_rng(0)
    task = np.concatenate([np.arange(40) % 20, rng.integers(20, 26, size=600)])
    X = rng.standard_normal((640, 3))
    summary = summarize(ct.compare({"together": ct.MultitaskPerceptron()}, X, X[:, 0] > 0, task=task), "together")
    lines = list(summary_lines(summary))
    row = next(line.split() for line in lines if line.startswith("pooled"))
    verdict = summary.against["pooled"]
    assert row[6] == shown_gain(verdict.loss, *verdict.average[3:])[0]
    assert row[10:12] == [str(len(verdict.helped)), str(len(verdict.hurt))]
    sizes = lines[lines.index("Gain in points by size of task, on average") + 1 :]
    assert [line.split()[:4] for line in sizes[1:3]] == [["1", "or", "2", "20"], ["51", "to", "300", "6"]]
    assert "gain over independent" in sizes[0]
    assert f"gain over {summary.best}" in sizes[0]
