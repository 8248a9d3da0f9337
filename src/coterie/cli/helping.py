"""``--help`` of the options that most need, ``--help-all`` of all, in groups, as the documentation has them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from .failures import UsageError

#: The headings of options, in the order in which they are shown.
GROUPS = {
    "reading": "What to read",
    "sharing": "How tasks share",
    "learning": "How it learns",
    "outputs": "What comes out",
    "scaling": "Several workers",
    "earlier": "Earlier options",
    "": "Options",
}
#: What ``--help`` shows of commands that have more; ``--help-all`` shows the rest.
SHOWN = {
    "learn": "files task label ignore text log categorical time delay on_error learner regression many_classes from_ "
    "output save_every report json quiet",
    "compare": "files task label ignore text log categorical time delay on_error learner regression many_classes "
    "output report json quiet",
    "serve": "data model learner regression many_classes host port token_file expire snapshot labels no_verdict "
    "alarm_error",
}
_ARGUMENTS = "Arguments"
#: Options under fewer headings are shown under one.
_FEW = 3
#: Words that others have for options of ours.
_SYNONYMS = {
    "label": ("target", "y", "class", "outcome"),
    "task": ("user", "key", "group", "by", "id"),
    "output": ("out", "outfile", "save", "dest"),
    "learner": ("model", "algorithm", "estimator"),
    "features": ("columns", "x", "feature"),
    "ignore": ("drop", "exclude", "skip-columns"),
}


class GroupedCommand(TyperCommand):
    """A command that shows its options in groups, and their Markdown as plain text."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words of the command; an unknown option is told from its synonyms."""
        try:
            return list(super().parse_args(ctx, args))
        except UsageError as error:
            missing = getattr(error, "param", None) if "Missing" in type(error).__name__ else None
            if missing is not None:
                first = re.split(r"[:;.,]", plain(missing.help or ""))[0]
                raise UsageError(f"{_called(missing)} is missing: {first[:1].lower()}{first[1:]}", ctx) from None
            wanted = getattr(error, "option_name", None) if hasattr(error, "possibilities") else None
            if wanted is not None and (meant := _meant(wanted, {each.name for each in self.params})):
                error.message, error.possibilities = f"no such option {wanted}: did you mean {meant}?", None
            if wanted is not None and error.possibilities:
                before = {word for each in self.params if heading_of(each) == GROUPS["earlier"] for word in each.opts}
                error.possibilities = [word for word in error.possibilities if word not in before]
            raise

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then the options of each group."""
        shown: dict[str, list[tuple[str, str]]] = {}
        chosen = [each for each in self.get_params(ctx) if ctx.meta.get(_ALL) or is_shown(str(self.name), each)]
        few = len(set(map(heading_of, chosen))) <= _FEW
        for each in chosen:
            heading, record = heading_of(each), each.get_help_record(ctx)
            if record is not None:
                name = GROUPS[""] if few and heading != _ARGUMENTS else heading
                words = str(each.metavar) if heading == _ARGUMENTS else record[0]
                shown.setdefault(name, []).append((words, plain(record[1])))
        for heading in (_ARGUMENTS, *GROUPS.values()):
            if heading in shown:
                with formatter.section(heading):
                    formatter.write_dl(shown[heading])
        if ctx.meta.get(_ALL) and any(each.name == "learner" for each in chosen):
            from coterie.jobs.learners import signatures

            for heading, lines in signatures().items():
                with formatter.section(heading):
                    formatter.write("".join(f"{' ' * formatter.current_indent}{line}\n" for line in lines))


_ALL = "coterie.help_all"


def with_help_all(command: Callable[..., None], hidden: bool) -> Callable[..., None]:
    """Return a command that also has ``--help-all``, which shows all its options; hidden where ``--help`` does."""

    def show(context: typer.Context, wanted: bool) -> None:
        if wanted:
            context.meta[_ALL] = True
            typer.echo(context.get_help())
            raise typer.Exit

    flag = typer.Option("--help-all", is_eager=True, callback=show, help="Show all options and exit.", hidden=hidden)
    shown = inspect.Parameter(
        "help_all", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Annotated[bool, flag]
    )

    @wraps(command)
    def called(*, help_all: bool, **options: Any) -> None:
        command(**options)

    given = inspect.signature(command)
    called.__signature__ = given.replace(parameters=[*given.parameters.values(), shown])  # type: ignore[attr-defined]
    called.__annotations__ = command.__annotations__ | {"help_all": shown.annotation}
    return called


def is_shown(command: str, given: Any) -> bool:
    """Tell whether ``--help`` shows an argument or option of a command."""
    return command not in SHOWN or given.name in (*SHOWN[command].split(), "help", "help_all")


def _called(given: Any) -> str:
    """The name of an argument or option in sentences."""
    return str(given.metavar if given.param_type_name == "argument" else given.opts[0])


def _meant(wanted: str, known: set[str]) -> str:
    """The option that a word of others stands for, if the command has it."""
    word = wanted.lstrip("-")
    return next((f"--{name}" for name, words in _SYNONYMS.items() if word in words and name in known), "")


def heading_of(given: Any) -> str:
    """The heading under which help shows an argument or option."""
    if given.param_type_name == "argument":
        return _ARGUMENTS
    return getattr(given, "rich_help_panel", None) or GROUPS[""]


def plain(markdown: str) -> str:
    """Text without the marks of Markdown; a link in parentheses, which only leads elsewhere, is left out.

    >>> plain("See `half` or [all](relations.md) ([more](choosing.md)).")
    'See half or all.'
    """
    text = re.sub(r" \(\[[^]]*\]\([^)]*\)\)", "", markdown)
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text).replace("`", "")
