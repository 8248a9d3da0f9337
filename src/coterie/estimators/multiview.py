"""Multi-view classifiers and their baselines (FOR09, CCG08 §7).

A record has K views of one thing and one label. Records come as a list of blocks, one per view (None for a view that is
absent from all of them), or a dictionary name -> block; a :class:`coterie.views.PartialBlock` says which of its rows
are there. One record is a dictionary name -> dictionary of features, and so may be those of a list; a missing key is an
absent view. **An absent view is not a vector of zeros**: it adds nothing to the margin and its weights stay as they
are, whatever the kernel.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import KW_ONLY
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from coterie import spec
from coterie.data.block import Block
from coterie.data.input import InputOptions, ReadContext, Records
from coterie.data.tabular import is_records
from coterie.data.view_input import ViewInput, names_of, present_in
from coterie.evaluation.comparison import ALONE, SIDE_BY_SIDE
from coterie.kernels import Precomputed, as_kernel, kernels_of
from coterie.models.contract import BaseLearner
from coterie.models.multiview.learner import KernelViewLearner, ViewLearner, by_view
from coterie.models.multiview.norms import GroupNorm, SchattenNorm, SpectralNorm
from coterie.models.multiview.parallel import ParallelLearner
from coterie.types import AnyLabels, AnyRecords, AnyTasks, Estimators, Inputs, Part
from coterie.updates.rules import Perceptron

from .estimator import OnlineEstimator
from .online_model import OnlineModel

#: The name that a comparison gives to Perceptrons of the views whose margins are added up.
IN_PARALLEL = "in parallel"


@spec.with_constructor
class _OfViews(OnlineEstimator):
    """Base class of estimators for records with several views, which have no tasks."""

    task_column = None
    new_task = "grow"
    _: KW_ONLY
    views: Sequence[Hashable] | None = None

    def _make_input(self) -> ViewInput:
        return ViewInput(one_space=False)

    def _reading(self) -> InputOptions:
        return InputOptions(type(self).__name__, views=self.views)

    @property
    def views_(self) -> list[Hashable]:
        """The names of the views."""
        return list(self._fitted_model().state.names)


class _PerceptronsOfViews(_OfViews):
    """Base class of multi-view estimators that have weights or support vectors for each view."""

    @property
    def view_weights_(self) -> dict[Hashable, NDArray[np.float64]]:
        """The current weights of each view by name, on the scale of the labels, not averaged."""
        model = self._fitted_model()
        with model.lock:
            factor, lengths = model.label_encoder.factor, model.learner.weights(model.state)
            return {name: factor * weights for name, weights in zip(model.state.names, lengths, strict=True)}


class _WithExponent(_PerceptronsOfViews):
    """Base class of multi-view Perceptrons with a norm that has an exponent p."""

    @property
    def p_(self) -> float:
        """The exponent p in use, which depends on the views if ``p="auto"``. Raises AttributeError with a ``gauge``."""
        gauge = getattr(self, "gauge", None)
        if gauge is not None:
            raise AttributeError(f"the gauge {gauge!r} replaces p")
        return float(self._fitted_model().state.model.potential.p)

    @property
    def n_support_(self) -> int:
        """The number of support vectors."""
        supports = getattr(self._fitted_model().state.model, "supports", None)
        if supports is None:
            raise AttributeError("a model without kernels has weights, not support vectors")
        return len(supports.coefficients)


@spec.estimator
class MultiviewPerceptron(_WithExponent):
    """Matrix Perceptron for K views in one feature space, with the Schatten 2p-norm (CCG08 §7, FOR09 ch. 3).

    A record X has the K views as columns x_1, ..., x_K, y is its label, -1 or 1, W are the weights, and ‖·‖_S2p is the
    2p-norm of the singular values.

    V is the sum of the mistakes, V += y X if y·margin <= 0, and the margin is ⟨W, X⟩ = Σ_k w_k · x_k with

        W = ∇ ½‖V‖²_S2p = ‖V‖_S2p^(2 - 2p) V (V'V)^(p - 1),    0 at V = 0    (3.1.4).

    p = 1 is the Perceptron on the concatenated views; a larger p gives more weight to directions that several views
    have in common. With one view it is the Perceptron for every p.

    Parameters
    ----------
    p : float >= 1, or "auto", default=2.0
        The exponent; any real number. ``"auto"`` is ln min(d, K) for K views of d features, at least 1, so that the
        penalty of diversity is near the trace norm (CCG08 §7, the remark after Theorem 10); ln K with a kernel that is
        not linear. It grows with the number of features seen.
    kernel : kernel, str, callable or mapping, optional
        One of :mod:`coterie.kernels` for all pairs of views, and the dual form: no weights, but support vectors. Or a
        kernel for each of the K(K + 1)/2 pairs, by pairs of names, {("left", "left"): ..., ("left", "right"): ...},
        which together must be positive semidefinite; the products of a record's views with each other are checked.
        The kernel of ("left", "right") gets the left views first. Views may then have any sizes; between views of
        different sizes a kernel is a function of two arrays, of shapes (n, d_left) and (m, d_right).
    average : bool, default=False
        Predict by the mean of the weights before each round, the low-risk hypothesis (3.1.21), which is exact in both
        forms; updates use the latest weights.
    rule : Perceptron or PassiveAggressive, optional
        With a passive-aggressive rule, records with y·margin < 1 update the weights too, by loss / ((2p - 1)‖X‖²_S2p).
        This step follows from the smoothness of ½‖V‖²; for p = 1 it is the shortest step to the margin 1.
    views : sequence of labels, optional
        The names of the views; by default those of the first records.
    gauge : potential, optional
        Any symmetric potential of the singular values in place of their 2p-norm (CCG08 §7), an object with a method
        ``gradient`` such as ``updates.ExponentiatedGradient()``; p is then ignored.

    Attributes
    ----------
    p_ : float
        The exponent in use.
    n_support_ : int
        The number of support vectors with a kernel; all views of a record count as one.

    Raises
    ------
    ValueError
        If p is below 1; if the gauge is not symmetric, or combined with another rule than the Perceptron's; if views
        do not have the same features, unless each pair has a kernel; for an unknown view; if a pair of views has no
        kernel or two, or if the kernels of pairs are not positive semidefinite for a record.

    Notes
    -----
    Dense views: O(dK) per prediction, O(dK² + K³) per mistake, or O(d²K + d³) if d < K. Sparse ones: O(nnz K) and
    O(nnz K + K³). The cost does not depend on p; the paper has O(pdK²) per prediction. With a kernel: K² kernel values
    per support vector, and O(mK² + K³). The mistake bound is :func:`coterie.evaluation.bounds.view_bounds.view_bound`.

    Examples
    --------
    >>> import numpy as np, coterie as ct
    >>> rng = np.random.default_rng(0)
    >>> seen = rng.normal(size=(2000, 20))
    >>> left, right = (seen + 0.5 * rng.normal(size=seen.shape) for _ in range(2))   # one thing, two noisy looks at it
    >>> y = np.where(seen[:, 0] + seen[:, 1] > 0, "yes", "no")
    >>> trace = ct.progressive_validation(ct.views.MultiviewPerceptron(p=4), {"left": left, "right": right}, y)
    >>> bool(trace.error < 0.25)
    True
    """

    p: float | Literal["auto"] = 2.0
    kernel: Part = None
    average: bool = False
    _: KW_ONLY
    rule: Part = None
    gauge: Part = None

    def _make_input(self) -> ViewInput:
        return ViewInput(one_space=True)

    def _reading(self) -> InputOptions:
        return InputOptions(type(self).__name__, views=self.views, any_sizes=isinstance(self.kernel, Mapping))

    def _make_learner(self) -> BaseLearner:
        norm = SchattenNorm(self.p) if self.gauge is None else SpectralNorm(self.gauge)
        rule = Perceptron() if self.rule is None else self.rule
        if self.kernel is None:
            return ViewLearner(norm, rule, self.average)
        kernel = kernels_of(self.kernel) if isinstance(self.kernel, Mapping) else as_kernel(self.kernel)
        if Precomputed() in (kernel.values() if isinstance(kernel, Mapping) else [kernel]):
            raise ValueError("kernel='precomputed' is not supported; kernel values between different views are needed")
        return KernelViewLearner(norm, kernel, rule, self.average)

    def __baselines__(self, seen: Inputs | None = None) -> Estimators:
        """Return the baselines: a Perceptron on each view alone, and one on the concatenated views."""
        kernels = self.kernel
        if isinstance(kernels, Mapping):  # select the kernel of each view with itself from those of pairs
            kernels = {key[0]: kernel for key, kernel in kernels.items() if key[0] == key[-1]}
        return _baselines_of(seen, self.views, kernels, average=self.average, rule=self.rule)


@spec.estimator
class OrthogonalMultiviewPerceptron(_WithExponent):
    """Perceptron for views with separate feature spaces, with a norm over views (FOR09 ch. 4, Figure 4.1).

    x_k is view k of a record, y its label, -1 or 1, and p the exponent of the norm.

    v_k is the sum of view k of the mistakes, v_k += y x_k for all k together if y·margin <= 0, and

        margin = (Σ_k ‖v_k‖^2p)^(1/p - 1) Σ_k ‖v_k‖^(2(p - 1)) v_k · x_k    (4.1.6, with its factor).

    It is :class:`MultiviewPerceptron` on views in orthogonal subspaces: they may be of any sizes, and each may have a
    kernel. p = 1 is the Perceptron on the concatenated views (with kernels: on the sum of the kernels), a larger p
    prefers views with longer sums, and with one view p does not matter.

    Parameters
    ----------
    p : float >= 1, or "auto", default=2.0
        The exponent; any real number. ``"auto"`` is ln K for K views, at least 1, as in :class:`MultiviewPerceptron`.
    kernels : kernel, list or dictionary of them, optional
        One kernel for all views, one per view in order, or by name. With kernels the model is in the dual form.
        ``"precomputed"`` for Gram matrices.
    average : bool, default=False
        Predict by the mean of the weights before each round, exact in both forms; updates use the latest weights.
    inner : float >= 2, default=2.0
        r of the group norm (Σ_k ‖v_k‖_r^2p)^(1/2p); the thesis has 2. With ``inner=2 * p`` it is the p-norm Perceptron
        with exponent 2p on the concatenated views (potential-based gradient descent, FOR09 Figure 2.5).
    rule : Perceptron or PassiveAggressive, optional
        See :class:`MultiviewPerceptron`.
    views : sequence of labels, optional
        The names of the views; by default those of the first records.
    beyond_span : float >= 0, default=0.0
        The length of an additional part of every v_k, orthogonal to all records: ‖v_k‖² + beyond_span² replaces
        ‖v_k‖² (A.2.1). So views have similar weights in early rounds; the limit for large values is p = 1. It
        requires ``inner=2``.

    Attributes
    ----------
    p_ : float
        The exponent in use.
    n_support_ : int
        The number of support vectors with kernels; all views of a record count as one.

    Raises
    ------
    ValueError
        If p is below 1, inner below 2 or beyond_span negative; for kernels or beyond_span with another inner than 2;
        for an unknown view.

    Notes
    -----
    O(nnz + K) per round for every p; the paper has O(pdK). With kernels: K kernel values per support vector. The
    mistake bound is :func:`coterie.evaluation.bounds.view_bounds.orthogonal_view_bound`.

    Examples
    --------
    >>> import coterie as ct
    >>> model = ct.views.OrthogonalMultiviewPerceptron(p=3, views=["sound", "image"])
    >>> model.learn_one({"sound": {"pitch": 0.5}, "image": {"red": 1.0, "green": 0.2}}, "cat")
    >>> model.learn_one({"sound": {"pitch": -1.5}}, "dog")                       # no image: it learns nothing
    >>> model.predict_one({"image": {"red": 0.7}}), model.predict_one({"sound": {"pitch": -2.0}})
    ('cat', 'dog')
    """

    p: float | Literal["auto"] = 2.0
    kernels: Part = None
    average: bool = False
    _: KW_ONLY
    inner: float = 2.0
    rule: Part = None
    beyond_span: float = 0.0

    def _make_learner(self) -> BaseLearner:
        norm = GroupNorm(self.p, self.inner, self.beyond_span)
        rule = Perceptron() if self.rule is None else self.rule
        if self.kernels is None:
            return ViewLearner(norm, rule, self.average)
        return KernelViewLearner(norm, kernels_of(self.kernels), rule, self.average)

    def __baselines__(self, seen: Inputs | None = None) -> Estimators:
        """Return the baselines: a Perceptron on each view alone, and one on the concatenated views."""
        return _baselines_of(seen, self.views, self.kernels, average=self.average, rule=self.rule)


@spec.estimator
class ParallelPerceptrons(_PerceptronsOfViews):
    """Parallel Perceptrons: one per view, updated on its own mistakes.

    The prediction is the sum of margins (CCG08 §8).

    x_k is view k of a record, y its label, -1 or 1, and v_k the weights of view k.

    v_k += y x_k if y v_k · x_k <= 0, and margin = Σ_k v_k · x_k. The paper calls it the "trivial baseline" and reports
    no method with a significant advantage over it if all views share a label. In contrast, a Perceptron on the
    concatenated views updates all v_k if the sum is wrong. An absent view adds nothing and is not updated.

    Parameters
    ----------
    kernels : kernel, list or dictionary of them, optional
        One kernel for all views, one per view in order, or by name. With kernels the model is in the dual form.
    average : bool, default=False
        Predict by the mean of the weights before each round; updates use the latest weights.
    rule : Perceptron or PassiveAggressive, optional
        The update rule of every Perceptron.
    views : sequence of labels, optional
        The names of the views; by default those of the first records.

    Raises
    ------
    TypeError
        If the rule is another one.
    ValueError
        For an unknown view, or if there is not one kernel per view.

    Notes
    -----
    O(nnz) per round. With kernels: K kernel values per support vector.

    Examples
    --------
    >>> import coterie as ct
    >>> X, y = {"a": [[1.0], [-1.0], [2.0]], "b": [[1.0, 0.0], [1.0, 0.5], [0.0, 1.0]]}, [1, 0, 1]
    >>> model = ct.views.ParallelPerceptrons().fit(X, y)
    >>> {name: weights.tolist() for name, weights in model.view_weights_.items()}
    {'a': [1.0], 'b': [0.0, 0.5]}
    """

    kernels: Part = None
    average: bool = False
    _: KW_ONLY
    rule: Part = None

    def _make_learner(self) -> BaseLearner:
        kernels = None if self.kernels is None else kernels_of(self.kernels)
        return ParallelLearner(kernels, Perceptron() if self.rule is None else self.rule, self.average)

    def __baselines__(self, seen: Inputs | None = None) -> Estimators:
        """Return the baselines: a Perceptron on each view alone, and one on the concatenated views."""
        models = _baselines_of(seen, self.views, self.kernels, average=self.average, rule=self.rule)
        return {name: model for name, model in models.items() if name != IN_PARALLEL}


def _baselines_of(seen: Any, views: Sequence[Hashable] | None, kernels: Part, **options: Any) -> dict[str, Any]:
    """Return the baselines of a multi-view model, by name.

    They are one model per view (``"NAME alone"``), one per view with summed margins (``"in parallel"``), and one on the
    concatenated views (``"side by side"``).

    A view that is absent from all of the records ``seen`` has no baseline.
    """
    names = names_of(seen, views)
    there = present_in(seen, names)
    own = [None] * len(names) if kernels is None else by_view(kernels_of(kernels), names)
    alone: dict[str, Any] = {}
    for name, kernel in zip(names, own, strict=True):
        if name in there:
            model = alone[f"{name}{ALONE}"] = OrthogonalMultiviewPerceptron(1.0, kernel, views=[name], **options)
            model._inner = OnlineModel(OneView(name, names))
    added = {IN_PARALLEL: ParallelPerceptrons(kernels, views=views, **options)}
    # p = 1 is the Perceptron on the concatenated views, with kernels that by their sum
    return alone | added | {SIDE_BY_SIDE: OrthogonalMultiviewPerceptron(1.0, kernels, **options)}


class OneView(ViewInput):
    """The input of a baseline model that reads a single view of each record.

    Parameters
    ----------
    name : label
        The view.
    names : list
        The views of the records.
    """

    def __init__(self, name: Hashable, names: list[Hashable]) -> None:
        super().__init__(one_space=False)
        self._name, self._names = name, names

    def read(self, X: AnyRecords, y: AnyLabels, task: AnyTasks, context: ReadContext) -> Records:
        """Read one view of records X; see :meth:`coterie.data.input.Input.read`."""
        if is_records(X):
            X = [{self._name: record.get(self._name)} for record in X]
        elif not isinstance(X, Block):
            X = {self._name: X[self._name] if isinstance(X, Mapping) else X[self._names.index(self._name)]}
        return super().read(X, y, task, context)
