"""Priming that decides itself against the best of a grid of fixed EPOCHs, in hindsight, on real data.

    COTERIE_DATA=... python bench/priming.py [--shuffles 3] [--eta 1e-3] [--arrive]

Online error in %, one pass, mean over shuffles. All tasks are known from the start; with ``--arrive`` each is known
from its first record on. The claim: "auto" is nowhere worse than the best EPOCH by more than a
tenth of its error.
"""

from __future__ import annotations

import argparse

import numpy as np
from papers import data as datasets

import coterie as ct

SETS = ("school", "landmine", "a9a", "amazon4", "acl4", "newsgroups_pairs")
EPOCHS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9)


def relations(eta):
    return {
        "LogDet": ct.LogDet(eta, step_norm=True),
        "VonNeumann": ct.relations.VonNeumann(eta / 10, step_norm=True),
        "Covariance": ct.relations.Covariance(0.01, step_norm=True, role="Ainv"),
    }


def error(relation, data, seed, arrive):
    order = np.random.default_rng(seed).permutation(len(data))
    model = ct.MultitaskPerceptron(relation)
    tasks = None if arrive else np.unique(data.task).tolist()
    trace = ct.progressive_validation(model, data.X[order], data.y[order], task=data.task[order], tasks=tasks)
    return 100 * trace.error, model


def switched_at(model):
    """The share of moves before which priming ended; 1 if it never did."""
    start = model.state_.model.relation.start
    return start.moves[0] if start.moves[2] else -1


def table(name, relation, sets, shuffles, arrive):
    print(f"\n{name}: {relation!r}")
    print(
        f"{'':18}{'alone':>7}"
        + "".join(f"{epoch:7.2f}" for epoch in EPOCHS)
        + f"{'auto':>8}{'auto/best':>11}{'at move':>9}"
    )
    worst = 0.0
    for data in sets:
        alone = np.mean([error(ct.Independent(), data, seed, arrive)[0] for seed in range(shuffles)])
        seeds = range(shuffles)
        grid = [
            np.mean([error(ct.relations.Primed(relation, e), data, seed, arrive)[0] for seed in seeds]) for e in EPOCHS
        ]
        runs = [error(ct.relations.Primed(relation, "auto"), data, seed, arrive) for seed in seeds]
        auto, ratio = np.mean([run[0] for run in runs]), np.mean([run[0] for run in runs]) / min(grid)
        worst = max(worst, ratio)
        at = int(np.median([switched_at(run[1]) for run in runs]))
        print(
            f"{data.name:18}{alone:7.2f}" + "".join(f"{e:7.2f}" for e in grid) + f"{auto:8.2f}{ratio:11.3f}{at:9d}",
            flush=True,
        )
    print(f"worst of auto over the best EPOCH: {worst:.3f} (claim: at most 1.1)")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shuffles", type=int, default=3)
    parser.add_argument("--eta", type=float, default=1e-3)
    parser.add_argument("--arrive", action="store_true", help="tasks are not known before their first record")
    parser.add_argument("--relations", nargs="*", default=["LogDet"])
    parser.add_argument("--sets", nargs="*", default=SETS)
    asked = parser.parse_args()
    sets = [datasets.load(name) for name in asked.sets]
    for name in asked.relations:
        table(name, relations(asked.eta)[name], sets, asked.shuffles, asked.arrive)


if __name__ == "__main__":
    main()
