"""The second-order Perceptron and AROW with whole covariances against their definitions."""

from __future__ import annotations

import numpy as np
import pytest

import coterie as ct
from reference import second_order as reference
from streams import CASES, linear_stream

STREAM = linear_stream(5, n=260, zeros=0.2)
SOLVERS = ("primal", "dual", "auto")


def same(margins, expected, y):
    """Every mistake flag, and margins to nine digits."""
    np.testing.assert_array_equal(y * margins <= 0, y * expected <= 0)
    np.testing.assert_allclose(margins, expected, rtol=1e-9, atol=1e-12)


def run(model, stream, tasks, **options):
    X = options.pop("X", stream.X)
    return ct.progressive_validation(model, X, stream.y, task=stream.named(tasks), tasks=tasks, **options)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("solver", SOLVERS)
def test_equal_to_the_definition(name, solver):
    case = CASES[name]
    expected = reference.dual(STREAM.X, STREAM.y, STREAM.task, case.M, ridge=0.7)
    model = ct.SecondOrderMultitaskPerceptron(case.relation, ridge=0.7, solver=solver)
    trace = run(model, STREAM, case.tasks)
    same(trace.margin, expected, STREAM.y)
    assert model.n_mistakes_ == trace.mistakes == trace.updated.sum()
    assert model.solver_ == {"auto": "primal" if trace.mistakes >= 30 else "dual"}.get(solver, solver)
    if case.A is not None:
        scale = 1.0 if np.allclose(np.linalg.inv(case.A), case.M) else case.M[0, 0] / np.linalg.inv(case.A)[0, 0]
        same(reference.literal(STREAM.X, STREAM.y, STREAM.task, case.A, ridge=0.7 / scale), expected, STREAM.y)
