"""Norms of several views together, which make weights of the sums of the moves: W = ∇ ½‖V‖²."""

from __future__ import annotations

from typing import ClassVar

from coterie import spec
from coterie.numeric.views.forms import Widths
from coterie.numeric.views.one_space import DenseMatrix, SparseMatrix, WideMatrix, empty_matrix
from coterie.numeric.views.own_spaces import Flat
from coterie.numeric.views.potentials import Group, Schatten

EXPONENT = spec.Setting(
    at_least=1, option="p", metavar="P", help="Of several views: 1 adds them up, more prefers those that say most."
)


@spec.choice("norm", "matrix", "the j-th columns of all views are one feature")
@spec.part
class SchattenNorm:
    """‖V‖_S2p = (Σ σ_i^2p)^(1/2p) over the singular values of V = [v_1 … v_K], views of one space (FOR09 3.1.1).

    W = ∇ ½‖V‖² = V F with F = Tr(G^p)^(1/p - 1) G^(p - 1), G = V'V; 0 at V = 0.

    Parameters
    ----------
    p : float >= 1
        1 is the Perceptron on all views side by side.

    Raises
    ------
    ValueError
        If p is below 1 or not finite.

    Examples
    --------
    >>> SchattenNorm(2.0)
    SchattenNorm(p=2.0)
    """

    one_space: ClassVar[bool] = True
    inner: ClassVar[float] = 2.0

    p: float = spec.field(EXPONENT, default=2.0)

    def potential(self, n: int) -> Schatten:
        """The norm's state before the first move, of n views, or of n features where those are fewer."""
        return Schatten.empty(n, float(self.p))

    def start(self, widths: Widths, dense: bool) -> tuple[DenseMatrix | WideMatrix | SparseMatrix, Schatten]:
        """Weights before the first move, and the norm's state for them."""
        store = empty_matrix(widths, dense)
        return store, self.potential(store.order)


@spec.choice("norm", "orthogonal", "views of any sizes")
@spec.part
class GroupNorm:
    """(Σ_k ‖v_k‖_r^2p)^(1/2p): views of any sizes, the r-norm inside each and the 2p-norm over them.

    W_k = ∇_k ½‖V‖² = ‖V‖^(2 - 2p) ‖v_k‖_r^(2p - r) sign(v_k)|v_k|^(r - 1). With r = 2 it is the Schatten norm of views
    at right angles (FOR09 4.1.6); with r = 2p the norm of all features side by side, whose potential is that of the
    p-norm Perceptron.

    Parameters
    ----------
    p : float >= 1
        1 adds views up, more prefers those with longer sums.
    inner : float >= 2
        r.

    Raises
    ------
    ValueError
        If p is below 1, inner below 2, or either is not finite.

    Examples
    --------
    >>> GroupNorm(3.0)
    GroupNorm(p=3.0, inner=2.0)
    """

    one_space: ClassVar[bool] = False

    p: float = spec.field(EXPONENT, default=2.0)
    inner: float = spec.field(default=2.0, at_least=2)

    def potential(self, n: int) -> Group:
        """The norm's state before the first move, of n views."""
        return Group.empty(n, float(self.p), float(self.inner))

    def start(self, widths: Widths, dense: bool) -> tuple[Flat, Group]:
        """Weights before the first move, and the norm's state for them."""
        return Flat.empty(widths), self.potential(len(widths))


Norm = SchattenNorm | GroupNorm
