"""What goes wrong with input, said with its place."""

from __future__ import annotations


class InputError(ValueError):
    """A record, a column or a file that cannot be read; the message begins with its place.

    Parameters
    ----------
    message : str
        One sentence: what came, what was expected.
    path : str, optional
        The file, or ``"<stdin>"``.
    line : int, optional
        1-based line (text formats) or row (Parquet, Arrow).
    column : str, optional
        The column's name.

    Examples
    --------
    >>> print(InputError("'abc' is not a number", path="a.csv", line=3, column="price"))
    a.csv:3: column 'price': 'abc' is not a number
    """

    def __init__(
        self, message: str, path: str | None = None, line: int | None = None, column: str | None = None
    ) -> None:
        place = ":".join(str(part) for part in (path, line) if part is not None)
        parts = [place or None, f"column {column!r}" if column is not None else None, message]
        super().__init__(": ".join(part for part in parts if part))
        self.path, self.line, self.column = path, line, column
