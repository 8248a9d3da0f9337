"""Two ways to the kernel values that a walk through records needs; how much work there is decides between them.

In blocks: the kernel values of a hundred records with the support vectors and with each other, by matrix products, of
any kernel and any form of records. Near: of a few records at a time in compiled code, for Gaussian kernels, where there
are records enough to lay the support vectors out for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.hypotheses.dual import Dual
from coterie.learners.kernel_checks import check_values
from coterie.numeric import near
from coterie.numeric.expansion import CHANGES, SIZE, Expansion, Work
from coterie.numeric.points import Points
from coterie.numeric.walk import walk

#: Records in a block. Dense: as many kernel values among themselves a record, so no more than make the product with the
#: support vectors efficient (at 128 rows of 1 KiB contend for the same cache lines). Sparse: the inverted index of the
#: support vectors is made anew for each.
DENSE_BLOCK, SPARSE_BLOCK = 120, 512
#: Near, the longer the better, but for budgets that leave room for every record of a block, or have to look after it
#: whether an inverse is worn.
NEAR_BLOCK, LONG_BLOCK = 512, 4096
#: Numbers that are worth laying out for each record to come.
A_RECORD = 2**9
NONE = np.zeros((0, 0))


class Near:
    """Kernel values of a few records at a time, for as long as the support vectors stay where they are laid out."""

    def __init__(self, scale: float, budget: Any) -> None:
        self.scale, self.slots, self.table, self.values, self.room = scale, -1, NONE, NONE, near.room()
        self.most = NEAR_BLOCK if budget.size is None or budget.gram is not None else LONG_BLOCK

    def begin(self, model: Expansion, block: Points, late: Points) -> tuple[Work, Callable[..., int]]:
        """What to walk with through the records of a block, and the walk."""
        if self.slots != len(model.store.values):
            self.slots, self.table = len(model.store.values), near.columns(model.store.values)
            self.values = near.lined(near.FEW, self.table.shape[1])
        width = self.table.shape[1]
        what = near.Near(self.scale, self.table, near.strip(block), near.strip(late), self.room)
        made, told = (self.values, near.lined(near.FEW, near.FEW)), _told(late, near.FEW, width)

        def learn(model: Expansion, work: Work, *rest: Any) -> int:
            return int(near.learn_near(model, what, work, *rest))

        return work_with(made, told, np.zeros((3, width)), near.FEW), learn

    def end(self, model: Expansion, block: Points, work: Work) -> Expansion:
        """The model when the block is done; its new support vectors are there already."""
        return model


class Blocks:
    """Kernel values of a block by matrix products.

    Its memory is used again for the next block: fresh memory would cost as much as the kernel values.
    """

    def __init__(self, hypothesis: Dual, dense: bool) -> None:
        self.hypothesis, self.most = hypothesis, DENSE_BLOCK if dense else SPARSE_BLOCK
        self.held, self.beside = np.zeros(0), NONE

    def begin(self, model: Expansion, block: Points, late: Points) -> tuple[Work, Callable[..., int]]:
        """Kernel values of a block with the support vectors and itself, and the walk."""
        size, width, n = int(model.support.counts[SIZE]), len(model.support.tasks), len(block.squares)
        held, kernel = self.hypothesis.points(model), self.hypothesis.kernel
        made, told = self._room(n, width), _told(late, n, width)
        for given, (values, among) in ((block, made), (late, told)):
            if len(given.squares):
                if size:
                    kernel.values(given, held, values[:, :size])
                kernel.values(given, block, among)
        if not (kernel.trusted and np.isfinite(made[1].diagonal()).all()):
            check_values(kernel, model, made[0][:, :size], made[1], block)
        if self.beside.shape[1] != width:
            self.beside = np.zeros((3, width))
        return work_with(made, told, self.beside, n), walk

    def end(self, model: Expansion, block: Points, work: Work) -> Expansion:
        """The model with the records of the block that have become support vectors where they belong."""
        if not work.cursor[CHANGES]:
            return model
        return model._replace(store=model.store.put(work.holder, block, work.among.diagonal()))

    def _room(self, n: int, m: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """An (n, m) and an (n, n) array of whatever there was; what is not written is not read."""
        first, both = n * m, n * (m + n)
        if self.held.size < both:
            self.held = np.zeros(both)
        return self.held[:first].reshape(n, m), self.held[first:both].reshape(n, n)


Way = Blocks | Near


class Ways:
    """Both ways, for the records of one call.

    Parameters
    ----------
    hypothesis : Dual
        Kernel and budget.
    given : Points
        The records.
    dense : bool
        Whether they are dense.
    n : int
        How many are to be learned.
    """

    def __init__(self, hypothesis: Dual, given: Points, dense: bool, n: int) -> None:
        self.budget, self.features, self.n = hypothesis.budget, given.features, n
        self.blocks = Blocks(hypothesis, dense)
        scale = getattr(hypothesis.kernel, "radial_scale", None)
        self.near = None
        if dense and scale is not None and np.isfinite(scale):
            self.near = Near(float(scale), hypothesis.budget)

    def of(self, model: Expansion) -> Way:
        """The way to learn the next records: near, if what may be held after them is soon laid out.

        What may be held does not grow less, so within a call blocks are never left for what was laid out before.
        """
        if self.near is None:
            return self.blocks
        most = int(model.support.counts[SIZE]) + min(self.n, self.near.most)
        slots = max(len(model.support.tasks), most if self.budget.size is None else min(most, self.budget.size))
        return self.near if slots * self.features <= A_RECORD * self.n else self.blocks


def work_with(made: Sequence[Any], told: Sequence[Any], rows: NDArray[np.float64], n: int) -> Work:
    """A walk's notes at its beginning, for n records at most."""
    (values, among), (later, told_among), (shares, weights, along) = made, told, rows
    holder, (slots, places) = np.full(rows.shape[1], -1), np.zeros((2, n), np.int64)
    cursor = np.zeros(4, np.int64)
    return Work(values, among, later, told_among, holder, slots, places, shares, weights, along, cursor)


def _told(late: Points, n: int, width: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Room for the kernel values of records that are told of where labels come late."""
    rows = len(late.squares) and n
    return np.zeros((rows, width)), np.zeros((rows, n))
