"""What people say of a learner: names, numbers and files, nothing of it checked and nothing of it made."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any

Strength = float | tuple[float, ...]

#: Files that say how tasks are related, each for one relation.
FILES = ("groups", "parents", "graph", "matrix")
STRENGTHS = ("share", "b")
#: Said of a relation that is learned.
LEARNING = ("eta", "ridge", "epoch")
_OF_RELATIONS = (*FILES, *STRENGTHS, "members", *LEARNING)


@dataclass(frozen=True)
class Said(ABC):
    """What is said, as `coterie.jobs.choices.Choice` documents it; None and False where nothing was."""

    relation: str | None = None
    share: Strength | None = None
    b: Strength | None = None
    groups: str | None = None
    parents: str | None = None
    graph: str | None = None
    matrix: str | None = None
    members: str | None = None
    eta: float | None = None
    ridge: float | None = None
    epoch: int | str | None = None
    rule: str | None = None
    C: float | None = None
    step: float | None = None
    r: float | None = None
    average: bool | None = None
    epsilon: float | None = None
    half_life: Strength | None = None
    regression: bool = False
    many_classes: bool = False
    storage: str = "auto"
    storage_bits: int = 22
    dtype: str = "float64"
    kernel: str | None = None
    sigma: float | None = None
    degree: int | None = None
    budget: str | None = None
    budget_size: int | None = None
    multiview: str | None = None
    p: float | None = None

    @property
    @abstractmethod
    def kind(self) -> str:
        """The relation's name: the one given, or the first that takes what else was given."""

    @property
    @abstractmethod
    def by(self) -> str:
        """The rule's name: the one given, or the first that takes what else was given."""

    @property
    def given(self) -> dict[str, Any]:
        """What was said of the relation but its name."""
        return self.said(_OF_RELATIONS)

    def changed(self) -> list[str]:
        """Names of the fields that were chosen otherwise than the default."""
        return [field.name for field in fields(self) if getattr(self, field.name) != field.default]

    def said(self, names: tuple[str, ...]) -> dict[str, Any]:
        """Those of the fields that were given."""
        return {name: held for name in names if (held := getattr(self, name)) is not None}
