"""Saha, Rai, Daumé, Venkatasubramanian, "Online Learning of Multiple Tasks and Their Relationships", AISTATS 2011.

Tables 2 to 5 and figure 1, with a control for every method that learns its relation: A = I, and after EPOCH the step
that the learned A had in the mean. What a method gains over its control, its relations bring; what the control gains
over IPL, a smaller step brings.

Not the paper's data: Sentiment is four of its eight domains (``amazon4``), the pairs of 20 Newsgroups are others, and
its EPOCH is a fraction of the stream while its rates and its constants for asking are not given at all.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie import datasets
from coterie.asking import Margin, RelationRow
from coterie.datasets.texts import AMAZON4, NEWSGROUPS_PAIRS
from coterie.evaluation.progressive import progressive_validation
from coterie.online import MultitaskPerceptron, SelectiveSampling
from coterie.relations import (
    BatchOptimal,
    Covariance,
    HalfUpdate,
    Independent,
    Interaction,
    LogDet,
    MeanRegularized,
    Pooled,
    Primed,
    VonNeumann,
)

from .claims import Claim, Floats, above, at_most, together, within
from .printed import SRDV11 as PRINTED
from .printed import SRDV11_ASKING as PRINTED_ASKING
from .printed import SRDV11_CORRELATIONS as PRINTED_CORRELATIONS
from .results import Cell, Item, Picture, Result, Run, Table, cell

Relation = Pooled | Independent | HalfUpdate | MeanRegularized | Primed
Rule = Margin | RelationRow
PLACES = {"newsgroups_pairs": 0, "amazon4": 1}
ENTRIES = (NEWSGROUPS_PAIRS, AMAZON4)
#: Rates of OMTLLOG and OMTLVON for records of length one.
RATES = (1e-6, 1e-7)
QUICK_RECORDS, QUICK_WORDS = 1000, 200
EPOCHS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9)


def methods(epoch: float = 0.5, log: float = 1e-4, von: float = 3e-5, ridge: float = 0.1) -> dict[str, Relation]:
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


def recommended(epoch: float = 0.05, log: float = 1e-3, von: float = 1e-4) -> dict[str, Relation]:
    """The learned relations with the mean step kept and short priming, for records of length one."""
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
    """Results of a method over several shuffles: mistakes, held-out accuracy in %, correlations, its control's too."""

    name: str
    mistakes: Floats
    accuracy: Floats
    correlations: Floats
    control: Floats | None


def synthetic(seed: int) -> Split:
    """Draw three tasks in ten dimensions, w_1 = -w_2 and w_3 orthogonal to them; 200 records to learn, 100 to test."""
    rng = np.random.default_rng(seed)
    w, other = rng.standard_normal((2, 10))
    other -= (other @ w) / (w @ w) * w
    U = np.stack([w, -w, other])
    X, task = rng.standard_normal((300, 10)), rng.permutation(np.repeat(np.arange(3), 100))
    y = np.where((U[task] * X).sum(axis=1) > 0, 1, -1)
    return Split(X[:200], y[:200], task[:200], X[200:], y[200:], task[200:])


def real(name: str, quick: bool = False) -> Callable[[int], Split]:
    """Load a data set with a published test part; its training part is shuffled by the seed, and cut if quick."""
    data = datasets.load(name)
    held = data.test
    if held is None:
        raise ValueError(f"{name} has no published test part")
    n, common = len(data), np.argsort(-data.X.astype(bool).sum(axis=0), kind="stable")[:QUICK_WORDS]
    whole: tuple[Any, Any] = data.X, held.X
    X, test_X = (part[:, common].toarray() if quick else part for part in whole)

    def split(seed: int) -> Split:
        order = np.random.default_rng(seed).permutation(n)[: QUICK_RECORDS if quick else n]
        return Split(X[order], data.y[order], data.task[order], test_X, held.y, held.task)

    return split


def learn(relation: Relation, split: Split) -> tuple[MultitaskPerceptron, int]:
    """Learn the training records in one pass; return the model and its mistakes."""
    model = MultitaskPerceptron(relation)
    rounds = model.__stream_model__().learn_rounds(split.X, split.y, split.task, tasks=known(split), whole=True)
    return model, int(rounds.updated.sum())


def held_out(model: MultitaskPerceptron, split: Split) -> float:
    """Accuracy in % on the records held out."""
    return 100 * float(model.score(split.held_out, split.test_y, split.test_task))


def known(split: Split) -> list[Hashable]:
    """The tasks in sorted order."""
    return sorted(set(split.task.tolist()))


def control(relation: Primed, model: MultitaskPerceptron) -> Primed:
    """Independent tasks with the mean step that the model's relation has arrived at, from its EPOCH on."""
    M = model.relation_matrix_
    step = float(np.trace(M)) / len(M)
    return Primed(Interaction(inverse=step * np.eye(len(M)), tasks=model.tasks_), relation.epoch)


def outcome(name: str, relation: Relation, split: Callable[[int], Split], seeds: Iterable[int]) -> Outcome:
    """Run a method over several shuffles, with its control if it has an EPOCH that a control can share."""
    mistakes, accuracy, shapes, controls = [], [], [], []
    for seed in seeds:
        at = split(seed)
        model, made = learn(relation, at)
        mistakes.append(made)
        accuracy.append(held_out(model, at))
        shapes.append(np.corrcoef(model.coef_))
        if isinstance(relation, Primed) and isinstance(relation.epoch, float):
            beside, _ = learn(control(relation, model), at)
            controls.append(held_out(beside, at))
    seen = np.array(mistakes, np.float64), np.array(accuracy), np.array(shapes)
    return Outcome(name, *seen, np.array(controls) if controls else None)


def outcomes(name: str, run: Run, times: int = 1) -> dict[str, Outcome]:
    """Run every method on a data set, as printed and with the mean step kept; cached for tables 3 and 5."""
    key = name, run.shuffles, run.quick
    if key not in _found:
        split, tried = real(name, run.quick), methods(0.5, *RATES) | recommended()
        parts = run.seeds(times * len(tried))
        _found[key] = {method: outcome(method, relation, split, parts) for method, relation in tried.items()}
    return _found[key]


_found: dict[tuple[str, int, bool], dict[str, Outcome]] = {}


def table_2(run: Run) -> Result:
    """Rerun table 2: correlations of the task vectors on Synthetic (EPOCH = 0.5), with accuracy and mistakes."""
    tried = methods() | recommended(0.5, 1e-1, 1e-4)
    seeds = run.seeds(len(tried))
    found = {name: outcome(name, relation, synthetic, seeds) for name, relation in tried.items()}
    cells: list[Cell] = []
    for name, each in found.items():
        printed = PRINTED_CORRELATIONS.get(name, (None,) * 3)
        pairs = {"corr 12": (0, 1), "corr 13": (0, 2), "corr 23": (1, 2)}
        for (head, (i, j)), paper in zip(pairs.items(), printed, strict=True):
            cells.append(cell(name, head, each.correlations[:, i, j], paper, 3))
        cells += [cell(name, "accuracy, %", each.accuracy), cell(name, "mistakes", each.mistakes)]
    return Result([Table("Synthetic", cells)], _claims_2(found))


def _claims_2(found: dict[str, Outcome]) -> list[Claim]:
    pair = {name: each.correlations[:, 0, 1] for name, each in found.items()}
    third = {name: np.abs(each.correlations[:, :2, 2]) for name, each in found.items()}
    nearer = {name: each.mean(axis=1) for name, each in third.items()}
    adaptive = ("OMTLLOG", "OMTLVON")
    opposite = [at_most("", pair[name], 0.0, -0.7, unit="", digits=3) for name in adaptive]
    either = [(name, which) for name in adaptive for which in range(2)]
    apart = [at_most("", third[name][:, which], 0.0, 0.15, unit="", digits=3) for name, which in either]
    off = [above("", pair[name], pair["OMTLLOG"], unit="", digits=2) for name in ("OMTLCOV", "BATCHOPT")]
    kept = [above("", pair["IPL"], pair[f"{name}, step kept"], unit="", digits=2) for name in adaptive]
    return [
        together("OMTLLOG and OMTLVON find tasks 1 and 2 opposite: correlation below -0.7", opposite, adaptive),
        together("and that task 3 is related to neither: both correlations below 0.15, whatever their sign", apart,
                 [f"{name} {which + 1}3" for name, which in either]),
        above("CMTL relates task 3 to the others more than OMTLLOG does, whatever the sign",
              nearer["CMTL"], nearer["OMTLLOG"], unit="", digits=2),
        above("under CMTL tasks 1 and 2 look less opposite than under OMTLLOG",
              pair["CMTL"], pair["OMTLLOG"], unit="", digits=2),
        together("OMTLCOV and BATCHOPT are further off than OMTLLOG", off, ("OMTLCOV", "BATCHOPT")),
        above("Implied: it is the learned relation that finds it (IPL less opposite than OMTLLOG)",
              pair["IPL"], pair["OMTLLOG"], unit="", digits=2),
        together("Tried: with the mean step kept it is (IPL less opposite)", kept, adaptive),
    ]  # fmt: skip


def table_3(run: Run) -> Result:
    """Rerun table 3: held-out accuracy on real data beside the paper's, with the control of each method."""
    tables, claims = [], []
    for name, place in PLACES.items():
        found, cells = outcomes(name, run, len(PLACES)), []
        for method, each in found.items():
            printed = PRINTED[method][0][place] if method in PRINTED else None
            cells.append(cell(method, "accuracy, %", each.accuracy, printed, 2))
            if each.control is not None:
                cells.append(cell(method, "its control, %", each.control, digits=2))
        tables.append(Table(name, cells))
        claims += _claims_3(name, found)
    return Result(tables, claims)


def _claims_3(name: str, found: dict[str, Outcome]) -> list[Claim]:
    accuracy = {method: each.accuracy for method, each in found.items()}
    control = {method: each.control for method, each in found.items() if each.control is not None}
    log, kept, others = "OMTLLOG", "OMTLLOG, step kept", [each for each in PRINTED if each != "OMTLLOG"]
    best = max(others, key=lambda each: float(accuracy[each].mean()))
    pair = [above("", accuracy[each], accuracy["CMTL"]) for each in ("OMTLCOV", log)]
    brought = [above("", accuracy[kept], each) for each in (accuracy["IPL"], control[kept])]
    return [
        above(f"{name}: OMTLLOG is the best of the seven (here beside {best})", accuracy[log], accuracy[best]),
        together(f"{name}: OMTLCOV and OMTLLOG are better than CMTL", pair, ("OMTLCOV", log)),
        above(f"{name}: OMTLVON is better than IPL", accuracy["OMTLVON"], accuracy["IPL"]),
        at_most(f"{name}: BATCHOPT is hardly better than IPL, by at most one point",
               accuracy["BATCHOPT"], accuracy["IPL"], 1.0),
        above(f"{name}: implied: what OMTLLOG learns is worth it (it is better than its control)",
              accuracy[log], control[log]),
        together(f"{name}: tried: with the mean step kept and short priming OMTLLOG is better", brought,
                 ("than IPL", "than its control")),
    ]  # fmt: skip


def table_4(run: Run) -> Result:
    """Rerun table 4: held-out accuracy and labels asked for, beside the accuracy with all labels."""
    tables, claims = [], []
    for name, place in PLACES.items():
        split = real(name, run.quick)
        asked = {each: _asking(parts, split, run) for each, parts in questions(len(known(split(0)))).items()}
        cells = []
        for method, (accuracy, labels, passive) in asked.items():
            paper = [each[place] for each in PRINTED_ASKING.get(method, ((None, None),) * 2)]
            cells += [
                cell(method, "accuracy, %", accuracy, paper[0], 2),
                cell(method, "with all labels, %", passive, digits=2),
                cell(method, "labels, %", labels, paper[1]),
            ]
        tables.append(Table(name, cells))
        claims += _claims_4(name, asked)
    return Result(tables, claims, notes=["Margin(c=1) for the paper's fixed constant; RelationRow() else."])


Asked = tuple[Floats, Floats, Floats]


def questions(n_tasks: int) -> dict[str, tuple[Relation, Rule]]:
    """The relations of the methods and their rules for asking; CMTL also with steps of the size of IPL's.

    Examples
    --------
    >>> questions(10)["CMTL"]
    (MeanRegularized(b=10), Margin(c=1.0))
    """
    tried = methods(0.5, *RATES) | {"CMTL": MeanRegularized(b=n_tasks)}
    fixed = ("STL", "IPL", "CMTL")
    made = {name: (each, Margin(1.0) if name in fixed else RelationRow()) for name, each in tried.items()}
    # A starts at I/K, so that margins of the methods that learn it are K times those of IPL
    own = {f"{name}, asks as IPL": (tried[name], Margin(float(n_tasks))) for name in ("OMTLLOG", "OMTLCOV")}
    return made | {"CMTL, asks as IPL": (HalfUpdate(), Margin(1.0))} | own


def _asking(parts: tuple[Relation, Rule], split: Callable[[int], Split], run: Run) -> Asked:
    """Accuracy in %, the share of labels in %, and accuracy with all labels, over the shuffles."""
    relation, ask = parts
    found = []
    for seed in run.seeds(len(PLACES) * len(questions(1))):
        at = split(seed)
        model = SelectiveSampling(MultitaskPerceptron(relation), ask, seed=seed)
        trace = progressive_validation(model, at.X, at.y, task=at.task, tasks=known(at))
        found.append((held_out(model.model, at), 100 * trace.queries / trace.n, run_accuracy(relation, at)))
    accuracy, labels, passive = np.array(found).T
    return accuracy, labels, passive


def _claims_4(name: str, asked: dict[str, Asked]) -> list[Claim]:
    adaptive, pair = ("BATCHOPT", "OMTLCOV", "OMTLLOG", "OMTLVON"), ("OMTLCOV", "OMTLLOG")
    alike = [within("", asked[each][0], asked[each][2], 1.5) for each in PRINTED_ASKING]
    fewer = [at_most("", asked[each][1], 0.0, 91.0, unit=" %", digits=1) for each in PRINTED_ASKING]
    than_fixed = [above("", asked["CMTL"][1], asked[each][1]) for each in pair]
    same = [above("", asked["CMTL, asks as IPL"][1], asked[f"{each}, asks as IPL"][1]) for each in pair]
    lost = [within("", asked[each][0], asked[each][2], 1.5) for each in adaptive]
    return [
        together(f"{name}: accuracy is similar to that with all labels, within 1.5 points", alike, [*PRINTED_ASKING]),
        together(f"{name}: labels are saved by every method: at most 91 % are asked for", fewer, [*PRINTED_ASKING]),
        together(f"{name}: OMTLCOV and OMTLLOG ask for fewer labels than CMTL", than_fixed, pair),
        together(f"{name}: without loss where the relation's row sets how much is asked", lost, adaptive),
        together(f"{name}: tried: fewer than CMTL where all ask by one rule on the scale of their margins", same, pair),
    ]


def table_5(run: Run) -> Result:
    """Rerun table 5: mistakes of one pass on real data; the paper's Sentiment is nine times as long."""
    tables, claims = [], []
    for name, place in PLACES.items():
        found = outcomes(name, run, len(PLACES))
        printed = {method: float(each[1][place]) for method, each in PRINTED.items()}
        made = {method: each.mistakes for method, each in found.items()}
        tables.append(Table(name, [cell(each, "mistakes", made[each], printed.get(each)) for each in made]))
        best = min((each for each in PRINTED if each != "OMTLLOG"), key=lambda each: float(made[each].mean()))
        pair = [above("", made["CMTL"], made[each], unit="") for each in ("OMTLCOV", "OMTLLOG")]
        fewest = f"{name}: OMTLLOG makes the fewest mistakes ({best} makes more)"
        claims += [
            above(fewest, made[best], made["OMTLLOG"], unit=""),
            together(f"{name}: OMTLCOV and OMTLLOG make fewer than CMTL", pair, ("OMTLCOV", "OMTLLOG")),
        ]
    return Result(tables, claims)


def figure_1(run: Run) -> Result:
    """Rerun figure 1: held-out accuracy over EPOCH on 20 Newsgroups, as printed and with the mean step kept."""
    split, epochs = real("newsgroups_pairs", run.quick), EPOCHS[1::2] if run.quick else EPOCHS
    tried = {epoch: methods(epoch, *RATES) | recommended(epoch) for epoch in epochs}
    names = [*list(methods())[3:], *list(recommended())[:4]]
    seeds = run.seeds(len(names) * len(epochs) + 1)
    alone = np.array([run_accuracy(Independent(), split(seed)) for seed in seeds])
    found = {
        name: np.array([[run_accuracy(each[name], split(seed)) for seed in seeds] for each in tried.values()])
        for name in names
    }
    curves = {"IPL": np.tile(alone, (len(epochs), 1))} | found
    cells = [
        cell(name, f"{epoch:g}", values, digits=2)
        for name, each in curves.items()
        for epoch, values in zip(epochs, each, strict=True)
    ]
    drawn = {name: (each.mean(axis=1), each.std(axis=1)) for name, each in curves.items()}
    picture = Picture("newsgroups_pairs: accuracy over EPOCH", "EPOCH", "accuracy, %", epochs, drawn)
    return Result([Table("newsgroups_pairs, accuracy in %", cells)], _claims_1(found, alone, epochs), [picture])


def _claims_1(found: dict[str, Floats], alone: Floats, epochs: Sequence[float]) -> list[Claim]:
    pair, first, late, last = ("OMTLCOV", "OMTLLOG"), epochs[0], epochs[-2], epochs[-1]
    rising, falling = ([above("", found[name][-2], found[name][other]) for name in pair] for other in (0, -1))
    gain = [above("", found[name][-2], alone) for name in pair]
    return [
        together(f"accuracy rises from an EPOCH of {first:g} to one of {late:g}", rising, pair),
        together(f"and falls from there to {last:g}, towards that of IPL", falling, pair),
        together(f"with an EPOCH of {late:g} it is above IPL's", gain, pair),
    ]


def run_accuracy(relation: Relation, split: Split) -> float:
    """Held-out accuracy in % after one pass."""
    return held_out(learn(relation, split)[0], split)


ITEMS = (
    Item("table2", "correlations of three task vectors whose relations are known", table_2, 20, "1 min"),
    Item("table3", "accuracy of seven methods, each beside its control", table_3, 20, "1 min", ENTRIES),
    Item("table4", "accuracy and labels where labels are asked for", table_4, 20, "1 min", ENTRIES),
    Item("table5", "mistakes of the seven methods", table_5, 20, "1 min", ENTRIES),
    Item("figure1", "accuracy over the time before a relation is learned", figure_1, 20, "1 min", ENTRIES[:1]),
)
