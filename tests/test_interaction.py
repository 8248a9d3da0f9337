"""Interaction matrices given whole, and the literal Perceptron that all relations are tested against."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import coterie as ct
from coterie.evaluation.bounds.perceptron_bounds import mistake_bound
from coterie.tasks.relations.interaction import Interaction
from reference import perceptron

seeds = st.integers(0, 2**32 - 1)


def spd(seed, n_tasks=4):
    B = np.random.default_rng(seed).standard_normal((n_tasks, n_tasks + 2))
    return B @ B.T + 0.1 * np.eye(n_tasks)


def stream(seed, n=60, d=3, n_tasks=5):
    rng = np.random.default_rng(seed)
    X, task = rng.standard_normal((n, d)), rng.integers(n_tasks, size=n)
    return X, np.where((rng.standard_normal((n_tasks, d))[task] * X).sum(axis=1) > 0, 1.0, -1.0), task


# -- the relation ------------------------------------------------------------------------------------------------------


@given(seeds, st.integers(1, 8))
def test_columns_are_those_of_the_inverse(seed, n_tasks):
    A = spd(seed, n_tasks)
    for relation in (Interaction(A), Interaction(inverse=np.linalg.inv(A))):
        source = relation.source()
        assert source.dense
        assert source.n_tasks == n_tasks
        for i in range(n_tasks):
            rows, values = source.column(i)
            assert rows.dtype == np.int64
            np.testing.assert_array_equal(rows, np.arange(n_tasks))
            np.testing.assert_allclose(values, np.linalg.inv(A)[:, i], rtol=1e-8, atol=1e-10)


@given(seeds, st.integers(1, 6), st.integers(1, 4))
def test_penalty_is_the_quadratic_form(seed, n_tasks, d):
    A, U = spd(seed, n_tasks), np.random.default_rng(seed).standard_normal((n_tasks, d))
    literal = U.ravel() @ np.kron(A, np.eye(d)) @ U.ravel()
    assert Interaction(A).penalty(U) == pytest.approx(literal, rel=1e-10)
    assert Interaction(inverse=np.linalg.inv(A)).penalty(U) == pytest.approx(literal, rel=1e-6)


def test_a_task_without_a_row_is_refused_with_some_that_have_one():
    relation = Interaction(np.eye(7), tasks=list("abcdefg"))
    with pytest.raises(ValueError, match=r"^task 'x' is not a row of Interaction \(known: 'a', 'b', 'c', 'd', 'e', …"):
        relation.index("x")
    with pytest.raises(ValueError, match=r"task \['a'\] is not a row"):
        relation.index(["a"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "exactly one of matrix .* and inverse .*, got none"),
        ({"matrix": np.eye(2), "inverse": np.eye(2)}, "exactly one .*, got both"),
        ({"matrix": np.ones((2, 3))}, r"matrix must be a square matrix, got shape \(2, 3\)"),
        ({"matrix": np.ones(4)}, r"matrix must be a square matrix, got shape \(4,\)"),
        ({"matrix": np.zeros((0, 0))}, r"matrix must be a square matrix, got shape \(0, 0\)"),
        ({"inverse": [["a", "b"], ["b", "a"]]}, "inverse must have real numbers"),
        ({"inverse": np.eye(2) * 1j}, "inverse must have real numbers, got an array of complex128"),
        ({"matrix": [[1.0, np.nan], [np.nan, 1.0]]}, r"matrix must be finite, but entry \(0, 1\) is nan"),
        ({"matrix": [[1.0, 0.0], [0.0, np.inf]]}, r"entry \(1, 1\) is inf"),
        ({"inverse": [[2.0, 1.0], [0.5, 2.0]]}, r"inverse must be symmetric, but \(0, 1\) is 1 and \(1, 0\) is 0.5"),
        ({"matrix": [[1.0, 2.0], [2.0, 1.0]]}, "matrix must be positive definite, but its smallest eigenvalue is -1"),
        ({"matrix": np.ones((3, 3))}, "matrix must be positive definite, but its smallest eigenvalue is"),
        ({"matrix": np.zeros((2, 2))}, "matrix must be positive definite, but its smallest eigenvalue is 0"),
        (
            {"matrix": [[1.0, 2.0], [2.0, 1.0]], "pseudo_inverse": True},
            "matrix must be positive semidefinite and not zero, but its eigenvalues go from -1 to 3",
        ),
        ({"inverse": np.zeros((2, 2)), "pseudo_inverse": True}, "inverse must be positive semidefinite and not zero"),
        ({"matrix": np.diag([1.0, 0.0]), "tasks": ("a", "b"), "pseudo_inverse": True}, "has a zero row for task 'b'"),
        ({"matrix": np.eye(2), "pseudo_inverse": 1}, "pseudo_inverse must be True or False, got 1"),
        ({"matrix": np.eye(2), "tasks": ("a",)}, "tasks must have one task per row: got 1 tasks for 2 rows of matrix"),
        ({"inverse": np.eye(2), "tasks": ("a", "a")}, "tasks has 'a' twice, as task 0 and as task 1"),
        ({"inverse": np.eye(2), "tasks": (1, True)}, "tasks has True twice"),
        ({"inverse": np.eye(2), "tasks": "ab"}, "tasks must be a sequence of task labels, got 'ab'"),
        ({"inverse": np.eye(2), "tasks": ("a", [1])}, r"a task label must be hashable, got \[1\], a list"),
        ({"inverse": np.eye(2), "tasks": (float("nan"), 1)}, "a task label must be equal to itself, got nan"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(arguments, message):
    with pytest.raises(ValueError, match=message) as refused:
        Interaction(**arguments)
    assert "\n" not in str(refused.value)


# -- pseudo-inverses ---------------------------------------------------------------------------------------------------


def laplacian(K=5):
    """That of a path of K tasks."""
    return np.diag(np.r_[1.0, np.full(K - 2, 2.0), 1.0]) - np.eye(K, k=1) - np.eye(K, k=-1)


def test_a_laplacian_alone_is_taken_by_its_pseudo_inverse():
    """CC12 §3, footnote 1: A = L. It is what is left of (L + ε I)⁻¹ without the part that ε alone holds up."""
    L, K = laplacian(), 5
    relation = Interaction(L, pseudo_inverse=True)
    M = relation.relation_matrix()
    np.testing.assert_allclose(M, np.linalg.pinv(L), atol=1e-12)
    np.testing.assert_allclose(np.linalg.inv(L + 1e-6 * np.eye(K)) - 1e6 / K, M, atol=1e-4)
    np.testing.assert_allclose(M, ct.tasks.GraphPenalty(np.diag(np.diag(L)) - L).relation_matrix(), atol=1e-12)
    U = np.random.default_rng(0).normal(size=(K, 3))
    assert relation.penalty(U) == np.inf, "the mean is not zero"
    U -= U.mean(axis=0)
    assert relation.penalty(U) == pytest.approx(np.vdot(U, L @ U))
    assert Interaction(inverse=np.linalg.pinv(L), pseudo_inverse=True).penalty(U) == pytest.approx(relation.penalty(U))
    definite = (Interaction(spd(0), pseudo_inverse=either) for either in (False, True))
    np.testing.assert_allclose(*(relation.penalty(U[:4]) for relation in definite))


def test_a_model_under_a_pseudo_inverse_is_the_literal_one_and_its_mean_zero():
    X, y, task = stream(3, n=200)
    relation = Interaction(laplacian(), pseudo_inverse=True)
    run = perceptron.primal(X, y, task, M=np.linalg.pinv(laplacian()))
    model = ct.MultitaskPerceptron(relation)
    trace = ct.progressive_validation(model, X, y, task=task)
    np.testing.assert_array_equal(trace.mistake, run.mistakes)
    np.testing.assert_allclose(trace.margin, run.margins, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.coef_.sum(axis=0), 0.0, atol=1e-9)
    for scale in (0.1, 1.0):
        U = scale * model.coef_
        assert trace.mistakes <= mistake_bound(trace, X, U, relation.penalty(U), relation.max_diagonal()).mistakes
