"""Comparisons and verdicts as pictures, by matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from coterie.wording import visible

from .costs import words_of
from .metrics import error_curve, settled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

    from .trace import Trace

#: Colour and mark of each outcome; neither says it alone.
_OUTCOMES = {"unclear": ("tab:gray", "o"), "helped": ("tab:blue", "^"), "hurt": ("tab:red", "v")}
_NAME = 28


def errors(traces: Mapping[str, Trace], axes: Axes | None = None) -> Axes:
    """Draw each learner's error since the start over the logarithm of the rounds; :meth:`Comparison.plot` calls it."""
    axes, words = axes or _new_axes(), words_of(next(iter(traces.values())))
    for name, trace in traces.items():
        curve = error_curve(trace, spacing="log")
        shown = settled(curve.rounds)
        axes.plot(curve.rounds[shown], words.factor * curve.cumulative[shown], label=_name(name))
    axes.set(xscale="log", xlabel="examples", ylabel=f"{words.error} so far{words.suffix and ' in' + words.suffix}")
    _legend(axes)
    return axes


def gains(verdict: Any, axes: Axes | None = None) -> Axes:
    """Draw every task's gain and interval, from the least to the greatest; :meth:`Verdict.plot` calls it."""
    axes, words = axes or _new_axes(), verdict.loss
    order = np.argsort(np.where(verdict.n > 0, verdict.gain, np.nan), kind="stable")[: int((verdict.n > 0).sum())]
    for outcome, (colour, mark) in _OUTCOMES.items():
        places = np.flatnonzero(verdict.outcome[order] == outcome)
        tasks = order[places]
        low, gain, high = (words.factor * each[tasks] for each in (verdict.low, verdict.gain, verdict.high))
        axes.vlines(places + 1, low, high, color=colour, alpha=0.5, linewidth=1.0)
        axes.plot(places + 1, gain, mark, color=colour, markersize=4, label=f"{len(tasks):,} {outcome}")
    axes.axhline(0.0, color="black", linewidth=0.8)
    axes.set(xlabel="tasks, by gain", ylabel=words.gain)
    axes.set_title(f"{_name(verdict.name)} against {_name(verdict.against)}", parse_math=False)
    axes.locator_params(axis="x", integer=True)
    _legend(axes)
    return axes


def _new_axes() -> Axes:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("a picture needs matplotlib: pip install coterie[report]") from error
    made: Any = pyplot.subplots(layout="constrained")[1]
    return made  # type: ignore[no-any-return]


def _name(name: str) -> str:
    text = visible(name)
    return text if len(text) <= _NAME else text[: _NAME - 1] + "…"


def _legend(axes: Axes) -> None:
    for text in axes.legend(fontsize="small").get_texts():
        text.set_parse_math(False)  # a dollar sign in a name begins no formula
