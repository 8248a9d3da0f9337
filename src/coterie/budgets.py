"""Budgets: which support vectors stay when there is room for so many only.

A budget keeps a memory of its own beside the support vectors: a queue's sums, an inverse Gram matrix, coefficients for
every task. It is a named tuple of arrays, so it is saved and copied with everything else that is learned.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from . import spec
from .numeric import memories, projections
from .numeric.arrays import grown

#: What is as good as no limit.
NO_LIMIT = 2**62


@spec.part
class Unbounded:
    """Every mistake becomes a support vector (CCG08 §3): memory and time grow with the mistakes.

    Examples
    --------
    >>> Unbounded()
    Unbounded()
    """

    gram: ClassVar[str | None] = None
    keeps_coefficients: ClassVar[bool] = True
    size: ClassVar[int | None] = None

    def memory(self, form: str) -> Any:
        """What is kept beside the support vectors: nothing."""
        return memories.Everything(NO_LIMIT)

    def fit(self, memory: Any, capacity: int, paths: NDArray[np.int64], tasks: int) -> Any:
        """The memory with room for so many support vectors and tasks."""
        return memory


@spec.part
class RandomRemoval:
    """A full budget loses a support vector drawn uniformly, never the new one (mtrbp; CC12 Algorithm 3).

    O(1) a mistake. The draw of an eviction depends on the seed and on how many there were before, on nothing else: the
    new vector takes slot floor(u · size) of one uniform number u.

    Parameters
    ----------
    size : int >= 1
        B, the most support vectors.
    seed : int
        Of the draws.

    Raises
    ------
    ValueError
        If size is no whole number from 1 on, or seed no whole number.

    Examples
    --------
    >>> RandomRemoval(size=100)
    RandomRemoval(size=100, seed=0)
    """

    gram: ClassVar[str | None] = None
    keeps_coefficients: ClassVar[bool] = True

    size: int
    seed: int = 0

    def __post_init__(self) -> None:
        check_size(self.size)
        if isinstance(self.seed, bool) or not isinstance(self.seed, (int, np.integer)):
            raise ValueError(f"seed must be a whole number, got {self.seed!r}")

    def memory(self, form: str) -> Any:
        """What is kept beside the support vectors: nothing that changes."""
        return memories.RandomSlots(int(self.size), int(self.seed) % 2**63)

    def fit(self, memory: Any, capacity: int, paths: NDArray[np.int64], tasks: int) -> Any:
        """The memory with room for so many support vectors and tasks."""
        return memory


@spec.part
class Forgetron:
    """The oldest support vector leaves, and all shrink by as much as its leaving asks for (mtforg; CC12 §4.3).

    With sigma = |beta_r| of the oldest, mu = y_r f(x_r) with the new one in and c² = max_i M_ii max k(x, x),

        phi = max {chi in (0, 1] : a chi² + b chi <= 15/32 c² M - Q},    a = c² sigma² - 2 sigma mu,    b = 2 c² sigma,

    and Q += a phi² + b phi, M counting the mistakes. It makes at most 4 L + (B + 1) / (2 ln(B + 1)) mistakes for every
    comparator that is not too long (CC12 Theorem 2). O(B) a mistake.

    Parameters
    ----------
    size : int >= 1
        B, the most support vectors.
    variant : {"corrected", "printed"}
        ``"printed"`` takes CC12 (3) literally, where the bound does not hold: b = 2 c sigma, and mu times sigma.

    Raises
    ------
    ValueError
        If size is no whole number from 1 on, or for an unknown variant.

    Examples
    --------
    >>> Forgetron(size=100)
    Forgetron(size=100, variant='corrected')
    """

    gram: ClassVar[str | None] = None
    keeps_coefficients: ClassVar[bool] = False

    size: int
    variant: Literal["corrected", "printed"] = "corrected"

    def __post_init__(self) -> None:
        check_size(self.size)
        if self.variant not in ("corrected", "printed"):
            raise ValueError(f"variant must be 'corrected' or 'printed', got {self.variant!r}")

    def memory(self, form: str) -> Any:
        """What is kept beside the support vectors: sums of the mistakes, and for every slot of the moves since."""
        kind = memories.Queue if self.variant == "corrected" else memories.PrintedQueue
        return kind(int(self.size), np.array([0.0, 0.0, 1.0, 0.0]), np.zeros(1), np.zeros((0, 0)))

    def fit(self, memory: Any, capacity: int, paths: NDArray[np.int64], tasks: int) -> Any:
        """The memory with room for so many support vectors and tasks."""
        return memory._replace(later=_wider(_taller(memory.later, 1 + paths.shape[1]), capacity))


@spec.part
class Projection:
    """What leaves is given away to those that stay, as far as they can hold it (mtbprj; CC12 Algorithm 1).

    A mistake whose multitask instance lies within eta of the span of the support vectors is projected on them. Else it
    is added; in a full budget the vector goes of which the others hold most, argmin_j |beta_j| · ‖what is left of j‖,
    and they take over its projection. The budget is strict, ties go to the oldest. O(B²) a mistake, B² numbers more.

    Parameters
    ----------
    size : int >= 1
        B, the most support vectors.
    eta : float > 0
        How far from the others, as a norm, a vector must lie to be kept.

    Raises
    ------
    ValueError
        If size is no whole number from 1 on, or eta not positive and finite.

    Examples
    --------
    >>> Projection(size=100)
    Projection(size=100, eta=0.01)
    """

    gram: ClassVar[str | None] = "multitask"
    keeps_coefficients: ClassVar[bool] = False

    size: int
    eta: float = 0.01

    def __post_init__(self) -> None:
        check_size(self.size)
        spec.check_positive("eta", self.eta)

    def memory(self, form: str) -> Any:
        """What is kept beside the support vectors: their inverse Gram matrix."""
        return projections.Projected(int(self.size), float(self.eta) ** 2, *_inverse())

    def fit(self, memory: Any, capacity: int, paths: NDArray[np.int64], tasks: int) -> Any:
        """The memory with room for so many support vectors and tasks."""
        return with_inverse(memory, capacity)


@spec.part
class Projectron:
    """Mistakes are projected where they lie within eta of the support vectors, else added; nothing ever leaves.

    The Projectron, or with ``plus=True`` the Projectron++, which moves on margin errors too: where 0 < y·margin < 1,
    the loss l = 1 - y·margin and d the norm of what projecting leaves, and l > d / eta, by tau times the projection P,

        tau = min(l / ‖P‖², 2 (l - d / eta) / ‖P‖², 1).

    From Orabona, Keshet and Caputo (ICML 2008); the baseline of FOR09. eta is a norm, not its square. The number of
    support vectors is bounded by eta, though nobody says where. O(m²) a move for m support vectors.

    Parameters
    ----------
    eta : float > 0
        How far from the others a vector must lie to be kept.
    plus : bool
        Whether to move on margin errors.

    Raises
    ------
    ValueError
        If eta is not positive and finite, or plus no bool.

    Examples
    --------
    >>> Projectron(eta=0.1, plus=True)
    Projectron(eta=0.1, plus=True)
    """

    gram: ClassVar[str | None] = "multitask"
    keeps_coefficients: ClassVar[bool] = False
    size: ClassVar[int | None] = None

    eta: float = 0.01
    plus: bool = False

    def __post_init__(self) -> None:
        spec.check_positive("eta", self.eta)
        if not isinstance(self.plus, (bool, np.bool_)):
            raise ValueError(f"plus must be True or False, got {self.plus!r}")

    def memory(self, form: str) -> Any:
        """What is kept beside the support vectors: their inverse Gram matrix."""
        kind: Any = projections.Projectron if self.plus else projections.Projected
        return kind(NO_LIMIT, float(self.eta) ** 2, *_inverse())

    def fit(self, memory: Any, capacity: int, paths: NDArray[np.int64], tasks: int) -> Any:
        """The memory with room for so many support vectors and tasks."""
        return with_inverse(memory, capacity)


@spec.part
class SharedProjection:
    """As :class:`Projection`, but tasks share the support vectors whatever their relation (mtbprj-2; CC12 Algorithm 2).

    Projections take no notice of tasks; every task has coefficients of its own, beta = M raw, and the vector goes for
    which ‖column j of beta‖ · ‖what is left of j‖ is least. Tasks that share nothing can so share the memory. With
    groups, B numbers are kept for every task that has made a mistake and for every group, else for every task. O(B²) a
    mistake and O(B · rows) an eviction.

    Parameters
    ----------
    size, eta
        As in :class:`Projection`.

    Raises
    ------
    ValueError
        If size is no whole number from 1 on, or eta not positive and finite.

    Examples
    --------
    >>> SharedProjection(size=100)
    SharedProjection(size=100, eta=0.01)
    """

    gram: ClassVar[str | None] = "plain"
    keeps_coefficients: ClassVar[bool] = False

    size: int
    eta: float = 0.01

    def __post_init__(self) -> None:
        check_size(self.size)
        spec.check_positive("eta", self.eta)

    def memory(self, form: str) -> Any:
        """What is kept beside the support vectors: their inverse Gram matrix, and coefficients of tasks."""
        limits = int(self.size), float(self.eta) ** 2
        if form == "columns":
            return projections.SharedByTasks(*limits, *_inverse(), np.zeros((0, 0)))
        none = np.zeros(0, np.int64)
        tables = np.zeros((0, 0)), none, none.copy(), np.zeros(1, np.int64), np.zeros((0, 0)), np.zeros((0, 0))
        return projections.SharedByGroups(*limits, *_inverse(), *tables, np.zeros(0), none.copy())

    def fit(self, memory: Any, capacity: int, paths: NDArray[np.int64], tasks: int) -> Any:
        """The memory with room for so many support vectors and tasks."""
        memory = with_inverse(memory, capacity)
        if hasattr(memory, "beta"):
            return memory._replace(beta=_wider(grown(memory.beta, tasks), capacity))
        above = _above(paths)
        return memory._replace(
            raw=_wider(memory.raw, capacity),
            row=_padded(memory.row, tasks),
            sums=_wider(_taller(memory.sums, len(above)), capacity),
            scaled=_wider(_taller(memory.scaled, len(above)), capacity),
            squares=grown(memory.squares, capacity)[:capacity],
            above=above,
        )


def budget_of_fraction(
    fraction: float, budget: Callable[..., Any], model: Any, X: Any, y: Any, task: Any = None, **options: Any
) -> Any:
    """A budget as a part of what one unbounded kernel Perceptron a task keeps of the records (CC12 §5: 25, 10, 5 %).

    Parameters
    ----------
    fraction : float in (0, 1]
        The part.
    budget : type
        Such as :class:`Forgetron`.
    model : MultitaskKernelPerceptron
        Its kernel is used; it is not changed.
    X, y, task
        The records, as for ``fit``.
    **options
        Of the budget, beside its size.

    Raises
    ------
    ValueError
        For a fraction outside (0, 1].

    Examples
    --------
    >>> import coterie as ct
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
    >>> budget_of_fraction(0.5, ct.Projection, ct.MultitaskKernelPerceptron(), X, y, eta=0.1)
    Projection(size=2, eta=0.1)
    """
    if not 0 < fraction <= 1:
        raise ValueError(f"fraction must lie in (0, 1], got {fraction!r}")
    alone = model.alone().fit(X, y, task)
    return budget(max(1, round(fraction * alone.n_support_)), **options)


def check_size(size: Any) -> None:
    """Refuse what is no number of support vectors."""
    if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 1:
        raise ValueError(f"size must be a whole number of support vectors, at least 1, got {size!r}")


def with_inverse(memory: Any, capacity: int) -> Any:
    """A memory whose inverse Gram matrix has room for so many support vectors."""
    if len(memory.inverse) == capacity:
        return memory
    inverse = np.zeros((capacity, capacity))
    n = len(memory.inverse)
    inverse[:n, :n] = memory.inverse
    return memory._replace(inverse=inverse, waiting=np.zeros((2, capacity)), spare=np.zeros((4, capacity)))


def with_rows(memory: Any) -> Any:
    """A memory of tasks' coefficients with room for more tasks."""
    rows = max(4, len(memory.raw) + len(memory.raw) // 2)
    return memory._replace(raw=_taller(memory.raw, rows), owner=_padded(memory.owner, rows, 0))


def _inverse() -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    return np.zeros((0, 0)), np.zeros((2, 0)), np.zeros((4, 0))


def _wider(table: NDArray[np.float64], columns: int) -> NDArray[np.float64]:
    if table.shape[1] == columns:
        return table
    return np.pad(table, ((0, 0), (0, columns - table.shape[1])))


def _taller(table: NDArray[np.float64], rows: int) -> NDArray[np.float64]:
    return table if len(table) == rows else np.pad(table, ((0, rows - len(table)), (0, 0)))


def _padded(places: NDArray[np.int64], n: int, value: int = -1) -> NDArray[np.int64]:
    return np.pad(places, (0, n - len(places)), constant_values=value)


def _above(paths: NDArray[np.int64]) -> NDArray[np.int64]:
    """The group that each group lies in, from the groups of all tasks."""
    above = np.full(int(paths.max(initial=-1)) + 1, -1, np.int64)
    for level in range(1, paths.shape[1]):
        inside = paths[:, level] >= 0
        above[paths[inside, level]] = paths[inside, level - 1]
    return above
