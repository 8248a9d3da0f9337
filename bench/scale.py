"""Several workers beside one: wall time from memory and from a file, what lanes take, what a plan says of memory.

    python -m bench.scale [--quick] [--ray]
    python -m bench.scale --long [--quick]

Records in memory are texts of 123 entries of 2,000 tasks; the file has 30 columns of numbers, as Parquet. All models are
compared at the end: they must be equal to the last bit. With ``--ray`` the workers are Ray's, of this machine, and how long
it takes to start and to stop is told apart. ``--long`` is a stream of 10⁷ records of 10⁶ tasks, a model each.
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse as sp

import coterie as ct
from bench.harness import Row, Timing, show
from coterie import scale
from coterie.inputs.block import Block
from coterie.io.readers import read
from coterie.jobs.learning import go_on
from coterie.scale.engines import engine_of
from coterie.scale.lanes import LaneEngine
from coterie.scale.spreading import spreading

WORKERS, BLOCK = 2, 16_384
ENTRIES, WORDS, TASKS = 123, 100_000, 2_000


def texts(n: int, seed: int = 0) -> list[Block]:
    """Blocks of records with so many words each, the frequent ones first, of tasks some of which are large."""
    rng = np.random.default_rng(seed)
    made = []
    for first in range(0, n, BLOCK):
        size = min(BLOCK, n - first)
        words = np.sort((WORDS * rng.random((size, ENTRIES)) ** 3).astype(np.int32), axis=1)
        values = np.full(words.size, 1.0 / np.sqrt(ENTRIES))
        X = sp.csr_array((values, words.ravel(), np.arange(size + 1) * ENTRIES), (size, WORDS))
        task = (TASKS * rng.random(size) ** 2).astype(np.int64)
        y = (words[:, :10].sum(axis=1) + task % 7 * 100 + rng.normal(0, 300, size)) > 800
        made.append(Block(X, y, task, np.arange(first, first + size)))
    return made


def parquet(path: Path, n: int, columns: int = 30) -> Path:
    """A file of numbers of 20,000 tasks, some of which are large."""
    rng = np.random.default_rng(0)
    task = rng.zipf(1.3, size=n) % 20_000
    X = rng.standard_normal((n, columns)).astype(np.float32)
    truth = rng.standard_normal((20_000, columns)) * 0.7 + rng.standard_normal(columns)
    y = np.einsum("ij,ij->i", X, truth[task]) + rng.logistic(size=n) > 0
    table = {"user": task, "click": y.astype(int)} | {f"x{j}": X[:, j] for j in range(columns)}
    pq.write_table(pa.table(table), path, row_group_size=65_536)
    return path


def plain(**given: Any) -> Any:
    """A model of records as they are."""
    return ct.AdaptiveSharingClassifier(fit_intercept=False, scale="none", **given)


MODELS: dict[str, tuple[Callable[[], Any], float]] = {
    "one model a task": (lambda: ct.MultitaskLogistic(ct.Independent(), fit_intercept=False, scale="none"), 1.6),
    "separable": (lambda: plain(members="separable"), 1.0),
    "default": (plain, 1.0),
}


def learned(make: Callable[[], Any], blocks: list[Block], engine: LaneEngine | None) -> tuple[Any, float]:
    """The model that learned blocks, and the wall seconds of learning; lanes are begun and ended beside."""
    model = make()
    if engine is None:
        return model, learned_blocks(model, blocks)
    with spreading({"model": model}, engine):
        seconds = learned_blocks(model, blocks)
    return model, seconds


def learned_blocks(model: Any, blocks: list[Block]) -> float:
    """The wall seconds in which a model learns blocks."""
    start = time.perf_counter()
    for block in blocks:
        model.__stream_model__().learn(block)
    return time.perf_counter() - start


def largest_lane(blocks: list[Block], engine: LaneEngine) -> tuple[float, float]:
    """Bytes that a model of tasks by themselves has learned, and the most that one of its lanes has."""
    model, before = MODELS["one model a task"][0](), len(engine.lanes)
    with spreading({"model": model}, engine):
        learned_blocks(model, blocks)
        held = [lane.start("nbytes").result() for lane in engine.lanes[before:]]
    return model.memory_, max(held)


def from_file(path: Path, members: str, engine: LaneEngine | None) -> tuple[Any, float]:
    """The model that learned a file, and the wall seconds of all."""
    from coterie.scale.spreading import spreading_by

    start = time.perf_counter()
    reader = read([str(path)], task="user", label="click", scale="auto")
    spread = None if engine is None else spreading_by(engine)
    made = go_on(reader, ct.AdaptiveSharingClassifier(members=members), spread=spread).model  # type: ignore[arg-type]
    return made, time.perf_counter() - start


def saved(model: Any) -> str:
    """The SHA-256 of a model's file."""
    with tempfile.NamedTemporaryFile(suffix=".coterie") as file:
        model.save(file.name)
        with Path(file.name).open("rb") as written:
            return hashlib.file_digest(written, "sha256").hexdigest()


def compared(what: str, target: float, works: tuple[Callable[[], tuple[Any, float]], ...], n: int, repeats: int) -> Row:
    """One and several workers in turn; their models must be the same."""
    if len({saved(work()[0]) for work in works}) > 1:  # which compiles, too
        raise SystemExit(f"{what}: several workers learned another model than one")
    turns = [[work()[1] for work in works] for _ in range(repeats)]
    one, several = (Timing(each) for each in zip(*turns, strict=True))
    ratios = [turn[0] / turn[1] for turn in turns]
    ratio = float(np.median(ratios))
    spread = f"{min(ratios):.3g} to {max(ratios):.3g}"
    return Row(
        what, f"≥ {target:g}", several.shown(n, "µs"), one.shown(n, "µs"), f"{ratio:.3g}", spread, ratio >= target
    )


def rows(quick: bool, ray: bool = False) -> Iterator[Row]:
    n, repeats = (20_000, 1) if quick else (100_000, 3)
    where = "on Ray" if ray else "on threads"
    blocks = texts(n)
    start = time.perf_counter()
    engine = engine_of(WORKERS, "local" if ray else None)
    if ray:
        yield Row("Ray: start", "–", f"{time.perf_counter() - start:.1f} s")
    with engine:
        for name, (make, target) in MODELS.items():
            works = (lambda make=make: learned(make, blocks, None)), (lambda make=make: learned(make, blocks, engine))
            before = engine.seconds()
            row = compared(f"texts, {name}, {WORKERS} workers {where}, wall", target, works, n, repeats)
            yield row
            spent = {lane: seconds - before.get(lane, 0.0) for lane, seconds in engine.seconds().items()}
            busy = {lane: seconds / (repeats + 1) for lane, seconds in spent.items() if seconds > 0.01}
            told = ", ".join(f"{lane} {seconds:.2f}" for lane, seconds in busy.items())
            yield Row(f"texts, {name}: CPU of each lane, s", "–", told)
            bound = min(WORKERS, sum(busy.values()) / max(busy.values()))
            part = float(row.ratio) / bound
            what = f"texts, {name}: times as fast as one worker, of what the lanes' CPU allows"
            yield Row(what, "≥ 0.8", row.ratio, f"{bound:.3g}", f"{part:.3g}", reached=part >= 0.8)
        one, held = largest_lane(blocks, engine)
        ours, peer = f"{held / 2**20:.1f} MiB", f"{one / 2**20:.1f} MiB"
        what = "texts, one model a task: the largest lane's memory, of one process"
        yield Row(what, "≤ 0.6", ours, peer, f"{held / one:.3g}", reached=held / one <= 0.6)
        with tempfile.TemporaryDirectory() as folder:
            path = parquet(Path(folder) / "numbers.parquet", 50_000 if quick else 1_000_000)
            records = 50_000 if quick else 1_000_000
            for members in ("separable", "default"):
                works = (
                    (lambda members=members: from_file(path, members, None)),
                    (lambda members=members: from_file(path, members, engine)),
                )
                what = f"file of numbers, {members}, {WORKERS} workers {where}, wall with reading"
                yield compared(what, 1.0, works, records, min(repeats, 3))
            model = ct.AdaptiveSharingClassifier(members="separable")
            made = scale.plan(model, str(path), workers=WORKERS, task="user", label="click", scale="auto")
            whole = from_file(path, "separable", None)[0]
            planned, held = sum(lane.bytes or 0.0 for lane in made.lanes), whole.memory_
            spread = f"{made.sampled:,} records of {made.records:,}"
            ratio, reached = f"{planned / held:.3g}", bool(0.8 <= planned / held <= 1.2)
            ours, peer = f"{planned / 2**20:.1f} MiB", f"{held / 2**20:.1f} MiB"
            yield Row("memory that a plan says, of that taken", "0.8 to 1.2", ours, peer, ratio, spread, reached)
        start = time.perf_counter()
    if ray:
        yield Row("Ray: stop", "–", f"{time.perf_counter() - start:.1f} s")


def long(quick: bool) -> Iterator[Row]:
    """A stream of many tasks, of which only a block is held at a time."""
    n, tasks = (10**6, 10**5) if quick else (10**7, 10**6)

    def blocks() -> Iterator[Block]:
        rng = np.random.default_rng(0)
        truth = rng.standard_normal((1000, 8))
        for first in range(0, n, 4 * BLOCK):
            size = min(4 * BLOCK, n - first)
            X, task = rng.standard_normal((size, 8)), rng.integers(tasks, size=size)
            y = np.einsum("ij,ij->i", X, truth[task % 1000]) > 0
            yield Block(X, y, task, np.arange(first, first + size))

    def learn(model: Any) -> float:
        return sum(learned_blocks(model, [block]) for block in blocks())

    make = MODELS["one model a task"][0]
    one, several = make(), make()
    learned_blocks(make(), [next(blocks())])
    seconds = learn(one)
    with engine_of(WORKERS, None) as engine, spreading({"model": several}, engine):
        taken = learn(several)
        held = [lane.start("nbytes").result() for lane in engine.lanes]
    if saved(one) != saved(several):
        raise SystemExit("several workers learned another model than one")
    what = f"{n:,} records of {tasks:,} tasks"
    shown = (f"{each / n * 1e6:.3g} µs" for each in (taken, seconds))
    yield Row(f"{what}, {WORKERS} workers on threads, wall", "–", *shown, f"{seconds / taken:.3g}")
    ours, peer = f"{max(held) / 2**20:.1f} MiB", f"{one.memory_ / 2**20:.1f} MiB"
    ratio = max(held) / one.memory_
    limit = 1.1 / len(held)
    yield Row(
        f"{what}: the largest of {len(held)} lanes, of one process",
        f"≤ {limit:.3g}",
        ours,
        peer,
        f"{ratio:.3g}",
        reached=ratio <= limit,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes, few repetitions: to see that it runs")
    parser.add_argument("--ray", action="store_true", help="workers of Ray in place of threads")
    parser.add_argument("--long", action="store_true", help="only the long stream of many tasks")
    said = parser.parse_args()
    show(long(said.quick) if said.long else rows(said.quick, said.ray))
