"""Whether tasks are called helped or hurt as surely as is said: on drawn gains, and on halves of real streams.

    python -m bench.verdict [--quick]

*Drawn*: gains of tasks normal around a mean, records of 1 to 60 a task around them with deviation 0.5; how many tasks are
called, how many of the calls have the wrong sign, how often intervals of 90 % hold the gain, and those of 95 % the mean.

*Halves*: the default learner beside one model per task and one for all tasks along a real stream; every other record of a
task is in one half, the rest in the other. Tasks are called on the first half; of those called, the mean gain over their
records of the other, and in how many of them it has the other sign there, beside how many are expected: for a half of few
records is noisy, too. The prepared data lie in the folder that COTERIE_DATA names.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import ndtr

import coterie as ct
from coterie import datasets
from coterie.evaluation.costs import losses
from coterie.evaluation.shrunken import group_means, shrink
from coterie.evaluation.verdict import verdict

DRAWN = ((4, 0.0), (4, 0.1), (20, 0.0), (20, 0.1), (200, 0.0), (200, 0.05), (200, 0.1))
STREAMS = ("school", "landmine", "chem97", "flights")


def drawn(tasks: int, mean: float, spread: float, times: int) -> list[str]:
    """A row for drawn gains."""
    rng = np.random.default_rng(tasks)
    calls = wrong = 0
    held, held_mean = [], []
    for _ in range(times):
        truth = rng.normal(mean, spread, tasks)
        task = np.repeat(np.arange(tasks), rng.integers(1, 61, tasks))
        means = group_means(truth[task] + rng.normal(0, 0.5, len(task)), task, tasks)
        found = shrink(means.mean, means.error)
        (low, high), (least, most) = found.intervals(0.95), found.interval(0.95)
        calls += int(((low > 0) | (high < 0)).sum())
        wrong += int((((low > 0) & (truth <= 0)) | ((high < 0) & (truth >= 0))).sum())
        held.append(float(((low < truth) & (truth < high)).mean()))
        held_mean.append(least < mean < most)
    of_calls = f"{100 * wrong / calls:.1f} %" if calls and spread else "–"
    share = f"{100 * calls / times / tasks:.1f} %"
    return [
        f"{tasks}",
        f"{mean:g}",
        f"{spread:g}",
        share,
        of_calls,
        f"{np.mean(held):.2f}",
        f"{np.mean(held_mean):.2f}",
    ]


def part(trace: Any, rounds: Any) -> Any:
    """Some rounds of a trace."""
    arrays = ("margin", "prediction", "mistake", "updated", "queried", "label", "task", "probability")
    return replace(trace, **{name: getattr(trace, name)[rounds] for name in arrays})


def halves(name: str, most: int) -> list[list[str]]:
    """A row for each reference of a real stream."""
    data = datasets.flights(task="dest") if name == "flights" else datasets.load(name)
    order = np.arange(len(data)) if name == "flights" else np.random.default_rng(0).permutation(len(data))
    X, y, task = data.X[order[:most]], data.y[order[:most]], np.asarray(data.task)[order[:most]]
    traces = ct.compare({"together": ct.AdaptiveSharingClassifier()}, X, y, task=task).traces
    ours = traces["together"]
    by_task = np.argsort(ours.task, kind="stable")
    first = np.zeros(ours.n, bool)
    first[by_task[::2]] = True
    rows = []
    for against in ("independent", "pooled"):
        theirs = traces[against]
        called = verdict(part(ours, first), part(theirs, first), constant=part(traces["constant"], first))
        other = group_means((losses(theirs) - losses(ours))[~first], ours.task[~first], len(ours.tasks))
        for outcome, sign in (("helped", 1.0), ("hurt", -1.0)):
            chosen = (called.outcome == outcome) & (other.n > 0)
            if not chosen.any():
                rows.append([name, against, outcome, "0", "–", "–", "–"])
                continue
            spread = (called.high - called.low) / (2 * 1.6449)
            expected = ndtr(-sign * called.gain / np.hypot(spread, other.error))[chosen].mean()
            there = np.average(other.mean[chosen], weights=other.n[chosen])
            rate = float((sign * other.mean[chosen] < 0).mean())
            share = (f"{100 * rate:.0f} %", f"{100 * expected:.0f} %")
            rows.append([name, against, outcome, f"{chosen.sum()} of {len(ours.tasks)}", f"{there:+.3f}", *share])
    return rows


def table(heads: list[str], rows: list[list[str]]) -> None:
    """Print a table."""
    print("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
    print("\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few repetitions, beginnings of streams")
    quick = parser.parse_args().quick
    heads = ["tasks", "mean", "spread", "called", "of them wrong", "90 % intervals hold", "95 % interval of the mean"]
    cases = [(tasks, mean, spread) for tasks, spread in DRAWN for mean in (0.0, 0.05)]
    table(heads, [drawn(*case, 20 if quick else 4000 // case[0]) for case in cases])
    heads = ["stream", "against", "called", "tasks", "gain on the other half", "other sign there", "expected"]
    table(heads, [row for name in STREAMS for row in halves(name, 4000 if quick else 60_000)])
