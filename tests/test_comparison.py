"""Several learners along one stream."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import coterie as ct
from coterie.data.block import Block
from coterie.evaluation import comparison
from coterie.evaluation.comparison import best_baseline
from coterie.evaluation.report import write_report
from coterie.evaluation.report.page_parts import summary_of
from coterie.evaluation.summary import summarize
from coterie.evaluation.verdict import verdict
from streams import FORMS, linear_stream

STREAM = linear_stream(101, n=150, zeros=0.3)
NAMES = [f"user {i}" for i in STREAM.task]
MODELS = {"half": lambda: ct.MultitaskPerceptron()}
MODELS["mean of b"] = lambda: ct.MultitaskPerceptron(ct.MeanRegularized(b=3), average=True)


def learners():
    return {name: make() for name, make in MODELS.items()}


def assert_same_trace(one, other):
    for name in ("margin", "mistake", "updated", "queried", "label", "task"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    decided = one.margin != 0  # the others are predicted as the constant in a comparison
    np.testing.assert_array_equal(one.prediction[decided], other.prediction[decided])
    assert one.tasks == other.tasks
    assert one.classes.tolist() == other.classes.tolist()


class Blocks:
    """A stream in blocks that can be read once only, and counts."""

    def __init__(self, size=40, form=lambda X: X):
        self.read, self.size, self.form = 0, size, form

    def __iter__(self):
        assert not self.read
        for first in range(0, len(STREAM), self.size):
            span = slice(first, first + self.size)
            y, task = STREAM.y[span], np.array(NAMES[span], dtype=object)
            self.read += 1
            yield Block(self.form(STREAM.X[span]), y, task, np.arange(first, first + len(y)) + 1)


def test_a_verdict_is_on_what_was_asked_for_though_a_baseline_did_better():
    """All tasks are alike, so one model for all does better than sharing by half."""
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(1200, 8)), rng.integers(30, size=1200)
    y = X @ rng.normal(size=8) > 0
    compared = ct.compare({"own": ct.MultitaskPerceptron()}, X, y, task=task)
    assert compared.requested == ("own",)
    better = {name for name, trace in compared.traces.items() if trace.error < compared.traces["own"].error}
    assert {"pooled", "intercepts"} & better
    for against in (None, "best", "pooled"):
        assert compared.verdict(against=against).name == "own"
    assert summarize(compared).learner == summary_of(compared).learner == "own"
    assert comparison.asked_for(replace(compared, requested=())) == "own"
    assert compared.verdict("pooled").name == "one model for all tasks"
    one = ct.compare({"pooled": ct.MultitaskPerceptron(ct.Pooled())}, X, y, task=task)
    assert one.verdict().name == "one model for all tasks"


def test_what_one_has_without_learning_together_is_always_there():
    comparison = ct.compare({"half": ct.MultitaskPerceptron(average=True)}, STREAM.X, STREAM.y, task=NAMES)
    names = ["half", "independent", "pooled", "intercepts", "mixed model"]
    assert list(comparison.models) == list(comparison.seconds) == names
    assert list(comparison.traces) == [*comparison.models, "running rate", "constant"]
    half, pooled = (comparison.models[name].get_params() for name in ("half", "pooled"))
    assert pooled == half | {"relation": ct.Pooled()}
    assert comparison.models["independent"].relation == ct.Independent()
    assert all(comparison.models[name].average for name in ("half", "independent", "pooled"))
    constants = ct.MultitaskLogistic(ct.tasks.Intercepts(), fit_intercept=False)
    assert comparison.models["intercepts"].get_params() == constants.get_params()
    assert all(seconds >= 0 for seconds in comparison.seconds.values())


def test_baselines_of_ones_own_are_kept():
    own = ct.MultitaskPerceptron(ct.Pooled(), ct.updates.PassiveAggressive())
    comparison = ct.compare({"pooled": own, "half": ct.MultitaskPerceptron()}, STREAM.X, STREAM.y, task=NAMES)
    assert comparison.models["pooled"] is own
    assert comparison.models["independent"].rule == ct.updates.PassiveAggressive()
    assert list(comparison.models) == ["pooled", "half", "independent", "intercepts", "mixed model"]


@pytest.mark.parametrize(
    "model",
    [
        ct.MultitaskKernelPerceptron(ct.kernels.Gaussian(2.0), ct.HalfUpdate(), ct.updates.Forgetron(30)),
        ct.SecondOrderMultitaskPerceptron(ridge=0.3),
        ct.PNormMultitaskPerceptron(p=5.0),
    ],
    ids=repr,
)
def test_baselines_are_of_the_geometry_the_kernel_and_the_budget_of_the_learner(model):
    baselines = model.__baselines__()
    assert baselines["independent"].get_params() == model.get_params() | {"relation": ct.Independent()}
    linear = [] if hasattr(model, "budget") else ["intercepts", "mixed model"]
    assert list(baselines) == ["independent", "pooled", *linear]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("delay", [0, 7])
def test_traces_equal_those_of_separate_runs(form, delay):
    X = FORMS[form](STREAM.X)
    comparison = ct.compare(learners(), X, STREAM.y, task=NAMES, delay=delay)
    for name, make in MODELS.items():
        alone = ct.progressive_validation(make(), X, STREAM.y, task=NAMES, delay=delay)
        assert_same_trace(comparison.traces[name], alone)


def test_blocks_are_read_once_for_all():
    blocks = Blocks()
    comparison = ct.compare(learners(), blocks)
    assert blocks.read == 4
    for name, make in MODELS.items():
        assert_same_trace(comparison.traces[name], ct.progressive_validation(make(), Blocks()))
    sparse = ct.compare(learners(), Blocks(form=sp.csr_array))
    np.testing.assert_array_equal(sparse.traces["half"].mistake, comparison.traces["half"].mistake)


def test_a_comparison_shows_itself_and_gives_its_verdict(tmp_path):
    comparison = ct.compare(learners(), STREAM.X, STREAM.y, task=NAMES)
    lines = repr(comparison).splitlines()
    assert lines[0].split() == ["learner", "error", "F1", "AUC", "log", "loss"]
    assert all(line.startswith(name) for line, name in zip(lines[1:], comparison.traces, strict=True))
    assert lines[1].split()[1] == f"{100 * comparison.traces['half'].error:.2f}"
    result = comparison.verdict("half", "independent")
    plain = verdict(comparison.traces["half"], comparison.traces["independent"], constant=comparison.traces["constant"])
    assert str(result) == replace(plain, name="half").sentence()
    assert repr(result).startswith("<Verdict on 5 tasks: ")
    assert comparison.verdict("half", against="pooled").against == "one model for all tasks"
    assert comparison.verdict().name == min(MODELS, key=lambda name: comparison.traces[name].error)
    best = best_baseline(comparison.traces, "half")
    assert str(comparison.verdict("half", against="best")) == str(comparison.verdict("half", against=best))
    assert comparison.verdict(against="best").name in ("half", "mean of b", "single precision")
    assert write_report(tmp_path / "r.html", comparison, title="Users").read_text().count("<h1>Users</h1>") == 1


def test_no_headline_claims_a_gain_while_a_stronger_baseline_is_better():
    rng = np.random.default_rng(1)
    task, X = rng.integers(40, size=3000), rng.normal(size=(3000, 8))
    rate = 10 * rng.normal(size=40)
    for model, y, name in (
        (ct.MultitaskRegressor(), rate[task] + rng.normal(size=3000), "running mean"),
        (
            ct.MultitaskLogistic(),
            np.where(rng.random(3000) < 1 / (1 + np.exp(-rate[task])), "yes", "no"),
            "running rate",
        ),
    ):
        comparison = ct.compare({"together": model}, X, y, task=task)
        verdict, best = comparison.verdict(), comparison.verdict(against="best")
        assert comparison.verdict(against="pooled").headline().startswith("Learning together cut ")
        assert best.against == f"a {name} per task"
        assert verdict.against == "one model per task"
        assert verdict.headline() == best.headline()
        assert verdict.headline().startswith("Learning together raised ")
        assert verdict.headline().endswith(f"against {best.against}.")
        assert str(verdict).startswith(verdict.headline())
        assert str(verdict).endswith(f"Keep {best.against}.")
        assert summarize(comparison).sentences[0] == verdict.headline()
        assert summarize(comparison).best == name
        with pytest.raises(ValueError, match=f"'{name}' is the name of a built-in baseline"):
            ct.compare({name: model}, X, y, task=task)


def test_two_names_of_one_model_are_refused():
    model = ct.MultitaskLogistic()
    for other in (model, ct.SelectiveSampling(model)):
        with pytest.raises(ValueError, match="the same model, which would learn twice"):
            ct.compare({"one": model, "other": other}, [[1.0], [2.0]], [0, 1])
