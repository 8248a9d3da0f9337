"""Logs of choices from tables and Vowpal Wabbit's texts: what came, what was shown, how probably, and the reward.

Tables are read by the formats of :mod:`coterie.io.readers`, and become one dictionary a row. Of Vowpal Wabbit there are
the text of ``cb_adf``, whose examples are several lines with an empty one between, and its JSON, ``dsjson``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from coterie.inputs.encoding import Encoder
from coterie.inputs.errors import FieldError, InputError
from coterie.inputs.faults import Faults, clipped, reading, require_column, require_distinct, shown
from coterie.inputs.keys import MISSING_WORDS, spell

from .lines import split_lines, text_records
from .readers import TABLES, FilesReader, detect_format, open_table
from .schema import kind_of_time
from .sources import STDIN, STDIN_NAME, Source, find_paths, format_suffix

if TYPE_CHECKING:
    from os import PathLike

    import pyarrow as pa

    from .formats.table import TableChunk

#: The format of Vowpal Wabbit's JSON, as the ending of a name and as an option.
DSJSON = "dsjson"
_BLOCK_ROWS = 8192
#: How far from 1 the sum of logged probabilities may be: they are rounded.
_ROUNDED = 1e-3
_TRUTH = {"true": 1.0, "false": 0.0}


class PlaceInLog(NamedTuple):
    """Where a row of a log stands."""

    path: str
    line: int


class Shown(NamedTuple):
    """A row of a log: one choice and what followed.

    Attributes
    ----------
    place : PlaceInLog
        The file, and the line, or of Parquet the row.
    x : dict
        The context.
    task : label
        Whose choice it was.
    action : label or dict
        What was shown.
    reward : float or None
        What followed; None where it is missing.
    probability : float
        With which it was chosen.
    actions : list or None
        From which was chosen; None where the row does not say.
    probabilities : list of float or None
        Those of all of these.
    time : float or None
        When it was, in seconds.
    weight : float
        The number of events for which the row stands: 1 / (1 - pdrop) in dsjson, where events were dropped at random.
    """

    place: PlaceInLog
    x: dict[str, Any]
    task: Hashable
    action: Any
    reward: float | None
    probability: float
    actions: list[Any] | None = None
    probabilities: list[float] | None = None
    time: float | None = None
    weight: float = 1.0


@dataclass(frozen=True)
class LogColumns:
    """Which columns of a log say what; of Vowpal Wabbit's texts only ``task`` and ``ignore`` are used.

    Attributes
    ----------
    task, action, reward, probability, time : str or None
        The columns of these names; of ``vw`` the task is the first feature of a namespace, of ``dsjson`` a key.
    probabilities : sequence of str
        ``ACTION=COLUMN``, a column that is called as its action, or a pattern whose ``*`` is the action: ``p_*``. One
        column of objects, as JSON has them, holds those of all actions by their names.
    features : sequence of str or None
        The columns of the context; None for all that are nothing else.
    ignore, categorical : sequence of str
        Columns to leave out; columns whose numbers are names.
    """

    task: str | None = None
    action: str | None = None
    reward: str | None = None
    probability: str | None = None
    probabilities: Sequence[str] = ()
    time: str | None = None
    features: Sequence[str] | None = None
    ignore: Sequence[str] = ()
    categorical: Sequence[str] = ()

    def require_of_table(self) -> None:
        """Refuse what leaves open where in a table to read: FieldError."""
        needed = {
            "task": "that says whose choice it was",
            "action": "that says what was shown",
            "reward": "of what followed",
        }
        for name, what in needed.items():
            if getattr(self, name) is None:
                raise FieldError("{} is missing: name the column {what}", name, what=what)
        if (self.probability is None) == (not self.probabilities):
            said = "missing: name" if self.probability is None else "given beside {}: name either"
            rest = "the column of the probability of what was shown, or by {} those of all actions"
            fields = ("probability", "probabilities", "probabilities")[: 2 if self.probability is None else 3]
            raise FieldError(f"{{}} is {said} {rest}", *fields)
        named = {"task": self.task, "action": self.action, "reward": self.reward, "probability": self.probability}
        seen: dict[str, str] = {}
        for role, column in named.items():
            if column is not None and seen.setdefault(column, role) != role:
                raise FieldError("{} and {} are both the column {name!r}", seen[column], role, name=column)

    def refuse_of(self, kind: str) -> None:
        """Refuse columns of a format whose rows say themselves what is what: FieldError."""
        for name in ("action", "reward", "probability", "probabilities", "time", "features", "categorical"):
            if getattr(self, name):
                raise FieldError("{} does not apply to {kind}, whose rows say what is what", name, kind=kind)


@dataclass
class _Table:
    """How the columns of all files of a log are used, as the first one decides."""

    features: dict[str, str]
    probabilities: dict[str, str]
    encoder: Encoder | None = field(default=None)


class LogReader(FilesReader):
    """An iterable over the rows of a log, made by :func:`read_log`; the attributes describe the latest iteration.

    Attributes
    ----------
    skipped : int
        Rows left out (``on_error="skip"``).
    skipped_examples : list of str
        The first reasons.
    unlabelled : int
        Examples of Vowpal Wabbit without a cost, left out.
    bytes_read, bytes_total : int, int or None
        Of the files behind what was delivered, and of all of them.
    columns : dict of str to str
        The use of each column of a table.
    dropped : dict of str to str
        The reason for each column that was not used.
    """

    def __init__(self, paths: Sequence[str], kinds: Sequence[str], columns: LogColumns, on_error: str) -> None:
        super().__init__(paths, kinds, on_error)
        self._named = columns
        self._table: _Table | None = None

    def _restart(self) -> None:
        super()._restart()
        self._table = None

    def __iter__(self) -> Iterator[Shown]:
        self._restart()
        for path, kind in zip(self._paths, self._formats, strict=True):
            name = STDIN_NAME if path == STDIN else path
            with reading(name), Source(path) as source:
                self._source = source
                if source.stream.empty:
                    raise InputError("is empty: expected a log of choices", name)
                yield from self._rows(kind, source)
                self._bytes_before, self._source = self.bytes_read, None

    def _rows(self, kind: str, source: Source) -> Iterator[Shown]:
        if kind in TABLES:
            return self._table_rows(kind, source)
        if kind == DSJSON:
            return self._sound(self._of_object, self._objects(source))
        return self._sound(self._of_example, self._examples(source))

    def _sound(
        self, make: Callable[[PlaceInLog, Any], Shown | None], found: Iterator[tuple[PlaceInLog, Any]]
    ) -> Iterator[Shown]:
        """Make a row of each example, if it has a cost; faults are reported."""
        for place, held in found:
            try:
                made = make(place, held)
            except _CellError as error:
                line = place.line if error.line is None else error.line
                self._faults.report(str(error), place.path, line, error.column)
            else:
                if made is not None:
                    yield made

    # -- tables ---------------------------------------------------------------------------------------------------

    def _table_rows(self, kind: str, source: Source) -> Iterator[Shown]:
        named, path = self._named, source.name
        table = open_table(kind, source, self._faults, _BLOCK_ROWS)
        require_distinct(table.names, path)
        kinds = table.kinds()
        if not kinds:
            return
        if self._table is None:
            self._table = self._decided(kinds, path)
        held = self._table
        wanted: dict[str, str] = {**held.features, str(named.task): "task"}
        for name in (*wanted, *self._kept(held)):
            require_column(name, table.names, path)
        if named.time is not None:
            require_column(named.time, table.names, path)
            wanted.setdefault(named.time, kind_of_time(named.time, kinds, path))
        for batch in table.batches(wanted, self._kept(held)):
            yield from self._of_batch(batch, held, path)

    def _kept(self, held: _Table) -> list[str]:
        """The columns that are read as they stand."""
        named = self._named
        return [name for name in (named.action, named.reward, named.probability) if name] + list(
            held.probabilities.values()
        )

    def _decided(self, kinds: Mapping[str, tuple[str | None, str]], path: str) -> _Table:
        """The use of each column, by the first file."""
        named = self._named
        roles: dict[str, str] = {}
        for role in ("task", "action", "reward", "probability", "time"):
            name = getattr(named, role)
            if name is not None:
                require_column(name, kinds, path)
                roles |= {} if role == "time" else {name: role}
        for name in (*(named.features or ()), *named.ignore, *named.categorical):
            require_column(name, kinds, path)
        probabilities = _probability_columns(named.probabilities, list(kinds), path)
        roles |= dict.fromkeys(probabilities.values(), "probability")
        features = {}
        for name, (kind, reason) in kinds.items():
            if name not in roles:
                used = "categorical" if name in named.categorical else kind
                out = reason if used is None else self._left_out(name, used)
                if used is None or out is not None:
                    self.dropped[name] = out or ""
                else:
                    features[name] = used
        self.columns = features | roles
        return _Table(features, probabilities, Encoder(list(features.items())) if features else None)

    def _left_out(self, name: str, kind: str) -> str | None:
        """The reason why a column that may be a feature is none; None if it is one."""
        named = self._named
        if name in named.ignore:
            return "it was to be ignored"
        if named.features is not None:
            return None if name in named.features else "it is not among the features named"
        return "it is the time" if name == named.time and kind == "numeric" else None

    def _of_batch(self, batch: TableChunk, held: _Table, path: str) -> Iterator[Shown]:
        from coterie.inputs.columns import label_faults, label_values, plain, times

        named, columns = self._named, batch.columns
        found = [] if held.encoder is None else [*held.encoder.faults(columns.select(list(held.features)), path)]
        tasks = plain(columns.column(named.task))
        found += label_faults(str(named.task), "task", tasks)
        at = None
        if named.time is not None:
            moments = plain(columns.column(named.time))
            usable = np.ones(len(batch.place), bool)
            usable[[fault.row for fault in found]] = False
            found += self._order.faults(named.time, moments, usable)
            instants, _ = times(moments)
            at = instants / 1e6 if instants.dtype.kind in "iM" else instants
        good = self._faults.reject(found, path, batch.place)
        features = {name: _values(columns.column(name), kind) for name, kind in held.features.items()}
        whose = label_values(tasks).tolist()
        rows = list(zip(*features.values(), strict=True)) if features else [()] * len(good)
        for i in np.flatnonzero(good).tolist():
            place = PlaceInLog(path, int(batch.place[i]))
            x = {name: value for name, value in zip(features, rows[i], strict=True) if value is not None}
            cells = {name: values[i] for name, values in batch.kept.items()}
            try:
                predictions = self._told(cells, held.probabilities)
            except _CellError as error:
                self._faults.report(str(error), path, place.line, error.column)
                continue
            yield Shown(place, x, whose[i], *predictions, None if at is None else float(at[i]))

    def _told(
        self, cells: Mapping[str, Any], probabilities: Mapping[Any, str]
    ) -> tuple[Any, float | None, float, list[Any] | None, list[float] | None]:
        """Action, reward, probability, actions and probabilities of a row: `_CellError` for what cannot be."""
        named = self._named
        action = cells[str(named.action)]
        if action is None or action == "" or (isinstance(action, float) and math.isnan(action)):
            raise _CellError("the action is missing", str(named.action))
        if isinstance(action, (list, dict)):
            raise _CellError(f"{shown(str(action))} is no label of an action", str(named.action))
        reward = _number(cells[str(named.reward)], str(named.reward))
        if named.probability is not None:
            p = _number(cells[named.probability], named.probability)
            return action, reward, _probability(p, named.probability), None, None
        predictions = [(label, cells[name], name) for label, name in probabilities.items()]
        if len(predictions) == 1 and isinstance(predictions[0][1], dict):  # of JSON, one object has them all
            predictions = [(label, held, predictions[0][2]) for label, held in predictions[0][1].items()]
        each = {label: _number(held, name) for label, held, name in predictions}
        offered = {label: p for label, p in each.items() if p is not None}
        return action, reward, *_distribution(action, offered, {label: name for label, _, name in predictions})

    # -- Vowpal Wabbit's text -------------------------------------------------------------------------------------

    def _examples(self, source: Source) -> Iterator[tuple[PlaceInLog, list[tuple[int, str]]]]:
        """The lines of each example, with their numbers."""
        held: list[tuple[int, str]] = []
        for records in text_records(source, split_lines, self._faults):
            for row, line in enumerate(records.line.tolist()):
                text = records.record(row).decode().strip()
                if held and (line != held[-1][0] + 1 or not text):
                    yield PlaceInLog(source.name, held[0][0]), held
                    held = []
                if text:
                    held.append((line, text))
        if held:
            yield PlaceInLog(source.name, held[0][0]), held

    def _of_example(self, place: PlaceInLog, lines: list[tuple[int, str]]) -> Shown | None:
        x: dict[str, Any] = {}
        task: Hashable = None
        actions: list[dict[str, Any]] = []
        predictions: tuple[int, float, float] | None = None
        for line, text in lines:
            head, bar, rest = text.partition("|")
            if not bar:
                raise _CellError("the line has no '|' before its features", line=line)
            words = head.split()
            if words[:1] == ["shared"]:
                if actions or x:
                    raise _CellError("'shared' stands at the beginning of an example, before its actions", line=line)
                x, task = self._shared(rest, line)
                continue
            if words and ":" in words[0]:
                if predictions is not None:
                    message = f"{shown(words[0])} is a second cost in one example: examples end with an empty line"
                    raise _CellError(f"{message}, as cb_adf has them; text of cb is not read", line=line)
                predictions = len(actions), *_cost_and_probability(words[0], line)
            actions.append(_namespaces(rest, self._named.ignore, line))
        if self._named.task is not None and task is None:
            known = ", ".join(map(shown, re.findall(r"\|([^\s|:]+)", lines[0][1])[:20])) or "nothing"
            raise _CellError(
                f"the namespace {self._named.task!r}, which holds the task, is empty or missing among {known}"
            )
        if predictions is None:
            self._faults.unlabelled += 1
            return None
        at, cost, p = predictions
        return Shown(place, x, task, actions[at], -cost, p, list(actions))

    def _shared(self, text: str, line: int) -> tuple[dict[str, Any], str | None]:
        """The context, and the task if a namespace has it."""
        name, ignored = self._named.task, self._named.ignore
        if name is None:
            return _namespaces(text, ignored, line), None
        for each in text.split("|"):
            words = each.split()
            if words and not each[0].isspace() and words[0].partition(":")[0] == name and len(words) > 1:
                return _namespaces(text, [*ignored, name], line), words[1].partition(":")[0]
        return _namespaces(text, ignored, line), None

    # -- Vowpal Wabbit's JSON -------------------------------------------------------------------------------------

    def _objects(self, source: Source) -> Iterator[tuple[PlaceInLog, bytes]]:
        """The object of each line."""
        for records in text_records(source, split_lines, self._faults):
            for row, line in enumerate(records.line.tolist()):
                data = records.record(row).strip()
                if data:
                    yield PlaceInLog(source.name, line), data

    def _of_object(self, place: PlaceInLog, data: bytes) -> Shown | None:
        try:
            held = msgspec.json.decode(data)
        except (msgspec.DecodeError, RecursionError) as error:
            raise _CellError(f"is not JSON: {str(error) or 'too deeply nested'}") from None
        if not isinstance(held, dict):
            raise _CellError(f"{shown(data)} is not a JSON object")
        if held.get("_label_cost") is None or held.get("_skipLearn"):
            self._faults.unlabelled += 1
            return None
        context = held.get("c")
        offered = context.get("_multi") if isinstance(context, dict) else None
        if not isinstance(context, dict) or not isinstance(offered, list) or not offered:
            raise _CellError("it has no actions: expected 'c' with a list '_multi'")
        x = _flat({name: each for name, each in context.items() if name != "_multi"}, self._named.ignore)
        actions = [_flat(each, self._named.ignore) for each in offered]
        task = None
        if self._named.task is not None:
            key = _key_of(self._named.task, x)
            if key is None or not isinstance(x[key], (str, int)):
                known = ", ".join(map(shown, list(x)[:20])) or "nothing"
                raise _CellError(f"it has no {self._named.task!r}, which holds the task, among {known}")
            task = x.pop(key)
        at = _shown_action(held, len(actions))
        cost = _json_number(held, "_label_cost")
        probabilities = _ranked(held, len(actions))
        p = _probability(_json_number(held, "_label_probability"), "_label_probability")
        if probabilities is not None and abs(probabilities[at] - p) > _ROUNDED:
            raise _CellError(f"'p' has {probabilities[at]:g} for the action shown, '_label_probability' {p:g}")
        dropped = 0.0 if held.get("pdrop") is None else _json_number(held, "pdrop")
        if not 0.0 <= dropped < 1.0:
            raise _CellError(f"'pdrop' is {dropped:g}, expected a probability below 1 with which events were dropped")
        return Shown(place, x, task, actions[at], -cost, p, actions, probabilities, weight=1.0 / (1.0 - dropped))


def read_log(
    source: str | PathLike[str] | Sequence[str | PathLike[str]],
    columns: LogColumns,
    *,
    format: str | None = None,  # noqa: A002
    on_error: str = "stop",
) -> LogReader:
    """Open the files of a log; iterate over it for `Shown` after `Shown`.

    Parameters
    ----------
    source : path, URL, glob, "-" or list of them
        The files, one after the other.
    columns : LogColumns
        What is where.
    format : str, optional
        ``"csv"``, ``"tsv"``, ``"jsonl"``, ``"parquet"``, ``"arrow"``, ``"vw"`` or ``"dsjson"``, where the ending does
        not tell. JSON Lines whose first object has ``_label_cost`` are dsjson.
    on_error : {"stop", "skip"}
        Raise at the first bad row, or leave bad rows out and count them.

    Raises
    ------
    InputError, FieldError
        At once for files and arguments; for rows, with file and line, while reading.
    """
    Faults(on_error)
    paths = find_paths(source)
    kinds = [_format_of(path, format) for path in paths]
    for kind in dict.fromkeys(kinds):
        if kind in TABLES:
            columns.require_of_table()
        else:
            columns.refuse_of(kind)
    return LogReader(paths, kinds, columns, on_error)


def _format_of(path: str, given: str | None) -> str:
    if given == DSJSON or (given is None and path != STDIN and format_suffix(path) == DSJSON):
        return DSJSON
    kind = detect_format(path, given)
    if kind == "svmlight":
        raise FieldError("{} svmlight holds no choices: its rows have one label each", "format")
    if kind == "jsonl" and given is None and path != STDIN:
        with suppress(OSError), reading(path), Source(path) as source:
            if b'"_label_cost"' in source.read(1 << 20).partition(b"\n")[0]:
                return DSJSON
    return kind


class _CellError(Exception):
    """A row that cannot be used."""

    def __init__(self, message: str, column: str | None = None, line: int | None = None) -> None:
        super().__init__(message)
        self.column, self.line = column, line


# -- cells of tables ------------------------------------------------------------------------------------------------


def _number(held: Any, column: str) -> float | None:
    """A cell as a number, None where it is empty."""
    if held is None or (isinstance(held, float) and math.isnan(held)):
        return None
    if isinstance(held, str):
        word = held.strip()
        if word in MISSING_WORDS:
            return None
        try:
            made = _TRUTH[word.lower()] if word.lower() in _TRUTH else float(word)
        except ValueError:
            raise _CellError(f"{shown(word)} is not a number", column) from None
    elif isinstance(held, (bool, int, float)):
        made = float(held)
    else:
        raise _CellError(f"{shown(str(held))} is not a number", column)
    if not math.isfinite(made):
        raise _CellError(f"{clipped(str(held))} is not a finite number", column)
    return made


def _probability(p: float | None, column: str) -> float:
    if p is None:
        raise _CellError("the probability is missing", column)
    if not 0.0 < p <= 1.0:
        raise _CellError(f"the probability {p:g} of what was shown is not above 0 and at most 1", column)
    return p


def _distribution(
    action: Any, offered: Mapping[Any, float], columns: Mapping[Any, str]
) -> tuple[float, list[Any], list[float]]:
    """The probability of the action, those offered, and the probabilities of these."""
    for label, p in offered.items():
        if not 0.0 <= p <= 1.0:
            raise _CellError(f"the probability {p:g} is not between 0 and 1", columns[label])
    total = sum(offered.values())
    if abs(total - 1.0) > _ROUNDED:
        raise _CellError(f"the probabilities of {len(offered)} actions sum to {total:g}, not to 1")
    label = action if action in offered else spell(action)
    if label not in offered:
        known = ", ".join(map(repr, offered))
        raise _CellError(f"{shown(str(action))} was shown, which has no probability among {clipped(known)}")
    p = _probability(offered[label], columns[label])
    return p, [action if each == label else each for each in offered], list(offered.values())


def _probability_columns(words: Sequence[str], names: Sequence[str], path: str) -> dict[str, str]:
    """The column of each action: a pattern's star, a word before ``=``, or the column's own name."""
    found: dict[str, str] = {}
    for word in words:
        label, equals, name = word.partition("=")
        if word not in names and equals:
            require_column(name, names, path)
            pairs = {label: name}
        elif word not in names and word.count("*") == 1:
            before, _, after = word.partition("*")
            fitting = [name for name in names if fnmatchcase(name, word)]
            pairs = {name[len(before) : len(name) - len(after)]: name for name in fitting}
            if not pairs:
                raise InputError(f"no column is called like {word!r}", path)
        else:
            require_column(word, names, path)
            pairs = {word: word}
        for action, column in pairs.items():
            if found.setdefault(action, column) != column:
                raise InputError(f"the action {action!r} has two columns of probabilities", path)
    return found


def _values(array: pa.Array, kind: str) -> list[Any]:
    """A column of features as Python's values: numbers, strings, dates, lists of strings; None where one is missing."""
    import pyarrow as pa

    from coterie.inputs.columns import plain

    whole = plain(array)
    if pa.types.is_timestamp(whole.type) and whole.type.unit == "ns":
        whole = whole.cast(pa.timestamp("us", whole.type.tz), safe=False)
    if kind == "numeric":
        whole = whole.cast(pa.float64(), safe=False)
    values: list[Any] = whole.to_pylist()
    if kind == "numeric":
        return values
    if kind == "date":
        return [datetime.fromisoformat(each.strip()) if isinstance(each, str) and each else each for each in values]
    if kind == "items":
        return [None if each is None else [spell(one) for one in each if one is not None] for each in values]
    return [None if each is None or each == "" else spell(each) for each in values]


# -- Vowpal Wabbit --------------------------------------------------------------------------------------------------


def _cost_and_probability(word: str, line: int) -> tuple[float, float]:
    """The cost and the probability of a label ``action:cost:probability``."""
    parts = word.split(":")
    if len(parts) != 3:
        raise _CellError(f"the label {shown(word)} is not of the form 0:cost:probability", line=line)
    try:
        cost, p = float(parts[1]), float(parts[2])
    except ValueError:
        raise _CellError(f"the label {shown(word)} has a part that is not a number", line=line) from None
    if not math.isfinite(cost):
        raise _CellError(f"the cost in {shown(word)} is not finite", line=line)
    if not 0.0 < p <= 1.0:
        raise _CellError(f"the probability in {shown(word)} is not above 0 and at most 1", line=line)
    return cost, p


def _namespaces(text: str, ignored: Sequence[str], line: int) -> dict[str, Any]:
    """The features behind the first bar: a namespace's names without values are a list, each with a value a number.

    >>> _namespaces("s ann age:0.5 |t:2 hour:3 |  free", (), 1)
    {'s': ['ann'], 's^age': 0.5, 't^hour': 6.0, '_': ['free']}
    """
    made: dict[str, Any] = {}
    for part in text.split("|"):
        words = part.split()
        name, times = "", 1.0
        if words and not part[0].isspace():
            name, weighed, weight = words.pop(0).partition(":")
            times = _value(weight, weight, line) if weighed else 1.0
        if name in ignored:
            continue
        for word in words:
            feature, valued, value = word.partition(":")
            if valued or times != 1.0:
                key = f"{name}^{feature}" if name else feature
                made[key] = made.get(key, 0.0) + times * (_value(value, word, line) if valued else 1.0)
            else:
                made.setdefault(name or "_", []).append(feature)
    return made


def _value(text: str, word: str, line: int) -> float:
    with suppress(ValueError):
        value = float(text)
        if math.isfinite(value):
            return value
    raise _CellError(f"{shown(word)} does not hold a finite number", line=line)


def _flat(held: Any, ignored: Sequence[str] = (), before: str = "") -> dict[str, Any]:
    """The features of an object within objects, by names with points between; what begins with ``_`` is none.

    >>> _flat({"User": {"id": "ann", "age": 3, "likes": ["a", "b"], "at": [0.5, 2]}, "_tag": "x"})
    {'User.id': 'ann', 'User.age': 3, 'User.likes': ['a', 'b'], 'User.at.0': 0.5, 'User.at.1': 2}
    """
    made: dict[str, Any] = {}
    if not isinstance(held, dict):
        raise _CellError(f"{shown(msgspec.json.encode(held))} is no object with features")
    for key, value in held.items():
        name = f"{before}{key}"
        if key.startswith("_") or name in ignored or value is None:
            continue
        if isinstance(value, dict):
            made |= _flat(value, ignored, f"{name}.")
        elif isinstance(value, list) and value and all(isinstance(each, str) for each in value):
            made[name] = value
        elif isinstance(value, list):
            made |= _flat({str(j): each for j, each in enumerate(value)}, ignored, f"{name}.")
        else:
            made[name] = spell(value) if isinstance(value, bool) else value
    return made


def _key_of(name: str, x: Mapping[str, Any]) -> str | None:
    """The key of a task: its whole name, or its last part if no other key has the same."""
    if name in x:
        return name
    found = [key for key in x if key.rpartition(".")[2] == name]
    return found[0] if len(found) == 1 else None


def _json_number(held: Mapping[str, Any], name: str) -> float:
    value = held.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise _CellError(f"{name!r} is {shown(msgspec.json.encode(value))}, expected a finite number")
    return float(value)


def _shown_action(held: Mapping[str, Any], n: int) -> int:
    """The place of the action that was shown among the n of a row."""
    index, number = held.get("_labelIndex"), held.get("_label_Action")
    at = index if index is not None else number - 1 if isinstance(number, int) else None
    if at is None and isinstance(held.get("a"), list) and held["a"]:
        at = held["a"][0] - 1 if isinstance(held["a"][0], int) else None
    if not isinstance(at, int) or not 0 <= at < n:
        raise _CellError(f"'_labelIndex' is {index!r}, expected the place of one of {n} actions, from 0")
    return at


def _ranked(held: Mapping[str, Any], n: int) -> list[float] | None:
    """The probability of each action, by ``a``, the actions as they were ranked, and ``p``; None if it has not all."""
    order, p = held.get("a"), held.get("p")
    if not isinstance(order, list) or not isinstance(p, list) or len(order) != n or len(p) != n:
        return None
    if sorted(map(repr, order)) != sorted(map(repr, range(1, n + 1))):
        raise _CellError(f"'a' is {clipped(str(order))}, expected the numbers of {n} actions, from 1")
    if not all(isinstance(each, (int, float)) and 0.0 <= each <= 1.0 for each in p) or abs(sum(p) - 1.0) > _ROUNDED:
        raise _CellError(f"'p' is {clipped(str(p))}, expected {n} probabilities whose sum is 1")
    made = [0.0] * n
    for number, each in zip(order, p, strict=True):
        made[number - 1] = float(each)
    return made
