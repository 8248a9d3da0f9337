"""Online multitask learning: one model for every user, customer or sensor, each learning from the others."""

import sysconfig
import warnings
from typing import Any

import lazy_loader

if sysconfig.get_config_var("Py_GIL_DISABLED"):
    raise ImportError(
        "coterie does not run on a free-threaded build of Python yet: compiled code reads dictionaries that other "
        "threads could change meanwhile; take the build with the interpreter lock"
    )

__version__ = "0.3.0"

_lazy, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

#: The rooms of names that were here up to version 0.2.
_MOVED = {
    name: room
    for room, names in {
        "relations": "BatchOptimal BetaDivergence Bregman ClusterPenalty Covariance GraphPenalty Interaction "
        "Intercepts MixedEffect Primed Spectral VonNeumann",
        "rules": "AROW Absolute EpsilonInsensitive Logistic PassiveAggressive Perceptron SecondOrder Squared",
        "batch": "MultitaskKernelClassifier MultitaskKernelRidge MultitaskSVC MultitaskSVR VectorFieldRidge ridge_path",
        "views": "MultiCueClassifier MultiviewPerceptron OrthogonalMultiviewPerceptron ParallelPerceptrons "
        "PartialBlock pad_views view_baselines",
        "geometries": "HeterogeneousMultitaskPerceptron MultitaskKernelPerceptron PNormMultitaskPerceptron "
        "PotentialMultitaskPerceptron "
        "SecondOrderMultitaskPerceptron SecondOrderMultitaskRegressor",
        "evaluation": "Comparison Trace",
        "bandits": "BanditLog",
    }.items()
    for name in names.split()
}


def __getattr__(name: str) -> Any:
    """Load a public name; one of version 0.2 is looked up in its room, with a warning that says which."""
    if name not in _MOVED:
        return _lazy(name)
    room = _MOVED[name]
    said = f"coterie.{name} is coterie.{room}.{name} now, and will be so alone in version 0.4"
    warnings.warn(said, FutureWarning, stacklevel=2)
    return getattr(_lazy(room), name)
