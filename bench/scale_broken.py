"""What several workers have learned after they were killed.

    python -m bench.scale_broken lanes 50
    python -m bench.scale_broken nodes 5
    python -m bench.scale_broken runs 20

* ``lanes N``: while two workers on Ray learn, one of them is killed N times, at random blocks. Every margin and the file in
  the end must be those of one process.
* ``nodes N``: the same of a cluster of two nodes, both on this machine, of which one is killed N times, and another one joins.
* ``runs N``: `coterie learn --checkpoint` is killed (kill -9) N times at random moments, some of them while it saves, and resumed
  each time. The file in the end must be that of a run that was never killed.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import coterie as ct
from bench.scale import parquet, saved
from coterie.inputs.block import Block
from coterie.scale.sharded import read_manifest
from coterie.scale.spreading import spreading

if TYPE_CHECKING:
    from coterie.scale.ray_engine import Ray


def blocks(n: int, size: int = 256) -> list[Block]:
    """Small blocks, so that there are many moments at which to kill."""
    rng = np.random.default_rng(0)
    task = rng.zipf(1.4, size=n) % 500
    X = rng.standard_normal((n, 10))
    y = X[:, 0] * np.where(task % 2, 1, -1) + X[:, 1] > 0
    cuts = [slice(first, first + size) for first in range(0, n, size)]
    return [Block(X[cut], y[cut], task[cut], np.arange(n)[cut]) for cut in cuts]


def learned(model: Any, some: list[Block]) -> Any:
    inner = model.__stream_model__()
    return np.concatenate([inner.learn(block).margin for block in some])


def same(engine: Ray, some: list[Block], at: set[int], kill: Callable[[], None]) -> None:
    """Learn by one process and by an engine of which something is killed before some blocks."""
    one, several = (ct.AdaptiveSharingClassifier(members="separable", scale="none") for _ in range(2))
    expected, told = learned(one, some), []
    with engine, spreading({"model": several}, engine):
        for b, block in enumerate(some):
            if b in at:
                kill()
            told.append(several.__stream_model__().learn(block).margin)
    print(f"workers begun anew: {engine.lost}")
    print(f"margins equal: {np.array_equal(np.concatenate(told), expected)}")
    print(f"files equal: {saved(one) == saved(several)}")


def lanes(kills: int) -> None:
    from coterie.scale.ray_engine import Ray

    chance, some = random.Random(0), blocks(256 * 4 * kills)
    at = set(chance.sample(range(1, len(some)), kills))
    engine = Ray(2)
    print(f"workers killed: {kills}")
    same(engine, some, at, lambda: engine.ray.kill(chance.choice(engine.actors)))


def nodes(kills: int) -> None:
    from ray.cluster_utils import Cluster

    from coterie.scale.ray_engine import Ray

    some = blocks(256 * 40 * (kills + 1))
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    others = [cluster.add_node(num_cpus=1)]
    engine = Ray(4, cluster.address)

    def kill() -> None:
        cluster.remove_node(others.pop(), allow_graceful=False)
        others.append(cluster.add_node(num_cpus=1))

    print(f"nodes killed: {kills}")
    same(engine, some, {40 * (k + 1) for k in range(kills)}, kill)
    cluster.shutdown()


def runs(kills: int) -> None:
    chance = random.Random(0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = parquet(folder / "numbers.parquet", 200_000)
        words = [sys.executable, "-m", "coterie", "learn", str(data), "--task", "user", "--label", "click", "--quiet"]
        words += ["--learner", "adaptive(members=separable)", "--alone", "--workers", "2"]
        start = time.perf_counter()
        subprocess.run([*words, "--output", str(folder / "one.coterie")], check=True)
        seconds = time.perf_counter() - start
        words += ["--checkpoint", str(folder / "state"), "--save-every", "16384", "--resume"]
        killed = 0
        reached = []
        while killed < kills:
            process = subprocess.Popen([*words, "--output", str(folder / "last.coterie")], stderr=subprocess.DEVNULL)
            time.sleep(chance.uniform(0.6, 2.0) * seconds)
            if process.poll() is None:
                process.kill()
                killed += 1
            process.wait()
            reached.append(_records(folder / "state"))
            if (folder / "last.coterie").exists():  # it was done before it could be killed: from the beginning
                _require_same(folder)
                (folder / "last.coterie").unlink()
                for each in (folder / "state").iterdir():
                    each.unlink()
        subprocess.run([*words, "--output", str(folder / "last.coterie")], check=True, stderr=subprocess.DEVNULL)
        _require_same(folder)
        print(f"runs killed: {killed}, after the checkpoints of {', '.join(f'{n:,}' for n in reached)} records")
        print("files equal: True")


def _records(folder: Path) -> int:
    return read_manifest(folder).records if (folder / "manifest.json").exists() else 0


def _require_same(folder: Path) -> None:
    if (folder / "one.coterie").read_bytes() != (folder / "last.coterie").read_bytes():
        raise SystemExit("files equal: False")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("lanes", "nodes", "runs"))
    parser.add_argument("times", type=int)
    said = parser.parse_args()
    {"lanes": lanes, "nodes": nodes, "runs": runs}[said.what](said.times)
