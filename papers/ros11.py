"""Rosasco, Wu, Isola, "Regularization Methods for Multi-Output Learning", class notes, MIT 2011.

The notes have formulas and no numbers. Every penalty is summed up as it is written, for random functions of a Gaussian
kernel, and set against the quadratic form of its kernel; the solvers against the minimiser of what they are to
minimise; and what the notes say of paths, vector fields and classes is tried on made-up data and on the digits that
come with scikit-learn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.batch import (
    CurlFree,
    DivergenceFree,
    Landweber,
    MultitaskKernelClassifier,
    MultitaskKernelRidge,
    Separable,
    VectorFieldRidge,
    ridge_path,
)
from coterie.batch.output_kernels import BatchRelation
from coterie.kernels import Gaussian, gram
from coterie.tasks import ClusterPenalty, GraphPenalty, Independent, MeanRegularized, MixedEffect

from .claims import above, at_most, at_others_best, exact, together
from .results import CellTable, Item, Picture, Rerun, Result, cell

Floats = NDArray[np.float64]
Pair = tuple[float, float]
Form = Callable[[np.random.Generator], Pair]
T, N, SMALL = 5, 12, 1e-9
PLACES = ([0, 1, 2], [3, 4])


def products(rng: np.random.Generator) -> Floats:
    """⟨f_s, f_t⟩ of T random functions Σ_i K(·, x_i) c_ti."""
    X, C = rng.standard_normal((N, 2)), rng.standard_normal((T, N))
    return np.asarray(C @ gram(Gaussian(1.0), X) @ C.T)


def norms(G: Floats) -> float:
    """Σ_t ‖f_t‖²."""
    return float(np.trace(G))


def apart(G: Floats) -> float:
    """Σ_t ‖f_t - mean‖²."""
    return float(np.trace(G) - G.sum() / len(G))


def by_kernel(M: Floats, G: Floats) -> float:
    """Σ_st M†_st ⟨f_s, f_t⟩."""
    return float(np.vdot(np.linalg.pinv(M, rcond=1e-12), G))


def identities(claims: dict[str, Form], run: Rerun) -> Result:
    """Claim that two ways lead to the same number, and measure by how much they differ for random functions."""
    found = []
    for said, form in claims.items():
        pairs = [form(np.random.default_rng(seed)) for seed in run.seeds]
        worst = max(abs(one - other) / max(abs(one), abs(other)) for one, other in pairs)
        found.append(exact(said, f"relative difference at most {worst:.1e}", worst < SMALL))
    return Result([], found)


def lemma(run: Rerun) -> Result:
    """Check lemma 1: the norm of the joint kernel is a form in the products of the tasks' functions."""

    def norm(rng: np.random.Generator, rank: int) -> Pair:
        X, c, task = rng.standard_normal((N, 2)), rng.standard_normal(N), rng.integers(T, size=N)
        factor, K = rng.standard_normal((T, rank)), gram(Gaussian(1.0), X)
        A = factor @ factor.T
        F = A[:, task] * c  # f_t = Σ_i K(·, x_i) A_{t t_i} c_i
        return float(c @ (K * A[np.ix_(task, task)]) @ c), by_kernel(A, F @ K @ F.T)

    return identities({
        "‖f‖²_Q = Σ A†_st ⟨f_s, f_t⟩ for A that has an inverse": lambda rng: norm(rng, T),
        "and for A that has none": lambda rng: norm(rng, 2),
    }, run)  # fmt: skip


def mixed_effect(run: Rerun) -> Result:
    """Check the penalty of a common function and one for each task, in its three forms."""
    lam, gamma, w = 0.7, 2.0, 0.6
    A_w = 1.0 / (2.0 * (1.0 - w) * (1.0 - w + w * T))
    by_omega, tied = MixedEffect(omega=w), gamma / (lam * T)
    same = MixedEffect(omega=tied / (1.0 + tied)).relation_matrix(range(T))
    by_weights = MixedEffect(lam, gamma).relation_matrix(range(T))

    def weights(rng: np.random.Generator) -> Pair:
        G = products(rng)
        return lam * norms(G) + gamma * apart(G), by_kernel(by_weights, G)

    def omega(rng: np.random.Generator, first: float, second: float) -> Pair:
        G = products(rng)
        return A_w * (first * norms(G) + second * apart(G)), by_kernel(by_omega.relation_matrix(range(T)), G)

    def scaled(rng: np.random.Generator) -> Pair:
        G = products(rng)
        return by_kernel(by_weights, G), by_kernel(same, G) * float(same[0, 0] / by_weights[0, 0])

    return identities({
        "§4.2: λ Σ‖f_t‖² + γ Σ‖f_t - mean‖² is the norm of a kernel": weights,
        "§5.1 as printed: A_ω (B_ω Σ‖f_t‖² + ω T Σ‖f_t - mean‖²), B_ω = 2 - 2ω + ωT, is that of ω11' + (1 - ω)I":
            lambda rng: omega(rng, 2 - 2 * w + w * T, w * T),
        "Tried: with B_ω = 2 - 2ω and the weight 2ωT": lambda rng: omega(rng, 2 - 2 * w, 2 * w * T),
        "Tried: both kernels are one up to a factor, for ω / (1 - ω) = γ / (λT)": scaled,
    }, run)  # fmt: skip


def graph(run: Rerun) -> Result:
    """Check the penalty of a weighted graph of tasks, in the form of §5.1 and in that of §4.2, which has no ½."""

    def form(rng: np.random.Generator, symmetric: bool, half: float) -> Pair:
        W, G = rng.random((T, T)), products(rng)
        W = W + W.T if symmetric else W
        lengths = np.diag(G)
        distances = lengths[:, None] + lengths[None] - 2.0 * G
        P = 2.0 * half * (np.diag(W.sum(axis=1)) - W) + np.diag(np.diag(W))
        return float(half * np.vdot(W, distances) + np.diag(W) @ lengths), float(np.vdot(P, G))

    def kernel(rng: np.random.Generator) -> Pair:
        W, G = rng.random((T, T)), products(rng)
        relation = GraphPenalty(W + W.T)
        return float(np.vdot(relation.matrix, G)), by_kernel(relation.relation_matrix(), G)

    return identities({
        "§5.1: ½ Σ M_lq ‖f_l - f_q‖² + Σ M_ll ‖f_l‖² = Σ L_lq ⟨f_l, f_q⟩, L = D - M": lambda r: form(r, True, 0.5),
        "and its kernel is L†": kernel,
        "§4.2: without the ½, L = 2 (D - M) + diag M": lambda r: form(r, True, 1.0),
        "Tried: M that is not symmetric, as none is asked for": lambda r: form(r, False, 0.5),
    }, run)  # fmt: skip


def clusters(run: Rerun) -> Result:
    """Check the penalty of clusters of tasks."""
    within, between = 2.0, 0.5
    relation = ClusterPenalty({t: c for c, place in enumerate(PLACES) for t in place}, within, between)
    M = sum(np.outer(each, each) / each.sum() for each in (np.isin(range(T), place) * 1.0 for place in PLACES))

    def literal(rng: np.random.Generator) -> tuple[float, Floats]:
        G = products(rng)
        parts = [G[np.ix_(place, place)] for place in PLACES]
        return sum(within * apart(part) + between * part.sum() / len(part) for part in parts), G

    def form(rng: np.random.Generator) -> Pair:
        value, G = literal(rng)
        return value, float(np.vdot(within * np.eye(T) + (between - within) * M, G))

    def kernel(rng: np.random.Generator) -> Pair:
        value, G = literal(rng)
        return value, by_kernel(relation.relation_matrix(range(T)), G)

    return identities({
        "§5.1: ε₁ Σ‖f_l - mean_c‖² + ε₂ Σ m_c ‖mean_c‖² = Σ G_lq ⟨f_l, f_q⟩, G = ε₁ I + (ε₂ - ε₁) M": form,
        "and its kernel is G†": kernel,
    }, run)  # fmt: skip


def pupils(seed: int, n: int) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Draw noisy records of tasks that are a common curve and a little of their own, few records each."""
    rng = np.random.default_rng(seed)
    X, task = rng.uniform(-3, 3, (n, 1)), rng.integers(8, size=n)
    own = 0.4 * rng.standard_normal(8)
    return X, np.sin(2.0 * X[:, 0]) + own[task] * X[:, 0] + 0.4 * rng.standard_normal(n), task


def tikhonov(run: Rerun) -> Result:
    """§5.2: check the system that is solved, and the errors on rows left out for every alpha."""
    system = identities({
        "§5.2 as printed: (Q + λI) c = y minimises the risk (1/n) Σ (y_i - f(x_i, t_i))² + λ‖f‖²":
            lambda rng: _minimum(rng, 1.0),
        "Tried: (Q + λnI) c = y does": lambda rng: _minimum(rng, float(N)),
    }, run)  # fmt: skip
    omegas, n, alphas = (0.0, 0.5, 0.9, 1.0), 80 if run.quick else 200, np.logspace(-3, 2, 11)
    relations = [MixedEffect(omega=w) for w in omegas]
    model = MultitaskKernelRidge(Gaussian(0.7))
    curves = np.array([_path(model, seed, n, alphas, relations) for seed in run.seeds])
    least = [at_others_best(curves[:, i]) for i in range(len(omegas))]
    cells = [
        cell(f"ω = {w:g}", "error at the alpha chosen", each, digits=3) for w, each in zip(omegas, least, strict=True)
    ]
    claims = [
        above("sharing pays where tasks are a common curve and a little of their own (ω = 0.9 beside 0)",
              least[0], least[2], unit="", digits=3),
        above("and one function for all (ω = 1) is too much", least[3], least[2], unit="", digits=3),
    ]  # fmt: skip
    lines = {f"ω = {w:g}": (curves[:, i].mean(axis=0), curves[:, i].std(axis=0)) for i, w in enumerate(omegas)}
    picture = Picture("errors on rows left out", "log10 alpha", "mean squared error", list(np.log10(alphas)), lines)
    return Result([CellTable("mean squared error on rows left out", cells)], [*system.claims, *claims], [picture])


def _path(model: MultitaskKernelRidge, seed: int, n: int, alphas: Floats, relations: Sequence[BatchRelation]) -> Floats:
    X, y, task = pupils(seed, n)
    return np.asarray(ridge_path(model, X, y, task, values=list(alphas), relations=relations).curve)


def _minimum(rng: np.random.Generator, factor: float) -> Pair:
    """The objective at a system's solution, and its least value, found by least squares."""
    lam, X, y = 0.3, rng.standard_normal((N, 2)), rng.standard_normal(N)
    task = rng.integers(T, size=N)
    Q = gram(Gaussian(1.0), X) * MixedEffect(omega=0.5).relation_matrix(range(T))[np.ix_(task, task)]
    values, V = np.linalg.eigh(Q)
    root = V * np.sqrt(values.clip(0.0)) @ V.T
    stacked = np.vstack([Q / np.sqrt(N), np.sqrt(lam) * root])
    best = np.linalg.lstsq(stacked, np.r_[y / np.sqrt(N), np.zeros(N)])[0]
    solved = np.linalg.solve(Q + lam * factor * np.eye(N), y)
    objective = [float(np.mean((y - Q @ c) ** 2) + lam * c @ Q @ c) for c in (solved, best)]
    return objective[0], objective[1]


def boosting(run: Rerun) -> Result:
    """§5.2: check gradient descent on the risk, which the number of steps regularises."""
    steps = [1, 4, 16, 64, 256] if run.quick else [2**k for k in range(15)]
    n, relation, alphas = 80 if run.quick else 200, MixedEffect(omega=0.9), np.logspace(-3, 2, 21)
    model, parts = MultitaskKernelRidge(Gaussian(0.7)), run.seeds
    loops = identities({"c ← c + η (y - Qc), t times, is what Landweber(t) gives": _by_steps}, run)
    errors = np.array([_held_out(seed, n, steps, relation) for seed in parts])
    smooth = at_others_best([_path(model, seed, n, alphas, [relation])[0] for seed in parts])
    best = at_others_best(errors)
    said = "stopped where the other runs are best it is as good as Tikhonov at the alpha so chosen, within a tenth"
    claims = [
        above("steps regularise: too few are worse than those chosen", errors[:, 0], best, unit="", digits=3),
        above("and too many as well", errors[:, -1], best, unit="", digits=3),
        above(said, 1.1 * smooth, best, unit=" below 1.1 times its error", digits=3),
    ]
    cells = [cell(f"{t} steps", "error", errors[:, i], digits=3) for i, t in enumerate(steps)]
    lines = {"rows left out by tens": (errors.mean(axis=0), errors.std(axis=0))}
    picture = Picture("L2 boosting", "log2 steps", "mean squared error", list(np.log2(steps)), lines)
    return Result([CellTable("mean squared error on rows left out", cells)], [*loops.claims, *claims], [picture])


def _by_steps(rng: np.random.Generator) -> Pair:
    X, y, task = rng.standard_normal((N, 2)), rng.standard_normal(N), np.r_[np.arange(T), rng.integers(T, size=N - T)]
    Q = gram(Gaussian(1.0), X) * MixedEffect(omega=0.5).relation_matrix(range(T))[np.ix_(task, task)]
    rate, c = 1.5 / np.linalg.eigvalsh(Q)[-1], np.zeros(N)
    for _ in range(40):
        c = c + rate * (y - Q @ c)
    model = MultitaskKernelRidge(Gaussian(1.0), MixedEffect(omega=0.5), filter=Landweber(40, rate))
    found = model.fit(X, y, task=task, tasks=range(T)).dual_coef_
    length = float(np.linalg.norm(c))
    return length, length + float(np.linalg.norm(found - c))


def _held_out(seed: int, n: int, steps: Sequence[int], relation: BatchRelation) -> Floats:
    X, y, task = pupils(seed, n)
    squares, tasks = np.zeros((len(steps), n)), list(dict.fromkeys(task.tolist()))
    # every fold has its part of each task: the rows of a task are dealt out in random order
    codes, order = np.array([tasks.index(name) for name in task.tolist()]), np.random.default_rng(0).permutation(n)
    dealt = np.empty(n, np.int64)
    dealt[order[np.argsort(codes[order], kind="stable")]] = np.arange(n) % 10
    for fold in range(10):
        train, test = np.flatnonzero(dealt != fold), np.flatnonzero(dealt == fold)
        for i, t in enumerate(steps):
            model = MultitaskKernelRidge(Gaussian(0.7), relation, filter=Landweber(t))
            model.fit(X[train], y[train], task[train], tasks=tasks)
            squares[i, test] = (y[test] - model.predict(X[test], task[test])) ** 2
    return np.asarray(squares.mean(axis=1))


def vector_fields(run: Rerun) -> Result:
    """§6.1: estimate the velocity of an incompressible fluid, at the sigma and alpha best in the other runs."""
    kinds: dict[str, Any] = {"divergence-free": DivergenceFree, "curl-free": CurlFree, "components apart": Separable}
    n, widths, alphas = (20, (0.7,), (0.1, 1.0)) if run.quick else (60, (0.5, 0.7, 1.0, 1.4), np.logspace(-2, 1.5, 8))
    found, sources = [], 0.0
    for seed in run.seeds:
        rng = np.random.default_rng(seed)
        X, new = rng.uniform(-1, 1, (n, 2)), rng.uniform(-1, 1, (400, 2))
        noisy = whirl(X) + 0.2 * rng.standard_normal(X.shape)
        free = VectorFieldRidge(DivergenceFree(0.7), 0.1).fit(X, noisy)
        sources = max(sources, float(np.abs(free.divergence(new)).max()))
        found.append([
            [_missed(VectorFieldRidge(kind(s), a).fit(X, noisy), new) for s in widths for a in alphas]
            for kind in kinds.values()
        ])  # fmt: skip
    errors = np.array(found)
    best = {name: at_others_best(errors[:, i]) for i, name in enumerate(kinds)}
    cells = [cell(name, "mean squared error", each, digits=4) for name, each in best.items()]
    claims = [
        exact("a divergence of 0 can be enforced", f"|divergence| at most {sources:.1e}", sources < SMALL),
        above("and noise is averaged out better than with components apart",
              best["components apart"], best["divergence-free"], unit="", digits=4),
    ]  # fmt: skip
    return Result([CellTable("vector field", cells)], claims)


def _missed(model: VectorFieldRidge, new: Floats) -> float:
    return float(np.mean((model.predict(new) - whirl(new)) ** 2))


def whirl(X: Floats) -> Floats:
    """A field without sources."""
    height = np.exp(-(X**2).sum(axis=1))
    return np.column_stack([-X[:, 1] * height, X[:, 0] * height])


def multiclass(run: Rerun) -> Result:
    """§6.2: regress classes as outputs, on 8 × 8 pictures of digits."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    X, n = X / 16.0, 200 if run.quick else 1000
    tried: dict[str, dict[str, Any]] = {
        "one-vs-all (A = I)": {"class_relation": Independent()},
        "A = b-matrix, b = 0.5": {"class_relation": MeanRegularized(b=0.5)},
        "A = b-matrix, b = 5": {"class_relation": MeanRegularized(b=5.0)},
        "random codes of 20 signs": {"coding": np.random.default_rng(0).choice([-1.0, 1.0], (10, 20))},
    }
    errors: dict[str, list[float]] = {name: [] for name in tried}
    differences = []
    for seed in run.seeds:
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[:n], order[n : n + 200] if run.quick else order[n:]
        for name, given in tried.items():
            model = MultitaskKernelClassifier(Gaussian(1.5), alpha=0.1, **given).fit(X[train], y[train])
            errors[name].append(100 * float(np.mean(model.predict(X[test]) != y[test])))
            if "one-vs-all" in name:
                differences.append(_apart_from_binary(model, X, y, train, test))
    cells = [cell(name, "error, %", each, digits=2) for name, each in errors.items()]
    first, *others = (np.array(each) for each in errors.values())
    harder = [at_most("", first, each, 0.5) for each in others]
    claims = [
        exact("one-vs-all is multi-label learning with correlations of 0: class by class, the same scores",
              f"they differ by {max(differences):.1e} at most", max(differences) < SMALL),
        together("one-vs-all is hard to outperform: nothing else is better by half a point", harder, list(tried)[1:]),
    ]  # fmt: skip
    return Result([CellTable("digits", cells)], claims)


def _apart_from_binary(
    model: MultitaskKernelClassifier, X: Floats, y: NDArray[Any], train: NDArray[Any], test: NDArray[Any]
) -> float:
    """The largest difference between the scores of a class and a ridge regression of its own."""
    scores = model.decision_function(X[test]) + 0.5
    alone = MultitaskKernelRidge(Gaussian(1.5), alpha=0.1).fit(X[train], (y[train] == 3) * 1.0)
    return float(np.abs(scores[:, 3] - alone.predict(X[test])).max())


_PLACES: dict[str, tuple[str, Callable[[Rerun], Result], str]] = {
    "lemma1": ("the norm of a joint kernel as a form in the tasks' functions", lemma, "1 s"),
    "mixed-effect": ("a function of all tasks and one of each: three forms of the penalty", mixed_effect, "1 s"),
    "graph": ("the penalty of a weighted graph of tasks", graph, "1 s"),
    "clusters": ("the penalty of clusters of tasks", clusters, "1 s"),
    "tikhonov": ("the system that is solved, and the path of alpha", tikhonov, "10 s"),
    "boosting": ("L2 boosting: steps instead of alpha", boosting, "10 s"),
    "vector-fields": ("the velocity of a fluid, its divergence 0", vector_fields, "10 s"),
    "multiclass": ("classes as outputs, one-vs-all and others", multiclass, "30 s"),
}
ITEMS = tuple(Item(name, what, run, 10, takes) for name, (what, run, takes) in _PLACES.items())
