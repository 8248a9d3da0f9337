"""Cavallanti, Cesa-Bianchi, Gentile, "Linear Algorithms for Online Multitask Classification", COLT 2008.

The paper has theorems and no experiments. Each theorem's bound is set against the mistakes on four kinds of streams and
for many comparators: mistakes / bound must never be above 1. On two of them labels are drawn, by truths that are alike
or with noise; on the others an adversary chooses. *Separable*: of a hundred records that the truth is sure of it takes
one that the learner gets wrong, so that the truth has no loss. *Spiteful*: the label is always the one that was not
predicted, so that every round is a mistake.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.batch.output_kernels import BatchRelation
from coterie.estimators import (
    HeterogeneousMultitaskPerceptron,
    MultitaskKernelPerceptron,
    MultitaskPerceptron,
    MultiviewPerceptron,
    PNormMultitaskPerceptron,
    PotentialMultitaskPerceptron,
    SecondOrderMultitaskPerceptron,
)
from coterie.evaluation.bounds.budget_bounds import Comparators
from coterie.evaluation.bounds.geometry_bounds import (
    SpectralBound,
    heterogeneous_bound,
    heterogeneous_spectral_bound,
    p_norm_bound,
    potential_bound,
    second_order_bound,
)
from coterie.evaluation.bounds.perceptron_bounds import MistakeBound, mistake_bound, penalty
from coterie.evaluation.bounds.view_bounds import view_bound
from coterie.evaluation.progressive import progressive_validation
from coterie.evaluation.trace import Trace
from coterie.kernels import Gaussian, gram
from coterie.tasks import HalfUpdate, Independent, MeanRegularized, TaskGraph
from coterie.updates import ExponentiatedGradient, PNorm, Potential

from .claims import above, exact
from .results import Cell, CellTable, Item, Rerun, Result, cell

Floats = NDArray[np.float64]
Truth = list[Floats]
TaskModel = (
    MultitaskPerceptron
    | SecondOrderMultitaskPerceptron
    | PNormMultitaskPerceptron
    | PotentialMultitaskPerceptron
    | MultitaskKernelPerceptron
)
K, D, CANDIDATES = 4, 6, 100
WIDTHS = (3, 5, 2)
ANCHORS = np.random.default_rng(0).standard_normal((8, 2))


@dataclass(frozen=True)
class DrawnRecords:
    """Records of tasks or of views: a block for each view, and the tasks if there are any."""

    blocks: list[Floats]
    task: NDArray[np.int64] | None

    @property
    def given(self) -> Any:
        """The records in the form that learners take."""
        return self.blocks[0] if len(self.blocks) == 1 else self.blocks

    def taken(self, rows: Sequence[int]) -> DrawnRecords:
        """Return some of the records."""
        return DrawnRecords([x[rows] for x in self.blocks], None if self.task is None else self.task[rows])

    def named(self) -> dict[str, Any]:
        """The argument ``task``, if there are tasks."""
        return {} if self.task is None else {"task": self.task}


@dataclass(frozen=True)
class Case:
    """A learner and its bound.

    Attributes
    ----------
    make : callable
        A function that makes a new learner.
    draw : callable
        A function that draws so many records from a generator.
    truth : callable
        A function that draws a comparator from a generator.
    sides : callable
        The least margin, with its sign, that a comparator gives to each record; 0 if its parts disagree.
    bound : callable
        The bound on mistakes for a trace, its records, a comparator and the learner.
    """

    make: Callable[[], Any]
    draw: Callable[[np.random.Generator, int], DrawnRecords]
    truth: Callable[[np.random.Generator], Truth]
    sides: Callable[[DrawnRecords, Truth], Floats]
    bound: Callable[[Trace, DrawnRecords, Truth, Any], float]


def unit(X: Floats) -> Floats:
    """Scale rows to length one, as the paper supposes."""
    return np.asarray(X / np.linalg.norm(X, axis=1, keepdims=True))


def task_records(rng: np.random.Generator, n: int) -> DrawnRecords:
    """Draw records of tasks."""
    return DrawnRecords([unit(rng.standard_normal((n, D)))], rng.integers(K, size=n))


def related(rng: np.random.Generator) -> Truth:
    """Draw task vectors that are alike."""
    return list(3.0 * rng.standard_normal(D) + rng.standard_normal((K, D)))


def of_one_feature(rng: np.random.Generator) -> Truth:
    """Draw task vectors that are one feature, the same for all tasks."""
    return [3.0 * np.eye(D)[rng.integers(D)]] * K


def task_sides(records: DrawnRecords, U: Truth) -> Floats:
    """u_i · x."""
    return np.asarray(np.einsum("td,td->t", np.array(U)[records.task], records.blocks[0]))


def in_order(trace: Trace, parts: Sequence[Any]) -> list[Any]:
    """Arrange what is given by task in the order of the trace's tasks."""
    return [parts[int(str(task))] for task in trace.tasks]


def relation_in_order(trace: Trace, model: TaskModel) -> Floats:
    """Arrange the M that is learned with in the order of the trace's tasks: of a half-update its diagonal is 1."""
    place = [model.tasks_.index(task) for task in trace.tasks]
    M = np.asarray(model.relation_matrix_[np.ix_(place, place)])
    return M / M[0, 0] if isinstance(model.relation, HalfUpdate) else M


def _first_order(trace: Trace, records: DrawnRecords, U: Truth, model: MultitaskPerceptron) -> float:
    M, V = relation_in_order(trace, model), np.array(in_order(trace, U))
    return mistake_bound(trace, records.given, V, penalty(V, M), M.diagonal().max()).mistakes


def _second_order(trace: Trace, records: DrawnRecords, U: Truth, model: SecondOrderMultitaskPerceptron) -> float:
    M = relation_in_order(trace, model)
    return second_order_bound(trace, records.given, np.array(in_order(trace, U)), M).mistakes


def _p_norm(trace: Trace, records: DrawnRecords, U: Truth, model: PNormMultitaskPerceptron) -> float:
    M = relation_in_order(trace, model)
    return p_norm_bound(trace, records.given, np.array(in_order(trace, U)), M, model.p_).mistakes


def _potential(trace: Trace, records: DrawnRecords, U: Truth, model: PotentialMultitaskPerceptron) -> float:
    M = relation_in_order(trace, model)
    return potential_bound(trace, records.given, np.array(in_order(trace, U)), M, model.potential, model.rate).mistakes


def _kernel(trace: Trace, records: DrawnRecords, U: Truth, model: MultitaskKernelPerceptron) -> float:
    """The bound of theorem 1 in the space of the kernel: functions of length tr(K_gg A), k(x, x) = 1."""
    M = relation_in_order(trace, model)
    held = Comparators(model.kernel, ANCHORS, M, [0], [np.array(in_order(trace, U))])
    loss = float(held.losses(trace, records.given)[trace.mistake].sum())
    return MistakeBound(loss, held.top**2 * held.norms[0] ** 2).mistakes


def _heterogeneous(
    of: Callable[..., MistakeBound | SpectralBound],
    trace: Trace,
    records: DrawnRecords,
    U: Truth,
    model: HeterogeneousMultitaskPerceptron,
) -> float:
    b = float(np.asarray(model.b))  # the models here have one
    return of(trace, in_order(trace, records.blocks), in_order(trace, U), b).mistakes


def _spectral(trace: Trace, records: DrawnRecords, U: Truth, model: MultiviewPerceptron) -> float:
    return view_bound(trace, records.given, np.array(U), model.p_).mistakes


def of_tasks(
    make: Callable[[], Any], bound: Callable[..., float], truth: Callable[[np.random.Generator], Truth] = related
) -> Case:
    """The case of a learner of tasks in one space."""
    return Case(make, task_records, truth, task_sides, bound)


def kernel_case(relation: BatchRelation) -> Case:
    """The case of functions Σ_s C_is k(z_s, x) of points in the plane."""
    return Case(
        lambda: MultitaskKernelPerceptron(Gaussian(1.0), relation),
        lambda rng, n: DrawnRecords([rng.standard_normal((n, 2))], rng.integers(K, size=n)),
        lambda rng: list(6.0 * rng.standard_normal(len(ANCHORS)) + rng.standard_normal((K, len(ANCHORS)))),
        lambda records, C: np.einsum(
            "ts,ts->t", np.array(C)[records.task], gram(Gaussian(1.0), records.blocks[0], ANCHORS)
        ),
        _kernel,
    )


def heterogeneous_case(b: float, of: Callable[..., MistakeBound | SpectralBound] = heterogeneous_bound) -> Case:
    """The case of tasks in spaces of their own, all instances of which are seen, with one of its bounds."""
    planes = [np.random.default_rng(k).standard_normal((2, d)) for k, d in enumerate(WIDTHS)]

    def draw(rng: np.random.Generator, n: int) -> DrawnRecords:
        hidden = rng.standard_normal((n, 2))
        noisy = [hidden @ plane + 0.2 * rng.standard_normal((n, plane.shape[1])) for plane in planes]
        return DrawnRecords([unit(x) for x in noisy], rng.integers(len(WIDTHS), size=n))

    def truth(rng: np.random.Generator) -> Truth:
        return [8.0 * np.linalg.pinv(plane) @ np.array([1.0, 0.3]) for plane in planes]

    def sides(records: DrawnRecords, U: Truth) -> Floats:
        margins = np.array([x @ u for x, u in zip(records.blocks, U, strict=True)])
        return np.asarray(margins[records.task, np.arange(margins.shape[1])])

    return Case(lambda: HeterogeneousMultitaskPerceptron(b), draw, truth, sides, partial(_heterogeneous, of))


def spectral_case(p: int, views: int = 3) -> Case:
    """The case of views in one space with one label, that of every view's comparator."""

    def draw(rng: np.random.Generator, n: int) -> DrawnRecords:
        return DrawnRecords([unit(rng.standard_normal((n, D))) for _ in range(views)], None)

    def truth(rng: np.random.Generator) -> Truth:
        return list(3.0 * rng.standard_normal(D) + rng.standard_normal((views, D)))

    def sides(records: DrawnRecords, U: Truth) -> Floats:
        margins = np.array([x @ u for x, u in zip(records.blocks, U, strict=True)])
        agreed = np.abs(np.sign(margins).sum(axis=0)) == views
        return np.asarray(np.where(agreed, np.sign(margins[0]) * np.abs(margins).min(axis=0), 0.0))

    return Case(lambda: MultiviewPerceptron(p), draw, truth, sides, _spectral)


def drawn(case: Case, rng: np.random.Generator, U: Truth, n: int, noise: float) -> tuple[DrawnRecords, Floats]:
    """Draw labels by the comparator and flip a part of them; where its parts disagree, draw the label."""
    records = case.draw(rng, n)
    side = np.sign(case.sides(records, U))
    sign = np.where(side == 0, rng.choice([-1.0, 1.0], n), side)
    return records, np.where(rng.random(n) < noise, -sign, sign)


def chosen(case: Case, rng: np.random.Generator, U: Truth, n: int, spite: bool) -> tuple[DrawnRecords, Floats]:
    """Let an adversary who knows the learner choose records and labels."""
    model, rows, labels = case.make(), [], []
    for t in range(n):
        some = case.draw(rng, 1 if spite else CANDIDATES)
        margins = np.asarray(
            model.decision_function(some.given, **some.named()) if t else np.zeros(len(some.blocks[0]))
        )
        at, label = _spiteful(margins) if spite else _separable(margins, case.sides(some, U))
        rows.append(some.taken([at]))
        labels.append(label)
        model.partial_fit(rows[-1].given, [label], **rows[-1].named(), classes=[-1.0, 1.0], **_known(rows[-1]))
    blocks = [np.concatenate([row.blocks[k] for row in rows]) for k in range(len(rows[0].blocks))]
    tasks = [row.task for row in rows if row.task is not None]
    return DrawnRecords(blocks, np.concatenate(tasks) if tasks else None), np.array(labels)


def _spiteful(margins: Floats) -> tuple[int, float]:
    return 0, -1.0 if margins[0] > 0 else 1.0


def _separable(margins: Floats, sides: Floats) -> tuple[int, float]:
    """Choose, of the records with a side of 1 or more, a wrongly predicted one of least side, if there is one."""
    clear = np.abs(sides) >= 1.0
    if not clear.any():
        return int(np.abs(sides).argmax()), float(np.sign(sides[np.abs(sides).argmax()]))
    wrong = clear & (np.sign(sides) * margins <= 0)
    at = int(np.where(wrong if wrong.any() else clear, np.abs(sides), np.inf).argmin())
    return at, float(np.sign(sides[at]))


def _known(records: DrawnRecords) -> dict[str, Any]:
    """The argument ``tasks``, if tasks share a space: without one, every block names its own."""
    return {} if records.task is None or len(records.blocks) > 1 else {"tasks": range(K)}


KINDS: dict[str, Callable[[Case, np.random.Generator, Truth, int], tuple[DrawnRecords, Floats]]] = {
    "drawn": lambda case, rng, U, n: drawn(case, rng, U, n, 0.0),
    "drawn, noise 20 %": lambda case, rng, U, n: drawn(case, rng, U, n, 0.2),
    "adversary, separable": lambda case, rng, U, n: chosen(case, rng, U, n, spite=False),
    "adversary, spiteful": lambda case, rng, U, n: chosen(case, rng, U, n, spite=True),
}


def comparators(U: Truth, rng: np.random.Generator) -> Iterator[Truth]:
    """Yield the truth, the truth at other lengths, and random ones; the bound of u = 0 is trivial."""
    yield from ([scale * u for u in U] for scale in (1.0, 0.05, 0.1, 0.2, 0.5, 2.0))
    yield from ([scale * rng.standard_normal(u.shape) for u in U] for scale in (0.1, 1.0, 5.0))


def against(case: Case, kind: str, seed: int, n: int) -> tuple[float, list[float]]:
    """Count the mistakes on a stream, and compute the bounds for all comparators."""
    rng = np.random.default_rng(seed)
    U, model = case.truth(rng), case.make()
    records, y = KINDS[kind](case, rng, U, n)
    trace = progressive_validation(model, records.given, y, **records.named(), **_known(records))
    return float(trace.mistakes), [case.bound(trace, records, V, model) for V in comparators(U, rng)]


def theorem(cases: dict[str, Case], run: Rerun) -> Result:
    """Compare mistakes with bounds on all kinds of streams, and report the largest ratio."""
    n, kinds = (40, list(KINDS)[1:3]) if run.quick else (150, list(KINDS))
    seeds = run.seeds
    found = {
        f"{name}; {kind}": [against(case, kind, seed, n) for seed in seeds]
        for name, case in cases.items()
        for kind in kinds
    }
    said = "mistakes are never more than the bound, whatever the stream and the comparator"
    return bounded(f"{n} rounds", said, found)


def bounded(title: str, said: str, found: Mapping[str, list[tuple[float, list[float]]]]) -> Result:
    """Claim that mistakes are at most their bounds, of each kind of streams the mistakes and bounds of every run."""
    cells, highest, tried = [], 0.0, 0
    for what, runs in found.items():
        ratios = [made / bound for made, bounds in runs for bound in bounds]
        cells += row(what, runs, max(ratios))
        highest, tried = max(highest, *ratios), tried + len(ratios)
    seen = f"mistakes / bound at most {highest:.3f} over {tried} pairs of stream and comparator"
    return Result([CellTable(title, cells)], [exact(said, seen, highest <= 1.0 + 1e-9)])


def row(what: str, found: list[tuple[float, list[float]]], ratio: float) -> list[Cell]:
    """Make the cells of a kind of streams: mistakes, the bound of the truth, the least one, the largest ratio."""
    return [
        cell(what, "mistakes", [made for made, _ in found]),
        cell(what, "bound of the truth", [bounds[0] for _, bounds in found]),
        cell(what, "least bound", [min(bounds) for _, bounds in found]),
        Cell(what, "mistakes / bound, at most", ratio, form=".3f"),
    ]


def perceptron(run: Rerun) -> Result:
    """Rerun theorem 1 and its point: sharing pays where tasks are alike and costs little where they are not."""
    relations = {"half-update": HalfUpdate(), "b = 1": MeanRegularized(b=1.0), "independent": Independent()}
    found = theorem(_by_relation(MultitaskPerceptron, relations, _first_order, run), run)
    made = {spread: _mistakes_by(spread, run) for spread in (0.2, 1.0, 5.0)}
    cells = [cell(name, f"spread {s:g}", each[name]) for s, each in made.items() for name in each]
    alike, apart = made[0.2], made[5.0]
    said = "where tasks are unrelated (spread 5) they are not twice as many, the factor between the bounds"
    claims = [
        above("where tasks are alike (spread 0.2) sharing saves mistakes",
              alike["independent"], alike["half-update"], unit=" mistakes"),
        above(said, 2.0 * apart["independent"], apart["half-update"], unit=" mistakes below twice as many"),
    ]  # fmt: skip
    return Result([*found.tables, CellTable("mistakes", cells)], [*found.claims, *claims])


def _mistakes_by(spread: float, run: Rerun) -> dict[str, Floats]:
    """Count the mistakes on 8 tasks whose vectors are a common one plus `spread` times one of their own."""
    tasks, n = 8, 200 if run.quick else 2000
    relations, made = {"half-update": HalfUpdate(), "independent": Independent()}, []
    for seed in run.seeds:
        rng = np.random.default_rng(seed)
        U = rng.standard_normal(D) + spread * rng.standard_normal((tasks, D))
        X, task = unit(rng.standard_normal((n, D))), rng.integers(tasks, size=n)
        y = np.sign(np.einsum("td,td->t", U[task], X))
        made.append([
            progressive_validation(MultitaskPerceptron(each), X, y, task=task).mistakes for each in relations.values()
        ])  # fmt: skip
    return dict(zip(relations, np.array(made, np.float64).T, strict=True))


def graph(run: Rerun) -> Result:
    """Rerun theorem 1 for A = I + L of a graph of tasks."""
    edges = {"path": [(0, 1), (1, 2), (2, 3)], "star": [(0, 1), (0, 2), (0, 3)], "two pairs": [(0, 1), (2, 3)]}
    relations = {name: TaskGraph(each) for name, each in edges.items()}
    return theorem(_by_relation(MultitaskPerceptron, relations, _first_order, run), run)


def kernel(run: Rerun) -> Result:
    """Rerun theorem 1 for a Gaussian kernel."""
    relations = {"half-update": HalfUpdate(), "b = 1": MeanRegularized(b=1.0)}
    some = list(relations.items())[: 1 if run.quick else 2]
    return theorem({name: kernel_case(relation) for name, relation in some}, run)


def second_order(run: Rerun) -> Result:
    """Rerun the bound of the second-order Perceptron."""
    relations = {"half-update": HalfUpdate(), "b = 1": MeanRegularized(b=1.0), "independent": Independent()}
    return theorem(_by_relation(SecondOrderMultitaskPerceptron, relations, _second_order, run), run)


def p_norm(run: Rerun) -> Result:
    """Rerun the bound of the p-norm Perceptron, as reconstructed: the text of §5 is lost in part."""
    tried = (4.0,) if run.quick else (2.0, 4.0, 8.0)
    made = {p: partial(PNormMultitaskPerceptron, HalfUpdate(), p) for p in tried}
    return theorem({f"half-update, p = {p:g}": of_tasks(make, _p_norm) for p, make in made.items()}, run)


def potentials(run: Rerun) -> Result:
    """Rerun the bound of quasi-additive algorithms for p-norms and exponentiated gradient."""
    tried: dict[str, tuple[Potential, float, Callable[[np.random.Generator], Truth]]] = {
        "p-norm, p = 4": (PNorm(4.0), 1.0, related),
        "p-norm, p = auto": (PNorm(), 1.0, related),
        "EG, rate 0.3, one feature": (ExponentiatedGradient(), 0.3, of_one_feature),
    }
    some = list(tried.items())[-1 if run.quick else 0 :]
    return theorem({name: _of_potential(*each) for name, each in some}, run)


def _of_potential(potential: Potential, rate: float, truth: Callable[[np.random.Generator], Truth]) -> Case:
    return of_tasks(partial(PotentialMultitaskPerceptron, potential, HalfUpdate(), rate=rate), _potential, truth)


def _by_relation(
    kind: Callable[[BatchRelation], TaskModel],
    relations: Mapping[str, BatchRelation],
    bound: Callable[..., float],
    run: Rerun,
) -> dict[str, Case]:
    """Make a case for each relation, for the first only if quick."""
    some = list(relations.items())[: 1 if run.quick else None]
    return {name: of_tasks(partial(kind, relation), bound) for name, relation in some}


def heterogeneous(run: Rerun) -> Result:
    """Rerun theorem 6, MMPERC."""
    return theorem({f"b = {b:g}": heterogeneous_case(b) for b in ((1.0,) if run.quick else (0.0, 1.0, 8.0))}, run)


def spectrum(run: Rerun) -> Result:
    """Rerun the bound of MMPERC by the spectrum of the data, on the streams of theorem 6."""
    tried = (1.0,) if run.quick else (0.0, 1.0, 8.0)
    return theorem({f"b = {b:g}": heterogeneous_case(b, heterogeneous_spectral_bound) for b in tried}, run)


def spectral(run: Rerun) -> Result:
    """Rerun theorem 10, the matrix Perceptron."""
    return theorem({f"p = {p}": spectral_case(p) for p in ((2,) if run.quick else (1, 2, 5))}, run)


_PLACES: dict[str, tuple[str, Callable[[Rerun], Result]]] = {
    "perceptron": ("theorem 1: the multitask Perceptron, its bound, and when sharing pays", perceptron),
    "graph": ("§3.3: graphs of tasks, A = I + L, and their bound", graph),
    "kernel": ("theorem 1 in the space of a kernel", kernel),
    "second-order": ("§4: the second-order multitask Perceptron and its bound", second_order),
    "p-norm": ("§5: the p-norm multitask Perceptron and its bound", p_norm),
    "potentials": ("§5, §7: quasi-additive algorithms: p-norms, exponentiated gradient, and their bound", potentials),
    "heterogeneous": ("theorem 6: tasks in spaces of their own (MMPERC)", heterogeneous),
    "heterogeneous-spectrum": ("§8: MMPERC bounded by the spectrum of the data, an open question there", spectrum),
    "spectral": ("theorem 10: spectral co-regularization, the matrix Perceptron", spectral),
}
ITEMS = tuple(Item(name, what, run, 10, "10 s", quick_shuffles=1) for name, (what, run) in _PLACES.items())
