"""Encoders of records as feature rows, decided by the first records and fixed from then on."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from coterie.multiview.vocabularies import concatenated, one_record
from coterie.numeric.core.checks import require
from coterie.numeric.core.hashing import feature_hash
from coterie.numeric.core.logs import signed_log, take_logs
from coterie.numeric.core.moments import WIDTH, from_saved, z_score
from coterie.numeric.core.records import Csr
from coterie.numeric.text.rows import merge_repeats, place_column, standardise, unit_rows

from .dates import moment, part_keys, parts_of
from .errors import FieldError, InputError
from .faults import require_column
from .keys import (
    CONSTANT_KEY,
    HashedFeatures,
    is_missing,
    is_missing_word,
    keyed,
    missing_key,
    presence_column,
    presence_name,
)
from .names import Names
from .preparation import CONSTANT, SCALES, Learning, Preparation, runs_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from .faults import Fault

KINDS = ("numeric", "categorical", "date", "text", "items")
#: What a column of a kind holds, in words.
HOLDING = dict(zip(KINDS, ("numbers", "names", "dates", "text", "lists of words"), strict=True))
#: The kinds whose columns get an indicator of missing values.
_MARKED = ("numeric", "categorical", "date")
SOURCES = ("columns", "svmlight", "vw")
_MOST_BITS = 30


def _require(name: str, value: object, allowed: Sequence[object]) -> None:
    if value not in allowed:
        raise FieldError("{} is {value!r}; expected one of {all}", name, value=value, all=", ".join(map(repr, allowed)))


class _State(msgspec.Struct, forbid_unknown_fields=True):
    """The JSON data that :meth:`Encoder.to_state` returns."""

    columns: list[tuple[str, str]]
    label: str | None
    task: str | None
    bits: int
    constant: bool
    scale: str
    source: str
    indicators: bool = False
    missing: list[str] = []
    names: bool = True
    log: list[str] = []
    absences: bool = False
    presences: dict[str, int] = {}
    records: int = 0


class Encoder:
    r"""An encoder of records as rows of features; the same rows from a column of a file as from a dictionary.

    A feature has a key, and the key a column: where all features are numbers, the columns are the features in their
    order (kind ``"named"``, dense rows); else the column is ``feature_hash(key, bits)`` (kind ``"hashed"``, sparse rows
    of ``2**bits`` columns), and entries that meet in a column add up.

    ===========  ===================  ==================================================
    kind         key                  value
    ===========  ===================  ==================================================
    numeric      ``name``             the number; 0 where it is missing
    categorical  ``name=value``       1
    date         ``name.part=value``  1 for each of hour, weekday, month
    text         ``name^token``       log(1 + count of the token)
    items        ``name=item``        1 for each item of the list
    presence     no text              √(1 − ρ) where a number is present that is absent in a share 1 − ρ of the records
    constant     ``""``               1; the column ``constant`` behind those of a named encoder
    missing      ``name=``            1 where a number, a category or a date is missing
    ===========  ===================  ==================================================

    Null, NaN and the empty string are missing. Indicators come behind the constant, in the order in which values were
    first missing: a named encoder grows by a column then.

    A date is a date or datetime, or text in ISO 8601. Its parts are those of the clock on the spot: where it has a time
    zone, the one that shows there.

    Of columns ``log`` the number x is sign(x) · log(1 + |x|), before it is scaled: for amounts and counts.

    Scaling ``"standard"`` replaces a number by its z-score over the records seen so far, this one included (0 while all
    were equal, and for null); ``"unit"`` divides every row by its Euclidean norm, the constant included; ``"auto"``
    does both in this order.

    Parameters
    ----------
    columns : sequence of (name, kind)
        The feature columns in their order; kinds as in the table.
    label, task : str, optional
        The columns that hold the label and the task.
    bits : int, default 18
        A hashed encoder has ``2**bits`` columns, 1 ≤ bits ≤ 30.
    constant : bool, default True
        True to give each row the constant feature.
    scale : {"none", "standard", "unit", "auto"}, default "none"
    source : {"columns", "svmlight", "vw"}, default "columns"
        The form of records: named columns, or rows of a format that names features itself.
    indicators : bool, default True
        False to give what is missing no feature.
    names : bool, default True
        True to keep names of hashed features, the first that each column has, for explanations; of 65,536 columns at
        most. (The features of svmlight are numbers, and named columns have names anyhow.)
    log : sequence of str
        The numeric columns whose logarithms are taken.
    absences : bool, default False
        True to read null as an absent name, as in JSON Lines, and NaN or an empty text as missing; else all is missing.

    Attributes
    ----------
    kind : {"named", "hashed"}
    n_features : int
    preparation : Preparation
        The constant, scales and marks of what is missing; the moments are those of the numeric columns.
    names : Names
        The names of hashed features that are kept.

    Examples
    --------
    >>> encoder = Encoder([("price", "numeric"), ("shop", "categorical")], bits=10)
    >>> encoder.kind, encoder.n_features
    ('hashed', 1024)
    >>> indices, values = encoder.encode_one({"price": 2.5, "shop": "north"})
    >>> [int(i) for i in indices] == [feature_hash(key, 10) for key in ("price", "shop=north", "")]
    True
    >>> values.tolist()
    [2.5, 1.0, 1.0]
    """

    def __init__(
        self,
        columns: Iterable[tuple[str, str]],
        *,
        label: str | None = None,
        task: str | None = None,
        bits: int = 18,
        constant: bool = True,
        scale: str = "none",
        source: str = "columns",
        indicators: bool = True,
        names: bool = True,
        log: Iterable[str] = (),
        absences: bool = False,
    ) -> None:
        self.columns = tuple((str(name), kind) for name, kind in columns)
        self.log = tuple(dict.fromkeys(log))
        self.label, self.task, self.bits, self.constant = label, task, bits, constant
        self.scale, self.source = scale, source
        self._validate()
        self.kind = "named" if source == "columns" and all(k == "numeric" for _, k in self.columns) else "hashed"
        self._numeric = {name: row for row, name in enumerate(n for n, k in self.columns if k == "numeric")}
        logs = [self._numeric[name] for name in self.log]
        self.preparation = Preparation(constant, scale, len(self._numeric), logs, indicators, absences)
        self._fitting: pa.Schema | None = None
        self._keeps_names = names
        self.names = Names(bits, self._names_hashed)
        self._note_columns()

    def _validate(self) -> None:
        _require("scale", self.scale, SCALES)
        _require("source", self.source, SOURCES)
        for name, kind in self.columns:
            _require(f"the kind of column {name!r}", kind, KINDS)
        if len(dict(self.columns)) < len(self.columns):
            raise ValueError(f"a column is named twice among {[name for name, _ in self.columns]!r}")
        for name in self.log:
            if dict(self.columns).get(name) != "numeric":
                raise FieldError("{} takes columns of numbers, and {name!r} is none of them", "log", name=name)
        if not 1 <= self.bits <= _MOST_BITS:
            message = "{} is {value!r}; expected a whole number from 1 to {most}"
            raise FieldError(message, "bits", value=self.bits, most=_MOST_BITS)
        if self.source != "columns" and self.scale == "standard":
            message = "{}='standard' needs columns of numbers, which {source} rows do not have"
            raise FieldError(message, "scale", source=self.source)

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """The names of the columns of a named encoder; None for a hashed one."""
        if self.kind == "hashed":
            return None
        return (*self._numeric, *self.preparation.names_behind(list(self._numeric)))

    @property
    def n_features(self) -> int:
        """The width of a row."""
        return 1 << self.bits if self.kind == "hashed" else self.preparation.features

    @property
    def moments(self) -> NDArray[np.float64]:
        """The moments of the numeric columns, shape (n, 7)."""
        return self.preparation.moments if self.preparation.standardised else np.zeros((len(self._numeric), WIDTH))

    @property
    def missing(self) -> list[str]:
        """The columns of which a value was missing, in the order of the first such record."""
        return [self.columns[j][0] for j in self.preparation.missing if j >= 0]

    @property
    def absences(self) -> bool:
        """True if a null number is an absent name."""
        return self.preparation.absences

    @property
    def indicator_columns(self) -> int:
        """The number of columns that indicate missing values or presence, the last ones of a named encoder's rows."""
        return len(self.preparation.missing) if self.kind == "named" else 0

    @property
    def _names_hashed(self) -> bool:
        """True where names are hashed, and to be kept."""
        return self._keeps_names and self.kind == "hashed" and self.source != "svmlight"

    def _note_columns(self) -> None:
        """Note the names that are known before any record."""
        numbers = [name for name, kind in self.columns if kind == "numeric"]
        self.names.add([*numbers, *([CONSTANT_KEY] if self.constant else [])])

    def name_of(self, column: int) -> str | None:
        """The name of a column's feature, as far as known; of several in one hashed column the first that came."""
        known = self.feature_names
        if known is not None:
            return known[column]
        name = self.names.of(column)
        if name is None and self.constant and column == feature_hash(CONSTANT_KEY, self.bits):
            return CONSTANT
        if name is None and self.names.kept:
            keys = {feature_hash(key, self.bits): key for key in map(missing_key, self.missing)}
            if self.absences:
                keys |= {presence_column(each, self.bits): presence_name(each) for each in self._numeric}
            return keys.get(column)
        return CONSTANT if name == CONSTANT_KEY else name

    @property
    def _said(self) -> dict[str, Any]:
        """The arguments by which a file and an encoder made anew say the same."""
        return {name: getattr(self, name) for name in ("label", "task", "bits", "constant", "scale", "source")}

    def __repr__(self) -> str:
        given = self._said | {"names": self._keeps_names} | ({"log": list(self.log)} if self.log else {})
        return f"Encoder({list(self.columns)!r}, {', '.join(f'{name}={held!r}' for name, held in given.items())})"

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what `from_state` needs: a dictionary with a JSON form, and named arrays."""
        columns = [list(column) for column in self.columns]
        spec = {"columns": columns, **self._said, "names": self._keeps_names}
        gaps = {"indicators": True, "missing": self.missing} if self.preparation.indicators else {}
        logs = {"log": list(self.log)} if self.log else {}
        arrays = {"moments": self.moments.copy()} | self.names.to_arrays()
        absences: dict[str, Any] = {}
        if self.absences:
            places = {self.columns[~j][0]: k for k, j in enumerate(self.preparation.missing) if j < 0}
            arrays["columns"] = self.preparation.absence_counts
            absences = {"absences": True, "presences": places, "records": self.preparation.records}
        return {**spec, **gaps, **logs, **absences}, arrays

    @classmethod
    def from_state(cls, spec: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Encoder:
        """Build the encoder that `to_state` described, with what it had learned.

        Raises
        ------
        ValueError
            If it described none, or the moments or names are none of its columns.
        """
        held = msgspec.structs.asdict(msgspec.convert(spec, _State))
        missing, presences, records = (held.pop(name) for name in ("missing", "presences", "records"))
        encoder = cls(**held)
        kinds = dict(encoder.columns)
        fits = all(kinds.get(name) in _MARKED for name in missing) and encoder.preparation.indicators
        if missing and not (fits and len(set(missing)) == len(missing)):
            raise ValueError("columns of which values are missing are none of the encoder's")
        encoder.preparation.missing = [list(kinds).index(name) for name in missing]
        moments = from_saved(arrays["moments"], len(encoder.moments))
        if encoder.preparation.standardised:
            encoder.preparation.restore_moments(moments)
        if encoder.absences:
            encoder.preparation.restore_columns(np.array(arrays["columns"]), records)
            for name, place in sorted(presences.items(), key=lambda item: item[1]):
                require(name in encoder._numeric, f"presence of {name!r}, which is not a column of numbers")
                encoder.preparation.missing.insert(place, ~list(kinds).index(name))
        encoder.names = Names.from_arrays(encoder.bits, encoder._names_hashed, arrays)
        encoder._note_columns()
        return encoder

    def copy(self) -> Encoder:
        """Copy the encoder with its state; the copy learns on its own."""
        made = copy.copy(self)  # all else never changes
        made.preparation, made.names = copy.deepcopy(self.preparation), self.names.copy()
        return made

    def snapshot(self) -> Callable[[], None]:
        """A function that undoes what the encoder learns from now on."""
        undo_scales, names = self.preparation.restoring(), self.names.mark()

        def undo() -> None:
            undo_scales()
            self.names.restore(names)

        return undo

    def faults(self, batch: pa.RecordBatch | pa.Table) -> Iterator[Fault]:
        """Yield the faults of rows that cannot be encoded: infinite or too large numbers, and impossible dates."""
        from .columns import date_faults, fits, number_faults, plain

        if self._fitting is None or not batch.schema.equals(self._fitting):  # the same from batch to batch
            types = dict(zip(batch.schema.names, batch.schema.types, strict=True))
            for name, kind in self.columns:
                require_column(name, types)
                if not fits(types[name], kind):
                    raise InputError(f"it holds {types[name]}; expected {HOLDING[kind]}", column=name)
            self._fitting = batch.schema
        yield from number_faults(batch, [name for name, kind in self.columns if kind == "numeric"])
        for name, kind in self.columns:
            if kind == "date":
                yield from date_faults(name, plain(batch.column(name)))

    def encode(self, batch: pa.RecordBatch | pa.Table, update: Learning = True) -> NDArray[np.float64] | csr_array:
        """Encode the rows of an Arrow batch or table.

        Parameters
        ----------
        batch : pyarrow.RecordBatch or pyarrow.Table
            Has at least the encoder's columns.
        update : bool or ndarray of bool, default True
            Whether running scales learn from these rows, or from each of them; else they are used unchanged.

        Returns
        -------
        ndarray or csr_array, shape (n, n_features)
            Dense for a named encoder; O(n·columns) plus the bytes of its texts.

        Raises
        ------
        InputError
            A column is missing or of another type, or a number is not finite; nothing is learned then.
        """
        for fault in self.faults(batch):
            raise InputError(fault.message, line=fault.row + 1, column=fault.column)
        return self.encode_sound(batch, update)

    def encode_sound(
        self, batch: pa.RecordBatch | pa.Table, update: Learning = True
    ) -> NDArray[np.float64] | csr_array:
        """Encode a batch in which `faults` finds none."""
        return self._dense(batch, update) if self.kind == "named" else self._hashed(batch, update)

    def _dense(self, batch: pa.RecordBatch | pa.Table, update: Learning) -> NDArray[np.float64]:
        from .columns import number_columns

        values, there = number_columns(batch, list(self._numeric))
        X = np.array(values.T, order="C")
        if there is not None:
            X[~there.T] = self._null
        return self.preparation.columns(X, update)

    @property
    def _null(self) -> float:
        """The number that stands for a null in the numbers to be scaled."""
        return np.inf if self.absences else np.nan

    def _hashed(self, batch: pa.RecordBatch | pa.Table, update: Learning) -> csr_array:
        from .columns import plain

        gaps: dict[str, NDArray[np.bool_]] = {}
        parts = [self._entries(name, kind, plain(batch.column(name)), update, gaps) for name, kind in self.columns]
        self.names.count(batch.num_rows if np.any(update) else 0)
        learned = {name: gap & update for name, gap in gaps.items()}
        places = [(j, learned[name]) for j, (name, _) in enumerate(self.columns) if name in learned]
        self.preparation.note_missing({j: int(gap.argmax()) for j, gap in places if gap.any()})
        self.preparation.count_records(update, batch.num_rows)
        return self.assemble(parts, batch.num_rows, [(name, gaps[name]) for name in self.missing if name in gaps])

    def _entries(
        self, name: str, kind: str, array: pa.Array, update: Learning, gaps: dict[str, NDArray[np.bool_]]
    ) -> HashedFeatures:
        """The entries of a column; where it lacks a value is noted."""
        from . import columns

        if kind == "date":
            return self._dates(name, array, update, gaps)
        if kind != "numeric":
            hashed = {"categorical": columns.categories, "text": columns.texts, "items": columns.items}[kind]
            made = hashed(name, array, self.names if np.any(update) else Names(self.bits, kept=False))
            if kind == "categorical":
                self._note_gap(name, made.counts == 0, array, gaps)
            return made
        values = np.where(columns.present(array), columns.numbers(array), self._null)
        missing = np.isnan(values)
        if missing.any():
            gaps[name] = missing
        if name in self.log:
            take_logs(values := np.array(values)[:, None], np.zeros(1, np.int64))
            values = values[:, 0]
        if self.absences:
            return self._with_presences(name, values, update)
        values = self._standardised(name, values, ~missing, update)
        indices = np.full(int((~missing).sum()), feature_hash(name, self.bits), np.int32)
        return HashedFeatures((~missing).astype(np.int64), indices, values[~missing])

    def _with_presences(self, name: str, values: NDArray[np.float64], update: Learning) -> HashedFeatures:
        """The entries of a column of numbers, of which some are absent: values and presences."""
        scaled, presences = self.preparation.scale(values[:, None], self._numeric[name], update)
        entries = np.hstack([scaled, presences])
        used = np.column_stack([np.isfinite(values), presences > 0.0])
        both = feature_hash(name, self.bits), presence_column(name, self.bits)
        indices = np.broadcast_to(np.array(both, np.int32), entries.shape)
        return HashedFeatures(used.sum(1), indices[used], entries[used])

    def _note_gap(
        self, name: str, empty: NDArray[np.bool_], array: pa.Array, gaps: dict[str, NDArray[np.bool_]]
    ) -> None:
        """Note where a column has no value but those that are absent."""
        from .columns import present

        gap = empty & present(array) if self.absences else empty
        if gap.any():
            gaps[name] = gap

    def _dates(
        self, name: str, array: pa.Array, update: Learning, gaps: dict[str, NDArray[np.bool_]]
    ) -> HashedFeatures:
        """The entries of a column of dates."""
        from .columns import date_features, dates

        found = dates(array)
        self._note_gap(name, ~found.present, array, gaps)
        return date_features(name, found, self.names if np.any(update) else Names(self.bits, kept=False))

    def _standardised(
        self, name: str, values: NDArray[np.float64], there: NDArray[np.bool_], update: Learning
    ) -> NDArray[np.float64]:
        """The numbers of a column, as z-scores where the scale asks for it."""
        if not self.preparation.standardised:
            return values
        scaled = np.empty(len(values))
        values, there = np.array(values), np.array(there)
        for first, last, learned in runs_of(update, len(values)):
            rows = values[first:last], there[first:last]
            standardise(*rows, self.moments, self._numeric[name], learned, scaled[first:last])
        return scaled

    @property
    def length_column(self) -> int:
        """The column of the constant, by whose entry the other entries are to be divided to become z-scores, or -1."""
        column = self.preparation.length_column
        return feature_hash(CONSTANT_KEY, self.bits) if column >= 0 and self.kind == "hashed" else column

    def assemble(
        self, parts: Sequence[HashedFeatures], n: int, gaps: Sequence[tuple[str, NDArray[np.bool_]]] = ()
    ) -> csr_array:
        """Join hashed features of n rows: side by side, the constant, gaps; repeats added up, rows at unit length."""
        from scipy.sparse import csr_array

        ones = np.full(n if self.constant else 0, feature_hash(CONSTANT_KEY, self.bits), np.int32)
        counts = np.full(n, int(self.constant), np.int64)
        everything = [*parts, (counts, ones, np.ones(len(ones)))]
        for name, gap in gaps:
            marks = np.full(int(gap.sum()), feature_hash(missing_key(name), self.bits), np.int32)
            everything.append((gap.astype(np.int64), marks, np.ones(len(marks))))
        indptr = np.zeros(n + 1, np.int64)
        np.cumsum(sum(part[0] for part in everything), out=indptr[1:])
        indices, values = np.empty(indptr[-1], np.int32), np.empty(indptr[-1])
        cursor = indptr[:-1].copy()
        for part in everything:
            place_column(*part, cursor, indices, values)
        stored = merge_repeats(indptr, indices, values)
        if self.preparation.unit:
            unit_rows(indptr, values)
        return csr_array((values[:stored], indices[:stored], indptr), shape=(n, self.n_features))

    def encode_one(
        self, record: Mapping[str, Any], update: bool = True
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Encode one record like a batch of one row; names that the encoder does not know are ignored.

        Where rows name their features themselves, every name is a feature, as `keys_of` tells them, and its value a
        number: ``{"namespace^feature": 1}`` as in Vowpal Wabbit's text, ``{"3": 0.5}`` as in svmlight.

        Returns
        -------
        indices : ndarray of int32
            Columns, each once; all of them, in order, for a named encoder.
        values : ndarray of float64

        Raises
        ------
        InputError
            A value does not fit its column; nothing is learned then.
        """
        gaps, features = self._features(record)
        if self.kind == "named":
            numbers = np.full((1, len(self._numeric)), self._null)
            numbers[0, [self._numeric[name] for name in gaps]] = np.nan
            numbers[0, [self._numeric[key] for _, (key, _) in features]] = [value for _, (_, value) in features]
            row = self.preparation.columns(numbers, update)[0]
            return np.arange(len(row), dtype=np.int32), row
        if update:
            self.names.add(key for _, (key, _) in features if self.source != "svmlight")
            self.names.count(1)
            if gaps:
                marked = [j for j, (name, kind) in enumerate(self.columns) if kind in _MARKED and name in gaps]
                self.preparation.note_missing(dict.fromkeys(marked, 0))
        pairs = [pair for kind, (key, value) in features for pair in self._scaled_pairs(kind, key, value, update)]
        if self.absences and update:
            for name, kind in self.columns:
                if kind == "numeric" and name in gaps:
                    self._scaled_pairs(kind, name, np.nan, update)
            self.preparation.count_records(True, 1)
        marks = [CONSTANT_KEY] * self.constant + [missing_key(name) for name in self.missing if name in gaps]
        held: dict[int, float] = {}
        for j, value in [*pairs, *((feature_hash(key, self.bits), 1.0) for key in marks)]:
            if value != 0.0:  # as in a batch, a zero takes no place among the entries
                held[j] = held.get(j, 0.0) + value
        held = {j: value for j, value in held.items() if value != 0.0}
        columns, values = np.array([*held], np.int32), np.array([*held.values()], np.float64)
        if self.preparation.unit:
            unit_rows(one_record(len(values)), values)
        return columns, values

    def records(self, records: Sequence[Mapping[str, Any]], update: Learning) -> Csr:
        """Encode records one by one."""
        each = np.broadcast_to(update, len(records)).tolist()
        parts = [self.encode_one(record, learned) for record, learned in zip(records, each, strict=True)]
        return concatenated([Csr(values, columns, one_record(len(values))) for columns, values in parts])

    def keys_of(self, record: Mapping[str, Any]) -> list[str]:
        """The keys of a record's features, then that of the constant, then those of missing values."""
        gaps, features = self._features(record)
        found = [key for _, (key, _) in features if self.source != "svmlight"]
        return [*found, *[CONSTANT_KEY] * self.constant, *(missing_key(name) for name in self.missing if name in gaps)]

    def _features(self, record: Mapping[str, Any]) -> tuple[set[str], list[tuple[str, tuple[str, float]]]]:
        """The columns without a value, and the kind, key and value of each feature."""
        columns = self.columns if self.source == "columns" else [(str(name), "numeric") for name in record]
        held = record if self.source == "columns" else {str(name): value for name, value in record.items()}
        absent = {name for name, _ in columns if self.absences and name not in held}
        gaps = {
            name
            for name, kind in columns
            if is_missing(held.get(name)) or (kind in ("numeric", "date") and is_missing_word(held.get(name)))
        } - absent
        there = [(name, kind) for name, kind in columns if name not in gaps and name not in absent]
        return gaps, [(kind, pair) for name, kind in there for pair in self._keyed(name, kind, held[name])]

    def _index(self, key: str) -> int:
        """The column of a key, which in svmlight is its number."""
        if self.source != "svmlight":
            return feature_hash(key, self.bits)
        if not (key.isascii() and key.isdecimal() and int(key) < 1 << self.bits):
            raise InputError(f"is no whole number below {1 << self.bits:,}, as svmlight's features are", column=key)
        return int(key)

    def _keyed(self, name: str, kind: str, value: Any) -> list[tuple[str, float]]:
        """The keys and values of a value's features."""
        if kind != "date":
            return keyed(name, kind, value)
        at, keys = moment(value, name), part_keys(name)
        return [("=".join(keys[k]), 1.0) for k in parts_of(at.wall)]

    def _scaled_pairs(self, kind: str, key: str, value: float, update: bool) -> list[tuple[int, float]]:
        """The column and the scaled value of a feature, and of a number that may be absent those of its presence."""
        j = self._index(key)
        if not (self.absences and kind == "numeric"):
            return [(j, self._scaled(kind, key, value, update))]
        value = signed_log(value) if key in self.log else value
        scaled, presence = self.preparation.scale(np.array([[value]]), self._numeric[key], update)
        return [(j, float(scaled[0, 0])), (presence_column(key, self.bits), float(presence[0, 0]))]

    def _scaled(self, kind: str, key: str, value: float, update: bool) -> float:
        """Replace a number by its logarithm and its z-score, where these are asked for."""
        value = signed_log(value) if kind == "numeric" and key in self.log else value
        if key not in self._numeric or kind != "numeric" or not self.preparation.standardised:
            return value
        return float(z_score(value, self.preparation.compiled.moments, self._numeric[key], update))
