"""The preparation of an estimator's records: a constant, scales, and indicators of missing values.

Of files and tables, an :class:`coterie.inputs.encoding.Encoder` has one, of arrays and dictionaries an
:class:`coterie.inputs.input.Input`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from numbers import Real
from typing import Any, cast

import msgspec
import numpy as np
from numba import typeof
from numpy.typing import NDArray

from coterie import spec
from coterie.numeric.core.arrays import grown
from coterie.numeric.core.checks import require
from coterie.numeric.core.dictionaries import AT_NUMBERS, AT_PLAIN, read
from coterie.numeric.core.logs import signed_log, take_logs
from coterie.numeric.core.moments import WIDTH, from_saved
from coterie.numeric.core.records import Csr, Dense
from coterie.numeric.primal.calls import PlainRecords
from coterie.numeric.primal.preparation import UNPREPARED, Preparing, prepare_columns, prepare_entries, take_back
from coterie.numeric.text.rows import unit_rows
from coterie.views import HashedVocabulary, View, Vocabulary
from coterie.views.vocabularies import concatenated, one_record, usable_number

from .dates import check_first, is_date, spread
from .keys import CONSTANT_KEY, is_missing, missing_key, spell

Arrays = dict[str, NDArray[Any]]

SCALES = ("none", "standard", "unit", "auto")
CONSTANT = "constant"


class _Saved(msgspec.Struct, forbid_unknown_fields=True):
    constant: bool
    standardised: bool
    unit: bool
    missing: list[int] = []
    dates: list[Any] = []
    log: list[Any] = []


class Preparation:
    """The scales of features and what comes behind them: a constant, and an indicator of each column with gaps.

    A record is its features, the constant, the indicators in the order in which gaps first appeared. A gap is 0, and
    the indicator then 1. Of tables that is their columns and so many more; of dictionaries the constant is the feature
    ``""`` and the indicator of ``name`` the feature ``name=``, all in the vocabulary.

    Attributes
    ----------
    constant, standardised, unit : bool
        Whether there is a constant, whether numbers become z-scores, whether records come to unit length then.
    width : int or None
        The columns of tables; None of dictionaries.
    moments : ndarray, shape (n, 7)
        The :class:`~coterie.numeric.core.moments.Moments` of each feature, where they are standardised; a weight of -1
        is that of a feature that is no number.
    missing : list of int
        The columns that had gaps, in the order of the first such records; none are noted without ``indicators``.
    dates : dict
        Of dictionaries, the names that had dates. Names from a model of before version 0.3 come first, and with the
        first date, in microseconds since 1970, UTC: they have the years since then as a feature. Other names have None.
    log : tuple
        What numbers are replaced by their logarithms: columns of tables, names of dictionaries.
    """

    def __init__(
        self,
        constant: bool,
        standardised: bool,
        unit: bool,
        width: int | None = None,
        log: Iterable[Any] = (),
        indicators: bool = True,
    ) -> None:
        self.constant, self.standardised, self.unit, self.width = constant, standardised, unit, width
        self.log, self.indicators = tuple(log), indicators
        self.missing: list[int] = []
        self.dates: dict[Any, int | None] = {}
        self._noted = width or 0 if standardised else 0
        self._hold(np.zeros((max(self._noted, 16), WIDTH)))
        self._undo: Callable[[], None] = _nothing

    @classmethod
    def of(
        cls,
        constant: bool,
        scale: str | None,
        width: int | None,
        numbers: bool,
        log: Iterable[Any] = (),
        indicators: bool = True,
    ) -> Preparation:
        """The preparation that the parameters of an estimator describe, of records that are ``numbers`` or sparse.

        Raises
        ------
        ValueError
            For ``scale="standard"`` where features are sparse, or have no names: their mean may be anything but 0.
        """
        if scale == "standard" and not numbers:
            raise ValueError("scale='standard' needs columns of numbers: sparse and hashed features have 'unit'")
        standardised, unit = numbers and scale in ("standard", "auto"), scale in ("unit", "auto")
        return cls(constant, standardised, unit, width, log, indicators)

    def _hold(self, moments: NDArray[np.float64]) -> None:
        constant = -1 if not self.constant else 0 if self.width is None else self.width
        self._compiled = Preparing(
            moments, np.empty_like(moments), constant, self.width or 0, self.standardised, self.unit
        )

    @property
    def moments(self) -> NDArray[np.float64]:
        """The moments of the features noted."""
        return cast("NDArray[np.float64]", self._compiled.moments[: self._noted])

    @property
    def features(self) -> int:
        """The number of features of a prepared row of a table: its columns, the constant and the indicators."""
        return (self.width or 0) + self.constant + len(self.missing)

    def names_behind(self, names: Sequence[Any]) -> list[str]:
        """The names of the features behind the columns of tables that have these names: constant and indicators."""
        return [CONSTANT] * self.constant + [missing_key(names[j]) for j in self.missing]

    def plain_records(self, vocabulary: Vocabulary) -> PlainRecords:
        """What compiled code needs to read dictionaries: the numbers of names, and the scales."""
        return PlainRecords(vocabulary.numbers, self._plain, self._compiled)

    @property
    def reads_plainly(self) -> bool:
        """True where compiled code may read dictionaries: no name has had dates, and none wants logarithms."""
        return not self.dates and not self.log

    @property
    def _plain(self) -> int:
        """The address of the types that count as numbers: without bool where numbers are scaled, as in files."""
        return AT_NUMBERS if self.standardised else AT_PLAIN

    # -- tables ---------------------------------------------------------------------------------------------------

    def columns(self, values: NDArray[np.float64], update: bool) -> Dense:
        """Prepare rows of numbers, shape (n, width), NaN where they are missing."""
        if update:
            self._undo = self.restoring()
            self._note_gaps(values)
        if self.log:
            values = np.array(values, np.float64)
            take_logs(values, np.array(self.log))
        out = np.zeros((len(values), self.features))
        if self.constant:
            out[:, values.shape[1]] = 1.0
        places = np.full(values.shape[1], -1)
        places[self.missing] = self.features - len(self.missing) + np.arange(len(self.missing))
        prepare_columns(values, self._compiled.moments, places, self.standardised, self.unit, update, out)
        return Dense(out)

    def _note_gaps(self, values: NDArray[np.float64]) -> None:
        if values.size and math.isnan(float(values.sum())):
            gaps = np.isnan(values)
            self.note_missing({j: int(gaps[:, j].argmax()) for j in np.flatnonzero(gaps.any(0)).tolist()})

    def note_missing(self, first: Mapping[int, int]) -> None:
        """Note columns with gaps, given with the first record that has one, in the order of these."""
        if self.indicators:
            self.missing += sorted(first.keys() - set(self.missing), key=lambda j: (first[j], j))

    def sparse(self, rows: Csr) -> Csr:
        """Prepare sparse rows, whose absent entries are 0: they get the constant, and are scaled to unit length."""
        values, features, starts = rows.values, rows.features, rows.starts
        if self.log:
            values = np.array(values, np.float64)
            chosen = np.isin(features, self.log)
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

    def begin(self, vocabulary: View) -> None:
        """Give the constant its feature, before any other has one."""
        if self.constant and isinstance(vocabulary, Vocabulary):
            self._add([CONSTANT_KEY], (), vocabulary)

    def records(self, records: Sequence[Mapping[Any, Any]], vocabulary: View, grow: bool, update: bool) -> Csr:
        """Prepare dictionaries, in order.

        Raises
        ------
        ValueError, TypeError
            For one that cannot be used; of several with its number.
        """
        undo, made = self.restoring() if update else _nothing, []
        try:
            for record in records:
                made.append(self.record(record, vocabulary, grow, update))  # noqa: PERF401 (the number is wanted)
        except (ValueError, TypeError) as error:
            if len(records) == 1:
                raise
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"record {len(made)} (from 0): {error}") from None
        finally:
            self._undo = undo
        return concatenated(made)

    def record(self, record: Mapping[Any, Any], vocabulary: View, grow: bool, update: bool) -> Csr:
        """Prepare one dictionary as a block of one; names that are new are added if it may grow, else left out."""
        found = None
        if type(record) is dict and self.reads_plainly and not isinstance(vocabulary, HashedVocabulary):
            found = self._read_plain(record, vocabulary, grow)
        for name in self.log:
            self._require_number(name, record.get(name))
        if found is None and (self.dates or any(map(is_date, record.values()))):
            record = self._spread(record, vocabulary, update)
        if isinstance(vocabulary, HashedVocabulary):
            return self._hashed(record, vocabulary)
        values, features, n, behind = found or self._read(record, vocabulary, grow)
        if self.standardised:  # of a list of items one may come often
            self._make_room(n)
        m = _compiled(prepare_entries)(self._compiled, values, features, n, behind, update)
        if update:
            self._undo = partial(_compiled(take_back), self._compiled, features, n)
        return Csr(values[:m], features[:m], one_record(m))

    @staticmethod
    def _require_number(name: Any, held: Any) -> None:
        """Refuse what has no logarithm in a feature of which it is taken; nothing may be there."""
        if not is_missing(held) and (isinstance(held, (bool, np.bool_)) or not isinstance(held, Real)):
            raise ValueError(f"feature {name!r} is {held!r}, and log takes numbers")

    def _spread(self, record: Mapping[Any, Any], vocabulary: View, update: bool) -> dict[Any, Any]:
        """A record with numbers and categories in place of dates."""
        for name, held in record.items():
            if is_date(held) and name not in self.dates and name in (vocabulary.numbers or ()):
                raise ValueError(f"feature {name!r} was a number so far, and is {held!r} now")
        return spread(record, self.dates, update)

    def _read_plain(
        self, record: dict[Any, Any], vocabulary: Vocabulary, grow: bool
    ) -> tuple[NDArray[np.float64], NDArray[np.int32], int, int] | None:
        """Values and features of numbers and strings, with room for the constant; None if there is anything else."""
        values, features = np.empty(len(record) + 1), np.empty(len(record) + 1, np.int32)
        known = read(record, vocabulary.numbers, values, features, self._plain)
        if grow and 0 <= known < len(record):
            if str in map(type, record.values()):
                return None
            self._add(record, record, vocabulary)
            known = read(record, vocabulary.numbers, values, features, self._plain)
        return None if known < 0 else (values, features, known, 0)

    def _read(
        self, record: Mapping[Any, Any], vocabulary: Vocabulary, grow: bool
    ) -> tuple[NDArray[np.float64], NDArray[np.int32], int, int]:
        """Values and features of anything, with room for the constant before indicators of missing values."""
        keys, held, scaled, gaps = self._entries(record, vocabulary if grow else None)
        if grow:
            self._add([*keys, *gaps], scaled, vocabulary)
        numbers = vocabulary.numbers
        known = [(numbers[key], value) for key, value in zip(keys, held, strict=True) if key in numbers]
        marks = sorted(numbers[key] for key in gaps if key in numbers)
        n, room = len(known), int(self.constant)
        values, features = np.ones(n + room + len(marks)), np.empty(n + room + len(marks), np.int32)
        values[:n], features[:n] = [value for _, value in known], [place for place, _ in known]
        features[n + room :] = marks
        return values, features, n, len(marks)

    def _entries(
        self, record: Mapping[Any, Any], growing: Vocabulary | None
    ) -> tuple[list[Any], list[float], set[Any], list[str]]:
        """Keys, values, which of the keys are of numbers to scale, and keys of missing values.

        Where names may be added, what was a number must not be text now.
        """
        keys: list[Any] = []
        values: list[float] = []
        scaled: set[Any] = set()
        gaps: list[str] = []
        for name, held in record.items():
            if is_missing(held):
                gaps.append(missing_key(name))
                continue
            category = isinstance(held, str) or (self.standardised and isinstance(held, (bool, np.bool_)))
            if category and self.standardised and growing is not None and name in growing.numbers:
                raise ValueError(f"feature {name!r} was a number so far, and is {held!r} now")
            if not (category or isinstance(held, (list, tuple, set, frozenset))):
                scaled.add(name)
            for key, value in _features(name, held, category):
                keys.append(key)
                values.append(signed_log(value) if name in self.log else value)
        return keys, values, scaled, gaps

    def _hashed(self, record: Mapping[Any, Any], vocabulary: HashedVocabulary) -> Csr:
        """A record's row where names are hashed, so that no feature has a scale and numbers stay as they are."""
        keys, held, _, gaps = self._entries(record, None)
        keys += [CONSTANT_KEY] * self.constant + gaps
        values, features = np.ones(len(keys)), vocabulary.columns(keys)
        values[: len(held)] = held
        starts = np.array([0, len(values)])
        if self.unit:
            unit_rows(starts, values)
        return Csr(values, features, starts)

    def keys_of(self, record: Mapping[Any, Any]) -> list[str]:
        """The keys of a record's features where no name is kept: features, the constant, missing values."""
        return self._keys(spread(record, self.dates, False))

    def _keys(self, record: Mapping[Any, Any]) -> list[str]:
        """The keys of a record whose dates have been replaced by their features; see :meth:`keys_of`."""
        keys, _, _, gaps = self._entries(record, None)
        return [*keys, *[CONSTANT_KEY] * self.constant, *gaps]

    def _add(self, names: Iterable[Any], scaled: Container[Any], vocabulary: Vocabulary) -> None:
        """Give names features that have none yet; those ``scaled`` are numbers."""
        first = len(vocabulary)
        new = vocabulary.add(names)
        if self.standardised:
            self._make_room(len(vocabulary))
            self._compiled.moments[first : len(vocabulary), 0] = [0.0 if name in scaled else -1.0 for name in new]
            self._noted = len(vocabulary)

    def _make_room(self, n: int) -> None:
        if n > len(self._compiled.moments):
            self._hold(grown(self._compiled.moments, n))

    # -- refused records, and files -------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        """Everything but what the last records may still have to take back: copies are made between records."""
        return self.__dict__ | {"_undo": _nothing}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Undo :meth:`__getstate__`; what was read from a file may not be written to."""
        self.__dict__.update(state)
        self._hold(np.array(self._compiled.moments))

    def restoring(self) -> Callable[[], None]:
        """A function that restores scales and columns with gaps as they are now, whatever is read meanwhile."""
        moments, gaps, dates = self.moments.copy(), len(self.missing), self.dates.copy()

        def restore() -> None:
            self.dates = dates
            self._compiled.moments[: len(moments)] = moments
            del self.missing[gaps:]

        return restore

    def snapshot(self) -> Callable[[], None]:
        """A function that undoes what the records read since this call have changed: one block, or one record."""
        noted, dates = self._noted, self.dates.copy()
        self._undo = _nothing

        def undo() -> None:
            self._undo()
            self.dates = dates
            self._compiled.moments[noted : self._noted] = 0.0
            self._noted = noted

        return undo

    def to_saved(self) -> tuple[dict[str, Any], Arrays]:
        """Everything as data with a JSON form, and named arrays."""
        data: dict[str, Any] = {"constant": self.constant, "standardised": self.standardised, "unit": self.unit}
        arrays = {"moments": self.moments.copy()} if self.standardised else {}
        if self.log:
            data["log"] = list(self.log)
        if self.dates:
            data["dates"] = list(self.dates)
        first = [at for at in self.dates.values() if at is not None]
        if first:
            arrays |= {"first": np.array(first, np.int64)}
        return data | {"missing": self.missing}, arrays

    @classmethod
    def from_saved(cls, data: Any, arrays: Mapping[str, NDArray[Any]], width: int | None, names: int) -> Preparation:
        """Undo :meth:`to_saved`, of tables of that width or of a vocabulary of so many names.

        Raises
        ------
        ValueError
            If the data are none of such records.
        """
        held = msgspec.convert(data, _Saved)
        made = cls(held.constant, held.standardised, held.unit, width, spec.labels_of(held.log))
        columns = width is None or all(type(j) is int and 0 <= j < width for j in made.log)
        require(columns, "the columns of logarithms are not among the columns")
        made.missing = held.missing
        fits = all(0 <= j < (width or 0) for j in held.missing) and len(set(held.missing)) == len(held.missing)
        require(fits, "the columns with gaps are not among the columns")
        if held.dates:
            names_of, at = spec.labels_of(held.dates), np.asarray(arrays.get("first", np.zeros(0, np.int64)))
            fits = at.dtype == np.int64 and at.ndim == 1 and len(at) <= len(names_of)
            require(fits, "the first dates are not one a name")
            first = dict(zip(names_of, at.tolist(), strict=False))
            check_first(names_of, first)
            made.dates = dict.fromkeys(names_of) | first
            require(width is None and len(made.dates) == len(names_of), "the names of dates are there twice")
        if held.standardised:
            made.restore_moments(from_saved(arrays["moments"], names))
        return made

    def restore_moments(self, moments: NDArray[np.float64]) -> None:
        """Restore the moments of all features noted, as from a file."""
        self._noted = len(moments)
        self._hold(np.concatenate([moments, np.zeros((16, WIDTH))]))


def _nothing() -> None:
    """Undo nothing."""


@cache
def _compiled(function: Any) -> Any:
    """A compiled function of dictionaries' entries, called without looking at its arguments' types."""
    like = (UNPREPARED, np.zeros(0), np.zeros(0, np.int32), 0, 0, True)
    chosen = like if function is prepare_entries else (UNPREPARED, np.zeros(0, np.int32), 0)
    return function.compile(tuple(map(typeof, chosen)))


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
