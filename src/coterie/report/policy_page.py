"""The page about a log of choices: the verdict and the values of policies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from coterie.bandits.log_evaluation import DONE, SHARED, gain_cells, interval_text
from coterie.bandits.off_policy import digits
from coterie.wording import listed

from . import figures, markup, page
from .page_parts import PagePart, read_part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coterie.bandits.log_evaluation import BanditOutcome

TITLE = "What would other choices have been worth?"
_LISTED = 20


def write_bandit_report(path: Path, outcome: BanditOutcome, facts: Sequence[tuple[str, str]] = ()) -> None:
    """Write the estimated values of policies as one HTML page that works offline.

    Parameters
    ----------
    path : Path
        The file; an existing one is replaced at once, or stays as it was if writing fails.
    outcome : BanditOutcome
        What was evaluated.
    facts : sequence of (str, str)
        Names and values to say beneath the heading.

    Raises
    ------
    ImportError
        plotly is not installed.
    OSError
        The file cannot be written.
    """
    parts = [_headline(outcome), _policies(outcome), _curves(outcome), _read(outcome)]
    page.replace(path, page.assemble(TITLE, parts, facts))


def _headline(outcome: BanditOutcome) -> PagePart:
    lead, *remarks = outcome.sentences
    text = markup.paragraph(lead, "lead") + markup.paragraph(" ".join([*remarks, outcome.counts]))
    return PagePart(f'<section id="verdict" aria-label="Verdict">{text}</section>')


def _policies(outcome: BanditOutcome) -> PagePart:
    rows = []
    for name, policy in outcome.values.items():
        gain = outcome.gains[name].get(DONE)
        value = f"{policy.value:.{digits(policy.low, policy.high)}f}"
        against = ["", ""] if gain is None else gain_cells(gain)
        interval = interval_text(policy.low, policy.high)
        rows.append([outcome.row_name(name), value, interval, f"{policy.effective_n:,.0f}", *against])
    heads = ["policy", "value", "95 %", "rows of its own", "against what was done", "95 %"]
    table = markup.table("Mean reward that each policy would have had", heads, rows)
    note = (
        f"{SHARED} and its baselines learn each row after it was evaluated; the single action is the best one by the "
        "rows before. So many rows of its own would determine a policy's value as well as the log does."
    )
    return PagePart(markup.section("policies", "Policies", table, markup.paragraph(note, "note")))


def _curves(outcome: BanditOutcome) -> PagePart:
    curves = {outcome.row_name(name): curve for name, curve in outcome.curves.items()}
    drawn = {"values": figures.values(outcome.rounds, curves, outcome.row_name(outcome.chosen))}
    place = markup.plot("values", "Mean reward since the start by policy", "Mean reward since the first row.", 420)
    return PagePart(markup.section("over-time", "Over time", place), drawn)


def _read(outcome: BanditOutcome) -> PagePart:
    log, reader = outcome.log, outcome.reader
    pairs = [("source", reader.source), ("choices", f"{len(log.rows):,}"), ("rows skipped", f"{reader.skipped:,}")]
    pairs += [("rows without a reward", f"{log.unrewarded:,}")] if log.unrewarded else []
    pairs += [("rows of the last window", f"{log.young:,}")] if log.young else []
    pairs += [("rewards that never came", f"{log.zeros:,}")] if log.zeros else []
    pairs += [(f"{role} columns", listed(names, _LISTED)) for role, names in reader.names_by_role.items()]
    return read_part(pairs, reader.skipped_examples, reader.dropped)
