"""Advice on columns that might be read as another kind or left out, from the first records of a stream."""

from __future__ import annotations

import math
import re
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coterie.types import Flags, Floats

from .columns import NUMBER, filled, is_number, is_string, label_values, numbers, plain, present

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence


#: The most records and columns that hints are drawn from, and the fewest records.
LOOKED, COLUMNS, FEWEST = 10_000, 200, 100
#: A column of text holds ids if this share of its values are distinct, and texts if these have this many words.
NEW, WORDS = 0.9, 3.0
#: A column is nearly the label from this AUC on, or this rank correlation with a label that is a number (normal ones
#: then have 95 of 100 pairs in the same order); and the fewest records of either label for a hint.
NEARLY, NEARLY_NUMBER, OF_EACH = 0.95, 0.985, 20
#: These words are in the hint about a column of one value, or of none.
ONE = "value in the first"
#: Labels that are text are numbers if this share of them can be read as such.
NUMBERS = 0.9
#: Numbers with separators of thousands or a decimal comma, or without; and what shows that they have one of these.
LOCAL, SEPARATED = (
    r"^[-+]?(0|[1-9]\d*|[1-9]\d{0,2}([., '’\x{a0}\x{202f}]\d{3})+)([.,]\d+)?$",
    r"\d[, '’\x{a0}\x{202f}]\d",
)
#: These words are in the hint about such a column.
LOCAL_FORM = "numbers in a local form"
#: Whole numbers are drawn without replacement if this many pairs of equal ones are expected, and there is none.
PAIRS = 10


class Hint(NamedTuple):
    """Advice on one column: the kind of values found in it, and better options of `coterie.data.readers.read`."""

    column: str
    seen: str
    options: tuple[str, ...]

    @property
    def of_one_value(self) -> bool:
        """True if the column has only one value, or none, in all records so far."""
        return ONE in self.seen


class ColumnProfiler:
    """A collector of the first records of a stream, which computes hints on columns from them."""

    def __init__(self) -> None:
        self._parts: list[pa.RecordBatch] = []
        self._rows = 0
        self._constant: dict[str, pa.Scalar] | None = None  # columns of one value in all records so far

    def see(self, batch: pa.RecordBatch, kinds: Mapping[str, str], label: str | None) -> None:
        """Store a batch of records unless enough are stored; ``kinds`` maps each column to its kind of feature."""
        if self._rows < LOOKED:
            names = [name for name, kind in kinds.items() if kind in ("numeric", "categorical", "date")][:COLUMNS]
            chosen = batch.select(names if label is None else [*names, label])
            self._parts.append(chosen.slice(0, LOOKED - self._rows))
            self._rows += self._parts[-1].num_rows
            return
        if self._constant is None:
            table = _joined(self._parts)
            arrays = {name: plain(table.column(name)) for name in table.column_names if name in kinds}
            self._constant = {name: array[0] for name, array in arrays.items() if _has_one_value(array)}
        for name, value in list(self._constant.items()):
            array = plain(batch.column(name))
            if len(array) and not (_has_one_value(array) and array[0] == value):
                del self._constant[name]

    def hints(self, kinds: Mapping[str, str], label: str | None, chosen: Collection[str] = ()) -> list[Hint]:
        """Return the hints on columns, except the ``label`` and the ``chosen`` ones.

        The kinds of chosen columns are fixed by the user.
        """
        if self._rows < FEWEST:
            return []
        table, constant = _joined(self._parts), self._constant
        labels = None if label is None else label_values(plain(table.column(label)))
        hints = table_hints(table, kinds, labels, chosen)
        return [hint for hint in hints if constant is None or not hint.of_one_value or hint.column in constant]


def table_hints(
    table: pa.Table, kinds: Mapping[str, str], labels: Sequence[object] | Floats | None, chosen: Collection[str] = ()
) -> list[Hint]:
    """Return the hints on the columns of a table in memory, as :meth:`ColumnProfiler.hints` does for a stream."""
    y = None if labels is None else _scored(labels)
    if y is not None and not (known := np.isfinite(y)).all():
        table, y = table.filter(pa.array(known)), y[known]
    hints = []
    for name, kind in kinds.items():
        if name in table.column_names:
            array = plain(table.column(name))
            new = () if name in chosen else _ids(name, kind, array)
            hints += list(islice(chain(new, _to_leave_out(name, kind, array, y)), 1))
    return hints


def _joined(parts: Sequence[pa.RecordBatch]) -> pa.Table:
    """Concatenate batches of records with the same columns, the types of which may differ between batches."""
    return pa.table(
        {name: _joined_column([plain(part.column(name)) for part in parts]) for name in parts[0].schema.names}
    )


def _joined_column(arrays: Sequence[pa.Array]) -> pa.ChunkedArray:
    """Concatenate the arrays of a column: unchanged if their types are equal, else as numbers or as text."""
    kinds = {array.type for array in arrays if not pa.types.is_null(array.type)} or {pa.null()}
    if len(kinds) > 1:
        numeric = all(is_number(kind) or pa.types.is_boolean(kind) for kind in kinds)
        kinds = {pa.float64() if numeric else pa.string()}
    (kind,) = kinds
    converted = []
    for array in arrays:
        try:
            converted.append(array.cast(kind, safe=False))
        except pa.ArrowException:  # Arrow has no cast for all types
            converted.append(pa.array([None if value is None else str(value) for value in array.to_pylist()], kind))
    return pa.chunked_array(converted, kind)


def _has_one_value(array: pa.Array) -> bool:
    """Return True if all non-null values of a column are equal, or all are null."""
    has_value = filled(array)
    return not has_value.any() or bool(has_value.all() and pc.count_distinct(array).as_py() == 1)


def _finite(array: pa.Array) -> tuple[Floats, Flags]:
    """Return the finite numbers of a column, and a mask of the rows that have one."""
    values = numbers(array)
    return values, present(array) & np.isfinite(values)


def _ids(name: str, kind: str, array: pa.Array) -> Iterator[Hint]:
    """Yield a hint if nearly every record has its own value in the column, as in a column of ids."""
    if kind == "categorical" and is_string(array.type):
        texts = array.filter(pc.greater(pc.binary_length(array), 0))
        distinct = pc.count_distinct(texts).as_py()
        if len(texts) >= FEWEST and _share(texts, LOCAL) > NEW and _share(texts, SEPARATED) > 0.0:
            seen = f"{LOCAL_FORM} ({texts[0]}), read as categories (Tables in a local form, on the page Data, has more)"
            yield Hint(name, seen, ("ignore",))
        elif len(texts) >= FEWEST and distinct > NEW * len(texts):
            words = pc.mean(pc.count_substring(texts, " ")).as_py() + 1
            value, options = ("text of several words", ("text",)) if words >= WORDS else ("value", ())
            yield Hint(
                name, f"a new {value} in {100 * distinct / len(texts):.0f} % of the records", (*options, "ignore")
            )
    if kind != "numeric" or not is_number(array.type):
        return
    numbers, is_finite = _finite(array)
    values = numbers[is_finite]
    if len(values) < FEWEST:
        return
    if (np.diff(values) > 0.0).all():
        yield Hint(name, "a larger number in every record", ("ignore", "time"))
    elif (
        len(values) ** 2 >= 2 * PAIRS * (np.ptp(values) + 1)
        and (values == np.floor(values)).all()
        and len(np.unique(values)) == len(values)
    ):
        yield Hint(name, "a whole number of its own in every record, as ids are", ("ignore",))


def _share(texts: pa.Array, pattern: str) -> float:
    """Return the share of texts that match a regular expression."""
    return float(pc.mean(pc.match_substring_regex(texts, pattern).cast(pa.int8())).as_py())


def _to_leave_out(name: str, kind: str, array: pa.Array, y: Floats | None) -> Iterator[Hint]:
    """Yield a hint if a column is constant, or nearly determines the labels y (by its values or by missing values)."""
    has_value = filled(array)
    if _has_one_value(array):
        yield Hint(name, f"{'the same' if has_value.any() else 'no'} {ONE} {len(array):,} records", ("ignore",))
    if y is None or len(array) < FEWEST:
        return
    near = nearness(has_value.astype(np.float64), y)
    if kind == "numeric" and is_number(array.type):
        values, has_value = _finite(array)
        near = max(near, nearness(values[has_value], y[has_value]))
    elif kind == "categorical":
        means = _means_of_others(array.dictionary_encode().indices, y, has_value)
        near = max(near, nearness(means[has_value], y[has_value], falling=False))
    if near[0] >= 1.0:
        yield Hint(name, f"values that tell the label nearly by themselves ({near[1]})", ("ignore",))


def _means_of_others(codes: pa.Array, y: Floats, has_value: Flags) -> Floats:
    """Return for each record the mean label of the other records of its category (leave-one-out target mean).

    Within a category this decreases with the label, so an irrelevant category seems to decrease with it.
    """
    category = pc.fill_null(codes, 0).to_numpy(zero_copy_only=False)
    size = category.max(initial=0) + 1
    counts = np.bincount(category[has_value], minlength=size)[category] - 1.0
    sums = np.bincount(category[has_value], y[has_value], size)[category] - y
    return np.where(counts > 0, sums / np.maximum(counts, 1.0), y[has_value].mean() if has_value.any() else 0.0)


def nearness(values: Floats, y: Floats, falling: bool = True) -> tuple[float, str]:
    """Return how strongly values depend on labels, relative to the threshold for a hint, and the measure's name.

    The measure is the area under the curve (for labels 0 and 1), or the rank correlation (for numbers); 0 for too few
    records. If ``falling``, decreasing values count as much as increasing ones.
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
    size = math.sqrt(math.prod(float((deviation * deviation).sum()) for deviation in deviations))
    r = float((deviations[0] * deviations[1]).sum()) / size if size > 0.0 else 0.0
    r = abs(r) if falling else r
    return r / NEARLY_NUMBER, f"rank correlation {r:.3f}"


def _ranks(values: Floats) -> Floats:
    """Return 1-based ranks; tied values get their mean rank."""
    _, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[codes], np.float64)


def _scored(labels: Sequence[object] | Floats) -> Floats:
    """Convert labels to numbers for correlations: three or more different numbers are kept.

    Otherwise the most frequent label is 1, and all others are 0.

    Numbers may be text, as in CSV, and decimals.
    """
    array = np.asarray(labels)
    if array.dtype.kind in "iuf":
        values = array.astype(np.float64)
    else:
        distinct, codes = np.unique(array.astype(str), return_inverse=True)
        values = np.array([float(label) if re.fullmatch(NUMBER, label) else math.nan for label in distinct])[codes]
    numeric = len(values) > 0 and np.isfinite(values).mean() >= NUMBERS
    if numeric and len(np.unique(values[np.isfinite(values)])) > 2:
        return np.asarray(values)
    distinct, codes = np.unique(array if array.dtype.kind in "iuf" else array.astype(str), return_inverse=True)
    return np.asarray((codes == np.bincount(codes).argmax()).astype(np.float64))
