r"""Running mean and variance that exclude the minimum and the maximum, robust to outliers; and z-scores.

The least and the largest value so far are *held*; the weight $w$, the mean $\mu$ and the sum of squared deviations $S$
are those of the others. A value that is no extreme, or no extreme any more, joins these, its deviation from the mean
brought within ``FAR`` standard deviations:

$$d = \text{clip}\bigl(x-\mu,\ \pm 12\sqrt{S/w}\bigr),\qquad \mu \leftarrow \mu + \frac{v\,d}{w+v},\qquad
S \leftarrow S + v\,d\,\Bigl(d-\frac{v\,d}{w+v}\Bigr),\qquad w \leftarrow w+v,$$

$v$ being its weight; nothing is clipped while $S = 0$. Mean and variance are those of all values, where the deviations
$a$ and $b$ of the two extremes, of weights $v_a$ and $v_b$, are clipped in the same way:

$$m = \mu + s,\quad s = \frac{v_a a + v_b b}{w+v_a+v_b},\qquad V = \frac{S + v_a a^2 + v_b b^2}{w+v_a+v_b} - s^2.$$

So with no value beyond 12 deviations they are the usual mean and variance. Every value takes O(1).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .checks import require
from .generic import no_refcount

#: The number of standard deviations at which deviations are clipped.
FAR = 12.0
#: The maximum of the z-score of a feature.
LIMIT = 5.0


class Moments(NamedTuple):
    """Running moments of one feature: weight, mean and squared deviations, without the smallest and the largest value.

    The first value is ``low``, and weighs ``low_weight``; ``high`` weighs 0 until there are two.
    """

    weight: float
    mean: float
    squares: float
    low: float
    low_weight: float
    high: float
    high_weight: float


#: The moments before the first value, and their number.
NOTHING = Moments(*(0.0,) * 7)
WIDTH = len(NOTHING)
#: The indices of the smallest value in a row of moments, and of its weight.
LOW, LOW_WEIGHT = Moments._fields.index("low"), Moments._fields.index("low_weight")


@no_refcount
def count(row):
    """Return the total weight of the values in ``row``, the moments of a feature."""
    return row[0] + row[4] + row[6]


@no_refcount
def is_constant(row):
    """Return True if all values so far were equal."""
    return row[6] == 0.0 or row[3] == row[5]


@no_refcount
def _clipped(deviation, weight, squares):
    """Clip a deviation from the mean to ± ``FAR`` standard deviations; unchanged while these are 0."""
    # compared without a root or a division
    if squares > 0.0 and deviation * deviation * weight > FAR * FAR * squares:
        return math.copysign(FAR * math.sqrt(squares / weight), deviation)
    return deviation


@no_refcount
def noted(x, v, moments):
    """Return the moments after one more value x with the weight v > 0."""
    weight, mean, squares, low, low_weight, high, high_weight = moments
    if low_weight == 0.0:
        return Moments(0.0, x, 0.0, x, v, x, 0.0)
    if high_weight == 0.0:
        if x < low:
            low, low_weight, high, high_weight = x, v, low, low_weight
        else:
            high, high_weight = x, v
        # halves before the sum, which might overflow
        return Moments(0.0, 0.5 * low + 0.5 * high, 0.0, low, low_weight, high, high_weight)
    # a new extreme takes the place of the old one, which joins the other values
    if x < low:
        x, v, low, low_weight = low, low_weight, x, v
    elif x > high:
        x, v, high, high_weight = high, high_weight, x, v
    if weight == 0.0:
        return Moments(v, x, 0.0, low, low_weight, high, high_weight)
    # Welford's update with weights, and with the deviation clipped
    deviation = _clipped(x - mean, weight, squares)
    step = deviation * (v / (weight + v))
    squares += v * deviation * (deviation - step)
    return Moments(weight + v, mean + step, squares, low, low_weight, high, high_weight)


@no_refcount
def scale_of(moments):
    """Return the mean and the standard deviation of all values; the deviation is 0 for fewer than two values."""
    weight, mean, squares, low, low_weight, high, high_weight = moments
    if high_weight == 0.0:
        return mean, 0.0
    below, above = _clipped(low - mean, weight, squares), _clipped(high - mean, weight, squares)
    share = 1.0 / (weight + low_weight + high_weight)
    shift = (low_weight * below + high_weight * above) * share
    # about the mean of the inner values, so the square of the shift comes off
    variance = (squares + low_weight * below * below + high_weight * above * above) * share - shift * shift
    return mean + shift, math.sqrt(max(variance, 0.0))


@no_refcount
def scored(x, mean, deviation, limit):
    """Return the z-score of x for this mean and standard deviation, clipped to ± ``limit``; 0 if the deviation is 0."""
    if deviation > 0.0:
        return min(max((x - mean) / deviation, -limit), limit)
    return 0.0


@no_refcount
def z_score(x, moments, j, update):
    """Return the clipped z-score of a value x of feature j. If ``update``, the moments first include x."""
    row = moments[j]
    present = Moments(row[0], row[1], row[2], row[3], row[4], row[5], row[6])
    if update:
        present = noted(x, 1.0, present)
        row[0], row[1], row[2], row[3], row[4], row[5], row[6] = present
    mean, deviation = scale_of(present)
    return scored(x, mean, deviation, LIMIT)


def from_saved(saved: Any, n: int) -> NDArray[np.float64]:
    """Restore the moments of n features, shape (n, 7); weight -1 marks a feature that is not numeric.

    Raises
    ------
    ValueError
        If no values have such moments.
    """
    rows = np.array(saved, np.float64)
    require(rows.shape == (n, WIDTH), f"moments has the shape {rows.shape}; expected {(n, WIDTH)}")
    sound = bool(np.isfinite(rows).all()) and _are_moments(rows)
    require(sound, "moments are not finite, or have negative weights or squares, or a zero weight with other sums")
    return rows


def _are_moments(rows: NDArray[np.float64]) -> bool:
    weight, _, squares, low, low_weight, high, high_weight = rows.T
    signs = (weight == -1.0) | (weight >= 0.0), squares >= 0.0, low_weight >= 0.0, high_weight >= 0.0
    of_something = (weight > 0.0) | (squares == 0.0), (high_weight > 0.0) | (weight <= 0.0)
    extremes = low <= high, (low_weight > 0.0) | (high_weight == 0.0)
    return all(condition.all() for condition in (*signs, *of_something, *extremes))
