"""All tasks learn each record at once: equal to its definition, however a stream is cut; and what is refused."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_regressor
from sklearn.model_selection import cross_val_score

import coterie as ct
from coterie.bounds.perceptron import mistake_bound, penalty
from reference.outputs import at_once, shortest_at_once
from reference.perceptron import primal
from slow import slow
from states import content, reloaded
from terminal import refused, run

K, D, N = 4, 5, 120
NAMES = ["a", "b", "c", "d"]
RNG = np.random.default_rng(7)
X = RNG.normal(size=(N, D)) * (RNG.random((N, D)) > 0.3)
SCORES = X @ (RNG.normal(size=(D, 1)) + 0.6 * RNG.normal(size=(D, K))) + 0.3 * RNG.normal(size=(N, K))
SIGNS = np.where(SCORES > 0, 1.0, -1.0)
GAPS = np.where(RNG.random((N, K)) < 0.25, np.nan, SIGNS)  # and two records of which nobody has a label
GAPS[[3, N - 1]] = np.nan
GIVEN = ~np.isnan(GAPS)
MEAN = ct.MeanRegularized(b=2)
GRAPH = ct.TaskGraph([("a", "b"), ("b", "c", 0.5), ("c", "d")])


def perceptron(relation=MEAN, **how):
    return ct.MultiOutputClassifier(ct.MultitaskPerceptron(relation, **how), tasks=NAMES)


def of_scale(relation, rule=None):
    """M on the scale that the model learns with: what a first move has done."""
    model = ct.MultitaskPerceptron(relation, rule).partial_fit([[1.0]], [True], task=["a"], tasks=NAMES)
    ratio = model.coef_[model.tasks_.index("a"), 0]
    M = np.asarray(relation.relation_matrix(NAMES))
    return M * (ratio / M[0, 0])


@pytest.mark.parametrize("weights", [None, RNG.integers(3, size=N).astype(float)], ids=["", "weighted"])
def test_a_round_is_its_definition(weights):
    margins, taus, W = at_once(X, GAPS, of_scale(MEAN), weights=weights)
    model = perceptron()
    trace = ct.progressive_validation(model, X, GAPS, sample_weight=weights)
    np.testing.assert_allclose(trace.margin, margins[GIVEN], rtol=1e-9)
    np.testing.assert_array_equal(trace.mistake, (GAPS * margins <= 0)[GIVEN])
    np.testing.assert_array_equal(trace.updated, taus[GIVEN] > 0)
    np.testing.assert_allclose(model.model_.coef_, W, rtol=1e-9)
    np.testing.assert_allclose(model.decision_function(X), X @ W.T, rtol=1e-9, atol=1e-12)
    assert [trace.tasks[i] for i in trace.task[:K]] == [NAMES[k] for k in np.nonzero(GIVEN)[1][:K]]


@pytest.mark.slow
def test_under_a_graph_with_sparse_records_and_aggressive_steps():
    rule = ct.rules.PassiveAggressive(C=0.3)
    model = ct.MultiOutputClassifier(ct.MultitaskPerceptron(GRAPH, rule))  # whose tasks the relation names
    trace = ct.progressive_validation(model, sp.csr_array(X), GAPS)
    assert model.tasks_ == list(GRAPH.known_tasks)
    margins, taus, _ = shortest_at_once(X, GAPS, np.asarray(GRAPH.relation_matrix()), C=0.3)
    np.testing.assert_allclose(trace.margin, margins[GIVEN], rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(trace.updated, taus[GIVEN] > 0)


REPELLING = ct.relations.Interaction(
    inverse=[[1, -0.5, 0.2, 0], [-0.5, 2, 0, 0], [0.2, 0, 1, 0.9], [0, 0, 0.9, 1]], tasks=NAMES
)
LEVELS = ct.Clusters({"a": 0, "b": 0, "c": 1, "d": 1}, share=0.7)


@pytest.mark.parametrize("variant", ["0", "I", "II"])
@pytest.mark.parametrize("relation", [MEAN, LEVELS, slow(REPELLING)], ids=["mean", "clusters", "matrix"])
def test_shortest_steps_are_their_definition_and_keep_their_bound(relation, variant):
    """Crammer et al. 2006, Theorems 2, 4 and 5, for every comparator U and R² = max‖x‖² max_k Σ_l |M_kl|."""
    C, M = 0.3, of_scale(relation)
    weights = RNG.integers(3, size=N).astype(float) if variant == "0" else None
    bound, ridge = (C if variant == "I" else np.inf), (1 / (2 * C) if variant == "II" else 0.0)
    margins, taus, W = shortest_at_once(X, GAPS, M, C=bound, ridge=ridge, weights=weights)
    model = perceptron(relation, rule=ct.rules.PassiveAggressive(C, variant))
    trace = ct.progressive_validation(model, X, GAPS, sample_weight=weights)
    np.testing.assert_allclose(trace.margin, margins[GIVEN], rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(trace.updated, taus[GIVEN] > 0)
    np.testing.assert_allclose(model.model_.coef_, W, rtol=1e-9, atol=1e-12)
    if weights is not None:
        return
    R2 = (X**2).sum(axis=1).max() * np.abs(M).sum(axis=1).max()
    loss = np.maximum(0.0, 1.0 - GAPS * margins)[GIVEN]
    for U in RNG.normal(size=(20, K, D)):
        theirs, q = np.maximum(0.0, 1.0 - GAPS * (X @ U.T))[GIVEN], penalty(U, M)
        if variant == "I":
            assert trace.mistakes <= max(R2, 1 / C) * (q + 2 * C * theirs.sum())
        else:
            assert (loss**2).sum() <= (R2 + ridge) * (q + 2 * C * (theirs**2).sum())


def test_tasks_that_are_one_meet_the_margin_together():
    model = ct.MultiOutputClassifier(ct.MultitaskPerceptron(ct.Pooled(), ct.rules.PassiveAggressive(variant="0")))
    model.partial_fit([[2.0]], [[1, 1, 1, 1]], classes=[0, 1])
    np.testing.assert_allclose(model.decision_function([[2.0]]), 1.0)
    contradicted = ct.MultiOutputClassifier(model.model).partial_fit([[2.0]], [[1, 1, 1, 0]])
    np.testing.assert_allclose(contradicted.decision_function([[2.0]]), 0.5)  # the mean of what the tasks want


@pytest.mark.parametrize("variant", ["0", "I", "II"])
def test_many_equal_tasks_do_not_diverge(variant):
    rng, tasks = np.random.default_rng(0), 50
    records = rng.normal(size=(300, 5))
    y = np.repeat((records @ rng.normal(size=5))[:, None], tasks, axis=1)
    loss = ct.rules.EpsilonInsensitive(variant=variant)
    model = ct.MultiOutputRegressor(ct.MultitaskRegressor(ct.HalfUpdate(), loss=loss)).fit(records, y)
    assert np.abs(model.predict(records) - y).max() < 0.5 * y.std()


def test_a_task_that_moves_says_nothing_of_the_others_of_the_same_record():
    in_turn = primal(np.ones((2, 1)), [1.0, -1.0], [0, 1], M=np.full((2, 2), 1.0))
    assert in_turn.mistakes.tolist() == [True, True]
    assert in_turn.W.tolist() == [[0.0], [0.0]]
    model = ct.MultiOutputClassifier(ct.MultitaskPerceptron(ct.Pooled()))
    trace = ct.progressive_validation(model, [[1.0], [1.0]], [[1, 0], [1, 1]])
    assert trace.margin.tolist() == [0.0, 0.0, 0.0, 0.0]  # 1 and -1 at once; in turn it would be 0, 1, ...
    assert model.model_.coef_.tolist() == [[2.0], [2.0]]


def test_independent_tasks_learn_as_they_would_in_turn():
    model = perceptron(ct.Independent()).partial_fit(X, GAPS)
    record, column = np.nonzero(GIVEN)
    flat = ct.MultitaskPerceptron(ct.Independent()).partial_fit(
        X[record], GAPS[GIVEN], [NAMES[k] for k in column], tasks=NAMES
    )
    np.testing.assert_array_equal(model.model_.coef_, flat.coef_)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_cuts_and_files_change_no_bit(form, tmp_path):
    path = tmp_path / "model"
    whole = perceptron().partial_fit(form(X), GAPS)
    cut = perceptron()
    for first, last in ((0, 1), (1, 3), (3, 50), (50, N)):
        cut = pickle.loads(pickle.dumps(copy.deepcopy(cut.partial_fit(form(X[first:last]), GAPS[first:last]))))  # noqa: S301
        cut = reloaded(cut, path)
    traced = perceptron()
    ct.progressive_validation(traced, form(X), GAPS, on_round=lambda trace: None)
    assert content(cut, path) == content(whole, path) == content(traced, path)
    np.testing.assert_array_equal(cut.predict(form(X)), whole.predict(form(X)))


def test_a_stream_goes_on():
    whole, halves = perceptron(), perceptron()
    trace = ct.progressive_validation(whole, X, GAPS)
    told = [ct.progressive_validation(halves, X[some], GAPS[some]).margin for some in (slice(0, 50), slice(50, N))]
    np.testing.assert_array_equal(np.concatenate(told), trace.margin)


def test_tasks_may_be_tuples():
    tasks = [("u", k) for k in range(K)]
    model = ct.MultiOutputClassifier(ct.MultitaskPerceptron(MEAN), tasks=tasks)
    trace = ct.progressive_validation(model, X, GAPS, tasks=tasks)
    assert set(trace.tasks) == set(tasks)
    np.testing.assert_array_equal(trace.margin, ct.progressive_validation(perceptron(), X, GAPS).margin)


def test_pieces_of_a_stream_are_whole_records():
    block = perceptron().__stream_model__().as_block(X, GAPS)
    pieces = list(block.pieces(7))
    assert sum(map(len, pieces)) == GIVEN.sum()
    assert max(map(len, pieces)) <= 7
    assert [len(piece) for piece in block.pieces(1)] == [n for n in GIVEN.sum(axis=1) if n]
    for piece in pieces:
        at = piece.place - 1
        np.testing.assert_array_equal(piece.X[piece.record], X[at])
        np.testing.assert_array_equal(GAPS[at, piece.column], piece.y)


@pytest.mark.parametrize("relation", [MEAN, ct.Pooled(), ct.Independent()], ids=["mean", "pooled", "independent"])
@pytest.mark.parametrize("labels", ["related", "opposed", "against"])
def test_the_mistake_bound_holds_with_the_largest_eigenvalue(relation, labels):
    model, y = perceptron(relation), SIGNS.copy()
    if labels == "opposed":
        y[:, ::2] = -y[:, 1::2]
    if labels == "against":  # whatever was told is wrong
        for t in range(N):
            margins = model.decision_function(X[t : t + 1])[0] if t else np.zeros(K)
            y[t] = np.where(margins > 0, -1.0, 1.0)
            model.partial_fit(X[t : t + 1], y[t : t + 1], classes=[-1.0, 1.0])
        model = perceptron(relation)
    trace = ct.progressive_validation(model, X, y)
    M = model.model_.relation_matrix_
    U = np.linalg.lstsq(X, y, rcond=None)[0].T
    cost = np.vdot(U.mean(axis=0), U.mean(axis=0)) if relation == ct.Pooled() else penalty(U, M)
    if relation == ct.Pooled():  # M = 11' has no inverse: comparators are one for all, u'Au = ‖u‖²
        U, largest = np.tile(U.mean(axis=0), (K, 1)), float(K)
    else:
        largest = float(np.linalg.eigvalsh(M).max())
    bound = mistake_bound(trace, np.repeat(X, K, axis=0), U, cost, largest)
    assert trace.mistakes <= bound.mistakes


def test_the_diagonal_is_not_enough_for_a_bound():
    """Two tasks of one model and of equal labels: each move counts twice in one direction."""
    model = ct.MultiOutputClassifier(ct.MultitaskPerceptron(ct.Pooled()))
    X = np.array([[1.0, 0.0], [-0.9, np.sqrt(1 - 0.81)], [0.2, -np.sqrt(1 - 0.04)]] * 4)
    u = np.array([1.0, 8.0])
    trace = ct.progressive_validation(model, X, np.repeat(np.where(X @ u > 0, 1, -1)[:, None], 2, axis=1))
    U = np.tile(u / np.abs(X @ u).min(), (2, 1))
    with_diagonal, with_eigenvalue = (
        mistake_bound(trace, np.repeat(X, 2, axis=0), U, U[0] @ U[0], largest).mistakes for largest in (1.0, 2.0)
    )
    assert trace.mistakes <= with_eigenvalue
    assert with_diagonal == with_eigenvalue / 2


# -- forms of records and labels ---------------------------------------------------------------------------------------


def named_forms():
    frame = pd.DataFrame(np.where(GIVEN, GAPS, np.nan), columns=NAMES)
    rows = [{name: GAPS[t, k] for k, name in enumerate(NAMES) if GIVEN[t, k]} for t in range(N)]
    pl = pytest.importorskip("polars")
    return {
        "frame": frame,
        "frame in another order": frame[NAMES[::-1]],
        "polars": pl.DataFrame(dict(zip(NAMES, np.where(GIVEN, GAPS, np.nan).T, strict=True))),
        "dictionaries": rows,
        "lists with None": [
            [y if there else None for y, there in zip(*row, strict=True)] for row in zip(GAPS, GIVEN, strict=True)
        ],
    }


@pytest.mark.parametrize("form", ["frame", "frame in another order", "polars", "dictionaries", "lists with None"])
def test_labels_come_in_any_form(form):
    model = perceptron().partial_fit(X, named_forms()[form])
    expected = perceptron().partial_fit(X, GAPS)
    assert model.tasks_ == NAMES
    np.testing.assert_array_equal(model.decision_function(X), expected.decision_function(X))


def test_tasks_are_named_by_the_columns_and_stay():
    model = ct.MultiOutputClassifier(ct.MultitaskPerceptron(MEAN)).partial_fit(X, pd.DataFrame(SIGNS, columns=NAMES))
    assert model.tasks_ == NAMES
    model.partial_fit(X, [{"c": 1.0}] + [{}] * (N - 1))
    assert model.tasks_ == NAMES
    numbered = ct.MultiOutputClassifier(ct.MultitaskPerceptron(MEAN)).fit(X, SIGNS)
    assert numbered.tasks_ == [0, 1, 2, 3]


def test_labels_are_of_any_kind():
    texts = np.where(SIGNS > 0, "yes", "no")
    model = perceptron().fit(X, texts)
    assert model.classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(model.predict(X) == "yes", perceptron().fit(X, SIGNS).predict(X) > 0)
    assert model.score(X, texts) == (model.predict(X) == texts).mean()
    assert model.score(X, np.where(GIVEN, texts.astype(object), None)) == (model.predict(X) == texts)[GIVEN].mean()


def test_labels_that_are_tuples():
    y = [[("yes", 1) if sign > 0 else ("no", 0) for sign in row] for row in SIGNS.tolist()]
    model = perceptron().partial_fit(X, y)
    expected = perceptron().partial_fit(X, SIGNS)
    np.testing.assert_array_equal(model.decision_function(X), expected.decision_function(X))
    assert (
        perceptron().partial_fit(X[:9], [dict(zip(NAMES, row, strict=True)) for row in y[:9]]).__sklearn_is_fitted__()
    )


def test_one_record_at_a_time():
    model = perceptron()
    assert model.predict_one({"f0": 1.0}) == {}
    for t in range(20):
        record = {f"f{j}": X[t, j] for j in range(D)}
        model.learn_one(record, {name: bool(SIGNS[t, k] > 0) for k, name in enumerate(NAMES)})
    expected = perceptron().partial_fit(X[:20], SIGNS[:20] > 0)
    told = model.predict_one({f"f{j}": X[30, j] for j in range(D)})
    assert list(told) == NAMES
    assert list(told.values()) == expected.predict(X[30:31])[0].tolist()


def test_scikit_learn_clones_and_validates():
    model = perceptron()
    assert (cross_val_score(model, X, SIGNS, cv=3) > 0.7).all()
    copied = clone(model).set_params(model__relation=ct.Pooled())
    assert copied.model.relation == ct.Pooled()
    assert model.model.relation == MEAN
    assert not copied.__sklearn_is_fitted__()
    assert is_regressor(ct.MultiOutputRegressor())
    assert not is_regressor(model)
    assert model.fit(X, SIGNS, n_passes=2).n_features_in_ == D
    frame = pd.DataFrame(X, columns=list("vwxyz"))
    assert model.fit(frame, SIGNS).feature_names_in_.tolist() == list("vwxyz")


def test_parameters_that_change_hold_from_then_on():
    model = perceptron().partial_fit(X, SIGNS)
    model.set_params(model__rule=ct.rules.PassiveAggressive()).partial_fit(X, SIGNS)
    assert model.model_.rule == ct.rules.PassiveAggressive()
    model.set_params(model=ct.MultitaskLogistic())
    with pytest.raises(TypeError, match="has learned: call fit to learn by MultitaskLogistic"):
        model.partial_fit(X, SIGNS)


def test_a_task_that_is_forgotten_begins_anew(tmp_path):
    model = perceptron().fit(X, SIGNS)
    assert model.explain(X[0], "b").margin == model.decision_function(X[:1])[0, 1]
    assert model.largest_weights("b", 1) == model.model_.largest_weights("b", 1)
    model.forget_task("b")
    assert model.predict(X).shape == (N, K)
    np.testing.assert_array_equal(model.decision_function(X)[:, 1], model.model_.decision_function(X, ["b"] * N))
    again = pickle.loads(pickle.dumps(model))  # noqa: S301
    model.save(tmp_path / "model")
    loaded = ct.load(tmp_path / "model")
    for each in (model, again, loaded):
        assert set(each.partial_fit(X, SIGNS).model_.tasks_) == set(NAMES)
        np.testing.assert_array_equal(each.predict(X), model.predict(X))
    data, arrays = loaded.__dump__()
    for tasks in (["a", "b", "c"], ["a", "b", "c", "c"], ["a", "b", "c", "e"]):
        with pytest.raises(ValueError, match="the columns of y are not those of the tasks"):
            perceptron().__restore__(data | {"tasks": tasks}, arrays)


# -- numbers -----------------------------------------------------------------------------------------------------------


def test_numbers_as_they_are_equal_the_definition():
    """The tube of epsilon 0, at most C: tau = min(C, |y - m| / (‖x‖² Σ_l |M_kl|)), towards y."""
    loss = ct.rules.EpsilonInsensitive(0.0, C=0.1, variant="I")
    model = ct.MultiOutputRegressor(
        ct.MultitaskRegressor(MEAN, loss, targets="as they are", fit_intercept=False), tasks=NAMES
    )
    y = np.where(GIVEN, SCORES, np.nan)
    trace = ct.progressive_validation(model, X, y)
    margins, _, W = shortest_at_once(X, y, of_scale(MEAN), C=0.1, epsilon=0.0)
    np.testing.assert_allclose(trace.prediction, margins[GIVEN], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.predict(X), X @ W.T, rtol=1e-9, atol=1e-12)


def test_numbers_are_told_on_the_scale_known_before_their_record():
    model = ct.MultiOutputRegressor(ct.MultitaskRegressor(MEAN), tasks=NAMES)
    y = np.where(GIVEN, 100.0 + 5.0 * SCORES, np.nan)
    trace = ct.progressive_validation(model, X, y)
    np.testing.assert_array_equal(
        trace.prediction[: GIVEN[0].sum()], 0.0
    )  # of the first record, when nothing was known
    halves = ct.MultiOutputRegressor(ct.MultitaskRegressor(MEAN), tasks=NAMES).partial_fit(X[:60], y[:60])
    np.testing.assert_array_equal(
        halves.predict(X[60:61])[0][GIVEN[60]], trace.prediction[GIVEN[:60].sum() :][: GIVEN[60].sum()]
    )
    np.testing.assert_array_equal(halves.partial_fit(X[60:], y[60:]).predict(X), model.predict(X))
    assert model.score(X, y) > 0.5
    assert model.score(X, y, sample_weight=np.ones(N)) == model.score(X, y)


# -- refusals ----------------------------------------------------------------------------------------------------------

PERCEPTRON, OUTPUTS = ct.MultitaskPerceptron, ct.MultiOutputClassifier


@pytest.mark.parametrize(
    ("attempt", "kind", "message"),
    [
        (lambda: OUTPUTS(ct.MultitaskRegressor()).fit(X, SIGNS), TypeError, "model must be an online classifier such as"),
        (lambda: OUTPUTS(ct.OneVsRest()).fit(X, SIGNS), TypeError, "model must be an online classifier such as"),
        (lambda: OUTPUTS(ct.MultitaskPerceptron).fit(X, SIGNS), TypeError, "model is the class MultitaskPerceptron; give one"),
        (lambda: OUTPUTS(PERCEPTRON(ct.LogDet(0.1))).fit(X, SIGNS), TypeError, "under LogDet.*, which each move changes"),
        (lambda: OUTPUTS(PERCEPTRON(average=True)).fit(X, SIGNS), TypeError, "at once with Averaged.*take plain weights"),
        (lambda: OUTPUTS(PERCEPTRON(half_life=9.0)).fit(X, SIGNS), TypeError, "at once with Forgetting"),
        (lambda: OUTPUTS(ct.MultitaskAROW()).fit(X, SIGNS), TypeError, "at once with DiagonalAROW"),
        (lambda: OUTPUTS(ct.geometries.MultitaskKernelPerceptron()).fit(X, SIGNS), TypeError, "at once by a KernelLearner"),
        (lambda: OUTPUTS(PERCEPTRON(max_tasks=3)).fit(X, SIGNS), ValueError, "max_tasks cannot be had where y has"),
        (lambda: OUTPUTS(PERCEPTRON(task_column=0)).fit(X, SIGNS), ValueError, "task_column cannot be had where y has"),
        (lambda: OUTPUTS(PERCEPTRON(class_weight={1: 2})).fit(X, SIGNS), ValueError, "class_weight cannot be had"),
        (lambda: OUTPUTS().fit(X, SIGNS[:, 0]), ValueError, r"shape \(n, K\), got shape \(120,\)"),
        (lambda: OUTPUTS().fit(X, [[1, 2], [1]]), ValueError, r"shape \(n, K\), got shape \(2,\)"),
        (lambda: OUTPUTS().fit(X, SIGNS[:, 0].tolist()), ValueError, r"shape \(n, K\), got shape \(120,\)"),
        (lambda: OUTPUTS().fit(X, None), ValueError, "y is missing: this estimator requires y to be passed"),
        (lambda: OUTPUTS().fit(X, SIGNS[:5]), ValueError, "one row a record: got 5 for 120 records"),
        (lambda: OUTPUTS(tasks="abca").fit(X, SIGNS), ValueError, "tasks must be one a column, got .'a', 'b', 'c', 'a'."),
        (lambda: OUTPUTS().fit(X, pd.DataFrame(SIGNS, columns=list("abca"))), ValueError, "two columns of one name"),
        (lambda: OUTPUTS(tasks="ab").fit(X, SIGNS), ValueError, "a column for each of 2 tasks, got 4"),
        (lambda: OUTPUTS(PERCEPTRON(GRAPH)).fit(X, SIGNS[:, :2]), ValueError, "a column for each of 4 tasks, got 2"),
        (lambda: perceptron().fit(X, [{"e": 1.0}] * N), ValueError, "labels of task 'e', and the tasks are 'a', 'b'"),
        (lambda: perceptron().fit(X, np.full((N, K), np.nan)), ValueError, "y holds no label"),
        (lambda: perceptron().fit(X, np.ones((N, K))), ValueError, "y must hold two classes, got one class only"),
        (lambda: perceptron().fit(X, SCORES), ValueError, "Unknown label type"),
        (lambda: perceptron().fit(X, SIGNS * np.inf), ValueError, "Input y contains infinity, which is no label"),
        (lambda: perceptron().fit(X, SIGNS, n_passes=0), ValueError, "n_passes must be a whole number of 1 or more, got 0"),
        (lambda: perceptron().fit(X, SIGNS, sample_weight=-np.ones(N)), ValueError, "sample_weight of record 0"),
        (lambda: perceptron().fit(X, SIGNS, sample_weight=np.zeros(N)), ValueError, "nothing would be learned"),
        (lambda: perceptron().fit(X, SIGNS).partial_fit(X[:, :3], SIGNS), ValueError, "X has 3 features, but"),
        (lambda: ct.progressive_validation(perceptron(), X, SIGNS, delay=2), ValueError, "none late, none asked for"),
        (lambda: ct.progressive_validation(perceptron(), X, SIGNS, tasks=["a", "e"]), ValueError, "no column of task 'e'"),
        (lambda: ct.progressive_validation(perceptron(), X, SIGNS, task=[0] * N), ValueError, "task= must name none"),
        (lambda: ct.progressive_validation(perceptron(), X, np.full((N, K), np.nan)), ValueError, "y holds no label"),
        (lambda: ct.SelectiveSampling(perceptron()).partial_fit(X, SIGNS), TypeError, "model must be an online class"),
        (
            lambda: ct.MultiOutputRegressor(tasks=NAMES).fit(X, np.where(np.isclose(SCORES, SCORES[2, 1]), np.inf, SCORES)),
            ValueError,
            r"label of record 2 \(from 0\) and task 'b' must be a number of at most 1e\+100, got inf",
        ),
    ],
)  # fmt: skip
def test_refusals_say_why_and_change_nothing(attempt, kind, message):
    with pytest.raises(kind, match=message):
        attempt()


def test_what_has_one_label_a_record_is_refused():
    block = ct.MultitaskPerceptron().__stream_model__().as_block(X, SIGNS[:, 0], [0] * N)
    with pytest.raises(TypeError, match="learns records with a label of every task, and these have one"):
        perceptron().__stream_model__().learn(block)


def test_commands_that_take_a_model(tmp_path):
    perceptron().fit(X, SIGNS).save(tmp_path / "model.coterie")
    assert "feature" in run("explain", tmp_path / "model.coterie", "--task", "b").stdout
    run("forget", tmp_path / "model.coterie", "--task", "b")
    assert ct.load(tmp_path / "model.coterie").model_.tasks_ == ["a", "d", "c"]
    said = refused("serve", tmp_path / "model.coterie", "--data", tmp_path / "state")
    assert "holds a MultiOutputClassifier, which does not learn record by record, with one label each" in said
    (tmp_path / "records.csv").write_text("0,1,2,3,4\n1,1,1,1,1\n")
    said = refused("predict", tmp_path / "model.coterie", tmp_path / "records.csv")
    assert "did not learn from a file" in said


def test_what_is_refused_leaves_the_model_as_it_was(tmp_path):
    model = perceptron().partial_fit(X, GAPS)
    before = content(model, tmp_path / "model")
    for y, message in (
        (np.where(SIGNS > 0, "other", "labels"), "Only binary classification"),
        (SIGNS[:, :2], "a column for each of 4 tasks, got 2"),
        ([{"e": 1}] * N, "labels of task 'e'"),
    ):
        with pytest.raises(ValueError, match=message):
            model.partial_fit(X, y)
    with pytest.raises(ValueError, match="two classes"):
        model.fit(X, np.ones((N, K)))
    assert content(model, tmp_path / "model") == before


def test_before_anything_is_learned(tmp_path):
    with pytest.raises(Exception, match="not fitted yet"):
        perceptron().predict(X)
    perceptron().save(tmp_path / "new")
    assert not ct.load(tmp_path / "new").__sklearn_is_fitted__()
