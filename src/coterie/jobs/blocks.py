"""The blocks of a reader, with the reader's place in its files after each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from coterie.inputs.block import Block
    from coterie.io.readers import Reader


class ReaderBlocks:
    """The blocks of a reader, each read when it is asked for.

    Attributes
    ----------
    encoder, path
        The reader's, as they were when the last block given had been read.
    """

    def __init__(self, reader: Reader) -> None:
        self.encoder: Any = reader.encoder
        self.path = reader.path
        self._reader, self._blocks = reader, iter(reader)

    @property
    def columns(self) -> dict[str, str]:
        """The use of each column."""
        return self._reader.columns

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Block:
        try:
            return next(self._blocks)
        finally:
            self.encoder, self.path = self._reader.encoder, self._reader.path

    def close(self) -> None:
        """Close the files."""
        self._blocks.close()  # type: ignore[attr-defined]
