"""What was read of files, and what was not used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from coterie.streams.wording import listed

if TYPE_CHECKING:
    from coterie.streams.readers import Reader


@dataclass(frozen=True)
class Reading:
    """What a reader read.

    Attributes
    ----------
    source : str
        The files' names.
    rows, skipped : int
        Records delivered, and records left out.
    skipped_examples : tuple of str
        Why, for the first of them.
    columns : dict of str to list of str
        By role (``"label"``, ``"task"``, or a kind of feature), the columns used.
    dropped : dict of str to str
        Why each other column was not used.
    """

    source: str
    rows: int
    skipped: int
    skipped_examples: tuple[str, ...]
    columns: dict[str, list[str]]
    dropped: dict[str, str]

    @classmethod
    def of(cls, reader: Reader) -> Reading:
        """What a reader says after its last record."""
        columns: dict[str, list[str]] = {}
        for name, role in reader.columns.items():
            columns.setdefault(role, []).append(name)
        source, examples = listed(reader.paths, 3), tuple(reader.skipped_examples)
        return cls(source, reader.rows, reader.skipped, examples, columns, dict(reader.dropped))

    def to_json(self) -> dict[str, Any]:
        """All of it for JSON."""
        return dict(vars(self)) | {"skipped_examples": list(self.skipped_examples)}
