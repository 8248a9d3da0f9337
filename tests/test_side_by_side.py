"""Members of a mixture side by side, compiled as one: to the last bit what they say, learn and save apart."""

import numpy as np
import pytest
import scipy.sparse as sp

import coterie as ct
from coterie.estimators import adaptive_classification
from coterie.models.ensemble import CompiledEnsemble, Ensemble, make_ensemble
from slow import slow
from states import content

N, D, K = 240, 12, 5


def stream(seed, dense, n=N):
    """Sparse records with a repeated pattern, labels of half-shared truths, tasks that come one after the other."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, D)) * (rng.random((n, D)) < 0.4)
    task = np.minimum(rng.integers(K, size=n), np.arange(n) // 20)
    truth = rng.standard_normal(D) + rng.standard_normal((K, D))
    y = np.where(np.einsum("ij,ij->i", X, truth[task]) + rng.logistic(size=n) > 0, "yes", "no")
    return (X if dense else sp.csr_array(X)), y, [f"t{i}" for i in task]


def model_of(monkeypatch, make_ensemble, members="default", **options):
    """A model whose mixture is made by that function."""
    with monkeypatch.context() as patched:
        patched.setattr(adaptive_classification, "make_ensemble", make_ensemble)
        model = ct.AdaptiveSharingClassifier(members, **options)
        first = np.eye(1, D) if options.get("storage", "dense") == "dense" else sp.csr_array(np.eye(1, D))
        model.partial_fit(first, ["no"], task=["t0"], classes=["no", "yes"])
    assert type(model.state_.losses).__name__ == "Losses"
    return model


def both(monkeypatch, members="default", **options):
    """The same model side by side, and apart."""
    return model_of(monkeypatch, make_ensemble, members, **options), model_of(monkeypatch, Ensemble, members, **options)


@pytest.mark.parametrize(("storage", "dense"), [("dense", True), slow("sparse", False)])
@pytest.mark.parametrize("members", ["default", *map(slow, ["ensemble", "cheap"])])
def test_is_what_its_members_are_apart(monkeypatch, tmp_path, storage, dense, members):
    X, y, task = stream(0, dense)
    models = both(monkeypatch, members, storage=storage)
    assert [type(model._model.learner) for model in models] == [CompiledEnsemble, Ensemble]
    outputs = []
    for model in models:
        traces = [ct.progressive_validation(model, X[:100], y[:100], task=task[:100])]
        traces += [ct.progressive_validation(model, X[100:], y[100:], task=task[100:], delay=7)]
        unseen = model.decision_function(X[:20], task=["t0", "new"] * 10)
        margins = [trace.margin for trace in traces]
        outputs.append([*margins, unseen, model.sharing_weights_, model.coef_, model.sharing_])
    for one, other in zip(*outputs, strict=True):
        np.testing.assert_array_equal(one, other)
    assert content(models[0], tmp_path / "one") == content(models[1], tmp_path / "other")


@pytest.mark.slow
def test_labels_that_are_asked_for_late(monkeypatch, tmp_path):
    X, y, task = stream(2, True)
    files = []
    for make_one in (make_ensemble, Ensemble):
        with monkeypatch.context() as patched:
            patched.setattr(adaptive_classification, "make_ensemble", make_one)
            asking = ct.SelectiveSampling(ct.AdaptiveSharingClassifier(), ct.updates.Margin(0.5), 40, 60, seed=3)
            trace = ct.progressive_validation(asking, X, y, task=task, delay=5)
        assert 20 < trace.queried.sum() < N - 20
        files.append((trace.margin.tobytes(), content(asking, tmp_path / "model")))
    assert files[0] == files[1]


@pytest.mark.parametrize(("storage", "dense"), [("dense", True), slow("sparse", False)])
def test_tasks_are_forgotten(monkeypatch, tmp_path, storage, dense):
    X, y, task = stream(3, dense)
    files = []
    for model in both(monkeypatch, storage=storage):
        model.partial_fit(X[:200], y[:200], task=task[:200])
        for task_name in ("t1", "t4"):
            model.forget_task(task_name)
        model.partial_fit(X[200:], y[200:], task=task[200:])
        predictions = model.decision_function(X, task=task)
        for task_name in list(model.tasks_):
            model.forget_task(task_name)
        model.partial_fit(X[:50], y[:50], task=task[:50])
        files.append((predictions.tobytes(), content(model, tmp_path / "model")))
    assert files[0] == files[1]


def test_which_learners_go_side_by_side():
    """Those of the named sets do, but for pools with signs; those of other relations, rules and storages are apart."""
    own = ct.Member(ct.updates.AdaptiveGradient(), ct.Independent(), ct.updates.Logistic()).learner()

    def kind_with(hypothesis, relation, rule):
        return type(make_ensemble([own, ct.Member(hypothesis, relation, rule).learner()]))

    assert kind_with(ct.updates.CoinBetting(), ct.MeanRegularized(share=0.2), ct.updates.Logistic()) is CompiledEnsemble
    for member in (
        (ct.updates.LinearWeights(), ct.Pooled(), ct.updates.PassiveAggressive()),
        (ct.updates.AdaptiveGradient(), ct.Clusters({"a": 1}, share=0.5), ct.updates.Logistic()),
        (ct.updates.AdaptiveGradient(), ct.MeanRegularized(b=2), ct.updates.Logistic()),
        (ct.updates.AdaptiveGradient(storage="sparse"), ct.Pooled(), ct.updates.Logistic()),
        (ct.updates.Forgetting(ct.updates.AdaptiveGradient(), 9.0, 9.0), ct.Pooled(), ct.updates.Logistic()),
        (ct.updates.DiagonalAROW(), ct.Pooled(), ct.updates.SecondOrder()),
    ):
        assert kind_with(*member) is Ensemble, member
    assert type(make_ensemble([own])) is Ensemble
