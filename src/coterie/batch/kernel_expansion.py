"""Learned functions of batch estimators: f(x, t) = Σ_j k(x, x_j) Σ_s M_ts c_js over the training records."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import msgspec
import numpy as np

from coterie import spec
from coterie._compiled.core.checks import (
    MOST_FEATURES,
    MOST_ROUNDS,
    require,
    require_finite,
    require_shape,
    require_within,
)
from coterie._compiled.core.points import Points, points
from coterie._compiled.core.records import Csr, Dense
from coterie._compiled.trees import array_of
from coterie.kernels import Kernel
from coterie.tasks.index import Index
from coterie.types import Array, Arrays, Codes, Json, Label

from .output_kernels import BatchRelation, prior_rows
from .products import by_tasks, gram_product, joint_product, quadratic


class PredictionTasks(NamedTuple):
    """The distinct tasks of records to predict, the new ones among them, and the index of each record's task."""

    labels: Sequence[Hashable]
    new: Sequence[Hashable]
    places: Codes


@dataclass
class KernelExpansion:
    """The learned functions of a batch estimator: training records, their coefficients, and the output kernel M.

    Attributes
    ----------
    kernel : kernel
        The kernel k.
    relation : relation or None
        The relation between tasks, for new tasks.
    points : Points
        The rows learned from.
    tasks : Index
        The tasks learned from.
    codes : ndarray of int64, shape (n,), or None
        The task of each row; None if every row has the outputs of all tasks.
    C : ndarray, shape (n, p)
        Coefficients: one column per output, or one per task if every row has the outputs of all tasks.
    M : ndarray, shape (T, T)
        The output kernel.
    flat : bool
        True if y was a vector, not a matrix of one column.
    """

    kernel: Kernel
    relation: BatchRelation | None
    points: Points
    tasks: Index
    codes: Codes | None
    C: Array
    M: Array
    flat: bool

    @property
    def features(self) -> int:
        """The number of features."""
        return int(self.points.features)

    @property
    def outputs(self) -> int:
        """The number of outputs, or of tasks if each training record had an output for every task."""
        return int(self.C.shape[1])

    @property
    def has_shared_rows(self) -> bool:
        """True if each training record had the outputs of all tasks."""
        return self.codes is None

    @property
    def relation_matrix(self) -> Array:
        """The matrix M by which the training tasks share, which is the output kernel."""
        return self.M

    @property
    def coefficients(self) -> Array:
        """The coefficients c of the rows, shaped like y."""
        return self.C[:, 0] if self.flat else self.C

    def values(self, X: Points, asked: PredictionTasks | None) -> Array:
        """Return the p outputs at each of m records, shape (m,) or (m, p); for all T tasks, shape (m, T)."""
        if asked is None:
            return self.sums(X, self.C @ self.M)
        rows = self._rows_of(asked)
        if self.codes is None:
            return np.asarray(np.einsum("mt,mt->m", self.sums(X, self.C), rows[asked.places]))
        outputs = self.columns_at(X, rows, asked.places)
        return outputs[:, 0] if self.flat else outputs

    def _rows_of(self, asked: PredictionTasks) -> Array:
        """Return the rows of M for these tasks. Those of new tasks follow from the relation.

        Raises
        ------
        ValueError
            If the relation does not know a new task.
        """
        known, rows = self.tasks.numbers, np.zeros((len(asked.labels), len(self.M)))
        prior = dict(zip(asked.new, prior_rows(self.relation, asked.new, self.tasks.labels), strict=True))
        for place, label in enumerate(asked.labels):
            rows[place] = self.M[known[label]] if label in known else prior[label]
        return rows

    def columns_at(self, X: Points, rows: Array, places: Codes) -> Array:
        """Return all p outputs at each of m records, shape (m, p).

        ``rows[place]`` is the row of M for the task of a record.
        """
        if self.codes is None:
            raise ValueError("outputs at a task need training rows with one task each")
        return joint_product(self.kernel, X, places, self.points, self.codes, rows, self.C, str(self.C.dtype))

    def sums(self, X: Points, C: Array) -> Array:
        """Return K(X, ·) C, the sums of coefficients C weighted by the kernel values with the training records."""
        return gram_product(self.kernel, X, self.points, C, str(self.C.dtype))

    def penalty(self) -> float:
        """Return the penalty of the learned functions f_t of the tasks, Σ_st A_st ⟨f_s, f_t⟩ = c'Qc.

        A = M⁻¹ is the interaction matrix.
        """
        # tr(A M P M) = tr(M P): A is not needed, so a singular M is no problem
        return float(np.sum(self.M * self._task_products()))

    def inner_products(self) -> Array:
        """Return the inner products ⟨f_s, f_t⟩ of the functions of all T tasks, shape (T, T): O(n²) kernel values."""
        # f_t = Σ_s M_ts h_s with h_s = Σ_(i in s) c_i k(x_i, ·), whose inner products are the inner matrix
        products = self.M @ self._task_products() @ self.M
        return np.asarray((products + products.T) / 2)

    def _task_products(self) -> Array:
        """Return for each pair of tasks the sum of c_i k(x_i, x_j) c_j over the records i of one and j of the other."""
        if self.codes is None:
            return quadratic(self.kernel, self.points, self.C, str(self.C.dtype))
        by_output = [by_tasks(self.codes, c, len(self.M)) for c in self.C.T]
        return np.asarray(sum(quadratic(self.kernel, self.points, D, str(self.C.dtype)) for D in by_output))

    def dump(self) -> tuple[Json, Arrays]:
        """Return the state as JSON data and named arrays, without kernel and relation."""
        arrays = {f"rows.{name}": array for name, array in self.points.rows._asdict().items()}
        arrays |= {"C": self.C, "M": self.M, "rounds": self.points.rounds}
        if self.codes is not None:
            arrays["codes"] = self.codes
        return {"tasks": self.tasks.labels, "features": self.points.features, "flat": self.flat}, arrays

    @classmethod
    def restored(cls, kernel: Kernel, relation: BatchRelation | None, data: Json, arrays: Arrays) -> KernelExpansion:
        """Restore an expansion from the result of :meth:`dump`.

        Raises
        ------
        ValueError
            If the data do not fit together.
        """
        saved, sparse = msgspec.convert(data, _Saved), "rows.starts" in arrays
        like: Csr | Dense = (
            Csr(np.zeros(0), np.zeros(0, np.int32), np.zeros(0, np.int64)) if sparse else Dense(np.zeros((0, 0)))
        )
        rows = type(like)(*(_array(arrays, f"rows.{name}", like_array) for name, like_array in like._asdict().items()))
        tasks = Index(spec.labels_of(saved.tasks))
        require(len(tasks) == len(saved.tasks), "a task occurs twice")
        T, n = len(tasks), rows.n_records
        _check_rows(rows, saved.features)
        C, M = _array(arrays, "C", np.zeros((0, 0))), _array(arrays, "M", np.zeros((0, 0)))
        rounds = _array(arrays, "rounds", np.zeros(0, np.int64))
        codes = _array(arrays, "codes", np.zeros(0, np.int64)) if "codes" in arrays else None
        require(n >= 1, "there is no row")
        require_shape("C", C, n, T if codes is None else None)
        require(C.shape[1] >= 1 and (not saved.flat or C.shape[1] == 1 or codes is None), f"C has {C.shape[1]} outputs")
        require_shape("M", M, T, T)
        require_shape("rounds", rounds, n)
        require_within("rounds", rounds, 0, MOST_ROUNDS)
        if codes is not None:
            require_shape("codes", codes, n)
            require_within("codes", codes, 0, T - 1)
        for name, array in (("rows", rows.values), ("C", C), ("M", M)):
            require_finite(name, array)
        return cls(kernel, relation, points(rows, rounds, saved.features), tasks, codes, C, M, saved.flat)


class _Saved(msgspec.Struct):
    """The JSON data of :meth:`KernelExpansion.dump`."""

    tasks: list[Label]
    features: Annotated[int, msgspec.Meta(ge=1, le=MOST_FEATURES)]
    flat: bool


def _array(arrays: Arrays, name: str, like: Array) -> Array:
    """Return the array ``name`` of a file; raise ValueError unless it has the type of ``like``."""
    array = arrays.get(name)
    single = array is not None and like.dtype == np.float64 and array.dtype == np.float32
    return array_of(arrays, name, like.astype(np.float32) if single else like)


def _check_rows(rows: Csr | Dense, features: int) -> None:
    """Raise ValueError for records of a file with a wrong number of features, or invalid column indices."""
    if rows.dense:
        require_shape("rows", rows.values, None, features)
        return
    starts = rows.starts  # type: ignore[union-attr]
    require(
        len(starts) and starts[0] == 0 and starts[-1] == len(rows.values), "the starts of rows do not match the entries"
    )
    require((starts[1:] >= starts[:-1]).all(), "the starts of rows are not in order")
    require_shape("features", rows.features, len(rows.values))  # type: ignore[union-attr]
    require_within("features", rows.features, 0, features - 1)  # type: ignore[union-attr]
