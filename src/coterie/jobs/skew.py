"""Skewed columns and lengths of records: whether a logarithm, or no division, is learned better is tried on the first.

Skewness does not tell: logarithms win on some columns that are skewed and lose on others. So the learner goes along the
first 3,000 records once more for each of the most skewed columns, with its logarithm; what it learns is thrown away.
The length of a record of few numbers tells something, which is lost where records are divided by it, as they are by
default; so no division is tried as well.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from coterie.evaluation.costs import loss_words, losses
from coterie.evaluation.progressive import progressive_validation
from coterie.inputs.hints import Hint

if TYPE_CHECKING:
    from coterie.io.readers import Reader

#: The fewest records, the most columns, the most seconds of computing, and the ratio of losses from which it pays.
FEWEST, COLUMNS, SECONDS, PAYS = 300, 5, 2.0, 0.99
#: That of a scale, which changes all columns.
PAYS_ALL = 0.95


def skew_hints(reader: Reader, make: Callable[[], Any]) -> list[Hint]:
    """The hints of a reader that is over, by models that ``make`` makes: of log loss, of numbers of squared error.

    No hint where there are fewer than 300 records, and none more after two seconds.
    """
    n = sum(len(block) for block in reader.first_records())
    columns = reader.skewed[:COLUMNS] if n >= FEWEST else []
    long = n >= FEWEST and _divides_numbers(reader)
    if not columns and not long:
        return []
    end = time.thread_time() + SECONDS
    found, (before, what) = [], _loss(reader, make())

    def less(pays: float, log: Sequence[str] = (), scale: str | None = None) -> str:
        """By how much the loss is less so, where that pays and there is time to try it."""
        if time.thread_time() > end:
            return ""
        after, _ = _loss(reader, make(), log, scale)
        return f"{100 * (1 - after / before):.1f} % less {what}" if before > 0.0 and after < pays * before else ""

    for name in columns:
        if gain := less(PAYS, [name]):
            seen = f"skewed numbers: with its logarithm the first {n:,} records have {gain}"
            found.append(Hint(name, seen, ("log",)))
    if long and (gain := less(PAYS_ALL, scale="standard")):
        seen = f"{gain} in the first {n:,} records if none is divided by its length"
        found.append(Hint("", seen, ("scale",), "standard"))
    return found


def _divides_numbers(reader: Reader) -> bool:
    """True where records of which some are numbers are divided by their length."""
    encoder: Any = reader.encoder
    return encoder.scale == "auto" and any(kind == "numeric" for _, kind in encoder.columns)


def _loss(reader: Reader, model: Any, log: Sequence[str] = (), scale: str | None = None) -> tuple[float, str]:
    """The mean loss of a model over the first records, of some columns by their logarithms, and its name."""
    trace = progressive_validation(model, reader.first_records(log, scale))
    loss = losses(trace)
    return float("nan") if loss is None else float(np.nanmean(loss)), loss_words(trace).error
