"""The named online algorithms as estimators."""

from .logistic import MultitaskAROW, MultitaskLogistic
from .perceptron import MultitaskPerceptron
from .regression import MultitaskRegressor
from .sharing import AdaptiveSharingClassifier

__all__ = [
    "AdaptiveSharingClassifier",
    "MultitaskAROW",
    "MultitaskLogistic",
    "MultitaskPerceptron",
    "MultitaskRegressor",
]
