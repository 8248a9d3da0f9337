"""The commands as one program."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from textwrap import dedent, indent
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from .failures import translated

#: The commands in the order in which they are shown; each is the function of its name in the module of its name.
NAMES = (
    "demo",
    "learn",
    "predict",
    "explain",
    "serve",
    "ask",
    "forget",
    "bandit",
    "precompile",
)


def function_of(name: str) -> Callable[..., None]:
    """Return the function of a command, before its sets of options are spread."""
    function: Callable[..., None] = getattr(import_module(f"coterie.cli.{name}"), name)
    return function


def _help_text(function: Callable[..., None]) -> str:
    """Return the docstring of a command as Markdown, its examples as a block of code."""
    text, _, examples = (inspect.getdoc(function) or "").partition("For example:\n")
    return f"{text}\n\nFor example:\n\n{indent(dedent(examples), '    ')}" if examples else text


class OnDemand(Mapping[str, Any]):
    """The commands by name, each imported and put together when it is asked for."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in NAMES:
            raise KeyError(name)
        if name not in self._made:
            from .spreading import spread

            function = function_of(name)
            alone = typer.Typer(rich_markup_mode="markdown", add_completion=False)
            alone.command(name, help=_help_text(function))(spread(function))
            self._made[name] = typer.main.get_command(alone)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(NAMES)

    def __len__(self) -> int:
        return len(NAMES)


class Commands(TyperGroup):
    """The group of all commands, of which every failure is one line on standard error and an exit code."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.commands: Any = OnDemand()

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of the commands."""
        return list(NAMES)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands and the first lines of their docstrings, for which their options are not needed."""
        rows = [(name, (inspect.getdoc(function_of(name)) or "").partition("\n")[0]) for name in NAMES]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def make_context(self, info_name: str | None, args: list[str], *more: Any, **options: Any) -> Any:
        """Parse the options before the command."""
        with translated():
            return super().make_context(info_name, args, *more, **options)

    def invoke(self, ctx: Any) -> Any:
        """Parse and run the command."""
        with translated():
            return super().invoke(ctx)


app = typer.Typer(
    cls=Commands,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _version(wanted: bool) -> None:
    if wanted:
        from coterie import __version__

        typer.echo(f"coterie {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _coterie(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """One model per user, customer or sensor, all learning from each other.

    Exit codes: 0 done, 2 bad input or usage, 1 anything else, 130 interrupted, 143 terminated, 129 hung up,
    141 nobody reads the output any more.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
