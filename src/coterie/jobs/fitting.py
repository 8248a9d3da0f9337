"""Batch models of files: chosen by words and numbers, smoothing and sharing chosen by rows left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie import relations, spec
from coterie.batch.classifier import MultitaskKernelClassifier
from coterie.batch.linear_svm import MultitaskLinearSVC, MultitaskLinearSVR
from coterie.batch.output_kernels import OptimalOutputKernel
from coterie.batch.path import RidgePath, predicted_left_out, ridge_path
from coterie.batch.ridge import MultitaskKernelRidge
from coterie.batch.steps import logger, numbered
from coterie.batch.svm import MultitaskSVC, MultitaskSVR
from coterie.batch.targets import Classes, classes_of
from coterie.inputs.encoding import Encoder
from coterie.inputs.errors import FieldError, InputError
from coterie.io.readers import Reading
from coterie.kernels import Gaussian, Polynomial, median_distance
from coterie.settings import Setting, Value, options_of, settings_of
from coterie.spec import Choice

from .choosing import (
    check_relation,
    chosen_by,
    is_learned,
    listed,
    make_part,
    make_relation,
    options_shown,
    require_one_of,
    takes,
)
from .related import Naming, naming_of

if TYPE_CHECKING:
    from coterie.inputs.hints import Hint
    from coterie.io.readers import Reader

Array = NDArray[Any]


class Method(NamedTuple):
    """A batch model by name.

    Attributes
    ----------
    estimator : type
        Its class.
    numeric : bool
        Whether labels are numbers.
    instead : str
        The method for labels of the other kind.
    options : tuple of str
        What can be said of it besides its relation.
    """

    estimator: type[Any]
    numeric: bool
    instead: str
    options: tuple[str, ...]


_OF_KERNELS = ("kernel", *dict.fromkeys(name for choice in chosen_by("kernel").values() for name in choice.options))
METHODS = {
    "ridge": Method(MultitaskKernelRidge, True, "classifier", ("alpha", "choose_on", *_OF_KERNELS)),
    "classifier": Method(MultitaskKernelClassifier, False, "ridge", ("alpha", "choose_on", *_OF_KERNELS)),
    "svc": Method(MultitaskSVC, False, "svr", ("C", *_OF_KERNELS)),
    "svr": Method(MultitaskSVR, True, "svc", ("C", *_OF_KERNELS)),
    "linear-svc": Method(MultitaskLinearSVC, False, "linear-svr", ("C",)),
    "linear-svr": Method(MultitaskLinearSVR, True, "linear-svc", ("C",)),
}
#: The relation that is chosen by rows left out, and the one that is learned.
CHOSEN, LEARNED = "mixed", "optimal"
GAUSSIAN = "gaussian"
#: From one model a task to one for all.
SHARES = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)


def relations_of_batches() -> dict[str, Choice]:
    """Return the relations of batch models: one chosen by rows left out, one learned, the fixed ones of streams."""
    fixed = {word: choice for word, choice in chosen_by("relation").items() if not is_learned(choice)}
    return chosen_by("batch relation") | fixed


@dataclass(frozen=True)
class FitConfig:
    """A batch model by words and numbers.

    The fields are what is not the matter of the relation; ``options`` has the relation's options by name, a file being
    given by its path. `of` takes all of it by name, as `fit_options` lists it. The time to choose alpha and the
    relation grows with the third power of ``choose_on``.

    Raises
    ------
    ValueError
        For an unknown name, or options that do not go together: none is ignored.

    Examples
    --------
    >>> FitConfig.of(kernel="linear", share=0.5).relation_of(str)
    MixedEffect(omega=0.5)
    """

    method: str | None = spec.field(
        default=None,
        kind="text",
        help="`ridge` (the default for more than two different numbers), `classifier` (for all other labels), `svc`, "
        "`svr`, `linear-svc` or `linear-svr`.",
    )
    kernel: str | None = spec.field(default=None, kind="text", help="The kernel: {kernel}.")
    sigma: float | None = spec.field(
        options_of(Gaussian)["sigma"],
        default=None,
        help="Width of the Gaussian kernel; the median distance of records where it is not given.",
    )
    degree: int | None = spec.field(options_of(Polynomial)["degree"], default=None, shown="2")
    alpha: float | None = spec.field(
        default=None,
        metavar="A",
        help="How much ridge regression smooths; chosen by rows left out where it is not given.",
    )
    choose_on: int | None = spec.field(
        default=None,
        kind="whole",
        checked=False,
        shown="2000",
        help="Choose alpha and the relation on so many records, drawn at random; time grows with N³. All records are "
        "fitted.",
    )
    C: float | None = spec.field(
        default=None, metavar="C", shown="1", help="Weight of the losses of support vector machines."
    )
    relation: str | None = spec.field(
        default=None,
        kind="text",
        help="How tasks share: {relation}. How much `mixed` shares is chosen by rows left out where it is not given.",
    )
    options: Mapping[str, Value] = dataclass_field(default_factory=dict)

    @classmethod
    def of(cls, **given: Value | None) -> FitConfig:
        """Make the configuration of all that is given by name, None saying nothing."""
        said: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        own = {name: said.pop(name) for name in settings_of(cls) if name in said}
        return cls(**own, options=said)

    def __post_init__(self) -> None:
        require_one_of("method", self.method, tuple(METHODS))
        require_one_of("kernel", self.kernel, sorted(chosen_by("kernel"), key=lambda word: word != GAUSSIAN))
        require_one_of("relation", self.relation, tuple(relations_of_batches()))
        self._check_method()
        self._check_kernel()
        self._check_relation()
        if self.choose_on is not None and self.choose_on < 2:
            raise FieldError("{} must be two records at least, got {n!r}", "choose_on", n=self.choose_on)

    def _check_method(self) -> None:
        method = self.method or "ridge"
        for name in ("alpha", "choose_on", "C", *_OF_KERNELS):
            if getattr(self, name) is not None and name not in METHODS[method].options:
                fitting = (word for word, each in METHODS.items() if name in each.options)
                raise _goes_with(name, "method", fitting, method, self.method is None)

    def _check_kernel(self) -> None:
        for word, choice in chosen_by("kernel").items():
            for name in choice.options if word != (self.kernel or GAUSSIAN) else ():
                if getattr(self, name) is not None:
                    raise _goes_with(name, "kernel", [word], self.kernel or GAUSSIAN, self.kernel is None)

    def _check_relation(self) -> None:
        name = self.relation_name
        if self.relation == LEARNED and self.options:
            raise ValueError("relation 'optimal' is learned: nothing else is said of it")
        if self.relation == LEARNED and self.choose_on is not None:
            message = "{} does not go with relation 'optimal', which is learned from all records"
            raise FieldError(message, "choose_on")
        more = [each for each in self.options if each not in relations_of_batches()[name].options]
        if self.relation == CHOSEN and more:
            raise FieldError("{} does not go with relation 'mixed', which takes {} alone", more[0], "share")
        check_relation(relations_of_batches()[name], self.options, self.relation is not None)

    @property
    def relation_name(self) -> str:
        """The relation: the one given, or the first that takes the options given."""
        if self.relation is not None:
            return self.relation
        choices = relations_of_batches()
        return next((word for word, choice in choices.items() if takes(choice, self.options)), CHOSEN)

    def relation_of(self, naming: Naming) -> Any:
        """Make the relation, None if it is to be chosen."""
        if self.relation_name == CHOSEN and not self.options:
            return None
        return make_relation(relations_of_batches()[self.relation_name], self.options, naming)

    def kernel_of(self, X: Any) -> Any:
        """Make the kernel."""
        given = {name: held for name in _OF_KERNELS if (held := getattr(self, name)) is not None}
        if self.kernel in (None, GAUSSIAN):
            given.setdefault("sigma", median_distance(X))
        return make_part(chosen_by("kernel")[self.kernel or GAUSSIAN], given)


def fit_options() -> dict[str, dict[str, Setting]]:
    """Return the options of a batch model by name, in the groups that help has for them.

    Examples
    --------
    >>> list(fit_options()["learning"])
    ['method', 'kernel', 'sigma', 'degree', 'alpha', 'choose_on', 'C']
    """
    choices = relations_of_batches()
    lists = {"kernel": listed(chosen_by("kernel"), GAUSSIAN), "relation": listed(choices, CHOSEN)}
    own = {
        name: replace(setting, help=setting.help.format(**lists)) for name, setting in settings_of(FitConfig).items()
    }
    relation = {"relation": own.pop("relation")} | options_shown(choices.values())
    return {"sharing": relation, "learning": own}


def _goes_with(name: str, of: str, words: Iterable[str], used: str, default: bool) -> FieldError:
    takes = f"{of} {' or '.join(words)}, not with {of} {used!r}{', the default' if default else ''}"
    return FieldError("{} goes with {takes}", name, takes=takes)


class ChosenRelation(NamedTuple):
    """A relation with an alpha, and how they were chosen.

    Attributes
    ----------
    relation : relation
        How tasks share.
    alpha : float or None
        How much is smoothed, where the method smooths.
    explained : mapping of str to float
        The explained variance (of outputs, or of the codes of classes) on rows left out one by one, together and for
        one model a task and one for all; empty where it was not computed.
    rows : int
        On how many records that was; 0 where it was not computed.
    path : RidgePath or None
        All errors behind it.
    chosen : tuple of str
        What was chosen on these rows, of "relation" and "alpha". Where the relation was, those of one model a task and
        one for all were among the tried, so that together cannot do worse than they on these rows.
    edge : float or None
        Alpha, where the one with the least error is the least or largest that was tried.
    right : mapping of str to float
        As ``explained``, the share of rows whose class is predicted right; empty for numbers.
    """

    relation: Any
    alpha: float | None = None
    explained: Mapping[str, float] = MappingProxyType({})
    rows: int = 0
    path: RidgePath | None = None
    chosen: tuple[str, ...] = ()
    edge: float | None = None
    right: Mapping[str, float] = MappingProxyType({})


class Fitted(NamedTuple):
    """A fitted model, and what was chosen for it.

    Attributes
    ----------
    model : batch estimator
        Fitted, with the encoder of its files, ready to be saved.
    reading : Reading
        What was read.
    tasks : int
        How many tasks there are.
    choice : ChosenRelation
        What was chosen, and by which errors.
    hints : callable
        Returns the hints about columns; called when the model has been saved.
    """

    model: Any
    reading: Reading
    tasks: int
    choice: ChosenRelation
    hints: Callable[[], list[Hint]] = list


def fit_files(read: Callable[..., Reader], config: FitConfig) -> Fitted:
    """Read all records, choose what is to be chosen, and fit.

    Parameters
    ----------
    read : callable
        ``read()`` gives a reader, ``read(encoder=..., update=False)`` one that encodes by what the first has seen, so
        that scales are those of all records.
    config : FitConfig
        Which model.

    Raises
    ------
    InputError
        For files that cannot be read, no labels, or a relation that does not know a task.
    ValueError
        For labels that do not fit the method, and what the model refuses.
    """
    X, y, task, reader = _records(read)
    name = config.method or ("ridge" if _numeric(y) else "classifier")
    method = METHODS[name]
    target = _target(y, name, reader.path)
    relation = config.relation_of(naming_of(task))
    kernel = config.kernel_of(X) if "kernel" in method.options else None
    if "alpha" in method.options:
        center: dict[str, Any] = {"center": True} if method.numeric else {}
        ridge = MultitaskKernelRidge(kernel, relation, **center)
        labels, outputs = (None, target) if method.numeric else classes_of(target)[:2]
        choice = _chosen(ridge, config.alpha, X, outputs, task, config.choose_on or 2000, labels)
        model = method.estimator(kernel, choice.relation, choice.alpha, **center)
    else:
        choice = ChosenRelation(relations.MixedEffect(omega=0.5) if relation is None else relation)
        given = {} if kernel is None else {"kernel": kernel}
        model = method.estimator(**given, relation=choice.relation, C=1.0 if config.C is None else config.C)
    logger.info("%s of %d records", type(model).__name__, len(target))
    model.fit(X, target, task)
    model.encoder_ = reader.encoder
    return Fitted(model, Reading.of(reader), len(model.tasks_), choice, lambda: reader.hints)


def _chosen(
    ridge: MultitaskKernelRidge, alpha: float | None, X: Any, Y: Array, task: Array, rows: int, labels: Classes | None
) -> ChosenRelation:
    """Choose the relation and alpha with the least error on rows left out, beside one model a task and one for all."""
    if isinstance(ridge.relation, OptimalOutputKernel):
        if alpha is None:
            message = "{0} is chosen by rows left out, which a relation that is learned has not: give {0}"
            raise FieldError(message, "alpha")
        return ChosenRelation(ridge.relation, alpha)
    drawn = np.sort(np.random.default_rng(0).permutation(len(Y))[:rows])
    known, values = list(dict.fromkeys(task.tolist())), None if alpha is None else [alpha]
    tried, baselines = _tried(ridge.relation)
    path = ridge_path(ridge, X[drawn], Y[drawn], task[drawn], tasks=known, values=values, relations=tried)
    curve = path.curve
    wanted = curve if ridge.relation is None else curve[:1]
    r, v = (int(place) for place in np.unravel_index(np.argmin(wanted), wanted.shape))
    best = {"together": (r, v)} | {name: (place, int(curve[place].argmin())) for name, place in baselines.items()}
    errors = {name: curve[place] for name, place in best.items()}
    models = {name: MultitaskKernelRidge(ridge.kernel, tried[i], path.values[j]) for name, (i, j) in best.items()}
    right = {} if labels is None else _right(labels, models, X[drawn], Y[drawn], task[drawn], known)
    spread = np.mean((Y[drawn] - Y[drawn].mean(axis=0)) ** 2)
    explained = {name: float(1 - error / spread) for name, error in errors.items()}
    chosen = tuple(name for name, given in (("relation", ridge.relation), ("alpha", alpha)) if given is None)
    edge = path.values[v] if alpha is None and v in (0, len(path.values) - 1) else None
    return ChosenRelation(tried[r], path.values[v], explained, len(drawn), path, chosen, edge, right)


def _right(
    labels: Classes, models: Mapping[str, MultitaskKernelRidge], X: Any, Y: Array, task: Array, tasks: list[Any]
) -> dict[str, float]:
    """Return the share of rows whose class is predicted right when they are not learned from."""
    each = numbered("classes of rows left out: learner", list(models.items()))
    outputs = {name: predicted_left_out(model, X, Y, task, tasks) for name, model in each}
    truth = labels.labels(labels.scores(Y))
    return {name: float(np.mean(labels.labels(labels.scores(F)) == truth)) for name, F in outputs.items()}


def _tried(relation: Any) -> tuple[list[Any], dict[str, int]]:
    """Return the relations to try, and which of them are one model a task and one for all."""
    if relation is None:
        return [relations.MixedEffect(omega=omega) for omega in SHARES], {"independent": 0, "pooled": -1}
    ends = [relations.MixedEffect(omega=omega) for omega in (SHARES[0], SHARES[-1])]
    return [relation, *ends], {"independent": 1, "pooled": 2}


def _records(read: Callable[..., Reader]) -> tuple[Any, Array, Array, Reader]:
    """Read all records, and once more where the first pass has moved the scales."""
    reader = read()
    reader.require_labels()
    block = _joined(reader)
    if isinstance(reader.encoder, Encoder) and reader.encoder.scale in ("standard", "auto"):
        reader = read(encoder=reader.encoder, update=False)
        reader.require_labels()
        block = _joined(reader)
    if block.y is None:
        raise InputError("has no labels to learn from: name their column as the label", reader.path)
    return block.X, np.asarray(block.y), np.asarray(block.tasks), reader


def _joined(reader: Reader) -> Any:
    blocks = list(reader)
    if not blocks:
        why = f": none of {reader.unlabelled:,} has a label" if reader.unlabelled and not reader.skipped else ""
        raise InputError(f"no record could be used{why}", reader.path)
    whole = blocks[0]
    for block in blocks[1:]:
        whole = whole.joined(block)
    if whole.weight is not None:
        raise InputError(
            "has weights of records, and what is fitted at once weighs none: see `coterie learn`", reader.path
        )
    return whole


def _numeric(y: Array) -> bool:
    """Tell whether labels are numbers, more than two different ones."""
    values = _numbers(y)
    return values is not None and len(np.unique(values)) > 2


def _target(y: Array, method: str, path: str) -> Array:
    values = _numbers(y)
    if METHODS[method].numeric:
        if values is None:
            raise InputError(f"has labels that are no numbers, which method {method!r} needs", path)
        return values
    if values is not None and (broken := values[values != np.round(values)]).size and len(np.unique(values)) > 2:
        raise InputError(
            f"has labels that are numbers, as {broken[0]}, of which method {method!r} would make a class each: "
            f"take method {METHODS[method].instead!r}",
            path,
        )
    return y


def _numbers(y: Array) -> Array | None:
    """Return labels as numbers, None if one is not."""
    try:
        return np.asarray(y, np.float64)
    except (TypeError, ValueError):
        return None
