"""Logs of bandit decisions from tables: one row per decision, with context, action, probability and reward."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fnmatch import fnmatchcase
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

from coterie.types import Json

from .errors import FieldError, InputError
from .feature_keys import MISSING_WORDS, spell
from .invalid_records import clipped, require_column, shown
from .readers import TABLES, Reader, detect_format
from .schema import ReadOptions, choose_encoder
from .sources import Source, find_paths

if TYPE_CHECKING:
    from os import PathLike

    import pyarrow as pa

    from .block import Block
    from .record_encoders import RecordEncoder
    from .schema import Kinds

#: The allowed difference of the sum of logged probabilities from 1, because they are rounded.
_ROUNDED = 1e-3
_TRUTH = {"true": 1.0, "false": 0.0}


class PlaceInLog(NamedTuple):
    """The file name and the line (or row) number of a logged decision."""

    path: str
    line: int


class LoggedChoice(NamedTuple):
    """A logged bandit decision: context, chosen action, its probability, and the reward.

    Attributes
    ----------
    place : PlaceInLog
        The file, and the line, or of Parquet the row.
    x : dict
        The context.
    task : label
        The task of the choice, such as a user or a shop.
    action : label
        The action that was shown.
    reward : float or None
        None if it is missing.
    probability : float
        The probability with which the action was chosen.
    actions : list or None
        The actions offered; None if the log does not have them.
    probabilities : list of float or None
        The probabilities of these actions.
    time : float or None
        The time in seconds.
    """

    place: PlaceInLog
    x: Json
    task: Hashable
    action: Hashable
    reward: float | None
    probability: float
    actions: list[Hashable] | None = None
    probabilities: list[float] | None = None
    time: float | None = None


@dataclass(frozen=True, kw_only=True)
class LogColumns(ReadOptions):
    """Options for reading a log of bandit decisions.

    Attributes
    ----------
    action, reward, probability : str or None
        The columns of these names.
    probabilities : sequence of str
        ``ACTION=COLUMN``, a column with the name of its action, or a pattern with ``*`` for the action: ``p_*``. A
        single column of JSON objects has the probabilities of all actions by name.
    """

    action: str | None = None
    reward: str | None = None
    probability: str | None = None
    probabilities: Sequence[str] = ()

    def require_roles(self) -> None:
        """Raise FieldError if the action, reward or probability has no column."""
        for name, role in (("task", "of the task"), ("action", "of the chosen action"), ("reward", "of what followed")):
            if getattr(self, name) is None:
                raise FieldError("{} is missing; name the column {role}", name, role=role)
        if self.probability is None and not self.probabilities:
            rest = "name the column of the probability of the chosen action, or with {} those of all actions"
            raise FieldError(f"{{}} is missing; {rest}", "probability", "probabilities")
        if self.probability is not None and self.probabilities:
            raise FieldError("{} is given together with {}; leave out one of them", "probability", "probabilities")
        for one, other in combinations(("task", "action", "reward", "probability"), 2):
            if getattr(self, one) == getattr(self, other):
                raise FieldError("{} and {} are both the column {name!r}", one, other, name=getattr(self, one))


class LogReader(Reader):
    """An iterable over the decisions of a log, returned by :func:`read_log`; it has the attributes of `Reader`."""

    def __init__(self, paths: Sequence[str], kinds: Sequence[str], columns: LogColumns) -> None:
        self._named = columns
        self._roles: dict[str, str] = {}
        self._probabilities: dict[str, str] = {}
        super().__init__(paths, kinds, columns)
        self._raw = True

    def _read_file(self, kind: str, source: Source) -> Iterator[LoggedChoice]:
        """Yield the decisions of an open file of format ``kind`` as `LoggedChoice`."""
        for block in self._table_blocks(kind, source):
            self.columns |= self._roles
            yield from self._read_block(block)

    def _choose_encoder(self, kinds: Kinds, absences: bool) -> RecordEncoder:
        """Assign the columns of the first table to roles (action, reward, ...) and to features.

        ``kinds`` has the kind of each column; ``absences`` is True if a record may lack columns.
        """
        named = self._named
        for name in filter(None, (named.action, named.reward, named.probability)):
            require_column(name, kinds)
        self._probabilities = _probability_columns(named.probabilities, list(kinds))
        roles = {named.action: "action", named.reward: "reward", named.probability: "probability"}
        self._roles = {name: role for name, role in roles.items() if name is not None}
        self._roles |= dict.fromkeys(self._probabilities.values(), "probability")
        times = [name for name in filter(None, [named.time]) if kinds.get(name, ("", ""))[0] == "numeric"]
        ignored = (*named.ignore, *self._roles, *times)
        self._options = replace(self._options, ignore=ignored, keep=tuple(self._roles))
        self.encoder, dropped = choose_encoder(kinds, self._options, absences, may_be_empty=True)
        dropped |= {name: "it is the time" for name in times if name not in named.ignore}
        self.dropped = {name: reason for name, reason in dropped.items() if name not in self._roles}
        return self.encoder

    def _read_block(self, block: Block) -> Iterator[LoggedChoice]:
        """Yield the decisions in a block of rows; report invalid rows."""
        from .columns import plain, times

        columns, time, encoder = block.X.columns, self._named.time, self.encoder
        features = {name: _values(columns.column(name), kind) for name, kind in (encoder.columns if encoder else ())}
        seconds = None
        if time is not None:
            instants, _ = times(plain(columns.column(time)))
            seconds = instants / 1e6 if instants.dtype.kind in "iM" else instants
        for i, (line, task) in enumerate(zip(block.place.tolist(), block.tasks.tolist(), strict=True)):
            x = {name: values[i] for name, values in features.items() if values[i] is not None}
            try:
                choice = self._parse_cells({name: values[i] for name, values in block.unchanged.items()})
            except InputError as error:
                self._faults.report(error.message, line, error.column)
                continue
            self.rows += 1
            place = PlaceInLog(self.path, line)
            yield LoggedChoice(place, x, task, *choice, None if seconds is None else float(seconds[i]))

    def _parse_cells(
        self, cells: Mapping[str, Any]
    ) -> tuple[Hashable, float | None, float, list[Hashable] | None, list[float] | None]:
        """Parse the action, the reward and the probabilities from ``cells``, the values of one row by column name."""
        named = self._named
        action = cells[str(named.action)]
        if action is None or action == "" or (isinstance(action, float) and math.isnan(action)):
            raise InputError("the action is missing", column=named.action)
        if isinstance(action, (list, dict)):
            raise InputError(f"{shown(str(action))} is not a valid action", column=named.action)
        reward = _number(cells[str(named.reward)], named.reward)
        if named.probability is not None:
            return action, reward, _probability(cells[named.probability], named.probability), None, None
        columns: dict[str, str] = dict(self._probabilities)
        values = {label: cells[name] for label, name in columns.items()}
        first, *others = values.values()
        if isinstance(first, dict) and not others:  # one JSON object has all probabilities
            values, columns = first, dict.fromkeys(first, next(iter(columns.values())))
        numbers = {label: _number(value, columns[label]) for label, value in values.items()}
        offered = {label: p for label, p in numbers.items() if p is not None}
        for label, p in offered.items():
            if not 0.0 <= p <= 1.0:
                raise InputError(f"the probability {p:g} is not between 0 and 1", column=columns[label])
        total = sum(offered.values())
        if abs(total - 1.0) > _ROUNDED:
            raise InputError(f"the probabilities of {len(offered)} actions sum to {total:g}, not to 1")
        label = action if action in offered else spell(action)
        if label not in offered:
            known = ", ".join(map(repr, offered))
            raise InputError(f"{shown(str(action))} was chosen, but has no probability among {clipped(known)}")
        p = _probability(offered[label], columns[label])
        return label, reward, p, list(offered), list(offered.values())


def read_log(source: str | PathLike[str] | Sequence[str | PathLike[str]], columns: LogColumns) -> LogReader:
    """Open the files of a log; iterate over the result to get one `LoggedChoice` per row.

    Parameters
    ----------
    source : path, URL, glob, "-" or list of them
        The files, one after the other.
    columns : LogColumns
        The roles of the columns, and the format, if the file extension does not determine it.

    Raises
    ------
    InputError, FieldError
        At once for files and arguments; for rows, with file and line, while reading.
    """
    paths = find_paths(source)
    kinds = [detect_format(path, columns.format) for path in paths]
    for kind in kinds:
        if kind not in TABLES:
            message = "{} {kind} holds no choices, but one label per row; expected one of {tables}"
            raise FieldError(message, "format", kind=kind, tables=", ".join(map(repr, TABLES)))
    columns.require_roles()
    return LogReader(paths, kinds, columns)


def _number(value: Any, column: str | None = None) -> float | None:
    """Convert a cell of ``column`` to a float, an empty cell to None; raise an error for text."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    word = value.strip() if isinstance(value, str) else value
    if word in MISSING_WORDS:
        return None
    try:
        number = _TRUTH.get(word.lower()) if isinstance(word, str) else None
        number = float(word) if number is None else number
    except (TypeError, ValueError):
        raise InputError(f"{shown(str(word))} is not a number", column=column) from None
    if not math.isfinite(number):
        raise InputError(f"{clipped(str(value))} is not a finite number", column=column)
    return number


def _probability(value: object, column: str | None = None) -> float:
    """Convert a cell of ``column`` to a probability in (0, 1]; raise an error for other values."""
    p = _number(value, column)
    if p is None:
        raise InputError("the probability is missing", column=column)
    if not 0.0 < p <= 1.0:
        raise InputError(f"the probability {p:g} of the chosen action must be above 0 and at most 1", column=column)
    return p


def _probability_columns(words: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """Map each action to its probability column.

    ``words`` are patterns (``p_*``), ``ACTION=COLUMN`` pairs or column names; ``names`` are all columns.
    """
    columns: dict[str, str] = {}
    for word in words:
        label, equals, name = word.partition("=")
        if word not in names and equals:
            require_column(name, names)
            pairs = {label: name}
        elif word not in names and word.count("*") == 1:
            before, _, after = word.partition("*")
            matches = [name for name in names if fnmatchcase(name, word)]
            pairs = {name[len(before) : len(name) - len(after)]: name for name in matches}
            if not pairs:
                raise InputError(f"no column matches the pattern {word!r}")
        else:
            require_column(word, names)
            pairs = {word: word}
        for action, column in pairs.items():
            if columns.setdefault(action, column) != column:
                raise InputError(f"the action {action!r} has two columns of probabilities")
    return columns


def _values(array: pa.Array, kind: str) -> list[object]:
    """Convert an Arrow column of features of this kind to Python values; missing values become None."""
    import pyarrow as pa

    from .columns import plain

    whole = plain(array)
    if pa.types.is_timestamp(whole.type) and whole.type.unit == "ns":
        whole = whole.cast(pa.timestamp("us", whole.type.tz), safe=False)
    if kind == "numeric":
        whole = whole.cast(pa.float64(), safe=False)
    convert: dict[str, Callable[[Any], object]] = {
        "numeric": lambda value: value,
        "date": lambda value: datetime.fromisoformat(value.strip()) if isinstance(value, str) else value,
        "items": lambda items: [spell(item) for item in items if item is not None],
        "categorical": spell,
    }
    return [None if value is None or value == "" else convert[kind](value) for value in whole.to_pylist()]
