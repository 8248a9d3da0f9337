"""The commands as one program."""

from __future__ import annotations

import inspect
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from coterie.cli.compare import compare
from coterie.cli.datasets import datasets
from coterie.cli.demo import demo
from coterie.cli.failures import translated
from coterie.cli.fit import fit
from coterie.cli.helping import Grouped
from coterie.cli.learn import learn
from coterie.cli.predict import predict
from coterie.cli.relations import relations
from coterie.cli.reproduce import reproduce


class Commands(TyperGroup):
    """A group of commands of which every failure is one line on standard error and an exit code."""

    def make_context(self, *args: Any, **options: Any) -> Any:
        """Parse the options before the command."""
        with translated():
            return super().make_context(*args, **options)

    def invoke(self, ctx: Any) -> Any:
        """Parse and run the command."""
        with translated():
            return super().invoke(ctx)


def _help(command: Any) -> str:
    """A command's docstring, its examples left as they stand."""
    return (inspect.getdoc(command) or "").replace("For example:\n", "\b\nFor example:\n")


app = typer.Typer(
    cls=Commands,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
for command in (learn, fit, predict, compare, relations, datasets, demo, reproduce):
    many = Grouped if command in (learn, fit, compare) else None
    app.command(cls=many, help=_help(command))(command)


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

    Exit codes: 0 done, 2 bad input or usage, 1 anything else, 130 interrupted, 141 nobody reads the output any more.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
