"""Parts chosen by words and options: finding the part that is meant, making it, and refusing options that do not fit.

What can be chosen, and which options go with it, is declared by the parts themselves (`coterie.spec.choice`). Here is
what commands do with it, for learners of streams and for batch models alike.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from coterie import asking, budgets, kernels, relations, rules  # noqa: F401 - a part is known once its module is loaded
from coterie.inputs.errors import FieldError, InputError, places
from coterie.multiview import norms  # noqa: F401
from coterie.relations.learned import LearnedRelation
from coterie.relations.levels import LevelRelation
from coterie.relations.relation import RelationPart
from coterie.settings import Setting, Value, is_number, options_of
from coterie.spec import Choice, choices
from coterie.wording import nearest

from .related import Naming, is_separator, read_related

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


def check_options(choice: Choice, given: Given) -> None:
    """Refuse values out of range, two options that say the same, and several numbers instead of one.

    Raises
    ------
    FieldError
        Naming the option.
    """
    for name, setting in choice.options.items():
        if name not in given:
            continue
        if setting.instead_of in given:
            raise FieldError("give either {} or {}, not both", name, setting.instead_of)
        value = given[name]
        if isinstance(value, tuple):
            if not setting.several:
                message = "{} has {n} numbers, and relation {word!r} takes one"
                raise FieldError(message, name, n=len(value), word=choice.word)
        elif setting.checked and setting.bounded:
            label = f"{name} of {choice.part.__name__}" if setting.of_class else name
            try:
                setting.check(label, value)
            except ValueError as error:
                raise FieldError.of(error, {name: name}) from None


def check_relation(choice: Choice, given: Given, named: bool) -> None:
    """Refuse options that do not go with a relation; ``named`` says that the relation was given, not implied.

    Raises
    ------
    FieldError
        Naming the options.
    """
    for name in files_of(choice):
        if name not in given:
            raise FieldError("relation {word!r} needs {} (a file)", name, word=choice.word)
    if not takes(choice, given):
        raise of_no_use(given, choice.word if named else None)
    check_options(choice, given)


def of_no_use(given: Given, relation: str | None) -> FieldError:
    """Return the refusal of options that do not go with a relation, or that no relation takes together."""
    why = "with relation {word!r}" if relation else "together: no relation takes them all"
    return FieldError(f"{places(list(given))} cannot be given {why}", *given, word=relation)


def make_relation(choice: Choice, given: Given, naming: Naming) -> RelationPart:
    """Make the relation, reading its files.

    Parameters
    ----------
    choice : Choice
        Of a relation.
    given : mapping
        Options by name.
    naming : callable
        From the text of a task in a file to its label.

    Raises
    ------
    InputError
        A file that cannot be read, or does not describe a relation.
    """
    values: dict[str, Any] = {}
    for name, setting in choice.options.items():
        if name in given:
            held = {choice.field(name): given[name]}
            values |= read_related(setting.file, str(given[name]), choice.field(name), naming) if setting.file else held
    paths = [str(given[name]) for name in files_of(choice) if not is_separator(given[name])]
    relation: RelationPart = placed(paths[0], lambda: choice.make(**values)) if paths else choice.make(**values)
    if not is_learned(choice):
        return relation
    if "epoch" not in given and not choice.part.waits:
        return relation
    epoch: Any = given.get("epoch", options_of(relations.Primed)["epoch"].usual)
    return relations.Primed(relation, epoch)


def paths_in(given: Given) -> list[str]:
    """Return the files that options of relations name, which may also name a separator instead."""
    names = {name for choice in chosen_by("relation").values() for name in files_of(choice)}
    return [str(given[name]) for name in sorted(names & given.keys()) if not is_separator(given[name])]


def placed(path: str, make: Callable[[], T]) -> T:
    """Make something of a file; an error names the file."""
    try:
        return make()
    except ValueError as error:
        raise InputError(str(error), path) from None


def make_part(choice: Choice, given: Given) -> Any:
    """Make the part with those of the options that go with it."""
    return choice.make(**{choice.field(name): given[name] for name in choice.options if name in given})


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


def listed(choices: Mapping[str, Choice], default: str = "") -> str:
    """List the words of choices for help, the default first.

    >>> listed(chosen_by("loss"), "squared")
    '`squared` (the default), `absolute`, `epsilon`'
    """
    words = []
    for word in sorted(choices, key=lambda each: each != default):
        notes = [*(["the default"] if word == default else []), *filter(None, [choices[word].help])]
        words.append(f"`{word}`" + (f" ({'; '.join(notes)})" if notes else ""))
    return ", ".join(words)


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
