"""The commands as one program."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from .earlier import rewritten
from .failures import translated
from .helping import SHOWN, GroupedCommand, with_help_all

#: Under each heading of the help; each is the function of its name in the module of its name.
GROUPS = {
    "Commands": ("demo", "learn", "predict", "compare", "explain", "serve", "ask", "forget", "bandit"),
    "More": ("relations", "precompile"),
}
NAMES = tuple(name for names in GROUPS.values() for name in names)


def function_of(name: str) -> Callable[..., None]:
    """Return the function of a command, before its sets of options are spread."""
    function: Callable[..., None] = getattr(import_module(f"coterie.cli.{name}"), name)
    return function


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
            made = with_help_all(spread(function), hidden=name not in SHOWN)
            text = inspect.getdoc(function) or ""
            alone = typer.Typer(rich_markup_mode=None, add_completion=False)
            # examples of the docstring are left as they stand
            alone.command(name, cls=GroupedCommand, help=text.replace("For example:\n", "\b\nFor example:\n"))(made)
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
        for heading, names in GROUPS.items():
            rows = [(name, (inspect.getdoc(function_of(name)) or "").partition("\n")[0]) for name in names]
            with formatter.section(heading):
                formatter.write_dl(rows)

    def make_context(self, info_name: str | None, args: list[str], *more: Any, **options: Any) -> Any:
        """Parse the options before the command, after the words of earlier versions are rewritten."""
        with translated():
            return super().make_context(info_name, rewritten(list(args)), *more, **options)

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
