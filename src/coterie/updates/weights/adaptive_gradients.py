"""Weights with a separate step size for each weight: AdaGrad, coin betting, diagonal AROW.

Their arithmetic is in ``_compiled/primal``: ``adaptive.py``, ``coin.py`` and ``confidence.py``.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import ClassVar, Literal

from coterie import spec
from coterie._compiled.primal.adaptive import Adaptive
from coterie._compiled.primal.coin import NUMBERS, Coin
from coterie._compiled.primal.confidence import ConfidenceWeights
from coterie._compiled.primal.grouped import Levels
from coterie._compiled.primal.intercepts import Intercepts

from .storage import STORAGE, Storage


class _NestedGroups:
    """Base class of weights for nested groups, in tables with several numbers for each weight."""

    storage: str
    numbers: ClassVar[int] = 2
    forms: ClassVar[tuple[str, ...]] = ("levels",)
    moves: ClassVar[tuple[str, ...]] = ("gradient",)
    fades: ClassVar[bool] = True

    @cached_property
    def tables(self) -> Storage:
        """The storage that creates and resizes the tables of weights."""
        return Storage(self.storage, numbers=self.numbers)


@spec.part
class AdaptiveGradient(_NestedGroups):
    """AdaGrad: the step size of each weight shrinks with the sum of its squared gradients.

    tau is the step size of the rule, y the label, x_j feature j, and M the matrix by which tasks share updates.

    The margin of a record of task i is (w_i + Σ_g w_g) · x over the groups g of the task. An update c = tau·y changes
    each of these rows by its own gradients, scaled by the row's weight in M,

    Q_j += (c x_j)²,    w_j += step · M-weight · c x_j / sqrt(start + Q_j).

    Parameters
    ----------
    step : float > 0, default=0.7
        The rate; from 0.5 to 1 the mistakes differ by about one percent.
    start : float > 0, default=1e-06
        The initial value of Q; it has an effect only on the first update of a weight.
    storage
        See :class:`coterie.updates.LinearWeights`; each weight takes twice the memory.

    Raises
    ------
    ValueError
        If step or start is not positive and finite, or for an unknown storage.

    Examples
    --------
    >>> AdaptiveGradient(step=0.5)
    AdaptiveGradient(step=0.5, start=1e-06, storage='auto')
    """

    step: float = spec.field(default=0.7, above=0)
    start: float = spec.field(default=1e-6, above=0)
    storage: Literal["auto", "dense", "sparse"] = spec.field(STORAGE, default="auto")

    forms: ClassVar[tuple[str, ...]] = ("levels", "intercepts")

    def make_model(
        self, form: str, levels: Levels, groups: int, tasks: int, features: int, dense: bool
    ) -> Adaptive | Intercepts:
        """Return an empty model with the weight w and the sum of squared gradients Q of each row.

        With task intercepts, it has one own weight per task.
        """
        shared, own = self.tables.make_pair(groups, tasks, features, dense)
        if form == "levels":
            return Adaptive(shared, own, levels, float(self.step), float(self.start))
        own = replace(self.tables, storage="dense").make_table(tasks, 1, True)
        return Intercepts(shared, own, levels, float(self.step), float(self.start))


@spec.part
class CoinBetting(_NestedGroups):
    r"""Coin betting without a learning rate (COCOB): each weight bets on its next gradient.

    tau is the step size of the rule, y the label, x_j feature j, and M the matrix by which tasks share updates.

    The margin of a record of task i is (w_i + Σ_g w_g) · x over the groups g of the task. An update c = tau·y changes
    each of these rows by g_j = c x_j. With L_j the largest |g_j| of a feature so far in any row,

        L_j = max(L_j, |g_j|, 1e-8),    G += |g_j|,    R = max(R + g_j w, 0),    θ += g_j,
        w = θ (ε L_j + R) / (L_j max(G + L_j, alpha L_j)),

    where G begins at 1e-6 and all else at 0. R is the reward of the bets, ε L the initial wealth;
    ε is ``wealth`` times the row's weight in M.

    Parameters
    ----------
    alpha : float > 0, default=3.0
        The caution of the first bets; values from 1 to 30 differ little.
    wealth : float > 0, default=1.0
        The initial wealth of all rows of a task, relative to L.
    storage
        See :class:`coterie.updates.LinearWeights`; each weight takes four times the memory.

    Raises
    ------
    ValueError
        If alpha or wealth is not positive and finite, or for an unknown storage.

    Notes
    -----
    Orabona and Tommasi, "Training deep networks without learning rates through coin betting", 2017, algorithm 2, for
    gradients of a logistic or another convex loss. Their algorithm 1, with possibly negative rewards, alpha = 0, a
    known L and slightly smaller bets, has the regret against any u

        Σ_j |u_j| sqrt(L_j (G_j + L_j) ln(1 + (G_j + L_j)² u_j² / L_j²)) + L_j.

    No bound is proven for the form above: it always bets at least its initial wealth, so late changes of the gradients'
    sign cost more. Tests check that its log loss satisfies the bound on streams of random, noisy, separable and equal
    labels.

    Examples
    --------
    >>> CoinBetting()
    CoinBetting(alpha=3.0, wealth=1.0, storage='auto')
    """

    alpha: float = spec.field(default=3.0, above=0)
    wealth: float = spec.field(default=1.0, above=0)
    storage: Literal["auto", "dense", "sparse"] = spec.field(STORAGE, default="auto")

    numbers: ClassVar[int] = NUMBERS

    def make_model(self, form: str, levels: Levels, groups: int, tasks: int, features: int, dense: bool) -> Coin:
        """Return an empty model for nested groups, with (w, θ, G, R) for each weight and L for each feature."""
        tables = self.tables.make_pair(groups, tasks, features, dense)
        largest = Storage(self.storage).make_table(1, features, dense, shared=True)
        return Coin(*tables, levels, largest, float(self.alpha), float(self.wealth))


#: Labels with less noise than this give precisions whose products do not fit a float.
LEAST_NOISE = 1e-50


@spec.part
class DiagonalAROW(_NestedGroups):
    """Diagonal AROW: a mean and a variance for each weight of the tasks and their groups.

    y is the label, x_j feature j, and M the matrix by which tasks share updates.

    The prior variance S of a row's weights is the row's weight in M: with share s, s for the shared row and 1 - s for a
    task's own. With r = noise · ‖x‖² / nnz(x), where ``noise`` is the parameter r, and v = Σ S_j x_j² over the rows of
    the task,

        alpha = max(0, 1 - y·margin) / (v + r),    w_j += alpha y S_j x_j,    S_j <- S_j / (1 + S_j x_j² / r).

    Because it is relative to the record, one noise suits both text and few features; in the paper (Crammer, Kulesza and
    Dredze, "Adaptive regularization of weight vectors", NIPS 2009) r is a constant.

    Parameters
    ----------
    r : float > 0, default=10.0
        The noise of the labels: 3 for text, 10 in general, 30 for noisy labels.
    storage
        See :class:`coterie.updates.LinearWeights`; each weight takes twice the memory.

    Raises
    ------
    ValueError
        If r is not finite or below 1e-50, or for an unknown storage.

    Examples
    --------
    >>> DiagonalAROW(r=3)
    DiagonalAROW(r=3, storage='auto')
    """

    r: float = spec.field(default=10.0, above=0)
    storage: Literal["auto", "dense", "sparse"] = spec.field(STORAGE, default="auto")

    moves: ClassVar[tuple[str, ...]] = ("confidence",)

    def __post_init__(self) -> None:
        if self.r < LEAST_NOISE:
            raise ValueError(f"r must be at least {LEAST_NOISE:g}, got {self.r!r}: the precisions would overflow")

    def make_model(
        self, form: str, levels: Levels, groups: int, tasks: int, features: int, dense: bool
    ) -> ConfidenceWeights:
        """Return an empty model for nested groups, with the mean and the added precision of each weight."""
        return ConfidenceWeights(*self.tables.make_pair(groups, tasks, features, dense), levels, float(self.r))
