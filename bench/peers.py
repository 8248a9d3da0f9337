"""The default beside what else one would take: error, log loss, AUC, calibration error and CPU a record, and error by how
many records of a task were seen before.

    python -m bench.peers [set ...] [--shuffles 1] [--write docs/appendix/peers.md]

One pass, every prediction made before its label; all records are shuffled but those of flights, which come as they
departed. Models that are refitted are fitted to all records so far after each twentieth of the stream and tell the share of
positive labels so far before the first time; trees and target encoding have the task as a category. Vowpal Wabbit's best has the
fewest mistakes of its twelve settings on the set itself, afterwards. The data sets lie in the folder that COTERIE_DATA names;
flights come with the package.
"""

from __future__ import annotations

import argparse
import importlib.util
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack, issparse
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import TargetEncoder

import coterie as ct
from bench import tabular, vowpal

Floats = NDArray[np.float64]
BINS = 15
Learner = Callable[[Any, Floats, NDArray[np.int64]], Floats]

SETS = (*tabular.SETS, "amazon4", "acl4", "newsgroups_pairs")
#: Features beyond which trees, which want a table, are left out.
WIDE = 1000
#: The fewest records of its task that were seen before, for each point of a learning curve.
SEEN = (0, 1, 2, 4, 8, 16, 32, 64, 128)

DEFAULT, ENSEMBLE = "adaptive sharing", "adaptive sharing, ensemble"
ALONE, POOLED = "logistic, one model per task", "logistic, one model"
TREES, BOOSTING = "LightGBM, refitted", "HistGradientBoosting, refitted"
VW_DEFAULT, VW_BEST = "Vowpal Wabbit, default, crossed", "Vowpal Wabbit, best of 12 in hindsight"
CURVES = (DEFAULT, ALONE, POOLED)

PAGE = """# Comparison with other tools

Written by `python -m bench.peers`. One pass, every prediction made before its label; {shuffles}. Each learner has one
setting for all sets. Only Vowpal Wabbit's best of twelve settings is chosen for each set afterwards. "Adaptive sharing" is
the default of coterie, "refitted" learners learn all records so far again after each twentieth of the stream, and trees are
left out if there are more than {wide} features. The calibration error is the mean distance between predicted probabilities
and the share of positive labels, over fifteen bins. CPU is in µs per record, with predictions and refitting, without
compilation.

{sets}

## Relative to the default

The table has the error, log loss and CPU time of each learner, divided by that of the default, adaptive sharing: geometric
means over the sets that the learner was measured on. Above one the default is ahead. The last column lists the sets on which
the learner makes fewer mistakes than the default.

{ratios}

## By the number of records of the task seen before

Error in %, as mean over all sets that have such records.

{curves}
"""


class Predictions(NamedTuple):
    """What a learner told: error in %, log loss, AUC, calibration error, CPU in µs a record, and error by records seen."""

    error: float
    loss: float
    auc: float
    calibration: float
    cpu: float
    curve: Floats


# -- learners ----------------------------------------------------------------------------------------------------------


def calibration_error(p: Floats, positive: NDArray[np.bool_]) -> float:
    """How far probabilities are from shares, by bins."""
    bins = np.minimum((p * BINS).astype(int), BINS - 1)
    predicted, true = (np.bincount(bins, weights, BINS) for weights in (p, positive))
    return float(np.abs(predicted - true).sum() / len(p))


def _log_odds(p: Any) -> Any:
    p = np.clip(p, 1e-6, 1 - 1e-6)
    return np.log(p) - np.log1p(-p)


def constant(X: Any, y: Floats, task: NDArray[np.int64]) -> Floats:
    """The log-odds of the share of positive labels so far."""
    before = np.arange(len(y))
    return np.asarray(_log_odds((np.cumsum(y > 0) - (y > 0) + 0.5) / (before + 1)))


def rate_of_task(X: Any, y: Floats, task: NDArray[np.int64]) -> Floats:
    """The log-odds of the share of positive labels of the task so far, drawn to that of all by ten records."""
    pooled = 1 / (1 + np.exp(-constant(X, y, task)))
    positive, seen = np.zeros(task.max() + 1), np.zeros(task.max() + 1)
    told = np.empty(len(y))
    for t, i in enumerate(task):
        told[t] = (positive[i] + 10 * pooled[t]) / (seen[i] + 10)
        positive[i] += y[t] > 0
        seen[i] += 1
    return np.asarray(_log_odds(told))


def ours(make: Callable[[], Any]) -> Learner:
    """The log-odds that an estimator tells."""
    return lambda X, y, task: np.asarray(ct.progressive_validation(make(), X, y, task=task).margin)


def refitted(fit: Callable[[Any, Any, Any], Callable[[Any, Any], Any]]) -> Learner:
    """The log-odds of what is fitted anew after each twentieth of the stream; ``fit`` returns what tells probabilities."""

    def told(X: Any, y: Floats, task: NDArray[np.int64]) -> Floats:
        found = constant(X, y, task)
        for first, end in list(pairwise(np.linspace(0, len(y), tabular.NIGHTS + 1).astype(int)))[1:]:
            if len(np.unique(y[:first])) == 2:
                found[first:end] = _log_odds(fit(X[:first], y[:first], task[:first])(X[first:end], task[first:end]))
        return found

    return told


def _boosted(X: Any, y: Any, task: Any) -> Callable[[Any, Any], Any]:
    categories = {i: n for n, i in enumerate(np.unique(task)[:254])}

    def columns(X: Any, task: Any) -> Any:
        dense = X.toarray() if issparse(X) else X
        return np.column_stack([dense, [categories.get(i, np.nan) for i in task.tolist()]])

    key = np.arange(X.shape[1] + 1) == X.shape[1]
    model = HistGradientBoostingClassifier(categorical_features=key, random_state=0).fit(columns(X, task), y)
    return lambda X, task: model.predict_proba(columns(X, task))[:, 1]


def _encoded(X: Any, y: Any, task: Any) -> Callable[[Any, Any], Any]:
    encoder = TargetEncoder(target_type="binary", random_state=0)

    def beside(X: Any, rates: Any) -> Any:
        return hstack([csr_array(X), csr_array(rates)], format="csr")

    rates = encoder.fit_transform(task[:, None], y)
    model = LogisticRegression(max_iter=1000).fit(beside(X, rates), y)
    return lambda X, task: model.predict_proba(beside(X, encoder.transform(task[:, None])))[:, 1]


def river(X: Any, y: Floats, task: NDArray[np.int64]) -> Floats:
    """River's logistic regression with its defaults, a model a task."""
    from river import linear_model

    models: dict[int, Any] = defaultdict(linear_model.LogisticRegression)
    rows, told = csr_array(X), np.empty(len(y))
    for t, i in enumerate(task.tolist()):
        some = slice(rows.indptr[t], rows.indptr[t + 1])
        record = dict(zip(rows.indices[some].tolist(), rows.data[some].tolist(), strict=True))
        told[t] = models[i].predict_proba_one(record)[True]
        models[i].learn_one(record, bool(y[t] > 0))
    return np.asarray(_log_odds(told))


LEARNERS: dict[str, Learner] = {
    "the share of positive labels so far": constant,
    "that of the task, shrunk towards it": rate_of_task,
    DEFAULT: ours(ct.AdaptiveSharingClassifier),
    ENSEMBLE: ours(lambda: ct.AdaptiveSharingClassifier("ensemble")),
    ALONE: ours(lambda: ct.MultitaskLogistic(ct.Independent())),
    POOLED: ours(lambda: ct.MultitaskLogistic(ct.Pooled())),
    "River, one LogisticRegression per task": river,
    TREES: tabular.nightly,
    BOOSTING: refitted(_boosted),
    "logistic with target-encoded task, refitted": refitted(_encoded),
}
NARROW = (TREES, BOOSTING)


# -- measuring ---------------------------------------------------------------------------------------------------------


def judge(margin: Floats, y: Floats, task: NDArray[np.int64], seconds: float) -> Predictions:
    """Say how good log-odds were."""
    wrong = (margin >= 0) != (y > 0)
    p = 1 / (1 + np.exp(-np.clip(margin, -700, 700)))
    seen, counts = np.empty(len(y), int), np.zeros(task.max() + 1, int)
    for t, i in enumerate(task):
        seen[t] = counts[i]
        counts[i] += 1
    bins = np.searchsorted(SEEN, seen, side="right") - 1
    totals = np.bincount(bins, minlength=len(SEEN))
    with np.errstate(invalid="ignore"):
        curve = 100 * np.bincount(bins, wrong, len(SEEN)) / totals
    return Predictions(
        100 * float(wrong.mean()),
        vowpal.log_loss(margin, y),
        float(roc_auc_score(y > 0, margin)),
        calibration_error(p, y > 0),
        1e6 * seconds / len(y),
        curve,
    )


def measure(name: str, seed: int) -> dict[str, Predictions]:
    """What every learner told of one shuffle of a set; each of ours sees some records before, so that it is compiled."""
    X, y, task = tabular.load(name, seed)
    found = {}
    for learner, tell in LEARNERS.items():
        if learner in NARROW and X.shape[1] > WIDE:
            continue
        if learner == TREES and importlib.util.find_spec("lightgbm") is None:
            continue
        tell(X[:700], y[:700], task[:700])
        before = time.process_time()
        margin = tell(X, y, task)
        found[learner] = judge(margin, y, task, time.process_time() - before)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "records.vw"
        vowpal.write(X, y, task, path)
        vowpal.learn(path, vowpal.DEFAULT)  # makes the cache
        theirs = {each: vowpal.learn(path, each) for each in vowpal.SETTINGS}
    judged = {each: judge(told.margin, y, task, told.seconds) for each, told in theirs.items()}
    found[VW_DEFAULT] = judged[vowpal.DEFAULT]
    found[VW_BEST] = min(judged.values(), key=lambda told: told.error)
    return found


def mean(told: list[Predictions]) -> Predictions:
    """The mean over shuffles."""
    return Predictions(*(np.mean([each[k] for each in told], axis=0) for k in range(len(Predictions._fields))))


# -- the page ----------------------------------------------------------------------------------------------------------

Table = dict[str, dict[str, Predictions]]  # by set and learner


def _names(table: Table) -> list[str]:
    return [name for name in (*LEARNERS, VW_DEFAULT, VW_BEST) if any(name in told for told in table.values())]


def _set_rows(name: str, told: dict[str, Predictions]) -> Iterator[str]:
    yield f"## {name}\n"
    yield "| | error, % | log loss | AUC | calibration error | CPU, µs |"
    yield "|---|---|---|---|---|---|"
    for learner in _names({name: told}):
        t = told[learner]
        yield f"| {learner} | {t.error:.2f} | {t.loss:.4f} | {t.auc:.4f} | {t.calibration:.4f} | {t.cpu:.1f} |"
    yield ""


def _ratio_rows(table: Table) -> Iterator[str]:
    yield "| | error | log loss | CPU | sets | fewer mistakes than the default on |"
    yield "|---|---|---|---|---|---|"
    for learner in _names(table):
        if learner == DEFAULT:
            continue
        on = {name: (told[learner], told[DEFAULT]) for name, told in table.items() if learner in told}
        means = [np.exp(np.mean([np.log(his[k] / own[k]) for his, own in on.values()])) for k in (0, 1, 4)]
        ahead = [
            f"{name} ({his.error / own.error - 1:.1%})" for name, (his, own) in on.items() if his.error < own.error
        ]
        yield f"| {learner} | {' | '.join(f'{each:.3f}' for each in means)} | {len(on)} | {', '.join(ahead) or 'none'} |"


def _curve_rows(table: Table) -> Iterator[str]:
    ends = [str(first) if last == first + 1 else f"{first} to {last - 1}" for first, last in pairwise(SEEN)]
    yield "| | " + " | ".join([*ends, f"{SEEN[-1]} and more"]) + " |"
    yield "|---" * (len(SEEN) + 1) + "|"
    for learner in CURVES:
        cells = np.nanmean([told[learner].curve for told in table.values()], axis=0)
        yield f"| {learner} | " + " | ".join(f"{each:.1f}" for each in cells) + " |"


def page(table: Table, shuffles: int) -> str:
    """The page: a table a set, what the others have over the default, and curves."""
    sets = "\n".join(line for name, told in table.items() for line in _set_rows(name, told)).strip()
    often = "one shuffle" if shuffles == 1 else f"means over {shuffles} shuffles"
    ratios, curves = "\n".join(_ratio_rows(table)), "\n".join(_curve_rows(table))
    return PAGE.format(shuffles=often, wide=WIDE, sets=sets, ratios=ratios, curves=curves)


def main() -> None:
    """Measure, print, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--shuffles", type=int, default=1)
    parser.add_argument("--write", type=Path)
    asked = parser.parse_args()
    table = {}
    for name in asked.sets or SETS:
        each = [measure(name, seed) for seed in range(asked.shuffles)]
        table[name] = {learner: mean([told[learner] for told in each]) for learner in each[0]}
        print("\n".join(_set_rows(name, table[name])), flush=True)
    text = page(table, asked.shuffles)
    if asked.write:
        asked.write.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
