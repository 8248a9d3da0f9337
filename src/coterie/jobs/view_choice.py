"""Learners of several views chosen by names and numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from coterie import online
from coterie.jobs import kernel_choice
from coterie.rules import PassiveAggressive, Perceptron
from coterie.streams.errors import FieldError, places

if TYPE_CHECKING:
    from coterie.jobs.said import Said

#: Whether views lie in spaces of their own or all in one.
MULTIVIEWS = ("orthogonal", "matrix")
#: What says something of a learner of views, and is not said of others.
OF_VIEWS = ("multiview", "p")
_RULES: dict[str, Any] = {"perceptron": None, "pa": "0", "pa1": "I", "pa2": "II"}
_APPLY = (*OF_VIEWS, "rule", "C", "average", "kernel", "sigma", "degree")


def check(choice: Said) -> None:
    """Refuse what does not go with views, or is about views where there are none.

    Raises
    ------
    ValueError
        The message names what.
    """
    if choice.multiview is None:
        if choice.p is not None:
            raise FieldError("{} cannot be given without views", "p")
        return
    other = [name for name in choice.changed() if name not in _APPLY]
    if other:
        message = f"{places(other)} cannot be given with views; what can is {places(_APPLY, ', ')}"
        raise FieldError(message, *other, *_APPLY)
    if choice.by not in _RULES:
        raise ValueError(f"rule {choice.by!r} does not apply to views; expected one of {', '.join(_RULES)}")
    kernel_choice.check_kernel(choice)
    try:
        make(choice).learner()
    except ValueError as error:
        raise FieldError.of(error, {name: name for name in _APPLY}) from None


def rule_of(choice: Said) -> str:
    """The rule's name: the one given, or the first that takes what else was given."""
    return choice.rule or ("perceptron" if choice.C is None else "pa1")


def make(choice: Said) -> online.MultiviewPerceptron | online.OrthogonalMultiviewPerceptron:
    """The learner, ready for its first record."""
    variant = _RULES[choice.by]
    given = {} if choice.C is None else {"C": choice.C}
    rule: Any = Perceptron() if variant is None else PassiveAggressive(**given, variant=variant)
    p, kernel = 2.0 if choice.p is None else choice.p, None if choice.kernel is None else kernel_choice.kernel(choice)
    kind = online.MultiviewPerceptron if choice.multiview == "matrix" else online.OrthogonalMultiviewPerceptron
    return kind(p, kernel, choice.average is not False, rule=rule)
