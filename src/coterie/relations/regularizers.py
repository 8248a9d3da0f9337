"""The regularizers of ROS11 by name, as relations: the penalty Σ_st P_st ⟨f_s, f_t⟩ has the output kernel P⁻¹.

Where P is singular its pseudo-inverse is taken. The functions that P does not penalise are then **excluded**, not left
free: with a pure Laplacian, for one, the mean of all tasks is zero.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie import spec

from .levels import SHARE, LevelRelation
from .matrices import half_sum, labels_of, pseudo_inverse_of, pseudo_quadratic, row, rows_of, square, task_vectors
from .sources import ColumnSource, DenseColumns


def _inverse(value: float) -> float:
    """1 / value, and 0 where the penalty is zero and the functions are therefore excluded."""
    return 1.0 / value if value > 0 else 0.0


@spec.part
class MixedEffect(LevelRelation):
    """A function of all tasks and one of each: lam Σ‖f_t‖² + gamma Σ‖f_t - mean‖² (ROS11 §4.2, §5.1).

    P = (lam + gamma) I - (gamma/T) 11', or, given by omega, the kernel M = omega 11' + (1 - omega) I itself, whose
    penalty is A_w [2 (1 - omega) Σ‖f_t‖² + 2 omega T Σ‖f_t - mean‖²], A_w = 1 / (2 (1 - omega)(1 - omega + omega T)).
    The forms agree up to scale for omega / (1 - omega) = gamma / (lam T).

    Parameters
    ----------
    lam, gamma : float >= 0, not both 0
        Weights of the two sums. lam = 0 penalises differences alone; then the mean of all tasks is zero.
    omega : float in [0, 1]
        Instead of the two: 0 independent, 1 one function for all.

    Raises
    ------
    ValueError
        Unless either lam and gamma or omega are given, in range.

    Examples
    --------
    >>> MixedEffect(omega=0.5).relation_matrix(["a", "b"])
    array([[1. , 0.5],
           [0.5, 1. ]])
    >>> round(MixedEffect(lam=1.0, gamma=2.0).penalty([[1.0], [3.0]], tasks=["a", "b"]), 9)  # 1 + 9 + 2 (1 + 1)
    14.0
    """

    lam: float | None = spec.field(default=None, at_least=0)
    gamma: float | None = spec.field(default=None, at_least=0)
    omega: float | None = spec.field(SHARE, default=None, must="lie between 0 (independent) and 1 (one function)")

    def __post_init__(self) -> None:
        given = (self.lam is not None, self.gamma is not None, self.omega is not None)
        if given not in ((True, True, False), (False, False, True)):
            raise ValueError(f"give either lam and gamma, or omega, got {self!r}")
        if self.omega is None and not self.lam and not self.gamma:
            raise ValueError("lam and gamma are both 0, and nothing would be penalised")

    def own(self, depth: int) -> float:
        if self.omega is not None:
            return 1.0 - self.omega
        return _inverse(float(self.lam or 0.0) + float(self.gamma or 0.0))

    def shared(self, level: int, members: int) -> float:
        if self.omega is not None:
            return self.omega
        return (_inverse(float(self.lam or 0.0)) - self.own(1)) / members


@spec.part
class ClusterPenalty(LevelRelation):
    """Tasks in clusters: within Σ_c Σ_(t in c) ‖f_t - mean_c‖² + between Σ_c m_c ‖mean_c‖² (ROS11 §4.2, §5.1).

    P = within I + (between - within) G with G the matrix that averages over clusters; M = (I - G)/within + G/between.

    Parameters
    ----------
    groups : mapping
        Task label to cluster label. A task that is not in it is refused.
    within : float >= 0
        Weight of differences from the cluster's mean; 0 excludes them: one function a cluster.
    between : float >= 0
        Weight of the clusters' means; 0 excludes them: the means are zero. Not both are 0.

    Raises
    ------
    ValueError
        If ``groups`` is no mapping, a weight is out of range, or for a task without a cluster.

    Examples
    --------
    >>> relation = ClusterPenalty({"a": 1, "b": 1, "c": 2}, within=2.0, between=1.0)
    >>> relation.relation_matrix(["a", "b", "c"])
    array([[0.75, 0.25, 0.  ],
           [0.25, 0.75, 0.  ],
           [0.  , 0.  , 1.  ]])
    """

    groups: Mapping[Hashable, Hashable]
    within: float = spec.field(default=1.0, at_least=0)
    between: float = spec.field(default=1.0, at_least=0)

    def __post_init__(self) -> None:
        if not isinstance(self.groups, Mapping):
            raise ValueError(f"groups must be a mapping of task to cluster, got {type(self.groups).__name__}")
        if not self.within and not self.between:
            raise ValueError("within and between are both 0, and nothing would be penalised")

    def path(self, task: Hashable) -> tuple[Hashable, ...]:
        if task not in self.groups:
            raise ValueError(f"task {task!r} has no cluster in ClusterPenalty: give it one in groups")
        return (self.groups[task],)

    def own(self, depth: int) -> float:
        return _inverse(self.within)

    def shared(self, level: int, members: int) -> float:
        return (_inverse(self.between) - _inverse(self.within)) / members


@spec.part
class GraphPenalty:
    """Tasks of a weighted graph: ½ Σ_st W_st ‖f_s - f_t‖² + Σ_t W_tt ‖f_t‖² (ROS11 §4.2, §5.1).

    P = D - W with D_tt = Σ_s W_ts + W_tt; its pseudo-inverse is the output kernel. Unlike :class:`TaskGraph`, whose
    A = I + L penalises every task, a component without a W_tt above 0 has its mean excluded, not penalised.

    Parameters
    ----------
    weights : array of shape (T, T)
        W, of which only the symmetric part says anything; the diagonal is how much a task is penalised by itself.
    tasks : sequence of task labels, optional
        The names of the rows; 0, 1, ..., T - 1 without.

    Raises
    ------
    ValueError
        For a matrix that is not square and finite, whose P has a negative eigenvalue or is zero; for tasks that do not
        name each row once.

    Examples
    --------
    >>> relation = GraphPenalty([[0.0, 1.0], [1.0, 0.0]], tasks=["a", "b"])
    >>> relation.penalty([[1.0], [-1.0]])
    4.0
    >>> relation.penalty([[1.0], [1.0]])  # the mean is excluded
    inf
    >>> relation.relation_matrix()
    array([[ 0.25, -0.25],
           [-0.25,  0.25]])
    """

    form: ClassVar[str] = "columns"

    weights: ArrayLike
    tasks: Sequence[Hashable] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", square(self.weights, "weights"))
        if self.tasks is not None:
            object.__setattr__(self, "tasks", labels_of(self.tasks))
        if len(self.known_tasks) != len(self.matrix):
            raise ValueError(f"tasks names {len(self.known_tasks)} tasks, and weights has {len(self.matrix)} rows")
        values = np.linalg.eigvalsh(self.matrix)
        if values[-1] <= 0 or values[0] < -len(values) * 1e-14 * values[-1]:
            raise ValueError(
                f"weights must make a penalty, and the eigenvalues of D - W go from {values[0]:.3g} to {values[-1]:.3g}"
            )

    @property
    def known_tasks(self) -> tuple[Hashable, ...]:
        """The labels of the rows, in order."""
        return tuple(range(len(np.asarray(self.weights)))) if self.tasks is None else tuple(self.tasks)

    @cached_property
    def matrix(self) -> NDArray[np.float64]:
        """P = D - W."""
        W = half_sum(np.asarray(self.weights))
        return np.diag(W.sum(axis=1) + W.diagonal()) - W

    def index(self, task: Hashable) -> int:
        """The row of a task; ValueError if it has none."""
        return row(self._rows, task, "row of GraphPenalty")

    def relation_matrix(self, tasks: Sequence[Hashable] | None = None) -> NDArray[np.float64]:
        """The pseudo-inverse of P, or its rows and columns for these tasks."""
        rows = range(len(self.matrix)) if tasks is None else [self.index(task) for task in tasks]
        return self._inverse[np.ix_(rows, rows)]

    def prior_rows(self, new: Sequence[Hashable], tasks: Sequence[Hashable]) -> NDArray[np.float64]:
        """Its rows for tasks not learned from and columns for those learned from, shape (len(new), len(tasks))."""
        return self.relation_matrix([*new, *tasks])[: len(new), len(new) :]

    def source(self) -> ColumnSource:
        """Gives the columns of the pseudo-inverse, all entries."""
        return DenseColumns(self._inverse)

    def penalty(self, U: ArrayLike, tasks: Sequence[Hashable] | None = None) -> float:
        """The penalty of the vectors in the rows of U, of these tasks or else of all; infinite if some are excluded.

        For some of the tasks it is the least over the vectors of the others.
        """
        M = self.relation_matrix(tasks)
        return pseudo_quadratic(M, task_vectors(U, len(M)))

    @cached_property
    def _inverse(self) -> NDArray[np.float64]:
        return pseudo_inverse_of(self.matrix)

    @cached_property
    def _rows(self) -> dict[Hashable, int]:
        return rows_of(self.known_tasks)
