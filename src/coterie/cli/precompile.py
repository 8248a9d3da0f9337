"""``coterie precompile``."""

from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from coterie.types import Json

#: Files of columns, files with texts, files with numbers as labels, and arrays and dictionaries in Python.
KINDS = ("tables", "texts", "numbers", "python")
_ROWS = 400


def precompile() -> None:
    """Compile the default learner in advance, for example when a container image is built.

    Compiled code is stored on disk, in the folder of the environment variable NUMBA_CACHE_DIR or next to the package.
    Without this, the first run compiles the code that it needs, which takes about half a minute.

    For example:

        coterie precompile
    """
    with TemporaryDirectory() as folder:
        for kind in KINDS:
            start = time.perf_counter()
            if kind == "python":
                _learn_in_python()
            else:
                _learn_file(Path(folder, f"{kind}.csv"), kind)
            typer.echo(f"{kind}: {time.perf_counter() - start:.0f} s")


def _learn_file(path: Path, kind: str) -> None:
    """Learn and predict a small file with columns of each kind.

    Tables have few tasks, whose weights are stored densely, and the others many, whose weights are stored sparsely.
    """
    import numpy as np

    from coterie.data.readers import read
    from coterie.evaluation.learning import learn
    from coterie.expressions import LearnerExpression

    from .predict import predict_records

    rng, regression, tasks = np.random.default_rng(0), kind == "numbers", 4 if kind == "tables" else 100
    lines = ["task,label,size,colour,words"]
    for i, size in enumerate(rng.normal(size=_ROWS).tolist()):
        words = " ".join(f"word{j}" for j in rng.integers(50, size=3))
        label = f"{i % 7}.5" if regression else "yes" if i % 2 else "no"
        lines.append(f"task{i % tasks},{label},{size:.3f},{'red' if i % 3 else 'blue'},{words}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    options: Json = {"text" if kind == "texts" else "ignore": "words"}
    reader = read(path, task="task", label="label", **options)
    model = learn(reader, {"together": LearnerExpression(None, regression)}).model
    for _ in predict_records(model, read(path, encoder=model.encoder_, update=False)):
        pass


def _learn_in_python() -> None:
    import numpy as np

    from coterie.estimators import AdaptiveSharingClassifier

    rng = np.random.default_rng(0)
    X, tasks = rng.normal(size=(_ROWS, 5)), np.arange(_ROWS) % 4
    AdaptiveSharingClassifier().fit(X, X[:, 0] > 0, tasks).predict_proba(X, tasks)
    model = AdaptiveSharingClassifier()
    for i, (x, task) in enumerate(zip(X[:20].tolist(), tasks[:20].tolist(), strict=True)):
        record = {"size": x[0], "width": x[1], "colour": "red" if x[2] > 0 else "blue"}
        model.learn_one(record, i % 2 == 0, task)
        model.predict_one(record, task)
        model.predict_proba_one(record, task)
