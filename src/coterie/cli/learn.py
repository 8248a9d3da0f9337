"""``coterie learn``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .failures import UsageError
from .models import load_online
from .options import ColumnOptions, Delay, Files, SeveralLearners
from .outputs import OutputOptions, finish, save_unchanged
from .progress import watching
from .scaling import Scaling, learn_in_shards
from .spreading import GROUPS
from .stopping import InterruptibleRun

if TYPE_CHECKING:
    from coterie.evaluation.learning import LearningOutcome
    from coterie.expressions import LearnerExpression
    from coterie.io.readers import Reader
    from coterie.online.estimator import OnlineEstimator

From = Annotated[
    Path | None,
    typer.Option(
        "--from",
        metavar="MODEL",
        help="Go on with a saved model, without baselines; what would change the learner or what it reads is refused.",
        rich_help_panel=GROUPS["learning"],
    ),
]
Alone = Annotated[
    bool,
    typer.Option(
        "--alone",
        help="Learn this model only, without the baselines (such as one model per task, and one for all): faster.",
        rich_help_panel=GROUPS["learning"],
    ),
]
NewTask = Annotated[
    str | None,
    typer.Option(
        metavar="grow|raise",
        help="Whether the saved model takes tasks it has never seen (`grow`, the default), or refuses them.",
        rich_help_panel=GROUPS["learning"],
    ),
]

Skip = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=0,
        help="Skip the first N records, such as those that a stopped run has learned.",
        rich_help_panel=GROUPS["reading"],
    ),
]
SaveEvery = Annotated[
    str | None,
    typer.Option(
        metavar="N|5m",
        help="Save the model also during the run: every N records, or every so many seconds, minutes or hours "
        "(`30s`, `5m`, `1h`), between blocks of up to 8,192 records. A line says after how many records, also "
        "with `--quiet`.",
        rich_help_panel=GROUPS["outputs"],
    ),
]


def learn(
    files: Files,
    columns: ColumnOptions,
    learning: SeveralLearners,
    scaling: Scaling,
    outputs: OutputOptions,
    from_: From = None,
    alone: Alone = False,
    new_task: NewTask = None,
    delay: Delay = 0,
    skip: Skip = 0,
    save_every: SaveEvery = None,
) -> None:
    """Learn one model per task, each learning from the others.

    The files are read once. Every record is predicted before it is learned from, so the errors shown are errors of
    predictions. One model per task, one model for all tasks, one for all with a constant per task, and the running
    rate of each task run beside the model asked for: the summary says whether learning together helps, and for which
    tasks. If --learner is repeated, the summary is about the best of them, which is also what --output saves.

    Ctrl-C, SIGTERM or SIGHUP ends it as if there were no more records, and so does a bad record: the model is saved
    where --output was given, and a line tells after how many records, and how to go on.

    For example:
      coterie learn clicks.csv --task user --label click --output clicks.coterie
      coterie learn 'logs/*.parquet' -t sensor -l fault --report report.html
      zcat new.csv.gz | coterie learn - --format csv --from clicks.coterie -o clicks.coterie
      coterie learn mail.jsonl -t user -l spam --text subject --learner "MultitaskAROW()"
      coterie learn sales.csv -t shop -l sold --learner "MultitaskLogistic(Clusters.read('regions.csv'))"
    """
    from coterie.evaluation.learning import NothingLeftError
    from coterie.io.sources import find_paths

    _check(outputs, from_, alone, new_task)
    configs, asking = {}, None
    if from_ is None:
        configs = learning.expressions()
        asking = next(iter(configs.values())).continued
    else:
        asking = learning.asking()
    if scaling.workers is not None:
        others: dict[str, object] = {"from": from_, "new_task": new_task, "delay": delay, "skip": skip}
        several = [*configs] if len(configs) > 1 else None
        others |= {"learner": asking or several}
        learn_in_shards(files, columns, configs, scaling, outputs, alone, save_every, others)
        return
    scaling.refuse()
    again = columns.again(from_ is not None) | {"delay": delay, "learner": asking} | outputs.again
    run = InterruptibleRun(files, outputs.output, again, skip)
    read = [*find_paths(files), *(path for config in configs.values() for path in config.files)]
    outputs.require(read, over=from_)
    run.save_every(save_every)
    if configs:
        with run.stopping():
            outcome = learn_new(columns, configs, delay, alone, run)
            if outcome.stopped is None:  # what goes on has more tasks to meet
                _set_new_task(outcome.model, new_task)
            finish("learn", outcome, outputs, run)
        return
    model = load_online(Path(str(from_)))
    _set_new_task(model, new_task)
    run.again["new_task"] = new_task
    wrapped = None if asking is None else learning.expression(asking, model)
    reader = columns.continued(run.files, model.encoder_, skip=run.skip)
    with run.stopping():
        try:
            outcome = _go_on(reader, model, delay, run, wrapped)
        except NothingLeftError:
            if reader.passed:
                raise
            save_unchanged(model, outputs, run, "0 records")
            return
        finish("learn", outcome, outputs, run)


def learn_new(
    columns: ColumnOptions,
    configs: Mapping[str, LearnerExpression],
    delay: int,
    alone: bool,
    run: InterruptibleRun,
) -> LearningOutcome:
    """Learn new models beside the baselines; one model by itself is called "together"."""
    from coterie.evaluation.learning import learn as learn_together

    columns.require_named(run.files)
    reader = columns.reader(run.files, skip=run.skip)
    named = dict(configs) if len(configs) > 1 else {_name(config): config for config in configs.values()}
    with _pass(reader, delay, run) as given:
        return learn_together(reader, named, alone=alone, **given)


def _go_on(
    reader: Reader,
    model: OnlineEstimator,
    delay: int,
    run: InterruptibleRun,
    asking: LearnerExpression | None = None,
) -> LearningOutcome:
    from coterie.evaluation.learning import TOGETHER, continue_learning
    from coterie.online.selective import base_model

    going = base_model(model) if asking is None else asking.make()
    kept = model if asking is None else going
    with _pass(reader, delay, run) as given:
        return continue_learning(reader, {TOGETHER: going}, saved=kept, **given)


@contextmanager
def _pass(reader: Reader, delay: int, run: InterruptibleRun) -> Iterator[dict[str, Any]]:
    """Provide the options of a pass over a reader: its delay, progress, stop and checkpoints."""
    with watching(reader, run.quiet, delay) as on_round:
        yield {
            "delay": delay,
            "on_round": on_round,
            "stop": run.stop,
            "checkpoints": run.checkpoints,
        }


def _name(config: LearnerExpression) -> str:
    """The name of a learner in tables: of a baseline, if it is one."""
    from coterie.evaluation.learning import TOGETHER
    from coterie.relations import Independent, Pooled

    baselines = {Independent: "independent", Pooled: "pooled"}
    return baselines.get(type(config.parameter("relation")), TOGETHER)


def _set_new_task(model: OnlineEstimator, new_task: str | None) -> None:
    from coterie.online.selective import base_model

    if new_task is not None:
        base_model(model).set_params(new_task=new_task)


def _check(outputs: OutputOptions, from_: Path | None, alone: bool, new_task: str | None) -> None:
    if outputs.report is not None and (alone or from_ is not None):
        raise UsageError("--report compares learners, so it does not go with --alone or --from")
    if new_task not in (None, "grow", "raise"):
        raise UsageError(f"--new-task is {new_task!r}; expected grow or raise")
