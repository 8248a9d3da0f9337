"""Learners written in one word."""

from __future__ import annotations

from coterie.inputs.errors import FieldError
from coterie.jobs.choosing import chosen_by, require_one_of
from coterie.jobs.learner_config import ADAPTIVE, LearnerConfig, learner_options
from coterie.settings import Setting, Value

AVERAGES = ("average", "no-average")
#: Options whose values are words by themselves.
_BY_WORD = ("relation", "rule", "multiview")


def parse(text: str, base: LearnerConfig) -> LearnerConfig:
    """Read a learner in one word: ``half``, ``share=0.3``, ``pooled,pa2,C=0.1``, ``groups=areas.csv,b=4``.

    Parameters
    ----------
    text : str
        Parts with commas between: a relation, a rule, ``average`` or ``no-average``, or ``name=value``.
    base : LearnerConfig
        What is not said is as here.

    Raises
    ------
    ValueError
        For a part that is none of these.

    Examples
    --------
    >>> parse("share=0.3,pa2,C=0.1", LearnerConfig()).make().rule
    PassiveAggressive(C=0.1, variant='II')
    """
    said: dict[str, Value] = {}
    options = _options()
    for part in filter(None, text.split(",")):
        name, equals, value = part.partition("=")
        said |= {name: _value(name, value, options)} if equals else _word(part, options)
    try:
        return base.replace(**said)
    except FieldError as error:  # in one word options have the names of fields
        raise ValueError(f"--learner {text}: {error}") from None


def _options() -> dict[str, Setting]:
    """Return the options that are written as ``name=value``."""
    every = (each for group in learner_options().values() for each in group.items())
    return {name: setting for name, setting in every if setting.kind != "flag" and name not in _BY_WORD}


def _word(word: str, options: dict[str, Setting]) -> dict[str, Value]:
    relations, rules, norms = (chosen_by(*roles) for roles in (("relation",), ("rule", "loss"), ("norm",)))
    allowed = (ADAPTIVE, *relations, *rules, *AVERAGES, *norms, *(f"{name}=..." for name in options))
    require_one_of("a part of --learner", word, allowed)
    if word in AVERAGES:
        return {"average": word == AVERAGES[0]}
    if word in rules:
        return {"rule": word}
    return {"multiview": word} if word in norms else {"relation": word}


def _value(name: str, text: str, options: dict[str, Setting]) -> Value:
    require_one_of("a part of --learner", name, tuple(options))
    try:
        return options[name].read(name, text)
    except ValueError as error:
        raise ValueError(f"--learner: {error}") from None
