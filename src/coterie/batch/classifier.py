"""Classification by kernel ridge regression on class codes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import KW_ONLY
from typing import Literal

from numpy.typing import ArrayLike

from coterie import spec
from coterie.data.tabular import ONLY_TASK
from coterie.kernels import KernelLike
from coterie.types import Array, Labels, Records, Tasks

from .base import BatchClassifier
from .designs import solve
from .filters import Filter, filter_of
from .kernel_expansion import KernelExpansion
from .output_kernels import BatchRelation, output_kernel
from .problem import problem_from
from .target_codes import classes_of


@spec.estimator
class MultitaskKernelClassifier(BatchClassifier):
    """Classifier by kernel ridge regression on class codes; predicts the class with the nearest code (ROS11 §6.2).

    Each class has a code, which the model learns to predict by ridge regression, as :class:`MultitaskKernelRidge` does.
    It is +1 or -1 for two classes, and by default a unit vector for more. Unit vectors with independent outputs are
    one-vs-all.

    Parameters
    ----------
    kernel, relation, alpha, filter
        See :class:`MultitaskKernelRidge`; the relation is between tasks.
    coding : {"one-vs-all", "simplex"} or array of shape (n_classes, p), default="one-vs-all"
        The codes of the classes, sorted.
    class_relation : relation, optional
        The relation between outputs, if all rows are of one task: the output kernel of ROS11. By default
        :class:`Independent`, which is one-vs-all. Its tasks are the numbers 0, 1, ... of the outputs: of the classes in
        sorted order (for one-vs-all), or of the columns of the codes. Two classes have a single output.
    risk, solver, dtype, task_column, new_task
        See :class:`MultitaskKernelRidge`.

    Attributes
    ----------
    classes_, tasks_, dual_coef_, n_features_in_
        Labels, tasks, coefficients of the rows for each output, width of the records.

    Raises
    ------
    ValueError
        For one class only, a coding that does not fit the classes, a class relation together with several tasks, and
        for the reasons of :class:`MultitaskKernelRidge`.

    Examples
    --------
    >>> import numpy as np, coterie as ct
    >>> rng = np.random.default_rng(0)
    >>> X, users = rng.normal(size=(150, 2)), rng.integers(3, size=150)
    >>> y = np.array(["left", "middle", "right"])[np.digitize(X[:, 0] + 0.3 * users, [-0.5, 0.9])]
    >>> relation = ct.tasks.MixedEffect(omega=0.5)
    >>> model = ct.batch.MultitaskKernelClassifier(ct.kernels.Gaussian(1.0), relation, alpha=0.1)
    >>> model.fit(X, y, task=users).predict([[-2.0, 0.0], [2.0, 0.0]], task=[0, 1])
    array(['left', 'right'], dtype='<U6')
    """

    kernel: KernelLike | None = None
    relation: BatchRelation | None = None
    alpha: float = spec.field(default=1.0, above=0)
    filter: Filter | None = None
    _: KW_ONLY
    coding: str | ArrayLike = "one-vs-all"
    class_relation: BatchRelation | None = None
    risk: Literal["rows", "tasks"] = "rows"
    solver: str = "auto"

    expansion_: KernelExpansion = spec.learned()

    @property
    def tasks_(self) -> list[Hashable]:
        """The tasks in the training data."""
        self._check_fitted()
        return [ONLY_TASK] if self.expansion_.has_shared_rows else list(self.expansion_.tasks.labels)

    def _outputs(self, X: Records, task: Tasks | None) -> Array:
        self._check_fitted()
        outputs = self._values(X, None if self.expansion_.has_shared_rows else task)
        return outputs if outputs.ndim == 2 else outputs[:, None]

    def _learn(self, X: Records, y: Labels, task: Tasks | None, tasks: Sequence[Hashable] | None) -> None:
        # classes as tasks of one input: every row has an output for each class, so Q = M ⊗ K
        rows = self._training_rows(X, task, shared=self.class_relation is not None)
        if self.class_relation is not None and rows.codes is not None:
            raise ValueError("class_relation is not supported together with task=; leave out one of them")
        self.labels_, Y = classes_of(y, len(rows.points.squares), self.coding)
        problem = problem_from(self, rows, Y, tasks, self.risk)
        relation = self.class_relation if problem.codes is None else self.relation
        M = output_kernel(relation, problem.tasks.labels)
        used = filter_of(self.filter, self.alpha)
        self.expansion_ = problem.expansion(solve(problem.design(M), used, problem.Y, self.solver), M)
