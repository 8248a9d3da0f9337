"""Task graphs: closed forms, the facts and the corrected proposition of CC12 §3, large graphs, bad input."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from coterie.tasks.relations.graph import TaskGraph
from reference import interaction_matrices as matrices


def complete(k):
    return [(i, j) for i in range(k) for j in range(i)]


def path(k):
    return [(i, i + 1) for i in range(k - 1)]


def random_graph(k, n_edges, seed=0):
    ends = np.sort(np.random.default_rng(seed).integers(k, size=(n_edges, 2)), axis=1)
    return np.unique(ends[ends[:, 0] < ends[:, 1]], axis=0)


def numbered(k, edges, **options):
    return TaskGraph(edges, tasks=range(k), **options)


def cliques(sizes):
    starts = np.cumsum([0, *sizes])
    return [(int(start) + i, int(start) + j) for start, m in zip(starts, sizes, strict=False) for i, j in complete(m)]


@st.composite
def graphs(draw):
    """A small graph, weighted or not: its number of tasks and its edges."""
    k = draw(st.integers(1, 9))
    pairs = draw(st.lists(st.sampled_from(complete(k)), unique=True)) if k > 1 else []
    if draw(st.booleans()):
        return k, [(*pair, draw(st.floats(1e-3, 1e3))) for pair in pairs]
    return k, pairs


def column(source, i):
    rows, values = source.column(i)
    assert rows.dtype == np.int64
    assert values.dtype == np.float64
    assert (np.diff(rows) > 0).all()
    dense = np.zeros(source.n_tasks)
    dense[rows] = values
    return dense


# -- facts -------------------------------------------------------------------------------------------------------------


@given(graphs())
def test_columns_are_those_of_the_inverse_of_the_literal_matrix(graph):
    k, edges = graph
    M = np.linalg.inv(matrices.graph(k, edges))
    source = numbered(k, edges).source()
    assert not source.dense
    assert source.n_tasks == k
    for i in range(k):
        np.testing.assert_allclose(column(source, i), M[:, i], atol=2e-10)
    np.testing.assert_allclose(source.diagonal(), np.diag(M), atol=2e-10)
    assert source.max_diagonal() == pytest.approx(np.diag(M).max(), abs=2e-10)


@given(graphs())
def test_largest_diagonal_entry_lies_between_its_bounds(graph):
    k, edges = graph
    assert 2 / (k + 1) - 1e-9 <= numbered(k, [edge[:2] for edge in edges]).max_diagonal() <= 1 + 1e-9
    diagonal = np.diag(np.linalg.inv(matrices.graph(k, edges)))
    assert numbered(k, edges).c_G() ** 2 == pytest.approx(diagonal.max(), abs=1e-9)


@given(graphs(), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_penalty_is_the_norms_and_the_differences_over_edges(graph, d, seed):
    k, edges = graph
    U = np.random.default_rng(seed).standard_normal((k, d))
    weight = [edge[2] if len(edge) == 3 else 1.0 for edge in edges]
    literal = (U**2).sum() + sum(w * ((U[e[0]] - U[e[1]]) ** 2).sum() for e, w in zip(edges, weight, strict=True))
    assert numbered(k, edges).penalty(U) == pytest.approx(literal, rel=1e-10)


@given(graphs())
def test_laplacian_and_adjacency_are_the_literal_ones(graph):
    k, edges = graph
    relation, L = numbered(k, edges), matrices.laplacian(k, edges)
    np.testing.assert_allclose(relation.laplacian().toarray(), L, atol=1e-12)
    np.testing.assert_array_equal(relation.adjacency().toarray(), np.diag(np.diag(L)) - L)


def test_the_matrix_between_components_is_zero():
    relation = TaskGraph([("c", "a"), ("b", "d")], tasks=["a", "b", "c", "d", "e"])
    np.testing.assert_array_equal(relation.relation_matrix(["a", "b", "e"]) != 0, np.eye(3, dtype=bool))


# -- proposition 3.1 ---------------------------------------------------------------------------------------------------


def by_resistances(R, k, coefficient):
    """The right side of proposition 3.1 with that coefficient of ‖R‖_1."""
    rows = R.sum(axis=1)[:k] / (2 * (k + 1))
    return -R[:k, :k] / 2 + rows[:, None] + rows - coefficient * np.abs(R).sum() + (k + 2) / (k + 1) ** 2


@given(graphs())
def test_proposition_3_1_holds_as_corrected_and_not_as_printed(graph):
    k, edges = graph
    # the graph with one more node, joined to every task by an edge of weight 1
    P = np.linalg.pinv(matrices.laplacian(k + 1, [*edges, *((i, k) for i in range(k))]))
    R = np.diag(P)[:, None] + np.diag(P) - 2 * P
    M = numbered(k, edges, error=0.0).relation_matrix()
    np.testing.assert_allclose(by_resistances(R, k, 1 / (2 * (k + 1) ** 2)), M, atol=1e-9)
    assert np.abs(by_resistances(R, k, 1 / (k + 1) ** 2) - M).min() > 1e-4  # ‖R‖_1 / (2 (k + 1)²) off in every entry


# -- large graphs ------------------------------------------------------------------------------------------------------

LARGE = {
    "path": (700, path(700)),
    "random": (700, random_graph(700, 1750)),
    "cliques": (600, cliques([1, 2, 30, 60, 200, 307])),
}


def test_factor_leaves_out_entries_up_to_the_error():
    exact, trimmed = (numbered(500, path(500), error=error).source() for error in (0.0, 1e-6))
    full, (rows, values) = column(exact, 250), trimmed.column(250)
    np.testing.assert_array_equal(rows, np.flatnonzero(full > 1e-6))
    np.testing.assert_array_equal(values, full[rows])


@pytest.mark.parametrize("name", LARGE)
def test_diagonal_from_the_factor_is_that_of_the_inverse(name):
    k, edges = LARGE[name]
    relation = numbered(k, edges)
    M = np.linalg.inv((relation.laplacian() + sp.eye_array(k)).toarray())
    np.testing.assert_allclose(relation.source().diagonal(), np.diag(M), rtol=1e-10)


def test_factor_does_not_pivot():
    source = numbered(*LARGE["random"]).source()
    np.testing.assert_array_equal(source.factor.perm_r, source.factor.perm_c)


# -- what is given -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make", [np.asarray, sp.csr_array, sp.coo_matrix, sp.lil_array, lambda W: W.astype(np.float32)]
)
def test_adjacency_matrices_are_read_as_their_edges(make):
    W = np.array([[0, 1, 0, 0], [1, 0, 2.5, 0], [0, 2.5, 0, 0], [0, 0, 0, 0]])
    assert TaskGraph(make(W)) == TaskGraph([(0, 1), (1, 2, 2.5)], tasks=range(4))
    assert TaskGraph(make(W), tasks=["a", "b", "c", "d"]).edges == (("a", "b"), ("b", "c", 2.5))


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.sampled_from([-1.0, 0.0, 0.5, float("nan"), 2.0]))))
def test_any_list_of_edges_is_a_graph_or_refused_in_one_sentence(edges):
    pairs = [frozenset(edge[:2]) for edge in edges]
    if edges and all(edge[0] != edge[1] and edge[2] > 0 for edge in edges) and len(set(pairs)) == len(pairs):
        assert set(TaskGraph(edges).known_tasks) == {node for pair in pairs for node in pair}
    else:
        with pytest.raises(ValueError, match=r"edge|TaskGraph has no tasks") as refused:
            TaskGraph(edges)
        assert "\n" not in str(refused.value)


EYE = np.eye(3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"edges": []}, "TaskGraph has no tasks"),
        ({"edges": "ab"}, "edges must be pairs or triples of tasks or an adjacency matrix, got 'ab'"),
        ({"edges": ["ab"]}, r"edges\[0\] must be \(task, task\) or \(task, task, weight\), got 'ab'"),
        ({"edges": [(0, 1), (0,)]}, r"edges\[1\] must be .*, got \(0,\)"),
        ({"edges": [([1], 2)]}, r"a task label must be hashable, got \[1\]"),
        ({"edges": [(float("nan"), 2)]}, "a task label must be equal to itself, got nan"),
        ({"edges": [("a", "b", 0.0)]}, r"edge \('a', 'b'\) has weight 0.0: expected a number above 0"),
        ({"edges": [("a", "b", float("nan"))]}, "has weight nan"),
        ({"edges": [("a", "b", 1e9)]}, r"has weight 1000000000.0: expected a number above 0, up to 1e\+06"),
        ({"edges": [("a", "b"), ("c", "c")]}, r"edges\[1\] joins 'c' to itself"),
        ({"edges": [("a", "b"), ("b", "a")]}, r"edges\[1\] repeats \('b', 'a'\); both directions"),
        ({"edges": [("a", "z")], "tasks": list("abcdefg")}, r"edge \('a', 'z'\) names 'z', which is not among tasks"),
        ({"edges": [], "tasks": ["a", "a"]}, "tasks has 'a' twice"),
        ({"edges": [], "tasks": 5}, "tasks must be a sequence of task labels, got 5"),
        (
            {"edges": 1 - EYE, "tasks": ["a"]},
            "tasks must have one task per row: got 1 tasks for 3 rows of edges as an adjacency matrix",
        ),
        ({"edges": EYE}, r"edges as an adjacency matrix must be zero on the diagonal, but \(0, 0\) is 1"),
        ({"edges": np.triu(1 - EYE)}, r"must be symmetric, but \(0, 1\) is 1 and \(1, 0\) is 0"),
        ({"edges": (1 - EYE) * 1j}, "edges as an adjacency matrix must have real numbers, got dtype complex128"),
        ({"edges": sp.csr_array(np.ones((2, 3)))}, r"edges as an adjacency matrix must be square, got shape \(2, 3\)"),
        ({"edges": path(3), "error": -1e-3}, "error must be a number from 0 to below 1, got -0.001"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(arguments, message):
    with pytest.raises(ValueError, match=message) as refused:
        TaskGraph(**arguments)
    assert "\n" not in str(refused.value)


def test_a_task_that_is_no_node_is_refused_with_some_that_are():
    relation = TaskGraph(path(9))
    with pytest.raises(ValueError, match=r"^task 'x' is not a node of TaskGraph \(known: 0, 1, 2, 3, 4, … 9 in all\)$"):
        relation.index("x")
    with pytest.raises(ValueError, match="task 9 is not a node"):
        relation.relation_matrix([0, 9])
