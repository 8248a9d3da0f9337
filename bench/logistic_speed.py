"""Logistic learning, AROW and adaptive sharing, weights hashed into 2^24 places, beside Vowpal Wabbit reading its own cache.

    python -m bench.logistic_speed [--quick]

The aim of text streams: MultitaskLogistic at least 6 times, MultitaskAROW and adaptive sharing at least 3 times as many
examples per CPU second, at fewer mistakes than its best rate; ours have their fixed default settings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import coterie as ct
from bench import streams
from bench.harness import Row, main
from bench.race import race

HASHED: dict[str, Any] = {"storage": "hashed", "bits": 24}
OURS: dict[str, tuple[Callable[[], Any], float | None]] = {
    "MultitaskLogistic": (lambda: ct.MultitaskLogistic(**HASHED), 6.0),
    "MultitaskAROW": (lambda: ct.MultitaskAROW(**HASHED), 3.0),
    "adaptive sharing": (lambda: ct.AdaptiveSharingClassifier(**HASHED), 3.0),
    "adaptive sharing, cheap": (lambda: ct.AdaptiveSharingClassifier("cheap", **HASHED), None),
}


def rows(quick: bool) -> Iterator[Row]:
    examples, repeats = (10_000, 1) if quick else (200_000, 2)
    for tasks in (100, 10_000):
        block = streams.text(tasks, examples)
        for name, (make, target) in OURS.items():
            yield race(f"text K = {tasks}", block, {name: make}, target, repeats)


if __name__ == "__main__":
    main(rows, __doc__)
