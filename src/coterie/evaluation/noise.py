r"""How far a task's mean gain may be from what it would be without chance: intervals, and tests of its sign.

Both predictions of a round are known before its label. What is left to chance is the label, so that the noise of a
gain follows from the predictions alone: a task of two records has the noise that such records have, and not none
because both labels came out alike. Let g be a round's gain, G the sum of n of them.

**Two labels.** With either label the gain is known, g₊ and g₋; let D = g₊ - g₋, and p the learner's probability of the
positive label. The variance of g is p (1 - p) D², its third moment p (1 - p) (1 - 2p) D³. Where labels surprise the
learner by more than it says, on average over the tasks of a class of size, variances are raised by as much, and third
moments by the square of it, for heavier tails.

The sign is tested without the learner's word: were neither learner better, the positive label would have the
probability -g₋ / D, for then the gain is 0 on average. Its variance is -g₊ g₋ and its third moment -g₊ g₋ (g₊ + g₋).

**Numbers** y, predicted as f by the learner and b by the other: g = (b - f) (b + f - 2y) has the variance
4 (b - f)² σ², where σ² is the task's mean squared residual (that of the better of both), drawn to the median task's
with the weight of five records. The tails are Student's with n + 5 degrees of freedom.

**Many classes**: the probabilities of all of them are not kept, so the noise is taken from the gains, E g² and E g³,
drawn to the mean of the tasks of the class of size with the weight of ten records.

**Without probabilities** only rounds on which the predictions differ count, d of them. A round that is won counts 1,
one that neither or both have right ½; their sum is binomial with ½ if neither learner is better, and Clopper and
Pearson's interval for its share is that of the gain.

**Tails.** With few labels of one kind the noise is skewed. A tail is that of the normal distribution or of the shifted
gamma distribution (Pearson's type III) of the same skewness, whichever is heavier: the gamma's short tail ends where
the true one may go on.
"""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from coterie.types import Floats, Ints

    from .tally import Tally


#: The numbers of records up to which tasks are of one class of size; the last class has no end.
SIZES = (2, 10, 50, 300)
#: So many records' worth of the median task's residuals, and of the gains in its class of size, goes into a task's.
_RESIDUALS, _GAINS = 5, 10
#: Skewness below which the normal distribution is as good.
_STRAIGHT = 1e-4


class Judged(NamedTuple):
    """The interval of each task's gain, and tests of its sign; nan where it has no rounds.

    Attributes
    ----------
    low, high : ndarray, shape (K,)
        The interval.
    helped, hurt : ndarray, shape (K,)
        The probability of a gain as large (small) as was seen, were neither learner the better.
    """

    low: Floats
    high: Floats
    helped: Floats
    hurt: Floats


class OfLabels(NamedTuple):
    """The noise of gains in log loss where there are two labels.

    Attributes
    ----------
    variance, third : ndarray, shape (K,)
        Sums of the second and third central moments of gains by the learner's probabilities.
    surprise : ndarray, shape (K,)
        The sum of squared differences of the gains from what they should have been by these.
    even, even_third : ndarray, shape (K,)
        As ``variance`` and ``third`` were neither learner the better.
    """

    variance: Floats
    third: Floats
    surprise: Floats
    even: Floats
    even_third: Floats

    @classmethod
    def of(
        cls, positive: Floats, negative: Floats, probability: Floats, gain: Floats, task: Ints, tasks: int
    ) -> OfLabels:
        """The sums of rounds with these gains by label and these probabilities; rounds with nan count nothing."""
        apart, chance = positive - negative, probability * (1.0 - probability)
        even = np.maximum(-positive * negative, 0.0)
        rounds = (
            chance * apart**2,
            chance * (1.0 - 2.0 * probability) * apart**3,
            (gain - negative - probability * apart) ** 2,
            even,
            even * (positive + negative),
        )
        return cls(*(_sums(each, task, tasks) for each in rounds))

    def judged(self, gains: Tally, confidence: float) -> Judged:
        """Judge tasks with these gains; O(K) time."""
        size = class_of_size(gains.n)
        seen, told = (_sums(each, size, len(SIZES) + 1)[size] for each in (self.surprise, self.variance))
        raised = np.maximum(_ratio(seen, told), 1.0)
        low, high = _interval(gains, raised * self.variance, raised * raised * self.third, confidence)
        return Judged(low, high, *_signs(gains, self.even, self.even_third))


class OfClasses(NamedTuple):
    """The noise of gains in log loss where there are many classes.

    Attributes
    ----------
    squares, cubes : ndarray, shape (K,)
        Sums of the squares and of the cubes of gains.
    """

    squares: Floats
    cubes: Floats

    @classmethod
    def of(cls, gain: Floats, task: Ints, tasks: int) -> OfClasses:
        """The sums of rounds with these gains."""
        return cls(_sums(gain**2, task, tasks), _sums(gain**3, task, tasks))

    def judged(self, gains: Tally, confidence: float) -> Judged:
        """Judge tasks with these gains; O(K) time."""
        size, classes = class_of_size(gains.n), len(SIZES) + 1
        rounds = _sums(gains.n.astype(np.float64), size, classes)
        part = gains.n / np.maximum(gains.n + _GAINS, 1)
        variance, third = (
            part * (each + _GAINS * _ratio(_sums(each, size, classes), rounds)[size])
            for each in (self.squares, self.cubes)
        )
        return Judged(*_interval(gains, variance, third, confidence), *_signs(gains, variance, third))


class OfNumbers(NamedTuple):
    """The noise of gains in squared error of numbers.

    Attributes
    ----------
    apart : ndarray, shape (K,)
        The sum of the squared differences of both predictions, times four.
    residuals, residuals_against : ndarray, shape (K,)
        The sums of squared residuals of the learner and of the other.
    """

    apart: Floats
    residuals: Floats
    residuals_against: Floats

    @classmethod
    def of(cls, ours: Floats, theirs: Floats, task: Ints, tasks: int) -> OfNumbers:
        """The sums of rounds with these residuals."""
        return cls(*(_sums(each, task, tasks) for each in (4.0 * (ours - theirs) ** 2, ours**2, theirs**2)))

    def judged(self, gains: Tally, confidence: float) -> Judged:
        """Judge tasks with these gains; O(K) time."""
        from scipy.special import stdtr, stdtrit

        n, some = gains.n, np.maximum(gains.n, 1)
        residuals = np.minimum(self.residuals, self.residuals_against)
        usual = float(np.median((residuals / some)[n > 0])) if (n > 0).any() else 0.0
        noise = (residuals + _RESIDUALS * usual) / (some + _RESIDUALS)
        error, freedom = np.sqrt(self.apart * noise) / some, some + _RESIDUALS
        mean, half = gains.means, stdtrit(freedom, (1.0 + confidence) / 2.0) * error
        far = _ratio(mean, error)
        return Judged(mean - half, mean + half, stdtr(freedom, -far), stdtr(freedom, far))


class OfPredictions(NamedTuple):
    """The noise of gains in errors, where there are no probabilities.

    Attributes
    ----------
    differ : ndarray, shape (K,)
        The number of rounds on which the predictions differ.
    """

    differ: Floats

    @classmethod
    def of(cls, differ: NDArray[np.bool_], task: Ints, tasks: int) -> OfPredictions:
        """The sums of rounds on which predictions differ or not."""
        return cls(_sums(differ.astype(np.float64), task, tasks))

    def judged(self, gains: Tally, confidence: float) -> Judged:
        """Judge tasks with these gains; O(K) time."""
        from scipy.special import betainc, betaincinv

        differ, left = self.differ, (1.0 - confidence) / 2.0
        won = (differ + gains.total) / 2.0
        lost = differ - won
        share = np.where(differ > 0, differ / np.maximum(gains.n, 1), 0.0)
        least = np.where(won > 0, betaincinv(np.maximum(won, 0.5), lost + 1.0, left), 0.0)
        most = np.where(lost > 0, betaincinv(won + 1.0, np.maximum(lost, 0.5), 1.0 - left), 1.0)
        low, high = (np.where(gains.n > 0, share * (2.0 * each - 1.0), np.nan) for each in (least, most))
        helped, hurt = (
            np.where(one > 0, betainc(np.maximum(one, 0.5), other + 1.0, 0.5), 1.0)
            for one, other in ((won, lost), (lost, won))
        )
        return Judged(low, high, helped, hurt)


#: Sums over the rounds of each of K tasks, from which the noise of gains follows.
Noise = OfLabels | OfClasses | OfNumbers | OfPredictions
#: The kinds of noise by their names in files.
KINDS: dict[str, type[Noise]] = {
    "labels": OfLabels,
    "classes": OfClasses,
    "numbers": OfNumbers,
    "predictions": OfPredictions,
}


@singledispatch
def noise_of(trace: Any, against: Any, gain: Floats, scale: float, task: Ints, tasks: int) -> Noise:
    """The noise of the gains of a trace over another, both of which have losses; gains and noise divided by ``scale``.

    For many classes see :mod:`coterie.evaluation.many`, for numbers :mod:`coterie.evaluation.amounts`.
    """
    from .costs import log_losses

    ours, theirs = trace.probability, against.probability
    positive, negative = (
        (log_losses(its) - log_losses(mine)) / scale for mine, its in ((ours, theirs), (1.0 - ours, 1.0 - theirs))
    )
    return OfLabels.of(positive, negative, ours, gain, task, tasks)


def kind_of(noise: Noise) -> str:
    """The name in files of a kind of noise."""
    return next(name for name, kind in KINDS.items() if type(noise) is kind)


def class_of_size(n: ArrayLike) -> Ints:
    """The class of size of tasks with so many records, from 0.

    >>> class_of_size([1, 2, 3, 300, 301]).tolist()
    [0, 0, 1, 3, 4]
    """
    return np.searchsorted(SIZES, n, side="left")


def discoveries(p: Floats, rate: float) -> NDArray[np.bool_]:
    """Flags of the tests that are called, so that of those called a share of ``rate`` at most is expected to be wrong.

    By Y. Benjamini and Y. Hochberg, "Controlling the false discovery rate", J. R. Statist. Soc. B 57, 1995, 289-300.

    Parameters
    ----------
    p : ndarray, shape (K,)
        The p-value of each test; nan is none.
    rate : float
        The share.

    Examples
    --------
    >>> discoveries(np.array([0.001, 0.04, 0.02, np.nan, 0.9]), 0.05).tolist()
    [True, False, True, False, False]
    """
    defined = np.flatnonzero(~np.isnan(p))
    order = defined[np.argsort(p[defined], kind="stable")]
    below = np.flatnonzero(p[order] <= rate * np.arange(1, len(order) + 1) / max(len(order), 1))
    called = np.zeros(len(p), bool)
    called[order[: below[-1] + 1 if len(below) else 0]] = True
    return called


def heavier_tail(far: Floats, skewness: Floats) -> Floats:
    """The probability of noise beyond ``far`` standard deviations.

    >>> heavier_tail(np.array([2.0, 2.0, 2.0]), np.array([0.0, 1.0, -1.0])).round(3).tolist()
    [0.023, 0.042, 0.023]
    """
    from scipy.special import gammainc, gammaincc, ndtr

    shape, root = _shape(skewness)
    skewed = np.where(
        skewness > 0,
        gammaincc(shape, np.maximum(shape + far * root, 0.0)),
        gammainc(shape, np.maximum(shape - far * root, 0.0)),
    )
    normal = ndtr(-far)
    return np.where(np.abs(skewness) < _STRAIGHT, normal, np.maximum(normal, skewed))


def farther_quantile(left: float, skewness: Floats) -> Floats:
    """So many standard deviations as noise exceeds with the probability ``left``, at most.

    >>> farther_quantile(0.025, np.array([0.0, 1.0, -1.0])).round(2).tolist()
    [1.96, 2.38, 1.96]
    """
    from scipy.special import gammainccinv, gammaincinv, ndtri

    shape, root = _shape(skewness)
    skewed = np.where(skewness > 0, gammainccinv(shape, left) - shape, shape - gammaincinv(shape, left)) / root
    normal = -ndtri(left)
    return np.where(np.abs(skewness) < _STRAIGHT, normal, np.maximum(normal, skewed))


def _shape(skewness: Floats) -> tuple[Floats, Floats]:
    """The shape of the gamma distribution of this skewness, and its standard deviation."""
    shape = 4.0 / np.maximum(skewness, _STRAIGHT, where=skewness > 0, out=np.maximum(-skewness, _STRAIGHT)) ** 2
    return shape, np.sqrt(shape)


def _interval(gains: Tally, variance: Floats, third: Floats, confidence: float) -> tuple[Floats, Floats]:
    """The interval of mean gains, of whose sums these are the central moments."""
    left, mean = (1.0 - confidence) / 2.0, gains.means
    error, skewness = np.sqrt(variance) / np.maximum(gains.n, 1), _ratio(third, variance**1.5)
    return mean - farther_quantile(left, skewness) * error, mean + farther_quantile(left, -skewness) * error


def _signs(gains: Tally, variance: Floats, third: Floats) -> tuple[Floats, Floats]:
    """The probabilities of sums as large, and as small, of gains with these central moments around 0."""
    far, skewness = _ratio(gains.total, np.sqrt(variance)), _ratio(third, variance**1.5)
    helped, hurt = heavier_tail(far, skewness), heavier_tail(-far, -skewness)
    return np.where(gains.n > 0, helped, np.nan), np.where(gains.n > 0, hurt, np.nan)


def _sums(values: Floats, task: Ints, tasks: int) -> Floats:
    """The sum of each task's values; nan counts nothing."""
    return np.bincount(task, np.where(np.isnan(values), 0.0, values), tasks).astype(np.float64)


def _ratio(one: Floats, other: Floats) -> Floats:
    """One by the other, 0 where that is 0."""
    return np.divide(one, other, out=np.zeros(np.shape(one)), where=other > 0)
