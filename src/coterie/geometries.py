"""Online estimators in other spaces than that of weights a task: kernels, covariances, p-norms, potentials."""

from coterie.online.heterogeneous import HeterogeneousMultitaskPerceptron
from coterie.online.kernel import MultitaskKernelPerceptron
from coterie.online.p_norm import PNormMultitaskPerceptron
from coterie.online.potential import PotentialMultitaskPerceptron
from coterie.online.second_order import SecondOrderMultitaskPerceptron, SecondOrderMultitaskRegressor

__all__ = [
    "HeterogeneousMultitaskPerceptron",
    "MultitaskKernelPerceptron",
    "PNormMultitaskPerceptron",
    "PotentialMultitaskPerceptron",
    "SecondOrderMultitaskPerceptron",
    "SecondOrderMultitaskRegressor",
]
