"""The named online algorithms as estimators."""

from .logistic import MultitaskAROW, MultitaskLogistic
from .perceptron import MultitaskPerceptron

__all__ = ["MultitaskAROW", "MultitaskLogistic", "MultitaskPerceptron"]
