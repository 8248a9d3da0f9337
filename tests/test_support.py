"""Support vectors in a trace: whose there were, round by round."""

import numpy as np
import pytest

import coterie as ct

RNG = np.random.default_rng(0)
X, TASK = RNG.normal(size=(900, 3)), RNG.integers(8, size=900)
Y = (X**2).sum(axis=1) > 2.4
limits = ct.updates
BUDGETS = [None, limits.RandomRemoval(40), limits.Forgetron(40), limits.Projection(40), limits.SharedProjection(40)]


@pytest.mark.parametrize("delay", [0, 5])
@pytest.mark.parametrize("budget", BUDGETS)
def test_a_trace_tells_whose_support_vectors_came_and_left(budget, delay):
    model = ct.MultitaskKernelPerceptron(ct.kernels.Gaussian(1.0), budget=budget)
    trace = ct.progressive_validation(model, X, Y, task=TASK, delay=delay)
    assert trace.stored.sum() - (trace.evicted >= 0).sum() == model.n_support_
    assert (trace.evicted >= 0).sum() == model.evictions_
    assert trace.stored[model.support_rounds_].all()
    places = trace.task[trace.stored], trace.evicted[trace.evicted >= 0]
    came, left = (np.bincount(of_tasks, minlength=len(trace.tasks)) for of_tasks in places)
    assert (came - left).tolist() == [model.support_tasks_.count(task) for task in trace.tasks]


def test_going_on_counts_what_leaves_of_tasks_that_do_not_come_again():
    model = ct.MultitaskKernelPerceptron(budget=ct.updates.RandomRemoval(10))
    ct.progressive_validation(model, X[:300], Y[:300], task=["before"] * 300)
    assert (ct.progressive_validation(model, X[300:], Y[300:], task=TASK[300:]).evicted == -2).sum() == 10
