"""Estimators that take records as they are, as literal references do: no constant, no scale."""

from functools import partial

import coterie as ct

AS_THEY_ARE = {"fit_intercept": False, "scale": "none"}

MultitaskLogistic = partial(ct.MultitaskLogistic, **AS_THEY_ARE)
MultitaskAROW = partial(ct.MultitaskAROW, **AS_THEY_ARE)
MultitaskRegressor = partial(ct.MultitaskRegressor, **AS_THEY_ARE)
AdaptiveSharingClassifier = partial(ct.AdaptiveSharingClassifier, **AS_THEY_ARE)
AdaptiveSharingRegressor = partial(ct.AdaptiveSharingRegressor, **AS_THEY_ARE)


def OneVsRest(model=None):  # noqa: N802 - in place of the class
    return ct.OneVsRest(MultitaskLogistic() if model is None else model)


def MultiLabel(model=None):  # noqa: N802 - in place of the class
    return ct.MultiLabel(MultitaskLogistic() if model is None else model)
