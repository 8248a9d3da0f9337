"""The same records in every form that estimators take, and with their task as one more column."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse as sp


def columns(X):
    """The names of columns in forms that have them."""
    return [f"f{j}" for j in range(X.shape[1])]


def records(columns):
    """A dictionary a record of columns by their names."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def dictionaries(X):
    """A dictionary a record, without what is 0."""
    return [{name: float(value) for name, value in zip(columns(X), x, strict=True) if value} for x in X]


def doubled(X):
    """COO with every entry split in two, which add up."""
    coo = sp.coo_array(X)
    return sp.coo_array((np.tile(coo.data / 2, 2), tuple(np.tile(end, 2) for end in coo.coords)), shape=X.shape)


def wide_indices(X):
    X = sp.csr_array(X)
    return sp.csr_array((X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), shape=X.shape)


def split_csr(X):
    coo = doubled(X)
    order = np.argsort(coo.coords[0], kind="stable")
    starts = np.searchsorted(coo.coords[0][order], np.arange(X.shape[0] + 1))
    return sp.csr_array((coo.data[order], coo.coords[1][order], starts), shape=X.shape)


def read_only(X):
    X = X.copy()
    X.setflags(write=False)
    return X


def read_only_csr(X):
    X = sp.csr_array(X)
    for array in (X.data, X.indices, X.indptr):
        array.setflags(write=False)
    return X


INPUTS = {
    "list": np.ndarray.tolist,
    "array": np.array,
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "objects": lambda X: X.astype(object),
    "read-only": read_only,
    "csr": sp.csr_array,
    "csr matrix": sp.csr_matrix,
    "csc": sp.csc_array,
    "coo": sp.coo_array,
    "coo with repeats": doubled,
    "csr with repeats": split_csr,
    "csr of int64": wide_indices,
    "read-only csr": read_only_csr,
    "lil": sp.lil_array,
    "pandas": lambda X: pd.DataFrame(X, columns=columns(X)),
    "polars": lambda X: pl.DataFrame(X, schema=columns(X)),
    "arrow": lambda X: pa.table(dict(zip(columns(X), X.T, strict=True))),
}


def with_task(X, task, names):
    """By form: the records with their task as a column, by its number or name, and how that is called."""
    numbered = np.column_stack([X[:, :2], task, X[:, 2:]])
    frame = pd.DataFrame(X, columns=columns(X)).assign(user=names)
    return {
        "array": (numbered, 2),
        "array from the end": (numbered, 2 - numbered.shape[1]),
        "sparse": (sp.csr_array(numbered), 2),
        "pandas": (frame, "user"),
        "pandas by place": (frame, X.shape[1]),
        "polars": (pl.from_pandas(frame), "user"),
        "arrow": (pa.Table.from_pandas(frame, preserve_index=False), "user"),
    }
