"""A learner chosen by words, numbers and files: what people write on a command line or in a configuration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from coterie import online, spec
from coterie.hypotheses import AdaptiveGradient, DiagonalAROW, LinearWeights
from coterie.inputs.errors import FieldError, places
from coterie.numeric.core.points import Kernel
from coterie.online.estimator import OnlineEstimator
from coterie.relations import Interaction, Primed
from coterie.relations.relation import RelationPart
from coterie.rules import Logistic
from coterie.settings import Setting, Value, options_of, settings_of
from coterie.spec import Choice
from coterie.wrappers import Forgetting

from .choosing import (
    check_relation,
    chosen_by,
    files_of,
    is_learned,
    is_of_groups,
    listed,
    make_part,
    make_relation,
    of_no_use,
    options_shown,
    options_with,
    require_one_of,
    takes,
    with_names,
)
from .related import Naming

ADAPTIVE, HALF, ORTHOGONAL = "adaptive", "half", "orthogonal"
#: The rules that are meant where none is named, the first that takes what else was given; `pa1` and `epsilon` go first
#: where the relation is not of groups.
FOR_CLASSES, FOR_NUMBERS = ("logistic", "pa1"), ("squared", "epsilon")
FOR_VIEWS, FOR_KERNELS = ("perceptron", "pa1"), ("perceptron",)
#: The kernel of random Fourier features.
FOURIER = "gaussian"
#: Shares among which the adaptive relation chooses where its members learn by another rule than `logistic`.
SHARES = (0.0, 0.5, 1.0)


@dataclass(frozen=True)
class LearnerConfig:
    """The options of a learner; it is made later, since its relation may need to know the type of tasks' labels.

    Left alone it is the default of the command line, `coterie.AdaptiveSharingClassifier`, for numbers
    `coterie.AdaptiveSharingRegressor`. The fields are what is not
    the matter of a single part; ``options`` has the options of parts by name, a file being given by its path. `of`
    takes all of it by name, as `learner_options` lists it. A relation or rule that is not named is the first that takes
    all the options given.

    Raises
    ------
    ValueError
        For an unknown word (with the nearest), for options that do not go together, or out of range.

    Examples
    --------
    >>> LearnerConfig().make()
    AdaptiveSharingClassifier()
    >>> LearnerConfig.of(share=0.25, rule="pa1").make()
    MultitaskPerceptron(relation=MeanRegularized(share=0.25), rule=PassiveAggressive(C=1.0, variant='I'), average=True)
    """

    relation: str | None = spec.field(
        default=None,
        kind="text",
        help="How tasks share: `adaptive` (the default; [how much each task shares is learned](how-it-works.md)), "
        "{fixed}; by a matrix that is [learned](relations.md#learned-relations): {learned}. The options below "
        "imply it.",
    )
    members: str | None = spec.field(
        default=None,
        kind="text",
        metavar="SET",
        help="What the adaptive relation mixes: `default`, `cheap` (half the time and memory, for millions of "
        "tasks), `ensemble` (the most accurate, up to twice the time), `separable` (members share all or nothing; "
        "best with `--workers`), `signed` (tasks may mirror the others), `tabular` (for columns of a table: "
        "[task means, crossed columns and trees](how-it-works.md#tables), at 20 to 80 times the time) or "
        "`shares` (the default of version 0.1).",
    )
    multiview: str | None = spec.field(default=None, kind="text", help="How several views are joined: {norm}.")
    regression: bool = spec.field(
        default=False,
        help="Labels are numbers: predict how much, not which of two ([outputs](outputs.md)).",
    )
    many_classes: bool = spec.field(
        default=False,
        help="Labels are classes, any number of them; new ones may appear later ([outputs](outputs.md#onevsrest)).",
    )
    rule: str | None = spec.field(
        default=None,
        kind="text",
        help="When and how far a record moves the weights: {rule}; `pa1` is the default with `graph`, `matrix` and "
        "learned matrices, which `logistic` and `arow` cannot use. For numbers {loss}; `epsilon` is the default with "
        "these relations, and where a rule is named, tasks share by `half` unless told otherwise.",
    )
    average: bool | None = spec.field(
        default=None,
        kind="flag",
        help="Whether a Perceptron or passive-aggressive learner predicts by the mean of all weights so far (the "
        "default), or by the last ones, which follow a world that changes.",
    )
    max_tasks: int | None = spec.field(
        default=None,
        kind="whole",
        at_least=1,
        metavar="N",
        help="Know at most N tasks: when a new one comes, the task that has gone longest without being learned "
        "from is [forgotten](models.md#forget-a-task).",
    )
    kernel: str | None = spec.field(
        default=None,
        kind="text",
        help="Learn with a kernel by the Perceptron's rule ([Kernels](kernels.md)): {kernel}.",
    )
    budget: str | None = spec.field(
        default=None,
        kind="text",
        help="Which support vectors stay, where not all do: {budget}.",
    )
    fourier: int | None = spec.field(
        default=None,
        kind="whole",
        at_least=2,
        metavar="N",
        help="Learn with N [random Fourier features](kernels.md#random-fourier-features) of the Gaussian kernel, not "
        "with support vectors: by any rule and under any relation, numbers too.",
    )
    options: Mapping[str, Value] = field(default_factory=dict)

    @classmethod
    def of(cls, **given: Value | None) -> LearnerConfig:
        """Make the configuration of all that is given by name, None saying nothing.

        Raises
        ------
        ValueError
            As the class; and for an option that there is not.
        """
        known = {name: setting for group in learner_options().values() for name, setting in group.items()}
        said: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        for name in said:
            require_one_of("an option of a learner", name, tuple(known))
        own = {name: said.pop(name) for name in settings_of(cls) if name in said}
        usual = {setting.option: getattr(LinearWeights(), name) for name, setting in settings_of(LinearWeights).items()}
        return cls(**own, options={name: value for name, value in said.items() if usual.get(name) != value})

    def replace(self, **given: Value | None) -> LearnerConfig:
        """Return the same configuration with these options changed."""
        return LearnerConfig.of(**{**self.given, **given})

    @property
    def given(self) -> dict[str, Value]:
        """All that was given, by name."""
        own = {each.name: getattr(self, each.name) for each in fields(self) if getattr(self, each.name) != each.default}
        return {name: value for name, value in own.items() if name != "options"} | {**self.options}

    def __post_init__(self) -> None:
        require_one_of("relation", self.relation, (ADAPTIVE, *chosen_by("relation")))
        require_one_of("multiview", self.multiview, tuple(chosen_by("norm")))
        require_one_of("kernel", self.kernel, tuple(chosen_by("kernel")))
        if self.multiview is not None:
            self._check_views()
            self._check_values(self._of_views, "norm", "rule", "kernel")
            return
        if without := self._said(_options_of("norm")):
            raise FieldError(f"{places(without)} cannot be given without views", *without)
        self._check_outputs()
        self._check_relation()
        self._check_rule()
        require_one_of("budget", self.budget, tuple(chosen_by("budget")))
        self._check_kernel()
        self._check_bound()
        roles = ("relation", "rule", "loss", "kernel", "budget")
        self._check_values(lambda: self._learner(self._stand_in()), *roles)

    # -- what is meant ------------------------------------------------------------------------------------------------

    @property
    def relation_name(self) -> str:
        """The relation: the one given, or the first that takes the options given."""
        if self.relation is not None:
            return self.relation
        said = self._of_relation
        if set(said) <= {"members"} and not self._dual and not (self.regression and self._unlike_the_adaptive):
            return ADAPTIVE
        choices = chosen_by("relation")
        return next((word for word in (HALF, *choices) if takes(choices[word], said)), ADAPTIVE)

    @property
    def _unlike_the_adaptive(self) -> list[str]:
        """The options given that the adaptive learner of numbers does not have: of other rules, and of forgetting."""
        rules = ["rule", *(name for name in self._of_rule if name not in _options_of_rule(self.rules[FOR_NUMBERS[0]]))]
        return self._said((*rules, *options_of(Forgetting)))

    @property
    def rule_name(self) -> str:
        """The rule: the one given, or the first that takes the options given."""
        if self.rule is not None:
            return self.rule
        first, rules, said = self._usual_rules, self.rules, set(self._of_rule)
        return next((word for word in (*first, *rules) if said <= _options_of_rule(rules[word])), first[0])

    @property
    def _dual(self) -> bool:
        """Whether the learner keeps support vectors."""
        return self.kernel is not None and self.fourier is None

    @property
    def rules(self) -> dict[str, Choice]:
        """The rules for labels of this kind."""
        if self._dual and self.multiview is None:
            return {word: choice for word, choice in chosen_by("rule").items() if word in FOR_KERNELS}
        rules = chosen_by("loss" if self.regression else "rule")
        if self.multiview is None:
            return rules
        return {word: choice for word, choice in rules.items() if _hypothesis_of(choice) is LinearWeights}

    @property
    def _usual_rules(self) -> tuple[str, ...]:
        if self.multiview is not None:
            return FOR_VIEWS
        if self._dual:
            return FOR_KERNELS
        usual = FOR_NUMBERS if self.regression else FOR_CLASSES
        relation = chosen_by("relation").get(self.relation_name)
        return usual if relation is None or is_of_groups(relation) else usual[::-1]

    @property
    def _of_relation(self) -> dict[str, Value]:
        """The options given of the relation."""
        known = ["members", *(name for choice in chosen_by("relation").values() for name in options_with(choice))]
        return {name: value for name, value in self.given.items() if name in known}

    @property
    def _of_rule(self) -> dict[str, Value]:
        """The options given of the rule."""
        known = {name for choice in chosen_by("rule", "loss").values() for name in _options_of_rule(choice)}
        return {name: value for name, value in self.given.items() if name in known}

    def _said(self, names: Iterable[str]) -> list[str]:
        return [name for name in names if name in self.given]

    # -- what is refused ----------------------------------------------------------------------------------------------

    def _check_outputs(self) -> None:
        if self.regression and self.many_classes:
            message = "{} and {} exclude each other: labels are numbers or classes"
            raise FieldError(message, "regression", "many_classes")
        losses, rules = chosen_by("loss"), chosen_by("loss" if self.regression else "rule")
        if self.rule in chosen_by("rule", "loss") and self.rule not in rules:
            what = "labels that are numbers" if self.rule in losses else "classes"
            raise ValueError(f"rule {self.rule!r} is for {what}; expected one of {', '.join(rules)}")
        require_one_of("rule", self.rule, tuple(rules))

    def _check_relation(self) -> None:
        if self.relation_name == ADAPTIVE:
            if self.regression:
                self._check_adaptive_numbers()
            if self._dual:
                raise ValueError(
                    f"relation {ADAPTIVE!r} cannot be given with a kernel: name another one, such as 'half'"
                )
            if not set(self._of_relation) <= {"members"}:
                raise of_no_use(self._of_relation, self.relation)
            return
        check_relation(chosen_by("relation")[self.relation_name], self._of_relation, self.relation is not None)

    def _check_adaptive_numbers(self) -> None:
        if self.members is not None:
            raise FieldError(
                "{} {members!r} are classifiers: leave them out for numbers", "members", members=self.members
            )
        for name in self._unlike_the_adaptive:
            if name == "rule" and self.rule == FOR_NUMBERS[0]:
                continue
            message = "{} cannot be given with the relation {relation!r} of numbers: name another one, such as 'half'"
            raise FieldError(message, name, relation=ADAPTIVE)

    def _check_rule(self) -> None:
        rule = self.rule_name
        for name in self._of_rule:
            if name not in _options_of_rule(chosen_by("rule", "loss")[rule]):
                raise FieldError("{} does not apply to the rule {rule!r}", name, rule=rule)
        if self.members is not None and rule != FOR_CLASSES[0]:
            message = "{} {members!r} have rules of their own: leave out the rule {rule!r}"
            raise FieldError(message, "members", members=self.members, rule=rule)
        for name in self._said(options_of(Forgetting)) if self.members is not None else ():
            raise FieldError("{} does not apply to {} {held!r}", name, "members", held=self.members)

    def _check_kernel(self) -> None:
        of_budgets = _options_of("budget")
        if self.fourier is not None:
            for name in self._said(("budget", *of_budgets)):
                raise FieldError("{} and {} exclude each other: random features need no budget", "fourier", name)
            if self.kernel not in (None, FOURIER):
                raise FieldError(
                    "{} goes with the {} 'gaussian', not with {held!r}", "fourier", "kernel", held=self.kernel
                )
            return
        said = self._said((*_options_of("kernel"), "budget", *of_budgets))
        if self.kernel is None:
            if said:
                raise FieldError(f"{places(said)} cannot be given without a kernel: add {{}}", *said, "kernel")
            return
        for name in self._said(("regression", *options_of(Forgetting), "max_tasks")):
            raise FieldError("{} cannot be given with a kernel", name)
        if self.rule_name not in FOR_KERNELS or "storage" in self.options:
            message = "{} and {} cannot be given with a kernel: it learns by the Perceptron's rule"
            raise FieldError(message, "rule", "storage")
        self._check_kernel_options()
        needed = of_budgets if self.budget is None else chosen_by("budget")[self.budget].required
        for name in needed:
            if (name in self.options) != (self.budget is not None):
                raise FieldError("{} and {} must be given together", "budget", name)

    def _check_bound(self) -> None:
        if self.max_tasks is None:
            return
        if self.options.get("storage") == "hashed":
            raise FieldError(
                "{} cannot be given with the {} 'hashed', in which tasks share places", "max_tasks", "storage"
            )
        choice = chosen_by("relation").get(self.relation_name)
        if choice is not None and not is_of_groups(choice) and not is_learned(choice):
            message = "{} cannot be given with the relation {relation!r}, which names all its tasks"
            raise FieldError(message, "max_tasks", relation=self.relation_name)

    def _check_kernel_options(self) -> None:
        for word, choice in chosen_by("kernel").items():
            for name in self._said(choice.options) if word != self.kernel else ():
                message = "{} goes with the kernel {needed!r}, not with {kernel!r}"
                raise FieldError(message, name, needed=word, kernel=self.kernel)

    def _check_views(self) -> None:
        rules = self.rules
        of_rules = dict.fromkeys(name for choice in rules.values() for name in _options_of_rule(choice))
        apply = ["multiview", *_options_of("norm"), "rule", *of_rules, "kernel", *_options_of("kernel")]
        if other := [name for name in self.given if name not in apply]:
            message = f"{places(other)} cannot be given with views; what can is {places(apply, ', ')}"
            raise FieldError(message, *other, *apply)
        if self.rule_name not in rules:
            raise ValueError(f"rule {self.rule_name!r} does not apply to views; expected one of {', '.join(rules)}")
        self._check_kernel_options()

    def _check_values(self, make: Callable[[], OnlineEstimator], *roles: str) -> None:
        """Refuse what parts of these roles and the estimator would refuse, before any file is read."""
        with_names(
            lambda: make().__stream_model__(), _fields_of(chosen_by(*roles).values()) | {"n_components": "fourier"}
        )

    # -- the learner --------------------------------------------------------------------------------------------------

    def make(self, naming: Naming = str, delay: int = 0) -> OnlineEstimator:
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
        if self.multiview is not None:
            return self._of_views()
        choice = chosen_by("relation").get(self.relation_name)
        return self._learner(None if choice is None else make_relation(choice, self.options, naming), delay)

    def _stand_in(self) -> RelationPart | None:
        """Return a relation of the same form as the one chosen that needs no file; None for the adaptive one."""
        choices = chosen_by("relation")
        choice = choices.get(self.relation_name)
        if choice is None or not files_of(choice):
            return None if choice is None else make_relation(choice, self.options, str)
        if not is_of_groups(choice):
            return Interaction([[1.0]])
        single = {name: held for name, held in self.options.items() if type(held) is not tuple}
        relation: RelationPart = make_part(choices["mean"], single)
        return relation

    def _learner(self, relation: RelationPart | None, delay: int = 0) -> OnlineEstimator:
        """Make the learner under a relation; None is the adaptive one."""
        if self._dual:
            made: OnlineEstimator = self._of_kernel(relation)
        else:
            made = self._adaptive(delay) if relation is None else self._of_weights(relation)
        if self.fourier is not None:
            made = self._of_features(made)
        return online.OneVsRest(made) if self.many_classes else made

    def _adaptive(self, delay: int) -> online.AdaptiveSharingClassifier | online.AdaptiveSharingRegressor:
        """Make the mixture over how much is shared, of one of the named sets of members or of the rule's learners."""
        if self.regression:
            return online.AdaptiveSharingRegressor(**_arguments((AdaptiveGradient,), self.options), **self._bound)
        if self.rule_name == FOR_CLASSES[0] and not self._said(options_of(Forgetting)):
            arguments = _arguments((AdaptiveGradient,), self.options) | ({"delay": delay} if delay else {})
            return online.AdaptiveSharingClassifier(self.members, **arguments, **self._bound)
        from coterie.online.sharing import relation_at

        members = [self._of_weights(relation_at(share)) for share in SHARES]
        return online.AdaptiveSharingClassifier(members, **_arguments((LinearWeights,), self.options), **self._bound)

    @property
    def _bound(self) -> dict[str, Any]:
        """The argument for the most tasks, where there is one."""
        return {} if self.max_tasks is None else {"max_tasks": self.max_tasks}

    def _of_weights(self, relation: RelationPart) -> OnlineEstimator:
        rule = self.rules[self.rule_name]
        held = _hypothesis_of(rule)
        arguments = _arguments((held, Forgetting), self.options) | self._bound
        forgets = bool(self._said(options_of(Forgetting)))
        averaged = held is LinearWeights and (not forgets if self.average is None else self.average)
        if self.regression:
            return online.MultitaskRegressor(relation, make_part(rule, self.options), average=averaged, **arguments)
        if held is AdaptiveGradient:
            return online.MultitaskLogistic(relation, **arguments)
        if held is DiagonalAROW:
            return online.MultitaskAROW(relation, **arguments)
        return online.MultitaskPerceptron(relation, make_part(rule, self.options), averaged, **arguments)

    def _of_kernel(self, relation: RelationPart | None) -> online.MultitaskKernelPerceptron:
        budget = None if self.budget is None else make_part(chosen_by("budget")[self.budget], self.options)
        dtype: Any = self.options.get("dtype", LinearWeights().dtype)
        return online.MultitaskKernelPerceptron(self._made_kernel(), relation, budget, dtype=dtype)

    def _of_features(self, linear: OnlineEstimator) -> OnlineEstimator:
        kind = online.RandomFourierRegressor if self.regression else online.RandomFourierClassifier
        return kind(linear, make_part(chosen_by("kernel")[FOURIER], self.options), self.fourier or 0)

    def _of_views(self) -> online.MultiviewPerceptron | online.OrthogonalMultiviewPerceptron:
        norm = make_part(chosen_by("norm")[str(self.multiview)], self.options)
        kind = online.MultiviewPerceptron if norm.one_space else online.OrthogonalMultiviewPerceptron
        rule = make_part(self.rules[self.rule_name], self.options)
        return kind(norm.p, self._made_kernel(), self.average is not False, rule=rule)

    def _made_kernel(self) -> Kernel | None:
        return None if self.kernel is None else make_part(chosen_by("kernel")[self.kernel], self.options)


def learner_options() -> dict[str, dict[str, Setting]]:
    """Return the options of a learner by name, in the groups that help has for them.

    Examples
    --------
    >>> learner_options()["learning"]["half_life"].metavar
    'N'
    """
    own = {name: _filled(setting) for name, setting in settings_of(LearnerConfig).items()}
    relation, norm, kernel, budget = (_shown(role) for role in ("relation", "norm", "kernel", "budget"))
    rules = chosen_by("rule", "loss").values()
    weights = {name: each for choice in rules for name, each in _always(_hypothesis_of(choice)).items()}
    ends = {"average": own["average"]} | {name: weights.pop(name) for name in options_of(LinearWeights)}
    outputs = {name: own[name] for name in ("regression", "many_classes", "max_tasks", "rule")}
    kernels = {"kernel": own["kernel"]} | kernel | {"budget": own["budget"]} | budget | {"fourier": own["fourier"]}
    return {
        "sharing": {"relation": own["relation"]} | relation | _always(Primed) | {"members": own["members"]},
        "views": {"multiview": own["multiview"]} | norm,
        "learning": outputs | _shown("rule", "loss") | weights | options_of(Forgetting) | ends | kernels,
    }


def _shown(*roles: str) -> dict[str, Setting]:
    return options_shown(chosen_by(*roles).values())


def _always(part: type) -> dict[str, Setting]:
    """Return the options of a part that is no matter of choice."""
    return options_shown([Choice("", "", part, {})])


def _filled(setting: Setting) -> Setting:
    """Return the setting with the choices listed in its help."""
    relations = chosen_by("relation")
    fixed = {word: choice for word, choice in relations.items() if not is_learned(choice)}
    first = {"rule": FOR_CLASSES[0], "loss": FOR_NUMBERS[0], "norm": ORTHOGONAL, "kernel": "", "budget": ""}
    named = {role: listed(chosen_by(role), default) for role, default in first.items()}
    learned = listed({word: choice for word, choice in relations.items() if is_learned(choice)})
    return replace(setting, help=setting.help.format(fixed=listed(fixed), learned=learned, **named))


def _options_of(role: str) -> list[str]:
    return list(dict.fromkeys(name for choice in chosen_by(role).values() for name in choice.options))


def _hypothesis_of(rule: Choice) -> type:
    """Return the hypothesis of a rule: weights, or weights with a rate or a variance each."""
    if rule.part.move == "confidence":
        return DiagonalAROW
    of_gradient = rule.part is Logistic or (rule.role == "loss" and rule.part.move == "gradient")
    return AdaptiveGradient if of_gradient else LinearWeights


def _options_of_rule(rule: Choice) -> set[str]:
    held = _hypothesis_of(rule)
    averages = {"average"} if held is LinearWeights else set()
    return {*rule.options, *(set(options_of(held)) - set(options_of(LinearWeights))), *averages}


def _arguments(parts: Iterable[type], given: Mapping[str, Value]) -> dict[str, Any]:
    """Return the options of parts that estimators make themselves, by the names of the estimators' arguments.

    These are the names of the fields; an option that gives several fields is an argument of its own.
    """
    return {
        setting.option if setting.several else name: given[setting.option]
        for part in parts
        for name, setting in settings_of(part).items()
        if setting.option in given
    }


def _fields_of(choices: Iterable[Choice]) -> dict[str, str]:
    """Return the option of each field, for the refusals of parts."""
    parts = [*(choice.part for choice in choices), LinearWeights, AdaptiveGradient, DiagonalAROW, Forgetting, Primed]
    named = {name: setting.option for part in parts for name, setting in settings_of(part).items() if setting.option}
    return named | {name: name for name in (*named.values(), *settings_of(LearnerConfig))}
