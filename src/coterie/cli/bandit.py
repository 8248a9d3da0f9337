"""``coterie bandit``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie import spec
from coterie.wording import table

from .failures import UsageError, remark
from .options import LEARNER, ON_ERROR, Json, LearningOptions, Quiet
from .outputs import Written, page_facts
from .places import Force, require_outputs
from .spreading import OptionSet

if TYPE_CHECKING:
    from coterie.bandits import Bandit
    from coterie.bandits.log_evaluation import BanditOutcome
    from coterie.io.choices import LogReader

#: The longest name of a policy in the table.
_NAME = 24


@dataclass(frozen=True)
class LogOptions(OptionSet):
    """The columns of a log of choices."""

    group = "reading"

    task: str | None = spec.field(
        default=None,
        metavar="COLUMN",
        help="The column that says whose choice it was (a user, a shop); of `vw` a namespace, of `dsjson` a key.",
    )
    action: str | None = spec.field(default=None, metavar="COLUMN", help="The column of what was shown.")
    reward: str | None = spec.field(
        default=None, metavar="COLUMN", help="The column of what followed: a number, or true or false."
    )
    probability: str | None = spec.field(
        default=None, metavar="COLUMN", help="The column of the probability with which it was chosen."
    )
    probabilities: list[str] | None = spec.field(
        default=None,
        metavar="COLUMN",
        help="Instead of `--probability`, the columns of the probabilities of all actions: `p_*`, where the star is "
        "the action, `ACTION=COLUMN`, or the column that is called like the action; may be repeated. An empty cell is "
        "an action that was not offered. Of JSON one column may be an object with all of them. Only with these can "
        "intervals be trusted.",
    )
    time: str | None = spec.field(
        default=None,
        metavar="COLUMN",
        help="The column of dates, or of seconds, by which the rows are sorted. Dates are also a feature, unless "
        "ignored.",
    )
    window: str | None = spec.field(
        default=None,
        metavar="24h",
        help="Seconds, or so many minutes or hours: an empty reward counts as 0 so long after the row's time; rows for "
        "which this has not passed at the end of the log are left out. Without, rows without a reward are left out.",
    )
    features: list[str] | None = spec.field(
        default=None, metavar="COLUMN", help="Use this column of contexts and no others; may be repeated."
    )
    ignore: list[str] | None = spec.field(
        default=None, metavar="COLUMN", help="Leave this column, or namespace, out; may be repeated."
    )
    categorical: list[str] | None = spec.field(
        default=None, metavar="COLUMN", help="Treat the numbers of this column as names; may be repeated."
    )
    format: str | None = spec.field(
        default=None,
        metavar="NAME",
        help="`csv`, `tsv`, `jsonl`, `parquet`, `arrow`, `vw` (the text of `cb_adf`) or `dsjson`, where the name does "
        "not tell.",
    )
    on_error: str = spec.field(ON_ERROR, default="stop")

    def reader(self, files: list[str]) -> LogReader:
        """Open the files."""
        from coterie.io.choices import LogColumns, read_log

        if self.window is not None and self.time is None:
            raise UsageError("--window needs --time: name the column of times")
        given = {each.name: getattr(self, each.name) for each in fields(LogColumns)}
        columns = LogColumns(**{name: held for name, held in given.items() if held})
        self.seconds  # noqa: B018 - refused before the log is read
        return read_log(files, columns, format=self.format, on_error=self.on_error)

    @property
    def seconds(self) -> float | None:
        """The window in seconds."""
        if self.window is None:
            return None
        found = re.fullmatch(r"(\d+)([smh]?)", self.window, re.ASCII)
        if found is None or int(found[1]) == 0:
            raise UsageError(f"--window is {self.window!r}; expected seconds, minutes or hours, as 3600, 30m or 24h")
        return float(int(found[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[found[2]])


Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE",
        help="The log, in the order of time: files one after the other, URLs, quoted globs, or `-` for standard input. "
        "CSV, TSV, JSON Lines, Parquet, Arrow IPC, and Vowpal Wabbit's text of `cb_adf` and dsjson, also compressed "
        "([formats](cli.md#bandit)).",
    ),
]
LearnerSpec = Annotated[
    str | None,
    typer.Option(
        "--learner",
        metavar=LEARNER.metavar,
        help="The model that predicts the rewards, as in `coterie learn --regression`.  "
        "[default: AdaptiveSharingRegressor()]",
    ),
]
Policy = Annotated[
    Path | None,
    typer.Option(
        metavar="MODEL", help="Evaluate this saved bandit as well, as it is. It must not have learned from these rows."
    ),
]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="OUT", help="Save the shared bandit that has learned the log."),
]
Report = Annotated[
    Path | None,
    typer.Option(metavar="OUT.html", help="Write a page with the values over time: one HTML file that works offline."),
]


RewardRange = Annotated[
    tuple[float, float] | None,
    typer.Option(
        metavar="LOW HIGH",
        help="The smallest and the largest reward there can be. Intervals are cut to it, and are known however few "
        "rows show what a policy would bring.",
    ),
]
ForNewTasks = Annotated[
    bool,
    typer.Option(
        "--for-new-tasks", help="Widen intervals so that they are for new tasks like those of the log, at least ten."
    ),
]


def bandit(
    files: Files,
    log: LogOptions,
    learner: LearnerSpec = None,
    policy: Policy = None,
    reward_range: RewardRange = None,
    for_new_tasks: ForNewTasks = False,
    output: Output = None,
    report: Report = None,
    json: Json = False,
    quiet: Quiet = False,
    force: Force = False,
) -> None:
    """Say what other choices than those of a log would have been worth, and learn from it.

    Says what the choices in the log were worth, and what others would have been: those of a bandit that learns the log
    row by row, sharing between tasks, of one for all tasks, of one per task, and of the best single action by the rows
    before. Each row is evaluated before it is learned, and values have 95 % intervals (DR*). The log needs the
    probabilities with which was chosen, and is held in memory.

    For example:
      coterie bandit log.csv --task user --action offer --reward click --probability p
      coterie bandit log.parquet --task user --action offer --reward click --probabilities 'p_*' -o offers.coterie
      coterie bandit log.csv --task user --action offer --reward click --probability p --time at --window 24h
      coterie bandit new.csv --task user --action offer --reward click --probability p --policy offers.coterie
      coterie bandit train.dat --format vw --task user
    """
    from coterie.io.sources import find_paths

    model, named = _model(learner)
    read: list[str | Path] = [*find_paths(files), *named, *([] if policy is None else [policy])]
    require_outputs({"output": output, "report": report}, read, force)
    if reward_range is not None and not reward_range[0] < reward_range[1]:
        raise UsageError(f"--reward-range is {reward_range[0]:g} {reward_range[1]:g}; expected the lower one first")
    reader = log.reader(files)
    given = None if policy is None else _loaded(policy)
    from coterie.bandits.log_evaluation import evaluate

    lines = None if quiet else _Lines()
    written = Written()

    def save(learned: Bandit) -> None:
        if output is not None:
            written.model(learned, output)

    with written.complaining():
        outcome = evaluate(
            reader,
            model=model,
            policy=given,
            saved=str(policy),
            window=log.seconds,
            reward_range=reward_range,
            for_new_tasks=for_new_tasks,
            on_rows=lines,
            on_learned=save,
        )
    if report is not None:
        from coterie.report.bandits import write_bandit_report

        written.file(
            "report", lambda: write_bandit_report(report, outcome, list(page_facts(outcome.reader.source, {})))
        )
    places = {"output": written.there("output", output), "report": written.there("report", report)}
    if json:
        from .printing import print_result

        print_result("bandit", outcome.to_json(), places, {"rescued": written.rescued})
    elif not quiet:
        _print_text(outcome, **places)
    written.require_all()


def _model(text: str | None) -> tuple[Any, list[str]]:
    """Return the model of an expression, None for the default one, and the files that it names."""
    if text is None:
        return None, []
    learner = LearningOptions(learner=text, regression=True).expression()
    return learner.make(), learner.files


def _loaded(path: Path) -> Bandit:
    from coterie.bandits import Bandit

    from .models import load_any

    model = load_any(path)
    if not isinstance(model, Bandit):
        raise UsageError(f"--policy: {str(path)!r} holds a {type(model).__name__}, expected a bandit")
    return model


class _Lines:
    """The mean values since the start as lines of a table, at every doubling of the rows."""

    def __init__(self) -> None:
        self._next = 1000

    def __call__(self, n: int, rows: int, values: Mapping[str, float]) -> None:
        if n == 1 and rows >= self._next:
            self._write("rows", *values)
        if n == self._next or (n == rows and self._next > 1000):
            self._write(f"{n:,}", *(f"{value:.4g}" for value in values.values()))
            self._next *= 2

    @staticmethod
    def _write(*cells: str) -> None:
        remark("".join(f"{cell:>15}" for cell in cells))


def _print_text(outcome: BanditOutcome, output: Path | None, report: Path | None) -> None:
    from .printing import paragraph, print_lines

    headline, *remarks = outcome.sentences
    left_out = [
        f"{outcome.reader.skipped:,} bad rows left out:",
        *(f"  {each}" for each in outcome.reader.skipped_examples),
    ]
    print_lines(
        paragraph(headline),
        _value_table(outcome),
        [line for each in remarks for line in paragraph(each)],
        [*paragraph(outcome.counts), *(left_out if outcome.reader.skipped else []), *_columns(outcome)],
        _next(outcome, output, report),
    )


def _columns(outcome: BanditOutcome) -> Iterator[str]:
    """Yield how the columns of contexts were read, and which were not used."""
    from .printing import column_lines, dropped_lines

    roles = ("action", "reward", "probability")
    yield from column_lines({kind: names for kind, names in outcome.reader.names_by_role.items() if kind not in roles})
    yield from dropped_lines(outcome.reader.dropped)


def _value_table(outcome: BanditOutcome) -> Iterator[str]:
    """Yield the table of policies."""
    from coterie.bandits.log_evaluation import gain_cells, interval_text
    from coterie.bandits.off_policy import digits

    chosen, rows = outcome.chosen, []
    for name, predictions in outcome.values.items():
        k, shown = digits(predictions.low, predictions.high), outcome.row_name(name)
        gain = ["", ""] if name == chosen else gain_cells(outcome.gains[chosen][name])
        rows.append(
            [_short(shown), f"{predictions.value:.{k}f}", interval_text(predictions.low, predictions.high), *gain]
        )
    heads = ["policy", "value", "95 % interval", f"{_short(outcome.row_name(chosen))} gains", "95 % interval"]
    yield from table(heads, rows)


def _short(name: str) -> str:
    return name if len(name) <= _NAME else f"{name[: _NAME - 1]}…"


def _next(outcome: BanditOutcome, output: Path | None, report: Path | None) -> Iterator[str]:
    """Yield what was written and what can be done now."""
    from .printing import saved_line

    if report is not None:
        yield f"Report: {report} (open it in a browser)"
    if output is None:
        yield "Next: save the bandit that has learned this log, with -o OUT"
        return
    yield saved_line(output, outcome.bandit)
