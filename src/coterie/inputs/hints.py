"""Hints that a column might better be read in another way, drawn from the first records of a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .columns import is_number, is_string, label_values, numbers, plain, present

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

#: The most records and columns that hints are drawn from, and the fewest records.
LOOKED, COLUMNS, FEWEST = 10_000, 200, 100
#: A column of text holds ids if this share of its values are distinct, and texts if these have so many words.
NEW, WORDS = 0.9, 3.0
#: Numbers that are names: their fewest values, the pieces they are cut into, and the chance below which no line fits.
MANY, PIECES, SURE = 20, 8, 1e-4


class Hint(NamedTuple):
    """The kind of values found in a column, and the options of `coterie.io.readers.read` that may suit it better."""

    column: str
    seen: str
    options: tuple[str, ...]


class Looks:
    """The first records of a stream, kept to draw hints from."""

    def __init__(self) -> None:
        self._parts: list[pa.RecordBatch] = []
        self._rows = 0

    def see(self, batch: pa.RecordBatch, kinds: Mapping[str, str], label: str | None) -> None:
        """Keep records, whose columns have these kinds, if they are among the first."""
        if self._rows < LOOKED:
            names = [name for name, kind in kinds.items() if kind in ("numeric", "categorical")][:COLUMNS]
            chosen = batch.select(names if label is None else [*names, label])
            part = chosen.slice(0, LOOKED - self._rows)
            self._parts.append(part)
            self._rows += part.num_rows

    def hints(self, kinds: Mapping[str, str], label: str | None) -> list[Hint]:
        """The hints about the columns, ``label`` being that of the labels."""
        if self._rows < FEWEST:
            return []
        table = pa.concat_tables(map(_as_table, self._parts), promote_options="permissive")
        y = None if label is None else _scored(label_values(plain(table.column(label))))
        held = {name: plain(table.column(name)) for name in kinds if name in table.column_names}
        return [hint for name, array in held.items() for hint in _of_column(name, kinds[name], array, y)]


def _as_table(batch: pa.RecordBatch) -> pa.Table:
    return pa.table({name: plain(batch.column(name)) for name in batch.schema.names})


def _of_column(name: str, kind: str, array: pa.Array, y: NDArray[np.float64] | None) -> Iterator[Hint]:
    if kind == "categorical":
        yield from new_values(name, array)
    if kind != "numeric" or not is_number(array.type):
        return
    values, there = numbers(array), present(array)
    there = there & np.isfinite(values)
    if there.sum() >= FEWEST and (np.diff(values[there]) > 0.0).all():
        yield Hint(name, "a larger number in every record", ("ignore", "time"))
    elif y is not None and are_names(values[there], y[there]):
        yield Hint(name, "whole numbers whose order tells little of the label, as that of names", ("categorical",))


def new_values(name: str, array: pa.Array) -> Iterator[Hint]:
    """Yield a hint if nearly every record has a value of its own in a column of text."""
    if not is_string(array.type):
        return
    held = array.filter(pc.greater(pc.binary_length(array), 0))
    distinct = pc.count_distinct(held).as_py()
    if len(held) < FEWEST or distinct <= NEW * len(held):
        return
    share = f"in {100 * distinct / len(held):.0f} % of the records"
    if pc.mean(pc.count_substring(held, " ")).as_py() + 1 >= WORDS:
        yield Hint(name, f"a new text of several words {share}", ("text", "ignore"))
    else:
        yield Hint(name, f"a new value {share}", ("ignore",))


def _scored(labels: Sequence[object] | NDArray[np.float64]) -> NDArray[np.float64]:
    """Labels as numbers: those of more than two as they are, else 1 for the most frequent one."""
    held = np.asarray(labels)
    numeric = held.dtype.kind in "iuf"
    distinct, codes = np.unique(held if numeric else held.astype(str), return_inverse=True)
    scores: NDArray[np.float64] = (codes == np.bincount(codes).argmax()).astype(np.float64)
    return held.astype(np.float64) if numeric and len(distinct) > 2 else scores


def are_names(values: NDArray[np.float64], y: NDArray[np.float64]) -> bool:
    """True for whole numbers of many values each of which has labels of its own, which no line through them explains.

    The test for lack of fit of a line in eight pieces: with n_v records of value v, their mean label m_v, the line's
    f_v and k values, sum_v n_v (m_v - f_v)^2 / (k - 16) is compared with the variance within values; and the line,
    which is what the order tells, must explain less of the means than what is left.
    """
    distinct, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    k, n = len(distinct), len(values)
    if k < MANY or n < max(FEWEST, 3 * k) or not (distinct == np.floor(distinct)).all():
        return False
    means = np.bincount(codes, y, k) / counts
    within = float(np.square(y - means[codes]).sum()) / (n - k)
    pieces = np.array_split(np.arange(k), min(PIECES, k // 6))
    lack = sum(_lack(distinct[piece], means[piece], counts[piece]) for piece in pieces)
    from scipy.special import fdtrc

    freedom = k - 2 * len(pieces)
    ordered = float((counts * np.square(means - y.mean())).sum()) - lack
    unlike = within > 0.0 and fdtrc(freedom, n - k, lack / freedom / within) < SURE
    return bool(unlike and lack - freedom * within > ordered)


def _lack(x: NDArray[np.float64], y: NDArray[np.float64], weight: NDArray[np.int64]) -> float:
    """The weighted sum of squared residuals of the line of least squares."""
    x, y = x - np.average(x, weights=weight), y - np.average(y, weights=weight)
    slope = (weight * x * y).sum() / (weight * x * x).sum()
    return float((weight * np.square(y - slope * x)).sum())
