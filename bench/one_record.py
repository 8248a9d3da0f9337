"""One record at a time as a dictionary of 50 string keys: `predict_one` and `learn_one` against River.

python -m bench.one_record [--quick]
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from struct import Struct
from typing import Any

import numpy as np
from river import linear_model

import coterie as ct
from bench.harness import Row, at_least, main, side_by_side

RECORDS, KEYS, NAMES, TASKS = 10_000, 50, 1000, 100


def records(seed: int = 0) -> list[tuple[dict[str, float], bool, str]]:
    draw = random.Random(seed)
    made = []
    for _ in range(RECORDS):
        x = {f"word={draw.randrange(NAMES)}": draw.random() for _ in range(KEYS)}
        made.append((x, sum(x.values()) > KEYS / 2, f"u{draw.randrange(TASKS)}"))
    return made


def ours(model: Any, stream: list) -> None:
    for x, y, task in stream:
        model.predict_one(x, task)
        model.learn_one(x, y, task)


def one_of_theirs(model: Any, stream: list) -> None:
    for x, y, _ in stream:
        model.predict_one(x)
        model.learn_one(x, y)


def dictionary_of_theirs(models: Any, stream: list) -> None:
    for x, y, task in stream:
        models[task].predict_one(x)
        models[task].learn_one(x, y)


def least(stream: list, numbers: dict[str, int]) -> None:
    """What no form of the round can do without while records are dictionaries: names looked up, numbers in arrays."""
    columns, values = np.empty(KEYS, np.int32), np.empty(KEYS)
    for x, _, _ in stream:
        n = len(x)
        for _ in range(2):
            Struct(f"{n}i").pack_into(columns, 0, *map(numbers.__getitem__, x))
            Struct(f"{n}d").pack_into(values, 0, *x.values())


def rows(quick: bool) -> Iterator[Row]:
    stream = records()[: 300 if quick else RECORDS]
    numbers = {name: j for j, name in enumerate({name for x, _, _ in stream for name in x})}
    works = {
        "ours": lambda: ours(ct.MultitaskPerceptron(rule=ct.PassiveAggressive()), stream),
        "one PAClassifier": lambda: one_of_theirs(linear_model.PAClassifier(), stream),
        "one LogisticRegression": lambda: one_of_theirs(linear_model.LogisticRegression(), stream),
        "PAClassifier a task": lambda: dictionary_of_theirs(defaultdict(linear_model.PAClassifier), stream),
        "LogisticRegression a task": lambda: dictionary_of_theirs(defaultdict(linear_model.LogisticRegression), stream),
        "floor": lambda: least(stream, numbers),
    }
    found = side_by_side(works, 2 if quick else 7)
    note = f"to look up 50 names and put 50 numbers in an array, twice, takes {found['floor'].shown(len(stream), 'µs')}"
    for name in list(works)[1:-1]:
        what = f"predict_one and learn_one, {KEYS} keys, {TASKS} tasks, over River's {name}"
        yield at_least(what, 3, found["ours"], found[name], len(stream), unit="µs", floor=note)


if __name__ == "__main__":
    main(rows, __doc__)
