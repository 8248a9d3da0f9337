"""The forms of records, one of which a model chooses at its first record: columns of numbers, words, or encoded.

A form turns records into rows: dictionaries, frames and tables by the names of what is in them, arrays as they are.
What is done to the numbers then is its :class:`~coterie.inputs.preparation.Preparation`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from decimal import Decimal
from numbers import Real
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from coterie import spec
from coterie.multiview import Vocabulary
from coterie.multiview.vocabularies import (
    SecondColumn,
    concatenated,
    usable_number,
    vocabulary_from_json,
)
from coterie.numeric.core.checks import require
from coterie.numeric.core.dictionaries import read
from coterie.numeric.core.hashing import feature_hash
from coterie.numeric.core.logs import signed_log
from coterie.numeric.core.records import Csr, Dense
from coterie.numeric.primal.calls import PlainRecords
from coterie.numeric.primal.preparation import SECOND
from coterie.numeric.trees import below
from coterie.wording import stack_level

from . import tabular
from .dates import is_date, spread
from .encoding import Encoder
from .errors import InputError
from .keys import CONSTANT_KEY, is_missing, missing_key, presence_name, spell
from .preparation import CONSTANT, Arrays, Learning, Preparation, sparse_scale

#: What is done to records: whether they get a constant, the word of their scale, what is replaced by its logarithm.
How = tuple[bool, str, Sequence[Hashable]]


_NAMELESS = "records given as dictionaries need feature names, and the model learned from bare arrays"


class Form:
    """What a model knows of how its records become rows.

    Attributes
    ----------
    width : int or None
        Columns of the arrays or blocks learned from; None where there were none.
    names : ndarray of str, or None
        Names of the columns of the frames learned from, where these are read as arrays are.
    indicators : int
        How many of the last columns of the blocks so far say what is missing.
    frame : Shape
        The columns of the first frame, where its columns are read by name: not as an array is.
    preparation : Preparation or None
        What is done to the rows before they are learned.
    vocabulary : Vocabulary or None
        The columns of dictionaries' features.
    encoder : Encoder or None
        What reads records of files, and tables with more than numbers.
    bits : int or None
        Features share ``2**bits`` columns by the hash of their names; None where each has its own.
    """

    width: int | None = None
    names: NDArray[Any] | None = None
    indicators: int = 0
    frame: tabular.Shape = tabular.Shape()
    preparation: Preparation | None = None
    vocabulary: Vocabulary | None = None
    encoder: Encoder | None = None
    bits: int | None = None

    def normalized_input(self, X: Any) -> Any:
        """A frame as what it is read as: an Arrow table, or a list of dictionaries; anything else as it is."""
        return X

    def read(self, X: Any, learning: Learning) -> tuple[Any, int]:
        """Read the rows and width of a :meth:`normalized_input` that is no array and no frame of numbers alone."""
        raise NotImplementedError

    def read_one(self, x: Any, learning: bool) -> tuple[Csr, int]:
        """The row of one dictionary, and the width."""
        return self.read(self.normalized_input([x]), learning)

    @property
    def of_arrays(self) -> Preparation | None:
        """What is done to rows of arrays before they are learned; those of an encoder are done."""
        return self.preparation if self.width is not None and self.encoder is None else None

    @property
    def constant_column(self) -> int | None:
        """The column of the constant, where there is one of its own."""
        prepared = self.preparation
        return None if prepared is None or self.bits is not None else prepared.constant_column

    @property
    def length_column(self) -> int:
        """The column of the constant, by whose entry the other entries are to be divided to become z-scores, or -1."""
        if self.encoder is not None:
            return self.encoder.length_column
        return -1 if self.preparation is None else self.preparation.length_column

    @property
    def feature_names(self) -> list[str] | None:
        """The names of all features, where records had names that are not hashed."""
        return None

    def entry_names(self, columns: Sequence[int], x: Mapping[Any, Any] | None) -> list[Hashable]:
        """The names of the features in some columns, for the record ``x`` if given; else the columns' numbers."""
        if self.bits is None:  # room that was made for records refused afterwards has no names
            names: Sequence[Hashable] = self.feature_names or ()
            return [names[column] if column < len(names) else int(column) for column in columns]
        named: dict[int, list[str]] = {}
        for key in self.keys_of(x):
            named.setdefault(feature_hash(key, self.bits), []).append(key or CONSTANT)
        return [" and ".join(named[column]) if column in named else int(column) for column in columns]

    def keys_of(self, x: Mapping[Any, Any] | None) -> list[str]:
        """The keys of a record's features that are hashed."""
        return []

    @property
    def plain_records(self) -> PlainRecords | None:
        """The arrays by which compiled code reads dictionaries; None where Python has to read them."""
        words, prepared = self.vocabulary, self.preparation
        if words is None or (prepared is not None and prepared.log):
            return None
        return PlainRecords(words.numbers, *(() if prepared is None else (prepared.plain, prepared.compiled)))

    def snapshot(self) -> Callable[[], None]:
        """A function that undoes what is noted of records from now on."""
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

    def to_saved(self) -> tuple[dict[str, Any], Arrays]:
        """Everything noted of records by their names, as data with a JSON form and named arrays."""
        data: dict[str, Any] = {"view": None if self.vocabulary is None else self.vocabulary.to_json()}
        name, learns = ("preparation", self.preparation) if self.encoder is None else ("encoder", self.encoder)
        if learns is None:
            return data, {}
        data[name], arrays = learns.to_state()
        return data, {f"{name}.{each}": array for each, array in arrays.items()}


class NumberColumns(Form):
    """Columns of numbers, as arrays, sparse matrices, frames and blocks have them.

    Where the columns have names, dictionaries are read by these.
    """

    def __init__(
        self, width: int | None = None, names: NDArray[Any] | None = None, preparation: Preparation | None = None
    ) -> None:
        self.width, self.names, self.preparation = width, names, preparation

    @classmethod
    def of(cls, width: int, names: NDArray[Any] | None, dense: bool, how: How | None) -> NumberColumns:
        """The form of arrays or frames of so many columns, to be prepared or not."""
        if how is None:
            return cls(width, names)
        constant, scale, log = how
        logs = tabular.places_of(log, width, names)
        return cls(width, names, Preparation(constant, scale if dense else sparse_scale(scale), width, logs))

    def normalized_input(self, X: Any) -> Any:
        """Anything as it is, unless it is none of numbers alone: ValueError."""
        if self.names is None and (tabular.is_records(X) or tabular.has_words(X)):
            raise ValueError(_NAMELESS)
        if tabular.is_frame(X) and (text := tabular.text_column(X)) is not None:
            raise ValueError(f"X has strings or dates in column {text!r}, and the model learned from numbers alone")
        return X

    def read(self, X: Any, learning: Learning) -> tuple[Any, int]:
        """Rows and width of dictionaries."""
        if self.preparation is None:
            return self._words(bool(np.any(learning))).records(X, resize=False), self.width or 1
        names = [] if self.names is None else self.names.tolist()
        values = np.array([tabular.values_by_name(record, names) for record in X])
        return Dense(self.preparation.columns(values, learning)), self.preparation.features

    def read_one(self, x: Any, learning: bool) -> tuple[Csr, int]:
        """The row of one dictionary, and the width."""
        words = self._words(learning)
        if self.preparation is None:
            return words.record(x, resize=False), self.width or 1
        rows, width = self.read([x], learning)
        return Csr(rows.values[0], np.arange(width, dtype=np.int32), np.array([0, width])), width

    def _words(self, learning: bool) -> Vocabulary:
        """The columns of the names; noted if the record is to be learned, for compiled code to read the next."""
        if self.vocabulary is not None:
            return self.vocabulary
        if self.names is None:
            raise ValueError(_NAMELESS)
        words = Vocabulary(self.names)
        if learning:
            self.vocabulary = words
        return words

    @property
    def feature_names(self) -> list[str] | None:
        """The names of the columns, and of what is behind them."""
        return None if self.names is None else self._named(self.names.tolist())

    def _named(self, own: list[Any]) -> list[Any]:
        return own if self.preparation is None else [*own, *self.preparation.names_behind(own)]

    def entry_names(self, columns: Sequence[int], x: Mapping[Any, Any] | None) -> list[Hashable]:
        """The names of the features in some columns; columns of arrays have numbers, and what is behind them names."""
        names = self.feature_names or self._named(list(range(self.width or 0)))
        return [names[column] if column < len(names) else int(column) for column in columns]


class Words(Form):
    """Dictionaries, whose names get columns as they come; frames are read as their rows."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary: Vocabulary = vocabulary

    @classmethod
    def of(cls, how: How | None) -> Words:
        """The form of dictionaries, none of which came so far, to be prepared or not."""
        words = Vocabulary()
        if how is None:
            return cls(words)
        constant, scale, log = how
        return PreparedWords(words, Preparation(constant, scale, log=log))

    @property
    def feature_names(self) -> list[str] | None:
        """The names that have columns."""
        constant = self.constant_column
        numbers = self.vocabulary.numbers
        return [CONSTANT if j == constant else name for name, j in numbers.items()]

    def normalized_input(self, X: Any) -> Any:
        """The rows of a frame as dictionaries; anything else as it is."""
        return tabular.frame_records(X, self.preparation is not None) if tabular.is_frame(X) else X

    def read(self, X: Any, learning: Learning) -> tuple[Csr, int]:
        """Rows and width of dictionaries; names that are new get columns if learned."""
        return self._records(X, learning), len(self.vocabulary) or 1

    def read_one(self, x: Any, learning: bool) -> tuple[Csr, int]:
        """The row of one dictionary, and the width."""
        return self._record(x, learning), len(self.vocabulary) or 1

    def _record(self, record: Mapping[Any, Any], learning: bool) -> Csr:
        return self.vocabulary.record(record, learning)

    def _records(self, records: Sequence[Mapping[Any, Any]], learning: Learning) -> Csr:
        if isinstance(learning, bool):
            return self.vocabulary.records(records, learning)
        pairs = zip(records, learning.tolist(), strict=True)
        return concatenated([self.vocabulary.record(record, learned) for record, learned in pairs])


class PreparedWords(Words):
    """Dictionaries that are prepared, in which values may be missing, lists, and dates.

    Attributes
    ----------
    dates : dict
        The names that had dates, with None.
    """

    def __init__(self, vocabulary: Vocabulary, preparation: Preparation) -> None:
        super().__init__(vocabulary)
        self.preparation: Preparation = preparation
        self.dates: dict[Any, None] = {}
        if preparation.constant:
            self._add(vocabulary, [CONSTANT_KEY], ())
        preparation.place_constant(0)

    @property
    def plain_records(self) -> PlainRecords | None:
        """The arrays by which compiled code reads dictionaries; None where Python has to read them."""
        return None if self.dates else super().plain_records

    def _records(self, records: Sequence[Mapping[Any, Any]], learning: Learning) -> Csr:
        """Rows of dictionaries, in order; of several one is refused with its number."""
        each = np.broadcast_to(learning, len(records)).tolist()
        if len(records) == 1:
            return self._record(records[0], each[0])
        made: list[Csr] = []
        with self.preparation.as_one() if any(each) else nullcontext():
            try:
                for record, learned in zip(records, each, strict=True):
                    made.append(self._record(record, learned))
            except (ValueError, TypeError) as error:
                kind = TypeError if isinstance(error, TypeError) else ValueError
                raise kind(f"record {len(made)} (from 0): {error}") from None
        return concatenated(made)

    def _record(self, record: Mapping[Any, Any], learning: bool) -> Csr:
        """Prepare one dictionary; names that are new are added if it is learned, else left out."""
        words, found = self.vocabulary, None
        if CONSTANT_KEY in record and self.preparation.constant:
            raise ValueError("a feature has the empty name, which is that of the constant: give it another")
        if type(record) is dict and not self.dates and not self.preparation.log:
            found = self._read_plain(record, words, learning)
        for name in self.preparation.log:
            _require_number(name, record.get(name))
        if found is None and (self.dates or any(map(is_date, record.values()))):
            record = self._spread(record, learning)
        missing: list[int] = []
        if found is None:
            numbers = words.numbers
            missing = [numbers[name] for name, value in record.items() if is_missing(value) and name in numbers]
            found = self._read(record, learning)
        while (row := self.preparation.entries(*found, learning, missing)) is None:
            self._add_second_columns(*found[:3])
        return row

    def _add_second_columns(self, values: NDArray[np.float64], features: NDArray[np.int32], n: int) -> None:
        """Add the second columns that the features of a record to be learned need."""
        words: Any = self.vocabulary
        for feature in self.preparation.without_second_column(values[:n], features[:n]):
            column = SecondColumn(feature)
            self._add(words, [column], ())
            self.preparation.set_second_column(feature, words.numbers[column])

    @property
    def feature_names(self) -> list[str] | None:
        """The names that have columns; for a name with two, its presence is ``"name is present"``."""
        names = super().feature_names
        return None if names is None else self.name_second_columns(names)

    def name_second_columns(self, keys: Sequence[Any]) -> list[Any]:
        """Return readable names of all columns, given their keys."""
        names = list(keys)
        for feature, (second, holds_value) in self.preparation.second_columns.items():
            value, presence = (second, feature) if holds_value else (feature, second)
            names[value], names[presence] = keys[feature], presence_name(keys[feature])
        return names

    def _spread(self, record: Mapping[Any, Any], learning: bool) -> dict[Any, Any]:
        """A record with numbers and categories in place of dates."""
        for name, held in record.items():
            if is_date(held) and name not in self.dates and name in self.vocabulary.numbers:
                raise ValueError(f"feature {name!r} was a number so far, and is {held!r} now")
        dates = dict(self.dates)
        made, self.dates = spread(record, dates, learning), dates
        return made

    def _read_plain(
        self, record: dict[Any, Any], words: Vocabulary, resize: bool
    ) -> tuple[NDArray[np.float64], NDArray[np.int32], int, int] | None:
        """Values and features of numbers and strings, with room for the constant; None if there is anything else."""
        size = 2 * len(record) + 1
        values, features = np.empty(size), np.empty(size, np.int32)
        known = read(record, words.numbers, values, features, self.preparation.plain)
        if resize and 0 <= known < len(record):
            if str in map(type, record.values()):
                return None
            self._add(words, record, record)
            known = read(record, words.numbers, values, features, self.preparation.plain)
        return None if known < 0 else (values, features, known, 0)

    def _read(
        self, record: Mapping[Any, Any], learning: bool
    ) -> tuple[NDArray[np.float64], NDArray[np.int32], int, int]:
        """Values and features of anything, with room for the constant before indicators of missing values."""
        words, constant = self.vocabulary, [CONSTANT_KEY] * self.preparation.constant
        keys, held, scaled, gaps = self._entries(record, learning)
        if learning:
            self._add(words, [*keys, *gaps], scaled)
        n, features = len(keys), words.columns([*keys, *constant, *gaps])
        values = np.ones(len(features))
        values[:n] = held
        features[n + len(constant) :].sort()
        if not learning:  # else all names have columns
            there = features >= 0
            n, values, features = int(there[:n].sum()), values[there], features[there]
        behind = len(features) - n - len(constant)
        return np.append(values, np.zeros(n)), np.append(features, np.zeros(n, np.int32)), n, behind

    def _entries(self, record: Mapping[Any, Any], learning: bool) -> tuple[list[Any], list[float], set[Any], list[str]]:
        """Keys, values, which of the keys are of numbers to scale, and keys of missing values.

        In a record to be learned, what was a number to scale may be text that came before, and no other.
        """
        keys: list[Any] = []
        values: list[float] = []
        scaled: set[Any] = set()
        gaps: list[str] = []
        standardised, log = self.preparation.standardised, self.preparation.log
        known = self.vocabulary.numbers
        for name, held in record.items():
            if is_missing(held):
                gaps.append(missing_key(name))
                continue
            category = isinstance(held, str) or (standardised and isinstance(held, (bool, np.bool_)))
            if category and standardised and learning and name in known and f"{name}={spell(held)}" not in known:
                raise ValueError(f"feature {name!r} was a number so far, and is {held!r} now")
            if not (category or isinstance(held, (list, tuple, set, frozenset))):
                scaled.add(name)
            for key, value in _features(name, held, category):
                keys.append(key)
                values.append(signed_log(value) if name in log else value)
        return keys, values, scaled, gaps

    def keys_of(self, x: Mapping[Any, Any] | None) -> list[str]:
        """The keys of a record's features, then that of the constant, then those of missing values."""
        keys, _, _, gaps = self._entries(spread(x or {}, dict(self.dates), False), False)
        return [*keys, *[CONSTANT_KEY] * self.preparation.constant, *gaps]

    def _add(self, words: Vocabulary, names: Iterable[Any], scaled: Container[Any]) -> None:
        """Give names features that have none yet; those ``scaled`` are numbers."""
        new = words.add(names)
        missing_so_far = [k for k, name in enumerate(new) if missing_key(name) in words.numbers]
        self.preparation.resize([name in scaled for name in new], missing_so_far)

    def to_saved(self) -> tuple[dict[str, Any], Arrays]:
        """Everything noted of records, as data with a JSON form and named arrays."""
        data, arrays = super().to_saved()
        if self.dates:
            missing = data["preparation"].pop("missing")  # the order of the bytes in a file
            data["preparation"] |= {"dates": list(self.dates), "missing": missing}
        return data, arrays

    @classmethod
    def restored(cls, words: Vocabulary, data: Any, arrays: Arrays) -> PreparedWords:
        """The form of these words that :meth:`to_saved` described."""
        held, known = msgspec.convert(data, dict[str, Any]), words.numbers
        names = spec.labels_of(msgspec.convert(held.pop("dates", []), list[Any]))
        if "columns" in arrays:
            columns = np.array(arrays["columns"])
            require(columns.ndim == 2 and columns.shape[1] == 3, f"columns has the shape {columns.shape}")
            second = columns[:, SECOND]
            words = words.with_second_columns({int(second[j]): j for j in np.flatnonzero(second >= 0).tolist()})
            known = words.numbers
        prepared = Preparation.from_state(held, arrays, None, len(known))
        constant = known.get(CONSTANT_KEY) == 0 or not prepared.constant
        require(constant, "the first feature is not the constant")
        made = cls(words, prepared)
        made.dates = dict.fromkeys(names)
        require(len(made.dates) == len(names), "the names of dates are there twice")
        return made


class EncodedColumns(Form):
    """Records of files and tables, and whatever has their columns, as an encoder reads them."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder: Encoder = encoder
        self.preparation = encoder.preparation
        self.bits = encoder.bits if encoder.kind == "hashed" else None

    @classmethod
    def of(cls, table: Any, how: How) -> EncodedColumns:
        """The form of an Arrow table, decided as for a file; columns that cannot be features are warned of.

        Raises
        ------
        ValueError
            If no column can be used, or logarithms are to be taken of one that has no numbers.
        """
        from .columns import kinds_of

        kinds = kinds_of(table)
        columns = [(name, kind) for name, (kind, _) in kinds.items() if kind is not None]
        for name, (kind, reason) in kinds.items():
            if kind is None:
                message = f"column {name!r} is left out: {reason}"
                warnings.warn(message, UserWarning, stacklevel=stack_level())
        if not columns:
            raise InputError("no column is left for features")
        constant, scale, log = how
        return cls(Encoder(columns, constant=constant, scale=scale, log=list(map(str, log))))

    def normalized_input(self, X: Any) -> Any:
        """A frame as an Arrow table, or as dictionaries where no file had columns; anything else as it is."""
        if not tabular.is_frame(X):
            return X
        return tabular.arrow_table(X) if self.encoder.source == "columns" else tabular.frame_records(X, True)

    def read(self, X: Any, learning: Learning) -> tuple[Any, int]:
        """Rows and width of dictionaries and tables."""
        if tabular.is_frame(X):
            return tabular.block_rows(self.encoder.encode(X, update=learning))
        return self.encoder.records(X, learning), self.encoder.n_features

    @property
    def feature_names(self) -> list[str] | None:
        """The names of the columns of a named encoder."""
        return None if self.bits is not None else list(self.encoder.feature_names or ())

    def entry_names(self, columns: Sequence[int], x: Mapping[Any, Any] | None) -> list[Hashable]:
        """The names of the features in some columns, for the record ``x`` if given; else the columns' numbers."""
        if self.bits is None:
            return super().entry_names(columns, x)
        if x is None:
            named: Sequence[Hashable] = columns
        else:
            named = super().entry_names(columns, x)  # which names no column of a presence
        pairs = zip(columns, named, strict=True)
        return [name if isinstance(name, str) else self.encoder.name_of(k) or int(k) for k, name in pairs]

    def keys_of(self, x: Mapping[Any, Any] | None) -> list[str]:
        """The hashed keys of a record's features."""
        return self.encoder.keys_of(x or {})


def form_of(data: Mapping[str, Any], arrays: Arrays, width: int | None, names: NDArray[Any] | None) -> Form:
    """The form that :meth:`Form.to_saved` described, of records that were read as arrays of these columns, if any.

    Raises
    ------
    ValueError
        If it described none.
    """
    require(type(width) in (int, type(None)), f"records of {width!r} features do not fit")
    if "encoder" in data:
        encoder = Encoder.from_state(data["encoder"], below(arrays, "encoder."))
        made = EncodedColumns(encoder)
        made.width, made.names, made.indicators = width, names, encoder.indicator_columns
        return made
    words = None if data.get("view") is None else vocabulary_from_json(data["view"])
    prepared, own = data.get("preparation"), below(arrays, "preparation.")
    if width is not None:
        form = NumberColumns(width, names)
        form.preparation = None if prepared is None else Preparation.from_state(prepared, own, width, width)
        form.vocabulary = words
        return form
    if words is None:
        raise ValueError("nothing says how records are read")
    return Words(words) if prepared is None else PreparedWords.restored(words, prepared, own)


def _require_number(name: Any, held: Any) -> None:
    """Refuse what has no logarithm in a feature of which it is taken; nothing may be there."""
    if not is_missing(held) and (isinstance(held, (bool, np.bool_)) or not isinstance(held, (Real, Decimal))):
        raise ValueError(f"feature {name!r} is {held!r}, and log takes numbers")


def _features(name: Any, held: Any, category: bool) -> Iterator[tuple[Any, float]]:
    """Keys and values of the features that a value of a dictionary stands for."""
    if category:
        yield f"{name}={spell(held)}", 1.0
    elif isinstance(held, (list, tuple, set, frozenset)):
        for item in held:
            if not is_missing(item):
                yield f"{name}={spell(item)}", 1.0
    else:
        yield name, usable_number(name, held)
