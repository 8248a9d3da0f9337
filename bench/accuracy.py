"""Error and log loss on real data, and those of twelve settings of Vowpal Wabbit on the same shuffles.

    python -m bench.accuracy [set ...] [--shuffles 5] [--write docs/appendix/accuracy.md]

One pass, every prediction made before its label; where there is no published test part, a random fifth is left out as
in the figures of others. The data sets lie in the folder that COTERIE_DATA names (``python -m papers.data``).
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from papers import data as datasets

import coterie as ct
from bench import plain, vowpal
from bench.harness import Row

SETS = ("school", "landmine", "chem97", "a9a", "amazon4", "acl4", "newsgroups_pairs")
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
OURS: dict[str, Callable[[], Any]] = {
    "Perceptron, independent": lambda: ct.MultitaskPerceptron(ct.Independent()),
    "Perceptron, pooled": lambda: ct.MultitaskPerceptron(ct.Pooled()),
    "Perceptron, half-update": ct.MultitaskPerceptron,
    "Perceptron, half-update, averaged": lambda: ct.MultitaskPerceptron(average=True),
    **{f"logistic, share {s:g}": lambda s=s: plain.MultitaskLogistic(ct.MeanRegularized(share=s)) for s in SHARES},
    "adaptive sharing": plain.AdaptiveSharingClassifier,
    "adaptive sharing, cheap": lambda: plain.AdaptiveSharingClassifier("cheap"),
    "adaptive sharing, ensemble": lambda: plain.AdaptiveSharingClassifier("ensemble"),
}
FIXED = [f"logistic, share {s:g}" for s in SHARES]
DEFAULT, ENSEMBLE = "adaptive sharing", "adaptive sharing, ensemble"
VW_DEFAULT, VW_BEST = "Vowpal Wabbit, default, crossed", "Vowpal Wabbit, best of 12 in hindsight"

PAGE = """# Accuracy on real data

`python -m bench.accuracy` writes this page. One pass; each prediction is computed before its label is learned. Numbers are
means over {} shuffles ± the standard deviation. Each row has one setting for all data sets. The exception is the best of
twelve settings of Vowpal Wabbit, chosen for each data set afterwards: logistic and hinge loss, tasks ignored and crossed
with every feature, rates 0.2, 0.5 and 1.5; 22 bits.

## Error, %

{}

## Log loss

{}

## Ratios

A ratio below one means that coterie has fewer errors, or less loss. The mean over the data sets is geometric.

{}
"""

#: From here on the page is of bench.task_rate, and stays when this script writes the page.
OTHERS = "\n## Tried and left out"

Scores = dict[str, np.ndarray]  # by learner, (shuffles,)
Table = dict[str, Scores]  # by data set


def measure(name: str, shuffles: int) -> tuple[Scores, Scores]:
    """Errors and log losses of every learner on every shuffle of a data set."""
    data = datasets.load(name)
    errors: dict[str, list[float]] = {}
    losses: dict[str, list[float]] = {}
    for seed in range(shuffles):
        order = np.random.default_rng(seed).permutation(len(data))[0 if data.test is not None else len(data) // 5 :]
        X, y, task = data.X[order], data.y[order], data.task[order]
        for learner, (margin, log_odds) in (_ours(X, y, task) | _theirs(X, y, task)).items():
            errors.setdefault(learner, []).append(100 * vowpal.error(margin, y))
            losses.setdefault(learner, []).append(np.nan if log_odds is None else vowpal.log_loss(log_odds, y))
    return _arrays(errors), _arrays(losses)


def _arrays(scores: Mapping[str, list[float]]) -> Scores:
    return {learner: np.array(each) for learner, each in scores.items()}


def _ours(X: Any, y: Any, task: Any) -> dict[str, tuple[Any, Any]]:
    traces = {name: ct.progressive_validation(make(), X, y, task=task) for name, make in OURS.items()}
    return {name: (trace.margin, _log_odds(trace.probability)) for name, trace in traces.items()}


def _log_odds(probability: Any) -> Any:
    if probability is None:
        return None
    p = np.clip(probability, 1e-15, 1 - 1e-15)
    return np.log(p) - np.log1p(-p)


def _theirs(X: Any, y: Any, task: Any) -> dict[str, tuple[Any, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "records.vw"
        vowpal.write(X, y, task, path)
        told = {setting: vowpal.learn(path, setting).margin for setting in vowpal.SETTINGS}
    return {_vw(setting): (margin, margin) for setting, margin in told.items()}


def _vw(setting: vowpal.Setting) -> str:
    return VW_DEFAULT if setting == vowpal.DEFAULT else "vw {} {} {:g}".format(*setting)


def best(scores: Scores, names: list[str]) -> str:
    """The learner with the lowest mean."""
    return min(names, key=lambda name: scores[name].mean())


def their_names() -> list[str]:
    """The names of Vowpal Wabbit's settings."""
    return [_vw(setting) for setting in vowpal.SETTINGS]


def ratio(table: Table, ours: str, theirs: Callable[[Scores], str]) -> tuple[float, dict[str, float]]:
    """Mean of ours over mean of theirs: geometrically over the sets, and for each set."""
    each = {name: scores[ours].mean() / scores[theirs(scores)].mean() for name, scores in table.items()}
    return float(np.exp(np.mean(np.log(list(each.values()))))), each


def page(errors: Table, losses: Table, shuffles: int) -> str:
    """The page: both tables and the ratios that are promised."""
    ours = [*FIXED, *list(OURS)[-6:]]
    error_rows = _rows(errors, [*OURS, VW_DEFAULT, VW_BEST], "{:.2f}")
    loss_rows = _rows(losses, [*ours, VW_DEFAULT, VW_BEST], "{:.4f}")
    tables = ("\n".join(rows) for rows in (error_rows, loss_rows, _ratios(errors, losses)))
    return PAGE.format(shuffles, *tables)


def _rows(table: Table, learners: list[str], form: str) -> list[str]:
    lines = ["| | " + " | ".join(table) + " |", "|---" * (len(table) + 1) + "|"]
    for learner in learners:
        cells = []
        for scores in table.values():
            each = scores[best(scores, their_names()) if learner == VW_BEST else learner]
            cells.append(f"{form.format(each.mean())} ± {form.format(each.std(ddof=min(1, len(each) - 1)))}")
        lines.append(f"| {learner} | " + " | ".join(cells) + " |")
    return lines


class Aim(NamedTuple):
    """A ratio that is promised: ours over a peer's, in error or in log loss."""

    what: str
    table: Table
    ours: str
    peer: Callable[[Scores], str]
    most: float


def aims(errors: Table, losses: Table) -> list[Aim]:
    def theirs(scores: Scores) -> str:
        return best(scores, their_names())

    def default(scores: Scores) -> str:
        return VW_DEFAULT

    return [
        Aim("adaptive sharing / Vowpal Wabbit's best, error", errors, DEFAULT, theirs, 0.98),
        Aim("adaptive sharing / Vowpal Wabbit's default, error", errors, DEFAULT, default, 0.95),
        Aim("ensemble / Vowpal Wabbit's best, error", errors, ENSEMBLE, theirs, 0.965),
        Aim("ensemble / Vowpal Wabbit's default, error", errors, ENSEMBLE, default, 0.935),
        Aim("adaptive sharing / Vowpal Wabbit's best, log loss", losses, DEFAULT, theirs, 0.96),
        Aim("adaptive sharing / best fixed share, error", errors, DEFAULT, lambda scores: best(scores, FIXED), 1.01),
    ]


def _ratios(errors: Table, losses: Table) -> list[str]:
    lines = ["| | " + " | ".join(errors) + " | mean | aim |", "|---" * (len(errors) + 3) + "|"]
    for aim in aims(errors, losses):
        mean, each = ratio(aim.table, aim.ours, aim.peer)
        cells = " | ".join(f"{value:.3f}" for value in each.values())
        lines.append(f"| {aim.what} | {cells} | {mean:.3f} | {aim.most} |")
    return lines


def rows(quick: bool) -> Iterator[Row]:
    """The promised ratios, of one shuffle of each set, or of the smallest set."""
    measured = {name: measure(name, 1) for name in (("landmine",) if quick else SETS)}
    errors, losses = ({name: each[k] for name, each in measured.items()} for k in (0, 1))
    for aim in aims(errors, losses):
        mean, each = ratio(aim.table, aim.ours, aim.peer)
        spread = f"{min(each.values()):.3f} to {max(each.values()):.3f}"
        what = f"{aim.what}, geometric mean of {len(each)} sets"
        yield Row(what, f"≤ {aim.most:g}", "", ratio=f"{mean:.3f}", spread=spread, reached=mean <= aim.most)


def main() -> None:
    """Measure, print, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--shuffles", type=int, default=5)
    parser.add_argument("--write", type=Path)
    asked = parser.parse_args()
    errors, losses = {}, {}
    for name in asked.sets or SETS:
        errors[name], losses[name] = measure(name, asked.shuffles)
        print(name, {learner: round(float(each.mean()), 3) for learner, each in errors[name].items()}, flush=True)
    text = page(errors, losses, asked.shuffles)
    print(text)
    if asked.write:
        _, heading, others = asked.write.read_text().partition(OTHERS) if asked.write.exists() else ("", "", "")
        asked.write.write_text(text + heading + others)


if __name__ == "__main__":
    main()
