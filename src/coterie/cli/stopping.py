"""Runs that are stopped: what was saved, and how to go on."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from .failures import UsageError, option, tell, typed
from .places import naming

if TYPE_CHECKING:
    from coterie.evaluation.interruption import Checkpoints, Stop

_NOTE = b"\ncoterie: stopping after the records at hand (once more: at once, without saving)\n"
_OVER = b"\ncoterie: all records are learned, and what was asked for is being written (once more: stopping at once)\n"


class InterruptibleRun:
    """A run of learning that can be stopped, and gone on with.

    Parameters
    ----------
    files : list of str
        What it reads, as it was given.
    model : Path or None
        Where it saves.
    again : mapping of str to value
        The options to be given again by one that goes on, if they have a value; ``quiet`` holds for this one, too.
    skip : int
        Records left out at the beginning.

    Attributes
    ----------
    stop : Stop or None
        Ends the pass over the records at a signal, within `stopping`.
    checkpoints : Checkpoints or None
        Saves the model on the way.
    over : bool
        True once all records have been learned.
    """

    def __init__(self, files: list[str], model: Path | None, again: Mapping[str, Any], skip: int = 0) -> None:
        self.files, self.skip, self.quiet = files, skip, bool(again.get("quiet"))
        self.again = dict(again)
        self.stop: Stop | None = None
        self.checkpoints: Checkpoints | None = None
        self.over = False
        self._model = model
        self._saved: int | None = None
        self._whole = self._ended = False

    def save_every(self, often: str | None) -> None:
        """Save the model to ``--output`` during the run, as often as the option says."""
        from coterie.evaluation.interruption import Checkpoints

        if often is None:
            return
        if self._model is None:
            raise UsageError("--save-every saves where --output says: give --output")
        self.again["save_every"] = often
        self.checkpoints = Checkpoints(often, self._save)

    def _save(self, model: Any, records: int) -> None:
        """Save a checkpoint; a disk that is full now may not be at the next one.

        It is reported even where nothing else is printed: to go on after a crash, one needs the number of records.
        """
        learned, path = self.skip + records, Path(str(self._model))
        try:
            with naming(path), self.saving(records):
                model.save(path)
        except OSError as error:
            tell(f"warning: {path}: {error.strerror}: not saved after {learned:,} records, learning goes on")
            return
        tell(f"saved {path} after {learned:,} records")

    @contextmanager
    def saving(self, records: int) -> Iterator[None]:
        """Note whether the file of the model of so many records was replaced, even if saving is interrupted then."""
        before = _identity(self._model)
        try:
            yield
        finally:
            if _identity(self._model) != before:
                self._saved, self._whole = self.skip + records, self.over

    @contextmanager
    def stopping(self) -> Iterator[None]:
        """Handle signals; if the pass breaks off, print what was saved and how to go on."""
        from coterie.evaluation.interruption import Stop, Stopped

        with Stop(self._note) as self.stop:
            try:
                yield
            except Stopped as stopped:
                tell(self._broken_off(self.stop.begun))
                raise typer.Exit(128 + stopped.number) from None
            except Exception:
                if self._saved is not None and not (self._whole or self._ended):
                    tell(f"{self._model} is as it was saved{self._after(self._saved)}")
                raise

    def _note(self) -> None:
        """Tell at a signal, in the middle of anything, that it was heard."""
        with suppress(OSError):
            os.write(2, _OVER if self.over else _NOTE)

    def _broken_off(self, begun: bool) -> str:
        if self._saved is None:
            return f"stopped {'at once' if begun else 'before a record was learned'}: nothing was saved"
        if self._whole:
            return f"stopped at once; {self._model} is saved, and has learned all {self._saved - self.skip:,} records"
        return f"stopped at once; {self._model} is as it was saved{self._after(self._saved)}"

    def ended(self, records: int, missing: bool, failed: bool = False) -> str:
        """Return the line that reports a pass that ended early, after so many records.

        ``missing`` tells that the model could not be saved, ``failed`` that a record ended it and no signal.
        """
        learned, self._ended = self.skip + records, True
        if self._model is None:
            return f"stopped after {learned:,} records: nothing was saved, as no --output was given"
        if missing:
            return f"stopped after {learned:,} records"
        return f"stopped{self._after(learned, ', with the record mended or --on-error skip' if failed else '')}"

    def _after(self, records: int, how: str = "") -> str:
        return f" after {records:,} records; to go on{how}: {self._command(records)}"

    def _command(self, records: int) -> str:
        """Return the command that learns what has not been learned."""
        model = typed(self._model)
        resume = ["--from", model, "--output", model, "--skip", str(records)]
        words = ["coterie", "learn", *map(typed, self.files), *resume]
        for name, value in self.again.items():
            if value is True:
                words.append(option(name))
            elif value:
                words += [option(name), shlex.quote(str(value))]
        return " ".join(words)


def _identity(path: Path | None) -> tuple[int, int] | None:
    """The device and inode of a file, which a model that replaces another one does not share with it."""
    with suppress(OSError):
        if path is not None:
            found = path.stat()
            return found.st_dev, found.st_ino
    return None
