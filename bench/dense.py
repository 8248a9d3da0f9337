"""Dense streams from arrays: 28 features and 139 tasks, and 128 features and 1000 tasks.

python -m bench.dense [--quick]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from sklearn.linear_model import SGDClassifier

import coterie as ct
from bench import plain, streams
from bench.harness import Row, at_least, main, side_by_side
from bench.race import feed, race
from coterie.data.block import Block

SHAPES = {"dense28": streams.dense28, "dense128": streams.dense128}
STEPS, NOISES = (0.5, 1.0, 1.5, 3.0), (10.0, 100.0)
CANDIDATES: dict[str, Callable[[], Any]] = {
    **{
        f"PA-I, C = {C:g}": lambda C=C: ct.MultitaskPerceptron(rule=ct.updates.PassiveAggressive(C)) for C in (1.0, 0.3)
    },
    "PA-I, C = 1, averaged": lambda: ct.MultitaskPerceptron(rule=ct.updates.PassiveAggressive(1.0), average=True),
    **{f"logistic, step = {step:g}": lambda step=step: plain.MultitaskLogistic(step=step) for step in STEPS},
    "logistic, step = 1, share 0.6": lambda: plain.MultitaskLogistic(ct.MeanRegularized(share=0.6), step=1.0),
    **{f"AROW, r = {r:g}": lambda r=r: plain.MultitaskAROW(r=r) for r in NOISES},
    "adaptive sharing": plain.AdaptiveSharingClassifier,
}
PER_TASK_RECORDS = 2000


def against_dictionary(shape: str, block: Block) -> Row:
    """A dictionary of scikit-learn models, one a task, fed record by record as a service would."""
    few = block.piece(0, PER_TASK_RECORDS)
    models: dict[int, SGDClassifier] = {}

    def their_records() -> None:
        for x, y, task in zip(few.X, few.y, few.task.tolist(), strict=True):
            model = models.setdefault(task, SGDClassifier(loss="hinge", random_state=0))
            model.partial_fit(x[None, :], [y], classes=[-1, 1])

    ours = side_by_side({"ours": lambda: CANDIDATES["PA-I, C = 1"]().__stream_model__().learn(few)}, 3)["ours"]
    what = f"{shape}: a block against a dictionary of scikit-learn's SGDClassifier fed record by record"
    return at_least(what, None, ours, feed(their_records), len(few))


def rows(quick: bool) -> Iterator[Row]:
    examples, repeats = (10_000, 1) if quick else (200_000, 3)
    for shape, make in SHAPES.items():
        block = make(examples)
        yield race(shape, block, CANDIDATES, 8, repeats)
        yield against_dictionary(shape, block)


if __name__ == "__main__":
    main(rows, __doc__)
