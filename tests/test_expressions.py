"""Models and parts as Python expressions: what they make, that ``repr`` is one, and what is refused."""

import datetime
import inspect
import json
import uuid
from decimal import Decimal

import numpy as np
import pytest

import coterie as ct
from coterie import spec
from coterie.expressions import ExpressionError, LearnerExpression, class_names, read_expression, registered_class
from terminal import WHO, refused, run

#: Arguments of the classes that cannot be made without any.
NEEDED = {
    **dict.fromkeys(("Averaged", "Forgetting", "Measured"), "LinearWeights()"),
    **dict.fromkeys(("BatchOptimal", "Covariance"), "0.1"),
    **dict.fromkeys(("Exponential", "FullCovariance", "Normalised", "Scaled"), "Gaussian(sigma=2.0)"),
    **dict.fromkeys(("Forgetron", "Projection", "RandomRemoval", "SharedProjection", "ShiftingForgetron"), "50"),
    **dict.fromkeys(("Landweber", "NuMethod"), "20"),
    **dict.fromkeys(("LogDet", "VonNeumann"), "0.01"),
    **dict.fromkeys(("Product", "Sum"), "Gaussian(sigma=2.0), LinearKernel()"),
    **dict.fromkeys(("Below", "CutOff", "Randomly"), "0.5"),
    "BetaDivergence": "0.5",
    "Bregman": "BetaDivergence(0.5), 0.0001",
    "ClusterPenalty": "{'a': 1, 'b': 1}",
    "Clusters": "{'a': 1, ('b', 2): 2.5}",
    "Dual": "Gaussian(sigma=2.0), Projection(50)",
    "GraphPenalty": "[[0.0, 1.0], [1.0, 0.0]]",
    "Hierarchy": "'/'",
    "Interaction": "[[2.0, -1.0], [-1.0, 2.0]], tasks=['a', 'b']",
    "Member": "AdaptiveGradient(), Pooled(), Logistic()",
    "MixedEffect": "omega=0.5",
    "Pairwise": "'laplacian'",
    "PotentialWeights": "PNorm(3.0)",
    "Primed": "LogDet(eta=0.01), 50",
    "SelectiveSampling": "MultitaskLogistic()",
    "SpectralNorm": "PNorm(3.0)",
    "TaskGraph": "[('a', 'b', 2.0), ('b', 'c')]",
}
VALUES = [
    None, True, -3, 2.5, -1e300, float("inf"), "a, (b) = 'c'", b"\x00", (), (1,), [1, [2]], {"a": (1, -2)}, "é",
    datetime.date(2026, 1, 2), datetime.datetime(2026, 1, 2, 3, 4), Decimal("1.50"), uuid.UUID(int=7),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_repr_of_a_value_is_an_expression(value):
    assert read_expression(repr(value)) == value


@pytest.mark.parametrize("name", class_names())
def test_repr_of_every_estimator_and_part_is_an_expression(name):
    cls = registered_class(name)
    required = [
        parameter.name
        for parameter in list(inspect.signature(cls.__init__).parameters.values())[1:]
        if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
    ]
    text = f"{name}({NEEDED.get(name, '')})"
    assert not required or name in NEEDED, f"give an example of {name}({', '.join(required)})"
    expression = read_expression(text)
    assert type(expression) is cls
    again = read_expression(repr(expression))
    assert repr(again) == repr(expression)
    if name in spec.PARTS:
        for same in (again, spec.from_json(json.loads(json.dumps(spec.to_json(expression))))):
            assert (same, hash(same), repr(same)) == (expression, hash(expression), repr(expression))


def test_repr_of_nested_models_and_arrays_is_an_expression():
    for model in (
        ct.AdaptiveSharingClassifier([ct.MultitaskAROW(ct.Pooled()), ct.MultitaskLogistic(ct.Independent())]),
        ct.SelectiveSampling(ct.MultitaskLogistic(ct.MeanRegularized(share=0.3)), ct.updates.Margin(0.25), budget=9),
        ct.OneVsRest(ct.MultitaskPerceptron(ct.tasks.Interaction(np.array([[2.0, 0.1], [0.1, 1.0]])))),
        ct.MultitaskKernelPerceptron(ct.kernels.Gaussian(2.0), budget=ct.updates.SharedProjection(200)),
    ):
        assert repr(read_expression(repr(model))) == repr(model)


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ("", "not a Python expression: invalid syntax", 0),
        ("Men(", "not a Python expression: '(' was never closed", 3),
        ("MeanRegularised()", "unknown name 'MeanRegularised'; did you mean 'MeanRegularized'?", 0),
        ("MeanRegularized", "MeanRegularized is a class; write MeanRegularized(...)", 0),
        ("MeanRegularized(shar=1)", "has no parameter 'shar'; it has b, share; did you mean 'share'?", 16),
        ("MultitaskPerceptron(MeanRegularized(share=2))", "share must lie between 0 (independent)", 42),
        ("MeanRegularized(share='é', b=__import__('os'))", "unknown name '__import__'", 29),
        ("MeanRegularized.__init__(1)", "MeanRegularized.__init__ cannot be called here", 0),
        ("(1).bit_length()", "(1).bit_length cannot be called here", 0),
        ("MeanRegularized(*[1])", "* and ** are not supported", 0),
        ("MeanRegularized(**{'share': 1})", "* and ** are not supported", 0),
        ("[x for x in (1, 2)]", "expected a value, a list", 0),
        ("lambda: 1", "expected a value, a list", 0),
        ("1 + 1", "expected a value, a list", 0),
        ("-'a'", "expected a number after the minus sign", 0),
        ("MeanRegularized.read('a.csv')", "MeanRegularized is not read from a file", 0),
        ("(" * 300 + ")" * 300, "not a Python expression", None),
    ],
)
def test_an_expression_of_another_form_is_refused_at_its_position(text, message, column):
    with pytest.raises(ExpressionError) as refusal:
        read_expression(text)
    assert message in str(refusal.value)
    if column is not None:
        assert refusal.value.shown[1] == " " * column + "^"


def test_nothing_is_evaluated(tmp_path):
    for text in (f"open({str(tmp_path / 'x')!r}, 'w')", "ct.__class__", "f'{1}'", "(a := 1)", "Clusters.read.__self__"):
        with pytest.raises(ExpressionError):
            read_expression(text)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("Pooled()", {}, "Pooled is not an online model; write MultitaskLogistic(relation=...)"),
        ("12", {}, "int is not an online model"),
        ("MultitaskLogistic(MeanRegularized())", {"regression": True}, "--regression requires a regressor"),
        ("MultitaskLogistic()", {"many_classes": True}, "write OneVsRest(MultitaskLogistic(...))"),
        ("MultitaskPerceptron(average=True, half_life=9)", {}, "average"),
        (None, {"many_classes": True, "regression": True}, "--regression and --many-classes cannot be combined"),
    ],
)
def test_a_learner_that_does_not_fit_is_refused(text, options, message):
    with pytest.raises(ExpressionError) as refusal:
        LearnerExpression(text, **options)
    assert message in str(refusal.value)


def test_defaults_follow_the_labels():
    assert repr(LearnerExpression(None).make()) == "AdaptiveSharingClassifier()"
    assert repr(LearnerExpression(None, regression=True).make()) == "AdaptiveSharingRegressor()"
    assert repr(LearnerExpression(None, many_classes=True).make()) == "OneVsRest(model=AdaptiveSharingClassifier())"
    assert LearnerExpression("MultitaskRegressor()").model.__stream_model__().label_encoder.numeric


def test_relations_are_read_from_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "groups.csv").write_text("task,group\n1,x\n2,y\n")
    (tmp_path / "edges.csv").write_text("a,b\nb,c,2.5\n")
    (tmp_path / "parents.csv").write_text("1,fr\n2,it\nfr,all\nit,all\n")
    expression = LearnerExpression("MultitaskLogistic(Clusters.read('groups.csv', share=0.3))")
    assert expression.files == ["groups.csv"]
    assert expression.make().relation == ct.Clusters({1: "x", 2: "y"}, share=0.3)
    assert expression.make(str).relation == ct.Clusters({"1": "x", "2": "y"}, share=0.3)
    edges, parents = [("a", "b"), ("b", "c", 2.5)], {1: "fr", 2: "it", "fr": "all", "it": "all"}
    assert read_expression("TaskGraph.read('edges.csv', error=0)") == ct.TaskGraph(edges, error=0.0)
    assert read_expression("Hierarchy.read('parents.csv', b=(0.25, 0.5))") == ct.Hierarchy(parents, b=(0.25, 0.5))
    with pytest.raises(ExpressionError, match="nothere"):
        read_expression("Clusters.read('nothere.csv')")


def test_an_error_shows_the_expression_and_its_position(clicks):
    lines = run("learn", clicks, *WHO, "--learner", "MultitaskLogistic(Poled())", code=2).stderr.splitlines()
    assert lines[-3:-1] == ["  MultitaskLogistic(Poled())", "                    ^"]
    message = "--learner: unknown name 'Poled'; did you mean 'Pooled'?"
    assert refused("learn", clicks, *WHO, "--learner", "MultitaskLogistic(Poled())") == message
