"""Base class of meta-estimators."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

from coterie import spec
from coterie.inputs.input import InputOptions
from coterie.types import Estimator, Part

from .estimator import OnlineEstimator


def of_model(name: str) -> Any:
    """Make a property that reads a parameter of the wrapped model."""
    return property(lambda self: getattr(self._within, name, None), doc=f"``{name}`` of the model.")


@spec.with_constructor
class MetaModel(OnlineEstimator):
    """Base of meta-estimators around ``model``, which use its tasks, relation and input encoding."""

    #: The class of the model that is taken where none is given.
    _usual: ClassVar[type[OnlineEstimator]]
    model: Estimator = None

    task_column, new_task, relation = of_model("task_column"), of_model("new_task"), of_model("relation")
    max_tasks, class_weight = of_model("max_tasks"), of_model("class_weight")

    @property
    def _within(self) -> Estimator:
        """The wrapped model."""
        return self._usual() if self.model is None else self.model

    def _nested(self, name: str, value: Any) -> Any:
        return self._within if name == "model" and value is None else super()._nested(name, value)

    def _reading(self) -> InputOptions:
        reading: InputOptions = self._within._reading()
        return replace(reading, owner=type(self).__name__)

    def _with_relation(self, relation: Part) -> Self:
        """Return an unfitted copy with this relation between tasks."""
        return self._with_model(self._within._with_relation(relation))

    def _with_intercepts(self) -> Self | None:
        """Return an unfitted copy of one model for all tasks with an intercept per task; None if not possible."""
        model = self._within._with_intercepts()
        return model and self._with_model(model)

    def _mixed_model(self) -> Self:
        """Return an unfitted copy around a mixed model."""
        return self._with_model(self._within._mixed_model())

    def _with_model(self, model: Estimator) -> Self:
        return type(self)(**{**self.get_params(deep=False), "model": model})
