"""The summary of a pass: errors of each learner, and for whom learning together helped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from coterie.evaluation.comparison import asked_for, baselines_among
from coterie.evaluation.constant import CONSTANT, base_rate
from coterie.evaluation.costs import RATES
from coterie.evaluation.metrics import Metrics, evaluate
from coterie.evaluation.verdict import ERRS_LESS, Sums, Verdict, conclusion, reserve, shown_gain, tasks_called
from coterie.wording import NONE, counted, none_for_nan, percent, spoken

if TYPE_CHECKING:
    from coterie.evaluation.comparison import Comparison
    from coterie.evaluation.trace import Trace
    from coterie.evaluation.view_weights import ViewWeights


@dataclass(frozen=True)
class Summary:
    """Learners over one stream, measured and judged.

    Attributes
    ----------
    comparison : Comparison
        The learners.
    learner : str
        The one it is about.
    metrics : dict of str to Metrics
        By learner, and of the ``"constant"``.
    against : dict of str to Verdict
        Of ``learner`` against each of the others, the constant among them; empty where ``"independent"`` did not run.
    best : str
        The best of the baselines, see :func:`coterie.evaluation.comparison.best_baseline`; empty where none ran.
    """

    comparison: Comparison
    learner: str
    metrics: dict[str, Metrics]
    against: dict[str, Verdict]
    best: str

    @property
    def trace(self) -> Trace:
        """The learner's rounds."""
        return self.comparison.traces[self.learner]

    @property
    def alone(self) -> str:
        """The name of what one has without learning together."""
        return self.comparison.reference_names[0]

    @property
    def weights(self) -> ViewWeights | None:
        """Of several views, how much each weighed."""
        return self.trace.weights

    @property
    def labels(self) -> dict[str, int]:
        """By learner, how many labels it asked for."""
        return {name: trace.queries for name, trace in self.comparison.traces.items()}

    @property
    def examples(self) -> int:
        """The number of records."""
        return int(self.metrics[self.learner].counts.sum())

    @property
    def tasks(self) -> int:
        """The number of tasks."""
        return len(self.metrics[self.learner].tasks)

    @property
    def verdict(self) -> Verdict:
        """The verdict on the learner against what one has without learning together, where that ran."""
        return self.against[self.alone]

    @property
    def stream(self) -> str:
        """How many examples there were, and of how many tasks or views."""
        whose = (self.tasks, "task") if self.weights is None else (len(self.weights.names), "view")
        return f"{counted(self.examples, 'example')} of {counted(*whose)}"

    @property
    def sentences(self) -> list[str]:
        """The headline, and remarks that belong to it."""
        if not self.against:
            metrics = self.metrics[self.learner]
            error = f"{metrics.words.value(metrics.micro['error'])} {metrics.words.error}"
            constant = self.metrics.get(CONSTANT)
            beside = (
                "" if constant is None else f"; a constant guess has {metrics.words.value(constant.micro['error'])}"
            )
            return [f"{error} over {self.stream}{beside}. No baselines ran.", *self._asked]
        headline, remarks = conclusion(self.against[self.best], self.verdict)
        return [headline, *remarks, *self._asked]

    @property
    def advice(self) -> str:
        """What to do: the last of the sentences; empty where nothing was compared."""
        predictions = conclusion(self.against[self.best], self.verdict)[1] if self.against else []
        return predictions[-1].removeprefix(ERRS_LESS) if predictions else ""

    @property
    def notes(self) -> list[str]:
        """On how much it rests, for how many tasks learning together pays, and what limits the verdict."""
        predictions = tasks_called(self.verdict)
        if self.verdict.helped or self.verdict.hurt:
            predictions = f"Against {self.verdict.against}: {predictions[:1].lower()}{predictions[1:]}"
        said = (f"Over {self.stream}.", predictions, reserve(self.against[self.best]), *self._asked)
        return [each for each in said if each]

    @property
    def errors(self) -> list[list[str]]:
        """The learner and the others by their errors: names in sentences, errors, and what is not clear."""
        words, key = self.metrics[self.learner].words, self.measure[1]
        names = sorted(self.against, key=lambda name: self.metrics[name].micro[key])
        return [
            [self._spoken(name), words.value(self.metrics[name].micro[key]), self._beside(name)]
            for name in (self.learner, *names)
        ]

    @property
    def measure(self) -> tuple[str, str]:
        """The head and the name of the measure in :attr:`errors`: RMSE for numbers, as gains are in squared errors."""
        words = self.metrics[self.learner].words
        return ("errors", "error") if words is RATES else words.measures[0][:2]

    def _spoken(self, name: str) -> str:
        """The name of a learner in a sentence; the constant is called by what it predicts in the end."""
        last: Any = self.comparison.traces[CONSTANT].prediction[-1:] if name == CONSTANT else []
        plain = len(last) and self.metrics[name].words is RATES and np.ndim(last[0]) == 0
        return f'always "{last[0]}"' if plain else name if name == "together" else spoken(name)

    def _beside(self, name: str) -> str:
        """Whether a learner is not clearly worse than the one that the summary is about."""
        predictions = self.against.get(name)
        if predictions is None:
            return ""
        if predictions.better == predictions.worse:
            return "(errors and losses disagree)" if predictions.better else "(no clear difference)"
        ours, its = (self.metrics[each].micro[self.measure[1]] for each in (self.learner, name))
        if predictions.loss is not predictions.words and (its <= ours if predictions.better else its >= ours):
            clear = predictions.average.low > 0 or predictions.average.high < 0
            judged = f"mean {predictions.loss.error} of a task" if clear else predictions.words.error
            return f"(its {judged} is {'larger' if predictions.better else 'smaller'})"
        return "" if predictions.better else "(better)"

    @property
    def asks(self) -> bool:
        """True if some learner did without some of the labels."""
        return any(number < self.examples for number in self.labels.values())

    @property
    def _asked(self) -> list[str]:
        number = self.labels[self.learner]
        if number == self.examples:
            return []
        rest = ", where the learners beside it had them all" if self.against else ""
        share = percent(number / self.examples)
        return [f"It asked for {number:,} of the {self.examples:,} labels ({share}){rest}."]

    def examples_a_second(self, name: str) -> float | None:
        """Examples per CPU second of one learner; None where no time was measured."""
        seconds = self.comparison.seconds.get(name, 0.0)
        return self.examples / seconds if seconds > 0 else None

    def gain_cells(self, name: str) -> list[str]:
        """The gain over one of the others, its interval, and how many tasks it helps and hurts, as cells of a table."""
        predictions = self.against.get(name)
        if predictions is None:
            return [NONE] * 4
        return [
            *shown_gain(predictions.loss, *predictions.average[3:]),
            f"{len(predictions.helped):,}",
            f"{len(predictions.hurt):,}",
        ]

    def speed_cell(self, name: str) -> str:
        """Examples per CPU second of one learner, as a cell of a table."""
        speed = self.examples_a_second(name)
        return NONE if speed is None else f"{speed:,.0f}"

    @property
    def sizes(self) -> tuple[list[str], list[list[str]]]:
        """The gains by size of task over what one has alone and over the best baseline: heads and rows of a table.

        There are no rows where all tasks are of one size.
        """
        predictions = {name: self.against[name] for name in (self.alone, self.best)}
        heads = ["examples of a task", "tasks"]
        for name, each in predictions.items():
            heads += [f"gain over {name}", each.level]
        rows = zip(*(each.size_rows for each in predictions.values()), strict=True)
        made = [[*row[0][:2], *(cell for each in row for cell in each[2:])] for row in rows]
        return heads, made if len(made) > 1 else []

    def to_json(self) -> dict[str, Any]:
        """All of it for JSON."""
        pooled, best = (self.against.get(each) for each in (self.comparison.reference_names[1], self.best))
        label, share = base_rate(self.trace)
        return {
            "examples": self.examples,
            "tasks": self.tasks,
            "learner": self.learner,
            "base_rate": {"label": label, "share": none_for_nan(share)},
            "learners": {name: self._measured(name) for name in self.metrics},
            "verdict": self.verdict.to_json() if self.against else None,
            "against_pooled": pooled.to_json() if pooled else None,
            "best_baseline": self.best or None,
            "against_best": best.to_json() if best else None,
            "sentences": self.sentences,
        }

    def _measured(self, name: str) -> dict[str, Any]:
        speed = {"seconds": self.comparison.seconds.get(name), "examples_per_second": self.examples_a_second(name)}
        predictions = self.against[name].to_json()["average"] if name in self.against else None
        return self.metrics[name].to_json() | speed | {"labels": self.labels[name], "gain_over": predictions}


def summarize(comparison: Comparison, learner: str | None = None) -> Summary:
    """Measure and judge every learner of a comparison.

    Parameters
    ----------
    comparison : Comparison
        Learners over one stream of n rounds and K tasks.
    learner : str, optional
        The learner it is about; where it is not given or is ``"independent"``, the best of those asked for, see
        :func:`coterie.evaluation.comparison.asked_for`.

    Returns
    -------
    Summary
        In O(n log n + K) time a learner.

    Examples
    --------
    >>> import coterie as ct
    >>> X, y, users = [[1.0], [2.0], [-1.0], [-3.0]], [1, 1, 0, 0], ["a", "b", "a", "b"]
    >>> summary = summarize(ct.compare({"together": ct.MultitaskPerceptron()}, X, y, task=users))
    >>> summary.learner, summary.examples, sorted(summary.against)
    ('together', 4, ['constant', 'independent', 'intercepts', 'mixed model', 'pooled', 'running rate'])
    """
    traces, alone = comparison.traces, comparison.reference_names[0]
    chosen = _chosen(comparison, learner)
    metrics = {name: evaluate(trace) for name, trace in traces.items()}
    if alone not in traces or chosen == alone:
        return Summary(comparison, chosen, metrics, {}, "")
    sums = Sums.of(chosen, traces)
    against = {name: sums.verdict(name) for name in traces if name != chosen}
    best = sums.best(baselines_among(traces, chosen, comparison.reference_names))
    return Summary(comparison, chosen, metrics, against, best)


def _chosen(comparison: Comparison, learner: str | None) -> str:
    alone = comparison.reference_names[0]
    if learner not in (None, alone) or len(comparison.models) == 1:
        return learner or next(iter(comparison.models))
    return asked_for(comparison, alone)
