"""Relations and rules by name: what may be said of each, and how it is made of what was said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from coterie import online, relations
from coterie.jobs import kernel_choice
from coterie.jobs.related import Naming, read_edges, read_groups, read_matrix, read_parents
from coterie.jobs.said import STRENGTHS
from coterie.rules import Absolute, EpsilonInsensitive, PassiveAggressive, Perceptron, Squared
from coterie.streams.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from coterie.jobs.said import Said

#: Shares among which the adaptive relation chooses.
SHARES = (0.0, 0.5, 1.0)


class Kind(NamedTuple):
    """A relation by name: what may be said of it, the file it needs, the rule it learns by, and how it is made."""

    arguments: tuple[str, ...]
    file: str | None
    rule: str
    make: Callable[[Said, Naming], Any]

    def takes(self, given: Mapping[str, Any]) -> bool:
        """Whether these are arguments of this relation, and the file it needs is among them."""
        return set(given) <= {*self.arguments, self.file} and (self.file is None or self.file in given)


class RuleKind(NamedTuple):
    """A rule by name: what may be said of it, and how a learner by it is made under a relation."""

    arguments: tuple[str, ...]
    make: Callable[[Said, Any], Any]


def strength(choice: Said) -> dict[str, Any]:
    """How much is shared, as the relations take it."""
    return {name: choice.given[name] for name in STRENGTHS if name in choice.given} or {"share": 0.5}


def make_estimator(choice: Said, relation: Any) -> Any:
    """The learner that was chosen, under this relation."""
    made = _of_two(choice, relation)
    return online.OneVsRest(made) if choice.many_classes else made


def _of_two(choice: Said, relation: Any) -> Any:
    if choice.kernel is not None:
        return kernel_choice.make(choice, relation)
    return _adaptive(choice) if choice.kind == ADAPTIVE else RULES[choice.by].make(choice, relation)


def _adaptive(choice: Said) -> online.AdaptiveSharingClassifier:
    """A mixture over how much is shared: of the rule's learners, or one of the named sets."""
    from coterie.online.sharing import relation_at

    held: Any = _stored(choice)
    if choice.by == "logistic" and choice.half_life is None:
        return online.AdaptiveSharingClassifier(choice.members, **_said(choice, "step"), **held)
    return online.AdaptiveSharingClassifier(
        [RULES[choice.by].make(choice, relation_at(share)) for share in SHARES], **held
    )


def _logistic(choice: Said, relation: Any) -> online.MultitaskLogistic:
    return online.MultitaskLogistic(relation, **_said(choice, "step"), **_held(choice))


def _arow(choice: Said, relation: Any) -> online.MultitaskAROW:
    return online.MultitaskAROW(relation, **_said(choice, "r"), **_held(choice))


def _mistaken(choice: Said, relation: Any) -> online.MultitaskPerceptron:
    return online.MultitaskPerceptron(relation, Perceptron(), _averaged(choice), **_held(choice))


def _aggressive(variant: Any) -> Callable[[Said, Any], online.MultitaskPerceptron]:
    def make(choice: Said, relation: Any) -> online.MultitaskPerceptron:
        rule = PassiveAggressive(**_said(choice, "C"), variant=variant)
        return online.MultitaskPerceptron(relation, rule, _averaged(choice), **_held(choice))

    return make


def _number(loss: Callable[..., Any], *names: str) -> Callable[[Said, Any], online.MultitaskRegressor]:
    def make(choice: Said, relation: Any) -> online.MultitaskRegressor:
        part = loss(**_said(choice, *names))
        average = part.move == "shortest" and _averaged(choice)
        return online.MultitaskRegressor(relation, part, **_said(choice, "step"), average=average, **_held(choice))

    return make


def _held(choice: Said) -> Any:
    return _stored(choice) | {"half_life": choice.half_life}


def _stored(choice: Said) -> Any:
    return {"storage": choice.storage, "bits": choice.storage_bits, "dtype": choice.dtype}


def _said(choice: Said, *names: str) -> dict[str, Any]:
    return {name: held for name in names if (held := getattr(choice, name)) is not None}


def _averaged(choice: Said) -> bool:
    return choice.average or (choice.average is None and choice.half_life is None)


def _clusters(choice: Said, naming: Naming) -> Any:
    return relations.Clusters(read_groups(str(choice.groups), naming), **strength(choice))


def _hierarchy(choice: Said, naming: Naming) -> Any:
    given = str(choice.parents)
    if len(given) == 1:
        return relations.Hierarchy(given, **strength(choice))
    parents = read_parents(given, naming)
    return _placed(given, lambda: relations.Hierarchy(parents, **strength(choice)))


def _graph(choice: Said, naming: Naming) -> Any:
    edges = read_edges(str(choice.graph), naming)
    return _placed(str(choice.graph), lambda: relations.TaskGraph(edges))


def _matrix(choice: Said, naming: Naming) -> Any:
    matrix, tasks = read_matrix(str(choice.matrix), naming)
    return _placed(str(choice.matrix), lambda: relations.Interaction(matrix, tasks=tasks))


def _placed(path: str, make: Callable[[], Any]) -> Any:
    """What is made; a refusal names the file."""
    try:
        return make()
    except ValueError as error:
        raise InputError(str(error), path) from None


def _or(said: float | None, usual: float) -> float:
    return usual if said is None else said


def _primed(relation: Any, choice: Said) -> Any:
    epoch: Any = "auto" if choice.epoch is None else choice.epoch
    return relations.Primed(relation, epoch)


def _logdet(choice: Said, naming: Naming) -> Any:
    return _primed(relations.LogDet(_or(choice.eta, 1e-3), step_norm=True), choice)


def _vonneumann(choice: Said, naming: Naming) -> Any:
    return _primed(relations.VonNeumann(_or(choice.eta, 1e-4), step_norm=True), choice)


def _covariance(choice: Said, naming: Naming) -> Any:
    return _primed(relations.Covariance(_or(choice.ridge, 0.01), step_norm=True, role="Ainv"), choice)


def _batch_optimal(choice: Said, naming: Naming) -> Any:
    return _primed(relations.BatchOptimal(_or(choice.ridge, 0.1), step_norm=True, role="Ainv"), choice)


_PA = ("C", "average")
# in the order in which what is given is tried
RULES = {
    "logistic": RuleKind(("step",), _logistic),
    "arow": RuleKind(("r",), _arow),
    "pa1": RuleKind(_PA, _aggressive("I")),
    "pa2": RuleKind(_PA, _aggressive("II")),
    "pa": RuleKind(_PA, _aggressive("0")),
    "perceptron": RuleKind(("average",), _mistaken),
    "squared": RuleKind(("step",), _number(Squared)),
    "absolute": RuleKind(("step",), _number(Absolute)),
    "epsilon": RuleKind((*_PA, "epsilon"), _number(EpsilonInsensitive, "C", "epsilon")),
}
#: Rules for labels that are numbers.
LOSSES = ("squared", "absolute", "epsilon")

ADAPTIVE = "adaptive"
# in the order in which what is given is tried
RELATIONS = {
    ADAPTIVE: Kind(("members",), None, "logistic", lambda choice, naming: None),
    "half": Kind((), None, "logistic", lambda choice, naming: relations.HalfUpdate()),
    "independent": Kind((), None, "logistic", lambda choice, naming: relations.Independent()),
    "pooled": Kind((), None, "logistic", lambda choice, naming: relations.Pooled()),
    "mean": Kind(STRENGTHS, None, "logistic", lambda choice, naming: relations.MeanRegularized(**strength(choice))),
    "clusters": Kind(STRENGTHS, "groups", "logistic", _clusters),
    "hierarchy": Kind(STRENGTHS, "parents", "logistic", _hierarchy),
    "graph": Kind((), "graph", "pa1", _graph),
    "matrix": Kind((), "matrix", "pa1", _matrix),
    "logdet": Kind(("eta", "epoch"), None, "pa1", _logdet),
    "covariance": Kind(("ridge", "epoch"), None, "pa1", _covariance),
    "vonneumann": Kind(("eta", "epoch"), None, "pa1", _vonneumann),
    "batchoptimal": Kind(("ridge", "epoch"), None, "pa1", _batch_optimal),
}
