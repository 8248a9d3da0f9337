"""The running mean of each task, shrunk to that of all, straight from its definition."""

from collections.abc import Hashable, Sequence
from math import inf, log
from typing import Any

STRENGTHS = (inf, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1)
EPS = 2.0**-52


def shrunken(of_task: float, n: int, mean: float, strength: float) -> float:
    return mean if strength == inf else (of_task + strength * mean) / (n + strength)


def numbers(y: Sequence[float], task: Sequence[Hashable], delay: int) -> list[float]:
    """Predict each number by the strength of least squared error over the labels that came before."""
    table: list[list[float]] = []
    result = []
    for t in range(len(y)):
        come = range(max(t - delay, 0))
        own = [y[s] for s in come if task[s] == task[t]]
        mean = sum(y[s] for s in come) / max(len(come), 1)
        table.append([shrunken(sum(own), len(own), mean, strength) for strength in STRENGTHS])
        errors = [sum((y[s] - table[s][k]) ** 2 for s in come) for k in range(len(STRENGTHS))]
        result.append(table[t][errors.index(min(errors))])
    return result


def rates(y: Sequence[Any], task: Sequence[Hashable], delay: int, two: Sequence[Any] = ()) -> list[dict[Any, float]]:
    """The rate of each label that came, or of two labels, by the strength of least log loss over the labels before."""
    table: list[list[dict[Any, float]]] = []
    result = []
    for t in range(len(y)):
        come = [y[s] for s in range(max(t - delay, 0))]
        own = [y[s] for s in range(max(t - delay, 0)) if task[s] == task[t]]
        labels = two or dict.fromkeys(come)
        mean = {label: (come.count(label) + 0.5) / (len(come) + 0.5 * len(labels)) for label in labels}
        table.append(
            [
                {label: shrunken(own.count(label), len(own), mean[label], strength) for label in labels}
                for strength in STRENGTHS
            ]
        )
        losses = [
            sum(-log(min(max(table[s][k].get(y[s], 0.0), EPS), 1 - EPS)) for s in range(len(come)))
            for k in range(len(STRENGTHS))
        ]
        result.append(table[t][losses.index(min(losses))])
    return result


def likelier(y: Sequence[Any], task: Sequence[Hashable], delay: int) -> list[Any]:
    """The likelier of the task's most frequent label and that of all tasks; of several, the first to be so."""
    result = []
    for t, rate in enumerate(rates(y, task, delay)):
        come = range(max(t - delay, 0))
        own, whole = leader([y[s] for s in come if task[s] == task[t]]), leader([y[s] for s in come])
        result.append(own if rate.get(own, 0.0) > rate.get(whole, 0.0) else whole)
    return result


def leader(labels: Sequence[Any]) -> Any:
    """The most frequent label, of equally frequent ones the first to be so."""
    counts: dict[Any, int] = {}
    best = None
    for label in labels:
        counts[label] = counts.get(label, 0) + 1
        if best is None or counts[label] > counts[best]:
            best = label
    return best
