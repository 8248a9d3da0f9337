"""Learners and numbers as they are written in one word."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from coterie.streams.choices import FILES, LOSSES, RELATIONS, RULES, Choice, Strength, require_one_of

if TYPE_CHECKING:
    from collections.abc import Callable

AVERAGES = ("average", "no-average")
VALUES: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(("share", "b", "C", "epsilon"), float),
    **dict.fromkeys((*FILES, "storage"), str),
    "storage_bits": int,
}


def parse(text: str, base: Choice) -> Choice:
    """A learner in one word: ``half``, ``share=0.3``, ``pooled,pa2,C=0.1``, ``groups=areas.csv,b=4``.

    Parameters
    ----------
    text : str
        Parts with commas between: a relation, a rule, ``average`` or ``no-average``, or ``name=value``.
    base : Choice
        What is not said is as here.

    Raises
    ------
    ValueError
        For a part that is none of these.

    Examples
    --------
    >>> parse("share=0.3,pa2,C=0.1", Choice()).make().rule
    PassiveAggressive(C=0.1, variant='II')
    """
    said: dict[str, Any] = {}
    for part in filter(None, text.split(",")):
        name, equals, value = part.partition("=")
        said |= {name: _value(name, value)} if equals else _word(part)
    return replace(base, **said)


def numbers(name: str, text: str) -> Strength:
    """One number, or several with commas between.

    >>> numbers("share", "0.5"), numbers("share", "0.25,0.5")
    (0.5, (0.25, 0.5))
    """
    try:
        found = tuple(float(each) for each in text.split(","))
    except ValueError:
        raise ValueError(f"{name} is {text!r}; expected a number, or one a level with commas between") from None
    return found[0] if len(found) == 1 else found


def _word(word: str) -> dict[str, Any]:
    require_one_of(
        "a part of --learner", word, (*RELATIONS, *RULES, *LOSSES, *AVERAGES, *(f"{name}=..." for name in VALUES))
    )
    if word in AVERAGES:
        return {"average": word == AVERAGES[0]}
    return {"relation": word} if word in RELATIONS else {"rule": word}


def _value(name: str, text: str) -> Any:
    require_one_of("a part of --learner", name, tuple(VALUES))
    try:
        return VALUES[name](text)
    except ValueError:
        raise ValueError(f"{name} is {text!r}; expected a number") from None
