"""The options that commands share."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie.cli.failures import UsageError, option

if TYPE_CHECKING:
    from coterie.jobs.choices import Choice
    from coterie.streams.readers import Reader

_TABLES = ("csv", "tsv", "jsonl", "parquet", "arrow")

Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE",
        help="Files to read one after the other; '-' is standard input. CSV, TSV, JSON Lines, Parquet, Arrow IPC, "
        "svmlight or Vowpal Wabbit text, also compressed (gz, bz2, zst, lz4).",
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="csv, tsv, jsonl, parquet, arrow, svmlight or vw, where the name does not tell.",
    ),
]
OnError = Annotated[
    str,
    typer.Option(metavar="stop|skip", help="Stop at the first bad record, or leave bad records out and count them."),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON on standard output.")]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print nothing but errors, and the JSON that --json asks for.")
]
Report = Annotated[
    Path | None, typer.Option(metavar="OUT.html", help="Write a report: one HTML page that works offline.")
]
Model = Annotated[Path | None, typer.Option(metavar="OUT", help="Save the learned model here.")]
Delay = Annotated[
    int,
    typer.Option(metavar="N", min=0, help="Labels come N records late, as where an outcome takes time to be known."),
]


@dataclass(frozen=True)
class Columns:
    """What to read of the records, and how."""

    task: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="The column that says whose record it is (a user, a sensor). vw: a namespace."
        ),
    ] = None
    label: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="The column to predict: it holds two values, unless --many-classes or --regression is given.",
        ),
    ] = None
    features: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Use this column and no others but those named so; may be repeated."),
    ] = None
    ignore: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Leave this column out; may be repeated.")
    ] = None
    text: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Split this column into words; may be repeated.")
    ] = None
    scale: Annotated[
        str | None,
        typer.Option(
            metavar="HOW",
            help="auto (the default: numbers to z-scores, records to length one), standard, unit or none.",
        ),
    ] = None
    bits: Annotated[
        int | None, typer.Option(metavar="N", help="Hash words and categories into 2^N features.  [default: 18]")
    ] = None
    format: Format = None
    on_error: OnError = "stop"

    def reader(self, files: list[str], **given: Any) -> Reader:
        """A reader that makes its own encoder; or goes on with a ``given`` one."""
        from coterie.streams.readers import read

        shaped: dict[str, Any] = {"scale": self.scale or "auto", "bits": 18 if self.bits is None else self.bits}
        return read(files, **self._said(), **shaped, **given)

    def continued(self, files: list[str], model: Any, update: bool = True) -> Reader:
        """A reader that goes on with the encoder of a model; of labels only the encoder's may be missing."""
        from coterie.streams.readers import read

        refuse(("features", "ignore", "text", "scale", "bits"), asdict(self), "the model reads as it first did")
        if not update:
            return read(files, encoder=model.encoder_, update=False, **self._said() | {"label": None})
        # a label that is only the encoder's may be missing, which is right for prediction
        return read(files, encoder=model.encoder_, **self._said() | {"label": self.label or model.encoder_.label})

    def require_named(self, files: list[str], tasks: bool = True) -> None:
        """Refuse tables of which nobody says where the label is, and the task if there are to be any."""
        from coterie.streams.readers import detect_format
        from coterie.streams.sources import find_paths

        for path in find_paths(files):
            if detect_format(path, self.format) in _TABLES:
                named = (("label", "to predict"), ("task", "that says whose record it is"))
                for name, what in named if tasks else named[:1]:
                    if getattr(self, name) is None:
                        raise UsageError(f"--{name} is missing: name the column {what}")

    def _said(self) -> dict[str, Any]:
        said = {name: getattr(self, name) for name in ("label", "task", "format", "on_error")}
        return said | {"features": self.features or None, "ignore": self.ignore or (), "text": self.text or ()}


@dataclass(frozen=True)
class Learning:
    """Which learner."""

    relation: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="How tasks share: adaptive (the default: it learns how much each task shares), half (half of every "
            "step goes to all), mean, clusters, hierarchy, graph, matrix, independent, pooled; or by a matrix that is "
            "learned: logdet, covariance, vonneumann, batchoptimal.",
        ),
    ] = None
    share: Annotated[
        str | None,
        typer.Option(
            metavar="S",
            help="How much is shared, 0 (independent) to 1 (pooled); a hierarchy may have S,S,... by level.",
        ),
    ] = None
    b: Annotated[str | None, typer.Option("--b", metavar="B", help="The same as the strength b of the papers.")] = None
    groups: Annotated[
        str | None, typer.Option(metavar="FILE", help="CSV of task,group: tasks share inside their group.")
    ] = None
    parents: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|CHAR",
            help="CSV of node,parent, or the character that separates levels in a task's name, as / in fr/paris.",
        ),
    ] = None
    graph: Annotated[
        str | None, typer.Option(metavar="FILE", help="CSV of task,task or task,task,weight: neighbours share.")
    ] = None
    matrix: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="CSV of an interaction matrix, its first line the tasks of the rows."),
    ] = None
    members: Annotated[
        str | None,
        typer.Option(
            metavar="SET",
            help="What the adaptive relation mixes: shares (the default), cheap (half the time, for millions of "
            "tasks), ensemble (most accurate, two to three times the time) or signed (tasks may mirror the others).",
        ),
    ] = None
    eta: Annotated[
        float | None, typer.Option(metavar="ETA", help="How fast logdet (default 1e-3) or vonneumann (1e-4) learns.")
    ] = None
    ridge: Annotated[
        float | None,
        typer.Option(metavar="RHO", help="Added to the diagonal of covariance (default 0.01) or batchoptimal (0.1)."),
    ] = None
    epoch: Annotated[
        str | None,
        typer.Option(metavar="N|auto", help="Records before a relation begins to be learned.  [default: auto]"),
    ] = None
    rule: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="logistic (the default: it has probabilities), arow, pa1, pa2 or pa (passive-aggressive), or "
            "perceptron; with graph, matrix and learned relations pa1 is the default. With --regression squared, "
            "absolute or epsilon.",
        ),
    ] = None
    step: Annotated[
        float | None,
        typer.Option(metavar="E", help="How far a logistic learner steps, or one of numbers.  [default: 0.7, 0.3]"),
    ] = None
    r: Annotated[
        float | None,
        typer.Option("--r", metavar="R", help="How noisy labels are, for arow: 3 for text, 30 if very.  [default: 10]"),
    ] = None
    C: Annotated[
        float | None,
        typer.Option(
            "--C", metavar="C", help="How far one record may move a passive-aggressive learner.  [default: 1]"
        ),
    ] = None
    epsilon: Annotated[
        float | None,
        typer.Option(
            metavar="E",
            help="For --rule epsilon: predictions may be off by so many standard deviations.  [default: 0.1]",
        ),
    ] = None
    half_life: Annotated[
        str | None,
        typer.Option(
            metavar="N",
            help="Forget: what was learned counts half after N records; N,N for what is shared and what is "
            "a task's own. Predicts by the last weights.",
        ),
    ] = None
    regression: Annotated[
        bool, typer.Option("--regression", help="Labels are numbers: predict how much, not which of two.")
    ] = False
    many_classes: Annotated[
        bool, typer.Option("--many-classes", help="Labels are any number of classes, new ones as they come.")
    ] = False
    average: Annotated[
        bool | None,
        typer.Option(
            "--average/--no-average",
            help="Whether a Perceptron or passive-aggressive learner predicts by the mean of its weights so far (the "
            "default), or by the last.",
        ),
    ] = None
    storage: Annotated[
        str | None, typer.Option(metavar="HOW", help="Keep weights auto (the default), dense, sparse or hashed.")
    ] = None
    storage_bits: Annotated[
        int | None, typer.Option(metavar="N", help="For hashed weights: 2^N of them in all.  [default: 22]")
    ] = None
    dtype: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Keep weights as float64 (the default) or float32: half the memory."),
    ] = None

    kernel: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Learn with a kernel: gaussian, polynomial or linear; by the Perceptron's rule."
        ),
    ] = None
    sigma: Annotated[float | None, typer.Option(metavar="S", help="Width of the Gaussian kernel.  [default: 1]")] = None
    degree: Annotated[int | None, typer.Option(metavar="N", help="Of the polynomial kernel.  [default: 2]")] = None
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Which support vectors stay: random, forgetron, projection or shared; all without."
        ),
    ] = None
    budget_size: Annotated[
        int | None, typer.Option(metavar="N", help="How many support vectors a budget holds, for all tasks together.")
    ] = None

    def choice(self, **more: Any) -> Choice:
        """The learner asked for, ``more`` being said of it elsewhere."""
        from coterie.cli.specs import epoch, numbers
        from coterie.jobs.choices import Choice

        said = {name: value for name, value in asdict(self).items() if value is not None}
        several = {name: partial(numbers, name) for name in ("share", "b", "half_life")}
        read: dict[str, Any] = {**several, "epoch": epoch}
        return Choice(**said | {name: read[name](said[name]) for name in read if name in said} | more)


def refuse(names: tuple[str, ...], given: dict[str, Any], why: str) -> None:
    """Refuse options that do not go with --from."""
    for name in names:
        if given[name] is not None and given[name] != []:
            raise UsageError(f"{option(name)} cannot be given with --from: {why}")


def refuse_learning(learning: Learning) -> None:
    """Refuse options that would change a learner that has begun."""
    given = asdict(learning) | {name: None for name in ("regression", "many_classes") if not getattr(learning, name)}
    refuse(tuple(field.name for field in fields(Learning)), given, "the model goes on as the learner it is")


def require_folder(**paths: Path | None) -> None:
    """Refuse, before an hour of learning, to write where there is no folder."""
    for name, path in paths.items():
        if path is not None and not path.absolute().parent.is_dir():
            raise UsageError(f"--{name}: there is no folder {str(path.parent)!r}")
