"""``coterie learn``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie.cli.failures import UsageError
from coterie.cli.options import Columns, Delay, Files, Learning, refuse_learning
from coterie.cli.outputs import Outputs, finish
from coterie.cli.progress import watching
from coterie.cli.querying import Asking, query
from coterie.cli.spreading import spread
from coterie.cli.viewing import NO_VIEWS, Viewing

if TYPE_CHECKING:
    from coterie.jobs.learning import Outcome

From = Annotated[
    Path | None,
    typer.Option("--from", metavar="MODEL", help="Go on learning with this saved model, and nothing beside it."),
]
Alone = Annotated[
    bool, typer.Option("--alone", help="Learn this model only, without one per task and one for all beside it: faster.")
]
NewTask = Annotated[
    str | None,
    typer.Option(metavar="grow|raise", help="Whether the saved model takes tasks it has never seen, or refuses them."),
]


@spread
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
        viewing.refuse()
    if asking.query is not None:
        refuse_learning(learning)
        query(files, columns, asking, _loaded(from_, new_task), outputs)
        return
    if from_ is None:
        outcome = learn_new(files, columns, learning, outputs.quiet, delay, alone, asking, viewing)
    else:
        outcome = _go_on(files, columns, learning, _loaded(from_, new_task), outputs.quiet, delay, asking)
    if new_task is not None:
        outcome.model.passive.set_params(new_task=new_task)
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

    choice = viewing.choice(learning)
    reader = viewing.reader(columns, files, [choice])
    name = VIEWS if viewing else choice.kind if choice.kind in BASELINES else TOGETHER
    said = None if asking is None else asking.said
    if viewing and said is not None:
        raise UsageError("learners of several views ask for no labels: --ask and its options do not go with --view")
    with watching(reader, quiet) as on_round:
        return run(reader, {name: choice}, delay=delay, alone=alone, asking=said, on_round=on_round)


def _go_on(
    files: list[str], columns: Columns, learning: Learning, model: Any, quiet: bool, delay: int, asking: Asking
) -> Outcome:
    from coterie.jobs.learning import go_on

    refuse_learning(learning)
    reader = columns.continued(files, model)
    with watching(reader, quiet) as on_round:
        return go_on(reader, model, delay=delay, asking=asking.said, on_round=on_round)


def _loaded(path: Any, new_task: str | None) -> Any:
    from coterie.cli.models import load_online

    model = load_online(path)
    if new_task is not None:
        model.passive.set_params(new_task=new_task)
    return model


def _check(outputs: Outputs, from_: Path | None, alone: bool, new_task: str | None) -> None:
    if outputs.report is not None and (alone or from_ is not None):
        raise UsageError("--report compares learners, so it does not go with --alone or --from")
    if new_task not in (None, "grow", "raise"):
        raise UsageError(f"--new-task is {new_task!r}; expected grow or raise")
    outputs.require_folders()
