"""The sections of the report, as HTML and figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from coterie.data.preprocessing import CONSTANT as CONSTANT_FEATURE
from coterie.evaluation.explanation import listed_weights, shown
from coterie.evaluation.metrics import calibration_curve
from coterie.evaluation.stream_model import stream_model_of
from coterie.evaluation.summary import Summary, summarize
from coterie.evaluation.verdict import conclusion
from coterie.wording import listed, percent, spoken

from . import figures, markup

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from coterie.data.readers import Reading
    from coterie.evaluation.comparison import Comparison
    from coterie.evaluation.explanation import Weight
    from coterie.evaluation.verdict import Verdict
    from coterie.types import Estimator

#: Rows of the table of tasks, names in a list.
_TASKS, _LISTED = 3000, 30
#: The maximum numbers of weights in a figure, of weights in a row of a table, and of its rows.
_WEIGHTS, _NAMED, _DIFFERING = 15, 4, 8


class PagePart(NamedTuple):
    """The HTML of a section of the report, and its figures by the names of their placeholders."""

    html: str
    figures: Mapping[str, figures.Figure] = {}


def summary_of(comparison: Comparison, learner: str | None = None) -> Summary:
    """Return the summary of a comparison for one learner, by default the best of those requested.

    Raises
    ------
    ValueError
        If the comparison has no ``"independent"`` or no other learner, or ``learner`` is unknown.
    """
    alone = comparison.reference_names[0]
    others = [name for name in comparison.models if name != alone]
    if alone not in comparison.traces or not others:
        raise ValueError(
            f"comparison has {sorted(comparison.traces)}; expected {alone!r} and at least one other learner"
        )
    if learner is not None and learner not in others:
        raise ValueError(f"learner={learner!r}: expected one of {others}")
    return summarize(comparison, learner)


def headline(summary: Summary) -> PagePart:
    """Return the first section of the report: the recommendation, and the numbers that support it."""
    lead, remarks = conclusion(summary.against[summary.best], summary.verdict)
    outcome = summary.verdict.outcome
    counts = [("examples", f"{summary.examples:,}"), *_base_rate(summary.verdict)]
    if not summary.has_views:
        counts += [("tasks", f"{len(summary.verdict.tasks):,}")]
        against = f", against {summary.alone}"
        counts += [(name + against, f"{(outcome == key).sum():,}") for name, key in _COUNTED]
    body = markup.paragraph(lead, "lead") + markup.paragraph(" ".join(remarks)) + markup.facts(counts, "counts")
    return PagePart(f'<section id="verdict" aria-label="Verdict">{body}</section>')


def _base_rate(result: Verdict) -> list[tuple[str, str]]:
    label, share = result.base_rate
    if label is None:
        return []
    if share != share:
        return [("mean label", result.words.value(label))]
    return [(f"base rate of {label}", percent(share))]


_COUNTED = (("tasks helped", "helped"), ("tasks hurt", "hurt"), ("not told apart", "unclear"))


def learners(summary: Summary) -> PagePart:
    """Return the table of all learners."""
    columns, rows = summary.learner_table
    table = markup.table(
        "Learners over the same examples, each prediction made before its label was seen", columns, rows
    )
    names = [f"{name} is {spoken(name)}" for name in summary.metrics if spoken(name) != name]
    best = " Of the views alone the best is known in hindsight only." if summary.has_views else ""
    gain = f"The gain of {summary.learner} over each is in {summary.verdict.loss.error}, averaged over tasks; helps"
    note = f"{_capital(', '.join(names))}. {gain} and hurts are the numbers of tasks with a clear gain or loss.{best}"
    return PagePart(markup.section("learners", "Learners", table, markup.paragraph(note, "note")))


def sizes(summary: Summary) -> PagePart:
    """Return the section with the gains of tasks by size, over one model per task and over the best baseline."""
    heads, rows = summary.sizes
    caption = f"Mean {summary.verdict.loss.gain} of the tasks of a size, with the interval of the mean"
    table = markup.table(caption, heads, rows)
    return PagePart(markup.section("sizes", "Gain by size of task", table))


def over_time(summary: Summary) -> PagePart:
    """Return the figure of the cumulative error of each learner."""
    traces, words = summary.comparison.traces, summary.verdict.words
    if not summary.verdict.overall.n:
        return PagePart("")
    final = "; ".join(f"{name} {words.value(trace.error)}" for name, trace in traces.items())
    caption = f"{_capital(words.error)} since the start by learner"
    place = markup.plot("cumulative", f"{caption}. At the end: {final}", caption, 380)
    drawn = {"cumulative": figures.cumulative_error(traces, summary.learner)}
    return PagePart(markup.section("time", "Error over time", place), drawn)


def probabilities(summary: Summary) -> PagePart:
    """Return the section on the calibration of probabilities, for two classes."""
    curves = {
        name: calibration_curve(trace)
        for name, trace in summary.comparison.traces.items()
        if name in summary.comparison.models
    }
    curves = {name: curve for name, curve in curves.items() if len(curve.rounds) > 1}
    if len(summary.trace.classes) != 2 or summary.learner not in curves:
        return PagePart("")
    label = "Share of positive labels over the predicted probability, by learner"
    place = markup.plot("calibration", label, label, 380)
    drawn = {"calibration": figures.calibration(curves, summary.learner)}
    return PagePart(markup.section("probabilities", "Do probabilities hold?", place), drawn)


_RULE = """<details><summary>How a task comes to be called helped or hurt</summary>
<p>Both learners predicted the same examples. A task's gain is the mean over its own examples. How far chance may have
moved it follows from both predictions, which were made before the labels came: that is the interval. A task is called
helped or hurt if so large a gain or loss would be improbable were neither learner better, where so many tasks are
looked at: at most 1 in 20 of the tasks called helped, and of those called hurt, is expected to be wrong. All others
are unclear: they may gain or lose, but their examples so far do not show it.</p></details>"""


def tasks(summary: Summary) -> PagePart:
    """Return the sortable table of all tasks, significant ones first."""
    result = summary.verdict
    if len(result.tasks) < 2:
        return PagePart("")
    rest = np.flatnonzero((result.outcome == "unclear") & (result.n > 0))
    rest = rest[np.argsort(-result.n[rest], kind="stable")]
    order = np.concatenate([result.ordered("hurt"), result.ordered("helped"), rest])
    shown = order[:_TASKS]
    columns = result.task_heads(spoken(summary.alone), spoken(summary.learner))
    few = f" ({len(shown):,} of {len(order):,}: those called, and of the others those with most examples)"
    caption = f"Every task{few if len(shown) < len(order) else ''}"
    rows = [result.row(i) for i in shown.tolist()]
    table = markup.table(caption, columns, rows, looked_up=True)
    less = f"{spoken(summary.alone)} less that of {spoken(summary.learner)}"
    intro = markup.paragraph(f"Gain is the mean {result.loss.error} of {less}: above zero, sharing helped.")
    return PagePart(markup.section("tasks", "Gain per task", intro, table, _RULE))


def weights(summary: Summary) -> PagePart:
    """Return the tables of the largest shared weights, and of tasks' largest differences from them."""
    model: Estimator = summary.comparison.models.get(summary.learner)
    if summary.has_views or model is None or not stream_model_of(model).fitted:
        return PagePart("")
    spread = summary.comparison.spread.get(summary.learner)
    largest = listed_weights(model, n=_WEIGHTS, spread=spread)
    if isinstance(largest, dict):
        rows = [(str(name), _in_words(own)) for name, own in largest.items()]
        heads = ["label", f"largest {_what(spread)} that all tasks share"]
        caption = "What speaks for each label, or against it"
        named = any(map(_has_names, largest.values()))
        table = markup.table(caption, heads, rows[:_LISTED], words=2) if named else ""
        return PagePart(markup.section("weights", "Weights", table))
    if not _has_names(largest):
        return PagePart("")
    classes = summary.trace.classes
    above = f"speaks for {classes[1]}" if len(classes) == 2 else "makes the prediction larger"
    text = f"The largest {_what(spread)} that all tasks share. One above zero {above}.{_ABOUT[spread is not None]}"
    place = markup.plot("feature-weights", f"{text} {_in_words(largest)}", text, 120 + 24 * len(largest))
    drawn = {"feature-weights": figures.feature_weights(largest, _what(spread))}
    return PagePart(markup.section("weights", "Weights", place, _differing(summary, model)), drawn)


#: The remark on weights, and on weights times standard deviations.
_ABOUT = (" It is for scaled values.", " It is how far a standard deviation of the feature moves the margin.")


def _what(spread: NDArray[np.float64] | None) -> str:
    return "weights" if spread is None else "weights × deviations"


def _differing(summary: Summary, model: Estimator) -> str:
    """Return the table of own weights of a few tasks: those clearly helped or hurt, or those with most records."""
    result, known = summary.verdict, set(model.tasks_)
    called = np.concatenate([result.ordered(kind)[: _DIFFERING // 2] for kind in ("helped", "hurt")])
    others = np.setdiff1d(np.argsort(-result.n, kind="stable"), called, assume_unique=True)
    chosen = [i for i in (*called, *others) if result.n[i] > 0 and result.tasks[i] in known][:_DIFFERING]
    spread = summary.comparison.spread.get(summary.learner)
    own: Any = {result.tasks[i]: listed_weights(model, result.tasks[i], _NAMED, spread) for i in chosen}
    rows = [(str(task), _in_words(weights, 1)) for task, weights in own.items() if weights]
    if not rows or len(known) < 2:
        return ""
    caption = "Where tasks differ most from what is shared: what is added to the above"
    return markup.table(caption, ["task", f"its own {_what(spread)}"], rows, words=2)


def _has_names(weights: Sequence[Weight]) -> bool:
    """Return True if features have names, not only column numbers."""
    columns = [weight.name for weight in weights if weight.name != CONSTANT_FEATURE]
    return any(not isinstance(name, int) and not str(name).endswith("=") for name in columns)


def _in_words(weights: Sequence[Weight], part: int = 0) -> str:
    """Return the names of features with the largest shared weights, or with the largest own weights if ``part=1``."""
    values = ((weight.name, f"{weight.moves[part]:+.2g}".replace("-", "\N{MINUS SIGN}")) for weight in weights[:_NAMED])
    return ", ".join(f"{shown(name)}\N{NO-BREAK SPACE}{value}" for name, value in values)


def read(reading: Reading | None) -> PagePart:
    """Return the section about the file: rows and columns that were read, and columns that were dropped."""
    if reading is None:
        return PagePart("")
    pairs = [("source", reading.source), ("rows read", f"{reading.rows:,}"), ("rows skipped", f"{reading.skipped:,}")]
    pairs += [("rows without a label", f"{reading.unlabelled:,}")] if reading.unlabelled else []
    pairs += [(f"{role} columns", listed(names, _LISTED)) for role, names in reading.columns.items() if names]
    examples = [(example,) for example in reading.skipped_examples]
    skipped = markup.table("Rows skipped, the first of them", ["what was wrong"], examples)
    left_out = markup.table("Columns dropped", ["column", "why"], list(reading.dropped.items()), words=2)
    return PagePart(markup.section("read", "What was read", markup.facts(pairs, "facts"), skipped, left_out))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
