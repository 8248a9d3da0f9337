"""Files to a fitted batch model: what it is by names and numbers, how much to smooth and to share by rows left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie import relations
from coterie.batch.classifier import MultitaskKernelClassifier
from coterie.batch.coding import Labels, labels_of
from coterie.batch.linear_svm import MultitaskLinearSVC, MultitaskLinearSVR
from coterie.batch.output_kernel import OptimalOutputKernel
from coterie.batch.path import RidgePath, predicted_left_out, ridge_path
from coterie.batch.ridge import MultitaskKernelRidge
from coterie.batch.svm import MultitaskSVC, MultitaskSVR
from coterie.jobs.choices import Choice, require_one_of
from coterie.jobs.named_parts import RELATIONS
from coterie.kernels import Gaussian, Linear, Polynomial, median_distance
from coterie.streams.errors import FieldError, InputError
from coterie.streams.reading import Reading

if TYPE_CHECKING:
    from coterie.streams.readers import Reader

Array = NDArray[Any]

METHODS = ("ridge", "classifier", "svc", "svr", "linear-svc", "linear-svr")
NUMERIC = ("ridge", "svr", "linear-svr")
WITH_KERNEL = ("ridge", "classifier", "svc", "svr")
KERNELS = ("gaussian", "linear", "polynomial")
#: What goes with some methods or kernels only.
_ONLY_WITH = (
    ("alpha", "method", ("ridge", "classifier")),
    ("choose_on", "method", ("ridge", "classifier")),
    ("C", "method", ("svc", "svr", "linear-svc", "linear-svr")),
    ("kernel", "method", WITH_KERNEL),
    ("sigma", "method", WITH_KERNEL),
    ("degree", "method", WITH_KERNEL),
    ("sigma", "kernel", ("gaussian",)),
    ("degree", "kernel", ("polynomial",)),
)
_OF_RELATIONS = ("share", "b", "groups", "parents", "graph", "matrix")
#: Relations of the batch: the fixed ones of streams, one that is chosen and one that is learned.
CHOSEN, LEARNED = "mixed", "optimal"
FIXED = ("half", "independent", "pooled", "mean", "clusters", "hierarchy", "graph", "matrix")
#: From one model a task to one for all.
SHARES = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)


@dataclass(frozen=True)
class Fitting:
    """A batch model by names and numbers.

    Parameters
    ----------
    method : str, optional
        One of `METHODS`; ridge regression where labels are numbers of which there are more than two, else the
        classifier.
    kernel : str, optional
        One of `KERNELS`; ``"gaussian"`` without.
    sigma : float, optional
        Of the Gaussian kernel; the median distance of records without.
    degree : int, optional
        Of the polynomial kernel; 2 without.
    alpha : float, optional
        Of ridge regression and its classifier; the one with the least error on rows left out without.
    C : float, optional
        Of the support vector machines; 1 without.
    relation : str, optional
        ``"mixed"`` (`MixedEffect`, its omega the ``share`` or chosen by rows left out), ``"optimal"``
        (`OptimalOutputKernel`), or one of `FIXED`; without, what else is given implies, else ``"mixed"``.
    share, b, groups, parents, graph, matrix
        As in `coterie.jobs.choices.Choice`.
    choose_on : int, optional
        On so many records at most, 2000 without, drawn at random, alpha and the relation are chosen: the time of it
        grows with their third power, and the model is fitted on all records.

    Raises
    ------
    ValueError
        For an unknown name, or arguments that do not go together: none is ignored.

    Examples
    --------
    >>> Fitting(kernel="linear", share=0.5).relation_of(str)
    MixedEffect(omega=0.5)
    """

    method: str | None = None
    kernel: str | None = None
    sigma: float | None = None
    degree: int | None = None
    alpha: float | None = None
    C: float | None = None
    relation: str | None = None
    share: Any = None
    b: Any = None
    groups: str | None = None
    parents: str | None = None
    graph: str | None = None
    matrix: str | None = None
    choose_on: int | None = None

    def __post_init__(self) -> None:
        require_one_of("method", self.method, METHODS)
        require_one_of("kernel", self.kernel, KERNELS)
        require_one_of("relation", self.relation, (CHOSEN, LEARNED, *FIXED))
        self._check_pairs()
        self._check_relation()
        if self.choose_on is not None and self.choose_on < 2:
            raise FieldError("{} must be two records at least, got {n!r}", "choose_on", n=self.choose_on)

    def _check_pairs(self) -> None:
        used = {"method": self.method or "ridge", "kernel": self.kernel or "gaussian"}
        for name, of, allowed in _ONLY_WITH:
            if getattr(self, name) is not None and used[of] not in allowed:
                default = ", the default" if getattr(self, of) is None else ""
                takes = f"{of} {' or '.join(allowed)}, not with {of} {used[of]!r}{default}"
                raise FieldError("{} goes with {takes}", name, takes=takes)

    def _check_relation(self) -> None:
        if self.relation == LEARNED and self._said(_OF_RELATIONS):
            raise ValueError("relation 'optimal' is learned: nothing else is said of it")
        if self.relation == LEARNED and self.choose_on is not None:
            message = "{} does not go with relation 'optimal', which is learned from all records"
            raise FieldError(message, "choose_on")
        if self.relation == CHOSEN and (more := self._said(_OF_RELATIONS[1:])):
            message = "{} does not go with relation 'mixed', which takes {} alone"
            raise FieldError(message, next(iter(more)), "share")
        if self.relation not in (CHOSEN, LEARNED):
            self._choice()

    @property
    def kind(self) -> str:
        """The relation's name."""
        if self.relation is not None:
            return self.relation
        more = self._said(_OF_RELATIONS[1:])
        return self._choice().kind if more else CHOSEN

    def relation_of(self, naming: Callable[[str], Any]) -> Any:
        """The relation, None where it is to be chosen."""
        if self.kind == LEARNED:
            return OptimalOutputKernel()
        if self.kind == CHOSEN:
            return None if self.share is None else relations.MixedEffect(omega=float(self.share))
        return RELATIONS[self.kind].make(self._choice(), naming)

    def kernel_of(self, X: Any) -> Any:
        """The kernel."""
        if self.kernel in (None, "gaussian"):
            return Gaussian(median_distance(X) if self.sigma is None else self.sigma)
        return Linear() if self.kernel == "linear" else Polynomial(2 if self.degree is None else self.degree)

    def _choice(self) -> Choice:
        return Choice(self.relation, **self._said(_OF_RELATIONS))

    def _said(self, names: tuple[str, ...]) -> dict[str, Any]:
        return {name: held for name in names if (held := getattr(self, name)) is not None}


@dataclass(frozen=True)
class Fitted:
    """What came of it.

    Attributes
    ----------
    model : batch estimator
        Fitted, with the encoder of its files, ready to be saved.
    reading : Reading
        What was read.
    tasks : int
        How many tasks there are.
    explained : mapping of str to float
        The explained variance (of outputs, or of the codes of classes) on rows left out one by one, together and for
        one model a task and one for all; empty where it was not computed.
    chosen_on : int
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

    model: Any
    reading: Reading
    tasks: int
    explained: Mapping[str, float]
    chosen_on: int
    path: RidgePath | None
    chosen: tuple[str, ...] = ()
    edge: float | None = None
    right: Mapping[str, float] = field(default_factory=dict)


def fit_files(read: Callable[..., Reader], fitting: Fitting) -> Fitted:
    """Read all records, choose what is to be chosen, and fit.

    Parameters
    ----------
    read : callable
        ``read()`` gives a reader, ``read(encoder=..., update=False)`` one that encodes by what the first has seen, so
        that scales are those of all records.
    fitting : Fitting
        Which model.

    Raises
    ------
    InputError
        For files that cannot be read, no labels, or a relation that does not know a task.
    ValueError
        For labels that do not fit the method, and what the model refuses.
    """
    X, y, task, reader = _records(read)
    method = fitting.method or ("ridge" if _numeric(y) else "classifier")
    target = _target(y, method, reader.path)
    relation = fitting.relation_of(int if task.dtype.kind in "iu" else str)
    kernel = fitting.kernel_of(X) if method in WITH_KERNEL else None
    if method in _RIDGES:
        center: dict[str, Any] = {"center": True} if method == "ridge" else {}
        ridge = MultitaskKernelRidge(kernel, relation, **center)
        labels, outputs = _outputs(target, method)
        choice = _chosen(ridge, fitting.alpha, X, outputs, task, fitting.choose_on or 2000, labels)
        model: Any = _RIDGES[method](kernel, choice.relation, choice.alpha, **center)
    else:
        choice = Chosen(relations.MixedEffect(omega=0.5) if relation is None else relation)
        model = _MACHINES[method](
            **({} if kernel is None else {"kernel": kernel}),
            relation=choice.relation,
            C=1.0 if fitting.C is None else fitting.C,
        )
    model.fit(X, target, task)
    model.encoder_ = reader.encoder
    return Fitted(model, Reading.of(reader), len(model.tasks_), *choice[2:])


class Chosen(NamedTuple):
    """A relation, and where they were chosen alpha and what there is to say of the choice."""

    relation: Any
    alpha: float | None = None
    explained: Mapping[str, float] = MappingProxyType({})
    rows: int = 0
    path: RidgePath | None = None
    chosen: tuple[str, ...] = ()
    edge: float | None = None
    right: Mapping[str, float] = MappingProxyType({})


def _chosen(
    ridge: MultitaskKernelRidge, alpha: float | None, X: Any, Y: Array, task: Array, rows: int, labels: Labels | None
) -> Chosen:
    """The relation and alpha with the least error on rows left out, beside one model a task and one for all."""
    if getattr(ridge.relation, "form", None) == "alternated":
        if alpha is None:
            message = "{0} is chosen by rows left out, which a relation that is learned has not: give {0}"
            raise FieldError(message, "alpha")
        return Chosen(ridge.relation, alpha)
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
    return Chosen(tried[r], path.values[v], explained, len(drawn), path, chosen, edge, right)


def _right(
    labels: Labels, models: Mapping[str, MultitaskKernelRidge], X: Any, Y: Array, task: Array, tasks: list[Any]
) -> dict[str, float]:
    """The share of rows whose class is predicted right when they are not learned from."""
    outputs = {name: predicted_left_out(model, X, Y, task, tasks) for name, model in models.items()}
    truth = labels.labels(labels.scores(Y))
    return {name: float(np.mean(labels.labels(labels.scores(F)) == truth)) for name, F in outputs.items()}


def _tried(relation: Any) -> tuple[list[Any], dict[str, int]]:
    """The relations to try, and which of them are one model a task and one for all."""
    if relation is None:
        return [relations.MixedEffect(omega=omega) for omega in SHARES], {"independent": 0, "pooled": -1}
    ends = [relations.MixedEffect(omega=omega) for omega in (SHARES[0], SHARES[-1])]
    return [relation, *ends], {"independent": 1, "pooled": 2}


_RIDGES: dict[str, Any] = {"ridge": MultitaskKernelRidge, "classifier": MultitaskKernelClassifier}
_MACHINES: dict[str, Any] = {
    "svc": MultitaskSVC,
    "svr": MultitaskSVR,
    "linear-svc": MultitaskLinearSVC,
    "linear-svr": MultitaskLinearSVR,
}


def _records(read: Callable[..., Reader]) -> tuple[Any, Array, Array, Reader]:
    """All records: read once to learn scales, and where these moved along once more."""
    reader = read()
    block = _joined(reader)
    if reader.encoder is not None and reader.encoder.scale in ("standard", "auto"):
        reader = read(encoder=reader.encoder, update=False)
        block = _joined(reader)
    if block.y is None:
        raise InputError("has no labels to learn from: name their column as the label", reader.path)
    return block.X, np.asarray(block.y), np.asarray(block.tasks), reader


def _joined(reader: Reader) -> Any:
    blocks = list(reader)
    if not blocks:
        raise InputError("no record could be used", reader.path)
    whole = blocks[0]
    for block in blocks[1:]:
        whole = whole.joined(block)
    return whole


def _numeric(y: Array) -> bool:
    """Whether labels are numbers, more than two different ones."""
    values = _numbers(y)
    return values is not None and len(np.unique(values)) > 2


def _target(y: Array, method: str, path: str) -> Array:
    values = _numbers(y)
    if method in NUMERIC:
        if values is None:
            raise InputError(f"has labels that are no numbers, which method {method!r} needs", path)
        return values
    if values is not None and (broken := values[values != np.round(values)]).size and len(np.unique(values)) > 2:
        instead = {"classifier": "ridge", "svc": "svr", "linear-svc": "linear-svr"}[method]
        raise InputError(
            f"has labels that are numbers, as {broken[0]}, of which method {method!r} would make a class each: "
            f"take method {instead!r}",
            path,
        )
    return y


def _numbers(y: Array) -> Array | None:
    """Labels as numbers, None where one is not."""
    try:
        return np.asarray(y, np.float64)
    except (TypeError, ValueError):
        return None


def _outputs(target: Array, method: str) -> tuple[Labels | None, Array]:
    """The numbers that are regressed, and what makes classes of them."""
    return (None, target) if method in NUMERIC else labels_of(target, "one-vs-all")[:2]
