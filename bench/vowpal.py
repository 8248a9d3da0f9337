"""Vowpal Wabbit beside us: the same records in its text format, one pass, its predictions before each label."""

from __future__ import annotations

import math
import resource
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from coterie.data.block import Block

#: What a user would try: two losses, with tasks ignored or crossed with every feature, three rates (0.5 is its default).
SETTINGS = [
    (loss, form, rate) for loss in ("logistic", "hinge") for form in ("crossed", "pooled") for rate in (0.5, 0.2, 1.5)
]
DEFAULT = ("logistic", "crossed", 0.5)
Setting = tuple[str, str, float]


@dataclass(frozen=True)
class Outcome:
    """What one setting did on one stream."""

    margin: NDArray[np.float64]
    seconds: float  # CPU


_folder = tempfile.TemporaryDirectory()


def file_of(block: Block) -> Path:
    """A block, which must live on, as a file, which stays until the end for every script that wants it."""
    path = Path(_folder.name) / f"{id(block)}.vw"
    if not path.exists():
        write(block.X, block.y, block.task, path)
    return path


def write(X: Any, y: Any, task: Any, path: Path) -> None:
    """The records as lines ``label |t task |x feature:value ...``."""
    X = csr_array(X)
    X.eliminate_zeros()
    names = {label: n for n, label in enumerate(dict.fromkeys(np.asarray(task).tolist()))}
    with path.open("w") as file:
        for first in range(0, X.shape[0], 1000):
            last = min(first + 1000, X.shape[0])
            file.writelines(
                _lines(X, y, [names[label] for label in np.asarray(task)[first:last].tolist()], first, last)
            )


def _lines(X: csr_array, y: Any, task: list[int], first: int, last: int) -> Iterable[str]:
    starts = X.indptr[first : last + 1] - X.indptr[first]
    entries = slice(X.indptr[first], X.indptr[last])
    words = list(map("%d:%.6g".__mod__, zip(X.indices[entries].tolist(), X.data[entries].tolist(), strict=True)))
    for t, label in enumerate(np.asarray(y)[first:last].tolist()):
        yield f"{'1' if label > 0 else '-1'} |t k{task[t]} |x {' '.join(words[starts[t] : starts[t + 1]])}\n"


def learn(path: Path, setting: Setting, bits: int = 22, cache: bool = True) -> Outcome:
    """One pass over a file, with the prediction of each record and the CPU seconds."""
    told = path.with_suffix(".predictions")
    before = _cpu()
    run(path, setting, bits, cache, f"-p {told}")
    seconds = _cpu() - before
    return Outcome(np.loadtxt(told), seconds)


def run(path: Path, setting: Setting, bits: int = 22, cache: bool = True, more: str = "") -> None:
    """One pass over a file, read from Vowpal Wabbit's binary cache, which the first call makes."""
    from vowpalwabbit import Workspace

    Workspace(f"{arguments(path, setting, bits, cache)} {more}").finish()


def arguments(path: Path, setting: Setting, bits: int = 22, cache: bool = True) -> str:
    """Vowpal Wabbit's command line; holdout is for several passes, and all settings can read the same cache."""
    loss, form, rate = setting
    given = f"-d {path} --quiet -b {bits} --loss_function {loss} -l {rate}"
    given += " -q tx" if form == "crossed" else " --ignore t"
    return given + (f" --cache_file {path.with_suffix('.cache')}" if cache else "")


def _cpu() -> float:
    """CPU time of this process, all threads."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def error(margin: NDArray[np.float64], y: Any) -> float:
    """Wrong labels a record, a zero margin predicting +1."""
    return float(np.mean((margin >= 0) != (np.asarray(y) > 0)))


def log_loss(log_odds: NDArray[np.float64], y: Any) -> float:
    """Mean of ln(1 + exp(-y · log-odds)), a probability taken to be at least 1e-12 away from 0 and 1."""
    return float(np.mean(np.logaddexp(0.0, -np.clip(np.asarray(y) * log_odds, math.log(1e-12), None))))
