"""Standardise numbers to be predicted by their mean and standard deviation so far."""

from __future__ import annotations

import math
from typing import Any

from coterie.numeric.core.generic import compiled


@compiled
def standardise(y: Any, weights: Any, moments: Any, inside: Any, shift: Any, factor: Any) -> None:
    """Write the z-scores of numbers, each by the moments up to and with it, to which it counts by its weight.

    ``moments`` is (count, mean, sum of squared deviations), updated in place; ``inside`` becomes each number's z-score
    by the moments with itself; ``shift`` and ``factor`` the mean and deviation before it, 0 and 1 where there are none.
    """
    for t in range(y.size):
        shift[t] = moments[1]
        factor[t] = math.sqrt(moments[2] / moments[0]) if moments[2] > 0.0 else 1.0
        if weights[t] > 0.0:
            moments[0] += weights[t]
            deviation = y[t] - moments[1]
            moments[1] += weights[t] * deviation / moments[0]
            moments[2] += weights[t] * deviation * (y[t] - moments[1])
        inside[t] = (y[t] - moments[1]) / math.sqrt(moments[2] / moments[0]) if moments[2] > 0.0 else 0.0
