"""Whether intervals of a policy's value are as sure as they say, on logs whose truth is known.

    python -m bench.off_policy [--quick] [--rare]

How often intervals of 95 % hold the value that the policy would have, over as many drawn logs. A log has one of 40 contexts
a row, in which each action has a mean reward; so the truth is known exactly. The chances of a logger are at least 0.02 / K.

*logger*, *policy*: ``uniform``; ``soft`` and ``sharp`` prefer what is worth more, ``against`` what is worth less, ``best``
and ``worst`` always show one action, ``other`` prefers what it will; ``rare``, as a logger, shows two of three actions in 8
and in 2 % of the rows, which the policy shows in 30 and 60 %, and which are worth two and three times as much.
*q*, the predicted rewards: ``zero``, ``good`` (off by 0.05), ``half`` of the truth, ``bad`` (anything), ``means`` (each
action's reward so far), ``ours`` (the default of ``off_policy``).
*rewards*: 0 or 1; 0 or 1 and mostly 0; normal; Student's t with 2.5 degrees of freedom; Pareto with the exponent 2.5, which
has a variance and no skewness; lognormal with σ = 1.5, whose skewness is 33.
The third table has what intervals may not hold: Pareto with the exponent 1.5, which has no variance; few rows; and
rows that come in groups of twenty which share a context and an effect of their own, where the value for others is asked.
The others have policies that prefer what the log rarely shows: values by DR*, gains over another policy, and intervals
for new tasks (``for_new_tasks``), with the share of logs of which the interval is unknown.
"""

from __future__ import annotations

import argparse
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import coterie as ct
from coterie.bandits.off_policy import PolicyGain, PolicyValue, policy_gain, policy_value

Floats = NDArray[np.float64]
CONTEXTS, FLOOR, ESTIMATORS = 40, 0.02, ("dr", "dr*")
PLAIN = [
    (n, K, logger, policy, q, rewards)
    for rewards in ("0/1", "normal")
    for n, K, logger, policy, q in (
        (500, 2, "uniform", "best", "zero"),
        (500, 5, "soft", "best", "good"),
        (500, 5, "sharp", "against", "bad"),
        (500, 10, "sharp", "worst", "zero"),
        (2000, 20, "uniform", "best", "means"),
        (2000, 10, "sharp", "other", "means"),
        (200, 5, "sharp", "best", "means"),
    )
] + [
    (300, 5, "sharp", "worst", "good", "normal"),
    (1000, 10, "sharp", "uniform", "bad", "normal"),
    (2000, 10, "soft", "worst", "means", "seldom 1"),
    (1000, 5, "sharp", "against", "zero", "seldom 1"),
    (1000, 20, "sharp", "other", "means", "0/1"),
    (300, 3, "soft", "best", "ours", "normal"),
    (100, 2, "uniform", "best", "means", "0/1"),
]
HEAVY = [
    (n, K, logger, policy, q, rewards)
    for rewards in ("t", "Pareto", "lognormal")
    for n, K, logger, policy, q in (
        (500, 5, "uniform", "best", "means"),
        (2000, 5, "soft", "best", "good"),
        (500, 5, "sharp", "against", "zero"),
        (500, 5, "against", "best", "means"),
        (1000, 10, "sharp", "worst", "means"),
        (200, 2, "uniform", "best", "means"),
        (2000, 20, "sharp", "other", "bad"),
        (1000, 5, "soft", "soft", "means"),
        (300, 3, "rare", "rare", "half"),
        (1000, 3, "rare", "rare", "half"),
    )
]
BEYOND = [
    (500, 2, "uniform", "best", "means", "Pareto 1.5"),
    (2000, 5, "soft", "best", "good", "Pareto 1.5"),
    (100, 3, "rare", "rare", "half", "Pareto"),
    (20, 2, "uniform", "best", "means", "0/1"),
    (20, 2, "uniform", "best", "means", "Pareto"),
    (500, 2, "uniform", "best", "means", "in groups"),
]


class Setting(NamedTuple):
    """A world: the mean reward, the logger's and the policy's probabilities and predictions by context and action."""

    n: int
    q: str
    rewards: str
    worth: Floats
    mu: Floats
    pi: Floats
    told: Floats

    @classmethod
    def of(cls, seed: int, n: int, K: int, logger: str, policy: str, q: str, rewards: str) -> Setting:
        """Draw one."""
        rng = np.random.default_rng(seed)
        low, high = (0.02, 0.12) if rewards == "seldom 1" else (0.1, 0.9)
        worth = rng.uniform(low, high, (CONTEXTS, K))
        if logger == "rare":
            worth, mu, pi = (
                np.tile(each, (CONTEXTS, 1)) for each in ([1.0, 2.0, 3.0], [0.9, 0.08, 0.02], [0.1, 0.3, 0.6])
            )
        else:
            standard = (worth - worth.mean()) / worth.std()
            mu = (1 - FLOOR) * _choosing(logger, standard, rng) + FLOOR / K
            pi = _choosing(policy, standard, rng)
        told = {
            "good": worth + 0.05 * rng.normal(size=worth.shape),
            "half": worth / 2,
            "bad": rng.uniform(0.5, 1.5, worth.shape),
        }.get(q, np.zeros_like(worth))
        return cls(n, q, rewards, worth, mu, pi, told)

    @property
    def truth(self) -> float:
        """What the policy is worth."""
        return float((self.pi * self.worth).sum(axis=1).mean())

    def values(self, rng: np.random.Generator) -> list[PolicyValue]:
        """What is said of a log that has the probabilities of what was shown, and of one that has all of them."""
        groups = 20 if self.rewards == "in groups" else 1
        x = np.repeat(rng.integers(CONTEXTS, size=self.n // groups), groups)
        mu, pi = self.mu[x], self.pi[x]
        shown = np.minimum((rng.random(self.n)[:, None] > mu.cumsum(axis=1)).sum(axis=1), mu.shape[1] - 1)
        reward = _drawn(self.rewards, self.worth[x, shown], rng, groups)
        of_shown = mu[np.arange(self.n), shown]
        if self.q == "ours":
            actions = list(range(mu.shape[1]))
            logs = (
                ct.bandits.BanditLog(None, shown, reward, actions=actions, task=x, **known)
                for known in ({"probability": of_shown}, {"probabilities": mu})
            )
            return [ct.off_policy(log, pi) for log in logs]
        q = _means(shown, reward, mu.shape[1]) if self.q == "means" else self.told[x]
        return [said_of(reward, shown, known, pi, q) for known in (of_shown, mu)]


def said_of(reward: Floats, *given: Any) -> PolicyValue:
    """The value; one that is refused, as the policy never chose what was shown, holds nothing."""
    try:
        return policy_value(reward, *given)
    except ValueError:
        return PolicyValue(np.nan, np.nan, np.nan, 0.0, len(reward), "dr")


def _choosing(how: str, worth: Floats, rng: np.random.Generator) -> Floats:
    """Probabilities of the actions by what they are worth."""
    if how == "best" or how == "worst":
        sign = 1 if how == "best" else -1
        return np.eye(worth.shape[1])[np.argmax(sign * worth, axis=1)]
    preferred = {"uniform": 0 * worth, "soft": worth, "sharp": 4 * worth, "against": -worth}
    chances = np.exp(preferred[how] if how in preferred else 2 * rng.normal(size=worth.shape))
    return np.asarray(chances / chances.sum(axis=1, keepdims=True))


def _drawn(kind: str, worth: Floats, rng: np.random.Generator, groups: int) -> Floats:
    """Rewards with these means."""
    if kind in ("0/1", "seldom 1"):
        return (rng.random(worth.shape) < worth).astype(np.float64)
    if kind == "in groups":
        return worth + np.repeat(rng.normal(size=len(worth) // groups), groups) / 2
    if kind.startswith("Pareto"):
        exponent = 1.5 if kind.endswith("1.5") else 2.5
        return worth * rng.pareto(exponent, worth.shape) * (exponent - 1)
    if kind == "lognormal":
        return worth * np.exp(1.5 * rng.normal(size=worth.shape) - 1.125)
    return worth + (rng.normal(size=worth.shape) if kind == "normal" else rng.standard_t(2.5, worth.shape)) / 2


def _means(shown: NDArray[np.int64], reward: Floats, K: int) -> Floats:
    """Each action's mean reward so far, drawn to that of all with the weight of two rows."""
    which = np.eye(K)[shown]
    counts, sums = (each.cumsum(axis=0) - each for each in (which, which * reward[:, None]))
    of_all = (reward.cumsum() - reward) / np.maximum(np.arange(len(reward)), 1)
    return np.asarray((sums + 2 * of_all[:, None]) / (counts + 2))


def coverage(seed: int, logs: int, given: tuple[Any, ...]) -> tuple[list[str], list[float]]:
    """A row of the table, and how often each interval holds the truth."""
    setting, rng = Setting.of(seed, *given), np.random.default_rng(1000 + seed)
    all_said = [setting.values(rng) for _ in range(logs)]
    held = [[each.low <= setting.truth <= each.high for each in said] for said in all_said]
    wide = [[each.high - each.low for each in said] for said in all_said]
    shares = dict(zip(ESTIMATORS, np.mean(held, axis=0).tolist(), strict=True))
    of = {each: float(np.nanmedian([row[k] for row in wide])) for k, each in enumerate(ESTIMATORS)}
    ratio = f"{of['dr*'] / of['dr']:.2f}" if of["dr"] > 0 else "–"
    effective = f"{np.median([said[1].effective_n for said in all_said]):,.0f}"
    shown = [f"{shares[each]:.3f}" for each in ESTIMATORS]
    return [*map(str, given), effective, *shown, ratio], list(shares.values())


def report(title: str, logs: int, settings: list[tuple[Any, ...]]) -> None:
    """Print the table of some settings, and the least of each column."""
    heads = ["n", "K", "logger", "policy", "q", "rewards", "effective n", "DR", "DR*", "DR* wider"]
    print(f"\n{title}, {logs} logs each\n\n| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
    rows = []
    for seed, given in enumerate(settings):
        row, shares = coverage(seed, logs, given)
        rows.append(shares)
        print("| " + " | ".join(row) + " |", flush=True)
    least, most = np.min(rows, axis=0), np.max(rows, axis=0)
    ranges = [f"{low:.3f} to {high:.3f}" for low, high in zip(least, most, strict=True)]
    print("| all | | | | | | | " + " | ".join(ranges) + " | |")


#: Settings with few rows in which the log shows what the policy would: name, rows, log, policy, mean rewards.
CLICKS = [
    ("0/1", n, (0.99, 0.01), (0.0, 1.0), pay)
    for n in (50, 100, 200, 400, 1000)
    for pay in ((0.01, 0.5), (0.05, 0.3), (0.5, 0.05), (0.02, 0.02))
] + [("0/1", 500, (0.5, 0.5), (0.0, 1.0), (0.2, 0.4)), ("0/1", 100, (0.99, 0.01), (0.5, 0.5), (0.02, 0.5))]
OTHERS = [
    *(("normal, deviation 0.1 and 2", n, (0.98, 0.02), (0.0, 1.0), (0.0, 1.0)) for n in (100, 300, 1000)),
    *(("amounts of 2 % and 10 %", n, (0.95, 0.05), (0.0, 1.0), (0.6, 6.0)) for n in (200, 1000, 4000)),
    ("a deviation 20 times as large", 100, (0.95, 0.05), (0.0, 1.0), (0.0, 0.0)),
]
GAINS = [
    (200, (0.99, 0.01), (0.0, 1.0), (0.99, 0.01), (0.05, 0.3)),
    (200, (0.99, 0.01), (0.0, 1.0), (1.0, 0.0), (0.01, 0.5)),
    (400, (0.99, 0.01), (0.5, 0.5), (1.0, 0.0), (0.02, 0.5)),
    (500, (0.5, 0.5), (0.0, 1.0), (1.0, 0.0), (0.2, 0.4)),
    (500, (0.8, 0.2), (0.0, 1.0), (0.8, 0.2), (0.02, 0.03)),
]
#: Tasks, rows of each, and the deviation of the tasks' own effects.
TASKS = [(25, 20, 0.5), (50, 10, 0.5), (25, 20, 0.0), (100, 20, 0.2), (12, 100, 0.3)]


def two_actions(
    rng: np.random.Generator, rewards: str, n: int, mu: tuple[float, ...], pay: tuple[float, ...]
) -> tuple[Floats, NDArray[np.int64], Floats]:
    """Rewards, actions shown, and the log's probabilities."""
    shown = (rng.random(n) < mu[1]).astype(np.int64)
    mean, chances = np.array(pay)[shown], np.tile(mu, (n, 1))
    if rewards == "0/1":
        return (rng.random(n) < mean).astype(np.float64), shown, chances
    if rewards.startswith("amounts"):
        some = rng.random(n) < np.array([0.02, 0.1])[shown]
        return some * rng.gamma(2.0, np.array([15.0, 30.0])[shown]), shown, chances
    return mean + np.array([0.1, 2.0])[shown] * rng.normal(size=n), shown, chances


def summary(intervals: list[PolicyValue] | list[PolicyGain], truth: float) -> list[str]:
    """The coverage, the share of unknown intervals, and the median width of the others."""
    holds = np.mean([each.low - 1e-12 <= truth <= each.high + 1e-12 for each in intervals])
    widths = np.array([each.high - each.low for each in intervals])
    known = widths[np.isfinite(widths)]
    return [f"{holds:.3f}", f"{1 - len(known) / len(widths):.2f}", f"{np.median(known):.3g}" if len(known) else "–"]


def print_table(title: str, heads: list[str], rows: list[list[str]]) -> None:
    """Print a table."""
    print(f"\n{title}\n\n| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)


def report_rare(logs: int) -> None:
    """Print the tables of policies that prefer what the log rarely shows, and of new tasks."""
    found = ["coverage", "unknown", "width"]
    rows = []
    for rewards, n, mu, pi, pay in CLICKS + OTHERS:
        rng, policy, zeros = np.random.default_rng(0), np.tile(pi, (n, 1)), np.zeros((n, 2))
        values = [policy_value(*two_actions(rng, rewards, n, mu, pay), policy, zeros) for _ in range(logs)]
        rows.append([rewards, str(n), str(mu), str(pi), str(pay), *summary(values, float(np.dot(pi, pay)))])
    print_table(f"Values, {logs} logs each", ["rewards", "n", "log", "policy", "mean rewards", *found], rows)
    rows = []
    for n, mu, pi, other, pay in GAINS:
        rng, policies, zeros = (
            np.random.default_rng(0),
            [np.tile(each, (n, 1)) for each in (pi, other)],
            np.zeros((n, 2)),
        )
        gains = []
        for _ in range(logs):
            log = two_actions(rng, "0/1", n, mu, pay)
            gains.append(policy_gain(*log, policies[0], zeros, policies[1]))
        rows.append(
            [str(n), *map(str, (mu, pi, other, pay)), *summary(gains, float(np.dot(np.subtract(pi, other), pay)))]
        )
    print_table(f"Gains, {logs} logs each", ["n", "log", "policy", "over", "mean rewards", *found], rows)
    rows = []
    for tasks, count, deviation in TASKS:
        rng, task, n = np.random.default_rng(0), np.repeat(np.arange(tasks), count), tasks * count
        halves, second = np.full((n, 2), 0.5), np.tile([0.0, 1.0], (n, 1))
        for cluster in (None, task.tolist()):
            values = []
            for _ in range(logs):
                shown = rng.integers(2, size=n)
                reward = 0.5 + 0.1 * shown + deviation * rng.normal(size=tasks)[task] + 0.5 * rng.normal(size=n)
                values.append(policy_value(reward, shown, halves, second, halves, cluster=cluster))
            chosen = "for new tasks" if cluster else "default"
            rows.append([str(tasks), str(count), str(deviation), chosen, *summary(values, 0.6)])
    print_table(
        f"New tasks, {logs} logs each", ["tasks", "rows of each", "deviation of tasks", "interval", *found], rows
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="20 logs of each setting instead of 1,000")
    parser.add_argument("--rare", action="store_true", help="the tables of rare actions, gains and new tasks only")
    args = parser.parse_args()
    logs = 20 if args.quick else 1000
    report_rare(logs)
    if args.rare:
        raise SystemExit
    report("Settings without long tails", logs, PLAIN)
    report("Rewards with long tails", logs, HEAVY)
    report("Where intervals are too narrow, or might be", logs, BEYOND)
