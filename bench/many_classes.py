"""`OneVsRest` of so many classes over as many and one models of two classes: what the classes cost besides.

CPU seconds of the default learner, 20 dense numbers and 20 tasks, in blocks and one record at a time. The peer is the same
learner of two classes on the same records, times the number of classes and one, for there is a spare.

python -m bench.many_classes [--quick]
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import coterie as ct
from bench.harness import Row, main, side_by_side

FEATURES, TASKS = 20, 20


def stream(n: int, classes: int) -> tuple[Any, Any, Any]:
    """Records with as many labels, a linear truth a class."""
    rng = np.random.default_rng(0)
    X, task = rng.standard_normal((n, FEATURES)), rng.integers(TASKS, size=n)
    return X, np.argmax(X @ rng.standard_normal((FEATURES, classes)), axis=1), task


def in_blocks(classes: int, n: int, repeats: int) -> Row:
    X, y, task = stream(n, classes)
    found = side_by_side(
        {
            "many": lambda: ct.OneVsRest(ct.AdaptiveSharingClassifier()).fit(X, y, task=task),
            "two": lambda: ct.AdaptiveSharingClassifier().fit(X, y == 0, task=task),
        },
        repeats,
    )
    return _row(f"{classes} classes, in blocks: a record and class", found, classes, n)


def one_by_one(classes: int, n: int, repeats: int) -> Row:
    X, y, task = stream(n, classes)
    records = [
        ({f"x{j}": value for j, value in enumerate(x)}, label, i)
        for x, label, i in zip(X.tolist(), y, task, strict=True)
    ]
    many = ct.OneVsRest(ct.AdaptiveSharingClassifier()).fit([x for x, _, _ in records], y, task=task)
    two = ct.AdaptiveSharingClassifier().fit([x for x, _, _ in records], y == 0, task=task)

    def go(model: Any, label: Any) -> None:
        for x, each, i in records:
            model.learn_one(x, label(each), task=i)

    found = side_by_side({"many": lambda: go(many, int), "two": lambda: go(two, lambda y: bool(y == 0))}, repeats)
    return _row(f"{classes} classes, one record at a time: a record and class", found, classes, n)


def _row(what: str, found: Any, classes: int, n: int) -> Row:
    many, two = found["many"], found["two"]
    ratio = many.median / (two.median * (classes + 1))
    return Row(what, "–", many.shown(n * (classes + 1), "µs"), two.shown(n, "µs"), f"{ratio:.3g}")


def rows(quick: bool) -> Iterator[Row]:
    repeats = 1 if quick else 3
    for classes in (3, 20, 200):
        yield in_blocks(classes, max((2_000 if quick else 40_000) // classes, 200), repeats)
        yield one_by_one(classes, max((600 if quick else 6_000) // classes, 3 * classes), repeats)


if __name__ == "__main__":
    main(rows, __doc__)
