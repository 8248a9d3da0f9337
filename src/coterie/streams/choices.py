"""A learner chosen by names, numbers and files: what people write on a command line or in a configuration."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

from coterie import relations
from coterie.hypotheses import Linear
from coterie.online import MultitaskPerceptron, MultitaskRegressor, OneVsRest
from coterie.rules import Absolute, EpsilonInsensitive, PassiveAggressive, Perceptron, Squared
from coterie.streams.errors import InputError
from coterie.streams.related import Naming, read_edges, read_groups, read_matrix, read_parents
from coterie.wrappers import forgetting

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Strength = float | tuple[float, ...]

VARIANTS = {"pa": "0", "pa1": "I", "pa2": "II"}
RULES = ("perceptron", *VARIANTS)
LOSSES = ("squared", "absolute", "epsilon")
FILES = ("groups", "parents", "graph", "matrix")
STRENGTHS = ("share", "b")


@dataclass(frozen=True)
class Choice:
    """A learner, not yet made: its relation may need to know whether tasks are numbers or words.

    Left alone it is the default of the command line: half-update, and averaged weights that move by PA-I with C = 1.
    Of the rules and constants tried on eight real data sets this had the least error in the geometric mean.

    Parameters
    ----------
    relation : str, optional
        One of `RELATIONS`; what the other arguments imply where it is not given, else ``"half"``.
    share, b : number, or for a hierarchy one number a level, optional
        How much is shared, for ``"mean"``, ``"clusters"`` and ``"hierarchy"``; share 0.5 where neither is given.
    groups, parents, graph, matrix : str, optional
        The file that says how tasks are related, see `coterie.streams.related`; `parents` may be a separator instead.
    rule : str, optional
        One of `RULES`, ``"pa1"`` where it is not given; for numbers one of `LOSSES`, ``"squared"``.
    C : float, optional
        The passive-aggressive constant; 1 where it is not given, 0.1 for numbers.
    epsilon : float, optional
        How far off a prediction may be for the loss ``"epsilon"``, in standard deviations of the labels.
    average : bool
        Whether to predict by the mean of the weights, where the rule keeps such and nothing is forgotten.
    half_life : number, or two of them, optional
        Rounds after which what was learned counts half: one, or those of what is shared and of what is a task's own.
    regression : bool
        Whether labels are numbers to be predicted.
    many_classes : bool
        Whether there may be more than two classes.
    storage, storage_bits
        Where weights are kept, see `coterie.hypotheses.Linear`.

    Raises
    ------
    ValueError
        For an unknown name (with the near ones), for arguments that do not go together, or out of range.

    Examples
    --------
    >>> Choice(share=0.25).make()
    MultitaskPerceptron(relation=MeanRegularized(share=0.25), rule=PassiveAggressive(C=1.0, variant='I'), average=True)
    """

    relation: str | None = None
    share: Strength | None = None
    b: Strength | None = None
    groups: str | None = None
    parents: str | None = None
    graph: str | None = None
    matrix: str | None = None
    rule: str | None = None
    C: float | None = None
    epsilon: float | None = None
    half_life: Strength | None = None
    average: bool = True
    regression: bool = False
    many_classes: bool = False
    storage: str = "auto"
    storage_bits: int = 22

    def __post_init__(self) -> None:
        require_one_of("relation", self.relation, tuple(RELATIONS))
        if self.regression and self.many_classes:
            raise ValueError("regression and many_classes exclude each other: labels are numbers or classes")
        _require_rule(self)
        _check_relation(self)
        Linear(self.storage, bits=self.storage_bits)  # type: ignore[arg-type]
        _rule(self)
        forgetting(Linear(), self.half_life)

    @property
    def kind(self) -> str:
        """The relation's name: the one given, or the first that takes what else was given."""
        fitting = (name for name, kind in RELATIONS.items() if kind.takes(self.given))
        return self.relation or next(fitting, "half")

    @property
    def given(self) -> dict[str, Any]:
        """What was said of the relation but its name."""
        return {name: held for name in (*FILES, *STRENGTHS) if (held := getattr(self, name)) is not None}

    @property
    def strength(self) -> dict[str, Any]:
        """How much is shared, as the relations take it."""
        return {name: held for name, held in self.given.items() if name in STRENGTHS} or {"share": 0.5}

    def changed(self) -> list[str]:
        """Names of the fields that were chosen otherwise than the default."""
        return [field.name for field in fields(self) if getattr(self, field.name) != field.default]

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
        relation = RELATIONS[self.kind].make(self, naming)
        held: Any = {"storage": self.storage, "bits": self.storage_bits}
        rule, average = _rule(self), self.average and self.half_life is None
        held["half_life"] = self.half_life
        if self.regression:
            return MultitaskRegressor(relation, rule, average=average and rule.move == "shortest", **held)
        made = MultitaskPerceptron(relation, rule, average, **held)
        return OneVsRest(made) if self.many_classes else made


class Kind(NamedTuple):
    """A relation by name: the file it needs, whether it has a strength, and how it is made."""

    file: str | None
    strong: bool
    make: Callable[[Choice, Naming], Any]

    def takes(self, given: dict[str, Any]) -> bool:
        """Whether these are arguments of this relation, and all it needs are among them."""
        return set(given) <= self.arguments and (self.file is None or self.file in given)

    @property
    def arguments(self) -> set[str]:
        """What may be said of it."""
        return {*(STRENGTHS if self.strong else ()), *([self.file] if self.file else ())}


def _clusters(choice: Choice, naming: Naming) -> Any:
    return relations.Clusters(read_groups(str(choice.groups), naming), **choice.strength)


def _hierarchy(choice: Choice, naming: Naming) -> Any:
    given = str(choice.parents)
    if len(given) == 1:
        return relations.Hierarchy(given, **choice.strength)
    parents = read_parents(given, naming)
    return _placed(given, lambda: relations.Hierarchy(parents, **choice.strength))


def _graph(choice: Choice, naming: Naming) -> Any:
    edges = read_edges(str(choice.graph), naming)
    return _placed(str(choice.graph), lambda: relations.TaskGraph(edges))


def _matrix(choice: Choice, naming: Naming) -> Any:
    matrix, tasks = read_matrix(str(choice.matrix), naming)
    return _placed(str(choice.matrix), lambda: relations.Interaction(matrix, tasks=tasks))


def _placed(path: str, make: Callable[[], Any]) -> Any:
    """What is made; a refusal names the file."""
    try:
        return make()
    except ValueError as error:
        raise InputError(str(error), path) from None


# in the order in which what is given is tried
RELATIONS = {
    "half": Kind(None, False, lambda choice, naming: relations.HalfUpdate()),
    "independent": Kind(None, False, lambda choice, naming: relations.Independent()),
    "pooled": Kind(None, False, lambda choice, naming: relations.Pooled()),
    "mean": Kind(None, True, lambda choice, naming: relations.MeanRegularized(**choice.strength)),
    "clusters": Kind("groups", True, _clusters),
    "hierarchy": Kind("parents", True, _hierarchy),
    "graph": Kind("graph", False, _graph),
    "matrix": Kind("matrix", False, _matrix),
}


def require_one_of(name: str, value: str | None, allowed: Sequence[str]) -> None:
    """Refuse a word that is not among those allowed, with the nearest of them.

    Examples
    --------
    >>> require_one_of("rule", "perceptorn", RULES)
    Traceback (most recent call last):
    ValueError: rule is 'perceptorn'; expected one of perceptron, pa, pa1, pa2; did you mean 'perceptron'?
    """
    if value is None or value in allowed:
        return
    near = difflib.get_close_matches(value, allowed, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"{name} is {value!r}; expected one of {', '.join(allowed)}{hint}")


def _check_relation(choice: Choice) -> None:
    kind, given = RELATIONS[choice.kind], choice.given
    if kind.file is not None and kind.file not in given:
        raise ValueError(f"relation {choice.kind!r} needs {kind.file}")
    if not kind.takes(given):
        names = " and ".join(given)
        raise ValueError(
            f"{names} cannot be given with relation {choice.relation!r}"
            if choice.relation
            else f"{names} cannot be given together: no relation takes them all"
        )
    if kind.strong and choice.kind != "hierarchy":
        _check_strength(choice)


def _check_strength(choice: Choice) -> None:
    """Refuse what a relation of one level would refuse, before any file is read."""
    for name, value in choice.strength.items():
        if isinstance(value, tuple):
            raise ValueError(f"{name} has {len(value)} numbers, and relation {choice.kind!r} takes one")
    relations.MeanRegularized(**choice.strength)


def _require_rule(choice: Choice) -> None:
    allowed, others = (LOSSES, RULES) if choice.regression else (RULES, LOSSES)
    if choice.rule in others:
        what = "labels that are numbers" if choice.rule in LOSSES else "two classes"
        raise ValueError(f"rule {choice.rule!r} is for {what}; expected one of {', '.join(allowed)}")
    require_one_of("rule", choice.rule, allowed)


def _rule(choice: Choice) -> Any:
    name = choice.rule or ("squared" if choice.regression else "pa1")
    for given in ("C", "epsilon"):
        if getattr(choice, given) is not None and given not in _TAKING.get(name, ()):
            raise ValueError(f"{given} does not apply to the rule {name!r}")
    if name in _PLAIN:
        return _PLAIN[name]()
    constants = {given: getattr(choice, given) for given in _TAKING[name] if getattr(choice, given) is not None}
    if name == "epsilon":
        return EpsilonInsensitive(**constants)
    variant: Any = VARIANTS[name]
    return PassiveAggressive(**constants, variant=variant)


_PLAIN: dict[str, Any] = {"perceptron": Perceptron, "squared": Squared, "absolute": Absolute}
_TAKING: dict[str, tuple[str, ...]] = {**dict.fromkeys(VARIANTS, ("C",)), "epsilon": ("C", "epsilon")}
