"""Models of every kind, small and quickly learned, for tests of what holds for all: files, copies, forgetting."""

import contextlib
import copy
import datetime
import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import coterie as ct
from coterie import HeterogeneousMultitaskPerceptron as Spaces
from coterie import MultitaskKernelPerceptron as Kernel
from coterie import PNormMultitaskPerceptron as PNorm
from coterie import PotentialMultitaskPerceptron as Potential
from coterie import SecondOrderMultitaskPerceptron as SecondOrder
from coterie import persistence
from coterie.batch import MultitaskKernelClassifier, MultitaskKernelRidge, MultitaskSVC, MultitaskSVR, VectorFieldRidge
from coterie.kernels import Gaussian, Polynomial
from coterie.views import MultiviewPerceptron, OrthogonalMultiviewPerceptron
from raw import AdaptiveSharingClassifier, MultitaskAROW, MultitaskLogistic, MultitaskRegressor, OneVsRest

#: Seed, records and tasks of what a model had learned when it was saved, of what it is asked, and of what it learns
#: then: there is a task that comes late.
STAGES = {"learned": (1, 20, 3), "asked": (2, 7, 4), "more": (3, 14, 4)}
D = 5
TASKS = ("fr/a", "fr/b", "it/c", "it/d")
KINDS = (("ann", 1), 2.5, datetime.date(2024, 2, 29), True)
TRUTHS = np.random.default_rng(0).random(D) + np.random.default_rng(1).random((4, D)) - 1


class Records(NamedTuple):
    """Records, their labels and, where they have such, their tasks."""

    X: Any
    y: Any
    task: Any = None

    @property
    def keywords(self):
        """The tasks by the name under which models take them."""
        return {} if self.task is None else {"task": self.task}


class Drawn(NamedTuple):
    """Uniform records, a third of whose entries are 0, with numbers by half-shared truths and noise."""

    X: np.ndarray
    value: np.ndarray
    task: np.ndarray
    name: str

    @property
    def labels(self):
        return np.where(self.value > 0, "yes", "no")

    @property
    def tasks(self):
        return [TASKS[i] for i in self.task]

    @property
    def pairs(self):
        """Dictionaries; late ones have a feature more."""
        late = self.name != "learned"
        records = [{f"f{j}": float(x[j]) for j in np.flatnonzero(x)} for x in self.X]
        return [x | {"late": 0.5} if late and t % 3 == 0 else x for t, x in enumerate(records)]


def drawn(name):
    seed, n, n_tasks = STAGES[name]
    rng = np.random.default_rng(seed)
    X = (2 * rng.random((n, D)) - 1) * (rng.random((n, D)) > 1 / 3)
    task = (n_tasks * rng.random(n)).astype(int)
    return Drawn(X, (TRUTHS[task] * X).sum(axis=1) + 0.2 * (rng.random(n) - 0.5), task, name)


def parts(X):
    """Three views of three features each, of which the first has most to say."""
    return [X[:, :3], X[:, 1:4], X[:, 2:]]


def partial(X):
    """Views, every one of them absent from some records."""
    return [ct.views.PartialBlock(block, np.arange(len(X)) % 4 != k) for k, block in enumerate(parts(X))]


def nested(X, names):
    """Dictionaries of dictionaries: of views, or of the instances of tasks."""
    views = [[{f"f{j}": float(x) for j, x in enumerate(row)} for row in block] for block in parts(X)]
    return [dict(zip(names, row, strict=True)) for row in zip(*views, strict=True)]


def columns(d):
    """The columns of a file, as dictionaries."""
    shops, words = ("north", "south", "west"), ("red", "blue")
    return [
        {
            "price": float(x[0]) if x[0] else None,
            "age": float(x[1]),
            "shop": shops[int(abs(x[2]) * 3)],
            "note": " ".join(word for word, there in zip(words, x[3:], strict=True) if there),
        }
        for x in d.X
    ]


def classes(d):
    """Three classes, and later a fourth."""
    edges = [-0.4, 0.4] if d.name == "learned" else [-0.4, 0.4, 0.7]
    return np.array(["low", "middle", "high", "top"])[np.digitize(d.value, edges)]


def frame(d):
    import pandas as pd

    return pd.DataFrame(d.X, columns=[f"f{j}" for j in range(D)])


def gappy(d):
    """Dictionaries with what files and programs say of what is missing, a word and a date."""
    more = [{"word": ["red", "blue", ""][t % 3], "day": datetime.date(2024, 1, 1 + t)} for t in range(len(d.X))]
    return [
        x | also | ({"f0": None} if t % 4 == 1 else {}) for t, (x, also) in enumerate(zip(d.pairs, more, strict=True))
    ]


def with_gaps(X):
    """The same table with NaN here and there."""
    gaps = X.copy()
    gaps[::4, 1] = gaps[1::5, 3] = np.nan
    return gaps


def tripled(d):
    """The records that are learned first three times, for what begins after thirty."""
    n = 3 if d.name == "learned" else 1
    return Records(np.tile(d.X, (n, 1)), np.tile(3 * d.value + 10, n), d.tasks * n)


FORMS = {
    "arrays": lambda d: Records(d.X, d.labels, d.tasks),
    "sparse": lambda d: Records(sp.csr_array(d.X), d.labels, d.tasks),
    "wide": lambda d: Records(sp.csr_array(np.kron(d.X, np.eye(1, 300))), d.labels, d.tasks),
    "pairs": lambda d: Records(d.pairs, d.labels.tolist(), d.tasks),
    "frames": lambda d: Records(frame(d), d.labels, d.tasks),
    "no tasks": lambda d: Records(d.X, d.labels),
    "kinds": lambda d: Records(d.X, d.value > 0, [KINDS[i] for i in d.task]),
    "task column": lambda d: Records(np.column_stack([d.X, d.task]), np.where(d.value > 0, 2, 1)),
    "columns": lambda d: Records(columns(d), d.labels.tolist(), d.tasks),
    "numbers": lambda d: Records(d.X, 3 * d.value + 10, d.tasks),
    "sparse numbers": lambda d: Records(sp.csr_array(d.X), 3 * d.value + 10, d.tasks),
    "pairs and numbers": lambda d: Records(d.pairs, (3 * d.value + 10).tolist(), d.tasks),
    "columns and numbers": lambda d: Records(columns(d), (3 * d.value + 10).tolist(), d.tasks),
    "field": lambda d: Records(d.X[:, :2], np.column_stack([d.X[:, 1], -d.X[:, 0]])),
    "gram": lambda d: Records(d.X @ drawn("learned").X.T, d.labels, d.tasks),
    "classes": lambda d: Records(d.X, classes(d), d.tasks),
    "sparse classes": lambda d: Records(sp.csr_array(d.X), classes(d), d.tasks),
    "columns and classes": lambda d: Records(columns(d), classes(d).tolist(), d.tasks),
    "spaces": lambda d: Records(parts(d.X), d.labels, (d.task % 3).tolist()),
    "nested spaces": lambda d: Records(nested(d.X, range(3)), d.labels.tolist(), (d.task % 3).tolist()),
    "views": lambda d: Records(parts(d.X), d.labels),
    "sparse views": lambda d: Records([sp.csr_array(block) for block in parts(d.X)], d.labels),
    "narrow views": lambda d: Records([d.X[:, j : j + 2] for j in range(3)], d.labels),
    "partial views": lambda d: Records(partial(d.X), d.labels),
    "arrays with gaps": lambda d: Records(with_gaps(d.X), d.labels, d.tasks),
    "pairs with gaps": lambda d: Records(gappy(d), d.labels.tolist(), d.tasks),
    "numbers, three times": tripled,
    "labels that wait": lambda d: Records(d.X, d.labels, d.tasks),
    "an open question": lambda d: Records(d.pairs, d.labels.tolist(), d.tasks),
    "nested views": lambda d: Records(nested(d.X, "uvw"), d.labels.tolist()),
}  # fmt: skip


def records(form, stage):
    return FORMS[form](drawn(stage))


def predictions(model, form):
    """What a model says of the records that all are asked: margins, labels, probabilities."""
    asked = records(form, "asked")
    if not model.__sklearn_is_fitted__():
        return {}
    outputs = {"margins": getattr(model, "decision_function", model.predict)(asked.X, **asked.keywords)}
    if hasattr(model, "decision_function"):
        outputs["labels"] = list(model.predict(asked.X, **asked.keywords))
    if hasattr(model, "predict_proba"):
        with contextlib.suppress(AttributeError):  # a mixture whose members have none says so when asked
            outputs["probabilities"] = model.predict_proba(asked.X, **asked.keywords)[:, 1:]
    return {name: [v.tolist() if hasattr(v, "tolist") else v for v in values] for name, values in outputs.items()}


def taught(model, form):
    """Learn more: dictionaries one by one, all else in one go. What came of each: a mistake, or a question."""
    more = records(form, "more")
    if not (isinstance(more.X, list) and isinstance(more.X[0], dict)):
        tasks = None if more.task is None else list(dict.fromkeys(more.task))
        trace = ct.progressive_validation(model, more.X, more.y, **more.keywords, tasks=tasks)
        return flags(trace.mistake), flags(trace.queried)
    wanted = []
    for t, (x, y) in enumerate(zip(more.X, more.y, strict=True)):
        task = {} if more.task is None else {"task": more.task[t]}
        wanted.append(model.wants_label(x, **task) if hasattr(model, "wants_label") else True)
        if wanted[-1]:
            model.learn_one(x, y, **task)
    return "", flags(wanted)


def flags(value):
    return "".join("01"[int(flag)] for flag in value)


# -- the kinds ---------------------------------------------------------------------------------------------------------

GROUPS = {task: task[:2] for task in TASKS}
_MATRIX = np.array([[2.0, -1.0, 0.0, 0.0], [-1.0, 2.0, -0.5, 0.0], [0.0, -0.5, 1.5, 0.25], [0.0, 0.0, 0.25, 1.0]])
_LAPLACIAN = np.diag([1.0, 2.0, 2.0, 1.0]) - np.eye(4, k=1) - np.eye(4, k=-1)
_EDGES = [(TASKS[0], TASKS[1]), (TASKS[1], TASKS[2], 0.5), (TASKS[2], TASKS[3])]
_GRAPH, _MEAN, _CLUSTERS = ct.TaskGraph(_EDGES), ct.MeanRegularized(share=0.3), ct.Clusters(GROUPS, b=2)
_SEPARATED, _LOG_DET, _RANDOM = ct.Hierarchy("/", b=(1.0, 4.0)), ct.LogDet(0.01), ct.updates.RandomRemoval(5, seed=3)
_PA1, _PA2 = ct.updates.PassiveAggressive(C=0.3), ct.updates.PassiveAggressive(C=0.3, variant="II")
_KERNELS = [Gaussian(1.0), "linear", Polynomial(2)]
_SPARSE, _HALF_LIVES = {"storage": "sparse"}, (30.0, 7.0)


def _perceptron(relation=None, rule=None, **options):
    """A perceptron that takes records as they are."""
    parts = {name: part for name, part in (("relation", relation), ("rule", rule)) if part is not None}
    return ct.MultitaskPerceptron(**parts, scale="none", **options)


def _asking(model, *arguments, **options):
    return ct.SelectiveSampling(model, *arguments, **options)


def _interaction(*arguments, **options):
    return ct.tasks.Interaction(*arguments, tasks=TASKS, **options)


def _members():
    """Members of a mixture that are parts: the one place where files name hypotheses."""
    from coterie.models.ensemble import Member
    from coterie.updates import AdaptiveGradient, DiagonalAROW, LinearWeights
    from coterie.updates.weights.time_decay import Forgetting

    return [
        Member(LinearWeights("sparse"), _CLUSTERS, _PA1),
        Member(AdaptiveGradient(0.5), ct.Pooled(), ct.updates.Logistic()),
        Member(DiagonalAROW(3.0), ct.HalfUpdate(), ct.updates.AROW()),
        Member(Forgetting(LinearWeights("dense"), np.inf, 9.0), _MEAN, ct.updates.Perceptron()),
    ]


#: By name the form of its records, and what makes the model before it has learned.
MODELS = {
    # storages, averages
    "perceptron-dense": ("arrays", lambda: _perceptron()),
    "perceptron-sparse": ("sparse", lambda: _perceptron(**_SPARSE)),
    "perceptron-sparse-average": ("sparse", lambda: _perceptron(average=True, **_SPARSE)),
    "perceptron-mostly-zero": ("wide", lambda: _perceptron(None, _PA1, average=True, storage="dense")),
    # forms of records, tasks and labels
    "perceptron-dictionaries": ("pairs", lambda: _perceptron()),
    "perceptron-frames": ("frames", lambda: _perceptron()),
    "perceptron-no-tasks": ("no tasks", lambda: _perceptron(average=True)),
    "perceptron-tasks-of-all-kinds": ("kinds", lambda: _perceptron()),
    "perceptron-task-column": ("task column", lambda: _perceptron(task_column=5)),
    # relations of groups
    "perceptron-clusters-PA2": ("sparse", lambda: _perceptron(_CLUSTERS, _PA2)),
    "perceptron-separator-dictionaries": ("pairs", lambda: _perceptron(_SEPARATED, **_SPARSE)),
    # relations of columns
    "perceptron-graph": ("arrays", lambda: _perceptron(_GRAPH)),
    "perceptron-graph-factor-sparse-average": (
        "sparse",
        lambda: _perceptron(ct.TaskGraph(_EDGES, error=0.0), average=True, **_SPARSE),
    ),
    "perceptron-inverse-interaction-sparse": (
        "sparse",
        lambda: _perceptron(_interaction(inverse=np.linalg.inv(_MATRIX)), **_SPARSE),
    ),
    "perceptron-interaction-pseudo-inverse": (
        "arrays",
        lambda: _perceptron(_interaction(_LAPLACIAN, pseudo_inverse=True)),
    ),
    # relations that are learned
    "perceptron-log-det": ("arrays", lambda: _perceptron(_LOG_DET)),
    "perceptron-log-det-steady-average": (
        "sparse",
        lambda: _perceptron(ct.LogDet(0.1, step_norm=True), _PA1, average=True),
    ),
    "perceptron-von-Neumann": ("arrays", lambda: _perceptron(ct.tasks.VonNeumann(0.01, step_norm=True))),
    "perceptron-Bregman": ("arrays", lambda: _perceptron(ct.tasks.Bregman(ct.tasks.BetaDivergence(0.5), 0.01))),
    "perceptron-covariance": ("arrays", lambda: _perceptron(ct.tasks.Covariance(0.1))),
    "perceptron-batch-optimal": ("arrays", lambda: _perceptron(ct.tasks.BatchOptimal(0.1, role="Ainv"))),
    "perceptron-primed": ("arrays", lambda: _perceptron(ct.tasks.Primed(_LOG_DET, 20))),
    "perceptron-primed-every": ("arrays", lambda: _perceptron(ct.tasks.Primed(_LOG_DET, 5, every=10))),
    # forgetting
    "perceptron-half-life": ("arrays", lambda: _perceptron(_MEAN, half_life=_HALF_LIVES)),
    "AROW-half-life": ("arrays", lambda: MultitaskAROW(_MEAN, r=3.0, half_life=_HALF_LIVES)),
    # adaptive steps
    "logistic": ("arrays", lambda: MultitaskLogistic()),
    "logistic-sparse": ("sparse", lambda: MultitaskLogistic(_SEPARATED, step=0.3, **_SPARSE)),
    "logistic-with-a-constant": ("arrays", lambda: ct.MultitaskLogistic()),
    "logistic-standardised": ("pairs", lambda: ct.MultitaskLogistic(scale="standard")),
    "AROW": ("arrays", lambda: MultitaskAROW()),
    "AROW-full": ("arrays", lambda: MultitaskAROW(_GRAPH, covariance="full")),
    # numbers
    "regressor": ("numbers", lambda: MultitaskRegressor()),
    "regressor-dictionaries": ("pairs and numbers", lambda: MultitaskRegressor()),
    "regressor-adaptive": ("numbers, three times", lambda: ct.AdaptiveSharingRegressor()),
    # mixed effects
    "mixed-effects-numbers": ("numbers, three times", lambda: ct.MultitaskMixedEffectsRegressor()),
    "mixed-effects-classes": (
        "arrays with gaps",
        lambda: ct.MultitaskMixedEffectsClassifier(random_slope_variance=0, half_life=_HALF_LIVES),
    ),
    "mixed-effects-ignore": ("pairs", lambda: ct.MultitaskMixedEffectsClassifier(many_features="ignore")),
    # mixtures
    "sharing": ("arrays", lambda: AdaptiveSharingClassifier("cheap")),
    "sharing-default": ("arrays with gaps", lambda: ct.AdaptiveSharingClassifier()),
    "sharing-parts": ("arrays", lambda: AdaptiveSharingClassifier(_members())),
    "sharing-geometries": (
        "arrays",
        lambda: AdaptiveSharingClassifier([PNorm(p=3.0), SecondOrder(solver="dual"), Kernel("linear", budget=_RANDOM)]),
    ),
    "sharing-late-labels": ("labels that wait", lambda: AdaptiveSharingClassifier("cheap")),
    "sharing-of-dictionaries": ("pairs with gaps", lambda: ct.AdaptiveSharingClassifier()),
    # kernels and budgets
    "kernel-sparse": ("sparse", lambda: Kernel(Gaussian(2.0), _MEAN, ct.updates.Unbounded())),
    "kernel-polynomial-random": ("arrays", lambda: Kernel(Polynomial(2), ct.HalfUpdate(), _RANDOM)),
    "kernel-normalised-Forgetron": (
        "arrays",
        lambda: Kernel(ct.kernels.Normalised(Polynomial(3)), _MEAN, ct.updates.Forgetron(5)),
    ),
    "kernel-pairwise-Forgetron-printed": (
        "arrays",
        lambda: Kernel(
            ct.kernels.Pairwise("laplacian", {"gamma": 0.5}), _SEPARATED, ct.updates.Forgetron(5, "printed")
        ),
    ),
    "kernel-shifting-Forgetron": ("arrays", lambda: Kernel(Gaussian(1.0), budget=ct.updates.ShiftingForgetron(5))),
    "kernel-projection": ("arrays", lambda: Kernel(Gaussian(1.0), _CLUSTERS, ct.updates.Projection(5, 0.1))),
    "kernel-projection-sparse-graph": ("sparse", lambda: Kernel(Gaussian(1.0), _GRAPH, ct.updates.Projection(5))),
    "kernel-Projectron-plus": (
        "arrays",
        lambda: Kernel(Gaussian(1.0), _interaction(_MATRIX), ct.updates.Projectron(0.5, plus=True)),
    ),
    "kernel-shared-projection": ("arrays", lambda: Kernel(Gaussian(1.0), _MEAN, ct.updates.SharedProjection(5, 0.1))),
    # other geometries
    "p-norm-auto": ("arrays", lambda: PNorm()),
    "p-norm-root-sparse": ("sparse", lambda: PNorm(_CLUSTERS, 3.0, "Ainvsqrt")),
    "potential": ("arrays", lambda: Potential(ct.updates.PNorm(3.0))),
    "second-order-primal": ("arrays", lambda: SecondOrder(solver="primal")),
    "second-order-Gaussian": ("arrays", lambda: SecondOrder(_MEAN, kernel=Gaussian(1.0))),
    "second-order-dictionaries": ("pairs", lambda: SecondOrder(ct.Independent())),
    "second-order-regressor": ("numbers", lambda: ct.SecondOrderMultitaskRegressor()),
    # several spaces, several views
    "spaces-primal": ("spaces", lambda: Spaces(solver="primal")),
    "spaces-dual": ("spaces", lambda: Spaces(0.5, solver="dual")),
    "spaces-kernels": ("spaces", lambda: Spaces(1.0, _KERNELS)),
    "spaces-independent-dictionaries": ("nested spaces", lambda: Spaces(0.0)),
    "spaces-b-learned": ("spaces", lambda: Spaces((0.0, 1.0, 8.0))),
    "views": ("views", lambda: MultiviewPerceptron(p=3.0)),
    "views-narrow": ("narrow views", lambda: MultiviewPerceptron(p=1.5)),
    "views-dual": ("views", lambda: MultiviewPerceptron(2.0, Gaussian(1.0))),
    "views-dictionaries": ("nested views", lambda: MultiviewPerceptron(views=["u", "v", "w"])),
    "views-gauge": ("views", lambda: MultiviewPerceptron(gauge=ct.updates.ExponentiatedGradient())),
    "orthogonal-average": ("views", lambda: OrthogonalMultiviewPerceptron(3.0, average=True)),
    "orthogonal-inner-sparse": ("sparse views", lambda: OrthogonalMultiviewPerceptron(2.0, inner=4.0)),
    "orthogonal-kernels-dictionaries": ("nested views", lambda: OrthogonalMultiviewPerceptron(2.0, Gaussian(1.0))),
    "orthogonal-beyond-span": ("views", lambda: OrthogonalMultiviewPerceptron(3.0, beyond_span=0.5)),
    "views-in-parallel": ("views", lambda: ct.views.ParallelPerceptrons()),
    "views-in-parallel-partial": ("partial views", lambda: ct.views.ParallelPerceptrons(_KERNELS)),
    # questions
    "asking-margin": ("arrays", lambda: _asking(MultitaskLogistic())),
    "asking-budget-window": ("arrays", lambda: _asking(MultitaskLogistic(), ct.updates.Margin(), 12, 20, seed=4)),
    "asking-randomly-by-task": ("arrays", lambda: _asking(MultitaskAROW(), ct.updates.Randomly(0.5), 12, per_task=0.5)),
    "asking-row-log-det": ("arrays", lambda: _asking(_perceptron(_LOG_DET, average=True), ct.updates.RelationRow())),
    "asking-open-question": (
        "an open question",
        lambda: _asking(MultitaskLogistic(), ct.updates.Randomly(0.5), 20, 30),
    ),
    # many classes
    "classes": ("classes", lambda: OneVsRest()),
    # all records at once
    "ridge": (
        "numbers",
        lambda: MultitaskKernelRidge(
            relation=ct.tasks.GraphPenalty(np.ones((4, 4)), tasks=TASKS), filter=ct.batch.Tikhonov(0.5)
        ),
    ),
    "ridge-center-sparse": ("sparse numbers", lambda: MultitaskKernelRidge("linear", _MEAN, 0.1, center=True)),
    "ridge-optimal-output-kernel": (
        "numbers",
        lambda: MultitaskKernelRidge("linear", ct.batch.OptimalOutputKernel(steps=5), 0.1),
    ),
    "kernel-classifier": ("arrays", lambda: MultitaskKernelClassifier()),
    "kernel-classifier-classes-simplex": (
        "classes",
        lambda: MultitaskKernelClassifier(Gaussian(1.0), _SEPARATED, coding="simplex"),
    ),
    "SVC": ("arrays", lambda: MultitaskSVC(Gaussian(1.0), _CLUSTERS)),
    "SVC-precomputed": ("gram", lambda: MultitaskSVC(ct.kernels.Precomputed(), _GRAPH)),
    "SVC-classes-sparse": ("sparse classes", lambda: MultitaskSVC("linear")),
    "SVR": ("numbers", lambda: MultitaskSVR(Polynomial(2), _MEAN)),
    "field": ("field", lambda: VectorFieldRidge()),
    "field-mixture": ("field", lambda: VectorFieldRidge(ct.batch.FieldMixture(0.3), 0.1)),
    # from files
    "read-file": ("columns", lambda: AdaptiveSharingClassifier()),
    "read-file-asking": ("columns", lambda: _asking(MultitaskLogistic(), ct.updates.Margin(), 12)),
    "read-file-numbers": ("columns and numbers", lambda: ct.MultitaskRegressor()),
    "read-file-classes": ("columns and classes", lambda: OneVsRest(_perceptron())),
}

#: Where files of some kinds are; `python tests/saved/make_saved.py KIND` writes one.
FILES = Path(__file__).parent / "saved" / "kinds"
#: Those that quick tests go through.
QUICK = {
    *("AROW", "SVC", "asking-margin", "classes", "field", "kernel-classifier", "kernel-projection", "logistic"),
    *("perceptron-dense", "perceptron-graph", "perceptron-half-life", "perceptron-log-det"),
    *("perceptron-sparse", "potential", "read-file", "regressor", "regressor-adaptive", "ridge"),
    *("second-order-primal", "sharing-default", "spaces-primal", "views"),
}


@cache
def _learned(name):
    form, make = MODELS[name]
    model, d = make(), records(form, "learned")
    if form.startswith("columns"):
        _learn_file(model, d)
    elif not hasattr(model, "learn_one"):
        model.fit(d.X, d.y, **d.keywords)
    elif form == "labels that wait":
        model.__stream_model__().learn(d.X, d.y, d.task, late=7)
    elif form == "an open question":
        _questioned(model, d)
    else:
        ct.progressive_validation(model, d.X, d.y, **d.keywords)
    return model


def form_of(name):
    """The form of the records of a kind."""
    return MODELS[name][0]


def learned(name):
    """A model of a kind after its first records, a new one each time."""
    return copy.deepcopy(_learned(name))


@cache
def as_file(name):
    """The metadata and the arrays of a kind's file, which is kept of kinds that compile what no quick test needs."""
    if (FILES / f"{name}.coterie").exists():
        return persistence._read(FILES / f"{name}.coterie")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.coterie"
        _learned(name).save(path)
        return persistence._read(path)


def _learn_file(model, d):
    """Learn the records from a file, of which notes are text."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "records.jsonl"
        rows = [x | {"label": y, "task": task} for x, y, task in zip(d.X, d.y, d.task, strict=True)]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        ct.progressive_validation(model, ct.read(path, task="task", label="label", text="note", bits=5))


def _questioned(model, d):
    """Learn by questions, and leave one open: it is the first that will be asked."""
    for x, y, task in zip(d.X, d.y, d.task, strict=True):
        if model.wants_label(x, task):
            model.learn_one(x, y, task)
        else:
            model.skip_unlabelled()
    first = records("pairs", "more")
    model.wants_label(first.X[0], first.task[0])
