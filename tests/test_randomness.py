"""Uniform numbers that are functions of a seed and a round."""

import numpy as np
import pytest

from coterie._compiled.core.generic import compiled
from coterie._compiled.core.randomness import uniform
from reference import asking as literal


@compiled
def many(seed, first, n, stream):
    counts = np.zeros(n)
    for t in range(n):
        counts[t] = uniform(seed, first + t, stream)
    return counts


@pytest.mark.parametrize("seed", [0, 1, 12345, 2**62])
@pytest.mark.parametrize("stream", [0, 3])
def test_numbers_are_those_of_the_definition(seed, stream):
    for first in (0, 10**9):
        assert many(seed, first, 20, stream).tolist() == [literal.uniform(seed, first + t, stream) for t in range(20)]


def test_numbers_are_uniform_and_those_of_neighbouring_rounds_seeds_and_streams_uncorrelated():
    n = 100_000
    u = many(7, 0, n, 0)
    counts = np.histogram(u, bins=100, range=(0, 1))[0]
    assert ((counts - n / 100) ** 2 / (n / 100)).sum() < 180  # chi-squared, 99 degrees: beyond 1e-6
    for other in (many(7, 1, n, 0), many(8, 0, n, 0), many(7, 0, n, 1)):
        assert abs(np.corrcoef(u, other)[0, 1]) < 0.02
