"""MMPERC against its definition, its two forms against each other, its rounds in all forms, and its refusals."""

import numpy as np
import pytest

import coterie as ct
from coterie import HeterogeneousMultitaskPerceptron as Heterogeneous
from reference import heterogeneous as reference
from reference import sharing
from streams import assert_margins

SIZES = (4, 7, 2)
TASKS = ("text", "image", "sound")


def views(seed, n=220, noise=0.4):
    """Three views of a hidden truth, an active task a round, and labels."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(n, 3))
    X = [hidden @ rng.normal(size=(3, d)) + 0.3 * rng.normal(size=(n, d)) for d in SIZES]
    return X, np.where(hidden[:, 0] + noise * rng.normal(size=n) > 0, 1.0, -1.0), rng.integers(3, size=n)


X, Y, ACTIVE = views(1)
#: Enough rounds of them for the definition by kernels, which takes all pairs of instances.
FEW = [view[:70] for view in X], Y[:70], ACTIVE[:70]


CHAIN = ct.TaskGraph([(0, 1), (1, 2, 2.5)])
ANY = ct.tasks.Interaction([[3.0, -1.0, 0.5], [-1.0, 2.0, 0.2], [0.5, 0.2, 1.0]])
#: Which tasks agree: all of them, or by CCG08 §6, "other measures of similarity".
RELATIONS = {"all": None, "chain": CHAIN, "any": ANY, "clusters": ct.Clusters({0: "a", 1: "b", 2: "b"}, share=0.6)}


def interaction_of(relation):
    return None if relation is None else np.linalg.inv(relation.relation_matrix([0, 1, 2]))


@pytest.mark.parametrize("b", [0.0, 0.5, 1.0, 20.0])
@pytest.mark.parametrize("relation", RELATIONS.values(), ids=RELATIONS)
def test_equal_to_the_definition(relation, b):
    expected = reference.literal(X, Y, ACTIVE, b, interaction_of(relation))
    for solver in ("primal", "dual", "auto"):
        model = Heterogeneous(b, solver=solver, relation=relation)
        trace = ct.progressive_validation(model, X, Y, task=ACTIVE)
        assert_margins(trace.margin, expected, Y)
        assert model.n_mistakes_ == trace.mistakes > sum(SIZES)
        assert model.solver_ == ("primal" if solver == "auto" else solver)


@pytest.mark.parametrize("relation", [None, CHAIN])
def test_kernels_equal_to_the_definition(relation):
    chosen = ct.kernels.Gaussian(2.0), ct.kernels.Polynomial(2), "linear"
    functions = (lambda x, z: np.exp(-((x - z) ** 2).sum() / 8.0), lambda x, z: (x @ z + 1.0) ** 2, np.dot)
    X, Y, active = FEW
    expected = reference.dual(X, Y, active, 0.7, functions, interaction_of(relation))
    for kernels in (chosen, dict(enumerate(chosen))):
        trace = ct.progressive_validation(Heterogeneous(0.7, kernels, relation=relation), X, Y, task=active)
        assert_margins(trace.margin, expected, Y)


def test_one_task_is_a_perceptron():
    default_tasks = ct.progressive_validation(Heterogeneous(b=5.0), X[0], Y)
    assert_margins(default_tasks.margin, ct.progressive_validation(ct.MultitaskPerceptron(), X[0], Y).margin, Y)


def test_a_relation_is_saved_and_mixed_and_a_baseline(tmp_path):
    names = dict(zip(TASKS, X, strict=True))
    active = [TASKS[i] for i in ACTIVE]
    chain = ct.TaskGraph([("text", "image"), ("image", "sound", 2.5)])
    model = Heterogeneous((0.0, 1.0), relation=chain)
    model.partial_fit({name: view[:100] for name, view in names.items()}, Y[:100], active[:100])
    model.save(tmp_path / "m.coterie")
    again = ct.load(tmp_path / "m.coterie")
    for fitted in (model, again):
        fitted.partial_fit({name: view[100:] for name, view in names.items()}, Y[100:], active[100:])
    np.testing.assert_array_equal(again.decision_function(names), model.decision_function(names))
    one = Heterogeneous(1.0)._with_relation(chain)
    assert one.relation is chain
    assert one.__baselines__()["independent"].relation is None
    plain = ct.progressive_validation(one, names, Y, task=active)
    assert_margins(plain.margin, reference.literal(X, Y, ACTIVE, 1.0, interaction_of(CHAIN)), Y)


def test_labels_of_every_task_are_rounds_in_turn():
    labels = np.column_stack([Y, -Y, Y])[:60]
    model, slow = (Heterogeneous(1.0), Heterogeneous(1.0))
    first_rows = [view[:60] for view in X]
    trace = ct.progressive_validation(model, first_rows, labels)
    turned = ct.progressive_validation(
        slow, [np.repeat(view, 3, axis=0) for view in first_rows], labels.ravel(), task=np.tile([0, 1, 2], 60)
    )
    np.testing.assert_allclose(trace.margin, turned.margin, rtol=1e-12, atol=1e-12)
    assert trace.n == 180
    predictions = model.decision_function(first_rows)
    assert predictions.shape == model.predict(first_rows).shape == (60, 3)
    for i in range(3):
        np.testing.assert_allclose(predictions[:, i], model.decision_function(first_rows, task=[i] * 60), rtol=1e-9)


REFUSALS = {
    "b": (lambda: Heterogeneous(-1.0).fit(X, Y, ACTIVE), "b must be a finite number, at least 0"),
    "rows": (lambda: Heterogeneous().fit([X[0], X[1][:9]], Y, ACTIVE), "one instance per round"),
    "task": (lambda: Heterogeneous().fit(X, Y, ACTIVE + 1), "task 3 has no instances"),
    "no task": (lambda: Heterogeneous().fit(X, Y), "task is missing"),
    "labels": (lambda: Heterogeneous().fit(X, np.ones((220, 2))), "one for each task"),
    "both": (lambda: Heterogeneous().fit(X, np.ones((220, 3)), ACTIVE), "leave out task="),
    "kernels": (lambda: Heterogeneous(1.0, ["linear"] * 2).fit(X, Y, ACTIVE), "one kernel per task: expected 3"),
    "names": (lambda: Heterogeneous(1.0, {"a": "linear"}).fit(X, Y, ACTIVE), "kernels must have one entry per task"),
    "solver": (lambda: Heterogeneous(solver="dula").fit(X, Y, ACTIVE), "solver must be 'auto', 'primal' or 'dual'"),
    "primal": (lambda: Heterogeneous(1.0, "linear", solver="primal").fit(X, Y, ACTIVE), "does not support kernels"),
    "no instance": (lambda: Heterogeneous().fit([{}], [True]), "the record has no features"),
    "nan": (lambda: Heterogeneous().fit([X[0], X[1] * np.nan], Y, ACTIVE % 2), "NaN"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(name):
    act, message = REFUSALS[name]
    with pytest.raises(ValueError, match=message):
        act()


# -- b learned as the stream goes --------------------------------------------------------------------------------------

BS = (0.0, 1.0, 8.0)


class Predictions:
    """A learner of whom all margins are known."""

    def __init__(self, margins):
        self.margins = margins

    def margin(self, x, task, t):
        return float(self.margins[t])

    def learn(self, x, task, y, t):
        """Do nothing."""


def agreeing(seed=0, same=True, n=300):
    rng = np.random.default_rng(seed)
    hidden, active = rng.normal(size=(n, 3)), rng.integers(2, size=n)
    X = [hidden @ rng.normal(size=(3, d)) + 0.3 * rng.normal(size=(n, d)) for d in (8, 5)]
    return X, np.where((1.0 if same else np.where(active == 0, 1.0, -1.0)) * hidden[:, 0] > 0, 1, -1), active


@pytest.mark.parametrize("kernels", [None, [ct.kernels.Gaussian(2.0), "linear"]])
def test_several_b_are_mixed_as_by_the_definition(kernels):
    X, y, active = agreeing()
    traces = [ct.progressive_validation(Heterogeneous(b, kernels), X, y, task=active) for b in BS]
    mixture = sharing.AdaptiveSharing([Predictions(trace.margin) for trace in traces], log_odds=False)
    expected = sharing.run(mixture, X[0], active.tolist(), y.tolist())
    model = Heterogeneous(BS, kernels)
    trace = ct.progressive_validation(model, X, y, task=active)
    np.testing.assert_allclose(trace.margin, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.b_weights_[0], mixture.weights(model.tasks_[0], 3), rtol=1e-9)
    assert model.n_mistakes_ == sum(trace.mistakes for trace in traces)
    pieces = Heterogeneous(list(BS), kernels)
    for chunk in (slice(0, 1), slice(1, 130), slice(130, 300)):
        pieces.partial_fit([x[chunk] for x in X], y[chunk], task=active[chunk], classes=[-1, 1])
    np.testing.assert_allclose(pieces.decision_function(X), model.decision_function(X), rtol=1e-9, atol=1e-9)
