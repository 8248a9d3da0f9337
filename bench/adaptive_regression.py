"""Online RMSE of the default for numbers beside LightGBM refitted nightly, mixed effects, a constant and one model.

    python -m bench.adaptive_regression [set ...] [--shuffles 3] [--write]

One pass, every prediction made before its label. Records have unit length and a constant feature; ours have one setting.
LightGBM has the records so far and the task as a category, is refitted at 200, 400, 800, ... records and after every
twentieth of the stream, and tells the mean until then. Mixed effects are linear with Gaussian effects of each task, on the
intercept alone or on every feature, fitted by expectation-maximisation when the records have doubled since; between fits
the effects of a task follow each of its labels. ``--write`` puts the tables into docs/appendix/tables.md. `--intervals` prints
which share of labels lies in the intervals told before them instead. The prepared data lie in the folder that
COTERIE_DATA names; `pip install lightgbm` for LightGBM, without which its rows are left out.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import coterie as ct
from bench import plain
from bench.harness import prepared

PAGE = Path(__file__).parent.parent / "docs" / "appendix" / "tables.md"
SETS = ("school", "chem97", "parkinsons", "parkinsons motor", "acl4 ratings")
OURS, SIMPLE = "`AdaptiveSharingRegressor()`", "`MultitaskRegressor()`"
#: The sets on which the target is stated.
JUDGED = ("school", "chem97", "parkinsons")
Predictions = np.ndarray


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


DENSE = {"school": school, "chem97": chem97, "parkinsons": parkinsons}


def _scored(column: np.ndarray) -> np.ndarray:
    return (column - column.mean()) / column.std()


def load_dense(name: str) -> Records:
    """A data set, its records of unit length."""
    X, y, task = DENSE[name](prepared(name))
    return X / np.linalg.norm(X, axis=1)[:, None], y, task


def load(name: str) -> tuple[Any, np.ndarray, np.ndarray]:
    """A data set: records of unit length, numbers, and the number of each record's task."""
    if name == "acl4 ratings":
        return ratings()
    X, y, task = load_dense(name.partition(" ")[0])
    if name.endswith("motor"):
        y = prepared("parkinsons")["motor"].astype(float)
    return np.ascontiguousarray(X), y, np.unique(task, return_inverse=True)[1]


def ratings() -> tuple[Any, np.ndarray, np.ndarray]:
    """Stars of reviews by their words and pairs of words, a task a kind of goods."""
    data = prepared("acl4_bigram_counts")
    starts = np.append(0, np.cumsum(data["rowlen"].astype(np.int64)))
    gaps = data["gap"].astype(np.int64)
    summed = np.cumsum(gaps)
    before = np.repeat(np.append(0, summed)[starts[:-1]], data["rowlen"])
    counts = np.log1p(data["data"].astype(float))
    X = sp.csr_array((counts, summed - before, starts), shape=(len(data["rowlen"]), int(data["ncol"])))
    X = sp.csr_array(sp.hstack([X, np.ones((X.shape[0], 1))]))
    lengths = np.sqrt(X.multiply(X).sum(axis=1))
    return sp.csr_array(sp.diags_array(1 / lengths) @ X), data["rating"].astype(float), data["task"].astype(int)


# -- learners ----------------------------------------------------------------------------------------------------------


def ours(make: Callable[[], Any]) -> Callable[..., Predictions]:
    return lambda X, y, task: ct.progressive_validation(make(), X, y, task=task).prediction


def constant(X: Any, y: np.ndarray, task: np.ndarray) -> Predictions:
    """The mean of the labels so far."""
    return np.append(0.0, np.cumsum(y)[:-1] / np.arange(1, len(y)))


def boosted(X: Any, y: np.ndarray, task: np.ndarray) -> Predictions:
    """LightGBM on the records so far, refitted every night."""
    from lightgbm import LGBMRegressor

    n = len(y)
    with_task = sp.csr_array(sp.hstack([X, task[:, None]])) if sp.issparse(X) else np.column_stack([X, task])
    doublings = [200 * 2**k for k in range(20)]
    nights = sorted({each for each in [*doublings, *(np.arange(1, 20) * n // 20)] if 200 <= each < n})
    told = constant(X, y, task)
    for first, last in zip(nights, [*nights[1:], n], strict=True):
        model = LGBMRegressor(n_jobs=1, verbose=-1, random_state=0)
        model.fit(with_task[:first], y[:first], categorical_feature=[with_task.shape[1] - 1])
        told[first:last] = model.predict(with_task[first:last])
    return told


class MixedEffects:
    """y = x · beta + z · u_i + noise, u_i ~ N(0, diag(v)), z the intercept or all of x; sums of products a task."""

    def __init__(self, tasks: int, d: int, slopes: bool) -> None:
        self.G, self.g, self.squares = np.zeros((tasks, d, d)), np.zeros((tasks, d)), 0.0
        self.z = np.arange(d) if slopes else np.array([d - 1])
        self.beta, self.noise, self.v = np.zeros(d), 0.0, np.ones(len(self.z))
        self.n = 0

    def add(self, x: np.ndarray, y: float, i: int) -> None:
        self.G[i] += np.outer(x, x)
        self.g[i] += y * x
        self.squares += y * y
        self.n += 1

    def effects(self, some: Any) -> tuple[np.ndarray, np.ndarray]:
        """Means and covariances of the effects of some tasks."""
        z = self.z
        precision = self.G[some][:, z[:, None], z] / self.noise + np.diag(1 / self.v)
        covariance = np.linalg.inv(precision)
        rest = self.g[some][:, z] - self.G[some][:, z] @ self.beta
        return np.einsum("kij,kj->ki", covariance, rest) / self.noise, covariance

    def fit(self, rounds: int = 60) -> None:
        """Generalised least squares for beta, and expectation-maximisation for the variances, from where they were."""
        met = np.flatnonzero(self.G[:, -1, -1])
        if self.noise == 0.0:  # half of the variance is noise
            self.noise = self.squares / self.n / 2
            self.v[:] = self.noise
        for _ in range(rounds):
            G, across = self.G[met], self.G[met][:, self.z]
            among = np.linalg.inv(across[:, :, self.z] + np.diag(self.noise / self.v))
            whole = (G - np.einsum("kid,kij,kje->kde", across, among, across)).sum(axis=0)
            answers = (self.g[met] - np.einsum("kid,kij,kj->kd", across, among, self.g[met][:, self.z])).sum(axis=0)
            self.beta = np.linalg.solve(whole + 1e-6 * np.eye(len(whole)), answers)
            u, covariance = self.effects(met)
            full = np.zeros((len(met), G.shape[1]))
            full[:, self.z] = u
            weights = self.beta + full
            residual = self.squares - 2 * np.einsum("ki,ki->", weights, self.g[met])
            residual += np.einsum("ki,kij,kj->", weights, self.G[met], weights)
            spread = np.einsum("kij,kji->", self.G[met][:, self.z[:, None], self.z], covariance)
            self.noise = max((residual + spread) / self.n, 1e-6)
            self.v = np.maximum((u**2 + np.einsum("kii->ki", covariance)).mean(axis=0), 1e-8)


def mixed(slopes: bool) -> Callable[..., Predictions]:
    def learn(X: np.ndarray, y: np.ndarray, task: np.ndarray) -> Predictions:
        X, told = np.column_stack([X, np.ones(len(y))]), constant(X, y, task)
        model = MixedEffects(int(task.max()) + 1, X.shape[1], slopes)
        for t, i in enumerate(task.tolist()):
            if t >= 64:
                if t & (t - 1) == 0:  # a power of two
                    model.fit()
                u = model.effects([i])[0][0]
                told[t] = X[t] @ model.beta + X[t, model.z] @ u
            model.add(X[t], y[t], i)
        return told

    return learn


LEARNERS: dict[str, Callable[..., Predictions]] = {
    "the mean so far": constant,
    SIMPLE: ours(plain.MultitaskRegressor),
    "the same, independent": ours(lambda: plain.MultitaskRegressor(ct.Independent())),
    "the same, pooled": ours(lambda: plain.MultitaskRegressor(ct.Pooled())),
    "mixed effects: intercepts": mixed(slopes=False),
    "mixed effects: all features": mixed(slopes=True),
    "LightGBM, refitted nightly": boosted,
    OURS: ours(plain.AdaptiveSharingRegressor),
}


def applies(learner: str, name: str) -> bool:
    """Tell whether a learner can be had on a set: products of 100,000 features cannot, trees on them take too long."""
    if learner.startswith(("mixed", "LightGBM")) and name == "acl4 ratings":
        return False
    if learner.startswith("LightGBM"):
        try:
            import lightgbm  # noqa: F401
        except ImportError:
            return False
    return True


def measure(name: str, shuffles: int) -> dict[str, np.ndarray]:
    """RMSE and microseconds of CPU a record of every learner, shape (shuffles, 2)."""
    X, y, task = load(name)
    found: dict[str, list[tuple[float, float]]] = {}
    for seed in range(shuffles):
        order = np.random.default_rng(seed).permutation(len(y))
        shuffled = X[order], y[order], task[order]
        for learner, learn in LEARNERS.items():
            if applies(learner, name):
                began = time.process_time()
                told = learn(*shuffled)
                seconds = time.process_time() - began
                found.setdefault(learner, []).append((rmse(told, shuffled[1]), 1e6 * seconds / len(y)))
    return {learner: np.array(each) for learner, each in found.items()}


def rmse(told: np.ndarray, y: np.ndarray) -> float:
    return float(np.sqrt(((told - y) ** 2).mean()))


def table(results: dict[str, dict[str, np.ndarray]]) -> str:
    """RMSE, means over the shuffles, and of the sets on which the target is stated the mean ratio to the simplest."""
    judged = [name for name in JUDGED if name in results]
    lines = [
        "| RMSE | " + " | ".join(results) + f" | to {SIMPLE}, {len(judged)} sets | µs a record |",
        "|---" * (len(results) + 3) + "|",
    ]
    for learner in LEARNERS:
        there = [learner in scores for scores in results.values()]
        if any(there):
            cells = [f"{scores[learner][:, 0].mean():.3f}" if learner in scores else "–" for scores in results.values()]
            ratio = np.exp(np.mean([_logs(results[name], learner) for name in judged])) if judged else np.nan
            cost = np.median([scores[learner][:, 1].min() for scores in results.values() if learner in scores])
            lines.append(f"| {learner} | " + " | ".join(cells) + f" | {ratio:.3f} | {cost:.3g} |")
    return "\n".join(lines)


def _logs(scores: dict[str, np.ndarray], learner: str) -> float:
    return float(np.log(scores[learner][:, 0] / scores[SIMPLE][:, 0]).mean())


# -- intervals ---------------------------------------------------------------------------------------------------------

LEVELS = (0.5, 0.8, 0.9, 0.95)


def coverage(name: str, pieces: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """The share of labels in the intervals of each level, and the mean width in deviations of the labels."""
    X, y, task = load(name)
    order = np.random.default_rng(0).permutation(len(y))
    X, y, task = X[order], y[order], task[order]
    model, inside, width = plain.AdaptiveSharingRegressor(), [], []
    for some in np.array_split(np.arange(len(y)), pieces):
        if some[0] >= len(y) // 20:
            ends = np.array([model.predict_interval(X[some], task[some], level) for level in LEVELS])
            inside.append((ends[:, :, 0] <= y[some]) & (y[some] <= ends[:, :, 1]))
            width.append(ends[:, :, 1] - ends[:, :, 0])
        model.partial_fit(X[some], y[some], task[some])
    return np.concatenate(inside, axis=1).mean(axis=1), np.concatenate(width, axis=1).mean(axis=1) / y.std()


def interval_table(names: list[str]) -> str:
    lines = [
        "| level | " + " | ".join(f"{level:.0%}" for level in LEVELS) + " | mean width at 90 %, in deviations |",
        "|---" * (len(LEVELS) + 2) + "|",
    ]
    for name in names:
        inside, width = coverage(name)
        lines.append(f"| {name} | " + " | ".join(f"{100 * each:.1f} %" for each in inside) + f" | {width[2]:.2f} |")
    return "\n".join(lines)


def main() -> None:
    """Measure, print, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", metavar="set", help=", ".join(SETS))
    parser.add_argument("--shuffles", type=int, default=3)
    parser.add_argument("--intervals", action="store_true")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    names = asked.sets or list(SETS)
    if unknown := set(names) - set(SETS):
        parser.error(f"no such set: {', '.join(sorted(unknown))}; there are {', '.join(SETS)}")
    if asked.intervals:
        made, mark = interval_table(names), "<!-- bench.adaptive_regression --intervals -->"
    else:
        made = table({name: measure(name, asked.shuffles) for name in names})
        mark = "<!-- bench.adaptive_regression -->"
    print(made)
    if asked.write:
        text = re.sub(rf"{mark}.*?{mark}", lambda _: f"{mark}\n{made}\n{mark}", PAGE.read_text(), flags=re.DOTALL)
        PAGE.write_text(text)


if __name__ == "__main__":
    main()
