"""The page as one file: no part of it comes from anywhere else, and no script but its own can run."""

from __future__ import annotations

import base64
import hashlib
import os
from contextlib import suppress
from importlib import resources
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from coterie.report import course, markup, sections

if TYPE_CHECKING:
    from coterie.report.clustering import Relation
    from coterie.report.sections import Part, Reading
    from coterie.streams.comparison import Comparison

TITLE = "Does learning together help?"


def write_report(
    path: str | os.PathLike[str],
    comparison: Comparison,
    *,
    title: str = TITLE,
    reading: Reading | None = None,
    relation: Relation | None = None,
    learner: str | None = None,
) -> Path:
    """Write what a comparison says as one HTML page that works offline.

    Parameters
    ----------
    path : path-like
        Where to; an existing file is replaced at once, or stays as it was if writing fails.
    comparison : Comparison
        Learners over one stream, ``"independent"`` among them.
    title : str
        The page's heading.
    reading : object, optional
        What was read and dropped: ``source``, ``rows``, ``skipped``, ``skipped_examples``, ``columns`` (role to names),
        ``dropped`` (column to reason).
    relation : object, optional
        How tasks share: ``matrix``, (K, K), the inverse interaction matrix M, and ``tasks``, its K rows.
    learner : str, optional
        The learner the page is about; the one with the least error, ``"independent"`` left out, where it is not given.

    Returns
    -------
    Path
        ``path``; the file has about 5 MB, nearly all of it the plotting script.

    Raises
    ------
    ImportError
        plotly is not installed.
    ValueError
        Too few learners in the comparison, or an unknown ``learner``.
    OSError
        The file cannot be written.
    """
    target = Path(path)
    replace(target, render(comparison, title=title, reading=reading, relation=relation, learner=learner))
    return target


def render(
    comparison: Comparison,
    *,
    title: str = TITLE,
    reading: Reading | None = None,
    relation: Relation | None = None,
    learner: str | None = None,
) -> str:
    """The page that `write_report` writes, as text."""
    told = sections.story(comparison, learner)
    parts = [
        sections.headline(told),
        sections.over_time(told),
        sections.labels(told),
        sections.learners(told),
        course.views(told),
        sections.gains(told),
        sections.named_tasks(told),
        course.support(told),
        sections.shared(told, relation),
        sections.read(reading),
    ]
    return assemble(title, parts)


def assemble(title: str, parts: list[Part]) -> str:
    """Parts as one page that fetches nothing."""
    plotly, drawing = _plotly(), _own("figures.js")
    drawn = {name: figure for part in parts for name, figure in part.figures.items()}
    return Template(_own("page.html")).substitute(
        title=markup.escape(title),
        policy=_policy(plotly, drawing),
        style=_own("style.css"),
        body="\n".join(part.html for part in parts if part.html),
        figures=markup.script_json(drawn),
        plotly=plotly,
        drawing=drawing,
    )


def _policy(*scripts: str) -> str:
    """A content security policy: nothing is fetched, and only these scripts run."""
    digests = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _plotly() -> str:
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise ImportError("the report needs plotly: pip install coterie[report]") from error
    return str(get_plotlyjs())


def _own(name: str) -> str:
    return resources.files("coterie.report").joinpath(name).read_text(encoding="utf-8")


def replace(target: Path, text: str) -> None:
    """Write beside the target, then rename: a reader sees the old file or the new one, never half of one."""
    beside = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with beside.open("wb") as file:
            file.write(text.encode("utf-8", "backslashreplace"))
            file.flush()
            os.fsync(file.fileno())
        beside.replace(target)
    except OSError as error:
        with suppress(OSError):
            beside.unlink()
        raise OSError(error.errno, f"the report could not be written: {error.strerror}", str(target)) from error
