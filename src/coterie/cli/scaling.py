"""Learning by several workers: the options, and the command's work."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer

from coterie import spec
from coterie.wording import counted

from .failures import UsageError, option, remark, tell
from .places import naming
from .spreading import OptionSet

if TYPE_CHECKING:
    from coterie.evaluation.interruption import Stop
    from coterie.expressions import LearnerExpression
    from coterie.scale.driver import Progress, ShardedOutcome

    from .options import ColumnOptions
    from .outputs import OutputOptions

#: Seconds between lines of progress, and how often shards are saved unless an option says otherwise.
_SECONDS, _USUAL = 10.0, "5m"


@dataclass(frozen=True)
class Scaling(OptionSet):
    """The options of learning by several workers, see `coterie.scale`."""

    group = "scaling"

    workers: int | None = spec.field(
        default=None,
        at_least=1,
        metavar="N",
        help="Divide the tasks among N models that learn side by side on Ray, and write a folder to `--output`. Errors "
        "grow a little with N ([how much](scale.md)).",
    )
    address: str | None = spec.field(
        default=None,
        metavar="ADDRESS",
        help="The address of a Ray cluster (`auto`, `ray://HOST:10001`). Without it, Ray is started on this machine.",
    )
    common_start: int | None = spec.field(
        default=None,
        at_least=0,
        metavar="N",
        shown="10000",
        help="Learn the first N records once, as the start of all workers; 0 for the first hundred only: "
        "better if the data drift.",
    )

    def refuse(self) -> None:
        """Refuse the other options without ``--workers``."""
        for name in ("address", "common_start"):
            if getattr(self, name) is not None:
                raise UsageError(f"{option(name)} is of several workers: give --workers")


def learn_in_shards(
    files: list[str],
    columns: ColumnOptions,
    configs: Mapping[str, LearnerExpression],
    scaling: Scaling,
    outputs: OutputOptions,
    alone: bool,
    save_every: str | None,
    others: Mapping[str, object],
) -> None:
    """Learn with several workers, and print one summary; ``others`` are options that cannot be given."""
    for name, value in {**others, "report": outputs.report}.items():
        if value:
            raise UsageError(f"{option(name)} cannot be given with --workers")
    if outputs.output is None or scaling.workers is None:
        raise UsageError("--workers writes a folder of models: name it with --output")
    (config,) = configs.values()
    columns.require_named(files)
    from coterie.evaluation.interruption import Stop, Stopped
    from coterie.scale import learn
    from coterie.scale.driver import COMMON_START
    from coterie.scale.folder import require_place

    try:
        require_place(outputs.output)
    except ValueError as error:
        raise UsageError(f"--output: {error}") from None
    start = COMMON_START if scaling.common_start is None else scaling.common_start
    with Stop() as stop, naming(outputs.output), _progress(outputs.quiet, stop) as on_progress:
        try:
            outcome = learn(
                files,
                config,
                workers=scaling.workers,
                output=outputs.output,
                address=scaling.address,
                alone=alone,
                common_start=start,
                save_every=save_every or _USUAL,
                on_progress=on_progress,
                warn=tell,
                **columns.reading,
            )
        except Stopped as stopped:
            tell("stopped; the same command goes on where each worker was last saved")
            raise typer.Exit(128 + stopped.number) from None
    if outputs.json:
        _print_json(outcome)
    elif not outputs.quiet:
        _print_text(outcome)


@contextmanager
def _progress(quiet: bool, stop: Stop) -> Iterator[Any]:
    """Provide a function that prints how far a run has come, every ten seconds."""
    if quiet:
        yield None
        return
    last = time.monotonic()

    def on_progress(progress: Progress) -> None:
        nonlocal last
        if time.monotonic() - last < _SECONDS:
            return
        last = time.monotonic()
        verb = "divided among workers" if progress.step == "split" else "learned"
        whole = "" if progress.total is None else f" of {progress.total:,}"
        remark(f"{progress.records:,}{whole} records {verb}")

    yield on_progress


def _print_text(outcome: ShardedOutcome) -> None:
    from coterie.evaluation.verdict import conclusion, reserve, tasks_called

    from .printing import paragraph, print_lines

    sums, words = outcome.sums, outcome.sums.words
    tasks, shards = len(sums.tasks), outcome.manifest.shards
    examples = outcome.manifest.start + sum(shard.records for shard in shards)
    lines: list[str] = []
    notes = ["No baselines ran."]
    verdict = outcome.verdict()
    if verdict.best is not None:
        headline, remarks = conclusion(verdict.best, verdict)
        lines += paragraph(" ".join([headline, *remarks]))
        notes = [tasks_called(verdict), reserve(verdict.best)]
    errors = sums.errors
    width = max(map(len, errors))
    lines += [words.error, *(f"  {name:{width}}  {words.value(error)}" for name, error in errors.items())]
    stream = f"Over {counted(examples, 'example')} of {counted(tasks, 'task')}."
    lines += paragraph(" ".join(filter(None, [stream, *notes])))
    apart = [
        f"  shard {shard}: {counted(file.records, 'record')}, {seconds:,.1f} s of CPU"
        for shard, (file, seconds) in enumerate(zip(shards, outcome.seconds, strict=True))
    ]
    price = (
        f"{counted(len(shards), 'worker')} began with {counted(outcome.manifest.start, 'common record')} and learned "
        "apart since: one process would err a little less (docs/scale.md has a table)."
    )
    reading = outcome.reading
    left_out = [
        f"{reading[name]:,} records {why} were left out"
        for name, why in (("skipped", "that cannot be read"), ("unlabelled", "without a label"))
        if reading[name]
    ]
    print_lines(lines, [*paragraph(price if len(shards) > 1 else ""), *apart], left_out, [f"Saved: {outcome.folder}"])


def _print_json(outcome: ShardedOutcome) -> None:
    from .printing import print_result

    sums = outcome.sums
    shards = [
        {"file": file.file, "records": file.records, "seconds": seconds}
        for file, seconds in zip(outcome.manifest.shards, outcome.seconds, strict=True)
    ]
    verdict = outcome.verdict()
    best = verdict.best
    print_result(
        "learn",
        {
            "examples": outcome.manifest.start + sum(shard.records for shard in outcome.manifest.shards),
            "tasks": len(sums.tasks),
            "learners": {name: {"error": error} for name, error in sums.errors.items()},
            "verdict": None if best is None else verdict.to_json(),
            "best_baseline": None if best is None else sums.best(outcome.baselines),
            "against_best": None if best is None else best.to_json(),
        },
        {"reading": outcome.reading, "common_start": outcome.manifest.start, "shards": shards},
        {"model": outcome.folder},
    )
