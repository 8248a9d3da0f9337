"""``coterie datasets``."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .failures import UsageError
from .options import Json
from .places import Kind, Place, naming, require_places

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from coterie.datasets import Description

Name = Annotated[str | None, typer.Argument(metavar="[NAME]", help="The one to describe; without, all are listed.")]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="OUT.csv|OUT.parquet", help="Write it as a file that `learn` reads."),
]
Fetch = Annotated[
    bool,
    typer.Option(
        "--fetch",
        help="Download it where it is not here, check it, and print where the prepared file lies (`pip install "
        "coterie[datasets]`); [which can be](appendix/datasets.md).",
    ),
]


def datasets(name: Name = None, fetch: Fetch = False, output: Output = None, json: Json = False) -> None:
    """List the data sets known by name, and how to get them.

    For example:
      coterie datasets
      coterie datasets a9a --fetch
      coterie datasets flights --output flights.csv
    """
    from coterie import datasets as library

    from .printing import print_json

    known = {each.name: each for each in library.describe()}
    if fetch:
        print(library.fetch(_known("--fetch", name, known)))
    if output is not None:
        _export(name, output)
    if fetch or output is not None:
        return
    chosen = list(known.values()) if name is None else [known[_known("a description", name, known)]]
    if json:
        print_json([asdict(each) for each in chosen])
    else:
        print(*(_listed(chosen) if name is None else _described(chosen[0])), sep="\n")


def _export(name: str | None, path: Path) -> None:
    from coterie.datasets import catalogue

    known = _known("--output", name, catalogue.TABLES)
    require_places([Place("output", path, Kind("export of this data set", partial(_is_export, known)))], [])
    with naming(path):
        catalogue.export(known, path)


def _is_export(name: str, path: Path) -> bool:
    from coterie.datasets import catalogue

    with path.open("rb") as file:
        return file.read(4) == b"PAR1" if path.suffix == ".parquet" else file.readline() == catalogue.header(name)


def _known(option: str, name: str | None, known: Iterable[str]) -> str:
    from coterie.jobs.choosing import require_one_of

    if name is None:
        raise UsageError(f"{option} needs the name of a data set")
    require_one_of("the data set", name, tuple(known))
    return name


def _listed(chosen: list[Description]) -> Iterator[str]:
    from coterie.wording import table

    rows = [[each.name, "yes" if each.available else "no", f"{each.rows:,}", f"{each.tasks:,}"] for each in chosen]
    lines = table(["name", "here", "rows", "tasks"], rows, words=2)
    for line, what in zip(lines, ["what", *(each.what for each in chosen)], strict=True):
        yield f"{line}  {what}"


def _described(each: Description) -> list[str]:
    here = "it is here" if each.available else f"not here: {each.how}"
    return [each.name, f"  {each.what}", f"  {each.rows:,} rows, {each.tasks:,} tasks", f"  {here}"]
