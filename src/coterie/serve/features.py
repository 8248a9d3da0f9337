"""The names of features in learned records, to notice names that are new, unknown, or have stopped coming."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

#: Records among which a name that used to come is looked for, and how often it must have been expected there.
WINDOW, EXPECTED = 1000, 20
#: Names that are noted at most; a model of more has names by the word, and no list of them would help.
MOST = 10_000


class Features(msgspec.Struct, array_like=True):
    """The names of features in the records learned so far: a function of the records, and of bounded size.

    Attributes
    ----------
    n : int
        The number of records.
    seen : dict of str to list
        The number of records that had a name, the first one and the last one, from 1.

    Examples
    --------
    >>> features = Features()
    >>> features.add([{"price": 2.0}] * 1500 + [{"prcie": 2.0}] * 1000)
    >>> features.new, features.stopped, features.unknown({"price": 1.0, "colour": "red"})
    (['prcie'], ['price'], ['colour'])
    """

    n: int = 0
    seen: dict[str, list[int]] = {}

    def add(self, records: Iterable[Mapping[str, object]]) -> None:
        """Count the names in records that were learned."""
        for record in records:
            self.n += 1
            for name in _names(record):
                known = self.seen.get(name)
                if known is not None:
                    known[0] += 1
                    known[2] = self.n
                elif len(self.seen) < MOST:
                    self.seen[name] = [1, self.n, self.n]

    def unknown(self, record: Mapping[str, object]) -> list[str]:
        """List the names that no learned record had; empty before the first, or if there are too many."""
        if not self.n or len(self.seen) == MOST:
            return []
        return [name for name in _names(record) if name not in self.seen]

    @property
    def new(self) -> list[str]:
        """The names that came first among the last 1,000 records, if there were more before."""
        before = self.n - WINDOW
        return [name for name, (_, first, _) in self.seen.items() if first > before > 0]

    @property
    def stopped(self) -> list[str]:
        """The names that none of the last 1,000 records had, of which at least 20 would have as many as before."""
        before = self.n - WINDOW
        return [
            name
            for name, (count, _, last) in self.seen.items()
            if last <= before and count * WINDOW >= EXPECTED * before
        ]


def _names(record: Mapping[str, object]) -> Iterable[str]:
    """List the names of features; of several views, each behind the view's name."""
    if dict not in map(type, record.values()):
        return record
    parts = ({f"{view}.{name}": 0 for name in x} if isinstance(x, dict) else {view: 0} for view, x in record.items())
    return [name for part in parts for name in part]
