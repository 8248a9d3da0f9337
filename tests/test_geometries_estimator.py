"""The estimators of the other geometries in comparisons, and one by one."""

import pytest

import coterie as ct
from coterie.geometries import MultitaskKernelPerceptron, PNormMultitaskPerceptron, SecondOrderMultitaskPerceptron
from streams import as_dictionaries, linear_stream

STREAM = linear_stream(72, zeros=0.3)


@pytest.mark.parametrize(
    "model",
    [
        MultitaskKernelPerceptron(ct.kernels.Gaussian(2.0), ct.HalfUpdate(), ct.budgets.Forgetron(30)),
        SecondOrderMultitaskPerceptron(ridge=0.3),
        PNormMultitaskPerceptron(p=5.0),
    ],
    ids=repr,
)
def test_beside_models_of_the_same_geometry(model):
    """The two baselines of a comparison are like the learner: geometry, kernel and budget included."""
    comparison = ct.compare({"together": model}, STREAM.X, STREAM.y, task=STREAM.task)
    assert comparison.models["independent"].get_params() == model.get_params() | {"relation": ct.Independent()}
    linear = {"intercepts", "mixed model"} if getattr(model, "kernel", None) is None else set()
    assert set(comparison.traces) == {"together", "independent", "pooled", "running rate", "constant"} | linear


# -- support vectors ---------------------------------------------------------------------------------------------------


def test_records_with_support_vectors_come_one_by_one():
    model, slow = (MultitaskKernelPerceptron(ct.kernels.Gaussian(2.0)) for _ in "12")
    records, y, task = as_dictionaries(STREAM.X), STREAM.y, STREAM.task
    for model_of_two in (model, slow):  # until all features are known
        model_of_two.partial_fit(records[:2], y[:2], task[:2], classes=[-1, 1])
    margins = slow.__stream_model__().learn(records[2:], y[2:], task[2:]).margin
    for x, label, whose, margin in zip(records[2:], y[2:], task[2:], margins, strict=True):
        assert model.decision_function_one(x, whose) == pytest.approx(margin, rel=1e-9, abs=1e-9)
        model.learn_one(x, label, whose)
