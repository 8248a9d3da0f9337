"""Online estimators with kernels, full covariances, p-norms and other potentials."""

from coterie.estimators.heterogeneous import HeterogeneousMultitaskPerceptron
from coterie.estimators.kernel import MultitaskKernelPerceptron
from coterie.estimators.p_norm import PNormMultitaskPerceptron
from coterie.estimators.potential import PotentialMultitaskPerceptron
from coterie.estimators.second_order import SecondOrderMultitaskPerceptron, SecondOrderMultitaskRegressor

__all__ = [
    "HeterogeneousMultitaskPerceptron",
    "MultitaskKernelPerceptron",
    "PNormMultitaskPerceptron",
    "PotentialMultitaskPerceptron",
    "SecondOrderMultitaskPerceptron",
    "SecondOrderMultitaskRegressor",
]
