"""The base class of weights that wrap other weights, such as decay and averages."""

from __future__ import annotations

from typing import Any, ClassVar

from .storage import Storage


class HypothesisWrapper:
    """Base class of weights that wrap other weights, the field ``hypothesis``."""

    fades: ClassVar[bool] = False

    hypothesis: Any

    @property
    def forms(self) -> tuple[str, ...]:
        """The forms of relation that the wrapped weights support."""
        return tuple(self.hypothesis.forms)

    @property
    def moves(self) -> tuple[str, ...]:
        """The kinds of update that the wrapped weights support."""
        return tuple(self.hypothesis.moves)

    @property
    def tables(self) -> Storage:
        """The storage of the tables of the wrapped weights."""
        tables: Storage = self.hypothesis.tables
        return tables
