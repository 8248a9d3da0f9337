"""Shrunken means: equal to their definition, and as sure as they say."""

from __future__ import annotations

import numpy as np
import pytest

import coterie as ct
from coterie import datasets
from coterie.evaluation.costs import losses
from coterie.evaluation.shrunken import group_means, shrink
from reference import shrunken as reference


def drawn(rng, groups, mu, tau, most=60):
    """Values of groups whose true means are normal around mu, and these."""
    truth = rng.normal(mu, tau, groups)
    group = np.repeat(np.arange(groups), rng.integers(1, most, groups))
    return truth, group, truth[group] + rng.normal(0, 0.5, len(group))


@pytest.mark.parametrize(("groups", "tau"), [(2, 0.3), (5, 0.0), (7, 0.4), (30, 0.2)])
def test_it_is_the_literal_posterior(groups, tau):
    _, group, values = drawn(np.random.default_rng(groups), groups, 0.1, tau)
    means = group_means(values, group, groups)
    np.testing.assert_allclose(means.mean, [values[group == g].mean() for g in range(groups)], rtol=1e-12)
    np.testing.assert_allclose(means.error, reference.standard_errors(values, group, groups), rtol=1e-12)
    found = shrink(means.mean, means.error)
    (mu, deviation), each = reference.posterior(means.mean, means.error, 2 * float(np.ptp(means.mean)), 2000)
    close = 0.02  # a sum over 41 values of tau, as far as the likelihood goes, against one over 2,000
    np.testing.assert_allclose((found.mu, found.deviation), (mu, deviation), atol=close * deviation)
    np.testing.assert_allclose(found.value, [value for value, _ in each], atol=close * deviation)
    np.testing.assert_allclose(found.spread, [spread for _, spread in each], rtol=close)


def test_coin_flips_are_not_called():
    rng = np.random.default_rng(0)
    shares = []
    for _ in range(100):
        _, group, values = drawn(rng, 100, 0.0, 0.0)
        low, high = shrink(*group_means(values, group, 100)[1:]).intervals(0.95)
        shares.append(float(((low > 0) | (high < 0)).mean()))
    assert np.mean(shares) < 0.01
    assert np.count_nonzero(shares) <= 10


@pytest.mark.parametrize(("groups", "times"), [(4, 200), (200, 40)])
@pytest.mark.parametrize("mu", [0.0, 0.05])
def test_signs_that_are_called_are_right_and_intervals_cover(groups, times, mu):
    rng = np.random.default_rng(groups)
    calls = wrong = 0
    inside, of_mu = [], []
    for _ in range(times):
        truth, group, values = drawn(rng, groups, mu, 0.15)
        found = shrink(*group_means(values, group, groups)[1:])
        low, high = found.intervals(0.95)
        calls += int(((low > 0) | (high < 0)).sum())
        wrong += int((((low > 0) & (truth <= 0)) | ((high < 0) & (truth >= 0))).sum())
        inside.append(float(((low < truth) & (truth < high)).mean()))
        least, most = found.interval(0.95)
        of_mu.append(least < mu < most)
    assert calls > 0.1 * times * groups
    assert wrong <= 0.05 * calls
    assert np.mean(inside) == pytest.approx(0.9, abs=0.03)
    assert np.mean(of_mu) > 0.9


def test_tasks_without_values_are_left_out():
    means = group_means(np.array([1.0, np.nan, 3.0, np.nan]), np.array([0, 0, 2, 3]), 5)
    assert means.n.tolist() == [1, 0, 1, 0, 0]
    found = shrink(means.mean, means.error)
    assert np.isnan(found.value).tolist() == np.isnan(found.spread).tolist() == [False, True, False, True, True]
    only = shrink(np.array([1.0, 3.0]), means.error[[0, 2]])
    assert (found.mu, found.tau) == (only.mu, only.tau)


def test_nothing_at_all_and_nothing_that_differs():
    nothing = shrink(np.zeros(0), np.zeros(0))
    assert np.isnan(nothing.mu)
    assert nothing.deviation == np.inf
    still = group_means(np.zeros(6), np.array([0, 0, 1, 1, 2, 2]), 3)
    found = shrink(still.mean, still.error)
    assert (found.mu, found.tau, found.spread.tolist()) == (0.0, 0.0, [0.0, 0.0, 0.0])
    assert found.intervals(0.95)[0].tolist() == [0.0, 0.0, 0.0]


def test_one_group_is_what_it_measured():
    found = shrink(np.array([0.3]), np.array([0.1]))
    assert (found.mu, found.tau) == (0.3, 0.0)
    assert found.value.tolist() == [0.3]
    np.testing.assert_allclose((found.deviation, found.spread[0]), 0.1)


def test_a_few_equal_values_do_not_pass_for_certainty():
    means = group_means(np.ones(2), np.zeros(2, np.int64), 1)
    assert shrink(means.mean, means.error).intervals(0.95)[0][0] < 0


def test_a_task_of_few_values_keeps_less_of_what_it_measured():
    found = shrink(np.array([0.0, 0.0, 0.1, -0.1, 1.0, 1.0]), np.array([0.05, 0.05, 0.05, 0.05, 0.1, 1.0]))
    assert found.value[4] > 0.8
    assert found.value[5] < 0.6


@pytest.mark.data
def test_tasks_called_on_one_half_of_a_real_stream_gain_on_the_other():
    data = datasets.load("school")
    order = np.random.default_rng(0).permutation(len(data))[:6000]
    X, y, task = data.X[order], data.y[order], np.asarray(data.task)[order]
    traces = ct.compare({"together": ct.AdaptiveSharingClassifier()}, X, y, task=task).traces
    gains = losses(traces["independent"]) - losses(traces["together"])
    of_task = traces["together"].task
    first = np.zeros(len(gains), bool)
    first[np.argsort(of_task, kind="stable")[::2]] = True
    low, _ = shrink(*group_means(gains[first], of_task[first], 139)[1:]).intervals(0.95)
    other = group_means(gains[~first], of_task[~first], 139)
    called = (low > 0) & (other.n > 0)
    assert called.sum() > 70
    found = shrink(other.mean[called], other.error[called])
    assert found.interval(0.95)[0] > 0
    assert (found.intervals(0.95)[1] < 0).sum() == 0
