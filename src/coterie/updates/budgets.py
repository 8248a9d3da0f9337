"""Budgets: limits on the number of support vectors, and the choice of those to remove.

Their arithmetic is in ``_compiled/dual/eviction.py`` and ``projections.py``.

A budget has its own state in addition to the support vectors: the sums of a queue, an inverse Gram matrix, or
coefficients for every task. It is a named tuple of arrays in :mod:`coterie._compiled.dual`, which is saved and copied
with the model. The protocol ``Budget`` lists what a budget must declare.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from coterie import spec
from coterie._compiled.dual import eviction, projections
from coterie._compiled.dual.expansion import Budget as Budget

Gram = Literal["multitask", "plain"]
Paths = NDArray[np.int64]
SharedMemory = projections.SharedByTasks | projections.SharedByGroups

#: A number of support vectors that no model reaches.
NO_LIMIT = 2**62

_SIZE = spec.Setting(kind="whole", at_least=1, unit="support vectors")
_ETA = spec.Setting(above=0)


class _BaseBudget:
    """Defaults of budgets: no inverse Gram matrix, and without one a state of constant size."""

    gram: ClassVar[Gram | None] = None
    uses_diagonal: ClassVar[bool] = False

    def fit(self, memory: Any, capacity: int, paths: Paths, tasks: int) -> Any:
        """Resize the state ``memory`` for this many support vectors (``capacity``) and tasks."""
        return memory.with_room(capacity) if self.gram == "multitask" else memory


@spec.part
class Unbounded(_BaseBudget):
    """No budget: every mistake becomes a support vector, so that memory and time grow (CCG08 §3).

    Examples
    --------
    >>> Unbounded()
    Unbounded()
    """

    size: ClassVar[int | None] = None

    def memory(self, form: str) -> eviction.UnboundedBudget:
        """Return the initial state of the budget; ``form`` is that of the relation."""
        return eviction.UnboundedBudget(NO_LIMIT)


@spec.part
class RandomRemoval(_BaseBudget):
    """Budget with random removal: if it is full, the new support vector replaces a random one (mtrbp; CC12 Alg. 3).

    O(1) per mistake. An eviction depends only on the seed and the number of earlier evictions: the new vector takes
    slot floor(u · size) for one uniform number u.

    Parameters
    ----------
    size : int >= 1
        B, the maximum number of support vectors.
    seed : int, default=0
        The seed of the evictions.

    Raises
    ------
    ValueError
        If size is not a whole number of at least 1, or seed is not a whole number.

    Examples
    --------
    >>> RandomRemoval(size=100)
    RandomRemoval(size=100, seed=0)
    """

    size: int = spec.field(_SIZE)
    seed: int = spec.field(default=0, kind="whole")

    def memory(self, form: str) -> eviction.RandomSlots:
        """Return the initial state of the budget; ``form`` is that of the relation."""
        return eviction.RandomSlots(int(self.size), int(self.seed) % 2**63)


@spec.part
class Forgetron(_BaseBudget):
    """Forgetron: remove the oldest support vector after shrinking all coefficients enough (mtforg; CC12 §4.3).

    beta are the coefficients of the support vectors, x_r and y_r the oldest one and its label, f the margin, k the
    kernel, and M_ii the diagonal entry of task i in A⁻¹, by which tasks share updates. All coefficients shrink by phi.

    With sigma = |beta_r| of the oldest one r, mu = y_r f(x_r) after adding the new one, and c² the largest
    M_ii times the largest k(x, x), both over all rounds so far,

        phi = max {chi in (0, 1] : a chi² + b chi <= 15/32 c² M - Q},    a = c² sigma² - 2 sigma mu,    b = 2 c² sigma,

    and Q += a phi² + b phi; M is the number of mistakes. It makes at most 4 L + (B + 1) / (2 ln(B + 1)) mistakes for
    every comparator that is not too long (CC12 Theorem 2). O(B) per mistake.

    Parameters
    ----------
    size : int >= 1
        B, the maximum number of support vectors.
    variant : {"corrected", "printed"}, default="corrected"
        ``"printed"`` has the constants of CC12 (3), for which the bound does not hold: b = 2 c sigma, and mu times
        sigma.

    Raises
    ------
    ValueError
        If size is not a whole number of at least 1, or for an unknown variant.

    Examples
    --------
    >>> Forgetron(size=100)
    Forgetron(size=100, variant='corrected')
    """

    uses_diagonal: ClassVar[bool] = True

    size: int = spec.field(_SIZE)
    variant: Literal["corrected", "printed"] = spec.field(default="corrected", choices=("corrected", "printed"))

    def memory(self, form: str) -> eviction.EvictionQueue:
        """Return the initial state of the budget; ``form`` is that of the relation."""
        return eviction.EvictionQueue.empty(int(self.size), int(self.variant == "printed"))

    def fit(self, memory: eviction.EvictionQueue, capacity: int, paths: Paths, tasks: int) -> eviction.EvictionQueue:
        """Resize the state ``memory`` for this many support vectors (``capacity``) and tasks."""
        return memory.with_room(capacity, paths.shape[1])


@spec.part
class ShiftingForgetron(_BaseBudget):
    """Shifting Forgetron: shrink coefficients by a fixed factor at every mistake, and remove the oldest vector.

    beta are the coefficients of the support vectors, and B is the maximum number of these.

    beta <- phi beta with phi = (16 (B + 1))^(-1 / (2 (B + 1))), so that removed coefficients have shrunk to
    1 / (4 sqrt(B + 1)) for any comparator. CC12 §4.3 says that a variant of the Forgetron, by the analysis of I.
    Sutskever ("A simpler unified analysis of budget perceptrons", ICML 2009), has a bound for shifting comparators, and
    performs less well; :func:`coterie.evaluation.bounds.budget_bounds.shifting_forgetron_bound` has such a bound with
    its proof.
    O(1) per mistake, and B comparisons if the budget is full.

    Parameters
    ----------
    size : int >= 1
        B, the maximum number of support vectors.

    Raises
    ------
    ValueError
        If size is not a whole number of at least 1.

    Examples
    --------
    >>> round(ShiftingForgetron(size=100).phi, 3)
    0.964
    """

    size: int = spec.field(_SIZE)

    @property
    def phi(self) -> float:
        """The factor by which all coefficients shrink at every mistake."""
        return float((16.0 * (self.size + 1)) ** (-0.5 / (self.size + 1)))

    def memory(self, form: str) -> eviction.DecayBudget:
        """Return the initial state of the budget; ``form`` is that of the relation."""
        return eviction.DecayBudget.empty(int(self.size), self.phi)


@spec.part
class Projection(_BaseBudget):
    """Projection: a removed support vector is replaced by its projection on the others (mtbprj; CC12 Algorithm 1).

    beta_j and x_j are the coefficient and the record of support vector j, and B is the maximum number of these.

    A mistake whose multitask instance lies within eta of the span of the support vectors is projected on them.
    Otherwise it is added; if the budget is full, the vector j with the least |beta_j| · ‖x_j - its projection on the
    others‖ is removed, and its projection is added to the others. There are never more than B; ties remove the oldest.
    O(B²) per mistake, and B² more numbers; O(B³) per new task under relations given by b, whose M changes then.

    Parameters
    ----------
    size : int >= 1
        B, the maximum number of support vectors.
    eta : float > 0, default=0.01
        The distance from the span of the others above which a vector is added.

    Raises
    ------
    ValueError
        If size is not a whole number of at least 1, or eta is not positive and finite.

    Examples
    --------
    >>> Projection(size=100)
    Projection(size=100, eta=0.01)
    """

    gram: ClassVar[Gram | None] = "multitask"

    size: int = spec.field(_SIZE)
    eta: float = spec.field(_ETA, default=0.01)

    def memory(self, form: str) -> projections.Projected:
        """Return the initial state of the budget; ``form`` is that of the relation."""
        return projections.Projected.empty(int(self.size), float(self.eta) ** 2)


@spec.part
class Projectron(_BaseBudget):
    """Projectron: project mistakes within eta of the span of the support vectors, and add all others.

    y is the label of a record, and eta the distance above which it is added.

    The Projectron, or with ``plus=True`` the Projectron++, which is also updated on margin errors: if 0 < y·margin < 1
    and l > d / eta, with the loss l = 1 - y·margin and the distance d from the span, by tau times the projection P,

        tau = min(l / ‖P‖², 2 (l - d / eta) / ‖P‖², 1).

    From Orabona, Keshet and Caputo (ICML 2008); the baseline of FOR09. eta is a norm, not its square. The number of
    support vectors is bounded for every eta, but the bound is not known in advance. O(m²) per update for m support
    vectors.

    Parameters
    ----------
    eta : float > 0, default=0.01
        The distance from the span of the others above which a vector is added.
    plus : bool, default=False
        True to update on margin errors, too.

    Raises
    ------
    ValueError
        If eta is not positive and finite, or plus is not a bool.

    Examples
    --------
    >>> Projectron(eta=0.1, plus=True)
    Projectron(eta=0.1, plus=True)
    """

    gram: ClassVar[Gram | None] = "multitask"
    size: ClassVar[int | None] = None

    eta: float = spec.field(_ETA, default=0.01)
    plus: bool = spec.field(default=False)

    def memory(self, form: str) -> projections.Projected:
        """Return the initial state of the budget; ``form`` is that of the relation."""
        return projections.Projected.empty(NO_LIMIT, float(self.eta) ** 2, int(self.plus))


@spec.part
class SharedProjection(_BaseBudget):
    """Projection with support vectors that all tasks share (mtbprj-2; CC12 Algorithm 2).

    M is the matrix by which tasks share updates, B the maximum number of support vectors, and beta has their
    coefficients, one row per task.

    Projections do not depend on tasks. Every task has its own coefficients, beta = M raw, and the vector j with the
    least ‖column j of beta‖ · ‖x_j - its projection on the others‖ is removed. So even independent tasks share the
    memory. For relations of groups there are B numbers per task with a mistake and per group, otherwise per task. O(B²)
    per mistake and O(B · rows) per eviction.

    Parameters
    ----------
    size, eta
        See :class:`~coterie.updates.Projection`.

    Raises
    ------
    ValueError
        If size is not a whole number of at least 1, or eta is not positive and finite.

    Notes
    -----
    A batch is learned in pieces, one for each new task, which take longer than records of known tasks (a millisecond or
    more each). The argument ``tasks`` of ``partial_fit`` makes tasks known in advance.

    Examples
    --------
    >>> SharedProjection(size=100)
    SharedProjection(size=100, eta=0.01)
    """

    gram: ClassVar[Gram | None] = "plain"

    size: int = spec.field(_SIZE)
    eta: float = spec.field(_ETA, default=0.01)

    def memory(self, form: str) -> SharedMemory:
        """Return the initial state of the budget; ``form`` is that of the relation."""
        kind = projections.SharedByTasks if form == "columns" else projections.SharedByGroups
        return kind.empty(int(self.size), float(self.eta) ** 2)

    def fit(self, memory: SharedMemory, capacity: int, paths: Paths, tasks: int) -> SharedMemory:
        """Resize the state ``memory`` for this many support vectors (``capacity``) and tasks."""
        return memory.with_room(capacity, paths, tasks)
