"""Error reports of commands: one line on standard error, and an exit code."""

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

from coterie.data.errors import FieldError, InputError
from coterie.wording import visible

if TYPE_CHECKING:
    from coterie.data.readers import Reader

OTHER, BAD_INPUT, CLOSED_PIPE = 1, 2, 141
#: Errors of paths, which occur again if the command is repeated, unlike those of a full or a read-only disk.
PATH_ERRORS = {errno.ENOENT, errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG}
DEBUG = "COTERIE_DEBUG"

# not every version of typer exports this class
ClickException: Any = typer.BadParameter.__mro__[2]


class UsageError(ValueError):
    """Error for contradictory options, or for an unsupported value of an option."""


@contextmanager
def handle_errors() -> Iterator[None]:
    """Context that prints warnings and exceptions on one line, and exits after an exception."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *place, **options: print_message(f"warning: {message}")
            yield
        sys.stdout.flush()
    except (typer.Exit, typer.Abort):
        raise
    except BaseException as error:
        if os.environ.get(DEBUG) == "1" and not isinstance(error, ClickException):
            raise
        code = report_error(error)
        _flush_or_discard(sys.stdout)
        raise typer.Exit(code) from None
    finally:
        _flush_or_discard(sys.stderr)


def report_error(error: BaseException) -> int:
    """Print an error, and return the exit code for it."""
    if isinstance(error, KeyboardInterrupt):
        print_message("interrupted")
        return 128 + getattr(error, "number", signal.SIGINT)
    if isinstance(error, BrokenPipeError) or (
        isinstance(error, SystemExit) and isinstance(error.__context__, BrokenPipeError)  # of rich, which prints help
    ):
        return CLOSED_PIPE
    for line in getattr(error, "shown", ()):  # an expression, and a caret under the position of the error
        print_line(f"  {visible(line)}")
    print_message(f"error: {describe_error(error)}")
    is_path_error = isinstance(error, FileNotFoundError) or getattr(error, "errno", None) in PATH_ERRORS
    return BAD_INPUT if is_path_error or isinstance(error, (ClickException, ValueError)) else OTHER


def describe_error(error: BaseException) -> str:
    """Return an error's message on one line; parameter names are replaced by option names."""
    if isinstance(error, ClickException):
        context = getattr(error, "ctx", None)
        text = " ".join(str(error.format_message()).split())
        return text if context is None else f"{text} (see {context.command_path} --help)"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'standard output'}: {error.strerror}"
    text = error.worded(option_name) if isinstance(error, (FieldError, InputError)) else str(error)
    text = " ".join(text.split())
    if isinstance(error, (ValueError, ImportError, OSError)):
        return text
    return f"{type(error).__name__}: {text} (set {DEBUG}=1 to see where)"


def print_message(message: str) -> None:
    """Print a line on standard error, with control characters escaped."""
    print_line(f"coterie: {visible(message)}")


def print_skipped(reader: Reader) -> None:
    """Print the number of records that a reader has skipped, and the first reasons."""
    if reader.skipped:
        print_message(f"skipped {reader.skipped:,} records; the first: {reader.skipped_examples[0]}")


def print_line(line: str) -> None:
    """Print a line on standard error; write errors are ignored."""
    print(line, file=LossyStream(sys.stderr), flush=True)


class LossyStream:
    """A text stream that ignores errors in writing, such as those of a closed terminal or a full disk."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str, /) -> int:
        """Write text; discard it on an error."""
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush the stream; ignore errors."""
        with suppress(OSError):
            self._stream.flush()


def option_name(field: str) -> str:
    """Return the command-line option of a parameter; return other words unchanged.

    >>> option_name("budget_size"), option_name("from_"), option_name("the demo")
    ('--budget-size', '--from', 'the demo')
    """
    return f"--{field.rstrip('_').replace('_', '-')}" if field.isidentifier() else field


def quote_path(path: object) -> str:
    """Quote a path for a shell, and protect it from being parsed as an option.

    >>> quote_path("clicks.csv"), quote_path("my clicks.csv"), quote_path("-odd.csv"), quote_path("-")
    ('clicks.csv', "'my clicks.csv'", './-odd.csv', '-')
    """
    name = str(path)
    return shlex.quote(f"./{name}" if name.startswith("-") and name != "-" else name)


def _flush_or_discard(stream: IO[str]) -> None:
    """Flush a standard stream; on an error discard its buffer, so that the process can exit."""
    with suppress(OSError, ValueError, AttributeError):  # closed, or None if there is no such stream
        try:
            stream.flush()
        except OSError as error:
            if error.errno in (errno.EPIPE, errno.ENOSPC, errno.EIO, errno.EFBIG):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
