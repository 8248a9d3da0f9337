"""The named online algorithms as estimators."""

from .logistic import MultitaskAROW, MultitaskLogistic
from .manyclass import MultiLabel, OneVsRest
from .perceptron import MultitaskPerceptron
from .regression import MultitaskRegressor
from .selective import SelectiveSampling
from .sharing import AdaptiveSharingClassifier

__all__ = [
    "AdaptiveSharingClassifier",
    "MultiLabel",
    "MultitaskAROW",
    "MultitaskLogistic",
    "MultitaskPerceptron",
    "MultitaskRegressor",
    "OneVsRest",
    "SelectiveSampling",
]
