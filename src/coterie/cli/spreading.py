"""Options of commands made of settings: a set of options is a class, declared once for all its commands."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields
from functools import wraps
from typing import Annotated, Any, ClassVar, get_type_hints

import typer

from coterie.settings import Setting, settings_of

from .failures import option

Command = Callable[..., None]

#: The headings of options, in the order in which help shows them.
GROUPS = {
    "reading": "What to read",
    "learning": "How it learns",
    "scaling": "Several workers",
    "outputs": "What comes out",
    "": "Options",
}

#: Options that have a short form.
SHORT = {"task": "-t", "label": "-l", "output": "-o"}
_KEYWORD = inspect.Parameter.KEYWORD_ONLY


class OptionSet:
    """Options that belong together: a dataclass with an option for each of its fields.

    What is known of an option is the `Setting` of its field, or else the annotation says so, as Typer has it.
    """

    group: ClassVar[str] = ""

    @classmethod
    def parameters(cls) -> list[inspect.Parameter]:
        """Return the options as parameters of a command."""
        hints, settings = get_type_hints(cls, include_extras=True), settings_of(cls)
        made = []
        for each in fields(cls):  # type: ignore[arg-type]
            name, kind = each.name, hints[each.name]
            default = inspect.Parameter.empty if each.default is MISSING else each.default
            if name in settings:
                ends = {"min": settings[name].at_least, "max": settings[name].at_most}
                made.append(parameter(name, settings[name], cls.group, kind, default, **ends))
            else:
                made.append(inspect.Parameter(name, _KEYWORD, default=default, annotation=kind))
        return made


def parameter(name: str, setting: Setting, group: str, kind: Any, default: Any, **more: Any) -> inspect.Parameter:
    """Return a setting as a parameter of a command.

    Parameters
    ----------
    name : str
        The parameter's name; the option has the same, with dashes.
    setting : Setting
        What is known of it.
    group : str
        Under which heading help shows it, see `GROUPS`.
    kind : type
        Its type.
    default
        Its default; a flag that has none can be set either way.
    **more
        What else Typer is to know of it.
    """
    long = option(name)
    either = setting.kind == "flag" and default is None
    words = (f"{long}/--no-{long.removeprefix('--')}",) if either else (long,)
    text = f"{setting.help}  [default: {setting.shown}]" if setting.shown else setting.help
    declared = typer.Option(
        *words,
        *([SHORT[name]] if name in SHORT else []),
        metavar=setting.placeholder,
        help=text,
        rich_help_panel=GROUPS[group],
        **more,
    )
    return inspect.Parameter(name, _KEYWORD, default=default, annotation=Annotated[kind, declared])


def spread(command: Command) -> Command:
    """Replace arguments of a command that are sets of options by an option for each of the set.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Size(OptionSet):
    ...     width: int = 1
    >>> @spread
    ... def show(name: str, size: Size) -> None:
    ...     print(name, size)
    >>> list(inspect.signature(show).parameters)
    ['name', 'width']
    >>> show(name="a", width=2)
    a Size(width=2)
    """
    hints = get_type_hints(command, include_extras=True)
    sets: dict[str, Any] = {name: kind for name, kind in hints.items() if _is_set(kind)}
    spreads = {name: kind.parameters() for name, kind in sets.items()}
    parameters: list[inspect.Parameter] = []
    for given in inspect.signature(command).parameters.values():
        parameters += spreads.get(given.name, [given.replace(annotation=hints[given.name], kind=_KEYWORD)])

    @wraps(command)
    def called(**options: Any) -> None:
        taken = {name: {each.name: options.pop(each.name) for each in spreads[name]} for name in sets}
        command(**options, **{name: kind(**taken[name]) for name, kind in sets.items()})

    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {each.name: each.annotation for each in parameters}
    return called


def _is_set(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, OptionSet)
