r"""What a policy is worth by a log of what another one chose.

In row t the log's policy chose the action a_t with the probability μ_t(a_t), and r_t followed. A policy that would have
chosen a with π_t(a) has the weights w_t = π_t(a_t) / μ_t(a_t). Let q_t(a) be what a model predicts for a, made of the
rows before t, and e_t = r_t - q_t(a_t). The value is the mean of n numbers φ_t, its interval ± z se with se² = s²(φ)/n,
where s² is the sample variance and z Student's quantile with n - 1 degrees of freedom:

* ``"ips"``: φ_t = w_t r_t.
* ``"snips"``: V = Σ w r / Σ w, with the variance of φ_t = w_t (r_t - V) n / Σ w.
* ``"dr"``, doubly robust: φ_t = Σ_a π_t(a) q_t(a) + w_t e_t.
* ``"dr*"``: its value, with an interval that knows of what was not drawn.

**Why not s².** Large weights are rare, and where none was drawn, s² is small and the value is wrong. But a log of the
probabilities of all actions knows E[w² | row] = h_t = Σ_a π_t(a)² / μ_t(a), drawn or not. With v, the mean of e² or
that weighted by w, whichever is larger,

    se² = max{s²(φ), v · mean(h) + s²(Σ_a π(a) q(a))} / n.

**Rewards with a long tail.** Their mean is below the truth mostly when s is small too, and the interval too short on
that side. By Hall's expansion of Student's statistic of skewed numbers, z is farther by κ (2z² + 1) / 6, where κ is the
skewness of the mean: on the upper side, with D = √n (√n se)³ and the third central moment m₃ of φ, the largest of

    (m₃ + c³/n) / D,    min{mean(h₃) Σ w e³ / (Σ w D), 1},    0.

c is how far the farthest row lies above the mean. It counts once more, as c²/n in the variance too: a tail goes on
beyond what was seen of it. As E[w² | row] before, h₃ = Σ_a π³/μ² = E[w³ | row] is known. No sample of n has a skewness
above √n, so that κ needs to be no more than 1. The lower side is the same of -φ and -e. Ends are only moved outwards.

M. Dudík, J. Langford, L. Li, "Doubly robust policy evaluation and learning", ICML 2011; A. Swaminathan, T. Joachims,
"The self-normalized estimator for counterfactual learning", NIPS 2015; P. Hall, "On the removal of skewness by
transformation", J. R. Statist. Soc. B 54, 1992, 221-228.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias

import msgspec
import numpy as np

from coterie.wording import counted, visible

from .bandit import Bandit
from .log import BanditLog, distributions, matrix

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

Estimator = Literal["dr*", "dr", "snips", "ips"]
#: Rows with larger numbers are not added to running sums, which hold their third powers.
_LARGEST = 1e90
ESTIMATORS: tuple[Estimator, ...] = ("dr*", "dr", "snips", "ips")


class Chooser(Protocol):
    """A policy that gives each action a probability, such as a Bandit."""

    def probabilities(self, x: Any, actions: Any = None, task: Hashable = None) -> Sequence[float]:
        """The probability of each action."""


class Predictor(Protocol):
    """A model of rewards that predicts those of all actions, such as a Bandit."""

    def scores(self, x: Any, actions: Any = None, task: Hashable = None) -> Sequence[float]:
        """The predicted reward of each action."""

    def learn(self, x: Any, action: Any, reward: float, probability: Any = None, task: Hashable = None) -> Any:
        """Learn the reward of the action that was shown."""


#: What chooses: a Bandit, the probabilities of all rows, or a function of (x, actions, task) that returns those of one.
Policy: TypeAlias = "Chooser | ArrayLike | Sequence[Sequence[float]] | Callable[[Any, Any, Hashable], Sequence[float]]"


@dataclass(frozen=True, repr=False)
class PolicyValue:
    """What a policy is worth: the mean reward it would have had.

    Attributes
    ----------
    value : float
        The mean reward.
    low, high : float
        Its interval.
    effective_n : float
        (Σ w)² / Σ w²: as many rows of the policy's own would say as much.
    n : int
        Rows of the log.
    estimator : str
        How it was estimated: ``"dr"`` where ``"dr*"`` was asked for and the log lacks what it needs.
    level : float
        How often the interval should hold the value.
    warning : str
        Why the interval may be too narrow; empty if it should not be.
    """

    value: float
    low: float
    high: float
    effective_n: float
    n: int
    estimator: Estimator
    level: float = 0.95
    warning: str = ""

    def __str__(self) -> str:
        digits = _digits((self.high - self.low) / 2.0)
        value, low, high = (f"{each:.{digits}f}" for each in (self.value, self.low, self.high))
        said = f"{value}, between {low} and {high} ({100 * self.level:g} %, {self.estimator}): {counted(self.n, 'row')}"
        said += f" that {'says' if self.n == 1 else 'say'} as much as {self.effective_n:,.0f} of its own"
        return f"{said}; {self.warning}" if self.warning else said

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self}>"


def off_policy(
    log: BanditLog,
    policy: Policy,
    *,
    estimator: Estimator = "dr*",
    level: float = 0.95,
    predicted: Predictor | ArrayLike | Sequence[Sequence[float]] | None = None,
) -> PolicyValue:
    """The mean reward that a policy would have had, by a log of what another one chose, with its interval.

    The policy is frozen: it learns nothing of the log. One that has learned from these rows is valued too high; let it
    learn from the beginning of a log, and be valued by the rest. Rows count as independent: where tasks have many rows
    each, the interval is for these tasks, and not for others like them.

    Parameters
    ----------
    log : BanditLog
        What was shown, with which probability, and what followed.
    policy : Bandit, array-like or callable
        What is to be valued: a :class:`coterie.Bandit`, which explores as it does; the probabilities of the log's
        actions, shape (n, K), a list of n lists, or a frame whose columns are the actions; or a function of
        ``(x, actions, task)`` that returns those of one row.
    estimator : {"dr*", "dr", "snips", "ips"}, default "dr*"
        See :mod:`coterie.bandits.off_policy`. The intervals of all but the first may be much too narrow. The first
        needs the probabilities of all actions; where only those of what was shown are logged, it is ``"dr"``.
    level : float, default 0.95
        How often the interval should hold the value.
    predicted : array-like of shape (n, K), or model, optional
        The reward predicted for each action, made without the row's own reward; or a model with ``scores`` and
        ``learn``, which predicts each row and then learns it. By default a new :class:`coterie.Bandit`.

    Returns
    -------
    PolicyValue
        The value, its interval, and how much the log knows of this policy.

    Raises
    ------
    ValueError
        If the policy chooses what the log never shows, or gives no distribution over the actions of a row.

    Examples
    --------
    The log chose at random between two offers; always showing the second is better:

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> offer = rng.integers(2, size=500)
    >>> click = rng.random(500) < np.where(offer == 1, 0.4, 0.2)
    >>> log = BanditLog(None, offer, click, probabilities=[[0.5, 0.5]] * 500, actions=[0, 1])
    >>> found = off_policy(log, lambda x, actions, task: [0.0, 1.0])
    >>> print(found)
    0.3..., between 0.3... and 0.4... (95 %, dr*): 500 rows that say as much as 275 of its own
    >>> off_policy(log, [[1.0, 0.0]] * 500).high < found.low
    True
    """
    pi = _probabilities(log, policy)
    _refuse_never_shown(log, pi)
    weighed = estimator in ("ips", "snips")
    q = np.zeros_like(pi) if weighed else _predicted(log, predicted)
    mu = log.probability if log.probabilities is None else log.probabilities
    return policy_value(log.reward, log.shown, mu, pi, q, estimator=estimator, level=level)


def policy_value(
    reward: Floats,
    shown: Ints,
    mu: Floats,
    pi: Floats,
    q: Floats,
    *,
    estimator: Estimator = "dr*",
    level: float = 0.95,
) -> PolicyValue:
    """The value of a policy by arrays alone.

    Parameters
    ----------
    reward : ndarray, shape (n,)
        What followed.
    shown : ndarray of int, shape (n,)
        The number of the action shown.
    mu : ndarray, shape (n, K) or (n,)
        The probabilities of all actions in the log, or of the one shown.
    pi : ndarray, shape (n, K)
        Those of the policy to be valued; 0 where ``mu`` is.
    q : ndarray, shape (n, K)
        Predicted rewards; row t is made without rewards from row t on.
    estimator, level
        As in :func:`off_policy`.

    Returns
    -------
    PolicyValue
        The value and its interval; O(n K) time.

    Examples
    --------
    >>> reward, shown = np.array([1.0, 0.0, 1.0, 1.0]), np.array([0, 1, 0, 1])
    >>> half, first = np.full((4, 2), 0.5), np.tile([1.0, 0.0], (4, 1))
    >>> found = policy_value(reward, shown, half, first, np.zeros((4, 2)), estimator="ips")
    >>> found.value, found.effective_n
    (1.0, 2.0)
    """
    if estimator not in ESTIMATORS:
        raise ValueError(f"estimator={estimator!r}: expected one of {', '.join(map(repr, ESTIMATORS))}")
    if not 0.0 < level < 1.0:
        raise ValueError(f"level={level!r}: expected a number between 0 and 1")
    n, each = len(reward), np.arange(len(reward))
    w = pi[each, shown] / (mu if mu.ndim == 1 else mu[each, shown])
    total, residual, direct = w.sum(), reward - q[each, shown], (pi * q).sum(axis=1)
    effective = float(total**2 / (w**2).sum()) if total > 0 else 0.0
    if estimator == "dr*" and mu.ndim == 1:
        estimator, warning = "dr", "may be too narrow: the log has the probability of what was shown only"
    else:
        warning = "" if estimator == "dr*" else "may be too narrow: large weights that were not drawn are not counted"
    if not warning and np.ptp(reward) == 0.0:
        warning = "may be too narrow: all rewards were the same"
    if not total > 0 and estimator != "dr*":
        raise ValueError(
            f"the policy never chooses what was shown in {counted(n, 'row')}: nothing says what it is worth"
        )
    if estimator == "snips":
        value = float((w * reward).sum() / total)
        phi = value + w * (reward - value) * (n / total)
    else:
        phi = w * reward if estimator == "ips" else direct + w * residual
        value = float(phi.mean())
    if n == 1:
        low, high = -math.inf, math.inf
    elif estimator == "dr*":
        low, high = _skewed_interval(_Spread.of(phi), *_known_moments(w, residual, direct, mu, pi), level)
    else:
        low, high = (value + side * _quantile(n, level) * math.sqrt(phi.var(ddof=1) / n) for side in (-1.0, 1.0))
    return PolicyValue(value, low, high, effective, n, estimator, level, warning)


class PolicyGain(NamedTuple):
    """How much more a policy is worth than another one, and the interval of that."""

    value: float
    low: float
    high: float

    @property
    def clear(self) -> bool:
        """True if the interval does not hold 0."""
        return self.low > 0.0 or self.high < 0.0


def policy_gain(
    reward: Floats,
    shown: Ints,
    mu: Floats,
    pi: Floats,
    q: Floats,
    against: Floats | None = None,
    *,
    level: float = 0.95,
) -> PolicyGain:
    """How much more a policy is worth than another one, by the same rows, which makes it surer than either value.

    It is the difference of their DR values. With d = π - π' in place of π, its interval is that of DR*, but that its
    known moments are those of |d|: E[w² | row] = Σ_a d(a)² / μ(a), and the skewness is taken to be the worse on both
    sides. Where only the probabilities of what was shown are known, it is that of DR.

    Parameters
    ----------
    reward, shown, mu, pi, q, level
        As in :func:`policy_value`.
    against : ndarray, shape (n, K), optional
        The probabilities of the other policy; without, it is what was done, of which the rewards themselves say it.

    Returns
    -------
    PolicyGain
        The difference and its interval.

    Examples
    --------
    >>> reward, shown = np.array([1.0, 0.0, 1.0, 0.0] * 50), np.array([0, 1] * 100)
    >>> half, first = np.full((200, 2), 0.5), np.tile([1.0, 0.0], (200, 1))
    >>> gain = policy_gain(reward, shown, half, first, np.zeros((200, 2)))
    >>> gain.value, gain.clear
    (0.5, True)
    """
    n, each = len(reward), np.arange(len(reward))
    known = mu.ndim == 2
    chance = mu[each, shown] if known else mu
    residual = reward - q[each, shown]
    w = pi[each, shown] / chance
    phi, direct = (pi * q).sum(axis=1) + w * residual, (pi * q).sum(axis=1)
    if against is None:
        phi, direct, w = phi - reward, direct - q[each, shown], w - 1.0
        other = mu
    else:
        other_w = against[each, shown] / chance
        other_direct = (against * q).sum(axis=1)
        phi, direct, w = phi - other_direct - other_w * residual, direct - other_direct, w - other_w
        other = against
    value = float(phi.mean())
    if n == 1:
        return PolicyGain(value, -math.inf, math.inf)
    if known:
        variance, third = _known_moments(np.abs(w), np.abs(residual), direct, mu, np.abs(pi - other))
        return PolicyGain(value, *_skewed_interval(_Spread.of(phi), variance, third, level, symmetric=True))
    far = _quantile(n, level) * math.sqrt(phi.var(ddof=1) / n)
    return PolicyGain(value, value - far, value + far)


def _known_moments(w: Floats, residual: Floats, direct: Floats, mu: Floats, pi: Floats) -> tuple[float, float]:
    """The variance and the third central moment of φ by the log's probabilities of all actions."""
    total, squares = w.sum(), residual**2
    weighted, third = ((w * each).sum() / total if total > 0 else 0.0 for each in (squares, residual**3))
    ratio = np.divide(pi, mu, out=np.zeros_like(pi), where=mu > 0)
    h, h3 = (pi * ratio).sum(axis=1).mean(), (pi * ratio**2).sum(axis=1).mean()
    return float(max(squares.mean(), weighted) * h + direct.var(ddof=1)), float(third * h3)


class _Spread(NamedTuple):
    """Of some numbers the mean, the variance (of n - 1), the third central moment, the least and the largest."""

    n: int
    mean: float
    variance: float
    third: float
    least: float
    largest: float

    @classmethod
    def of(cls, phi: Floats) -> _Spread:
        mean = float(phi.mean())
        third = float(((phi - mean) ** 3).mean())
        return cls(len(phi), mean, float(phi.var(ddof=1)), third, float(phi.min()), float(phi.max()))


def _skewed_interval(
    phi: _Spread, variance: float, third: float, level: float, symmetric: bool = False
) -> tuple[float, float]:
    """The interval of the mean of numbers with these moments or larger ones; ``symmetric`` if on either side."""
    from scipy.special import ndtri

    n, value = phi.n, phi.mean
    variance = max(phi.variance, variance)
    if variance == 0.0:
        return value, value
    z, far, cubed = float(ndtri((1.0 + level) / 2.0)), _quantile(n, level), math.sqrt(n) * variance**1.5
    ends = []
    for side, end in ((-1.0, phi.least), (1.0, phi.largest)):
        farthest = max(side * (end - value), 0.0)
        seen = (side * phi.third + farthest**3 / n) / cubed
        skewness = max(seen, min((1.0 if symmetric else side) * third / cubed, 1.0), 0.0)
        error = math.sqrt((variance + farthest**2 / n) / n)
        farther = skewness * (2.0 * z * z + 1.0) / 6.0 * math.sqrt(variance / n)
        ends.append(value + side * (far * error + farther))
    return ends[0], ends[1]


class _Moments(msgspec.Struct):
    """The mean, and the sums of the second and third powers of what numbers are from it, number by number."""

    n: int = 0
    mean: float = 0.0
    second: float = 0.0
    third: float = 0.0
    least: float = 0.0
    largest: float = 0.0

    def add(self, number: float) -> None:
        self.least, self.largest = (min(self.least, number), max(self.largest, number)) if self.n else (number, number)
        before, self.n = self.n, self.n + 1
        apart = number - self.mean
        step = apart / self.n
        moved = apart * step * before
        self.mean += step
        self.third += moved * step * (self.n - 2) - 3.0 * step * self.second
        self.second += moved

    @property
    def spread(self) -> _Spread:
        n = self.n
        return _Spread(n, self.mean, self.second / (n - 1), self.third / n, self.least, self.largest)


class RunningValue(msgspec.Struct):
    """The value of a policy by DR*, row by row and without keeping rows: :func:`policy_value` by sums.

    The policy may change from row to row, as one does that learns them, if it never knows the reward of the row. With
    ``gain`` it is how much more it is worth than another one, as :func:`policy_gain` says: ``pi`` is then π - π'.

    Examples
    --------
    >>> running, half, none = RunningValue(), np.array([0.5, 0.5]), np.zeros(2)
    >>> for reward, shown in ((1.0, 0), (0.0, 1), (1.0, 0), (1.0, 1)):
    ...     running.add(reward, shown, half, np.array([1.0, 0.0]), none)
    >>> running.value().value, running.value().effective_n
    (1.0, 2.0)
    """

    gain: bool = False
    phi: _Moments = msgspec.field(default_factory=_Moments)
    direct: _Moments = msgspec.field(default_factory=_Moments)
    reward: _Moments = msgspec.field(default_factory=_Moments)
    weight: float = 0.0
    weight_squares: float = 0.0
    squares: float = 0.0
    weighted_squares: float = 0.0
    weighted_cubes: float = 0.0
    ratio: float = 0.0
    ratio_squares: float = 0.0
    never: int = 0

    def add(self, reward: float, shown: int, mu: Floats, pi: Floats, q: Floats) -> None:
        """Add a row, given as to :func:`policy_value`; ValueError for numbers that are too large to be summed."""
        ratio = np.divide(pi, mu, out=np.zeros_like(pi), where=mu > 0)
        w, residual, direct = float(ratio[shown]), float(reward - q[shown]), float(pi @ q)
        if not max(abs(residual), abs(w * residual), abs(direct), float(abs(ratio).max())) < _LARGEST:
            raise ValueError(f"a reward of {reward:g}, predicted as {q[shown]:g}, is too much to be summed")
        self.phi.add(direct + w * residual)
        self.direct.add(direct)
        self.reward.add(reward)
        if self.gain:
            ratio, pi, w, residual = abs(ratio), abs(pi), abs(w), abs(residual)
        self.weight += w
        self.weight_squares += w * w
        self.squares += residual**2
        self.weighted_squares += w * residual**2
        self.weighted_cubes += w * residual**3
        self.ratio += float(pi @ ratio)
        self.ratio_squares += float(pi @ ratio**2)
        self.never += bool(np.any((mu == 0) & (pi != 0)))

    def value(self, level: float = 0.95) -> PolicyValue:
        """The value and its interval; of one row or more."""
        n, total = self.phi.n, self.weight
        warning = "may be too narrow: all rewards were the same" if self.reward.least == self.reward.largest else ""
        if self.never:
            warning = f"is none in {counted(self.never, 'row')}: what the policy may choose had the probability 0"
        low, high = -math.inf, math.inf
        if n > 1:
            weighted, third = (
                each / total if total > 0 else 0.0 for each in (self.weighted_squares, self.weighted_cubes)
            )
            known = max(self.squares / n, weighted) * self.ratio / n + self.direct.spread.variance
            low, high = _skewed_interval(self.phi.spread, known, third * self.ratio_squares / n, level, self.gain)
        effective = total**2 / self.weight_squares if total > 0 else 0.0
        return PolicyValue(self.phi.mean, low, high, effective, n, "dr*", level, warning)


def _quantile(n: int, level: float) -> float:
    """Student's, for an interval of the mean of n numbers."""
    from scipy.special import stdtrit

    return float(stdtrit(n - 1, (1.0 + level) / 2.0))


def _probabilities(log: BanditLog, policy: Any) -> Floats:
    """The policy's probabilities of each row's actions."""
    choose = getattr(policy, "probabilities", policy)
    if callable(choose):
        policy = [choose(x, actions, task) for x, actions, task in zip(log.x, log.actions, log.task, strict=True)]
    return distributions("the policy's probabilities", policy, log.actions)


def _refuse_never_shown(log: BanditLog, pi: Floats) -> None:
    """Refuse a policy that chooses what the log's policy never would, or, if that is not known, never did."""
    if log.probabilities is not None:
        never = (pi > 0) & (log.probabilities == 0)
        if never.any():
            i, a = map(int, np.argwhere(never)[0])
            raise ValueError(
                f"row {i}: the policy may choose {visible(repr(log.actions[i][a]))}, which the log shows with the "
                "probability 0: nothing says what it is worth"
            )
        return
    seen = {actions[a] for actions, a in zip(log.actions, log.shown, strict=True) if isinstance(actions[a], Hashable)}
    for i, a in np.argwhere(pi > 0):
        action = log.actions[i][a]
        if isinstance(action, Hashable) and action not in seen:
            raise ValueError(
                f"row {i}: the policy may choose {visible(repr(action))}, which the log never shows: nothing says what "
                "it is worth"
            )


def _predicted(log: BanditLog, predicted: Any) -> Floats:
    """The rewards predicted for each row's actions before its own was learned."""
    if predicted is None:
        predicted = Bandit()
    if hasattr(predicted, "scores"):
        model, predicted = predicted, []
        for x, actions, task, a, p, reward in zip(
            log.x, log.actions, log.task, log.shown, log.probability, log.reward, strict=True
        ):
            predicted.append(list(model.scores(x, actions, task)))
            model.learn(x, actions[a], float(reward), float(p), task=task)
    q = matrix("predicted rewards", predicted, log.actions)
    if not np.isfinite(q).all():
        raise ValueError(f"predicted rewards: got nan or inf in row {int(np.argmin(np.isfinite(q).all(axis=1)))}")
    return q


def _digits(half: float) -> int:
    """Digits of a number that is known so well."""
    return 3 if not 0.0 < half < math.inf else max(0, min(6, 1 - math.floor(math.log10(half))))
