"""Learners by their specs: every word and argument follows from what estimators and parts declare.

A spec begins with the word of a learner: ``adaptive``, a rule (or, for numbers, a loss), ``ask``; for
views a norm. Its arguments are the parameters of the estimator and the fields of the rule. A relation by itself stands
for the usual learner under it. Parts are words of :func:`coterie.spec.choice`, their arguments the fields.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, Field, dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple, NoReturn

from coterie import online
from coterie.hypotheses import AdaptiveGradient, DiagonalAROW, LinearWeights
from coterie.inputs.errors import FieldError, InputError
from coterie.online.selective import base_model
from coterie.relations import Interaction, MeanRegularized, Primed
from coterie.rules import Logistic
from coterie.settings import Setting, settings_of
from coterie.spec import Choice
from coterie.wording import nearest
from coterie.wrappers import Forgetting

from .choosing import chosen_by, is_learned, is_of_groups, placed
from .grammar import Argument, Node, SpecError, parse, read_file, written
from .related import Naming, is_separator, read_related

ADAPTIVE, ORTHOGONAL, MATRIX, ASK, FROM = "adaptive", "orthogonal", "matrix", "ask", "from"
#: The learner under a relation of groups, and under another one, for classes and for numbers.
USUAL = {False: ("logistic", "pa1"), True: ("squared", "epsilon")}
#: What parameters hold parts, by the role of the part; a loss is a rule of numbers.
_ROLES = {
    **{name: name for name in ("relation", "rule", "loss", "kernel", "budget", "ask")},
    "kernels": "kernel",
    "model": "learner",
    "members": "learner",
}
#: Parameters that the options of files say, or the command.
_SAID_ELSEWHERE = {"task_column", "new_task", "scale", "log", "views", "delay", "gauge"}
#: For a relation by a matrix whose file is not read yet.
_STAND_IN = Interaction([[1.0]])
_TRUTH = {"true": True, "false": False, "none": None}


@dataclass(frozen=True)
class Head:
    """A learner by its word.

    Attributes
    ----------
    estimators : tuple of classes
        The first that has all parameters given is made.
    part : Choice or None
        A part that the word implies, whose fields are arguments too.
    slot : str
        The estimator's parameter for it.
    averages : bool
        Whether it predicts by the mean of all weights so far, unless it forgets.
    """

    estimators: tuple[type[Any], ...]
    part: Choice | None = None
    slot: str = ""
    averages: bool = False


def heads(regression: bool = False, views: bool = False) -> dict[str, Head]:
    """Return the learners of classes, of numbers, or of views, by word.

    Examples
    --------
    >>> list(heads(regression=True))
    ['adaptive', 'squared', 'absolute', 'epsilon']
    """
    if views:
        kinds = {True: online.MultiviewPerceptron, False: online.OrthogonalMultiviewPerceptron}
        return {word: Head((kinds[each.part.one_space],), averages=True) for word, each in chosen_by("norm").items()}
    if regression:
        made = {
            word: Head((online.MultitaskRegressor,), loss, "loss", hypothesis_of(loss) is LinearWeights)
            for word, loss in chosen_by("loss").items()
        }
        return {ADAPTIVE: Head((online.AdaptiveSharingRegressor,))} | made
    made = {word: _of_rule(word, rule) for word, rule in chosen_by("rule").items()}
    asks = Head((online.SelectiveSampling,), chosen_by("ask")["margin"], "ask")
    return {ADAPTIVE: Head((online.AdaptiveSharingClassifier,))} | made | {"ask": asks}


def _of_rule(word: str, rule: Choice) -> Head:
    held = hypothesis_of(rule)
    if held is not LinearWeights:
        return Head((online.MultitaskLogistic if held is AdaptiveGradient else online.MultitaskAROW,))
    kernels = (online.MultitaskKernelPerceptron,) if word == "perceptron" else ()
    return Head((online.MultitaskPerceptron, *kernels), rule, "rule", averages=True)


def hypothesis_of(rule: Choice) -> type:
    """Return the hypothesis of a rule: weights, or weights with a rate or a variance each."""
    if rule.part.move == "confidence":
        return DiagonalAROW
    of_gradient = rule.part is Logistic or (rule.role == "loss" and rule.part.move == "gradient")
    return AdaptiveGradient if of_gradient else LinearWeights


class Slot(NamedTuple):
    """An argument that there is: a field of a part, or a parameter."""

    name: str
    setting: Setting | None
    by_place: bool
    annotation: str
    default: Any

    @property
    def needed(self) -> bool:
        """True if there is no default."""
        return self.default is MISSING

    @property
    def file(self) -> str:
        """What the file holds that the argument names; empty where it names none."""
        return "" if self.setting is None else self.setting.file


@dataclass(frozen=True)
class Spec:
    """A spec, and what labels and records it is for.

    Parameters
    ----------
    text : str
        The spec, or ``@`` and the name of a TOML file that holds it.
    regression, many_classes, views : bool
        What labels and records are.
    held : estimator, optional
        What ``from`` stands for in ``ask(from)``: a model that goes on.
    """

    text: str
    regression: bool = False
    many_classes: bool = False
    views: bool = False
    held: Any = None

    @cached_property
    def spec(self) -> str:
        """The spec itself."""
        return read_file(self.text[1:]) if self.text.startswith("@") else self.text

    @cached_property
    def tree(self) -> Node:
        """The spec as a tree."""
        return parse(self.spec)


@dataclass(frozen=True)
class LearnerSpec(Spec):
    """A learner as a spec says it; it is made later, since its relation may need to know the type of tasks' labels.

    Raises
    ------
    SpecError
        For unknown words, arguments that do not go together, or values out of range, with the place in the spec; files
        are read later.

    Examples
    --------
    >>> LearnerSpec("adaptive").make()
    AdaptiveSharingClassifier()
    >>> LearnerSpec("pa1(mean(share=0.25), C=0.1)").make()
    MultitaskPerceptron(relation=MeanRegularized(share=0.25), rule=PassiveAggressive(C=0.1, variant='I'), average=True)
    """

    def __post_init__(self) -> None:
        if self.regression and self.many_classes:
            message = "{} and {} exclude each other: labels are numbers or classes"
            raise FieldError(message, "regression", "many_classes")
        self.checked  # noqa: B018 - refuses what cannot be made

    @cached_property
    def checked(self) -> Any:
        """The learner with stand-ins for what files describe."""
        return _Maker(self, None, 0).learner(self.tree)

    @cached_property
    def files(self) -> list[str]:
        """The files that it names."""
        own = [self.text[1:]] if self.text.startswith("@") else []
        return [*own, *_Maker(self, None, 0).files_of(self.tree)]

    @property
    def asks(self) -> bool:
        """True if it learns only from labels that it asks for."""
        return self.tree.name == ASK

    @property
    def going_on(self) -> str | None:
        """The spec by which its model goes on asking; None where it does not ask."""
        if not self.asks:
            return None
        first = next(each.node for each in self.tree.arguments or () if each.name in (None, "model"))
        return self.spec[: first.at] + FROM + self.spec[first.end :]

    def parameter(self, name: str) -> Any:
        """The value of a parameter of the estimator, or of the one inside it; None where it has no such."""
        model = self.checked
        while not hasattr(model, name) and hasattr(model, "model"):
            model = model.model
        return getattr(model, name, None)

    def make(self, naming: Naming = str, delay: int = 0) -> Any:
        """Make the learner, ready for its first record.

        Parameters
        ----------
        naming : callable
            From the text of a task in a file to its label: ``int`` where the tasks of the records are whole numbers.
        delay : int
            How many records late labels will come.

        Raises
        ------
        InputError
            A file that cannot be read, or does not describe a relation.
        """
        return _Maker(self, naming, delay).learner(self.tree)


class _Maker:
    """Makes what the nodes of a spec stand for; without ``naming``, with stand-ins for what files describe."""

    def __init__(self, learner: Spec, naming: Naming | None, delay: int) -> None:
        self._of, self._naming, self._delay = learner, naming, delay

    def learner(self, node: Node) -> Any:
        """The learner of a node, of many classes if it is to be."""
        made = self._learner(node)
        if self._of.many_classes:
            made = online.OneVsRest(made)
            self._check(node, made)
        return made

    def _learner(self, node: Node) -> Any:
        known, relations = heads(self._of.regression, self._of.views), {} if self._of.views else chosen_by("relation")
        if node.name in relations:
            usual = USUAL[self._of.regression][not is_of_groups(relations[node.name])]
            node = Node(usual, (Argument("relation", node),), node.at, node.end)
        if node.name not in known:
            self._unknown_learner(node, list(known), list(relations))
        return self._of_head(node, known[node.name])

    def _of_head(self, node: Node, head: Head) -> Any:
        slots = {slot.name: slot for kind in reversed(head.estimators) for slot in slots_of(kind)}
        of_part = [] if head.part is None else [slot for slot in slots_of(head.part.part) if slot.name not in slots]
        first = slots_of(head.estimators[0])
        bound = self._bound(node, [*first, *of_part, *slots.values()], [slot.name for slot in first if slot.by_place])
        inner = {slot.name: bound.pop(slot.name) for slot in of_part if slot.name in bound}
        chosen = _first_with(head.estimators, bound)
        known = slots_of_names(chosen)
        self._require_needed(node, slots_of(chosen), bound)
        for name, given in bound.items():
            if name not in known:
                self._fail(
                    f"{node.name} takes no {name} with {', '.join(each for each in bound if each in known)}", given
                )
        values = self._values(bound, [*slots.values()])
        if inner or (head.part is not None and head.slot in known and head.slot not in values):
            values[head.slot] = self._implied(node, head, inner, bound, known)
        if head.averages and "average" in known and "half_life" not in values:
            values.setdefault("average", True)
        if "delay" in vars(chosen) and self._delay and not isinstance(values.get("members"), list):
            values["delay"] = self._delay
        with self._placed(node, bound):
            made = chosen(**values)
        self._check(node, made, bound | inner)
        return made

    def _implied(
        self, node: Node, head: Head, inner: Mapping[str, Node], bound: Mapping[str, Node], known: set[str]
    ) -> Any:
        """The part that the word of a learner implies, with the arguments that are its own."""
        for name, given in inner.items():
            if head.slot in bound:
                self._fail(f"{name} is for {node.name}'s own {head.slot}, and {head.slot} is given", given)
            if head.slot not in known:
                self._fail(f"{node.name} takes no {name} with {', '.join(bound)}", given)
        part: Any = head.part
        with self._placed(node, inner):
            return part.make(**self._values(inner, slots_of(part.part)))

    def _check(self, node: Node, made: Any, bound: Mapping[str, Node] | None = None) -> None:
        """Refuse what the estimator would refuse when its first record comes."""
        with self._placed(node, bound or {}):
            made.__stream_model__()

    def _unknown_learner(self, node: Node, learners: list[str], relations: list[str]) -> NoReturn:
        others = [(False, True, "numbers (regression)"), (False, False, "classes"), (True, False, "records of views")]
        for views, regression, what in others:
            if node.name in heads(regression, views):
                self._fail(f"{node.name} is a learner of {what}; expected one of {', '.join(learners)}", node)
        near = nearest(node.name, [*learners, *relations])
        or_relation = f", or a relation ({', '.join(relations)})" if relations else ""
        what = f"no learner is called {node.name!r}" if node.name else "brackets are no learner"
        self._fail(f"{what}; expected one of {', '.join(learners)}{or_relation}{near}", node)

    # -- arguments ----------------------------------------------------------------------------------------------------

    def _bound(self, node: Node, slots: list[Slot], places: list[str] | None = None) -> dict[str, Node]:
        """The arguments of a node by name; those by place are ``places``, or the first of the slots."""
        known = {slot.name: slot for slot in reversed(slots)}
        places = [slot.name for slot in slots if slot.by_place] if places is None else places
        found: dict[str, Node] = {}
        for n, each in enumerate(node.arguments or ()):
            name = each.name
            if name is None:
                if n >= len(places):
                    self._fail(f"{node.name} takes {_counted(places)} by place", each.node)
                name = places[n]
            if name not in known:
                takes = ", ".join(dict.fromkeys(slot.name for slot in slots)) or "nothing"
                at = each.node.at if each.name is None else self._of.spec.rfind(name, 0, each.node.at)
                near = nearest(name, known)
                raise SpecError(f"{node.name} takes no {name!r}; it takes {takes}{near}", self._of.spec, at)
            if name in found:
                self._fail(f"{node.name} has {name} twice", each.node)
            found[name] = each.node
        return found

    def _require_needed(self, node: Node, slots: list[Slot], given: Collection[str]) -> None:
        for slot in slots:
            if slot.needed and slot.name not in given:
                self._fail(f"{node.name} needs {slot.name}{' (a file)' if slot.file else ''}", node)

    def _values(self, bound: Mapping[str, Node], slots: list[Slot]) -> dict[str, Any]:
        known = {slot.name: slot for slot in slots}
        return {name: self._value(known[name], node) for name, node in bound.items()}

    def _value(self, slot: Slot, node: Node) -> Any:
        role = _ROLES.get(slot.name)
        if role == "learner" and (node.arguments is not None or slot.name == "model"):
            return self._learners(slot, node)
        choices = {} if role in (None, "learner") else chosen_by(str(role))
        if choices and (node.name in choices or node.arguments is not None or slot.annotation == "Any"):
            return self.part(str(role), choices, node)
        if node.items is not None:
            if slot.setting is not None and not slot.setting.several:
                self._fail(f"{slot.name} takes one value, not several", node)
            return tuple(self._literal(slot, each) for each in node.items)
        return self._literal(slot, node)

    def _learners(self, slot: Slot, node: Node) -> Any:
        if node.name == FROM and self._of.held is not None:
            return base_model(self._of.held)
        if node.items is None:
            return self._learner(node) if slot.name == "model" else self._fail("expected a list in brackets", node)
        return [self._learner(each) for each in node.items]

    def _literal(self, slot: Slot, node: Node) -> Any:
        if node.arguments is not None:
            self._fail(f"{slot.name} takes a value, not {node.name or '['}...", node)
        text, setting = node.name, slot.setting
        if text.lower() in _TRUTH:
            return _TRUTH[text.lower()]
        if setting is not None and setting.kind != "flag" and (setting.kind != "number" or not _is_number(text)):
            try:
                return setting.read(slot.name, text)
            except ValueError as error:
                self._fail(str(error), node)
        if not _is_number(text):
            return text
        floats = "float" in slot.annotation and "int" not in slot.annotation
        return float(text) if floats or not text.lstrip("+-").isdecimal() else int(text)

    # -- parts --------------------------------------------------------------------------------------------------------

    def part(self, role: str, choices: Mapping[str, Choice], node: Node) -> Any:
        """The part of a node."""
        if node.name not in choices:
            what = f"no {role} is called {node.name!r}" if node.name else f"brackets are no {role}"
            self._fail(f"{what}; expected one of {', '.join(choices)}{nearest(node.name, choices)}", node)
        choice = choices[node.name]
        slots = slots_of(choice.part)
        bound = self._bound(node, slots_of_choice(choice))
        self._require_needed(node, slots, [*bound, *choice.preset])
        primed = {slot.name: bound.pop(slot.name) for slot in slots_of(Primed)[1:] if slot.name in bound}
        with self._placed(node, bound | primed):
            made = self._made(choice, bound, slots)
            if is_learned(choice) and (primed or choice.part.waits):
                made = Primed(made, **{"epoch": "auto"} | self._values(primed, slots_of(Primed)))
        return made

    def _made(self, choice: Choice, bound: dict[str, Node], slots: list[Slot]) -> Any:
        paths = {slot.name: str(bound.pop(slot.name).name) for slot in slots if slot.file and slot.name in bound}
        if not paths:
            return choice.make(**self._values(bound, slots))
        values, files = self._values(bound, slots), {slot.name: slot.file for slot in slots}
        if self._naming is None:
            if not is_of_groups(choice):
                return _STAND_IN
            return MeanRegularized(**{name: value for name, value in values.items() if not isinstance(value, tuple)})
        for name, path in paths.items():
            values |= read_related(files[name], path, name, self._naming)
        return placed(next(iter(paths.values())), lambda: choice.make(**values))

    def files_of(self, node: Node) -> Iterator[str]:
        """Yield the files that a node and those below it name."""
        choice = None if self._of.views else chosen_by("relation").get(node.name)
        if choice is not None:
            slots = slots_of_choice(choice)
            bound = self._bound(node, slots)
            paths = [bound[slot.name].name for slot in slots if slot.file and slot.name in bound]
            yield from (path for path in paths if not is_separator(path))
            return
        for each in node.arguments or ():
            yield from self.files_of(each.node)

    # -- errors -------------------------------------------------------------------------------------------------------

    @contextmanager
    def _placed(self, node: Node, bound: Mapping[str, Node]) -> Iterator[None]:
        """Give errors of parts their place: the argument that the message begins with, or all."""
        try:
            yield
        except (SpecError, InputError):
            raise
        except (TypeError, ValueError) as error:
            said = str(error).replace(repr(_STAND_IN), "this relation")
            for kind in (AdaptiveGradient, DiagonalAROW):
                said = said.replace(f"{kind.__name__} cannot", f"{node.name} cannot")
            first = "relation" if "this relation" in said else said.split(" ", 1)[0].rstrip(",:").partition("=")[0]
            raise SpecError(said, self._of.spec, bound.get(first, node).at) from None

    def _fail(self, message: str, node: Node) -> NoReturn:
        raise SpecError(message, self._of.spec, node.at)


def slots_of(cls: type) -> list[Slot]:
    """Return the arguments that specs have for a part or an estimator, in the order of its parameters."""
    settings = settings_of(cls)
    return [
        Slot(
            each.name,
            settings.get(each.name),
            not each.kw_only,
            str(each.type),
            each.default if each.default_factory is MISSING else None,
        )
        for each in sorted(_fields(cls), key=lambda each: bool(each.kw_only))
    ]


def slots_of_choice(choice: Choice) -> list[Slot]:
    """Return the arguments of a part: its own, and those of priming if it is a learned relation."""
    return slots_of(choice.part) + (slots_of(Primed)[1:] if is_learned(choice) else [])


def _fields(cls: Any) -> list[Field[Any]]:
    elsewhere = _SAID_ELSEWHERE if hasattr(cls, "partial_fit") else set()
    return [each for each in fields(cls) if each.init and each.name not in elsewhere]


def slots_of_names(cls: type) -> set[str]:
    """Return their names."""
    return {slot.name for slot in slots_of(cls)}


def _first_with(kinds: tuple[type[Any], ...], bound: Mapping[str, Node]) -> type[Any]:
    """The first class that has all the parameters given, else the one that has most of them."""
    return max(kinds, key=lambda kind: (len(slots_of_names(kind) & set(bound)), -kinds.index(kind)))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text[-1:].isdigit() or text[-1:] == "."


def _counted(names: list[str]) -> str:
    return f"only {', '.join(names)}" if names else "nothing"


def part_of(role: str, text: str) -> Any:
    """Return the part of a role that a spec stands for.

    Examples
    --------
    >>> part_of("ask", "margin(c=0.5)")
    Margin(c=0.5)
    """
    asked = Spec(text)
    return _Maker(asked, None, 0).part(role, chosen_by(role), asked.tree)


#: Arguments of most learners of tasks, which are listed once.
_COMMON = ("max_tasks", "half_life", "class_weight", "storage", "bits", "dtype", "fit_intercept")


def signatures() -> dict[str, list[str]]:
    """Return all words of specs with their arguments and the defaults of these, by what they stand for.

    Examples
    --------
    >>> signatures()["Kernels"]
    ['linear', 'polynomial(degree=2, coef0=1)', 'gaussian(sigma=1)']
    """
    kinds = {"Learners": (False, False), "Learners of numbers": (True, False)}
    found = {
        name: [_of_word(word, head) for word, head in heads(regression, views).items()]
        for name, (regression, views) in kinds.items()
    }
    found["Learners"].append(f"most also take {', '.join(_COMMON)}")
    parts = {"Relations": "relation", "Kernels": "kernel", "Budgets": "budget", "Ways of asking": "ask"}
    for name, role in parts.items():
        found[name] = [
            _signature(word, slots_of_choice(choice), choice.preset) for word, choice in chosen_by(role).items()
        ]
    return found


def arguments() -> dict[str, str]:
    """Return what arguments of relations, rules, kernels and budgets mean, and of weights, in Markdown.

    Examples
    --------
    >>> arguments()["degree"]
    'Degree of the polynomial kernel.'
    """
    roles = ("relation", "norm", "rule", "loss", "kernel", "budget")
    parts = dict.fromkeys(choice.part for role in roles for choice in chosen_by(role).values())
    found: dict[str, dict[str, None]] = {}
    for part in (*parts, Primed, AdaptiveGradient, DiagonalAROW, Forgetting, LinearWeights):
        for name, setting in settings_of(part).items():
            if setting.help:
                of_several = setting.several and part is Forgetting
                found.setdefault(setting.option if of_several else name, {})[setting.help] = None
    return {name: " ".join(texts) for name, texts in found.items()}


def _of_word(word: str, head: Head) -> str:
    of_part = [] if head.part is None else slots_of(head.part.part)
    own = [slot for kind in head.estimators for slot in slots_of(kind)]
    shown = {slot.name: slot for slot in [*own[:1], *of_part, *own] if slot.name not in (*_COMMON, head.slot)}
    preset = {} if head.part is None else head.part.preset
    return _signature(word, list(shown.values()), dict(preset) | ({"average": True} if head.averages else {}))


def _signature(word: str, slots: list[Slot], preset: Mapping[str, Any]) -> str:
    shown = []
    for slot in slots:
        default = preset.get(slot.name, slot.default)
        plain = isinstance(default, (bool, int, float, str))
        shown.append(f"{slot.name}={written(default)}" if plain else slot.name)
    return f"{word}({', '.join(shown)})" if shown else word
