"""The report as one HTML file, which needs no other files and no network."""

from __future__ import annotations

import base64
import hashlib
from importlib import resources
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from coterie.persistence import replacing

from . import markup, page_parts

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from coterie.data.readers import Reading
    from coterie.evaluation.comparison import Comparison

TITLE = "Does learning together help?"


def write_report(
    path: str | os.PathLike[str],
    comparison: Comparison,
    *,
    title: str | None = None,
    reading: Reading | None = None,
    learner: str | None = None,
    facts: Sequence[tuple[str, str]] = (),
) -> Path:
    """Write a comparison of learners as one HTML file that works offline.

    Parameters
    ----------
    path : path-like
        The file; an existing one is replaced at once, or stays as it was if writing fails.
    comparison : Comparison
        Learners over one stream, ``"independent"`` among them.
    title : str, optional
        The page's heading, by default the question that the page answers.
    reading : Reading, optional
        The rows and columns read and dropped.
    learner : str, optional
        The learner of the page; by default the requested one with the least error, see
        :func:`coterie.evaluation.comparison.asked_for`.
    facts : sequence of (str, str)
        Names and values beneath the heading, such as the file, the label, the date and the command.

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
    page = render(comparison, reading, learner, title, facts)
    try:
        with replacing(Path(path)) as file:
            file.write(page.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise OSError(error.errno, f"the report could not be written: {error.strerror}", str(path)) from error
    return Path(path)


def render(
    comparison: Comparison,
    reading: Reading | None = None,
    learner: str | None = None,
    title: str | None = None,
    facts: Sequence[tuple[str, str]] = (),
) -> str:
    """Return the HTML page that `write_report` writes, as text."""
    summary = page_parts.summary_of(comparison, learner)
    parts = [
        page_parts.headline(summary),
        page_parts.learners(summary),
        page_parts.sizes(summary),
        page_parts.over_time(summary),
        page_parts.tasks(summary),
        page_parts.probabilities(summary),
        page_parts.weights(summary),
        page_parts.read(reading),
    ]
    plotly, drawing = _plotly(), _own("figures.js")
    drawn = {name: figure for part in parts for name, figure in part.figures.items()}
    return Template(_own("page.html")).substitute(
        title=markup.escape(title or TITLE),
        facts=markup.facts(facts, "facts"),
        policy=_policy(plotly, drawing),
        style=_own("style.css"),
        body="\n".join(part.html for part in parts if part.html),
        figures=markup.script_json(drawn),
        plotly=plotly,
        drawing=drawing,
    )


def _policy(*scripts: str) -> str:
    """Return the content security policy of the page, which allows only its own scripts."""
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
    return resources.files("coterie.evaluation.report").joinpath(name).read_text(encoding="utf-8")
