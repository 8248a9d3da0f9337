"""Kernel Perceptrons on a budget of B support vectors: time per record and per projection, also against scikit-learn.

python -m bench.budgets [--quick]

BLAS has one thread throughout. The naive peer keeps its support vectors in one array and makes the kernel values of each
record by numpy, from differences as one writes them down or from inner products with the norms kept. It starts where ours
stands, and must make the same mistakes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import coterie as ct
from bench import streams
from bench.harness import Row, Timing, at_least, cpu, main, within
from coterie._compiled.core.randomness import uniform

SIGMA = 1.0
SIZES = (100, 1000, 5000)


def rows(quick: bool) -> Iterator[Row]:
    parts = (small_dense, sparse) if quick else (dense, projection, sparse, over_b, scikit_learn)
    with threadpool_limits(1):
        for part in parts:
            yield from part()


def filled(budget: Any, block: Any, n: int, kernel: Any = None, relation: Any = None) -> Any:
    """A model whose budget is full: it has learned n records, and what it calls is compiled."""
    model = ct.MultitaskKernelPerceptron(kernel or ct.kernels.Gaussian(SIGMA), relation or ct.HalfUpdate(), budget)
    model.__stream_model__().learn(block.piece(0, n))
    return model


def timed(make: Callable[[], Any], work: Callable[[Any], Any], repeats: int = 3) -> Timing:
    """CPU seconds of work on what is made anew for every run."""
    seconds = []
    for _ in range(repeats):
        held = make()
        seconds.append(cpu(lambda: work(held)))  # noqa: B023
    return Timing(seconds)


# -- a record, dense ---------------------------------------------------------------------------------------------------


def dense() -> Iterator[Row]:
    for features, tasks in ((28, 139), (128, 1000)):
        block = streams.dense(features, tasks, 40_000)
        for size in SIZES:
            yield from cells(block, features, size, max(4 * size, 4000), 8000)


def small_dense() -> Iterator[Row]:
    yield from cells(streams.dense(28, 139, 3000), 28, 100, 1000, 1000)


def cells(block: Any, features: int, size: int, start: int, n: int) -> Iterator[Row]:
    part, few = block.piece(start, start + n), min(max(200, 400_000 // size), n)
    for budget, naive in ((ct.updates.RandomRemoval(size), Naive), (ct.updates.Forgetron(size), NaiveForgetron)):
        one_by_one(budget, naive, block, start, few)
        held = filled(budget, block, start)
        ours = timed(lambda: filled(budget, block, start), lambda model: model.__stream_model__().learn(part))  # noqa: B023
        bare = timed(lambda: np.empty((BLOCK, size)), lambda out: kernel_values(block.X[:size], part.X, out))
        for name, values in (("differences", differences), ("products", products)):
            peer = timed(lambda: naive(held, block, start, values), lambda one: one.learn(few))  # noqa: B023
            what = f"{type(budget).__name__}, d = {features}, B = {size}, a record, over a NumPy loop with {name}"
            forbids = (
                f"a matrix product and exponentials, without learning, take {bare.shown(n)}: "
                f"{peer.median / few * n / bare.median:.1f} times less than the other side"
            )
            target = 15 if name == "differences" else None
            yield at_least(what, target, ours, peer, n, counts=(n, few), floor=forbids)
        what = f"{type(budget).__name__}, d = {features}, B = {size}, a record, over its kernel values alone"
        yield at_least(what, None, ours, bare, n)


BLOCK = 120


def kernel_values(S: Any, X: Any, values: Any) -> None:
    """What every form has to make, as numpy makes it: inner products, a block at a time, and an exponential each."""
    for first in range(0, len(X), BLOCK):
        out = values[: len(X) - first]
        np.exp(np.matmul(X[first : first + BLOCK], S.T, out=out), out=out)


def one_by_one(budget: Any, naive: Any, block: Any, start: int, few: int) -> None:
    """The mistakes of a block are those of its records one by one, and the naive peer's."""
    whole, single = filled(budget, block, start), filled(budget, block, start)
    part = block.piece(start, start + few)
    peer = naive(whole, block, start, differences)
    peer.learn(few)
    updated = whole.__stream_model__().learn(part).updated
    assert np.array_equal(updated, peer.updated)
    alone = [single.__stream_model__().learn(each).updated[0] for each in part.piece(0, 300).pieces(1)]
    assert np.array_equal(updated[:300], alone)


class Naive:
    """mtrbp with arrays, one record after the other, from where a model stands."""

    def __init__(self, model: Any, block: Any, start: int, values: Callable[[Any, Any, Any], Any]) -> None:
        support, store = model.state_.model.support, model.state_.model.store
        self.block, self.start, self.values, self.evicted = block, start, values, model.evictions_
        self.S, self.beta, self.squares = store.values.copy(), support.coefficients.copy(), store.squares.copy()
        self.tasks = np.array(model.state_.tasks.labels)[support.tasks]
        self.M = (np.eye(int(block.task.max()) + 1) + 1) / 2
        self.draws = [float(uniform(0, turn)) for turn in range(self.evicted, self.evicted + 8000)]
        self.updated, self.before = [], self.evicted

    def learn(self, n: int) -> None:
        block = self.block
        for t in range(self.start, self.start + n):
            x, i, y = block.X[t], block.task[t], block.y[t]
            k = self.values(self.S, self.squares, x)
            margin = (self.beta * self.M[self.tasks, i]) @ k
            self.updated.append(y * margin <= 0)
            if self.updated[-1]:
                self.absorb(x, i, y, k)

    def absorb(self, x: Any, i: int, y: int, k: Any) -> None:
        self.put(int(self.draws[self.evicted - self.before] * len(self.S)), x, i, y)

    def put(self, slot: int, x: Any, i: int, beta: float) -> None:
        self.S[slot], self.beta[slot], self.tasks[slot], self.squares[slot] = x, beta, i, x @ x
        self.evicted += 1


class NaiveForgetron(Naive):
    """mtforg, where c² = 1."""

    def __init__(self, model: Any, *rest: Any) -> None:
        super().__init__(model, *rest)
        self.spent, self.mistakes, factor, _ = model.state_.model.memory.sums
        self.beta *= factor

    def absorb(self, x: Any, i: int, y: int, k: Any) -> None:
        r = self.evicted % len(self.S)
        f = (self.beta * self.M[self.tasks, self.tasks[r]]) @ self.values(self.S, self.squares, self.S[r])
        f += y * self.M[i, self.tasks[r]] * k[r]
        self.mistakes += 1
        sigma, mu = abs(self.beta[r]), np.sign(self.beta[r]) * f
        a, b, room = sigma**2 - 2 * sigma * mu, 2 * sigma, 15 / 32 * self.mistakes - self.spent
        phi = 1.0 if a + b <= room else (np.sqrt(b * b + 4 * a * room) - b) / (2 * a)
        self.spent += a * phi**2 + b * phi
        self.beta *= phi
        self.put(r, x, i, y * phi)


def differences(S: Any, squares: Any, x: Any) -> Any:
    return np.exp(-((S - x) ** 2).sum(axis=1) / (2 * SIGMA**2))


def products(S: Any, squares: Any, x: Any) -> Any:
    return np.exp((2 * (S @ x) - squares - x @ x) / (2 * SIGMA**2))


# -- a projection ------------------------------------------------------------------------------------------------------


def noise(n: int, features: int = 128, tasks: int = 10) -> Any:
    """Labels by the coin, so that half of the rounds are mistakes, and records that no others hold."""
    block = streams.dense(features, tasks, n)
    y = np.where(np.random.default_rng(1).random(n) < 0.5, 1, -1)
    return type(block)(block.X, y, block.task, block.place)


def projection() -> Iterator[Row]:
    block, size = noise(12_000), 1000
    part = block.piece(4000, 8000)
    for budget in (ct.updates.Projection(size), ct.updates.SharedProjection(size)):
        mistakes = int(filled(budget, block, 4000).__stream_model__().learn(part).updated.sum())
        ours = timed(lambda: filled(budget, block, 4000), lambda model: model.__stream_model__().learn(part))  # noqa: B023
        peer = timed(lambda: filled(budget, block, 4000), lambda model: literal(model, 3))  # noqa: B023
        what = f"{type(budget).__name__}, B = {size}, a mistake, predictions included"
        yield within(what, 250, ours, count=mistakes, unit="µs")
        yield at_least(f"{what}, over an inverse each", None, ours, peer, mistakes, counts=(mistakes, 3), unit="µs")


def literal(model: Any, times: int) -> None:
    """What a mistake costs that inverts the Gram matrix of B + 1 vectors, all that the definition asks for."""
    X = model.state_.model.store.values
    squares = (X**2).sum(axis=1)
    for _ in range(times):
        H = np.exp((2 * X @ X.T - squares - squares[:, None]) / (2 * SIGMA**2))
        np.linalg.inv(H)


# -- sparse text -------------------------------------------------------------------------------------------------------


def sparse() -> Iterator[Row]:
    block, size = streams.text(100, 24_000), 5000
    budget, kernel = ct.updates.RandomRemoval(size), ct.kernels.Polynomial(2)
    part = block.piece(16_000, 20_000)
    ours = timed(lambda: filled(budget, block, 16_000, kernel), lambda model: model.__stream_model__().learn(part))
    few, X = 30, block.X
    starts, features, values = X.indptr[: size + 1], X.indices[: X.indptr[size]], X.data[: X.indptr[size]]

    def row_by_row(dense: np.ndarray) -> None:
        """One record made dense, the products with every support vector in turn, all of them in one numpy call."""
        for t in range(size, size + few):
            entries = slice(X.indptr[t], X.indptr[t + 1])
            dense[X.indices[entries]] = X.data[entries]
            _ = (np.add.reduceat(values * dense[features], starts[:-1]) + 1.0) ** 2
            dense[X.indices[entries]] = 0.0

    peer = timed(lambda: np.zeros(X.shape[1]), row_by_row)
    what = f"RandomRemoval, sparse text, B = {size}, a record, over row by row"
    yield at_least(what, 5, ours, peer, 4000, counts=(4000, few))


# -- cost over B -------------------------------------------------------------------------------------------------------


def over_b() -> Iterator[Row]:
    """What a mistake costs beside the prediction, which is B kernel values for all; the exponent of B that fits."""
    block = noise(20_000, 32)
    sizes = np.array([125, 250, 500, 1000])
    for name, claimed in (("RandomRemoval", 0), ("Forgetron", 1), ("Projection", 2), ("SharedProjection", 2)):
        whole = np.array([per_mistake(getattr(ct.updates, name)(int(size)), block, int(size)) for size in sizes])
        exponent = float(np.polyfit(np.log(sizes), np.log(whole), 1)[0])
        shown = ", ".join(f"{seconds * 1e6:.3g}" for seconds in whole)
        what = f"{name}, µs a mistake at B = {', '.join(map(str, sizes))}, and the exponent of B that fits (ratio)"
        fits = exponent <= max(claimed, 1) + 0.15
        yield Row(what, f"B^{claimed}, and B kernel values", shown, ratio=f"{exponent:.2f}", reached=fits)


def per_mistake(budget: Any, block: Any, size: int) -> float:
    part = block.piece(8000, 12_000)
    mistakes = int(filled(budget, block, 8000).__stream_model__().learn(part).updated.sum())
    return (
        timed(lambda: filled(budget, block, 8000), lambda model: model.__stream_model__().learn(part)).median / mistakes
    )


# -- scikit-learn ------------------------------------------------------------------------------------------------------


def scikit_learn() -> Iterator[Row]:
    """Half of a stream to learn from, half to be tested on; tasks are balls around centres that are near each other."""
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import SGDClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import SVC

    rng = np.random.default_rng(0)
    n, d, tasks, sigma = 12_000, 8, 40, 2.0
    X, task = rng.normal(size=(n, d)), rng.integers(tasks, size=n)
    apart = ((X - 0.5 * rng.normal(size=(tasks, d))[task]) ** 2).sum(axis=1)
    y = np.where(apart > np.median(apart), 1, -1)
    first, rest = slice(0, n // 2), slice(n // 2, n)
    coded = np.column_stack([X, sigma * np.eye(tasks)[task]])
    gamma = 1 / (2 * sigma**2)
    machines = {
        "SVC, records and tasks as features": (SVC(gamma=gamma), coded),
        "Nystroem of 300 + SGD, records and tasks": (
            make_pipeline(Nystroem(gamma=gamma, n_components=300, random_state=0), SGDClassifier(random_state=0)),
            coded,
        ),
    }
    budgets = (
        ct.updates.Unbounded(),
        ct.updates.RandomRemoval(300),
        ct.updates.Forgetron(300),
        ct.updates.Projection(300),
        ct.updates.SharedProjection(300),
    )
    for name, (machine, features) in machines.items():
        seconds = cpu(lambda: machine.fit(features[first], y[first]))  # noqa: B023
        yield _beside(name, seconds, machine.predict(features[rest]) != y[rest])
    for budget in budgets:
        held = ct.MultitaskKernelPerceptron(ct.kernels.Gaussian(sigma), ct.HalfUpdate(), budget)
        held.fit(X[first], y[first], task[first])
        seconds = cpu(lambda: held.fit(X[first], y[first], task[first]))  # noqa: B023
        yield _beside(
            f"ours, {budget!r}, {held.n_support_} vectors", seconds, held.predict(X[rest], task[rest]) != y[rest]
        )


def _beside(name: str, seconds: float, wrong: Any) -> Row:
    return Row(f"{name}: 6000 records, held-out error", "–", f"{seconds:.2f} s, {100 * np.mean(wrong):.1f} %")


if __name__ == "__main__":
    main(rows, __doc__)
