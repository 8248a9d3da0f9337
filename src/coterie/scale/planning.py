"""Estimates of the memory and time that learning by several workers takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie import spec
from coterie.index import distinct_labels
from coterie.inputs.block import Block
from coterie.io.readers import read
from coterie.io.sources import find_paths
from coterie.round.contract import BaseLearner

from .lanes import Threads, parts_for
from .partition import part_of, why_whole
from .spreading import check_lanes, learning_by, members_of, names_of_parts, online_model, spread

#: A sample is of at most so many records: whole tasks, so that they are as long as they are.
MOST_SAMPLED = 200_000
#: Tasks are sampled by their hash, in so many steps.
_HASHES = 2**20


@dataclass(frozen=True)
class LanePlan:
    """The part of a model that one lane learns, and the memory and time that this takes.

    Attributes
    ----------
    name : str
        As in the engine's seconds.
    why_whole : str
        Why the lane has all tasks; empty where it has a part of them.
    bytes, seconds : float or None
        Memory for what it learns, and CPU time, as far as the sample tells; None where no files were looked at.
    """

    name: str
    why_whole: str
    bytes: float | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class Plan:
    """The lanes of a model that several workers learn. Their result is that of one worker, to the last bit.

    Attributes
    ----------
    workers : int
        How many lanes work at a time.
    lanes : tuple of LanePlan
        Every lane.
    records, tasks : int or None
        How many the files have.
    sampled : int or None
        The records of the tasks from which memory and time are estimated.
    """

    workers: int
    lanes: tuple[LanePlan, ...]
    records: int | None = None
    tasks: int | None = None
    sampled: int | None = None

    @property
    def slowest(self) -> LanePlan | None:
        """The lane that takes longest, below whose time no number of workers can go."""
        return None if self.records is None else max(self.lanes, key=lambda lane: lane.seconds or 0.0)

    @property
    def speedup(self) -> float | None:
        """The time of learning in one lane over that of learning in these by the workers; reading is not counted."""
        if self.slowest is None:
            return None
        total = sum(lane.seconds or 0.0 for lane in self.lanes)
        return total / max(self.slowest.seconds or 0.0, total / self.workers)

    def __str__(self) -> str:
        lines = [f"{'lane':<24}{'tasks':>8}{'memory':>12}{'CPU':>10}"]
        for lane in self.lanes:
            memory = "" if lane.bytes is None else f"{lane.bytes / 2**20:,.1f} MiB"
            seconds = "" if lane.seconds is None else f"{lane.seconds:,.1f} s"
            lines.append(f"{lane.name:<24}{'all' if lane.why_whole else 'a part':>8}{memory:>12}{seconds:>10}")
        whys = dict.fromkeys(lane.why_whole for lane in self.lanes if lane.why_whole)
        lines += [f"All tasks in one lane: {why}." for why in whys]
        if self.slowest is not None:
            times = f"up to {self.speedup:.1f} times as fast, bound by {self.slowest.name!r}"
            lines.append(f"{self.workers} workers: {times}.")
        return "\n".join(lines)


def plan(model: Any, paths: str | Iterable[str] | None = None, workers: int = 2, **reading: Any) -> Plan:
    """Return the lanes in which a model would learn and, given files, the memory and time that each would take.

    The model is not touched. Files are read once; of a sample of their tasks, at most 200,000 records, a copy of the
    model learns how much memory and time a task takes.

    Parameters
    ----------
    model : online estimator
        What is to learn; its parameters are looked at.
    paths : str or iterable of str, optional
        The files.
    workers : int
        How many there will be.
    **reading
        As in :func:`coterie.io.readers.read`.

    Returns
    -------
    Plan

    Raises
    ------
    ValueError
        If the model cannot learn by several workers: saying why, and what could.

    Examples
    --------
    >>> import coterie as ct
    >>> print(plan(ct.AdaptiveSharingClassifier(members="cheap"), workers=2))
    lane                       tasks      memory       CPU
    member 0                     all
    member 1, part 1          a part
    member 1, part 2          a part
    member 1, part 3          a part
    member 1, part 4          a part
    All tasks in one lane: Pooled() lets every task learn from all others.
    """
    spec.check_count("workers", workers)
    check_lanes(model, workers)
    members = members_of(online_model(model).learner)
    whys = [why_whole(member) for _, member in members]
    if paths is None:
        return Plan(workers, tuple(_lanes(members, whys, workers)))
    sample = _Sample()
    for block in read(find_paths(paths), **reading):
        sample.add(block)
    taken = _taken(type(model)(**model.get_params(deep=False)), sample)
    tasks, records = len(sample.tasks) / max(sample.tasks_held, 1), sample.records / max(sample.held, 1)
    found = [(shared, own * tasks, seconds * records) for shared, own, seconds in taken]
    return Plan(workers, tuple(_lanes(members, whys, workers, found)), sample.records, len(sample.tasks), sample.held)


def _lanes(
    members: Sequence[tuple[str, BaseLearner]],
    whys: Sequence[str],
    workers: int,
    found: Sequence[tuple[float, float, float]] = (),
) -> Iterator[LanePlan]:
    """The lanes of members, with what is shared, what is of tasks, and the seconds of each, where that is known."""
    for m, ((name, _), why) in enumerate(zip(members, whys, strict=True)):
        names = names_of_parts(name, 1 if why else parts_for(workers))
        for lane in names:
            if found:
                shared, own, seconds = found[m]
                yield LanePlan(lane, why, shared + own / len(names), seconds / len(names))
            else:
                yield LanePlan(lane, why)


class _Sample:
    """The records of some tasks of a stream, chosen by their hashes, so that there are not too many."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.tasks: dict[Any, bool] = {}
        self.records = self.held = 0
        self._below = _HASHES

    def add(self, block: Block) -> None:
        """Take the records of the tasks chosen; if there are too many, half of the tasks go."""
        self.records += len(block)
        self._take(block)
        while self.held > MOST_SAMPLED and self._below > 1:
            self._below //= 2
            blocks, self.blocks, self.held = self.blocks, [], 0
            self.tasks = {task: part_of(task, _HASHES) < self._below for task in self.tasks}
            for each in blocks:
                self._take(each)

    def _take(self, block: Block) -> None:
        distinct, codes = distinct_labels(block.tasks)
        for task in distinct:
            if task not in self.tasks:
                self.tasks[task] = part_of(task, _HASHES) < self._below
        places = np.flatnonzero(np.array([self.tasks[task] for task in distinct])[codes])
        if len(places):
            self.blocks.append(block.take(places))
            self.held += len(places)

    @property
    def tasks_held(self) -> int:
        """How many tasks are in the sample."""
        return sum(self.tasks.values())


def _taken(model: Any, sample: _Sample) -> list[tuple[float, float, float]]:
    """Bytes that are shared, bytes of tasks, and CPU seconds of each member that has learned a sample."""
    inner = online_model(model)
    with Threads(1) as engine, learning_by(inner, spread(inner.learner, engine)):
        for block in sample.blocks:
            inner.learn(block)
        found: dict[str, list[float]] = {}
        for lane in engine.lanes:
            state, seconds = lane.state(), lane.start("spent").result()
            shared = getattr(getattr(state.model, "groups", None), "nbytes", 0)
            held = found.setdefault(lane.name, [0.0, 0.0, 0.0])
            held[:] = held[0] + shared, held[1] + state.nbytes - shared, held[2] + seconds
    return [(shared, own, seconds) for shared, own, seconds in found.values()]
