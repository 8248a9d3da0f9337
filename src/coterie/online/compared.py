"""What an online model says to those that let it go along a stream, alone or beside others."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping
from typing import Any

from numpy.typing import NDArray

from coterie.relations import HalfUpdate, Independent, Pooled
from coterie.streams.block import Block

from .fitted import Fitted
from .rounds import Margins


class Compared(Fitted):
    """An online model as progressive validation, comparisons and commands see it."""

    new_task: str
    relation: Any

    @property
    def relation_used(self) -> Any:
        """How tasks share: as asked for, else half of every move."""
        return HalfUpdate() if self.relation is None else self.relation

    def under(self, relation: Any) -> Any:
        """An unfitted model like this one, whose tasks share as the relation says: what it is compared with."""
        return type(self)(**{**self.get_params(), "relation": relation})

    def baselines(self, seen: Any) -> dict[str, Any]:
        """What a comparison lets run beside this model, whatever the records: one model per task, and one for all."""
        return {"independent": self.under(Independent()), "pooled": self.under(Pooled())}

    def beside(self, errors: Mapping[str, float]) -> tuple[str, str]:
        """What a comparison judges by: one model per task, and one for all."""
        return "independent", "pooled"

    def task_checks(self) -> list[Callable[[Hashable], Any]]:
        """What raises ValueError for a task that would be refused."""
        learner = self.learner()
        state = self.state_ if self.fitted else learner.init()
        checks: list[Callable[[Hashable], Any]] = [lambda task: learner.check_tasks(state, [task])]
        if self.fitted and self.new_task == "raise":
            known = set(self.tasks_)

            def seen(task: Hashable) -> None:
                if task not in known:
                    raise ValueError(f"task {task!r} was never seen, and the model refuses new tasks")

            checks.append(seen)
        return checks

    @property
    def label_kind(self) -> Any:
        """What labels may be: nothing known of them but that."""
        return self._labels()

    def learner(self) -> Any:
        """The learner that the parameters describe, for a mixture to hold it among others."""
        return self._learner()

    @abstractmethod
    def probabilities(self, margin: Margins) -> Margins | None:
        """The probability of ``classes_[1]`` for margins of the outside; None where margins say nothing of it."""

    def block_probabilities(self, block: Block, margin: Margins) -> Margins | None:
        """As :meth:`probabilities`, for the margins of a block's records."""
        return self.probabilities(margin)

    def tasks_of(self, block: Block) -> NDArray[Any]:
        """The task of each of a block's records."""
        return block.tasks
