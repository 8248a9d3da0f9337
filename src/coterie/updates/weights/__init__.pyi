from .adaptive_gradients import AdaptiveGradient as AdaptiveGradient
from .adaptive_gradients import CoinBetting as CoinBetting
from .adaptive_gradients import DiagonalAROW as DiagonalAROW
from .full_covariance import FullCovariance as FullCovariance
from .heterogeneous_weights import Heterogeneous as Heterogeneous
from .linear_weights import LinearWeights as LinearWeights
from .potential_weights import PotentialWeights as PotentialWeights
