"""``coterie learn``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .failures import UsageError
from .helping import GROUPS
from .options import Columns, Delay, Files, Learning
from .outputs import Outputs, finish
from .progress import watching
from .querying import Asking, query
from .viewing import NO_VIEWS, Viewing

if TYPE_CHECKING:
    from coterie.jobs.learning import Outcome
    from coterie.online.estimator import OnlineEstimator

From = Annotated[
    Path | None,
    typer.Option(
        "--from",
        metavar="MODEL",
        help="Go on with a saved model, and nothing beside it; options that would change the learner or its features "
        "are refused.",
        rich_help_panel=GROUPS["learning"],
    ),
]
Alone = Annotated[
    bool,
    typer.Option(
        "--alone",
        help="Learn this model only, without one per task and one for all beside it: faster.",
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


def learn(
    files: Files,
    columns: Columns,
    viewing: Viewing,
    learning: Learning,
    asking: Asking,
    outputs: Outputs,
    from_: From = None,
    alone: Alone = False,
    new_task: NewTask = None,
    delay: Delay = 0,
) -> None:
    """Learn one model per task, each learning from the others.

    The files are read once. Every record is predicted before it is learned from, so the errors shown are errors of
    predictions. Beside the learner asked for run one model per task and one model for all tasks: the summary says
    whether learning together helps, and for whom.

    For example:
      coterie learn clicks.csv --task user --label click --model clicks.coterie
      coterie learn 'logs/*.parquet' --task sensor --label fault --report report.html
      zcat new.csv.gz | coterie learn - --format csv --from clicks.coterie --model clicks.coterie
      coterie learn mail.jsonl --task user --label spam --text subject --share 0.3
      coterie learn sales.csv --task shop --label sold --groups regions.csv
      coterie learn clips.csv --label kind --view 'audio=mfcc_*' --view video=red,green,blue
      coterie learn new.csv --from clicks.coterie --query ask.csv --label-budget 200 --model clicks.coterie
    """
    _check(outputs, from_, alone, new_task)
    asking.check(from_, delay)
    if from_ is not None:
        viewing.refuse(learning)
    if from_ is None:
        outcome = learn_new(files, columns, learning, outputs.quiet, delay, alone, asking, viewing)
    elif asking.query is not None:
        learning.refuse()
        query(files, columns, asking, _loaded(from_, new_task), outputs)
        return
    else:
        outcome = _go_on(files, columns, learning, _loaded(from_, new_task), outputs.quiet, delay, asking)
    _set_new_task(outcome.model, new_task)
    finish("learn", outcome, outputs)


def learn_new(
    files: list[str],
    columns: Columns,
    learning: Learning,
    quiet: bool,
    delay: int,
    alone: bool,
    asking: Asking | None = None,
    viewing: Viewing = NO_VIEWS,
) -> Outcome:
    """The main job: a new learner beside the two baselines."""
    from coterie.jobs.learning import BASELINES, TOGETHER, VIEWS
    from coterie.jobs.learning import learn as run

    config = viewing.config(learning)
    reader = viewing.reader(columns, files, [config])
    name = VIEWS if viewing else config.relation_name if config.relation_name in BASELINES else TOGETHER
    said = None if asking is None else asking.said
    if viewing and said is not None:
        raise UsageError("learners of several views ask for no labels: --ask and its options do not go with --view")
    with watching(reader, quiet) as on_round:
        return run(reader, {name: config}, delay=delay, alone=alone, asking=said, on_round=on_round)


def _go_on(
    files: list[str],
    columns: Columns,
    learning: Learning,
    model: OnlineEstimator,
    quiet: bool,
    delay: int,
    asking: Asking,
) -> Outcome:
    from coterie.jobs.learning import go_on

    learning.refuse()
    reader = columns.continued(files, model.encoder_)
    with watching(reader, quiet) as on_round:
        return go_on(reader, model, delay=delay, asking=asking.said, on_round=on_round)


def _loaded(path: Path, new_task: str | None) -> OnlineEstimator:
    from .models import load_online

    model = load_online(path)
    _set_new_task(model, new_task)
    return model


def _set_new_task(model: OnlineEstimator, new_task: str | None) -> None:
    from coterie.online.selective import base_model

    if new_task is not None:
        base_model(model).set_params(new_task=new_task)


def _check(outputs: Outputs, from_: Path | None, alone: bool, new_task: str | None) -> None:
    if outputs.report is not None and (alone or from_ is not None):
        raise UsageError("--report compares learners, so it does not go with --alone or --from")
    if new_task not in (None, "grow", "raise"):
        raise UsageError(f"--new-task is {new_task!r}; expected grow or raise")
    outputs.require_folders()
