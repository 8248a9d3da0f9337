"""Classifiers of many classes, and of sets of labels, made of classifiers of two classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

from coterie import persistence, spec
from coterie.inputs.input import InputOptions
from coterie.inputs.labels import Labels, LabelSets, ManyLabels
from coterie.learner import StreamLearner
from coterie.reductions import ManyLearners

from .estimator import OnlineEstimator
from .logistic import MultitaskLogistic
from .weighing import check_class_weight


def _binary(self: Any) -> Any:
    """The model of two classes; :class:`MultitaskLogistic` without."""
    return MultitaskLogistic() if self.model is None else self.model


def _nested_model(self: Any, name: str, given: Any) -> Any:
    """The estimator whose parameters ``model__step`` and its like are."""
    return self.binary if given is None else given


def _of_binary(name: str) -> Any:
    """A property that reads a parameter of the model of two classes."""
    return property(lambda self: getattr(self.binary, name, None), doc=f"``{name}`` of the model of two classes.")


def _check_parameters(self: Any) -> None:
    """Refuse a model that is no classifier of two classes; its own parameters it refuses itself."""
    spec.require_instance("model", self.model)
    binary = self.binary
    if not isinstance(binary, OnlineEstimator) or binary.kind != "classifier" or binary.many_classes:
        raise TypeError(f"model must be an online classifier of two classes, got {binary!r}")
    if binary.class_weight is not None and self.class_weight is None:
        raise ValueError(f"sets of labels have no class_weight: leave it out of {binary!r}")
    check_class_weight(binary.class_weight)


def _make_learner(self: Any) -> StreamLearner:
    return ManyLearners(self.binary.learner())


def _reading(self: Any) -> InputOptions:
    reading: InputOptions = self.binary._reading()
    return replace(reading, owner=type(self).__name__)


def _with_relation(self: Any, relation: Any) -> Any:
    """An unfitted model like this one, whose tasks share by this relation."""
    return type(self)(self.binary.with_relation(relation))


def _with_intercepts(self: Any) -> Any:
    """An unfitted model like this one of all tasks, with a constant of each task; None where there is none."""
    made = self.binary.with_intercepts()
    return made and type(self)(made)


@persistence.register
class OneVsRest(OnlineEstimator):
    """Any number of classes: a model of two classes for each, that class against all others; the largest margin wins.

    A class may appear while the stream goes. Its model then is what it would be had the class been known from the
    start, all labels so far having been others: a spare model, all of whose labels are negative, is copied.
    A class that was not seen yet is never predicted. Of equal margins that of the class seen first wins.

    Parameters
    ----------
    model : online classifier, optional
        Of two classes, unfitted: :class:`coterie.MultitaskLogistic` (without),
        :class:`coterie.AdaptiveSharingClassifier`, :class:`coterie.MultitaskPerceptron`, ... Relation, storage,
        ``task_column``, ``new_task`` and ``max_tasks`` are its, and ``class_weight``, whose weights are of records by
        their class: each of the models has them.

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

    >>> model = ct.OneVsRest()
    >>> for score, outcome in ((1.0, "win"), (-1.0, "loss"), (-0.8, "loss"), (2.0, "win")):
    ...     model.learn_one({"score": score}, outcome, task="ann")
    >>> model.predict_one({"score": 0.5}, task="bob"), [*model.predict_proba_one({"score": 0.5}, task="bob")]
    ('win', ['loss', 'win'])
    """

    many_classes: ClassVar[bool] = True

    def __init__(self, model: Any = None) -> None:
        self.model = model

    binary = property(_binary)
    task_column, new_task, relation = _of_binary("task_column"), _of_binary("new_task"), _of_binary("relation")
    max_tasks, class_weight = _of_binary("max_tasks"), _of_binary("class_weight")
    expects_tasks = _of_binary("expects_tasks")
    _nested, _check_parameters = _nested_model, _check_parameters
    _make_learner, _reading = _make_learner, _reading
    with_relation, with_intercepts = _with_relation, _with_intercepts

    def _label_kind(self) -> Callable[[Any], Labels]:
        return ManyLabels


@persistence.register
class MultiLabel(OnlineEstimator):
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
    (['big', 'red'], array([[0.35, 0.93]]))
    """

    def __init__(self, model: Any = None) -> None:
        self.model = model

    binary = property(_binary)
    task_column, new_task, relation = _of_binary("task_column"), _of_binary("new_task"), _of_binary("relation")
    max_tasks, expects_tasks = _of_binary("max_tasks"), _of_binary("expects_tasks")
    _nested, _check_parameters = _nested_model, _check_parameters
    _make_learner, _reading = _make_learner, _reading
    with_relation, with_intercepts = _with_relation, _with_intercepts

    def _label_kind(self) -> Callable[[Any], Labels]:
        return LabelSets
