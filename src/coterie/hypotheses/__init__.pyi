from .adaptive import AdaptiveGradient as AdaptiveGradient
from .adaptive import CoinBetting as CoinBetting
from .adaptive import DiagonalAROW as DiagonalAROW
from .full import FullCovariance as FullCovariance
from .heterogeneous import Heterogeneous as Heterogeneous
from .linear import LinearWeights as LinearWeights
from .potential import PotentialWeights as PotentialWeights
