"""Logs of choices from tables and Vowpal Wabbit text: contexts, actions, probabilities and rewards.

Tables are read by :mod:`coterie.io.readers`, and become one dictionary per row. Vowpal Wabbit's ``cb_adf`` text has
several lines per example and an empty line after each; its JSON format is ``dsjson``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from fnmatch import fnmatchcase
from itertools import combinations
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeAlias, TypeVar

import msgspec

from coterie.inputs.errors import FieldError, InputError
from coterie.inputs.faults import clipped, require_column, shown
from coterie.inputs.keys import MISSING_WORDS, spell
from coterie.types import Json

from .lines import split_lines, text_records
from .readers import TABLES, Reader, detect_format
from .schema import ReadOptions, choose_encoder
from .sources import STDIN, Source, find_paths, format_suffix
from .urls import reading

if TYPE_CHECKING:
    from os import PathLike

    import pyarrow as pa

    from coterie.inputs.block import Block
    from coterie.inputs.encoding import Encoder

    from .schema import Kinds

#: The format of Vowpal Wabbit's JSON, as the ending of a name and as an option.
DSJSON = "dsjson"
#: How far from 1 the sum of logged probabilities may be: they are rounded.
_ROUNDED = 1e-3
_TRUTH = {"true": 1.0, "false": 0.0}

ExampleT = TypeVar("ExampleT")


class PlaceInLog(NamedTuple):
    """The file and line of a row of a log."""

    path: str
    line: int


#: An action: its label, or its features by name.
Action: TypeAlias = Hashable | Json


class LoggedChoice(NamedTuple):
    """One choice of a log and its reward.

    Attributes
    ----------
    place : PlaceInLog
        The file, and the line, or of Parquet the row.
    x : dict
        The context.
    task : label
        The user, shop or other task the choice was made for.
    action : label or dict
        The action that was shown.
    reward : float or None
        None if it is missing.
    probability : float
        The probability with which the action was chosen.
    actions : list or None
        The actions that were offered; None if the log does not tell.
    probabilities : list of float or None
        Those of all of these.
    time : float or None
        In seconds.
    weight : float
        The number of events for which the row stands: 1 / (1 - pdrop) in dsjson, if events were dropped at random.
    """

    place: PlaceInLog
    x: Json
    task: Hashable
    action: Action
    reward: float | None
    probability: float
    actions: list[Action] | None = None
    probabilities: list[float] | None = None
    time: float | None = None
    weight: float = 1.0


@dataclass(frozen=True, kw_only=True)
class LogColumns(ReadOptions):
    """Options for reading a log; ``vw`` uses only ``task``, ``ignore``, ``format`` and ``on_error``.

    Attributes
    ----------
    action, reward, probability : str or None
        The columns of these names. The task of ``vw`` is the first feature of a namespace, that of ``dsjson`` a key.
    probabilities : sequence of str
        ``ACTION=COLUMN``, a column that is called as its action, or a pattern whose ``*`` is the action: ``p_*``. One
        column of objects, as JSON has them, holds those of all actions by their names.
    """

    action: str | None = None
    reward: str | None = None
    probability: str | None = None
    probabilities: Sequence[str] = ()

    def require_for_table(self) -> None:
        """Raise FieldError if the columns do not give all parts of a table's choices."""
        for name, role in (
            ("task", "of the task"),
            ("action", "of the chosen action"),
            ("reward", "of what followed"),
        ):
            if getattr(self, name) is None:
                raise FieldError("{} is missing; name the column {role}", name, role=role)
        if self.probability is None and not self.probabilities:
            rest = "name the column of the probability of the chosen action, or with {} those of all actions"
            raise FieldError(f"{{}} is missing: {rest}", "probability", "probabilities")
        if self.probability is not None and self.probabilities:
            raise FieldError("{} is given together with {}; leave out one of them", "probability", "probabilities")
        for one, other in combinations(("task", "action", "reward", "probability"), 2):
            if getattr(self, one) == getattr(self, other):
                raise FieldError("{} and {} are both the column {name!r}", one, other, name=getattr(self, one))

    def require_for_rows(self, kind: str) -> None:
        """Raise FieldError for columns if the rows of the format name their parts."""
        for name in ("action", "reward", "probability", "probabilities", "time", "features", "categorical"):
            if getattr(self, name):
                raise FieldError("{} does not apply to {kind}, whose rows name their parts", name, kind=kind)


class LogReader(Reader):
    """An iterable over the choices of a log, from :func:`read_log`; its attributes are those of `Reader`."""

    def __init__(self, paths: Sequence[str], kinds: Sequence[str], columns: LogColumns) -> None:
        self._named = columns
        self._roles: dict[str, str] = {}
        self._probabilities: dict[str, str] = {}
        super().__init__(paths, kinds, columns)
        self._raw = True

    def _read_file(self, kind: str, source: Source) -> Iterator[LoggedChoice]:
        """Yield the choices of a file."""
        if kind in TABLES:
            for block in self._table_blocks(kind, source):
                self.columns |= self._roles
                yield from self._table_choices(block)
        elif kind == DSJSON:
            yield from self._parse_all(self._parse_event, self._lines(source))
        else:
            yield from self._parse_all(self._parse_example, self._examples(source))

    def _parse_all(
        self, parse: Callable[[PlaceInLog, ExampleT], LoggedChoice | None], examples: Iterator[tuple[int, ExampleT]]
    ) -> Iterator[LoggedChoice]:
        """Yield the choice of each example that has a cost; report faults."""
        for line, example in examples:
            try:
                choice = parse(PlaceInLog(self.path, line), example)
            except InputError as error:
                self._faults.report(error.message, error.line or line, error.column)
                continue
            if choice is None:
                self._faults.unlabelled += 1
            else:
                self.rows += 1
                yield choice

    # -- tables ---------------------------------------------------------------------------------------------------

    def _choose_encoder(self, kinds: Kinds, absences: bool) -> Encoder:
        """Choose the roles and the features of contexts by the columns of the first table."""
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

    def _table_choices(self, block: Block) -> Iterator[LoggedChoice]:
        """Yield the choices of a block of rows; report faults."""
        from coterie.inputs.columns import plain, times

        columns, time, encoder = block.X.columns, self._named.time, self.encoder
        features = {name: _values(columns.column(name), kind) for name, kind in (encoder.columns if encoder else ())}
        seconds = None
        if time is not None:
            instants, _ = times(plain(columns.column(time)))
            seconds = instants / 1e6 if instants.dtype.kind in "iM" else instants

        def parse(place: PlaceInLog, i: int) -> LoggedChoice:
            x = {name: values[i] for name, values in features.items() if values[i] is not None}
            choice = self._parse_cells({name: values[i] for name, values in block.unchanged.items()})
            return LoggedChoice(place, x, tasks[i], *choice, None if seconds is None else float(seconds[i]))

        tasks = block.tasks.tolist()
        yield from self._parse_all(parse, zip(block.place.tolist(), range(len(block)), strict=True))

    def _parse_cells(
        self, cells: Mapping[str, Any]
    ) -> tuple[Action, float | None, float, list[Action] | None, list[float] | None]:
        """Return action, reward, probability, actions and probabilities of a row."""
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
        return action, reward, p, [action if name == label else name for name in offered], list(offered.values())

    # -- Vowpal Wabbit's text -------------------------------------------------------------------------------------

    def _lines(self, source: Source) -> Iterator[tuple[int, bytes]]:
        """Yield the non-empty lines with their numbers."""
        for records in text_records(source, split_lines, self._faults):
            for row, line in enumerate(records.line.tolist()):
                data = records.record(row).strip()
                if data:
                    yield line, data

    def _examples(self, source: Source) -> Iterator[tuple[int, list[tuple[int, str]]]]:
        """Yield the number of the first line of each example, and its lines with their numbers."""
        lines: list[tuple[int, str]] = []
        for line, data in self._lines(source):
            if lines and line != lines[-1][0] + 1:
                yield lines[0][0], lines
                lines = []
            lines.append((line, data.decode()))
        if lines:
            yield lines[0][0], lines

    def _parse_example(self, place: PlaceInLog, lines: list[tuple[int, str]]) -> LoggedChoice | None:
        """Parse an example of ``cb_adf``; None if it has no cost."""
        task_space = self._named.task
        x: Json = {}
        task: str | None = None
        actions: list[Action] = []
        outcome: tuple[int, float, float] | None = None
        for line, text in lines:
            try:
                head, bar, features = text.partition("|")
                words = head.split()
                if not bar:
                    raise InputError("the line has no '|' before its features")
                if words[:1] == ["shared"]:
                    if actions or x:
                        raise InputError("'shared' must be the first line of an example, before its actions")
                    task = None if task_space is None else _first_feature(features, task_space)
                    x = _namespaces(features, (*self._named.ignore, task_space))
                    continue
                if words and ":" in words[0]:
                    if outcome is not None:
                        message = f"{shown(words[0])} is a second cost in one example: examples end with an empty line"
                        raise InputError(f"{message}, as in cb_adf; cb text is not supported")
                    outcome = len(actions), *_cost_and_probability(words[0])
                actions.append(_namespaces(features, self._named.ignore))
            except InputError as error:
                error.line = line
                raise
        if task_space is not None and task is None:
            known = ", ".join(map(shown, re.findall(r"\|([^\s|:]+)", lines[0][1])[:20])) or "nothing"
            raise InputError(f"the namespace {task_space!r} of the task is empty or missing; found {known}")
        if outcome is None:
            return None
        index, cost, p = outcome
        return LoggedChoice(place, x, task, actions[index], -cost, p, actions)

    # -- Vowpal Wabbit's JSON -------------------------------------------------------------------------------------

    def _parse_event(self, place: PlaceInLog, data: bytes) -> LoggedChoice | None:
        """Parse an event of dsjson; None if it has no cost."""
        try:
            event = _EVENTS.decode(data)
        except (msgspec.DecodeError, RecursionError) as error:
            raise InputError(f"is not a dsjson event: {str(error) or 'too deeply nested'}") from None
        if event.cost is None or event.skipped:
            return None
        offered = event.context.pop("_multi", None)
        if not isinstance(offered, list) or not offered:
            raise InputError("it has no actions: expected 'c' with a list '_multi'")
        x, *actions = (_flatten(features, self._named.ignore) for features in (event.context, *offered))
        task, name = None, self._named.task
        if name is not None:
            keys = [name] if name in x else [key for key in x if key.rpartition(".")[2] == name]
            if len(keys) != 1 or not isinstance(x[keys[0]], (str, int)):
                known = ", ".join(map(shown, list(x)[:20])) or "nothing"
                raise InputError(f"it has no column {name!r} for the task; it has {known}")
            task = x.pop(keys[0])
        index, probabilities = event.find_action(len(actions)), event.sort_probabilities(len(actions))
        p = _probability(event.probability, "_label_probability")
        if probabilities is not None and abs(probabilities[index] - p) > _ROUNDED:
            raise InputError(
                f"'p' has {probabilities[index]:g} for the chosen action, but '_label_probability' is {p:g}"
            )
        weight = 1.0 / (1.0 - (event.dropped or 0.0))
        return LoggedChoice(place, x, task, actions[index], -event.cost, p, [*actions], probabilities, weight=weight)


def read_log(
    source: str | PathLike[str] | Sequence[str | PathLike[str]],
    columns: LogColumns,
) -> LogReader:
    """Open the files of a log; iterate over the result to get one `LoggedChoice` per row.

    Parameters
    ----------
    source : path, URL, glob, "-" or list of them
        The files, one after the other.
    columns : LogColumns
        The roles of the columns, and the format: ``"csv"``, ``"tsv"``, ``"jsonl"``, ``"parquet"``, ``"arrow"``,
        ``"vw"`` or ``"dsjson"``, if the ending does not tell. JSON Lines whose first object has ``_label_cost`` are
        dsjson.

    Raises
    ------
    InputError, FieldError
        At once for files and arguments; for rows, with file and line, while reading.
    """
    paths = find_paths(source)
    kinds = [_detect_log_format(path, columns.format) for path in paths]
    for kind in dict.fromkeys(kinds):
        if kind in TABLES:
            columns.require_for_table()
        else:
            columns.require_for_rows(kind)
    return LogReader(paths, kinds, columns)


def _detect_log_format(path: str, name: str | None) -> str:
    if name == DSJSON or (name is None and path != STDIN and format_suffix(path) == DSJSON):
        return DSJSON
    kind = detect_format(path, name)
    if kind == "svmlight":
        raise FieldError("{} svmlight is not supported for choices: its rows have one label each", "format")
    if kind == "jsonl" and name is None and path != STDIN:
        with suppress(OSError), reading(path), Source(path) as source:
            if b'"_label_cost"' in source.read(1 << 20).partition(b"\n")[0]:
                return DSJSON
    return kind


# -- cells of tables ------------------------------------------------------------------------------------------------


def _number(value: Any, column: str | None = None) -> float | None:
    """Convert a cell to a number, None if it is empty."""
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
    """Convert a cell to the probability of the chosen action."""
    p = _number(value, column)
    if p is None:
        raise InputError("the probability is missing", column=column)
    if not 0.0 < p <= 1.0:
        raise InputError(f"the probability {p:g} of the chosen action must be above 0 and at most 1", column=column)
    return p


def _probability_columns(words: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """Map each action to its column: by the star in a pattern, a word before ``=``, or the column's name."""
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
    """Convert a column of features to numbers, strings, dates or lists of strings; None if a value is missing."""
    import pyarrow as pa

    from coterie.inputs.columns import plain

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


# -- Vowpal Wabbit --------------------------------------------------------------------------------------------------


def _cost_and_probability(word: str) -> tuple[float, float]:
    """Parse a label ``action:cost:probability``."""
    parts = word.split(":")
    if len(parts) != 3:
        raise InputError(f"the label {shown(word)} is not of the form 0:cost:probability")
    cost = _number(parts[1])
    if cost is None:
        raise InputError(f"the label {shown(word)} has no cost")
    return cost, _probability(parts[2])


def _first_feature(text: str, namespace: str) -> str | None:
    """Return the first feature of a namespace, None if it has none."""
    for part in text.split("|"):
        words = part.split()
        if len(words) > 1 and not part[0].isspace() and words[0].partition(":")[0] == namespace:
            return words[1].partition(":")[0]
    return None


def _namespaces(text: str, ignored: Sequence[str | None]) -> Json:
    """Parse the features after the first bar: names without values become a list per namespace, others numbers.

    >>> _namespaces("s ann age:0.5 |t:2 hour:3 |  free", ())
    {'s': ['ann'], 's^age': 0.5, 't^hour': 6.0, '_': ['free']}
    """
    features: Json = {}
    for part in text.split("|"):
        words = part.split()
        name, factor = "", 1.0
        if words and not part[0].isspace():
            name, colon, weight = words.pop(0).partition(":")
            factor = _value(weight, weight) if colon else 1.0
        if name in ignored:
            continue
        for word in words:
            feature, colon, value = word.partition(":")
            if colon or factor != 1.0:
                key = f"{name}^{feature}" if name else feature
                features[key] = features.get(key, 0.0) + factor * (_value(value, word) if colon else 1.0)
            else:
                features.setdefault(name or "_", []).append(feature)
    return features


def _value(text: str, word: str) -> float:
    with suppress(ValueError):
        value = float(text)
        if math.isfinite(value):
            return value
    raise InputError(f"{shown(word)} is not a finite number")


def _flatten(features: object, ignored: Sequence[str] = (), prefix: str = "") -> Json:
    """Name the features of nested objects by their paths, joined by dots; omit names that start with ``_``.

    >>> _flatten({"User": {"id": "ann", "age": 3, "likes": ["a", "b"], "at": [0.5, 2]}, "_tag": "x"})
    {'User.id': 'ann', 'User.age': 3, 'User.likes': ['a', 'b'], 'User.at.0': 0.5, 'User.at.1': 2}
    """
    if not isinstance(features, dict):
        raise InputError(f"{shown(msgspec.json.encode(features))} is not a JSON object of features")
    flat: Json = {}
    for key, value in features.items():
        name = f"{prefix}{key}"
        if key.startswith("_") or name in ignored or value is None:
            continue
        if isinstance(value, dict):
            flat |= _flatten(value, ignored, f"{name}.")
        elif isinstance(value, list) and value and all(isinstance(item, str) for item in value):
            flat[name] = value
        elif isinstance(value, list):
            flat |= _flatten({str(j): item for j, item in enumerate(value)}, ignored, f"{name}.")
        else:
            flat[name] = spell(value) if isinstance(value, bool) else value
    return flat


_KEYS = {
    "cost": "_label_cost",
    "probability": "_label_probability",
    "index": "_labelIndex",
    "number": "_label_Action",
    "skipped": "_skipLearn",
    "context": "c",
    "ranking": "a",
    "probabilities": "p",
    "dropped": "pdrop",
}


class _Event(msgspec.Struct, rename=_KEYS):
    """An event of dsjson: actions are numbered from 1 in ``ranking`` and ``number``, from 0 in ``index``."""

    cost: float | None = None
    probability: float | None = None
    index: int | None = None
    number: int | None = None
    skipped: bool | None = None
    context: Json = {}
    ranking: list[int] | None = None
    probabilities: list[Annotated[float, msgspec.Meta(ge=0, le=1)]] | None = None
    dropped: Annotated[float, msgspec.Meta(ge=0, lt=1)] | None = None

    def find_action(self, n: int) -> int:
        """Return the index of the chosen action among the n offered."""
        first = self.ranking[0] if self.ranking else 0
        index = self.index if self.index is not None else (self.number or first) - 1
        if not 0 <= index < n:
            raise InputError(f"'_labelIndex' is {self.index!r}, expected the index of one of {n} actions, from 0")
        return index

    def sort_probabilities(self, n: int) -> list[float] | None:
        """Return the probabilities of the n actions in order; None if the event does not have them all."""
        order, p = self.ranking, self.probabilities
        if order is None or p is None or len(order) != n or len(p) != n:
            return None
        if sorted(order) != list(range(1, n + 1)):
            raise InputError(f"'a' is {clipped(str(order))}, expected the numbers of {n} actions, from 1")
        if abs(sum(p) - 1.0) > _ROUNDED:
            raise InputError(f"'p' is {clipped(str(p))}, expected {n} probabilities whose sum is 1")
        return [chance for _, chance in sorted(zip(order, p, strict=True))]


_EVENTS = msgspec.json.Decoder(_Event)
