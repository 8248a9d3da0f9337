"""Expert weighting by losses over all tasks and on each task, and online stacking of the experts' margins.

On top lies a logistic regression, learned online, on the experts' margins and on their mixture. With x those S + 1
numbers, y the label, and a Gaussian of mean m and covariance P over the factors of x, a round is

    f = m · x,    q = x'Px,    tau = 1 / (1 + exp(y f + tau q)),    m += tau y P x,    P⁻¹ += tau (1 - tau) x x':

m becomes the minimum of ln(1 + exp(-y m · x)) and of half the squared distance from where it was, in the metric P⁻¹,
which then gains the curvature there. Because tau is the slope at the end of the step and not at its start, steps do not
overshoot, even for large margins. A record of weight w has w times the loss,

    tau = 1 / (1 + exp(y f + w tau q)),    m += w tau y P x,    P⁻¹ += w tau (1 - tau) x x',

and w times the 0/1 losses. An expert with the margin NaN has stopped, and has no weight.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from coterie._compiled.core.checks import MOST_ROUNDS, require_finite, require_rows, require_shape, require_within
from coterie._compiled.core.generic import compiled, no_refcount, no_refcount_noinline

from .gaussian import multiply


class Losses(NamedTuple):
    """Sums of the 0/1 losses of S experts: over all tasks (S,), and of each task (K, S). A zero margin counts half."""

    overall: Any
    tasks: Any

    def check(self, experts: int, tasks: int) -> None:
        """Raise ValueError for losses of wrong shape, or that are invalid."""
        require_shape("losses of experts", self.overall, experts)
        require_shape("losses of tasks", self.tasks, len(self.tasks), experts)
        require_rows("losses of tasks", self.tasks, tasks)
        for losses in self:
            require_within("losses", losses, 0, MOST_ROUNDS)


class Stacker(NamedTuple):
    """The stacker that combines experts: a normal distribution of the weights of their margins and of the average.

    With a zero covariance the weights are fixed, and the margin is that of the mean.
    """

    mean: Any
    covariance: Any

    def check(self, experts: int) -> None:
        """Raise ValueError for weights of wrong shape, or that are not finite."""
        require_shape("mean of the last step", self.mean, experts + 1)
        require_shape("covariance of the last step", self.covariance, experts + 1, experts + 1)
        for numbers in self:
            require_finite("the last step", numbers)


#: Variance of the factors of the last step before the first round; from 1/30 to 1 makes little difference.
UNSURE = 0.1


def first_layer(experts: int, unsure: float = UNSURE) -> Stacker:
    """Return the initial stacker, which returns the average; it is never updated if ``unsure`` is 0."""
    return Stacker(np.append(np.zeros(experts), 1.0), np.eye(experts + 1) * unsure)


class Work(NamedTuple):
    """Working arrays of a round: margins and weights of S experts (S,), and inputs of the stacker (S + 1,)."""

    experts: Any
    weights: Any
    inputs: Any
    moved: Any


def allocate_work(experts: int) -> Work:
    """Allocate the working arrays for this many experts."""
    return Work(*(np.zeros(size) for size in (experts, experts, experts + 1, experts + 1)))


@no_refcount
def combine(factors, margins, experts):
    """Compute the margins of S experts (S, n): sums of the margins of m learners (m, n) with these coefficients."""
    for a in range(factors.shape[0]):
        for m in range(factors.shape[1]):
            # a factor of 0 must not turn the NaN of a learner that has left into that of an expert
            if factors[a, m] != 0.0:
                for t in range(margins.shape[1]):
                    experts[a, t] += factors[a, m] * margins[m, t]


@no_refcount
def rate_of(overall):
    """Return the rate eta = min(1, sqrt(2 ln S / (1 + min L))) of the expert weights, for S losses L."""
    fewest = np.inf
    for a in range(overall.size):
        fewest = min(fewest, overall[a])
    # exponential weights with the rate of the least loss so far, which needs no horizon
    return min(1.0, math.sqrt(2.0 * math.log(overall.size) / (1.0 + fewest)))


@no_refcount
def finite(margin):
    """Replace a NaN margin by 0."""
    # NaN is the one number that differs from itself
    return margin if margin == margin else 0.0


@no_refcount
def weigh(overall, own, local, margins, weights):
    """Compute the weights of experts from their losses over all tasks (``overall``) and on the task (``own``).

    Experts with a NaN margin get 0.
    """
    eta = rate_of(overall)
    least = np.inf
    for a in range(overall.size):
        weights[a] = eta * overall[a] + local * own[a]
        # an expert that has left must not be the one that the others are measured by
        if margins[a] == margins[a]:
            least = min(least, weights[a])
    total = 0.0
    # the least exponent is subtracted, so that not all weights become zero
    for a in range(overall.size):
        weights[a] = math.exp(least - weights[a]) if margins[a] == margins[a] else 0.0
        total += weights[a]
    for a in range(overall.size):
        weights[a] /= total


@no_refcount
def _note_experts(margins, t, work):
    for a in range(work.experts.size):
        work.experts[a] = margins[a, t]


@no_refcount_noinline
def stack_inputs(losses, layer, local, i, work):
    """Write the experts' margins and their weighted average as the inputs of the stacker; return its margin."""
    weigh(losses.overall, losses.tasks[i], local, work.experts, work.weights)
    last = work.weights.size
    mixed = 0.0
    for a in range(last):
        # 0 instead of NaN, for 0 times a weight of 0 is 0 and NaN times it is not
        work.inputs[a] = finite(work.experts[a])
        mixed += work.weights[a] * work.inputs[a]
    work.inputs[last] = mixed
    return _margin(layer, work)


@no_refcount
def _margin(layer, work):
    margin = 0.0
    for a in range(work.inputs.size):
        margin += layer.mean[a] * work.inputs[a]
    return margin


@no_refcount
def slope_after(signed_margin, q):
    """Return the tau for which tau = 1 / (1 + exp(signed_margin + tau q)), the implicit step of the logistic loss.

    u = signed_margin + tau q is the root of u - signed_margin - q / (1 + e^u). Newton's steps reach it; one that would
    leave the bracket of the root becomes a halving of it. A step's error is about the square of the one before, so that
    the last, below 1e-9, is exact.
    """
    # tau is between 0 and 1, so the root is between signed_margin and signed_margin + q
    low, high = signed_margin, signed_margin + q
    u = signed_margin
    for _ in range(200):
        # exp(700) is finite, exp(710) is not
        tau = 1.0 / (1.0 + math.exp(min(u, 700.0)))
        excess = u - signed_margin - q * tau
        if excess > 0.0:
            high = u
        else:
            low = u
        # Newton's step for u - signed_margin - q tau(u), whose slope is 1 + q tau (1 - tau)
        newton = excess / (1.0 + q * tau * (1.0 - tau))
        following = u - newton
        if abs(newton) <= 1e-9 + 1e-15 * abs(u):
            # tau at u - newton to first order: its derivative is -tau (1 - tau)
            return tau * (1.0 + (1.0 - tau) * newton)
        # the bracket catches steps that overshoot where the sigmoid is flat
        u = following if low < following < high else 0.5 * (low + high)
    return 1.0 / (1.0 + math.exp(min(u, 700.0)))


@no_refcount
def correct(layer, y, weight, work):
    """Update the stacker by a label y with this sample weight, for the latest inputs."""
    inputs, moved, size = work.inputs, work.moved, work.inputs.size
    margin = _margin(layer, work)
    q = multiply(layer, size, inputs, moved)
    # q = 0 without a variance to learn by, infinite or NaN after margins that overflow
    if not 0.0 < q < np.inf:
        return
    tau = slope_after(y * margin, weight * q)
    curvature = weight * tau * (1.0 - tau)
    # Sherman-Morrison on P⁻¹ += curvature x x': P -= (P x)(P x)' curvature / (1 + curvature q)
    shrunk = math.sqrt(curvature / (1.0 + curvature * q))
    for a in range(size):
        layer.mean[a] += weight * tau * y * moved[a]
        # the root of the factor on each side, so that P stays symmetric to the last bit
        moved[a] *= shrunk
    for a in range(size):
        if moved[a] != 0.0:
            for b in range(size):
                layer.covariance[a, b] -= moved[a] * moved[b]


@no_refcount
def charge(losses, i, y, weight, work):
    """Add the 0/1 losses of the experts on a record of task i with label y, times the sample weight."""
    for a in range(losses.overall.size):
        # a NaN compares false twice: an expert that has left is charged nothing
        signed_margin = y * work.experts[a]
        # an expert without an opinion loses as much as one that guesses
        loss = weight * (1.0 if signed_margin < 0.0 else (0.5 if signed_margin == 0.0 else 0.0))
        losses.overall[a] += loss
        losses.tasks[i, a] += loss


@compiled
def blend(losses, layer, local, tasks, margins, mixed, work):
    """Combine the experts' margins (S, n) of n records with the stacker, without learning.

    An unknown task has the number -1.
    """
    # a task without labels has no losses of its own: only those over all tasks count
    unknown = Losses(losses.overall, np.zeros((1, losses.overall.size)))
    for t in range(tasks.size):
        _note_experts(margins, t, work)
        if tasks[t] >= 0:
            mixed[t] = stack_inputs(losses, layer, local, tasks[t], work)
        else:
            mixed[t] = stack_inputs(unknown, layer, local, 0, work)


@compiled
def mix(losses, layer, local, tasks, y, weights, predictions, judged, last, mixed, own, work):
    """Combine and learn the first ``last`` records.

    Record s is learned after record s + tasks.size - last was predicted.

    ``predictions`` (S, n) are the experts' earlier margins, ``judged`` (S, n) those from which their losses are
    computed.
    """
    delay = tasks.size - last
    for s in range(last):
        _note_experts(predictions, s + delay, work)
        # before record s is learned, as it would have been online
        mixed[s + delay] = stack_inputs(losses, layer, local, tasks[s + delay], work)
        own[s] = mixed[s]
        # inputs are overwritten: those of record s must be current when the factors learn
        if delay > 0:
            _note_experts(judged, s, work)
            own[s] = stack_inputs(losses, layer, local, tasks[s], work)
        if weights[s] != 0.0:
            correct(layer, y[s], weights[s], work)
            charge(losses, tasks[s], y[s], weights[s], work)
