"""Query strategies: the parts that :class:`coterie.SelectiveSampling` takes as ``ask``."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from . import spec
from .numeric.primal import query_decisions as compiled


class _BaseProbability:
    """A query probability that does not depend on a learned relation."""

    learned: ClassVar[bool] = False


@spec.part
class Always(_BaseProbability):
    """Query every label; the results then equal those of the model alone, bit for bit.

    Examples
    --------
    >>> Always()
    Always()
    """

    def compiled(self, n_tasks: int) -> compiled.Constant:
        """Return the compiled probability."""
        return compiled.Constant(1.0)


@spec.part
class Randomly(_BaseProbability):
    """Query every label with the same probability: the baseline of all other strategies.

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
        """Return the compiled probability."""
        return compiled.Constant(float(self.rate))


@spec.part
class Margin(_BaseProbability):
    """Query with probability c / (c + |margin|): always at margin zero, rarely at large margins.

    Parameters
    ----------
    c : float > 0
        The size of margin at which one label in two is asked for. 0.3 suits margins that are log-odds
        (:class:`coterie.MultitaskLogistic`, :class:`coterie.AdaptiveSharingClassifier`) and those of
        :class:`coterie.MultitaskAROW`. It goes with the margins: those of a Perceptron grow with the number of mistakes
        and with the length of records. As c grows every label is asked for.

    Examples
    --------
    >>> Margin(c=0.3)
    Margin(c=0.3)
    """

    c: float = spec.field(qualify_name=True, default=0.3, above=0)

    def compiled(self, n_tasks: int) -> compiled.Inverse:
        """Return the compiled probability."""
        return compiled.Inverse(float(self.c))


@spec.part
class Below(_BaseProbability):
    """Query if |margin| < threshold, and never otherwise.

    The model never learns labels of which it is wrongly certain; :class:`~coterie.asking.Margin` avoids this.

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
        """Return the compiled probability."""
        return compiled.Step(float(self.threshold))


@spec.part
class RelationRow:
    """Query with probability b / (b + |margin|), b = scale · Σ_j |A_ij| over the row of the task (SRDV11 §4).

    A is the interaction matrix of a learned relation as it stands in that round, the inverse of ``relation_matrix_``;
    under fixed relations the paper takes a constant, which is ``Margin``. The row sums shrink as A⁻¹ grows,
    whatever the task. O(K³) after every revision of the relation, for K tasks; O(K²) for a row of A⁻¹.

    Parameters
    ----------
    scale : float > 0
        1 is the paper's. A starts at I/K and updates are shared by A⁻¹, so that b starts at 1/K where margins have the
        size K: K² makes the two alike.
    of : {"A", "Ainv"}
        Whose row: that of A, or that of A⁻¹, by which updates are shared. Of a relation with ``role="Ainv"``, A⁻¹ is
        the matrix that is revised, which the paper calls A.

    Examples
    --------
    >>> RelationRow(scale=100.0)
    RelationRow(scale=100.0, of='A')
    """

    scale: float = spec.field(default=1.0, above=0, qualify_name=True)
    of: Literal["A", "Ainv"] = spec.field(default="A", kind="text", choices=("A", "Ainv"), qualify_name=True)

    learned: ClassVar[bool] = True

    def compiled(self, n_tasks: int) -> compiled.Row:
        """Return the compiled probability, before the sums of the relation's rows are computed."""
        kind = compiled.RowOfInverse if self.of == "Ainv" else compiled.Row
        return kind(np.zeros(n_tasks), np.full(2, -1), float(self.scale))
