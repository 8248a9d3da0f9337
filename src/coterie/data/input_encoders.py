"""Input encoders, chosen by a model's first record: for arrays, dictionaries, or tables and files.

An encoder converts records to rows: dictionaries, frames and tables by the names of their features, arrays by position.
Its :class:`~coterie.data.preprocessing.Preparation` then scales the numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Container, Hashable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple, cast

import msgspec
import numpy as np

from coterie import spec
from coterie._compiled.core.checks import require
from coterie._compiled.core.dictionaries import PLAIN, PRESENCE, read_dictionary, read_with_unseen, with_space
from coterie._compiled.core.hashing import feature_hash
from coterie._compiled.core.logs import signed_log
from coterie._compiled.core.records import UNSEEN, Csr, Dense, split_unseen
from coterie._compiled.primal.scaling import SECOND, UNPREPARED, Preparing
from coterie._compiled.trees import strip_prefix
from coterie.models.multiview import Vocabulary
from coterie.models.multiview.vocabularies import SecondColumn, concatenated, usable_number, vocabulary_from_json
from coterie.types import AnyRecords, Array, Arrays, Fields, Json, Label, Learning, Record
from coterie.wording import warn

from . import tabular
from .dates import expand_dates, is_date
from .errors import InputError
from .feature_keys import CONSTANT_KEY, is_missing, missing_key, presence_name, spell
from .preprocessing import CONSTANT, Entries, Preparation, sparse_scale
from .record_encoders import RecordEncoder


@dataclass(frozen=True)
class InputOptions:
    """The parameters of an estimator that determine how records are read.

    Equal options read records equally; fields used only in messages are not compared.

    Attributes
    ----------
    owner : str
        The estimator's name, for error messages.
    task_column : label, optional
        The column or key of the tasks.
    views : sequence of labels, optional
        The names of the views of a record.
    any_sizes : bool
        True if views that are arrays may have different sizes, even in one space.
    intercept : bool
        True to give each record a constant.
    scale : str or None
        See :class:`~coterie.data.record_encoders.RecordEncoder`; without it records are not preprocessed, nor frames
        with text converted.
    log : tuple
        The features to take the logarithm of.
    expects_tasks : bool
        True to warn of records without a task.
    counts_unseen : bool
        True if predictions depend on features that no record had.
    """

    owner: str = field(compare=False)
    task_column: Hashable | None = None
    views: Sequence[Hashable] | None = None
    any_sizes: bool = False
    intercept: bool = False
    scale: str | None = "none"
    log: tuple[Hashable, ...] = ()
    expects_tasks: bool = field(default=False, compare=False)
    counts_unseen: bool = field(default=False, compare=False)

    @property
    def preprocesses(self) -> bool:
        """True if the options add a constant, scale numbers, or take logarithms."""
        return self.intercept or bool(self.log) or self.scale not in (None, "none")


_NAMELESS = "the model learned from arrays without names: give an array, or fit it to a frame or to dictionaries"


class PlainRecords(NamedTuple):
    """Settings with which compiled code encodes dictionaries of plain numbers and strings.

    If it ``reads_unseen`` features, those that no record had count in predictions.
    """

    numbers: dict[Label, int]
    plain: frozenset[type] = PLAIN
    preparing: Preparing = UNPREPARED
    reads_unseen: bool = False


class InputEncoder:
    """Base class of encoders from records to feature rows, and the encoder before the first record.

    Attributes
    ----------
    width : int or None
        The number of columns of the arrays or blocks learned from, if any.
    names : ndarray of str, or None
        The names of the columns of frames that are read as arrays.
    indicators : int
        The number of last columns of the blocks so far that indicate missing values.
    frame : Shape
        The columns of the first frame that was read by name.
    preparation : Preparation or None
        Prepares the rows before they are learned.
    vocabulary : Vocabulary or None
        The columns of dictionaries' features.
    encoder : RecordEncoder or None
        Encodes files, and tables with text.
    bits : int or None
        Features are hashed to ``2**bits`` columns; None if each has its own.
    counts_unseen : bool
        True if predictions need the features that no record had, too; these get columns from ``UNSEEN`` on.
    task_column : label or None
        The column of the tasks, which the numbers of an array's columns count, too.
    """

    width: int | None = None
    names: Array | None = None
    indicators: int = 0
    frame: tabular.Shape = tabular.Shape()
    preparation: Preparation | None = None
    vocabulary: Vocabulary | None = None
    encoder: RecordEncoder | None = None
    bits: int | None = None
    counts_unseen: bool = False
    task_column: Hashable | None = None

    @property
    def reads_unseen(self) -> bool:
        """True if features without a column influence predictions: by the learner, or by the length of the record."""
        return self.counts_unseen or (self.preparation is not None and self.preparation.unit)

    def normalized_input(self, X: AnyRecords) -> AnyRecords:
        """Convert a frame to the form that the encoder reads, an Arrow table or dictionaries.

        Return others unchanged.
        """
        return X

    def read(self, X: AnyRecords, learning: Learning) -> tuple[tabular.Rows, int] | None:
        """Encode named records; return their rows and width.

        Return None for arrays and numeric frames, which are validated elsewhere.
        """
        return None

    def read_one(self, x: Record, learning: bool) -> tuple[tabular.Rows, int]:
        """Encode one dictionary; return its row and the number of columns."""
        return cast("tuple[tabular.Rows, int]", self.read([x], learning))

    @property
    def of_arrays(self) -> Preparation | None:
        """The preprocessing of arrays; None for records of other forms, which the encoder itself preprocesses."""
        return self.preparation if self.width is not None and self.encoder is None else None

    @property
    def constant_column(self) -> int | None:
        """The index of the constant column; None without a constant."""
        prepared = self.preparation
        return None if prepared is None or self.bits is not None else prepared.constant_column

    @property
    def length_column(self) -> int:
        """The index of the constant column, or -1. Dividing a row by its constant undoes the scaling to unit length."""
        if self.encoder is not None:
            return self.encoder.length_column
        return -1 if self.preparation is None else self.preparation.length_column

    @property
    def feature_names(self) -> list[Label] | None:
        """The names of all features; None if records have no names or names are hashed."""
        return None

    def entry_names(self, columns: Sequence[int], x: Record | None) -> list[Hashable]:
        """Return the names of the features at these column indices; of hashed columns, those that occur in ``x``."""
        if self.bits is None:  # columns of records that were refused afterwards have no names
            names: Sequence[Hashable] = self.feature_names or ()
            return [names[column] if column < len(names) else int(column) for column in columns]
        named: dict[int, list[str]] = {}
        for key in self.keys_of(x):
            named.setdefault(feature_hash(key, self.bits), []).append(key or CONSTANT)
        return [" and ".join(named[column]) if column in named else int(column) for column in columns]

    def keys_of(self, x: Record | None) -> list[str]:
        """Return the hashed keys (``name=value``, ...) of the features of a record."""
        return []

    @property
    def plain_records(self) -> PlainRecords | None:
        """Settings for the compiled fast path of dictionaries with known names; None if it does not support them."""
        words, prepared = self.vocabulary, self.preparation
        if words is None or (prepared is not None and prepared.log):
            return None
        preparation = () if prepared is None else (prepared.plain, prepared.compiled)
        return PlainRecords(words.numbers, *preparation)._replace(reads_unseen=self.reads_unseen)

    def snapshot(self) -> Callable[[], None]:
        """Return a function that restores the state of this moment."""
        before, words = self.__dict__.copy(), self.vocabulary
        learns = self.preparation if self.encoder is None else self.encoder
        undo_reading, known = None if learns is None else learns.snapshot(), 0 if words is None else len(words)

        def undo() -> None:
            self.__dict__.clear()
            self.__dict__.update(before)
            if words is not None:
                words.shorten(known)
            if undo_reading is not None:
                undo_reading()

        return undo

    def to_saved(self) -> tuple[Json, Arrays]:
        """Return the state as JSON data and named arrays."""
        data: Json = {"view": None if self.vocabulary is None else self.vocabulary.to_json()}
        name, learner = ("preparation", self.preparation) if self.encoder is None else ("encoder", self.encoder)
        if learner is None:
            return data, {}
        data[name], arrays = learner.to_state()
        return data, {f"{name}.{key}": array for key, array in arrays.items()}


class ArrayEncoder(InputEncoder):
    """Encoder of numeric arrays, sparse matrices and frames; dictionaries are read by column names."""

    def __init__(
        self, width: int | None = None, names: Array | None = None, preparation: Preparation | None = None
    ) -> None:
        self.width, self.names, self.preparation = width, names, preparation

    @classmethod
    def for_columns(
        cls, known: list[Hashable], names: Array | None, dense: bool, options: InputOptions
    ) -> ArrayEncoder:
        """Return the encoder of arrays or numeric frames with the columns ``known``; not ``dense``: sparse."""
        if not options.preprocesses:
            return cls(len(known), names)
        scale, logs = options.scale or "none", tabular.column_indices(options.log, known)
        prepared = Preparation(options.intercept, scale if dense else sparse_scale(scale), len(known), logs)
        prepared.has_lengths = scale != "unit"
        return cls(len(known), names, prepared)

    def read(self, X: AnyRecords, learning: Learning) -> tuple[tabular.Rows, int] | None:
        """Encode dictionaries; return None for arrays (validated elsewhere), and raise ValueError for other records."""
        if tabular.is_frame(X):
            if self.names is None and tabular.has_words(X):
                raise ValueError(_NAMELESS)
            if (text := tabular.text_column(X)) is not None:
                raise ValueError(f"X has strings or dates in column {text!r}, but the model learned from numbers only")
        if not tabular.is_records(X):
            return None
        words = self._named_columns(self.preparation is None and bool(np.any(learning)))
        if self.preparation is None:
            return words.records(X, resize=False), self.width or 1
        names = list(words.numbers)
        values = np.array([tabular.values_by_name(record, names) for record in X])
        return Dense(self.preparation.columns(values, learning)), self.preparation.features

    def read_one(self, x: Record, learning: bool) -> tuple[Csr, int]:
        """Encode one dictionary by column names; return its row and the number of columns."""
        words = self._named_columns(learning)
        if self.preparation is None:
            return words.record(x, resize=False), self.width or 1
        rows, width = cast("tuple[Dense, int]", self.read([x], learning))
        n = rows.values.shape[1]
        return Csr(rows.values[0], np.arange(n, dtype=np.int32), np.array([0, n])), width

    def _named_columns(self, learning: bool) -> Vocabulary:
        """Return the mapping from column name to index; it is stored for compiled code if records are learned."""
        if self.vocabulary is not None:
            return self.vocabulary
        if self.names is None:
            raise ValueError(_NAMELESS)
        words = Vocabulary(self.names)
        if learning:
            self.vocabulary = words
        return words

    @property
    def feature_names(self) -> list[Label] | None:
        """The names of the columns, then of the constant, then of missing-value indicators."""
        return None if self.names is None else self._all_names(self.names.tolist())

    def _all_names(self, names: list[Label]) -> list[Label]:
        return names if self.preparation is None else [*names, *self.preparation.names_behind(names)]

    def entry_names(self, columns: Sequence[int], x: Record | None) -> list[Hashable]:
        """Return the names of the features at these column indices; unnamed columns of arrays have numbers."""
        names = self.feature_names or self._all_names(tabular.column_numbers(self.width or 0, self.task_column))
        return [names[column] if column < len(names) else int(column) for column in columns]


class DictEncoder(InputEncoder):
    """Encoder of dictionaries that adds a column for each new name; frames are converted to dictionaries."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary: Vocabulary = vocabulary

    @classmethod
    def with_options(cls, options: InputOptions) -> DictEncoder:
        """Return an encoder of dictionaries with these options."""
        if not options.preprocesses:
            return cls(Vocabulary())
        prepared = Preparation(options.intercept, options.scale or "none", log=options.log)
        return PreparedDictEncoder(Vocabulary(), prepared)

    @property
    def feature_names(self) -> list[Label] | None:
        """The names of the columns."""
        constant = self.constant_column
        numbers = self.vocabulary.numbers
        return [CONSTANT if j == constant else name for name, j in numbers.items()]

    def normalized_input(self, X: AnyRecords) -> AnyRecords:
        """Convert a frame to dictionaries; return records of other forms unchanged."""
        if not tabular.is_frame(X):
            return X
        records = tabular.frame_records(X, self.preparation is not None)
        names = {name: self._known_name(name) for name in tabular.distinct_names(X)}
        if all(known is name for name, known in names.items()):
            return records
        return [{names[name]: value for name, value in record.items()} for record in records]

    def _known_name(self, name: Hashable) -> Hashable:
        """Return the known name that is equal as text, such as ``"1"`` for 1; else ``name`` itself."""
        known = self.vocabulary.numbers
        if name in known:
            return name
        if not isinstance(name, str):
            return str(name) if str(name) in known else name
        return int(name) if name.isdecimal() and int(name) in known else name

    def read(self, X: AnyRecords, learning: Learning) -> tuple[Csr, int] | None:
        """Encode dictionaries and frames; return rows and their width. Learned records add columns for new names."""
        records = self.normalized_input(X)
        return (self._records(records, learning), len(self.vocabulary) or 1) if tabular.is_records(records) else None

    def read_one(self, x: Record, learning: bool) -> tuple[Csr, int]:
        """Encode one dictionary; return its row and the number of columns."""
        return self._record(x, learning), len(self.vocabulary) or 1

    def _record(self, record: Record, learning: bool) -> Csr:
        return self.vocabulary.record(record, learning, self.counts_unseen and not learning)

    def _records(self, records: Sequence[Record], learning: Learning) -> Csr:
        if isinstance(learning, bool):
            return self.vocabulary.records(records, learning, self.counts_unseen and not learning)
        pairs = zip(records, learning.tolist(), strict=True)
        return concatenated([self._record(record, learned) for record, learned in pairs])


class PreparedDictEncoder(DictEncoder):
    """Encoder of dictionaries with preprocessing; values may be missing values, lists and dates.

    Attributes
    ----------
    dates : dict
        The names of dates, with None.
    """

    def __init__(self, vocabulary: Vocabulary, preparation: Preparation) -> None:
        super().__init__(vocabulary)
        self.preparation: Preparation = preparation
        self.dates: dict[Hashable, None] = {}
        if preparation.constant:
            self._add([CONSTANT_KEY], ())
        preparation.place_constant(0)

    @property
    def plain_records(self) -> PlainRecords | None:
        """Settings to read dictionaries on the fast path; None if not possible."""
        return None if self.dates else super().plain_records

    def _records(self, records: Sequence[Record], learning: Learning) -> Csr:
        """Encode dictionaries in their order. An error names the record if there are several."""
        flags = np.broadcast_to(learning, len(records)).tolist()
        if len(records) == 1:
            return self._record(records[0], flags[0])
        rows: list[Csr] = []
        with self.preparation.as_one() if any(flags) else nullcontext():
            try:
                for record, learned in zip(records, flags, strict=True):
                    rows.append(self._record(record, learned))
            except (ValueError, TypeError) as error:
                kind = TypeError if isinstance(error, TypeError) else ValueError
                raise kind(f"record {len(rows)} (from 0): {error}") from None
        return concatenated(rows)

    def _record(self, record: Record, learning: bool) -> Csr:
        """Encode one dictionary. Its new names get columns if ``learning``, and are mostly ignored otherwise."""
        entries, missing, numbers = None, list[int](), self.vocabulary.numbers
        if CONSTANT_KEY in record and self.preparation.constant:
            raise ValueError("a feature has the empty name, which is reserved for the constant; rename it")
        if type(record) is dict and not self.dates and not self.preparation.log:
            entries = self._read_plain(record, learning)
        for name in self.preparation.log:
            value = record.get(name)
            if not is_missing(value) and (
                isinstance(value, (bool, np.bool_)) or not isinstance(value, (Real, Decimal))
            ):
                raise ValueError(f"feature {name!r} is {value!r}; log needs numbers")
        if entries is None:
            if self.dates or any(map(is_date, record.values())):
                record = self._expand_dates(record, learning)
            missing = [numbers[name] for name, value in record.items() if is_missing(value) and name in numbers]
            entries = self._read(record, learning)
        while (row := self.preparation.entries(entries, learning, missing)) is None:
            values, features, n, _ = entries
            for feature in self.preparation.without_second_column(values[:n], features[:n]):
                column: Hashable = SecondColumn(feature)
                self._add([column], ())
                self.preparation.set_second_column(feature, numbers[column])
        return row if learning or self.counts_unseen == self.reads_unseen else split_unseen(row, UNSEEN)[0]

    @property
    def feature_names(self) -> list[Label] | None:
        """The names of the columns; the presence indicator of a number is named ``"name is present"``."""
        names = super().feature_names
        return None if names is None else self.name_second_columns(names)

    def name_second_columns(self, keys: Sequence[Label]) -> list[Label]:
        """Return a readable name for each column: its key, or ``"key is present"`` for a presence indicator."""
        names = list(keys)
        for feature, (second, holds_value) in self.preparation.second_columns.items():
            value, presence = (second, feature) if holds_value else (feature, second)
            names[value], names[presence] = keys[feature], presence_name(keys[feature])
        return names

    def _expand_dates(self, record: Record, learning: bool) -> dict[Hashable, object]:
        """Replace the dates in a record by categories such as the weekday."""
        for name, value in record.items():
            if is_date(value) and name not in self.dates and name in self.vocabulary.numbers:
                raise ValueError(f"feature {name!r} was a number so far, but is {value!r} now")
        dates = dict(self.dates)
        expanded, self.dates = expand_dates(record, dates, learning), dates
        return expanded

    def _read_plain(self, record: dict[Hashable, object], learning: bool) -> Entries | None:
        """Encode a record of plain numbers and strings, with an entry for the constant; None for other values."""
        numbers, preparation = self.vocabulary.numbers, self.preparation
        if not learning and self.reads_unseen:
            entries = read_with_unseen(record, numbers, preparation.plain, preparation.standardised)
        else:
            known = read_dictionary(record, numbers, preparation.plain)
            if learning and known is not None and len(known[0]) < len(record):
                if str in map(type, record.values()):
                    return None
                self._add(record, record)
                known = read_dictionary(record, numbers, preparation.plain)
            entries = None if known is None else (*known, len(known[0]))
        if entries is None:
            return None
        behind = len(entries[0]) - entries[2]
        return (*with_space(*entries, preparation.constant), entries[2], behind)

    def _read(self, record: Record, learning: bool) -> Entries:
        """Encode a record with values of any type: its features, a constant, and missing-value indicators."""
        constant = [CONSTANT_KEY] * self.preparation.constant
        keys, numbers, scaled, gaps = self._entries(record, learning)
        if learning:
            self._add([*keys, *gaps], scaled)
        n, features = len(keys), self.vocabulary.columns([*keys, *constant, *gaps])
        values = np.ones(len(features))
        values[:n] = numbers
        features[n + len(constant) :].sort()
        if not learning:  # else all names have columns
            known = features >= 0
            n, values, features = int(known[:n].sum()), values[known], features[known]
            if self.reads_unseen:
                more, columns = self._unseen(zip(keys, numbers, strict=True), scaled, gaps)
                values, features = np.append(values, more), np.append(features, np.array(columns, np.int32))
        behind = len(features) - n - len(constant)
        return np.append(values, np.zeros(n)), np.append(features, np.zeros(n, np.int32)), n, behind

    def _unseen(
        self, pairs: Iterable[tuple[Label, float]], scaled: Collection[Hashable], gaps: Sequence[str]
    ) -> tuple[list[float], list[int]]:
        """Return values and columns of features that no earlier record had, as if they were learned now.

        A scaled number then has the z-score 0, and a presence after one absence.
        """
        numbers, standardised = self.vocabulary.numbers, self.preparation.standardised
        unseen = [(key, value) for key, value in [*pairs, *((gap, 1.0) for gap in gaps)] if key not in numbers]
        columns = {key: UNSEEN + k for k, (key, _) in enumerate(unseen)}
        presence = {key: 0.0 if missing_key(key) in numbers else PRESENCE for key in scaled if standardised}
        return [presence.get(key, value) for key, value in unseen], [columns[key] for key, _ in unseen]

    def _entries(self, record: Record, learning: bool) -> tuple[list[Label], list[float], set[Hashable], list[str]]:
        """Return the keys and values of a record, the keys of its numbers to scale, and the keys of missing values.

        A new text in place of a scaled number raises an error in learning, and is left out in predictions.
        """
        keys: list[Label] = []
        values: list[float] = []
        scaled: set[Hashable] = set()
        gaps: list[str] = []
        standardised, log = self.preparation.standardised, self.preparation.log
        known = self.vocabulary.numbers
        for name, value in record.items():
            if is_missing(value):
                gaps.append(missing_key(name))
                continue
            is_category = isinstance(value, str) or (standardised and isinstance(value, (bool, np.bool_)))
            if is_category and standardised and name in known and f"{name}={spell(value)}" not in known:
                if learning:
                    raise ValueError(f"feature {name!r} was a number so far, but is {value!r} now")
                continue
            if is_category or isinstance(value, (list, tuple, set, frozenset)):
                items = [value] if is_category else [item for item in value if not is_missing(item)]
                occurrences = Counter(f"{name}={spell(item)}" for item in items)
                keys += occurrences
                values += map(float, occurrences.values())
                continue
            scaled.add(name)
            number = usable_number(name, value)
            keys.append(name)
            values.append(signed_log(number) if name in log else number)
        return keys, values, scaled, gaps

    def keys_of(self, x: Record | None) -> list[str]:
        """Return the keys of a record's features, of the constant, and of its missing values, in this order."""
        keys, _, _, gaps = self._entries(expand_dates(x or {}, dict(self.dates), False), False)
        return [*keys, *[CONSTANT_KEY] * self.preparation.constant, *gaps]

    def _add(self, names: Iterable[Hashable], scaled: Container[Hashable]) -> None:
        """Add columns for new names; ``scaled`` are the names of numbers that are standardised."""
        new = self.vocabulary.add(names)
        missing_so_far = [k for k, name in enumerate(new) if missing_key(name) in self.vocabulary.numbers]
        self.preparation.resize([name in scaled for name in new], missing_so_far)

    def to_saved(self) -> tuple[Json, Arrays]:
        """Return the state as JSON data and named arrays."""
        data, arrays = super().to_saved()
        if self.dates:
            missing = data["preparation"].pop("missing")  # the order of the bytes in a file
            data["preparation"] |= {"dates": list(self.dates), "missing": missing}
        return data, arrays

    @classmethod
    def restore(cls, words: Vocabulary, data: Json, arrays: Arrays) -> PreparedDictEncoder:
        """Restore an encoder with vocabulary ``words`` from the result of :meth:`to_saved`."""
        fields = msgspec.convert(data, Json)
        names = spec.labels_of(msgspec.convert(fields.pop("dates", []), list[Any]))
        if "columns" in arrays:
            columns = np.array(arrays["columns"])
            require(columns.ndim == 2 and columns.shape[1] == 3, f"columns has the shape {columns.shape}")
            second = columns[:, SECOND]
            words = words.with_second_columns({int(second[j]): j for j in np.flatnonzero(second >= 0).tolist()})
        prepared = Preparation.from_state(fields, arrays, None, len(words.numbers))
        constant = words.numbers.get(CONSTANT_KEY) == 0 or not prepared.constant
        require(constant, "the first feature is not the constant")
        restored = cls(words, prepared)
        restored.dates = dict.fromkeys(names)
        require(len(restored.dates) == len(names), "the name of a date occurs twice")
        return restored


class TableEncoder(InputEncoder):
    """Encoder of files, tables, and dictionaries with the same columns."""

    def __init__(self, encoder: RecordEncoder) -> None:
        self.encoder: RecordEncoder = encoder
        self.preparation = encoder.preparation
        self.bits = encoder.bits if encoder.kind == "hashed" else None

    @classmethod
    def for_table(cls, table: AnyRecords, options: InputOptions) -> TableEncoder:
        """Return the encoder of an Arrow table, chosen as for a file; warn of columns of unsupported types.

        Raises
        ------
        ValueError
            If no column can be used, or a column to take the logarithm of has no numbers.
        """
        from .columns import kinds_of

        kinds = kinds_of(table)
        columns = [(name, kind) for name, (kind, _) in kinds.items() if kind is not None]
        for name, (kind, reason) in kinds.items():
            if kind is None:
                warn(f"column {name!r} is left out: {reason}")
        if not columns:
            raise InputError("no columns are left for features")
        logs = list(map(str, options.log))
        return cls(RecordEncoder(columns, constant=options.intercept, scale=options.scale or "none", log=logs))

    def normalized_input(self, X: AnyRecords) -> AnyRecords:
        """Convert a frame to an Arrow table, or to dictionaries if no file had columns; return others unchanged."""
        if not tabular.is_frame(X):
            return X
        return tabular.arrow_table(X) if self.encoder.source == "columns" else tabular.frame_records(X, True)

    def read(self, X: AnyRecords, learning: Learning) -> tuple[tabular.Rows, int] | None:
        """Encode dictionaries or a table; return rows and their width."""
        records = self.normalized_input(X)
        if tabular.is_frame(records):
            return tabular.block_rows(self.encoder.encode(records, update=learning))
        if not tabular.is_records(records):
            return None
        return self.encoder.records(records, learning), self.encoder.n_features

    @property
    def feature_names(self) -> list[Label] | None:
        """The names of the columns; None if they are hashed."""
        return None if self.bits is not None else list(self.encoder.feature_names or ())

    def entry_names(self, columns: Sequence[int], x: Record | None) -> list[Hashable]:
        """Return the names of the features at these column indices; of hashed columns, those that occur in ``x``."""
        if self.bits is None:
            return super().entry_names(columns, x)
        if x is None:
            named: Sequence[Hashable] = columns
        else:
            named = super().entry_names(columns, x)  # without the columns of presences
        pairs = zip(columns, named, strict=True)
        return [name if isinstance(name, str) else self.encoder.name_of(k) or int(k) for k, name in pairs]

    def keys_of(self, x: Record | None) -> list[str]:
        """Return the hashed keys (``name=value``, ...) of the features of a record."""
        return self.encoder.keys_of(x or {})


def restore_encoder(data: Fields, arrays: Arrays, width: int | None, names: Array | None) -> InputEncoder:
    """Restore the encoder of a saved model from the result of :meth:`InputEncoder.to_saved`.

    Raises
    ------
    ValueError
        If the data do not fit any encoder.
    """
    require(type(width) in (int, type(None)), f"records of {width!r} features do not fit")
    if "encoder" in data:
        encoder = RecordEncoder.from_state(data["encoder"], strip_prefix(arrays, "encoder."))
        table = TableEncoder(encoder)
        table.width, table.names, table.indicators = width, names, encoder.indicator_columns
        return table
    words = None if data.get("view") is None else vocabulary_from_json(data["view"])
    prepared, own = data.get("preparation"), strip_prefix(arrays, "preparation.")
    if width is not None:
        form = ArrayEncoder(width, names)
        form.preparation = None if prepared is None else Preparation.from_state(prepared, own, width, width)
        form.vocabulary = words
        return form
    if words is None:
        raise ValueError("the data have no input encoder")
    return DictEncoder(words) if prepared is None else PreparedDictEncoder.restore(words, prepared, own)
