"""scikit-learn's conventions for parameters, without importing scikit-learn before it is needed."""

from __future__ import annotations

import inspect
import sys
from functools import cache
from operator import attrgetter
from typing import Any, ClassVar, Literal, Self


class Parameters:
    """Constructor arguments as attributes of the same name: ``get_params``, ``set_params`` and a whole ``repr``.

    And whether anything has been learned, which is an attribute that was not there before.
    """

    _supervised = True  # River asks

    #: What scikit-learn and River take it for, and whether there may be more than two classes.
    kind: ClassVar[Literal["classifier", "regressor"]] = "classifier"
    many_classes: ClassVar[bool] = False

    #: The attribute that learning makes, and the methods that learn.
    _learned: ClassVar[str] = "state_"
    _learning: ClassVar[str] = "fit, partial_fit or learn_one"

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Make an instance; where River is loaded, its type checks are told what it is."""
        river = sys.modules.get("river.base")
        if river is not None:
            getattr(river, cls.kind.capitalize()).register(cls)
        return super().__new__(cls)

    @classmethod
    @cache
    def parameter_names(cls) -> list[str]:
        """Names of the constructor's arguments, in order."""
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    @classmethod
    @cache
    def parameter_getter(cls) -> attrgetter[tuple[Any, ...]]:
        """What takes the parameters' values from an instance, quickly."""
        return attrgetter(*cls.parameter_names())

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; parts are frozen, so there is nothing deeper than they are."""
        return {name: getattr(self, name) for name in self.parameter_names()}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name.

        Raises
        ------
        ValueError
            For a name that is not a parameter; nothing is set then.
        """
        names = self.parameter_names()
        for name in params:
            if name not in names:
                raise ValueError(f"Invalid parameter {name!r} for estimator {self!r}. Valid parameters are: {names}.")
        for name, value in params.items():
            setattr(self, name, value)
        return self

    @property
    def fitted(self) -> bool:
        """Whether anything has been learned."""
        return self._learned in self.__dict__

    def __sklearn_is_fitted__(self) -> bool:
        return self.fitted

    def _check_fitted(self, kind: type[Exception] | None = None) -> None:
        if self.fitted:
            return
        from sklearn.exceptions import NotFittedError

        message = f"This {type(self).__name__} instance is not fitted yet: call {self._learning} first."
        raise (kind or NotFittedError)(message)

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        held = {
            name: value
            for name, value in self.get_params(deep=False).items()
            if repr(value) != repr(defaults[name].default)
        }
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in held.items())})"

    def _take_over(self, fresh: Self) -> Self:
        """Be what a copy has learned, and forget all else: what was refused has left nothing behind."""
        for name in [name for name in self.__dict__ if name.endswith("_")]:
            del self.__dict__[name]
        for name, held in fresh.__dict__.items():
            setattr(self, name, held)
        return self

    def __sklearn_clone__(self) -> Self:
        """An unfitted copy with the same parameters."""
        return type(self)(**self.get_params())

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn may expect: a classifier or regressor of dense or sparse records."""
        from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags

        classifier = self.kind == "classifier"
        return Tags(
            estimator_type=self.kind,
            target_tags=TargetTags(required=True),
            transformer_tags=None,
            regressor_tags=None if classifier else RegressorTags(),
            classifier_tags=ClassifierTags(multi_class=self.many_classes) if classifier else None,
            input_tags=InputTags(sparse=True),
        )
