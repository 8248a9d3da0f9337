"""Timing side by side, and the one table that every script prints: what, target, ours, peer, ratio, spread, verdict."""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

UNITS = {"ns": 1e9, "µs": 1e6, "ms": 1e3, "s": 1.0}


@dataclass(frozen=True)
class Timing:
    """Seconds of several runs."""

    seconds: Sequence[float]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    def shown(self, count: float = 1, unit: str = "ns") -> str:
        """The median and its range for one of ``count`` things."""
        low, middle, high = (each / count * UNITS[unit] for each in (min(self.seconds), self.median, max(self.seconds)))
        return f"{middle:.4g} ({low:.4g} to {high:.4g}) {unit}"


@dataclass(frozen=True)
class Row:
    """One line of the table; ``floor`` says what forbids a target that is not reached."""

    what: str
    target: str
    ours: str
    peer: str = "–"
    ratio: str = "–"
    spread: str = "–"
    reached: bool | None = None
    floor: str = ""

    @property
    def verdict(self) -> str:
        return {True: "reached", False: "missed", None: "–"}[self.reached]


def prepared(name: str) -> Any:
    """The arrays of NAME.npz in the folder that COTERIE_DATA names; where it is not there, the end, with what to do."""
    folder = os.environ.get("COTERIE_DATA")
    if not folder:
        raise SystemExit(f"{name}.npz is needed: set COTERIE_DATA to the folder of prepared data sets it lies in")
    path = Path(folder, f"{name}.npz")
    if not path.is_file():
        raise SystemExit(f"{path}: no such file; `python -m papers.data` lists the data sets and where they come from")
    return np.load(path)


def cpu(work: Callable[[], object]) -> float:
    """CPU seconds of one run, all threads."""
    start = time.process_time()
    work()
    return time.process_time() - start


def side_by_side(works: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, Timing]:
    """Run all in turn so often: what disturbs one run disturbs the others too.

    Each timed run follows one of the same that is not timed, which compiles, fills the caches, and leaves memory behind
    that need not be had from the system: on a virtual machine whose host takes free memory back, a quarter of a gigabyte
    costs half a second, more than learning 200 000 texts.
    """
    found: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(repeats):
        for name, work in works.items():
            work()
            found[name].append(cpu(work))
    return {name: Timing(seconds) for name, seconds in found.items()}


def at_least(
    what: str,
    target: float | None,
    ours: Timing,
    peer: Timing,
    count: float,
    *,
    unit: str = "ns",
    counts: tuple[float, float] | None = None,
    fair: bool = True,
    floor: str = "",
) -> Row:
    """Ours is to be so many times as fast as the peer; ``counts`` where the two did not do as much, ``fair`` if alike."""
    mine, theirs = counts or (count, count)
    ratios = [b / theirs * mine / a for a, b in zip(ours.seconds, peer.seconds, strict=False)]
    ratio = peer.median / theirs * mine / ours.median
    reached = None if target is None else ratio >= target and fair
    goal = "–" if target is None else f"≥ {target:g}"
    return Row(what, goal, ours.shown(mine, unit), peer.shown(theirs, unit), *_ratio(ratio, ratios), reached, floor)


def at_most(
    what: str, target: float | None, ours: Timing, peer: Timing, count: float, *, unit: str = "ns", floor: str = ""
) -> Row:
    """Ours is to take at most so many times the time of the peer."""
    ratios = [a / b for a, b in zip(ours.seconds, peer.seconds, strict=True)]
    ratio = ours.median / peer.median
    shown = ours.shown(count, unit), peer.shown(count, unit), *_ratio(ratio, ratios)
    if target is None:
        return Row(what, "–", *shown, floor=floor)
    return Row(what, f"≤ {target:g}", *shown, ratio <= target, floor)


def within(what: str, limit: float, ours: Timing, *, count: float = 1, unit: str = "s", floor: str = "") -> Row:
    """Ours is to take at most so long."""
    each = ours.median / count * UNITS[unit]
    return Row(what, f"≤ {limit:g} {unit}", ours.shown(count, unit), reached=each <= limit, floor=floor)


def _ratio(ratio: float, ratios: Sequence[float]) -> tuple[str, str]:
    return f"{ratio:.3g}", f"{min(ratios):.3g} to {max(ratios):.3g}"


HEADER = "| what | target | coterie | other side | ratio | spread | verdict |\n|---|---|---|---|---|---|---|"


def show(rows: Iterable[Row]) -> list[Row]:
    """Print rows as they come, and the floors of those that reach no target or have none; gives them back."""
    print(HEADER, flush=True)
    shown = []
    for row in rows:
        cells = row.what, row.target, row.ours, row.peer, row.ratio, row.spread, row.verdict
        print(f"| {' | '.join(cells)} |", flush=True)
        shown.append(row)
    for row in shown:
        if row.floor and not row.reached:
            print(f"\nLower limit, {row.what}: {row.floor}")
    return shown


def main(rows: Callable[[bool], Iterator[Row]], doc: str | None) -> None:
    """What a script does that is run by itself."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes, few repetitions: to see that it runs")
    show(rows(parser.parse_args().quick))
