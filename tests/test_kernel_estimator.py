"""MultitaskKernelPerceptron among scikit-learn's tools and on the command line; what it shows."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import coterie as ct
from coterie.geometries import MultitaskKernelPerceptron as KernelPerceptron
from streams import linear_stream
from terminal import run, run_json

STREAM = linear_stream(71, zeros=0.3)


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
    assert not hasattr(model, "coef_")


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


# -- the command line --------------------------------------------------------------------------------------------------

GOOD = ("--task", "user", "--label", "good")


@pytest.fixture
def table(tmp_path):
    frame = pd.DataFrame(STREAM.X, columns=[f"f{j}" for j in range(STREAM.X.shape[1])])
    path = tmp_path / "stream.csv"
    frame.assign(user=STREAM.named("abcde"), good=np.where(STREAM.y > 0, "yes", "no")).to_csv(path, index=False)
    return path


def test_learn_and_predict(table, tmp_path):
    model = tmp_path / "m.coterie"
    learner = "perceptron(kernel=gaussian(1.5), budget=forgetron(40))"
    told = run_json("learn", table, *GOOD, "--learner", learner, "--output", model)
    expected = "MultitaskKernelPerceptron(kernel=Gaussian(sigma=1.5), budget=Forgetron(size=40, "
    assert told["parameters"]["together"].startswith(expected)
    assert ct.load(model).n_support_ == 40
    run("learn", table, *GOOD, "--from", model)
    run("predict", model, table, "--task", "user")


def test_compare(table):
    learners = ["perceptron(kernel=gaussian(2), budget=random(30))", "perceptron(kernel=polynomial(degree=2))"]
    asked = [word for each in learners for word in ("--learner", each)]
    parameters = run_json("compare", table, *GOOD, *asked)["parameters"]
    assert "RandomRemoval(size=30, seed=0)" in parameters[learners[0]]
    assert "Polynomial(degree=2, coef0=1.0)" in parameters[learners[1]]
