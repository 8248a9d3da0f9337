"""Conversion of Arrow columns to NumPy arrays for compiled code; Arrow's types are used in this module only."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coterie._compiled.core.hashing import as_bytes, bit_mask, encode_key, feature_hash, hash_strings, prefix_state
from coterie._compiled.core.records import LARGEST_WEIGHT
from coterie._compiled.core.text_fields import LARGEST_VALUE
from coterie._compiled.text.names import store_strings
from coterie._compiled.text.words import hash_texts, token_bound
from coterie.models.multiview import unusable
from coterie.types import Array, Flags, Floats, Ints

from .dates import DAY, EXPECTED, FIRST_DAY, LAST_DAY, Moment, moment, mostly_dates, part_keys, parts
from .errors import InputError
from .feature_keys import CONSTANT_KEY, MISSING_WORDS, NAMELESS, HashedFeatures, spell
from .feature_names import Names
from .invalid_records import NO_NUMBER, NO_TASK, Fault, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

_EMPTY = as_bytes(b"\0")
_FLOAT = pa.float64()
#: Text that is a number.
NUMBER = r"^[ \t]*[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|(?i:nan|inf|infinity))[ \t]*$"


class Strings(NamedTuple):
    """Strings in Arrow's layout: string i is ``data[offsets[i]:offsets[i + 1]]``; a null is an empty string."""

    data: NDArray[np.uint8]
    offsets: Ints


def is_string(kind: pa.DataType) -> bool:
    """Return True for Arrow's string types (string, large string, string view, dictionary of strings)."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_number(kind: pa.DataType) -> bool:
    """Return True for a numeric type."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def is_date(kind: pa.DataType) -> bool:
    """Return True for a date or timestamp type."""
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def is_list(kind: pa.DataType) -> bool:
    """Return True for a list type."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def kind_of(kind: pa.DataType) -> tuple[str | None, str]:
    """Return the kind of feature for an Arrow type, and ``""``; for an unsupported type None, and the reason.

    Examples
    --------
    >>> kind_of(pa.int32()), kind_of(pa.dictionary(pa.int8(), pa.string())), kind_of(pa.list_(pa.string()))
    (('numeric', ''), ('categorical', ''), ('items', ''))
    >>> kind_of(pa.date32()), kind_of(pa.time32("s"))
    (('date', ''), (None, 'it holds time32[s], which is not a number, string, date or list of strings'))
    """
    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_null(inner):
        return None, "it is empty in the first rows"
    if is_number(inner) and inner is kind:
        return "numeric", ""
    if is_string(inner) or pa.types.is_boolean(inner) or is_number(inner):
        return "categorical", ""
    if is_date(inner):
        return "date", ""
    item = inner.value_type if is_list(inner) else None
    labels = pa.types.is_boolean, pa.types.is_integer, pa.types.is_null, is_string
    if item is not None and any(is_kind(item) for is_kind in labels):
        return "items", ""
    return None, f"it holds {kind}, which is not a number, string, date or list of strings"


def kinds_of(table: pa.Table) -> dict[str, tuple[str | None, str]]:
    """Return the kind of feature of each column of a table, with the reason if it is None.

    Text columns that consist of dates have the kind "date".
    """
    kinds = {field.name: kind_of(field.type) for field in table.schema}
    texts = [name for name, (kind, _) in kinds.items() if kind == "categorical" and mostly_dates(table.column(name))]
    nameless = [name for name in kinds if name == CONSTANT_KEY]
    return kinds | dict.fromkeys(texts, ("date", "")) | dict.fromkeys(nameless, (None, NAMELESS))


def fits(kind: pa.DataType, use: str) -> bool:
    """Return True if a column of the Arrow type ``kind`` can be read as ``use``, a kind of feature."""
    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_null(inner):
        return True
    if use == "numeric":
        return is_number(inner) or bool(pa.types.is_boolean(inner))
    if use == "text":
        return is_string(inner)
    if use == "date":
        return is_string(inner) or is_date(inner)
    if use == "items":
        return kind_of(kind)[0] == "items"
    return kind_of(kind)[0] in ("numeric", "categorical", "date")


#: The metadata of a field whose nulls are absent names, as in JSON Lines; other nulls are missing values.
ABSENT = {b"null": b"absent"}


def with_missing(batch: pa.RecordBatch, names: Iterable[str]) -> pa.RecordBatch:
    """Add all-null columns with these names to a batch."""
    for name in names:
        batch = batch.append_column(name, pa.nulls(len(batch)))
    return batch


def nulls_are_absent(batch: pa.RecordBatch | pa.Table, name: str) -> bool:
    """Return True if a null in this column stands for a record without the name, as for a missing JSON key."""
    return bool(batch.schema.field(name).metadata == ABSENT)


def where_null_is_absent(arrays: Sequence[pa.Array], names: Sequence[str]) -> pa.RecordBatch:
    """Create a record batch with a mark on each column: a null stands for a record without that name."""
    fields = [pa.field(name, array.type, metadata=ABSENT) for name, array in zip(names, arrays, strict=True)]
    return pa.RecordBatch.from_arrays(list(arrays), schema=pa.schema(fields))


def plain(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Convert an Arrow array to one chunk of plain values, without dictionaries and string views."""
    whole = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    if pa.types.is_dictionary(whole.type):
        return plain(whole.dictionary).take(whole.indices)
    return whole.cast(pa.large_string()) if pa.types.is_string_view(whole.type) else whole


def present(array: pa.Array) -> Flags:
    """Return a boolean array: True for values that are not null."""
    if not array.null_count:
        return np.ones(len(array), dtype=bool)
    return np.asarray(array.is_valid().to_numpy(zero_copy_only=False))


def filled(array: pa.Array) -> Flags:
    """Return a boolean array: True for values other than null, empty strings and empty lists.

    Examples
    --------
    >>> filled(pa.array(["a", "", None])), filled(pa.array([[], ["a"]])), filled(pa.array([0.0, None]))
    (array([ True, False, False]), array([False,  True]), array([ True, False]))
    """
    if is_string(array.type):
        lengths = pc.binary_length(array)
    elif is_list(array.type):
        lengths = pc.list_value_length(array)
    else:
        return present(array)
    return np.asarray(pc.fill_null(pc.greater(lengths, 0), False).to_numpy(zero_copy_only=False))


def numbers(array: pa.Array) -> Floats:
    """Convert an Arrow array to float64, with 0 for null."""
    values = array if pa.types.is_float64(array.type) else array.cast(pa.float64(), safe=False)
    values = pc.fill_null(values, 0.0) if values.null_count else values
    return np.asarray(values.to_numpy(zero_copy_only=False))


def number_columns(batch: pa.RecordBatch | pa.Table, names: Sequence[str]) -> tuple[Floats, Flags | None]:
    """Return k numeric columns as an array of shape (k, n), 0 for null, and a mask of non-null values (None: no nulls).

    All columns are converted in one call if possible, because there may be a hundred thousand.

    Examples
    --------
    >>> values, there = number_columns(pa.table({"a": [1, None], "b": [0.5, 2.0]}), ["b", "a"])
    >>> values.tolist(), there.tolist()
    ([[0.5, 2.0], [1.0, 0.0]], [[True, True], [True, False]])
    """
    chosen = batch.select(list(names))
    if isinstance(chosen, pa.RecordBatch) and names:
        with suppress(pa.ArrowTypeError, pa.ArrowNotImplementedError):  # raised for columns that are not numbers
            tensor = chosen.to_tensor(null_to_nan=True, row_major=False)
            values = tensor.to_numpy().T
            if tensor.type == _FLOAT and not np.isnan(values).any():
                return values, None
    columns, shape = [plain(column) for column in chosen.columns], (len(names), batch.num_rows)
    values = np.array([numbers(column) for column in columns])
    return values.reshape(shape), np.array([present(column) for column in columns], bool).reshape(shape)


def strings(array: pa.Array) -> Strings:
    """Convert an Arrow array of strings, possibly sliced, to `Strings`."""
    large = array.cast(pa.large_string())
    large = pc.fill_null(large, "") if large.null_count else large
    _, offsets, data = large.buffers()
    place = np.frombuffer(offsets, dtype=np.int64)[large.offset : large.offset + len(large) + 1] if offsets else None
    if place is None or data is None or data.size == 0:
        return Strings(_EMPTY, np.zeros(len(large) + 1, np.int64))
    return Strings(as_bytes(data), np.array(place))


def _hash_values(name: str, array: pa.Array, names: Names) -> tuple[Ints, NDArray[np.int32]]:
    """Hash ``name=value`` for the value of each row that has one, and store the hashed names in ``names``."""
    if is_string(array.type) or pa.types.is_null(array.type):
        text = strings(array)
        hashed = np.empty(len(array), np.int32)
        prefix, mask = f"{name}=", bit_mask(names.bits)
        hash_strings(prefix_state(prefix), text.data, text.offsets, mask, hashed)
        if names.enabled:
            store_strings(prefix_state(prefix), text.data, text.offsets, mask, names.table)
            names.copy_names(text.data, encode_key(prefix))
        there = text.offsets[1:] > text.offsets[:-1]
        return there.astype(np.int64), hashed[there]
    coded = array.dictionary_encode()
    keys = [f"{name}={spell(value)}" for value in coded.dictionary.to_pylist()]
    names.add(keys)
    spelled = [feature_hash(key, names.bits) for key in keys]
    there = present(array)
    codes = pc.fill_null(coded.indices, 0).to_numpy(zero_copy_only=False)[there]
    return there.astype(np.int64), np.array(spelled, dtype=np.int32)[codes]


def categories(name: str, array: pa.Array, names: Names) -> HashedFeatures:
    """One-hot encode a column: an entry ``name=value`` of value 1 per row.

    Null and ``""`` are missing values without an entry. The hashed names are stored in ``names``.
    """
    counts, indices = _hash_values(name, array, names)
    return HashedFeatures(counts, indices, np.ones(len(indices)))


def items(name: str, array: pa.Array, names: Names) -> HashedFeatures:
    """One-hot encode a column of lists: an entry ``name=item`` of value 1 for each item of a row's list."""
    if pa.types.is_null(array.type):
        return HashedFeatures(np.zeros(len(array), np.int64), np.empty(0, np.int32), np.empty(0))
    counts, indices = _hash_values(name, array.flatten(), names)
    lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False)
    before = np.concatenate([[0], np.cumsum(counts)])[np.concatenate([[0], np.cumsum(lengths)])]
    return HashedFeatures(np.diff(before), indices, np.ones(len(indices)))


def texts(name: str, array: pa.Array, names: Names) -> HashedFeatures:
    """Encode a column of free text: an entry ``name^token`` of value log(1 + count) for each token of a row."""
    text = strings(array)
    bound = token_bound(text.offsets)
    out = HashedFeatures(np.empty(len(array), np.int64), np.empty(bound, np.int32), np.empty(bound))
    prefix = f"{name}^"
    total = hash_texts(prefix_state(prefix), text.data, text.offsets, bit_mask(names.bits), names.table, *out)
    names.copy_names(text.data, encode_key(prefix), bytes.lower)
    return HashedFeatures(out.counts, out.indices[:total], out.values[:total])


class Dates(NamedTuple):
    """Parsed dates of a column, with masks of the valid and of the unparsable rows."""

    moments: Moment
    present: Flags
    wrong: Flags


#: For each unit of time: its number in a day, the microseconds in one, and its number in a microsecond.
_UNITS = {"s": (86_400, 1_000_000, 1), "ms": (86_400_000, 1000, 1), "us": (DAY, 1, 1), "ns": (1000 * DAY, 1, 1000)}


def dates(array: pa.Array) -> Dates:
    """Parse a column of dates, timestamps or ISO 8601 text.

    Raises
    ------
    InputError
        For a time zone that is not known here.
    """
    if is_string(array.type) or pa.types.is_null(array.type):
        return _dates_of_text(array)
    has_date = present(array)
    if pa.types.is_date(array.type):
        array = array.cast(pa.timestamp("s" if pa.types.is_date32(array.type) else "ms"))
    in_day, times, over = _UNITS[array.type.unit]
    instant = pc.fill_null(array.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
    wrong = has_date & ((instant < FIRST_DAY * in_day) | (instant >= (LAST_DAY + 1) * in_day))
    wall = instant
    if array.type.tz is not None:
        try:
            local = pc.local_timestamp(pc.if_else(pa.array(wrong), None, array))
        except pa.ArrowInvalid:
            raise InputError(f"the time zone {array.type.tz!r} is unknown") from None
        wall = pc.fill_null(local.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
    moments = (np.where(has_date & ~wrong, time, 0) * times // over for time in (wall, instant))
    return Dates(Moment(*moments), has_date, wrong)


def _dates_of_text(array: pa.Array) -> Dates:
    array = _without_missing_words(array)
    coded = array.dictionary_encode()
    moments, sound = np.zeros((2, len(coded.dictionary) + 1), np.int64), np.ones(len(coded.dictionary) + 1, bool)
    for k, word in enumerate(coded.dictionary.to_pylist()):
        try:
            moments[:, k] = moment(word)
        except InputError:
            sound[k] = False
    codes = pc.fill_null(coded.indices, len(coded.dictionary)).to_numpy(zero_copy_only=False)
    return Dates(Moment(*moments[:, codes]), present(array), present(array) & ~sound[codes])


def _without_missing_words(array: pa.Array) -> pa.Array:
    """Strip whitespace from text, and replace words for missing values, such as ``NA``, by null."""
    words = pc.utf8_trim_whitespace(array.cast(pa.string()))
    return pc.if_else(pc.is_in(words, pa.array(MISSING_WORDS)), None, words)


def parse_numbers(name: str, array: pa.Array) -> tuple[pa.Array, list[Fault]]:
    """Parse text as numbers, null if missing or invalid. Also return an error message for each invalid value."""
    words = _without_missing_words(array)
    values: list[float | None] = []
    faults: list[Fault] = []
    for row, word in enumerate(words.to_pylist()):
        sound = word is not None and re.fullmatch(NUMBER, word) is not None
        values.append(float(word) if sound else None)
        if not sound and word is not None:
            faults.append(Fault(row, name, f"{shown(array[row].as_py())} {NO_NUMBER}"))
    return pa.array(values, pa.float64()), faults


def number_labels(name: str, array: pa.Array) -> tuple[pa.Array, list[Fault]]:
    """Convert a label column to float64, null if missing. Also return an error for each label that is not a number."""
    faults: list[Fault] = []
    if is_string(array.type):
        try:
            values = _without_missing_words(array).cast(pa.float64())
        except pa.ArrowInvalid:
            values, faults = parse_numbers(name, array)
    elif is_number(array.type) or pa.types.is_boolean(array.type) or pa.types.is_null(array.type):
        values = array.cast(pa.float64(), safe=False)
    else:
        labels = enumerate(array.to_pylist())
        faults = [Fault(row, name, f"{label} {NO_NUMBER}") for row, label in labels if label is not None]
        return pa.nulls(len(array), pa.float64()), faults
    sizes = np.abs(numbers(values))
    return values, faults + [
        Fault(row, name, f"the label {unusable(values[row].as_py())}")
        for row in np.flatnonzero(sizes > LARGEST_VALUE).tolist()
    ]


def times(array: pa.Array) -> tuple[Array, Flags]:
    """Convert a column of dates (in UTC) or numbers to numbers that sort by time.

    Also return a mask of the rows with a value.
    """
    if is_number(array.type):
        values = numbers(array)
        return values, present(array) & ~np.isnan(values)
    parsed = dates(array)
    return parsed.moments.instant, parsed.present & ~parsed.wrong


def date_faults(name: str, array: pa.Array) -> Iterator[Fault]:
    """Yield an error for each row of a column of dates with a date that does not exist or cannot be parsed."""
    try:
        wrong = dates(array).wrong
    except InputError as error:
        raise InputError(error.message, column=name) from None
    for row in np.flatnonzero(wrong):
        value = array[int(row)]
        text = shown(value.as_py()) if is_string(array.type) else str(value.cast(pa.string()))
        yield Fault(int(row), name, f"{text} is not {EXPECTED}")


def date_features(name: str, moments: Dates, names: Names) -> HashedFeatures:
    """Encode the dates of a column: a category ``name.part=value`` for the hour, the weekday and the month."""
    numbered = parts(moments.moments.wall[moments.present])
    keys = [f"{part}={value}" for part, value in part_keys(name)]
    names.add([keys[k] for k in np.unique(numbered)])
    hashed = np.array([feature_hash(key, names.bits) for key in keys], np.int32)
    return HashedFeatures(moments.present * numbered.shape[1], hashed[numbered].ravel(), np.ones(numbered.size))


def label_values(array: pa.Array) -> Array:
    """Convert a label column to a NumPy array: strings to objects, numbers and booleans with their type.

    Whole decimal numbers become Python integers, so that a large number is the same label in all formats. Missing
    labels have arbitrary values.
    """
    if pa.types.is_decimal(array.type):
        values = array.to_pylist()
        labels = (int(x) if x is not None and x.is_finite() and x == x.to_integral_value() else x for x in values)
        return np.fromiter(labels, object, len(array))
    if is_string(array.type):
        coded = array.dictionary_encode()
        words = np.array(coded.dictionary.to_pylist() or [None], dtype=object)
        return np.asarray(words[pc.fill_null(coded.indices, 0).to_numpy(zero_copy_only=False)])
    if is_number(array.type) or pa.types.is_boolean(array.type):
        if pa.types.is_integer(array.type) and array.null_count:  # NumPy would make floats of all
            array = pc.fill_null(array, 0)
        return np.asarray(array.to_numpy(zero_copy_only=False))
    return np.fromiter(array.to_pylist(), object, len(array))


def unchanged_values(array: pa.Array) -> Array:
    """Convert a column for output: text, numbers, booleans and lists unchanged; times and decimals as text.

    Examples
    --------
    >>> from datetime import date
    >>> unchanged_values(pa.array([date(2024, 2, 29), None])), unchanged_values(pa.array([[1, 2], [3, 4]]))
    (array(['2024-02-29', None], dtype=object), array([list([1, 2]), list([3, 4])], dtype=object))
    """
    whole = plain(array)
    if pa.types.is_temporal(whole.type) or pa.types.is_decimal(whole.type):
        whole = whole.cast(pa.string())
    return np.fromiter(whole.to_pylist(), object, len(whole))


def require_role(role: str, name: str, kind: pa.DataType) -> None:
    """Raise InputError if a column of this Arrow type cannot be the label, task or weight (``role``).

    Examples
    --------
    >>> require_role("weight", "w", pa.string())
    Traceback (most recent call last):
    coterie.data.errors.InputError: column 'w': it has the type string; expected numbers as weight
    """
    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    if role == "weight" and not (is_number(kind) or pa.types.is_null(kind)):
        raise InputError(f"it has the type {kind}; expected numbers as weight", column=name)
    if role in ("label", "task") and pa.types.is_nested(inner):
        raise InputError(f"it has the type {kind}; expected text, numbers, booleans or dates as {role}", column=name)


def missing_labels(array: pa.Array) -> Flags:
    """Return a mask of the rows with a missing label or task: null, blank or NaN."""
    missing = ~present(array)
    if is_string(array.type):
        blank = pc.equal(pc.utf8_trim_whitespace(array), "")
        missing |= pc.fill_null(blank, True).to_numpy(zero_copy_only=False)
    elif pa.types.is_floating(array.type):
        missing |= np.isnan(array.to_numpy(zero_copy_only=False))
    return missing


def role_faults(role: str, name: str, array: pa.Array) -> Iterator[Fault]:
    """Yield an error for each invalid value of a label, task or weight column, such as a missing task."""
    if role == "weight":
        values = np.where(present(array), numbers(array), np.nan)
        for row in np.flatnonzero(~((values >= 0.0) & (values <= LARGEST_WEIGHT))).tolist():
            value = float(values[row])
            reason = "is missing" if np.isnan(value) else f"{value!r} is not a number from 0 to 1,000,000"
            yield Fault(row, name, f"the weight {reason}")
    if role == "task":
        yield from (Fault(row, name, NO_TASK) for row in np.flatnonzero(missing_labels(array)).tolist())
    if role in ("label", "task") and pa.types.is_timestamp(array.type) and array.type.unit == "ns":
        fine = pc.fill_null(array.cast(pa.int64()), 0).to_numpy(zero_copy_only=False) % 1000 != 0
        for row in np.flatnonzero(fine).tolist():
            yield Fault(row, name, f"the {role} is a time finer than microseconds, which labels cannot be")


def number_faults(batch: pa.RecordBatch | pa.Table, names: Sequence[str]) -> Iterator[Fault]:
    """Yield an error for each number in the named columns that is infinite, or too large to be squared."""
    values, _ = number_columns(batch, names)
    for j, row in np.argwhere(np.abs(values) > LARGEST_VALUE).tolist():  # not NaN, which is missing
        yield Fault(row, names[j], unusable(float(values[j, row])))
