"""The Perceptrons of things that are seen in several views (FOR09, CCG08 §7)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie import persistence
from coterie.hypotheses.norms import GroupNorm, SchattenNorm
from coterie.kernels import Precomputed, as_kernel
from coterie.learners.views import KernelViewLearner, ViewLearner, by_view
from coterie.rules import Perceptron
from coterie.streams.view_input import names_of, present_in

from .guard import exclusive
from .multiview import ALONE, SIDE_BY_SIDE, MultiviewClassifier
from .one_view import OneView


class OneLearner(MultiviewClassifier):
    """What classifiers of several views that are one learner in one state have to show."""

    @property
    @exclusive
    def view_weights_(self) -> dict[Hashable, NDArray[np.float64]]:
        """The weights of every view by its name, as they are outside; those that learn, not their mean."""
        self._check_fitted(AttributeError)
        factor, found = self.labels_.factor, self._learner().weights(self.state_)
        return {name: factor * weights for name, weights in zip(self.views_, found, strict=True)}

    @property
    def n_support_(self) -> int:
        """How many support vectors there are."""
        self._check_fitted(AttributeError)
        return len(self.state_.model.supports.coefficients)


@persistence.register
class MultiviewPerceptron(OneLearner):
    """The matrix Perceptron: K views of one space, the columns of X, and the Schatten-2p norm (CCG08 §7, FOR09 ch. 3).

    V sums the records that were mistaken, V += y X where y·margin <= 0, and the margin is ⟨W, X⟩ = Σ_k w_k · x_k with

        W = ∇ ½‖V‖²_S2p = ‖V‖_S2p^(2 - 2p) V (V'V)^(p - 1),    0 at V = 0    (3.1.4).

    p = 1 is the Perceptron on all views side by side; larger p weigh what several views have in common more. With one
    view it is the Perceptron whatever p is.

    Parameters
    ----------
    p : float >= 1
        The exponent; any real number.
    kernel : kernel, str or callable, optional
        One of :mod:`coterie.kernels` for all pairs of views, and the dual form: no weights, but support vectors.
    average : bool
        Predict by the mean of the weights before each round, the low-risk hypothesis (3.1.21), which is exact in both
        forms; learning goes on by the latest.
    rule : Perceptron or PassiveAggressive, optional
        With a passive-aggressive rule, records with y·margin < 1 move the weights too, by loss / ((2p - 1)‖X‖²_S2p).
        That is the step which the smoothness of ½‖V‖² warrants, and for p = 1 it is the shortest that suffices.
    views : sequence of labels, optional
        The names of the views; without, those of the first records.

    Attributes
    ----------
    n_support_ : int
        With a kernel, how many support vectors there are, all views of a record counting as one.

    Raises
    ------
    ValueError
        If p is below 1; if views have not the same features; for a view that is unknown.

    Notes
    -----
    Dense views: O(dK) a prediction, O(dK² + K³) a mistake, or O(d²K + d³) where d < K. Sparse ones: O(nnz K) and
    O(nnz K + K³). p enters by powers of eigenvalues only; the paper has O(pdK²) a prediction. With a kernel K² kernel
    values a support vector, and O(mK² + K³). The mistake bound is :func:`coterie.streams.view_bounds.view_bound`.

    Examples
    --------
    >>> import numpy as np, coterie as ct
    >>> rng = np.random.default_rng(0)
    >>> seen = rng.normal(size=(2000, 20))
    >>> left, right = (seen + 0.5 * rng.normal(size=seen.shape) for _ in range(2))   # one thing, two noisy looks at it
    >>> y = np.where(seen[:, 0] + seen[:, 1] > 0, "yes", "no")
    >>> trace = ct.progressive_validation(ct.MultiviewPerceptron(p=4), {"left": left, "right": right}, y)
    >>> bool(trace.error < 0.25)
    True
    """

    one_space = True

    def __init__(
        self,
        p: float = 2.0,
        kernel: Any = None,
        average: bool = False,
        *,
        rule: Any = None,
        views: Sequence[Hashable] | None = None,
    ) -> None:
        self.p = p
        self.kernel = kernel
        self.average = average
        self.rule = rule
        self.views = views

    def _make_learner(self) -> Any:
        norm, rule = SchattenNorm(self.p), Perceptron() if self.rule is None else self.rule
        if self.kernel is None:
            return ViewLearner(norm, rule, self.average)
        kernel = as_kernel(self.kernel)
        if kernel == Precomputed():
            raise ValueError("kernel cannot be precomputed: it is needed between different views too")
        return KernelViewLearner(norm, kernel, rule, self.average)

    def baselines(self, seen: Any) -> dict[str, Any]:
        """A Perceptron on each view by itself, and one on all views side by side, with the same kernel and rule."""
        return beside(seen, self.views, self.kernel, average=self.average, rule=self.rule)


@persistence.register
class OrthogonalMultiviewPerceptron(OneLearner):
    """The Perceptron of views that lie in spaces of their own (FOR09 ch. 4, Figure 4.1).

    v_k sums view k of the records that were mistaken, v_k += y x_k for all k together where y·margin <= 0, and

        margin = (Σ_k ‖v_k‖^2p)^(1/p - 1) Σ_k ‖v_k‖^(2(p - 1)) v_k · x_k    (4.1.6, with its factor).

    It is :class:`MultiviewPerceptron` on views put at right angles to each other: they may be of any sizes, and each
    may have a kernel. p = 1 is the Perceptron on all views side by side (with kernels: on their sum), larger p prefer
    views with longer sums, and with one view p does not matter.

    Parameters
    ----------
    p : float >= 1
        The exponent; any real number.
    kernels : kernel, list or dictionary of them, optional
        One for all views, one a view in order, or by name; and the dual form. ``"precomputed"`` for Gram matrices.
    average : bool
        Predict by the mean of the weights before each round, exact in both forms; learning goes on by the latest.
    inner : float >= 2
        r of the group norm (Σ_k ‖v_k‖_r^2p)^(1/2p); 2 is the thesis's. With ``inner=2 * p`` it is the p-norm Perceptron
        with exponent 2p, the views' borders being of no account (potential-based gradient descent, FOR09 Figure 2.5).
    rule : Perceptron or PassiveAggressive, optional
        As in :class:`MultiviewPerceptron`.
    views : sequence of labels, optional
        The names of the views; without, those of the first records.

    Attributes
    ----------
    n_support_ : int
        With kernels, how many support vectors there are, all views of a record counting as one.

    Raises
    ------
    ValueError
        If p is below 1 or inner below 2; for kernels with another inner than 2; for a view that is unknown.

    Notes
    -----
    O(nnz + K) a round, whatever p is; the paper has O(pdK). With kernels K kernel values a support vector. The mistake
    bound is :func:`coterie.streams.view_bounds.orthogonal_view_bound`.

    Examples
    --------
    >>> import coterie as ct
    >>> model = ct.OrthogonalMultiviewPerceptron(p=3, views=["sound", "image"])
    >>> model.learn_one({"sound": {"pitch": 0.5}, "image": {"red": 1.0, "green": 0.2}}, "cat")
    >>> model.learn_one({"sound": {"pitch": -1.5}}, "dog")                       # no image: it learns nothing
    >>> model.predict_one({"image": {"red": 0.7}}), model.predict_one({"sound": {"pitch": -2.0}})
    ('cat', 'dog')
    """

    def __init__(
        self,
        p: float = 2.0,
        kernels: Any = None,
        average: bool = False,
        *,
        inner: float = 2.0,
        rule: Any = None,
        views: Sequence[Hashable] | None = None,
    ) -> None:
        self.p = p
        self.kernels = kernels
        self.average = average
        self.inner = inner
        self.rule = rule
        self.views = views

    def _make_learner(self) -> Any:
        norm, rule = GroupNorm(self.p, self.inner), Perceptron() if self.rule is None else self.rule
        if self.kernels is None:
            return ViewLearner(norm, rule, self.average)
        return KernelViewLearner(norm, kernels_of(self.kernels), rule, self.average)

    def baselines(self, seen: Any) -> dict[str, Any]:
        """A Perceptron on each view by itself, and one on all views side by side, with the same kernels and rule."""
        return beside(seen, self.views, self.kernels, average=self.average, rule=self.rule)


def kernels_of(kernels: Any) -> Any:
    """Kernel parts for whatever stands for kernels: one, a list, or a dictionary by view."""
    if hasattr(kernels, "items"):
        return {name: as_kernel(kernel) for name, kernel in kernels.items()}
    return [as_kernel(kernel) for kernel in kernels] if isinstance(kernels, (list, tuple)) else as_kernel(kernels)


def beside(seen: Any, views: Sequence[Hashable] | None, kernels: Any, **held: Any) -> dict[str, Any]:
    """What learners of several views are compared with: ``"NAME alone"`` for each view, and ``"side by side"``.

    A view that is absent from all of the records ``seen`` is not looked at alone.
    """
    names = names_of(seen, views)
    there = present_in(seen, names)
    own = [None] * len(names) if kernels is None else by_view(kernels_of(kernels), names)
    alone: dict[str, Any] = {
        f"{name}{ALONE}": OneView(OrthogonalMultiviewPerceptron(1.0, kernel, views=[name], **held), name, names)
        for name, kernel in zip(names, own, strict=True)
        if name in there
    }
    return alone | {SIDE_BY_SIDE: OrthogonalMultiviewPerceptron(1.0, kernels, **held)}
