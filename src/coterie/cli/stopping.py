"""Learning runs of commands that can be interrupted and continued."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from coterie.evaluation.stopping_signals import Checkpoints, Stop, Stopped

from .failures import UsageError, option_name, print_message, quote_path
from .outputs import name_errors

if TYPE_CHECKING:
    from coterie.types import Estimator

_STOPPING = b"\ncoterie: stopping after the records at hand (once more: at once, without saving)\n"
_FINISHING = b"\ncoterie: all records are learned, the results are being written (once more: stopping at once)\n"


class InterruptibleRun:
    """A learning run that can be interrupted and continued.

    Parameters
    ----------
    files : list of str
        The files to read, as on the command line.
    model : Path or None
        The path of the saved model.
    options : mapping of str to value
        The options that the command of a continued run repeats, if they have a value.
    skip : int
        The number of records to skip at the start.

    Attributes
    ----------
    stop : Stop or None
        Ends the pass over the records at a signal, within `handling_signals`.
    checkpoints : Checkpoints or None
        Saves the model during the run.
    finished : bool
        True if all records are learned.
    """

    def __init__(self, files: list[str], model: Path | None, options: Mapping[str, object], skip: int = 0) -> None:
        self.files, self.skip, self.options = files, skip, dict(options)
        self.stop: Stop | None = None
        self.checkpoints: Checkpoints | None = None
        self.finished = False
        self._model = model
        self._saved: int | None = None  # records that the saved model has learned
        self._is_complete = self._has_ended = False

    def save_every(self, interval: str | None) -> None:
        """Save the model to ``--output`` at this interval during the run."""
        if interval is not None:
            if self._model is None:
                raise UsageError("--save-every requires --output, the path of the model")
            self.options["save_every"] = interval
            self.checkpoints = Checkpoints(interval, self._save)

    def _save(self, model: Estimator, records: int) -> None:
        """Save a checkpoint, and print a message even with ``--quiet``, because a crash prints none."""
        learned, path = self.skip + records, Path(str(self._model))
        try:
            with name_errors(path), self.recording_save(records):
                model.save(path)
        except OSError as error:  # a disk that is full now may not be at the next one
            print_message(f"warning: {path}: {error.strerror}: not saved after {learned:,} records, learning continues")
        else:
            print_message(f"saved {path} after {learned:,} records")

    @contextmanager
    def recording_save(self, records: int) -> Iterator[None]:
        """Context that notes that the model file has been replaced, even if it is interrupted right afterwards."""
        before = self._identify_file()
        try:
            yield
        finally:
            if self._identify_file() != before:
                self._saved, self._is_complete = self.skip + records, self.finished

    def _identify_file(self) -> tuple[int, int] | None:
        """Return device and inode number of the model file, which change if it is replaced."""
        with suppress(OSError):
            if self._model is not None:
                status = self._model.stat()
                return status.st_dev, status.st_ino
        return None

    @contextmanager
    def handling_signals(self) -> Iterator[None]:
        """Context that handles signals; after an interruption it prints the saved state and the command to continue."""
        with Stop(self._write_note) as self.stop:
            try:
                yield
            except Stopped as stopped:
                if self._saved is None:
                    when = "at once" if self.stop.begun else "before a record was learned"
                    text = f"stopped {when}: nothing was saved"
                elif self._is_complete:
                    learned = self._saved - self.skip
                    text = f"stopped at once; {self._model} is saved, and has learned all {learned:,} records"
                else:
                    text = f"stopped at once; {self._describe_saved(self._saved)}"
                print_message(text)
                raise typer.Exit(128 + stopped.number) from None
            except Exception:
                if self._saved is not None and not (self._is_complete or self._has_ended):
                    print_message(self._describe_saved(self._saved))
                raise

    def _write_note(self) -> None:
        """Acknowledge a signal with a message."""
        with suppress(OSError):
            os.write(2, _FINISHING if self.finished else _STOPPING)

    def _describe_saved(self, records: int) -> str:
        return f"{self._model} is as it was saved after {records:,} records; to continue: {self._command(records)}"

    def describe_end(self, records: int, unsaved: bool, failed: bool = False) -> str:
        """Return a line about a run that ended before the end of the files.

        ``unsaved`` is True if the model could not be saved, ``failed`` if an invalid record ended the run.
        """
        learned, self._has_ended = self.skip + records, True
        text = f"stopped after {learned:,} records"
        if self._model is None:
            return f"{text}: nothing was saved, because no --output was given"
        advice = ", with the record corrected or --on-error skip" if failed else ""
        return text if unsaved else f"{text}; to continue{advice}: {self._command(learned)}"

    def _command(self, records: int) -> str:
        """Return the command that learns the records after the first ``records``."""
        model = quote_path(self._model)
        words = ["coterie learn", *map(quote_path, self.files), "--from", model, "--output", model]
        for name, value in {"skip": records, **self.options}.items():
            if value:
                words += [option_name(name)] if value is True else [option_name(name), shlex.quote(str(value))]
        return " ".join(words)
