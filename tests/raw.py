"""Estimators that take records as they are, as literal references do: no constant, no scale."""

from bench.plain import (
    AdaptiveSharingClassifier,
    AdaptiveSharingRegressor,
    MultitaskAROW,
    MultitaskLogistic,
    MultitaskRegressor,
)

import coterie as ct

__all__ = [
    "AdaptiveSharingClassifier",
    "AdaptiveSharingRegressor",
    "MultitaskAROW",
    "MultitaskLogistic",
    "MultitaskRegressor",
    "OneVsRest",
]


def OneVsRest(model=None):  # noqa: N802 - in place of the class
    return ct.OneVsRest(MultitaskLogistic() if model is None else model)
