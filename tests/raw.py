"""Estimators that take records as they are, as literal references do: no constant, no scale."""

from bench.plain import (  # noqa: F401 - tests import them from here
    AdaptiveSharingClassifier,
    AdaptiveSharingRegressor,
    MultitaskAROW,
    MultitaskLogistic,
    MultitaskRegressor,
)

import coterie as ct


def OneVsRest(model=None):  # noqa: N802 - in place of the class
    return ct.OneVsRest(MultitaskLogistic() if model is None else model)
