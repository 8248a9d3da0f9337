"""Random Fourier features: cosines and sines of records along directions that are functions of a seed.

The direction of feature j along frequency r comes from the uniform number of (seed, r, j), so that it is the same in
whatever order features come, and nothing of it need be kept.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from coterie.numeric.core.generic import compiled
from coterie.numeric.core.randomness import uniform
from coterie.numeric.core.records import begin, end, feature, value

#: Uniform numbers are at least this, so that their quantiles are finite.
LEAST = 2.0**-54


@compiled
def uniforms(seed: Any, features: Any, out: Any) -> None:
    """Write the uniform numbers, in (0, 1), of these features, one a row, along as many frequencies as columns."""
    for j in range(features.size):
        for r in range(out.shape[1]):
            out[j, r] = max(uniform(seed, features[j], r), LEAST)


@compiled
def transform(rows: Any, directions: Any, angles: Any, out: Any) -> None:
    """Write the features of records, shape (n, 2 m): cosines and then sines of m angles, each over sqrt(m).

    ``directions`` has a row for each feature of the records, shape (d, m), and ``angles`` is room for m numbers. A
    record is summed by itself, entry by entry, so that blocks and single records, dense and sparse ones give the same
    bits.
    """
    m = angles.size
    size = math.sqrt(1.0 / m)
    for t in range(out.shape[0]):
        angles[:] = 0.0
        for k in range(begin(rows, t), end(rows, t)):
            x = np.float64(value(rows, t, k))
            if x != 0.0:
                along = directions[feature(rows, t, k)]
                for r in range(m):
                    angles[r] += x * along[r]
        for r in range(m):
            out[t, r] = size * math.cos(angles[r])
            out[t, m + r] = size * math.sin(angles[r])
