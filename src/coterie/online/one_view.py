"""A model of one view that goes along a stream of several."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any

from coterie.streams.block import Block
from coterie.streams.tabular import is_records


class OneView:
    """A model that is shown one view of each record, and can in a comparison stand beside those that see all.

    Examples
    --------
    >>> import coterie as ct
    >>> alone = OneView(ct.OrthogonalMultiviewPerceptron(p=1, views=["a"]), "a", ["a", "b"])
    >>> ct.progressive_validation(alone, {"a": [[1.0], [-1.0], [2.0]], "b": [[0.0], [1.0], [0.0]]}, [1, 0, 1]).mistakes
    1
    """

    def __init__(self, model: Any, name: Hashable, names: list[Hashable]) -> None:
        self.model, self.name, self.names = model, name, names

    def as_block(self, X: Any, y: Any, task: Any = None) -> Block:
        """As that of the model, X holding all views."""
        block: Block = self.model.as_block(self._only(X), y, task)
        return block

    def learn_block(self, block: Block, **options: Any) -> Any:
        """As that of the model."""
        return self.model.learn_block(self._seen(block), **options)

    def meet_block(self, block: Block) -> Any:
        """As that of the model."""
        return self.model.meet_block(self._seen(block))

    def decide_block(self, block: Block) -> Any:
        """As that of the model."""
        return self.model.decide_block(self._seen(block))

    @property
    def encoder_(self) -> Any:
        """How the view is read from files."""
        return self.model.encoder_

    @encoder_.setter
    def encoder_(self, encoder: Any) -> None:
        self.model.encoder_ = encoder.alone(self.name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or "model" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.model, name)

    def __repr__(self) -> str:
        return repr(self.model)

    def _seen(self, block: Block) -> Block:
        return block if block.X.views is None else replace(block, X=block.X.alone(self.name))

    def _only(self, X: Any) -> Any:
        if is_records(X):
            return [{self.name: record.get(self.name)} for record in X]
        return {self.name: X[self.name] if isinstance(X, Mapping) else X[self.names.index(self.name)]}
