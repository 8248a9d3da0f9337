"""Data sets of few columns: school, landmine, a9a."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array, hstack

from . import folder, originals
from .dataset import Dataset, Entry
from .preparation import csr, signs, standardized, to_unit_interval, unit_rows, unit_rows_sparse, with_constant

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .preparation import Arrays

SCHOOL = Entry(
    name="school",
    what="pupils of inner London: examination score above the 75th percentile; a task a school",
    rows=15362,
    tasks=139,
    source="the ILEA school data in github.com/jiayuzhou/MALSAR",
    licence="none stated",
    file="school.npz",
)
LANDMINE = Entry(
    name="landmine",
    what="radar images: mine or clutter; a task a field",
    rows=14820,
    tasks=29,
    source="the landmine data in github.com/daizhongxiang/Federated_Bayesian_Optimization",
    licence="none stated",
    file="landmine.npz",
)
A9A = Entry(
    name="a9a",
    what="people of the 1994 US census: income over 50000 dollars; a task an occupation",
    rows=32561,
    tasks=15,
    source="a9a and a9a.t at www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary.html",
    licence="CC BY 4.0 (UCI Adult)",
    file="a9a.npz",
    original=originals.A9A,
)
SCHOOL_PERCENTILE = 75
# Columns 46 to 59 of a9a in the order of UCI's adult.names.
OCCUPATION_COLUMNS = slice(46, 60)
OCCUPATIONS = np.array(
    [
        "Tech-support",
        "Craft-repair",
        "Other-service",
        "Sales",
        "Exec-managerial",
        "Prof-specialty",
        "Handlers-cleaners",
        "Machine-op-inspct",
        "Adm-clerical",
        "Farming-fishing",
        "Transport-moving",
        "Priv-house-serv",
        "Protective-serv",
        "Armed-Forces",
        "unknown",
    ]
)


def school() -> Dataset:
    """Return the pupils of 139 London schools.

    Each of the 28 columns is scaled to [0, 1] (the last is the constant 1), rows to unit norm; +1 is an examination
    score above the 75th percentile of all. Rows come school by school: shuffle them for a stream.

    Raises
    ------
    InputError
        If the file is not there.
    """
    arrays = folder.read(SCHOOL)
    X = unit_rows(to_unit_interval(arrays["X"].astype(np.float64)))
    y = signs(arrays["y"] > np.percentile(arrays["y"], SCHOOL_PERCENTILE))
    return Dataset(SCHOOL.name, X, y, arrays["task"].astype(np.int64))


def landmine() -> Dataset:
    """Return radar images of 29 mine fields.

    The nine columns are standardized, a constant 1 is added, and rows are scaled to unit norm; +1 is a mine (6.1 %).
    Rows come field by field: shuffle them for a stream.

    Raises
    ------
    InputError
        If the file is not there.
    """
    arrays = folder.read(LANDMINE)
    X = unit_rows(with_constant(standardized(arrays["X"])))
    return Dataset(LANDMINE.name, X, signs(arrays["y"] == 1), arrays["task"].astype(np.int64))


def a9a() -> Dataset:
    """Return people of the US census, with the published test part.

    The 123 columns of zeros and ones stay as they are, a constant 1 is added, and rows are scaled to unit norm; +1 is
    an income over 50000 dollars. The occupation is the task and stays a feature; where none is given it is
    ``"unknown"``.

    Raises
    ------
    InputError
        If the file is not there.
    """
    arrays = folder.read(A9A)
    return _a9a_part(arrays, "train_", test=_a9a_part(arrays, "test_"))


def _a9a_part(arrays: Arrays, prefix: str, test: Dataset | None = None) -> Dataset:
    counts = csr(arrays, prefix)
    constant = csr_array(np.ones((counts.shape[0], 1)))
    X = unit_rows_sparse(csr_array(hstack([counts, constant], format="csr")))
    return Dataset(A9A.name, X, signs(arrays[prefix + "y"] == 1), _occupations(counts), test=test)


def _occupations(counts: csr_array) -> NDArray[np.str_]:
    given = counts[:, OCCUPATION_COLUMNS].toarray()
    none = len(OCCUPATIONS) - 1
    return OCCUPATIONS[np.where(given.any(axis=1), given.argmax(axis=1), none)]
