"""Items of a paper and the results of rerunning them: tables beside the paper's numbers, claims, curves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from .claims import Claim, Floats
from .data.dataset import Entry


@dataclass(frozen=True)
class Cell:
    """One number: ours, its deviation over the runs, and the paper's if it is printed; or only the paper's."""

    what: str
    of: str
    ours: float | None
    deviation: float | None = None
    printed: float | None = None
    form: str = ".1f"
    printed_deviation: float | None = None

    @property
    def shown(self) -> str:
        """Our number with its deviation, and the paper's in parentheses.

        Examples
        --------
        >>> Cell("mtrbp", "C(25%)", 41.84, 0.71, 40.4).shown
        '41.8±0.7 (40.4)'
        >>> Cell("IPL", "Spam", None, printed=91.02, form=".2f", printed_deviation=0.77).shown
        '(91.02±0.77)'
        """
        parts = (self._number(self.ours, self.deviation), self._number(self.printed, self.printed_deviation))
        return " ".join(filter(None, (parts[0], parts[1] and f"({parts[1]})")))

    def _number(self, value: float | None, deviation: float | None) -> str:
        spread = "" if deviation is None else f"±{deviation:{self.form}}"
        return "" if value is None else f"{value:{self.form}}{spread}"


@dataclass(frozen=True)
class CellTable:
    """Cells by row and column."""

    title: str
    cells: Sequence[Cell]

    def rows(self) -> tuple[list[str], list[list[str]]]:
        """The heads, and the cells of each row as text, empty where there is none.

        Examples
        --------
        >>> CellTable("F in %", [Cell("a", "x", 1.0), Cell("a", "y", 2.0), Cell("b", "y", 3.0)]).rows()
        (['F in %', 'x', 'y'], [['a', '1.0', '2.0'], ['b', '', '3.0']])
        """
        columns = list(dict.fromkeys(cell.of for cell in self.cells))
        held = {(cell.what, cell.of): cell.shown for cell in self.cells}
        whats = dict.fromkeys(cell.what for cell in self.cells)
        return [self.title, *columns], [[what, *(held.get((what, of), "") for of in columns)] for what in whats]


@dataclass(frozen=True)
class Picture:
    """Curves over one axis: the values of each name, with deviations if there were several runs."""

    title: str
    across: str
    up: str
    x: Sequence[float]
    curves: dict[str, tuple[Floats, Floats | None]]


@dataclass(frozen=True)
class Result:
    """The tables, claims, pictures and notes of an item."""

    tables: Sequence[CellTable]
    claims: Sequence[Claim] = ()
    pictures: Sequence[Picture] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Rerun:
    """Settings for rerunning an item.

    Attributes
    ----------
    shuffles : int
        The number of runs, with the seeds 0, 1, ...
    quick : bool
        True for few records and settings: a test that the item runs, not of its claims.
    """

    shuffles: int
    quick: bool = False

    @property
    def seeds(self) -> range:
        """The seeds of the shuffles."""
        return range(self.shuffles)


@dataclass(frozen=True)
class Item:
    """A table, a figure or a theorem of a paper.

    Attributes
    ----------
    name, what : str
        The name on the command line, and one line on what the item shows.
    make : callable
        A function from a :class:`Rerun` to the :class:`Result`.
    shuffles, quick_shuffles : int
        The default numbers of runs.
    takes : str
        The time that takes, about.
    needs : sequence of Entry
        The data sets that are read.
    also : sequence of str
        Other names, of figures that are shown together.
    """

    name: str
    what: str
    make: Callable[[Rerun], Result]
    shuffles: int
    takes: str
    needs: Sequence[Entry] = ()
    also: Sequence[str] = ()
    quick_shuffles: int = 2

    def run(self, run: Rerun) -> Result:
        """Rerun the item; with few records its claims on means are not tested."""
        found = self.make(run)
        claims = [replace(claim, runs=claim.runs or run.shuffles) for claim in found.claims]
        return replace(found, claims=[claim.quick() for claim in claims] if run.quick else claims)


def cell(
    what: str,
    of: str,
    values: ArrayLike,
    printed: float | None = None,
    digits: int = 1,
    printed_deviation: float | None = None,
) -> Cell:
    """Make a cell of the mean of some runs and their deviation.

    Examples
    --------
    >>> cell("IPL", "accuracy, %", [74.0, 76.0], 75.2).shown
    '75.0±1.0 (75.2)'
    """
    held = np.asarray(values, np.float64)
    deviation = float(held.std()) if held.size > 1 else None
    return Cell(what, of, float(held.mean()), deviation, printed, f".{digits}f", printed_deviation)


def printed_only(what: str, of: str, printed: float, deviation: float | None = None, digits: int = 1) -> Cell:
    """Make a cell of what the paper prints where we have nothing to set beside it.

    Examples
    --------
    >>> printed_only("IPL", "mistakes", 348.0, digits=0).shown
    '(348)'
    """
    return Cell(what, of, None, None, printed, f".{digits}f", deviation)
