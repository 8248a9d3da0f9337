"""Log loss and calibration of probabilities: AROW's as a probit of margin over variance, beside twice the margin as
log-odds; those of mixtures with their last step, beside the mixtures alone.

    python -m bench.calibration [set ...]

The first 20 000 records of one shuffle, each predicted, then learned; AROW's in pieces of 100. The calibration error is the mean
distance between the probability told and the share of positive labels, over fifteen bins of equal width. The prepared data
lie in the folder that COTERIE_DATA names.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from papers import data as datasets

import coterie as ct
from bench import plain

SETS = ("landmine", "a9a", "chem97", "flights", "amazon4", "acl4")
NOISES = (3.0, 10.0, 30.0)
MEMBERS = ("default", "cheap", "ensemble")
MOST, PIECE, BINS = 20_000, 100, 15
Floats = NDArray[np.float64]


def stream(name: str, r: float) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Both probabilities of +1 for each record but the first piece, and whether it was +1."""
    data = datasets.load(name)
    order = np.random.default_rng(0).permutation(len(data))[:MOST]
    X, y, task = data.X[order], data.y[order], np.asarray(data.task)[order]
    model, told = plain.MultitaskAROW(r=r), []
    for first in range(0, len(y), PIECE):
        some = slice(first, first + PIECE)
        if first:
            logistic = 1 / (1 + np.exp(-2 * model.decision_function(X[some], task[some])))
            told.append(np.stack([logistic, model.predict_proba(X[some], task[some])[:, 1]]))
        model.partial_fit(X[some], y[some], task[some], classes=[-1, 1])
    logistic, probit = np.concatenate(told, axis=1)
    return logistic, probit, y[PIECE:] == 1


class Alone(ct.AdaptiveSharingClassifier):
    """The mixture without its last step."""

    def _make_learner(self) -> Any:
        mixture = super()._make_learner()
        mixture.unsure = 0.0
        return mixture


def mixed(name: str, members: str) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """The probabilities of a mixture alone and of one with its last step, and whether each record was +1."""
    data = datasets.load(name)
    order = np.random.default_rng(0).permutation(len(data))[:MOST]
    X, y, task = data.X[order], data.y[order], np.asarray(data.task)[order]
    models = (Alone(members, **plain.AS_THEY_ARE), plain.AdaptiveSharingClassifier(members))
    alone, last = (ct.progressive_validation(model, X, y, task=task).probability for model in models)
    return alone, last, y == 1


def log_loss(p: Floats, positive: NDArray[np.bool_]) -> float:
    """The mean of -log of the probability of the true label."""
    return float(-np.log(np.clip(np.where(positive, p, 1 - p), 1e-12, 1)).mean())


def calibration_error(p: Floats, positive: NDArray[np.bool_]) -> float:
    """How far probabilities are from shares, by bins."""
    bins = np.minimum((p * BINS).astype(int), BINS - 1)
    told, true = (np.bincount(bins, held, BINS) for held in (p, positive))
    return float(np.abs(told - true).sum() / len(p))


def mixture_rows(names: list[str]) -> Iterator[str]:
    """The table of mixtures, line by line."""
    yield "| | members | log loss: the mixture alone | with the last step | calibration error: alone | with the last step |"
    yield "|---|---|---|---|---|---|"
    for name in names:
        for members in MEMBERS:
            yield f"| {name} | {members} | {_cells(*mixed(name, members))} |"


def _cells(before: Floats, after: Floats, positive: NDArray[np.bool_]) -> str:
    held = [measure(p, positive) for measure in (log_loss, calibration_error) for p in (before, after)]
    return " | ".join(f"{value:.4f}" for value in held)


def rows(names: list[str]) -> Iterator[str]:
    """The table of AROW, line by line."""
    yield "| | r | log loss: twice the margin | probit | calibration error: twice the margin | probit |"
    yield "|---|---|---|---|---|---|"
    for name in names:
        for r in NOISES:
            yield f"| {name} | {r:g} | {_cells(*stream(name, r))} |"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=list(SETS))
    names = parser.parse_args().sets or list(SETS)
    for table in (rows(names), [""], mixture_rows(names)):
        for line in table:
            print(line, flush=True)


if __name__ == "__main__":
    main()
