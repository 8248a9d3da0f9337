"""Options that several commands share, each set of them declared once as a dataclass."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any, get_type_hints

Command = Callable[..., None]

_KEYWORD = inspect.Parameter.KEYWORD_ONLY


def spread(command: Command) -> Command:
    """Let a command's arguments that are dataclasses come as one option a field.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Size:
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
    plain = inspect.signature(command).parameters.values()
    sets = {given.name: hints[given.name] for given in plain if is_dataclass(hints[given.name])}
    parameters = [each for given in plain for each in _parameters(given, hints)]

    @wraps(command)
    def called(**options: Any) -> None:
        made = {name: kind(**_taken(options, kind)) for name, kind in sets.items()}
        command(**options, **made)

    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {each.name: each.annotation for each in parameters}
    return called


def _parameters(given: inspect.Parameter, hints: dict[str, Any]) -> list[inspect.Parameter]:
    """The parameter itself, or one for each field of its dataclass."""
    kind = hints[given.name]
    if not is_dataclass(kind):
        return [given.replace(annotation=kind, kind=_KEYWORD)]
    declared = get_type_hints(kind, include_extras=True)
    return [
        inspect.Parameter(field.name, _KEYWORD, default=field.default, annotation=declared[field.name])
        for field in fields(kind)
    ]


def _taken(options: dict[str, Any], kind: type) -> dict[str, Any]:
    return {field.name: options.pop(field.name) for field in fields(kind) if field.name in options}
