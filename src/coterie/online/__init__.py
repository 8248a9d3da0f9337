"""The named online algorithms as estimators."""

from .heterogeneous import HeterogeneousMultitaskPerceptron
from .kernel import MultitaskKernelPerceptron
from .logistic import MultitaskAROW, MultitaskLogistic
from .manyclass import MultiLabel, OneVsRest
from .p_norm import PNormMultitaskPerceptron
from .perceptron import MultitaskPerceptron
from .regression import MultitaskRegressor
from .second_order import SecondOrderMultitaskPerceptron
from .selective import SelectiveSampling
from .sharing import AdaptiveSharingClassifier

__all__ = [
    "AdaptiveSharingClassifier",
    "HeterogeneousMultitaskPerceptron",
    "MultiLabel",
    "MultitaskAROW",
    "MultitaskKernelPerceptron",
    "MultitaskLogistic",
    "MultitaskPerceptron",
    "MultitaskRegressor",
    "OneVsRest",
    "PNormMultitaskPerceptron",
    "SecondOrderMultitaskPerceptron",
    "SelectiveSampling",
]
