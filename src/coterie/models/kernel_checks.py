"""Checks of the values of kernels that may not be positive semidefinite."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.numeric.core.points import Kernel, Points
from coterie.numeric.dual.expansion import Expansion

#: The relative rounding that is allowed beyond the inequality of Cauchy and Schwarz.
SLACK = 1e-6


def check_values(
    kernel: Kernel, model: Expansion, values: NDArray[np.float64], among: NDArray[np.float64], block: Points
) -> None:
    """Raise ValueError, naming two rounds, for values that violate the properties of a kernel.

    ``values`` holds those of a block of records with the support vectors, ``among`` those with each other.
    """
    size, own = values.shape[1], among.diagonal()
    rounds = np.concatenate([model.support.births[:size], block.rounds])
    all_values = np.concatenate([values, among], axis=1)
    lengths = np.concatenate([model.store.lengths[:size], own])
    with np.errstate(invalid="ignore", over="ignore"):
        unlike, most, squares = _asymmetric(among), _most(own, lengths), all_values**2
    for what, wrong in (
        ("is not finite", ~np.isfinite(all_values)),
        ("is not positive semidefinite, k(x, x) < 0,", (own < 0)[:, None] & (rounds == block.rounds[:, None])),
        ("is not symmetric", np.concatenate([np.zeros((len(own), size), bool), unlike], axis=1)),
        ("is not positive semidefinite, k(x, z)² > k(x, x) k(z, z),", squares > most),
    ):
        if wrong.any():
            t, s = np.argwhere(wrong)[0]
            pair = f"rounds {block.rounds[t]} and {rounds[s]} (from 0)"
            raise ValueError(f"the kernel {kernel!r} {what} for the records of {pair}")


def _asymmetric(among: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return the pairs with k(x, z) ≠ k(z, x)."""
    return np.asarray(np.abs(among - among.T) > SLACK * np.abs(among) + SLACK**2)


def _most(own: NDArray[np.float64], lengths: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the bound k(x, x) k(z, z) on k(x, z)²."""
    return np.asarray(own[:, None] * lengths * (1.0 + SLACK) + SLACK**2)
