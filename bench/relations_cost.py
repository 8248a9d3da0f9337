"""What a mistake costs under each learned relation: LogDet's row of the targets, and cost over the number of tasks.

    python -m bench.relations_cost            about three minutes
    python -m bench.relations_cost --quick    fewer repetitions, smaller K

A mistake is timed as a whole: the column of M, the move of all weights, the Gram matrix, M itself. The peer is the form
that the definition prints, A = inv(inv(A) + eta W'W), its product W'W and two inverses afresh each time.
"""

from __future__ import annotations

import time
from statistics import median

import numpy as np

from bench.harness import Row, Timing, at_least, main, within
from coterie import LogDet
from coterie.hypotheses import LinearWeights
from coterie.index import Index
from coterie.numeric.core.records import Csr
from coterie.relations import BatchOptimal, Covariance, VonNeumann
from coterie.round.contract import Run, Size
from coterie.round.linear import LinearLearner
from coterie.rules import Perceptron

FEATURES, ENTRIES = 2**18, 123

RELATIONS = {
    "LogDet": LogDet(1e-9),
    "LogDet, step_norm": LogDet(1e-4, step_norm=True),
    "VonNeumann": VonNeumann(1e-10),
    "VonNeumann, step_norm": VonNeumann(1e-7, step_norm=True),
    "Covariance": Covariance(0.1),
    "Covariance, role='Ainv'": Covariance(0.1, step_norm=True, role="Ainv"),
    "BatchOptimal": BatchOptimal(0.1),
}


def text(n, K, seed=0, features=FEATURES, entries=ENTRIES):
    """Zipf features, unit norm, labels at random: every second round is a mistake."""
    rng = np.random.default_rng(seed)
    drawn = np.minimum((features ** rng.random(n * entries)).astype(np.int32), features - 1)
    values = np.full(n * entries, 1 / np.sqrt(entries))
    starts = np.arange(0, n * entries + 1, entries, dtype=np.int64)
    return Csr(values, drawn, starts), rng.integers(K, size=n), rng.choice([-1.0, 1.0], size=n)


def per_mistake(relation, K, n, repeats, features=FEATURES):
    """Seconds a mistake, the medians of several stretches of a stream, after a warm-up."""
    learner = LinearLearner(LinearWeights(), relation, Perceptron())
    state = learner.init(Index(range(K)), Size(features))
    times = []
    for repeat in range(repeats + 1):
        rows, codes, y = text(n, K, repeat, features)
        start = time.perf_counter()
        done = learner.learn(state, Run(rows, codes), y)
        times.append((time.perf_counter() - start) / max(np.count_nonzero(done.steps), 1))
    return times[1:]


def inverse_each_time(K, repeats, features=FEATURES, eta=1e-9):
    """Seconds a mistake of the printed form: W dense (d, K)."""
    rng = np.random.default_rng(0)
    W, A = rng.standard_normal((features, K)) * 1e-3, np.eye(K) / K
    times = []
    for repeat in range(repeats):
        rows, codes, y = text(1, K, repeat, features)
        start = time.perf_counter()
        gram = W.T @ W
        np.add.at(W, rows.features, y[0] * np.outer(rows.values, np.linalg.inv(A)[:, codes[0]]))
        A = np.linalg.inv(np.linalg.inv(A) + eta * gram)
        times.append(time.perf_counter() - start)
    return times


def rows(quick):
    repeats = 3 if quick else 7
    ours = Timing(per_mistake(LogDet(1e-9), 100, 4000, repeats))
    record = Timing(per_mistake(LogDet(1e-9), 1, 4000, repeats))
    naive = Timing(inverse_each_time(100, 3))
    note = f"the record itself takes {record.shown(unit='µs')} of it (K = 1)"
    what = f"LogDet, K = 100, d = 2^18, {ENTRIES} entries a record: a mistake"
    yield within(what, 20.0, ours, unit="µs", floor=note)
    yield at_least(f"{what}, over the inverse each time", 1000, ours, naive, 1, unit="µs")
    for name, relation in RELATIONS.items():
        yield growth(name, relation, [25, 50, 100, 200] if quick else [25, 50, 100, 200, 400, 800], repeats)


def growth(name, relation, sizes, repeats):
    """The exponent of K that is fitted over the K from 100 on, where the fixed cost of a record matters little."""
    costs = []
    for K in sizes:
        cubic = "BatchOptimal" in name or name == "VonNeumann, step_norm"
        n = max(10, min(2000, int(4e8 / K**3))) if cubic else max(200, int(4e7 / K**2 / 10))
        costs.append(median(per_mistake(relation, K, n, repeats if K < 400 else 2, 2000)))
    each = ", ".join(f"{1e6 * cost:.3g}" for cost in costs)
    large = [k for k, K in enumerate(sizes) if K >= 100]
    what = f"{name}, d = 2000: a mistake at K = {', '.join(map(str, sizes))}, and its exponent from K = 100 on"
    return Row(
        what,
        "–",
        f"{each} µs",
        ratio=f"{np.polyfit(np.log(np.array(sizes)[large]), np.log(np.array(costs)[large]), 1)[0]:.2f}",
    )


if __name__ == "__main__":
    main(rows, __doc__)
