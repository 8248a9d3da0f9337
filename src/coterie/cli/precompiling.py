"""Compile ahead what the default learner needs, so that no first record has to wait for it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

#: What is compiled, by name; of files, how the column of words is used.
_WORDS = {"tables": "ignore", "texts": "text", "numbers": "ignore"}
WHAT = (*_WORDS, "python")
_ROWS = 400


def precompile(what: tuple[str, ...] = WHAT) -> Iterator[tuple[str, float]]:
    """Learn and predict small made-up streams of some kinds, and yield each kind with the seconds it took.

    Parameters
    ----------
    what : tuple of str
        ``"tables"``: files of columns; ``"texts"``: files with texts, or with names in sparse records; ``"numbers"``:
        files of columns whose label is a number; ``"python"``: arrays, and dictionaries one at a time, in Python.

    Yields
    ------
    str, float
        As above.
    """
    with TemporaryDirectory() as folder:
        for name in what:
            started = time.perf_counter()
            if name == "python":
                _in_python()
            else:
                _learned(Path(folder, f"{name}.csv"), name)
            yield name, time.perf_counter() - started


def _learned(path: Path, name: str) -> None:
    """Learn a file of records of four tasks with a number, a word and a text each, and predict it."""
    from coterie.evaluation.learning import learn
    from coterie.expressions import LearnerExpression
    from coterie.io.readers import read

    from .predicting import predict_records

    rng, numbers = np.random.default_rng(0), name == "numbers"
    lines = ["who,what,size,colour,words"]
    for i, size in enumerate(rng.normal(size=_ROWS).tolist()):
        words = " ".join(f"word{j}" for j in rng.integers(50, size=3))
        label = f"{i % 7}.5" if numbers else "yes" if i % 2 else "no"
        lines.append(f"task{i % 4},{label},{size:.3f},{'red' if i % 3 else 'blue'},{words}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    how: dict[str, Any] = {_WORDS[name]: "words"}
    outcome = learn(read(path, task="who", label="what", **how), {"together": LearnerExpression(None, numbers)})
    again = read(path, encoder=outcome.model.encoder_, update=False)
    for _ in predict_records(outcome.model, again):
        pass


def _in_python() -> None:
    from coterie.online import AdaptiveSharingClassifier

    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(_ROWS, 5)), np.arange(_ROWS) % 4
    model = AdaptiveSharingClassifier().fit(X, X[:, 0] > 0, task)
    model.predict_proba(X, task)
    live = AdaptiveSharingClassifier()
    for i, (x, who) in enumerate(zip(X[:20].tolist(), task[:20].tolist(), strict=True)):
        record = {"size": x[0], "width": x[1], "colour": "red" if x[2] > 0 else "blue"}
        live.learn_one(record, i % 2 == 0, who)
        live.predict_one(record, who)
        live.predict_proba_one(record, who)
