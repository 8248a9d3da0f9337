"""Online models on random Fourier features of their records: a kernel in fixed memory, under any relation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal

from coterie import persistence, spec
from coterie.around.fourier import FourierLearner, RandomFeatures
from coterie.inputs.labels import Labels
from coterie.kernels import Gaussian, SpectralKernel, as_kernel
from coterie.settings import check_fields

from .around import AroundModel, of_model
from .estimator import OnlineEstimator
from .logistic import MultitaskLogistic
from .regression import MultitaskRegressor


@spec.with_constructor
class _OnRandomFeatures(AroundModel):
    """A model that is given random features of the records."""

    kernel: Any = None
    n_components: int = spec.field(
        default=512, kind="whole", at_least=2, at_most=2**16, must="be an even number from 2 to 65536"
    )
    seed: int = spec.field(default=0, kind="whole", at_least=0)

    _many_classes = of_model("_many_classes")

    def _nested(self, name: str, given: Any) -> Any:
        """The model or part that a parameter stands for."""
        return self._kernel if name == "kernel" and given is None else super()._nested(name, given)

    @property
    def _kernel(self) -> Any:
        return Gaussian() if self.kernel is None else as_kernel(self.kernel)

    def _check_parameters(self) -> None:
        self._check_model()
        self._within._check_parameters()

    def _check_model(self) -> None:
        """Refuse a model that is no linear online model of this kind; the model checks its own parameters."""
        spec.require_instance("model", self.model)
        model = self._within
        if not isinstance(model, OnlineEstimator) or model._kind != self._kind or not model._inner.input.has_tasks:
            raise TypeError(f"model must be an online {self._kind} of records with one vector each, got {model!r}")

    def _make_learner(self) -> FourierLearner:
        self._check_model()
        kernel, learner = self._kernel, self._within._make_learner()
        if not isinstance(kernel, SpectralKernel):
            raise TypeError(f"kernel must be Gaussian(sigma), or Pairwise('laplacian', ...), got {kernel!r}")
        beyond = learner.traits.beyond_features
        if beyond and "kernel" in self._within.get_params(deep=False):
            raise TypeError(f"model must be linear, got {self._within!r}, which has {beyond}")
        check_fields(self)
        if self.n_components % 2:  # a cosine and a sine a frequency
            must = spec.settings_of(type(self))["n_components"].must
            raise ValueError(f"n_components must {must}, got {self.n_components!r}")
        return FourierLearner(learner, RandomFeatures(kernel, int(self.n_components), int(self.seed)))

    def _label_kind(self) -> Callable[[Any], Labels]:
        return self._within._label_kind()  # type: ignore[no-any-return]


@persistence.register
class RandomFourierClassifier(_OnRandomFeatures):
    r"""A linear classifier on random Fourier features: a kernel in fixed memory, under any relation.

    A record x, prepared as the model says, becomes ``n_components`` numbers with inner products near the kernel,

        z(x) = (cos(w_1·x), ..., cos(w_m·x), sin(w_1·x), ..., sin(w_m·x)) / sqrt(m),    m = n_components / 2,
        z(x)·z(x') = (1/m) Σ_r cos(w_r·(x - x')),    of mean k(x, x') and variance at most 1 / (2m),

    with w_1, ..., w_m drawn from the kernel's spectrum, for ``Gaussian(sigma)`` normal with variance 1 / sigma²
    (Rahimi and Recht 2007; pairs of cosine and sine as Sutherland and Schneider 2015 advise, so that ‖z(x)‖ = 1). From
    these the model learns. No record is kept: memory and time stay the same however long the stream, and any
    relation, rule, averaging or forgetting of the model can be used. On a budget of records instead:
    :class:`coterie.geometries.MultitaskKernelPerceptron`.

    Parameters
    ----------
    model : online classifier, optional
        The model, unfitted: :class:`coterie.MultitaskLogistic` (without), :class:`coterie.MultitaskPerceptron`,
        :class:`coterie.AdaptiveSharingClassifier`, :class:`coterie.OneVsRest`, ... Relation, ``task_column``,
        ``new_task``, ``max_tasks``, ``class_weight``, and the preparation of records are the model's.
    kernel : kernel, optional
        ``Gaussian(sigma)``; sigma is 1 without. Or ``Pairwise("laplacian", {"gamma": g})``, of scikit-learn.
    n_components : even int from 2 to 65536
        How many random features.
    seed : int >= 0
        Of the frequencies. They are functions of it and of a feature's number, so that features may come late.

    Raises
    ------
    TypeError
        For a model that learns numbers, or is not linear, and for another kernel.
    ValueError
        For n_components that is odd or out of range; once something is learned, for another kernel, number or seed.

    Notes
    -----
    O(nnz · n_components) a record, and what the model takes for a dense record of so many numbers. The directions of
    features seen, n_components / 2 numbers each, are kept beside the model, a gigabyte of them at most (they are not in
    ``memory_``), and not saved: a file has the seed. There is no ``coef_``, and :meth:`explain` has no parts.

    Examples
    --------
    >>> import numpy as np, coterie as ct
    >>> rng = np.random.default_rng(0)
    >>> X, users = rng.normal(size=(3000, 2)), rng.choice(["ann", "bob", "cid"], 3000)
    >>> y = np.where((X**2).sum(axis=1) > 1.4, "far", "near")  # a circle: no line tells them apart
    >>> model = ct.geometries.RandomFourierClassifier(ct.MultitaskLogistic(ct.MeanRegularized(share=0.5)),
    ...     n_components=100)
    >>> trace = ct.progressive_validation(model, X, y, task=users)
    >>> bool(trace.mistake[-1000:].mean() < 0.05)
    True
    """

    _usual = MultitaskLogistic


@persistence.register
class RandomFourierRegressor(_OnRandomFeatures):
    """Linear regression on random Fourier features: what :class:`RandomFourierClassifier` is, for numbers.

    Parameters
    ----------
    model : online regressor, optional
        :class:`coterie.MultitaskRegressor` (without) or :class:`coterie.AdaptiveSharingRegressor`.
    kernel, n_components, seed
        As in :class:`RandomFourierClassifier`.

    Examples
    --------
    >>> import numpy as np, coterie as ct
    >>> rng = np.random.default_rng(0)
    >>> X, task = rng.uniform(-3, 3, size=(2000, 1)), rng.integers(4, size=2000)
    >>> y = 10 * np.sin(2 * X[:, 0]) + task
    >>> linear = ct.MultitaskRegressor(scale="none")
    >>> models = linear, ct.geometries.RandomFourierRegressor(linear)
    >>> errors = [abs(ct.progressive_validation(m, X, y, task=task).residual[-500:]).mean() for m in models]
    >>> bool(errors[0] > 5), bool(errors[1] < 1)
    (True, True)
    """

    _kind: ClassVar[Literal["classifier", "regressor"]] = "regressor"
    _usual = MultitaskRegressor
