"""Relations by the words that the command line takes for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from coterie import relations, spec
from coterie.wording import nearest


def relation_of(given: Any, takes: Callable[[Any], bool] = lambda relation: True) -> Any:
    """The relation that a word stands for; anything else as it is.

    ``takes`` says which relations to name where the word is unknown.

    Raises
    ------
    ValueError
        For an unknown word, or one whose relation needs facts about tasks.

    Examples
    --------
    >>> relation_of("half"), relation_of("mean")
    (HalfUpdate(), MeanRegularized(share=0.5))
    """
    if not isinstance(given, str):
        return given
    for name in dir(relations):  # parts are known once they are loaded
        getattr(relations, name)
    words = {choice.word: choice for choice in spec.choices("relation")}
    made = {word: relation for word, choice in words.items() if (relation := _by_itself(choice)) is not None}
    if given in made:
        return made[given]
    if given in words:
        part = words[given].part.__name__
        raise ValueError(f"relation={given!r} has to be told which tasks are related: give {part}(...)")
    listed = [word for word, relation in made.items() if takes(relation)]
    near = nearest(given, [word for word in words if word in listed or word not in made])
    raise ValueError(f"relation is {given!r}; expected a relation, or one of {', '.join(listed)}{near}")


def _by_itself(choice: spec.Choice) -> Any:
    """The relation of a choice without further options; None where it needs some."""
    try:
        return choice.part(**choice.preset)
    except (TypeError, ValueError):
        return None
