"""Query strategies for selective sampling: the parts that :class:`coterie.SelectiveSampling` takes as ``ask``.

Their arithmetic is in ``_compiled/primal/query_decisions.py``.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from coterie import spec
from coterie._compiled.primal import query_decisions as compiled


class _BaseProbability:
    """Base class of query strategies with a probability that does not depend on a learned relation."""

    learned: ClassVar[bool] = False


@spec.part
class Always(_BaseProbability):
    """Query every label; results are equal to those of the model alone, to the last bit.

    Examples
    --------
    >>> Always()
    Always()
    """

    def compiled(self, n_tasks: int) -> compiled.Constant:
        """Return the strategy as a named tuple for compiled code; ``n_tasks`` is the number of tasks."""
        return compiled.Constant(1.0)


@spec.part
class Randomly(_BaseProbability):
    """Query every label with the same probability, as a baseline.

    Parameters
    ----------
    rate : float, 0 < rate <= 1
        The share of labels.

    Examples
    --------
    >>> Randomly(rate=0.2)
    Randomly(rate=0.2)
    """

    rate: float = spec.field(qualify_name=True, above=0, at_most=1)

    def compiled(self, n_tasks: int) -> compiled.Constant:
        """Return the strategy as a named tuple for compiled code; ``n_tasks`` is the number of tasks."""
        return compiled.Constant(float(self.rate))


@spec.part
class Margin(_BaseProbability):
    """Query with probability c / (c + |margin|): uncertain predictions are queried more often.

    Parameters
    ----------
    c : float > 0, default=0.3
        The size of the margin with probability 1/2. 0.3 suits margins that are log-odds
        (:class:`coterie.MultitaskLogistic`, :class:`coterie.AdaptiveSharingClassifier`) and those of
        :class:`coterie.MultitaskAROW`. It is in the unit of margins, and those of a Perceptron grow with the number of
        mistakes and with the length of records. A larger c queries more labels.

    Examples
    --------
    >>> Margin(c=0.3)
    Margin(c=0.3)
    """

    c: float = spec.field(qualify_name=True, default=0.3, above=0)

    def compiled(self, n_tasks: int) -> compiled.Inverse:
        """Return the strategy as a named tuple for compiled code; ``n_tasks`` is the number of tasks."""
        return compiled.Inverse(float(self.c))


@spec.part
class Below(_BaseProbability):
    """Query if |margin| < threshold.

    The model never learns labels for which it has wrong, large margins; :class:`~coterie.updates.Margin` avoids this.

    Parameters
    ----------
    threshold : float > 0
        In the units of the margin.

    Examples
    --------
    >>> Below(threshold=1.0)
    Below(threshold=1.0)
    """

    threshold: float = spec.field(qualify_name=True, above=0)

    def compiled(self, n_tasks: int) -> compiled.Step:
        """Return the strategy as a named tuple for compiled code; ``n_tasks`` is the number of tasks."""
        return compiled.Step(float(self.threshold))


@spec.part
class RelationRow:
    """Query with probability b / (b + |margin|), b = scale · Σ_j |A_ij| over the row of the task (SRDV11 §4).

    A is the current interaction matrix of a learned relation, the inverse of ``relation_matrix_``; for fixed relations
    the paper has a constant, which is ``Margin``. The row sums shrink for all tasks as A⁻¹ grows. O(K³) after every
    update of the relation, for K tasks; O(K²) for a row of A⁻¹.

    Parameters
    ----------
    scale : float > 0, default=1.0
        The paper has 1. A starts at I/K and updates are shared by A⁻¹, so b starts at 1/K and margins are of size K:
        K² makes both equally large.
    of : {"A", "Ainv"}, default="A"
        The matrix of the row: A, or A⁻¹, by which updates are shared. For a relation with ``role="Ainv"``, A⁻¹ is the
        matrix that is updated, which the paper calls A.

    Examples
    --------
    >>> RelationRow(scale=100.0)
    RelationRow(scale=100.0, of='A')
    """

    scale: float = spec.field(default=1.0, above=0, qualify_name=True)
    of: Literal["A", "Ainv"] = spec.field(default="A", kind="text", choices=("A", "Ainv"), qualify_name=True)

    learned: ClassVar[bool] = True

    def compiled(self, n_tasks: int) -> compiled.Row:
        """Return the strategy as a named tuple for compiled code, with row sums that are still to be computed."""
        kind = compiled.RowOfInverse if self.of == "Ainv" else compiled.Row
        return kind(np.zeros(n_tasks), np.full(2, -1), float(self.scale))
