r"""Off-policy evaluation: the value of a policy, estimated from a log of another policy's decisions.

In row t the log's policy chose the action a_t with the probability μ_t(a_t), and the reward was r_t. A policy that
chooses a with the probability π_t(a) has the weights w_t = π_t(a_t) / μ_t(a_t). Let q_t(a) be the reward predicted for
a by a model of the rows before t, and e_t = r_t - q_t(a_t). The doubly robust value is the mean of the n numbers
φ_t = Σ_a π_t(a) q_t(a) + w_t e_t, its interval ± z se with se² = s²(φ)/n, where s² is the sample variance and z
Student's quantile with n - 1 degrees of freedom. This is ``"dr"``; the interval of ``"dr*"`` accounts for large weights
that the log did not draw:

**Why not s².** Large weights are rare, and if none was drawn, s² is small and the value is wrong. But from the logged
probabilities of all actions E[w² | row] = h_t = Σ_a π_t(a)² / μ_t(a) is known. With v, the mean of e² or
that weighted by w, whichever is larger,

    se² = max{s²(φ), v · mean(h) + s²(Σ_a π(a) q(a))} / n.

**Rewards with a long tail.** Their mean is below the truth mostly when s is small too, and the interval too short on
that side. By Hall's expansion of Student's statistic of skewed numbers, z is farther by κ (2z² + 1) / 6, where κ is the
skewness of the mean: on the upper side, with D = √n (√n se)³ and the third central moment m₃ of φ, the largest of

    (m₃ + c³/n) / D,    min{mean(h₃) Σ w e³ / (Σ w D), 1},    0.

c is the distance of the farthest row above the mean. It is also added to the variance, as c²/n, because a tail is
longer than its sample. As E[w² | row] before, h₃ = Σ_a π³/μ² = E[w³ | row] is known. No sample of n has a skewness
above √n, so that κ needs to be no more than 1. The lower side is the same of -φ and -e. Ends are only moved outwards.

**Few rows with large weights.** s² and v are themselves estimates, from few rows if large weights are rare. The
expected number of such rows is known: n mean(h)² / mean(h₄), h₄ = Σ_a π⁴/μ³ = E[w⁴ | row].

* If all rewards are 0 or 1, the ends are the farther ones of those above and of the score interval (Wilson's): the
  solutions V of (V - value)² n = z² (a + b V + s²(Σ π q)) with b = mean(h) - 2 mean(Σ H q), H = π²/μ, and
  a = mean(Σ H q (1 - q)) - mean(Σ π q) b, cut to [0, 1]. E[w² e²] is a + b V if all q have the same error.
* For other rewards z has min(rows + 1, n - 1) degrees of freedom, with the number of rows above. The interval is
  unknown, (-inf, inf), with less than 5 rows, or with less than 3 effective rewards other than 0, (Σ w)² / Σ w² over
  these. With a known range of rewards it is never unknown: with less than 5 rows its ends are the farther ones of those
  above and of the score interval of the range, and it is cut to the range.

M. Dudík, J. Langford, L. Li, "Doubly robust policy evaluation and learning", ICML 2011; P. Hall, "On the removal of
skewness by transformation", J. R. Statist. Soc. B 54, 1992, 221-228.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np

from coterie.types import Floats, Ints, Record
from coterie.wording import counted, visible

from .contextual_bandit import Bandit
from .crossed_input import Action
from .log import BanditLog, distributions, matrix
from .policy_sums import Interval, PolicySums

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


Estimator = Literal["dr*", "dr"]
#: Fewer tasks do not show how new tasks differ.
_LEAST_TASKS = 10


class Chooser(Protocol):
    """Interface of policies, such as a Bandit: probabilities of actions."""

    def probabilities(
        self, x: Record, actions: Sequence[Action] | None = None, task: Hashable = None
    ) -> Sequence[float]:
        """Return the probability of each action."""


class Predictor(Protocol):
    """Interface of reward models, such as a Bandit: predicted rewards of actions."""

    def scores(self, x: Record, actions: Sequence[Action] | None = None, task: Hashable = None) -> Sequence[float]:
        """Return the predicted reward of each action."""

    def learn(
        self, x: Record, action: Action, reward: float, probability: float | None = None, task: Hashable = None
    ) -> object:
        """Learn the reward of a chosen action."""


#: A policy: a Bandit, the probabilities of all rows, or a function of (x, actions, task) that returns those of one row.
Policy: TypeAlias = "Chooser | ArrayLike | Sequence[Sequence[float]] | Callable[[Any, Any, Hashable], Sequence[float]]"


@dataclass(frozen=True, repr=False)
class PolicyValue:
    """The estimated value of a policy (its expected reward), with a confidence interval.

    Attributes
    ----------
    value : float
        The mean reward.
    low, high : float
        Its interval; -inf and inf if too few rows determine the value.
    effective_n : float
        (Σ w)² / Σ w², the number of rows of the policy itself with the same information.
    n : int
        Rows of the log.
    estimator : str
        ``"dr*"``, or ``"dr"`` if the log does not have the probabilities of all actions.
    level : float
        The coverage of the interval.
    warning : str
        The reason if the interval is unknown or may be too narrow; empty otherwise.
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
        places = digits(self.low, self.high)
        value, low, high = (f"{number:.{places}f}" for number in (self.value, self.low, self.high))
        text = f"{value}, between {low} and {high} ({100 * self.level:g} %, {self.estimator}): {counted(self.n, 'row')}"
        text += f" that {'says' if self.n == 1 else 'say'} as much as {self.effective_n:,.0f} of its own"
        return f"{text}; the interval {self.warning}" if self.warning else text

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self}>"


def off_policy(
    log: BanditLog,
    policy: Policy,
    *,
    level: float = 0.95,
    predicted: Predictor | ArrayLike | Sequence[Sequence[float]] | None = None,
    reward_range: Sequence[float] | None = None,
    for_new_tasks: bool = False,
) -> PolicyValue:
    """Estimate the value of a policy, with a confidence interval, from a log of another policy's decisions.

    The policy is not updated. One that has learned from these rows is overrated; train it on the first part of a log,
    and evaluate it on the rest. Rows count as independent: the interval is for the tasks of the log, and for new tasks
    like them only with ``for_new_tasks``.

    Parameters
    ----------
    log : BanditLog
        The actions shown, their probabilities and rewards.
    policy : Bandit, array-like or callable
        The policy to evaluate: a :class:`coterie.Bandit`, with its exploration; the probabilities of the log's
        actions, shape (n, K), a list of n lists, or a frame whose columns are the actions; or a function of
        ``(x, actions, task)`` that returns those of one row.
    level : float, default=0.95
        The coverage of the interval.
    predicted : array-like of shape (n, K), or model, optional
        The reward predicted for each action, made without the row's own reward; or a model with ``scores`` and
        ``learn``, which predicts each row and then learns it. By default a new :class:`coterie.Bandit`.
    reward_range : (low, high), optional
        The smallest and the largest possible reward. The interval is cut to it, and is then known even if few rows
        determine the value. Not needed if rewards are all 0 or 1 and both occur.
    for_new_tasks : bool, default=False
        Widen the interval so that it is for new tasks like those of the log, by clustering rows by task. It is unknown
        with fewer than ten tasks.

    Returns
    -------
    PolicyValue
        The value, its interval, and the effective number of rows.

    Raises
    ------
    ValueError
        If the policy chooses actions that the log cannot show, or does not return a distribution over the actions of a
        row.

    Examples
    --------
    The log chose at random between two offers; always showing the second is better:

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> offer = rng.integers(2, size=500)
    >>> click = rng.random(500) < np.where(offer == 1, 0.4, 0.2)
    >>> log = BanditLog(None, offer, click, probabilities=[[0.5, 0.5]] * 500, actions=[0, 1])
    >>> estimate = off_policy(log, lambda x, actions, task: [0.0, 1.0])
    >>> print(estimate)
    0.3..., between 0.3... and 0.4... (95 %, dr*): 500 rows that say as much as 275 of its own
    >>> off_policy(log, [[1.0, 0.0]] * 500).high < estimate.low
    True
    """
    pi = _probabilities(log, policy)
    _refuse_never_shown(log, pi)
    q = _predicted(log, predicted)
    mu = log.probability if log.probabilities is None else log.probabilities
    return policy_value(
        log.reward,
        log.shown,
        mu,
        pi,
        q,
        level=level,
        reward_range=reward_range,
        cluster=log.task if for_new_tasks else None,
    )


def policy_value(
    reward: Floats,
    shown: Ints,
    mu: Floats,
    pi: Floats,
    q: Floats,
    *,
    level: float = 0.95,
    reward_range: Sequence[float] | None = None,
    cluster: Sequence[Hashable] | None = None,
) -> PolicyValue:
    """Estimate the value of a policy from arrays of rewards, probabilities and predicted rewards of a log.

    Parameters
    ----------
    reward : ndarray, shape (n,)
        The rewards.
    shown : ndarray of int, shape (n,)
        The number of the action shown.
    mu : ndarray, shape (n, K) or (n,)
        The probabilities of all actions in the log, or of the one shown.
    pi : ndarray, shape (n, K)
        The probabilities of the policy to evaluate; 0 where ``mu`` is 0.
    q : ndarray, shape (n, K)
        Predicted rewards; row t is made without rewards from row t on.
    level, reward_range
        See :func:`off_policy`.
    cluster : sequence of n labels, optional
        The task of each row, for the interval for new tasks.

    Returns
    -------
    PolicyValue
        The value and its interval; O(n K) time.

    Examples
    --------
    >>> reward, shown = np.array([1.0, 0.0, 1.0, 1.0]), np.array([0, 1, 0, 1])
    >>> half, first = np.full((4, 2), 0.5), np.tile([1.0, 0.0], (4, 1))
    >>> estimate = policy_value(reward, shown, half, first, np.zeros((4, 2)))
    >>> estimate.value, estimate.effective_n
    (1.0, 2.0)
    """
    _check_options(reward, level, reward_range)
    rows = np.arange(len(reward))
    w = pi[rows, shown] / (mu if mu.ndim == 1 else mu[rows, shown])
    total, phi = float(w.sum()), (pi * q).sum(axis=1) + w * (reward - q[rows, shown])
    if mu.ndim == 2:
        estimator: Estimator = "dr*"
        interval = PolicySums(reward, shown, mu, pi, q).interval(level, reward_range)
    elif total > 0:
        estimator = "dr"
        warning = "may be too narrow: the log has the probability of what was shown only"
        interval = Interval(*_student_interval(phi, level), warning)
    else:
        raise ValueError(
            f"the policy never chooses the logged action in {counted(len(reward), 'row')}: its reward cannot be "
            "estimated"
        )
    if cluster is not None:
        interval = _widen_for_new_tasks(phi, cluster, level, interval)
    low, high, warning = _cut(interval, *(reward_range or (-math.inf, math.inf)))
    # Kish's effective sample size, by realised weights: it does not see large ones that were not drawn
    effective = float(total**2 / (w**2).sum()) if total > 0 else 0.0
    return PolicyValue(float(phi.mean()), low, high, effective, len(reward), estimator, level, warning)


class PolicyGain(NamedTuple):
    """The difference of the values of two policies, with a confidence interval.

    Attributes
    ----------
    value, low, high : float
        The difference, and its interval; -inf and inf if too few rows show it.
    warning : str
        The reason if the interval is unknown or may be too narrow.
    """

    value: float
    low: float
    high: float
    warning: str = ""

    @property
    def clear(self) -> bool:
        """True if the confidence interval of the gain excludes 0."""
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
    reward_range: Sequence[float] | None = None,
    cluster: Sequence[Hashable] | None = None,
) -> PolicyGain:
    r"""Estimate the difference of two policies' values on the same rows, which is more precise than either value.

    It is the difference of their DR values. With d = π - π' in place of π, its interval is that of DR*, but that its
    known moments are those of \|d\|: E[w² | row] = Σ_a d(a)² / μ(a), the variance for rewards of 0 and 1 is the largest
    within the score interval of \|d\|, and the larger skewness is used on both sides. If only the probabilities of the
    actions shown are known, it is the interval of DR.

    Parameters
    ----------
    reward, shown, mu, pi, q, level, reward_range, cluster
        See :func:`policy_value`.
    against : ndarray, shape (n, K), optional
        The probabilities of the other policy; by default the logged policy, whose value is the mean reward.

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
    _check_options(reward, level, reward_range)
    rows = np.arange(len(reward))
    chance, residual = mu if mu.ndim == 1 else mu[rows, shown], reward - q[rows, shown]
    phi = (pi * q).sum(axis=1) + pi[rows, shown] / chance * residual
    # paired by row, so that q and the noise of the reward, which both policies share, cancel
    phi -= reward if against is None else (against * q).sum(axis=1) + against[rows, shown] / chance * residual
    if mu.ndim == 2:
        # the logged choices have the DR value Σ μ q + e, and the actual reward q(a) + e
        offset: float | Floats = (mu * q).sum(axis=1) - q[rows, shown] if against is None else 0.0
        sums = PolicySums(reward, shown, mu, pi, q, mu if against is None else against, offset)
        interval = sums.interval(level, reward_range)
    else:
        interval = Interval(*_student_interval(phi, level))
    if cluster is not None:
        interval = _widen_for_new_tasks(phi, cluster, level, interval)
    width = math.inf if reward_range is None else reward_range[1] - reward_range[0]
    return PolicyGain(float(phi.mean()), *_cut(interval, -width, width))


def _check_options(reward: Floats, level: float, reward_range: Sequence[float] | None) -> None:
    """Raise ValueError for a level outside (0, 1), or rewards outside their range."""
    if not 0.0 < level < 1.0:
        raise ValueError(f"level={level!r}: expected a number between 0 and 1")
    if reward_range is None:
        return
    if len(reward_range) != 2 or not -math.inf < reward_range[0] < reward_range[1] < math.inf:
        raise ValueError(f"reward_range={reward_range!r}: expected two finite numbers, the lower one first")
    outside = (reward < reward_range[0]) | (reward > reward_range[1])
    if outside.any():
        t = int(np.argmax(outside))
        raise ValueError(f"the reward {reward[t]:g} of row {t} lies outside reward_range={tuple(reward_range)!r}")


def _cut(interval: Interval, least: float, most: float) -> Interval:
    """Clip a finite interval to the range from ``least`` to ``most``."""
    if not math.isfinite(interval.high - interval.low):
        return interval
    # an estimate may lie outside by large weights: both ends are then at the end of the range
    return interval._replace(low=min(max(interval.low, least), most), high=max(min(interval.high, most), least))


def _student_interval(phi: Floats, level: float) -> tuple[float, float]:
    """Return Student's t interval of the mean of the numbers ``phi``."""
    from scipy.special import stdtrit

    n, value = len(phi), float(phi.mean())
    if n == 1:
        return -math.inf, math.inf
    half = float(stdtrit(n - 1, (1.0 + level) / 2.0)) * math.sqrt(phi.var(ddof=1) / n)
    return value - half, value + half


def _widen_for_new_tasks(phi: Floats, tasks: Sequence[Hashable], level: float, interval: Interval) -> Interval:
    """Widen a confidence interval so that it also holds for new tasks, from the differences between tasks.

    se² = K / (K - 1) Σ_k (s_k - n_k value)² / n², for K tasks of n_k rows whose φ sum to s_k, with Student's quantile
    of K - 1 degrees of freedom.
    """
    from scipy.special import stdtrit

    numbers: dict[Hashable, int] = {}
    codes = np.array([numbers.setdefault(task, len(numbers)) for task in tasks])
    n, K, value = len(phi), len(numbers), float(phi.mean())
    if K < _LEAST_TASKS:
        few = f"is unknown: {counted(K, 'task')} cannot show how new tasks differ, {_LEAST_TASKS} are the least"
        return Interval(-math.inf, math.inf, few)
    # sandwich estimator with clusters: rows of a task may depend on each other in any way
    squares = float((np.bincount(codes, phi - value) ** 2).sum())
    half = float(stdtrit(K - 1, (1.0 + level) / 2.0)) * math.sqrt(squares * K / (K - 1)) / n
    # intervals by clusters can be narrower by chance; a value for new tasks is never more certain than for known ones
    return interval._replace(low=min(interval.low, value - half), high=max(interval.high, value + half))


def _probabilities(log: BanditLog, policy: Any) -> Floats:
    """Return the probabilities of the actions of each row of a log under a policy."""
    choose = getattr(policy, "probabilities", policy)
    if callable(choose):
        policy = [choose(x, actions, task) for x, actions, task in zip(log.x, log.actions, log.task, strict=True)]
    return distributions("the policy's probabilities", policy, log.actions)


def _refuse_never_shown(log: BanditLog, pi: Floats) -> None:
    """Raise ValueError if a policy may choose an action that the log's policy never chooses.

    ``pi`` are its probabilities.
    """
    if log.probabilities is not None:
        never = (pi > 0) & (log.probabilities == 0)
        if never.any():
            i, a = map(int, np.argwhere(never)[0])
            raise ValueError(
                f"row {i}: the policy may choose {visible(repr(log.actions[i][a]))}, which the log chooses with "
                "probability 0: its reward cannot be estimated"
            )
        return
    # without all probabilities, an action never shown is the only sign of a probability of 0
    seen = {actions[a] for actions, a in zip(log.actions, log.shown, strict=True) if isinstance(actions[a], Hashable)}
    for i, a in np.argwhere(pi > 0):
        action = log.actions[i][a]
        if isinstance(action, Hashable) and action not in seen:
            raise ValueError(
                f"row {i}: the policy may choose {visible(repr(action))}, which the log never chooses: its reward "
                "cannot be estimated"
            )


def _predicted(log: BanditLog, predicted: Any) -> Floats:
    """Return the rewards of the actions of each row, predicted before the reward of the row is learned."""
    if predicted is None:
        predicted = Bandit()
    if hasattr(predicted, "scores"):
        model, predicted = predicted, []
        for x, actions, task, a, p, reward in zip(
            log.x, log.actions, log.task, log.shown, log.probability, log.reward, strict=True
        ):
            # before learning: a q that knows its own reward makes e too small, and the value biased
            predicted.append(list(model.scores(x, actions, task)))
            model.learn(x, actions[a], float(reward), float(p), task=task)
    q = matrix("predicted rewards", predicted, log.actions)
    if not np.isfinite(q).all():
        raise ValueError(f"predicted rewards: got nan or inf in row {int(np.argmin(np.isfinite(q).all(axis=1)))}")
    return q


def digits(low: float, high: float) -> int:
    """Return the number of decimals with which to show numbers between ``low`` and ``high``.

    >>> digits(0.31, 0.35), digits(120.0, 180.0), digits(-math.inf, math.inf)
    (3, 0, 3)
    """
    half = (high - low) / 2.0
    return 3 if not 0.0 < half < math.inf else max(0, min(6, 1 - math.floor(math.log10(half))))
