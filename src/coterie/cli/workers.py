"""Sharded learning with several workers from the command line."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from coterie.evaluation.stopping_signals import Stop
from coterie.wording import counted

from .failures import UsageError, print_line, print_message
from .options import ColumnOptions, OptionSet, OutputOptions, option
from .outputs import name_errors

if TYPE_CHECKING:
    from coterie.distributed.driver import Progress, ShardedOutcome
    from coterie.expressions import LearnerExpression

#: Seconds between two lines of progress.
_SECONDS = 10.0


@dataclass(frozen=True, kw_only=True)
class ScalingOptions(OptionSet):
    """Options for learning with several workers; see `coterie.distributed`."""

    heading = "Several workers"

    workers: int | None = option(
        "N",
        "Divide the tasks among N models that learn at the same time on Ray, and write a folder to `--output`. Errors "
        "grow a little with N ([how much](scale.md)).",
        min=1,
    )
    address: str | None = option(
        "ADDRESS",
        "The address of a Ray cluster (`auto`, `ray://HOST:10001`). Without it, Ray is started on this machine.",
    )
    common_start: int | None = option(
        "N",
        "Learn the first N records once, as the common start of all workers; 10,000 by default. If the data drift, 0 "
        "is better: the start is then the first hundred records.",
        min=0,
    )


def learn_in_shards(
    files: list[str],
    columns: ColumnOptions,
    learners: Mapping[str, LearnerExpression],
    scaling: ScalingOptions,
    outputs: OutputOptions,
    *,
    alone: bool,
    save_every: str | None,
) -> None:
    """Learn with several workers, and print one summary."""
    if outputs.output is None or scaling.workers is None:
        raise UsageError("--workers writes a folder of models; name it with --output")
    columns.require_columns(files)
    (learner,) = learners.values()
    from coterie.distributed import learn
    from coterie.distributed.driver import COMMON_START

    stop = Stop()
    try:
        with stop, name_errors(outputs.output):
            outcome = learn(
                files,
                learner,
                workers=scaling.workers,
                output=outputs.output,
                address=scaling.address,
                alone=alone,
                common_start=COMMON_START if scaling.common_start is None else scaling.common_start,
                save_every=save_every or "5m",
                on_progress=None if outputs.quiet else _print_progress(),
                **columns.arguments,
            )
    except KeyboardInterrupt as stopped:  # Ray raises one without a number if a signal interrupts its calls
        print_message("stopped; the same command continues from the last save of each worker")
        raise typer.Exit(128 + getattr(stopped, "number", stop.asked or signal.SIGINT)) from None
    if outputs.json:
        _print_json(outcome)
    elif not outputs.quiet:
        _print_text(outcome)


def _print_progress() -> Callable[[Progress], None]:
    """Return a callback that prints the progress every ten seconds."""
    last = time.monotonic()

    def print_progress(progress: Progress) -> None:
        nonlocal last
        if time.monotonic() - last >= _SECONDS:
            last = time.monotonic()
            verb = "divided among workers" if progress.step == "split" else "learned"
            total = "" if progress.total is None else f" of {progress.total:,}"
            print_line(f"{progress.records:,}{total} records {verb}")

    return print_progress


def _print_text(outcome: ShardedOutcome) -> None:
    from coterie.evaluation.verdict import conclusion

    from .printing import paragraph, print_lines

    sums, shards, start = outcome.sums, outcome.manifest.shards, outcome.manifest.start
    verdict, errors = outcome.verdict(), outcome.sums.errors
    advice, notes = "", ["No baselines ran."]
    if verdict.best is not None:
        headline, remarks = conclusion(verdict.best, verdict)
        advice, notes = " ".join([headline, *remarks]), []
    width = max(map(len, errors))
    stream = f"Over {counted(_count_examples(outcome), 'example')} of {counted(len(sums.tasks), 'task')}."
    price = (
        f"{counted(len(shards), 'worker')} began with {counted(start, 'common record')} and learned separately since: "
        "one process would have slightly smaller errors (docs/scale.md has a table)."
    )
    print_lines(
        [
            *paragraph(advice),
            sums.words.error,
            *(f"  {name:{width}}  {sums.words.value(error)}" for name, error in errors.items()),
            *paragraph(" ".join(filter(None, [stream, *notes]))),
        ],
        [
            *paragraph(price if len(shards) > 1 else ""),
            *(
                f"  shard {number}: {counted(shard.records, 'record')}, {seconds:,.1f} s of CPU"
                for number, (shard, seconds) in enumerate(zip(shards, outcome.seconds, strict=True))
            ),
        ],
        [
            f"{outcome.reading[name]:,} records {reason} were left out"
            for name, reason in (("skipped", "that cannot be read"), ("unlabelled", "without a label"))
            if outcome.reading[name]
        ],
        [f"Saved: {outcome.folder}"],
    )


def _print_json(outcome: ShardedOutcome) -> None:
    from .printing import print_result

    sums, manifest, verdict = outcome.sums, outcome.manifest, outcome.verdict()
    best = verdict.best
    print_result(
        "learn",
        {
            "examples": _count_examples(outcome),
            "tasks": len(sums.tasks),
            "learners": {name: {"error": error} for name, error in sums.errors.items()},
            "verdict": None if best is None else verdict.to_json(),
            "best_baseline": None if best is None else sums.best(outcome.baselines),
            "against_best": None if best is None else best.to_json(),
            "reading": outcome.reading,
            "common_start": manifest.start,
            "shards": [
                {"file": shard.file, "records": shard.records, "seconds": seconds}
                for shard, seconds in zip(manifest.shards, outcome.seconds, strict=True)
            ],
            "model": outcome.folder,
        },
    )


def _count_examples(outcome: ShardedOutcome) -> int:
    return outcome.manifest.start + sum(shard.records for shard in outcome.manifest.shards)
