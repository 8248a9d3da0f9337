"""The summary of a comparison: the errors of all learners, and the tasks helped by multitask learning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from coterie.types import Json
from coterie.wording import NONE, counted, none_for_nan, percent, spoken

from .baselines import CONSTANT
from .comparison import asked_for, baselines_among
from .costs import RATES
from .metrics import evaluate, format_measures, measures_with_values
from .stream_model import goes_on, stream_model_of
from .verdict import ERRS_LESS, Sums, Verdict, conclusion, reserve, shown_gain, tasks_called

if TYPE_CHECKING:
    from .comparison import Comparison
    from .trace import Trace


@dataclass(frozen=True)
class Summary:
    """The summary of a comparison from the view of one learner.

    Attributes
    ----------
    comparison : Comparison
        The learners.
    learner : str
        The learner that the summary is about.
    metrics : dict of str to dict of str to float
        The metrics of each learner and of the ``"constant"``, by name, see :func:`coterie.evaluation.metrics.evaluate`.
    against : dict of str to Verdict
        The verdicts on ``learner`` against each of the others and the constant; empty if ``"independent"`` did not run.
    best : str
        The best of the baselines, see :func:`coterie.evaluation.comparison.best_baseline`; empty if none ran.
    """

    comparison: Comparison
    learner: str
    metrics: dict[str, dict[str, float]]
    against: dict[str, Verdict]
    best: str

    @property
    def trace(self) -> Trace:
        """The trace of the learner."""
        return self.comparison.traces[self.learner]

    @property
    def alone(self) -> str:
        """The name of the baseline without sharing between tasks."""
        return self.comparison.reference_names[0]

    @property
    def has_views(self) -> bool:
        """True for records of several views, which have no tasks."""
        model = self.comparison.models.get(self.learner)
        return goes_on(model) and not stream_model_of(model).learner.traits.has_tasks

    @property
    def labels(self) -> dict[str, int]:
        """The number of queried labels of each learner."""
        return {name: trace.queries for name, trace in self.comparison.traces.items()}

    @property
    def examples(self) -> int:
        """The number of records."""
        return self.trace.n

    @property
    def tasks(self) -> int:
        """The number of tasks."""
        return len(self.trace.tasks)

    @property
    def verdict(self) -> Verdict:
        """The verdict on the learner against the baseline without sharing."""
        return self.against[self.alone]

    @property
    def stream(self) -> str:
        """The numbers of records and tasks, as text."""
        examples = counted(self.examples, "example")
        return examples if self.has_views else f"{examples} of {counted(self.tasks, 'task')}"

    @property
    def sentences(self) -> list[str]:
        """The headline and remarks, as sentences."""
        if not self.against:
            words, constant = self.trace.words, self.metrics.get(CONSTANT)
            error = f"{words.value(self.metrics[self.learner]['error'])} {words.error}"
            guess = f"; a constant guess has {words.value(constant['error'])}" if constant else ""
            return [f"{error} over {self.stream}{guess}. No baselines ran.", *self._asked]
        headline, remarks = conclusion(self.against[self.best], self.verdict)
        return [headline, *remarks, *self._asked]

    @property
    def advice(self) -> str:
        """The recommendation, as a sentence; empty without a comparison."""
        remarks = conclusion(self.against[self.best], self.verdict)[1] if self.against else []
        return remarks[-1].removeprefix(ERRS_LESS) if remarks else ""

    @property
    def notes(self) -> list[str]:
        """Notes on the size of the stream, on tasks that gain from sharing, and on the limits of the verdict."""
        tasks = tasks_called(self.verdict)
        if self.verdict.helped or self.verdict.hurt:
            tasks = f"Against {self.verdict.against}: {tasks[:1].lower()}{tasks[1:]}"
        return list(filter(None, [f"Over {self.stream}.", tasks, reserve(self.against[self.best]), *self._asked]))

    @property
    def errors(self) -> list[list[str]]:
        """The rows of the table of errors: the learner's name in sentences, its error, and a remark."""
        words, key = self.trace.words, self.measure[1]
        names = sorted(self.against, key=lambda name: self.metrics[name][key])
        return [
            [self._learner_in_words(name), words.value(self.metrics[name][key]), self._remark_on(name)]
            for name in (self.learner, *names)
        ]

    @property
    def measure(self) -> tuple[str, str]:
        """The metric in :attr:`errors`, as a column heading and a name; RMSE for regression."""
        words = self.trace.words
        return ("errors", "error") if words is RATES else words.measures[0][:2]

    def _learner_in_words(self, name: str) -> str:
        """Return a learner's name for use in sentences; the constant is named after the label that it predicts."""
        last: Any = self.comparison.traces[CONSTANT].prediction[-1:] if name == CONSTANT else []
        if len(last) and self.trace.words is RATES and np.ndim(last[0]) == 0:
            return f'always "{last[0]}"'
        return name if name == "together" else spoken(name)

    def _remark_on(self, name: str) -> str:
        """Return a remark on a baseline unless it is clearly worse than the learner."""
        verdict = self.against.get(name)
        if verdict is None:
            return ""
        # both are true if losses by task and errors over all rounds differ in sign, each beyond chance
        if verdict.better == verdict.worse:
            return "(errors and losses disagree)" if verdict.better else "(no clear difference)"
        ours, theirs = (self.metrics[learner][self.measure[1]] for learner in (self.learner, name))
        if verdict.loss is not verdict.words and (theirs <= ours if verdict.better else theirs >= ours):
            is_clear = verdict.average.low > 0 or verdict.average.high < 0
            measure = f"mean {verdict.loss.error} of a task" if is_clear else verdict.words.error
            return f"(its {measure} is {'larger' if verdict.better else 'smaller'})"
        return "" if verdict.better else "(better)"

    @property
    def asks(self) -> bool:
        """True if a learner queried only some of the labels."""
        return any(number < self.examples for number in self.labels.values())

    @property
    def _asked(self) -> list[str]:
        number = self.labels[self.learner]
        if number == self.examples:
            return []
        rest = ", and the other learners had them all" if self.against else ""
        share = percent(number / self.examples)
        return [f"It asked for {number:,} of the {self.examples:,} labels ({share}){rest}."]

    def examples_a_second(self, name: str) -> float | None:
        """Return the records per CPU second of a learner; None if no time was measured."""
        seconds = self.comparison.seconds.get(name, 0.0)
        return self.examples / seconds if seconds > 0 else None

    @property
    def learner_table(self) -> tuple[list[str], list[list[str]]]:
        """The table of learners (headings, rows): errors, metrics, labels, gains and speeds."""
        words = self.trace.words
        measures = measures_with_values(words, self.metrics.values())
        heads = ["learner", words.error, *(head for head, _, _ in measures), *(["labels"] if self.asks else [])]
        if self.against:
            heads += [f"{self.learner}: {self.verdict.loss.gain}", self.verdict.level, "helps", "hurts"]
        rows = []
        for name, metrics in self.metrics.items():
            row = [name, words.value(metrics["error"], 2), *format_measures(metrics, measures)]
            row += [f"{self.labels[name]:,}"] if self.asks else []
            verdict, speed = self.against.get(name), self.examples_a_second(name)
            if verdict is not None:
                gain = shown_gain(verdict.loss, *verdict.average[3:])
                row += [*gain, f"{len(verdict.helped):,}", f"{len(verdict.hurt):,}"]
            elif self.against:
                row += [NONE] * 4
            rows.append([*row, NONE if speed is None else f"{speed:,.0f}"])
        return [*heads, "examples/s"], rows

    @property
    def sizes(self) -> tuple[list[str], list[list[str]]]:
        """The table of gains by size of task (headings, rows).

        There are no rows if all tasks are in one size class.
        """
        verdicts = {name: self.against[name] for name in (self.alone, self.best)}
        heads = ["examples of a task", "tasks"]
        for name, verdict in verdicts.items():
            heads += [f"gain over {name}", verdict.level]
        rows = [
            [*cells[0][:2], *(cell for row in cells for cell in row[2:])]
            for cells in zip(*(verdict.size_rows for verdict in verdicts.values()), strict=True)
        ]
        return heads, rows if len(rows) > 1 else []

    def to_json(self) -> Json:
        """Return the summary as JSON data."""
        pooled, best = (self.against.get(name) for name in (self.comparison.reference_names[1], self.best))
        label, share = self.trace.counted.base_rate
        return {
            "examples": self.examples,
            "tasks": self.tasks,
            "learner": self.learner,
            "base_rate": {"label": label, "share": none_for_nan(share)},
            "learners": {name: self._learner_to_json(name) for name in self.metrics},
            "verdict": self.verdict.to_json() if self.against else None,
            "against_pooled": pooled.to_json() if pooled else None,
            "best_baseline": self.best or None,
            "against_best": best.to_json() if best else None,
            "sentences": self.sentences,
        }

    def _learner_to_json(self, name: str) -> Json:
        speed = {"seconds": self.comparison.seconds.get(name), "examples_per_second": self.examples_a_second(name)}
        gain = self.against[name].to_json()["average"] if name in self.against else None
        measures = self.trace.words.for_json(self.metrics[name])
        return {"measures": measures} | speed | {"labels": self.labels[name], "gain_over": gain}


def summarize(comparison: Comparison, learner: str | None = None) -> Summary:
    """Compute the metrics and the verdict of every learner in a comparison.

    Parameters
    ----------
    comparison : Comparison
        Learners over one stream of n rounds and K tasks.
    learner : str, optional
        The learner that the summary is about. By default, and for ``"independent"``, the best of the requested ones,
        see :func:`coterie.evaluation.comparison.asked_for`.

    Returns
    -------
    Summary
        In O(n log n + K) time per learner.

    Examples
    --------
    >>> import coterie as ct
    >>> X, y, users = [[1.0], [2.0], [-1.0], [-3.0]], [1, 1, 0, 0], ["a", "b", "a", "b"]
    >>> summary = summarize(ct.compare({"together": ct.MultitaskPerceptron()}, X, y, task=users))
    >>> summary.learner, summary.examples, sorted(summary.against)
    ('together', 4, ['constant', 'independent', 'intercepts', 'mixed model', 'pooled', 'running rate'])
    """
    traces, alone = comparison.traces, comparison.reference_names[0]
    if len(comparison.models) == 1:
        learner = learner or next(iter(comparison.models))
    elif learner in (None, alone):
        learner = asked_for(comparison, alone)
    chosen = str(learner)
    metrics = {name: evaluate(trace) for name, trace in traces.items()}
    if alone not in traces or chosen == alone:
        return Summary(comparison, chosen, metrics, {}, "")
    sums = Sums.from_traces(chosen, traces)
    against = {name: sums.verdict(name) for name in traces if name != chosen}
    # chosen on the same rounds: the gain over the best of several is slightly too small, which is the safe side
    best = sums.best(baselines_among(traces, chosen, comparison.reference_names))
    return Summary(comparison, chosen, metrics, against, best)
