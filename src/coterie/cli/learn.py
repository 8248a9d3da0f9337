"""``coterie learn``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from .failures import UsageError, print_message
from .models import load_model
from .options import (
    DELAY,
    LEARNING,
    OUTPUTS,
    READING,
    ColumnOptions,
    Files,
    OptionSet,
    OutputOptions,
    SeveralLearners,
    option,
    refuse_options,
)
from .outputs import OutputWriter
from .progress import show_progress
from .results import finish_learning
from .stopping import InterruptibleRun
from .workers import ScalingOptions, learn_in_shards

if TYPE_CHECKING:
    from coterie.evaluation.learning import LearningOutcome
    from coterie.expressions import LearnerExpression
    from coterie.types import Estimator, Json


@dataclass(frozen=True, kw_only=True)
class LearnOptions(OptionSet):
    """Options of ``learn`` for the run."""

    heading = LEARNING

    from_: Path | None = option(
        "MODEL",
        "Continue a saved model, without baselines. Options that would change the learner or the columns that it reads "
        "are refused.",
    )
    alone: bool = option(
        None,
        "Learn this model only, without the baselines (such as one model per task, and one for all): faster.",
        False,
    )
    new_task: Literal["grow", "raise"] | None = option(
        "grow|raise", "Let the saved model accept tasks that it has never seen (`grow`, the default), or refuse them."
    )
    delay: int = option("N", DELAY, 0, min=0, rich_help_panel=READING)
    skip: int = option(
        "N",
        "Skip the first N records, such as those that an interrupted run has learned.",
        0,
        min=0,
        rich_help_panel=READING,
    )
    save_every: str | None = option(
        "N|5m",
        "Save the model during the run, too: every N records, or every few seconds, minutes or hours (`30s`, `5m`, "
        "`1h`), between blocks of up to 8,192 records. A line tells the number of records, even with `--quiet`. If "
        "saving takes longer than learning in between, the next save waits until learning has taken as long.",
        rich_help_panel=OUTPUTS,
    )


def learn(
    files: Files,
    columns: ColumnOptions,
    learning: SeveralLearners,
    options: LearnOptions,
    scaling: ScalingOptions,
    outputs: OutputOptions,
) -> None:
    """Learn one model per task, each learning from the others.

    The files are read once. Every record is predicted before it is learned, so the errors shown are errors of
    predictions. The baselines run at the same time: one model per task, one model for all tasks, one for all with a
    constant per task, a mixed model, and guesses without features. The summary says whether learning together helps,
    and for which tasks. If --learner is repeated, the summary is about the best of them, which is also the one that
    --output saves.

    Ctrl-C, SIGTERM or SIGHUP ends the run as if there were no more records, and so does a bad record: the model is
    saved if --output was given, and a line tells the number of records and the command that continues.

    For example:

        coterie learn clicks.csv --task user --label click --output clicks.coterie
        coterie learn 'logs/*.parquet' -t sensor -l fault --report report.html
        zcat new.csv.gz | coterie learn - --format csv --from clicks.coterie -o clicks.coterie
        coterie learn mail.jsonl -t user -l spam --text subject --learner "MultitaskAROW()"
        coterie learn sales.csv -t shop -l sold --learner "MultitaskLogistic(Clusters.read('regions.csv'))"
    """
    from coterie.data.sources import find_paths

    if outputs.report is not None and (options.alone or options.from_ is not None):
        raise UsageError("--report compares learners, so it is not supported with --alone or --from")
    learners = learning.parse_learners() if options.from_ is None else {}
    asking = next(iter(learners.values())).continued if learners else learning.read_query_strategy()
    if scaling.workers is not None:
        refused = {name: getattr(options, name) for name in ("from_", "new_task", "delay", "skip")}
        refuse_options(refused | {"report": outputs.report}, "with --workers")
        refuse_options({"learner": len(learners) > 1}, "more than once with --workers")
        refuse_options({"learner": asking}, "with --workers if it asks for labels")
        learn_in_shards(files, columns, learners, scaling, outputs, alone=options.alone, save_every=options.save_every)
        return
    refuse_options({"address": scaling.address, "common_start": scaling.common_start is not None}, "without --workers")
    names = ("weight", "time", "format", "on_error")
    repeated: Json = {name: getattr(columns, name) for name in names}
    if options.from_ is not None:
        repeated = {"task": columns.task, "label": columns.label} | repeated
    repeated |= {"delay": options.delay, "learner": asking} | outputs.repeated
    run = InterruptibleRun(files, outputs.output, repeated, options.skip)
    outputs.require(
        [*find_paths(files), *(path for learner in learners.values() for path in learner.files)], options.from_
    )
    run.save_every(options.save_every)
    if options.from_ is not None:
        _continue_learning(options.from_, columns, learning, options, outputs, run, asking)
        return
    with run.handling_signals():
        outcome = learn_new(columns, learners, run, delay=options.delay, alone=options.alone, quiet=outputs.quiet)
        if outcome.stopped is None:  # a run that continues learns more tasks
            _set_new_task(outcome.model, options.new_task)
        finish_learning("learn", outcome, outputs, run)


def learn_new(
    columns: ColumnOptions,
    learners: Mapping[str, LearnerExpression],
    run: InterruptibleRun,
    *,
    delay: int,
    alone: bool,
    quiet: bool,
) -> LearningOutcome:
    """Learn new models and the baselines; a single model is named "together"."""
    from coterie.data.readers import read
    from coterie.evaluation.learning import TOGETHER
    from coterie.evaluation.learning import learn as learn_records
    from coterie.tasks.relations import Independent, Pooled

    columns.require_columns(run.files)
    reader = read(run.files, skip=run.skip, **columns.arguments)
    if len(learners) == 1:
        (learner,) = learners.values()
        baselines = {Independent: "independent", Pooled: "pooled"}
        learners = {baselines.get(type(learner.parameter("relation")), TOGETHER): learner}
    course: Json = {"delay": delay, "stop": run.stop, "checkpoints": run.checkpoints}
    with show_progress(reader, quiet, delay) as on_round:
        return learn_records(reader, learners, alone=alone, on_round=on_round, **course)


def _continue_learning(
    path: Path,
    columns: ColumnOptions,
    learning: SeveralLearners,
    options: LearnOptions,
    outputs: OutputOptions,
    run: InterruptibleRun,
    asking: str | None,
) -> None:
    """Continue learning with a saved model, possibly with another query strategy."""
    from coterie.estimators.selective import base_model
    from coterie.evaluation.learning import TOGETHER, NothingLeftError, continue_learning

    model = load_model(path)
    _set_new_task(model, options.new_task)
    run.options["new_task"] = options.new_task
    saved = model if asking is None else learning.parse_learner(asking, base_model(model)).make()
    saved = model if repr(saved) == repr(model) else saved  # the same queries go on, with what is left of their budget
    learners = {TOGETHER: base_model(model) if asking is None else saved}
    reader = columns.open_continued(run.files, model.encoder_, run.skip)
    with run.handling_signals():
        try:
            with show_progress(reader, outputs.quiet, options.delay) as on_round:
                outcome = continue_learning(
                    reader,
                    learners,
                    saved=saved,
                    delay=options.delay,
                    on_round=on_round,
                    stop=run.stop,
                    checkpoints=run.checkpoints,
                )
        except NothingLeftError:
            if reader.passed:
                raise
            _save_unchanged(model, outputs)
        else:
            finish_learning("learn", outcome, outputs, run)


def _save_unchanged(model: Estimator, outputs: OutputOptions) -> None:
    """Save a loaded model unchanged, if there are no new records."""
    from .printing import print_result

    with OutputWriter() as writer:
        writer.save(model, outputs.output)
        if outputs.json:
            print_result("learn", {"examples": 0, "model": writer.paths.get("output")})
        elif not outputs.quiet:
            print_message("0 records" if outputs.output is None else "0 records; the model is saved")


def _set_new_task(model: Estimator, new_task: str | None) -> None:
    from coterie.estimators.selective import base_model

    if new_task is not None:
        base_model(model).set_params(new_task=new_task)
