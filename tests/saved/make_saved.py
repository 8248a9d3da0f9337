"""Model files of every kind of model that can be saved, and what each model says: `python tests/saved/make_saved.py`.

The files here were made so by version 0.1.0 (commit c84ccba), to be read by all that follow. They are not to be made
anew: a file of a later version says nothing about reading those of an earlier one. Names given on the command line are
made only, and added to what is there.
"""

import datetime
import json
import sys
import tempfile
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

import coterie as ct

sys.path.insert(0, str(Path(__file__).parents[1]))
from test_saved import EXPECTED, FOLDER, TASKS, outcome, records

GROUPS = {task: task[:2] for task in TASKS}


def models():
    """By the name of the file the form of the records, and the model or what makes it of them.

    It is a function because later versions may lack names that are used in it.
    """
    SPD = np.array([[2.0, -1.0, 0.0, 0.0], [-1.0, 2.0, -0.5, 0.0], [0.0, -0.5, 1.5, 0.25], [0, 0, 0.25, 1.0]])
    EDGES = [(TASKS[0], TASKS[1]), (TASKS[1], TASKS[2], 0.5), (TASKS[2], TASKS[3])]
    TREE = GROUPS | {"fr": "all", "it": "all"}
    GRAPH, FACTOR = ct.TaskGraph(EDGES), ct.TaskGraph(EDGES, error=0.0, method="factor")
    PUSH = ct.TaskGraph(EDGES, error=1e-14, method="push")
    INTERACTION = ct.relations.Interaction(SPD, tasks=TASKS)
    MEAN, CLUSTERS, SEPARATED = ct.MeanRegularized(share=0.3), ct.Clusters(GROUPS, b=2), ct.Hierarchy("/", b=(1.0, 4.0))
    PA1, PA2 = ct.rules.PassiveAggressive(C=0.3), ct.rules.PassiveAggressive(C=0.3, variant="II")
    LOG_DET, RANDOM = ct.LogDet(0.01), ct.RandomRemoval(5, seed=3)
    SPARSE, HASHED, FEW = {"storage": "sparse"}, {"storage": "hashed", "bits": 5}, {"storage": "hashed", "bits": 4}
    SINGLE = {"dtype": "float32"}

    Perceptron, Logistic, AROW, Sharing = (
        ct.MultitaskPerceptron,
        ct.MultitaskLogistic,
        ct.MultitaskAROW,
        ct.AdaptiveSharingClassifier,
    )
    Regressor, Kernel, Second = (
        ct.MultitaskRegressor,
        ct.geometries.MultitaskKernelPerceptron,
        ct.geometries.SecondOrderMultitaskPerceptron,
    )
    PNorm, Spaces = ct.geometries.PNormMultitaskPerceptron, ct.geometries.HeterogeneousMultitaskPerceptron
    Views, Orthogonal, Cues = (
        ct.views.MultiviewPerceptron,
        ct.views.OrthogonalMultiviewPerceptron,
        ct.views.MultiCueClassifier,
    )
    Ask, Rest, Sets = ct.SelectiveSampling, ct.OneVsRest, ct.MultiLabel
    Ridge, Classes, Fields = (
        ct.batch.MultitaskKernelRidge,
        ct.batch.MultitaskKernelClassifier,
        ct.batch.VectorFieldRidge,
    )

    # members of a mixture that are parts: the one place where files name hypotheses
    MEMBERS = (
        ct.Member(ct.Linear("sparse"), CLUSTERS, PA1),
        ct.Member(ct.AdaptiveGradient(0.5), ct.Pooled(), ct.rules.Logistic()),
        ct.Member(ct.DiagonalAROW(3.0), ct.HalfUpdate(), ct.rules.AROW()),
        ct.Member(ct.Forgetting(ct.Linear("dense"), np.inf, 9.0), MEAN, ct.rules.Perceptron()),
    )

    return {
        # storages, averages, single precision
        "perceptron dense": ("arrays", Perceptron()),
        "perceptron sparse average": ("sparse", Perceptron(average=True, **SPARSE)),
        "perceptron hashed mostly zero": ("sparse", Perceptron(average=True, storage="hashed", bits=11)),
        "perceptron graph single average": ("arrays", Perceptron(GRAPH, average=True, **SINGLE)),
        "perceptron sparse single": ("sparse", Perceptron(**SPARSE, **SINGLE)),
        "perceptron hashed single PA1": ("sparse", Perceptron(rule=PA1, **FEW, **SINGLE)),
        # forms of records, tasks and labels
        "perceptron dictionaries": ("pairs", Perceptron()),
        "perceptron dictionaries hashed": ("pairs", Perceptron(**HASHED)),
        "perceptron frames": ("frames", Perceptron()),
        "perceptron no tasks": ("no tasks", Perceptron(average=True)),
        "perceptron tasks of all kinds": ("kinds", Perceptron()),
        "perceptron task column": ("task column", Perceptron(task_column=5)),
        "perceptron nothing learned": ("arrays", Perceptron(ct.MeanRegularized(b=3), bits=10)),
        # relations of groups
        "perceptron independent sparse": ("sparse", Perceptron(ct.Independent(), **SPARSE)),
        "perceptron pooled average": ("arrays", Perceptron(ct.Pooled(), average=True)),
        "perceptron mean b": ("arrays", Perceptron(ct.MeanRegularized(b=3))),
        "perceptron mean share PA1": ("sparse", Perceptron(MEAN, PA1, **SPARSE)),
        "perceptron mixed effect": ("arrays", Perceptron(ct.relations.MixedEffect(omega=0.4))),
        "perceptron clusters hashed": ("sparse", Perceptron(CLUSTERS, PA2, **FEW)),
        "perceptron clusters share average": ("arrays", Perceptron(ct.Clusters(GROUPS, share=0.3), average=True)),
        "perceptron tree sparse": ("sparse", Perceptron(ct.Hierarchy(TREE, b=(1.0, 4.0)), **SPARSE)),
        "perceptron separator share average": ("arrays", Perceptron(ct.Hierarchy("/", share=(0.3, 0.3)), average=True)),
        "perceptron separator dictionaries": ("pairs", Perceptron(SEPARATED, **SPARSE)),
        # relations of columns
        "perceptron graph": ("arrays", Perceptron(GRAPH, ct.rules.PassiveAggressive(variant="0"))),
        "perceptron graph factor sparse average": ("sparse", Perceptron(FACTOR, average=True, **SPARSE)),
        "perceptron graph push hashed": ("pairs", Perceptron(PUSH, PA2, **HASHED)),
        "perceptron interaction dense PA1 average": ("arrays", Perceptron(INTERACTION, PA1, average=True)),
        "perceptron inverse interaction sparse": (
            "sparse",
            Perceptron(ct.relations.Interaction(inverse=np.linalg.inv(SPD), tasks=TASKS), **SPARSE, **SINGLE),
        ),
        # relations that are learned
        "perceptron log det": ("arrays", Perceptron(LOG_DET)),
        "perceptron log det steady average": ("sparse", Perceptron(ct.LogDet(0.1, step_norm=True), PA1, True)),
        "perceptron log det trace new": ("pairs", Perceptron(ct.LogDet(0.01, weights="new", trace_norm=True))),
        "perceptron von Neumann": ("arrays", Perceptron(ct.relations.VonNeumann(0.01, step_norm=True))),
        "perceptron covariance": ("arrays", Perceptron(ct.relations.Covariance(0.1))),
        "perceptron covariance inverse": (
            "arrays",
            Perceptron(ct.relations.Covariance(0.1, step_norm=True, role="Ainv")),
        ),
        "perceptron batch optimal": ("arrays", Perceptron(ct.relations.BatchOptimal(0.1))),
        "perceptron batch optimal inverse single": (
            "arrays",
            Perceptron(ct.relations.BatchOptimal(0.1, role="Ainv"), **SINGLE),
        ),
        "perceptron primed": ("arrays", Perceptron(ct.relations.Primed(LOG_DET, 20))),
        "perceptron primed auto average": ("arrays", Perceptron(ct.relations.Primed(LOG_DET, "auto"), average=True)),
        "perceptron primed mean": ("arrays", Perceptron(ct.relations.Primed(MEAN, 10))),
        # forgetting
        "perceptron half-life": ("arrays", Perceptron(MEAN, half_life=(30.0, 7.0))),
        "perceptron half-life sparse PA1": ("sparse", Perceptron(CLUSTERS, PA1, half_life=12.0, **SPARSE)),
        "perceptron half-life graph": ("arrays", Perceptron(GRAPH, half_life=12.0)),
        "logistic half-life hashed": ("pairs", Logistic(MEAN, half_life=(30.0, 7.0), **HASHED)),
        "AROW half-life": ("arrays", AROW(MEAN, r=3.0, half_life=(30.0, 7.0))),
        "regressor half-life": ("numbers", Regressor(MEAN, half_life=12.0)),
        # adaptive steps
        "logistic": ("arrays", Logistic()),
        "logistic sparse single": ("sparse", Logistic(MEAN, **SPARSE, **SINGLE)),
        "logistic hashed": ("sparse", Logistic(SEPARATED, step=0.3, **FEW)),
        "AROW": ("arrays", AROW()),
        "AROW pooled sparse": ("sparse", AROW(ct.Pooled(), r=3.0, **SPARSE)),
        "AROW hashed single": ("sparse", AROW(CLUSTERS, **FEW, **SINGLE)),
        "AROW full": ("arrays", AROW(GRAPH, covariance="full")),
        # numbers
        "regressor": ("numbers", Regressor()),
        "regressor average sparse": (
            "sparse numbers",
            Regressor(MEAN, ct.rules.EpsilonInsensitive(), average=True, **SPARSE),
        ),
        "regressor as they are absolute": ("numbers", Regressor(loss=ct.rules.Absolute(), targets="as they are")),
        "regressor tube": ("numbers", Regressor(CLUSTERS, ct.rules.EpsilonInsensitive(0.1), average=True)),
        "regressor tube graph": ("numbers", Regressor(GRAPH, ct.rules.EpsilonInsensitive(0.1, variant="I"))),
        "regressor dictionaries": ("pairs and numbers", Regressor(**HASHED)),
        # mixtures
        "sharing": ("arrays", Sharing()),
        "sharing sparse": ("sparse", Sharing("shares", **SPARSE)),
        "sharing cheap hashed": ("sparse", Sharing("cheap", **FEW)),
        "sharing ensemble single": ("arrays", Sharing("ensemble", **SINGLE)),
        "sharing signed": ("arrays", Sharing("signed")),
        "sharing parts": ("arrays", Sharing(list(MEMBERS))),
        "sharing half-life": ("arrays", Sharing([Logistic(half_life=12.0), AROW(half_life=12.0)])),
        "sharing sharing": ("arrays", Sharing([Sharing("cheap"), AROW()])),
        "sharing geometries": (
            "arrays",
            Sharing([PNorm(p=3.0), Second(solver="dual"), Kernel("linear", budget=RANDOM)]),
        ),
        "sharing late labels": ("arrays", lambda d: late(Sharing(), d)),
        # kernels and budgets
        "kernel sparse single": ("sparse", Kernel(ct.Gaussian(2.0), MEAN, ct.Unbounded(), **SINGLE)),
        "kernel dictionaries linear": ("pairs", Kernel("linear", CLUSTERS, RANDOM)),
        "kernel polynomial random": ("arrays", Kernel(ct.Polynomial(2), ct.HalfUpdate(), RANDOM)),
        "kernel normalised Forgetron": ("arrays", Kernel(ct.Normalised(ct.Polynomial(3)), GRAPH, ct.Forgetron(5))),
        "kernel pairwise Forgetron printed": (
            "arrays",
            Kernel(ct.Pairwise("laplacian", {"gamma": 0.5}), SEPARATED, ct.Forgetron(5, "printed")),
        ),
        "kernel projection": ("arrays", Kernel(ct.Gaussian(1.0), CLUSTERS, ct.Projection(5, 0.1))),
        "kernel projection sparse graph": ("sparse", Kernel(ct.Gaussian(1.0), GRAPH, ct.Projection(5))),
        "kernel Projectron plus": ("arrays", Kernel(ct.Gaussian(1.0), INTERACTION, ct.Projectron(0.5, plus=True))),
        "kernel shared projection": ("arrays", Kernel(ct.Gaussian(1.0), MEAN, ct.SharedProjection(5, 0.1))),
        "kernel shared projection graph": ("sparse", Kernel("linear", GRAPH, ct.SharedProjection(5))),
        # other geometries
        "p-norm auto": ("arrays", PNorm()),
        "p-norm root sparse": ("sparse", PNorm(CLUSTERS, 3.0, "Ainvsqrt")),
        "p-norm none": ("pairs", PNorm(MEAN, 2.5, "none")),
        "p-norm graph": ("arrays", PNorm(GRAPH, 4.0)),
        "second order primal": ("arrays", Second(solver="primal")),
        "second order graph dual sparse single": ("sparse", Second(GRAPH, solver="dual", **SINGLE)),
        "second order Gaussian": ("arrays", Second(MEAN, kernel=ct.Gaussian(1.0))),
        "second order dictionaries": ("pairs", Second(ct.Independent())),
        # several spaces, several views
        "spaces primal": ("spaces", Spaces(solver="primal")),
        "spaces dual": ("spaces", Spaces(0.5, solver="dual")),
        "spaces kernels": ("spaces", Spaces(1.0, [ct.Gaussian(1.0), "linear", ct.Polynomial(2)])),
        "spaces independent dictionaries": ("nested spaces", Spaces(0.0)),
        "views": ("views", Views(p=3.0)),
        "views narrow": ("narrow views", Views(p=1.5)),
        "views average PA1 sparse": ("sparse views", Views(p=2.0, average=True, rule=PA1)),
        "views dual": ("views", Views(2.0, ct.Gaussian(1.0))),
        "views dual average partial": ("partial views", Views(2.0, "linear", average=True)),
        "views dictionaries": ("nested views", Views(views=["u", "v", "w"])),
        "orthogonal average": ("views", Orthogonal(3.0, average=True)),
        "orthogonal inner sparse": ("sparse views", Orthogonal(2.0, inner=4.0, rule=PA2)),
        "orthogonal partial": ("partial views", Orthogonal(2.5)),
        "orthogonal kernels": ("views", Orthogonal(2.0, [ct.Gaussian(1.0), "linear", ct.Polynomial(2)])),
        "orthogonal kernels average dictionaries": ("nested views", Orthogonal(2.0, ct.Gaussian(1.0), average=True)),
        "orthogonal dictionaries": ("nested views", Orthogonal(average=True)),
        "cues kernels partial": (
            "partial views",
            Cues([ct.Gaussian(1.0), "linear", ct.Polynomial(2)], 0.5, ct.rules.PassiveAggressive(0.5, "II")),
        ),
        "baseline of views": ("views", lambda d: learned(ct.views.view_baselines(d.X, "linear")["side by side"][0], d)),
        # questions
        "asking margin": ("arrays", Ask(Logistic())),
        "asking below budget window": (
            "sparse",
            Ask(Perceptron(average=True, **SPARSE), ct.Below(0.5), 12, 20, seed=4),
        ),
        "asking randomly by task": ("arrays", Ask(AROW(), ct.Randomly(0.5), 12, per_task=0.5)),
        "asking always half-life": ("arrays", Ask(Logistic(half_life=12.0), ct.Always(), 40)),
        "asking row log det": ("arrays", Ask(Perceptron(LOG_DET, average=True), ct.RelationRow())),
        "asking sharing": ("arrays", Ask(Sharing("cheap"), ct.Margin(0.8), 20, 40)),
        "asking kernel": ("arrays", Ask(Kernel(ct.Gaussian(1.0), budget=RANDOM), ct.Margin(0.8))),
        "asking open question": ("pairs", lambda d: in_question(Ask(Logistic(**HASHED), ct.Randomly(0.5), 20, 30), d)),
        # many classes
        "classes": ("classes", Rest()),
        "classes Perceptron average": ("sparse classes", Rest(Perceptron(MEAN, PA1, average=True))),
        "classes graph": ("classes", Rest(Perceptron(GRAPH, PA1))),
        "classes sharing": ("classes", Rest(Sharing("cheap"))),
        "sets of labels": ("sets", Sets(AROW())),
        "matrix of labels": ("matrix", lambda d: Sets(Perceptron(average=True)).fit(d.X, d.y, d.task)),
        # all records at once
        "ridge": (
            "numbers",
            Ridge(relation=ct.relations.GraphPenalty(np.ones((4, 4)), tasks=TASKS), filter=ct.Tikhonov(0.5)),
        ),
        "ridge center sparse single": ("sparse numbers", Ridge("linear", MEAN, 0.1, center=True, **SINGLE)),
        "ridge dictionaries Landweber": ("pairs and numbers", Ridge(filter=ct.Landweber(5))),
        "ridge nu graph": ("numbers", Ridge("linear", GRAPH, filter=ct.NuMethod(5))),
        "ridge cut-off columns": ("outputs", Ridge(ct.Gaussian(1.0), ct.HalfUpdate(), filter=ct.CutOff(0.1))),
        "ridge iterated pooled": ("numbers", Ridge(relation=ct.Pooled(), filter=ct.IteratedTikhonov(1.0, 3))),
        "ridge optimal output kernel": ("numbers", Ridge("linear", ct.OptimalOutputKernel(steps=5), 0.1)),
        "ridge cluster penalty": (
            "numbers",
            Ridge(relation=ct.relations.ClusterPenalty(GROUPS, 1.0, 0.5), risk="tasks"),
        ),
        "kernel classifier": ("arrays", Classes()),
        "kernel classifier classes simplex": ("classes", Classes(ct.Gaussian(1.0), SEPARATED, coding="simplex")),
        "kernel classifier calibrated": ("classes", Classes(ct.Gaussian(1.0), MEAN, 0.1, calibration=3)),
        "kernel classifier labels": ("matrix", Classes(filter=ct.Landweber(5))),
        "SVC": ("arrays", ct.batch.MultitaskSVC(ct.Gaussian(1.0), CLUSTERS)),
        "SVC precomputed": ("gram", ct.batch.MultitaskSVC(ct.Precomputed(), GRAPH)),
        "SVC classes sparse": ("sparse classes", ct.batch.MultitaskSVC("linear")),
        "SVR": ("numbers", ct.batch.MultitaskSVR(ct.Polynomial(2), MEAN)),
        "field": ("field", Fields()),
        "field divergence-free": ("field", Fields(ct.DivergenceFree(), 0.1)),
        "field mixture": ("field", Fields(ct.FieldMixture(0.3), 0.1)),
        "field curl-free": ("field", Fields(ct.CurlFree(2.0), 0.1)),
        "field separable": ("field", Fields(ct.Separable(1.0, [[1.0, 0.8], [0.8, 1.0]]), 0.1)),
    }


#: By the name of the file the form of the records, the suffix of the file they are read from, and the command line.
WHO = "--task task --label label --alone"
READ = {
    "read csv": ("columns", "csv", f"learn {WHO} --features price --features age"),
    "read csv standard PA1": (
        "columns",
        "csv",
        f"learn {WHO} --scale standard --bits 5 --rule pa1 --relation mean --b 2",
    ),
    "read jsonl text AROW": ("columns", "jsonl", f"learn {WHO} --text note --bits 5 --rule arow --relation pooled"),
    "read csv asking": ("columns", "csv", f"learn {WHO} --bits 5 --relation half --ask margin --label-budget 12"),
    "read csv numbers": ("columns and numbers", "csv", f"learn {WHO} --bits 5 --regression --relation half"),
    "read csv classes": (
        "columns and classes",
        "csv",
        f"learn {WHO} --bits 4 --many-classes --relation half --rule perceptron --no-average",
    ),
    "read svmlight": ("wide and numbered", "svmlight", "learn --bits 5 --alone --relation half"),
    "read vw": ("wide", "vw", "learn --task t --bits 5 --alone --relation half"),
}
#: Lines of formats that name features themselves.
TEXTS = {"svmlight": "{:+g} qid:{} {}", "vw": "{:+g} |t {} |w {}"}


def later():
    """Models that later versions know and the first did not, by the name of the file as :func:`models` has them."""
    LAPLACIAN = np.diag([1.0, 2.0, 2.0, 1.0]) - np.eye(4, k=1) - np.eye(4, k=-1)
    return {
        "sharing separable": ("arrays", lambda d: learned(ct.AdaptiveSharingClassifier("separable"), d)),
        "regressor adaptive": ("numbers", lambda d: learned(ct.AdaptiveSharingRegressor(), tripled(d))),
        "sharing of dictionaries with a constant and scales": (
            "pairs",
            lambda d: learned(ct.AdaptiveSharingClassifier(), d._replace(X=[gappy(x, t) for t, x in enumerate(d.X)])),
        ),
        "sharing of tables with gaps": ("arrays", lambda d: learned(ct.AdaptiveSharingClassifier(), with_gaps(d))),
        "sharing late member": ("arrays", lambda d: learned(ct.AdaptiveSharingClassifier(delay=2000), d)),
        "logistic with a constant": ("arrays", lambda d: learned(ct.MultitaskLogistic(), d)),
        "potential": ("arrays", ct.geometries.PotentialMultitaskPerceptron(ct.potentials.PNorm(3.0))),
        "potential exponentiated graph": (
            "sparse",
            ct.geometries.PotentialMultitaskPerceptron(
                ct.potentials.ExponentiatedGradient(), ct.TaskGraph([TASKS[:2], TASKS[1:3], TASKS[2:]]), rate=0.5
            ),
        ),
        "kernel shifting Forgetron": (
            "arrays",
            ct.geometries.MultitaskKernelPerceptron(ct.kernels.Gaussian(1.0), budget=ct.budgets.ShiftingForgetron(5)),
        ),
        "kernel sum and product": (
            "arrays",
            ct.geometries.MultitaskKernelPerceptron(
                ct.kernels.Gaussian(1.0) + 0.5 * ct.kernels.Polynomial(2) * ct.kernels.Linear()
            ),
        ),
        "spaces b learned": ("spaces", ct.geometries.HeterogeneousMultitaskPerceptron((0.0, 1.0, 8.0))),
        "views gauge": ("views", ct.views.MultiviewPerceptron(gauge=ct.potentials.ExponentiatedGradient())),
        "views kernel a pair": (
            "views",
            ct.views.MultiviewPerceptron(
                kernel={
                    (i, j): "linear" if i == j else 0.5 * ct.kernels.Linear() for i in range(3) for j in range(i, 3)
                }
            ),
        ),
        "orthogonal beyond span": ("views", ct.views.OrthogonalMultiviewPerceptron(3.0, beyond_span=0.5)),
        "perceptron Bregman": (
            "arrays",
            ct.MultitaskPerceptron(ct.relations.Bregman(ct.relations.BetaDivergence(0.5), 0.01)),
        ),
        "perceptron log det identity by A": (
            "arrays",
            ct.MultitaskPerceptron(ct.LogDet(0.01, role="A", start="identity")),
        ),
        "perceptron primed every": (
            "arrays",
            ct.MultitaskPerceptron(ct.relations.Primed(ct.LogDet(0.01), 5, every=10)),
        ),
        "perceptron interaction pseudo-inverse": (
            "arrays",
            ct.MultitaskPerceptron(ct.relations.Interaction(LAPLACIAN, tasks=TASKS, pseudo_inverse=True)),
        ),
        "logistic standardised": ("pairs", lambda d: learned(ct.MultitaskLogistic(scale="standard"), d)),
    }


def tripled(d):
    """The records three times, for what begins after thirty."""
    return d._replace(X=np.tile(d.X, (3, 1)), y=np.tile(d.y, 3), task=d.task * 3)


def gappy(x, t):
    """A dictionary with what files and programs say of what is missing, a word and a date."""
    more = {"word": ["red", "blue", ""][t % 3], "day": datetime.date(2024, 1, 1) + datetime.timedelta(3 * t)}
    return x | more | ({"f0": None} if t % 4 == 1 else {})


def with_gaps(d):
    """The same table with NaN here and there."""
    X = d.X.copy()
    X[::4, 1] = X[1::5, 3] = np.nan
    return d._replace(X=X)


def learned(model, d):
    """The model after a first run of records."""
    if hasattr(model, "learn_one"):
        ct.progressive_validation(model, d.X, d.y, **d.given)
        return model
    return model.fit(d.X, d.y, **d.given)


def late(model, d):
    """The model while the labels of some records have not come."""
    model.__stream_model__().learn(d.X, d.y, d.task, late=7)
    return model


def in_question(model, d):
    """The model, learned by questions, with one that is open: it is the first that will be asked."""
    for x, y, task in zip(d.X, d.y, d.task, strict=True):
        if model.wants_label(x, task):
            model.learn_one(x, y, task)
        else:
            model.pass_by()
    first = records("pairs", "more")
    model.wants_label(first.X[0], first.task[0])
    return model


def written(name, folder):
    """The records that a command reads, as a file."""
    form, suffix, _ = READ[name]
    d = records(form, "learned")
    path = folder / f"records.{suffix}"
    tasks = [None] * len(d.y) if d.task is None else d.task
    rows = list(zip(d.X.toarray() if hasattr(d.X, "toarray") else d.X, d.y, tasks, strict=True))
    if suffix in TEXTS:
        lines = [TEXTS[suffix].format(y, task, pairs(x)) for x, y, task in rows]
    else:
        table = [dict(x) | {"label": y} | ({} if task is None else {"task": task}) for x, y, task in rows]
        names = dict.fromkeys(key for row in table for key in row)
        shown = [",".join("" if row.get(key) is None else str(row[key]) for key in names) for row in table]
        lines = [json.dumps(row) for row in table] if suffix == "jsonl" else [",".join(names), *shown]
    path.write_text("\n".join(lines) + "\n")
    return path


def pairs(x):
    """Entries that are not 0, as text formats have them."""
    return " ".join(f"{j + 1}:{x[j]}" for j in np.flatnonzero(x))


def read_by_command(name, path):
    """Write the model that a command learns from a file."""
    from coterie.cli.app import app

    with tempfile.TemporaryDirectory() as folder:
        file, groups = written(name, Path(folder)), Path(folder) / "groups.csv"
        groups.write_text("task,group\n" + "".join(f"{task},{group}\n" for task, group in GROUPS.items()))
        command = [*READ[name][2].split(), *(["--groups", str(groups)] if "clusters" in READ[name][2] else [])]
        made = CliRunner().invoke(app, [command[0], str(file), *command[1:], "--quiet", "--output", str(path)])
    if made.exit_code:
        raise RuntimeError(f"{name}: {made.output} {made.exception!r}")


def make(name, found):
    """Write one file; what its model says. ``found`` has the models by name."""
    path = FOLDER / f"{name.replace(' ', '-')}.coterie"
    if name in READ:
        form = READ[name][0]
        read_by_command(name, path)
    else:
        form, model = found[name]
        d = records(form, "learned")
        if name != "perceptron nothing learned":
            model = learned(model, d) if hasattr(model, "fitted") else model(d)
        model.save(path)
    loaded = ct.load(path)
    return {"model": repr(loaded), "form": form, "outcome": outcome(loaded, form)}


if __name__ == "__main__":
    MODELS = later() if set(sys.argv[1:]) <= set(later()) and sys.argv[1:] else models() | later()
    said = dict(EXPECTED) if sys.argv[1:] else {}
    for each in sys.argv[1:] or [*MODELS, *READ]:
        said[each.replace(" ", "-")] = make(each, MODELS)
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(held)}" for name, held in said.items())
    (FOLDER / "expected.json").write_text("{\n" + lines + "\n}\n")
