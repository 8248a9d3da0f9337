"""Type aliases and protocols for records, labels, tasks and arrays."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array: TypeAlias = NDArray[Any]
Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]

#: Data with a JSON form, such as the document of a model file; and its arrays, by name.
Json: TypeAlias = dict[str, Any]
Arrays: TypeAlias = dict[str, Array]

#: Data by name that are only read.
Fields: TypeAlias = Mapping[str, Any]

#: A named tuple of arrays and of other such tuples: a model, or a part of one, as an argument of compiled code.
Tree: TypeAlias = Any

#: A part that describes a learner: a relation, a rule, weights, a kernel, a potential or a budget.
Part: TypeAlias = Any

#: One row per task or record, or one row and one column per task.
Matrix: TypeAlias = NDArray[np.float64]

#: Numbers of tasks, or of rows.
Codes: TypeAlias = NDArray[np.int64]


class AnySparseMatrix(Protocol):
    """A SciPy sparse matrix or array of any format."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The numbers of rows and columns."""

    def tocsr(self) -> Any:
        """Convert to CSR format."""


class RowMatrix(Protocol):
    """An array or a CSR matrix of records, with row indexing."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The numbers of rows and columns."""

    def __getitem__(self, rows: Any, /) -> Any:
        """Return the selected rows."""

    def __mul__(self, other: Any, /) -> Any:
        """Multiply elementwise."""


class Frame(Protocol):
    """A pandas or Polars frame, or an Arrow table."""

    @property
    def columns(self) -> Any:
        """The columns or their names."""


class Column(Protocol):
    """An Arrow array or chunked array."""

    def to_pylist(self) -> list[Any]:
        """Convert to a list of Python objects."""


#: From the text of a task in a file to its label: `str`, or `int` if tasks are whole numbers.
TaskType: TypeAlias = Callable[[str], Hashable]

#: Records, one a row: an array, a sparse matrix, a data frame, an Arrow table or a list of dictionaries.
Records: TypeAlias = ArrayLike | AnySparseMatrix | Frame | Sequence[Mapping[str, Any]]

#: Records of several views: a block of records for each, in their order or by name.
ViewBlocks: TypeAlias = Sequence[Records] | Mapping[str, Records]

#: Records of one vector or of several views.
Inputs: TypeAlias = Records | ViewBlocks

#: Labels or numbers to learn: one a record, or a row of several a record.
Labels: TypeAlias = ArrayLike | Frame | Column | Sequence[Hashable]

#: The task of each record, any hashable labels.
Tasks: TypeAlias = ArrayLike | Column | Sequence[Hashable]

#: An object with the methods of scikit-learn's estimators; and several by name, such as baselines.
Estimator: TypeAlias = Any
Estimators: TypeAlias = dict[str, Any]

#: One record: its features by name, or several views of it by name.
Record: TypeAlias = Mapping[Any, Any]

#: True if records are learned, or a flag for each of them.
Learning: TypeAlias = bool | Flags

#: Records of which the form is not known yet: `Records`, `ViewBlocks`, or blocks of files. Code distinguishes the forms
#: by their attributes, which members of a union do not share; so types of these are not checked.
AnyRecords: TypeAlias = Any

#: Labels or tasks of many records in any form, and a label of one: text, a number, a truth value, or a tuple of them.
AnyLabels: TypeAlias = Any
AnyTasks: TypeAlias = Any
Label: TypeAlias = Any

#: Validated records: an array, a CSR matrix, rows for compiled code, or records of several views.
AnyRows: TypeAlias = Any

#: A value of a JSON document.
JsonValue: TypeAlias = Any
