r"""Records as they are learned: z-scores, a constant, unit length, and marks of what is missing.

The running scale of a feature is Welford's, over the records so far and the present one:

$$\mu_n = \mu_{n-1} + \frac{x_n - \mu_{n-1}}{n},\qquad S_n = S_{n-1} + (x_n-\mu_{n-1})(x_n-\mu_n),\qquad
z_n = \frac{x_n-\mu_n}{\sqrt{S_n/n}},$$

with $z_n = 0$ while $S_n = 0$. A row of ``moments`` is (n, μ, S) of a feature; n = -1 says that it is never scaled.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from coterie.numeric.core.generic import no_refcount


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
def z_score(x: Any, moments: Any, j: Any, update: Any) -> Any:
    """Return the z-score of a number of feature j, whose moments learn of it first if ``update``."""
    if update:
        moments[j, 0] += 1.0
        deviation = x - moments[j, 1]
        moments[j, 1] += deviation / moments[j, 0]
        moments[j, 2] += deviation * (x - moments[j, 1])
    return (x - moments[j, 1]) / math.sqrt(moments[j, 2] / moments[j, 0]) if moments[j, 2] > 0.0 else 0.0


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
                    preparing.before[k, 0] = preparing.moments[j, 0]
                    preparing.before[k, 1] = preparing.moments[j, 1]
                    preparing.before[k, 2] = preparing.moments[j, 2]
                values[np.uint64(k)] = z_score(values[np.uint64(k)], preparing.moments, j, update)
    if preparing.constant >= 0:
        values[np.uint64(n)] = 1.0
        features[np.uint64(n)] = preparing.constant
        n += 1
    n += behind
    if preparing.unit:
        _to_unit_length(values, n)
    return n


@no_refcount
def _to_unit_length(values: Any, n: Any) -> None:
    """Divide the first n numbers by their Euclidean norm; zeros stay."""
    total = 0.0
    for k in range(n):
        total += values[np.uint64(k)] * values[np.uint64(k)]
    norm = math.sqrt(total)
    if norm > 0.0:
        for k in range(n):
            values[np.uint64(k)] /= norm


@no_refcount
def take_back(preparing: Any, features: Any, n: Any) -> None:
    """Make the moments what they were before these n entries, which were prepared last."""
    if preparing.scaled:
        for k in range(n - 1, -1, -1):
            j = np.uint64(features[k])
            if preparing.moments[j, 0] >= 0.0:
                preparing.moments[j, 0] = preparing.before[k, 0]
                preparing.moments[j, 1] = preparing.before[k, 1]
                preparing.moments[j, 2] = preparing.before[k, 2]


#: Of records that are learned as they are.
UNPREPARED = Preparing(np.zeros((0, 3)), np.zeros((0, 3)), -1, 0, False, False)
