"""Two ways to the kernel values that a walk through records needs; the size of the work decides between them.

``Blocks``: the kernel values of a hundred records with the support vectors and with each other, by matrix products, of
any kernel and any form of records. ``Tiles``: of a few records at a time in compiled code, for Gaussian kernels, where
there are records enough to lay the support vectors out for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.hypotheses.dual import Dual
from coterie.numeric.core.points import Points, RadialKernel
from coterie.numeric.dual import tiled_gaussian
from coterie.numeric.dual.expansion import CHANGES, SIZE, Budget, Expansion, Work
from coterie.numeric.dual.walk import walk

from .kernel_checks import check_values

#: Records in a block. Dense: as many kernel values among themselves a record, so no more than make the product with the
#: support vectors efficient (at 128 rows of 1 KiB contend for the same cache lines). Sparse: the inverted index of the
#: support vectors is made anew for each.
DENSE_BLOCK, SPARSE_BLOCK = 120, 512
#: Tiled, the longer the better, but for budgets that leave room for every record of a block, or whose inverse must be
#: looked after at the end of each.
TILED_BLOCK, LONG_BLOCK = 512, 4096
#: Support vectors are laid out if this takes no more than so many numbers for each record to come.
LAID_OUT_PER_RECORD = 2**9
NONE = np.zeros((0, 0))


class Tiles:
    """Kernel values of a few records at a time, for as long as the support vectors stay where they are laid out."""

    def __init__(self, scale: float, budget: Budget) -> None:
        self.scale, self.slots, self.table, self.values = scale, -1, NONE, NONE
        self.room = tiled_gaussian.room()
        self.most = TILED_BLOCK if budget.size is None or budget.gram is not None else LONG_BLOCK

    def begin(self, model: Expansion, block: Points, pending: Points) -> tuple[Work, Callable[..., int]]:
        """The working arrays for the records of a block, and the function that walks."""
        few = tiled_gaussian.FEW
        if self.slots != len(model.store.values):
            self.slots, self.table = len(model.store.values), tiled_gaussian.columns(model.store.values)
            self.values = tiled_gaussian.lined(few, self.table.shape[1])
        width, strip = self.table.shape[1], tiled_gaussian.strip
        tiling = tiled_gaussian.Tiling(self.scale, self.table, strip(block), strip(pending), self.room)
        own, later = (self.values, tiled_gaussian.lined(few, few)), _pending(pending, few, width)

        def learn(model: Expansion, work: Work, *rest: Any) -> int:
            return int(tiled_gaussian.learn_tiled(model, tiling, work, *rest))

        return work_with(own, later, np.zeros((3, width)), few), learn

    def end(self, model: Expansion, block: Points, work: Work) -> Expansion:
        """The model when the block is done; its new support vectors are there already."""
        return model


class Blocks:
    """Kernel values of a block by matrix products.

    Its memory is used again for the next block: fresh memory would cost as much as the kernel values.
    """

    def __init__(self, hypothesis: Dual, dense: bool) -> None:
        self.hypothesis, self.most = hypothesis, DENSE_BLOCK if dense else SPARSE_BLOCK
        self.memory, self.rows = np.zeros(0), NONE

    def begin(self, model: Expansion, block: Points, pending: Points) -> tuple[Work, Callable[..., int]]:
        """The working arrays for the records of a block, with all kernel values, and the function that walks."""
        size, width, n = int(model.support.counts[SIZE]), len(model.support.tasks), len(block.squares)
        support, kernel = model.points(), self.hypothesis.kernel
        own, later = self._room(n, width), _pending(pending, n, width)
        for given, (values, among) in ((block, own), (pending, later)):
            if len(given.squares):
                if size:
                    kernel.values(given, support, values[:, :size])
                kernel.values(given, block, among)
        if not (kernel.trusted and np.isfinite(own[1].diagonal()).all()):
            check_values(kernel, model, own[0][:, :size], own[1], block)
        if self.rows.shape[1] != width:
            self.rows = np.zeros((3, width))
        return work_with(own, later, self.rows, n), walk

    def end(self, model: Expansion, block: Points, work: Work) -> Expansion:
        """The model with the records of the block that have become support vectors where they belong."""
        if not work.cursor[CHANGES]:
            return model
        return model._replace(store=model.store.with_records(work.holder, block, work.among.diagonal()))

    def _room(self, n: int, m: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """An (n, m) and an (n, n) array with arbitrary values: what is not written is not read."""
        first, both = n * m, n * (m + n)
        if self.memory.size < both:
            self.memory = np.zeros(both)
        return self.memory[:first].reshape(n, m), self.memory[first:both].reshape(n, n)


Way = Blocks | Tiles


class KernelStrategy:
    """The choice between both ways, for the records of one call.

    Parameters
    ----------
    hypothesis : Dual
        Kernel and budget.
    given : Points
        The records.
    dense : bool
        Whether they are dense.
    n : int
        The number of records to be learned.
    """

    def __init__(self, hypothesis: Dual, given: Points, dense: bool, n: int) -> None:
        self.budget, self.features, self.n = hypothesis.budget, given.features, n
        self.blocks = Blocks(hypothesis, dense)
        kernel = hypothesis.kernel
        self.tiles = None
        if dense and isinstance(kernel, RadialKernel) and np.isfinite(kernel.radial_scale):
            self.tiles = Tiles(float(kernel.radial_scale), hypothesis.budget)

    def choose(self, model: Expansion) -> Way:
        """The way to learn the next records: tiles, if the support vectors that there may be after them are few.

        They do not become fewer, so within a call blocks are never left for tiles that were laid out before.
        """
        if self.tiles is None:
            return self.blocks
        most = int(model.support.counts[SIZE]) + min(self.n, self.tiles.most)
        slots = max(len(model.support.tasks), most if self.budget.size is None else min(most, self.budget.size))
        return self.tiles if slots * self.features <= LAID_OUT_PER_RECORD * self.n else self.blocks


def work_with(own: Sequence[Any], pending: Sequence[Any], rows: NDArray[np.float64], n: int) -> Work:
    """The working arrays of a walk at its beginning, for n records at most."""
    (values, among), (later, later_among), (shares, weights, along) = own, pending, rows
    holder, (slots, places) = np.full(rows.shape[1], -1), np.zeros((2, n), np.int64)
    cursor = np.zeros(4, np.int64)
    return Work(values, among, later, later_among, holder, slots, places, shares, weights, along, cursor)


def _pending(records: Points, n: int, width: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Room for the kernel values of the records to predict where labels come late."""
    rows = len(records.squares) and n
    return np.zeros((rows, width)), np.zeros((rows, n))
