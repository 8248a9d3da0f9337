"""Online error and F1 on six real data sets: one model a task, one for all, half-update, and the best b in hindsight.

One pass over the training records of each set, shuffled five times; every record is predicted before it is learned.
Where no test part is published, a random fifth is held out before the shuffle. Writes docs/appendix/real-data.md.

    python -m bench.real_data            # all, a few minutes
    python -m bench.real_data school     # one set, printed and not written

Needs the folder of prepared data sets that the environment variable COTERIE_DATA names.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from papers import data as datasets

import coterie as ct
from coterie.evaluation.metrics import evaluate

SETS = ("school", "landmine", "chem97", "amazon4", "acl4", "newsgroups_pairs")
SHUFFLES = 5
B_OVER_K = (1 / 8, 1 / 4, 1 / 2, 2, 8, 32)
RULES = {
    "Perceptron": {},
    "averaged Perceptron": {"average": True},
    "PA-I, C = 1": {"rule": ct.rules.PassiveAggressive(C=1.0)},
}
PAGE = Path(__file__).parent.parent / "docs" / "appendix" / "real-data.md"


def parts(found: datasets.dataset.Dataset, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Places of the records to learn, shuffled, and of those held out."""
    order = np.random.default_rng(seed).permutation(len(found.y))
    held = 0 if found.test is not None else len(order) // 5
    return order[held:], order[:held]


def one_pass(found: datasets.dataset.Dataset, seed: int, relation: object, options: dict) -> tuple[float, float, float]:
    """Online error, online F1 and held-out error of one learner on one shuffle, in per cent."""
    learn, hold = parts(found, seed)
    model = ct.MultitaskPerceptron(relation, **options)
    known = np.unique(found.task).tolist()
    trace = ct.progressive_validation(model, found.X[learn], found.y[learn], task=found.task[learn], tasks=known)
    test = found.test
    X, y, task = (found.X[hold], found.y[hold], found.task[hold]) if test is None else (test.X, test.y, test.task)
    measures = evaluate(trace).micro
    return 100 * measures["error"], 100 * measures["f1"], 100 - 100 * model.score(X, y, task)


def row(found: datasets.dataset.Dataset, options: dict) -> list[tuple[str, np.ndarray]]:
    """Mean and deviation over the shuffles of each measure, for each relation; b is the best for the online error."""
    K = len(set(found.task.tolist()))
    relations = {"independent": ct.Independent(), "pooled": ct.Pooled(), "half-update": ct.HalfUpdate()}
    results = [(name, results_of(found, relation, options)) for name, relation in relations.items()]
    tried = [(f"b = {share:g}·K", results_of(found, ct.MeanRegularized(b=share * K), options)) for share in B_OVER_K]
    best = min([*tried, ("b = K", results[2][1])], key=lambda each: each[1][:, 0].mean())
    return [*results, best]


def results_of(found: datasets.dataset.Dataset, relation: object, options: dict) -> np.ndarray:
    return np.array([one_pass(found, seed, relation, options) for seed in range(SHUFFLES)])


def table(measure: int, results: dict[str, dict[str, list]]) -> list[str]:
    """One measure as a table in Markdown."""
    lines = ["| set | rule | independent | pooled | half-update | best b in hindsight |", "|---|---|---|---|---|---|"]
    for name, rules in results.items():
        for rule, found in rules.items():
            cells = [f"{values[:, measure].mean():.2f} ± {values[:, measure].std(ddof=1):.2f}" for _, values in found]
            lines.append(f"| {name} | {rule} | {' | '.join(cells)} ({found[-1][0]}) |")
    return lines


def page(results: dict[str, dict[str, list]]) -> str:
    titles = ("Online error, %", "Online F1, %", "Held-out error after the pass, %")
    text = [
        "# Does learning together help? Six real data sets",
        "",
        "One pass, predict and then learn, five shuffles: mean ± standard deviation over them. A row of features has",
        "unit length; `papers.data.load(name)` prepares each set. The best b is chosen in hindsight by online error.",
        "Written by `python -m bench.real_data`; no figure here was typed by hand.",
    ]
    for measure, title in enumerate(titles):
        text += ["", f"## {title}", "", *table(measure, results)]
    return "\n".join(text) + "\n"


def main(names: list[str]) -> None:
    results: dict[str, dict[str, list]] = {}
    for name in names or SETS:
        found = datasets.load(name)
        results[name] = {rule: row(found, options) for rule, options in RULES.items()}
        print("\n".join(table(0, {name: results[name]})[2:]), flush=True)
    if not names:
        PAGE.write_text(page(results), encoding="utf-8")
        print(f"wrote {PAGE}")


if __name__ == "__main__":
    main(sys.argv[1:])
