"""A learner chosen by names, numbers and files: what people write on a command line or in a configuration."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from coterie import relations
from coterie.hypotheses import Linear
from coterie.jobs import kernel_choice, view_choice
from coterie.jobs.named_parts import ADAPTIVE, LOSSES, RELATIONS, RULES, make_estimator, strength
from coterie.jobs.said import FILES, STRENGTHS, Said, Strength
from coterie.streams.errors import FieldError, places
from coterie.wrappers import forgetting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coterie.jobs.related import Naming

__all__ = ["FILES", "LOSSES", "RELATIONS", "RULES", "Choice", "Strength", "require_one_of"]

OF_RULES = ("C", "step", "r", "epsilon", "average")


@dataclass(frozen=True)
class Choice(Said):
    """A learner, not yet made: its relation may need to know whether tasks are numbers or words.

    Left alone it is the default of the command line, `coterie.AdaptiveSharingClassifier`.

    Parameters
    ----------
    relation : str, optional
        One of `RELATIONS`; where it is not given, what the other arguments imply, else ``"adaptive"``, with a kernel
        ``"half"``.
    share, b : number, or for a hierarchy one number a level, optional
        How much is shared, for ``"mean"``, ``"clusters"`` and ``"hierarchy"``; share 0.5 where neither is given.
    groups, parents, graph, matrix : str, optional
        The file that says how tasks are related, see `coterie.jobs.related`; `parents` may be a separator instead.
    members : str, optional
        What the adaptive relation mixes, see `coterie.AdaptiveSharingClassifier`.
    eta, ridge, epoch : number, optional
        Of relations that are learned, see `coterie.relations.Primed`; an epoch is a number of records or ``"auto"``.
    rule : str, optional
        One of `RULES`; where it is not given, what the other arguments imply, else ``"logistic"`` where the relation
        allows it and ``"pa1"`` where not.
    C : float, optional
        The passive-aggressive constant; 1 where it is not given.
    step : float, optional
        The logistic step; 0.7 where it is not given.
    r : float, optional
        The noise of labels for AROW; 10 where it is not given.
    average : bool, optional
        Whether a Perceptron or passive-aggressive learner predicts by the mean of its weights, as it does where this is
        not given.
    epsilon : float, optional
        How far off a prediction may be for the rule ``"epsilon"``, in standard deviations of the labels.
    half_life : number, or two of them, optional
        Rounds after which what was learned counts half: one, or those of what is shared and of what is a task's own.
    regression : bool
        Whether labels are numbers to be predicted; the rule is one of `LOSSES` then.
    many_classes : bool
        Whether there may be more than two classes.
    storage, storage_bits, dtype
        Where and how weights are kept, see `coterie.hypotheses.Linear`.
    kernel : str, optional
        ``"gaussian"``, ``"polynomial"`` or ``"linear"``: a kernel Perceptron instead, its rule the Perceptron's.
    sigma, degree : number, optional
        Of the Gaussian kernel, 1 where it is not given; of the polynomial one, 2.
    budget, budget_size : str, int, optional
        ``"random"``, ``"forgetron"``, ``"projection"`` or ``"shared"``, and the most support vectors.
    multiview : str, optional
        ``"orthogonal"`` or ``"matrix"``: a learner of records of several views, which have no tasks. Its rule is the
        Perceptron's, or a passive-aggressive one.
    p : float, optional
        The exponent of a learner of views; 2 where it is not given.

    Raises
    ------
    ValueError
        For an unknown name (with the near ones), for arguments that do not go together, or out of range.

    Examples
    --------
    >>> Choice().make()
    AdaptiveSharingClassifier()
    >>> Choice(share=0.25, rule="pa1").make()
    MultitaskPerceptron(relation=MeanRegularized(share=0.25), rule=PassiveAggressive(C=1.0, variant='I'), average=True)
    """

    def __post_init__(self) -> None:
        require_one_of("relation", self.relation, tuple(RELATIONS))
        require_one_of("multiview", self.multiview, view_choice.MULTIVIEWS)
        require_one_of("kernel", self.kernel, kernel_choice.KERNELS)
        view_choice.check(self)
        if self.multiview is not None:
            return
        _check_outputs(self)
        _check_relation(self)
        _check_rule(self)
        _check_storage(self)
        require_one_of("budget", self.budget, tuple(kernel_choice.BUDGETS))
        kernel_choice.check(self)
        _check_values(self)

    @property
    def kind(self) -> str:
        """The relation's name: the one given, or the first that takes what else was given."""
        # how much numbers have in common is not learned
        found = (name for name, kind in RELATIONS.items() if kind.takes(self.given) and not self._lacks(name))
        fitting = (name for name in found if not (self.regression and name == ADAPTIVE))
        return self.relation or next(fitting, ADAPTIVE)

    @property
    def by(self) -> str:
        """The rule's name: the one given, else the relation's, or the first that takes what else was given."""
        if self.multiview is not None:
            return view_choice.rule_of(self)
        if self.kernel is not None:
            return self.rule or "perceptron"
        usual = RELATIONS[self.kind].rule
        if self.regression:
            usual = {"logistic": "squared"}.get(usual, "epsilon")
        fitting = (name for name in (usual, *self.rules) if set(self.said(OF_RULES)) <= set(RULES[name].arguments))
        return self.rule or next(fitting, usual)

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules for labels of this kind."""
        return LOSSES if self.regression else tuple(name for name in RULES if name not in LOSSES)

    def make(self, naming: Naming = str) -> Any:
        """The learner, ready for its first record.

        Parameters
        ----------
        naming : callable
            From the text of a task in a file to its label: ``int`` where the tasks of the records are whole numbers.

        Raises
        ------
        InputError
            A file that cannot be read, or does not describe a relation.
        """
        if self.multiview is not None:
            return view_choice.make(self)
        return make_estimator(self, RELATIONS[self.kind].make(self, naming))

    def _lacks(self, relation: str) -> bool:
        """Whether kernel learners, of which this is one, lack the relation."""
        return self.kernel is not None and relation == ADAPTIVE


def require_one_of(name: str, value: str | None, allowed: Sequence[str]) -> None:
    """Refuse a word that is not among those allowed, with the nearest of them.

    Examples
    --------
    >>> require_one_of("rule", "perceptorn", ("perceptron", "pa1"))
    Traceback (most recent call last):
    coterie.streams.errors.FieldError: rule is 'perceptorn'; expected one of perceptron, pa1; did you mean 'perceptron'?
    """
    if value is None or value in allowed:
        return
    near = difflib.get_close_matches(value, allowed, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    message = "{} is {value!r}; expected one of {allowed}{hint}"
    raise FieldError(message, name, value=value, allowed=", ".join(allowed), hint=hint)


def _check_relation(choice: Choice) -> None:
    kind, given = RELATIONS[choice.kind], choice.given
    if kind.file is not None and kind.file not in given:
        raise FieldError("relation {kind!r} needs {} (a file)", kind.file, kind=choice.kind)
    if choice._lacks(choice.kind):
        raise ValueError(f"relation {ADAPTIVE!r} cannot be given with a kernel: name another one, such as 'half'")
    if not kind.takes(given):
        why = "with relation {kind!r}" if choice.relation else "together: no relation takes them all"
        raise FieldError(f"{places(given)} cannot be given {why}", *given, kind=choice.relation)
    if set(STRENGTHS) <= set(given):
        raise FieldError("give either {} or {}, not both", *STRENGTHS)


def _check_outputs(choice: Choice) -> None:
    if choice.regression and choice.many_classes:
        message = "{} and {} exclude each other: labels are numbers or classes"
        raise FieldError(message, "regression", "many_classes")
    if choice.regression and choice.relation == ADAPTIVE:
        raise ValueError(f"relation {ADAPTIVE!r} mixes classifiers: give another one for numbers")
    if choice.rule in RULES and choice.rule not in choice.rules:
        what = "labels that are numbers" if choice.rule in LOSSES else "classes"
        raise ValueError(f"rule {choice.rule!r} is for {what}; expected one of {', '.join(choice.rules)}")
    require_one_of("rule", choice.rule, choice.rules)
    try:
        forgetting(Linear(), choice.half_life)
    except ValueError as error:
        raise FieldError.of(error, {"half_life": "half_life"}) from None


def _check_storage(choice: Choice) -> None:
    try:
        Linear(choice.storage, choice.dtype, choice.storage_bits)  # type: ignore[arg-type]
    except ValueError as error:
        raise FieldError.of(error, {"storage": "storage", "bits": "storage_bits", "dtype": "dtype"}) from None


def _check_rule(choice: Choice) -> None:
    for name in choice.said(OF_RULES):
        if name not in RULES[choice.by].arguments:
            raise FieldError("{} does not apply to the rule {rule!r}", name, rule=choice.by)
    if choice.members is not None and choice.by != "logistic":
        message = "{} {members!r} have rules of their own: leave out the rule {rule!r}"
        raise FieldError(message, "members", members=choice.members, rule=choice.by)
    if choice.members is not None and choice.half_life is not None:
        raise FieldError("{} does not apply to {} {held!r}", "half_life", "members", held=choice.members)


def _check_values(choice: Choice) -> None:
    """Refuse what the parts would refuse, before any file is read."""
    several = {name: held for name, held in strength(choice).items() if isinstance(held, tuple)}
    for name, held in several.items():
        if choice.kind != "hierarchy":
            message = "{} has {n} numbers, and relation {kind!r} takes one"
            raise FieldError(message, name, n=len(held), kind=choice.kind)
    try:
        make_estimator(choice, relations.HalfUpdate() if several else _stand_in(choice)).learner()
    except (TypeError, ValueError) as error:  # parts that do not go together, or numbers out of range
        names = {field.name: field.name for field in fields(choice)} | {"size": "budget_size"}
        raise FieldError.of(error, names) from None


def _stand_in(choice: Choice) -> Any:
    """A relation like the one chosen that needs no file."""
    kind = RELATIONS[choice.kind]
    if kind.file is None:
        return kind.make(choice, str)
    return relations.MeanRegularized(**strength(choice)) if kind.arguments else relations.Interaction([[1.0]])
