r"""Signed logarithms sign(x) · log(1 + |x|) of skewed columns, also for zeros and negative numbers.

$$\ell(x) = \operatorname{sign}(x)\,\log(1 + |x|)$$

The function does not depend on earlier records, so a column may become negative after a million positive values. It is
nearly x for small |x|, so numbers that are all far below 1 need a smaller unit.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .generic import compiled, no_refcount_noinline

if TYPE_CHECKING:
    pass


@no_refcount_noinline
def signed_log(x):
    """Return sign(x) · log(1 + |x|); never vectorised, so that results are equal to the last bit everywhere."""
    # log1p keeps the digits of small x that 1 + x would round away
    return math.copysign(math.log1p(abs(x)), x)


@compiled
def take_logs(values, columns):
    """Replace the given columns of ``values``, shape (n, d), by their signed logarithms in place; NaN is unchanged."""
    for t in range(values.shape[0]):
        for k in range(len(columns)):
            values[t, columns[k]] = signed_log(values[t, columns[k]])
