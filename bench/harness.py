"""Timing side by side, and the table that every script prints: what, target, ours, peer, ratio, verdict."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Timing:
    """CPU seconds of several runs."""

    seconds: Sequence[float]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    def per(self, count: float, unit: float = 1e9) -> str:
        """The median and its range for one of ``count`` things, in nanoseconds unless another unit is named."""
        low, middle, high = (each / count * unit for each in (min(self.seconds), self.median, max(self.seconds)))
        return f"{middle:.4g} ({low:.4g}–{high:.4g})"


def cpu(work: Callable[[], object]) -> float:
    """CPU seconds of one run."""
    start = time.process_time()
    work()
    return time.process_time() - start


def side_by_side(works: dict[str, Callable[[], object]], repeats: int) -> dict[str, Timing]:
    """Run all once to warm up, then in turn so often: what disturbs one run disturbs the others too."""
    for work in works.values():
        work()
    found: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(repeats):
        for name, work in works.items():
            found[name].append(cpu(work))
    return {name: Timing(seconds) for name, seconds in found.items()}


def header() -> None:
    print("| what | target | ours | peer | ratio | verdict |\n|---|---|---|---|---|---|", flush=True)


def row(what: str, target: str, ours: str, peer: str, ratio: float, reached: bool) -> None:
    print(f"| {what} | {target} | {ours} | {peer} | {ratio:.3g} | {'reached' if reached else 'MISSED'} |", flush=True)
