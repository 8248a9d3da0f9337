"""``--help`` in groups, as the documentation has them, and in plain text."""

from __future__ import annotations

import re
from typing import Any

from typer.core import TyperCommand

#: The headings of options, in the order in which they are shown.
GROUPS = {
    "reading": "What to read",
    "sharing": "How tasks share",
    "views": "Several views instead of tasks",
    "learning": "How it learns",
    "asking": "Asking for labels",
    "scaling": "Several workers",
    "outputs": "What comes out",
    "": "Options",
}
_ARGUMENTS = "Arguments"
#: Options under fewer headings are shown under one.
_FEW = 4


class GroupedCommand(TyperCommand):
    """A command that shows its options in groups, and their Markdown as plain text."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then the options of each group."""
        records = [(heading_of(each), each.get_help_record(ctx)) for each in self.get_params(ctx)]
        few = len({heading for heading, _ in records}) < _FEW
        shown: dict[str, list[tuple[str, str]]] = {}
        for heading, record in records:
            if record is not None:
                name = GROUPS[""] if few and heading != _ARGUMENTS else heading
                shown.setdefault(name, []).append((record[0], plain(record[1])))
        for heading in (_ARGUMENTS, *GROUPS.values()):
            if heading in shown:
                with formatter.section(heading):
                    formatter.write_dl(shown[heading])


def heading_of(given: Any) -> str:
    """The heading under which help shows an argument or option."""
    if given.param_type_name == "argument":
        return _ARGUMENTS
    return getattr(given, "rich_help_panel", None) or GROUPS[""]


def plain(markdown: str) -> str:
    """Text without the marks of Markdown; a link in parentheses, which only leads elsewhere, is left out.

    >>> plain("See `half` or [all](relations.md) ([more](choosing.md)).")
    'See half or all.'
    """
    text = re.sub(r" \(\[[^]]*\]\([^)]*\)\)", "", markdown)
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text).replace("`", "")
