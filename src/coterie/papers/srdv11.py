"""Saha, Rai, Daumé, Venkatasubramanian, "Online Learning of Multiple Tasks and Their Relationships", AISTATS 2011.

``python -m coterie.papers.srdv11`` prints tables 2, 3 and 5 and figure 1 beside the paper's numbers, with a control for
every method that learns its relation: A = I, and after EPOCH the step that the learned A had in the mean. What a method
gains over its control, its relations bring; what the control gains over IPL, a smaller step brings.

Not the paper's data: Sentiment is four of its eight domains (``amazon4``), the pairs of 20 Newsgroups are others, and
its EPOCH is a fraction of the stream while its rates are not given at all.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie import datasets
from coterie.online import MultitaskPerceptron
from coterie.relations import (
    BatchOptimal,
    Covariance,
    HalfUpdate,
    Independent,
    Interaction,
    LogDet,
    Pooled,
    Primed,
    VonNeumann,
)

#: Accuracy in % (table 3) and mistakes (table 5) as printed: 20newsgroups, Sentiment.
PRINTED = {
    "STL": ((56.94, 66.31), (4818, 25273)),
    "IPL": ((75.20, 67.24), (3002, 24317)),
    "CMTL": ((73.14, 67.38), (3246, 24212)),
    "BATCHOPT": ((75.78, 67.59), (3008, 24371)),
    "OMTLCOV": ((80.84, 70.49), (2696, 22980)),
    "OMTLLOG": ((81.83, 73.49), (2674, 22023)),
    "OMTLVON": ((76.51, 67.60), (3105, 24474)),
}
#: Correlations of the task vectors 1 and 2, 1 and 3, 2 and 3 as printed (table 2; one run).
PRINTED_CORRELATIONS = {
    "CMTL": (-0.203, 0.522, 0.137),
    "OMTLLOG": (-0.906, 0.000, 0.123),
    "OMTLVON": (-0.817, 0.032, 0.130),
}
PLACES = {"newsgroups_pairs": 0, "amazon4": 1}
EPOCHS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9)


def methods(epoch: float = 0.5, log: float = 1e-4, von: float = 3e-5, ridge: float = 0.1) -> dict[str, Any]:
    """The paper's seven methods by its names, as printed.

    Parameters
    ----------
    epoch : float
        The priming duration, a fraction of the stream.
    log, von : float
        The rates of OMTLLOG and OMTLVON, for records of about the length of three (Synthetic).
    ridge : float
        Added to the diagonal of A by OMTLCOV; BATCHOPT takes a tenth of it.

    Examples
    --------
    >>> list(methods())
    ['STL', 'IPL', 'CMTL', 'BATCHOPT', 'OMTLCOV', 'OMTLLOG', 'OMTLVON']
    """
    return {
        "STL": Pooled(),
        "IPL": Independent(),
        "CMTL": HalfUpdate(),
        "BATCHOPT": Primed(BatchOptimal(ridge / 10), epoch),
        "OMTLCOV": Primed(Covariance(ridge), epoch),
        "OMTLLOG": Primed(LogDet(log), epoch),
        "OMTLVON": Primed(VonNeumann(von), epoch),
    }


def recommended(epoch: float = 0.05, log: float = 1e-3, von: float = 1e-4) -> dict[str, Any]:
    """The learned relations with the mean step kept and priming short, for records of length one."""
    return {
        "BATCHOPT, step kept": Primed(BatchOptimal(0.1, step_norm=True, role="Ainv"), epoch),
        "OMTLCOV, step kept": Primed(Covariance(0.01, step_norm=True, role="Ainv"), epoch),
        "OMTLLOG, step kept": Primed(LogDet(log, step_norm=True), epoch),
        "OMTLVON, step kept": Primed(VonNeumann(von, step_norm=True), epoch),
        "OMTLLOG, step kept, auto": Primed(LogDet(log, step_norm=True), "auto"),
    }


@dataclass(frozen=True)
class Split:
    """Training records to be shuffled, and held-out records."""

    X: Any
    y: NDArray[Any]
    task: NDArray[Any]
    held_out: Any
    test_y: NDArray[Any]
    test_task: NDArray[Any]


@dataclass(frozen=True)
class Outcome:
    """What a method did over several shuffles: mistakes, held-out accuracy in %, weights of the last, its control's."""

    name: str
    mistakes: NDArray[np.float64]
    accuracy: NDArray[np.float64]
    correlations: NDArray[np.float64]
    control: NDArray[np.float64] | None


def synthetic(seed: int) -> Split:
    """Three tasks in ten dimensions, w_1 = -w_2 and w_3 orthogonal to them; 200 records to learn from, 100 to test."""
    rng = np.random.default_rng(seed)
    w, other = rng.standard_normal((2, 10))
    other -= (other @ w) / (w @ w) * w
    U = np.stack([w, -w, other])
    X, task = rng.standard_normal((300, 10)), rng.permutation(np.repeat(np.arange(3), 100))
    y = np.where((U[task] * X).sum(axis=1) > 0, 1, -1)
    return Split(X[:200], y[:200], task[:200], X[200:], y[200:], task[200:])


def real(name: str) -> Callable[[int], Split]:
    """A data set with a published test part, its training part shuffled by the seed."""
    data = datasets.load(name)
    held = data.test
    if held is None:
        raise ValueError(f"{name} has no published test part")

    def split(seed: int) -> Split:
        order = np.random.default_rng(seed).permutation(len(data))
        return Split(data.X[order], data.y[order], data.task[order], held.X, held.y, held.task)

    return split


def run(relation: Any, split: Split) -> tuple[MultitaskPerceptron, int]:
    """One pass over the training records: the model, and its mistakes."""
    model = MultitaskPerceptron(relation)
    rounds = model.learn_rounds(split.X, split.y, split.task, tasks=known(split), whole=True)
    return model, int(rounds.updated.sum())


def known(split: Split) -> list[Hashable]:
    """The tasks in a fixed order."""
    return sorted(set(split.task.tolist()))


def control(relation: Any, model: MultitaskPerceptron) -> Any:
    """Tasks on their own, with the mean step that the model's relation has come to, from its EPOCH on."""
    M = model.relation_matrix_
    step = float(np.trace(M)) / len(M)
    return Primed(Interaction(inverse=step * np.eye(len(M)), tasks=model.tasks_), relation.epoch)


def outcome(name: str, relation: Any, split: Callable[[int], Split], seeds: Iterable[int]) -> Outcome:
    """A method over several shuffles, with its control where it has an EPOCH that a control can share."""
    mistakes, accuracy, shapes, controls = [], [], [], []
    for seed in seeds:
        at = split(seed)
        model, made = run(relation, at)
        mistakes.append(made)
        accuracy.append(100 * model.score(at.held_out, at.test_y, at.test_task))
        shapes.append(np.corrcoef(model.coef_))
        if isinstance(getattr(relation, "epoch", None), float):
            beside, _ = run(control(relation, model), at)
            controls.append(100 * beside.score(at.held_out, at.test_y, at.test_task))
    return Outcome(
        name,
        np.array(mistakes, np.float64),
        np.array(accuracy),
        np.array(shapes),
        np.array(controls) if controls else None,
    )


def table_2(seeds: Sequence[int] = range(20)) -> str:
    """Correlations of the task vectors on Synthetic (EPOCH = 0.5), with accuracy and mistakes."""
    lines = [
        "Synthetic".ljust(24)
        + "".join(f"{head:>15}" for head in ("corr 12", "corr 13", "corr 23"))
        + f"{'acc %':>13}{'mistakes':>13}  paper"
    ]
    kept = recommended(0.5, 1e-1, 1e-4)
    for name, relation in (methods() | kept).items():
        found = outcome(name, relation, synthetic, seeds)
        pairs = [found.correlations[:, i, j] for i, j in ((0, 1), (0, 2), (1, 2))]
        cells = "".join(f"{_spread(values, 3):>15}" for values in pairs)
        printed = " ".join(f"{value:.3f}" for value in PRINTED_CORRELATIONS.get(name, ()))
        lines.append(f"{name:24}{cells}{_spread(found.accuracy):>13}{_spread(found.mistakes):>13}  {printed}")
    return "\n".join(lines)


def tables_3_and_5(name: str, seeds: Sequence[int] = range(20), log: float = 1e-6, von: float = 1e-7) -> str:
    """Held-out accuracy and mistakes on real data beside the paper's, with the control of each method."""
    split, place = real(name), PLACES[name]
    lines = [f"{name:26}{'acc %':>13}{'control %':>13}{'mistakes':>15}   paper: acc %, mistakes"]
    for method, relation in (methods(0.5, log, von) | recommended()).items():
        found = outcome(method, relation, split, seeds)
        beside = "" if found.control is None else _spread(found.control)
        line = f"{method:26}{_spread(found.accuracy):>13}{beside:>13}{_spread(found.mistakes):>15}"
        printed = PRINTED.get(method)
        lines.append(line + (f"   {printed[0][place]:.2f}, {printed[1][place]}" if printed else ""))
    return "\n".join(lines)


def figure_1(
    name: str = "newsgroups_pairs", seeds: Sequence[int] = range(3), log: float = 1e-6, von: float = 1e-7
) -> str:
    """Held-out accuracy over EPOCH, as printed and with the mean step kept."""
    split = real(name)
    lines = [f"{name + ', acc %':26}" + "".join(f"{epoch:8.2f}" for epoch in EPOCHS)]
    for method in [*list(methods())[3:], *list(recommended())[:4]]:
        relations = [(methods(epoch, log, von) | recommended(epoch))[method] for epoch in EPOCHS]
        means = [np.mean([run_accuracy(relation, split(seed)) for seed in seeds]) for relation in relations]
        lines.append(f"{method:26}" + "".join(f"{mean:8.2f}" for mean in means))
    return "\n".join(lines)


def run_accuracy(relation: Any, split: Split) -> float:
    """Held-out accuracy in % after one pass."""
    model, _ = run(relation, split)
    return 100 * float(model.score(split.held_out, split.test_y, split.test_task))


def _spread(values: NDArray[np.float64], digits: int = 1) -> str:
    return f"{values.mean():.{digits}f}±{values.std():.{digits}f}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print everything; the real data sets must be in the folder that COTERIE_DATA names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", default=["synthetic", "newsgroups_pairs", "amazon4", "figure"])
    parser.add_argument("--shuffles", type=int, default=20)
    asked = parser.parse_args(arguments)
    for what in asked.what:
        print(_PARTS[what](range(asked.shuffles)), end="\n\n", flush=True)


_PARTS: dict[str, Callable[[Sequence[int]], str]] = {
    "synthetic": table_2,
    "newsgroups_pairs": lambda seeds: tables_3_and_5("newsgroups_pairs", seeds),
    "amazon4": lambda seeds: tables_3_and_5("amazon4", seeds),
    "figure": lambda seeds: figure_1(seeds=seeds[:3]),
}

if __name__ == "__main__":
    main()
