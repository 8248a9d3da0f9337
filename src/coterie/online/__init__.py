"""The named online algorithms as estimators."""

from .perceptron import MultitaskPerceptron

__all__ = ["MultitaskPerceptron"]
