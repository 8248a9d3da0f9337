"""Relations of nested groups: M is a diagonal plus one block per level, at O(nnz · levels) per record.

Updates are in ``_compiled/primal/grouped.py``.

Every such relation is a penalty Σ_i ‖u_i‖² + Σ_l b_l Σ_i ‖u_i - mean of u over i's group at level l‖², the groups of a
level lying inside those of the level before. With P_l the matrix that replaces each task by its group's mean and
λ_l = 1 + b_0 + ... + b_{l-1},

    A = I + Σ_l b_l (I - P_l),        M = A⁻¹ = I / λ_L + Σ_l (1/λ_l - 1/λ_{l+1}) P_l,

because the P_l are nested projectors. A task's weights are w_i = own·g_i + Σ_l weight(group)·h_group with the raw sums
g_i (the updates at task i) and h_group (the updates in a group), whatever the number of tasks.

**Scale.** A positive factor of M changes no decision of a Perceptron. Relations given by ``b`` use the paper's M;
those given by ``share`` use (1 - s) I + s 11', whose diagonal is 1, so that nothing changes as tasks arrive.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from coterie import spec
from coterie.types import Floats, Matrix

from .files import ReadFromFile, read_groups, read_parents
from .matrices import pseudo_quadratic, task_vectors

Group = Hashable


#: Strengths, given as the paper does or on a scale from 0 to 1.
B = spec.Setting(above=-1, must="be a finite number above -1 (A is positive definite there)")
SHARE = spec.Setting(at_least=0, at_most=1, must="lie between 0 (independent) and 1 (pooled)")


class LevelRelation(ABC):
    """Base class of relations of nested groups, by default one group of all tasks; subclasses define the weights.

    M = A⁻¹ is the inverse of the tasks' interaction matrix; an update of task i changes task j by M_ji.
    """

    #: True if all tasks are in the same groups, which then need no look-up per task.
    alike: ClassVar[bool] = False

    @property
    def form(self) -> str:
        """The representation of M: "levels", or "repelling levels" if the strength b is negative at some level."""
        weights = [self.own(self.depth), *(self.shared(level, 1) for level in range(self.depth))]
        return "levels" if min(weights) >= 0.0 else "repelling levels"

    @property
    def depth(self) -> int:
        """The number of levels of nested groups, which is the largest number of groups that a task can be in."""
        return 1

    def path(self, task: Hashable) -> tuple[Group, ...]:
        """Return the groups of a task, from the widest on; raise ValueError for an unknown task."""
        return ("all",)

    @abstractmethod
    def own(self, depth: int) -> float:
        """Return the weight of a task's own updates in its predictions, for a task that is in ``depth`` groups."""

    @abstractmethod
    def shared(self, level: int, members: int) -> float:
        """Return the weight of a group's updates in the predictions of its tasks.

        It has ``members`` known tasks at ``level``.
        """

    @property
    def counts_tasks(self) -> bool:
        """True if M depends on the number of known tasks, as it does for relations given by ``b``."""
        return any(
            self.shared(level, 1) != self.shared(level, members) for level in range(self.depth) for members in (2, 3)
        )

    @property
    def specific(self) -> bool:
        """True if tasks have weights of their own, besides those of groups."""
        return any(self.own(depth) != 0.0 for depth in range(self.depth + 1))

    def scale(self, members: int) -> float:
        """Return the ratio of the M used in learning to A⁻¹, for a group of ``members`` known tasks."""
        return 1.0

    def relation_matrix(self, tasks: Sequence[Hashable], among: Sequence[int] | None = None) -> Matrix:
        """Return A⁻¹ in the paper's scaling between ``tasks``, shape (K, K); ``among`` are all known tasks.

        O(K² · levels).

        Parameters
        ----------
        tasks : sequence of task labels
            The known tasks; groups have only these members.
        among : sequence of int, optional
            The indices of the rows and columns to return; by default all.
        """
        paths = [self.path(task) for task in tasks]
        chosen = list(range(len(paths)) if among is None else among)
        shown = [paths[i] for i in chosen]
        M: Matrix = np.diag([self.own(len(path)) for path in shown])
        for level in range(self.depth):
            groups = _groups_at(paths, level)
            for group, members in _groups_at(shown, level).items():
                M[np.ix_(members, members)] += self.shared(level, len(groups[group]))
        return np.asarray(M * self._scales(paths)[chosen, None])

    def prior_rows(self, new: Sequence[Hashable], tasks: Sequence[Hashable]) -> Matrix:
        """Return A⁻¹ between ``new`` and known ``tasks``, computed from the groups that they share.

        Shape (len(new), len(tasks)); groups count only the known tasks.
        """
        paths = [self.path(task) for task in tasks]
        scales, rows = self._scales(paths), np.zeros((len(new), len(paths)))
        for level in range(self.depth):
            groups = _groups_at(paths, level)
            for row, path in zip(rows, map(self.path, new), strict=True):
                members = groups.get(path[: level + 1], []) if level < len(path) else []
                # the new task is not counted: M between known tasks stays as it was learned with
                row[members] += self.shared(level, max(len(members), 1))
        return np.asarray(rows * scales)

    def penalty(self, U: ArrayLike, tasks: Sequence[Hashable]) -> float:
        """Return the penalty u'(A ⊗ I)u of these tasks' vectors, the rows of U, shape (K, d).

        Infinite if A⁻¹ is singular and excludes a part of U, such as different vectors under :class:`Pooled`.
        """
        return pseudo_quadratic(self.relation_matrix(tasks), task_vectors(U, len(tasks)))

    def _scales(self, paths: list[tuple[Group, ...]]) -> Floats:
        """Return for each task the ratio of the M used in learning to A⁻¹; ``paths`` are the tasks' groups."""
        # one group of all tasks here; relations of several groups have scales of their own
        sizes = [len(members) for members in _groups_at(paths, 0).values()]
        return np.full(len(paths), self.scale(max(sizes, default=1)))


def _groups_at(paths: Sequence[tuple[Group, ...]], level: int) -> dict[Group, list[int]]:
    groups: dict[Group, list[int]] = {}
    for i, path in enumerate(paths):
        if level < len(path):
            # by the whole path: groups of the same name under different parents are different groups
            groups.setdefault(path[: level + 1], []).append(i)
    return groups


class _Grouped(LevelRelation):
    """Base class of relations with one level of groups, given by a mapping from task to group."""

    groups: Mapping[Hashable, Hashable]

    def __post_init__(self) -> None:
        if not isinstance(self.groups, Mapping):
            raise ValueError(f"groups must be a mapping from task to group, got {type(self.groups).__name__}")
        for group in self.groups.values():
            if not spec.is_hashable(group):
                raise ValueError(f"groups must be hashable, got {group!r}")

    def path(self, task: Hashable) -> tuple[Group, ...]:
        if task not in self.groups:
            raise ValueError(f"task {task!r} has no group in {type(self).__name__}; add it to groups")
        return (self.groups[task],)


def choose_strength(relation: LevelRelation, b: object, share: object) -> None:
    """Set the share of ``relation`` to 0.5 if neither ``b`` nor ``share`` is given; raise ValueError if both are."""
    if b is not None and share is not None:
        raise ValueError(f"pass either b or share, got b={b!r} and share={share!r}")
    if b is None and share is None:
        object.__setattr__(relation, "share", 0.5)


@spec.part
class Independent(LevelRelation):
    """Independent tasks: A = I, a separate model for each task (IPL; CCG08 §3).

    A, the K x K interaction matrix of the K tasks, is the identity I, so an update of a task changes no other task.

    Examples
    --------
    >>> Independent().relation_matrix(["a", "b"])
    array([[1., 0.],
           [0., 1.]])
    """

    alike = True

    @property
    def depth(self) -> int:
        return 0

    def path(self, task: Hashable) -> tuple[Group, ...]:
        return ()

    def own(self, depth: int) -> float:
        return 1.0

    def shared(self, level: int, members: int) -> float:
        return 0.0


@spec.part
class Pooled(LevelRelation):
    """One model for all tasks (STL in SRDV11): M = 11'/K, the limit of :class:`MeanRegularized` as b grows.

    K is the number of tasks, 1 the vector of ones, and M the matrix by which updates are shared: an update of any task
    changes all tasks by the same amount.

    Examples
    --------
    >>> Pooled().relation_matrix(["a", "b"])
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """

    alike = True

    def own(self, depth: int) -> float:
        return 0.0

    def shared(self, level: int, members: int) -> float:
        return 1.0

    def scale(self, members: int) -> float:
        return 1.0 / members


@spec.part
class HalfUpdate(LevelRelation):
    """Half updates: every mistake updates its task by a full step, and all others by half a step (CCG08 §3).

    A is the K x K interaction matrix of the K tasks seen so far, M = A⁻¹, I the identity, 1 the vector of ones, and u_i
    the vector of task i. An update of task i changes task j by M_ji.

    A = (K + 1) I - 11', M = (I + 11') / (K + 1): the penalty Σ‖u_i‖² + Σ_{i<j} ‖u_i - u_j‖². It follows the number K
    of tasks seen so far: ``MeanRegularized(b=K)`` with a K that grows, which is ``MeanRegularized(share=0.5)``.

    Examples
    --------
    >>> HalfUpdate().relation_matrix(["a", "b", "c"])
    array([[0.5 , 0.25, 0.25],
           [0.25, 0.5 , 0.25],
           [0.25, 0.25, 0.5 ]])
    """

    alike = True

    def own(self, depth: int) -> float:
        return 0.5

    def shared(self, level: int, members: int) -> float:
        return 0.5

    def scale(self, members: int) -> float:
        return 2.0 / (members + 1)


class _BOrShare(LevelRelation):
    """Base class of relations with one level of groups and a strength, given as ``b`` or as ``share``."""

    b: float | None
    share: float | None

    def __post_init__(self) -> None:
        choose_strength(self, self.b, self.share)

    def own(self, depth: int) -> float:
        # λ_1 = 1 + b, with one level
        return 1.0 / (1.0 + self.b) if self.b is not None else 1.0 - float(self.share or 0.0)

    def shared(self, level: int, members: int) -> float:
        if self.b is None:
            return float(self.share or 0.0)
        # (1 - 1/(1 + b)) P with P = 11'/m
        return self.b / ((1.0 + self.b) * members)

    def scale(self, members: int) -> float:
        """Return the ratio of the M used in learning, (1 - s) I + s 11', to A⁻¹ = (I + (b/K) 11') / (1 + b).

        K is ``members``, s the share, and b = sK / (1 - s).
        """
        return 1.0 if self.share is None else 1.0 / (1.0 - self.share + self.share * members)


@spec.part
class MeanRegularized(_BOrShare):
    """Mean regularisation: tasks shrink to their mean, with penalty Σ‖u_i‖² + b Σ‖u_i - ū‖² (CCG08 §3.2).

    K is the number of tasks known at the moment, u_i the vector of task i, ū their mean, A the K x K interaction
    matrix, M = A⁻¹, I the identity, and 1 the vector of ones. An update of task i changes task j by M_ji.

    A = I + b (I - 11'/K), M = (I + (b/K) 11') / (1 + b).

    Parameters
    ----------
    b : float > -1
        Strength: 0 is :class:`Independent`, K is :class:`HalfUpdate`, and as it grows all tasks become one.
    share : float in [0, 1]
        The same as s = b / (b + K), which does not depend on the number of tasks: 0 independent, 1/2 half-update,
        1 pooled. Learning uses M = (1 - s) I + s 11'. By default 1/2, if b is not given either.

    Raises
    ------
    ValueError
        If both are given, or one is out of its range.

    Examples
    --------
    >>> MeanRegularized(b=2).relation_matrix(["a", "b"])
    array([[0.66666667, 0.33333333],
           [0.33333333, 0.66666667]])
    """

    alike = True

    b: float | None = spec.field(B, default=None)
    share: float | None = spec.field(SHARE, default=None)


@spec.part
class Clusters(ReadFromFile, _Grouped, _BOrShare):
    """Tasks shrink to their group's mean: A = I + b (I - 11'/m) inside a group of m tasks, I across (CCG08 §3.3).

    A is the interaction matrix of the tasks, I the identity, 1 the vector of ones, and b the strength. An update of
    task i changes task j by M_ji, with M = A⁻¹.

    Parameters
    ----------
    groups : mapping
        Task label to group label. Other tasks raise an error.
    b : float > -1
        Strength inside a group; b = m gives the clique of the papers.
    share : float in [0, 1]
        The same as s = b / (b + m). By default 1/2, if b is not given either.

    Raises
    ------
    ValueError
        If ``groups`` is not a mapping, if both b and share are given, or for a task without a group.

    Examples
    --------
    >>> Clusters({"a": 1, "b": 1, "c": 2}, share=0.5).relation_matrix(["a", "b", "c"]).round(3)
    array([[0.667, 0.333, 0.   ],
           [0.333, 0.667, 0.   ],
           [0.   , 0.   , 1.   ]])
    """

    _read_fields = staticmethod(read_groups)

    groups: Mapping[Hashable, Hashable]
    b: float | None = spec.field(B, default=None)
    share: float | None = spec.field(SHARE, default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        choose_strength(self, self.b, self.share)

    def _scales(self, paths: list[tuple[Group, ...]]) -> Floats:
        groups = _groups_at(paths, 0)
        return np.array([self.scale(len(groups[path])) for path in paths])


@spec.part
class Hierarchy(ReadFromFile, LevelRelation):
    """Tasks shrink to the mean of each of their ancestors: A = I + Σ_l b_l (I - P_l).

    A is the interaction matrix of the tasks, I the identity, b_l the strength of level l, and P_l the matrix that
    replaces each task by the mean over the tasks with the same ancestor at level l, counted from the root.

    Learning penalises tr(W A W'), with one column of W a task, and spreads updates over the tasks by M = A⁻¹, which is
    diagonal plus one block per level. A task with fewer ancestors than others is its own group at the missing levels.

    Parameters
    ----------
    parents : mapping or str
        Node to parent; tasks are some of the nodes: ``{"u1": "fr", "u2": "fr", "fr": "all"}``. Or the separator of
        ancestors in task labels: with ``"/"``, the parent of task ``"fr/u1"`` is ``"fr"``, and its parent is the root;
        new tasks may then arrive at any time.
    b : float or tuple of float, each > -1
        Strength, one for all levels or one for each, the root's first.
    share : float or tuple of float, each in [0, 1], summing to at most 1
        The same, independent of the number of tasks: M = (1 - Σ s_l) I + Σ_l s_l (blocks of ones). A single number is
        divided evenly over the levels. By default 1/2, if b is not given either.

    Raises
    ------
    ValueError
        For a cycle, an unknown task, strengths out of range, or another number of strengths than levels.

    Examples
    --------
    >>> tree = Hierarchy({"u1": "fr", "u2": "fr", "u3": "it", "fr": "all", "it": "all"}, share=(0.25, 0.25))
    >>> tree.relation_matrix(["u1", "u2", "u3"])
    array([[1.  , 0.5 , 0.25],
           [0.5 , 1.  , 0.25],
           [0.25, 0.25, 1.  ]])
    """

    _read_fields = staticmethod(read_parents)

    parents: Mapping[Hashable, Hashable] | str
    b: float | Sequence[float] | None = spec.field(B, default=None, several=True)
    share: float | Sequence[float] | None = spec.field(SHARE, default=None, several=True)

    def __post_init__(self) -> None:
        if not isinstance(self.parents, (Mapping, str)) or not self.parents:
            raise ValueError(f"parents must map nodes to parents or be a separator, got {self.parents!r}")
        choose_strength(self, self.b, self.share)
        for b in self._strengths() if self.b is not None else ():
            B.check("b", b)
        if self.share is not None:
            SHARE.check("share", sum(self._strengths()))
            SHARE.check("share", min(self._strengths()))

    @cached_property
    def depth(self) -> int:
        """The number of levels above the tasks."""
        if isinstance(self.parents, Mapping):
            return max(len(self.path(node)) for node in self.parents)
        strengths = self.share if self.b is None else self.b
        return len(strengths) if isinstance(strengths, Sequence) else 2

    def path(self, task: Hashable) -> tuple[Group, ...]:
        if isinstance(self.parents, str):
            return self._named_path(task, self.parents)
        if task not in self.parents:
            raise ValueError(f"task {task!r} has no parent in Hierarchy; add it to parents")
        above = [self.parents[task]]
        while above[-1] in self.parents:
            above.append(self.parents[above[-1]])
            # seen before it is followed again, as the loop would not end
            if above[-1] in above[:-1] or above[-1] == task:
                raise ValueError(f"parents has a cycle through {above[-1]!r}")
        return tuple(reversed(above))

    def _named_path(self, task: Hashable, separator: str) -> tuple[Group, ...]:
        parts = str(task).split(separator)
        if len(parts) > self.depth:
            raise ValueError(
                f"task {task!r} names {len(parts) - 1} ancestors below the root, but there are strengths for "
                f"{self.depth - 1}; pass b or share as a tuple with one number per level"
            )
        return tuple(separator.join(parts[:n]) for n in range(len(parts)))

    @cached_property
    def _levels(self) -> tuple[float, ...]:
        return self._strengths()

    def _strengths(self) -> tuple[float, ...]:
        strengths = self.share if self.b is None else self.b
        if isinstance(strengths, Sequence):
            if len(strengths) != self.depth:
                raise ValueError(f"pass one strength per level: got {len(strengths)} for {self.depth} levels")
            return tuple(map(float, strengths))
        return (float(strengths or 0.0) / (1 if self.share is None else self.depth),) * self.depth

    def own(self, depth: int) -> float:
        # a level without a group for a task does not change it: P_l is I there, and b_l (I - P_l) vanishes
        above = sum(self._levels[:depth])
        return 1.0 / (1.0 + above) if self.share is None else 1.0 - above

    def shared(self, level: int, members: int) -> float:
        if self.share is not None:
            return self._levels[level]
        # 1/λ_l - 1/λ_(l+1), divided by the group's size for the mean
        above = 1.0 + sum(self._levels[:level])
        return (1.0 / above - 1.0 / (above + self._levels[level])) / members


@spec.part
class Intercepts:
    """One model for all tasks with an intercept per task (a random intercept).

    The margin is w · x + b_i / 2 with w of all tasks. b_i is learned as the weight of one more feature, which is 1/2 in
    each record of task i; so records should be of about unit length. Only for learners with adaptive gradients. An
    unseen task has no constant.

    Examples
    --------
    >>> import coterie as ct
    >>> model = ct.MultitaskLogistic(Intercepts(), fit_intercept=False)
    >>> model = model.fit([[1.0], [1.0], [1.0], [1.0]], [1, 0, 1, 0], task=["high", "low", "high", "low"])
    >>> model.predict([[1.0], [1.0]], task=["high", "low"])
    array([1, 0])
    """

    form: ClassVar[str] = "intercepts"

    # as for LevelRelation, all tasks being in one group
    alike: ClassVar[bool] = True
    specific: ClassVar[bool] = True
    counts_tasks: ClassVar[bool] = False
    depth: ClassVar[int] = 1

    def path(self, task: Hashable) -> tuple[Group, ...]:
        """Return the single group of all tasks."""
        return ("all",)

    def own(self, depth: int) -> float:
        """Return 1: the intercept of a task is updated by full steps."""
        return 1.0

    def shared(self, level: int, members: int) -> float:
        """Return 1: the shared weights are updated by full steps."""
        return 1.0


def _inverse(value: float) -> float:
    """Return 1 / value, or 0 for a penalty weight of zero, which excludes its part of the functions."""
    return 1.0 / value if value > 0 else 0.0


@spec.part
class MixedEffect(LevelRelation):
    """A shared function plus one per task: lam Σ‖f_t‖² + gamma Σ‖f_t - mean‖² (ROS11 §4.2, §5.1).

    f_t is the function of task t, mean the mean of the functions, T the number of tasks, P the penalty matrix (the
    interaction matrix A of the other relations), and M its inverse, or pseudo-inverse, by which updates are shared.

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
        Unless either lam and gamma or omega are given and in range.

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
        is_given = (self.lam is not None, self.gamma is not None, self.omega is not None)
        if is_given not in ((True, True, False), (False, False, True)):
            raise ValueError(f"pass either lam and gamma, or omega, got {self!r}")
        if self.omega is None and not self.lam and not self.gamma:
            raise ValueError("lam or gamma must be positive, got 0 for both")

    def own(self, depth: int) -> float:
        if self.omega is not None:
            return 1.0 - self.omega
        return _inverse(float(self.lam or 0.0) + float(self.gamma or 0.0))

    def shared(self, level: int, members: int) -> float:
        if self.omega is not None:
            return self.omega
        # P has the eigenvalue lam on the mean and lam + gamma on differences: M = own (I - 11'/T) + (1/lam) 11'/T
        return (_inverse(float(self.lam or 0.0)) - self.own(1)) / members


@spec.part
class ClusterPenalty(_Grouped):
    """Tasks in clusters: within Σ_c Σ_(t in c) ‖f_t - mean_c‖² + between Σ_c m_c ‖mean_c‖² (ROS11 §4.2, §5.1).

    f_t is the function of task t, mean_c the mean of cluster c, m_c its number of tasks, P the penalty matrix (the
    interaction matrix A of the other relations), and M its inverse, or pseudo-inverse, by which updates are shared.

    P = within I + (between - within) G with G the matrix that averages over clusters; M = (I - G)/within + G/between.

    Parameters
    ----------
    groups : mapping
        Task label to cluster label. Other tasks raise an error.
    within : float >= 0, default=1.0
        Weight of differences from the cluster's mean; 0 excludes them: one function per cluster.
    between : float >= 0, default=1.0
        Weight of the clusters' means; 0 excludes them: the means are zero. Not both are 0.

    Raises
    ------
    ValueError
        If ``groups`` is not a mapping, a weight is out of range, or for a task without a cluster.

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
        super().__post_init__()
        if not self.within and not self.between:
            raise ValueError("within or between must be positive, got 0 for both")

    def own(self, depth: int) -> float:
        return _inverse(self.within)

    def shared(self, level: int, members: int) -> float:
        # M = (I - G) / within + G / between, of which the diagonal part is I / within
        return (_inverse(self.between) - _inverse(self.within)) / members
