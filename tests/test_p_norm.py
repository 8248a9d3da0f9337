"""The p-norm Perceptron against its definition, against the Perceptron at p = 2, and at its edges."""

from __future__ import annotations

import numpy as np
import pytest

import coterie as ct
from reference import p_norm as reference
from streams import CASES, linear_stream

STREAM = linear_stream(6, n=240, zeros=0.3)


def same(margins, expected, y):
    """Every mistake flag, and margins to nine digits."""
    np.testing.assert_array_equal(y * margins <= 0, y * expected <= 0)
    np.testing.assert_allclose(margins, expected, rtol=1e-9, atol=1e-12)


def run(model, stream, tasks, **options):
    X = options.pop("X", stream.X)
    return ct.progressive_validation(model, X, stream.y, task=stream.named(tasks), tasks=tasks, **options)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(
    ("p", "transform"), [(2, "Ainv"), (3.7, "Ainvsqrt"), (6.8, "Ainv"), (50, "Ainv"), (12, "none")]
)
def test_equal_to_the_definition(name, p, transform):
    case = CASES[name]
    expected, _ = reference.literal(STREAM.X, STREAM.y, STREAM.task, case.M, p, transform)
    trace = run(ct.PNormMultitaskPerceptron(case.relation, p, transform), STREAM, case.tasks)
    same(trace.margin, expected, STREAM.y)
