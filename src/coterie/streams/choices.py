"""A learner chosen by names, numbers and files: what people write on a command line or in a configuration."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

from coterie import relations
from coterie.hypotheses import Linear
from coterie.online import MultitaskKernelPerceptron, MultitaskPerceptron
from coterie.rules import PassiveAggressive, Perceptron
from coterie.streams import kernel_choice
from coterie.streams.errors import InputError
from coterie.streams.related import Naming, read_edges, read_groups, read_matrix, read_parents

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Strength = float | tuple[float, ...]

VARIANTS = {"pa": "0", "pa1": "I", "pa2": "II"}
RULES = ("perceptron", *VARIANTS)
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
    rule : str
        One of `RULES`.
    C : float, optional
        The passive-aggressive constant; 1 where it is not given.
    average : bool
        Whether to predict by the mean of the weights.
    storage, storage_bits
        Where weights are kept, see `coterie.hypotheses.Linear`.
    kernel : str, optional
        ``"gaussian"``, ``"polynomial"`` or ``"linear"``: a kernel Perceptron instead, its rule the Perceptron's.
    sigma, degree : number, optional
        Of the Gaussian kernel, 1 where it is not given; of the polynomial one, 2.
    budget, budget_size : str, int, optional
        ``"random"``, ``"forgetron"``, ``"projection"`` or ``"shared"``, and the most support vectors.

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
    rule: str = "pa1"
    C: float | None = None
    average: bool = True
    storage: str = "auto"
    storage_bits: int = 22
    kernel: str | None = None
    sigma: float | None = None
    degree: int | None = None
    budget: str | None = None
    budget_size: int | None = None

    def __post_init__(self) -> None:
        require_one_of("relation", self.relation, tuple(RELATIONS))
        require_one_of("rule", self.rule, RULES)
        _check_relation(self)
        Linear(self.storage, bits=self.storage_bits)  # type: ignore[arg-type]
        _rule(self)
        require_one_of("kernel", self.kernel, kernel_choice.KERNELS)
        require_one_of("budget", self.budget, tuple(kernel_choice.BUDGETS))
        kernel_choice.check(self)

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

    def make(self, naming: Naming = str) -> MultitaskPerceptron | MultitaskKernelPerceptron:
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
        if self.kernel is not None:
            return kernel_choice.make(self, relation)
        held: Any = {"storage": self.storage, "bits": self.storage_bits}
        return MultitaskPerceptron(relation, _rule(self), self.average, **held)


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


def _rule(choice: Choice) -> Any:
    if choice.rule == "perceptron":
        if choice.C is not None:
            raise ValueError("C does not apply to the rule 'perceptron'")
        return Perceptron()
    variant: Any = VARIANTS[choice.rule]
    return PassiveAggressive(1.0 if choice.C is None else choice.C, variant)
