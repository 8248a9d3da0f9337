"""Multiclass classification by one-vs-rest."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from coterie import spec
from coterie.data.input import InputOptions
from coterie.data.label_encoders import ClassLabelEncoder
from coterie.models.contract import BaseLearner
from coterie.models.one_vs_rest_learner import OneVsRestLearner
from coterie.types import Estimator, Estimators, Inputs

from .estimator import OnlineEstimator
from .logistic import MultitaskLogistic
from .online_model import LabelKind
from .sample_weights import check_class_weight


def _of_model(name: str) -> Any:
    """Return a property that reads the parameter ``name`` of the wrapped binary model."""
    return property(lambda self: getattr(self._within, name, None), doc=f"``{name}`` of the model.")


@spec.estimator
class OneVsRest(OnlineEstimator):
    """One-vs-rest for any number of classes: one binary model per class; the largest margin wins.

    A class may first appear during the stream. Its model is the one that it would have if the class had been known from
    the start: it is a copy of a spare model that learns every record with a negative label. A class is never predicted
    before its first label. If margins are equal, the class seen first wins.

    Parameters
    ----------
    model : online classifier, optional
        An unfitted binary classifier: :class:`coterie.MultitaskLogistic` (the default),
        :class:`coterie.AdaptiveSharingClassifier`, :class:`coterie.MultitaskPerceptron`, ... Set relation, storage,
        ``task_column``, ``new_task``, ``max_tasks`` and ``class_weight`` there; they hold for every class, and
        ``class_weight`` has the weights of records by their class.

    Notes
    -----
    Time and memory are those of the model, multiplied by the number of classes plus one. Probabilities are those of the
    models, divided by their sum. In a :class:`coterie.evaluation.Trace` the margin is the largest margin minus the
    second largest, and a margin of zero is a mistake.

    Examples
    --------
    >>> import coterie as ct
    >>> X, y, users = [[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], ["ham", "spam", "news"], ["ann", "bob", "ann"]
    >>> model = ct.OneVsRest(ct.MultitaskLogistic()).partial_fit(X, y, task=users)
    >>> model.predict(X, task=users), model.classes_
    (array(['ham', 'spam', 'news'], dtype='<U4'), array(['ham', 'news', 'spam'], dtype='<U4'))

    Learn one record at a time, with new classes at any time:

    >>> model = ct.OneVsRest()
    >>> for score, outcome in ((1.0, "win"), (-1.0, "loss"), (-0.8, "loss"), (2.0, "win")):
    ...     model.learn_one({"score": score}, outcome, task="ann")
    >>> model.predict_one({"score": 0.5}, task="bob"), [*model.predict_proba_one({"score": 0.5}, task="bob")]
    ('win', ['loss', 'win'])
    """

    model: Estimator = None

    _many_classes: ClassVar[bool] = True
    task_column, new_task, relation = _of_model("task_column"), _of_model("new_task"), _of_model("relation")
    max_tasks, class_weight = _of_model("max_tasks"), _of_model("class_weight")

    @property
    def _within(self) -> Estimator:
        """The wrapped binary model."""
        return MultitaskLogistic() if self.model is None else self.model

    def _nested(self, name: str, value: Any) -> Any:
        return self._within if name == "model" and value is None else super()._nested(name, value)

    def _check_parameters(self) -> None:
        """Raise TypeError unless the wrapped model is a binary classifier."""
        spec.require_instance("model", self.model)
        binary = self._within
        if not isinstance(binary, OnlineEstimator) or not binary._is_binary:
            raise TypeError(f"model must be an online binary classifier of one vector per record, got {binary!r}")
        check_class_weight(binary.class_weight)

    def _make_learner(self) -> BaseLearner:
        return OneVsRestLearner(self._within._make_learner())

    def _label_kind(self) -> LabelKind:
        return ClassLabelEncoder

    def _reading(self) -> InputOptions:
        self._check_parameters()
        reading: InputOptions = self._within._reading()
        return replace(reading, owner=type(self).__name__)

    def __baselines__(self, seen: Inputs | None = None) -> Estimators:
        """Return the baselines of the binary model, wrapped for any number of classes."""
        own = self.get_params(deep=False)
        return {name: type(self)(**{**own, "model": model}) for name, model in self._within.__baselines__(seen).items()}
