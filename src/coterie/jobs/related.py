"""Small files that tell how tasks are related: groups, parents, edges, a matrix."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from coterie.inputs.errors import InputError
from coterie.persistence import require_local

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: From the text of a task to its label.
Naming = Callable[[str], Any]

Row = tuple[int, list[str]]


def naming_of(tasks: NDArray[Any]) -> Naming:
    """Return the function that makes labels of the text of tasks: whole numbers if all of these tasks are such."""
    return int if tasks.dtype.kind in "iu" or all(type(task) is int for task in tasks) else str


def read_groups(path: str, naming: Naming = str) -> dict[Any, str]:
    """Return the group of each task, from a CSV file of ``task,group``.

    Parameters
    ----------
    path : str
        The file; a first line ``task,group`` is its header.
    naming : callable
        From the text of a task to its label: ``int`` where tasks are whole numbers.

    Raises
    ------
    InputError
        With file and line: no such file, not two columns, a task with two groups.
    """
    return _mapping(path, ("task", "group"), naming, str)


def read_parents(path: str, naming: Naming = str) -> dict[Any, Any]:
    """Return the parent of each node, from a CSV file of ``node,parent``; see `read_groups`.

    The label of a node that is no task stays a string.
    """

    def either(text: str) -> Any:
        try:
            return naming(text)
        except ValueError:
            return text

    return _mapping(path, ("node", "parent"), either, either)


def read_edges(path: str, naming: Naming = str) -> list[tuple[Any, ...]]:
    """Return the edges of a graph, from a CSV file of ``task,task`` or ``task,task,weight``; see `read_groups`."""
    edges = [_edge(path, line, cells, naming) for line, cells in _rows(path, (("task", "task"), _WEIGHTED))]
    if not edges:
        raise InputError("has no edge: expected lines task,task or task,task,weight", path)
    return edges


def read_matrix(path: str, naming: Naming = str) -> tuple[NDArray[np.float64], list[Any]]:
    """Return an interaction matrix and the tasks of its rows, from a CSV file with a header of task names.

    Raises
    ------
    InputError
        With file and line: a row of another length than the header's, an entry that is no number, too few rows.
    """
    rows = list(_rows(path, ()))
    if not rows:
        raise InputError("is empty: expected a header of task names and a row of numbers for each", path)
    tasks = [_named(path, rows[0][0], name, naming) for name in rows[0][1]]
    matrix = [
        [_number(path, line, cell) for cell in _exactly(path, line, cells, len(tasks))] for line, cells in rows[1:]
    ]
    if len(matrix) != len(tasks):
        raise InputError(f"names {len(tasks)} tasks and has {len(matrix)} rows: expected a square matrix", path)
    return np.array(matrix), tasks


def is_separator(path: object) -> bool:
    """Tell whether it is no path, but the character that separates levels in the names of tasks."""
    return isinstance(path, str) and len(path) == 1


def read_related(form: str, path: str, field: str, naming: Naming) -> dict[str, Any]:
    """Return the values of fields that a file holds, of the form that the setting of ``field`` names."""
    if form == "matrix":
        matrix, tasks = read_matrix(path, naming)
        return {field: matrix, "tasks": tasks}
    if form == "parents":
        return {field: path if is_separator(path) else read_parents(path, naming)}
    return {field: (read_groups if form == "groups" else read_edges)(path, naming)}


_WEIGHTED = ("task", "task", "weight")


def _mapping(path: str, names: tuple[str, str], naming: Naming, value: Naming) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for line, cells in _rows(path, (names,)):
        key, held = _exactly(path, line, cells, 2)
        node = _named(path, line, key, naming)
        if node in found:
            raise InputError(f"{names[0]} {key!r} has a {names[1]} already, {found[node]!r}", path, line)
        found[node] = _named(path, line, held, value)
    if not found:
        raise InputError(f"has no {names[0]}: expected lines {','.join(names)}", path)
    return found


def _edge(path: str, line: int, cells: list[str], naming: Naming) -> tuple[Any, ...]:
    if len(cells) not in (2, 3):
        raise InputError(
            f"has {len(cells)} field{'s' * (len(cells) != 1)}: expected task,task or task,task,weight", path, line
        )
    ends = tuple(_named(path, line, cell, naming) for cell in cells[:2])
    return ends if len(cells) == 2 else (*ends, _number(path, line, cells[2]))


def _rows(path: str, headers: tuple[tuple[str, ...], ...]) -> Iterator[Row]:
    """Lines of a CSV file that are not blank, with their numbers, without a header of those known."""
    require_local(path)
    from coterie.io.formats.csv import sniff_delimiter

    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            first = file.readline()
            delimiter = "," if "," in first else sniff_delimiter(first.encode())
            reader = csv.reader(chain([first], file), delimiter=delimiter)
            for cells in reader:
                stripped = [cell.strip() for cell in cells]
                header = reader.line_num == 1 and tuple(map(str.lower, stripped)) in headers
                if any(stripped) and not header:
                    yield reader.line_num, stripped
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8 text ({error.reason})", path) from None
    except (OSError, csv.Error) as error:
        raise InputError(getattr(error, "strerror", None) or str(error), path) from None


def _exactly(path: str, line: int, cells: list[str], n: int) -> list[str]:
    if len(cells) != n:
        raise InputError(f"has {len(cells)} field{'s' * (len(cells) != 1)}: expected {n}", path, line)
    return cells


def _named(path: str, line: int, text: str, naming: Naming) -> Any:
    try:
        return naming(text)
    except ValueError:
        raise InputError(f"{text!r} is no whole number, and the tasks of the records are", path, line) from None


def _number(path: str, line: int, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{text!r} is not a number", path, line) from None
