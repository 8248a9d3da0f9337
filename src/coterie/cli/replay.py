"""``coterie replay``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from .failures import UsageError, tell

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a service, which may be running.")]
Until = Annotated[
    str | None,
    typer.Option(metavar="OFFSET|TIME", help="As it was at an offset of the journal, or a time as 2026-01-31T12:00."),
]
Output = Annotated[Path | None, typer.Option("--output", "-o", metavar="OUT", help="Save the model here.")]
Records = Annotated[
    bool,
    typer.Option(
        "--records",
        help="Print the records learned since the oldest snapshot kept, but for those of tasks forgotten later, one "
        "JSON object a line: `task`, `label` and the features, as `coterie learn - --format jsonl --task task --label "
        "label` reads them.",
    ),
]


def replay(folder: Folder, until: Until = None, output: Output = None, records: Records = False) -> None:
    """Rebuild the model of a service as it was at any moment that its journal holds.

    For example:
      coterie replay state/ --until 2026-01-31T12:00 -o then.coterie
      coterie replay state/ --records
    """
    from coterie.serve.replay import moment, replay

    offset, at = (None, None) if until is None else moment(until)
    engine = replay(folder, offset, at, _print_records if records else None)
    if output is not None:
        engine.model.save(output)
    known = len(engine.tasks)
    tell(f"{folder}: offset {engine.offset:,}, {known:,} tasks{'' if output is None else f'; saved to {output}'}")


def _print_records(learned: Sequence[tuple[Any, Any, Any]]) -> None:
    import msgspec

    for x, label, task in learned:
        line = {**x, "task": task, "label": label}
        if len(line) != len(x) + 2:
            raise UsageError("--records has no form for features called task or label")
        typer.echo(msgspec.json.encode(line).decode())
