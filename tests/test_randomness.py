"""Uniform numbers that are functions of a seed and a round."""

import numpy as np
import pytest

from coterie._compiled.core.generic import compiled
from coterie._compiled.core.randomness import uniform

WORD = 2**64


def scrambled(z):
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % WORD
    return z ^ (z >> 31)


def literal(seed, turn, stream=0):
    """The definition in whole numbers of any size."""
    key = scrambled((scrambled(seed) + 0x9E3779B97F4A7C15 * (stream + 1)) % WORD)
    return (scrambled((key + 0x9E3779B97F4A7C15 * (turn + 1)) % WORD) >> 11) / 2**53


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
        assert many(seed, first, 20, stream).tolist() == [literal(seed, first + t, stream) for t in range(20)]


def test_numbers_are_uniform_and_those_of_neighbouring_rounds_seeds_and_streams_uncorrelated():
    n = 100_000
    u = many(7, 0, n, 0)
    counts = np.histogram(u, bins=100, range=(0, 1))[0]
    assert ((counts - n / 100) ** 2 / (n / 100)).sum() < 180  # chi-squared, 99 degrees: beyond 1e-6
    for other in (many(7, 1, n, 0), many(8, 0, n, 0), many(7, 0, n, 1)):
        assert abs(np.corrcoef(u, other)[0, 1]) < 0.02
