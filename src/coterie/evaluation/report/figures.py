"""Figures of the report, as dictionaries for plotly; colours are CSS variables.

Task and learner names go through `label`, because plotly interprets some HTML in every text.
"""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

import numpy as np

from coterie.evaluation.costs import RATES, CostWords
from coterie.evaluation.explanation import shown
from coterie.evaluation.metrics import error_curve, settled
from coterie.types import Json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from coterie.evaluation.explanation import Weight
    from coterie.evaluation.metrics import CalibrationCurve
    from coterie.evaluation.trace import Trace
    from coterie.types import Array

Figure = Json
_SERIES = 6
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")


def label(name: object, most: int = 28) -> str:
    """Escape a name for plotly, which interprets HTML tags; shorten it if it is long.

    >>> label("<b>a</b>"), label("abcdef", most=4)
    ('&lt;b&gt;a&lt;/b&gt;', 'abc…')
    """
    text = str(name)
    return html.escape(text if len(text) <= most else text[: most - 1] + "…", quote=False)


def cumulative_error(traces: Mapping[str, Trace], thick: str) -> Figure:
    """Return the figure of each learner's cumulative error over the number of rounds (logarithmic).

    The learner ``thick`` has a thick line.

    The first hundredth of the rounds is left out, because its errors are large and would hide the rest.
    """
    words, lines = next(iter(traces.values())).words, []
    for i, (name, trace) in enumerate(traces.items()):
        curve = error_curve(trace, spacing="log")
        shown = settled(curve.rounds)
        lines.append(_line(i, name, curve.rounds[shown], curve.cumulative[shown], thick, words))
    minor = {"ticks": "outside", "ticklen": 2}
    across = _axis("examples", type="log", tickformat="~s", hoverformat=",", dtick=1, minor=minor)
    return _figure(lines, across, _axis(words.error, ticksuffix=words.suffix, rangemode="normal"))


def calibration(curves: Mapping[str, CalibrationCurve], thick: str) -> Figure:
    """Return the figure of each learner's calibration curve, with the diagonal.

    The learner ``thick`` has a thick line.
    """
    lines = [
        _line(i, name, 100 * curve.predicted, curve.observed, thick, RATES) | {"mode": "lines+markers"}
        for i, (name, curve) in enumerate(curves.items())
    ]
    same: Figure = {"color": "--stick", "dash": "dot", "width": 1.5}
    diagonal = {"type": "scatter", "mode": "lines", "name": "as often as predicted", "x": [0, 100], "y": [0, 100]}
    across = _axis("predicted probability", ticksuffix=" %", hoverformat=".1f")
    down = _axis("share of them positive", ticksuffix=" %")
    return _figure([*lines, diagonal | {"line": same, "hoverinfo": "skip"}], across, down, hovermode="closest")


def feature_weights(weights: Sequence[Weight], title: str = "weights") -> Figure:
    """Return a bar chart of features' shared weights, times their standard deviations if known."""
    values = [float(f"{weight.moves[0]:.4g}") for weight in weights]
    bars = {
        "type": "bar",
        "orientation": "h",
        "x": values,
        "y": list(range(len(weights))),
        "customdata": [label(shown(weight.name), 60) for weight in weights],
        "marker": {"color": "--series-1"},
        "hovertemplate": "%{customdata}: %{x}<extra></extra>",
    }
    names = [label(shown(weight.name)) for weight in weights]
    ticks = {"tickvals": list(range(len(names))), "ticktext": names, "showgrid": False}
    across = _axis(title, zeroline=True, zerolinewidth=2, side="top")
    down = _axis(None, range=[len(names) - 0.4, -0.6], zeroline=False, ticklen=0, **ticks)
    return _figure([bars], across, down, hovermode="closest", bargap=0.35, showlegend=False)


def _line(i: int, name: str, x: Array, y: Array, thick: str, words: CostWords) -> Figure:
    style = {
        "color": f"--series-{i % _SERIES + 1}",
        "dash": _DASHES[i % len(_DASHES)],
        "width": 3 if name == thick else 1.75,
    }
    return {
        "type": "scatter",
        "mode": "lines",
        "name": label(name),
        "x": x.tolist(),
        "y": _rounded(words.factor * y, 3 if words.suffix else 6),
        "line": style,
        "hovertemplate": f"%{{y:{'.1f' if words.suffix else '.4g'}}}{words.suffix}",
    }


def _figure(traces: Sequence[Figure], across: Figure, down: Figure, **layout: object) -> Figure:
    base = {
        "xaxis": across,
        "yaxis": down,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": "--ink", "size": 13},
        "margin": {"l": 8, "r": 12, "t": 36, "b": 8},
        "hovermode": "x unified",
        "hoverlabel": {"bgcolor": "--paper", "bordercolor": "--rule", "font": {"color": "--ink"}, "align": "left"},
        "legend": {
            "orientation": "h",
            "x": 0,
            "xanchor": "left",
            "y": 1.01,
            "yanchor": "bottom",
            "bgcolor": "rgba(0,0,0,0)",
        },
        "modebar": {"bgcolor": "--paper", "color": "--unclear", "activecolor": "--ink"},
    }
    return {"data": list(traces), "layout": base | layout}


def _axis(title: str | None, **more: object) -> Figure:
    axis: Figure = {
        "gridcolor": "--rule",
        "zerolinecolor": "--muted",
        "zeroline": False,
        "automargin": True,
        "ticklen": 4,
        "tickcolor": "--rule",
        "fixedrange": False,
    }
    return axis | ({"title": {"text": title, "standoff": 8}} if title else {}) | more


def _rounded(values: Array, digits: int) -> list[object]:
    """Round an array's numbers, and convert it to nested lists for JSON, with None for nan."""
    rounded = np.round(values, digits).astype(object)
    rounded[np.isnan(values)] = None
    return list(rounded.tolist())
