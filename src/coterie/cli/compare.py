"""``coterie compare``."""

from __future__ import annotations

from typing import Annotated

import typer

from .helping import GROUPS
from .options import ColumnOptions, Delay, Files, LearningOptions
from .outputs import OutputOptions, finish
from .places import paths_read
from .progress import watching
from .stopping import StoppableRun
from .viewing import Viewing

DEFAULT = ("adaptive", "share=0.25", "share=0.75")
OF_VIEWS = ("p=2", "p=5", "p=2,pa1")

Learner = Annotated[
    list[str] | None,
    typer.Option(
        metavar="SPEC",
        help="A learner in one word, parts with commas between: a relation, a rule, `average`, `no-average`, or "
        "`name=value` with the name of an option, a dash being an underscore (`share=0.3,pa2,C=0.1`; of views "
        "`orthogonal`, `matrix`, `p=4`). May be repeated.  [default: adaptive, share=0.25, share=0.75; of views p=2, "
        "p=5 and p=2,pa1]",
        rich_help_panel=GROUPS["learning"],
    ),
]


def compare(
    files: Files,
    columns: ColumnOptions,
    viewing: Viewing,
    learning: LearningOptions,
    outputs: OutputOptions,
    learner: Learner = None,
    delay: Delay = 0,
) -> None:
    """Let several learners go along the same records in one pass.

    One model per task, one for all tasks, and one for all with a constant of each always run beside them. The other
    options hold for every learner that does not say otherwise. The summary is about the best of those asked for, which
    is also what --model saves.

    For example:
      coterie compare clicks.csv --task user --label click --report report.html
      coterie compare sales.csv --task shop --label sold --learner half --learner groups=regions.csv,share=0.5
      coterie compare clips.vw --view sound --view picture --learner p=1 --learner p=4 --learner matrix
      coterie compare mail.jsonl --task user --label spam --learner pa1,C=0.1 --learner pa1,C=1 --learner perceptron
    """
    from coterie.jobs.choosing import paths_in
    from coterie.jobs.learning import learn

    from .specs import parse

    base = viewing.config(learning)
    configs = {spec: parse(spec, base) for spec in learner or (OF_VIEWS if viewing else DEFAULT)}
    given = [path for config in configs.values() for path in paths_in(config.options)]
    outputs.require([*paths_read(files), *given])
    run = StoppableRun(files, outputs.model, columns.again(False) | {"delay": delay} | outputs.again)
    with run.stopping():
        reader = viewing.reader(columns, files, configs.values())
        with watching(reader, outputs.quiet) as on_round:
            outcome = learn(reader, configs, delay=delay, on_round=on_round, stop=run.stop)
        finish("compare", outcome, outputs, run)
