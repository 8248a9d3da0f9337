"""The options that commands share."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie import spec
from coterie.settings import Setting, Value

from .failures import UsageError, earlier, option
from .helping import GROUPS
from .spreading import OptionSet, parameter, parameters_of

if TYPE_CHECKING:
    from coterie.inputs.encoding import Encoder
    from coterie.io.readers import Reader
    from coterie.jobs.learners import LearnerSpec

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
    metavar="SPEC",
    help="The learner, `adaptive` where nothing is said: `pa1(C=0.1)`, `adaptive(members=ensemble)`, "
    "`graph(edges.csv)`, or `@learner.toml` ([all there are](cli.md#learners)).",
)
LEARNERS = Setting(
    metavar="SPEC",
    help="A learner ([all there are](cli.md#learners)); may be repeated.  [default: adaptive, mean(share=0.25), "
    "mean(share=0.75)]",
)
REGRESSION = Setting(
    kind="flag", usual=False, help="Labels are numbers: predict how much, not which of two ([outputs](outputs.md))."
)
MANY_CLASSES = Setting(
    kind="flag",
    usual=False,
    help="Labels are classes, any number of them; new ones may appear later ([outputs](outputs.md#onevsrest)).",
)

Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE",
        help="Files to read one after the other: paths, URLs of a [store](data.md#files-in-a-store), quoted globs "
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

        shaped: dict[str, Any] = {"scale": self.scale, "bits": self.bits}
        shaped = {name: held for name, held in shaped.items() if held is not None} | {"names": not self.no_names}
        return read(files, **self._said(), **shaped, **given)

    @property
    def said(self) -> dict[str, Any]:
        """The options given, as plain data."""
        return {
            each.name: getattr(self, each.name) for each in fields(self) if getattr(self, each.name) != each.default
        }

    @property
    def bare(self) -> ColumnOptions:
        """The same without the options about features, which a model that goes on has kept."""
        nothing: dict[str, Any] = dict.fromkeys(_SHAPING)
        return replace(self, **nothing, no_names=False)

    def again(self, continued: bool) -> dict[str, Any]:
        """The options that the command of a resumed run must repeat; names of columns only if this is one itself."""
        named = {"task": self.task, "label": self.label} if continued else {}
        return (
            named
            | {"weight": self.weight, "time": self.time}
            | {"format": self.format, "on_error": None if self.on_error == "stop" else self.on_error}
        )

    def continued(
        self, files: list[str], encoder: Encoder, update: bool = True, skip: int = 0, ends: Sequence[int] = ()
    ) -> Reader:
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
        return read(
            files, encoder=encoder, skip=skip, ends=ends, **self._said() | {"label": self.label or encoder.label}
        )

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


class GivenOptions(OptionSet):
    """Options that parts declare, and what was given of them."""

    def __init__(self, **given: Any) -> None:
        self.given = {name: value for name, value in given.items() if value is not None}

    @classmethod
    def settings(cls) -> Mapping[str, Mapping[str, Setting]]:
        """The options by group."""
        raise NotImplementedError

    @classmethod
    def parameters(cls) -> list[inspect.Parameter]:
        """The options as parameters of a command."""
        return parameters_of(cls.settings())

    def read(self) -> dict[str, Any]:
        """Return the options given, with tuples for those that take several numbers."""
        known = {name: setting for group in self.settings().values() for name, setting in group.items()}
        return {name: value_of(name, value, known[name]) for name, value in self.given.items() if name in known}


class LearningOptions(GivenOptions):
    """The options that choose a learner; see `coterie.jobs.learners`."""

    #: Whether several learners can be named.
    several = False

    @classmethod
    def settings(cls) -> Mapping[str, Mapping[str, Setting]]:
        """The options by group; those of learners are of earlier versions, see `coterie.jobs.old_options`."""
        from coterie.jobs.old_options import old_options

        return {"learning": {"regression": REGRESSION, "many_classes": MANY_CLASSES}, "earlier": old_options()}

    @classmethod
    def parameters(cls) -> list[inspect.Parameter]:
        """The options as parameters of a command."""
        setting, kind = (LEARNERS, list[str] | None) if cls.several else (LEARNER, str | None)
        return [parameter("learner", setting, "learning", kind, None), *super().parameters()]

    def config(self, held: Any = None) -> LearnerSpec:
        """Return the learner asked for; ``held`` is a model that goes on."""
        return self.learner(self._spec(), held)

    def learner(self, text: str, held: Any = None) -> LearnerSpec:
        """Return a learner of the labels that the options tell of."""
        from coterie.jobs.grammar import SpecError
        from coterie.jobs.learners import LearnerSpec

        try:
            return LearnerSpec(text, "regression" in self.chosen(), "many_classes" in self.chosen(), held=held)
        except SpecError as error:
            raise error.of("--learner") from None

    def _spec(self) -> str:
        old = self.earlier()
        text = self.given.get("learner")
        if old and text is not None:
            raise UsageError(f"{option(next(iter(old)))} is an argument of --learner since 0.3: give it there")
        if not old:
            return text or "adaptive"
        from coterie.jobs.old_options import spec_of

        made = spec_of(old, "regression" in self.chosen())
        earlier(" ".join(map(option, old)), f"--learner {shlex.quote(made)}")
        return made

    def asking(self) -> str | None:
        """Return the spec by which a saved model that goes on asks for labels; refuse what would change it."""
        from coterie.jobs.grammar import written
        from coterie.jobs.old_options import ASKING, asking

        text, old = self.given.get("learner"), self.earlier()
        if text is not None and not old and text.replace(" ", "").startswith(("ask(from", "ask(model=from")):
            return str(text)
        if not old or set(old) - {"ask", "ask_c", *ASKING}:
            self.refuse()
            return None
        made = written(asking(old, "from"))
        earlier(" ".join(map(option, old)), f"--learner {shlex.quote(made)}")
        return made

    def earlier(self) -> dict[str, Any]:
        """Return the options of earlier versions that were given."""
        own = ("learner", "regression", "many_classes")
        return {name: value for name, value in self.read().items() if name not in own}

    def chosen(self) -> dict[str, Any]:
        """Return the options that were given."""
        return {name: value for name, value in self.given.items() if value is not False or name == "average"}

    def refuse(self, beside: str = "--from", why: str = "the model goes on as the learner it is") -> None:
        """Refuse options that would change a learner that has begun, which the argument ``beside`` names."""
        refuse(self.chosen(), why, beside)


class ComparedOptions(LearningOptions):
    """The options that choose several learners."""

    several = True


def value_of(name: str, value: Value, setting: Setting) -> Value:
    """Return the value of an option, of which Typer reads several numbers, or a number or a word, as text."""
    from coterie.inputs.errors import FieldError

    if not isinstance(value, str):
        return value
    try:
        return setting.read(name, value)
    except ValueError as error:
        raise FieldError.of(error, {name: name}) from None


def refuse(given: Mapping[str, object], why: str, beside: str = "--from") -> None:
    """Refuse options that do not go with another one."""
    for name, value in given.items():
        if value is not None and value != []:
            raise UsageError(f"{option(name)} cannot be given with {beside}: {why}")
