"""The catalogue of papers and their items by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from coterie.datasets import folder

from . import cc12, ccg08, for09, ros11, srdv11
from .results import Item


@dataclass(frozen=True)
class Paper:
    """A paper and its items."""

    name: str
    title: str
    items: Sequence[Item]


PAPERS = {
    paper.name: paper
    for paper in (
        Paper("ccg08", "Cavallanti et al. 2008, Linear Algorithms for Online Multitask Classification", ccg08.ITEMS),
        Paper("cc12", "Cavallanti et al. 2012, Memory Constraint Online Multitask Classification", cc12.ITEMS),
        Paper("srdv11", "Saha et al. 2011, Online Learning of Multiple Tasks and Their Relationships", srdv11.ITEMS),
        Paper("for09", "Fornoni 2009, Multi-View Learning", for09.ITEMS),
        Paper("ros11", "Rosasco et al. 2011, Regularization Methods for Multi-Output Learning", ros11.ITEMS),
    )
}


def find(wanted: str) -> list[tuple[Paper, Item]]:
    """Return the items that ``PAPER`` or ``PAPER/ITEM`` names, in small letters or large.

    Raises
    ------
    ValueError
        If there is no such paper or item; the message names those there are.

    Examples
    --------
    >>> [item.name for _, item in find("cc12")]
    ['table1', 'theorem1', 'theorem2', 'shifting-forgetron', 'proposition3.1']
    >>> [item.name for _, item in find("CC12/Table1")]
    ['table1']
    >>> find("cc12/table7")
    Traceback (most recent call last):
    coterie.inputs.errors.FieldError: the item of cc12 is 'table7'; expected one of table1, ...
    """
    from coterie.jobs.choosing import require_one_of

    name, slash, item = wanted.lower().partition("/")
    require_one_of("the paper", name, tuple(PAPERS))
    paper = PAPERS[name]
    if not slash:
        return [(paper, each) for each in paper.items]
    known = {named: each for each in paper.items for named in (each.name, *each.also)}
    require_one_of(f"the item of {name}", item, tuple(known))
    return [(paper, known[item])]


def everything() -> Iterator[tuple[Paper, Item]]:
    """Yield every item of every paper."""
    yield from ((paper, item) for paper in PAPERS.values() for item in paper.items)


def require_data(item: Item) -> None:
    """Refuse an item whose data sets are not all here.

    Raises
    ------
    InputError
        The message says how to get the first that is missing.
    """
    for entry in item.needs:
        if not folder.is_here(entry):
            raise folder.missing(entry)
