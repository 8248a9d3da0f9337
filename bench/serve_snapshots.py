"""What a snapshot of `coterie serve` costs, by the size of the model: bytes, seconds, and seconds in which all else waits.

    python -m bench.serve_snapshots [--quick] [--folder DIR]

Each snapshot is whole: the default model, its baselines, and the ids of all records. Records have twenty named numbers; all
tasks have ten records. The folder, a new one below the current folder, is on the disk that is timed.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

import coterie as ct
from coterie.serve.engine import Engine
from coterie.serve.events import Record
from coterie.serve.service import Service

FEATURES, EACH, BATCH, TIMES = 20, 10, 2000, 5


def cost(folder: Path, tasks: int, live: bool) -> str:
    """A line of the table: the median of several snapshots."""
    rng = np.random.default_rng(0)
    with Service(folder, lambda: Engine(ct.AdaptiveSharingClassifier(), compared=live), every_seconds=None) as service:
        for first in range(0, tasks * EACH, BATCH):
            values = rng.standard_normal((BATCH, FEATURES))
            records = [
                Record(
                    id=f"event-{first + k}",
                    task=f"u{(first + k) % tasks}",
                    x={f"feature{j}": float(value) for j, value in enumerate(row)},
                    y=bool(row.sum() > 0),
                )
                for k, row in enumerate(values)
            ]
            service.observe(records)
        found = []
        for _ in range(TIMES):
            service.snapshot()
            found.append(service.snapshot_cost)
    costs = [each for each in found if each is not None]
    seconds, blocked = (float(np.median([getattr(each, name) for each in costs])) for name in ("seconds", "blocked"))
    return f"| {tasks:,} | {'yes' if live else 'no'} | {costs[-1].size / 2**20:.3g} | {seconds:.3g} | {blocked:.3g} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes: to see that it runs")
    parser.add_argument("--folder", type=Path, default=Path(), help="where the snapshots lie")
    asked = parser.parse_args()
    print("| tasks | verdict | MiB | seconds | of these all else waits |\n|---|---|---|---|---|")
    for tasks in (200,) if asked.quick else (200, 2_000, 20_000):
        for live in (True, False):
            with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
                print(cost(Path(folder), tasks, live), flush=True)


if __name__ == "__main__":
    main()
