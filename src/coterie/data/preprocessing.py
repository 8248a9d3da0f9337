"""Preprocessing of records in all input forms: logarithms, scaling, a constant, and missing-value indicators."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from typing import Annotated, Any, TypeAlias, cast

import msgspec
import numpy as np
from numba import typeof
from numpy.typing import NDArray

from coterie import spec
from coterie._compiled.core.arrays import enlarged
from coterie._compiled.core.checks import require
from coterie._compiled.core.dictionaries import PLAIN, WITHOUT_TRUTH_VALUES
from coterie._compiled.core.logs import take_logs
from coterie._compiled.core.moments import WIDTH, from_saved, is_constant
from coterie._compiled.core.records import Csr, Dense
from coterie._compiled.primal.scaling import (
    SECOND,
    SWAPPED,
    UNCOUNTED,
    UNPREPARED,
    Preparing,
    needs_second_column,
    prepare_columns,
    prepare_entries,
    scale_numbers,
    undo_record,
)
from coterie._compiled.text.rows import unit_rows
from coterie.models.multiview.vocabularies import one_record
from coterie.types import Array, Arrays, Floats, Ints, Json, Label, Learning

from .feature_keys import missing_key, presence_name

#: For each scale: True if numbers become z-scores, and True if records are then scaled to unit length.
_STEPS = {"none": (False, False), "standard": (True, False), "unit": (False, True), "auto": (True, True)}
SCALES = tuple(_STEPS)
CONSTANT = "constant"


#: Values and features of a record, the number of leading ones to preprocess, and the number behind the constant.
Entries: TypeAlias = tuple[Floats, NDArray[np.int32], int, int]


class _Saved(msgspec.Struct, forbid_unknown_fields=True):
    constant: bool
    standardised: bool
    unit: bool
    missing: list[int] = []
    log: list[Label] = []
    records: Annotated[int, msgspec.Meta(ge=0)] = 0


class Preparation:
    """The scales of features, a constant, and an indicator of each column with gaps.

    A record is its features, the constant, the indicators in the order in which gaps first appeared. A gap is 0, and
    its indicator then 1. For tables these are additional columns; for dictionaries the constant is the feature ``""``
    and the indicator of ``name`` the feature ``name=``, all in the vocabulary. Names that dictionaries leave out are
    scaled as described in :mod:`coterie._compiled.primal.scaling`, and may have a second column.

    Parameters
    ----------
    constant : bool
        True to add a constant.
    scale : {"none", "standard", "unit", "auto"}
    width : int or None
        The number of columns of tables; None for dictionaries.
    log : iterable
        The features to take the logarithm of: columns of tables, names of dictionaries.
    absences : bool
        True if numbers of tables may be absent, given as infinity.

    Attributes
    ----------
    standardised, unit : bool
        True if numbers become z-scores, and True if records are then scaled to unit length.
    has_lengths : bool
        True if rows are to be divided by their constant for mixed-effects models: unless ``scale`` is ``"unit"``.
    moments : ndarray, shape (n, 7)
        The :class:`~coterie._compiled.core.moments.Moments` of each feature, if they are standardised; features that
        are not numbers have a weight of -1.
    counts_unseen : bool
        True if features that no record had count in predictions.
    missing : list of int
        The columns with gaps, in the order of the first such records; among them, as ``~j``, each column of a table
        that was sometimes absent, for the column of its presence.
    """

    def __init__(
        self, constant: bool, scale: str, width: int | None = None, log: Iterable[Hashable] = (), absences: bool = False
    ) -> None:
        self.standardised, self.unit = _STEPS[scale]
        self.has_lengths = scale != "unit"
        self.absences = absences
        self.constant, self.width, self.log = constant, width, tuple(log)
        self.missing: list[int] = []
        self.counts_unseen = False
        self.constant_column = (width or 0) if constant else None
        self._noted = width or 0 if self.standardised else 0
        n = max(self._noted, 16)
        self._compile(np.zeros((n, WIDTH)), _uncounted(n, 0), np.zeros(1, np.int64))
        self._undo: Callable[[], None] = _do_nothing

    def _compile(self, moments: Floats, columns: Ints, records: Ints) -> None:
        constant = -1 if self.constant_column is None else self.constant_column
        before = np.empty_like(moments)
        options = constant, self.width or 0, self.standardised, self.unit
        self.compiled = Preparing(moments, before, *options, columns, records)

    @property
    def length_column(self) -> int:
        """The index of the constant column, or -1; dividing a row by its constant undoes the scaling to unit length."""
        return int(self.constant_column or 0) if self.constant and self.has_lengths else -1

    def place_constant(self, column: int) -> None:
        """Set the column of the constant, for dictionaries."""
        if self.constant:
            self.constant_column = column
            self._compile(self.compiled.moments, self.compiled.columns, self.compiled.records)

    @property
    def moments(self) -> Floats:
        """The running moments of all features, shape (n, 7)."""
        return cast("Floats", self.compiled.moments[: self._noted])

    @property
    def features(self) -> int:
        """The number of columns of a preprocessed table row: features, constant and indicators."""
        return (self.width or 0) + self.constant + len(self.missing)

    def names_behind(self, names: Sequence[Hashable]) -> list[str]:
        """Return the names of the columns that preprocessing appends to a table's columns ``names``."""
        return [CONSTANT] * self.constant + [
            presence_name(names[~j]) if j < 0 else missing_key(names[j]) for j in self.missing
        ]

    @property
    def plain(self) -> frozenset[type]:
        """The value types that the compiled fast path supports; bool only if numbers are not scaled, as in files."""
        return WITHOUT_TRUTH_VALUES if self.standardised else PLAIN

    # -- tables ---------------------------------------------------------------------------------------------------

    def rows(self, rows: Dense | Csr, learning: Learning) -> Dense | Csr:
        """Preprocess numeric rows; sparse rows become dense if they are standardised."""
        if self.standardised and isinstance(rows, Csr):
            rows = rows.to_dense(self.width or 0)
        return self._sparse(rows) if isinstance(rows, Csr) else Dense(self.columns(rows.values, learning))

    def columns(self, values: Floats, learning: Learning) -> Floats:
        """Preprocess numeric rows, shape (n, width); rows that are learned first update the scales.

        NaN is missing, and infinity absent. In rows that are not learned, gaps of columns that had none count in the
        length; if nothing is learned, they have columns behind the others if they count in predictions.
        """
        if np.any(learning):
            self._undo = self.restoring()
            if values.size and math.isnan(float(values.sum())):
                gaps = np.isnan(values) & np.reshape(learning, (-1, 1))
                self.note_missing({j: int(gaps[:, j].argmax()) for j in np.flatnonzero(gaps.any(0)).tolist()})
        if self.log:
            values = np.array(values, np.float64)
            take_logs(values, np.array(self.log))
        presences = None
        if self.absences:
            values, presences = self.scale(values, 0, learning)
            self.count_records(learning, len(values))
            learned = (presences > 0.0) & np.reshape(learning, (-1, 1))
            self.note_missing({~j: int(learned[:, j].argmax()) for j in np.flatnonzero(learned.any(0)).tolist()})
        predicted = ~np.broadcast_to(learning, len(values))
        missing = [
            *self.missing,
            *self._unseen_gaps(values[predicted], None if presences is None else presences[predicted]),
        ]
        behind = self.features - len(self.missing)
        out = np.zeros((len(values), behind + len(missing)))
        if self.constant:
            out[:, values.shape[1]] = 1.0
        places = np.full(values.shape[1], -1)
        for column, j in enumerate(missing, behind):
            if j >= 0:
                places[j] = column
            elif presences is not None:
                out[:, column] = presences[:, ~j]
        options = self.compiled.moments, places, self.standardised and not self.absences, self.unit
        for first, last, update in runs_of(learning, len(values)):
            prepare_columns(values[first:last], *options, update, out[first:last])
        keeps_unseen = self.counts_unseen and not np.any(learning)
        return out if keeps_unseen else np.ascontiguousarray(out[:, : self.features])

    def _unseen_gaps(self, values: Floats, presences: Floats | None) -> list[int]:
        """Return columns with their first missing value (j), and with their first value after absences (as ``~j``)."""
        if presences is None and not np.isnan(values.sum()):
            return []
        gaps = [] if presences is None else [~j for j in np.flatnonzero((presences > 0.0).any(0)).tolist()]
        return [j for j in [*np.flatnonzero(np.isnan(values).any(0)).tolist(), *gaps] if j not in self.missing]

    def scale(self, values: Floats, first: int, learning: Learning) -> tuple[Floats, Floats]:
        """Scale k features from ``first`` on that may be absent; return values and presence indicators, (n, k)."""
        if not self.standardised:
            return np.where(np.isinf(values), 0.0, values), np.zeros(values.shape)
        scaled = np.array(values.T, np.float64, order="C")
        presences = np.empty(scaled.shape)
        scale_numbers(scaled, self.compiled, first, np.array(np.broadcast_to(learning, len(values))), presences)
        return scaled.T, presences.T

    def count_records(self, learning: Learning, n: int) -> None:
        """Add n records to the number of learned records, without those that are only predicted."""
        self.compiled.records[0] += np.count_nonzero(np.broadcast_to(learning, n))

    def note_missing(self, first: Mapping[int, int]) -> None:
        """Add indicator columns for features; ``first`` maps each to the row of its first missing value."""
        self.missing += sorted(first.keys() - set(self.missing), key=lambda j: (first[j], j))

    def _sparse(self, rows: Csr) -> Csr:
        """Preprocess sparse rows: add the constant and scale to unit length; entries that are not stored are 0."""
        values, features, starts = rows.values, rows.features, rows.starts
        if self.log:
            values = np.array(values, np.float64)
            chosen = np.isin(features, np.array(self.log))
            logs = values[chosen][:, None]
            take_logs(logs, np.zeros(1, np.int64))
            values[chosen] = logs[:, 0]
        if self.constant:
            ends = starts[1:]
            values, features = np.insert(values, ends, 1.0), np.insert(features, ends, self.width or 0)
            starts = starts + np.arange(len(starts))
        values = np.array(values, np.float64)
        if self.unit:
            unit_rows(starts, values)
        return Csr(values, features.astype(np.int32), starts)

    # -- dictionaries ---------------------------------------------------------------------------------------------

    def entries(self, entries: Entries, learning: bool, missing: Sequence[int] = ()) -> Csr | None:
        """Preprocess the entries of one record in place.

        There must be space for n more, those of second columns. The record counts neither as present nor as absent for
        the features whose values are ``missing``. Returns None, and changes nothing, if :meth:`without_second_column`
        lists any.
        """
        values, features, n, behind = entries
        if self.standardised:
            self._enlarge(n)  # a list may repeat an item
        m = _compiled(prepare_entries)(self.compiled, values, features, n, behind, learning)
        if m < 0:
            return None
        if learning and self.standardised:
            if missing:
                self.compiled.columns[missing, UNCOUNTED] += 1
            self._undo = partial(self._undo_entries, features, n, missing)
        return Csr(values[:m], features[:m], one_record(m))

    def _undo_entries(self, features: NDArray[np.int32], n: int, missing: Sequence[int]) -> None:
        if missing:
            self.compiled.columns[missing, UNCOUNTED] -= 1
        _compiled(undo_record)(self.compiled, features, n)

    def without_second_column(self, values: Floats, features: NDArray[np.int32]) -> list[int]:
        """Return the features that need a second column (value or presence) before these values can be learned."""
        pairs = zip(features.tolist(), values.tolist(), strict=True)
        return [j for j, x in pairs if needs_second_column(self.compiled, j, x)]

    def set_second_column(self, feature: int, column: int) -> None:
        """Set a feature's second column: for its value if the feature was constant so far, else for its presence.

        A feature that is missing in some records has two columns, its value and 1 where it is present.
        """
        self.compiled.columns[feature, SECOND:] = column, is_constant(self.compiled.moments[feature])

    @property
    def second_columns(self) -> dict[int, tuple[int, bool]]:
        """The second columns: a mapping from feature to column, and True if the column holds values, not presences."""
        columns = self.compiled.columns[: self._noted]
        features = np.flatnonzero(columns[:, SECOND] >= 0).tolist()
        return {j: (int(columns[j, SECOND]), bool(columns[j, SWAPPED])) for j in features}

    def resize(self, numbers: Sequence[bool], missing_so_far: Iterable[int] = ()) -> None:
        """Append features; ``numbers`` is True for those to standardise.

        A number that is new after the first record was absent before, unless its value was missing in all records.
        """
        if self.standardised:
            first, self._noted = self._noted, self._noted + len(numbers)
            self._enlarge(self._noted)
            self.compiled.moments[first : self._noted, 0] = [0.0 if number else -1.0 for number in numbers]
            records = int(self.compiled.records[0])
            self.compiled.columns[first : self._noted] = _uncounted(len(numbers), max(records - 1, 0))
            for k in missing_so_far:
                self.compiled.columns[first + k, UNCOUNTED] = records

    def _enlarge(self, n: int) -> None:
        moments, columns = self.compiled.moments, self.compiled.columns
        if n > len(moments):
            moments = enlarged(moments, n)
            more = _uncounted(len(moments) - len(columns), 0)
            self._compile(moments, np.concatenate([columns, more]), self.compiled.records)

    # -- refused records, and files -------------------------------------------------------------------------------

    def __getstate__(self) -> Json:
        """Return the state for pickle, without the undo function of the latest records."""
        return self.__dict__ | {"_undo": _do_nothing}

    def __setstate__(self, state: Json) -> None:
        """Restore the pickled state with writeable arrays."""
        self.__dict__.update(state)
        self._compile(*map(np.array, (self.compiled.moments, self.compiled.columns, self.compiled.records)))

    def restoring(self) -> Callable[[], None]:
        """Return a function that restores the current scales and the list of columns with missing values."""
        moments, gaps = self.moments.copy(), len(self.missing)
        columns, records = self.compiled.columns[: len(moments)].copy(), self.compiled.records.copy()

        def restore() -> None:
            self.compiled.moments[: len(moments)] = moments
            self.compiled.columns[: len(moments)] = columns
            self.compiled.records[:] = records
            del self.missing[gaps:]

        return restore

    @contextmanager
    def as_one(self) -> Iterator[None]:
        """Context in which all records that are read can be undone by one call."""
        undo = self.restoring()
        try:
            yield
        finally:
            self._undo = undo

    def snapshot(self) -> Callable[[], None]:
        """Return a function that undoes the records read after this call (a block, or a single record)."""
        noted = self._noted
        self._undo = _do_nothing

        def undo() -> None:
            self._undo()
            self.compiled.moments[noted : self._noted] = 0.0
            columns = self.compiled.columns
            columns[columns[:, SECOND] >= noted, SECOND:] = -1, 0
            self._noted = noted

        return undo

    def to_state(self) -> tuple[Json, Arrays]:
        """Return the state as JSON data and named arrays."""
        data: Json = {"constant": self.constant, "standardised": self.standardised, "unit": self.unit}
        logs = {"log": list(self.log)} if self.log else {}
        arrays: Arrays = {"moments": self.moments.copy()} if self.standardised else {}
        if self._is_named:
            data["records"], arrays["columns"] = self.records, self.absence_counts
        return data | logs | {"missing": self.missing}, arrays

    @property
    def records(self) -> int:
        """The number of learned records, which is counted only if values may be absent."""
        return int(self.compiled.records[0])

    @property
    def absence_counts(self) -> Ints:
        """A copy of the counts of absences of each feature."""
        return cast("Ints", self.compiled.columns[: self._noted].copy())

    @property
    def _is_named(self) -> bool:
        """True for dictionaries with scaled numbers, in which names may be absent."""
        return self.standardised and self.width is None

    @classmethod
    def from_state(cls, data: Json, arrays: Arrays, width: int | None, names: int) -> Preparation:
        """Restore preprocessing from :meth:`to_state`, for a table with ``width`` columns or a vocabulary size.

        Raises
        ------
        ValueError
            If the data do not fit such records.
        """
        saved = msgspec.convert(data, _Saved)
        scale = next(word for word, steps in _STEPS.items() if steps == (saved.standardised, saved.unit))
        restored = cls(saved.constant, scale, width, spec.labels_of(saved.log))
        fits = width is None or all(type(j) is int and 0 <= j < width for j in restored.log)
        require(fits, "the columns of logarithms are not among the columns")
        restored.missing = saved.missing
        fits = all(0 <= j < (width or 0) for j in saved.missing) and len(set(saved.missing)) == len(saved.missing)
        require(fits, "the columns with gaps are not among the columns")
        if saved.standardised:
            restored.restore_moments(from_saved(arrays["moments"], names))
        if restored._is_named:
            restored.restore_columns(np.array(arrays["columns"]), saved.records)
        return restored

    def restore_moments(self, moments: Floats) -> None:
        """Restore the moments of all features from a file."""
        self._noted = len(moments)
        n = len(moments) + 16
        self._compile(np.concatenate([moments, np.zeros((16, WIDTH))]), _uncounted(n, 0), self.compiled.records)

    def restore_columns(self, columns: Array, records: int) -> None:
        """Restore the counts of absences from a file; raise ValueError if they contradict the moments."""
        n, moments = self._noted, self.moments
        fits = columns.dtype == np.int64 and columns.shape == (n, 3)
        require(fits, f"columns is not an array of int64 of shape {(n, 3)}")
        uncounted, second, swapped = columns.T
        absent = records - uncounted - moments[:, [0, 4, 6]].sum(1)
        number, used = moments[:, 0] >= 0.0, second[second >= 0]
        require(bool(((uncounted >= 0) & ((absent >= 0) | ~number)).all()), "more records than were learned")
        fits = bool((second >= -1).all() and (second < n).all() and np.isin(swapped, (0, 1)).all())
        fits = fits and len(np.unique(used)) == len(used) and not number[used].any() and bool(number[second >= 0].all())
        require(fits, "second columns are not distinct")
        self.compiled.columns[:n], self.compiled.records[0] = columns, records


def _uncounted(n: int, records: int) -> Ints:
    """Return the initial counts of n new features without second columns."""
    return np.full((n, 3), (records, -1, 0), np.int64)


def runs_of(learning: Learning, n: int) -> Iterator[tuple[int, int, bool]]:
    """Split n records into runs of equal flags; yield the first index, the last (excluded), and the flag of each run.

    >>> list(runs_of(np.array([True, True, False]), 3)), list(runs_of(False, 3))
    ([(0, 2, True), (2, 3, False)], [(0, 3, False)])
    """
    if isinstance(learning, bool):
        yield 0, n, learning
        return
    ends = np.append(np.flatnonzero(learning[1:] != learning[:-1]) + 1, n)
    for first, last in zip(np.append(0, ends[:-1]).tolist(), ends.tolist(), strict=True):
        if last > first:
            yield first, last, bool(learning[first])


def sparse_scale(scale: str) -> str:
    """Return the scaling for sparse features, which are never centred; raise ValueError for ``"standard"``."""
    if scale == "standard":
        raise ValueError("scale='standard' needs numeric columns; use 'unit' for sparse and hashed features")
    return "unit" if scale == "auto" else scale


def _do_nothing() -> None:
    """Do nothing; the undo function if no records were read."""


@cache
def _compiled(function: Any) -> Any:
    """Return a compiled function for entries of dictionaries, called without type checks."""
    like = (UNPREPARED, np.zeros(0), np.zeros(0, np.int32), 0, 0, True)
    chosen = like if function is prepare_entries else (UNPREPARED, np.zeros(0, np.int32), 0)
    return function.compile(tuple(map(typeof, chosen)))
