"""The command line program with all commands."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from .failures import handle_errors
from .options import spread_options

#: The commands in the order of the help page, each a function in the module of its name.
COMMANDS = ("demo", "learn", "predict", "explain", "serve", "ask", "forget", "bandit", "precompile")


class Commands(TyperGroup):
    """A group of commands that reports exceptions as one line and an exit code."""

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Parse the options before the command name."""
        with handle_errors():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: Any) -> object:
        """Parse and run the command."""
        with handle_errors():
            return super().invoke(ctx)


app = typer.Typer(
    cls=Commands,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
for name in COMMANDS:
    app.command(name)(spread_options(getattr(import_module(f"coterie.cli.{name}"), name)))


def _print_version(wanted: bool) -> None:
    if wanted:
        from coterie import __version__

        typer.echo(f"coterie {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _coterie(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """One model per user, customer or sensor, all learning from each other.

    Exit codes: 0 done, 2 bad input or usage, 1 any other error, 130 interrupted, 143 terminated, 129 hung up,
    141 output closed.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
