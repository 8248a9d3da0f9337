"""The regret bound of mirror descent that adapts to how different its tasks are."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie.evaluation.progressive import Trace
from coterie.types import RowMatrix

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class MirrorBound:
    """The regret bound of multitask mirror descent against one comparator, and its parts.

    Attributes
    ----------
    loss : float
        The comparator's hinge loss, by the records' weights, summed over the rounds that moved something.
    regrets : ndarray, shape (n_variances,)
        What each expert can lose to the comparator on linear losses.
    mixing : float
        2Δ, what the mixture can lose to the best expert.
    """

    loss: float
    regrets: Floats
    mixing: float

    @property
    def regret(self) -> float:
        """The bound on the regret of the mixture."""
        return float(self.regrets.min()) + self.mixing

    @property
    def mistakes(self) -> float:
        """Loss and regret, which neither the mixture's hinge loss nor its mistakes can exceed, each by its weight."""
        return self.loss + self.regret


def mirror_bound(model: Any, trace: Trace, X: RowMatrix, U: ArrayLike) -> MirrorBound:
    """The bound of :class:`coterie.MultitaskMirrorDescent` for its stream and a comparator.

    On the m rounds with y·margin < 1, with z = (T_k ⊗ I)φ, ũ = (T_k ⊗ I)⁻¹u and the rates η_t of expert k,

        Σ_t hinge_t ≤ Σ_t hinge_t(u) + min_k (Φ(ũ) / η_m + ½ μ Σ_t η_t ‖z_t‖²) + 2Δ.

    Losses count by the records' weights, and ‖z_t‖ is the length of the record times its weight.

    Proof: the hinge loss is convex, so that its difference is at most that of the linear losses -y_t margin; on these,
    follow-the-regularized-leader with rates that fall loses as much as stands in the brackets (McMahan 2017), and
    AdaHedge 2Δ (de Rooij et al. 2014). For records of one length X, Φ(ũ) as expected, and the variance known, the
    brackets come to D X (sqrt(1 - ρ) + sqrt(ρ (N - 1))) sqrt(2 (m + N)) at most.

    Parameters
    ----------
    model : MultitaskMirrorDescent
        After the stream, all tasks having been known before it (``tasks=``), and no other records learned.
    trace : Trace
        What happened.
    X : array or sparse matrix, shape (n, d)
        The records.
    U : array, shape (N, d)
        A comparator for each task, in the order of ``trace.tasks``.

    Returns
    -------
    MirrorBound
        O(m d) and, for every expert, O(N d).

    Raises
    ------
    ValueError
        If shapes do not fit.

    Examples
    --------
    >>> import coterie as ct
    >>> rng = np.random.default_rng(0)
    >>> X, task, u = rng.normal(size=(3000, 5)), rng.integers(8, size=3000), 3 * rng.normal(size=5)
    >>> model = ct.MultitaskMirrorDescent(radius=float(np.linalg.norm(u)))
    >>> trace = ct.progressive_validation(model, X, X @ u > 0, task=task, tasks=range(8))
    >>> bound = mirror_bound(model, trace, X, np.tile(u, (8, 1)))
    >>> trace.mistakes, round(bound.mistakes)
    (94, 850)
    """
    V = np.asarray(U, np.float64)
    N, d = len(trace.tasks), X.shape[1]
    if X.shape[0] != trace.n:
        raise ValueError(f"X must have one row a round, shape ({trace.n}, d), got shape {X.shape}")
    if V.shape != (N, d):
        raise ValueError(f"U must have shape ({N}, {d}), got {V.shape}")
    hypothesis, state = model.learner().hypothesis, model.state_
    shares, potential = hypothesis.shares(N, d), hypothesis.potential
    moved = np.flatnonzero(trace.updated)
    signs = np.where(trace.label[moved] == trace.classes[-1], 1.0, -1.0)
    told = signs * np.asarray((X[moved] @ V.T)[np.arange(len(moved)), trace.task[moved]])
    weights = np.ones(trace.n) if trace.weight is None else trace.weight
    loss = float(weights[moved] @ np.maximum(0.0, 1.0 - told))

    lengths = np.array([hypothesis.length(weights[t] * _row(X, t)) for t in range(trace.n)])
    longest = np.maximum.accumulate(lengths)
    before = np.append(0.0, longest)[moved]  # a round's rate depends on the longest record before it
    before[before == 0.0] = lengths[moved][before == 0.0]
    slack = np.sqrt(np.arange(len(moved)) + N)
    smoothness = 1.0 if potential is None else potential.smoothness(d)
    regrets = np.zeros(len(shares.own))
    for k, (a, scale) in enumerate(zip(shares.own.tolist(), shares.scales.tolist(), strict=True)):
        diagonal = a * a + (1.0 - a * a) / N
        rates = scale / (before * slack * math.sqrt(diagonal))
        steps = 0.5 * smoothness * float((rates * diagonal * lengths[moved] ** 2).sum())
        regrets[k] = _size(V, a, potential) / rates[-1] + steps if len(moved) else 0.0
    return MirrorBound(loss, regrets, 2.0 * float(state.model.scalars[0]))


def _size(U: Floats, a: float, potential: Any) -> float:
    """Φ((T ⊗ I)⁻¹u) for T = a I + (1 - a) 11'/N, infinite where T is singular and u no image of it."""
    mean = U.mean(axis=0)
    off = U - mean
    if a == 0.0:
        if np.abs(off).max() > 1e-12 * np.abs(U).max(initial=1.0):
            return math.inf
        off, a = np.zeros_like(off), 1.0
    W = off / a + mean
    return 0.5 * float((W**2).sum()) if potential is None else float(sum(potential.value(w) for w in W))


def _row(X: RowMatrix, t: int) -> Floats:
    row = X[[t]]
    return np.asarray(row.toarray()[0] if hasattr(row, "toarray") else row[0], np.float64)
