"""The options of learners that versions before 0.3 had, as specs; they work until 0.4."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from coterie import spec
from coterie.hypotheses import AdaptiveGradient, DiagonalAROW, LinearWeights
from coterie.inputs.errors import FieldError, places
from coterie.relations import Primed
from coterie.settings import Setting, Value, options_of, settings_of
from coterie.spec import Choice
from coterie.wrappers import Forgetting

from .choosing import chosen_by, is_learned, is_of_groups, options_shown, options_with, require_one_of, takes
from .grammar import written
from .learners import ADAPTIVE, ORTHOGONAL, USUAL, hypothesis_of

HALF = "half"
#: The word by which a rule is known to be one of numbers.
_FIRST = {False: "logistic", True: "squared"}


@dataclass(frozen=True)
class Earlier:
    """The options that were the matter of no part."""

    relation: str | None = spec.field(default=None, kind="text", help="How tasks share.")
    members: str | None = spec.field(default=None, kind="text", metavar="SET", help="What `adaptive` mixes.")
    multiview: str | None = spec.field(default=None, kind="text", help="How several views are joined.")
    rule: str | None = spec.field(default=None, kind="text", help="The rule or loss.")
    average: bool | None = spec.field(default=None, kind="flag", help="Whether the mean of all weights predicts.")
    max_tasks: int | None = spec.field(default=None, kind="whole", metavar="N", help="Know at most N tasks.")
    kernel: str | None = spec.field(default=None, kind="text", help="The kernel.")
    budget: str | None = spec.field(default=None, kind="text", help="Which support vectors stay.")
    ask: str | None = spec.field(default=None, kind="text", help="How likely a label is asked for.")
    ask_c: float | None = spec.field(default=None, metavar="C", help="The number that `ask` takes.")
    label_budget: int | None = spec.field(default=None, kind="whole", help="Ask for at most N labels.")
    label_window: int | None = spec.field(default=None, kind="whole", help="The limits are for any N records in a row.")
    label_per_task: str | None = spec.field(default=None, kind="text", metavar="N|S", help="At most N labels a task.")
    ask_seed: int | None = spec.field(default=None, kind="whole", help="Seed of the random numbers of asking.")


def old_options() -> dict[str, Setting]:
    """Return the options by name.

    Examples
    --------
    >>> old_options()["half_life"].metavar
    'N'
    """
    parts = [
        choice
        for role in ("relation", "norm", "rule", "loss", "kernel", "budget")
        for choice in chosen_by(role).values()
    ]
    always = [Choice("", "", part, {}) for part in (Primed, AdaptiveGradient, DiagonalAROW, Forgetting, LinearWeights)]
    return {**settings_of(Earlier), **options_shown([*parts, *always])}


#: The old options of asking for labels, by the parameters of :class:`coterie.SelectiveSampling`.
ASKING = {"label_budget": "budget", "label_window": "window", "label_per_task": "per_task", "ask_seed": "seed"}


def asking(given: Mapping[str, Value], model: Any) -> Any:
    """Return what old options of asking make of a model, in words."""
    if not set(given) & {"ask", "ask_c", *ASKING}:
        return model
    by, c = str(given.get("ask", "margin")), given.get("ask_c")
    require_one_of("ask", by, tuple(chosen_by("ask")))
    ask = by if c is None else f"{by}({written(c)})"
    return _named("ask", {"model": model, "ask": ask} | {ASKING[name]: given[name] for name in ASKING if name in given})


def spec_of(given: Mapping[str, Value], regression: bool = False) -> str:
    """Return the spec of the learner that old options choose.

    Raises
    ------
    ValueError
        For an unknown word, or options that do not go together.

    Examples
    --------
    >>> spec_of({"share": 0.25}), spec_of({"C": 0.1, "graph": "edges.csv"})
    ('mean(share=0.25)', 'pa1(relation=graph(edges=edges.csv), C=0.1)')
    >>> spec_of({"rule": "pa2"})
    'adaptive(members=[pa2(relation=independent), pa2(relation=half), pa2(relation=pooled)])'
    """
    usual = {setting.option: getattr(LinearWeights(), name) for name, setting in settings_of(LinearWeights).items()}
    said = {name: value for name, value in given.items() if usual.get(name) != value}
    for name, role in (("relation", "relation"), ("multiview", "norm"), ("kernel", "kernel"), ("budget", "budget")):
        words = (*([ADAPTIVE] if role == "relation" else []), *chosen_by(role))
        require_one_of(name, said.get(name), words)  # type: ignore[arg-type]
    require_one_of("rule", said.get("rule"), tuple(chosen_by("rule", "loss")))  # type: ignore[arg-type]
    translation = _Translation(said, regression)
    made = asking(said, translation.whole())
    if unused := [name for name in said if name not in translation.used]:
        message = f"{places(unused)} cannot be given with the other options of the learner, which are {{spec!r}}"
        raise FieldError(message, *unused, spec=written(made))
    return written(made)


class _Translation:
    """Old options on their way to a spec; each that was of use is noted."""

    def __init__(self, said: Mapping[str, Any], regression: bool) -> None:
        self.said, self.used, self._numbers = said, {"relation", "rule", "ask", "ask_c", *ASKING}, regression

    def whole(self) -> Any:
        if "multiview" in self.said:
            return self._of_views()
        return self._of_kernel() if "kernel" in self.said else self._of_tasks()

    def _of_tasks(self) -> Any:
        relation, rule = self.relation, self.rule
        if relation != ADAPTIVE:
            return self._of_rule(rule, self._relation(relation))
        if self._numbers or (rule == _FIRST[False] and "half_life" not in self.said):
            if rule != _FIRST[self._numbers]:
                self.used.discard("rule")
            held = {} if self._numbers else self._taken("members")
            return _named(ADAPTIVE, held | self._arguments((AdaptiveGradient,)) | self._taken("max_tasks"))
        members = [self._of_rule(rule, word, shortest=False) for word in ("independent", HALF, "pooled")]
        return _named(ADAPTIVE, {"members": members} | self._arguments((LinearWeights,)) | self._taken("max_tasks"))

    def _of_rule(self, rule: str, relation: Any, shortest: bool = True) -> Any:
        choice = self._rules[rule]
        held = hypothesis_of(choice)
        average = self._taken("average") if held is LinearWeights else {}
        fields = self._fields(choice) | self._arguments((held, Forgetting)) | average | self._taken("max_tasks")
        of_groups = relation != ADAPTIVE and is_of_groups(chosen_by("relation")[_word(relation)])
        if shortest and not fields and rule == USUAL[self._numbers][not of_groups]:
            return relation
        return _named(rule, {"relation": relation} | fields)

    def _of_kernel(self) -> Any:
        self.used |= {"kernel", "budget"}
        held = {"kernel": self._part("kernel", self.said["kernel"])}
        if self.relation != ADAPTIVE:
            held["relation"] = self._relation(self.relation)
        elif "relation" in self.said:
            self.used.discard("relation")
        if "budget" in self.said:
            held["budget"] = self._part("budget", self.said["budget"])
        if self.said.get("rule", "perceptron") != "perceptron":
            self.used.discard("rule")
        return _named("perceptron", held | self._taken("dtype"))

    def _of_views(self) -> Any:
        self.used |= {"multiview", "kernel"}
        self.used.discard("relation")
        word = self.said["multiview"]
        held = self._fields(chosen_by("norm")[word]) | self._taken("average")
        if "kernel" in self.said:
            held["kernels" if word == ORTHOGONAL else "kernel"] = self._part("kernel", self.said["kernel"])
        rule = self.said.get("rule", "pa1" if "C" in self.said else None)
        return _named(word, held | ({} if rule is None else {"rule": self._part("rule", rule)}))

    # -- what is implied ----------------------------------------------------------------------------------------------

    @property
    def _rules(self) -> dict[str, Choice]:
        return chosen_by("rule", "loss")

    @property
    def relation(self) -> str:
        """The relation: the one given, or the first that takes the options given."""
        if "relation" in self.said:
            return str(self.said["relation"])
        choices = chosen_by("relation")
        known = {name for choice in choices.values() for name in options_with(choice)}
        of_relation = known & set(self.said)
        dual = "kernel" in self.said
        if not of_relation and not dual and not (self._numbers and self._unlike_the_adaptive):
            return ADAPTIVE
        return next((word for word in (HALF, *choices) if takes(choices[word], of_relation)), ADAPTIVE)

    @property
    def _unlike_the_adaptive(self) -> bool:
        """Whether there are options that the adaptive learner of numbers does not have."""
        of_rules = {name for choice in self._rules.values() for name in _options_of(choice)}
        other = {"rule", *of_rules, *options_of(Forgetting)} - _options_of(self._rules[_FIRST[True]])
        return bool(other & set(self.said))

    @property
    def rule(self) -> str:
        """The rule: the one given, or the first that takes the options given."""
        if "rule" in self.said:
            return str(self.said["rule"])
        choice = chosen_by("relation").get(self.relation)
        usual = USUAL[self._numbers][:: 1 if choice is None or is_of_groups(choice) else -1]
        rules = chosen_by("loss" if self._numbers else "rule")
        known = {name for each in self._rules.values() for name in _options_of(each)}
        of_rule = known & set(self.said)
        return next((word for word in (*usual, *rules) if of_rule <= _options_of(rules[word])), usual[0])

    # -- what is written ----------------------------------------------------------------------------------------------

    def _taken(self, name: str) -> dict[str, Any]:
        self.used.add(name)
        return {name: self.said[name]} if name in self.said else {}

    def _fields(self, choice: Choice) -> dict[str, Any]:
        """Return the fields of a part that options give."""
        found = {choice.field(name): self.said[name] for name in choice.options if name in self.said}
        self.used |= set(choice.options)
        return found

    def _part(self, role: str, word: str) -> Any:
        return _named(word, self._fields(chosen_by(role)[word]))

    def _relation(self, word: str) -> Any:
        choice = chosen_by("relation")[word]
        return _named(word, self._fields(choice) | (self._taken("epoch") if is_learned(choice) else {}))

    def _arguments(self, parts: Iterable[type]) -> dict[str, Any]:
        """Return the arguments of estimators that options of their inner parts give."""
        settings = [each for part in parts for each in settings_of(part).items() if each[1].option in self.said]
        self.used |= {setting.option for _, setting in settings}
        return {setting.option if setting.several else name: self.said[setting.option] for name, setting in settings}


def _named(word: str, arguments: Mapping[str, Any]) -> Any:
    return {"name": word, **arguments} if arguments else word


def _word(relation: Any) -> str:
    return str(relation["name"] if isinstance(relation, dict) else relation)


def _options_of(rule: Choice) -> set[str]:
    """The options that go with a rule: its own, and those of the weights that it moves."""
    held = hypothesis_of(rule)
    averages = {"average"} if held is LinearWeights else set()
    return {*rule.options, *(set(options_of(held)) - set(options_of(LinearWeights))), *averages}


def one_word(text: str, base: Mapping[str, Value], regression: bool) -> str:
    """Return the spec of a learner as ``compare`` took it before 0.3: ``share=0.3,pa2,C=0.1``.

    Raises
    ------
    ValueError
        For a part that is no word and no option.

    Examples
    --------
    >>> one_word("groups=areas.csv,pa1,no-average", {}, regression=False)
    'pa1(relation=clusters(groups=areas.csv), average=false)'
    """
    options, said = old_options(), dict(base)
    roles = {"relation": (ADAPTIVE, *chosen_by("relation")), "rule": tuple(chosen_by("rule", "loss"))}
    words = {word: name for name, known in roles.items() for word in known}
    for part in filter(None, text.split(",")):
        name, equals, value = part.partition("=")
        if equals:
            require_one_of("a part of the learner", name, tuple(options))
            said[name] = options[name].read(name, value)
        elif part in ("average", "no-average"):
            said["average"] = part == "average"
        else:
            require_one_of("a part of the learner", part, (*words, *chosen_by("norm")))
            said[words.get(part, "multiview")] = part
    return spec_of(said, regression)
