"""Multitask mirror descent that adapts to how different its tasks are."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from coterie import persistence
from coterie.hypotheses.mirror import VARIANCES, MirrorDescent
from coterie.learners.mirror import MirrorLearner
from coterie.relations import Independent, Pooled

from .estimator import OnlineEstimator
from .logistic import logistic_with_intercepts


@persistence.register
class MultitaskMirrorDescent(OnlineEstimator):
    r"""Online mirror descent for many tasks, adaptive to how different they are (Cesa-Bianchi et al., TMLR 2022).

    Let D bound the length of the tasks' truths u_i, and σ² be their variance: Σ ‖u_i - ū‖² ≤ (N - 1) σ² D². Descent by
    the penalty A = (1 + b) I - b 11'/N has, on losses of gradients no longer than X in T rounds, a regret of at most

        2 D X sqrt((T + N) (1 + bρ)(1 + (N - 1)/(1 + b)) / 2),    ρ = σ² (N - 1) / N,

    which for the best b is D X (sqrt(1 - ρ) + sqrt(ρ (N - 1))) sqrt(2 (T + N)): that of one task where all are one, and
    of N tasks where they have nothing in common. Nobody knows σ², so there is an expert for each of ``variances``; the
    margin is their mean by AdaHedge's weights, and all learn from the hinge loss of that margin. What mixing costs is
    observed, 2Δ; see :func:`coterie.bounds.mirror.mirror_bound`.

    Parameters
    ----------
    potential : potential, optional
        The geometry of each task's weights: ½‖w‖² without, else such as ``potentials.PNorm()`` for truths of few
        features, or ``potentials.ExponentiatedGradient()``.
    radius : float > 0
        D.
    variances : sequence of float, optional
        σ² of the experts, from 0 (one model of all) to 1 (a model a task): 1, 1/4, ..., 1/4096 and 0 without.
    task_column, new_task, max_tasks, class_weight
        As in :class:`MultitaskPerceptron`.

    Attributes
    ----------
    variance_weights_ : ndarray, shape (n_variances,)
        The weights of the experts in the mixture.

    Raises
    ------
    TypeError
        If the potential is no part with all that a bound needs; when the model first learns.
    ValueError
        If the radius is not positive, or a variance not from 0 to 1.

    Notes
    -----
    O(nnz) a record, however many experts and tasks there are, and K d numbers. With a potential, a gradient for every
    expert and task: for tens of tasks. The experts share their gradients, which are those of the mixture, as linear
    losses allow; in the paper each has its own. Rates fall with the root of the moves so far, so that their number need
    not be known, and follow the longest record so far.

    Examples
    --------
    >>> import numpy as np, coterie as ct
    >>> rng = np.random.default_rng(0)
    >>> X, users, truth = rng.normal(size=(2000, 10)), rng.integers(20, size=2000), rng.normal(size=10)
    >>> X /= np.linalg.norm(X, axis=1, keepdims=True)
    >>> y = X @ truth > 0  # the same for all
    >>> models = {"adaptive": None, "own": [1.0], "pooled": [0.0]}
    >>> models = {name: ct.MultitaskMirrorDescent(radius=10.0, variances=each) for name, each in models.items()}
    >>> {name: ct.progressive_validation(model, X, y, task=users).mistakes for name, model in models.items()}
    {'adaptive': 114, 'own': 366, 'pooled': 120}
    """

    relation = None

    def __init__(
        self,
        potential: Any = None,
        radius: float = 1.0,
        variances: Sequence[float] | None = None,
        *,
        task_column: Hashable | None = None,
        new_task: Literal["grow", "raise"] = "grow",
        max_tasks: int | None = None,
        class_weight: Mapping[Hashable, float] | Literal["balanced"] | None = None,
    ) -> None:
        self.potential = potential
        self.radius = radius
        self.variances = variances
        self.task_column = task_column
        self.new_task = new_task
        self.max_tasks = max_tasks
        self.class_weight = class_weight

    with_intercepts = logistic_with_intercepts

    def _make_learner(self) -> Any:
        variances = VARIANCES if self.variances is None else self.variances
        return MirrorLearner(MirrorDescent(self.potential, self.radius, variances), Independent())

    def with_relation(self, relation: Any) -> Self:
        """An unfitted model like this one for independent or for pooled tasks, the only fixed relations it can have."""
        known = {Independent: 1.0, Pooled: 0.0}
        if type(relation) not in known:
            raise TypeError(f"{type(self).__name__} finds its relation out: it cannot learn under {relation!r}")
        given = {"variances": (known[type(relation)],), "max_tasks": None}
        return type(self)(**{**self.get_params(deep=False), **given})

    @property
    def variance_weights_(self) -> NDArray[np.float64]:
        """The weights of the experts in the mixture."""
        return np.asarray(self._fitted_model().state.model.chances())
