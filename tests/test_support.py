"""Support vectors in a trace and in the report: whose there were, round by round."""

import json
import re

import numpy as np
import plotly.graph_objects
import pytest

import coterie as ct
from coterie.evaluation.support import support_curve
from coterie.report import render

RNG = np.random.default_rng(0)
X, TASK = RNG.normal(size=(900, 3)), RNG.integers(8, size=900)
Y = (X**2).sum(axis=1) > 2.4
BUDGETS = [
    None,
    ct.budgets.RandomRemoval(40),
    ct.budgets.Forgetron(40),
    ct.budgets.Projection(40),
    ct.budgets.SharedProjection(40),
]


@pytest.mark.parametrize("delay", [0, 5])
@pytest.mark.parametrize("budget", BUDGETS)
def test_a_trace_tells_whose_support_vectors_came_and_left(budget, delay):
    model = ct.geometries.MultitaskKernelPerceptron(ct.kernels.Gaussian(1.0), budget=budget)
    trace = ct.progressive_validation(model, X, Y, task=TASK, delay=delay)
    assert trace.stored.sum() - (trace.evicted >= 0).sum() == model.n_support_
    assert (trace.evicted >= 0).sum() == model.evictions_
    assert trace.stored[model.support_rounds_].all()
    curve = support_curve(trace, most=3, points=50)
    assert curve.evicted[-1] == model.evictions_
    shown = [trace.tasks[i] for i in curve.tasks]
    assert curve.held[-1, :3].tolist() == [model.support_tasks_.count(task) for task in shown]
    assert curve.held.sum(axis=1).tolist() == [
        int(trace.stored[:n].sum() - (trace.evicted[:n] >= 0).sum()) for n in curve.rounds
    ]


def test_going_on_counts_what_leaves_of_tasks_that_do_not_come_again():
    model = ct.geometries.MultitaskKernelPerceptron(budget=ct.budgets.RandomRemoval(10))
    ct.progressive_validation(model, X[:300], Y[:300], task=["before"] * 300)
    trace = ct.progressive_validation(model, X[300:], Y[300:], task=TASK[300:])
    assert (trace.evicted == -2).sum() == 10
    assert support_curve(trace).held[-1].sum() == 0


def test_learners_of_weights_have_none():
    trace = ct.progressive_validation(ct.MultitaskPerceptron(), X, Y, task=TASK)
    assert trace.stored is None
    with pytest.raises(ValueError, match="no support vectors"):
        support_curve(trace)


def test_the_report_shows_them():
    models = {
        "kernel": ct.geometries.MultitaskKernelPerceptron(ct.kernels.Gaussian(1.0), budget=ct.budgets.Forgetron(40))
    }
    comparison = ct.compare(models, X, Y, task=TASK)
    page = render(comparison, learner="kernel")
    drawn = json.loads(re.search(r'<script type="application/json" id="figures">(.*?)</script>', page, re.DOTALL)[1])
    figure = drawn["support-vectors"]
    assert [line["name"] for line in figure["data"]][-1] == "all others"
    assert sum(line["y"][-1] for line in figure["data"]) == 40
    assert f"40 support vectors of kernel at the end; {comparison.models['kernel'].evictions_:,} had to leave" in page
    plotly.graph_objects.Figure(json.loads(re.sub(r'"--[a-z0-9-]+"', '"#123456"', json.dumps(figure))))
