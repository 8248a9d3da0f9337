"""``coterie bandit``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coterie.wording import table

from .failures import UsageError
from .options import (
    LEARNER,
    ON_ERROR,
    READING,
    LearningOptions,
    OnError,
    OptionSet,
    PrintOptions,
    option,
    parse_duration,
)

if TYPE_CHECKING:
    from coterie.bandits import Bandit
    from coterie.bandits.log_evaluation import BanditOutcome
    from coterie.data.bandit_logs import LogReader
    from coterie.types import Estimator

#: The longest name of a policy in the table.
_NAME = 24

Log = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE",
        help="The log, in the order of time: files one after the other, URLs, quoted globs, or `-` for standard input. "
        "CSV, TSV, JSON Lines, Parquet or Arrow IPC, also compressed.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class LogOptions(OptionSet):
    """Options for the columns of a log of bandit decisions."""

    heading = READING

    task: str | None = option("COLUMN", "The column of tasks (users, shops, ...).", None, "-t")
    action: str | None = option("COLUMN", "The column of the chosen actions.")
    reward: str | None = option("COLUMN", "The column of rewards: numbers, or true and false.")
    probability: str | None = option("COLUMN", "The column of the probabilities with which the actions were chosen.")
    probabilities: list[str] | None = option(
        "COLUMN",
        "Instead of `--probability`, the columns of the probabilities of all actions: `p_*`, with the action for the "
        "star, `ACTION=COLUMN`, or a column with the name of the action; may be repeated. An action with an empty cell "
        "was not offered. For JSON, one column may be an object with all of them. Intervals can be trusted only with "
        "these.",
    )
    time: str | None = option(
        "COLUMN",
        "The column of dates, or of seconds, by which the rows are sorted. Dates are also a feature, unless ignored.",
    )
    window: float | None = option(
        "24h",
        "Seconds, minutes or hours (`30s`, `5m`, `24h`) until an empty reward counts as 0. Later rows are left out. "
        "Without it, rows without a reward are left out.",
        parser=parse_duration,
    )
    features: list[str] | None = option("COLUMN", "Use only this column of contexts; may be repeated.")
    ignore: list[str] | None = option("COLUMN", "Ignore this column; may be repeated.")
    categorical: list[str] | None = option("COLUMN", "Treat the numbers of this column as categories; may be repeated.")
    format: str | None = option(
        "NAME", "`csv`, `tsv`, `jsonl`, `parquet` or `arrow`, if the name of the file does not tell."
    )
    on_error: OnError = option("stop|skip", ON_ERROR)

    def open_log(self, files: list[str]) -> LogReader:
        """Open the log files."""
        from coterie.data.bandit_logs import LogColumns, read_log

        if self.window is not None and self.time is None:
            raise UsageError("--window requires --time, the column of times")
        return read_log(
            files, LogColumns(**{name: value for name, value in vars(self).items() if value and name != "window"})
        )


@dataclass(frozen=True, kw_only=True)
class BanditOptions(PrintOptions):
    """Options of ``bandit``: the policies to evaluate, and the outputs."""

    heading = "Options"

    learner: str | None = option(
        "EXPRESSION",
        f"{LEARNER} It predicts the rewards, as in `coterie learn --regression`. The default is "
        "`AdaptiveSharingRegressor()`.",
    )
    policy: Path | None = option("MODEL", "Evaluate this saved bandit, too. It must not have learned from these rows.")
    reward_range: tuple[float, float] | None = option(
        "LOW HIGH",
        "The smallest and the largest possible reward. Intervals are cut to it, and are known even if few rows show "
        "the rewards of a policy.",
    )
    for_new_tasks: bool = option(
        None, "Widen the intervals such that they hold for new tasks like those of the log, at least ten.", False
    )
    output: Path | None = option("OUT", "Save the shared bandit that has learned the log.", None, "-o")


def bandit(files: Log, log: LogOptions, options: BanditOptions) -> None:
    """Evaluate other policies by a log of choices, and learn from it.

    Estimates the value of the choices in the log and of other policies: a bandit that learns the log row by row and
    shares between tasks, one for all tasks, one per task, and the best single action by the rows before. Each row is
    evaluated before it is learned, and values have 95 % intervals (DR*). The log needs the probabilities of the
    choices, and is held in memory.

    For example:

        coterie bandit log.csv --task user --action offer --reward click --probability p
        coterie bandit log.parquet --task user --action offer --reward click --probabilities 'p_*' -o offers.coterie
        coterie bandit log.csv --task user --action offer --reward click --probability p --time at --window 24h
        coterie bandit new.csv --task user --action offer --reward click --probability p --policy offers.coterie
    """
    from coterie.bandits.log_evaluation import evaluate
    from coterie.data.sources import find_paths

    from .outputs import OutputWriter, require_outputs
    from .printing import print_result

    model: Estimator = None
    inputs: list[str | Path] = [*find_paths(files), *([] if options.policy is None else [options.policy])]
    if options.learner is not None:
        learner = LearningOptions(learner=options.learner, regression=True).parse_learner()
        model, inputs = learner.make(), [*inputs, *learner.files]
    require_outputs({"output": options.output}, inputs, options.force)
    if options.reward_range is not None and not options.reward_range[0] < options.reward_range[1]:
        low, high = options.reward_range
        raise UsageError(f"--reward-range is {low:g} {high:g}; expected the lower limit first")
    reader = log.open_log(files)
    policy = None if options.policy is None else _load_policy(options.policy)
    with OutputWriter() as writer:
        outcome = evaluate(
            reader,
            model=model,
            policy=policy,
            policy_name=str(options.policy),
            window=log.window,
            reward_range=options.reward_range,
            for_new_tasks=options.for_new_tasks,
            on_learned=lambda bandit: writer.save(bandit, options.output),
        )
        if options.json:
            paths = {"output": writer.paths.get("output"), "rescued": writer.rescued}
            print_result("bandit", outcome.to_json(), paths)
        elif not options.quiet:
            _print_text(outcome, writer.paths)


def _load_policy(path: Path) -> Bandit:
    from coterie.bandits import Bandit

    from .models import load_any

    model = load_any(path)
    if not isinstance(model, Bandit):
        raise UsageError(f"--policy: {str(path)!r} contains a {type(model).__name__}; expected a bandit")
    return model


def _print_text(outcome: BanditOutcome, paths: Mapping[str, Path]) -> None:
    from .printing import column_lines, dropped_lines, paragraph, print_lines, saved_line

    headline, *remarks = outcome.sentences
    reader, roles = outcome.reader, ("action", "reward", "probability")
    skipped = [f"{reader.skipped:,} bad rows left out:", *(f"  {example}" for example in reader.skipped_examples)]
    print_lines(
        paragraph(headline),
        table(*_value_table(outcome)),
        [line for remark in remarks for line in paragraph(remark)],
        [
            *paragraph(outcome.counts),
            *(skipped if reader.skipped else []),
            *column_lines({kind: names for kind, names in reader.names_by_role.items() if kind not in roles}),
            *dropped_lines(reader.dropped),
        ],
        [
            saved_line(paths["output"], outcome.bandit)
            if "output" in paths
            else "Next: save the bandit that has learned this log, with -o OUT"
        ],
    )


def _value_table(outcome: BanditOutcome) -> tuple[list[str], list[list[str]]]:
    from coterie.bandits.log_evaluation import gain_cells, interval_text
    from coterie.bandits.off_policy import digits

    names = {name: outcome.row_name(name) for name in outcome.values}
    names = {name: row if len(row) <= _NAME else f"{row[: _NAME - 1]}…" for name, row in names.items()}
    rows = [
        [
            names[name],
            f"{value.value:.{digits(value.low, value.high)}f}",
            interval_text(value.low, value.high),
            *(["", ""] if name == outcome.chosen else gain_cells(outcome.gains[outcome.chosen][name])),
        ]
        for name, value in outcome.values.items()
    ]
    return ["policy", "value", "95 % interval", f"{names[outcome.chosen]} gains", "95 % interval"], rows
