"""Sums over the rounds of a stream for a pair of learners, from which the verdict is computed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from coterie._compiled.core.checks import require
from coterie.types import Array, Arrays

from .confidence_intervals import Tally, add_groups
from .costs import AMOUNTS, LOG_LOSS, RATES, SQUARES, CostWords
from .noise import KINDS, Noise, OfPredictions, kind_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from coterie.types import Ints

    from .trace import Trace


#: The sums of a pair by their names in files: first those of each task, then those of all rounds.
_NAMES = ("gains", "noise", "by_task0", "by_task1", "apart", "cost0", "cost1", "lost0", "lost1")
_OF_TASKS, _OF_ALL = 4, 5
_WORDS = {words.error: words for words in (RATES, LOG_LOSS, SQUARES, AMOUNTS)}


class Pair(NamedTuple):
    """Sums over the rounds of K tasks for two learners on the same stream, from which gains are computed.

    Attributes
    ----------
    words, loss : CostWords
        The names and formats of costs and losses.
    scale : float
        The divisor of the differences of losses.
    gains : Tally, shape (K,)
        The other's losses minus the learner's, divided by ``scale``, by task.
    noise : Noise
        The noise of these gains.
    by_task, by_task_against : Tally, shape (K,)
        The costs of the learner and of the other one, by task.
    difference : Tally, shape (1,)
        The other's costs minus the learner's.
    cost, cost_against, lost, lost_against : Tally, shape (1,)
        All costs and all losses of the learner and of the other one.
    """

    words: CostWords
    loss: CostWords
    scale: float
    gains: Tally
    noise: Noise
    by_task: Tally
    by_task_against: Tally
    difference: Tally
    cost: Tally
    cost_against: Tally
    lost: Tally
    lost_against: Tally

    @classmethod
    @np.errstate(under="ignore")
    def from_traces(cls, trace: Trace, against: Trace, scale: float | None = None) -> Pair:
        """Compute the sums of two traces over the same rounds, without records of weight 0; O(n + K).

        ``scale`` is by default the largest difference, so that squares are finite.
        """
        if trace.weight is not None and not trace.weight.all():
            trace, against = (part.only(trace.weight > 0.0) for part in (trace, against))
        words, task, tasks = trace.words, trace.task, len(trace.tasks)
        cost, cost_against = trace.costs.astype(np.float64), against.costs.astype(np.float64)
        loss, lost, lost_against = trace.loss_words, trace.losses, against.losses
        # a log loss can only be compared with a log loss; errors exist for both
        if lost is None or lost_against is None:  # one of them has no probabilities
            loss, lost, lost_against = words, cost, cost_against
        # paired by round: the variance of a difference is far below that of two means
        gain = lost_against - lost
        if scale is None:
            scale = float(np.max(np.abs(gain), initial=0.0, where=~np.isnan(gain))) or 1.0
        gain = gain / scale
        # gains are -1, 0 or 1: rounds with equal predictions carry no information, as in McNemar's test
        if loss is words:
            noise: Noise = OfPredictions.from_rounds(
                np.asarray(trace.prediction != against.prediction, bool), task, tasks
            )
        else:
            noise = trace.gain_noise(against, gain, scale)
        by_task = [Tally.from_values(values, task, tasks) for values in (gain, cost, cost_against)]
        overall = map(Tally.from_values, (cost_against - cost, cost, cost_against, lost, lost_against))
        return cls(words, loss, scale, by_task[0], noise, *by_task[1:], *overall)

    def plus(self, other: Pair, places: Ints) -> Pair:
        """Return the sums over the rounds of both pairs.

        ``places`` maps the tasks of ``other`` to those of this pair.
        """
        groups = (places,) * _OF_TASKS + (np.zeros(1, np.int64),) * _OF_ALL
        sums: Any = map(add_groups, self[3:], other[3:], groups)
        return Pair(*self[:3], *sums)

    def without(self, tasks: Ints) -> Pair:
        """Return the sums without those of some tasks; sums over all rounds are unchanged."""
        sums: Any = self[3:]
        left = [type(tally)(*(np.delete(array, tasks) for array in tally)) for tally in sums[:_OF_TASKS]]
        return Pair(*self[:3], *left, *sums[_OF_TASKS:])

    def to_saved(self) -> tuple[list[str], Arrays]:
        """Return all sums as named arrays, with the names of costs, losses and the kind of noise."""
        sums: Any = zip(_NAMES, self[3:], strict=True)
        arrays = {f"{name}.{field}": array for name, tally in sums for field, array in tally._asdict().items()}
        return [self.words.error, self.loss.error, kind_of(self.noise)], arrays

    @classmethod
    def from_saved(cls, names: list[str], arrays: Mapping[str, Array], tasks: int) -> Pair:
        """Restore the sums from :meth:`to_saved`; raise ValueError for a wrong number of tasks."""
        words, loss, kind = names
        sums: list[Any] = []
        for name, length in zip(_NAMES, (tasks,) * _OF_TASKS + (1,) * _OF_ALL, strict=True):
            tally: Any = KINDS[kind] if name == "noise" else Tally
            sums.append(tally(*(arrays[f"{name}.{field}"] for field in tally._fields)))
            require(all(array.shape == (length,) for array in sums[-1]), "the sums of a service are of other tasks")
        return cls(_WORDS[words], _WORDS[loss], 1.0, *sums)
