"""Weights that know how long they are, for rules that measure margins by it."""

from __future__ import annotations

from typing import Any, ClassVar

from coterie import spec
from coterie.hypotheses.hypothesis import Hypothesis
from coterie.numeric.ball import Measured as MeasuredModel
from coterie.numeric.primal.grouped import Levels
from coterie.numeric.primal.spread import Columns, SparseColumns

from .wrapper import HypothesisWrapper

_FIXED = ("levels", "columns")


@spec.part
class Measured(HypothesisWrapper):
    """Weights whose length in the geometry of the relation is known, ‖v‖² = Σ_ij A_ij w_i·w_j, and which can shrink.

    For :class:`coterie.rules.Ballseptron`. The length follows from the margins before and after a move, and weights
    shrink by a scale of their table, so that a round costs O(1) beside two more margins. Under a learned relation there
    is no such length: each move changes A, and with it the length of all that was learned before.

    Parameters
    ----------
    hypothesis : LinearWeights
        The weights that are measured.

    Raises
    ------
    TypeError
        If the hypothesis has no such length, as where weights have rates or variances of their own, fade or are means.

    Examples
    --------
    >>> from coterie.hypotheses import LinearWeights
    >>> Measured(LinearWeights()).moves
    ('ball',)
    """

    hypothesis: Any

    moves: ClassVar[tuple[str, ...]] = ("ball",)

    def __post_init__(self) -> None:
        known = isinstance(self.hypothesis, Hypothesis) and self.hypothesis.fades
        if not (known and "shortest" in self.hypothesis.moves):
            raise TypeError(
                f"Measured needs LinearWeights, whose length is that of their moves, got {self.hypothesis!r}"
            )

    @property
    def forms(self) -> tuple[str, ...]:
        """The forms of relation that are given."""
        return tuple(form for form in self.hypothesis.forms if form in _FIXED)

    def by_levels(self, levels: Levels, groups: int, tasks: int, features: int, dense: bool) -> MeasuredModel:
        """Make the model of the wrapped hypothesis, of length 0."""
        return MeasuredModel.of(self.hypothesis.by_levels(levels, groups, tasks, features, dense))

    def by_columns(self, columns: Columns | SparseColumns, tasks: int, features: int, dense: bool) -> MeasuredModel:
        """Make the model of the wrapped hypothesis, of length 0."""
        return MeasuredModel.of(self.hypothesis.by_columns(columns, tasks, features, dense))
