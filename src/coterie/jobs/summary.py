"""The summary of a pass: errors of each learner, and for whom learning together helped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from coterie.evaluation.constant import CONSTANT, BaseRate, base_rate
from coterie.evaluation.metrics import Metrics, evaluate
from coterie.evaluation.stream_model import stream_model_of
from coterie.evaluation.verdict import Verdict, verdict
from coterie.online import AdaptiveSharingClassifier
from coterie.online.selective import base_model
from coterie.wording import counted, none_for_nan, percent, spoken

if TYPE_CHECKING:
    from coterie.evaluation.comparison import Comparison
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
    verdicts : dict of str to Verdict
        Of each learner but ``"independent"`` against that one; empty where it did not run.
    against_pooled : Verdict or None
        Of ``learner`` against ``"pooled"``, where that is another and did run.
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
    verdicts: dict[str, Verdict]
    against_pooled: Verdict | None
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
    def sentences(self) -> list[str]:
        """A few sentences that a person can act on."""
        if self.learner not in self.verdicts:
            metrics = self.metrics[self.learner]
            error = f"{metrics.words.value(metrics.micro['error'])} {metrics.words.error}"
            whose = (self.tasks, "task") if self.weights is None else (len(self.weights.names), "view")
            over = f"{counted(self.examples, 'example')} of {counted(*whose)}"
            constant = self.metrics.get(CONSTANT)
            beside = (
                "" if constant is None else f"; a constant guess has {metrics.words.value(constant.micro['error'])}"
            )
            return [f"{error} over {over}{beside}. Nothing was learned beside it to compare with.", *self._asked]
        told = self.verdicts[self.learner]
        return [*conclusions(self.learner, told, self.against_pooled, self.reference_names), *self._asked]

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
        rest = ", where the learners beside it had them all" if self.verdicts else ""
        share = percent(number / self.examples)
        return [f"It asked for {number:,} of the {self.examples:,} labels ({share}){rest}."]

    def examples_a_second(self, name: str) -> float | None:
        """Examples per CPU second of one learner; None where no time was measured."""
        return self.examples / self.seconds[name] if self.seconds.get(name, 0.0) > 0 else None

    def to_json(self) -> dict[str, Any]:
        """All of it for JSON."""
        told = self.verdicts.get(self.learner)
        return {
            "examples": self.examples,
            "tasks": self.tasks,
            "learner": self.learner,
            "base_rate": {"label": self.base_rate.label, "share": none_for_nan(self.base_rate.share)},
            **({} if self.weights is None else {"views": self.view_shares}),
            "learners": {name: self._measured(name) for name in self.metrics},
            "verdict": told.to_json() if told else None,
            "against_pooled": self.against_pooled.to_json() if self.against_pooled else None,
            "sentences": self.sentences,
        }

    def _measured(self, name: str) -> dict[str, Any]:
        speed = {"seconds": self.seconds.get(name), "examples_per_second": self.examples_a_second(name)}
        return self.metrics[name].to_json() | speed | {"labels": self.labels[name]}


def summarize(comparison: Comparison, learner: str | None = None) -> Summary:
    """Measure and judge every learner of a comparison.

    Parameters
    ----------
    comparison : Comparison
        Learners over one stream of n rounds and K tasks.
    learner : str, optional
        The learner it is about; where it is not given or is ``"independent"``, the best of the others.

    Returns
    -------
    Summary
        In O(n log n + K) time a learner.

    Examples
    --------
    >>> import coterie as ct
    >>> X, y, users = [[1.0], [2.0], [-1.0], [-3.0]], [1, 1, 0, 0], ["a", "b", "a", "b"]
    >>> summary = summarize(ct.compare({"together": ct.MultitaskPerceptron()}, X, y, task=users))
    >>> summary.learner, summary.examples, sorted(summary.verdicts)
    ('together', 4, ['pooled', 'together'])
    """
    traces, (alone, one) = comparison.traces, comparison.reference_names
    chosen, constant = _chosen(comparison, learner), traces.get(CONSTANT)
    judged = [name for name in comparison.models if name != alone] if alone in traces else []
    pooled = verdict(traces[chosen], traces[one], constant=constant) if one in traces and chosen != one else None
    return Summary(
        learner=chosen,
        metrics={name: evaluate(trace) for name, trace in traces.items()},
        seconds=dict(comparison.seconds),
        verdicts={name: verdict(traces[name], traces[alone], constant=constant) for name in judged},
        against_pooled=pooled,
        base_rate=base_rate(traces[chosen]),
        labels={name: trace.queries for name, trace in traces.items()},
        reference_names=comparison.reference_names,
        weights=traces[chosen].weights,
        of_a_table=bool(judged)
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


def conclusions(
    learner: str,
    against_alone: Verdict,
    against_pooled: Verdict | None,
    reference_names: tuple[str, str] = (ALONE, ONE),
) -> list[str]:
    """A learner's verdicts in words, with one piece of advice among them all.

    The advice is to keep one model for all tasks where that is better than the learner and no worse than one model per
    task; else it is what the verdict against one model per task says. ``reference_names`` is what the two are called.
    """
    alone, one = reference_names
    keep_one = against_pooled is not None and _pooled_is_best(against_alone, against_pooled)
    said = against_alone.sentence(spoken(learner), spoken(alone), advice=not keep_one)
    told = [said if alone == ALONE else _against(alone, said)]
    if against_pooled is not None:
        beside = against_pooled.sentence(spoken(learner), spoken(one), advice=keep_one, constant=False)
        told.append(_against(one, beside))
    return told


def _against(other: str, said: str) -> str:
    return f"Against {spoken(other)}: {said[:1].lower()}{said[1:]}"


def _pooled_is_best(against_alone: Verdict, against_pooled: Verdict) -> bool:
    worse = against_pooled.worse and not against_pooled.better
    return worse and against_pooled.average.error_against <= against_alone.average.error_against


def _chosen(comparison: Comparison, learner: str | None) -> str:
    alone = comparison.reference_names[0]
    if learner not in (None, alone) or len(comparison.models) == 1:
        return learner or next(iter(comparison.models))
    others = {name: comparison.traces[name].error for name in comparison.models if name != alone}
    return min(others, key=others.__getitem__)
