"""The learners that move by a ball around each record: of weights, and of support vectors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Literal

from coterie import spec
from coterie.hypotheses.dual import Dual
from coterie.numeric.ball import Measured
from coterie.numeric.core.points import Kernel
from coterie.numeric.kernel_ball import Ball
from coterie.state import State

from .kernel import KernelLearner
from .linear import LinearLearner

_CANNOT_DROP = "a model that learns by {!r} cannot forget tasks: their moves have shrunk those of others"


class BallLearner(LinearLearner):
    """A learner of weights that are measured, under a relation whose M never changes.

    Raises
    ------
    TypeError
        As :class:`LinearLearner`, and under a relation by the number of tasks, since the length of what was learned
        would be another with each that comes.
    """

    def __init__(self, hypothesis: Any, relation: Any, rule: Any) -> None:
        super().__init__(hypothesis, relation, rule)
        _require_lasting(relation, rule, ", or take PotentialMultitaskPerceptron(PNorm(2))")
        self.traits = replace(
            self.traits, cannot_drop=_CANNOT_DROP.format(rule), cannot_bound=_CANNOT_DROP.format(rule)
        )

    def adopt(self, state: State) -> None:
        """Refuse a state whose weights were never measured: ValueError."""
        _require_measured(isinstance(state.model, Measured), self.rule)


@spec.part
class _Moved:
    """The budget of a ball: every record that moved v is kept, and all coefficients shrink together."""

    radius: float

    size: ClassVar[int | None] = None
    gram: ClassVar[Literal["multitask", "plain"] | None] = None
    keeps_coefficients: ClassVar[bool] = False
    uses_diagonal: ClassVar[bool] = False

    def memory(self, form: str) -> Ball:
        """The memory before the first mistake."""
        return Ball.empty(float(self.radius))

    def fit(self, memory: Ball, capacity: int, paths: Any, tasks: int) -> Ball:
        """The memory with room for so many support vectors and tasks."""
        return memory


class KernelBallLearner(KernelLearner):
    """A learner in the space of a kernel, under a relation whose M never changes.

    Raises
    ------
    TypeError
        As :class:`KernelLearner` and :class:`BallLearner`.
    """

    def __init__(self, kernel: Kernel, dtype: Literal["float64", "float32"], relation: Any, rule: Any) -> None:
        super().__init__(Dual(kernel, _Moved(rule.radius), dtype), relation)
        _require_lasting(relation, rule, "")
        self.rule, self.traits = rule, replace(self.traits, cannot_drop=_CANNOT_DROP.format(rule))

    def adopt(self, state: State) -> None:
        """Refuse a state whose support vectors were never measured: ValueError."""
        _require_measured(isinstance(state.model.memory, Ball), self.rule)


def _require_lasting(relation: Any, rule: Any, other: str) -> None:
    if getattr(relation, "counts_tasks", False):
        raise TypeError(
            f"{rule!r} cannot learn under {relation!r}, whose M changes with every task that comes, and so the length "
            f"of what was learned: give share= instead of b{other}"
        )


def _require_measured(measured: bool, rule: Any) -> None:
    if not measured:
        raise ValueError(f"{rule!r} cannot go on with what was learned by another rule, its length not being known")
