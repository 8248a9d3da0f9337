"""Arrays, sparse matrices and frames: validation by scikit-learn, and conversion for compiled code."""

from __future__ import annotations

import datetime
import math
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from coterie import spec
from coterie._compiled.core.checks import MOST_FEATURES
from coterie._compiled.core.records import Csr, Dense
from coterie._compiled.core.text_fields import LARGEST_VALUE
from coterie.models.multiview.vocabularies import usable_number
from coterie.tasks.index import is_missing_label
from coterie.types import AnyLabels, AnyRecords, AnyRows, AnyTasks, Array, Ints, Record
from coterie.wording import warn

from .block import Block
from .dates import is_date
from .feature_keys import is_missing, refuse_masked, spell
from .label_encoders import exact_labels

if TYPE_CHECKING:
    from .label_encoders import LabelEncoder

Rows = Dense | Csr

NUMBERS = (np.float64, np.float32)

#: The largest allowed numbers, by the type of weights. In single precision, too, a margin then sums products of numbers
#: and of weights made of others, and their squares, without coming near the largest float, 3e38.
LIMITS = {"float64": LARGEST_VALUE, "float32": np.float64(1e12)}

#: The task of records that name none.
ONLY_TASK = 0


def split_task(X: AnyRecords, task: AnyTasks, column: Hashable | None) -> tuple[AnyRecords, AnyTasks]:
    """Return the features, and the tasks from the argument ``task`` or from the task column of X.

    Raises
    ------
    ValueError
        If X is no table; if both a column and an argument name the tasks; or if there is no such column.
    """
    require_table(X)
    if column is None:
        return X, task
    if task is not None:
        raise ValueError(f"tasks are given twice, as task= and as task_column={column!r}")
    if is_records(X):
        for t, record in enumerate(X):
            if column not in record:
                raise ValueError(f"record {t} (from 0) has no task_column {column!r}; it has {list(record)[:10]}")
        rest = [{name: value for name, value in record.items() if name != column} for record in X]
        return rest, [record[column] for record in X]
    columns = getattr(X, "column_names", getattr(X, "columns", None))
    if columns is None:
        return _split_array(X, column)
    names: list[Hashable] = list(columns)
    if isinstance(column, int) and column not in names:
        column = names[_checked(column, len(names))]
    if column not in names or len(names) == 1:
        alone = "is the only column; add one, such as a column of ones"
        raise ValueError(
            f"task_column {column!r} {alone if column in names else f'is not among the columns {names[:10]}'}"
        )
    if hasattr(X, "column_names"):
        return X.drop_columns([column]), X[column].to_pylist()
    return (X.drop(columns=column) if hasattr(X, "iloc") else X.drop(column)), X[column].to_numpy()


def warn_of_task(X: AnyRecords, task: AnyTasks) -> None:
    """Warn if the task column of a frame is used as a feature, too, which it is not in files."""
    name = getattr(task, "name", None)
    if isinstance(name, Hashable) and name is not None and name in list(getattr(X, "columns", ())):
        warn(
            f"column {name!r} names the tasks and is a feature as well: give task_column={name!r} instead of task=, or "
            "leave it out of X"
        )


def warn_of_one_task(owner: str) -> None:
    """Warn that records have no task; the argument may have been forgotten."""
    warn(
        f"records without a task are learned as one task, and {owner} learns how much tasks share: name each record's "
        "task with task=, or its column in X with task_column=; task=np.zeros(len(X)) says that there is one task"
    )


def is_records(X: AnyRecords) -> bool:
    """Return True for a list of dictionaries."""
    return isinstance(X, (list, tuple)) and len(X) > 0 and isinstance(X[0], Mapping)


def require_table(X: AnyRecords) -> None:
    """Raise ValueError for a block, and for readers, lazy frames and generators, which have no length."""
    kind = type(X)
    if kind is Block or not (hasattr(kind, "__len__") or hasattr(kind, "__array__")):
        raise ValueError(
            f"X cannot be a {kind.__name__}: pass a frame, an array or a list of dictionaries; "
            "progressive_validation and compare take readers"
        )


def require_records(X: AnyRecords) -> None:
    """Raise ValueError if the first item of a list is a dictionary and another one is not."""
    for t, x in enumerate(X):
        if type(x) is not dict and not isinstance(x, Mapping):
            raise ValueError(f"record {t} (from 0) must be a dictionary of features as the first is, got {x!r}")


def is_frame(X: AnyRecords) -> bool:
    """Return True for a non-empty pandas or Polars frame, or Arrow table."""
    return hasattr(X, "columns") and len(X) > 0


def has_words(X: AnyRecords) -> bool:
    """Return True for a frame with columns of strings, dates or categories."""
    return is_frame(X) and (text_column(X) is not None or any(map(_is_category, _columns(X).values())))


def text_column(X: AnyRecords) -> Hashable | None:
    """Return the first column of a frame with strings or dates; None if there is none."""
    names: Sequence[Hashable] = getattr(X, "column_names", X.columns)
    for name in names:
        values = np.asarray(X[name])
        if values.dtype.kind == "M":
            return name
        if values.dtype.kind in "OUT" and any(isinstance(value, str) or is_date(value) for value in values.ravel()):
            return name
    return None


def _columns(X: AnyRecords) -> dict[Hashable, AnyRecords]:
    """Return the columns of a frame or an Arrow table by name."""
    return {name: X[name] for name in getattr(X, "column_names", X.columns)}


def _is_category(column: AnyRecords) -> bool:
    """Return True for a categorical column of pandas, Polars or Arrow."""
    kind = getattr(column, "dtype", None) or column.type
    return type(kind).__name__ in ("CategoricalDtype", "Categorical", "Enum", "DictionaryType")


def frame_records(X: AnyRecords, gaps: bool) -> list[dict[Hashable, AnyRecords]]:
    """Convert the rows of a frame or an Arrow table to dictionaries; if ``gaps``, missing values become None."""
    if hasattr(X, "iloc"):
        records = X.astype(object).where(X.notna(), None).to_dict("records")
    else:
        records = X.to_pylist() if hasattr(X, "to_pylist") else X.to_dicts()
    for name in [name for name, column in _columns(X).items() if _is_category(column)]:
        for record in records:
            record[name] = None if is_missing(record[name]) else spell(record[name])
    return [{name: value for name, value in record.items() if gaps or value is not None} for record in records]


def has_numbers_only(X: AnyRecords) -> bool:
    """Return True for a frame with numeric columns only (booleans are not numeric)."""
    if hasattr(X, "iloc"):
        return all(getattr(kind, "kind", "O") in "iuf" for kind in X.dtypes)
    if not hasattr(X, "column_names"):
        return all(kind.is_numeric() for kind in X.dtypes)
    from .columns import is_number

    return all(is_number(field.type) for field in X.schema)


def arrow_table(X: AnyRecords) -> AnyRecords:
    """Convert a pandas or Polars frame to an Arrow table; return an Arrow table unchanged."""
    import pyarrow as pa

    if hasattr(X, "column_names"):
        return X
    if not hasattr(X, "iloc"):
        return X.to_arrow()
    try:
        return pa.Table.from_pandas(_with_offsets(X.set_axis(list(map(str, X.columns)), axis=1)), preserve_index=False)
    except pa.ArrowNotImplementedError as error:
        raise ValueError(f"X has a column that cannot be read: {' '.join(map(str, error.args))}") from error
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        reason = "; ".join(map(str, reversed(error.args))).partition("\n")[0]
        advice = "make it numbers by pandas.to_numeric, or text by astype(str)"
        raise ValueError(f"X has a column of mixed types ({reason}); {advice}") from error


def _with_offsets(X: AnyRecords) -> AnyRecords:
    """Convert columns of times with several UTC offsets to text, because Arrow would apply the first offset to all."""
    converted = {}
    for j, kind in enumerate(X.dtypes):
        values = [value for value in X.iloc[:, j] if not is_missing(value)] if getattr(kind, "kind", "") == "O" else []
        if values and all(isinstance(value, datetime.datetime) and value.tzinfo is not None for value in values):
            converted[X.columns[j]] = [None if is_missing(value) else value.isoformat() for value in X.iloc[:, j]]
    return X.assign(**converted) if converted else X


def column_numbers(width: int, task_column: Hashable | None) -> list[Hashable]:
    """Return the number in X of each of the ``width`` features of an array, from which ``task_column`` is taken out."""
    numbers: list[Hashable] = list(range(width + 1))
    is_place = isinstance(task_column, (int, np.integer)) and -width - 1 <= task_column <= width
    del numbers[int(task_column) if is_place else width]  # type: ignore[call-overload]
    return numbers


def column_indices(log: Iterable[Hashable], known: list[Hashable]) -> list[int]:
    """Return the places of the columns ``log`` among the ``known`` ones; raise ValueError if one is missing."""
    for name in log:
        if name not in known:
            raise ValueError(f"log needs numeric columns; {name!r} is not among {known[:10]}")
    return [known.index(name) for name in log]


def warn_of_columns(X: AnyRecords, y: AnyLabels) -> None:
    """Warn of columns of a frame that should perhaps be left out: ids, constants, near copies of the label."""
    if not hasattr(X, "columns") or count(X) < ENOUGH_TO_WARN:
        return
    from .columns import kinds_of
    from .hints import COLUMNS, LOCAL_FORM, LOOKED, table_hints

    with suppress(ValueError, TypeError):  # such records are refused elsewhere, or have several labels each
        table = arrow_table(X.iloc[:LOOKED] if hasattr(X, "iloc") else X[:LOOKED])
        labels = np.asarray(y)[:LOOKED]
        kinds = {name: kind for name, (kind, _) in list(kinds_of(table).items())[:COLUMNS] if kind in _LOOKED_AT}
        for hint in table_hints(table, kinds, labels if labels.ndim == 1 else None):
            advice = "leave it out if it is known only after the label" if "label" in hint.seen else _OF_NO_USE
            advice = "leave it out, unless it is a time" if "time" in hint.options else advice
            advice = "leave it out" if hint.of_one_value else advice
            advice = "convert it to numbers" if LOCAL_FORM in hint.seen else advice
            warn(f"column {hint.column!r} has {hint.seen}: {advice}")


_OF_NO_USE = "it tells nothing of later ones, leave it out"
_LOOKED_AT = ("numeric", "categorical", "date")
#: The fewest records of which columns are looked at.
ENOUGH_TO_WARN = 100


def values_by_name(record: Record, names: Sequence[Hashable]) -> list[float]:
    """Return the values of a dictionary of numbers in column order, NaN for missing ones."""
    numbers = []
    for name in names:
        value = record.get(name)
        if isinstance(value, str) and value:
            raise ValueError(f"feature {name!r} is {value!r}; the model expects a number")
        numbers.append(math.nan if is_missing(value) else usable_number(name, value))
    return numbers


def _split_array(X: AnyRecords, column: Hashable) -> tuple[AnyRecords, AnyTasks]:
    if not isinstance(column, (int, np.integer)):
        raise ValueError(f"task_column {column!r} is a name, but X has no column names; pass a frame, or an index")
    X = X if hasattr(X, "shape") else np.asarray(X)
    others = np.delete(np.arange(X.shape[1]), _checked(int(column), X.shape[1]))
    if hasattr(X, "tocsc"):
        return X.tocsc()[:, others].tocsr(), X.tocsc()[:, [column]].toarray().ravel()
    return X[:, others], X[:, column]


def _checked(column: int, width: int) -> int:
    if not -width <= column < width:
        raise ValueError(f"task_column {column} is not among the {width} columns")
    return column


@dataclass
class Shape:
    """The number of columns of arrays or frames, and their names if they have any."""

    width: int | None = None
    names: Array | None = None

    @classmethod
    def of_frame(cls, names: Sequence[Hashable] | None) -> Shape:
        """Return the shape of a frame with these columns, or of an array (None); names are kept if all are strings."""
        are_texts = names is not None and all(isinstance(name, str) for name in names)
        return cls(None if names is None else len(names), np.array(names, object) if are_texts else None)


def distinct_names(X: AnyRecords) -> list[Hashable]:
    """Return the column names of a frame or an Arrow table; raise ValueError for duplicates."""
    names = list(getattr(X, "column_names", X.columns))
    if len(set(names)) < len(names):
        twin = next(name for j, name in enumerate(names) if name in names[:j])
        raise ValueError(f"X has two columns named {twin!r}; rename one of them")
    return names


@cache
def _expecting(owner: str) -> type:
    """Return an estimator-like class with this name, because scikit-learn's validation names it in messages."""
    from sklearn.utils import Tags, TargetTags

    tags = partial(Tags, estimator_type=None, target_tags=TargetTags(required=True))
    return type(owner, (), {"__sklearn_tags__": staticmethod(tags)})


def validated(
    owner: str,
    shape: Shape,
    X: AnyRecords,
    y: AnyLabels,
    reset: bool,
    labels: LabelEncoder | None = None,
    gaps: bool = False,
) -> tuple[Rows, AnyLabels, Array | None]:
    """Validate X and y with scikit-learn; return X as rows for compiled code, y, and the encoded y.

    Parameters
    ----------
    owner : str
        The estimator's class, for messages.
    shape : Shape
        Changed in place if ``reset``; afterwards it has the width of X.
    X, y
        The records and their labels, if there are ``labels``.
    reset : bool
        True if these records decide on the columns.
    labels : LabelEncoder, optional
        The encoder of y; None for records without labels.
    gaps : bool
        True to allow NaN in arrays as missing values.
    """
    if not reset and shape.width is None:
        by_name = "the model learned features by name; pass a list of dictionaries or a frame, not an array"
        raise ValueError(by_name if count(X) else "X has no records")
    y = "no_validation" if labels is None else require_labels(y)
    values = None
    if labels is not None and labels.numeric and y is not None and np.asarray(y).dtype.kind in "OSUmM":
        values = labels.values(y)  # scikit-learn would convert text and dates
    from sklearn.utils.validation import validate_data

    estimator: Any = _expecting(owner)()
    is_table, of_y = hasattr(X, "column_names"), {} if labels is None else {"y_numeric": labels.numeric}
    if not reset:
        estimator.n_features_in_ = shape.width
    if is_table:  # which scikit-learn cannot read in every version
        names = np.array(X.column_names, dtype=object)
        expected = names if reset or shape.names is None else shape.names
        if expected.tolist() != names.tolist():
            raise ValueError(f"X has columns {X.column_names[:10]}, expected {expected[:10].tolist()}")
        X = np.column_stack(list(map(np.asarray, X.columns)))
    elif not reset and shape.names is not None:
        estimator.feature_names_in_ = shape.names
    checked = validate_data(
        estimator, X, y, reset=reset, accept_sparse="csr", dtype=NUMBERS, ensure_all_finite=False, **of_y
    )
    if reset:
        shape.names = names if is_table else getattr(estimator, "feature_names_in_", None)
    if labels is not None:
        checked, y = checked
        values = labels.values(y, of_arrays=True) if values is None else values
    shape.width = checked.shape[1]
    require_usable(checked, "X", shape.names, gaps=gaps and not hasattr(checked, "indptr"))
    if hasattr(checked, "indptr") and not checked.has_canonical_format:
        checked = checked.copy()
        checked.sum_duplicates()
    return block_rows(checked)[0], y, values


def require_labels(y: AnyLabels) -> AnyLabels:
    """Raise ValueError for missing labels, which scikit-learn would convert, sort, or ignore; else return the labels.

    Texts that end with a null character are refused too: NumPy's arrays of text drop it, and make one label of two.

    Raises
    ------
    ValueError
        With the first such label and the number of missing ones.
    """
    dtype = getattr(y, "dtype", None)
    kind = dtype.kind if isinstance(dtype, np.dtype) else "O"  # the kind of pandas' booleans with gaps is "b"
    if y is None or isinstance(y, str) or kind in "biuSU":
        return y
    values = np.asarray(y) if kind == "f" else y if isinstance(y, (list, tuple)) else np.asarray(y, object).ravel()
    labels = () if kind == "f" else values
    # the empty text is a label
    gaps = np.fromiter((not isinstance(label, str) and is_missing(label) for label in labels), bool)
    missing = np.isnan(values) if kind == "f" else gaps
    if missing.any():
        t = int(missing.reshape(len(values), -1).any(axis=1).argmax())
        first = "nan" if kind == "f" else repr(values[t])
        raise ValueError(
            f"label of record {t} (from 0) is missing: {first}; {missing.sum():,} of {missing.size:,} labels are "
            "missing; leave out such records, or predict them"
        )
    for t, label in enumerate(labels):
        if spec.ends_with_null(label):
            raise ValueError(f"label of record {t} (from 0) {spec.ENDS_WITH_NULL}: {label!r}")
    return exact_labels(y)


def label_column(y: AnyLabels, n: int) -> AnyLabels:
    """Return labels as a one-dimensional array; raise ValueError unless there are n."""
    if getattr(y, "ndim", 1) != 1:
        from sklearn.utils import column_or_1d

        y = column_or_1d(y, warn=True)
    if len(y) != n:
        raise ValueError(f"y must have one label per record: got {len(y)} for {n} records")
    return y


def require_usable(
    X: AnyRecords,
    what: str,
    names: Sequence[Hashable] | Array | None = None,
    dtype: str = "float64",
    gaps: bool = False,
) -> None:
    """Raise ValueError if an array or CSR matrix has NaN (unless ``gaps``), infinity, or too large numbers.

    Raises
    ------
    ValueError
        For the first of them, with its column and record.
    """
    values, largest = X.data if hasattr(X, "indptr") else X, LIMITS[dtype]
    if max(values.max(initial=0.0), -values.min(initial=0.0)) <= largest:  # not so with NaN
        return
    unusable = np.flatnonzero(np.abs(values) > largest if gaps else ~(np.abs(values) <= largest))
    if not len(unusable):
        return
    wrong = unusable[0]
    if hasattr(X, "indptr"):
        row, column = np.searchsorted(X.indptr, wrong, side="right") - 1, X.indices[wrong]
    else:
        row, column = divmod(wrong, X.shape[1])
    place = int(column) if names is None else names[column]
    raise ValueError(
        f"{what} contains {_named(float(values.flat[wrong]), dtype)}, in column {place!r} "
        f"of record {row} (from 0); leave out such records, or replace the number (0 has no effect)"
    )


def _named(number: float, dtype: str) -> str:
    if number != number:
        return "NaN"
    limit = f"{LIMITS[dtype]:g}" if dtype == "float64" else f"{LIMITS[dtype]:g} of {dtype}"
    return f"{number!r}, beyond the limit of {limit}" if np.isfinite(number) else "infinity"


def block_rows(X: AnyRecords) -> tuple[Rows, int]:
    """Convert validated records to rows for compiled code; return them and their number of columns.

    Raises
    ------
    ValueError
        For more columns than there are numbers for.
    """
    if X.shape[1] > MOST_FEATURES:
        raise ValueError(f"X has {X.shape[1]:,} columns; at most {MOST_FEATURES:,} are supported: hash them to fewer")
    if not hasattr(X, "indptr"):  # numba would compile everything again for read-only arrays
        return Dense(np.require(X, np.float64, ["C", "W"])), X.shape[1]
    kinds = (X.data, np.float64), (X.indices, np.int32), (X.indptr, np.int64)
    return Csr(*(np.require(array, kind, ["W"]) for array, kind in kinds)), X.shape[1]


def as_array(rows: Rows, features: int) -> AnyRows:
    """Convert rows of compiled code to a dense array or a CSR matrix with this many features."""
    if isinstance(rows, Dense):
        return rows.values
    from scipy.sparse import csr_array

    return csr_array((rows.values, rows.features, rows.starts), shape=(rows.n_records, features))


def count(X: AnyRecords) -> int:
    """Return the number of records in X, in any input form."""
    if hasattr(X, "shape"):
        return int(X.shape[0])
    return len(X) if hasattr(X, "__len__") else len(np.asarray(X))


def interleaving(X: AnyRecords, task: AnyTasks, column: Hashable | None) -> Ints | None:
    """Return the order that takes one record of each task in turn, for records sorted by task; None for others."""
    # dictionaries without the column would be copies of all
    records = column is not None and is_records(X)
    labels = task_labels([x[column] for x in X] if records else split_task(X, task, column)[1], count(X))
    starts = np.flatnonzero(np.append(True, labels[1:] != labels[:-1]))
    if not 1 < len(starts) < len(labels) or len(set(labels[starts].tolist())) < len(starts):
        return None
    turns = np.arange(len(labels)) - np.repeat(starts, np.diff(np.append(starts, len(labels))))
    return np.argsort(turns, kind="stable")


def take_rows(X: AnyRecords, order: Ints) -> AnyRecords:
    """Return the records, labels, tasks or weights at these positions, in the same form."""
    if X is None:
        return None
    if hasattr(X, "iloc"):
        return X.iloc[order]
    if hasattr(X, "to_pylist"):
        return X.take(order)
    if hasattr(X, "tocsr"):
        return X.tocsr()[order]
    return X[order] if hasattr(X, "shape") else [X[t] for t in order.tolist()]


def one_row(x: AnyRecords) -> AnyRecords:
    """Convert one record (not a dictionary) to a frame, an array or a list with one row.

    Raises
    ------
    ValueError
        For several records.
    """
    if hasattr(x, "iloc") and not hasattr(x, "columns"):  # a row of a pandas frame
        known = x.astype(object).where(x.notna(), None)  # a lone NaN would be a column of numbers
        return known.to_frame().T.infer_objects()
    has_rows = isinstance(x, Block) or hasattr(x, "columns") or is_records(x) or np.ndim(x) == 2
    row = x if has_rows else np.asarray(x)[None]
    if count(row) != 1:
        raise ValueError(f"explain takes one record, got {count(row)}")
    return row


def record_of(X: AnyRecords) -> dict[Hashable, object] | None:
    """Return the single row of a frame, or the single dictionary of a list, as a dictionary; None for arrays."""
    if isinstance(X, Block):
        return None
    if is_records(X):
        return dict(X[0])
    return {str(name): value for name, value in frame_records(X, True)[0].items()} if hasattr(X, "columns") else None


def entries_of(X: AnyRecords) -> tuple[list[int], list[float]]:
    """Return the column indices and the values of an array or sparse matrix with one row."""
    if hasattr(X, "tocsr"):
        row = X.tocsr()
        return row.indices.tolist(), row.data.tolist()
    values = np.asarray(X)[0].tolist()
    return list(range(len(values))), values


def indexed_as(X: AnyRecords, values: Array, columns: ArrayLike | None = None) -> AnyRecords:
    """Convert values, one row per record, to a pandas series or frame with X's index if X is a pandas frame."""
    if not hasattr(X, "iloc"):
        return values
    import pandas as pd

    return pd.Series(values, X.index) if columns is None else pd.DataFrame(values, X.index, columns)


def task_labels(task: AnyTasks, n: int, known: Collection[Hashable] = ()) -> Array:
    """Return one task per record; ``known`` are the tasks of the model.

    Raises
    ------
    ValueError
        If the number of tasks is wrong, or they are missing and the known tasks have names.
    """
    if task is None:
        return np.full(n, default_task(known), np.int64)
    refuse_masked(task, "task")
    labels = task.to_pylist() if hasattr(task, "to_pylist") else task
    labels = objects(labels) if isinstance(labels, (list, tuple)) else np.asarray(labels)
    if labels.ndim == 0:
        raise ValueError(
            f"task must have one task per record: got {task!r} for {n} records; use task_column= for a column"
        )
    if labels.shape != (n,):
        raise ValueError(f"task must have one task per record: got shape {labels.shape} for {n} records")
    return labels


def default_task(known: Collection[Hashable]) -> int:
    """Return the default task of records without a task; raise ValueError if the model's tasks have names."""
    if known and (len(known) > 1 or ONLY_TASK not in known):
        raise ValueError(
            f"task is missing: the known tasks have names such as {next(iter(known))!r}; pass task=, or the column of "
            "X as task_column="
        )
    return ONLY_TASK


def one_task(task: Hashable) -> Hashable:
    """Convert the label of a task from a NumPy type to a Python type, and validate it.

    Raises
    ------
    ValueError
        If it is missing (None or NaN), or a time finer than microseconds.
    TypeError
        If it is not hashable.
    """
    if type(task) is str:
        return task
    try:
        hash(task)
    except TypeError:
        raise TypeError(f"task must be a label such as text, a number or a tuple of them, got {task!r}") from None
    if is_missing_label(task):
        raise ValueError(f"the task of the record is missing: {task!r}")
    if isinstance(task, np.datetime64):
        # of nanoseconds, NumPy would make an integer
        moment = task if isinstance(task.item(), datetime.date) else task.astype("M8[us]")
        if moment != task:
            raise ValueError(f"the task {task!r} is a time finer than microseconds, which cannot be saved to a file")
        time: Hashable = moment.item()
        return time
    return task.item() if isinstance(task, np.generic) else task


def objects(labels: Sequence[Hashable]) -> Array:
    """Convert labels to an object array with their types; a tuple is one label."""
    return np.fromiter(labels, object, len(labels))
