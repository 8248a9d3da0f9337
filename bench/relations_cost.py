"""What a mistake costs under each learned relation: LogDet's row of the targets, and cost over the number of tasks.

    python bench/relations_cost.py            about three minutes
    python bench/relations_cost.py --quick    fewer repetitions, smaller K

A mistake is timed as a whole: the column of M, the move of all weights, the Gram matrix, M itself. The peer is the form
that the definition prints, A = inv(inv(A) + eta W'W), its product W'W and two inverses afresh each time.
"""

from __future__ import annotations

import argparse
import time
from statistics import median

import numpy as np

from coterie import BatchOptimal, Covariance, LogDet, VonNeumann
from coterie.hypotheses import Linear
from coterie.learner import Learner
from coterie.numeric.records import Csr
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
    learner = Learner(Linear(), relation, Perceptron())
    state = learner.init(range(K), features)
    times = []
    for repeat in range(repeats + 1):
        rows, codes, y = text(n, K, repeat, features)
        start = time.perf_counter()
        moves = learner.update_many(state, rows, codes, y)
        times.append((time.perf_counter() - start) / max(np.count_nonzero(moves.taus), 1))
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


def shown(times):
    return f"{1e6 * median(times):12.1f} µs ({1e6 * min(times):.1f} to {1e6 * max(times):.1f})"


def exponent(sizes, costs):
    return np.polyfit(np.log(sizes), np.log(costs), 1)[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    repeats = 3 if quick else 7

    print(f"K = 100, d = 2^18, {ENTRIES} entries a record, one mistake:")
    ours = per_mistake(LogDet(1e-9), 100, 4000, repeats)
    naive = inverse_each_time(100, 3)
    fixed_cost = per_mistake(LogDet(1e-9), 1, 4000, repeats)
    print(f"  LogDet                   {shown(ours)}   target 20 µs")
    print(f"  inverse each time        {shown(naive)}   {median(naive) / median(ours):,.0f} times   target 1000 times")
    print(f"  of which the record      {shown(fixed_cost)} (K = 1)")

    sizes = [25, 50, 100, 200] if quick else [25, 50, 100, 200, 400, 800]
    print("\nd = 2000, one mistake, µs; the exponent is fitted over the K from 100 on, that over all in brackets")
    print(" " * 26 + "".join(f"{f'K={K}':>11}" for K in sizes) + "   exponent")
    for name, relation in RELATIONS.items():
        costs = []
        for K in sizes:
            cubic = "BatchOptimal" in name or name == "VonNeumann, step_norm"
            n = max(10, min(2000, int(4e8 / K**3))) if cubic else max(200, int(4e7 / K**2 / 10))
            costs.append(median(per_mistake(relation, K, n, repeats if K < 400 else 2, 2000)))
        row = "".join(f"{1e6 * cost:11.1f}" for cost in costs)
        large = [k for k, K in enumerate(sizes) if K >= 100]
        high = exponent([sizes[k] for k in large], [costs[k] for k in large])
        print(f"  {name:24}{row}   {high:.2f} ({exponent(sizes, costs):.2f})", flush=True)


if __name__ == "__main__":
    main()
