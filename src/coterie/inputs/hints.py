"""Hints that a column might better be read in another way, or left out, drawn from the first records of a stream."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .columns import filled, is_number, is_string, label_values, numbers, plain, present

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

#: The most records and columns that hints are drawn from, and the fewest records.
LOOKED, COLUMNS, FEWEST = 10_000, 200, 100
#: A column of text holds ids if this share of its values are distinct, and texts if these have so many words.
NEW, WORDS = 0.9, 3.0
#: Text in a local form: its fewest distinct values.
MANY = 20
#: A column is nearly the label from this AUC on, or this rank correlation with a label that is a number (where normal
#: ones have 95 of 100 pairs in the same order); and the fewest records of either label to tell.
NEARLY, NEARLY_NUMBER, OF_EACH = 0.95, 0.985, 20
#: In these words a column is said to have one value, or none.
ONE = "value in the first"
#: Text that is a date or a number, written as no file is read: a column of which so much is so was meant as one.
MEANT = 0.9
LOCAL_DATE = r"^(\d{1,2}[./-]\d{1,2}[./-]\d{2,4}|\d{4}[./]\d{1,2}[./]\d{1,2})\b"
LOCAL_NUMBER = r"^[-+]?[€$£]? ?[-+]?\d{1,3}([.,' ]?\d{3})*([.,]\d+)? ?[€$£%]?$"
#: Whole numbers are drawn without replacement if so many pairs of equal ones were to be expected, and there is none.
PAIRS = 10


class Hint(NamedTuple):
    """The kind of values found in a column, and the options of `coterie.io.readers.read` that may suit it better.

    If no option helps, ``advice`` says what to do instead.
    """

    column: str
    seen: str
    options: tuple[str, ...]
    advice: str = ""

    @property
    def of_one_value(self) -> bool:
        """True for a column that had the same value in all records so far, or none."""
        return ONE in self.seen


class ColumnProfiler:
    """The first records of a stream, kept to draw hints from."""

    def __init__(self) -> None:
        self._parts: list[pa.RecordBatch] = []
        self._rows = 0
        self._still: dict[str, pa.Scalar] | None = None  # columns of one value in the first records, and later so far

    def see(self, batch: pa.RecordBatch, kinds: Mapping[str, str], label: str | None) -> None:
        """Keep records, whose columns have these kinds, if they are among the first."""
        if self._rows < LOOKED:
            names = [name for name, kind in kinds.items() if kind in ("numeric", "categorical", "date")][:COLUMNS]
            chosen = batch.select(names if label is None else [*names, label])
            part = chosen.slice(0, LOOKED - self._rows)
            self._parts.append(part)
            self._rows += part.num_rows
            return
        if self._still is None:
            table = _joined(self._parts)
            held = {name: plain(table.column(name)) for name in table.column_names}
            self._still = {name: array[0] for name, array in held.items() if name in kinds and _one_value(array)}
        for name, value in list(self._still.items()):
            array = plain(batch.column(name))
            if len(array) and not (_one_value(array) and array[0] == value):
                del self._still[name]

    def hints(self, kinds: Mapping[str, str], label: str | None, said: Collection[str] = ()) -> list[Hint]:
        """The hints about the columns, ``label`` being that of the labels; how those ``said`` are read was chosen."""
        if self._rows < FEWEST:
            return []
        table = _joined(self._parts)
        labels = None if label is None else label_values(plain(table.column(label)))
        found = of_table(table, kinds, labels, said)
        still = self._still
        return found if still is None else [hint for hint in found if not hint.of_one_value or hint.column in still]


def of_table(
    table: pa.Table,
    kinds: Mapping[str, str],
    labels: Sequence[object] | NDArray[np.float64] | None,
    said: Collection[str] = (),
) -> list[Hint]:
    """The hints about columns of these kinds, beside the labels; see :meth:`ColumnProfiler.hints`."""
    y = None if labels is None else _scored(labels)
    if y is not None and not (known := np.isfinite(y)).all():
        table, y = table.filter(pa.array(known)), y[known]
    held = {name: plain(table.column(name)) for name in kinds if name in table.column_names}
    made = []
    for name, array in held.items():
        found = None if name in said else next(_ids(name, kinds[name], array), None)
        found = found or next(_to_leave_out(name, kinds[name], array, y), None)
        made += [] if found is None else [found]
    return made


def _joined(parts: Sequence[pa.RecordBatch]) -> pa.Table:
    """Join batches of the same columns, whose types may differ from file to file."""
    return pa.table(
        {name: _joined_column([plain(part.column(name)) for part in parts]) for name in parts[0].schema.names}
    )


def _joined_column(arrays: Sequence[pa.Array]) -> pa.ChunkedArray:
    """Join arrays of one type as they are, numbers and truth values as numbers, and all others as text."""
    kinds = {array.type for array in arrays if not pa.types.is_null(array.type)} or {pa.null()}
    if len(kinds) > 1:
        numeric = all(is_number(kind) or pa.types.is_boolean(kind) for kind in kinds)
        kinds = {pa.float64() if numeric else pa.string()}
    (kind,) = kinds
    return pa.chunked_array([_converted(array, kind) for array in arrays], kind)


def _converted(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Convert an array to one of a type of `_joined_column`, even if Arrow has no cast for it."""
    try:
        return array.cast(kind, safe=False)
    except pa.ArrowException:
        return pa.array([None if value is None else str(value) for value in array.to_pylist()], kind)


def _one_value(array: pa.Array) -> bool:
    """True of a column that has the same value in all records, or none in any."""
    there = filled(array)
    return not there.any() or bool(there.all() and pc.count_distinct(array).as_py() == 1)


def _finite(array: pa.Array) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The numbers of a column, and which of its rows have one."""
    values = numbers(array)
    return values, present(array) & np.isfinite(values)


def _ids(name: str, kind: str, array: pa.Array) -> Iterator[Hint]:
    """Yield a hint if values are new in nearly every record, so that they tell nothing of later ones."""
    if kind == "categorical" and is_string(array.type):
        held = array.filter(pc.greater(pc.binary_length(array), 0))
        if len(held) >= FEWEST:
            yield from meant_otherwise(name, held)
            yield from new_values(name, held)
    if kind != "numeric" or not is_number(array.type):
        return
    values, there = _finite(array)
    held = values[there]
    if len(held) < FEWEST:
        return
    if (np.diff(held) > 0.0).all():
        yield Hint(name, "a larger number in every record", ("ignore", "time"))
    elif len(held) ** 2 >= 2 * PAIRS * (np.ptp(held) + 1) and _are_whole_and_distinct(held):
        yield Hint(name, "a whole number of its own in every record, as ids are", ("ignore",))


def _are_whole_and_distinct(values: NDArray[np.float64]) -> bool:
    return bool((values == np.floor(values)).all() and len(np.unique(values)) == len(values))


def _to_leave_out(name: str, kind: str, array: pa.Array, y: NDArray[np.float64] | None) -> Iterator[Hint]:
    """Yield a hint if all records have the same value, or if values, or that there is one, are nearly the label."""
    there = filled(array)
    if _one_value(array):
        yield Hint(name, f"{'the same' if there.any() else 'no'} {ONE} {len(array):,} records", ("ignore",))
    if y is None or len(array) < FEWEST:
        return
    near = nearness(there.astype(np.float64), y)
    if kind == "numeric" and is_number(array.type):
        values, there = _finite(array)
        near = max(near, nearness(values[there], y[there]))
    elif kind == "categorical":
        means = _means_of_others(array.dictionary_encode().indices, y, there)
        near = max(near, nearness(means[there], y[there], falling=False))
    if near[0] >= 1.0:
        yield Hint(name, f"values that tell the label nearly by themselves ({near[1]})", ("ignore",))


def _means_of_others(codes: pa.Array, y: NDArray[np.float64], there: NDArray[np.bool_]) -> NDArray[np.float64]:
    """For each record with a category the mean label of the others that have it; the mean of all where it is alone.

    Among records of a category, this falls with the label; so what tells nothing seems to fall with it.
    """
    held = pc.fill_null(codes, 0).to_numpy(zero_copy_only=False)
    counts = np.bincount(held[there], minlength=held.max(initial=0) + 1)[held] - 1.0
    sums = np.bincount(held[there], y[there], held.max(initial=0) + 1)[held] - y
    return np.where(counts > 0, sums / np.maximum(counts, 1.0), y[there].mean() if there.any() else 0.0)


def nearness(values: NDArray[np.float64], y: NDArray[np.float64], falling: bool = True) -> tuple[float, str]:
    """The nearness of values to the label, 1 being where a hint begins, and the measure in words.

    The area under the curve (of labels 0 and 1), or the rank correlation (of numbers); 0 of too few records. Values
    that fall with the label are as near as those that rise, where ``falling`` says so.
    """
    if len(y) < FEWEST:
        return 0.0, ""
    ranks, distinct = _ranks(values), np.unique(y)
    if len(distinct) == 2:
        ones = y == distinct[1]
        n, m = int(ones.sum()), int((~ones).sum())
        if min(n, m) < OF_EACH:
            return 0.0, ""
        area = (ranks[ones].sum() - n * (n + 1) / 2) / (n * m)
        area = max(area, 1.0 - area) if falling else area
        return area / NEARLY, f"AUC {area:.3f}"
    deviations = ranks - ranks.mean(), (of_y := _ranks(y)) - of_y.mean()
    size = math.sqrt(math.prod(float((each * each).sum()) for each in deviations))
    r = float((deviations[0] * deviations[1]).sum()) / size if size > 0.0 else 0.0
    r = abs(r) if falling else r
    return r / NEARLY_NUMBER, f"rank correlation {r:.3f}"


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The ranks from 1; of equal values their mean."""
    _, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[codes], np.float64)


def meant_otherwise(name: str, held: pa.Array) -> Iterator[Hint]:
    """Yield a hint if text is dates or numbers in a local form, which are taken as names."""
    for pattern, what, advice in (
        (LOCAL_DATE, "dates", "write them as 2024-02-29T18:30"),
        (LOCAL_NUMBER, "numbers", "write them as 1234.56"),
    ):
        fits = pc.match_substring_regex(held, pattern)
        if pc.mean(fits).as_py() >= MEANT and pc.count_distinct(held).as_py() >= MANY:
            shown = held.filter(fits)[0].as_py()
            yield Hint(name, f"{what} such as {shown}, which are taken as names", (), advice)


def new_values(name: str, held: pa.Array) -> Iterator[Hint]:
    """Yield a hint if nearly every record has a value of its own in a column of text."""
    distinct = pc.count_distinct(held).as_py()
    if distinct <= NEW * len(held):
        return
    share = f"in {100 * distinct / len(held):.0f} % of the records"
    if pc.mean(pc.count_substring(held, " ")).as_py() + 1 >= WORDS:
        yield Hint(name, f"a new text of several words {share}", ("text", "ignore"))
    else:
        yield Hint(name, f"a new value {share}", ("ignore",))


def _scored(labels: Sequence[object] | NDArray[np.float64]) -> NDArray[np.float64]:
    """Return labels as numbers: more than two numbers as they are, else 1 for the most frequent label, NaN if missing.

    Numbers may be written as text, as in CSV, and be decimals.
    """
    array = np.asarray(labels)
    if array.dtype.kind in "iuf":
        values = array.astype(np.float64)
    else:
        distinct, codes = np.unique(array.astype(str), return_inverse=True)
        values = np.array([_number_or_nan(label) for label in distinct])[codes]
    numeric = len(values) > 0 and np.isfinite(values).mean() >= MEANT
    if numeric and len(np.unique(values[np.isfinite(values)])) > 2:
        return np.asarray(values)
    distinct, codes = np.unique(array if array.dtype.kind in "iuf" else array.astype(str), return_inverse=True)
    scores: NDArray[np.float64] = (codes == np.bincount(codes).argmax()).astype(np.float64)
    return scores


def _number_or_nan(label: str) -> float:
    try:
        return float(label)
    except ValueError:
        return math.nan
