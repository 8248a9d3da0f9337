"""Fornoni, "Multi-view learning" (thesis, 2009): the figures 4.2 to 4.10, and what the thesis leaves open.

``python -m coterie.papers.for09`` prints a table for each figure: errors in % over one pass, predictions made before
the label is seen, by algorithm and exponent p; for the photographs those of the held-out part too, by the mean weights.
MMP is :class:`coterie.MultiviewPerceptron`, OMMP :class:`coterie.OrthogonalMultiviewPerceptron`.

Not the thesis's settings, which it does not tell or which are not to be had: sigma is the median distance of the
records of a view; 20 Newsgroups as two classes stands in for news20; the photographs of ETH-80 have other
descriptors, a colour histogram and gradients (chi² kernels, gamma the inverse of the mean distance), a mask and a
small picture (Gaussian ones). Shuffles are by ``numpy.random.default_rng(0)`` onwards.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.datasets.views import ViewDataset, a9a_halves, eth80_pair, mfeat, newsgroups_views
from coterie.kernels import Gaussian, Pairwise, gram, median_distance
from coterie.online import MultiCueClassifier, MultiviewPerceptron, OrthogonalMultiviewPerceptron, view_baselines
from coterie.rules import PassiveAggressive
from coterie.streams.progressive import progressive_validation

PAIRS = {"horse/pear": ("horse", "pear"), "cow/dog": ("cow", "dog")}
PARTS = {
    "hog, gray20": ("hog", "gray20"),
    "three": ("hog", "shape", "gray20"),
    "four": ("color", "hog", "shape", "gray20"),
}
TRAINING = 0.7


@dataclass(frozen=True)
class Curves:
    """Errors in %, a figure's worth of them.

    Attributes
    ----------
    title : str
        What they are of.
    p : tuple of float
        The exponents.
    lines : dict
        Errors by algorithm, shape (shuffles, exponents); one column where p does not matter.
    """

    title: str
    p: tuple[float, ...]
    lines: dict[str, NDArray[np.float64]]

    def mean(self, name: str) -> NDArray[np.float64]:
        """Over the shuffles."""
        return np.asarray(self.lines[name].mean(axis=0))

    def best(self, name: str) -> float:
        """At the best exponent, in the mean of the shuffles: chosen in hindsight."""
        return float(self.mean(name).min())

    def gap(self, name: str, other: str) -> tuple[float, float]:
        """By how many points the first is better at its best exponent: mean and deviation of the shuffles' differences.

        Deviations of differences leave out what shuffles do to both alike, as in the thesis's second and third plots.
        """
        first, second = (self.lines[each][:, int(self.mean(each).argmin())] for each in (name, other))
        return float((second - first).mean()), float((second - first).std())


def adult(
    kernel: str = "linear", seeds: Sequence[int] = range(10), p: Sequence[float] = range(1, 21), n: int | None = None
) -> Curves:
    """Figures 4.2 (``"linear"``) and 4.3 (``"gaussian"``): the halves of a9a, n records of each shuffle."""
    whole = a9a_halves()
    if kernel == "linear":
        return curves(f"a9a, linear{_of(n)}", whole, seeds, p, n=n)
    dense = ViewDataset(whole.name, {name: block.toarray() for name, block in whole.X.items()}, whole.y)
    sigma = float(np.mean([median_distance(block) for block in dense.X.values()]))
    return curves(f"a9a, Gaussian, sigma={sigma:.2f}{_of(n)}", dense, seeds, p, Gaussian(sigma), n)


def news(views: int, seeds: Sequence[int] = range(5), p: Sequence[float] = range(1, 9), n: int | None = None) -> Curves:
    """Figures 4.4 and 4.5: 20 Newsgroups as two classes, words cut into so many views.

    Views are scaled to unit norm each, so that side by side they are not the vector that was cut; that has a line too.
    """
    found, uncut = curves(f"20 Newsgroups, {views} views{_of(n)}", newsgroups_views(views), seeds, p, n=n), []
    whole = newsgroups_views(1)
    for seed in seeds:
        held = whole.taken(np.random.default_rng(seed).permutation(len(whole))[:n])
        uncut.append([error(OrthogonalMultiviewPerceptron(1), held.X, held.y)])
    return Curves(found.title, found.p, {"Perceptron, uncut": np.array(uncut)} | found.lines)


def curves(
    title: str, whole: ViewDataset, seeds: Sequence[int], p: Sequence[float], kernel: Any = None, n: int | None = None
) -> Curves:
    """Errors of MMP, OMMP and the baselines for views of one space."""
    lines: dict[str, list[list[float]]] = {}
    for seed in seeds:
        held = whole.taken(np.random.default_rng(seed).permutation(len(whole))[:n])
        for name, (model, X) in view_baselines(held.X, kernel).items():
            label = name if name == "side by side" else f"view {name}"
            lines.setdefault(f"Perceptron, {label}", []).append([error(model, X, held.y)])
        for name, make in (("MMP", MultiviewPerceptron), ("OMMP", OrthogonalMultiviewPerceptron)):
            lines.setdefault(name, []).append([error(make(each, kernel), held.X, held.y) for each in p])
    return Curves(title, tuple(p), {name: np.array(found) for name, found in lines.items()})


def error(model: Any, X: Any, y: NDArray[Any]) -> float:
    """Wrong predictions of one pass, in %."""
    return 100.0 * progressive_validation(model, X, y).error


def pictures(pair: str, seeds: Sequence[int] = range(10), p: Sequence[float] = range(1, 21)) -> tuple[Curves, Curves]:
    """Figures 4.7 to 4.10: errors while training on 70 % of the photographs of two kinds, and on the others."""
    whole = eth80_pair(*PAIRS[pair])
    grams = {name: gram(kernel, whole.X[name]) for name, kernel in picture_kernels(whole).items()}
    train: dict[str, list[list[float]]] = {}
    test: dict[str, list[list[float]]] = {}
    for seed in seeds:
        order = np.random.default_rng(seed).permutation(len(whole))
        for name, models in contestants(p).items():
            views = name.rpartition(": ")[2]
            chosen = PARTS.get(views, (views,))
            found = [_both(model, {view: grams[view] for view in chosen}, whole.y, order) for model in models]
            train.setdefault(name, []).append([each[0] for each in found])
            test.setdefault(name, []).append([each[1] for each in found])
    made = ({name: np.array(errors) for name, errors in part.items()} for part in (train, test))
    titles = (f"eth80 {pair}, training", f"eth80 {pair}, test")
    first, second = (Curves(title, tuple(p), lines) for title, lines in zip(titles, made, strict=True))
    return first, second


def contestants(p: Sequence[float]) -> dict[str, list[Any]]:
    """The photographs' learners: a Perceptron a view, OMMP at every p and OMCL on several."""
    made: dict[str, list[Any]] = {}
    for view in PARTS["four"]:
        made[f"Perceptron: {view}"] = [OrthogonalMultiviewPerceptron(1, "precomputed", average=True)]
    for part in PARTS:
        made[f"OMMP: {part}"] = [OrthogonalMultiviewPerceptron(each, "precomputed", average=True) for each in p]
    for part in ("hog, gray20", "four"):
        made[f"OMCL: {part}"] = [MultiCueClassifier("precomputed")]
    return made


def picture_kernels(whole: ViewDataset) -> dict[str, Any]:
    """Chi² for the histograms, with gamma the inverse of their mean distance; Gaussian for the others."""
    kernels: dict[str, Any] = {name: Gaussian(median_distance(whole.X[name])) for name in ("shape", "gray20")}
    for name in ("color", "hog"):
        distances = -np.log(np.maximum(gram(Pairwise("chi2", {"gamma": 1.0}), whole.X[name]), 1e-300))
        kernels[name] = Pairwise("chi2", {"gamma": float(1.0 / distances.mean())})
    return kernels


def _both(
    model: Any, grams: Mapping[str, NDArray[np.float64]], y: NDArray[Any], order: NDArray[np.int64]
) -> tuple[float, float]:
    """Errors in % of one pass through the first part, by the latest hypothesis, and of the mean one on the others."""
    n = round(TRAINING * len(order))
    first, others = order[:n], order[n:]
    X = {name: held[np.ix_(first, first)] for name, held in grams.items()}
    latest = model.__sklearn_clone__()
    if "average" in latest.parameter_names():
        latest.set_params(average=False)
    trained = error(latest, X, y[first])
    model = latest if latest.get_params() == model.get_params() else model.__sklearn_clone__().fit(X, y[first])
    told = model.predict({name: held[np.ix_(others, first)] for name, held in grams.items()})
    return trained, 100.0 * float(np.mean(told != y[others]))


def beyond(seeds: Sequence[int] = range(10), n: int | None = None) -> list[Curves]:
    """What the thesis leaves open: aggressive updates and other group norms, each at its best C in hindsight."""
    pair = eth80_pair(*PAIRS["cow/dog"])
    grams = {name: gram(kernel, pair.X[name]) for name, kernel in picture_kernels(pair).items()}
    photographs = ViewDataset(pair.name, grams, pair.y)
    return [
        _open_ends("a9a halves", a9a_halves(), seeds, n, {**MATRIX, **ORTHOGONAL, **INNER}),
        _open_ends("mfeat, six views", mfeat(), seeds, n, {**ORTHOGONAL, **INNER}),
        _open_ends("eth80 cow/dog, kernels", photographs, seeds, n, ORTHOGONAL, "precomputed"),
    ]


Makes = Mapping[str, Sequence[Callable[[Any], Any]]]
STEPS = (0.01, 0.03, 0.1, 0.3, 1.0)


def _open_ends(
    title: str, whole: ViewDataset, seeds: Sequence[int], n: int | None, makes: Makes, kernels: Any = None
) -> Curves:
    lines: dict[str, list[list[float]]] = {}
    for seed in seeds:
        order = np.random.default_rng(seed).permutation(len(whole))[:n]
        X = {name: block[np.ix_(order, order)] if kernels else block[order] for name, block in whole.X.items()}
        for name, each in makes.items():
            lines.setdefault(name, []).append([error(make(kernels), X, whole.y[order]) for make in each])
    return Curves(
        f"{title}{_of(n if n and n < len(whole) else None)}",
        (),
        {name: np.array(found) for name, found in lines.items()},
    )


def _models(kind: Any, p: float, **parameters: Any) -> list[Callable[[Any], Any]]:
    return [lambda kernels: kind(p, kernels, **parameters)]


def _aggressive(kind: Any, p: float) -> list[Callable[[Any], Any]]:
    return [make for C in STEPS for make in _models(kind, p, rule=PassiveAggressive(C=C))]


MATRIX: Makes = {
    f"MMP p={p}{name}": make(MultiviewPerceptron, p)
    for p in (2, 5)
    for name, make in (("", _models), (", aggressive", _aggressive))
}
ORTHOGONAL: Makes = {
    f"OMMP p={p}{name}": make(OrthogonalMultiviewPerceptron, p)
    for p in (1, 2, 5)
    for name, make in (("", _models), (", aggressive", _aggressive))
}
INNER: Makes = {
    f"OMMP p={p}, inner={inner}": _models(OrthogonalMultiviewPerceptron, p, inner=inner)
    for p, inner in ((1, 3), (2, 3), (2, 4), (3, 6))
}


def _of(n: int | None) -> str:
    return "" if n is None else f", {n} records"


def shown(found: Curves) -> str:
    """The errors as a table, means of the shuffles, and the deviation at the best exponent."""
    width = max(map(len, found.lines)) + 2
    heads = "".join(f"{f'p={each:g}':>8}" for each in found.p)
    lines = [found.title, f"{'error in %':{width}}{heads}{'best':>14}"]
    for name, errors in found.lines.items():
        means = errors.mean(axis=0)
        cells = "".join(f"{each:8.2f}" for each in means) if len(means) == len(found.p) > 1 else " " * len(heads)
        best = int(means.argmin())
        lines.append(f"{name:{width}}{cells}{means[best]:8.2f}±{errors[:, best].std():.2f}")
    return "\n".join(lines)


def compared(found: Curves, pairs: Sequence[tuple[str, str]]) -> str:
    """By how much one learner is better than another, each at its best exponent."""
    gaps = {pair: found.gap(*pair) for pair in pairs}
    return "\n".join(f"{a} is better than {b} by {mean:+.2f}±{std:.2f} points" for (a, b), (mean, std) in gaps.items())


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables; the real data sets must be in the folder that COTERIE_DATA names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", default=list(TABLES), help=", ".join(TABLES))
    parser.add_argument("--shuffles", type=int, default=10)
    parser.add_argument("--quick", action="store_true", help="few shuffles, exponents and records")
    asked = parser.parse_args(arguments)
    for name in asked.what:
        TABLES[name](range(2 if asked.quick else asked.shuffles), asked.quick)
        print(flush=True)


def _show_adult(kernel: str, seeds: Sequence[int], quick: bool) -> None:
    n = 4000 if kernel == "gaussian" else None
    found = adult(kernel, seeds, (1, 2, 5, 10, 20) if quick or n else range(1, 21), n)
    single = "Perceptron, side by side"
    print(shown(found), compared(found, [("MMP", single), ("OMMP", single), ("MMP", "OMMP")]), sep="\n")


def _show_news(seeds: Sequence[int], quick: bool) -> None:
    for views in (2, 3, 5, 6):
        found = news(views, seeds[:5], (1, 2, 4, 8) if quick else range(1, 9), 6000 if quick else None)
        print(
            shown(found),
            compared(found, [("MMP", "Perceptron, uncut"), ("MMP", "Perceptron, side by side"), ("MMP", "OMMP")]),
            sep="\n",
        )


def _show_pictures(pair: str, seeds: Sequence[int], quick: bool) -> None:
    for found in pictures(pair, seeds, (1, 2, 5, 10, 20) if quick else range(1, 21)):
        against = [(f"OMMP: {part}", f"OMCL: {part}") for part in ("hog, gray20", "four")]
        single = min(("Perceptron: hog", "Perceptron: gray20"), key=found.best)
        print(shown(found), compared(found, [*against, ("OMMP: hog, gray20", single)]), sep="\n")


def _show_beyond(seeds: Sequence[int], quick: bool) -> None:
    for found in beyond(seeds, 4000 if quick else None):
        print(shown(found))


TABLES: dict[str, Callable[[Sequence[int], bool], None]] = {
    "4.2": lambda seeds, quick: _show_adult("linear", seeds, quick),
    "4.3": lambda seeds, quick: _show_adult("gaussian", seeds, quick),
    "4.4-4.5": _show_news,
    "4.7-4.8": lambda seeds, quick: _show_pictures("horse/pear", seeds, quick),
    "4.9-4.10": lambda seeds, quick: _show_pictures("cow/dog", seeds, quick),
    "beyond": _show_beyond,
}

if __name__ == "__main__":
    main()
