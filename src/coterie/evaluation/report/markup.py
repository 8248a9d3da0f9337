"""HTML elements from plain values, which are escaped here."""

from __future__ import annotations

import html
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def escape(value: object) -> str:
    """Escape a value for HTML.

    >>> escape("<script>")
    '&lt;script&gt;'
    """
    return html.escape(str(value))


def prose(text: str) -> str:
    """Escape text for HTML, with no-break spaces before percent signs."""
    return escape(text).replace(" %", "&nbsp;%")


def paragraph(text: str, kind: str = "") -> str:
    """Return a paragraph of plain text, with the CSS class ``kind``; empty for empty text."""
    return f"<p{_class(kind)}>{prose(text)}</p>" if text else ""


def section(name: str, heading: str, *parts: str) -> str:
    """Return a section with the CSS id ``name`` and a heading; empty if all its parts are empty."""
    body = "\n".join(part for part in parts if part)
    if not body:
        return ""
    return (
        f'<section id="{name}" aria-labelledby="{name}-h"><h2 id="{name}-h">{escape(heading)}</h2>\n{body}\n</section>'
    )


def plot(name: str, label: str, caption: str, height: int) -> str:
    """Return the placeholder element of a figure, with a label for screen readers."""
    place = f'<div class="plot" id="{name}" role="img" aria-label="{escape(label)}" style="height:{height}px"></div>'
    return f"<figure>{place}<figcaption>{prose(caption)}</figcaption></figure>"


def table(
    caption: str, columns: Sequence[str], rows: Iterable[Sequence[str]], words: int = 1, looked_up: bool = False
) -> str:
    """Return a table that can be scrolled; empty without rows.

    All columns after the first ``words`` are numeric. If ``looked_up``, it can be sorted and searched.
    """
    body = "\n".join(f"<tr>{''.join(_cells(row, words))}</tr>" for row in rows)
    if not body:
        return ""
    head = "".join(f'<th scope="col"{_number(i, words)}>{escape(name)}</th>' for i, name in enumerate(columns))
    caption = escape(caption)
    return (
        f'<figure class="table"><figcaption>{caption}</figcaption>'
        f'<div class="scroll" role="region" aria-label="{caption}" tabindex="0">'
        f'<table aria-label="{caption}"{_class("looked-up" if looked_up else "")}>'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div></figure>"
    )


def facts(pairs: Iterable[tuple[str, str]], kind: str = "") -> str:
    """Return an HTML definition list of pairs (name, value)."""
    rows = "".join(f"<div><dt>{escape(name)}</dt><dd><bdi>{prose(value)}</bdi></dd></div>" for name, value in pairs)
    return f"<dl{_class(kind)}>{rows}</dl>" if rows else ""


def script_json(value: object) -> str:
    r"""Encode a value as JSON for a script element, with ``<`` escaped, so that no text can end the element.

    >>> script_json("</script>")
    '"\\u003c/script\\u003e"'
    """
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.replace("&", r"\u0026").replace("<", r"\u003c").replace(">", r"\u003e")


def _cells(row: Sequence[str], words: int) -> Iterable[str]:
    for i, value in enumerate(row):
        tag, scope = ("th", ' scope="row"') if i == 0 else ("td", "")
        text = f"<bdi>{prose(value)}</bdi>" if i < words else prose(value).replace("-", "−")
        yield f"<{tag}{scope}{_number(i, words)}>{text}</{tag}>"


def _number(i: int, words: int) -> str:
    return "" if i < words else ' class="number"'


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""
