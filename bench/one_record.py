"""One record at a time as a dictionary: `predict_one` and `learn_one` against River.

50 numbers of a thousand names; then 15 numbers and 5 strings, a table's row, against River's pipeline for such rows.

python -m bench.one_record [--quick]
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from river import compose, linear_model, preprocessing

import coterie as ct
from bench.harness import Row, at_least, main, side_by_side
from coterie._compiled.core.dictionaries import read_dictionary
from coterie._compiled.primal.calls import RecordCalls, prepared
from coterie._compiled.primal.scaling import UNPREPARED
from coterie._compiled.primal.stream import learn_one, predict_one

RECORDS, KEYS, NAMES, TASKS = 10_000, 50, 1000, 100
NUMBERS, STRINGS, VALUES = 15, 5, 20


def records(seed: int = 0) -> list[tuple[dict[str, float], bool, str]]:
    draw = random.Random(seed)
    made = []
    for _ in range(RECORDS):
        x = {f"word={draw.randrange(NAMES)}": draw.random() for _ in range(KEYS)}
        made.append((x, sum(x.values()) > KEYS / 2, f"u{draw.randrange(TASKS)}"))
    return made


def table(seed: int = 0) -> list[tuple[dict[str, float | str], bool, str]]:
    """Records of numbers and of strings, the same names in each."""
    draw = random.Random(seed)
    made = []
    for _ in range(RECORDS):
        x: dict[str, float | str] = {f"number{j}": draw.gauss(0.0, 1.0) for j in range(NUMBERS)}
        positive = sum(x.values()) > 0  # type: ignore[arg-type]
        x |= {f"column{j}": f"value {draw.randrange(VALUES)}" for j in range(STRINGS)}
        made.append((x, positive, f"u{draw.randrange(TASKS)}"))
    return made


def pipeline() -> Any:
    """River's pipeline for such records."""
    scaled = compose.SelectType(float) | preprocessing.StandardScaler()
    coded = compose.SelectType(str) | preprocessing.OneHotEncoder()
    return (scaled + coded) | linear_model.LogisticRegression()


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


def least(model: Any, stream: list) -> None:
    """The compiled round of a model that has learned the stream: nothing is checked or told in Python."""
    state, tasks = model.state_, model.state_.tasks.numbers
    numbers, calls, rule = (
        model.__stream_model__().input.form.vocabulary.numbers,
        RecordCalls(prepared(predict_one), prepared(learn_one)),
        model.rule.compiled(),
    )
    for x, y, task in stream:
        i, entries = tasks[task], read_dictionary(x, numbers)
        calls.predict(state.model, *entries, len(entries[0]), UNPREPARED, i)
        calls.learn(state.model, rule, *entries, UNPREPARED, i, 1.0 if y else -1.0)


def rows(quick: bool) -> Iterator[Row]:
    stream = records()[: 300 if quick else RECORDS]
    learned = ct.MultitaskPerceptron(rule=ct.updates.PassiveAggressive())
    ours(learned, stream)
    works = {
        "ours": lambda: ours(ct.MultitaskPerceptron(rule=ct.updates.PassiveAggressive()), stream),
        "default": lambda: ours(ct.AdaptiveSharingClassifier(), stream),
        "one PAClassifier": lambda: one_of_theirs(linear_model.PAClassifier(), stream),
        "one LogisticRegression": lambda: one_of_theirs(linear_model.LogisticRegression(), stream),
        "PAClassifier a task": lambda: dictionary_of_theirs(defaultdict(linear_model.PAClassifier), stream),
        "one LogisticRegression per task": lambda: dictionary_of_theirs(
            defaultdict(linear_model.LogisticRegression), stream
        ),
        "floor": lambda: least(learned, stream),
    }
    found = side_by_side(works, 2 if quick else 7)
    note = f"the compiled round alone takes {found['floor'].shown(len(stream), 'µs')}"
    said = f"predict_one and learn_one, {KEYS} keys, {TASKS} tasks, over River's"
    for name in list(works)[2:-1]:
        target = 3 if name == "PAClassifier a task" else None
        yield at_least(f"{said} {name}", target, found["ours"], found[name], len(stream), unit="µs", floor=note)
    peer = found["one LogisticRegression per task"]
    what = f"adaptive sharing, the default members: {said} one LogisticRegression per task"
    yield at_least(what, 1.5, found["default"], peer, len(stream), unit="µs")
    yield from rows_of_tables(quick)


def rows_of_tables(quick: bool) -> Iterator[Row]:
    stream = table()[: 300 if quick else RECORDS]
    works = {
        "default": lambda: ours(ct.AdaptiveSharingClassifier(), stream),
        "logistic": lambda: ours(ct.MultitaskLogistic(), stream),
        "pipeline": lambda: dictionary_of_theirs(defaultdict(pipeline), stream),
    }
    found = side_by_side(works, 2 if quick else 5)
    said = f"predict_one and learn_one, {NUMBERS} numbers and {STRINGS} strings, {TASKS} tasks, over River's"
    for name, what in (("default", "adaptive sharing, the default members"), ("logistic", "MultitaskLogistic")):
        peer = "StandardScaler, OneHotEncoder, one LogisticRegression per task"
        yield at_least(f"{what}: {said} {peer}", 2, found[name], found["pipeline"], len(stream), unit="µs")


if __name__ == "__main__":
    main(rows, __doc__)
