"""``coterie learn --ask`` and ``--query``: which labels a learner has, or wants to have."""

from __future__ import annotations

import inspect
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coterie.settings import Setting, Value

from .failures import UsageError, option, typed
from .places import QUESTIONS, Place, naming
from .spreading import OptionSet, parameter, parameters_of

if TYPE_CHECKING:
    from coterie.jobs.querying import Questioning, Wanted
    from coterie.online import SelectiveSampling
    from coterie.online.estimator import OnlineEstimator

    from .options import ColumnOptions
    from .outputs import OutputOptions

_QUERY = Setting(
    metavar="OUT",
    help="Learn nothing: write the records without labels that should be labelled here, to a CSV or TSV file, or as "
    "JSON Lines for records of JSON, Parquet or Arrow; with `--from`.",
)


class Asking(OptionSet):
    """The options of asking for labels, see `coterie.jobs.querying`."""

    def __init__(self, query: Path | None = None, **given: Value | None) -> None:
        self.query = query
        self.given = {name: value for name, value in given.items() if value is not None}

    @classmethod
    def parameters(cls) -> list[inspect.Parameter]:
        """The options as parameters of a command."""
        from coterie.jobs.querying import asking_options

        return [parameter("query", _QUERY, "asking", Path | None), *parameters_of({"asking": asking_options()})]

    @property
    def said(self) -> Questioning | None:
        """The way of asking, None if no option of it was given."""
        if not self.given:
            return None
        from coterie.jobs.querying import Questioning

        given: dict[str, Any] = dict(self.given)
        if "label_per_task" in given:
            given["label_per_task"] = _limit(given["label_per_task"])
        return Questioning(**given)

    def asking(self, model: OnlineEstimator | SelectiveSampling) -> SelectiveSampling:
        """Return a loaded model that asks as it did before, or as the options say."""
        from coterie.jobs.querying import Questioning
        from coterie.online import SelectiveSampling

        if self.said is None and isinstance(model, SelectiveSampling):
            return model
        return (self.said or Questioning()).around(model)

    @property
    def places(self) -> list[Place]:
        """The files that it writes."""
        return [] if self.query is None else [Place("query", self.query, QUESTIONS)]

    def check(self, from_: Path | None, **others: object) -> None:
        """Refuse options that do not go together, before anything is read; ``others`` are about learning labels."""
        self.said  # noqa: B018 - refuses names and numbers
        if self.query is None:
            return
        if from_ is None:
            raise UsageError("--query asks by a model that has learned: name it with --from")
        for name, value in others.items():
            if value:
                raise UsageError(f"--query learns no labels, so {option(name)} does not go with it")


def _limit(text: str) -> int | float:
    try:
        return int(text) if text.isdecimal() else float(text)
    except ValueError:
        raise UsageError(f"--label-per-task is {text!r}; expected a whole number or a share below 1") from None


def query(
    files: list[str], columns: ColumnOptions, asking: Asking, model: OnlineEstimator, outputs: OutputOptions
) -> None:
    """Write the records of files whose labels a model wants, and save it, so that its budget counts on."""
    from coterie.io.readers import detect_format
    from coterie.io.sources import STDIN, find_paths
    from coterie.jobs.querying import require_file_of, wanted_records, write_wanted
    from coterie.persistence import replacing

    from .outputs import Written

    paths, out = find_paths(files), Path(str(asking.query))
    if STDIN in paths:
        raise UsageError("--query reads its records twice, so they must be in a file")
    formats = {path: detect_format(path, columns.format) for path in paths}
    require_file_of(str(out), list(formats.values()))
    selective, label = asking.asking(model), columns.label or model.encoder_.label
    wanted = wanted_records(selective, columns.continued(files, model.encoder_, update=False))
    with naming(out), replacing(out) as raw:
        file = TextIOWrapper(raw, encoding="utf-8", newline="")
        write_wanted(file, wanted, formats, label, out.suffix.lower())
        file.flush()
        file.detach()
    written = Written()
    if outputs.model is not None:
        written.model(selective, outputs.model)
    _tell(wanted, label, out, outputs.without(written.missing), written.rescued)
    written.require_all()


def _tell(wanted: Wanted, label: str, out: Path, outputs: OutputOptions, rescued: str | None) -> None:
    from coterie import __version__

    from .printing import paragraph, print_json, print_lines

    if outputs.json:
        saved = None if outputs.model is None else str(outputs.model)
        told = {"command": "learn", "version": __version__, "examples": wanted.examples, "labels": wanted.labels}
        print_json(told | {"query": str(out), "model": saved, "rescued": rescued})
    elif not outputs.quiet:
        goes_on = typed(outputs.model or "MODEL")
        said = (
            f"Of {wanted.examples:,} records, {wanted.labels:,} are worth a label: {out}. Fill in its column {label!r}"
        )
        print_lines(paragraph(f"{said}, then: coterie learn {typed(out)} --from {goes_on} --model {goes_on}"))
