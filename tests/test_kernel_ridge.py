"""MultitaskKernelRidge against explicit matrices: rows of tasks, shared inputs, every filter, every solver."""

import numpy as np
import pytest
import scipy.sparse as sp

import coterie as ct
from coterie import kernels
from coterie.batch import MultitaskKernelRidge as KernelRidge
from coterie.batch import memory
from coterie.tasks import Interaction
from reference import kernel_ridge as reference

RNG = np.random.default_rng(7)
N, D, T = 48, 3, 4
X = RNG.normal(size=(N, D))
TASK = np.r_[np.arange(T), RNG.integers(T, size=N - T)]
Y = np.sin(X[:, 0]) + 0.3 * TASK + 0.1 * RNG.normal(size=N)
OUT = np.sin(X @ RNG.normal(size=(D, T))) + 0.1 * RNG.normal(size=(N, T))
NEW = RNG.normal(size=(9, D))
FACTOR = RNG.normal(size=(T, T))
MATRIX = FACTOR @ FACTOR.T + np.eye(T)
GRAPH = np.array([[0.0, 1.0, 0.0, 0.5], [1.0, 0.2, 2.0, 0.0], [0.0, 2.0, 0.0, 1.0], [0.5, 0.0, 1.0, 0.0]])
GROUPS = {0: "a", 1: "a", 2: "b", 3: "b"}

KERNELS = {"linear": ("linear", reference.linear), "gaussian": (kernels.Gaussian(sigma=1.3), reference.gaussian(1.3))}
RELATIONS = {
    "independent": ct.Independent(),
    "pooled": ct.Pooled(),
    "half": ct.HalfUpdate(),
    "mean": ct.MeanRegularized(b=2.5),
    "clusters": ct.Clusters(GROUPS, b=3.0),
    "graph": ct.TaskGraph([(0, 1), (1, 2), (2, 3)]),
    "matrix": Interaction(MATRIX),
    "mixed effect": ct.tasks.MixedEffect(lam=0.5, gamma=2.0),
    "omega": ct.tasks.MixedEffect(omega=0.7),
    "differences": ct.tasks.MixedEffect(lam=0.0, gamma=1.0),
    "laplacian": ct.tasks.GraphPenalty(GRAPH - np.diag(np.diag(GRAPH))),
    "clusters, means excluded": ct.tasks.ClusterPenalty(GROUPS, within=2.0, between=0.0),
    "one function per cluster": ct.tasks.ClusterPenalty(GROUPS, within=0.0, between=1.0),
}
FILTERS = {
    "tikhonov": (None, lambda s: reference.iterated_gain(0.3, 1)),
    "iterated": (ct.batch.IteratedTikhonov(alpha=0.5, steps=3), lambda s: reference.iterated_gain(0.5, 3)),
    "landweber": (ct.batch.Landweber(steps=25), lambda s: reference.landweber_gain(25, 1.0 / s)),
    "nu": (ct.batch.NuMethod(steps=8), lambda s: reference.nu_gain(8, 1.0, s)),
    "nu 1/2": (ct.batch.NuMethod(steps=5, nu=0.5), lambda s: reference.nu_gain(5, 0.5, s)),
    "cut-off": (ct.batch.CutOff(threshold=0.4), lambda s: reference.cut_off_gain(0.4)),
}

SOLVED = [(*KERNELS["linear"], "spectrum"), (*KERNELS["gaussian"], "cholesky")]


def joint_of(kernel, relation, rows, task):
    M = relation.relation_matrix(list(dict.fromkeys(TASK.tolist())))
    places = {label: i for i, label in enumerate(dict.fromkeys(TASK.tolist()))}
    return reference.joint(kernel(rows, X), M, [places[t] for t in task], [places[t] for t in TASK])


@pytest.mark.parametrize("relation", RELATIONS.values(), ids=RELATIONS)
@pytest.mark.parametrize(("kernel", "literal", "solver"), SOLVED, ids=KERNELS)
def test_rows_of_tasks_equal_the_joint_system(kernel, literal, relation, solver):
    c = reference.tikhonov(joint_of(literal, relation, X, TASK), Y, 0.3)
    model = KernelRidge(kernel, relation, alpha=0.3, solver=solver).fit(X, Y, task=TASK)
    np.testing.assert_allclose(model.dual_coef_, c, rtol=1e-8, atol=1e-8)
    tasks = np.resize(np.arange(T), len(NEW))
    expected = joint_of(literal, relation, NEW, tasks) @ c
    np.testing.assert_allclose(model.predict(NEW, task=tasks), expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("relation", RELATIONS.values(), ids=RELATIONS)
@pytest.mark.parametrize(("kernel", "literal", "solver"), SOLVED, ids=KERNELS)
def test_shared_inputs_equal_the_kronecker_system(kernel, literal, relation, solver):
    M = relation.relation_matrix(range(T))
    C = reference.kronecker(literal(X, X), M, OUT, 0.3)
    model = KernelRidge(kernel, relation, alpha=0.3, solver=solver).fit(X, OUT)
    np.testing.assert_allclose(model.dual_coef_, C, rtol=1e-8, atol=1e-8)
    everything = literal(NEW, X) @ C @ M
    np.testing.assert_allclose(model.predict(NEW), everything, rtol=1e-8, atol=1e-8)
    tasks = np.resize(np.arange(T), len(NEW))
    expected = everything[np.arange(len(NEW)), tasks]
    np.testing.assert_allclose(model.predict(NEW, task=tasks), expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(("used", "gain"), FILTERS.values(), ids=FILTERS)
@pytest.mark.parametrize("shared", [False, True], ids=["rows", "shared"])
def test_every_filter_equals_its_spectral_definition(used, gain, shared):
    relation, literal = RELATIONS["matrix"], reference.gaussian(1.3)
    if shared:
        Q, y = np.kron(np.linalg.inv(MATRIX), literal(X, X)), OUT.reshape(-1, order="F")
        fitted = {"y": OUT}
    else:
        Q, y = joint_of(literal, relation, X, TASK), Y
        fitted = {"y": Y, "task": TASK}
    c = reference.filtered(Q, y, gain(np.linalg.eigvalsh(Q)[-1]))
    for solver in ("cholesky", "spectrum") if used is None else used.solvers:
        model = KernelRidge(kernels.Gaussian(1.3), relation, 0.3, used, solver=solver)
        np.testing.assert_allclose(model.fit(X, **fitted).dual_coef_.reshape(-1, order="F"), c, rtol=1e-7, atol=1e-8)


def test_landweber_is_gradient_descent():
    Q = joint_of(reference.gaussian(1.3), RELATIONS["half"], X, TASK)
    rate = 1.5 / np.linalg.eigvalsh(Q)[-1]
    model = KernelRidge(kernels.Gaussian(1.3), ct.HalfUpdate(), filter=ct.batch.Landweber(40, rate))
    np.testing.assert_allclose(model.fit(X, Y, task=TASK).dual_coef_, reference.landweber(Q, Y, 40, rate), rtol=1e-9)


def test_the_risk_of_tasks_counts_every_task_the_same():
    Q = joint_of(reference.gaussian(1.3), RELATIONS["half"], X, TASK)
    counts = np.bincount(TASK)
    weights = N / (T * counts[TASK])
    c = reference.tikhonov(Q, Y, 0.3, weights)
    model = KernelRidge(kernels.Gaussian(1.3), ct.HalfUpdate(), 0.3, risk="tasks").fit(X, Y, task=TASK)
    np.testing.assert_allclose(model.dual_coef_, c, rtol=1e-8)
    np.testing.assert_allclose(c, np.linalg.solve(Q + 0.3 * T / N * np.diag(counts[TASK]), Y), rtol=1e-9)
    best = reference.objective(Q, Y, c, 0.3, weights)
    for _ in range(20):
        assert best < reference.objective(Q, Y, c + 1e-3 * RNG.normal(size=N), 0.3, weights)


def test_several_outputs_of_rows_of_tasks_are_learned_side_by_side():
    both = np.column_stack([Y, -2 * Y + 1])
    for solver in ("cholesky", "spectrum"):
        model = KernelRidge(relation=ct.HalfUpdate(), solver=solver).fit(X, both, task=TASK)
        for o in range(2):
            one = KernelRidge(relation=ct.HalfUpdate()).fit(X, both[:, o], task=TASK)
            two, alone = (fitted.predict(NEW, task=[0] * 9) for fitted in (model, one))
            np.testing.assert_allclose(two[:, o], alone, rtol=1e-8)


def test_one_task_is_the_kernel_ridge_of_scikit_learn():
    from sklearn import kernel_ridge

    ours = KernelRidge(kernels.Gaussian(sigma=2.0), alpha=0.7).fit(X, Y)
    theirs = kernel_ridge.KernelRidge(alpha=0.7, kernel="rbf", gamma=1 / 8).fit(X, Y)
    np.testing.assert_allclose(ours.predict(NEW), theirs.predict(NEW), rtol=1e-10)


@pytest.mark.parametrize("relation", RELATIONS.values(), ids=RELATIONS)
def test_the_penalty_of_a_relation_is_what_the_solver_minimises(relation):
    model = KernelRidge("linear", relation, alpha=0.3).fit(X, Y, task=TASK, tasks=range(T))
    W = np.array([model.predict(np.eye(D), task=[t] * D) for t in range(T)])
    penalty = penalty_of(relation, W)
    assert penalty == pytest.approx(model.penalty_, rel=1e-8)
    best = np.sum((Y - np.einsum("nd,nd->n", X, W[TASK])) ** 2) + 0.3 * penalty
    M = relation.relation_matrix(list(range(T)))
    for _ in range(20):
        V = W + 1e-3 * M @ RNG.normal(size=(T, D))
        assert best < np.sum((Y - np.einsum("nd,nd->n", X, V[TASK])) ** 2) + 0.3 * penalty_of(relation, V)


def penalty_of(relation, W):
    return relation.penalty(W) if hasattr(relation, "known_tasks") else relation.penalty(W, list(range(T)))


def test_penalties_are_the_sums_of_their_definitions():
    F = RNG.normal(size=(T, 5))
    tasks = list(range(T))
    mixed = ct.tasks.MixedEffect(lam=0.5, gamma=2.0)
    assert mixed.penalty(F, tasks) == pytest.approx(reference.mixed_effect_penalty(F, 0.5, 2.0))
    assert ct.tasks.GraphPenalty(GRAPH).penalty(F) == pytest.approx(reference.graph_penalty(F, GRAPH))
    turned = ct.tasks.GraphPenalty(GRAPH).penalty(F[::-1], tasks[::-1])
    assert turned == pytest.approx(reference.graph_penalty(F, GRAPH))
    clusters = ct.tasks.ClusterPenalty(GROUPS, within=2.0, between=0.5)
    assert clusters.penalty(F, tasks) == pytest.approx(reference.cluster_penalty(F, [0, 0, 1, 1], 2.0, 0.5))
    omega = 0.7
    A_w = 1 / (2 * (1 - omega) * (1 - omega + omega * T))
    printed = A_w * reference.mixed_effect_penalty(F, 2 * (1 - omega), 2 * omega * T)
    assert ct.tasks.MixedEffect(omega=omega).penalty(F, tasks) == pytest.approx(printed)
    scaled = ct.tasks.MixedEffect(lam=1.0, gamma=omega / (1 - omega) * T).relation_matrix(tasks)
    M = ct.tasks.MixedEffect(omega=omega).relation_matrix(tasks)
    np.testing.assert_allclose(scaled / scaled[0, 0], M, rtol=1e-12)


def test_the_null_space_of_a_penalty_is_excluded():
    for relation in (ct.tasks.MixedEffect(lam=0.0, gamma=1.0), RELATIONS["laplacian"]):
        model = KernelRidge("linear", relation, alpha=1e-6).fit(X, Y + 3, task=TASK)
        np.testing.assert_allclose(sum(model.predict(NEW, task=[t] * 9) for t in range(T)), 0.0, atol=1e-7)
    assert ct.Pooled().penalty([[1.0], [2.0]], ["a", "b"]) == np.inf
    assert ct.tasks.ClusterPenalty(GROUPS, within=0.0).penalty(np.eye(T), list(range(T))) == np.inf


def test_a_precomputed_kernel_gives_the_same():
    gram = kernels.gram(kernels.Gaussian(1.3), X)
    for fitted in ({"y": Y, "task": TASK}, {"y": OUT}):
        named = KernelRidge(kernels.Gaussian(1.3), ct.HalfUpdate()).fit(X, **fitted)
        precomputed = KernelRidge("precomputed", ct.HalfUpdate()).fit(gram, **fitted)
        np.testing.assert_allclose(precomputed.dual_coef_, named.dual_coef_, rtol=1e-9)
        cross = kernels.gram(kernels.Gaussian(1.3), NEW, X)
        np.testing.assert_allclose(precomputed.predict(cross, TASK[:9]), named.predict(NEW, TASK[:9]), rtol=1e-9)


# -- tasks nobody has fitted -------------------------------------------------------------------------------------------


def test_a_new_task_is_predicted_by_what_the_relation_says():
    def model(relation, **more):
        return KernelRidge("linear", relation, **more).fit(X, Y, task=TASK)

    assert (model(ct.Independent()).predict(NEW, task=["nobody"] * 9) == 0).all()
    pooled = model(ct.Pooled())
    np.testing.assert_allclose(pooled.predict(NEW, task=["nobody"] * 9), pooled.predict(NEW, task=[0] * 9), rtol=1e-9)
    mean = model(ct.MeanRegularized(b=2.5))
    shared = mean.predict(NEW, task=["nobody"] * 9)
    task_mean = np.mean([mean.predict(NEW, task=[t] * 9) for t in range(T)], axis=0)
    np.testing.assert_allclose(shared, task_mean * 2.5 / 3.5, rtol=1e-9)
    clustered = model(ct.Clusters(GROUPS | {"fresh": "b", "alone": "c"}, b=3.0))
    theirs = np.mean([clustered.predict(NEW, task=[t] * 9) for t in (2, 3)], axis=0)
    np.testing.assert_allclose(clustered.predict(NEW, task=["fresh"] * 9), theirs * 3 / 4, rtol=1e-9)
    assert (clustered.predict(NEW, task=["alone"] * 9) == 0).all()


def test_a_neighbour_without_rows_is_predicted_by_the_graph():
    relation = ct.TaskGraph([(0, 1), (1, 2), (2, 3), (3, "leaf")])
    model = KernelRidge("linear", relation, alpha=0.3).fit(X, Y, task=TASK)
    M = relation.relation_matrix([*model.tasks_, "leaf"])
    places = [model.tasks_.index(t) for t in TASK]
    expected = reference.joint(reference.linear(NEW, X), M, [T] * 9, places) @ model.dual_coef_
    np.testing.assert_allclose(model.predict(NEW, task=["leaf"] * 9), expected, rtol=1e-9)
    with pytest.raises(ValueError, match="'who' is not a node of TaskGraph"):
        model.predict(NEW, task=["who"] * 9)


# -- refusals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "fitted", "message"),
    [
        ({"alpha": 0.0}, {}, "alpha must be a finite number above 0, got 0.0"),
        ({"risk": "all"}, {}, "risk must be 'rows' or 'tasks', got 'all'"),
        ({"solver": "qr"}, {}, "solver must be one of 'auto', 'cholesky', 'spectrum', got 'qr'"),
        (
            {"filter": ct.batch.Landweber(3), "solver": "cholesky"},
            {},
            r"solver='cholesky' does not support Landweber\(steps=3\); choose 'spectrum'",
        ),
        ({"filter": ct.batch.CutOff(0.1), "solver": "cholesky"}, {}, "does not support CutOff.*; choose 'spectrum'"),
        ({"filter": ct.batch.Landweber(3, rate=10.0)}, {}, "rate must be below 2 / "),
        ({"kernel": "precomputed"}, {}, r"X \(the kernel matrix\) must be a square matrix, got shape \(48, 3\)"),
        ({"kernel": lambda X, Z: np.full((len(X), len(Z)), np.nan)}, {}, "the kernel matrix is not finite"),
        ({"kernel": lambda X, Z: -X @ Z.T, "solver": "spectrum"}, {}, "the function is not a kernel"),
        ({"relation": ct.LogDet(eta=0.1)}, {}, "is learned online; give relation=OptimalOutputKernel"),
        ({"new_task": "perhaps"}, {}, "new_task must be 'grow' or 'raise', got 'perhaps'"),
        ({}, {"task": TASK[:5]}, r"task must have one task per record: got shape \(5,\) for 48 records"),
        ({}, {"y": Y[:5]}, r"y must have one row per record, shape \(48,\) or \(48, p\), got shape \(5,\)"),
        ({}, {"y": np.where(Y > 1, np.nan, Y)}, "is missing: nan"),
        ({}, {"y": OUT, "task": None, "tasks": ["a"]}, "y must have one column per task: got 4 columns for 1 tasks"),
    ],
)
def test_bad_input_is_refused_before_anything_changes(parameters, fitted, message):
    model = KernelRidge().fit(X, Y, task=TASK)
    before = model.predict(NEW, task=[0] * 9)
    parameters_before = model.get_params()
    with pytest.raises(ValueError, match=message):
        model.set_params(**parameters).fit(X, **{"y": Y, "task": TASK} | fitted)
    after = model.set_params(**parameters_before).predict(NEW, task=[0] * 9)
    np.testing.assert_allclose(after, before, rtol=1e-12, atol=1e-12)


def test_memory_is_estimated_before_it_is_asked_for(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 2**15)
    model = KernelRidge(solver="spectrum", alpha=0.3)
    message = r"a kernel matrix of 48 x 48 rows for solver='spectrum' needs .* GiB, but only .* GiB are free: "
    with pytest.raises(MemoryError, match=message + "solver='cholesky'"):
        model.fit(X, Y, task=TASK)
    auto = model.set_params(solver="auto").fit(X, Y, task=TASK).dual_coef_
    joint = joint_of(reference.gaussian(1.0), ct.tasks.MixedEffect(omega=0.5), X, TASK)
    np.testing.assert_allclose(auto, reference.tikhonov(joint, Y, 0.3), rtol=1e-6)


FEW_FEATURES = [np.c_[X, X[:, :1] + X[:, 1:2]], sp.csr_array(X), np.zeros_like(X), X * [1.0, 1e-3, 1e3]]


@pytest.mark.parametrize("rows", FEW_FEATURES, ids=["dependent", "sparse", "zero", "of many scales"])
@pytest.mark.parametrize("used", [None, ct.batch.Landweber(steps=7)], ids=["Tikhonov", "Landweber"])
def test_a_linear_kernel_goes_by_features_where_they_are_few(rows, used):
    by_features = KernelRidge("linear", RELATIONS["matrix"], 0.3, used, solver="spectrum").fit(rows, OUT)
    asked = {"filter": used, "alpha": 0.3, "solver": "spectrum"}
    by_matrix = KernelRidge(kernels.Polynomial(1, 0.0), RELATIONS["matrix"], **asked).fit(rows, OUT)
    np.testing.assert_allclose(by_features.predict(rows), by_matrix.predict(rows), rtol=1e-7, atol=1e-7)
