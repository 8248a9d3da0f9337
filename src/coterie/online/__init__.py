"""The named online algorithms as estimators."""

from .logistic import MultitaskAROW, MultitaskLogistic
from .perceptron import MultitaskPerceptron
from .selective import SelectiveSampling
from .sharing import AdaptiveSharingClassifier

__all__ = [
    "AdaptiveSharingClassifier",
    "MultitaskAROW",
    "MultitaskLogistic",
    "MultitaskPerceptron",
    "SelectiveSampling",
]
