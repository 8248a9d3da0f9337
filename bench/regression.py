"""Online mean absolute error and RMSE of regression on three real data sets, beside scikit-learn, River and Vowpal Wabbit.

    python -m bench.regression [set ...] [--shuffles 2] [--write]

One pass, every prediction made before its label. Records have unit length and a constant feature. Ours get the labels as
they are and one fixed setting for all sets; the peers get labels standardised by their mean and deviation in hindsight,
and the best of three rates in hindsight. ``--write`` puts the table into docs/appendix/tables.md. The prepared data lie in the
folder that COTERIE_DATA names.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

import coterie as ct
from bench import plain
from bench.harness import prepared

PAGE = Path(__file__).parent.parent / "docs" / "appendix" / "tables.md"
RATES = (0.01, 0.1, 0.5)
OURS: dict[str, Callable[[], Any]] = {
    "independent": lambda: plain.MultitaskRegressor(ct.Independent()),
    "pooled": lambda: plain.MultitaskRegressor(ct.Pooled()),
    "`MultitaskRegressor()`": plain.MultitaskRegressor,
    "`loss=Absolute()`": lambda: plain.MultitaskRegressor(loss=ct.rules.Absolute()),
    "`loss=EpsilonInsensitive()`": lambda: plain.MultitaskRegressor(loss=ct.rules.EpsilonInsensitive()),
    "the same, `average=True`": lambda: plain.MultitaskRegressor(loss=ct.rules.EpsilonInsensitive(), average=True),
}
Records = tuple[np.ndarray, np.ndarray, np.ndarray]


def school(data: Any) -> Records:
    """Exam scores of pupils, a task a school."""
    X = data["X"].astype(float)
    X = (X - X.min(axis=0)) / np.maximum(np.ptp(X, axis=0), 1e-9)
    X[:, 27] = 1.0
    return X, data["y"].astype(float), data["task"]


def chem97(data: Any) -> Records:
    """A-level scores in chemistry, a task a school."""
    columns = (_scored(data["gcse"]), _scored(data["age"]), data["female"], np.ones(len(data["age"])))
    return np.column_stack(columns), data["score"].astype(float), data["school"]


def parkinsons(data: Any) -> Records:
    """Severity of the illness from recordings of the voice, a task a patient."""
    X = np.column_stack([*map(_scored, data["X"].T), np.ones(len(data["X"]))])
    return X, data["total"].astype(float), data["task"]


SETS = {"school": school, "chem97": chem97, "parkinsons": parkinsons}


def _scored(column: np.ndarray) -> np.ndarray:
    return (column - column.mean()) / column.std()


def load(name: str) -> Records:
    """A data set, its records of unit length."""
    X, y, task = SETS[name](prepared(name))
    return X / np.linalg.norm(X, axis=1)[:, None], y, task


def sgd(X: np.ndarray, z: np.ndarray, task: np.ndarray, rate: float) -> np.ndarray:
    """scikit-learn's SGDRegressor, one a task."""
    from sklearn.linear_model import SGDRegressor

    models: dict[Any, Any] = {}
    told = np.zeros(len(z))
    for t, i in enumerate(task.tolist()):
        model = models.get(i)
        if model is None:
            model = models[i] = SGDRegressor(eta0=rate, fit_intercept=False)
        else:
            told[t] = model.predict(X[t : t + 1])[0]
        model.partial_fit(X[t : t + 1], z[t : t + 1])
    return told


def river(X: np.ndarray, z: np.ndarray, task: np.ndarray, rate: float) -> np.ndarray:
    """River's LinearRegression, one a task."""
    from river import linear_model, optim

    models: dict[Any, Any] = {}
    told = np.zeros(len(z))
    for t, (i, x) in enumerate(zip(task.tolist(), X.tolist(), strict=True)):
        if i not in models:
            models[i] = linear_model.LinearRegression(optim.SGD(rate), intercept_lr=0.0)
        record = dict(enumerate(x))
        told[t] = models[i].predict_one(record)
        models[i].learn_one(record, z[t])
    return told


def vowpal(X: np.ndarray, z: np.ndarray, task: np.ndarray, rate: float, crossed: bool) -> np.ndarray:
    """Vowpal Wabbit, squared loss, tasks ignored or crossed with every feature."""
    from vowpalwabbit import Workspace

    with tempfile.TemporaryDirectory() as folder:
        path, told = Path(folder) / "records.vw", Path(folder) / "told"
        path.write_text("\n".join(_lines(X, z, task)) + "\n")
        form = "-q tx" if crossed else "--ignore t"
        Workspace(f"-d {path} --quiet -b 20 -l {50 * rate * 0.2:g} --noconstant -p {told} {form}").finish()
        return np.loadtxt(told)


def _lines(X: np.ndarray, z: np.ndarray, task: np.ndarray) -> Iterable[str]:
    for t, i in enumerate(task.tolist()):
        entries = " ".join(f"{j}:{X[t, j]:.6g}" for j in np.flatnonzero(X[t]))
        yield f"{z[t]:.6g} |t k{i} |x {entries}"


def _none(task: np.ndarray) -> np.ndarray:
    return np.zeros(len(task), int)


PEERS: dict[str, Callable[..., np.ndarray]] = {
    "scikit-learn `SGDRegressor`, one a task": sgd,
    "scikit-learn `SGDRegressor`, one for all": lambda X, z, task, rate: sgd(X, z, _none(task), rate),
    "River `LinearRegression`, one a task": river,
    "River `LinearRegression`, one for all": lambda X, z, task, rate: river(X, z, _none(task), rate),
    "Vowpal Wabbit, tasks crossed": lambda X, z, task, rate: vowpal(X, z, task, rate, True),
    "Vowpal Wabbit, tasks ignored": lambda X, z, task, rate: vowpal(X, z, task, rate, False),
}


def measure(name: str, shuffles: int) -> dict[str, np.ndarray]:
    """Mean absolute error and RMSE of every learner, shape (shuffles, 2)."""
    X, y, task = load(name)
    found: dict[str, list[tuple[float, float]]] = {}
    for seed in range(shuffles):
        order = np.random.default_rng(seed).permutation(len(y))
        shuffled = X[order], y[order], task[order]
        for learner, told in {**_ours(*shuffled), **_theirs(*shuffled)}.items():
            found.setdefault(learner, []).append(_errors(told, shuffled[1]))
    best = {f"{learner}@{rate}" for learner in PEERS for rate in [_best(found, learner)]}
    scores = {learner: np.array(each) for learner, each in found.items()}
    return {
        learner.partition("@")[0]: each for learner, each in scores.items() if "@" not in learner or learner in best
    }


def _best(found: dict[str, list[tuple[float, float]]], learner: str) -> float:
    return min(RATES, key=lambda rate: float(np.mean(found[f"{learner}@{rate}"])))


def _errors(told: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    return float(np.abs(told - y).mean()), float(np.sqrt(((told - y) ** 2).mean()))


def _ours(X: np.ndarray, y: np.ndarray, task: np.ndarray) -> dict[str, np.ndarray]:
    return {name: ct.progressive_validation(make(), X, y, task=task).prediction for name, make in OURS.items()}


def _theirs(X: np.ndarray, y: np.ndarray, task: np.ndarray) -> dict[str, np.ndarray]:
    z = (y - y.mean()) / y.std()
    told = {f"{name}@{rate}": learn(X, z, task, rate) for name, learn in PEERS.items() for rate in RATES}
    return {name: y.mean() + y.std() * each for name, each in told.items()}


def table(results: dict[str, dict[str, np.ndarray]]) -> str:
    """Mean absolute error / RMSE, means over the shuffles."""
    lines = ["| | " + " | ".join(results) + " |", "|---" * (len(results) + 1) + "|"]
    for learner in next(iter(results.values())):
        cells = ("{:.3f} / {:.3f}".format(*scores[learner].mean(axis=0)) for scores in results.values())
        lines.append(f"| {learner} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Measure, print, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=list(SETS))
    parser.add_argument("--shuffles", type=int, default=2)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    made = table({name: measure(name, asked.shuffles) for name in asked.sets or SETS})
    print(made)
    if asked.write:
        mark = "<!-- bench.regression -->"
        text = re.sub(rf"{mark}.*?{mark}", lambda _: f"{mark}\n{made}\n{mark}", PAGE.read_text(), flags=re.DOTALL)
        PAGE.write_text(text)


if __name__ == "__main__":
    main()
