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
from numpy.typing import ArrayLike, NDArray

from coterie import spec, types
from coterie.evaluation.comparison import ALONE, SIDE_BY_SIDE
from coterie.evaluation.stream_model import StreamModel
from coterie.inputs.block import Block
from coterie.inputs.input import InputOptions
from coterie.inputs.tabular import is_records
from coterie.inputs.view_input import ViewInput, names_of, present_in
from coterie.kernels import Gaussian, Precomputed, as_kernel
from coterie.models.contract import BaseLearner
from coterie.multiview.cues import CueLearner
from coterie.multiview.learner import KernelViewLearner, ViewLearner, by_view
from coterie.multiview.norms import GroupNorm, SchattenNorm, SpectralNorm
from coterie.multiview.parallel import ParallelLearner
from coterie.rules import PassiveAggressive, Perceptron
from coterie.types import Estimator, Estimators, Inputs, Part, Tasks

from .estimator import OnlineEstimator

#: The name that a comparison gives to Perceptrons of the views whose margins are added up.
IN_PARALLEL = "in parallel"


@spec.with_constructor
class _OfViews(OnlineEstimator):
    """Base of the multi-view estimators, without tasks."""

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
    """Base of multi-view estimators with weights, or support vectors, for every view."""

    @property
    def view_weights_(self) -> dict[Hashable, NDArray[np.float64]]:
        """The current weights of every view by name, on the scale of the labels, not averaged."""
        model = self._fitted_model()
        with model.lock:
            factor, lengths = model.label_encoder.factor, model.learner.weights(model.state)
            return {name: factor * weights for name, weights in zip(model.state.names, lengths, strict=True)}


@spec.estimator
class MultiviewPerceptron(_PerceptronsOfViews):
    """The matrix Perceptron: K views of one space, the columns of X, and the Schatten-2p norm (CCG08 §7, FOR09 ch. 3).

    V sums the records that were mistaken, V += y X where y·margin <= 0, and the margin is ⟨W, X⟩ = Σ_k w_k · x_k with

        W = ∇ ½‖V‖²_S2p = ‖V‖_S2p^(2 - 2p) V (V'V)^(p - 1),    0 at V = 0    (3.1.4).

    p = 1 is the Perceptron on all views side by side; larger p weigh what several views have in common more. With one
    view it is the Perceptron whatever p is.

    Parameters
    ----------
    p : float >= 1, or "auto"
        The exponent; any real number. ``"auto"`` is ln min(d, K) for K views of d features, at least 1, so that what
        penalises diversity is near the trace norm (CCG08 §7, the remark after Theorem 10); ln K with a kernel that is
        not linear. Where features come as they are met it grows with them.
    kernel : kernel, str, callable or mapping, optional
        One of :mod:`coterie.kernels` for all pairs of views, and the dual form: no weights, but support vectors. Or a
        kernel for each of the K(K + 1)/2 pairs, by pairs of names, {("left", "left"): ..., ("left", "right"): ...},
        which must be one kernel together: the products of a record's views with each other are watched. The kernel of
        ("left", "right") is given the left views first. Views may then have any sizes; between views of different sizes
        a kernel is a function of two arrays, of shapes (n, d_left) and (m, d_right).
    average : bool
        Predict by the mean of the weights before each round, the low-risk hypothesis (3.1.21), which is exact in both
        forms; learning goes on by the latest.
    rule : Perceptron or PassiveAggressive, optional
        With a passive-aggressive rule, records with y·margin < 1 move the weights too, by loss / ((2p - 1)‖X‖²_S2p).
        That is the step which the smoothness of ½‖V‖² warrants, and for p = 1 it is the shortest that suffices.
    views : sequence of labels, optional
        The names of the views; without, those of the first records.
    gauge : potential, optional
        In place of the 2p-norm of the singular values any symmetric potential of them (CCG08 §7), a part with a
        gradient, such as ``potentials.ExponentiatedGradient()``; p is then of no account.

    Attributes
    ----------
    p_ : float
        The exponent in use.
    n_support_ : int
        With a kernel, how many support vectors there are, all views of a record counting as one.

    Raises
    ------
    ValueError
        If p is below 1, or the gauge not symmetric or beside another rule; if views have not the same features, unless
        each pair has a kernel; for a view that is unknown; if a pair of views has no kernel or two, or the kernels of
        pairs give a record no length.

    Notes
    -----
    Dense views: O(dK) per prediction, O(dK² + K³) per mistake, or O(d²K + d³) where d < K. Sparse ones: O(nnz K) and
    O(nnz K + K³). p enters by powers of eigenvalues only; the paper has O(pdK²) per prediction. With a kernel K² kernel
    values a support vector, and O(mK² + K³). The mistake bound is :func:`coterie.bounds.view_bounds.view_bound`.

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
        """Return a Perceptron on each view alone, and one on the concatenated views, with the same kernel and rule."""
        kernels = self.kernel
        if isinstance(kernels, Mapping):  # of the pairs of views, those of each with itself
            kernels = {key[0]: kernel for key, kernel in kernels.items() if key[0] == key[-1]}
        return _baselines_of(seen, self.views, kernels, average=self.average, rule=self.rule)

    @property
    def p_(self) -> float:
        """The exponent in use; ``p="auto"`` depends on the views. Raises AttributeError for a gauge."""
        if self.gauge is not None:
            raise AttributeError(f"the gauge {self.gauge!r} replaces p")
        return float(self._fitted_model().state.model.potential.p)

    @property
    def n_support_(self) -> int:
        """The number of support vectors."""
        return len(self._fitted_model().state.model.supports.coefficients)


@spec.estimator
class OrthogonalMultiviewPerceptron(_PerceptronsOfViews):
    """The Perceptron of views that lie in spaces of their own (FOR09 ch. 4, Figure 4.1).

    v_k sums view k of the records that were mistaken, v_k += y x_k for all k together where y·margin <= 0, and

        margin = (Σ_k ‖v_k‖^2p)^(1/p - 1) Σ_k ‖v_k‖^(2(p - 1)) v_k · x_k    (4.1.6, with its factor).

    It is :class:`MultiviewPerceptron` on views put at right angles to each other: they may be of any sizes, and each
    may have a kernel. p = 1 is the Perceptron on all views side by side (with kernels: on their sum), larger p prefer
    views with longer sums, and with one view p does not matter.

    Parameters
    ----------
    p : float >= 1, or "auto"
        The exponent; any real number. ``"auto"`` is ln K for K views, at least 1, as in :class:`MultiviewPerceptron`.
    kernels : kernel, list or dictionary of them, optional
        One for all views, one per view in order, or by name; and the dual form. ``"precomputed"`` for Gram matrices.
    average : bool
        Predict by the mean of the weights before each round, exact in both forms; learning goes on by the latest.
    inner : float >= 2
        r of the group norm (Σ_k ‖v_k‖_r^2p)^(1/2p); 2 is the thesis's. With ``inner=2 * p`` it is the p-norm Perceptron
        with exponent 2p, the views' borders being of no account (potential-based gradient descent, FOR09 Figure 2.5).
    rule : Perceptron or PassiveAggressive, optional
        As in :class:`MultiviewPerceptron`.
    views : sequence of labels, optional
        The names of the views; without, those of the first records.
    beyond_span : float >= 0
        The length of a part of every v_k that lies outside of the span of all records: ‖v_k‖² + beyond_span² in the
        place of ‖v_k‖² (A.2.1). Early on views count alike, and one that was moved a little more does not yet take the
        lead; without end it is p = 1. ``inner`` is 2 then.

    Attributes
    ----------
    p_ : float
        The exponent in use.
    n_support_ : int
        With kernels, how many support vectors there are, all views of a record counting as one.

    Raises
    ------
    ValueError
        If p is below 1, inner below 2 or beyond_span negative; for kernels or beyond_span with another inner than 2;
        for a view that is unknown.

    Notes
    -----
    O(nnz + K) per round, whatever p is; the paper has O(pdK). With kernels K kernel values a support vector. The
    mistake bound is :func:`coterie.bounds.view_bounds.orthogonal_view_bound`.

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
        """Return a Perceptron on each view alone, and one on the concatenated views, with the same kernels and rule."""
        return _baselines_of(seen, self.views, self.kernels, average=self.average, rule=self.rule)

    @property
    def p_(self) -> float:
        """The exponent in use; ``p="auto"`` depends on the views."""
        return float(self._fitted_model().state.model.potential.p)

    @property
    def n_support_(self) -> int:
        """The number of support vectors."""
        return len(self._fitted_model().state.model.supports.coefficients)


@spec.estimator
class MultiCueClassifier(_OfViews):
    """A kernel learner for every view, and a linear learner that weighs their margins (OMCL; FOR09 §4.2.3).

    Below, a Projectron++ per view, f_k, learns by its own margin. Above, margin = ω · h with h = (f_1(x_1), …,
    f_K(x_K)); after the lower ones have learned the record, h is recomputed, and ω makes a passive-aggressive step on
    it, so that y·ω·h reaches 1 if C allows. ω begins at 0. An absent view has f_k = 0 and its Projectron does not
    learn.

    Parameters
    ----------
    kernels : kernel, list or dictionary of them, optional
        One for all views, one per view in order, or by name; ``Gaussian(sigma=1.0)`` without.
    eta : float > 0
        How far from its support vectors a record must lie, as a norm, for a Projectron to keep it.
    rule : PassiveAggressive, optional
        Of the upper learner; ``PassiveAggressive(C=1.0)`` without.
    views : sequence of labels, optional
        The names of the views; without, those of the first records.

    Attributes
    ----------
    cue_weights_ : dict
        ω by the name of the view.
    n_support_ : dict
        How many support vectors each view has.

    Notes
    -----
    Records go one by one, in Python: about half a millisecond a view. From Jie, Orabona and Caputo (ACCV 2009),
    for two classes.

    Examples
    --------
    >>> import numpy as np, coterie as ct
    >>> rng = np.random.default_rng(0)
    >>> near, noise = rng.normal(size=(300, 2)), rng.normal(size=(300, 3))
    >>> y = (near**2).sum(axis=1) > 1.4
    >>> model = ct.views.MultiCueClassifier(ct.kernels.Gaussian(1.0), eta=0.1)
    >>> trace = ct.progressive_validation(model, {"near": near, "noise": noise}, y)
    >>> bool(trace.wrong[150:].mean() < 0.2), model.cue_weights_["near"] > model.cue_weights_["noise"]
    (True, True)
    """

    kernels: Part = None
    eta: float = 0.1
    rule: Part = None

    def _make_learner(self) -> BaseLearner:
        kernels = Gaussian() if self.kernels is None else kernels_of(self.kernels)
        return CueLearner(kernels, self.eta, PassiveAggressive() if self.rule is None else self.rule)

    def __baselines__(self, seen: Inputs | None = None) -> Estimators:
        """Return a kernel Perceptron on each view alone, and one with the sum of their kernels."""
        return _baselines_of(seen, self.views, Gaussian() if self.kernels is None else self.kernels)

    @property
    def cue_weights_(self) -> dict[Hashable, float]:
        """The weight of each view's margin, by name."""
        return dict(zip(self.views_, self._fitted_model().state.weights.tolist(), strict=True))

    @property
    def n_support_(self) -> dict[Hashable, int]:
        """The number of support vectors of each view, by name."""
        sizes = [int(member.model.support.counts[0]) for member in self._fitted_model().state.members]
        return dict(zip(self.views_, sizes, strict=True))


@spec.estimator
class ParallelPerceptrons(_PerceptronsOfViews):
    """One Perceptron per view, each updated on its own mistakes; their margins are added (CCG08 §8).

    v_k += y x_k where y v_k · x_k <= 0, and margin = Σ_k v_k · x_k: the "trivial baseline" over which the paper could
    devise nothing with a significant advantage where all views share a label. A Perceptron on all views side by side
    moves all v_k where the sum is wrong. An absent view adds nothing and learns nothing.

    Parameters
    ----------
    kernels : kernel, list or dictionary of them, optional
        One for all views, one per view in order, or by name; and the dual form.
    average : bool
        Predict by the mean of the weights before each round; learning goes on by the latest.
    rule : Perceptron or PassiveAggressive, optional
        Of each.
    views : sequence of labels, optional
        The names of the views; without, those of the first records.

    Raises
    ------
    TypeError
        If the rule is none of those.
    ValueError
        For a view that is unknown, or if there is not one kernel per view.

    Notes
    -----
    O(nnz) per round. With kernels K kernel values a support vector.

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
        """Return a Perceptron on each view alone, and one on the concatenated views, with the same kernels and rule."""
        models = _baselines_of(seen, self.views, self.kernels, average=self.average, rule=self.rule)
        return {name: model for name, model in models.items() if name != IN_PARALLEL}


def kernels_of(kernels: Part) -> Part:
    """Return kernel parts for parts, names or functions: one, a list, or a dictionary by view."""
    if hasattr(kernels, "items"):
        return {name: as_kernel(kernel) for name, kernel in kernels.items()}
    return [as_kernel(kernel) for kernel in kernels] if isinstance(kernels, (list, tuple)) else as_kernel(kernels)


def _baselines_of(seen: Any, views: Sequence[Hashable] | None, kernels: Part, **options: Any) -> dict[str, Any]:
    """Return the baselines of multi-view models: ``"NAME alone"`` for each view, ``"in parallel"``, ``"side by side"``.

    A view that is absent from all of the records ``seen`` has no baseline.
    """
    names = names_of(seen, views)
    there = present_in(seen, names)
    own = [None] * len(names) if kernels is None else by_view(kernels_of(kernels), names)
    alone: dict[str, Any] = {
        f"{name}{ALONE}": OneView(OrthogonalMultiviewPerceptron(1.0, kernel, views=[name], **options), name, names)
        for name, kernel in zip(names, own, strict=True)
        if name in there
    }
    added = {IN_PARALLEL: ParallelPerceptrons(kernels, views=views, **options)}
    # p = 1 is the Perceptron on the concatenated views, with kernels that by their sum
    return alone | added | {SIDE_BY_SIDE: OrthogonalMultiviewPerceptron(1.0, kernels, **options)}


class OneView:
    """An estimator that gets one view of each record, as a baseline for estimators that get all views.

    Examples
    --------
    >>> import coterie as ct
    >>> alone = OneView(ct.views.OrthogonalMultiviewPerceptron(p=1, views=["a"]), "a", ["a", "b"])
    >>> ct.progressive_validation(alone, {"a": [[1.0], [-1.0], [2.0]], "b": [[0.0], [1.0], [0.0]]}, [1, 0, 1]).mistakes
    1
    """

    def __init__(self, model: Estimator, name: Hashable, names: list[Hashable]) -> None:
        self.model, self.name, self.names = model, name, names

    def __stream_model__(self) -> _ShownOneView:
        """Return the inner model, restricted to the view."""
        return _ShownOneView(self.model.__stream_model__(), self.name, self.names)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or "model" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.model, name)

    def __repr__(self) -> str:
        return repr(self.model)


class _ShownOneView:
    """A stream model restricted to one view of each record."""

    def __init__(self, model: StreamModel, name: Hashable, names: list[Hashable]) -> None:
        self._model, self._name, self._names = model, name, names

    def as_block(
        self, X: Inputs, y: types.Labels, task: Tasks | None = None, weights: ArrayLike | None = None
    ) -> Block:
        """Validate multi-view records as a block of the one view."""
        return self._model.as_block(self._only(X), y, task, weights)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._model, name)

    def _only(self, X: Any) -> Any:
        if is_records(X):
            return [{self._name: record.get(self._name)} for record in X]
        return {self._name: X[self._name] if isinstance(X, Mapping) else X[self._names.index(self._name)]}


def view_baselines(X: Any, kernels: Part = None, joint: Part = None) -> dict[Hashable, tuple[Any, Any]]:
    """Return the baselines of a multi-view stream (FOR09 §4.2, CCG08 §8): estimators with their records.

    Parameters
    ----------
    X : list of blocks or dictionary name -> block
        The stream.
    kernels : kernel, list or dictionary of them, optional
        As in :class:`coterie.views.OrthogonalMultiviewPerceptron`; the Perceptrons are linear without.
    joint : kernel, optional
        For the views side by side, as one vector; without, one kernel for all views if there is such, else the sum of
        the views' kernels.

    Returns
    -------
    dict
        For every view by its name and for ``"side by side"`` an unfitted Perceptron and the records for it, and for
        ``"in parallel"`` a :class:`coterie.views.ParallelPerceptrons`.

    Raises
    ------
    ValueError
        If there is not one kernel per view.

    Examples
    --------
    >>> import coterie as ct
    >>> X, y = {"a": [[1.0], [-1.0], [2.0]], "b": [[1.0, 0.0], [1.0, 0.5], [0.0, 1.0]]}, [1, 0, 1]
    >>> for name, (model, records) in ct.views.view_baselines(X).items():
    ...     print(name, ct.progressive_validation(model, records, y).mistakes)
    a 1
    b 3
    in parallel 2
    side by side 2
    """
    names = names_of(X, None)
    blocks = dict(X if isinstance(X, Mapping) else zip(names, X, strict=True))
    view_kernels = None if kernels is None else kernels_of(kernels)
    own = [None] * len(names) if view_kernels is None else by_view(view_kernels, names)
    every = None if view_kernels is None else list(own)
    baselines: dict[Hashable, tuple[Any, Any]] = {
        name: (OrthogonalMultiviewPerceptron(1.0, kernel), {name: blocks[name]})
        for name, kernel in zip(names, own, strict=True)
    }
    baselines[IN_PARALLEL] = ParallelPerceptrons(every), blocks
    one = joint if joint is not None else None if isinstance(view_kernels, (Mapping, list)) else view_kernels
    if every is None or one is None:
        return baselines | {SIDE_BY_SIDE: (OrthogonalMultiviewPerceptron(1.0, every), blocks)}
    whole = {SIDE_BY_SIDE: _side_by_side(list(blocks.values()))}
    return baselines | {SIDE_BY_SIDE: (OrthogonalMultiviewPerceptron(1.0, one), whole)}


def _side_by_side(blocks: list[Any]) -> Any:
    if any(block is None or hasattr(block, "present") for block in blocks):
        raise ValueError("concatenated views must all be present; an absent view is not a vector of zeros")
    if any(hasattr(block, "indptr") for block in blocks):
        from scipy.sparse import csr_array, hstack

        return csr_array(hstack([csr_array(block) for block in blocks], format="csr"))
    return np.concatenate([np.asarray(block, np.float64) for block in blocks], axis=1)
