"""The base class of the wrappers of hypotheses."""

from __future__ import annotations

from typing import Any, ClassVar

from .storage import Storage


class HypothesisWrapper:
    """A hypothesis that wraps another one, its field ``hypothesis``."""

    fades: ClassVar[bool] = False

    hypothesis: Any

    @property
    def forms(self) -> tuple[str, ...]:
        """The forms of relation that the wrapped hypothesis supports."""
        return tuple(self.hypothesis.forms)

    @property
    def moves(self) -> tuple[str, ...]:
        """The kinds of update that the wrapped hypothesis supports."""
        return tuple(self.hypothesis.moves)

    @property
    def tables(self) -> Storage:
        """The storage of the tables of weights of the wrapped hypothesis."""
        tables: Storage = self.hypothesis.tables
        return tables
