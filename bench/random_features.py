"""Random Fourier features beside support vectors on a budget, on real data: errors, memory and time of one pass.

    python -m bench.random_features [set ...] [--shuffles 3]

Each size of one side stands beside those of the other, with the memory of all that a prediction needs, the directions of
features included. All have the same Gaussian kernel, of width 1, and share half. Beside them stand the constant guess,
linear models of each task, of all, and half shared, and a kernel Perceptron without a budget; of numbers, the mean so
far and the linear learners. Time is CPU seconds of a second run, compiled. The prepared data lie in the folder that
COTERIE_DATA names.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from papers import cc12

import coterie as ct
from bench import plain, regression
from bench.harness import cpu
from coterie.evaluation.constant import ConstantGuess, with_constant

CLASSES: dict[str, Callable[[], cc12.Stream]] = {"school": cc12.school, "acl4": cc12.sentiment}
NUMBERS = ("parkinsons", "school", "chem97")
SIZES, COMPONENTS = (100, 500, 2000), (64, 256, 1024)
KERNEL, HALF = ct.kernels.Gaussian(1.0), ct.HalfUpdate()
Models = dict[str, Callable[[], Any]]
Records = tuple[Any, np.ndarray, np.ndarray]


def classifiers() -> Models:
    relations = {"independent": ct.Independent(), "pooled": ct.Pooled(), "half": HALF}
    made: Models = {
        f"linear Perceptron, {name}": partial(ct.MultitaskPerceptron, relation) for name, relation in relations.items()
    }
    made["linear logistic"] = partial(plain.MultitaskLogistic, HALF)
    made["kernel Perceptron, no budget"] = partial(ct.geometries.MultitaskKernelPerceptron, KERNEL, HALF)
    for size in SIZES:
        for budget in (ct.budgets.RandomRemoval(size), ct.budgets.SharedProjection(size)):
            made[f"{type(budget).__name__}({size})"] = partial(
                ct.geometries.MultitaskKernelPerceptron, KERNEL, HALF, budget
            )
    for n in COMPONENTS:
        for name, model in (
            ("Perceptron", ct.MultitaskPerceptron(HALF)),
            ("averaged", ct.MultitaskPerceptron(HALF, average=True)),
            ("logistic", plain.MultitaskLogistic(HALF)),
        ):
            made[f"Fourier({n}), {name}"] = partial(ct.geometries.RandomFourierClassifier, model, KERNEL, n)
    return made


def regressors() -> Models:
    relations = {"independent": ct.Independent(), "pooled": ct.Pooled(), "half": HALF}
    made: Models = {f"linear, {name}": partial(plain.MultitaskRegressor, each) for name, each in relations.items()}
    made["linear, adaptive"] = plain.AdaptiveSharingRegressor
    for n in COMPONENTS:
        made[f"Fourier({n}), half"] = partial(
            ct.geometries.RandomFourierRegressor, plain.MultitaskRegressor(HALF), KERNEL, n
        )
    made["Fourier(64), adaptive"] = partial(
        ct.geometries.RandomFourierRegressor, plain.AdaptiveSharingRegressor(), KERNEL, 64
    )
    return made


def memory(model: Any) -> int:
    """Bytes of all that a prediction needs."""
    features = getattr(model.__stream_model__().learner, "features", None)
    return model.memory_ + (0 if features is None else features.nbytes)  # type: ignore[no-any-return]


def errors(model: Any, X: Any, y: np.ndarray, task: np.ndarray) -> tuple[float, float]:
    """The error of a model, for whose margins of zero the constant speaks, and that of the constant."""
    traces = with_constant({"model": ct.progressive_validation(model, X, y, task=task)}, ConstantGuess())
    if hasattr(traces["model"], "residual"):
        return tuple(float(np.abs(traces[name].residual).mean()) for name in ("model", "constant"))  # type: ignore[return-value]
    return 100 * traces["model"].error, 100 * traces["constant"].error


def table(streams: list[Records], models: Models) -> Iterator[str]:
    """The lines of one set's table."""
    yield "| model | error | memory, kB | µs a record |\n|---|---|---|---|"
    constant = None
    for name, make in models.items():
        told = np.mean([errors(make(), *stream) for stream in streams], axis=0)
        if constant is None:
            constant = told[1]
            yield f"| constant | {constant:.2f} | – | – |"
        model = make()
        seconds = cpu(lambda: ct.progressive_validation(model, *streams[0][:2], task=streams[0][2]))  # noqa: B023
        yield f"| {name} | {told[0]:.2f} | {memory(model) / 1000:,.0f} | {1e6 * seconds / len(streams[0][1]):,.0f} |"


def shuffled(records: Records, seed: int) -> Records:
    order = np.random.default_rng(seed).permutation(len(records[1]))
    return records[0][order], records[1][order], records[2][order]


def sets(names: list[str], shuffles: int) -> Iterator[tuple[str, list[Records], Models]]:
    for name in names:
        if name in CLASSES:
            whole = CLASSES[name]()
            held = whole.X, whole.y, whole.task
            yield f"{name}, % of mistakes", [shuffled(held, seed) for seed in range(shuffles)], classifiers()
        if name in NUMBERS:
            streams = [shuffled(regression.load(name), seed) for seed in range(shuffles)]
            yield f"{name}, mean absolute error", streams, regressors()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = list(dict.fromkeys([*CLASSES, *NUMBERS]))
    parser.add_argument("sets", nargs="*", default=known, metavar="set", help=", ".join(known))
    parser.add_argument("--shuffles", type=int, default=3)
    given = parser.parse_args()
    for title, streams, models in sets(given.sets, given.shuffles):
        tasks = len(set(streams[0][2].tolist()))
        print(f"\n{title}: {len(streams[0][1])} records, {tasks} tasks, mean of {len(streams)} shuffles\n")
        for line in table(streams, models):
            print(line, flush=True)
