"""Forgetting on a real dated stream, the reviews of acl4 in the order of their dates, and on the same reviews shuffled.

    python -m bench.drift [--write] [--late]

One pass, every prediction made before its label; the task is the kind of product. Half-lives are in reviews, of what is
shared and of what is a task's own apart. Beside the dates the same reviews in random order, where there is no drift, and
a stream whose truth is drawn anew every thousand records, where there is much. ``--write`` puts the tables into
docs/appendix/tables.md. The prepared data lie in the folder that COTERIE_DATA names.

The last table is of labels that come late: flights in their order, whether they are late, a task a destination, each label
held back for so many flights. ``--late`` makes it alone; flights come with the package.
"""

from __future__ import annotations

import argparse
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
from papers import data as datasets
from scipy.sparse import csr_array

import coterie as ct
from bench import plain
from bench.harness import prepared

PAGE = Path(__file__).parent.parent / "docs" / "appendix" / "tables.md"
HALF_LIVES = (math.inf, 8000.0, 4000.0, 2000.0, 1000.0, 500.0)
MODELS = {
    "logistic": plain.MultitaskLogistic,
    "AROW(3)": lambda half_life: plain.MultitaskAROW(r=3, half_life=half_life),
    "PA-I": lambda half_life: ct.MultitaskPerceptron(rule=ct.updates.PassiveAggressive(), half_life=half_life),
}
SEEDS = 5
#: How many flights later a label comes.
DELAYS = (0, 300, 1000, 4000)
Stream = tuple[Any, np.ndarray, np.ndarray]


def reviews() -> tuple[Stream, np.ndarray]:
    """The dated reviews of acl4, log(1 + count) of unit length, and their days."""
    data = prepared("acl4_bigram_counts")
    starts = np.concatenate([[0], np.cumsum(data["rowlen"], dtype=np.int64)])
    total = np.cumsum(data["gap"], dtype=np.int64)
    before = np.concatenate([[0], total])[starts[:-1]]  # each record's first gap is its first column
    columns = total - np.repeat(before, data["rowlen"])
    X = csr_array((np.log1p(data["data"].astype(float)), columns, starts), shape=(len(data["y"]), int(data["ncol"])))
    lengths = np.sqrt(X.multiply(X).sum(axis=1))
    X = csr_array(X.multiply(1.0 / lengths[:, None]))
    dated = np.flatnonzero(data["date"] > 0)
    return (X[dated], np.where(data["y"][dated] > 0, 1, -1), data["task"][dated]), data["date"][dated]


def ordered(stream: Stream, order: np.ndarray) -> Stream:
    """The records in another order."""
    return stream[0][order], stream[1][order], stream[2][order]


def synthetic(seed: int, n: int = 8000, every: int = 1000, d: int = 20, n_tasks: int = 10) -> Stream:
    """Half-shared linear truths, drawn anew every so many records."""
    rng = np.random.default_rng(seed)
    X, task, when = rng.standard_normal((n, d)), rng.integers(n_tasks, size=n), np.arange(n) // every
    truths = rng.standard_normal((n // every, 1, d)) + rng.standard_normal((n // every, n_tasks, d))
    y = np.where(np.einsum("td,td->t", truths[when, task], X) > 0, 1, -1)
    return X / np.linalg.norm(X, axis=1)[:, None], y, task


def error(make: Any, half_life: Any, streams: list[Stream]) -> tuple[float, float]:
    """Mean online error in % and its deviation over the streams."""
    found = [
        100 * ct.progressive_validation(make(half_life=half_life), X, y, task=task).error for X, y, task in streams
    ]
    return float(np.mean(found)), float(np.std(found, ddof=1)) if len(found) > 1 else math.nan


def table(streams: dict[str, list[Stream]]) -> str:
    """One half-life for both parts: a row a half-life, columns by stream and model."""
    heads = [f"{model}, {name}" for name in streams for model in MODELS]
    lines = ["| half-life | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
    for half_life in HALF_LIVES:
        cells = [_cell(*error(make, half_life, each)) for each in streams.values() for make in MODELS.values()]
        lines.append(f"| {_named(half_life)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def apart(streams: list[Stream]) -> str:
    """The half-lives of the shared and the own part apart, logistic."""
    lines = ["| shared \\ own | " + " | ".join(map(_named, HALF_LIVES)) + " |", "|---" * (len(HALF_LIVES) + 1) + "|"]
    for shared in HALF_LIVES:
        cells = [f"{error(plain.MultitaskLogistic, (shared, own), streams)[0]:.2f}" for own in HALF_LIVES]
        lines.append(f"| {_named(shared)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def late() -> str:
    """Errors of a constant and of the default, by how late labels come."""
    data = datasets.flights(task="dest")
    lines = ["| labels late by | the more frequent label so far | the default |", "|---|---|---|"]
    for delay in DELAYS:
        trace = ct.progressive_validation(ct.AdaptiveSharingClassifier(), data.X, data.y, task=data.task, delay=delay)
        lines.append(f"| {delay:,} | {constant_error(data.y, delay):.2f} | {100 * trace.error:.2f} |")
    return "\n".join(lines)


def constant_error(y: np.ndarray, delay: int) -> float:
    """Mean error in % of the label that is more frequent among those that have come, the larger one of ties."""
    positive = y == y.max()
    behind = np.concatenate([np.zeros(1 + delay), np.cumsum(np.where(positive, 1, -1))])[: len(y)]
    return float(100 * np.mean((behind >= 0) != positive))


def _cell(mean: float, deviation: float) -> str:
    return f"{mean:.2f}" if math.isnan(deviation) else f"{mean:.2f} ± {deviation:.2f}"


def _named(half_life: float) -> str:
    return "never" if half_life == math.inf else f"{half_life:,.0f}"


def main() -> None:
    """Measure, print, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--late", action="store_true")
    asked = parser.parse_args()
    tables = ({} if asked.late else dict(enumerate(dated_tables()))) | {2: late()}
    print("\n\n".join(tables.values()))
    if asked.write:
        text = PAGE.read_text()
        for n, made in tables.items():
            mark = f"<!-- bench.drift {n} -->"
            text = re.sub(
                rf"{mark}.*?{mark}", lambda _, made=made, mark=mark: f"{mark}\n{made}\n{mark}", text, flags=re.S
            )
        PAGE.write_text(text)


def dated_tables() -> list[str]:
    """The tables of half-lives."""
    stream, day = reviews()
    # reviews of one day in random order: only the days are known
    dated = [ordered(stream, np.lexsort((np.random.default_rng(s).random(len(day)), day))) for s in range(SEEDS)]
    shuffled = [ordered(stream, np.random.default_rng(s).permutation(len(day))) for s in range(SEEDS)]
    print(f"{len(day)} dated reviews over {day.max() - day.min():.0f} days")
    drawn = [synthetic(s) for s in range(SEEDS)]
    return [table({"by date": dated, "shuffled": shuffled, "drawn anew": drawn}), apart(dated)]


if __name__ == "__main__":
    main()
