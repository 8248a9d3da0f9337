"""Standardisation of numeric labels by their running mean and standard deviation."""

from __future__ import annotations

from coterie._compiled.core.generic import compiled
from coterie._compiled.core.moments import FAR, noted, scale_of, scored


@compiled
def standardise(y, weights, moments, inside, shift, factor):
    """Write the z-score of each label y to ``inside``, by the moments up to and including it.

    Z-scores are within ± ``FAR``. ``shift`` and ``factor`` get the mean and the standard deviation before the label, or
    1 where there is none. Returns the moments after all labels.
    """
    mean, deviation = scale_of(moments)
    for t in range(y.size):
        shift[t] = mean
        factor[t] = deviation if deviation > 0.0 else 1.0
        if weights[t] > 0.0:
            moments = noted(y[t], weights[t], moments)
            mean, deviation = scale_of(moments)
        inside[t] = scored(y[t], mean, deviation, FAR)
    return moments
