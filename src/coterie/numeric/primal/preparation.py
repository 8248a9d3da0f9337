"""Records as they are learned: z-scores, a constant, unit length, and marks of what is missing.

The running scale of a feature is that of :mod:`coterie.numeric.core.moments`, over the records so far and the present
one: a row of ``moments`` is a feature's :class:`~coterie.numeric.core.moments.Moments`, and a weight of -1 there says
that it is never scaled.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from coterie.numeric.core.arithmetic import to_unit_length
from coterie.numeric.core.generic import no_refcount
from coterie.numeric.core.moments import WIDTH, z_score


class Preparing(NamedTuple):
    """What is done to a record that names its features.

    ``before`` has room for the moments that a record changes, ``constant`` is the feature of the constant or -1, and a
    record of another number of entries than ``width`` cannot be prepared unless that is 0.
    """

    moments: Any
    before: Any
    constant: int
    width: int
    scaled: bool
    unit: bool


@no_refcount
def prepare_columns(values: Any, moments: Any, missing: Any, scaled: bool, unit: bool, update: bool, out: Any) -> None:
    """Write the z-scores of rows of columns in front of what ``out`` has behind them; at unit length if asked.

    NaN is missing: 0, and 1 in the column ``missing[j]`` of ``out`` unless that is -1.
    """
    for t in range(values.shape[0]):
        for j in range(values.shape[1]):
            x = values[t, j]
            if x != x:
                out[t, j] = 0.0
                if missing[j] >= 0:
                    out[t, missing[j]] = 1.0
            else:
                out[t, j] = z_score(x, moments, j, update) if scaled else x
        if unit:
            total = 0.0
            for j in range(out.shape[1]):
                total += out[t, j] * out[t, j]
            norm = math.sqrt(total)
            if norm > 0.0:
                for j in range(out.shape[1]):
                    out[t, j] /= norm


@no_refcount
def prepare_entries(preparing: Any, values: Any, features: Any, n: Any, behind: Any, update: Any) -> Any:
    """Prepare the n entries of a record in place; return how many there are then.

    The constant comes behind them, and stands before so many others that are taken as they are. What the moments were
    is kept, for :func:`take_back`. -1 if the record has not the width wanted; nothing is changed then.
    """
    if preparing.width > 0 and n != preparing.width:
        return -1
    if preparing.scaled:
        for k in range(n):
            j = np.uint64(features[np.uint64(k)])
            if preparing.moments[j, 0] >= 0.0:
                if update:
                    for m in range(WIDTH):
                        preparing.before[k, m] = preparing.moments[j, m]
                values[np.uint64(k)] = z_score(values[np.uint64(k)], preparing.moments, j, update)
    if preparing.constant >= 0:
        values[np.uint64(n)] = 1.0
        features[np.uint64(n)] = preparing.constant
        n += 1
    n += behind
    if preparing.unit:
        to_unit_length(values, 0, n)
    return n


@no_refcount
def take_back(preparing: Any, features: Any, n: Any) -> None:
    """Make the moments what they were before these n entries, which were prepared last."""
    if preparing.scaled:
        for k in range(n - 1, -1, -1):
            j = np.uint64(features[k])
            if preparing.moments[j, 0] >= 0.0:
                for m in range(WIDTH):
                    preparing.moments[j, m] = preparing.before[k, m]


#: Of records that are learned as they are.
UNPREPARED = Preparing(np.zeros((0, WIDTH)), np.zeros((0, WIDTH)), -1, 0, False, False)
