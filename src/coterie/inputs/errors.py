"""Errors about input, with their place."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence

from coterie.wording import nearest


class FieldError(ValueError):
    """An error about arguments that are out of range or do not go together; a face may use its own names for them.

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
    >>> error = FieldError("{} cannot be given with relation {kind!r}", "storage_bits", kind="half")
    >>> print(error)
    storage_bits cannot be given with relation 'half'
    >>> error.worded(lambda field: "--" + field.replace("_", "-"))
    "--storage-bits cannot be given with relation 'half'"
    """

    def __init__(self, message: str, *fields: str, **values: object) -> None:
        self.message, self.fields, self.values = message, fields, values
        super().__init__(self.worded(str))

    @classmethod
    def of(cls, error: Exception, names: Mapping[str, str]) -> ValueError:
        """Turn the error of a part, which begins with an argument's name, into one of the field it came from.

        >>> FieldError.of(ValueError("bits must lie between 1 and 40, got 0"), {"bits": "storage_bits"}).fields
        ('storage_bits',)
        """
        if isinstance(error, cls):
            return error
        found = re.match(r"(\w+)\b(.*)", str(error), re.DOTALL)
        if found is None or found[1] not in names:
            return ValueError(str(error))
        return cls("{}{rest}", names[found[1]], rest=found[2])

    def worded(self, word: Callable[[str], str]) -> str:
        """The sentence with another word for each argument."""
        return self.message.format(*map(word, self.fields), **self.values)


class InputError(ValueError):
    """A record, a column or a file that cannot be read; the message begins with its place.

    Parameters
    ----------
    message : str
        One sentence: the value that came, and the one that was expected.
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
        place = ":".join(str(part) for part in (path, line) if part is not None)
        parts = [place or None, f"column {column!r}" if column is not None else None, message]
        self.path, self.line, self.column = path, line, column
        self.said, self.hint = ": ".join(part for part in parts if part), hint
        super().__init__(self.worded(str))

    def worded(self, word: Callable[[str], str]) -> str:
        """The message with another word for each argument that the hint names."""
        return self.said if self.hint is None else f"{self.said}; {self.hint.worded(word)}"


def places(fields: Collection[str], between: str = " and ") -> str:
    """Placeholders for the names of so many arguments in the message of a `FieldError`.

    >>> places(["groups", "graph"])
    '{} and {}'
    """
    return between.join("{}" for _ in fields)


def require_one_of(name: str, value: str | None, allowed: Sequence[str]) -> None:
    """Refuse a word that is not among those allowed, naming the nearest of them.

    Examples
    --------
    >>> require_one_of("rule", "perceptorn", ("perceptron", "pa1"))
    Traceback (most recent call last):
    coterie.inputs.errors.FieldError: rule is 'perceptorn'; expected one of perceptron, pa1; did you mean 'perceptron'?
    """
    if value is None or value in allowed:
        return
    message = "{} is {value!r}; expected one of {allowed}{hint}"
    raise FieldError(message, name, value=value, allowed=", ".join(allowed), hint=nearest(value, allowed))
