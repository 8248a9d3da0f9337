"""Kernel values of a block of records: with the support vectors and within the block, by matrix products."""

from __future__ import annotations

import numpy as np

from coterie._compiled.core.points import Kernel, Points
from coterie._compiled.dual.expansion import CHANGES, SIZE, Expansion, KernelWork
from coterie.types import Floats
from coterie.updates.weights.dual import Dual

#: The relative rounding error by which the Cauchy-Schwarz inequality may be violated.
SLACK = 1e-6
#: Records in a block. Dense: as many kernel values among themselves a record, so no more than make the product with the
#: support vectors efficient (at 128 rows of 1 KiB contend for the same cache lines). Sparse: the inverted index of the
#: support vectors is recomputed for each.
DENSE_BLOCK, SPARSE_BLOCK = 120, 512
NONE = np.zeros((0, 0))


class BlockValues:
    """Kernel values of a block, in working arrays that are reused for the next block.

    Blocks reuse their memory, because allocating it would cost as much as the kernel values.

    Parameters
    ----------
    hypothesis : Dual
        Kernel and budget.
    points, weights
        The records and their weights.
    dense : bool
        Whether records are dense.
    """

    def __init__(self, hypothesis: Dual, points: Points, weights: Floats, dense: bool) -> None:
        self.points, self.weights = points, weights
        self.hypothesis, self.most = hypothesis, DENSE_BLOCK if dense else SPARSE_BLOCK
        self.memory, self.rows = np.zeros(0), NONE

    def work(self, model: Expansion, block: Points, pending: Points) -> KernelWork:
        """Compute the kernel values of a block of records.

        With delayed labels, include the ``pending`` records, which are predicted before those labels.
        """
        size, width, n = int(model.support.counts[SIZE]), len(model.support.tasks), len(block.squares)
        support, kernel = model.points(), self.hypothesis.kernel
        own, later = self._room(n, width), _pending(pending, n, width)
        for records, (values, among) in ((block, own), (pending, later)):
            if len(records.squares):
                if size:
                    kernel.values(records, support, values[:, :size])
                kernel.values(records, block, among)
        if not (kernel.trusted and np.isfinite(own[1].diagonal()).all()):
            check_values(kernel, model, own[0][:, :size], own[1], block)
        if self.rows.shape[1] != width:
            self.rows = np.zeros((3, width))
        return work_with(own, later, self.rows, n)

    def _room(self, n: int, m: int) -> tuple[Floats, Floats]:
        """Return working arrays of shapes (n, m) and (n, n) with arbitrary values."""
        first, both = n * m, n * (m + n)
        if self.memory.size < both:
            self.memory = np.zeros(both)
        return self.memory[:first].reshape(n, m), self.memory[first:both].reshape(n, n)


def with_block_records(model: Expansion, block: Points, work: KernelWork) -> Expansion:
    """Copy the records of a block that have become support vectors to the model."""
    if not work.cursor[CHANGES]:
        return model
    return model._replace(store=model.store.with_records(work.holder, block, work.among.diagonal()))


Values = tuple[Floats, Floats]


def work_with(own: Values, pending: Values, rows: Floats, n: int) -> KernelWork:
    """Return the working arrays of the loop over at most n records; ``own`` and ``pending`` are kernel values."""
    (values, among), (later, later_among), (shares, weights, along) = own, pending, rows
    holder, (slots, places) = np.full(rows.shape[1], -1), np.zeros((2, n), np.int64)
    cursor = np.zeros(4, np.int64)
    return KernelWork(values, among, later, later_among, holder, slots, places, shares, weights, along, cursor)


def _pending(records: Points, n: int, width: int) -> Values:
    """Return zeros for the kernel values of n block records with ``records`` that wait for their labels."""
    rows = len(records.squares) and n
    return np.zeros((rows, width)), np.zeros((rows, n))


def check_values(kernel: Kernel, model: Expansion, values: Floats, among: Floats, block: Points) -> None:
    """Raise ValueError, naming two rounds, if kernel values contradict a positive semidefinite kernel.

    ``values`` has the kernel values of a block's records with the support vectors, ``among`` those between its records.
    """
    size, own = values.shape[1], among.diagonal()
    rounds = np.concatenate([model.support.births[:size], block.rounds])
    all_values = np.concatenate([values, among], axis=1)
    lengths = np.concatenate([model.store.lengths[:size], own])
    with np.errstate(invalid="ignore", over="ignore"):
        unlike = np.abs(among - among.T) > SLACK * np.abs(among) + SLACK**2  # k(x, z) ≠ k(z, x)
        most, squares = _most(own, lengths), all_values**2
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


def _most(own: Floats, lengths: Floats) -> Floats:
    """Return the upper bound k(x, x) k(z, z) of k(x, z)², by Cauchy-Schwarz."""
    return np.asarray(own[:, None] * lengths * (1.0 + SLACK) + SLACK**2)
