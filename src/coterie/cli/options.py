"""The options that commands share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie import spec
from coterie.settings import Setting

from .failures import UsageError, option
from .spreading import GROUPS, OptionSet

if TYPE_CHECKING:
    from coterie.expressions import LearnerExpression
    from coterie.inputs.encoding import Encoder
    from coterie.io.readers import Reader

#: The options that shape an encoder and have no default.
_SHAPING = ("features", "ignore", "text", "categorical", "log", "scale", "bits")

FORMAT = Setting(
    metavar="NAME", help="`csv`, `tsv`, `jsonl`, `parquet`, `arrow`, `svmlight` or `vw`, where the name does not tell."
)
ON_ERROR = Setting(
    metavar="stop|skip", help="Stop at the first bad record, or leave bad records out, count them and show the first."
)
OUTPUT = Setting(metavar="OUT", help="Save the model here, whole or not at all.")
LEARNER = Setting(
    metavar="EXPRESSION",
    help="The model, as the Python expression that makes it: `MultitaskLogistic(TaskGraph.read('edges.csv'))` "
    "([all there are](cli.md#learners)).",
    shown="AdaptiveSharingClassifier()",
)
LEARNERS = replace(LEARNER, help=f"{LEARNER.help} May be repeated, to compare several.")
REGRESSION = Setting(
    kind="flag", help="Labels are numbers: predict how much, not which of two ([outputs](outputs.md))."
)
MANY_CLASSES = Setting(
    kind="flag",
    help="Labels are classes, any number of them; new ones may appear later ([outputs](outputs.md#onevsrest)).",
)

Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE",
        help="Files to read one after the other: paths, URLs of a [store](data.md#object-stores), quoted globs "
        "of either, or `-` for standard input. CSV, TSV, JSON Lines, Parquet, Arrow IPC, svmlight or Vowpal Wabbit "
        "text, also compressed (gz, bz2, zst, lz4) ([formats](data.md)).",
    ),
]
Delay = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=0,
        help="Labels come N records late, as where an outcome takes time to be known.",
        rich_help_panel=GROUPS["reading"],
    ),
]
Json = Annotated[
    bool,
    typer.Option(
        "--json",
        help="Print the result as JSON instead of text ([keys](cli.md#json)).",
        rich_help_panel=GROUPS["outputs"],
    ),
]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet",
        "-q",
        help="Print nothing but errors, and the JSON that `--json` asks for.",
        rich_help_panel=GROUPS["outputs"],
    ),
]


Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose",
        help="Print all measures (F1, AUC, log loss, examples/s), intervals, and the tasks that gain or lose most.",
        rich_help_panel=GROUPS["outputs"],
    ),
]


@dataclass(frozen=True)
class ColumnOptions(OptionSet):
    """The columns to read, and how they are encoded."""

    group = "reading"

    task: str | None = spec.field(
        default=None,
        metavar="COLUMN",
        help="The column that says whose record it is (a user, a sensor); for `vw` a namespace. Not needed for "
        "`svmlight` (`qid:`).",
    )
    label: str | None = spec.field(
        default=None,
        metavar="COLUMN",
        help="The column to predict: it holds two values, unless `--many-classes` or `--regression` is given. Not "
        "needed for `svmlight` and `vw`.",
    )
    weight: str | None = spec.field(
        default=None,
        metavar="COLUMN",
        help="The column of numbers that says how much each record counts; 0 for a record that is predicted and "
        "not learned. `vw` has importances.",
    )
    features: list[str] | None = spec.field(
        default=None, metavar="COLUMN", help="Use this column and no others but those named so; may be repeated."
    )
    ignore: list[str] | None = spec.field(
        default=None, metavar="COLUMN", help="Leave this column out; may be repeated."
    )
    text: list[str] | None = spec.field(
        default=None, metavar="COLUMN", help="Split this column into words; may be repeated."
    )
    categorical: list[str] | None = spec.field(
        default=None,
        metavar="COLUMN",
        help="Treat the values of this column as names, even if they are numbers (a zip code); may be repeated.",
    )
    time: str | None = spec.field(
        default=None,
        metavar="COLUMN",
        help="The column of dates or numbers by which the records are sorted: a record earlier than the one "
        "before it is a bad record. The column is also a feature, unless it is ignored.",
    )
    log: list[str] | None = spec.field(
        default=None,
        metavar="COLUMN",
        help="Take the logarithm of this column of numbers before it is scaled ([sign(x)·log(1 + |x|)]"
        "(data.md#logarithms)): for skewed amounts and counts; may be repeated.",
    )
    scale: str | None = spec.field(
        default=None,
        metavar="HOW",
        help="`auto` (the default: numbers to z-scores over the records so far, then records to length one), "
        "`standard`, `unit` or `none`.",
    )
    bits: int | None = spec.field(
        default=None,
        metavar="N",
        shown="18",
        help="Hash words and categories into 2^N features; where there are few different ones, 12 makes smaller "
        "models.",
    )
    no_names: bool = spec.field(
        default=False,
        help="Keep no names of hashed words and categories in the model (it keeps the first 65,536, which "
        "`explain` prints).",
    )
    format: str | None = spec.field(FORMAT, default=None)
    on_error: str = spec.field(ON_ERROR, default="stop")

    def reader(self, files: list[str], **given: Any) -> Reader:
        """Open the files with an encoder of their own, or with a ``given`` one."""
        from coterie.io.readers import read

        return read(files, **self.reading, **given)

    @property
    def reading(self) -> dict[str, Any]:
        """The options as arguments of `coterie.read` for a new model."""
        shaped: dict[str, Any] = {"scale": self.scale, "bits": self.bits}
        shaped = {name: value for name, value in shaped.items() if value is not None} | {"names": not self.no_names}
        return self._said() | shaped

    def again(self, continued: bool) -> dict[str, Any]:
        """The options that the command of a resumed run must repeat; names of columns only if this is one itself."""
        named = {"task": self.task, "label": self.label} if continued else {}
        return (
            named
            | {"weight": self.weight, "time": self.time}
            | {"format": self.format, "on_error": None if self.on_error == "stop" else self.on_error}
        )

    def continued(self, files: list[str], encoder: Encoder, update: bool = True, skip: int = 0) -> Reader:
        """Open the files with the encoder of a model, whose label may be missing unless it is named."""
        from coterie.io.readers import read

        refuse(
            {name: getattr(self, name) for name in _SHAPING} | {"no_names": self.no_names or None},
            "the model reads as it first did",
        )
        for name, held in (("task", encoder.task), ("label", encoder.label)):
            given = getattr(self, name)
            if given is not None and held is not None and given != held:
                raise UsageError(f"{option(name)} cannot be given with --from: the model has its {name} in {held!r}")
        if not update:
            unread = {"label": None, "weight": None, "time": None}
            return read(files, encoder=encoder, update=False, **self._said() | unread)
        # a label that is only the encoder's may be missing, which is right for prediction
        return read(files, encoder=encoder, skip=skip, **self._said() | {"label": self.label or encoder.label})

    def require_named(self, files: list[str]) -> None:
        """Refuse tables whose column of labels or of tasks is not named."""
        from coterie.io.readers import TABLES, detect_format
        from coterie.io.sources import find_paths

        for path in find_paths(files):
            if detect_format(path, self.format) in TABLES:
                named = (("label", "to predict"), ("task", "that says whose record it is"))
                for name, what in named:
                    if getattr(self, name) is None:
                        raise UsageError(f"--{name} is missing: name the column {what}")

    def _said(self) -> dict[str, Any]:
        said = {name: getattr(self, name) for name in ("label", "task", "weight", "time", "format", "on_error")}
        several = {name: getattr(self, name) or () for name in ("ignore", "text", "categorical", "log")}
        return said | several | {"features": self.features or None}


@dataclass(frozen=True)
class LearningOptions(OptionSet):
    """The options that choose a model."""

    group = "learning"

    learner: str | None = spec.field(LEARNER, default=None)
    regression: bool = spec.field(REGRESSION, default=False)
    many_classes: bool = spec.field(MANY_CLASSES, default=False)

    def expression(self, text: str | None = None, model: Any = None) -> LearnerExpression:
        """Return the model asked for, or that of a text; ``model`` is a saved one that continues."""
        from coterie.expressions import ExpressionError, LearnerExpression

        try:
            return LearnerExpression(text or self.learner, self.regression, self.many_classes, model)
        except ExpressionError as error:
            raise error.in_option("--learner") from None

    @property
    def given(self) -> dict[str, Any]:
        """The options that were given."""
        return {each.name: getattr(self, each.name) for each in fields(self) if getattr(self, each.name)}

    def refuse(self, other: str = "--from", reason: str = "the model continues as it is") -> None:
        """Refuse options that would change a model that has learned, which the argument ``other`` names."""
        refuse(self.given, reason, other)


@dataclass(frozen=True)
class SeveralLearners(LearningOptions):
    """The options that choose one or more models."""

    learner: list[str] | None = spec.field(LEARNERS, default=None)  # type: ignore[assignment]

    def expressions(self) -> dict[str, LearnerExpression]:
        """Return the models asked for, by their text."""
        texts: list[str] | list[None] = self.learner or [None]
        made = [self.expression(text) for text in texts]
        return {each.text: each for each in made}

    def asking(self) -> str | None:
        """Return the expression by which a saved model is to ask for labels; refuse any other one."""
        texts = self.learner or []
        if len(texts) == 1 and texts[0].replace(" ", "").startswith("SelectiveSampling(model"):
            return texts[0]
        self.refuse()
        return None


def refuse(given: Mapping[str, object], why: str, beside: str = "--from") -> None:
    """Refuse options that do not go with another one."""
    for name, value in given.items():
        if value is not None and value != []:
            raise UsageError(f"{option(name)} cannot be given with {beside}: {why}")
