"""Learners and numbers as they are written in one word."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from coterie.jobs.choices import FILES, RELATIONS, RULES, Choice, Strength, require_one_of
from coterie.jobs.view_choice import MULTIVIEWS
from coterie.streams.errors import FieldError

if TYPE_CHECKING:
    from collections.abc import Callable

AVERAGES = ("average", "no-average")
VALUES: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(("share", "b", "C", "step", "r", "eta", "ridge", "epsilon", "half_life", "sigma", "p"), float),
    **dict.fromkeys((*FILES, "storage", "dtype", "members", "kernel", "budget"), str),
    **dict.fromkeys(("storage_bits", "degree", "budget_size"), int),
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
    try:
        return replace(base, **said)
    except FieldError as error:  # in one word options have the names of fields
        raise ValueError(f"--learner {text}: {error}") from None


def numbers(name: str, text: str) -> Strength:
    """One number, or several with commas between.

    >>> numbers("share", "0.5"), numbers("share", "0.25,0.5")
    (0.5, (0.25, 0.5))
    """
    try:
        found = tuple(float(each) for each in text.split(","))
    except ValueError:
        message = "{} is {text!r}; expected a number, or one a level with commas between"
        raise FieldError(message, name, text=text) from None
    return found[0] if len(found) == 1 else found


def epoch(text: str) -> int | str:
    """When a relation begins to be learned: a number of records, or ``auto``.

    >>> epoch("5000"), epoch("auto")
    (5000, 'auto')
    """
    if text == "auto":
        return text
    if not text.isdecimal():
        raise FieldError("{} is {text!r}; expected a whole number of records, or auto", "epoch", text=text)
    return int(text)


def _word(word: str) -> dict[str, Any]:
    require_one_of(
        "a part of --learner",
        word,
        (*RELATIONS, *RULES, *AVERAGES, *MULTIVIEWS, *(f"{name}=..." for name in (*VALUES, "epoch"))),
    )
    if word in AVERAGES:
        return {"average": word == AVERAGES[0]}
    if word in MULTIVIEWS:
        return {"multiview": word}
    return {"relation": word} if word in RELATIONS else {"rule": word}


def _value(name: str, text: str) -> Any:
    require_one_of("a part of --learner", name, (*VALUES, "epoch"))
    if name == "epoch":
        return epoch(text)
    try:
        return VALUES[name](text)
    except ValueError:
        raise ValueError(f"--learner: {name} is {text!r}; expected a number") from None
