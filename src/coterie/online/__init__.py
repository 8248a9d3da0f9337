"""The named online algorithms as estimators."""

from coterie.streams.view_input import PartialBlock

from .cues import MultiCueClassifier
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
from .view_baselines import view_baselines
from .views import MultiviewPerceptron, OrthogonalMultiviewPerceptron

__all__ = [
    "AdaptiveSharingClassifier",
    "HeterogeneousMultitaskPerceptron",
    "MultiCueClassifier",
    "MultiLabel",
    "MultitaskAROW",
    "MultitaskKernelPerceptron",
    "MultitaskLogistic",
    "MultitaskPerceptron",
    "MultitaskRegressor",
    "MultiviewPerceptron",
    "OneVsRest",
    "OrthogonalMultiviewPerceptron",
    "PNormMultitaskPerceptron",
    "PartialBlock",
    "SecondOrderMultitaskPerceptron",
    "SelectiveSampling",
    "view_baselines",
]
