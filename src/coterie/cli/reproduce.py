"""``coterie reproduce``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .failures import tell
from .options import Json, Quiet
from .places import Kind, Place, beginning, made_here, naming, require_places

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coterie.papers.catalogue import Paper
    from coterie.papers.claims import Claim
    from coterie.papers.results import Item, Result

What = Annotated[
    str | None,
    typer.Argument(
        metavar="[PAPER[/ITEM]]",
        help="`ccg08`, `cc12`, `srdv11`, `for09`, `ros11`, or one of its items, as `srdv11/table2`; without, a list of "
        "all.",
    ),
]
Quick = Annotated[
    bool,
    typer.Option(
        "--quick",
        help="Few records, settings and shuffles: whether it runs, not what it gives; claims on means are not tested.",
    ),
]
Shuffles = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="How many shuffles or draws to run over.  [default: as listed]")
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="DIR",
        help="Write each item into this folder as well: `.md`, `.csv`, and its figures as `.png` (`pip install "
        "coterie[report]`).",
    ),
]


def reproduce(
    what: What = None,
    quick: Quick = False,
    shuffles: Shuffles = None,
    output: Output = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Rerun the tables, figures and theorems of the papers, and say which of their claims hold.

    Our numbers come with their deviation over the runs and, in parentheses, the paper's. Seeds are fixed. A claim that
    does not hold is a finding, not an error. Real data sets are read from the folder that COTERIE_DATA names, or from
    where coterie datasets --fetch put them.

    For example:
      coterie reproduce
      coterie reproduce srdv11/table2
      coterie reproduce cc12 --shuffles 3 -o tables
    """
    from coterie.papers.catalogue import find, require_data
    from coterie.papers.results import Rerun
    from coterie.papers.writing import plain, write

    from .printing import print_json
    from .progress import stepping

    if what is None:
        _list(json)
        return
    made: list[dict[str, Any]] = []
    chosen = find(what)
    for _, item in chosen:
        require_data(item)
    if output is not None:
        _prepare(output, [_file_name(*each) for each in chosen], quiet)
    for paper, item in chosen:
        n = shuffles or (item.quick_shuffles if quick else item.shuffles)
        with stepping(f"{paper.name}/{item.name}", quiet) as advance:
            result = item.run(Rerun(n, quick, advance))
        made.append({**_told(paper, item), "runs": n, "quick": quick, **plain(result)})
        heading = f"{paper.name}/{item.name}: {item.what} ({_runs(n)}{', quick' if quick else ''})"
        if not (quiet or json):
            _show(heading, result)
        if output is not None:
            with naming(output):
                write(output, _file_name(paper, item), heading, result)
    if json:
        print_json(made)


def _list(json: bool) -> None:
    from coterie.papers.catalogue import everything

    from .printing import print_json

    if not json:
        print(*_listed(), sep="\n")
        return
    print_json([
        {**_told(paper, item), "runs": item.shuffles, "takes": item.takes, "data": [each.name for each in item.needs]}
        for paper, item in everything()
    ])  # fmt: skip


def _told(paper: Paper, item: Item) -> dict[str, str]:
    return {"item": f"{paper.name}/{item.name}", "what": item.what}


def _listed() -> Iterator[str]:
    from coterie.papers.catalogue import everything
    from coterie.wording import table

    held = list(everything())
    rows = [
        [f"{paper.name}/{item.name}", ", ".join(entry.name for entry in item.needs), item.takes, str(item.shuffles)]
        for paper, item in held
    ]
    lines = table(["item", "data", "about", "runs"], rows, words=2)
    yield from (f"{line}  {text}" for line, text in zip(lines, ["what", *(i.what for _, i in held)], strict=True))


def _runs(n: int) -> str:
    return f"{n} {'run' if n == 1 else 'runs'}"


def _show(heading: str, result: Result) -> None:
    from coterie.wording import table

    from .printing import print_lines

    tables = [list(table(*each.rows())) for each in result.tables]
    print_lines([heading], *tables, [line for claim in result.claims for line in _claim(claim)], result.notes)
    print(flush=True)


def _claim(claim: Claim) -> Iterator[str]:
    from .printing import paragraph

    first, *others = paragraph(f"{claim.shown}, {_runs(claim.runs)}: {claim.said}. Here: {claim.seen}")
    yield f"* {first}"
    yield from (f"  {line}" for line in others)


def _prepare(out: Path, names: list[str], quiet: bool) -> None:
    """Make the folder before an hour of computing, try it, and tell at once if matplotlib is missing."""
    from coterie.papers.writing import BEGINNINGS, can_draw

    with naming(out):
        out.mkdir(exist_ok=True)
    holds = {ending: (made_here if ending == ".png" else beginning)(start) for ending, start in BEGINNINGS.items()}
    kinds = {ending: Kind("result of reproduce", each) for ending, each in holds.items()}
    places = [out / f"{name}{ending}" for name in names for ending in kinds]
    places += [path for name in names for path in out.glob(f"{name}-*.png")]
    require_places([Place("output", path, kinds[path.suffix]) for path in places], [])
    if not (quiet or can_draw()):
        tell("figures are left out, they need matplotlib: pip install coterie[report]")


def _file_name(paper: Paper, item: Item) -> str:
    return f"{paper.name}-{item.name}"
