"""How much each view weighs as a stream goes on."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from coterie.types import Floats


class ViewWeights(NamedTuple):
    """The norms of the weights of K views at m points of a stream.

    Attributes
    ----------
    names : tuple
        The views.
    rounds : ndarray of int64, shape (m,)
        How many records had been learned, increasing.
    lengths : ndarray of float64, shape (m, K)
        The norm of each view's weights then, of those that learn and not of their mean; of ``MultiCueClassifier`` how
        much the view's margin counts.
    """

    names: tuple[Hashable, ...]
    rounds: NDArray[np.int64]
    lengths: Floats

    @property
    def shares(self) -> Floats:
        """Each view's part of the lengths, in rows that sum to 1; nan before anything moved, shape (m, K).

        Examples
        --------
        >>> ViewWeights(("audio", "video"), np.array([10]), np.array([[1.0, 3.0]])).shares
        array([[0.25, 0.75]])
        """
        total = self.lengths.sum(axis=1, keepdims=True)
        shares: Floats = np.divide(self.lengths, total, out=np.full(self.lengths.shape, np.nan), where=total > 0)
        return shares

    def later(self, rounds: int) -> Self:
        """The same lengths, at points that are so many rounds later."""
        return self._replace(rounds=self.rounds + rounds)


def in_order(parts: Sequence[ViewWeights | None], rounds: Sequence[int]) -> ViewWeights | None:
    """The parts of a stream after each other, each over so many rounds; None where one is missing."""
    there = [each for each in parts if each is not None]
    if not there or len(there) < len(parts):
        return None
    placed = [each.later(int(sum(rounds[:i]))) for i, each in enumerate(there)]
    return ViewWeights(
        there[0].names,
        np.concatenate([each.rounds for each in placed]),
        np.concatenate([each.lengths for each in placed]),
    )
