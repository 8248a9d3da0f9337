"""Examples per CPU second of logistic learning and of adaptive sharing, beside Vowpal Wabbit reading its own cache.

    python -m bench.logistic_speed [--examples 200000] [--repeats 3]

Aims on the text streams: MultitaskLogistic at least 6 times, adaptive sharing at least 3 times Vowpal Wabbit's, at
fewer mistakes than its best rate, weights being hashed into 2**24 places by both. Medians, the spread beside them.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import coterie as ct
from bench import streams, vowpal
from coterie.streams.block import Block

HASHED: dict[str, Any] = {"storage": "hashed", "bits": 24}
OURS: dict[str, tuple[Callable[[], Any], float | None]] = {
    "MultitaskLogistic, hashed": (lambda: ct.MultitaskLogistic(**HASHED), 6.0),
    "MultitaskLogistic, as it decides itself": (ct.MultitaskLogistic, None),
    "adaptive sharing, hashed": (lambda: ct.AdaptiveSharingClassifier(**HASHED), 3.0),
    "adaptive sharing, cheap, hashed": (lambda: ct.AdaptiveSharingClassifier("cheap", **HASHED), None),
}
RATES = (0.5, 1.5)


def ours(make: Callable[[], Any], block: Block) -> tuple[float, float]:
    """CPU seconds of one pass over a block that is read, compiled before, and the error."""
    ct.progressive_validation(make(), iter([block.piece(0, 200)]))  # compiles
    model = make()
    start = time.process_time()
    trace = ct.progressive_validation(model, iter([block]))
    return time.process_time() - start, trace.error


def theirs(block: Block, repeats: int) -> dict[str, tuple[list[float], float]]:
    """Vowpal Wabbit's CPU seconds from its cache, and its error, by rate."""
    made = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "records.vw"
        vowpal.write(block.X, block.y, block.tasks, path)
        vowpal.learn(path, vowpal.DEFAULT, bits=24)  # writes the cache
        for rate in RATES:
            outcomes = [vowpal.learn(path, ("logistic", "crossed", rate), bits=24) for _ in range(repeats)]
            error = vowpal.error(outcomes[0].margin, block.y)
            made[f"Vowpal Wabbit, logistic, crossed, -l {rate}"] = [each.seconds for each in outcomes], error
    return made


def compare(name: str, block: Block, repeats: int) -> None:
    """Print the table of one stream."""
    peers = theirs(block, repeats)
    found = {}
    for learner, (make, _) in OURS.items():
        passes = [ours(make, block) for _ in range(repeats)]
        found[learner] = [seconds for seconds, _ in passes], passes[0][1]
    peer = min(float(np.median(seconds)) for seconds, _ in peers.values())
    fewest = min(error for _, error in peers.values())
    print(f"\n{name}: {len(block)} examples")
    print(f"{'':45s} {'examples/s':>11s} {'spread':>7s} {'times VW':>9s} {'aim':>5s} {'error':>7s}")
    for learner, (seconds, error) in {**peers, **found}.items():
        aim = OURS[learner][1] if learner in OURS else None
        rate, spread = len(block) / np.median(seconds), (max(seconds) - min(seconds)) / np.median(seconds)
        verdict = "" if aim is None else f"{aim:5.1f} {'kept' if peer * rate / len(block) >= aim else 'MISSED'}"
        fewer = "" if learner in peers else ("fewer" if error <= fewest else "MORE")
        times = f"{rate:11.0f} {spread:7.0%} {peer / np.median(seconds):9.1f}"
        print(f"{learner:45s} {times} {verdict:>12s} {error:7.4f} {fewer}", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=200_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--streams", nargs="*", default=["text100", "text10000", "dense28"])
    asked = parser.parse_args()
    made = {
        "text100": lambda: streams.text(100, asked.examples),
        "text10000": lambda: streams.text(10_000, asked.examples),
        "dense28": lambda: streams.dense28(asked.examples),
    }
    for name in asked.streams:
        compare(name, made[name](), asked.repeats)


if __name__ == "__main__":
    main()
