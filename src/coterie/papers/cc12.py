"""Cavallanti, Cesa-Bianchi, "Memory Constraint Online Multitask Classification", 2012.

``python -m coterie.papers.cc12`` prints table 1 beside the paper's numbers: the F-measure of one pass, in %, for a
complete (C) and a disconnected graph (D) and budgets of 25, 10 and 5 % of what a Perceptron a task keeps without one.

Not the paper's settings, which it does not tell: School with a Gaussian kernel of sigma = 1 on features scaled to
[0, 1]; Sentiment with a normalised polynomial kernel of degree 2 on ``acl4``, words and pairs of words that occur twice
at least. Shuffles are by ``numpy.random.default_rng(0)`` onwards.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie import datasets
from coterie.budgets import Forgetron, Projection, RandomRemoval, SharedProjection
from coterie.datasets import folder
from coterie.datasets.preparation import to_unit_interval
from coterie.datasets.small import SCHOOL
from coterie.kernels import Gaussian, Normalised, Polynomial
from coterie.online import MultitaskKernelPerceptron
from coterie.relations import Independent, MeanRegularized
from coterie.streams.metrics import evaluate
from coterie.streams.progressive import progressive_validation

FRACTIONS = (0.25, 0.10, 0.05)
GRAPHS = ("C", "D")
#: F-measures in % as printed: C(25 %), D(25 %), C(10 %), D(10 %), C(5 %), D(5 %).
PRINTED = {
    "school": {
        "mtrbp": (40.4, 35.0, 38.6, 30.9, 37.3, 26.0),
        "mtforg": (39.7, 35.1, 38.0, 31.5, 36.9, 25.9),
        "mtbprj": (40.6, 37.4, 40.2, 32.6, 39.4, 23.8),
        "mtbprj-2": (41.2, 39.1, 40.9, 39.0, 39.6, 37.9),
    },
    "acl4": {
        "mtrbp": (66.8, 63.3, 62.0, 58.3, 59.4, 56.1),
        "mtforg": (66.7, 63.4, 62.3, 58.8, 58.8, 56.5),
        "mtbprj": (71.4, 67.7, 66.6, 63.6, 64.0, 60.6),
        "mtbprj-2": (71.7, 68.5, 67.9, 64.9, 64.5, 61.7),
    },
}
PRINTED_BASELINES = {"school": 39.1, "acl4": 71.5}


@dataclass(frozen=True)
class Stream:
    """Records in the order of the source, and the kernel that they are learned with."""

    X: Any
    y: NDArray[Any]
    task: NDArray[Any]
    kernel: Any

    def shuffled(self, seed: int, n: int | None = None) -> Stream:
        """The first n of them in a random order."""
        order = np.random.default_rng(seed).permutation(len(self.y))[:n]
        return Stream(self.X[order], self.y[order], self.task[order], self.kernel)


@dataclass(frozen=True)
class Table:
    """F-measures in %, one a shuffle: of the baseline, and by algorithm, graph and part of its active set."""

    name: str
    baseline: NDArray[np.float64]
    support: NDArray[np.int64]
    cells: dict[tuple[str, str, float], NDArray[np.float64]]

    def mean(self, algorithm: str, graph: str, fraction: float) -> float:
        """Of one cell."""
        return float(self.cells[algorithm, graph, fraction].mean())


def algorithms(eta: float = 0.01) -> dict[str, Callable[[int, int], Any]]:
    """The paper's four by its names: from the size and a seed to the budget.

    Examples
    --------
    >>> algorithms()["mtforg"](100, 0)
    Forgetron(size=100, variant='corrected')
    """
    return {
        "mtrbp": lambda size, seed: RandomRemoval(size, seed),
        "mtforg": lambda size, seed: Forgetron(size),
        "mtbprj": lambda size, seed: Projection(size, eta),
        "mtbprj-2": lambda size, seed: SharedProjection(size, eta),
    }


def school() -> Stream:
    """School as the paper has it: features in [0, 1], +1 above the 75th percentile."""
    held = datasets.load("school")
    X = to_unit_interval(folder.read(SCHOOL)["X"].astype(np.float64))
    return Stream(X, held.y, held.task, Gaussian(1.0))


def sentiment() -> Stream:
    """Reviews of four kinds of goods."""
    held = datasets.load("acl4")
    return Stream(held.X, held.y, held.task, Normalised(Polynomial(2)))


def relation(graph: str, n_tasks: int) -> Any:
    """The complete graph's relation on the paper's scale, with which eta goes; or none."""
    return MeanRegularized(b=n_tasks) if graph == "C" else Independent()


def table_1(
    name: str,
    seeds: Sequence[int] = range(10),
    n: int | None = None,
    fractions: Sequence[float] = FRACTIONS,
    stream: Stream | None = None,
) -> Table:
    """All cells for one data set; of the first n records of each shuffle, where that is given."""
    whole = STREAMS[name]() if stream is None else stream
    cells: dict[tuple[str, str, float], list[float]] = {}
    alone, kept = [], []
    for seed in seeds:
        held = whole.shuffled(seed, n)
        model = MultitaskKernelPerceptron(held.kernel, Independent())
        alone.append(f_measure(model, held))
        kept.append(model.n_support_)
        for algorithm, make in algorithms().items():
            for graph in GRAPHS:
                for fraction in fractions:
                    budget = make(max(1, round(fraction * kept[-1])), seed)
                    sharing = relation(graph, len(set(held.task.tolist())))
                    found = f_measure(MultitaskKernelPerceptron(held.kernel, sharing, budget), held)
                    cells.setdefault((algorithm, graph, fraction), []).append(found)
    return Table(name, np.array(alone), np.array(kept), {cell: np.array(values) for cell, values in cells.items()})


def f_measure(model: MultitaskKernelPerceptron, held: Stream) -> float:
    """Of one pass, every record predicted before it is learned, in %."""
    trace = progressive_validation(model, held.X, held.y, task=held.task)
    return 100 * evaluate(trace).micro["f1"]


def shown(table: Table) -> str:
    """The table beside the paper's, and which of its orderings hold."""
    fractions = sorted({fraction for _, _, fraction in table.cells}, reverse=True)
    places = [(fraction, graph) for fraction in fractions for graph in GRAPHS]
    heads = "".join(f"{f'{graph}({fraction:.0%})':>14}" for fraction, graph in places)
    support = f"{table.support.mean():.0f} support vectors"
    lines = [
        f"{table.name}: baseline {_spread(table.baseline)}, {support}; the paper's {PRINTED_BASELINES[table.name]}",
        f"{'F in %':10}{heads}   the paper's",
    ]
    for algorithm in algorithms():
        cells = "".join(f"{_spread(table.cells[algorithm, graph, fraction]):>14}" for fraction, graph in places)
        lines.append(f"{algorithm:10}{cells}   {' '.join(f'{x:.1f}' for x in PRINTED[table.name][algorithm])}")
    return "\n".join(lines + orderings(table))


def orderings(table: Table) -> list[str]:
    """What the paper concludes, in how many cells it holds here and by how much in the mean of the shuffles."""
    fractions = sorted({fraction for _, _, fraction in table.cells}, reverse=True)
    both = [(graph, fraction) for fraction in fractions for graph in GRAPHS]
    mean = table.mean
    claims = {
        "complete above disconnected": [mean(a, "C", f) - mean(a, "D", f) for a in algorithms() for f in fractions],
        "mtbprj-2 not below mtbprj": [mean("mtbprj-2", *cell) - mean("mtbprj", *cell) for cell in both],
        "mtbprj above mtrbp": [mean("mtbprj", *cell) - mean("mtrbp", *cell) for cell in both],
        "mtbprj above mtforg": [mean("mtbprj", *cell) - mean("mtforg", *cell) for cell in both],
    }
    lines = [
        f"{name}: {sum(gap > 0 for gap in gaps)} of {len(gaps)} cells, by {min(gaps):+.1f} to {max(gaps):+.1f} points"
        for name, gaps in claims.items()
    ]
    smallest = fractions[-1]
    part = table.mean("mtbprj-2", "C", smallest) / table.baseline.mean()
    return [*lines, f"mtbprj-2 on the complete graph at {smallest:.0%}: {part:.1%} of the baseline's F"]


def _spread(values: NDArray[np.float64]) -> str:
    return f"{values.mean():.1f}±{values.std():.1f}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table; the real data sets must be in the folder that COTERIE_DATA names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", default=list(STREAMS), help=", ".join(STREAMS))
    parser.add_argument("--shuffles", type=int, default=10)
    parser.add_argument("--quick", action="store_true", help="2000 records of two shuffles")
    asked = parser.parse_args(arguments)
    seeds, n = (range(2), 2000) if asked.quick else (range(asked.shuffles), None)
    for name in asked.what:
        print(shown(table_1(name, seeds, n)), end="\n\n", flush=True)


STREAMS: dict[str, Callable[[], Stream]] = {"school": school, "acl4": sentiment}

if __name__ == "__main__":
    main()
