"""Mathematics in docstrings is shown as it is written, as in a terminal: indented formulas, bars, names with a star."""

from __future__ import annotations

import re
from typing import Any

MARK = re.compile(r"(``.*?``)|(\||(?<=\w)\*(?=\"))")


def as_written(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Mark each indented block after a paragraph as literal text; elsewhere bars are bars, and stars stars."""
    marked: list[str] = []
    literal = False
    for before, line in zip(["", *lines], lines, strict=False):
        begins = line.startswith("    ") and not before.strip() and _after_paragraph(marked)
        literal = begins or (literal and (not line.strip() or line.startswith("    ")))
        marked += ["::", ""] if begins else []
        marked.append(line if literal or ">>>" in line else MARK.sub(_escaped, line))
    lines[:] = marked


def _escaped(found: re.Match[str]) -> str:
    return found[1] or rf"\{found[2]}"


def _after_paragraph(lines: list[str]) -> bool:
    written = [line for line in lines if line.strip()]
    last = written[-1] if written else " "
    return not (last.startswith((" ", "-", "*", "..", ">>>")) or last.endswith("::"))


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx, before napoleon reads the sections."""
    app.connect("autodoc-process-docstring", as_written, priority=400)
    return {"parallel_read_safe": True}
