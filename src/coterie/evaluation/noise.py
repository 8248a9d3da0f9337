r"""The noise of a task's mean gain: its confidence interval, and the p-values of its sign.

Both predictions of a round are known before its label. Only the label is random, so the noise of a gain follows from
the predictions alone: a task of two records has the noise of such records, even if its two gains are equal. Let g be a
round's gain, G the sum of n of them.

**Two labels.** With either label the gain is known, g₊ and g₋; let D = g₊ - g₋, and p the learner's probability of the
positive label. The variance of g is p (1 - p) D², its third moment p (1 - p) (1 - 2p) D³. If labels differ from the
learner's probabilities more than expected, on average over the tasks of a size class, variances are multiplied by that
ratio, and third moments by its square, for heavier tails.

The sign is tested under the null hypothesis that neither learner is better. Let u > 0 be the larger of the two gains,
and -d < 0 the other. Then the gain is u with the probability d / (u + d), for only so is it 0 on average. The test
needs five sums. None of them has terms of both signs, so rare gains and rare losses of the same size do not cancel:

    V = Σ u d,   F₊ = Σ_{u>d} u d (u - d)²,   F₋ = Σ_{u<d} u d (u - d)²,   L₊ = Σ log d/(u+d),   L₋ = Σ log u/(u+d)

With z = G / √V and k = √F₊ / V the p-value of a gain is the largest of Φ(-z), of the tail of Pearson's type III
distribution of skewness k beyond z - k/2, and of exp(L₊). k is the size of one jump in standard deviations (at least
the skewness of the records that jump up, by Cauchy and Schwarz), k/2 the correction for continuity, and exp(L₊) the
probability that every record gains. For a loss: -G, F₋ and L₋.

**Numbers** y, predicted as f by the learner and b by the other: g = (b - f) (b + f - 2y) has the variance
4 (b - f)² σ², where σ² is the task's mean squared residual (that of the better of both), drawn to the median task's
with the weight of five records. The interval is Student's with n + 5 degrees of freedom. The sign is tested with
V = 4 Σ (b - f)² σ² and k = T₊ / V^1.5. Let s be the task's mean cubed residual. If s > 0, records with f > b can jump
up, and T₊ = 8 s Σ_{f>b} |b - f|³, otherwise T₊ = -8 s Σ_{f<b} |b - f|³. For a loss f and b change places. Here σ² and s
are drawn to the means over all records with the weight of twenty records, because a task may not have seen a rare large
number yet. Such a task gains in every record if the learner always predicts less. So the p-value is at least
exp(L₊), L₊ = n_< log p_< + n_> log p_>: the task has n_< records for which the learner predicts less, and n_> for which
it predicts more, and p is the probability of a gain there, were neither learner better. That is d / (u + d) as above,
with the mean u of the gains and the mean -d of the losses of all such records. For a loss: L₋ with u / (u + d).

**Many classes**: not all probabilities are stored, so the noise is estimated from the gains, E g² and E g³,
drawn to the mean of the tasks of the class of size with the weight of ten records. The sign is tested with V = Σ g²,
F₊ = Σ_{g>0} g⁴ and F₋ = Σ_{g<0} g⁴, drawn in the same way. A task may not have seen a rare class yet, and so has small
gains only. So both are also computed with the weight of 5 E g⁴ / (E g²)² records, the mean being over all gains of the
class of size; the wider interval and the larger p-value count.

**Without probabilities** only rounds on which the predictions differ count, d of them. A round that is won counts 1,
one that neither or both have right ½; their sum is binomial with ½ if neither learner is better, and Clopper and
Pearson's interval for its share is that of the gain.

**Tails of intervals.** With few labels of one kind the noise is skewed. A tail is that of the normal distribution or of
the shifted gamma distribution (Pearson's type III) of the same skewness, whichever is heavier: the gamma's short tail
ends where the true one may go on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from coterie.types import Flags

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from coterie.types import Floats, Ints

    from .confidence_intervals import Tally


#: The numbers of records up to which tasks are of one class of size; the last class has no end.
SIZES = (2, 10, 50, 300)
#: The weights, in numbers of records, of the median task's residuals and of its size class's gains as priors of a task.
_RESIDUALS, _GAINS = 5, 10
#: The weight of gains as a prior if a few large ones make the noise, in multiples of their kurtosis.
_RARE_GAINS = 5
#: The weight, in records, of the residuals of all tasks in the test of numbers.
_NULL_RESIDUALS = 20
#: Skewness below which the normal distribution is as good.
_STRAIGHT = 1e-4


class Judged(NamedTuple):
    """The confidence interval of each task's gain, and the p-values of a positive and a negative gain.

    They are nan for tasks without rounds.

    Attributes
    ----------
    low, high : ndarray, shape (K,)
        The interval.
    helped, hurt : ndarray, shape (K,)
        The p-value of the gain (of the loss): the probability of one at least as large if neither learner is better.
    """

    low: Floats
    high: Floats
    helped: Floats
    hurt: Floats


class OfLabels(NamedTuple):
    """Sums over the rounds of each task that estimate the noise of gains in log loss, for two classes.

    Attributes
    ----------
    variance, third : ndarray, shape (K,)
        Sums of the second and third central moments of gains by the learner's probabilities.
    surprise : ndarray, shape (K,)
        The sum of squared differences of the gains from their expected values by these probabilities.
    null_variance, fourth_up, fourth_down : ndarray, shape (K,)
        V, F₊ and F₋, under the null hypothesis.
    log_all_up, log_all_down : ndarray, shape (K,)
        L₊ and L₋: the logarithm of the probability that every record gains, and that every record loses.
    """

    variance: Floats
    third: Floats
    surprise: Floats
    null_variance: Floats
    fourth_up: Floats
    fourth_down: Floats
    log_all_up: Floats
    log_all_down: Floats

    @classmethod
    def from_rounds(
        cls, positive: Floats, negative: Floats, probability: Floats, gain: Floats, task: Ints, tasks: int
    ) -> OfLabels:
        """Sum up rounds by task, from the gain for either label and the probabilities; nan is skipped."""
        difference, chance = positive - negative, probability * (1.0 - probability)
        up, down = np.maximum(positive, negative), -np.minimum(positive, negative)
        # a gain of one sign for both labels cannot have mean 0, so no null distribution exists for the round
        either = (up > 0.0) & (down > 0.0)  # other rounds carry no information, such as those with equal predictions
        up, down = np.where(either, up, 1.0), np.where(either, down, 1.0)
        null_variance, jump = up * down * either, up - down
        rounds = (
            chance * difference**2,
            chance * (1.0 - 2.0 * probability) * difference**3,
            (gain - negative - probability * difference) ** 2,
            null_variance,
            null_variance * np.maximum(jump, 0.0) ** 2,
            null_variance * np.minimum(jump, 0.0) ** 2,
            np.log(down / (up + down)) * either,
            np.log(up / (up + down)) * either,
        )
        return cls(*(_sums(terms, task, tasks) for terms in rounds))

    def judged(self, gains: Tally, confidence: float) -> Judged:
        """Return the intervals and p-values of the tasks' mean gains; O(K) for K tasks."""
        size = class_of_size(gains.n)
        observed, expected = (_sums(sums, size, len(SIZES) + 1)[size] for sums in (self.surprise, self.variance))
        # overdispersion of a class of size: a single small task shows too few labels to estimate its own
        raised = np.maximum(_ratio(observed, expected), 1.0)
        # the power 2; the scale alone would give the power 3/2
        low, high = _interval(gains, raised * self.variance, raised * raised * self.third, confidence)
        floors = np.exp(self.log_all_up), np.exp(self.log_all_down)
        variance = self.null_variance
        up, down = (_ratio(np.sqrt(fourth), variance) for fourth in (self.fourth_up, self.fourth_down))
        return Judged(low, high, *map(np.maximum, _test_signs(gains, variance, up, down), floors))


class OfClasses(NamedTuple):
    """Sums over the rounds of each task that estimate the noise of gains in log loss, for many classes.

    Attributes
    ----------
    squares, cubes : ndarray, shape (K,)
        Sums of the squares and of the cubes of gains.
    fourth_up, fourth_down : ndarray, shape (K,)
        Sums of the fourth powers of positive and of negative gains.
    """

    squares: Floats
    cubes: Floats
    fourth_up: Floats
    fourth_down: Floats

    @classmethod
    def from_rounds(cls, gain: Floats, task: Ints, tasks: int) -> OfClasses:
        """Sum up the rounds' gains by task."""
        rounds = gain**2, gain**3, np.maximum(gain, 0.0) ** 4, np.minimum(gain, 0.0) ** 4
        return cls(*(_sums(terms, task, tasks) for terms in rounds))

    def judged(self, gains: Tally, confidence: float) -> Judged:
        """Return the intervals and p-values of the tasks' mean gains; O(K) for K tasks."""
        size, classes = class_of_size(gains.n), len(SIZES) + 1
        rounds = _sums(gains.n.astype(np.float64), size, classes)
        usual = OfClasses(*(_ratio(_sums(sums, size, classes), rounds)[size] for sums in self))
        kurtosis = _ratio(usual.fourth_up + usual.fourth_down, usual.squares**2)
        judged = []
        for weight in (_GAINS, _RARE_GAINS * kurtosis):
            part = gains.n / np.maximum(gains.n + weight, 1)
            variance, third, *fourths = (part * (sums + weight * mean) for sums, mean in zip(self, usual, strict=True))
            jumps = (_ratio(np.sqrt(fourth), variance) for fourth in fourths)
            judged.append(Judged(*_interval(gains, variance, third, confidence), *_test_signs(gains, variance, *jumps)))
        one, other = judged
        return Judged(np.minimum(one.low, other.low), *map(np.maximum, one[1:], other[1:]))


class OfNumbers(NamedTuple):
    """Sums over the rounds of each task that estimate the noise of gains in squared error, for regression.

    Attributes
    ----------
    squares : ndarray, shape (K,)
        The sum of the squared differences of both predictions, times four.
    residuals, residuals_against : ndarray, shape (K,)
        The sums of squared residuals of the learner and of the other.
    cubes_below, cubes_above : ndarray, shape (K,)
        Sums of the cubes of the distances of both predictions, times 8: of records for which the learner predicts less
        than the other, and of those for which it predicts more.
    cubes, cubes_against : ndarray, shape (K,)
        Sums of the cubes of the residuals of the learner and of the other.
    gains_below, losses_below, up_below, down_below : ndarray, shape (K,)
        For records for which the learner predicts less: the numbers and the sums of gains and of losses.
    gains_above, losses_above, up_above, down_above : ndarray, shape (K,)
        The same for records for which it predicts more.
    """

    squares: Floats
    residuals: Floats
    residuals_against: Floats
    cubes_below: Floats
    cubes_above: Floats
    cubes: Floats
    cubes_against: Floats
    gains_below: Floats
    losses_below: Floats
    up_below: Floats
    down_below: Floats
    gains_above: Floats
    losses_above: Floats
    up_above: Floats
    down_above: Floats

    @classmethod
    def from_rounds(cls, ours: Floats, theirs: Floats, task: Ints, tasks: int) -> OfNumbers:
        """Sum up rounds by task, from the residuals of the learner (``ours``) and the other one (``theirs``)."""
        twice = 2.0 * (ours - theirs)  # positive if the learner predicts less
        cubes = np.maximum(twice, 0.0) ** 3, np.maximum(-twice, 0.0) ** 3, ours**3, theirs**3
        gain = theirs**2 - ours**2
        up, down = np.maximum(gain, 0.0), np.maximum(-gain, 0.0)
        both = np.sign(up), np.sign(down), up, down
        sides = [np.where(side, terms, 0.0) for side in (twice > 0.0, twice < 0.0) for terms in both]
        return cls(*(_sums(terms, task, tasks) for terms in (twice**2, ours**2, theirs**2, *cubes, *sides)))

    def judged(self, gains: Tally, confidence: float) -> Judged:
        """Return the intervals and p-values of the tasks' mean gains; O(K) for K tasks."""
        from scipy.special import stdtrit

        n, at_least_one = gains.n, np.maximum(gains.n, 1)
        # the residuals of the better one are nearer to the noise of y: the other's contain its bias too
        residuals = np.minimum(self.residuals, self.residuals_against)
        usual = float(np.median((residuals / at_least_one)[n > 0])) if (n > 0).any() else 0.0
        # the median, because few tasks with huge residuals would widen the intervals of all others
        noise = (residuals + _RESIDUALS * usual) / (at_least_one + _RESIDUALS)
        error, freedom = np.sqrt(self.squares * noise) / at_least_one, at_least_one + _RESIDUALS
        mean, half = gains.means, stdtrit(freedom, (1.0 + confidence) / 2.0) * error
        cubes = np.where(self.residuals <= self.residuals_against, self.cubes, self.cubes_against)
        # under the null hypothesis use the mean over records, because a median would miss rare jumps
        square, cube = (
            (sums + _NULL_RESIDUALS * sums.sum() / max(n.sum(), 1)) / (n + _NULL_RESIDUALS)
            for sums in (residuals, cubes)
        )
        variance, right, left = self.squares * square, np.maximum(cube, 0.0), np.maximum(-cube, 0.0)
        up = _ratio(self.cubes_above * right + self.cubes_below * left, variance**1.5)
        down = _ratio(self.cubes_below * right + self.cubes_above * left, variance**1.5)
        floors = map(np.exp, self._logs_all_one_way())
        return Judged(mean - half, mean + half, *map(np.maximum, _test_signs(gains, variance, up, down), floors))

    def _logs_all_one_way(self) -> tuple[Floats, Floats]:
        """Return for each task the log probabilities that all its records gain, and that all lose.

        They assume that neither learner is better.
        """
        from scipy.special import xlogy

        all_up, all_down = np.zeros(len(self.squares)), np.zeros(len(self.squares))
        for gains, losses, up, down in (self[7:11], self[11:15]):
            # over all tasks, because a task in which every record gains has no loss to estimate d from
            mean_up, mean_down = (_ratio(total.sum(), n.sum()) for total, n in ((up, gains), (down, losses)))
            all_up += xlogy(gains + losses, _ratio(mean_down, mean_up + mean_down))
            all_down += xlogy(gains + losses, _ratio(mean_up, mean_up + mean_down))
        return all_up, all_down


class OfPredictions(NamedTuple):
    """Counts over the rounds of each task that estimate the noise of gains in errors, without probabilities.

    Attributes
    ----------
    differ : ndarray, shape (K,)
        The number of rounds on which the predictions differ.
    """

    differ: Floats

    @classmethod
    def from_rounds(cls, differ: Flags, task: Ints, tasks: int) -> OfPredictions:
        """Count by task the rounds in which the learners' predictions differ."""
        return cls(_sums(differ.astype(np.float64), task, tasks))

    def judged(self, gains: Tally, confidence: float) -> Judged:
        """Return the intervals and p-values of the tasks' mean gains; O(K) for K tasks."""
        from scipy.special import betainc, betaincinv

        differ, left = self.differ, (1.0 - confidence) / 2.0
        won = (differ + gains.total) / 2.0
        lost = differ - won
        share = np.where(differ > 0, differ / np.maximum(gains.n, 1), 0.0)
        # Clopper and Pearson's ends are quantiles of beta distributions; with no win (loss) the end is 0 (1)
        least = np.where(won > 0, betaincinv(np.maximum(won, 0.5), lost + 1.0, left), 0.0)
        most = np.where(lost > 0, betaincinv(won + 1.0, np.maximum(lost, 0.5), 1.0 - left), 1.0)
        low, high = (np.where(gains.n > 0, share * (2.0 * end - 1.0), np.nan) for end in (least, most))
        # P(Bin(d, 1/2) >= won) by the incomplete beta function, which is also defined for half-integers, from ties
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


def kind_of(noise: Noise) -> str:
    """Return the name under which a kind of noise is stored in files."""
    return next(name for name, kind in KINDS.items() if type(noise) is kind)


def class_of_size(n: ArrayLike) -> Ints:
    """Return the number 0, 1, ... of the size class of tasks with n records.

    >>> class_of_size([1, 2, 3, 300, 301]).tolist()
    [0, 0, 1, 3, 4]
    """
    return np.searchsorted(SIZES, n, side="left")


def select_discoveries(p: Floats, rate: float) -> Flags:
    """Return a mask of the p-values selected by the procedure of Benjamini and Hochberg.

    ``rate`` is the false discovery rate.

    Parameters
    ----------
    p : ndarray, shape (K,)
        The p-value of each test; nan is never selected.
    rate : float
        The false discovery rate.

    Examples
    --------
    >>> select_discoveries(np.array([0.001, 0.04, 0.02, np.nan, 0.9]), 0.05).tolist()
    [True, False, True, False, False]
    """
    from scipy.stats import false_discovery_control

    selected = ~np.isnan(p)
    # independent or positively dependent tests: tasks share a learner, but not their records
    selected[selected] = false_discovery_control(p[selected]) <= rate
    return selected


def jump_tail(far: Floats, jump: Floats) -> Floats:
    """Return the probability of more than ``far`` standard deviations, for noise with rare jumps of size ``jump``.

    It is the tail of the normal distribution or that of Pearson's type III distribution of skewness ``jump``, beginning
    half a jump earlier, whichever is heavier.

    >>> jump_tail(np.array([2.0, 2.0, 31.6]), np.array([0.0, 1.0, 31.6])).round(5).tolist()
    [0.02275, 0.08177, 0.00088]
    """
    from scipy.special import gammaincc, ndtr

    # Pearson III of skewness k: a gamma variable of shape 4/k², shifted to mean 0 and scaled to variance 1
    shape, root = _shape(jump)
    skewed = gammaincc(shape, np.maximum(shape + (far - jump / 2.0) * root, 0.0))
    normal = ndtr(-far)
    return np.where(jump < _STRAIGHT, normal, np.maximum(normal, skewed))


def farther_quantile(left: float, skewness: Floats) -> Floats:
    """Return the quantile, in standard deviations, that noise with this skewness exceeds with probability ``left``.

    >>> farther_quantile(0.025, np.array([0.0, 1.0, -1.0])).round(2).tolist()
    [1.96, 2.38, 1.96]
    """
    from scipy.special import gammainccinv, gammaincinv, ndtri

    shape, root = _shape(skewness)
    # negative skewness mirrors the gamma distribution, whose lower tail is then the upper one
    skewed = np.where(skewness > 0, gammainccinv(shape, left) - shape, shape - gammaincinv(shape, left)) / root
    normal = -ndtri(left)
    return np.where(np.abs(skewness) < _STRAIGHT, normal, np.maximum(normal, skewed))


def _shape(skewness: Floats) -> tuple[Floats, Floats]:
    """Return the shape parameter of the gamma distribution with this skewness, and its standard deviation."""
    shape = 4.0 / np.maximum(skewness, _STRAIGHT, where=skewness > 0, out=np.maximum(-skewness, _STRAIGHT)) ** 2
    return shape, np.sqrt(shape)


def _interval(gains: Tally, variance: Floats, third: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Return the confidence intervals of mean gains, from the variance and third moment of their noise."""
    left, mean = (1.0 - confidence) / 2.0, gains.means
    error, skewness = np.sqrt(variance) / np.maximum(gains.n, 1), _ratio(third, variance**1.5)
    # the low end is limited by noise that went up, so it takes the skewness as it is; the high end its opposite
    return mean - farther_quantile(left, skewness) * error, mean + farther_quantile(left, -skewness) * error


def _test_signs(gains: Tally, variance: Floats, jump_up: Floats, jump_down: Floats) -> tuple[Floats, Floats]:
    """Return the p-values of a positive and of a negative mean gain.

    ``jump_up`` and ``jump_down`` are the sizes of the largest jumps of the noise.
    """
    far = _ratio(gains.total, np.sqrt(variance))
    helped, hurt = jump_tail(far, jump_up), jump_tail(-far, jump_down)
    return np.where(gains.n > 0, helped, np.nan), np.where(gains.n > 0, hurt, np.nan)


def _sums(values: Floats, task: Ints, tasks: int) -> Floats:
    """Return the sums of values by task, without nan."""
    return np.bincount(task, np.where(np.isnan(values), 0.0, values), tasks).astype(np.float64)


def _ratio(one: Floats, other: Floats) -> Floats:
    """Divide elementwise; 0 for a zero denominator."""
    return np.divide(one, other, out=np.zeros(np.shape(one)), where=other > 0)
