"""Rerun the tables, figures and theorems of the papers, and show which of their claims hold.

Results are printed as Markdown: our numbers with their deviation over the runs and, in parentheses, the paper's. Seeds
are fixed. A claim that does not hold is a finding, not an error.

    python -m papers                                     list all items
    python -m papers srdv11/table2
    python -m papers cc12 --shuffles 3 --output tables
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from . import cc12, ccg08, for09, ros11, srdv11
from .data import folder, is_available
from .results import Item, Rerun
from .writing import markdown, write

PAPERS: dict[str, Sequence[Item]] = {
    "ccg08": ccg08.ITEMS,
    "cc12": cc12.ITEMS,
    "srdv11": srdv11.ITEMS,
    "for09": for09.ITEMS,
    "ros11": ros11.ITEMS,
}


def items() -> Iterator[tuple[str, Item]]:
    """Yield every item of every paper with its name, ``PAPER/ITEM``."""
    yield from ((f"{paper}/{item.name}", item) for paper, found in PAPERS.items() for item in found)


def find(name: str) -> list[tuple[str, Item]]:
    """Return the items that ``PAPER`` or ``PAPER/ITEM`` names; SystemExit if there are none.

    Examples
    --------
    >>> [name for name, _ in find("cc12")]
    ['cc12/table1', 'cc12/theorem1', 'cc12/theorem2', 'cc12/shifting-forgetron', 'cc12/proposition3.1']
    >>> [name for name, _ in find("CC12/Table1")]
    ['cc12/table1']
    """
    paper, _, wanted = name.lower().partition("/")
    found = [
        (full, item) for full, item in items() if full.startswith(f"{paper}/") and wanted in ("", item.name, *item.also)
    ]
    if not found:
        raise SystemExit(f"{name} is no paper or item of one; python -m papers lists them")
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the items that are asked for, or list all."""
    parser = argparse.ArgumentParser("papers", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", nargs="?", metavar="PAPER[/ITEM]")
    parser.add_argument("--quick", action="store_true", help="few records and shuffles; claims on means are not tested")
    parser.add_argument("--shuffles", type=int, metavar="N", help="how many shuffles or draws to run over")
    parser.add_argument("--output", "-o", type=Path, metavar="DIR", help="write Markdown and pictures into this folder")
    options = parser.parse_args(arguments)
    if options.what is None:
        for name, item in items():
            needs = f" [{', '.join(entry.name for entry in item.needs)}]" if item.needs else ""
            print(f"{name:30}{item.what} ({item.takes}, {item.shuffles} runs){needs}")
        return
    chosen = find(options.what)
    for _, item in chosen:
        for entry in item.needs:
            if not is_available(entry):
                raise folder.missing(entry)
    if options.output is not None:
        options.output.mkdir(exist_ok=True)
    for name, item in chosen:
        print(f"{name} ...", file=sys.stderr)
        runs = options.shuffles or (item.quick_shuffles if options.quick else item.shuffles)
        result = item.run(Rerun(runs, options.quick))
        heading = f"{name}: {item.what} ({runs} {'run' if runs == 1 else 'runs'}{', quick' if options.quick else ''})"
        print(*markdown(heading, result), "", sep="\n", flush=True)
        if options.output is not None:
            write(options.output, name.replace("/", "-"), heading, result)


if __name__ == "__main__":
    main()
