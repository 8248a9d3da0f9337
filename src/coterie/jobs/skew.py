"""Skewed columns: whether their logarithms would be learned better is tried on the first records.

Skewness does not tell: logarithms win on some columns that are skewed and lose on others. So the learner goes along the
first 3,000 records once more for each of the most skewed columns, with its logarithm; what it learns is thrown away.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from coterie.evaluation.costs import loss_words, losses
from coterie.evaluation.progressive import progressive_validation
from coterie.inputs.hints import Hint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coterie.io.readers import Reader

#: The fewest records, the most columns, the most seconds of computing, and the ratio of losses from which it pays.
FEWEST, COLUMNS, SECONDS, PAYS = 300, 5, 2.0, 0.99


def skew_hints(reader: Reader, make: Callable[[], Any]) -> list[Hint]:
    """The hints of a reader that is over, by models that ``make`` makes: of log loss, of numbers of squared error.

    No hint where there are fewer than 300 records, and none more after two seconds.
    """
    n = sum(len(block) for block in reader.first_records())
    columns = reader.skewed[:COLUMNS] if n >= FEWEST else []
    if not columns:
        return []
    end = time.thread_time() + SECONDS
    found, (before, what) = [], _loss(reader, make(), [])
    for name in columns:
        if time.thread_time() > end:
            break
        after, _ = _loss(reader, make(), [name])
        if before > 0.0 and after < PAYS * before:
            less = f"{100 * (1 - after / before):.1f} % less {what}"
            seen = f"skewed numbers: with its logarithm the first {n:,} records have {less}"
            found.append(Hint(name, seen, ("log",)))
    return found


def _loss(reader: Reader, model: Any, log: Sequence[str]) -> tuple[float, str]:
    """The mean loss of a model over the first records, of some columns by their logarithms, and its name."""
    trace = progressive_validation(model, reader.first_records(log))
    loss = losses(trace)
    return float("nan") if loss is None else float(np.nanmean(loss)), loss_words(trace).error
