"""What dates are best turned into: sines and cosines, categories, or the time passed; with the default learner.

    python -m bench.dates [--quick]

*Flights*: those that left New York, a task a destination; the date is put together of the day, which is counted by changes of
the weekday, and the scheduled time. Beside it are the numbers of the weather, and the carrier and the airport. *Made*: visits
of 60 shops over two years, more at two hours of the day, at weekends and in summer, and fewer as years pass; each shop has
habits of its own. Beside the error and the log loss in order of time is the worst log loss of five contiguous folds, learned from
the other four, over that of their base rate.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

import coterie as ct
from coterie.datasets import FLIGHTS

WEATHER = ["distance", "temperature", "humidity", "wind", "precipitation", "pressure", "visibility"]
CYCLES = {"hour": 24.0, "weekday": 7.0, "month": 12.0, "yearday": 365.25}


def parts(when: Any) -> dict[str, Any]:
    """Hour, weekday, month and day of the year, each from 0."""
    return {
        "hour": when.dt.hour,
        "weekday": when.dt.day_of_week,
        "month": when.dt.month - 1,
        "yearday": when.dt.day_of_year - 1,
    }


def forms(when: Any) -> Iterator[tuple[str, pd.DataFrame]]:
    """Names of ways to see a date, and the columns that they make of it."""
    passed, found = (when - when.iloc[0]) / pd.Timedelta("365.25D"), parts(when)
    angles = {name: 2 * np.pi * held / CYCLES[name] for name, held in found.items()}
    waves = {
        f"{f.__name__} {k} {name}": f(k * a) for name, a in angles.items() for k in (1, 2) for f in (np.sin, np.cos)
    }
    once = {name: wave for name, wave in waves.items() if " 1 " in name}
    days = {"when": when, "yearday": "day " + found["yearday"].astype(str)}
    yield "nothing", pd.DataFrame(index=when.index)
    yield "a sine and a cosine each", pd.DataFrame(once)
    yield "two of them each", pd.DataFrame(waves)
    yield "categories, as dates are read", pd.DataFrame({"when": when})
    yield "and the day of the year", pd.DataFrame(days)
    yield "and the time passed", pd.DataFrame({"when": when, "passed": passed})


def flights(every: int) -> tuple[pd.DataFrame, Any, Any]:
    """Records with a date, labels and tasks; of all records one of so many."""
    held = pd.read_parquet(FLIGHTS)
    weekday = held["weekday"].astype(str).to_numpy()
    day = np.r_[0, np.cumsum(weekday[1:] != weekday[:-1])]
    when = pd.Timestamp("2013-01-01") + pd.to_timedelta(1440 * day + (1440 * held["scheduled"]).round(), unit="min")
    X = held[[*WEATHER, "carrier", "origin"]].assign(when=when).iloc[::every].reset_index(drop=True)
    return X, held["late"].to_numpy()[::every], held["dest"].astype(str).to_numpy()[::every]


def made(n: int, tasks: int = 60) -> tuple[pd.DataFrame, Any, Any]:
    """As `flights`, drawn."""
    rng = np.random.default_rng(0)
    seconds = np.sort(rng.random(n)) * 2 * 365.25 * 86400
    when = pd.Series(pd.Timestamp("2022-01-01") + pd.to_timedelta(seconds.round(), unit="s"))
    shop, x, found = rng.integers(tasks, size=n), rng.normal(size=n), parts(when)
    hour = found["hour"].to_numpy()
    logit = 2 * (np.exp(-((hour - 8) ** 2) / 6) + np.exp(-((hour - 18) ** 2) / 8)) + 1.0 * (found["weekday"] >= 5) - 1
    logit += 0.8 * np.cos(2 * np.pi * found["yearday"] / 365.25) - 0.7 * np.arange(n) / n + x
    logit += 0.4 * rng.normal(size=(tasks, 24))[shop, hour] + rng.normal(size=tasks)[shop]
    return pd.DataFrame({"x": x, "when": when}), rng.random(n) < 1 / (1 + np.exp(-logit)), shop


def log_loss(y: Any, p: Any) -> float:
    """The mean log loss of probabilities of the label being true."""
    return float(-np.log(np.clip(np.where(y, p, 1 - p), 1e-12, 1)).mean())


def worst_fold(table: pd.DataFrame, y: Any, task: Any, folds: int = 5) -> float:
    """The worst log loss of contiguous folds, each learned from the others, over that of the others' base rate."""
    ratios = []
    for part in np.array_split(np.arange(len(y)), folds):
        others = np.setdiff1d(np.arange(len(y)), part)
        model = ct.AdaptiveSharingClassifier().fit(table.iloc[others], y[others], task=task[others])
        told = model.predict_proba(table.iloc[part], task=task[part])[:, 1]
        ratios.append(log_loss(y[part], told) / log_loss(y[part], np.full(len(part), y[others].mean())))
    return max(ratios)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="on a tenth of the records")
    less = 10 if parser.parse_args().quick else 1
    X, y, task = flights(4 * less)
    streams = [
        ("flights", X, y, task),
        ("flights, numbers", X[[*WEATHER, "when"]], y, task),
        ("made", *made(40_000 // less)),
    ]
    for name, X, y, task in streams:
        print(f"\n{name}: {len(X):,} records\n{'date':32s} error  log loss  worst fold")
        for form, columns in forms(X["when"]):
            table = pd.concat([X.drop(columns="when"), columns], axis=1)
            trace = ct.progressive_validation(ct.AdaptiveSharingClassifier(), table, y, task=task)
            loss, worst = log_loss(y, trace.probability), worst_fold(table, y, task)
            print(f"{form:32s} {100 * trace.error:5.2f}  {loss:8.4f}  {worst:10.2f}", flush=True)


if __name__ == "__main__":
    main()
