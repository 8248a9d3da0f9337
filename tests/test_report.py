import json
import os
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import plotly.graph_objects
import pytest

import coterie as ct
import samples
from coterie.evaluation.explanation import listed_weights
from coterie.evaluation.report import render, write_report
from coterie.evaluation.report.markup import prose
from coterie.evaluation.verdict import conclusion, verdict
from faults import full_disk
from slow import slow

HOSTILE = (
    *("<script>window.hacked = 1</script>", "</script><script>window.hacked = 2</script>", "<!-- <script>"),
    *("<img src=x onerror='window.hacked = 3'>", '"><svg onload="window.hacked = 4">', "<b>bold</b> & &lt;b&gt;"),
    *("<a href='javascript:window.hacked=5'>click</a>", "%{x} ${title} $x^2$ --ink", "a" * 300, "שלום"),
    *("two\nlines\u2028and\u202emore", "lone \udc80 surrogate"),
)


def hostile_report(path):
    bad = HOSTILE[1]
    reading = samples.SampleReading(bad, 6000, 1, (bad,), {bad: [bad]}, {bad: bad})
    comparison = samples.comparison(n=6000, n_tasks=len(HOSTILE), names=HOSTILE)
    traces = {HOSTILE[0] if name == "half-shared" else name: trace for name, trace in comparison.traces.items()}
    comparison = samples.SampleComparison(traces, dict.fromkeys(traces), dict.fromkeys(traces, 0.5))
    return write_report(path, comparison, title=bad, reading=reading)


def full_report(path, **sizes):
    return write_report(path, samples.comparison(**sizes), reading=samples.reading())


def figures_of(page):
    """The figures embedded in a page."""
    return json.loads(re.search(r'<script type="application/json" id="figures">(.*?)</script>', page, re.DOTALL)[1])


def text_of(page):
    """The page without its scripts and styles."""
    return re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.DOTALL)


VIEWS = {
    "desk": {"width": 1280},
    "phone": {"width": 390, "height": 844, "touch": True},
    "dark": {"width": 1280, "dark": True},
    "small": {"width": 320, "height": 640, "touch": True, "dark": True},
}


@pytest.mark.parametrize("view", ["desk", slow("phone"), slow("dark"), "small"])
def test_a_browser_draws_it_without_an_error_and_sorts_and_searches_its_table(view, chromium, tmp_path):
    path = full_report(tmp_path / "report.html", n_tasks=80)
    with chromium.page(**VIEWS[view]) as page:
        page.open(path)
        assert [url for url in page.requests if not url.startswith(("data:", "file:"))] == []
        assert page.ask("document.querySelectorAll('.plot').length") == 2
        for drawn in ("svg.main-svg", "path.js-line, .point, image"):
            assert page.ask(f"[...document.querySelectorAll('.plot')].every(e => e.querySelector('{drawn}'))")
        assert page.ask("document.documentElement.scrollWidth") <= VIEWS[view]["width"]
        assert page.ask(OVERFLOWING) == []
        up, down = page.ask(SORTED)
        assert len(up) == 80
        assert (up, down) == (sorted(up), sorted(up)[::-1])
        assert page.ask(FOUND) == ["N100"]
        page.resize(390)
        cells = "[...document.querySelectorAll('.looked-up tbody tr:not([hidden]) :is(th, td)')]"
        assert page.ask(f"{cells}.every(e => e.getBoundingClientRect().right <= innerWidth)")
        assert page.errors == []


OVERFLOWING = """
[...document.querySelectorAll('body *')].filter(e => !e.closest('.scroll') && !e.closest('.plot'))
.filter(e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80))
"""


SORTED = """
(() => {
  const table = document.querySelector('.looked-up'), head = table.tHead.rows[0].cells[1];
  const examples = () => [...table.tBodies[0].rows].map(row => parseInt(row.cells[1].textContent.replace(/,/g, '')));
  head.click();
  const up = examples();
  head.click();
  return [up, examples()];
})()
"""
FOUND = """
(() => {
  const search = document.querySelector('input.search');
  search.value = 'n100';
  search.dispatchEvent(new Event('input'));
  return [...document.querySelectorAll('.looked-up tbody tr')].filter(row => !row.hidden).map(row => row.cells[0].textContent);
})()
"""


@pytest.mark.parametrize("width", [1280, slow(390)])
def test_names_are_only_ever_text(width, chromium, tmp_path):
    path = hostile_report(tmp_path / "report.html")
    with chromium.page(width=width) as page:
        page.open(path)
        names = page.ask("[...document.querySelectorAll('.looked-up tbody th')].map(e => e.textContent)")
        assert len(names) == len(HOSTILE)
        legend = page.ask("[...document.querySelectorAll('#cumulative .legendtext')].map(e => e.textContent)")
        assert any("window.hacked" in name for name in legend)
        assert page.ask("typeof window.hacked") == "undefined"
        assert page.ask("document.scripts.length") == 3
        assert page.ask("document.querySelectorAll('main img, main a, main svg a').length") == 0
        assert page.ask("document.querySelector('h1').textContent") == HOSTILE[1]
        assert page.ask("document.documentElement.scrollWidth") <= width
        assert page.errors == []


def test_no_outside_text_reaches_the_page_as_markup(tmp_path):
    page = hostile_report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count("<script") == page.count("</script") == 3
    for tag in ("<img", "<svg", "<a ", "<b>", "<!-- "):
        assert tag not in text_of(page)
    assert "lone \\udc80 surrogate" in page


def test_nothing_is_fetched_and_only_its_own_scripts_run(tmp_path):
    page = full_report(tmp_path / "report.html", n=2000).read_text(encoding="utf-8")
    assert "default-src 'none'; script-src 'sha256-" in page
    assert not re.search(r"(src|href)=|url\(|@import", text_of(page))
    assert "://" not in text_of(page)


@pytest.mark.parametrize("n_tasks", [6, 1500])
def test_plotly_accepts_every_figure(n_tasks):
    drawn = figures_of(render(samples.comparison(n_tasks=n_tasks)))
    assert set(drawn) == {"cumulative", "calibration"}
    for figure in drawn.values():
        plotly.graph_objects.Figure(json.loads(re.sub(r'"--[a-z0-9-]+"', '"#123456"', json.dumps(figure))))


def test_it_says_the_verdict_and_names_the_tasks():
    comparison = samples.comparison(n=30_000, n_tasks=200, n_odd=12)
    page = render(comparison, title="Flights", reading=samples.reading())
    result = verdict(comparison.traces["half-shared"], comparison.traces["independent"])
    actual = verdict(comparison.traces["half-shared"], comparison.traces["pooled"])
    best = replace(actual, name="half-shared", against="one model for all tasks")
    headline, remarks = conclusion(best, replace(result, name="half-shared"))
    assert page.split('<p class="lead">')[1].split("</p>")[0] == prose(headline)
    assert f"<p>{prose(' '.join(remarks))}</p>" in page
    assert "One model for all tasks is the best of the baselines." in page
    assert page.index('id="learners"') < page.index('id="sizes"') < page.index('id="time"')
    assert "51 to 300" in page.split('id="sizes"')[1]
    assert "base rate of yes" in page
    assert all(f"<bdi>{task}</bdi>" in page for task in result.hurt + result.helped)
    assert "<h1>Flights</h1>" in page
    assert "always 2013" in page
    assert "&#x27;NA&#x27; is not a number" in page
    assert 'id="sharing"' not in page


def test_weights_are_ordered_by_what_they_move_and_the_intercept_comes_last():
    """Of a rare label the intercept is the largest weight, and a column in small units has a large weight."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"tons": rng.normal(0, 0.1, 3000), "metres": rng.normal(0, 1, 3000)})
    chance = 1 / (1 + np.exp(4 - frame["metres"] - 5 * frame["tons"]))
    model = ct.MultitaskLogistic(ct.Pooled(), fit_intercept=True, scale="none", step=1.0)
    comparison = ct.compare({"all": model}, frame, rng.random(3000) < chance, task=rng.integers(3, size=3000))
    spread = comparison.spread["all"]
    assert spread.tolist() == pytest.approx([*frame.std(ddof=0), 0.0])
    assert [weight.name for weight in model.largest_weights()][-1] == "metres"
    moving = model.largest_weights(spread=spread)
    assert [weight.name for weight in moving] == ["metres", "tons"]
    assert [weight.moves[0] for weight in moving] == [weight.shared * weight.spread for weight in moving]
    assert [weight.name for weight in listed_weights(model)][-1] == "constant"
    drawn = figures_of(render(comparison, learner="all"))["feature-weights"]["data"][0]
    assert drawn["customdata"] == ["metres", "tons"]
    assert drawn["x"] == pytest.approx([weight.moves[0] for weight in moving], rel=1e-3)
    assert "how far a standard deviation of the feature moves the margin" in text_of(render(comparison, learner="all"))


@pytest.mark.slow
def test_almost_nothing_to_say(chromium, tmp_path):
    with chromium.page() as page:
        for sizes in ({"n": 0, "n_tasks": 1, "n_odd": 0}, {"n": 1, "n_tasks": 3}, {"n": 50, "n_tasks": 1}):
            path = full_report(tmp_path / "report.html", **sizes)
            assert "nan" not in text_of(path.read_text(encoding="utf-8")).lower()
            page.open(path)
            assert page.errors == []


def test_the_same_comparison_gives_the_same_page_and_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    one, other = (full_report(tmp_path / name, n=200) for name in ("a.html", "b.html"))
    before = one.read_bytes()
    assert before == other.read_bytes()
    with pytest.raises(FileNotFoundError, match=r"could not be written.*nowhere/report\.html"):
        full_report(tmp_path / "nowhere" / "report.html", n=200)
    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match=r"the report could not be written: No space left on device: .*a.html"):
        full_report(one, n=300)
    assert one.read_bytes() == before
    assert sorted(tmp_path.iterdir()) == [one, other]
