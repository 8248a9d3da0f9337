"""Links that lead out of docs/ work in the site as they do where the repository is browsed.

Pages link to true files, by relative paths. Here a page of the project's root gets a copy in the site, an example its
page in the gallery, and every link is turned to where its file went; any other file becomes a download (as MyST does).
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[1]
ROOT = DOCS.parent
APPENDIX = DOCS / "appendix"
COPIES = {
    ROOT / name: DOCS
    / "project"
    / f"{Path(name).parent.name if Path(name).stem == 'README' else Path(name).stem.lower()}.md"
    for name in (
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "SECURITY.md",
        "bench/README.md",
        "papers/README.md",
        "papers/data/README.md",
        "papers/rows.md",
        "papers/srdv11.md",
        "src/coterie/datasets/README.md",
    )
}
FOLDERS = {ROOT / "examples": DOCS / "gallery" / "index.rst", ROOT / "bench": COPIES[ROOT / "bench/README.md"]}
FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)#\s]+)")


def place(file: Path) -> Path:
    """Where the site has a file of the repository."""
    if file.parent == ROOT / "examples" and file.suffix == ".py":
        return DOCS / "gallery" / f"{file.stem}.rst"
    return COPIES.get(file) or FOLDERS.get(file) or file


def turned(text: str, home: Path, page: Path) -> str:
    """The text of the file ``home`` with its links as the page ``page`` of the site needs them."""

    def link(found: re.Match[str]) -> str:
        return os.path.relpath(place((home.parent / found[1]).resolve()), page.parent)

    parts = FENCED.split(text)  # every second one is fenced
    return "".join(part if i % 2 else LINK.sub(link, part) for i, part in enumerate(parts))


def copy_pages(app: Any) -> None:
    """Bring the pages of the root into docs/project/, which git ignores."""
    for page in (DOCS / "project").glob("*.md"):
        if page not in COPIES.values():
            page.unlink()
    for home, page in COPIES.items():
        page.parent.mkdir(exist_ok=True)
        text = turned(home.read_text(encoding="utf-8"), home, page)
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")


def turn_links(app: Any, docname: str, source: list[str]) -> None:
    """Turn the links of a page of docs/ or its appendix, and add to an index the tree of its pages."""
    page = DOCS / f"{docname}.md"
    if page.exists() and page.parent in (DOCS, APPENDIX):
        source[0] = turned(source[0], page, page)
        if page.stem == "index":
            source[0] += "\n" + contents(source[0], page)


def contents(index: str, page: Path) -> str:
    """The tree of the pages below an index: those that it links to, each once, in its order, under its headings."""
    blocks: list[str] = []
    seen: set[str] = set()
    for part in re.split(r"^## ", index, flags=re.MULTILINE)[1:]:
        caption, _, listed = part.partition("\n")
        linked = re.findall(r"\]\(([^)#]+)\.(?:md|rst)[)#]", listed)
        pages = [each for each in dict.fromkeys(linked) if each not in seen and _below(each, page)]
        pages += ["api/index"] if caption == "Reference" else []
        seen.update(pages)
        blocks.append("\n".join(["```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```"]))
    return "\n\n".join(blocks)


def _below(linked: str, page: Path) -> bool:
    """Whether a page is in the tree of this index: the appendix has one of its own."""
    return page.parent == APPENDIX or not re.match(r"appendix/(?!index)", linked)


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("config-inited", lambda app, config: copy_pages(app))
    app.connect("source-read", turn_links)
    return {"parallel_read_safe": True}
