"""Exceptions as one line on standard error and an exit code."""

from __future__ import annotations

import errno
import os
import shlex
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from coterie.io.readers import Reader

OTHER, BAD_INPUT, CLOSED_PIPE = 1, 2, 141
DEBUG = "COTERIE_DEBUG"

# typer shows neither class under a name of its own in all its versions
UsageError: Any = typer.BadParameter.__mro__[1]
ClickException: Any = UsageError.__mro__[1]


@contextmanager
def translated() -> Iterator[None]:
    """Turn exceptions into a message and an exit; with COTERIE_DEBUG=1 they pass."""
    try:
        with told_warnings():
            yield
        sys.stdout.flush()
    except (typer.Exit, typer.Abort):
        raise
    except BaseException as error:
        if os.environ.get(DEBUG) == "1" and not isinstance(error, ClickException):
            raise
        code = complain(error)
        _discard(sys.stdout)
        raise typer.Exit(code) from None
    finally:
        _discard(sys.stderr)


@contextmanager
def told_warnings() -> Iterator[None]:
    """Print warnings in one line, without the place in the program."""

    def show(message: Warning | str, *place: Any, **more: Any) -> None:
        tell(f"warning: {message}")

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def complain(error: BaseException) -> int:
    """Print the error where that helps, and return the exit code."""
    from coterie.wording import visible

    if isinstance(error, KeyboardInterrupt):
        tell("interrupted")
        return 128 + getattr(error, "number", signal.SIGINT)
    if isinstance(error, BrokenPipeError) or (
        isinstance(error, SystemExit) and isinstance(error.__context__, BrokenPipeError)  # of rich, which prints help
    ):
        return CLOSED_PIPE
    for line in getattr(error, "shown", ()):  # an expression, and a caret under the position of the error
        remark(f"  {visible(line)}")
    tell(f"error: {_message(error)}")
    return BAD_INPUT if isinstance(error, (ClickException, ValueError, FileNotFoundError)) else OTHER


def tell(message: str) -> None:
    """Print a line on standard error, even if that is closed; names in it command no terminal."""
    from coterie.wording import visible

    remark(f"coterie: {visible(message)}")


def tell_skipped(reader: Reader) -> None:
    """Print how many bad records a reader has left out, and the first, on standard error."""
    if reader.skipped:
        tell(f"skipped {reader.skipped:,} records; the first: {reader.skipped_examples[0]}")


def remark(line: str) -> None:
    """Print a line on standard error as it is; a run does not end because standard error cannot be written."""
    print(line, file=Remarks(sys.stderr), flush=True)


class Remarks:
    """A stream from which errors of writing do not come: its reader is gone, its terminal closed, its disk full."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str, /) -> int:
        """Write text, or lose it."""
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush what can be written."""
        with suppress(OSError):
            self._stream.flush()


def _message(error: BaseException) -> str:
    if isinstance(error, ClickException):
        return _usage(error)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'standard output'}: {error.strerror}"
    text = " ".join(in_options(error).split())
    known = isinstance(error, (ValueError, ImportError, OSError))
    return text if known else f"{type(error).__name__}: {text} (set {DEBUG}=1 to see where)"


def in_options(error: BaseException) -> str:
    """Return the message of an error, arguments named as options: each option has the name of its field."""
    from coterie.inputs.errors import FieldError, InputError

    return error.worded(option) if isinstance(error, (FieldError, InputError)) else str(error)


def option(field: str) -> str:
    """Return the option that gives a field.

    >>> option("budget_size"), option("the demo")
    ('--budget-size', 'the demo')
    """
    return f"--{field.replace('_', '-')}" if field.isidentifier() else field


def typed(path: object) -> str:
    """Return a path as it is to be typed in a shell, as a word that is no option.

    >>> typed("clicks.csv"), typed("my clicks.csv"), typed("-odd.csv"), typed("-")
    ('clicks.csv', "'my clicks.csv'", './-odd.csv', '-')
    """
    name = str(path)
    return shlex.quote(f"./{name}" if name.startswith("-") and name != "-" else name)


def _usage(error: Any) -> str:
    """Return the message of a usage error, and the command whose help to read."""
    context = getattr(error, "ctx", None)
    text = " ".join(str(error.format_message()).split())
    return text if context is None else f"{text} (see {context.command_path} --help)"


def _discard(stream: IO[str]) -> None:
    """Flush a standard stream; if nothing can be written to it, discard the rest, on which Python's exit would fail."""
    with suppress(OSError, ValueError, AttributeError):  # closed, or None where there is no such stream
        try:
            stream.flush()
        except OSError as error:
            if error.errno in (errno.EPIPE, errno.ENOSPC, errno.EIO, errno.EFBIG):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
