"""The parts of the page about what a learner held as the stream went on: support vectors, weights of views."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from coterie.online.multiview import ALONE
from coterie.report import figures, markup
from coterie.report.sections import Part
from coterie.streams.support import support_curve
from coterie.streams.wording import NONE, counted, percent

if TYPE_CHECKING:
    from coterie.report.sections import Story

_POINTS, _LOOKS = 200, 5


def support(told: Story) -> Part:
    """Whose support vectors there were, where the learner has some."""
    trace = told.comparison.traces[told.learner]
    if trace.stored is None or not trace.stored.any():
        return Part("", {})
    curve = support_curve(trace)
    now, gone = counted(int(curve.held[-1].sum()), "support vector"), int(curve.evicted[-1])
    words = f"{now} of {told.learner} at the end; {gone:,} had to leave for others."
    text = f"Support vectors by task. {words}"
    place = markup.plot("support-vectors", text, text, 380)
    drawn = {"support-vectors": figures.support(curve, trace.tasks)}
    return Part(markup.section("support", "Support vectors", place), drawn)


def views(told: Story) -> Part:
    """How much each view weighed, where records have several."""
    if told.weights is None or not len(told.weights.rounds):
        return Part("", {})
    curve = told.weights.thinned(_POINTS)
    shares, lengths = curve.shares, curve.lengths
    looks = np.unique(np.linspace(0, len(shares) - 1, _LOOKS).round().astype(np.int64))
    names = [str(name) for name in curve.names]
    rows = [
        (name, *(percent(shares[i, k]) for i in looks), f"{lengths[-1, k]:.3g}", _alone_error(told, name))
        for k, name in enumerate(names)
    ]
    heads = ["view", *(f"after {curve.rounds[i]:,}" for i in looks), "length at the end", "error alone"]
    table = markup.table(markup.Table("Weight of each view as the examples came", heads, rows))
    last = "; ".join(f"{name} {percent(share)}" for name, share in zip(names, shares[-1], strict=True))
    text = "Each view's part of the weights' lengths, over the examples learned."
    place = markup.plot("view-weights", f"{text} At the end: {last}", text, 380)
    drawn = {"view-weights": figures.view_weights(curve)}
    return Part(markup.section("views", "Weight of each view", place, table), drawn)


def _alone_error(told: Story, view: str) -> str:
    trace = told.comparison.traces.get(f"{view}{ALONE}")
    return NONE if trace is None else told.verdict.words.value(trace.error, 2)
