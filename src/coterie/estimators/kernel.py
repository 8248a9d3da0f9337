"""The multitask kernel Perceptron on a budget."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import KW_ONLY
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from coterie import spec
from coterie._compiled.dual.expansion import EVICTED, PROJECTED, REPAIRED, SIZE
from coterie.kernels import Gaussian, as_kernel
from coterie.models.contract import BaseLearner
from coterie.models.kernel_learner import KernelLearner
from coterie.types import Part
from coterie.updates.budgets import Unbounded
from coterie.updates.weights.dual import Dual

from .parameter_fields import TaskEstimator


def _count(place: int, meaning: str) -> Any:
    """Return a property that reads one of the counts of support vectors, at index ``place``.

    ``meaning`` is its docstring.
    """
    return property(lambda self: int(self.state_.model.support.counts[place]), doc=meaning)


@spec.estimator
class MultitaskKernelPerceptron(TaskEstimator):
    """A kernel Perceptron for many tasks, with one budget of support vectors for all of them (CC12).

    x_j, i_j and beta_j are the record, the task and the coefficient of support vector j, k is the kernel, and A the K x
    K interaction matrix of the K tasks, by whose inverse M they share updates.

    The margin of a record (x, i) is f_i(x) = Σ_j beta_j M_(i_j i) k(x_j, x) over the support vectors j, with M = A⁻¹. A
    mistake, y·margin <= 0, adds the record with beta = y times its weight. If there are then too many support vectors,
    the budget decides which one to remove. So memory is bounded for any number of records and tasks, and tasks with
    more mistakes get more of it.

    Parameters
    ----------
    kernel : kernel, str or callable, optional
        One of :mod:`coterie.kernels`, a name (``"gaussian"``, ``"linear"``, any kernel of scikit-learn,
        ``"precomputed"``), or a function of two arrays of records. By default ``Gaussian(sigma=1.0)``.
    relation : relation, optional
        A fixed relation between tasks, by default :class:`HalfUpdate`.
    budget : budget, optional
        One of :mod:`coterie.updates.budgets`, by default :class:`~coterie.updates.Unbounded`.
    task_column, new_task, class_weight
        As in :class:`MultitaskPerceptron`.

    Attributes
    ----------
    n_support_ : int
        The number of support vectors.
    support_tasks_ : list
        The task of each support vector, oldest first.
    support_rounds_ : ndarray of int64
        The round, from 0, in which each support vector was added, in the same order.
    evictions_, projections_, repairs_ : int
        The numbers of removed support vectors, of mistakes projected instead of added, and of regularisations of an
        inverse Gram matrix.

    Notes
    -----
    O(B) kernel values per prediction, made for a block of records by one matrix product. A mistake costs O(1)
    (``RandomRemoval``), O(B) (``Forgetron``) or O(B²) (projections) more.

    Examples
    --------
    >>> import numpy as np, coterie as ct
    >>> rng = np.random.default_rng(0)
    >>> X, users = rng.normal(size=(500, 2)), rng.integers(3, size=500)
    >>> y = np.where((X**2).sum(axis=1) > 1.4, "far", "near")
    >>> budget = ct.updates.SharedProjection(size=20)
    >>> model = ct.MultitaskKernelPerceptron(ct.kernels.Gaussian(sigma=1.0), ct.HalfUpdate(), budget)
    >>> trace = ct.progressive_validation(model, X, y, task=users)
    >>> model.n_support_, bool(trace.mistake[250:].mean() < 0.15)
    (20, True)
    """

    kernel: Part = None
    relation: Part = None
    budget: Part = None
    _: KW_ONLY
    class_weight: Mapping[Hashable, float] | Literal["balanced"] | None = None

    def _make_learner(self) -> BaseLearner:
        kernel = Gaussian() if self.kernel is None else as_kernel(self.kernel)
        budget = Unbounded() if self.budget is None else self.budget
        if not hasattr(budget, "gram"):
            raise TypeError(f"budget must be one of coterie.updates.budgets, got {budget!r}")
        return KernelLearner(Dual(kernel, budget), self._relation_used)

    def _with_intercepts(self) -> None:
        """Return None: kernel models have no weights for a baseline with intercepts."""

    n_support_ = _count(SIZE, "The number of support vectors.")
    evictions_ = _count(EVICTED, "The number of evicted support vectors.")
    projections_ = _count(PROJECTED, "The number of mistakes projected on the support vectors.")
    repairs_ = _count(REPAIRED, "The number of times an inverse Gram matrix had to be regularised.")

    @property
    def support_tasks_(self) -> list[Hashable]:
        """The task of each support vector, oldest first."""
        labels = self.tasks_
        return [labels[i] for i in self.state_.model.support.tasks[self._by_age()]]

    @property
    def support_rounds_(self) -> NDArray[np.int64]:
        """The round in which each support vector was added (the first round is 0), oldest first."""
        return np.asarray(self.state_.model.support.births[self._by_age()])

    def _by_age(self) -> NDArray[np.int64]:
        return np.argsort(self.state_.model.support.births[: self.n_support_], kind="stable")
