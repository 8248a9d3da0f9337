"""Arrays, sparse matrices and frames as records: validated by scikit-learn, handed to compiled code."""

from __future__ import annotations

import datetime
import math
import warnings
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie import spec
from coterie.index import is_nothing
from coterie.multiview.vocabularies import usable_number
from coterie.numeric.core.fields import LARGEST_VALUE
from coterie.numeric.core.records import Csr, Dense
from coterie.wording import stack_level

from .block import Block
from .dates import is_date
from .keys import is_missing, spell
from .labels import exact_labels

Rows = Dense | Csr

NUMBERS = (np.float64, np.float32)

#: What numbers may be, by the type in which weights are kept. In single precision, too, a margin then sums products of
#: a number and of weights made of others, and their squares, without coming near the largest there is, 3e38.
LIMITS = {"float64": LARGEST_VALUE, "float32": np.float64(1e12)}

#: The task of records that name none.
ONLY_TASK = 0


def split_task(X: Any, task: Any, column: Hashable | None) -> tuple[Any, Any]:
    """The features and the tasks, taken from the argument or from a column of X.

    Raises
    ------
    ValueError
        If both a column and an argument name the tasks, or if there is no such column.
    """
    if column is None:
        return X, task
    if task is not None:
        raise ValueError(f"tasks are given twice: as task= and as task_column={column!r}")
    if is_records(X):
        return _split_records(X, column)
    names = getattr(X, "column_names", getattr(X, "columns", None))
    return _split_array(X, column) if names is None else _split_frame(X, column, list(names))


def warn_of_task(X: Any, task: Any) -> None:
    """Warn where the column that names the tasks is among the features of a frame, which it is not in files."""
    name = getattr(task, "name", None)
    if isinstance(name, Hashable) and name is not None and name in list(getattr(X, "columns", ())):
        warnings.warn(
            f"column {name!r} names the tasks and is a feature as well: give task_column={name!r} instead of task=, or "
            "leave it out of X",
            UserWarning,
            stacklevel=stack_level(),
        )


def warn_of_one_task(owner: str) -> None:
    """Warn that records come without a task: it may have been forgotten."""
    warnings.warn(
        f"records without a task are learned as one task, and {owner} learns how much tasks share: name each record's "
        "task with task=, or its column in X with task_column=; task=np.zeros(len(X)) says that there is one task",
        UserWarning,
        stacklevel=stack_level(),
    )


def is_records(X: Any) -> bool:
    """True for a list of dictionaries."""
    return isinstance(X, (list, tuple)) and len(X) > 0 and isinstance(X[0], Mapping)


def is_frame(X: Any) -> bool:
    """True for a pandas or Polars frame, or an Arrow table, that has records."""
    return hasattr(X, "columns") and len(X) > 0


def has_words(X: Any) -> bool:
    """True for a frame with strings, dates or categories."""
    return is_frame(X) and (text_column(X) is not None or any(map(_is_category, _columns(X).values())))


def text_column(X: Any) -> Hashable | None:
    """The first column of a frame that has strings or dates."""
    for name, column in _columns(X).items():
        values = np.asarray(column)
        if values.dtype.kind == "M":
            return name
        if values.dtype.kind in "OUT" and any(isinstance(each, str) or is_date(each) for each in values.ravel()):
            return name
    return None


def _columns(X: Any) -> dict[Hashable, Any]:
    """The columns of a frame or an Arrow table by name."""
    return {name: X[name] for name in getattr(X, "column_names", X.columns)}


def _is_category(column: Any) -> bool:
    """True for a column that pandas, Polars or Arrow keeps as categories."""
    kind = getattr(column, "dtype", None) or column.type
    return type(kind).__name__ in ("CategoricalDtype", "Categorical", "Enum", "DictionaryType")


def frame_records(X: Any, gaps: bool) -> list[dict[Hashable, Any]]:
    """The rows of a pandas or Polars frame, or of an Arrow table, as dictionaries of all or of the present values."""
    if hasattr(X, "iloc"):
        found = X.astype(object).where(X.notna(), None).to_dict("records")
    else:
        found = X.to_pylist() if hasattr(X, "to_pylist") else X.to_dicts()
    for name in [name for name, column in _columns(X).items() if _is_category(column)]:
        for record in found:
            record[name] = None if is_missing(record[name]) else spell(record[name])
    return [{name: held for name, held in record.items() if gaps or held is not None} for record in found]


def has_numbers_only(X: Any) -> bool:
    """True for a frame whose columns all have numbers, truth values being none."""
    if hasattr(X, "iloc"):
        return all(getattr(each, "kind", "O") in "iuf" for each in X.dtypes)
    if not hasattr(X, "column_names"):
        return all(each.is_numeric() for each in X.dtypes)
    from .columns import is_number

    return all(is_number(field.type) for field in X.schema)


def arrow_table(X: Any) -> Any:
    """A pandas or Polars frame, or an Arrow table, as an Arrow table."""
    import pyarrow as pa

    if hasattr(X, "column_names"):
        return X
    if not hasattr(X, "iloc"):
        return X.to_arrow()
    try:
        return pa.Table.from_pandas(_with_offsets(X.rename(columns=str)), preserve_index=False)
    except pa.ArrowNotImplementedError as error:
        raise ValueError(f"X has a column that cannot be read: {' '.join(map(str, error.args))}") from error
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        why = "; ".join(map(str, reversed(error.args))).partition("\n")[0]
        advice = "make it numbers by pandas.to_numeric, or text by astype(str)"
        raise ValueError(f"X has a column of values of several types: {why}: {advice}") from error


def _with_offsets(X: Any) -> Any:
    """Write times of several UTC offsets as text: Arrow would take the offset of the first row for all."""
    several = {}
    for j, kind in enumerate(X.dtypes):
        values = [value for value in X.iloc[:, j] if not is_missing(value)] if getattr(kind, "kind", "") == "O" else []
        if values and all(isinstance(value, datetime.datetime) and value.tzinfo is not None for value in values):
            texts = [None if is_missing(value) else value.isoformat() for value in X.iloc[:, j]]
            several[X.columns[j]] = texts
    return X.assign(**several) if several else X


def places_of(log: Iterable[Hashable], width: int, names: NDArray[Any] | None) -> list[int]:
    """The columns of an array, given by their numbers, or of a frame of numbers, given by their names.

    Raises
    ------
    ValueError
        If there is no such column.
    """
    known: list[Any] = list(range(width)) if names is None else names.tolist()
    for name in log:
        if name not in known:
            raise ValueError(f"log takes columns of numbers, and {name!r} is none of them: {known[:10]}")
    return [known.index(name) for name in log]


def warn_of_columns(X: Any, y: Any) -> None:
    """Warn of the columns of a frame that may have to be left out: ids, one value only, nearly the label."""
    if not hasattr(X, "columns") or count(X) < ENOUGH_TO_WARN:
        return
    from .columns import kinds_of
    from .hints import COLUMNS, LOOKED, table_hints

    with suppress(ValueError, TypeError):  # such frames and labels are refused elsewhere, or are none of one a record
        table = arrow_table(X.iloc[:LOOKED] if hasattr(X, "iloc") else X[:LOOKED])
        labels = np.asarray(y)[:LOOKED]
        kinds = {name: kind for name, (kind, _) in list(kinds_of(table).items())[:COLUMNS] if kind in _LOOKED_AT}
        for hint in table_hints(table, kinds, labels if labels.ndim == 1 else None):
            advice = "leave it out if it is known only after the label" if "label" in hint.seen else _OF_NO_USE
            advice = "leave it out, unless it is a time" if "time" in hint.options else advice
            advice = "leave it out" if hint.of_one_value else advice
            warnings.warn(f"column {hint.column!r} has {hint.seen}: {advice}", UserWarning, stacklevel=stack_level())


_OF_NO_USE = "it tells nothing of later ones, leave it out"
_LOOKED_AT = ("numeric", "categorical", "date")
#: The fewest records of which columns are looked at.
ENOUGH_TO_WARN = 100


def values_by_name(record: Mapping[Any, Any], names: Sequence[Any]) -> list[float]:
    """The numbers of a dictionary in the order of the columns' names, NaN where there is none."""
    made = []
    for name in names:
        held = record.get(name)
        if isinstance(held, str) and held:
            raise ValueError(f"feature {name!r} is {held!r}, and the model learned numbers there")
        made.append(math.nan if is_missing(held) else usable_number(name, held))
    return made


def _split_records(X: Sequence[Mapping[Hashable, Any]], column: Hashable) -> tuple[Any, Any]:
    for t, record in enumerate(X):
        if column not in record:
            raise ValueError(f"record {t} (from 0) has no task_column {column!r}; it has {list(record)[:10]}")
    rest = [{name: held for name, held in record.items() if name != column} for record in X]
    return rest, [record[column] for record in X]


def _split_frame(X: Any, column: Hashable, names: list[Hashable]) -> tuple[Any, Any]:
    if isinstance(column, int) and column not in names:
        column = names[_checked(column, len(names))]
    if column not in names:
        raise ValueError(f"task_column {column!r} is not among the columns {names[:10]}")
    tasks = X[column].to_pylist() if hasattr(X, "column_names") else X[column].to_numpy()
    if hasattr(X, "column_names"):
        return X.drop_columns([column]), tasks
    return (X.drop(columns=column) if hasattr(X, "iloc") else X.drop(column)), tasks


def _split_array(X: Any, column: Hashable) -> tuple[Any, Any]:
    if not isinstance(column, (int, np.integer)):
        raise ValueError(f"task_column {column!r} is a name, and X has no names of columns: give a frame, or an index")
    X = X if hasattr(X, "shape") else np.asarray(X)
    kept = np.delete(np.arange(X.shape[1]), _checked(int(column), X.shape[1]))
    if hasattr(X, "tocsc"):
        return X.tocsc()[:, kept].tocsr(), X.tocsc()[:, [column]].toarray().ravel()
    return X[:, kept], X[:, column]


def _checked(column: int, width: int) -> int:
    if not -width <= column < width:
        raise ValueError(f"task_column {column} is not among the {width} columns")
    return column


class Shape:
    """The columns of arrays or frames: how many, and their names, if any."""

    def __init__(self, width: int | None = None, names: NDArray[Any] | None = None) -> None:
        self.width, self.names = width, names


def shape_of(X: Any) -> Shape:
    """The columns of a pandas or Polars frame or an Arrow table; names are there where all are text.

    Raises
    ------
    ValueError
        For two columns of one name.
    """
    names = list(getattr(X, "column_names", X.columns))
    if len(set(names)) < len(names):
        twin = next(name for j, name in enumerate(names) if name in names[:j])
        raise ValueError(f"X has two columns named {twin!r}: give each a name of its own")
    return Shape(len(names), np.array(names, object) if all(isinstance(name, str) for name in names) else None)


@cache
def _expecting(owner: str) -> type:
    """A class that scikit-learn's validation names in its messages as if it were the estimator."""

    def tags(self: Any) -> Any:
        from sklearn.utils import Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=True))

    return type(owner, (), {"__sklearn_tags__": tags})


def validated(
    owner: str,
    shape: Shape,
    X: Any,
    y: Any,
    reset: bool,
    labels: Any = None,
    gaps: bool = False,
) -> tuple[Rows, int, Any]:
    """X as compiled code takes it, its width, and y, checked by scikit-learn against the columns learned from.

    Parameters
    ----------
    owner : str
        The estimator's class, for messages.
    shape : Shape
        Changed in place if ``reset``.
    X, y
        The records and their labels; ``y="no_validation"`` says that there are none.
    reset : bool
        Whether these records decide on the columns.
    labels : Labels, optional
        What y may be.
    gaps : bool
        Whether NaN is allowed in arrays, as what is missing.
    """
    if labels is not None:
        require_labels(y)
        y = exact_labels(y)
    numeric = labels is not None and labels.numeric
    check = _validated_table if hasattr(X, "column_names") else _validated_data
    checked = check(owner, shape, X, y, numeric, reset)
    if isinstance(checked, tuple):
        checked, y = checked
        labels.check(y)
    require_usable(checked, "X", shape.names, gaps=gaps and not hasattr(checked, "indptr"))
    return as_rows(checked), checked.shape[1], y


def require_labels(y: Any) -> None:
    """Refuse labels that are missing: scikit-learn would take some for text, sort others, and count none.

    Texts that end with a null character are refused too: NumPy's arrays of text take it off, and make one label of two.

    Raises
    ------
    ValueError
        With the first of them and, of those missing, their number.
    """
    dtype = getattr(y, "dtype", None)
    kind = dtype.kind if isinstance(dtype, np.dtype) else "O"  # those of pandas say "b" where values may be missing
    if y is None or isinstance(y, str) or kind in "biuSU":
        return
    held = np.asarray(y) if kind == "f" else y if isinstance(y, (list, tuple)) else np.asarray(y, object).ravel()
    missing = np.isnan(held) if kind == "f" else np.fromiter((_is_no_label(label) for label in held), bool)
    if missing.any():
        t = int(missing.reshape(len(held), -1).any(axis=1).argmax())
        first = "nan" if kind == "f" else repr(held[t])
        raise ValueError(
            f"label of record {t} (from 0) is missing: {first}; {missing.sum():,} of {missing.size:,} labels are: "
            "leave such records out, or predict them"
        )
    if kind != "f":
        for t, label in enumerate(held):
            if spec.ends_with_null(label):
                raise ValueError(f"label of record {t} (from 0) {spec.ENDS_WITH_NULL}: {label!r}")


def one_a_record(y: Any) -> Any:
    """Labels of which each is one, those in a column of their own as an array of one dimension.

    Raises
    ------
    ValueError
        For several columns.
    """
    if getattr(y, "ndim", 1) == 1:
        return y
    from sklearn.utils import column_or_1d

    return column_or_1d(y, warn=True)


def _is_no_label(label: Any) -> bool:
    """True for None, NaN and pandas' NA; the empty text is a label."""
    return not isinstance(label, str) and is_missing(label)


def _validated_data(owner: str, shape: Shape, X: Any, y: Any, numeric: bool, reset: bool) -> Any:
    from sklearn.utils.validation import validate_data

    estimator: Any = _expecting(owner)()
    if not reset and shape.width is not None:
        estimator.n_features_in_ = shape.width
    if not reset and shape.names is not None:
        estimator.feature_names_in_ = shape.names
    of_y = {} if isinstance(y, str) else {"y_numeric": numeric}
    checked = validate_data(
        estimator, X, y, reset=reset, accept_sparse="csr", dtype=NUMBERS, ensure_all_finite=False, **of_y
    )
    if reset:
        shape.width, shape.names = estimator.n_features_in_, getattr(estimator, "feature_names_in_", None)
    return checked


def _validated_table(owner: str, shape: Shape, table: Any, y: Any, numeric: bool, reset: bool) -> Any:
    """Validate an Arrow table as scikit-learn's ``validate_data`` would, which cannot read one in every version."""
    from sklearn.utils.validation import check_array, check_X_y

    names = np.array(table.column_names, dtype=object)
    expected = names if reset or shape.names is None else shape.names
    if expected.tolist() != names.tolist():
        raise ValueError(f"X has columns {table.column_names[:10]}, expected {expected[:10].tolist()}")
    if not reset and len(names) != shape.width:
        raise ValueError(f"X has {len(names)} features, but the model is expecting {shape.width}")
    X = np.column_stack([np.asarray(column) for column in table.columns])
    numbers: Any = {"dtype": NUMBERS, "ensure_all_finite": False}
    checked = check_array(X, **numbers) if isinstance(y, str) else check_X_y(X, y, y_numeric=numeric, **numbers)
    if reset:
        shape.width, shape.names = len(names), names
    return checked


def require_usable(
    X: Any,
    what: str,
    names: Sequence[Hashable] | NDArray[Any] | None = None,
    dtype: str = "float64",
    gaps: bool = False,
) -> None:
    """Refuse NaN, infinity and numbers whose squares may overflow in this type, in an array or CSR matrix.

    NaN may be there if ``gaps``.

    Raises
    ------
    ValueError
        For the first of them; the message names its column and record, and says what can be done.
    """
    values, largest = X.data if hasattr(X, "indptr") else X, LIMITS[dtype]
    if max(values.max(initial=0.0), -values.min(initial=0.0)) <= largest:  # not so with NaN
        return
    found = np.flatnonzero(np.abs(values) > largest if gaps else ~(np.abs(values) <= largest))
    if not len(found):
        return
    wrong = found[0]
    if hasattr(X, "indptr"):
        row, column = np.searchsorted(X.indptr, wrong, side="right") - 1, X.indices[wrong]
    else:
        row, column = divmod(wrong, X.shape[1])
    place = int(column) if names is None else names[column]
    raise ValueError(
        f"{what} contains {_named(float(values.flat[wrong]), dtype)}, in column {place!r} "
        f"of record {row} (from 0): leave such records out, or put another number there (0 says nothing)"
    )


def _named(number: float, dtype: str) -> str:
    if number != number:
        return "NaN"
    limit = f"{LIMITS[dtype]:g}" if dtype == "float64" else f"{LIMITS[dtype]:g} of {dtype}"
    return f"{number!r}, beyond the limit of {limit}" if np.isfinite(number) else "infinity"


def as_rows(X: Any) -> Rows:
    """A validated array or sparse matrix as compiled code takes it; repeated entries of a record are added up."""
    if not hasattr(X, "indptr"):
        return Dense(_writeable(np.ascontiguousarray(X, np.float64)))
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return csr_rows(X, "float64")


def block_rows(X: Any) -> tuple[Rows, int]:
    """The records of a block and their width, taken as valid."""
    return (csr_rows(X, "float64") if hasattr(X, "indptr") else as_rows(X)), X.shape[1]


def as_array(rows: Rows, features: int) -> Any:
    """The records as a dense array or a CSR matrix again."""
    if is_dense(rows):
        return rows.values
    from scipy.sparse import csr_array

    return csr_array((rows.values, rows.features, rows.starts), shape=(length(rows), features))  # type: ignore[union-attr]


def is_dense(rows: Rows) -> bool:
    """True for dense rows."""
    return not hasattr(rows, "starts")


def length(rows: Rows) -> int:
    """The number of records."""
    return len(rows.values) if is_dense(rows) else len(rows.starts) - 1  # type: ignore[union-attr]


def count(X: Any) -> int:
    """The number of records in any form."""
    if hasattr(X, "shape"):
        return int(X.shape[0])
    return len(X) if hasattr(X, "__len__") else len(np.asarray(X))


def one_row(x: Any) -> Any:
    """One record in any form but a dictionary as a frame, an array or a list of one row.

    Raises
    ------
    ValueError
        For several records.
    """
    if hasattr(x, "iloc") and not hasattr(x, "columns"):  # a row of a pandas frame
        known = x.astype(object).where(x.notna(), None)  # a lone NaN would be a column of numbers
        return known.to_frame().T.infer_objects()
    several = isinstance(x, Block) or hasattr(x, "columns") or is_records(x) or np.ndim(x) == 2
    given = x if several else np.asarray(x)[None]
    if count(given) != 1:
        raise ValueError(f"one record is explained at a time, got {count(given)}")
    return given


def record_of(X: Any) -> dict[Any, Any] | None:
    """The row of a frame, or the dictionary in a list, as a dictionary; None of what has no names."""
    if isinstance(X, Block):
        return None
    if is_records(X):
        return dict(X[0])
    return {str(name): held for name, held in frame_records(X, True)[0].items()} if hasattr(X, "columns") else None


def entries_of(X: Any) -> tuple[list[int], list[float]]:
    """The columns and values of an array or sparse matrix of one row."""
    if hasattr(X, "tocsr"):
        row = X.tocsr()
        return row.indices.tolist(), row.data.tolist()
    values = np.asarray(X)[0].tolist()
    return list(range(len(values))), values


def indexed_as(X: Any, values: NDArray[Any], columns: Any = None) -> Any:
    """Values found for each record: a pandas series or frame with X's index if X is a pandas frame, else as given."""
    if not hasattr(X, "iloc"):
        return values
    import pandas as pd

    return pd.Series(values, X.index) if columns is None else pd.DataFrame(values, X.index, columns)


def csr_rows(X: Any, dtype: str) -> Csr:
    """A CSR matrix as it is, whatever order its entries are in."""
    return Csr(
        _writeable(X.data.astype(dtype, copy=False)),
        _writeable(X.indices.astype(np.int32, copy=False)),
        _writeable(X.indptr.astype(np.int64, copy=False)),
    )


def _writeable(array: NDArray[Any]) -> NDArray[Any]:
    """The array, or a writeable copy: for a read-only one numba would compile everything once more."""
    return array if array.flags.writeable else array.copy()


def task_labels(task: Any, n: int, known: Collection[Hashable] = ()) -> NDArray[Any]:
    """One task label a record; ``known`` are the tasks learned so far.

    Raises
    ------
    ValueError
        If there is not one task a record, or none at all where others had one.
    """
    if task is None:
        return np.full(n, only_task(known), np.int64)
    labels = task.to_pylist() if hasattr(task, "to_pylist") else task
    labels = objects(labels) if isinstance(labels, (list, tuple)) else np.asarray(labels)
    if labels.ndim == 0:
        raise ValueError(f"task must name one task a record: got {task!r} for {n} records; task_column= names a column")
    if labels.shape != (n,):
        raise ValueError(f"task must name one task a record: got shape {labels.shape} for {n} records")
    return labels


def only_task(known: Collection[Hashable]) -> int:
    """The task of records that name none.

    Raises
    ------
    ValueError
        If the tasks learned so far had names: nobody means a task of no name beside them.
    """
    if known and (len(known) > 1 or ONLY_TASK not in known):
        raise ValueError(
            f"task is missing: the tasks learned have names, such as {next(iter(known))!r}; give task=, or name their "
            "column of X with task_column="
        )
    return ONLY_TASK


def one_task(task: Hashable) -> Hashable:
    """The label of one task, NumPy's numbers and strings turned into Python's.

    Raises
    ------
    ValueError
        If it is missing (None or NaN).
    TypeError
        If no dictionary can hold it.
    """
    if type(task) is str:
        return task
    try:
        hash(task)
    except TypeError:
        raise TypeError(f"task must be a label such as text, a number or a tuple of them, got {task!r}") from None
    if is_nothing(task):
        raise ValueError(f"the task of the record is missing: {task!r}")
    return task.item() if isinstance(task, np.generic) else task


def objects(labels: Sequence[Hashable]) -> NDArray[Any]:
    """Labels as an array of one entry each, tuples among them too, none turned into another type."""
    array = np.empty(len(labels), dtype=object)
    for t, label in enumerate(labels):
        array[t] = label
    return array
