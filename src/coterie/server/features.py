"""Feature names in learned records, to detect new, unknown and missing features."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

#: The number of latest records in which a feature may be missing, and the expected count above which this is reported.
WINDOW, EXPECTED = 1000, 20
#: The maximum number of names; a model with more has words as names, and a list would not help.
MOST = 10_000


class Features(msgspec.Struct, array_like=True):
    """Counts of feature names in learned records, of bounded size.

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
        """Count the feature names in learned records."""
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
        """Return the names in a record that no learned record had; empty if too many names are known."""
        if not self.n or len(self.seen) == MOST:
            return []
        return [name for name in _names(record) if name not in self.seen]

    @property
    def new(self) -> list[str]:
        """The names that first appeared in the last 1,000 records (none during the first 1,000)."""
        before = self.n - WINDOW
        return [name for name, (_, first, _) in self.seen.items() if first > before > 0]

    @property
    def stopped(self) -> list[str]:
        """The names that are missing in the last 1,000 records, although at least 20 were expected."""
        before = self.n - WINDOW
        return [
            name
            for name, (count, _, last) in self.seen.items()
            if last <= before and count * WINDOW >= EXPECTED * before
        ]


def _names(record: Mapping[str, object]) -> Iterable[str]:
    """Return feature names; for several views, prefixed with the view's name."""
    if dict not in map(type, record.values()):
        return record
    parts = ({f"{view}.{name}": 0 for name in x} if isinstance(x, dict) else {view: 0} for view, x in record.items())
    return [name for part in parts for name in part]
