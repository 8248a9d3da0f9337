"""MMPERC, a Perceptron for tasks with separate feature spaces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from coterie import spec
from coterie.data.instances import InstancesInput
from coterie.kernels import kernels_of
from coterie.models.contract import BaseLearner
from coterie.models.ensemble import Ensemble, EnsembleState
from coterie.models.heterogeneous_learner import HeterogeneousLearner
from coterie.types import Estimators, Inputs, Part
from coterie.updates.weights import Heterogeneous

from .parameter_fields import TaskEstimator


@spec.estimator
class HeterogeneousMultitaskPerceptron(TaskEstimator):
    """Perceptron for tasks with separate feature spaces and similar margins in each round (MMPERC, CCG08 §6).

    v is the sum of the instances with a mistake, with the sign of their labels y, b the strength of similarity, and u_k
    any weights of task k.

    In each round the instances of all K tasks are seen, x_1, ..., x_K of any sizes, one task i is active, and its label
    is predicted. With φ_k the instance x_k in its own part of the joint space, of dimension D, and φ their sum,

        M = b K (φ_i - φ/K)(φ_i - φ/K)',    so that u'M u = b K (u_i·x_i - mean_k u_k·x_k)²,

    the margin is r = v'(I + Σ_s M_s + M)⁻¹φ_i, the sum being over the rounds with a mistake so far and v = Σ_s y_s φ_s
    too. A round with y r <= 0 is a mistake; others change nothing. With unit instances at most L + c q + sqrt(c q L)
    mistakes are made, c = (K (b + 1) - b) / (b K (K - 1) + K); see
    :func:`coterie.evaluation.bounds.geometry_bounds.heterogeneous_bound`.

    **Other similarities**, to which the paper points: with a relation of interaction matrix A, scaled to a least
    eigenvalue of 1, M = b K ψψ' for ψ = Σ_k ((A - I)^½)_ik φ_k. The mean of u'M u over the active tasks is then
    b m'(A - I)m for the margins m_k = u_k·x_k, for ``TaskGraph`` b Σ (m_k - m_l)² over its edges. Without a relation
    it is that of ``MeanRegularized(b=1)``, the same for all tasks. Nodes that are not tasks are marginalised: A is then
    the inverse of the tasks' part of the graph's A⁻¹, tasks agree also through the nodes left out, and the sum is over
    the edges only if all nodes are tasks.

    **A round** is given as a row of each of K arrays: X is a list of arrays, tasks being 0, ..., K - 1, or a dictionary
    from task to array, all with the same number of rows. Labels come in one of two forms: one per round, y of shape
    (n,), with the active task of each round as ``task=``; or one for every task, y of shape (n, K), which is K rounds
    with the same instances, the tasks active in turn. ``predict`` and ``decision_function`` give shape (n,) with
    ``task=``, and (n, K) without. One record at a time is a dictionary from task to the features of its instance; the
    first must hold every task, and an instance left out later is one without features. A single array is the instances
    of the only task.

    Parameters
    ----------
    b : float >= 0, or a sequence of them, default=1.0
        The strength of the similarity; 0 gives independent Perceptrons. With several values, such as (0, 1, 8), there
        is one learner for each, and their margins are weighted by their past mistakes, as in
        :class:`AdaptiveSharingClassifier`; this learns the strength online (CCG08 §8).
    kernels : kernel, or list or dictionary of kernels, optional
        One kernel for all tasks, or one per task, in the order of the tasks or by their labels. By default linear.
    solver : {"auto", "primal", "dual"}, default="auto"
        The primal form keeps a (D, D) matrix, the dual one an (m, m) factor and the instances of the m rounds with a
        mistake. ``"auto"`` is dual, and without kernels goes over to the primal form when m reaches D.
    relation : relation, optional
        The relative similarities of tasks: a fixed relation with a positive definite matrix, such as
        :class:`TaskGraph`, :class:`Clusters` or :class:`Interaction`. By default all tasks are equally similar.
    task_column, new_task
        See :class:`MultitaskPerceptron`; a task without instances raises ValueError even with "grow".

    Raises
    ------
    TypeError
        For a relation that is learned.
    ValueError
        For a relation whose matrix is singular, such as ``Pooled``, or that does not know one of the tasks.
        If b is negative or an empty sequence, arrays have different numbers of rows, a task has no instances, labels
        have another shape, or there is not one kernel per task.

    Notes
    -----
    Primal: O(D²) per round; dual: O(m K) kernel values and O(m²). Blocks of rounds make matrix products of these. All
    instances are kept dense. The learned state does not grow with new tasks: all tasks are known from the start.

    Examples
    --------
    >>> import numpy as np, coterie as ct
    >>> rng = np.random.default_rng(0)
    >>> hidden = rng.normal(size=(300, 3))
    >>> X = {"text": hidden @ rng.normal(size=(3, 8)), "image": hidden @ rng.normal(size=(3, 5))}
    >>> y, active = np.where(hidden[:, 0] > 0, "yes", "no"), rng.choice(["text", "image"], 300)
    >>> models = [ct.HeterogeneousMultitaskPerceptron(b=b) for b in (0.0, 1.0)]
    >>> [ct.progressive_validation(model, X, y, task=active).mistakes for model in models]
    [37, 26]
    >>> models[1].predict({"text": X["text"][:2], "image": X["image"][:2]}).shape
    (2, 2)
    """

    b: float | Sequence[float] = 1.0
    kernels: Part = None
    _: KW_ONLY
    solver: Literal["auto", "primal", "dual"] = "auto"
    relation: Part = None

    def _make_input(self) -> InstancesInput:
        return InstancesInput()

    def _make_learner(self) -> BaseLearner:
        if not isinstance(self.b, (list, tuple)):
            return self._learner_for(self.b)
        if not self.b:
            raise ValueError("b must be a number or a non-empty sequence of numbers, got an empty one")
        return Ensemble([self._learner_for(b) for b in self.b])

    def _learner_for(self, b: Any) -> HeterogeneousLearner:
        kernels = None if self.kernels is None else kernels_of(self.kernels)
        return HeterogeneousLearner(Heterogeneous(b, kernels, self.solver), self._relation_used)

    @property
    def _relation_used(self) -> Part:
        """The relation; None if all tasks are equally similar."""
        return self.relation

    @property
    def b_weights_(self) -> NDArray[np.float64]:
        """The weight of each strength b in the predictions for each task, shape (n_tasks, number of b)."""
        learner = self._fitted_model().learner
        if not isinstance(learner, Ensemble):
            return np.ones((len(self.tasks_), 1))
        return learner.expert_weights(self.state_)

    def _with_relation(self, relation: Part) -> Self:
        """Return an unfitted copy with this relation between tasks, as a baseline."""
        return type(self)(**{**self.get_params(deep=False), "relation": relation})

    def __baselines__(self, seen: Inputs | None = None) -> Estimators:
        """Return the baseline of one independent Perceptron per task; separate features cannot be pooled."""
        return {"independent": type(self)(**{**self.get_params(deep=False), "b": 0.0, "relation": None})}

    @property
    def n_mistakes_(self) -> int:
        """The number of rounds with a mistake, summed over the values of b."""
        return sum(int(state.model.count[0]) for state in self._states)

    @property
    def solver_(self) -> str:
        """The form of the model, "primal" or "dual"; with several b, of the first."""
        return "dual" if hasattr(self._states[0].model, "gamma") else "primal"

    @property
    def _states(self) -> list[Any]:
        """The learner's states, one for each value of b."""
        return list(self.state_.members) if isinstance(self.state_, EnsembleState) else [self.state_]
