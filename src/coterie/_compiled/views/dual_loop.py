"""The compiled loop over a block of multi-view records in the dual form, with known kernel values.

``values[t, s]`` has the products of support vector s with record t: k(x_sa, x_tb) for all pairs of views, flattened, or
of each view with itself. The records of the block come after the support vectors, and become some when they get a
coefficient.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from coterie._compiled.core.arrays import copy_vector
from coterie._compiled.core.checks import MOST_ROUNDS, require_finite, require_shape, require_within
from coterie._compiled.core.generic import compiled, generic, when
from coterie._compiled.core.points import ROUNDING
from coterie._compiled.primal.step_rules import MistakeStep, ShortestStep, triggers_update

from .forms import Widths, as_form, check_rows, empty, pick, stack
from .norm_potentials import FeatureSet, absorb, accumulate_factor, refresh, squared, summed
from .rounds import reach


class Supports(NamedTuple):
    """Support vectors with several views: their views, rounds and coefficients.

    ``pasts`` has the sum of the norm's factor at their rounds.
    """

    rows: Any
    present: Any
    births: Any
    coefficients: Any
    pasts: Any

    @classmethod
    def empty(cls, widths: Widths, dense: bool, products: int) -> Self:
        """Return an empty set of support vectors, for views with these numbers of features."""
        present, births = np.zeros((0, len(widths)), bool), np.zeros(0, np.int64)
        return cls(empty(dense, widths), present, births, np.zeros(0), np.zeros((0, products)))

    @property
    def seen(self) -> FeatureSet:
        """Return the support vectors in the form that kernels read."""
        return FeatureSet(self.rows, self.present, self.births)

    def with_widths(self, widths: Widths, dense: bool) -> Self:
        """Resize the support vectors for views with these numbers of features."""
        return self._replace(rows=as_form(self.rows, dense, widths))

    def with_block(self, block: FeatureSet, coefficients: NDArray[np.float64], pasts: NDArray[np.float64]) -> Self:
        """Add the records of a block that led to an update to the support vectors.

        ``coefficients`` and ``pasts`` are those of the support vectors, then those of the block, 0 for records without
        an update.
        """
        m = len(self.coefficients)
        new = np.flatnonzero(coefficients[m:])
        if not len(new):
            return self
        chosen = np.concatenate([np.arange(m), m + new])
        return type(self)(
            stack(self.rows, pick(block.rows, block.present.shape[1], new)),
            np.concatenate([self.present, block.present[new]]),
            np.concatenate([self.births, block.rounds[new]]),
            coefficients[chosen],
            pasts[chosen],
        )


class Expanded(NamedTuple):
    """Dual multi-view model: support vectors and the state of the norm; ``mean`` is 1 for averaged weights."""

    supports: Any
    potential: Any
    mean: int

    def to_saved(self, widths: Widths) -> Expanded:
        """Return the model itself; it has no unused capacity."""
        return self

    def check(self, widths: Widths) -> None:
        """Raise ValueError for support vectors with wrong views, or too many features."""
        K, supports = len(widths), self.supports
        n, own = len(supports.coefficients), len(self.potential.factor)
        require_shape("present", supports.present, n, K)
        require_shape("births", supports.births, n)
        require_shape("pasts", supports.pasts, n, own)
        require_within("births", supports.births, 0, MOST_ROUNDS)
        require_finite("coefficients", supports.coefficients)
        require_finite("pasts", supports.pasts)
        check_rows(supports.rows, n, widths)
        self.potential.check(K)


@generic
def stretch(rule, potential, own, signed_margin):
    """Return the step size of a record that triggers an update; ``own`` are its products with itself."""


when(stretch, MistakeStep)(lambda rule, potential, own, signed_margin: 1.0)
when(stretch, ShortestStep)(
    lambda rule, potential, own, signed_margin: reach(rule, signed_margin, squared(potential, own))
)


@compiled
def _report(mean, potential, coefficients, pasts, values, products):
    """Return the margin that users see, of the current or the mean weights."""
    if mean == 0:
        return margin_of(potential, products)
    total, size = 0.0, 0.0
    # the sum of F over all rounds times V'X counts every move from round 1: FOR09 (3.1.23)
    for k in range(products.size):
        term = summed(potential, k) * products[k]
        total += term
        size += abs(term)
    # minus what F had summed before each move: FOR09 (3.1.24), F̄_s = C_T - C_{t_s} with prefix sums C
    for s in range(coefficients.size):
        if coefficients[s] != 0.0:
            for k in range(products.size):
                term = coefficients[s] * pasts[s, k] * values[s, k]
                total -= term
                size += abs(term)
    # the mean over the rounds; sums that cancel to rounding are ties
    return total / max(potential.clock[0], 1.0) if abs(total) > ROUNDING * size else 0.0


@compiled
def margin_of(potential, products):
    """Return the margin of a record X from its products V'X with the sum of updates V."""
    margin = 0.0
    for k in range(products.size):
        # Tr(F'V'X) of FOR09 (3.1.10), scale included: means of weights need it, signs do not
        margin += potential.factor[k] * products[k]
    return margin


@compiled
def weigh(coefficients, values, products, sizes):
    """Compute the products V'X of a record from its kernel values; rounding errors become zero."""
    products[:] = 0.0
    sizes[:] = 0.0
    for s in range(coefficients.size):
        c = coefficients[s]
        if c != 0.0:
            for k in range(products.size):
                term = c * values[s, k]
                products[k] += term
                sizes[k] += abs(term)
    # a tie must be a tie whatever the order of supports, because a zero margin is a mistake
    for k in range(products.size):
        if abs(products[k]) <= ROUNDING * sizes[k]:
            products[k] = 0.0


@compiled
def walk(potential, mean, rule, coefficients, pasts, values, later, y, moves):
    """Learn the records of a block one by one. ``later`` has the kernel values of records to predict in between.

    ``moves`` has an entry for each record of the block; its margins are those of ``later``.
    """
    n, before = values.shape[0], coefficients.size - values.shape[0]
    products, sizes = np.zeros(values.shape[2]), np.zeros(values.shape[2])
    for t in range(n):
        # records whose labels come later are predicted before record t is learned
        if t < later.shape[0]:
            weigh(coefficients, later[t], products, sizes)
            moves.margins[t] = _report(mean, potential, coefficients, pasts, later[t], products)
        weigh(coefficients, values[t], products, sizes)
        margin = margin_of(potential, products)
        moves.own[t] = margin
        # the round counts before its move: the mean is over the weights before each round
        potential.clock[0] += 1.0
        if triggers_update(rule, y[t] * margin):
            # the record itself comes behind the supports and is one of them from now on
            own = values[t, before + t]
            tau = stretch(rule, potential, own, y[t] * margin)
            moves.step_sizes[t] = tau
            if tau > 0.0:
                # past must have the factors of all rounds up to now before V changes
                accumulate_factor(potential)
                # the products of the norm, in one space by FOR09 (3.1.17), from V'X of before the move
                absorb(potential, y[t] * tau, products, own)
                coefficients[before + t] = y[t] * tau
                # C_{t_s}, the part of the sum of F that does not count for this support
                copy_vector(potential.past, pasts[before + t])
                refresh(potential)


@compiled
def predict(potential, mean, coefficients, pasts, values, margins):
    """Write the margins of records with known kernel values, without learning."""
    products, sizes = np.zeros(values.shape[2]), np.zeros(values.shape[2])
    for t in range(margins.size):
        weigh(coefficients, values[t], products, sizes)
        margins[t] = _report(mean, potential, coefficients, pasts, values[t], products)
