"""The default learner with each task's rate so far as one more feature, over the default: error and log loss.

    python -m bench.task_rate [set ...] [--shuffles 3] [--delay 300] [--members tabular]

The feature is 0.3 · logit((m + 10 p) / (c + 10)), known before the label: of the c labels of the task so far m were
positive, and p is the part of all that were. It stands behind the entries of a record, which has unit length. One pass,
every prediction made before its label; with ``--delay`` labels come so many records late, for both, and the rate is of
those that have come. The data sets lie in the folder that COTERIE_DATA names; flights come with the package.
"""

from __future__ import annotations

import argparse
from collections import deque
from math import log
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, hstack, issparse

import coterie as ct
from bench import plain
from bench.tabular import SETS, load

#: Sets of texts, which trees do not learn.
TEXTS = ("amazon4", "acl4", "newsgroups_pairs")
SCALE, PRIOR = 0.3, 10.0
#: What it must gain to be part of the default: the geometric mean of log losses over the default's, and any error.
WANTED, WORST = 0.99, 1.01

TABLE = """{members}, {shuffles} shuffles; with the rate / without, by means over shuffles

| set | error, % | log loss | error | log loss | error, {delay} late | log loss, {delay} late |
|---|---|---|---|---|---|---|
{rows}
| **geometric mean** | | | {means} |
"""


class Told(NamedTuple):
    """Error in %, and log loss."""

    error: float
    loss: float


def rates(y: Any, task: Any, delay: int) -> Any:
    """The feature of each record: its task's log-odds by the labels that have come, drawn to those of all."""
    counts, (n, positive) = np.zeros((int(task.max()) + 1, 2)), (0.0, 0.0)
    made, waiting = np.zeros(len(y)), deque[int]()
    for t, i in enumerate(task.tolist()):
        p = (positive + 1.0) / (n + 2.0)
        c, m = counts[i]
        made[t] = SCALE * log((m + PRIOR * p) / (c - m + PRIOR * (1.0 - p)))
        waiting.append(t)
        if len(waiting) > delay:
            s = waiting.popleft()
            label = float(y[s] > 0)
            counts[task[s]] += 1.0, label
            n, positive = n + 1.0, positive + label
    return made


def beside(X: Any, column: Any) -> Any:
    """Records with one more feature."""
    return csr_array(hstack([X, column[:, None]])) if issparse(X) else np.column_stack([X, column])


def told(members: str | None, X: Any, y: Any, task: Any, delay: int) -> Told:
    """What a mixture makes of a stream."""
    margin = ct.progressive_validation(plain.AdaptiveSharingClassifier(members), X, y, task=task, delay=delay).margin
    return Told(100 * float((margin * y <= 0).mean()), float(np.logaddexp(0.0, -margin * y).mean()))


def measure(name: str, members: str | None, shuffles: int, delay: int) -> Any:
    """Error and log loss, shape (2 delays, without and with the rate, 2), means over shuffles."""
    found = np.zeros((shuffles, 2, 2, 2))
    for seed in range(shuffles):
        X, y, task = load(name, seed)
        for k, late in enumerate((0, delay)):
            found[seed, k] = [told(members, records, y, task, late) for records in (X, beside(X, rates(y, task, late)))]
    return found.mean(axis=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=[*SETS, *TEXTS])
    parser.add_argument("--shuffles", type=int, default=3)
    parser.add_argument("--delay", type=int, default=300)
    parser.add_argument("--members")
    asked = parser.parse_args()
    lines, ratios = [], []
    for name in asked.sets:
        scores = measure(name, asked.members, asked.shuffles, asked.delay)
        ratios.append((scores[:, 1] / scores[:, 0]).ravel())
        shown = " | ".join(f"{each:.4f}" for each in ratios[-1])
        lines.append(f"| {name} | {scores[0, 0, 0]:.2f} | {scores[0, 0, 1]:.4f} | {shown} |")
        print(lines[-1], flush=True)
    means = np.exp(np.mean(np.log(ratios), axis=0))
    members = asked.members or "default"
    table = TABLE.format(
        members=members,
        shuffles=asked.shuffles,
        delay=asked.delay,
        rows="\n".join(lines),
        means=" | ".join(f"{each:.4f}" for each in means),
    )
    print(f"\n{table}")
    worst = np.max(ratios, axis=0)
    print(f"Log loss {means[1]:.4f}, {means[3]:.4f} late; wanted is {WANTED} at most.")
    if len(ratios) > 1:
        most = int(np.argmin(np.array(ratios)[:, 1]))
        others = np.exp(np.mean(np.log(np.delete(ratios, most, axis=0)), axis=0))
        print(f"Without {asked.sets[most]}, which gains most: {others[1]:.4f}, {others[3]:.4f} late.")
    print(f"Largest error {worst[0]:.4f}, {worst[2]:.4f} late; wanted is {WORST} at most.")


if __name__ == "__main__":
    main()
