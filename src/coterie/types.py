"""Types of the records, labels and tasks that users give to estimators, and of arrays."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array: TypeAlias = NDArray[Any]
Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

#: Data with a JSON form, such as the document of a model file; and the arrays beside it, by name.
Json: TypeAlias = dict[str, Any]
Arrays: TypeAlias = dict[str, NDArray[Any]]

#: A named tuple of arrays and of other such tuples: a model, or a part of one, as compiled code takes it.
Tree: TypeAlias = Any

#: A part that describes a learner: a relation, a rule, a hypothesis, a kernel, a potential or a budget.
Part: TypeAlias = Any

#: An estimator of any class; its class and its parameters decide on the methods that it has.
Estimator: TypeAlias = Any

#: One row a task or a record, or one row and one column a task.
Matrix: TypeAlias = NDArray[np.float64]

#: Numbers of tasks, or of rows.
Codes: TypeAlias = NDArray[np.int64]


class AnySparseMatrix(Protocol):
    """A SciPy sparse matrix or array of any format."""

    @property
    def shape(self) -> Any:
        """The numbers of rows and columns."""

    def tocsr(self) -> Any:
        """Convert to compressed sparse rows."""


class RowMatrix(Protocol):
    """An array or a CSR matrix of records, some rows of which can be taken."""

    @property
    def shape(self) -> Any:
        """The numbers of rows and columns."""

    def __getitem__(self, rows: Any, /) -> Any:
        """Take some of the rows."""

    def __mul__(self, other: Any, /) -> Any:
        """Multiply entry by entry."""


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
OneRecord: TypeAlias = Mapping[Any, Any]
