"""Parts chosen by words and options: finding the part that is meant, making it, and refusing options that do not fit.

What can be chosen, and which options go with it, is declared by the parts themselves (`coterie.spec.choice`). Here is
what commands do with it, for learners of streams and for batch models alike.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from coterie import asking, budgets, kernels, relations, rules  # noqa: F401 - a part is known once its module is loaded
from coterie.inputs.errors import FieldError, InputError
from coterie.multiview import norms  # noqa: F401
from coterie.relations.learned import LearnedRelation
from coterie.relations.levels import LevelRelation
from coterie.settings import Setting, Value, is_number, options_of
from coterie.spec import Choice, choices
from coterie.wording import nearest

T = TypeVar("T")
Given = Mapping[str, Value]

for _name in dir(relations):
    getattr(relations, _name)


def chosen_by(*roles: str) -> dict[str, Choice]:
    """Return the choices of these roles by word; of relations, those of groups and those without files go first."""
    found = [each for role in roles for each in choices(role)]
    found.sort(key=lambda each: (is_learned(each), not is_of_groups(each), bool(files_of(each))))
    return {each.word: each for each in found}


def is_learned(choice: Choice) -> bool:
    """Tell whether a choice is a relation that is learned along a stream."""
    return issubclass(choice.part, LearnedRelation)


def is_of_groups(choice: Choice) -> bool:
    """Tell whether a choice is a relation of nested groups, under which every hypothesis learns."""
    return issubclass(choice.part, LevelRelation)


def options_with(choice: Choice) -> dict[str, Setting]:
    """Return the options that go with a choice: its own, and those of priming if it is a learned relation."""
    return choice.options | (options_of(relations.Primed) if is_learned(choice) else {})


def files_of(choice: Choice) -> list[str]:
    """Return the options that name files, all of which the choice needs."""
    return [name for name, setting in choice.options.items() if setting.file]


def takes(choice: Choice, given: Collection[str]) -> bool:
    """Tell whether all the options given go with a choice, and name the files that it needs."""
    return set(given) <= set(options_with(choice)) and set(files_of(choice)) <= set(given)


def placed(path: str, make: Callable[[], T]) -> T:
    """Make something of a file; an error names the file."""
    try:
        return make()
    except ValueError as error:
        raise InputError(str(error), path) from None


def options_shown(choices: Iterable[Choice]) -> dict[str, Setting]:
    """Return the options of some choices by name, each with its default as help shows it.

    >>> options_shown(chosen_by("relation").values())["eta"].shown
    'logdet 0.001, vonneumann 0.0001'
    """
    takers: dict[str, list[Choice]] = {}
    for each in choices:
        for name in each.options:
            takers.setdefault(name, []).append(each)
    return {name: _with_default(name, those) for name, those in takers.items()}


def _with_default(name: str, takers: list[Choice]) -> Setting:
    words: dict[str, list[str]] = {}
    for each in takers:
        if (default := each.default(name)) is not None:
            words.setdefault(f"{default:g}" if is_number(default) else str(default), []).append(each.word)
    shown = [default if len(those) > 1 else f"{those[0]} {default}" for default, those in words.items()]
    if any(len(those) == len(takers) for those in words.values()):
        shown = list(words)
    first, several = takers[0].options[name], any(each.options[name].several for each in takers)
    return replace(first, several=several, shown=first.shown or ", ".join(shown))


def require_one_of(name: str, value: str | None, allowed: Sequence[str]) -> None:
    """Refuse a word that is not among those allowed, naming the nearest of them.

    Examples
    --------
    >>> require_one_of("rule", "perceptorn", ("perceptron", "pa1"))
    Traceback (most recent call last):
    coterie.inputs.errors.FieldError: rule is 'perceptorn'; expected one of perceptron, pa1; did you mean 'perceptron'?
    """
    if value is None or value in allowed:
        return
    hint = nearest(value, allowed)
    message = "{} is {value!r}; expected one of {allowed}{hint}"
    raise FieldError(message, name, value=value, allowed=", ".join(allowed), hint=hint)
