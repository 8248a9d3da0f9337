"""Classification by kernel ridge regression on the codes of classes."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from coterie import persistence, spec
from coterie.streams.tabular import ONLY_TASK

from .calibration import sigmoid, sigmoid_probabilities, softmax, softmax_probabilities
from .classifier_base import BatchClassifier, check_rows
from .coding import Labels, labels_of
from .filters import filter_of
from .kernel_base import KernelEstimator
from .outputs import output_kernel
from .path import check_folds, held_out
from .problem import Problem, problem_from
from .solvers import solve

Array = NDArray[Any]


@persistence.register
class MultitaskKernelClassifier(BatchClassifier, KernelEstimator):
    """Kernel ridge regression on the codes of classes: the class is predicted whose code is nearest (ROS11 §4.3).

    Every class has a code, +1 and -1 for two classes and by default a unit vector for each of more, and the codes of
    the rows are regressed as by :class:`MultitaskKernelRidge`. Unit vectors with independent outputs are one-vs-all.

    Parameters
    ----------
    kernel, relation, alpha, filter
        As in :class:`MultitaskKernelRidge`; the relation is that of tasks.
    coding : {"one-vs-all", "simplex"} or array of shape (n_classes, p)
        The codes of the classes, sorted. Rows with several labels have one output of 0 and 1 for each.
    class_relation : relation, optional
        How the outputs share, where all rows are of one task: the output kernel of ROS11. :class:`Independent`, which
        is one-vs-all, without.
        Its tasks are the numbers 0, 1, ... of the outputs: of the classes in sorted order (for one-vs-all), of the
        columns of the codes, or of y. Two classes have one output, and nothing to share.
    calibration : int, optional
        So many folds of held-out scores are made, by learning so often again, and probabilities fitted to them:
        a sigmoid for two classes and for each label, a softmax for several classes, each with one slope.
    risk, solver, tol, dtype, task_column, new_task
        As in :class:`MultitaskKernelRidge`.

    Attributes
    ----------
    classes_, tasks_, dual_coef_, n_features_in_
        Labels, tasks, coefficients of the rows for each output, width of the records.

    Raises
    ------
    ValueError
        For one class only, a coding that does not fit the classes, a class relation together with several tasks, and
        what :class:`MultitaskKernelRidge` refuses.

    Examples
    --------
    >>> import numpy as np, coterie as ct
    >>> rng = np.random.default_rng(0)
    >>> X, users = rng.normal(size=(150, 2)), rng.integers(3, size=150)
    >>> y = np.array(["left", "middle", "right"])[np.digitize(X[:, 0] + 0.3 * users, [-0.5, 0.9])]
    >>> model = ct.MultitaskKernelClassifier(ct.Gaussian(1.0), ct.MixedEffect(omega=0.5), alpha=0.1, calibration=5)
    >>> model.fit(X, y, task=users).predict([[-2.0, 0.0], [2.0, 0.0]], task=[0, 1])
    array(['left', 'right'], dtype='<U6')
    >>> model.predict_proba([[-2.0, 0.0]], task=[0]).argmax()
    np.int64(0)
    """

    def __init__(
        self,
        kernel: Any = None,
        relation: Any = None,
        alpha: float = 1.0,
        filter: Any = None,  # noqa: A002
        *,
        coding: Any = "one-vs-all",
        class_relation: Any = None,
        calibration: int | None = None,
        risk: Literal["rows", "tasks"] = "rows",
        solver: str = "auto",
        tol: float = 1e-8,
        dtype: Literal["float64", "float32"] = "float64",
        task_column: Hashable | None = None,
        new_task: Literal["grow", "raise"] = "grow",
    ) -> None:
        self.kernel = kernel
        self.relation = relation
        self.alpha = alpha
        self.filter = filter
        self.coding = coding
        self.class_relation = class_relation
        self.calibration = calibration
        self.risk = risk
        self.solver = solver
        self.tol = tol
        self.dtype = dtype
        self.task_column = task_column
        self.new_task = new_task

    calibrated_: Array
    _kept = ("n_features_in_", "feature_names_in_", "calibrated_")

    @property
    def predict_proba(self) -> Callable[..., Array]:
        """The probability of each class, shape (m, n_classes); of each label where a row may have several.

        There where ``calibration`` is given, and was when the model was fitted.
        """
        if self.calibration is None:
            raise AttributeError("predict_proba needs probabilities that were calibrated: give calibration=5, and fit")
        if hasattr(self, "expansion_") and not hasattr(self, "calibrated_"):
            raise AttributeError("calibration was None when the model was fitted: fit again")
        return self._probabilities

    def probabilities(self, margin: Array) -> Array | None:
        """The probability of the second class for the margins of two, where they were calibrated."""
        calibrated = hasattr(self, "predict_proba") and self.labels_.binary
        return sigmoid_probabilities(margin, self.calibrated_[0]) if calibrated else None

    def _probabilities(self, X: Any, task: Any = None) -> Array:
        scores = self.decision_function(X, task)
        if self.labels_.codes is None:
            each = [sigmoid_probabilities(s, ab) for s, ab in zip(scores.T, self.calibrated_, strict=True)]
            return np.column_stack(each)
        if not self.labels_.binary:
            return softmax_probabilities(scores, self.calibrated_[0])
        positive = sigmoid_probabilities(scores, self.calibrated_[0])
        return np.column_stack([1 - positive, positive])

    @property
    def tasks_(self) -> list[Hashable]:
        """The tasks learned from."""
        self._check_fitted(AttributeError)
        return [ONLY_TASK] if self.expansion_.codes is None else list(self.expansion_.tasks.labels)

    def _outputs(self, X: Any, task: Any) -> Array:
        self._check_fitted()
        made = self._evaluate(X, None if self.expansion_.codes is None else task)
        return made if made.ndim == 2 else made[:, None]

    def _learn(self, X: Any, y: Any, task: Any, tasks: Any) -> None:
        spec.check_positive("alpha", self.alpha)
        records = self._records(X, task, shared=self.class_relation is not None)
        if self.class_relation is not None and records.codes is not None:
            raise ValueError("class_relation ties the classes of one task: it cannot be given together with task=")
        self.labels_, Y, places = labels_of(y, self.coding)
        check_rows(Y, len(records.points.squares))
        check_folds("calibration", 2 if self.calibration is None else self.calibration, max(len(Y), 2))
        problem = problem_from(self, records, Y, tasks, self.risk)
        M = self._output_kernel(problem)
        self.expansion_ = problem.expansion(self._coefficients(problem, M), M)
        if self.calibration is not None:
            outputs = held_out(problem, M, self.calibration, places, self._coefficients)
            self.calibrated_ = _calibrated(self.labels_, self.labels_.scores(outputs), Y, places)

    def _output_kernel(self, problem: Problem) -> Array:
        if problem.codes is None:
            return output_kernel(self.class_relation, problem.tasks.labels)
        return output_kernel(self.relation, problem.tasks.labels)

    def _coefficients(self, problem: Problem, M: Array) -> Array:
        used = filter_of(self.filter, self.alpha)
        return np.asarray(solve(problem.design(M), used, problem.Y, self.solver, self.tol))


def _calibrated(labels: Labels, scores: Array, Y: Array, places: NDArray[np.int64]) -> Array:
    """What turns scores into probabilities."""
    if labels.codes is None:
        return np.array([sigmoid(s, each > 0.5) for s, each in zip(scores.T, Y.T, strict=True)])
    return np.array([sigmoid(scores, places == 1) if labels.binary else softmax(scores, places)])
