"""``coterie learn --ask`` and ``--query``: which labels a learner has, or wants to have."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie.cli.failures import UsageError

if TYPE_CHECKING:
    from coterie.cli.options import Columns
    from coterie.cli.outputs import Outputs
    from coterie.jobs.querying import Questioning, Wanted


@dataclass(frozen=True)
class Asking:
    """Which labels to ask for."""

    query: Annotated[
        str | None,
        typer.Option(
            metavar="OUT", help="Learn nothing: write the records without labels that should be labelled here."
        ),
    ] = None
    ask: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Learn only from labels asked for by margin, row, below, randomly or always."
        ),
    ] = None
    ask_c: Annotated[
        float | None,
        typer.Option("--ask-c", metavar="C", help="The c of margin (0.3), threshold of below or rate of randomly."),
    ] = None
    label_budget: Annotated[int | None, typer.Option(metavar="N", help="Ask for at most N labels.")] = None
    label_window: Annotated[
        int | None, typer.Option(metavar="N", help="The limits are for any N records in a row, not for all.")
    ] = None
    label_per_task: Annotated[
        str | None, typer.Option(metavar="N|S", help="At most N labels a task, or the share 0.S of the budget.")
    ] = None
    ask_seed: Annotated[int | None, typer.Option(metavar="N", help="Of the random numbers.  [default: 0]")] = None

    @property
    def said(self) -> Questioning | None:
        """How to ask, if any of it was said."""
        given = {name: value for name, value in vars(self).items() if name != "query" and value is not None}
        if not given:
            return None
        from coterie.jobs.querying import Questioning

        per_task = {} if self.label_per_task is None else {"label_per_task": _limit(self.label_per_task)}
        return Questioning(**given | per_task)

    def asking(self, model: Any) -> Any:
        """A loaded model that is to ask: as it did before, or as was said."""
        from coterie.jobs.querying import Questioning

        if self.said is None and hasattr(model, "wants_block"):
            return model
        return (self.said or Questioning()).around(model)

    def check(self, from_: Path | None, delay: int) -> None:
        """Refuse what does not go together before anything is read."""
        from coterie.cli.options import require_folder

        self.said  # noqa: B018 - refuses names and numbers
        if self.query is None:
            return
        if from_ is None:
            raise UsageError("--query asks by a model that has learned: name it with --from")
        if delay:
            raise UsageError("--query learns no labels, so --delay does not go with it")
        require_folder(query=Path(self.query))


def _limit(text: str) -> int | float:
    try:
        return int(text) if text.isdecimal() else float(text)
    except ValueError:
        raise UsageError(f"--label-per-task is {text!r}; expected a whole number or a share below 1") from None


def query(files: list[str], columns: Columns, asking: Asking, model: Any, outputs: Outputs) -> None:
    """Write the records of files whose labels a model wants, and save it, so that its budget goes on."""
    from coterie.cli.outputs import naming
    from coterie.jobs.querying import require_file_of, wanted_records, write_wanted
    from coterie.persistence import replacing
    from coterie.streams.readers import detect_format
    from coterie.streams.sources import STDIN, find_paths

    paths, out = find_paths(files), Path(str(asking.query))
    if STDIN in paths:
        raise UsageError("--query reads its records twice, so they must be in a file")
    formats = {path: detect_format(path, columns.format) for path in paths}
    require_file_of(str(out), list(formats.values()))
    selective, label = asking.asking(model), columns.label or model.encoder_.label
    wanted = wanted_records(selective, columns.continued(files, model, update=False))
    with naming(out), replacing(out) as raw:
        import io

        file = io.TextIOWrapper(raw, encoding="utf-8", newline="")
        write_wanted(file, wanted, formats, label, out.suffix.lower())
        file.flush()
        file.detach()
    if outputs.model is not None:
        with naming(outputs.model):
            selective.save(outputs.model)
    _tell(wanted, label, out, outputs)


def _tell(wanted: Wanted, label: str, out: Path, outputs: Outputs) -> None:
    from coterie import __version__
    from coterie.cli.printing import paragraph, print_json, print_lines

    if outputs.json:
        saved = None if outputs.model is None else str(outputs.model)
        told = {"command": "learn", "version": __version__, "examples": wanted.examples, "labels": wanted.labels}
        print_json(told | {"query": str(out), "model": saved})
    elif not outputs.quiet:
        goes_on = outputs.model or "MODEL"
        said = (
            f"Of {wanted.examples:,} records, {wanted.labels:,} are worth a label: {out}. Fill in its column {label!r}"
        )
        print_lines(paragraph(f"{said}, then: coterie learn {out} --from {goes_on} --model {goes_on}"))
