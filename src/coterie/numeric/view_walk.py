"""The walk through a block of records of several views of which all kernel values are at hand, in the dual form.

``values[t, s]`` holds the products of support s with record t: k(x_sa, x_tb) for all pairs of views, flattened, or of
each view with itself. The records of the block come after the supports, and are supports once they have a coefficient.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .generic import compiled, generic, when
from .points import ROUNDING
from .potentials import absorb, elapse, refresh, squared, summed
from .rules import HingeStep, MistakeStep, calls
from .views import Latest, Mean, reach


class Supports(NamedTuple):
    """The records that moved the weights, which of their views were there, how far, and the ``past`` of their round."""

    rows: Any
    present: Any
    births: Any
    coefficients: Any
    pasts: Any


class Expanded(NamedTuple):
    """Supports, the norm that shapes the weights, and which of them predict."""

    supports: Any
    potential: Any
    teller: Any


@generic
def tell_products(teller: Any, potential: Any, coefficients: Any, pasts: Any, values: Any, products: Any) -> Any:
    """The margin that is told of a record with these products."""


@generic
def stretch(rule: Any, potential: Any, own: Any, agreement: Any) -> Any:
    """How far a record with these products with itself moves, for which the rule calls."""


when(stretch, MistakeStep)(lambda rule, potential, own, agreement: 1.0)
when(stretch, HingeStep)(lambda rule, potential, own, agreement: reach(rule, agreement, squared(potential, own)))


@when(tell_products, Latest)
def _tell_latest(teller: Any, potential: Any, coefficients: Any, pasts: Any, values: Any, products: Any) -> Any:
    return margin_of(potential, products)


@when(tell_products, Mean)
def _tell_mean(teller: Any, potential: Any, coefficients: Any, pasts: Any, values: Any, products: Any) -> Any:
    total, size = 0.0, 0.0
    for each in range(products.size):
        term = summed(potential, each) * products[each]
        total += term
        size += abs(term)
    for s in range(coefficients.size):
        if coefficients[s] != 0.0:
            for each in range(products.size):
                term = coefficients[s] * pasts[s, each] * values[s, each]
                total -= term
                size += abs(term)
    return total / max(potential.clock[0], 1.0) if abs(total) > ROUNDING * size else 0.0


@compiled
def margin_of(potential: Any, products: Any) -> float:
    """Σ F ∘ V'X."""
    margin = 0.0
    for each in range(products.size):
        margin += potential.factor[each] * products[each]
    return margin


@compiled
def weigh(coefficients: Any, values: Any, products: Any, sizes: Any) -> None:
    """V'X from the kernel values of one record; what is nothing but rounding is zero."""
    products[:] = 0.0
    sizes[:] = 0.0
    for s in range(coefficients.size):
        c = coefficients[s]
        if c != 0.0:
            for each in range(products.size):
                term = c * values[s, each]
                products[each] += term
                sizes[each] += abs(term)
    for each in range(products.size):
        if abs(products[each]) <= ROUNDING * sizes[each]:
            products[each] = 0.0


@compiled
def walk(
    potential: Any, teller: Any, rule: Any, coefficients: Any, pasts: Any, values: Any, later: Any, y: Any, moves: Any
) -> None:
    """Learn the records of a block one by one; ``later`` has the values of those that are predicted meanwhile.

    ``moves`` has a place for each of the block, its margins those of ``later``.
    """
    n, before = values.shape[0], coefficients.size - values.shape[0]
    products, sizes = np.zeros(values.shape[2]), np.zeros(values.shape[2])
    for t in range(n):
        if t < later.shape[0]:
            weigh(coefficients, later[t], products, sizes)
            moves.margins[t] = tell_products(teller, potential, coefficients, pasts, later[t], products)
        weigh(coefficients, values[t], products, sizes)
        margin = margin_of(potential, products)
        moves.own[t] = margin
        potential.clock[0] += 1.0
        if calls(rule, y[t] * margin):
            own = values[t, before + t]
            tau = stretch(rule, potential, own, y[t] * margin)
            moves.taus[t] = tau
            if tau > 0.0:
                elapse(potential)
                absorb(potential, y[t] * tau, products, own)
                coefficients[before + t] = y[t] * tau
                pasts[before + t] = potential.past
                refresh(potential)


@compiled
def predict(potential: Any, teller: Any, coefficients: Any, pasts: Any, values: Any, margins: Any) -> None:
    """Margins of records of which the kernel values are at hand; nothing is learned."""
    products, sizes = np.zeros(values.shape[2]), np.zeros(values.shape[2])
    for t in range(margins.size):
        weigh(coefficients, values[t], products, sizes)
        margins[t] = tell_products(teller, potential, coefficients, pasts, values[t], products)
