"""Made-up comparisons whose truth is known, for tests that need traces but no learner."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from coterie.evaluation.baselines import LabelBaselines
from coterie.evaluation.trace import Trace


@dataclass(frozen=True)
class SampleComparison:
    traces: dict[str, Trace]
    models: dict[str, Any]
    seconds: dict[str, float]
    reference_names: tuple[str, str] = ("independent", "pooled")
    requested: tuple[str, ...] = ()


@dataclass(frozen=True)
class SampleReading:
    source: str
    rows: int
    skipped: int
    skipped_examples: tuple[str, ...]
    columns: dict[str, list[str]]
    dropped: dict[str, str]
    unlabelled: int = 0


def trace(margin, positive, task, tasks, classes=("no", "yes"), probability=None):
    """A trace whose mistakes and predictions follow from its margins."""
    classes = np.asarray(classes)
    label, prediction = classes[positive.astype(int)], classes[(margin >= 0).astype(int)]
    mistake = np.where(positive, margin, -margin) <= 0
    all_rounds = np.ones_like(mistake)
    return Trace(margin, prediction, mistake, mistake, all_rounds, label, task, tuple(tasks), classes, probability)


def cut(trace, rounds):
    """Some of the rounds of a trace."""
    names = ("margin", "prediction", "mistake", "updated", "queried", "label", "task", "probability", "blind")
    return replace(trace, **{name: getattr(trace, name)[rounds] for name in names if getattr(trace, name) is not None})


def from_mistakes(mistake, task=None, tasks=None):
    """A trace with the given mistakes, every other label positive."""
    mistake = np.asarray(mistake, dtype=bool)
    positive = np.arange(len(mistake)) % 2 == 0
    task = np.zeros(len(mistake), dtype=np.int64) if task is None else np.asarray(task, dtype=np.int64)
    tasks = range(int(task.max(initial=0)) + 1) if tasks is None else tasks
    return trace(np.where(mistake == positive, -1.0, 1.0), positive, task, tasks)


def comparison(n=20_000, n_tasks=60, seed=0, names=None, n_odd=3):
    """Three learners over one stream: tasks learn slowly alone, fast together; ``n_odd`` tasks are unlike the rest."""
    rng = np.random.default_rng(seed)
    share = rng.dirichlet(np.full(n_tasks, 0.7)) * 0.8 + 0.2 / n_tasks
    task = rng.choice(n_tasks, size=n, p=share).astype(np.int64)
    seen = _seen_before(task, n_tasks)
    positive, common = rng.random(n) < 0.35, rng.standard_normal(n)
    unlike = np.isin(task, np.argsort(-share)[3 : 3 + n_odd])
    rates = {
        "independent": 0.15 + 0.3 / (1 + seen / 30),
        "pooled": 0.19 + 0.2 / (1 + np.arange(n) / 300) + 0.2 * unlike,
        "half-shared": 0.17 + 0.2 / (1 + np.arange(n) / 400) + 0.05 * unlike,
    }
    tasks = tuple(f"N{100 + 7 * i}" for i in range(n_tasks)) if names is None else tuple(names)
    traces = {
        name: _noisy_trace(rng, rate, positive, common, task, tasks, with_probability=name != "pooled")
        for name, rate in rates.items()
    }
    models = dict.fromkeys(traces)
    baselines = LabelBaselines(has_tasks=False).predict_next(traces["independent"])
    return SampleComparison(traces | baselines, models, {"independent": 0.21, "pooled": 0.17, "half-shared": 0.3})


def reading():
    return SampleReading(
        source="flights-2013.csv",
        rows=20_000,
        skipped=2,
        skipped_examples=("flights-2013.csv:17: column 'dep': 'NA' is not a number", "flights-2013.csv:90: 9 columns"),
        columns={"task": ["tailnum"], "label": ["late"], "numeric": ["hour", "distance"], "text": ["origin"]},
        dropped={"dep_delay": "holds the label: known only after departure", "year": "always 2013"},
    )


def _noisy_trace(rng, rate, positive, common, task, tasks, with_probability):
    strength = -ndtri(rate) + 0.8 * common + 0.6 * rng.standard_normal(len(rate))
    margin = np.where(positive, strength, -strength)
    return trace(margin, positive, task, tasks, probability=ndtr(margin) if with_probability else None)


def _seen_before(task, n_tasks):
    """How many earlier rounds each round's task has had."""
    order = np.argsort(task, kind="stable")
    counts = np.bincount(task, minlength=n_tasks)
    seen = np.empty(len(task), dtype=np.int64)
    seen[order] = np.arange(len(task)) - (np.cumsum(counts) - counts)[task[order]]
    return seen
