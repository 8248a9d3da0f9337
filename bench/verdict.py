"""Whether the verdict is as sure as it says: on streams whose truth is known, and on the public data sets.

    python -m bench.verdict [--quick] [--write]

With ``--write`` the tables of docs/appendix/tables.md are those printed.

*Known*: streams of `tests/known.py`, 800 tasks of 1 to 800 records, four of each kind. How often intervals of 90 % hold
a task's expected gain, by class of size; how often those of 95 % hold the mean gain of a task, and those of the classes of
size; how many tasks are called, and how many of the calls are wrong. In the first rows predictions are drawn (against –),
in the others the default learner has learned the stream, beside its baselines.

*Nobody gains*: labels of several shares, and numbers with several kinds of noise, drawn ten times for the same
predictions, where both learners have the same expected loss in every record. How many streams have a task called, which
is wrong.

*Public*: the default learner over a real stream against each of its baselines, the best of them in bold: the mean gain
of a task, by size of task, and the tasks called. What is expected of these gains nobody knows. The prepared data lie in
the folder that COTERIE_DATA names.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
from papers import data as datasets

import coterie as ct
from coterie.evaluation.comparison import BASELINES, best_baseline
from coterie.evaluation.noise import class_of_size
from coterie.evaluation.verdict import shown_gain, verdict

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import known

PAGE = Path(__file__).parents[1] / "docs" / "appendix" / "tables.md"
STREAMS = ("school", "landmine", "chem97", "flights")
#: Makers of streams, what is off in the predictions of the learner and of the other, and what that means.
DRAWN: dict[str, tuple[Any, dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "labels, new tasks gain": (known.labels, {}, {}, {"slow": 2.0}),
    "labels, 4 % positive": (known.labels, {"base": -3.5}, {}, {"slow": 2.0}),
    "labels, nobody gains": (known.labels, {"base": -1.0}, {}, {}),
    "labels, half are hurt": (known.labels, {"base": 0.0}, {"wrong": range(400)}, {"slow": 1.0}),
    "labels, 2 records a task": (known.labels, {"records": 2}, {}, {"slow": 2.0}),
    "numbers, new tasks gain": (known.numbers, {}, {}, {"slow": 3.0}),
    "numbers, nobody gains": (known.numbers, {}, {}, {}),
    "numbers, half are hurt": (known.numbers, {}, {"wrong": range(400)}, {"slow": 1.0}),
    "numbers, 2 records a task": (known.numbers, {"records": 2}, {}, {"slow": 3.0}),
}
#: Makers of streams that the default learner learns.
LEARNED: dict[str, tuple[Any, dict[str, Any]]] = {
    "labels, tasks alike": (known.labels, {"base": -1.0}),
    "labels, 4 % positive": (known.labels, {"base": -3.5}),
    "labels, tasks unlike": (known.labels, {"base": 0.0, "alike": False}),
    "labels, half the other way": (known.labels, {"base": 0.0, "odd": 0.5}),
    "labels, 2 records a task": (known.labels, {"base": -1.0, "records": 2}),
    "numbers, tasks alike": (known.numbers, {}),
    "numbers, tasks unlike": (known.numbers, {"alike": False}),
    "numbers, half the other way": (known.numbers, {"odd": 0.5}),
}


#: The shares of positive labels of streams without gains, and the constants of the log-odds that make them.
SHARES = {"0.5 %": -6.6, "1 %": -6.0, "5 %": -4.1, "30 %": -1.2}


class Tally:
    """How often what is said holds, over several streams."""

    def __init__(self) -> None:
        self.held, self.of = np.zeros(5), np.zeros(5)
        self.means: list[bool] = []
        self.sizes: list[bool] = []
        self.calls = {"helped": [0, 0], "hurt": [0, 0]}

    def add(self, stream: known.Known, ours: Any, theirs: Any) -> None:
        """Judge one stream."""
        expected, wide, told = stream.gains(ours, theirs), verdict(ours, theirs, 0.9), verdict(ours, theirs)
        size = class_of_size(told.n)
        self.held += np.bincount(size, (wide.low <= expected) & (expected <= wide.high), 5)
        self.of += np.bincount(size, minlength=5)
        self.means.append(told.average.low <= expected.mean() <= told.average.high)
        for k, each in zip(np.unique(size), told.sizes, strict=True):
            self.sizes.append(each.low <= expected[size == k].mean() <= each.high)
        for outcome, sign in (("helped", 1.0), ("hurt", -1.0)):
            called = told.outcome == outcome
            self.calls[outcome][0] += int(called.sum())
            self.calls[outcome][1] += int((called & (sign * expected <= 0)).sum())

    @property
    def row(self) -> list[str]:
        """The cells of a table."""
        held = [f"{h / of:.2f}" if of else "–" for h, of in zip(self.held, self.of, strict=True)]
        means = [f"{sum(each)} of {len(each)}" for each in (self.means, self.sizes)]
        return [*held, *means, *(f"{n:,} ({wrong:,})" for n, wrong in self.calls.values())]


def drawn(name: str, seeds: int) -> list[str]:
    """A row of predictions that were drawn."""
    make, given, ours, theirs = DRAWN[name]
    tally = Tally()
    for seed in range(seeds):
        stream = make(seed, tasks=800, **given)
        tally.add(stream, known.drawn(stream, 100 + seed, **ours), known.drawn(stream, 200 + seed, **theirs))
    return [name, "–", *tally.row]


def learned(name: str, seeds: int) -> list[list[str]]:
    """A row for each baseline of streams that are learned."""
    make, given = LEARNED[name]
    tallies: dict[str, Tally] = {}
    for seed in range(seeds):
        stream = make(seed, tasks=800, **given)
        labels = stream.y.dtype == bool
        model = ct.AdaptiveSharingClassifier() if labels else ct.AdaptiveSharingRegressor()
        traces = ct.compare({"together": model}, stream.X, stream.y, task=stream.task).traces
        told = {}
        for each, trace in traces.items():  # tasks are numbered as they come, and here by their names
            p = np.clip(trace.probability, 1e-9, 1 - 1e-9) if labels else trace.prediction
            told[each] = stream.trace(np.log(p / (1 - p)) if labels else p)
        for against in (each for each in BASELINES if each in told):
            tallies.setdefault(against, Tally()).add(stream, told["together"], told[against])
    return [[name, against, *tally.row] for against, tally in tallies.items()]


def nobody_gains(kind: str, seeds: int) -> list[str]:
    """A row for streams of labels of this share, or of numbers of this noise, on which no task gains or loses."""
    helped, hurt = [], []
    for seed in range(seeds):
        noise = kind if kind in known.NOISE else None
        stream = known.labels(seed, tasks=800, base=SHARES[kind]) if noise is None else known.numbers(seed, tasks=800)
        ours = known.drawn(stream, 100 + seed, off=0.3) if noise is None else known.off_by_task(stream, 100 + seed)
        theirs = known.as_good(stream, ours)
        for draw in range(10):
            labels = known.again(stream, draw, noise)
            told = verdict(labels.trace(ours.margin), labels.trace(theirs.margin))
            helped.append(len(told.helped) > 0)
            hurt.append(len(told.hurt) > 0)
    name = f"{kind} positive" if noise is None else f"numbers, noise {kind}"
    return [name, *(f"{sum(flags)} of {len(flags)}" for flags in (helped, hurt))]


def public(name: str, most: int) -> list[list[str]]:
    """A row for each baseline of a real stream."""
    data = datasets.flights(task="dest") if name == "flights" else datasets.load(name)
    order = np.arange(len(data)) if name == "flights" else np.random.default_rng(0).permutation(len(data))
    X, y, task = data.X[order[:most]], data.y[order[:most]], np.asarray(data.task)[order[:most]]
    traces = ct.compare({"together": ct.AdaptiveSharingClassifier()}, X, y, task=task).traces
    best, rows = best_baseline(traces, "together"), []
    for against in (each for each in BASELINES if each in traces):
        told = verdict(traces["together"], traces[against], constant=traces["constant"])
        gain, interval = shown_gain(told.loss, *told.average[3:])
        sizes = {each.least: f"{each.gain:.3f}" for each in told.sizes}
        calls = [f"{len(each):,}" for each in (told.helped, told.hurt)]
        shown = f"**{against}**" if against == best else against
        by_size = [sizes.get(least, "–") for least in (1, 3, 11, 51, 301)]
        rows.append([name, f"{len(told.tasks):,}", shown, gain, interval, *by_size, *calls])
    return rows


def table(name: str, heads: list[str], rows: list[list[str]], write: bool) -> None:
    """Print a table, and put it between its marks in the documentation."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    made = "\n".join(["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads), *lines]) + "\n"
    print(made, flush=True)
    if write:
        first, last = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        before, rest = PAGE.read_text(encoding="utf-8").split(first)
        _, after = rest.split(last)
        PAGE.write_text(f"{before}{first}{made}{last}{after}", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one stream of each kind, beginnings of real ones")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/appendix/tables.md")
    given = parser.parse_args()
    classes = ["1–2", "3–10", "11–50", "51–300", "more"]
    heads = ["stream", "against", *classes, "mean", "by size", "helped (wrong)", "hurt (wrong)"]
    seeds = 1 if given.quick else 4
    rows = [drawn(name, seeds) for name in DRAWN]
    table("known", heads, [*rows, *(row for name in LEARNED for row in learned(name, seeds))], given.write)
    heads = ["labels", "streams with a task called helped", "streams with a task called hurt"]
    table("nobody gains", heads, [nobody_gains(kind, seeds) for kind in [*SHARES, *known.NOISE]], given.write)
    heads = ["stream", "tasks", "against", "gain", "95 % interval", *classes, "helped", "hurt"]
    rows = [row for name in STREAMS for row in public(name, 4000 if given.quick else 60_000)]
    table("public", heads, rows, given.write)
