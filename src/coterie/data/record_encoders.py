"""Encoders of records from files as feature rows."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from coterie._compiled.core.checks import require
from coterie._compiled.core.hashing import feature_hash
from coterie._compiled.core.logs import take_logs
from coterie._compiled.core.moments import WIDTH, from_saved
from coterie._compiled.core.records import Csr
from coterie._compiled.text.rows import merge_repeats, place_column, standardise, unit_rows
from coterie.models.multiview.vocabularies import concatenated, one_record
from coterie.types import Array, Arrays, Fields, Flags, Floats, Json, Learning, Record

from .dates import moment, part_keys, parts_of
from .errors import FieldError, InputError
from .feature_keys import (
    CONSTANT_KEY,
    HashedFeatures,
    is_missing,
    is_missing_word,
    keyed,
    missing_key,
    presence_column,
    presence_name,
)
from .feature_names import Names
from .invalid_records import require_column
from .preprocessing import CONSTANT, SCALES, Preparation, runs_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from .invalid_records import Fault

KINDS = ("numeric", "categorical", "date", "text", "items")
#: The values of a column of each kind, in words.
HOLDING = dict(zip(KINDS, ("numbers", "names", "dates", "text", "lists of words"), strict=True))
#: The kinds whose columns get an indicator of missing values.
_MARKED = ("numeric", "categorical", "date")
SOURCES = ("columns", "svmlight", "vw")
_MOST_BITS = 30


def _require(name: str, value: object, allowed: Sequence[object]) -> None:
    if value not in allowed:
        raise FieldError("{} is {value!r}; expected one of {all}", name, value=value, all=", ".join(map(repr, allowed)))


class _State(msgspec.Struct, forbid_unknown_fields=True):
    """The JSON data of an encoder, from :meth:`RecordEncoder.to_state`."""

    columns: list[tuple[str, str]]
    label: str | None
    task: str | None
    bits: int
    constant: bool
    scale: str
    source: str
    missing: list[str] = []
    names: bool = True
    log: list[str] = []
    weight: str | None = None
    absences: bool = False
    presences: dict[str, int] = {}
    records: int = 0


class RecordEncoder:
    r"""An encoder of records as rows of features; files and dictionaries have the same rows.

    Every feature has a key, and every key a column. If all features are numbers, the columns are the features in their
    order (kind ``"named"``, dense rows). Otherwise the column is ``feature_hash(key, bits)`` (kind ``"hashed"``, sparse
    rows of ``2**bits`` columns), and entries of the same column are added.

    ===========  ===================  ==================================================
    kind         key                  value
    ===========  ===================  ==================================================
    numeric      ``name``             the number; 0 if it is missing
    categorical  ``name=value``       1
    date         ``name.part=value``  1 for each of hour, weekday, month
    text         ``name^token``       log(1 + count of the token)
    items        ``name=item``        1 for each item of the list
    presence     no text              √(1 − ρ) if a number is present that is absent in a share 1 − ρ of the records
    constant     ``""``               1; the column ``constant`` behind those of a named encoder
    missing      ``name=``            1 if a number, a category or a date is missing
    ===========  ===================  ==================================================

    Null, NaN and the empty string are missing. A named encoder gets one more column for each missing-value indicator,
    after the constant, in the order of the first records with such a gap.

    A date is a date or datetime, or text in ISO 8601. Its parts are those of the local clock in its time zone.

    A number x of the columns ``log`` becomes sign(x) · log(1 + |x|) before it is scaled: for amounts and counts.

    Scaling ``"standard"`` replaces a number by its z-score over the records seen so far, this one included (0 while all
    were equal, and for null); ``"unit"`` divides every row by its Euclidean norm, the constant included; ``"auto"``
    does both in this order.

    Parameters
    ----------
    columns : sequence of (name, kind)
        The feature columns in their order; kinds as in the table.
    label, task : str, optional
        The columns of the label and of the task.
    bits : int, default=18
        A hashed encoder has ``2**bits`` columns, 1 ≤ bits ≤ 30.
    constant : bool, default=True
        True to give each row the constant feature.
    scale : {"none", "standard", "unit", "auto"}, default="none"
    source : {"columns", "svmlight", "vw"}, default="columns"
        The form of records: named columns, or rows of a format that names features itself.
    names : bool, default=True
        True to store names of hashed features for explanations, the first one of each column, for 65,536 columns at
        most. (The features of svmlight are numbers, and named columns have names anyhow.)
    log : sequence of str
        The numeric columns to take the logarithm of.
    weight : str, optional
        The column of the weights of records that are learned.
    absences : bool, default=False
        True if names may be absent from records, as in JSON Lines; see :data:`coterie.data.columns.ABSENT`.

    Attributes
    ----------
    kind : {"named", "hashed"}
    n_features : int
    preparation : Preparation
        The constant, scales and indicators; the moments are those of the numeric columns.
    names : Names
        The names of hashed features.

    Examples
    --------
    >>> encoder = RecordEncoder([("price", "numeric"), ("shop", "categorical")], bits=10)
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
        names: bool = True,
        log: Iterable[str] = (),
        weight: str | None = None,
        absences: bool = False,
    ) -> None:
        self.columns = tuple((str(name), kind) for name, kind in columns)
        self.log = tuple(dict.fromkeys(log))
        self.label, self.task, self.bits, self.constant = label, task, bits, constant
        self.scale, self.source, self.weight = scale, source, weight
        self._validate()
        self.kind = "named" if source == "columns" and all(k == "numeric" for _, k in self.columns) else "hashed"
        self._numeric = {name: row for row, name in enumerate(n for n, k in self.columns if k == "numeric")}
        logs = [self._numeric[name] for name in self.log]
        self.preparation = Preparation(constant, scale, len(self._numeric), logs, absences)
        self._fitting: pa.Schema | None = None
        self._stores_names = names
        self.names = Names(bits, self._names_hashed)
        self._add_known_names()

    def _validate(self) -> None:
        _require("scale", self.scale, SCALES)
        _require("source", self.source, SOURCES)
        for name, kind in self.columns:
            _require(f"the kind of column {name!r}", kind, KINDS)
        if len(dict(self.columns)) < len(self.columns):
            raise ValueError(f"duplicate column names in {[name for name, _ in self.columns]!r}")
        for name in self.log:
            if dict(self.columns).get(name) != "numeric":
                raise FieldError("{} needs numeric columns; {name!r} is not numeric", "log", name=name)
        if not 1 <= self.bits <= _MOST_BITS:
            message = "{} is {value!r}; expected a whole number from 1 to {most}"
            raise FieldError(message, "bits", value=self.bits, most=_MOST_BITS)
        if self.source != "columns" and self.scale == "standard":
            message = "{}='standard' needs numeric columns, which {source} rows do not have"
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
    def moments(self) -> Floats:
        """The running moments of the numeric columns, shape (n, 7)."""
        return self.preparation.moments if self.preparation.standardised else np.zeros((len(self._numeric), WIDTH))

    @property
    def missing(self) -> list[str]:
        """The columns in which a value was missing, in the order of their first missing value."""
        return [self.columns[j][0] for j in self.preparation.missing if j >= 0]

    @property
    def absences(self) -> bool:
        """True if a record may lack a name, as in JSON Lines."""
        return self.preparation.absences

    @property
    def indicator_columns(self) -> int:
        """The number of indicators of missing values or presence: the last columns of a named encoder's rows."""
        return len(self.preparation.missing) if self.kind == "named" else 0

    def unseen_columns(self, X: Floats | csr_array) -> int:
        """Return the number of columns in X for first missing values in records that are not learned."""
        return X.shape[1] - self.n_features if self.kind == "named" else 0

    @property
    def _names_hashed(self) -> bool:
        """True if features are hashed and their names are stored."""
        return self._stores_names and self.kind == "hashed" and self.source != "svmlight"

    def _add_known_names(self) -> None:
        """Store the names of features that are known before the first record, such as numeric columns."""
        numbers = [name for name, kind in self.columns if kind == "numeric"]
        self.names.add([*numbers, *([CONSTANT_KEY] if self.constant else [])])

    def name_of(self, column: int) -> str | None:
        """Return the name of a column's feature (of a hashed column, its first feature); None if unknown."""
        known = self.feature_names
        if known is not None:
            return known[column]
        name = self.names.find_name(column)
        if name is None and self.constant and column == feature_hash(CONSTANT_KEY, self.bits):
            return CONSTANT
        if name is None and self.names.enabled:
            keys = {feature_hash(key, self.bits): key for key in map(missing_key, self.missing)}
            if self.absences:
                keys |= {presence_column(name, self.bits): presence_name(name) for name in self._numeric}
            return keys.get(column)
        return CONSTANT if name == CONSTANT_KEY else name

    @property
    def _arguments(self) -> Json:
        """The constructor's arguments that are stored in files and shown by ``repr``."""
        return {name: getattr(self, name) for name in ("label", "task", "bits", "constant", "scale", "source")}

    @property
    def _given(self) -> Json:
        """Further arguments, if they were given."""
        return ({"log": list(self.log)} if self.log else {}) | ({"weight": self.weight} if self.weight else {})

    def __repr__(self) -> str:
        options = self._arguments | {"names": self._stores_names} | self._given
        arguments = ", ".join(f"{name}={value!r}" for name, value in options.items())
        return f"RecordEncoder({list(self.columns)!r}, {arguments})"

    def to_state(self) -> tuple[Json, Arrays]:
        """Return the state for `from_state`: JSON data and named arrays."""
        columns = [list(column) for column in self.columns]
        spec = {"columns": columns, **self._arguments, "names": self._stores_names}
        arrays: Arrays = {"moments": self.moments.copy()} | self.names.to_arrays()
        absences: Json = {}
        if self.absences:
            places = {self.columns[~j][0]: k for k, j in enumerate(self.preparation.missing) if j < 0}
            arrays["columns"] = self.preparation.absence_counts
            absences = {"absences": True, "presences": places, "records": self.preparation.records}
        return {**spec, "missing": self.missing, **self._given, **absences}, arrays

    @classmethod
    def from_state(cls, spec: Fields, arrays: Mapping[str, Array]) -> RecordEncoder:
        """Restore an encoder from the result of `to_state`.

        Raises
        ------
        ValueError
            If the data do not fit an encoder, or the moments or names do not fit its columns.
        """
        arguments = msgspec.structs.asdict(msgspec.convert(spec, _State))
        missing, presences, records = (arguments.pop(name) for name in ("missing", "presences", "records"))
        encoder = cls(**arguments)
        kinds = dict(encoder.columns)
        if not all(kinds.get(name) in _MARKED for name in missing) or len(set(missing)) < len(missing):
            raise ValueError("unknown columns with missing values")
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
        encoder._add_known_names()
        return encoder

    def copy(self) -> RecordEncoder:
        """Copy the encoder with its state."""
        encoder = copy.copy(self)  # the other attributes never change
        encoder.preparation, encoder.names = copy.deepcopy(self.preparation), self.names.copy()
        return encoder

    def snapshot(self) -> Callable[[], None]:
        """Return a function that restores the state of this moment."""
        undo_scales, names = self.preparation.restoring(), self.names.mark()

        def undo() -> None:
            undo_scales()
            self.names.restore(names)

        return undo

    def faults(self, batch: pa.RecordBatch | pa.Table) -> Iterator[Fault]:
        """Yield an error for each number that is infinite or too large, and for each impossible date."""
        from .columns import date_faults, fits, number_faults, plain

        if self._fitting is None or not batch.schema.equals(self._fitting):  # the same from batch to batch
            types = dict(zip(batch.schema.names, batch.schema.types, strict=True))
            for name, kind in self.columns:
                require_column(name, types)
                if not fits(types[name], kind):
                    raise InputError(f"it has the type {types[name]}; expected {HOLDING[kind]}", column=name)
            self._fitting = batch.schema
        yield from number_faults(batch, [name for name, kind in self.columns if kind == "numeric"])
        for name, kind in self.columns:
            if kind == "date":
                yield from date_faults(name, plain(batch.column(name)))

    def encode(self, batch: pa.RecordBatch | pa.Table, update: Learning = True) -> Floats | csr_array:
        """Encode the rows of an Arrow batch or table.

        Parameters
        ----------
        batch : pyarrow.RecordBatch or pyarrow.Table
            Has at least the encoder's columns.
        update : bool or ndarray of bool, default=True
            True if running scales learn from these rows, or a flag for each; else they are used unchanged.

        Returns
        -------
        ndarray or csr_array, shape (n, n_features)
            Dense for a named encoder; time O(n·columns) plus the bytes of texts.

        Raises
        ------
        InputError
            If a column is missing or of another type, or a number is not finite; nothing is learned then.
        """
        for fault in self.faults(batch):
            raise InputError(fault.message, line=fault.row + 1, column=fault.column)
        return self.encode_sound(batch, update)

    def encode_sound(self, batch: pa.RecordBatch | pa.Table, update: Learning = True) -> Floats | csr_array:
        """Encode a batch that was checked to have no errors."""
        return self._dense(batch, update) if self.kind == "named" else self._hashed(batch, update)

    def _dense(self, batch: pa.RecordBatch | pa.Table, update: Learning) -> Floats:
        from .columns import number_columns

        values, present = number_columns(batch, list(self._numeric))
        X = np.array(values.T, order="C")
        if present is not None:
            np.copyto(X, self._nulls(batch), where=~present.T)
        return self.preparation.columns(X, update)

    def _nulls(self, batch: pa.RecordBatch | pa.Table) -> Floats:
        """Return the replacement of null for each numeric column: infinity if null means absent, NaN if missing."""
        from .columns import nulls_are_absent

        absent = [self.absences and nulls_are_absent(batch, name) for name in self._numeric]
        return np.where(absent, np.inf, np.nan)

    def _hashed(self, batch: pa.RecordBatch | pa.Table, update: Learning) -> csr_array:
        from . import columns

        numbers, present = columns.number_columns(batch, list(self._numeric))
        numbers = (numbers if present is None else np.where(present, numbers, self._nulls(batch)[:, None])).T
        scaled, presences = self._scale_numbers(numbers, update)
        gaps = {name: np.isnan(numbers[:, j]) for name, j in self._numeric.items()}
        names = self.names if np.any(update) else Names(self.bits, enabled=False)
        hash_values = {"categorical": columns.categories, "text": columns.texts, "items": columns.items}
        parts = []
        for name, kind in self.columns:
            if kind == "numeric":
                parts.append(self._hash_numbers(name, numbers, scaled, presences))
                continue
            array = columns.plain(batch.column(name))
            if kind == "date":
                moments = columns.dates(array)
                gaps[name] = ~moments.present
                parts.append(columns.date_features(name, moments, names))
            else:
                parts.append(hash_values[kind](name, array, names))
            if kind == "categorical":
                gaps[name] = parts[-1].counts == 0
            if name in gaps and self.absences and columns.nulls_are_absent(batch, name):
                gaps[name] &= columns.present(array)
        self.names.count(batch.num_rows if np.any(update) else 0)
        learned = {j: gaps[name] & update for j, (name, _) in enumerate(self.columns) if name in gaps}
        self.preparation.note_missing({j: int(gap.argmax()) for j, gap in learned.items() if gap.any()})
        self.preparation.count_records(update, batch.num_rows)
        marked = self._marked([name for name, gap in gaps.items() if gap.any()])
        return self.assemble(parts, batch.num_rows, [(name, gaps[name]) for name in marked])

    def _marked(self, gaps: Collection[str]) -> list[str]:
        """Return the names in ``gaps`` of columns with a missing-value indicator, in the order of the indicators."""
        known = self.missing
        new = [name for name, kind in self.columns if kind in _MARKED and name not in known]
        return [name for name in [*known, *new] if name in gaps]

    def _scale_numbers(self, numbers: Floats, update: Learning) -> tuple[Floats, Floats]:
        """Scale numbers, shape (n, k); return them and their presence indicators. NaN is missing, infinity absent."""
        if self.log:
            numbers = np.array(numbers, np.float64, order="C")
            take_logs(numbers, np.array([self._numeric[name] for name in self.log]))
        if self.absences:
            return self.preparation.scale(numbers, 0, update)
        if not self.preparation.standardised:
            return numbers, np.zeros(numbers.shape)
        columns = np.array(numbers.T, np.float64, order="C")
        scaled, present = np.empty(columns.shape), ~np.isnan(columns)
        for first, last, learned in runs_of(update, len(numbers)):
            for j in range(len(columns)):
                rows = columns[j, first:last], present[j, first:last]
                standardise(*rows, self.moments, j, learned, scaled[j, first:last])
        return scaled.T, np.zeros(numbers.shape)

    def _hash_numbers(self, name: str, numbers: Floats, scaled: Floats, presences: Floats) -> HashedFeatures:
        """Return the hashed entries of a numeric column: scaled values, and presence indicators if it may be absent."""
        j, indices = self._numeric[name], [feature_hash(name, self.bits)]
        entries, used = scaled[:, [j]], np.isfinite(numbers[:, [j]])
        if self.absences:
            entries, used = np.hstack([entries, presences[:, [j]]]), np.hstack([used, presences[:, [j]] > 0.0])
            indices.append(presence_column(name, self.bits))
        columns = np.broadcast_to(np.array(indices, np.int32), entries.shape)
        return HashedFeatures(used.sum(1), columns[used], entries[used])

    @property
    def length_column(self) -> int:
        """The index of the constant column, or -1; dividing a row by its constant undoes the scaling to unit length."""
        column = self.preparation.length_column
        return feature_hash(CONSTANT_KEY, self.bits) if column >= 0 and self.kind == "hashed" else column

    def assemble(self, parts: Sequence[HashedFeatures], n: int, gaps: Sequence[tuple[str, Flags]] = ()) -> csr_array:
        """Build sparse rows of hashed features, constant and indicators; sum duplicates, scale to unit length."""
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

    def encode_one(self, record: Json, update: bool = True) -> tuple[NDArray[np.int32], Floats]:
        """Encode one record, with the same result as a batch of one row; unknown names are ignored.

        For formats with named features, every name is a feature with a numeric value: ``{"namespace^feature": 1}`` as
        in Vowpal Wabbit text, ``{"3": 0.5}`` as in svmlight.

        Returns
        -------
        indices : ndarray of int32
            Columns, each once; all of them, in order, for a named encoder.
        values : ndarray of float64

        Raises
        ------
        InputError
            If a value does not fit its column; nothing is learned then.
        """
        gaps, features = self._features(record)
        numbers = np.full((1, len(self._numeric)), np.inf if self.absences else np.nan)
        if self.source == "columns":
            numbers[0, [self._numeric[name] for name in gaps if name in self._numeric]] = np.nan
            values = {self._numeric[key]: value for kind, (key, value) in features if kind == "numeric"}
            numbers[0, list(values)] = list(values.values())
        if self.kind == "named":
            row = self.preparation.columns(numbers, update)[0]
            return np.arange(len(row), dtype=np.int32), row
        if update:
            self.names.add(key for _, (key, _) in features if self.source != "svmlight")
            self.names.count(1)
            marked = [j for j, (name, kind) in enumerate(self.columns) if kind in _MARKED and name in gaps]
            self.preparation.note_missing(dict.fromkeys(marked, 0))
        scaled, presences = (row[0].tolist() for row in self._scale_numbers(numbers, update))
        pairs: list[tuple[int, float]] = []
        for kind, (key, value) in features:
            is_column = kind == "numeric" and self.source == "columns"
            pairs.append((self._index(key), scaled[self._numeric[key]] if is_column else value))
            if is_column and self.absences:
                pairs.append((presence_column(key, self.bits), presences[self._numeric[key]]))
        self.preparation.count_records(update, 1)
        marks = [CONSTANT_KEY] * self.constant + list(map(missing_key, self._marked(gaps)))
        sums: dict[int, float] = {}
        for j, value in [*pairs, *((feature_hash(key, self.bits), 1.0) for key in marks)]:
            if value != 0.0:  # as in a batch, zeros are no entries
                sums[j] = sums.get(j, 0.0) + value
        sums = {j: value for j, value in sums.items() if value != 0.0}
        indices, entries = np.array([*sums], np.int32), np.array([*sums.values()], np.float64)
        if self.preparation.unit:
            unit_rows(one_record(len(entries)), entries)
        return indices, entries

    def records(self, records: Sequence[Json], update: Learning) -> Csr:
        """Encode records one by one, and stack the rows."""
        flags = np.broadcast_to(update, len(records)).tolist()
        parts = [self.encode_one(record, learned) for record, learned in zip(records, flags, strict=True)]
        return concatenated([Csr(values, columns, one_record(len(values))) for columns, values in parts])

    def keys_of(self, record: Record) -> list[str]:
        """Return the keys of a record's features, of the constant, and of its missing values, in this order."""
        gaps, features = self._features(record)
        keys = [key for _, (key, _) in features if self.source != "svmlight"]
        return [*keys, *[CONSTANT_KEY] * self.constant, *map(missing_key, self._marked(gaps))]

    def _features(self, record: Record) -> tuple[set[str], list[tuple[str, tuple[str, float]]]]:
        """Return the columns with a missing value, and the kind, key and value of each feature."""
        columns: Iterable[tuple[str, str]] = self.columns
        if not all(type(name) is str for name in record):  # frames may number their columns
            record = {str(name): value for name, value in record.items()}
        if self.source != "columns":
            columns = [(name, "numeric") for name in record]
        gaps, features = set(), []
        for name, kind in columns:
            value = record.get(name)
            if self.absences and name not in record:
                continue
            if is_missing(value) or (kind in ("numeric", "date") and is_missing_word(value)):
                gaps.add(name)
            elif kind == "date":
                keys = part_keys(name)
                features += [(kind, ("=".join(keys[k]), 1.0)) for k in parts_of(moment(value, name).wall)]
            else:
                features += [(kind, pair) for pair in keyed(name, kind, value)]
        return gaps, features

    def _index(self, key: str) -> int:
        """Return the column index of a key; for svmlight the key is the index."""
        if self.source != "svmlight":
            return feature_hash(key, self.bits)
        if not (key.isascii() and key.isdecimal() and int(key) < 1 << self.bits):
            raise InputError(f"is not a svmlight feature: expected a whole number below {1 << self.bits:,}", column=key)
        return int(key)
