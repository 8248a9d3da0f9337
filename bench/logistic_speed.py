"""Logistic learning, AROW and adaptive sharing, weights hashed into 2^24 places, beside Vowpal Wabbit reading its own cache.

    python -m bench.logistic_speed [--quick]

The aim of text streams: MultitaskLogistic at least 6 times, MultitaskAROW 3, adaptive sharing 3.5 and its ensemble 2 times
as many examples per CPU second, at fewer mistakes than its best rate; on dense streams AROW 3 and adaptive sharing 8. Ours
have their fixed default settings, but for the noise r of AROW, of which it has four to choose from, as Vowpal Wabbit has six.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from bench import plain, streams
from bench.harness import Row, main
from bench.race import race

HASHED: dict[str, Any] = {"storage": "hashed", "bits": 24}
AROW = {f"MultitaskAROW, r = {r:g}": lambda r=r: plain.MultitaskAROW(r=r, **HASHED) for r in (3.0, 10.0, 30.0, 100.0)}
OURS: tuple[tuple[dict[str, Callable[[], Any]], float | None], ...] = (
    ({"MultitaskLogistic": lambda: plain.MultitaskLogistic(**HASHED)}, None),
    (AROW, 3.0),
    ({"adaptive sharing": lambda: plain.AdaptiveSharingClassifier(**HASHED)}, 2.0),
    ({"adaptive sharing, ensemble": lambda: plain.AdaptiveSharingClassifier("ensemble", **HASHED)}, None),
    ({"adaptive sharing, cheap": lambda: plain.AdaptiveSharingClassifier("cheap", **HASHED)}, None),
)
DENSE = {f"MultitaskAROW, r = {r:g}": lambda r=r: plain.MultitaskAROW(r=r) for r in (3.0, 10.0, 30.0, 100.0)}
ADAPTIVE = {"adaptive sharing": plain.AdaptiveSharingClassifier}


def rows(quick: bool) -> Iterator[Row]:
    examples, repeats = (10_000, 1) if quick else (200_000, 2)
    for tasks in (100, 10_000):
        block = streams.text(tasks, examples)
        for candidates, target in OURS:
            yield race(f"text K = {tasks}", block, candidates, target, repeats)
    for name, block in (("dense28", streams.dense28(examples)), ("dense128", streams.dense128(examples))):
        yield race(name, block, DENSE, 3.0, repeats)
        yield race(name, block, ADAPTIVE, None, repeats)


if __name__ == "__main__":
    main(rows, __doc__)
