"""One record at a time as a dictionary of 50 string keys: `predict_one` and `learn_one` against River.

python -m bench.one_record
"""

from __future__ import annotations

import random
from collections import defaultdict
from typing import Any

from river import linear_model

import coterie as ct
from bench.harness import header, row, side_by_side

RECORDS, KEYS, NAMES, TASKS = 3000, 50, 1000, 100


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


def main() -> None:
    stream = records()
    works = {
        "ours": lambda: ours(ct.MultitaskPerceptron(rule=ct.PassiveAggressive()), stream),
        "one PAClassifier": lambda: one_of_theirs(linear_model.PAClassifier(), stream),
        "one LogisticRegression": lambda: one_of_theirs(linear_model.LogisticRegression(), stream),
        "PAClassifier a task": lambda: dictionary_of_theirs(defaultdict(linear_model.PAClassifier), stream),
        "LogisticRegression a task": lambda: dictionary_of_theirs(defaultdict(linear_model.LogisticRegression), stream),
    }
    found = side_by_side(works, repeats=5)
    header()
    for name in list(works)[1:]:
        ratio = found[name].median / found["ours"].median
        what = f"predict_one and learn_one, {KEYS} keys, {TASKS} tasks, over River's {name}"
        mine, theirs = (found[each].per(RECORDS, 1e6) + " µs" for each in ("ours", name))
        row(what, "≥ 3", mine, theirs, ratio, ratio >= 3)


if __name__ == "__main__":
    main()
