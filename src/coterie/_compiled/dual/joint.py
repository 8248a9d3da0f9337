"""The joint kernel of inputs and tasks, Q((x, s), (z, t)) = k(x, z) M_st."""

from __future__ import annotations

from coterie._compiled.core.generic import compiled


@compiled
def scale_by_tasks(values, M, rows, columns):
    """Multiply ``values[i, j]`` by ``M[rows[i], columns[j]]``, in place, to get joint kernel values."""
    for i in range(values.shape[0]):
        shared = M[rows[i]]
        for j in range(values.shape[1]):
            values[i, j] *= shared[columns[j]]


@compiled
def joint_sums(values, M, rows, columns, C, out):
    """Write the sums Σ_j values[i, j] M[rows[i], columns[j]] C[j, o] to ``out[i, o]``.

    Rows and columns are task numbers.
    """
    for i in range(values.shape[0]):
        shared = M[rows[i]]
        for o in range(C.shape[1]):
            total = 0.0
            # a sum in a register, instead of an array of all products
            for j in range(values.shape[1]):
                total += values[i, j] * shared[columns[j]] * C[j, o]
            out[i, o] = total
