"""Errors about input, with their location."""

from __future__ import annotations

from collections.abc import Callable


class FieldError(ValueError):
    """Error for invalid or contradictory arguments; a command replaces their names by those of its options.

    Parameters
    ----------
    message : str
        One sentence with ``{}`` for each argument, and ``{name}`` for each value.
    fields : str
        Names of the arguments.
    values
        The other values in the sentence.

    Examples
    --------
    >>> error = FieldError("{} is not supported with relation {kind!r}", "storage_bits", kind="half")
    >>> print(error)
    storage_bits is not supported with relation 'half'
    >>> error.worded(lambda field: "--" + field.replace("_", "-"))
    "--storage-bits is not supported with relation 'half'"
    """

    def __init__(self, message: str, *fields: str, **values: object) -> None:
        self.message, self.fields, self.values = message, fields, values
        super().__init__(self.worded(str))

    def worded(self, word: Callable[[str], str]) -> str:
        """Return the message with each argument name replaced by ``word(name)``, such as a command-line option."""
        return self.message.format(*map(word, self.fields), **self.values)


class InputError(ValueError):
    """A record, a column or a file that cannot be read; the message begins with its location.

    The reader of a file adds the path.

    Parameters
    ----------
    message : str
        One sentence: the value given, and the expected one.
    path : str, optional
        The file, or ``"<stdin>"``.
    line : int, optional
        1-based line (text formats) or row (Parquet, Arrow).
    column : str, optional
        The column's name.
    hint : FieldError, optional
        Advice in names of arguments.

    Examples
    --------
    >>> print(InputError("'abc' is not a number", path="a.csv", line=3, column="price"))
    a.csv:3: column 'price': 'abc' is not a number
    """

    def __init__(
        self,
        message: str,
        path: str | None = None,
        line: int | None = None,
        column: str | None = None,
        hint: FieldError | None = None,
    ) -> None:
        self.message, self.path, self.line, self.column, self.hint = message, path, line, column, hint
        super().__init__(self.worded(str))

    def worded(self, word: Callable[[str], str]) -> str:
        """Return the place and the message, with each argument name in the hint replaced by ``word(name)``."""
        place = ":".join(str(part) for part in (self.path, self.line) if part is not None)
        column = "" if self.column is None else f"column {self.column!r}"
        hint = "" if self.hint is None else f"; {self.hint.worded(word)}"
        return ": ".join(part for part in (place, column, self.message) if part) + hint
