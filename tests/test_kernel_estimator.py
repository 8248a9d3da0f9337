"""MultitaskKernelPerceptron among scikit-learn's tools and on the command line; what it shows; refusals."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV

import coterie as ct
from coterie.geometries import MultitaskKernelPerceptron as KernelPerceptron
from streams import linear_stream
from terminal import run

STREAM = linear_stream(71, zeros=0.3)


def test_a_search_over_kernels_and_budgets():
    X = np.column_stack([STREAM.X, STREAM.task])
    choices = {
        "kernel": [ct.kernels.Gaussian(1.0), ct.kernels.Gaussian(3.0), "linear"],
        "budget": [None, ct.budgets.Forgetron(30)],
    }
    model = KernelPerceptron(task_column=-1)
    search = GridSearchCV(model, choices, cv=3, error_score="raise").fit(X, STREAM.y)
    assert search.best_score_ > 0.6


def test_what_there_is_to_see():
    model = KernelPerceptron(budget=ct.budgets.RandomRemoval(10))
    for name in ("n_support_", "support_tasks_", "support_rounds_", "evictions_", "projections_", "repairs_"):
        assert not hasattr(model, name)
    with pytest.raises(NotFittedError):
        model.predict(STREAM.X)
    rounds = model.__stream_model__().learn(STREAM.X, STREAM.y, STREAM.named("abcde"))
    assert model.n_support_ == 10
    assert model.evictions_ == rounds.updated.sum() - 10
    assert (np.diff(model.support_rounds_) > 0).all()
    assert rounds.updated[model.support_rounds_].all()
    assert model.support_tasks_ == [STREAM.named("abcde")[t] for t in model.support_rounds_]
    assert model.relation_matrix_.shape == (5, 5)


def test_records_one_by_one_as_dictionaries():
    model, slow = (KernelPerceptron(ct.kernels.Gaussian(2.0)) for _ in "12")
    records = [{f"f{j}": float(x[j]) for j in np.flatnonzero(x)} for x in STREAM.X]
    slow.partial_fit(records[:1], STREAM.y[:1], STREAM.task[:1], classes=[-1, 1])
    model.partial_fit(records[:1], STREAM.y[:1], STREAM.task[:1], classes=[-1, 1])
    margins = slow.__stream_model__().learn(records[1:], STREAM.y[1:], STREAM.task[1:]).margin
    for x, y, task, margin in zip(records[1:], STREAM.y[1:], STREAM.task[1:], margins, strict=True):
        assert model.decision_function_one(x, task) == pytest.approx(margin, rel=1e-9, abs=1e-9)
        model.learn_one(x, y, task)


@pytest.mark.slow
def test_single_precision_keeps_half_of_it():
    models = [KernelPerceptron(ct.kernels.Gaussian(2.0), dtype=dtype) for dtype in ("float32", "float64")]
    single, double = (model.__stream_model__().learn(STREAM.X, STREAM.y, STREAM.task).margin for model in models)
    np.testing.assert_allclose(single, double, rtol=1e-4, atol=1e-4)


def test_a_function_cannot_be_saved(tmp_path):
    model = KernelPerceptron(rbf_kernel).fit(STREAM.X, STREAM.y)
    with pytest.raises(TypeError, match="has no JSON form"):
        model.save(tmp_path / "model.coterie")
    assert list(tmp_path.iterdir()) == []


def test_beside_models_of_the_same_kernel():
    """The two baselines of a comparison are like the learner, kernel and budget included."""
    model = KernelPerceptron(ct.kernels.Gaussian(2.0), ct.HalfUpdate(), ct.budgets.Forgetron(30))
    found = ct.compare({"together": model}, STREAM.X, STREAM.y, task=STREAM.task)
    assert found.models["independent"].get_params() == model.get_params() | {"relation": ct.Independent()}
    assert set(found.traces) == {"together", "independent", "pooled", "constant"}


# -- the command line --------------------------------------------------------------------------------------------------


@pytest.fixture
def table(tmp_path):
    frame = pd.DataFrame(STREAM.X, columns=[f"f{j}" for j in range(STREAM.X.shape[1])])
    path = tmp_path / "stream.csv"
    frame.assign(user=STREAM.named("abcde"), good=np.where(STREAM.y > 0, "yes", "no")).to_csv(path, index=False)
    return path


def test_learn_and_predict(table, tmp_path):
    options = (
        "--learner",
        "perceptron(kernel=gaussian(1.5), budget=forgetron(40))",
        "--task",
        "user",
        "--label",
        "good",
    )
    made = run("learn", str(table), *options, "--json", "--output", str(tmp_path / "m.coterie"))
    assert made.exit_code == 0, made.output
    expected = "MultitaskKernelPerceptron(kernel=Gaussian(sigma=1.5), budget=Forgetron(size=40, "
    assert json.loads(made.stdout)["parameters"]["together"].startswith(expected)
    model = ct.load(tmp_path / "m.coterie")
    assert model.n_support_ == 40
    more = run("learn", str(table), "--task", "user", "--label", "good", "--from", str(tmp_path / "m.coterie"))
    assert more.exit_code == 0, more.output
    told = run("predict", str(tmp_path / "m.coterie"), str(table), "--task", "user")
    assert told.exit_code == 0, told.output


def test_compare(table):
    learners = ["perceptron(kernel=gaussian(2), budget=random(30))", "perceptron(kernel=polynomial(degree=2))"]
    asked = [word for each in learners for word in ("--learner", each)]
    made = run("compare", str(table), "--task", "user", "--label", "good", *asked, "--json")
    assert made.exit_code == 0, made.output
    parameters = json.loads(made.stdout)["parameters"]
    assert "RandomRemoval(size=30, seed=0)" in parameters[learners[0]]
    assert "Polynomial(degree=2, coef0=1.0)" in parameters[learners[1]]
