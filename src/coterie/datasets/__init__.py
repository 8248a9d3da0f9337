"""The flights data set, prepared for linear learners."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.sparse import csr_array

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from coterie.types import Array

__all__ = ["FLIGHTS", "Dataset", "export", "flights"]

#: The path of the file, which `coterie learn` and pandas read; ``README.md`` in its folder describes the columns.
FLIGHTS = Path(__file__).with_name("flights.parquet")
LABEL, AIRCRAFT = "late", "tailnum"


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Records of many tasks, ready for a linear learner.

    Attributes
    ----------
    name : str
        The name of the data set.
    X : ndarray or csr_array, shape (n, d)
        The features.
    y : ndarray of int8, shape (n,)
        The labels, -1 or +1.
    task : ndarray, shape (n,)
        The name or number of the task of each record.
    feature_names : tuple of str or None
        The names of the columns of X.

    Examples
    --------
    >>> from coterie import datasets
    >>> datasets.flights()
    Dataset('flights': 327346 rows, 170 features, 4037 tasks)
    """

    name: str
    X: NDArray[np.float64] | csr_array
    y: Array
    task: Array
    feature_names: tuple[str, ...] | None = None

    @property
    def n_tasks(self) -> int:
        """The number of tasks in the records."""
        return len(set(self.task.tolist()))

    def __len__(self) -> int:
        return len(self.y)

    def __repr__(self) -> str:
        return f"Dataset({self.name!r}: {len(self)} rows, {self.X.shape[1]} features, {self.n_tasks} tasks)"


def export(path: str | Path) -> None:
    """Write the flights to a CSV file.

    Examples
    --------
    >>> export("flights.csv")  # doctest: +SKIP
    """
    import pyarrow.csv
    import pyarrow.parquet as pq

    pyarrow.csv.write_csv(pq.read_table(FLIGHTS), path)


class Encoded(NamedTuple):
    """A column encoded as one-hot features: their names, and the feature index and value of each row."""

    names: list[str]
    code: NDArray[np.int32]
    value: NDArray[np.float64]


def flights(task: str = AIRCRAFT) -> Dataset:
    """Return the flights that left New York in 2013, with features known before departure.

    Categories are one-hot, numbers in the units of ``datasets/README.md``; a constant 1 is added, and rows are scaled
    to unit norm. Rows are in the order of scheduled departure; +1 is a flight that arrived more than 15 minutes late.

    Parameters
    ----------
    task : str, default="tailnum"
        The column that names the task: ``"tailnum"``, one of 4037 aircraft, ``"dest"``, one of 104 destinations, or
        another column of categories. The aircraft is never a feature; the others are, unless they are the task.

    Raises
    ------
    ValueError
        If `task` is not a column of categories.

    Examples
    --------
    >>> flights(task="dest").n_tasks
    104
    """
    import pyarrow.parquet as pq

    table = pq.read_table(FLIGHTS).unify_dictionaries().combine_chunks()
    _check_task(task, table.schema)
    features = [name for name in table.column_names if name not in {LABEL, AIRCRAFT, task}]
    X, names = _one_hot([_encode(name, table[name]) for name in features])
    labels = table[task].to_numpy()
    y = np.where(table[LABEL].to_numpy(), 1, -1).astype(np.int8)
    return Dataset("flights", X, y, labels, names)


def _check_task(task: str, schema: pa.Schema) -> None:
    import pyarrow as pa

    categories = [field.name for field in schema if pa.types.is_dictionary(field.type)]
    if task not in categories:
        raise ValueError(f"task: {task!r} is not a categorical column; expected one of {', '.join(categories)}")


def _encode(name: str, column: pa.ChunkedArray) -> Encoded:
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        return Encoded([name], np.zeros(len(column), np.int32), column.to_numpy().astype(np.float64))
    array = column.chunk(0)
    codes = array.indices.to_numpy().astype(np.int32)
    return Encoded([f"{name}={label}" for label in array.dictionary.to_pylist()], codes, np.ones(len(column)))


def _one_hot(columns: Sequence[Encoded]) -> tuple[csr_array, tuple[str, ...]]:
    """Concatenate encoded columns and a constant to rows of unit norm; return them and the feature names."""
    n = len(columns[0].code)
    columns = [*columns, Encoded(["constant"], np.zeros(n, np.int32), np.ones(n))]
    starts = np.cumsum([0] + [len(column.names) for column in columns], dtype=np.int32)
    indices = np.column_stack([column.code + start for column, start in zip(columns, starts[:-1], strict=True)])
    values = np.column_stack([column.value for column in columns])
    indptr = np.arange(n + 1, dtype=np.int32) * len(columns)
    X = csr_array((values.ravel(), indices.ravel(), indptr), shape=(n, int(starts[-1])))
    X.eliminate_zeros()
    X.data /= np.repeat(np.sqrt(X.multiply(X).sum(axis=1)), np.diff(X.indptr))
    return X, tuple(name for column in columns for name in column.names)
