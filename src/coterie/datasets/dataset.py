"""Data sets as loaders return them, and their entries in the catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from .originals import Original

    Features = NDArray[np.float64] | csr_array
    Labels = NDArray[Any]


@dataclass(frozen=True)
class Entry:
    """A description of a data set that needs no loading.

    Attributes
    ----------
    name : str
        The name that ``load`` takes.
    what : str
        One line: the records, the label, the tasks.
    rows, tasks : int
        The numbers of records (without the published test part) and of tasks.
    source : str
        Where the original comes from.
    licence : str
        The terms of use.
    file : str or None
        Its prepared file in the folder for data sets; None: it comes with the package.
    package : str or None
        The PyPI package that holds the same data.
    original : Original or None
        The published files that `fetch` makes `file` from.
    """

    name: str
    what: str
    rows: int
    tasks: int
    source: str
    licence: str
    file: str | None = None
    package: str | None = None
    original: Original | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Records of many tasks, ready for a linear learner.

    Attributes
    ----------
    name : str
        The name that ``load`` takes.
    X : ndarray or csr_array, shape (n, d)
        The features, each row of unit Euclidean norm; of ``amazon4_200`` and ``newsgroups_200``, 0 or 1.
    y : ndarray of int8, shape (n,)
        The labels, -1 or +1.
    task : ndarray, shape (n,)
        The task of each record: its name where it has one, else its number.
    description, source, licence : str
        The records and their source, and the terms of use.
    feature_names : tuple of str or None
        The names of the columns of X where they are known.
    test : Dataset or None
        The published test part.

    Examples
    --------
    >>> from coterie import datasets
    >>> datasets.flights()
    Dataset('flights': 327346 rows, 170 features, 4037 tasks)
    """

    name: str
    X: Features
    y: Labels
    task: Labels
    description: str
    source: str
    licence: str
    feature_names: tuple[str, ...] | None = None
    test: Dataset | None = None

    @classmethod
    def of(cls, entry: Entry, X: Features, y: Labels, task: Labels, **known: Any) -> Dataset:
        """Return the data set that `entry` describes; `known` may hold `feature_names` and `test`."""
        return cls(entry.name, X, y, task, entry.what, entry.source, entry.licence, **known)

    @property
    def n_tasks(self) -> int:
        """The number of tasks that the records name."""
        return len(set(self.task.tolist()))

    def __len__(self) -> int:
        return len(self.y)

    def __repr__(self) -> str:
        return f"Dataset({self.name!r}: {len(self)} rows, {self.X.shape[1]} features, {self.n_tasks} tasks)"
