"""The part that all wrappers of hypotheses have in common."""

from __future__ import annotations

from typing import Any, ClassVar

from coterie.hypotheses.storage import Storage


class HypothesisWrapper:
    """A hypothesis that wraps another one, its field ``hypothesis``."""

    fades: ClassVar[bool] = False

    hypothesis: Any

    @property
    def forms(self) -> tuple[str, ...]:
        """The forms of relation that the wrapped hypothesis learns under."""
        return tuple(self.hypothesis.forms)

    @property
    def moves(self) -> tuple[str, ...]:
        """The moves that the wrapped hypothesis can make."""
        return tuple(self.hypothesis.moves)

    @property
    def tables(self) -> Storage:
        """Storage of the tables of weights, which is that of the wrapped hypothesis."""
        tables: Storage = self.hypothesis.tables
        return tables
