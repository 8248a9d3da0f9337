"""Arrow columns as plain arrays for compiled code; no other module knows Arrow's types."""

from __future__ import annotations

import re
from contextlib import suppress
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coterie.multiview import unusable
from coterie.numeric.core.fields import LARGEST_VALUE
from coterie.numeric.core.hashing import as_bytes, bit_mask, encode_key, feature_hash, hash_strings, prefix_state
from coterie.numeric.core.records import LARGEST_WEIGHT
from coterie.numeric.text.names import meet_strings
from coterie.numeric.text.words import hash_texts, token_bound

from .dates import DAY, EXPECTED, FIRST_DAY, LAST_DAY, Moment, moment, mostly_dates, part_keys, parts
from .errors import InputError
from .faults import NO_NUMBER, NO_TASK, Fault, shown
from .keys import CONSTANT_KEY, MISSING_WORDS, NAMELESS, HashedFeatures, spell
from .names import Names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

_EMPTY = as_bytes(b"\0")
_FLOAT = pa.float64()
#: Text that is a number.
NUMBER = r"^[ \t]*[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|(?i:nan|inf|infinity))[ \t]*$"


class Strings(NamedTuple):
    """Arrow's layout of strings: string i is ``data[offsets[i]:offsets[i + 1]]``; a null is an empty string."""

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]


def is_string(kind: pa.DataType) -> bool:
    """True for strings in any of Arrow's layouts."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_number(kind: pa.DataType) -> bool:
    """True for numbers."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def is_date(kind: pa.DataType) -> bool:
    """True for dates, and for times of a date."""
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def is_list(kind: pa.DataType) -> bool:
    """True for lists."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _is_label(kind: pa.DataType) -> bool:
    return bool(is_string(kind) or pa.types.is_boolean(kind) or pa.types.is_integer(kind))


def kind_of(kind: pa.DataType) -> tuple[str | None, str]:
    """The kind of feature that a column's type makes it, or None and the reason.

    Examples
    --------
    >>> kind_of(pa.int32()), kind_of(pa.dictionary(pa.int8(), pa.string())), kind_of(pa.list_(pa.string()))
    (('numeric', ''), ('categorical', ''), ('items', ''))
    >>> kind_of(pa.date32()), kind_of(pa.time32("s"))
    (('date', ''), (None, 'it holds time32[s], which is no number, string, date or list of strings'))
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
    if is_list(inner) and (_is_label(inner.value_type) or pa.types.is_null(inner.value_type)):
        return "items", ""
    return None, f"it holds {kind}, which is no number, string, date or list of strings"


def kinds_of(table: pa.Table) -> dict[str, tuple[str | None, str]]:
    """The kinds of a table's columns, or None and the reason why a column is no feature; text may be dates."""
    kinds = {field.name: kind_of(field.type) for field in table.schema}
    texts = [name for name, (kind, _) in kinds.items() if kind == "categorical" and mostly_dates(table.column(name))]
    nameless = [name for name in kinds if name == CONSTANT_KEY]
    return kinds | dict.fromkeys(texts, ("date", "")) | dict.fromkeys(nameless, (None, NAMELESS))


def fits(kind: pa.DataType, use: str) -> bool:
    """True if a column of this type can be used as this kind of feature."""
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


def with_missing(batch: pa.RecordBatch, names: Iterable[str]) -> pa.RecordBatch:
    """A batch with more columns, all of whose values are missing."""
    for name in names:
        batch = batch.append_column(name, pa.nulls(len(batch)))
    return batch


def plain(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Combine the chunks of an array and resolve its dictionary."""
    whole = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    return whole.cast(whole.type.value_type) if pa.types.is_dictionary(whole.type) else whole


def present(array: pa.Array) -> NDArray[np.bool_]:
    """Flags of the values that are not null."""
    if not array.null_count:
        return np.ones(len(array), dtype=bool)
    mask: NDArray[np.bool_] = array.is_valid().to_numpy(zero_copy_only=False)
    return mask


def filled(array: pa.Array) -> NDArray[np.bool_]:
    """Flags of the rows that hold a value other than null, an empty string or an empty list.

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
    mask: NDArray[np.bool_] = pc.fill_null(pc.greater(lengths, 0), False).to_numpy(zero_copy_only=False)
    return mask


def numbers(array: pa.Array) -> NDArray[np.float64]:
    """The values as float64, 0 for null."""
    values = array if pa.types.is_float64(array.type) else array.cast(pa.float64(), safe=False)
    values = pc.fill_null(values, 0.0) if values.null_count else values
    result: NDArray[np.float64] = values.to_numpy(zero_copy_only=False)
    return result


def number_columns(
    batch: pa.RecordBatch | pa.Table, names: Sequence[str]
) -> tuple[NDArray[np.float64], NDArray[np.bool_] | None]:
    """The values of k columns of numbers, shape (k, n), 0 for null; and flags of those that are not null, None if all.

    What can be is done by one call for all columns: there may be a hundred thousand.

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
    columns = [plain(column) for column in chosen.columns]
    held = [numbers(column) for column in columns]
    shape = (len(columns), batch.num_rows)
    return np.array(held).reshape(shape), np.array([present(column) for column in columns], bool).reshape(shape)


def strings(array: pa.Array) -> Strings:
    """The strings in the layout that compiled code takes, wherever the array's slice begins."""
    large = array.cast(pa.large_string())
    large = pc.fill_null(large, "") if large.null_count else large
    _, offsets, data = large.buffers()
    place = np.frombuffer(offsets, dtype=np.int64)[large.offset : large.offset + len(large) + 1] if offsets else None
    if place is None or data is None or data.size == 0:
        return Strings(_EMPTY, np.zeros(len(large) + 1, np.int64))
    return Strings(as_bytes(data), np.array(place))


def _hash_values(name: str, array: pa.Array, names: Names) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Count the values of each row (1 or 0), and hash ``name=value`` for each value, whose names are noted."""
    if is_string(array.type) or pa.types.is_null(array.type):
        text = strings(array)
        hashed = np.empty(len(array), np.int32)
        prefix, mask = f"{name}=", bit_mask(names.bits)
        hash_strings(prefix_state(prefix), text.data, text.offsets, mask, hashed)
        if names.kept:
            meet_strings(prefix_state(prefix), text.data, text.offsets, mask, names.table)
            names.take(text.data, encode_key(prefix))
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
    """One entry ``name=value`` of value 1 for each row that has a value; null and ``""`` are none."""
    counts, indices = _hash_values(name, array, names)
    return HashedFeatures(counts, indices, np.ones(len(indices)))


def items(name: str, array: pa.Array, names: Names) -> HashedFeatures:
    """One entry ``name=item`` of value 1 for each item of each row's list."""
    if pa.types.is_null(array.type):
        return HashedFeatures(np.zeros(len(array), np.int64), np.empty(0, np.int32), np.empty(0))
    counts, indices = _hash_values(name, array.flatten(), names)
    lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False)
    before = np.concatenate([[0], np.cumsum(counts)])[np.concatenate([[0], np.cumsum(lengths)])]
    return HashedFeatures(np.diff(before), indices, np.ones(len(indices)))


def texts(name: str, array: pa.Array, names: Names) -> HashedFeatures:
    """Entries ``name^token`` of value log(1 + count)."""
    text = strings(array)
    bound = token_bound(text.offsets)
    out = HashedFeatures(np.empty(len(array), np.int64), np.empty(bound, np.int32), np.empty(bound))
    prefix = f"{name}^"
    total = hash_texts(prefix_state(prefix), text.data, text.offsets, bit_mask(names.bits), names.table, *out)
    names.take(text.data, encode_key(prefix), bytes.lower)
    return HashedFeatures(out.counts, out.indices[:total], out.values[:total])


class Dates(NamedTuple):
    """The moments of some rows, which of the rows have one, and which of them should have."""

    moments: Moment
    there: NDArray[np.bool_]
    wrong: NDArray[np.bool_]


#: Days, or units of time in a day, by type; microseconds in one of them, or how many of them are in a microsecond.
_UNITS = {"s": (86_400, 1_000_000, 1), "ms": (86_400_000, 1000, 1), "us": (DAY, 1, 1), "ns": (1000 * DAY, 1, 1000)}


def dates(array: pa.Array) -> Dates:
    """The dates of a column of dates, of times of a date, or of text in ISO 8601.

    Raises
    ------
    InputError
        For a time zone that is not known here.
    """
    if is_string(array.type) or pa.types.is_null(array.type):
        return _dates_of_text(array)
    there = present(array)
    if pa.types.is_date(array.type):
        array = array.cast(pa.timestamp("s" if pa.types.is_date32(array.type) else "ms"))
    in_day, times, over = _UNITS[array.type.unit]
    instant = pc.fill_null(array.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
    wrong = there & ((instant < FIRST_DAY * in_day) | (instant >= (LAST_DAY + 1) * in_day))
    wall = instant
    if array.type.tz is not None:
        try:
            local = pc.local_timestamp(pc.if_else(pa.array(wrong), None, array))
        except pa.ArrowInvalid:
            raise InputError(f"the time zone {array.type.tz!r} is not known here") from None
        wall = pc.fill_null(local.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
    held = (np.where(there & ~wrong, each, 0) * times // over for each in (wall, instant))
    return Dates(Moment(*held), there, wrong)


def _dates_of_text(array: pa.Array) -> Dates:
    array = _without_missing_words(array)
    coded = array.dictionary_encode()
    made, sound = np.zeros((2, len(coded.dictionary) + 1), np.int64), np.ones(len(coded.dictionary) + 1, bool)
    for k, word in enumerate(coded.dictionary.to_pylist()):
        try:
            made[:, k] = moment(word)
        except InputError:
            sound[k] = False
    codes = pc.fill_null(coded.indices, len(coded.dictionary)).to_numpy(zero_copy_only=False)
    there = present(array)
    return Dates(Moment(*made[:, codes]), there, there & ~sound[codes])


def _without_missing_words(array: pa.Array) -> pa.Array:
    """Text without spaces around it, null where it stands for a missing number or date."""
    words = pc.utf8_trim_whitespace(array.cast(pa.string()))
    return pc.if_else(pc.is_in(words, pa.array(MISSING_WORDS)), None, words)


def parse_numbers(name: str, array: pa.Array) -> tuple[pa.Array, list[Fault]]:
    """Parse text as numbers, null for what is missing or none, with a fault for each that is none."""
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
    """Convert labels of any type to float64, null where one is missing, with a fault for each that is no number."""
    faults: list[Fault] = []
    if is_string(array.type):
        try:
            values = _without_missing_words(array).cast(pa.float64())
        except pa.ArrowInvalid:
            values, faults = parse_numbers(name, array)
    elif is_number(array.type) or pa.types.is_boolean(array.type) or pa.types.is_null(array.type):
        values = array.cast(pa.float64(), safe=False)
    else:
        none = [
            Fault(row, name, f"{held} is not a number")
            for row, held in enumerate(array.to_pylist())
            if held is not None
        ]
        return pa.nulls(len(array), pa.float64()), none
    sizes = np.abs(numbers(values))
    return values, faults + [
        Fault(row, name, f"the label {unusable(values[row].as_py())}")
        for row in np.flatnonzero(sizes > LARGEST_VALUE).tolist()
    ]


def times(array: pa.Array) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The sort key of each row of a column of dates (its instant) or numbers, and which rows have one."""
    if is_number(array.type):
        values = numbers(array)
        return values, present(array) & ~np.isnan(values)
    found = dates(array)
    return found.moments.instant, found.there & ~found.wrong


def date_faults(name: str, array: pa.Array) -> Iterator[Fault]:
    """Yield a fault for each row whose date cannot be read, or is a day that calendars do not have."""
    try:
        wrong = dates(array).wrong
    except InputError as error:
        raise InputError(error.said, column=name) from None
    for row in np.flatnonzero(wrong):
        held = array[int(row)]
        said = shown(held.as_py()) if is_string(array.type) else str(held.cast(pa.string()))
        yield Fault(int(row), name, f"{said} is not {EXPECTED}")


def date_features(name: str, found: Dates, names: Names) -> HashedFeatures:
    """Entries of each date: a category ``name.part=value`` for each of its parts."""
    numbered = parts(found.moments.wall[found.there])
    keys = [f"{part}={value}" for part, value in part_keys(name)]
    names.add([keys[k] for k in np.unique(numbered)])
    hashed = np.array([feature_hash(key, names.bits) for key in keys], np.int32)
    return HashedFeatures(found.there * numbered.shape[1], hashed[numbered].ravel(), np.ones(numbered.size))


def label_values(array: pa.Array) -> NDArray[Any]:
    """Labels as a NumPy array: strings as objects (equal ones are one), numbers and truth values unchanged.

    Decimal numbers that are whole are Python's whole numbers, so that a large one is the same label from any format.
    Missing labels have any value.
    """
    if pa.types.is_decimal(array.type):
        held = (None if value is None else int(value) if _is_whole(value) else value for value in array.to_pylist())
        return np.fromiter(held, object, len(array))
    if is_string(array.type):
        coded = array.dictionary_encode()
        words = np.array(coded.dictionary.to_pylist() or [None], dtype=object)
        labels: NDArray[Any] = words[pc.fill_null(coded.indices, 0).to_numpy(zero_copy_only=False)]
        return labels
    if is_number(array.type) or pa.types.is_boolean(array.type):
        if pa.types.is_integer(array.type) and array.null_count:  # NumPy would make floats of all
            array = pc.fill_null(array, 0)
        values: NDArray[Any] = array.to_numpy(zero_copy_only=False)
        return values
    objects = np.empty(len(array), dtype=object)
    objects[:] = array.to_pylist()
    return objects


def _is_whole(value: Decimal) -> bool:
    return value.is_finite() and value == value.to_integral_value()


def kept_values(array: pa.Array) -> NDArray[Any]:
    """Values to be written as they stand: text, numbers, truth values and lists of them; times and decimals as text.

    Examples
    --------
    >>> from datetime import date
    >>> kept_values(pa.array([date(2024, 2, 29), None])), kept_values(pa.array([[1, 2], [3, 4]]))
    (array(['2024-02-29', None], dtype=object), array([list([1, 2]), list([3, 4])], dtype=object))
    """
    whole = plain(array)
    if pa.types.is_temporal(whole.type) or pa.types.is_decimal(whole.type):
        whole = whole.cast(pa.string())
    return np.fromiter(whole.to_pylist(), object, len(whole))


def refused_as_label(kind: pa.DataType, what: str) -> str | None:
    """The reason why a column of this type names no labels or tasks; None where it may.

    Examples
    --------
    >>> refused_as_label(pa.list_(pa.int64()), "task")
    'it holds list<item: int64>, and no task is one: expected text, numbers, truth values or dates'
    >>> refused_as_label(pa.dictionary(pa.int8(), pa.string()), "task")
    """
    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_nested(inner):
        return f"it holds {kind}, and no {what} is one: expected text, numbers, truth values or dates"
    return None


def missing_labels(array: pa.Array) -> NDArray[np.bool_]:
    """Flags of the rows whose label or task is missing: null, blank or NaN."""
    missing = ~present(array)
    if is_string(array.type):
        blank = pc.equal(pc.utf8_trim_whitespace(array), "")
        missing |= pc.fill_null(blank, True).to_numpy(zero_copy_only=False)
    elif pa.types.is_floating(array.type):
        missing |= np.isnan(array.to_numpy(zero_copy_only=False))
    return missing


def label_faults(name: str, what: str, array: pa.Array) -> Iterator[Fault]:
    """Yield a fault for each row whose label or task is a time of nanoseconds, or that has no task."""
    for row in np.flatnonzero(missing_labels(array)) if what == "task" else ():
        yield Fault(int(row), name, NO_TASK)
    if pa.types.is_timestamp(array.type) and array.type.unit == "ns":
        fine = pc.fill_null(array.cast(pa.int64()), 0).to_numpy(zero_copy_only=False) % 1000 != 0
        for row in np.flatnonzero(fine):
            yield Fault(int(row), name, f"the {what} is a time finer than microseconds, which labels cannot be")


def refused_as_weight(kind: pa.DataType) -> str | None:
    """The reason why a column of this type holds no weights; None where it may."""
    return (
        None
        if is_number(kind) or pa.types.is_null(kind)
        else f"it holds {kind}, and no weight is one: expected numbers"
    )


def weight_faults(name: str, array: pa.Array) -> Iterator[Fault]:
    """Yield a fault for each row whose weight is missing, negative, too large or no number."""
    values = np.where(present(array), numbers(array), np.nan)
    for row in np.flatnonzero(~((values >= 0.0) & (values <= LARGEST_WEIGHT))):
        found = "is missing" if np.isnan(values[row]) else f"{float(values[row])!r} is no number from 0 to 1,000,000"
        yield Fault(int(row), name, f"the weight {found}")


def number_faults(batch: pa.RecordBatch | pa.Table, names: Sequence[str]) -> Iterator[Fault]:
    """Yield a fault for each number in these columns that is infinite, or so large that squares would overflow."""
    values, _ = number_columns(batch, names)
    for j, row in np.argwhere(np.abs(values) > LARGEST_VALUE).tolist():  # not NaN, which is missing
        yield Fault(row, names[j], unusable(float(values[j, row])))
