"""Options of commands, declared as dataclass fields and shared by commands."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, get_type_hints

import typer

from .failures import UsageError, option_name

if TYPE_CHECKING:
    from coterie.data.readers import Reader
    from coterie.data.record_encoders import RecordEncoder
    from coterie.expressions import LearnerExpression
    from coterie.types import Estimator, Json

#: The headings of options in help pages.
READING, LEARNING, OUTPUTS = "Input", "Learning", "Output"

_KEYWORD = inspect.Parameter.KEYWORD_ONLY


class OptionSet:
    """Base class of groups of options: dataclasses with an `option` per field."""

    heading: ClassVar[str] = "Options"


def option(metavar: str | None, text: str, default: Any = None, *names: str, **settings: object) -> Any:
    """Declare an option as a dataclass field of an `OptionSet`.

    Parameters
    ----------
    metavar : str or None
        The placeholder of the value in help pages; None for a flag.
    text : str
        The help of the option, in Markdown.
    default
        Its default; ``MISSING`` if the option is required.
    *names : str
        Short names; the long one is that of the field.
    **settings
        Further arguments of ``typer.Option``.
    """
    settings |= {"metavar": metavar, "help": text}
    return field(default=default, metadata={"names": names, "settings": settings})


def spread_options(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that has one parameter per option in place of its option sets.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Size(OptionSet):
    ...     width: int = option("N", "The width.", 1)
    >>> @spread_options
    ... def draw(name: str, size: Size) -> None:
    ...     print(name, size)
    >>> list(inspect.signature(draw).parameters)
    ['name', 'width']
    >>> draw(name="a", width=2)
    a Size(width=2)
    """
    hints = get_type_hints(command, include_extras=True)
    sets = {
        name: _parameters(hint)
        for name, hint in hints.items()
        if isinstance(hint, type) and issubclass(hint, OptionSet)
    }
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        parameters += sets.get(name, [parameter.replace(annotation=hints[name], kind=_KEYWORD)])

    @wraps(command)
    def run_command(**values: object) -> None:
        for name, options in sets.items():
            values[name] = hints[name](**{option.name: values.pop(option.name) for option in options})
        command(**values)

    run_command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run_command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run_command


def _parameters(options: Any) -> list[inspect.Parameter]:
    hints, parameters = get_type_hints(options), []
    for declared in sorted(fields(options), key=lambda declared: declared.name not in options.__annotations__):
        names, settings = declared.metadata["names"], declared.metadata["settings"]
        declaration = typer.Option(
            option_name(declared.name), *names, **{"rich_help_panel": options.heading} | settings
        )
        default = inspect.Parameter.empty if declared.default is MISSING else declared.default
        annotation: Any = Annotated[hints[declared.name], declaration]
        parameters.append(inspect.Parameter(declared.name, _KEYWORD, default=default, annotation=annotation))
    return parameters


def refuse_options(options: Mapping[str, object], reason: str) -> None:
    """Raise UsageError, with this reason, if one of these options was passed."""
    for name, value in options.items():
        if value:
            raise UsageError(f"{option_name(name)} is not supported {reason}")


def parse_duration(text: str) -> float:
    """Parse a duration such as ``30s``, ``5m`` or ``1h``; return seconds.

    >>> parse_duration("5m")
    300.0
    """
    match = re.fullmatch(r"([1-9]\d*)([smh])", text, re.ASCII)
    if match is None:
        raise typer.BadParameter(f"{text!r} is not a duration; expected seconds, minutes or hours, such as 30s or 24h")
    return float(int(match[1]) * {"s": 1, "m": 60, "h": 3600}[match[2]])


# -- options that several commands share ------------------------------------------------------------------------------

FORMAT = "`csv`, `tsv`, `jsonl`, `parquet`, `arrow`, `svmlight` or `vw`, if the name of the file does not tell."
ON_ERROR = "Stop at the first bad record (the default), or skip bad records, count them and show the first."
FORCE = "Replace files that exist already."
JSON = "Print the result as JSON instead of text ([keys](cli.md#json))."
LEARNER = (
    "The model, as the Python expression that makes it: `MultitaskLogistic(TaskGraph.read('edges.csv'))` "
    "([all classes](cli.md#learners))."
)
DELAY = "Labels come N records late, if it takes time until an outcome is known."
OnError = Literal["stop", "skip"] | None

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="The saved model.")]
Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE",
        help="Files to read one after the other: paths, URLs of a [store](data.md#object-stores), quoted globs "
        "of either, or `-` for standard input. CSV, TSV, JSON Lines, Parquet, Arrow IPC, svmlight or Vowpal Wabbit "
        "text, also compressed (gz, bz2, zst, lz4) ([formats](data.md)).",
    ),
]


@dataclass(frozen=True, kw_only=True)
class PrintOptions(OptionSet):
    """Options for the output format."""

    heading = OUTPUTS

    json: bool = option(None, JSON, False)
    quiet: bool = option(None, "Print only errors, and the JSON of `--json`.", False, "-q")
    force: bool = option(None, FORCE, False)


@dataclass(frozen=True, kw_only=True)
class OutputOptions(PrintOptions):
    """Options for the files to write and the output format."""

    output: Path | None = option("OUT", "Save the model here, whole or not at all.", None, "-o")
    report: Path | None = option("OUT.html", "Write the [report](verdict.md): one HTML page that works offline.")
    verbose: bool = option(
        None,
        "Print all measures (F1, AUC, log loss, examples/s), intervals, and the tasks that gain or lose most.",
        False,
    )

    @property
    def repeated(self) -> Json:
        """The output options to repeat in the command that continues a run."""
        return {"json": self.json, "quiet": self.quiet, "verbose": self.verbose}

    def require(self, inputs: Iterable[str | Path], updated: Path | None = None) -> None:
        """Raise an error if an output exists or cannot be written; see `coterie.cli.outputs.require_outputs`."""
        from .outputs import require_outputs

        require_outputs({"output": self.output, "report": self.report}, inputs, self.force, updated)


@dataclass(frozen=True, kw_only=True)
class ColumnOptions(OptionSet):
    """Options for the columns to read, and their encoding."""

    heading = READING

    task: str | None = option(
        "COLUMN",
        "The column of tasks (users, sensors, ...); for `vw` a namespace. `svmlight` needs none (`qid:`).",
        None,
        "-t",
    )
    label: str | None = option(
        "COLUMN",
        "The column to predict. It has two values, unless `--many-classes` or `--regression` is given. `svmlight` and "
        "`vw` need none.",
        None,
        "-l",
    )
    weight: str | None = option(
        "COLUMN",
        "The column of record weights; a record of weight 0 is predicted and not learned. `vw` has importances.",
    )
    features: list[str] | None = option("COLUMN", "Use only this column as a feature; may be repeated.")
    ignore: list[str] | None = option("COLUMN", "Ignore this column; may be repeated.")
    text: list[str] | None = option("COLUMN", "Split this column into words; may be repeated.")
    categorical: list[str] | None = option(
        "COLUMN",
        "Treat the values of this column as categories, even if they are numbers (a zip code); may be repeated.",
    )
    time: str | None = option(
        "COLUMN",
        "The column of dates or numbers by which the records are sorted: a record earlier than the one before it is a "
        "bad record. The column is also a feature, unless it is ignored.",
    )
    log: list[str] | None = option(
        "COLUMN",
        "Take the logarithm of this column of numbers before it is scaled ([sign(x)·log(1 + "
        "|x|)](data.md#logarithms)): for skewed amounts and counts; may be repeated.",
    )
    scale: str | None = option(
        "HOW",
        "`auto` (the default: numbers to z-scores over the records so far, then records to length one), `standard`, "
        "`unit` or `none`.",
    )
    bits: int | None = option(
        "N",
        "Hash words and categories into 2^N features; the default is 18, and 12 makes smaller models if there are few "
        "different ones.",
    )
    no_names: bool = option(
        None,
        "Do not store names of hashed words and categories in the model. By default the first 65,536 are stored, and "
        "`explain` prints them.",
        False,
    )
    format: str | None = option("NAME", FORMAT)
    on_error: OnError = option("stop|skip", ON_ERROR)

    @property
    def arguments(self) -> Json:
        """The arguments of `coterie.read` for a new model."""
        values = {column.name: getattr(self, column.name) for column in fields(self)}
        names = {"names": False} if values.pop("no_names") else {}
        return {name: value for name, value in values.items() if value is not None and value != []} | names

    def open_continued(self, files: list[str], encoder: RecordEncoder, skip: int) -> Reader:
        """Open the files for a saved model, with its encoder."""
        from coterie.data.readers import read

        shaping = ("features", "ignore", "text", "categorical", "log", "scale", "bits", "no_names")
        refuse_options({name: getattr(self, name) for name in shaping}, "with --from: the model reads as it first did")
        for name, column in (("task", encoder.task), ("label", encoder.label)):
            if column is not None and getattr(self, name) not in (None, column):
                raise UsageError(f"--{name} is not supported with --from: the model has its {name} in {column!r}")
        # a label that only the encoder names may be missing, which is right for predictions only
        options: Json = {"label": encoder.label} | self.arguments
        return read(files, encoder=encoder, skip=skip, **options)

    def require_columns(self, files: list[str]) -> None:
        """Raise an error for files with columns if no label or task column was given."""
        from coterie.data.readers import TABLES, detect_format
        from coterie.data.sources import find_paths

        if any(detect_format(path, self.format) in TABLES for path in find_paths(files)):
            if self.label is None:
                raise UsageError("--label is missing; name the column to predict")
            if self.task is None:
                raise UsageError("--task is missing; name the task column")


@dataclass(frozen=True, kw_only=True)
class LearningOptions(OptionSet):
    """Options for the choice of a model."""

    heading = LEARNING

    learner: str | None = option("EXPRESSION", f"{LEARNER} The default is `AdaptiveSharingClassifier()`.")
    regression: bool = option(
        None, "Labels are numbers: predict how much, not which of two ([outputs](outputs.md)).", False
    )
    many_classes: bool = option(
        None,
        "Labels are classes, any number of them; new ones may appear later ([outputs](outputs.md#onevsrest)).",
        False,
    )

    @property
    def given(self) -> Json:
        """The options given on the command line."""
        return {name: value for name, value in vars(self).items() if value}

    def parse_learner(self, text: str | None = None, model: Estimator = None) -> LearnerExpression:
        """Return the parsed expression of the learner; the name ``model`` in it is a saved model."""
        from coterie.expressions import ExpressionError, LearnerExpression

        try:
            return LearnerExpression(text or self.learner, self.regression, self.many_classes, model)
        except ExpressionError as error:
            raise error.in_option("--learner") from None


@dataclass(frozen=True, kw_only=True)
class SeveralLearners(LearningOptions):
    """Options for the choice of one or more models."""

    learner: list[str] | None = option(  # type: ignore[assignment]
        "EXPRESSION", f"{LEARNER} May be repeated, to compare several. The default is `AdaptiveSharingClassifier()`."
    )

    def parse_learners(self) -> dict[str, LearnerExpression]:
        """Return the parsed expressions of the learners, by their text."""
        texts: list[str] | list[None] = self.learner or [None]
        return {learner.text: learner for learner in map(self.parse_learner, texts)}

    def read_query_strategy(self) -> str | None:
        """Return the query strategy for a saved model; raise an error for an expression of another kind."""
        texts = self.learner or []
        if len(texts) == 1 and texts[0].replace(" ", "").startswith("SelectiveSampling(model"):
            return texts[0]
        refuse_options(self.given, "with --from: the model continues as it is")
        return None
