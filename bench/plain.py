"""Estimators that take records as they are: what is compared here has its constant and its scales in the data."""

from functools import partial

import coterie as ct

AS_THEY_ARE = {"fit_intercept": False, "scale": "none"}

MultitaskLogistic = partial(ct.MultitaskLogistic, **AS_THEY_ARE)
MultitaskAROW = partial(ct.MultitaskAROW, **AS_THEY_ARE)
MultitaskRegressor = partial(ct.MultitaskRegressor, **AS_THEY_ARE)
AdaptiveSharingClassifier = partial(ct.AdaptiveSharingClassifier, **AS_THEY_ARE)
AdaptiveSharingRegressor = partial(ct.AdaptiveSharingRegressor, **AS_THEY_ARE)
