"""What the caller of `read` said of the columns of a file, checked before the file is opened."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from coterie.streams.encoding import KINDS, Encoder
from coterie.streams.errors import FieldError

# What a column's values suggest: a kind of feature, or None and the reason why it is none.
Kinds = Mapping[str, tuple[str | None, str]]


def _names(given: str | Iterable[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


@dataclass(frozen=True)
class Wishes:
    """What the caller of `read` said of the columns; the names as there."""

    label: str | None
    task: str | None
    features: Sequence[str] | Mapping[str, str] | None
    ignore: str | Sequence[str]
    text: str | Sequence[str]
    bits: int
    constant: bool
    scale: str
    views: Mapping[str, Sequence[str]] | None = None
    one_space: bool = False

    def __post_init__(self) -> None:
        if self.label is not None and self.label == self.task:
            raise FieldError("{} and {} are both the column {both!r}", "label", "task", both=self.label)
        for name in self.chosen or ():
            if name in (self.label, self.task):
                raise ValueError(f"the column {name!r} is named both as {self._role(name)} and as a feature")
        for name, kind in self.named_kinds.items():
            if kind not in KINDS:
                raise ValueError(f"features[{name!r}] is {kind!r}; expected one of {', '.join(map(repr, KINDS))}")
        if self.views:
            check_views(self.views, self.label, self.task, self.features, self.ignored)
        # an encoder's own checks, made before any file is opened
        Encoder([], bits=self.bits, scale=self.scale)

    def _role(self, name: str) -> str:
        return "label" if name == self.label else "task"

    @property
    def chosen(self) -> tuple[str, ...] | None:
        """Names of the features, where the caller chose them."""
        return None if self.features is None else _names(self.features)

    @property
    def named_kinds(self) -> dict[str, str]:
        """Kinds that the caller gave."""
        given = dict(self.features) if isinstance(self.features, Mapping) else {}
        return {**given, **dict.fromkeys(_names(self.text), "text")}

    @property
    def ignored(self) -> tuple[str, ...]:
        """Names of the columns to leave out."""
        return _names(self.ignore)


def check_views(
    views: Mapping[str, Sequence[str]], label: str | None, task: str | None, features: Any, ignored: Sequence[str]
) -> None:
    """Refuse, before a file is opened, what does not go with views or with each other.

    Raises
    ------
    ValueError
        For a task, for features named beside views, for a label or an ignored column in a view, for a column in two.
    """
    if task is not None:
        raise FieldError("{} does not go with views: records of several views have no tasks", "task")
    if features is not None:
        raise FieldError("{} does not go with views, which name their columns themselves", "features")
    owner: dict[str, str] = {}
    for view, columns in views.items():
        for name in columns:
            if name == label:
                raise ValueError(f"the column {name!r} is named both as label and in the view {view!r}")
            if name in ignored:
                raise ValueError(f"the column {name!r} is to be ignored, and is named in the view {view!r}")
            if owner.setdefault(name, view) != view:
                raise ValueError(f"the column {name!r} is in two views, {owner[name]!r} and {view!r}")
