"""Second-order weights, with the full covariance of the weights (primal) or of the support vectors (dual).

The arithmetic is in ``_compiled/dual/second_order_models.py``.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from coterie import spec
from coterie._compiled.core.points import Kernel, PlainProduct
from coterie._compiled.dual.second_order_models import Bordered, FullPrimal
from coterie._compiled.dual.stores import empty_store


@spec.part
class FullCovariance:
    """All weights of all tasks with their full covariance, with the prior M ⊗ I (CCG08 §4).

    M = A⁻¹ is the K x K matrix by which the K tasks share updates, r the variance of a label, and P the covariance of
    the weights W.

    With φ the record x in the block of its task, S = Σ φφ'/r and b = Σ yφ/r over the records with an update,

        P = (A ⊗ I + S)⁻¹,    W = P b,    mean of a margin f = W·φ,    its variance q = φ'Pφ,

    or, with the multitask Gram matrix G_st = M_{i_s i_t} k(x_s, x_t), its column g of a record and
    κ = M_ii k(x, x),

        α = (R + G)⁻¹ y,    f = α·g,    q = κ - g'(R + G)⁻¹g.

    Parameters
    ----------
    kernel : kernel
        One of :mod:`coterie.kernels`; nonlinear ones need the dual form.
    solver : {"auto", "primal", "dual"}, default="auto"
        The form of the model. ``"auto"`` starts with the dual form, and changes to the primal form when there are as
        many support vectors as weights, if the kernel is linear, and records are dense or all become support vectors.

    Raises
    ------
    ValueError
        For an unknown solver, or for the primal form with a kernel that is not linear.

    Examples
    --------
    >>> from coterie import kernels
    >>> FullCovariance(kernels.Linear(), solver="primal")
    FullCovariance(kernel=LinearKernel(), solver='primal')
    """

    kernel: Kernel
    solver: Literal["auto", "primal", "dual"] = spec.field(default="auto", choices=("auto", "primal", "dual"))

    forms: ClassVar[tuple[str, ...]] = ("levels", "repelling levels", "columns")

    def __post_init__(self) -> None:
        if self.solver == "primal" and not self.linear:
            raise ValueError(
                f"solver='primal' stores one weight per feature and needs the linear kernel, got {self.kernel!r}"
            )

    @property
    def linear(self) -> bool:
        """True for the linear kernel, for which features have weights."""
        return isinstance(self.kernel, PlainProduct) and self.kernel.plain

    def start(self, sharing: Any, features: int, dense: bool) -> FullPrimal | Bordered:
        """Return a model without tasks and records."""
        if self.solver == "primal":
            return FullPrimal.empty(sharing, features)
        return Bordered.empty(sharing, empty_store(dense, features))

    def outgrown(self, model: FullPrimal | Bordered, tasks: int, features: int, may: bool) -> bool:
        """Return True if ``may``, and the primal form would now be smaller than the dual form."""
        if self.solver != "auto" or model.solver == "primal" or not (self.linear and may):
            return False
        return int(model.count[0]) >= tasks * features
