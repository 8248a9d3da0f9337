"""Reading ahead: a thread reads the next blocks while the last one is learned."""

from __future__ import annotations

from queue import Full, Queue
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, NamedTuple, Self

if TYPE_CHECKING:
    from coterie.inputs.block import Block
    from coterie.io.readers import Reader

#: So many blocks are read before they are asked for; a thread that is to end looks so often whether it is, in seconds.
BLOCKS, PATIENCE = 3, 0.2


class _Read(NamedTuple):
    """A block, and the encoder and file of its reader after it was read."""

    block: Block
    encoder: Any
    path: str


def blocks_of(reader: Reader, ahead: bool) -> ReaderBlocks:
    """The blocks of a reader, of files some ``ahead`` if that is wanted; of a pipe each when it is asked for."""
    return Ahead(reader) if ahead and reader.bytes_total else ReaderBlocks(reader)


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


class Ahead(ReaderBlocks):
    """The blocks of a reader, read by a thread, some of them before they are asked for.

    Parameters
    ----------
    reader : Reader
        Of files; what is taken from a pipe before it is asked for would be lost when a run is stopped.
    """

    def __init__(self, reader: Reader) -> None:
        super().__init__(reader)
        self._ended, self._over = Event(), False
        self._queue: Queue[_Read | BaseException] = Queue(BLOCKS)
        self._thread = Thread(target=self._read, name="reading ahead", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        try:
            for block in self._blocks:
                encoder = None if self._reader.encoder is None else self._reader.encoder.copy()
                self._put(_Read(block, encoder, self._reader.path))
                if self._ended.is_set():
                    return
            self._put(StopIteration())
        except Exception as error:  # raised where the block would have come
            self._put(error)
        finally:
            super().close()

    def _put(self, given: _Read | BaseException) -> None:
        while not self._ended.is_set():
            try:
                self._queue.put(given, timeout=PATIENCE)
            except Full:
                continue
            return

    def __next__(self) -> Block:
        if self._over:
            raise StopIteration
        given = self._queue.get()
        if isinstance(given, BaseException):
            self._over = True
            self._ended.set()
            self.encoder = self._reader.encoder
            raise given
        self.encoder, self.path = given.encoder, given.path
        return given.block

    def close(self) -> None:
        """Close the files, and wait until the thread has."""
        self._ended.set()
        self._thread.join()
