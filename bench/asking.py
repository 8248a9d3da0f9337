"""Labels that asking saves on real data, beside labels taken at random.

    python -m bench.asking [set ...] [--shuffles 5] [--write docs/appendix/asked.md]

A model goes once through the training records and learns from the labels it asks for; its error is then taken on
records held out (the published test part, else a random fifth). Random asking draws the curve of that error over the
number of labels; where the curve first is as low as the asking model's error is the number of labels that random asking
needs for the same. The data sets lie in the folder that COTERIE_DATA names.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from papers import data as datasets

import coterie as ct
from bench import plain

SETS = ("school", "landmine", "chem97", "amazon4", "acl4", "newsgroups_pairs")
RATES = (0.02, 0.04, 0.06, 0.08, 0.1, 0.14, 0.2, 0.28, 0.4, 0.55, 0.75, 1.0)
CONSTANTS = (0.1, 0.3, 1.0)
MODELS: dict[str, Callable[[], Any]] = {
    "logistic": plain.MultitaskLogistic,
    "AROW, r = 10": plain.MultitaskAROW,
    "averaged PA-I": lambda: ct.MultitaskPerceptron(rule=ct.rules.PassiveAggressive(), average=True),
}
LEARNED: dict[str, Callable[[], Any]] = {
    "as printed": lambda: ct.MultitaskPerceptron(ct.LogDet(eta=1e-4)),
    "as printed, EPOCH 0.5": lambda: ct.MultitaskPerceptron(ct.relations.Primed(ct.LogDet(eta=1e-4), 0.5)),
    "step_norm, EPOCH 0.05": lambda: ct.MultitaskPerceptron(
        ct.relations.Primed(ct.LogDet(eta=1e-3, step_norm=True), 0.05)
    ),
}
MOST_TASKS = 200  # each revision of the relation costs an inversion

PAGE = """# Labels asked for on real data

Written by `python -m bench.asking`. One pass over shuffled training records, means over {} shuffles; the error is that on
records held out. *Random needs* is the number of labels with which asking at random first has the same error,
interpolated linearly between {} rates; ">" if it is not as good with all labels. *Saved* is relative to it.

## Margin(c), against asking at random

{}

Saved at c = 0.3, in the mean over the sets where random asking gets there at all: {}.

## RelationRow, against Margin(c) with as many labels

`MultitaskPerceptron` under `LogDet`, as printed with eta 1e-4, or with `step_norm` and eta 1e-3; `RelationRow(scale=K²)`,
without which hardly anything would be asked for. *b shrinks* by the factor between the row sums of A, in the mean over
tasks, before the first round (1/K) and after the last; *early* is the share of the labels that were asked for in the first
tenth of the rounds. The c of the control is such that it asks for as many labels, within 2 % where there is such a c. As
printed the recursion feeds itself ([Learned relations](../relations.md#learned-relations)), which spoils the errors of its rows whatever
asks; sets of more than {} tasks are left out.

{}
"""


class Part(NamedTuple):
    """Records of one shuffle: to learn from, and held out."""

    X: Any
    y: Any
    task: Any
    held: tuple[Any, Any, Any]


class Run(NamedTuple):
    """What a pass came to."""

    labels: float
    error: float
    early: float
    shrunk: tuple[float, float]


def part(found: Any, seed: int) -> Part:
    """One shuffle."""
    order = np.random.default_rng(seed).permutation(len(found.y))
    out = 0 if found.test is not None else len(order) // 5
    test, hold, learn = found.test, order[:out], order[out:]
    held = (found.X[hold], found.y[hold], found.task[hold]) if test is None else (test.X, test.y, test.task)
    return Part(found.X[learn], found.y[learn], found.task[learn], held)


def go(make: Callable[[], Any], ask: Any, data: Part, seed: int) -> Run:
    """One pass of a model that asks."""
    model = ct.SelectiveSampling(make(), ask, seed=seed)
    X, y, task = data.held
    trace = ct.progressive_validation(model, data.X, data.y, task=data.task, tasks=np.unique(data.task).tolist())
    early = trace.queried[: trace.n // 10].sum() / max(trace.queries, 1)
    return Run(trace.queries, 100 - 100 * model.score(X, y, task), early, (np.nan, np.nan))


def mean(make: Callable[[], Any], ask: Any, parts: list[Part]) -> Run:
    """The mean over the shuffles."""
    runs = [go(make, ask, data, seed) for seed, data in enumerate(parts)]
    labels, error, early = (float(np.mean([run[i] for run in runs])) for i in range(3))
    return Run(labels, error, early, (np.nan, np.nan))


def needed(curve: list[Run], error: float) -> float:
    """Labels at which random asking is first as good as that; inf where it never is."""
    labels, errors = np.array([run.labels for run in curve]), np.minimum.accumulate([run.error for run in curve])
    if errors[-1] > error:
        return np.inf
    k = int(np.argmax(errors <= error))
    if k == 0:
        return float(labels[0])
    share = (errors[k - 1] - error) / (errors[k - 1] - errors[k])
    return float(labels[k - 1] + share * (labels[k] - labels[k - 1]))


def savings(name: str, parts: list[Part]) -> tuple[list[str], dict[str, float]]:
    """Rows of the first table for a data set, and what c = 0.3 saves by model."""
    rows, saved = [], {}
    n = len(parts[0].y)
    for model, make in MODELS.items():
        curve = [mean(make, ct.asking.Randomly(rate=rate), parts) for rate in RATES]
        for c in CONSTANTS:
            run = mean(make, ct.asking.Margin(c=c), parts)
            random = needed(curve, run.error)
            part_saved = 1 - run.labels / random if np.isfinite(random) else np.nan
            shown = f"{random:,.0f} | {100 * part_saved:.0f} %" if np.isfinite(random) else f"> {n:,} | –"
            rows.append(
                f"| {name} | {model} | {c:g} | {run.labels:,.0f} of {n:,} | {run.error:.2f} % | "
                f"{curve[-1].error:.2f} % | {shown} |"
            )
            if c == 0.3:
                saved[model] = part_saved
            print(rows[-1], flush=True)
    return rows, saved


def row_sums(model: Any) -> float:
    """The mean over tasks of b_i = Σ_j |A_ij|."""
    return float(np.abs(np.linalg.inv(model.relation_matrix_)).sum(axis=1).mean())


def by_row(make: Callable[[], Any], data: Part, seed: int) -> Run:
    """A pass that asks by the relation's rows, with their sums at its start and at its end."""
    n_tasks = len(np.unique(data.task))
    model = ct.SelectiveSampling(make(), ct.asking.RelationRow(scale=n_tasks**2), seed=seed)
    trace = ct.progressive_validation(model, data.X, data.y, task=data.task, tasks=np.unique(data.task).tolist())
    X, y, task = data.held
    early = trace.queried[: trace.n // 10].sum() / max(trace.queries, 1)
    return Run(trace.queries, 100 - 100 * model.score(X, y, task), early, (1 / n_tasks, row_sums(model)))


def constant_for(make: Callable[[], Any], labels: float, parts: list[Part]) -> tuple[float, Run]:
    """The c with which as many labels are asked for, by halving the interval of its logarithm."""
    low, high = -12.0, 12.0
    for _ in range(24):
        c = float(np.exp((low + high) / 2))
        run = mean(make, ct.asking.Margin(c=c), parts)
        if abs(run.labels - labels) <= 0.02 * labels:
            break
        low, high = ((low + high) / 2, high) if run.labels < labels else (low, (low + high) / 2)
    return c, run


def rows_of_relations(name: str, parts: list[Part]) -> list[str]:
    """Rows of the second table for a data set."""
    rows = []
    for model, make in LEARNED.items():
        runs = [by_row(make, data, seed) for seed, data in enumerate(parts)]
        labels, error, early = (float(np.mean([run[i] for run in runs])) for i in range(3))
        before, after = (float(np.mean([run.shrunk[i] for run in runs])) for i in range(2))
        c, control = constant_for(make, labels, parts)
        random = mean(make, ct.asking.Randomly(rate=labels / len(parts[0].y)), parts)
        full = mean(make, ct.asking.Always(), parts)
        rows.append(
            f"| {name} | {model} | {before / after:.2g}× | {labels:,.0f} of "
            f"{len(parts[0].y):,} | {100 * early:.0f} % | {error:.2f} % | {control.error:.2f} % (c = {c:.2g}, "
            f"{100 * control.early:.0f} % early) | {random.error:.2f} % | {full.error:.2f} % |"
        )
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    """Measure, print, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--shuffles", type=int, default=5)
    parser.add_argument("--write", type=Path)
    asked = parser.parse_args()
    first = ["| set | model | c | labels | error | with all labels | random needs | saved |", "|---" * 8 + "|"]
    second = [
        "| set | relation | b shrinks | labels | early | error | Margin(c) | random | all labels |",
        "|---" * 9 + "|",
    ]
    saved: dict[str, list[float]] = {model: [] for model in MODELS}
    for name in asked.sets or SETS:
        found = datasets.load(name)
        parts = [part(found, seed) for seed in range(asked.shuffles)]
        rows, each = savings(name, parts)
        first += rows
        for model, value in each.items():
            saved[model].append(value)
        if len(np.unique(found.task)) <= MOST_TASKS:
            second += rows_of_relations(name, parts)
    means = ", ".join(
        f"{model} {100 * np.nanmean(values):.0f} % ({np.isfinite(values).sum()} of {len(values)} sets)"
        for model, values in saved.items()
    )
    text = PAGE.format(asked.shuffles, len(RATES), "\n".join(first), means, MOST_TASKS, "\n".join(second))
    print(text)
    if asked.write:
        asked.write.write_text(text)


if __name__ == "__main__":
    main()
