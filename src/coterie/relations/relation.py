"""The protocol of relations."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class RelationPart(Protocol):
    """A part that says how tasks share, in one of several forms.

    ``"levels"`` and ``"repelling levels"`` are those of :class:`coterie.relations.levels.LevelRelation`, ``"columns"``
    gives the columns of M by a :class:`coterie.relations.sources.ColumnSource`, and ``"learned"`` are those of
    :class:`coterie.relations.learned.LearnedRelation`.
    """

    @property
    def form(self) -> str: ...
