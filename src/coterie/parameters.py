"""Parameters of estimators by the conventions of scikit-learn, which is imported only when needed."""

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import cache, partial
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from coterie.types import AnyLabels, Json

from . import spec
from .wording import nearest

if TYPE_CHECKING:
    from sklearn.utils import Tags


class _Request:
    """A method ``set_METHOD_request`` for scikit-learn's metadata routing."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name, self._method = name, name.removeprefix("set_").removesuffix("_request")

    def __get__(self, instance: Parameters | None, owner: type) -> object:
        return self if instance is None else partial(self._set, instance)

    def _set(self, instance: Parameters, /, **requests: bool | str | None) -> Any:
        known = _passable(instance, self._method)
        for name in requests:
            if name not in known:
                raise TypeError(f"{self._name} takes {' and '.join(known) or 'nothing'}, got {name!r}")
        all_requests = instance._passed_on
        instance._passed_on = {**all_requests, self._method: {**all_requests.get(self._method, {}), **requests}}
        return instance


def _passable(model: Parameters, method: str) -> dict[str, bool | None]:
    """Return the names of the arguments of a method, except X and y, which metadata routing can pass."""
    function = getattr(model, method, None)
    arguments = () if function is None else inspect.signature(function).parameters.values()
    names = [
        argument.name for argument in arguments if argument.kind not in (argument.VAR_POSITIONAL, argument.VAR_KEYWORD)
    ]
    return {name: True if name == "task" else None for name in names if name not in ("X", "y")}


class Parameters:
    """Base class of estimators: ``get_params``, ``set_params`` and a complete ``repr``.

    Also ``_fitted``, which is True after the first update.
    """

    _supervised = True  # River reads this attribute

    #: The types of estimators in scikit-learn and River, and True if more than two classes are supported.
    _kind: ClassVar[Literal["classifier", "regressor"]] = "classifier"
    _many_classes: ClassVar[bool] = False
    #: False for estimators that are fitted at once, which River cannot use as online models.
    _learns_streams: ClassVar[bool] = True

    #: The attribute that learning makes, and the methods that learn.
    _learned: ClassVar[str] = "state_"
    _learning: ClassVar[str] = "fit, partial_fit or learn_one"

    def __new__(cls, *args: object, **kwargs: object) -> Self:
        """Create an instance; register the class with River's base classes if River is loaded."""
        river = sys.modules.get("river.base")
        if river is not None and cls._learns_streams:
            getattr(river, cls._kind.capitalize()).register(cls)
        return super().__new__(cls)

    @classmethod
    @cache
    def _parameter_getter(cls) -> attrgetter[tuple[object, ...]]:
        """Return a function that gets all parameters of an instance."""
        return attrgetter(*spec.parameters_of(cls))

    def get_params(self, deep: bool = True) -> Json:
        """Return the parameters by name; with ``deep`` also those of nested models, as ``model__name``."""
        values = spec.values_of(self)
        models = {name: value for name, value in values.items() if isinstance(value, Parameters)} if deep else {}
        return values | {
            f"{name}__{inner}": value for name, model in models.items() for inner, value in model.get_params().items()
        }

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; ``model__name`` sets a parameter of a copy of the nested model or part.

        Raises
        ------
        ValueError
            For a name that is not a parameter; nothing is set then.
        """
        names = list(spec.parameters_of(type(self)))
        below: dict[str, Json] = {}
        for name in list(params):
            outer, within, inner = name.partition("__")
            if outer not in names:
                hint = nearest(outer, names) or "."
                raise ValueError(
                    f"Invalid parameter {name!r} for estimator {self!r}. Valid parameters are: {names}{hint}"
                )
            if within:
                below.setdefault(outer, {})[inner] = params.pop(name)
        changed = params | {name: self._changed(params, name, inner) for name, inner in below.items()}
        for name, value in changed.items():
            setattr(self, name, value)
        return self

    def _changed(self, params: Json, name: str, below: Json) -> Any:
        """Return a copy of the model or part in the parameter ``name``, with its own parameters ``below`` changed."""
        model = self._nested(name, params.get(name))
        if spec.is_part(model):
            spec.check_parameters(type(model), below)
            return replace(model, **below)
        if not isinstance(model, Parameters):
            raise ValueError(f"{name}={model!r} has no parameter to set as {name}__{next(iter(below))}")
        return model.__sklearn_clone__().set_params(**below)

    def _nested(self, name: str, value: Any) -> Any:
        """Return the model or part in the parameter ``name``: the new ``value`` if it is set, else the current one."""
        return getattr(self, name) if value is None else value

    @property
    def _fitted(self) -> bool:
        """True after the first update."""
        return self._learned in self.__dict__

    def __sklearn_is_fitted__(self) -> bool:
        return self._fitted

    @property
    def _source(self) -> Any:
        """The input encoding (:class:`coterie.data.input.Input`) of the fitted model; None before the first record."""
        return self.__dict__.get("input_")

    @property
    def n_features_in_(self) -> int:
        """The number of columns of training arrays or frames, without the task column."""
        width = None if self._source is None else self._source.seen.width
        if width is None:
            raise AttributeError(f"{type(self).__name__} was not fitted to an array or frame and has no n_features_in_")
        return int(width)

    @property
    def feature_names_in_(self) -> AnyLabels:
        """The names of the columns of training frames, if all are strings, without the task column."""
        names = None if self._source is None else self._source.seen.names
        if names is None:
            raise AttributeError(
                f"{type(self).__name__} was not fitted to a frame with text names and has no feature_names_in_"
            )
        return names

    @property
    def encoder_(self) -> Any:
        """The encoder of records from files; dictionaries are encoded in the same way."""
        if self._source is None or self._source.encoder is None:
            raise AttributeError(f"{type(self).__name__} was not fitted to a file and has no encoder_")
        return self._source.encoder

    def _check_fitted(self) -> None:
        if self._fitted:
            return
        from sklearn.exceptions import NotFittedError

        raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet: call {self._learning} first.")

    def __repr__(self) -> str:
        parameters, values = spec.parameters_of(type(self)), spec.values_of(self)
        changed = (name for name, value in values.items() if repr(value) != repr(parameters[name].default))
        return f"{type(self).__name__}({', '.join(f'{name}={spec.literal(values[name])}' for name in changed)})"

    def _take_over(self, fresh: Self) -> Self:
        """Copy the fitted attributes of ``fresh``, a trained copy of this estimator."""
        for name in [name for name in self.__dict__ if name.endswith("_")]:
            del self.__dict__[name]
        for name, value in fresh.__dict__.items():
            setattr(self, name, value)
        return self

    def __sklearn_clone__(self) -> Self:
        """Return an unfitted copy with the same parameters and the same requests for metadata."""
        return self._asking_as(type(self)(**self.get_params(deep=False)))

    def clone(self, new_params: Json | None = None, include_attributes: bool = False) -> Self:
        """Return a copy for River's wrappers: :meth:`river.base.Base.clone`.

        Parameters
        ----------
        new_params : mapping of name to value, optional
            Parameters of the copy that differ.
        include_attributes : bool
            True to copy the learned state, too.
        """
        copied = copy.deepcopy(self) if include_attributes else self.__sklearn_clone__()
        return copied.set_params(**(new_params or {}))

    def _asking_as(self, copied: Self) -> Self:
        """Copy this estimator's metadata requests to another estimator, and return that."""
        if self._passed_on:
            copied._passed_on = self._passed_on
        return copied

    #: The requests of scikit-learn's metadata routing by method name, if any were set; never changed in place.
    _passed_on: Mapping[str, Mapping[str, bool | str | None]] = MappingProxyType({})

    set_fit_request = _Request()
    set_partial_fit_request = _Request()
    set_predict_request = _Request()
    set_predict_proba_request = _Request()
    set_decision_function_request = _Request()
    set_score_request = _Request()

    def get_metadata_routing(self) -> Any:
        """Return the arguments that scikit-learn's meta-estimators pass on, with ``enable_metadata_routing=True``."""
        from sklearn.utils.metadata_routing import MetadataRequest

        request = MetadataRequest(owner=self)
        for method in ("fit", "partial_fit", "predict", "predict_proba", "decision_function", "score"):
            for name, wanted in {**_passable(self, method), **self._passed_on.get(method, {})}.items():
                getattr(request, method).add_request(param=name, alias=wanted)
        return request

    _get_default_requests = get_metadata_routing  # as scikit-learn's scorers call it

    def __sklearn_tags__(self) -> Tags:
        """Return scikit-learn's tags: a classifier or regressor of dense or sparse records."""
        return tags(self._kind, self._many_classes)


def tags(
    kind: Literal["classifier", "regressor"],
    many_classes: bool = True,
    several_outputs: bool = False,
    sparse: bool = True,
    pairwise: bool = False,
) -> Tags:
    """Return scikit-learn's tags of a supervised estimator."""
    from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags

    return Tags(
        estimator_type=kind,
        target_tags=TargetTags(required=True, multi_output=several_outputs),
        transformer_tags=None,
        regressor_tags=RegressorTags() if kind == "regressor" else None,
        classifier_tags=ClassifierTags(multi_class=many_classes) if kind == "classifier" else None,
        input_tags=InputTags(sparse=sparse, pairwise=pairwise),
    )
