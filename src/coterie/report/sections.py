"""The parts of the page, each from the comparison to HTML and the figures it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from coterie.jobs.summary import conclusions
from coterie.report import figures, markup
from coterie.report.clustering import clustered
from coterie.streams.costs import AMOUNTS, RATES, words_of
from coterie.streams.metrics import evaluate, measured, written
from coterie.streams.verdict import verdict
from coterie.streams.wording import NONE, counted, digits_of, listed, percent, spoken

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from numpy.typing import NDArray

    from coterie.report.clustering import Clustered, Relation
    from coterie.streams.comparison import Comparison
    from coterie.streams.costs import Measure
    from coterie.streams.metrics import Metrics
    from coterie.streams.verdict import Verdict
    from coterie.streams.view_weights import ViewWeights

_ROWS = 25
_FOLDED = 1000
_LISTED = 30


class Reading(Protocol):
    """What was read and what was dropped."""

    @property
    def source(self) -> str:
        """Name of the file or stream."""

    @property
    def rows(self) -> int:
        """How many rows became examples."""

    @property
    def skipped(self) -> int:
        """How many did not."""

    @property
    def skipped_examples(self) -> Sequence[object]:
        """Sentences saying why, for the first of them."""

    @property
    def columns(self) -> Mapping[str, Sequence[object]]:
        """By role, the columns used."""

    @property
    def dropped(self) -> Mapping[str, str]:
        """By column, why it was not used."""


class Part(NamedTuple):
    """HTML, and by the name of its place each figure to draw."""

    html: str
    figures: dict[str, figures.Figure]


class Story(NamedTuple):
    """What the page tells: the learner it is about, its verdict against one model per task, and all verdicts."""

    comparison: Comparison
    learner: str
    verdict: Verdict
    verdicts: dict[str, Verdict]
    beside: tuple[str, str]

    @property
    def weights(self) -> ViewWeights | None:
        """How much each view weighed, where the learner's records have several."""
        return self.comparison.traces[self.learner].weights


def story(comparison: Comparison, learner: str | None = None) -> Story:
    """The verdict on one learner, by default on the one with the least error that is not one model per task.

    Raises
    ------
    ValueError
        No ``"independent"`` in the comparison, nothing to compare it with, or an unknown ``learner``.
    """
    alone = comparison.beside[0]
    others = [name for name in comparison.traces if name != alone]
    if alone not in comparison.traces or not others:
        raise ValueError(
            f"comparison: has {sorted(comparison.traces)}, expected {alone!r} and at least one other learner"
        )
    chosen = learner or min(others, key=lambda name: np.nan_to_num(comparison.traces[name].error))
    if chosen not in others:
        raise ValueError(f"learner={chosen!r}: expected one of {others}")
    verdicts = {name: verdict(comparison.traces[name], comparison.traces[alone]) for name in others}
    return Story(comparison, chosen, verdicts[chosen], verdicts, comparison.beside)


def headline(told: Story) -> Part:
    """What to do, and the counts behind it."""
    lead, *beside = conclusions(told.learner, told.verdict, _against_pooled(told), told.beside)
    outcome = told.verdict.outcome
    counts = [("examples", f"{told.verdict.overall.n:,}")]
    if told.weights is None:
        counts += [("tasks", f"{len(told.verdict.tasks):,}")]
        counts += [(name, f"{(outcome == key).sum():,}") for name, key in _COUNTED]
    else:
        counts += [("views", f"{len(told.weights.names):,}")]
    said = markup.paragraph(lead, "lead") + "".join(map(markup.paragraph, beside))
    body = said + markup.facts(counts, "counts")
    return Part(f'<section id="verdict" aria-label="Verdict">{body}</section>', {})


_COUNTED = (("tasks helped", "helped"), ("tasks hurt", "hurt"), ("not told apart", "unclear"))


def learners(told: Story) -> Part:
    """A table of all learners."""
    found = {name: evaluate(trace) for name, trace in told.comparison.traces.items()}
    measures, words = measured(found.values()), told.verdict.words
    columns = ["learner", words.error, "mean error of tasks", *(head for head, _, _ in measures)]
    columns += [words.gain, "helped", "hurt", "examples/s"]
    rows = [_learner_row(told, name, metrics, measures) for name, metrics in found.items()]
    content = markup.Table(
        "Learners over the same examples, each prediction made before its label was seen", columns, rows
    )
    names = [f"{name} is {spoken(name)}" for name in told.beside if name in found]
    alone = spoken(told.beside[0])
    best = "" if told.weights is None else ", which of all views did best alone, seen in hindsight"
    note = f"{_capital(', '.join(names))}. Gain, helped and hurt are against {alone}{best}."
    return Part(markup.section("learners", "Learners", markup.table(content), markup.paragraph(note, "note")), {})


def over_time(told: Story) -> Part:
    """Error by learner as the examples came."""
    traces = told.comparison.traces
    if not told.verdict.overall.n:
        return Part("", {})
    drawn = {
        "cumulative": figures.cumulative_error(traces, told.learner),
        "recent": figures.recent_error(traces, told.learner),
    }
    words = told.verdict.words
    final = "; ".join(f"{name} {words.value(trace.error)}" for name, trace in traces.items())
    window = max(1, told.verdict.overall.n // 20)
    since = markup.plot(
        "cumulative",
        f"{_capital(words.error)} since the start by learner. At the end: {final}",
        "Error since the start",
        380,
    )
    late = markup.plot("recent", "Recent error by learner", f"Error over the last {counted(window, 'example')}", 380)
    return Part(markup.section("time", "Error over time", f'<div class="pair">{since}{late}</div>'), drawn)


def labels(told: Story) -> Part:
    """Error over the labels asked for, where somebody did without some."""
    traces = told.comparison.traces
    if all(trace.queries == trace.n for trace in traces.values()):
        return Part("", {})
    rows = [
        (name, f"{trace.queries:,}", percent(trace.queries / trace.n), words_of(trace).value(trace.error, 2))
        for name, trace in traces.items()
    ]
    table = markup.table(
        markup.Table("Labels that each learner asked for", ["learner", "labels", "of all", "error"], rows)
    )
    words = "Recent error by learner over the number of labels asked for. The table has the numbers."
    window = max(1, told.verdict.overall.n // 20)
    place = markup.plot(
        "label-error", words, f"Error over the last {counted(window, 'example')}, by labels asked for", 380
    )
    drawn = {"label-error": figures.label_error(traces, told.learner)}
    return Part(markup.section("labels", "Labels asked for", place, table), drawn)


def gains(told: Story) -> Part:
    """Gain of every task, those surest to be hurt and helped by name."""
    result = told.verdict
    known = np.flatnonzero(result.n > 0)
    if len(known) < 2:
        return Part("", {})
    shown = _surest(result, known)
    drawn = {"surest": figures.surest_gains(result, shown)}
    parts = [markup.plot("surest", _sum_up(result), _surest_caption(len(shown), len(known)), 120 + 24 * len(shown))]
    if len(shown) < len(known):
        drawn["all-gains"] = figures.all_gains(result)
        parts.append(markup.plot("all-gains", _sum_up(result), _all_caption(len(known)), 460))
    less = f"{spoken(told.beside[0])} less that of {spoken(told.learner)}"
    intro = markup.paragraph(f"Gain is the {result.words.error} of {less}: above zero, sharing helped.")
    return Part(markup.section("gains", "Gain per task", intro, *parts, _RULES[result.words.error]), drawn)


_RATES_RULE = """<details><summary>How a task comes to be called helped or hurt</summary>
<p>Both learners predicted the same examples. The interval is a 95&nbsp;% interval for the difference of their two error
rates on one task (Agresti and Min, 2005). A task is called helped or hurt if an exact McNemar test says so after
control of the false discovery rate over all tasks (Benjamini and Hochberg, at 5&nbsp;%) and its interval leaves out
zero. Of the tasks called, about one in twenty at most is called wrongly. All others are unclear: they may differ, but
their examples so far do not show it.</p></details>"""


_AMOUNTS_RULE = """<details><summary>How a task comes to be called helped or hurt</summary>
<p>Both learners predicted the same examples. The interval is Student's 95&nbsp;% interval for the mean difference of
their absolute errors on one task. A task of six examples or more is called helped or hurt if the paired test says so
after control of the false discovery rate over all tasks (Benjamini and Hochberg, at 5&nbsp;%) and its interval leaves
out zero. Of the tasks called, about one in twenty at most is called wrongly. All others are unclear.</p></details>"""
_RULES = {RATES.error: _RATES_RULE, AMOUNTS.error: _AMOUNTS_RULE}


def named_tasks(told: Story) -> Part:
    """Tables of the tasks hurt and of those helped most."""
    if len(told.verdict.tasks) < 2:
        return Part("", {})
    hurt = _task_table(told, "hurt", "Tasks hurt, the largest loss first")
    helped = _task_table(told, "helped", "Tasks helped, the largest gain first")
    none = markup.paragraph(f"No task is shown to be hurt{'' if helped else ', and none to be helped'}.")
    return Part(markup.section("tasks", "Tasks hurt and helped most", hurt or none, helped), {})


def shared(told: Story, relation: Relation | None) -> Part:
    """The relation of the learner that the page is about."""
    if relation is None or len(relation.tasks) < 2:
        return Part("", {})
    examples = dict(zip(told.verdict.tasks, told.verdict.n.tolist(), strict=True))
    pairs = relation_part(relation, examples, max(len(relation.tasks), len(examples)))
    each = shares_part(relation.shares)
    return Part(each.html + pairs.html, each.figures | pairs.figures)


def shares_part(shares: NDArray[np.float64] | None) -> Part:
    """How much each task shares, where the model learned that."""
    if shares is None:
        return Part("", {})
    little = counted(int((shares < 0.5).sum()), "task")
    words = f"{little} of {len(shares):,} share less than half: they are nearer to a model of their own."
    place = markup.plot(
        "share-counts", f"Histogram of shares. {words}", f"How much tasks share, as was learned. {words}", 300
    )
    return Part(markup.section("shares", "Which tasks share", place), {"share-counts": figures.shares(shares)})


def relation_part(relation: Relation, examples: Mapping[Hashable, int], total: int) -> Part:
    """A relation as a clustered heat map, of the tasks with most examples where there are many."""
    shown = clustered(relation, examples)
    few = len(shown.tasks) < total
    which = f"The {len(shown.tasks)} tasks with most examples, of {total:,}. " if few else ""
    if shown.uniform:
        return Part(markup.section("sharing", "How tasks share", markup.paragraph(_uniform(shown, total))), {})
    caption = f"{which}How much of what one task learns reaches another, from M = A⁻¹ scaled to 1 on the diagonal."
    words = f"Heat map of how {counted(len(shown.tasks), 'task')} share."
    place = markup.plot("relation", words, caption + " Related tasks stand side by side.", 640, "square")
    return Part(markup.section("sharing", "How tasks share", place), {"relation": figures.relation(shown)})


def _uniform(shown: Clustered, total: int) -> str:
    """A relation that is the same between all tasks, in words: there is nothing to see in its picture."""
    share = shown.values[0, 1]
    if share == 0:
        return f"None of the {total:,} tasks learns from another."
    part = "all" if share == 1 else f"{share:.3g}"
    return f"Every pair of the {total:,} tasks shares the same: {part} of what one learns reaches the other."


def read(reading: Reading | None) -> Part:
    """What was read and what was dropped."""
    if reading is None:
        return Part("", {})
    pairs = [("source", reading.source), ("rows read", f"{reading.rows:,}"), ("rows skipped", f"{reading.skipped:,}")]
    pairs += [(f"{role} columns", listed(names, _LISTED)) for role, names in reading.columns.items() if names]
    examples = [(str(example),) for example in reading.skipped_examples]
    dropped = [(str(name), str(reason)) for name, reason in reading.dropped.items()]
    skipped = markup.table(markup.Table("Rows skipped, the first of them", ["what was wrong"], examples))
    left_out = markup.table(markup.Table("Columns dropped", ["column", "why"], dropped, words=2))
    parts = (markup.facts(pairs, "facts"), skipped if examples else "", left_out if dropped else "")
    return Part(markup.section("read", "What was read", *parts), {})


def _against_pooled(told: Story) -> Verdict | None:
    """The same learner against one model for all, where it is not that itself."""
    one = told.beside[1]
    pooled = told.comparison.traces.get(one)
    if pooled is None or told.learner == one:
        return None
    return verdict(told.comparison.traces[told.learner], pooled)


def _learner_row(told: Story, name: str, metrics: Metrics, measures: Sequence[Measure]) -> list[str]:
    errors = (metrics.words.value(each["error"], 2) for each in (metrics.micro, metrics.macro))
    row = [name, *errors, *written(metrics, measures)]
    seconds = told.comparison.seconds.get(name, 0.0)
    speed = f"{told.verdict.overall.n / seconds:,.0f}" if seconds > 0 else NONE
    if name == told.beside[0]:
        return [*row, NONE, NONE, NONE, speed]
    result = told.verdicts[name]
    return [*row, _gain(result), f"{len(result.helped):,}", f"{len(result.hurt):,}", speed]


def _gain(result: Verdict) -> str:
    gain, difference = result.overall, result.words.difference
    if not gain.n:
        return NONE
    digits = digits_of(gain.gain, gain.low, gain.high)
    return f"{difference(gain.gain, digits)} ({difference(gain.low, digits)} to {difference(gain.high, digits)})"


def _surest(result: Verdict, known: NDArray[np.int64]) -> NDArray[np.int64]:
    """All tasks where they are few; else those with the highest lower and the lowest upper ends, best first."""
    if len(known) <= figures.NAMED_ROWS:
        return known[np.argsort(-result.gain[known], kind="stable")]
    half = figures.NAMED_ROWS // 2
    best = known[np.argsort(-result.low[known], kind="stable")[:half]]
    rest = np.setdiff1d(known, best)
    worst = rest[np.argsort(result.high[rest], kind="stable")[:half]]
    return np.concatenate([best, worst[::-1]])


def _surest_caption(shown: int, known: int) -> str:
    if shown == known:
        return "Gain of each task with its 95 % interval."
    half = shown // 2
    return f"The {half} tasks most surely helped (top) and the {half} most surely hurt (bottom), with 95 % intervals."


def _all_caption(known: int) -> str:
    most = figures.DRAWN_TASKS
    thinned = f" Drawn are {most} spread evenly and up to {most} of those helped or hurt." if known > most else ""
    return (
        f"All {known:,} tasks from the least to the greatest gain, with 95 % intervals.{thinned} "
        "Tasks with few examples lie at both ends with long intervals: by themselves they say little."
    )


def _sum_up(result: Verdict) -> str:
    parts = (f"{(result.outcome == kind).sum():,} {kind}" for kind in ("helped", "hurt", "unclear"))
    return f"Gain per task: {', '.join(parts)}. The tables below name them."


def _task_table(told: Story, outcome: str, caption: str) -> str:
    result = told.verdict
    chosen = result.ordered(outcome)
    if not len(chosen):
        return ""
    columns = ["task", "examples", spoken(told.beside[0]), spoken(told.learner), result.words.gain, "95 % interval"]
    rows = [_task_row(result, i) for i in chosen[: _ROWS + _FOLDED]]
    more = f" ({_ROWS} of {len(chosen):,})" if len(chosen) > _ROWS else ""
    first = markup.table(markup.Table(caption + more, columns, rows[:_ROWS]))
    return first + (_folded(outcome, columns, rows[_ROWS:], len(chosen)) if more else "")


def _folded(outcome: str, columns: Sequence[str], rows: Sequence[list[str]], total: int) -> str:
    left = total - _ROWS - len(rows)
    summary = f"The next {len(rows):,} tasks {outcome}" + (f"; {left:,} more are not shown" if left else "")
    return markup.folded(summary, markup.table(markup.Table(f"More tasks {outcome}", columns, rows)))


def _task_row(result: Verdict, i: int) -> list[str]:
    difference = result.words.difference
    errors = (result.words.value(values[i]) for values in (result.error_against, result.error))
    interval = f"{difference(result.low[i])} to {difference(result.high[i])}"
    return [str(result.tasks[i]), f"{result.n[i]:,}", *errors, difference(result.gain[i]), interval]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
