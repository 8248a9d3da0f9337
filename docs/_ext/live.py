"""The report of the demo as a page of the site, made anew by each build: five megabytes, which git need not keep."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

PAGE = "report-of-the-demo.html"
#: Where the pages have the link, which leads nowhere in the repository.
MARK = "<!-- the report of the demo -->"
LINK = f'<p><a href="{PAGE}">The report of <code>coterie demo</code></a>, as the build of this site made it.</p>'


def link(app: Any, name: str, source: list[str]) -> None:
    """Put the link where a page has the mark."""
    source[0] = source[0].replace(MARK, LINK)


def write(app: Any, exception: Exception | None) -> None:
    """Run the demo."""
    if exception is None and app.builder.format == "html":
        (Path(app.outdir) / PAGE).unlink(missing_ok=True)  # that of the build before
        program = "import sys; from coterie.cli import main; sys.argv[0] = 'coterie'; main()"
        demo = [sys.executable, "-c", program, "demo", "--quiet", "--report", PAGE]
        subprocess.run(demo, cwd=app.outdir, check=True)  # noqa: S603


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("source-read", link)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True}
