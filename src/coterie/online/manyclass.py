"""Classifiers of many classes, and of sets of labels, made of classifiers of two classes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from coterie import persistence, spec
from coterie.reductions import ManyLearners
from coterie.streams.many import ManyClassTrace, SetTrace

from .base import OnlineModel
from .classes import LabelSets, ManyLabels
from .guard import exclusive
from .logistic import MultitaskLogistic

Margins = NDArray[np.float64]


class _Reduced(OnlineModel):
    """What both reductions have in common: the model of two classes that is made once for each class."""

    def __init__(self, model: Any = None) -> None:
        self.model = model

    @property
    def binary(self) -> Any:
        """The model of two classes; :class:`MultitaskLogistic` without."""
        return MultitaskLogistic() if self.model is None else self.model

    @property
    def task_column(self) -> Any:  # type: ignore[override]
        """That of the model."""
        return self.binary.task_column

    @property
    def new_task(self) -> Any:  # type: ignore[override]
        """That of the model."""
        return self.binary.new_task

    @property
    def storage(self) -> Any:  # type: ignore[override]
        """That of the model."""
        return self.binary.storage

    @property
    def bits(self) -> Any:  # type: ignore[override]
        """That of the model."""
        return self.binary.bits

    @property
    def dtype(self) -> Any:  # type: ignore[override]
        """That of the model."""
        return self.binary.dtype

    @property
    def relation(self) -> Any:
        """That of the model."""
        return getattr(self.binary, "relation", None)

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels seen, in their order."""
        self._check_fitted(AttributeError)
        return np.asarray(self.labels_.classes)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name, with ``deep`` those of the model too, as ``model__name``."""
        below = self.model.get_params(deep) if deep and self.model is not None else {}
        return {"model": self.model} | {f"model__{name}": held for name, held in below.items()}

    def set_params(self, **params: Any) -> Self:
        """Set ``model``, or parameters of a copy of it as ``model__name``."""
        below = {name.removeprefix("model__"): params.pop(name) for name in list(params) if name.startswith("model__")}
        super().set_params(**params)
        if below:
            self.model = self.binary.__sklearn_clone__().set_params(**below)
        return self

    def __sklearn_clone__(self) -> Self:
        """An unfitted copy with the same parameters."""
        return type(self)(self.model)

    def under(self, relation: Any) -> Self:
        """An unfitted model like this one, whose tasks share as the relation says."""
        return type(self)(self.binary.under(relation))

    def partial_fit(
        self,
        X: Any,
        y: Any,
        task: Any = None,
        classes: Any = None,
        *,
        tasks: Sequence[Hashable] | None = None,
    ) -> Self:
        """Go on learning from X, y in order; classes that were not seen yet are taken up.

        Parameters
        ----------
        X, y, task
            As in :meth:`fit`.
        classes : labels, optional
            Labels to know from now on, in the form of y; only these and those seen can be predicted.
        tasks : sequence of labels, optional
            Tasks to know from now on, whether they occur in these records or not.

        Returns
        -------
        self
        """
        self.learn_rounds(X, y, task, tasks=tasks, classes=classes)
        return self

    @exclusive
    def predict_proba_one(self, x: Mapping[str, Any], task: Hashable = None) -> dict[Any, float]:
        """The probability of each label of one record; empty before anything is learned, or without probabilities."""
        if not self.fitted or self._learner().log_odds is None:
            return {}
        found = self._probabilities(self._decide_one(x, task)[None])[0]
        return dict(zip(self.labels_.ordered, map(float, found), strict=True))

    @property
    def predict_proba(self) -> Callable[..., NDArray[np.float64]]:
        """``predict_proba(X, task=None)``, the probability of each label, columns as ``classes_``.

        Raises
        ------
        AttributeError
            If the margins of the model are no log-odds: then there is no such method.
        """
        if self._learner().log_odds is None:
            raise AttributeError(f"{self!r} has no probabilities: the margins of its model are no log-odds")
        return self._predict_proba

    @exclusive
    def _predict_proba(self, X: Any, task: Any = None) -> NDArray[np.float64]:
        return self._probabilities(self._decide(X, task))

    def _probabilities(self, margins: Margins) -> Margins:
        logs = self._log_probabilities(margins)
        return np.zeros((len(margins), 0)) if logs is None else np.exp(logs[:, self.labels_.columns])

    def _log_probabilities(self, margins: Margins) -> Margins | None:
        """Logarithms of the probabilities, in order of appearance; None where margins say nothing of them."""
        factor = self._learner().log_odds
        return None if factor is None else -np.logaddexp(0.0, -factor * margins)

    def _check_parameters(self) -> None:
        spec.require_instance("model", self.model)
        super()._check_parameters()

    def _make_learner(self) -> Any:
        binary = self.binary
        if getattr(binary, "kind", None) != "classifier" or binary.many_classes or not hasattr(binary, "learner"):
            raise TypeError(f"model must be an online classifier of two classes, got {binary!r}")
        return ManyLearners(binary.learner())


@persistence.register
class OneVsRest(_Reduced):
    """Any number of classes: a model of two classes for each, that class against all others; the largest margin wins.

    A class may appear while the stream goes. Its model then is what it would be had the class been known from the
    start, all labels so far having been others: a spare model, whose every label is negative, goes along and is copied.
    A class that was not seen yet is never predicted. Of equal margins that of the class seen first wins.

    Parameters
    ----------
    model : online classifier, optional
        Of two classes, unfitted: :class:`coterie.MultitaskLogistic` (without),
        :class:`coterie.AdaptiveSharingClassifier`, :class:`coterie.MultitaskPerceptron`, ... Relation, storage,
        ``task_column`` and ``new_task`` are its.

    Notes
    -----
    Time and memory of the model times the number of classes and one. Probabilities are those of the models, normalised
    to a sum of one. In a :class:`coterie.Trace` the margin is that of the best class less that of the second, and a
    margin of zero is a mistake.

    Examples
    --------
    >>> import coterie as ct
    >>> X, y, users = [[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], ["ham", "spam", "news"], ["ann", "bob", "ann"]
    >>> model = ct.OneVsRest(ct.MultitaskLogistic()).partial_fit(X, y, task=users)
    >>> model.predict(X, task=users), model.classes_
    (array(['ham', 'spam', 'news'], dtype='<U4'), array(['ham', 'news', 'spam'], dtype='<U4'))

    One record at a time, classes as they come:

    >>> model.learn_one({"x": 1.0}, "draw", task="ann") if model._dictionaries else None
    >>> model = ct.OneVsRest()
    >>> for score, outcome in ((1.0, "win"), (-1.0, "loss"), (-0.8, "loss"), (2.0, "win")):
    ...     model.learn_one({"score": score}, outcome, task="ann")
    >>> model.predict_one({"score": 0.5}, task="bob"), [*model.predict_proba_one({"score": 0.5}, task="bob")]
    ('win', ['loss', 'win'])
    """

    many_classes: ClassVar[bool] = True

    def _labels(self, inside: Any = None) -> ManyLabels:
        return ManyLabels(inside)

    @exclusive
    def decision_function(self, X: Any, task: Any = None) -> Margins:
        """The margins, shape (n, n_classes), columns in the order of ``classes_``; of two classes their difference."""
        margins = self._decide(X, task)[:, self.labels_.columns]
        return margins[:, 1] - margins[:, 0] if margins.shape[1] == 2 else margins

    def score(self, X: Any, y: Any, task: Any = None, sample_weight: Any = None) -> float:
        """The share of records predicted right, weighted where weights are given."""
        return float(np.average(self.predict(X, task) == np.asarray(y), weights=sample_weight))

    def probabilities(self, margin: Margins) -> Margins | None:
        """The probability of the label that is predicted; None where margins say nothing of it."""
        logs = self._log_probabilities(margin)
        return None if logs is None else np.exp(logs.max(axis=1))

    def blank(self, n: int) -> Margins:
        """For each prediction the number of the class, its lead, and the probability of the true label."""
        return np.full((n, 3), (-1.0, 0.0, np.nan))

    def kept(self, margin: Margins, label: Any) -> Margins:
        """See :meth:`blank`; margins are of shape (n, n_classes)."""
        made = self.blank(len(margin))
        if margin.shape[1]:
            made[:, 0] = np.where(np.isfinite(margin).any(axis=1), np.argmax(margin, axis=1), -1)
            made[:, 1] = self.labels_.strength(margin)
        logs = self._log_probabilities(margin)
        if logs is not None and label is not None and len(label):
            numbers = np.array([self.labels_.inside.get(each, -1) for each in np.asarray(label).tolist()])
            held = np.where(numbers < margin.shape[1], numbers, -1)
            made[:, 2] = np.where(held >= 0, _chosen(logs, held), 0.0)
        return made

    def judged(self, margin: Margins, label: NDArray[Any], rounds: dict[str, Any]) -> ManyClassTrace:
        """The trace of rounds of which this was kept."""
        numbers, lead, probability = margin.T if len(margin) else np.zeros((3, 0))
        known = [*self.labels_.seen, None] if self.fitted else [None]
        prediction = np.empty(len(label), object)
        prediction[:] = [known[c] for c in numbers.astype(np.int64)]
        return ManyClassTrace(
            margin=lead,
            prediction=prediction if (numbers < 0).any() or not self.fitted else prediction.astype(self.classes_.dtype),
            mistake=np.asarray(prediction != np.asarray(label, object), bool) | (lead <= 0.0),
            label=label,
            classes=self.classes_ if self.fitted else np.zeros(0),
            probability=None if self._learner().log_odds is None else probability,
            **rounds,
        )

    def _log_probabilities(self, margins: Margins) -> Margins | None:
        logs = super()._log_probabilities(margins)
        if logs is None or not logs.shape[1]:
            return logs
        logs = logs - np.maximum(logs.max(axis=1, keepdims=True), np.finfo(np.float64).min)
        with np.errstate(divide="ignore", invalid="ignore"):  # no class had been seen: nan
            return np.asarray(logs - np.log(np.exp(logs).sum(axis=1, keepdims=True)))


def _chosen(logs: Margins, numbers: NDArray[np.int64]) -> Margins:
    """The probability of one class of each record; 1 over their number where none is possible."""
    found = np.exp(logs[np.arange(len(logs)), numbers])
    return np.where(np.isnan(found), 0.0, found)


@persistence.register
class MultiLabel(_Reduced):
    """Any set of labels for a record: a model of two classes for each label, that is there or is not.

    A label is predicted where its margin is above zero, which for log-odds is a probability above a half. Labels may
    appear while the stream goes, and are treated as in :class:`coterie.OneVsRest`.

    Parameters
    ----------
    model : online classifier, optional
        As in :class:`coterie.OneVsRest`.

    Notes
    -----
    ``y`` holds a set (or list, or tuple) of labels for each record, or is a matrix of 0 and 1 with a column a label;
    predictions have the same form. A round is a mistake unless the whole set was right.

    Examples
    --------
    >>> import coterie as ct
    >>> X, y = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]] * 5, [{"red"}, {"big"}, {"red", "big"}] * 5
    >>> model = ct.MultiLabel().fit(X, y)
    >>> sorted(model.predict([[1.0, 1.0]])[0]), model.predict_proba([[1.0, 0.0]]).round(2)
    (['big', 'red'], array([[0.33, 0.92]]))
    """

    def _labels(self, inside: Any = None) -> LabelSets:
        return LabelSets(inside)

    @exclusive
    def decision_function(self, X: Any, task: Any = None) -> Margins:
        """The margins, shape (n, n_classes), columns in the order of ``classes_``."""
        return self._decide(X, task)[:, self.labels_.columns]

    def score(self, X: Any, y: Any, task: Any = None, sample_weight: Any = None) -> float:
        """The share of records whose whole set was predicted right, weighted where weights are given."""
        found, true = (self.labels_.array(each) for each in (self.predict(X, task), y))
        return float(np.average(np.array([a == b for a, b in zip(found, true, strict=True)]), weights=sample_weight))

    def probabilities(self, margin: Margins) -> None:
        """There is none of a whole set."""

    def blank(self, n: int) -> NDArray[Any]:
        """For each prediction the set and how near to zero a margin came."""
        made = np.empty((n, 2), object)
        made[:, 0], made[:, 1] = [frozenset()] * n, 0.0
        return made

    def kept(self, margin: Margins, label: Any) -> NDArray[Any]:
        """See :meth:`blank`; margins are of shape (n, n_classes)."""
        made = self.blank(len(margin))
        made[:, 0], made[:, 1] = self.labels_.sets(margin), self.labels_.strength(margin)
        return made

    def judged(self, margin: NDArray[Any], label: NDArray[Any], rounds: dict[str, Any]) -> SetTrace:
        """The trace of rounds of which this was kept."""
        wrong = [told != true for told, true in zip(margin[:, 0], label, strict=True)]
        return SetTrace(
            margin=margin[:, 1].astype(np.float64),
            prediction=margin[:, 0],
            mistake=np.array(wrong, bool),
            label=label,
            classes=self.classes_ if self.fitted else np.zeros(0),
            **rounds,
        )
