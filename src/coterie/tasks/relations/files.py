"""CSV files that describe a relation: groups, parents, edges, or a matrix."""

from __future__ import annotations

import csv
from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Self

import numpy as np

from coterie.types import Json, TaskType
from coterie.wording import counted

Line = tuple[int, list[str]]
_WEIGHTED = ("task", "task", "weight")


class ReadFromFile:
    """Base class of relations that can be read from a CSV file."""

    _read_fields: staticmethod[[str | Path, TaskType | None], Json]

    @classmethod
    def read(cls, path: str | Path, task_type: TaskType | None = None, **fields: Any) -> Self:
        """Read the relation from a CSV file, which may have a header.

        Parameters
        ----------
        path : str or Path
            The file. The lines of `Clusters` are ``task,group``, those of `Hierarchy` ``node,parent``, those of
            `TaskGraph` ``task,task`` or ``task,task,weight``; `Interaction` has a header of tasks, and a line of
            numbers for each of them.
        task_type : {int, str}, optional
            The type of tasks; inferred if not given: `int` if all are whole numbers.
        **fields
            Other parameters of the class.

        Raises
        ------
        ValueError
            If a line has another form, with file and line.
        OSError
            If the file cannot be read.
        """
        create: Callable[..., Self] = cls
        return create(**cls._read_fields(path, task_type), **fields)


def read_groups(path: str | Path, task_type: TaskType | None = None) -> Json:
    """Read the group of each task from a CSV file with lines ``task,group``, and an optional header.

    Raises
    ------
    ValueError
        With file and line: not two columns, or a task with two groups.
    OSError
        If the file cannot be read.
    """
    lines = list(_lines(path, (("task", "group"),)))
    task_type = task_type or _inferred(cells[0] for _, cells in lines)
    return {"groups": _mapping(path, lines, ("task", "group"), task_type, str)}


def read_parents(path: str | Path, task_type: TaskType | None = None) -> Json:
    """Read the parent of each node from a CSV file with lines ``node,parent``; labels of inner nodes stay text."""

    def label(text: str) -> Hashable:
        try:
            return (task_type or _inferred([text]))(text)
        except ValueError:
            return text

    return {"parents": _mapping(path, list(_lines(path, (("node", "parent"),))), ("node", "parent"), label, label)}


def read_edges(path: str | Path, task_type: TaskType | None = None) -> Json:
    """Read the edges of a graph from a CSV file with lines ``task,task`` or ``task,task,weight``; see `read_groups`."""
    lines = list(_lines(path, (("task", "task"), _WEIGHTED)))
    for line, cells in lines:
        if len(cells) not in (2, 3):
            raise ValueError(f"{path}:{line}: {counted(len(cells), 'field')}; expected task,task or task,task,weight")
    if not lines:
        raise ValueError(f"{path}: no edges found; expected lines task,task or task,task,weight")
    task_type = task_type or _inferred(cell for _, cells in lines for cell in cells[:2])
    edges = []
    for line, (*ends, weight) in ((line, [*cells, ""][:3]) for line, cells in lines):
        labels = tuple(_label(path, line, end, task_type) for end in ends)
        edges.append((*labels, _number(path, line, weight)) if weight else labels)
    return {"edges": edges}


def read_matrix(path: str | Path, task_type: TaskType | None = None) -> Json:
    """Read a square matrix and the task of each row from a CSV file: a header of tasks, then one row per line.

    Raises
    ------
    ValueError
        With file and line: a line of another length than the header, an entry that is not a number, too few lines.
    """
    lines = list(_lines(path, ()))
    if not lines:
        raise ValueError(f"{path}: file is empty; expected a header of tasks and one line of numbers for each")
    (first, names), *rows = lines
    task_type = task_type or _inferred(names)
    tasks = [_label(path, first, name, task_type) for name in names]
    for line, cells in rows:
        _require_fields(path, line, cells, len(tasks))
    if len(rows) != len(tasks):
        raise ValueError(f"{path}: {len(tasks)} tasks and {len(rows)} rows; expected a square matrix")
    return {"matrix": np.array([[_number(path, line, cell) for cell in cells] for line, cells in rows]), "tasks": tasks}


def _mapping(
    path: str | Path, lines: list[Line], columns: tuple[str, str], key_type: TaskType, value_type: TaskType
) -> dict[Hashable, Hashable]:
    mapping: dict[Hashable, Hashable] = {}
    for line, cells in lines:
        _require_fields(path, line, cells, 2)
        key = _label(path, line, cells[0], key_type)
        if key in mapping:
            raise ValueError(f"{path}:{line}: {columns[0]} {cells[0]!r} has the {columns[1]} {mapping[key]!r} already")
        mapping[key] = value_type(cells[1])
    if not mapping:
        raise ValueError(f"{path}: no {columns[0]} found; expected lines {','.join(columns)}")
    return mapping


def _lines(path: str | Path, headers: tuple[tuple[str, ...], ...]) -> Iterator[Line]:
    """Yield the line numbers and fields of the non-empty lines of a CSV file.

    A first line that is one of ``headers`` is left out.
    """
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            first = file.readline()
            delimiter = next((mark for mark in ",;\t" if mark in first), ",")
            reader = csv.reader(chain([first], file), delimiter=delimiter)
            for cells in reader:
                stripped = [cell.strip() for cell in cells]
                is_header = reader.line_num == 1 and tuple(map(str.lower, stripped)) in headers
                if any(stripped) and not is_header:
                    yield reader.line_num, stripped
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path}: not a CSV file in UTF-8 ({error})") from None


def _inferred(names: Iterable[str]) -> TaskType:
    return int if all(name.lstrip("-").isdecimal() and str(int(name)) == name for name in names) else str


def _require_fields(path: str | Path, line: int, cells: list[str], n: int) -> None:
    if len(cells) != n:
        raise ValueError(f"{path}:{line}: {counted(len(cells), 'field')}; expected {n}")


def _label(path: str | Path, line: int, text: str, task_type: TaskType) -> Hashable:
    try:
        return task_type(text)
    except ValueError:
        raise ValueError(f"{path}:{line}: {text!r} is not a whole number, but the tasks of the records are") from None


def _number(path: str | Path, line: int, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{path}:{line}: {text!r} is not a number") from None
