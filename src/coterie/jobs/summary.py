"""The summary of a pass: errors of each learner, and for whom learning together helped."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from coterie.evaluation.comparison import asked_for, best_baseline
from coterie.evaluation.constant import CONSTANT, BaseRate, base_rate
from coterie.evaluation.metrics import Metrics, evaluate
from coterie.evaluation.stream_model import stream_model_of
from coterie.evaluation.verdict import Verdict, conclusion, verdict
from coterie.online import AdaptiveSharingClassifier
from coterie.online.selective import base_model
from coterie.wording import counted, none_for_nan, percent, spoken

if TYPE_CHECKING:
    from collections.abc import Mapping

    from coterie.evaluation.comparison import Comparison
    from coterie.evaluation.trace import Trace
    from coterie.evaluation.view_weights import ViewWeights

#: Of fewer records trees have not been fitted often enough to pay.
ENOUGH_FOR_TREES = 1000

ALONE = "independent"
ONE = "pooled"


@dataclass(frozen=True)
class Summary:
    """Learners over one stream, measured and judged.

    Attributes
    ----------
    learner : str
        The one it is about.
    metrics : dict of str to Metrics
        By learner, and of the ``"constant"``.
    seconds : dict of str to float
        By learner, as in `Comparison`.
    against : dict of str to Verdict
        Of ``learner`` against each of the others, the constant among them; empty where ``"independent"`` did not run.
    best : str
        The best of the baselines, see :func:`coterie.evaluation.comparison.best_baseline`; empty where none ran.
    labels : dict of str to int
        By learner, how many labels it asked for.
    base_rate : BaseRate
        The label to know the stream by.
    reference_names : tuple of two str
        What is meant here by ``"independent"`` and ``"pooled"``, see `Comparison`.
    weights : ViewWeights or None
        Of several views, how much each weighed.
    of_a_table : bool
        True if the default learner ran beside others over columns of a table, so that members for such may pay.
    """

    learner: str
    metrics: dict[str, Metrics]
    seconds: dict[str, float]
    against: dict[str, Verdict]
    best: str
    labels: dict[str, int]
    base_rate: BaseRate
    reference_names: tuple[str, str] = (ALONE, ONE)
    weights: ViewWeights | None = None
    of_a_table: bool = False

    @property
    def examples(self) -> int:
        """The number of records."""
        return int(self.metrics[self.learner].counts.sum())

    @property
    def tasks(self) -> int:
        """The number of tasks."""
        return len(self.metrics[self.learner].tasks)

    @property
    def verdict(self) -> Verdict | None:
        """The verdict on the learner against what one has without learning together, where that ran."""
        return self.against.get(self.reference_names[0])

    @property
    def stream(self) -> str:
        """How many examples there were, and of how many tasks or views."""
        whose = (self.tasks, "task") if self.weights is None else (len(self.weights.names), "view")
        return f"{counted(self.examples, 'example')} of {counted(*whose)}"

    @property
    def sentences(self) -> list[str]:
        """The headline, and remarks that belong to it."""
        if self.verdict is None:
            metrics = self.metrics[self.learner]
            error = f"{metrics.words.value(metrics.micro['error'])} {metrics.words.error}"
            constant = self.metrics.get(CONSTANT)
            beside = (
                "" if constant is None else f"; a constant guess has {metrics.words.value(constant.micro['error'])}"
            )
            return [f"{error} over {self.stream}{beside}. Nothing was learned beside it to compare with.", *self._asked]
        headline, remarks = conclusion(self.against[self.best], self.verdict)
        return [headline, *remarks, *self._asked]

    @property
    def view_shares(self) -> dict[str, float | None]:
        """Each view's part of the weights in the end, by name; None where nothing moved them."""
        if self.weights is None or not len(self.weights.rounds):
            return {}
        last = self.weights.shares[-1].tolist()
        return {str(name): none_for_nan(share) for name, share in zip(self.weights.names, last, strict=True)}

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
        return self.examples / self.seconds[name] if self.seconds.get(name, 0.0) > 0 else None

    def to_json(self) -> dict[str, Any]:
        """All of it for JSON."""
        pooled, best = self.against.get(self.reference_names[1]), self.against.get(self.best)
        return {
            "examples": self.examples,
            "tasks": self.tasks,
            "learner": self.learner,
            "base_rate": {"label": self.base_rate.label, "share": none_for_nan(self.base_rate.share)},
            **({} if self.weights is None else {"views": self.view_shares}),
            "learners": {name: self._measured(name) for name in self.metrics},
            "verdict": self.verdict.to_json() if self.verdict else None,
            "against_pooled": pooled.to_json() if pooled else None,
            "best_baseline": self.best or None,
            "against_best": best.to_json() if best else None,
            "sentences": self.sentences,
        }

    def _measured(self, name: str) -> dict[str, Any]:
        speed = {"seconds": self.seconds.get(name), "examples_per_second": self.examples_a_second(name)}
        told = self.against[name].to_json()["average"] if name in self.against else None
        return self.metrics[name].to_json() | speed | {"labels": self.labels[name], "gain_over": told}


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
    ('together', 4, ['constant', 'independent', 'intercepts', 'pooled'])
    """
    traces, alone = comparison.traces, comparison.reference_names[0]
    chosen = _chosen(comparison, learner)
    others = [name for name in traces if name != chosen] if alone in traces and chosen != alone else []
    return Summary(
        learner=chosen,
        metrics={name: evaluate(trace) for name, trace in traces.items()},
        seconds=dict(comparison.seconds),
        against={name: judged(traces, chosen, name) for name in others},
        best=best_baseline(traces, chosen, comparison.reference_names) if others else "",
        base_rate=base_rate(traces[chosen]),
        labels={name: trace.queries for name, trace in traces.items()},
        reference_names=comparison.reference_names,
        weights=traces[chosen].weights,
        of_a_table=bool(others)
        and _of_a_table(comparison.models[chosen])
        and len(traces[chosen].mistake) >= ENOUGH_FOR_TREES,
    )


def _of_a_table(model: Any) -> bool:
    """True of the default learner where it read numbers, categories and dates from columns."""
    learner = base_model(model)
    if type(learner) is not AdaptiveSharingClassifier or learner.members is not None:
        return False
    encoder = stream_model_of(model).encoder
    if encoder is None or encoder.source != "columns":
        return False
    kinds = {kind for _, kind in encoder.columns}
    return bool(kinds) and kinds <= {"numeric", "categorical", "date"}


def judged(traces: Mapping[str, Trace], learner: str, other: str) -> Verdict:
    """The verdict on one learner against another, by the names by which they are spoken of."""
    told = verdict(traces[learner], traces[other], constant=traces.get(CONSTANT))
    return replace(told, name=spoken(learner), against=spoken(other))


def _chosen(comparison: Comparison, learner: str | None) -> str:
    alone = comparison.reference_names[0]
    if learner not in (None, alone) or len(comparison.models) == 1:
        return learner or next(iter(comparison.models))
    return asked_for(comparison, alone)
