"""Parameters shared by many estimators, declared once."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import KW_ONLY, replace
from typing import Any, Literal

from coterie import spec
from coterie.data.input import InputOptions
from coterie.data.preprocessing import SCALES

from .estimator import OnlineEstimator

#: The words for how numbers are scaled, which a field takes.
SCALE = spec.Setting(kind="text", choices=(*SCALES, None), must=f"be one of {', '.join(map(repr, SCALES))} or None")


@spec.with_constructor
class TaskEstimator(OnlineEstimator):
    """Base class of multitask estimators: the task column, and the treatment of new tasks."""

    _: KW_ONLY
    task_column: Hashable | None = None
    new_task: Literal["grow", "raise"] = "grow"


@spec.with_constructor
class LinearEstimator(OnlineEstimator):
    """Base class of estimators with feature weights: parameters of preprocessing and of the storage of weights."""

    _: KW_ONLY
    fit_intercept: bool = True
    scale: Literal["none", "standard", "unit", "auto"] | None = spec.field(SCALE, default=None)
    log: str | Sequence[Hashable] | None = None
    storage: Literal["auto", "dense", "sparse"] = "auto"
    task_column: Hashable | None = None
    new_task: Literal["grow", "raise"] = "grow"
    max_tasks: int | None = spec.field(
        default=None, kind="whole", at_least=1, must="be a whole number of 1 or more, or None"
    )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        _as_names(self.log)

    def _reading(self) -> InputOptions:
        return replace(
            super()._reading(), intercept=bool(self.fit_intercept), scale=self.scale, log=_as_names(self.log)
        )


def _as_names(log: Any) -> tuple[Hashable, ...]:
    """Return the parameter ``log`` (a column or a list of columns) as a tuple of distinct columns."""
    if log is None or isinstance(log, str):
        return () if log is None else (log,)
    if not isinstance(log, (list, tuple)) or not all(isinstance(name, Hashable) for name in log):
        raise ValueError(f"log must be a list of columns or None, got {log!r}")
    return tuple(dict.fromkeys(log))
