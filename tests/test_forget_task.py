"""Tasks that are forgotten: their own part is gone, from memory and file, and nothing else is changed."""

import copy
import itertools
import re
from functools import partial
from itertools import cycle, product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given
from hypothesis import strategies as st

import coterie as ct
import raw
import terminal
from coterie._compiled.core.arrays import Dropped
from coterie._compiled.primal.kalman_filter import MixedEffects
from coterie.tasks.index import Index
from coterie.tasks.task_limit import Recency
from kinds import MODELS, form_of, learned, records
from reference import adalog, forgotten_tasks, perceptron
from reference.sharing import AdaptiveSharing
from slow import but_slowly, slow
from states import content, digest, reloaded
from streams import CASES, FORMS, PLAIN_COVER, RULES, linear_stream

#: Rounds before which a task is forgotten, by its place; the last but one is the only one left in some groups.
FORGOTTEN = {17: 1, 23: 4, 24: 0, 40: 1, 55: 2, 56: 3}


def saved(model, tmp_path):
    return reloaded(model, tmp_path / "model.coterie")


# -- equality with the definition --------------------------------------------------------------------------------------


def reference_of(case, rule):
    if case.relation.form == "columns":
        return forgotten_tasks.Named(list(case.tasks), case.M, partial(perceptron.step, rule, 0.3))
    return forgotten_tasks.Grouped(case.relation, partial(perceptron.step, rule, 0.3))


def go(model, stream, case, form, tmp_path):
    """Learn record by record, forgetting tasks on the way; the margins told, and the model, read from a file midway."""
    X, predictions = FORMS[form](stream.X), []
    for t, (y, i) in enumerate(zip(stream.y, stream.task, strict=True)):
        if t in FORGOTTEN and case.tasks[FORGOTTEN[t]] in model.tasks_:
            model.forget_task(case.tasks[FORGOTTEN[t]])
            model = saved(model, tmp_path) if t == 24 else model
        rounds = model.__stream_model__().learn(X[t : t + 1], [y], [case.tasks[i]], classes=[-1.0, 1.0])
        predictions.append(rounds.margin[0])
    return predictions, model


def expected(reference, stream, case, average):
    predictions = []
    for t, (x, y, i) in enumerate(zip(stream.X, stream.y, stream.task, strict=True)):
        if t in FORGOTTEN and case.tasks[FORGOTTEN[t]] in reference.tasks:
            reference.forget(case.tasks[FORGOTTEN[t]])
        predictions.append(reference.learn(x, y, case.tasks[i])[average])
    return predictions


@pytest.mark.parametrize(("name", "storage", "form", "rule", "average"), PLAIN_COVER)
def test_a_stream_with_forgotten_tasks_is_the_literal_one(name, storage, form, rule, average, tmp_path):
    case, stream = CASES[name], linear_stream(21, n=70, zeros=0.0 if form == "dense" else 0.4)
    model = ct.MultitaskPerceptron(case.relation, RULES[rule], average, storage=storage)
    predictions, model = go(model, stream, case, form, tmp_path)
    reference = reference_of(case, rule)
    literal = expected(reference, stream, case, average)
    np.testing.assert_allclose(predictions, literal, rtol=1e-9, atol=1e-9 * np.abs(literal).max())
    assert set(model.tasks_) == set(reference.tasks)
    if form != "dictionaries":  # columns in the order of the reference's
        weights = [(reference.mean if average else reference.vector)(task, 6) for task in model.tasks_]
        np.testing.assert_allclose(model.coef_, weights, rtol=1e-9, atol=1e-9 * np.abs(weights).max())


@pytest.mark.parametrize("members", ["sequence", slow("cheap")])
def test_the_default_learner_forgets_by_its_definition(members, tmp_path):
    stream = linear_stream(22, n=90)
    learners = [adalog.AdaLog(adalog.share(s)) for s in ((1.0, 0.0) if members == "cheap" else (0.0, 1.0))]
    if members == "cheap":
        literal = AdaptiveSharing(learners, experts=lambda f: [f[0], f[1], f[0] + f[1]])
    else:
        learners += [adalog.AROW(adalog.share(s), rho) for rho, s in ((30.0, 0.5), (3.0, 1.0))]
        literal = AdaptiveSharing(learners, experts=lambda f: [f[0], f[1], 2 * f[2], 2 * f[3]])
    sequence = [
        *(raw.MultitaskLogistic(relation) for relation in (ct.Independent(), ct.Pooled())),
        *(raw.MultitaskAROW(relation, r=r) for relation, r in ((ct.HalfUpdate(), 30.0), (ct.Pooled(), 3.0))),
    ]
    model = raw.AdaptiveSharingClassifier("cheap" if members == "cheap" else sequence)
    predictions, wanted = [], []
    for t, (x, y, i) in enumerate(zip(stream.X, stream.y, stream.task.tolist(), strict=True)):
        if t in FORGOTTEN and FORGOTTEN[t] in (model.tasks_ if t else ()):
            model.forget_task(FORGOTTEN[t])
            model = saved(model, tmp_path) if t == 24 else model
            literal.L_of.pop(FORGOTTEN[t], None)
            for learner in learners:
                forgotten_tasks.forget_row(learner, FORGOTTEN[t])
        record = dict(enumerate(x))
        wanted.append(literal.margin(record, i, t))
        literal.learn(record, i, y, t)
        predictions.append(model.__stream_model__().learn(x[None], [y], [i], classes=[-1.0, 1.0]).margin[0])
    np.testing.assert_allclose(predictions, wanted, rtol=1e-8, atol=1e-10)


# -- every kind of model ------------------------------------------------------------------------------------------------

#: By a pattern of the names of kinds of models, the sentence with which those that cannot forget refuse.
TAUGHT = "cannot forget a task: the changes by its support vectors cannot be undone"
REFUSING = {
    "(normalised|pairwise)-Forgetron": TAUGHT,
    "spaces": "tasks with separate feature spaces cannot be forgotten",
    "views|orthogonal": "records with several views have no tasks that could be forgotten",
}

#: Models out of which a task's records are taken, so that what others' moves have given to it stays where its relation
#: names it.
TAKEN_OUT = ("AROW-full", "p-norm", "potential", "second-order", "kernel")
QUICK = {
    *("AROW", "asking-budget-window", "classes", "kernel-projection", "kernel-shared-projection", "p-norm-auto"),
    *("perceptron-graph", "perceptron-half-life", "perceptron-log-det"),
    *("perceptron-sparse", "perceptron-tasks-of-all-kinds", "regressor-adaptive"),
    *("second-order-primal", "second-order-Gaussian", "sharing-default", "spaces-primal"),
}
ONLINE = [name for name in MODELS if hasattr(MODELS[name][1](), "learn_one")]


def asked(model, form, X, task):
    return np.asarray(getattr(model, "decision_function", model.predict)(X, task=task))


@pytest.mark.parametrize("name", [name if name in QUICK else slow(name) for name in ONLINE])
def test_every_kind_of_model_forgets_or_refuses(name, tmp_path):
    form, model = form_of(name), learned(name)
    before_forgetting, before = copy.deepcopy(model), digest(model)
    with pytest.raises(ValueError, match=r"task 'nobody at all' was never seen; tasks_ lists|no tasks"):
        model.forget_task("nobody at all")
    task = 0 if "views" in name or not hasattr(model, "tasks_") else model.tasks_[0]
    refused = next((sentence for part, sentence in REFUSING.items() if re.search(part, name)), None)
    if refused is not None:
        with pytest.raises(ValueError, match=re.escape(refused)):
            model.forget_task(task)
        assert digest(model) == before
        return
    model.forget_task(task)
    assert digest(before_forgetting) == before  # a copy is another model
    named = model.tasks_ == before_forgetting.tasks_
    assert named == (getattr(getattr(model, "relation", None), "form", None) == "columns" or "graph" in name)
    assert_gone(name, model, before_forgetting, task, form, named)
    again, more = saved(model, tmp_path), records(form, "more")
    for fitted in (model, again):
        fitted.partial_fit(more.X, more.y, **more.keywords)
    assert digest(model)[0] == digest(again)[0]
    assert model.tasks_ == again.tasks_


def assert_gone(name, model, before_forgetting, task, form, named):
    """The task is as one that nobody has seen, the others are in their order but for the last."""
    X = records(form, "asked").X
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if named:
        assert name.startswith(TAKEN_OUT) or not np.any(model.coef_[..., model.tasks_.index(task), :])
        return
    order = list(before_forgetting.tasks_)
    order[order.index(task)] = order[-1]
    assert model.tasks_ == order[:-1]
    relation = getattr(model, "relation", None)
    if "column" in str(form) or getattr(relation, "form", "") == "learned":
        return
    fresh = "fr/new" if isinstance(task, str) and "/" in task else "somebody new"
    names = name == "sharing-parts" or any(isinstance(getattr(relation, f, None), dict) for f in ("groups", "parents"))
    if getattr(model, "task_column", None) is None and isinstance(task, str) and not names:
        np.testing.assert_array_equal(asked(model, form, X, [task] * n), asked(model, form, X, [fresh] * n))


# -- at most this many tasks ----------------------------------------------------------------------------------------------

#: Relations of nested groups, with tasks that share none, one or several of them.
LEVELS = [name for name, case in CASES.items() if case.relation.form != "columns"]


def literal_bound(reference, stream, case, most, average):
    """The margins of a reference that forgets the task seen least recently, once the one that comes has joined."""
    predictions, seen = [], []
    for x, y, i in zip(stream.X, stream.y, stream.task, strict=True):
        task = case.tasks[i]
        if task not in reference.tasks:
            reference.tasks.append(task)
            if len(reference.tasks) > most:
                reference.forget(seen.pop(0))
        seen = [other for other in seen if other != task] + [task]
        predictions.append(reference.learn(x, y, task)[average])
    return predictions, seen


@pytest.mark.parametrize(
    ("name", "average", "most"), list(zip(LEVELS, cycle([False, True]), cycle([2, 1, 4]), strict=False))
)
def test_a_bound_forgets_the_task_seen_least_recently(name, average, most, tmp_path):
    case, stream = CASES[name], linear_stream(31, n=60)
    reference = reference_of(case, "perceptron")
    literal, seen = literal_bound(reference, stream, case, most, average)
    model = ct.MultitaskPerceptron(case.relation, average=average, storage="dense", max_tasks=most)
    inner, predictions = model.__stream_model__(), []
    predictions += inner.learn(stream.X[:40], stream.y[:40], stream.named(case.tasks)[:40]).margin.tolist()
    model = saved(model, tmp_path)
    rest = stream.X[40:], stream.y[40:], stream.named(case.tasks)[40:]
    predictions += model.__stream_model__().learn(*rest).margin.tolist()
    np.testing.assert_allclose(predictions, literal, rtol=1e-9, atol=1e-9 * np.abs(literal).max())
    assert sorted(model.tasks_) == sorted(seen) == sorted(reference.tasks)
    assert [model.tasks_[number] for number in model.__stream_model__().population.recency.order] == seen


def cut(n, cuts):
    """Slices of n records between these cuts."""
    return [slice(*pair) for pair in itertools.pairwise([0, *sorted({c for c in cuts if 0 < c < n}), n])]


RELATIONS = {
    "half": ct.HalfUpdate(),
    "share": ct.MeanRegularized(share=0.3),
    "b": ct.MeanRegularized(b=3),
    "clusters b": ct.Clusters({i: i % 3 for i in range(30)}, b=2),
    "clusters": ct.Clusters({i: i % 3 for i in range(30)}, share=0.3),
}
LEARNERS = {
    "perceptron": lambda relation, most: ct.MultitaskPerceptron(
        relation, average=True, storage="dense", max_tasks=most
    ),
    "logistic": lambda relation, most: raw.MultitaskLogistic(relation, max_tasks=most),
}
#: Those that learn by other relations only, or take longer.
OTHERS = {
    "sharing": lambda relation, most: raw.AdaptiveSharingClassifier(max_tasks=most),
    "classes": lambda relation, most: ct.OneVsRest(raw.MultitaskLogistic(relation, max_tasks=most)),
    "numbers": lambda relation, most: raw.MultitaskRegressor(relation, max_tasks=most),
    "numbers of all shares": lambda relation, most: raw.AdaptiveSharingRegressor(max_tasks=most),
    "learned": lambda relation, most: ct.MultitaskPerceptron(ct.LogDet(eta=1e-3), max_tasks=most),
}
OF_TWELVE = np.random.default_rng(32).integers(12, size=90).tolist()


def of_others(test):
    """The examples of the other learners, cut once as well as one by one."""
    for name in OTHERS:
        test = example(learner=name, relation="half", most=5, tasks=OF_TWELVE, cuts=[33, 34, 70])(test)
    return test


def test_the_order_of_tasks_outlasts_forgetting():
    recency = Recency([3, 0, 1, 2])
    assert recency.oldest() == 3
    recency.drop(Dropped.plan([0], 4))  # task 3 takes its number
    for number in (0, 1, 2, 0):
        assert recency.oldest() == number
        recency.see_one(number)


@given(
    learner=st.sampled_from(list(LEARNERS)),
    relation=st.sampled_from(list(RELATIONS)),
    most=st.integers(1, 13),
    tasks=st.lists(st.integers(0, 29), min_size=2, max_size=80),
    cuts=st.lists(st.integers(1, 79), max_size=6),
)
@example(learner="perceptron", relation="share", most=1, tasks=[0, 1, 0, 2, 2, 1], cuts=[])
@example(learner="logistic", relation="half", most=12, tasks=[*range(30), *range(10, 30), 3, 4, *range(30)], cuts=[50])
@of_others
def test_however_a_bounded_stream_is_cut_its_bits_are_the_same(learner, relation, most, tasks, cuts):
    n = len(tasks)
    X, y = np.random.default_rng(n).standard_normal((n, 3)), np.where(np.arange(n) % 2, 1, -1)
    margins = []
    for pieces in (cut(n, range(n)), cut(n, cuts), cut(n, [])):
        model = (LEARNERS | OTHERS)[learner](RELATIONS[relation], most)
        known = {} if model._kind == "regressor" else {"classes": [-1, 1]}
        for piece in pieces:
            model.partial_fit(X[piece], y[piece], tasks[piece], **known)
        margins.append(model)
    one = margins[0]
    assert sorted(one.tasks_) == sorted(list(dict.fromkeys(reversed(tasks)))[:most])
    for other in margins[1:]:
        assert one.tasks_ == other.tasks_
        assert one.coef_.tobytes() == other.coef_.tobytes()
        np.testing.assert_array_equal(one.predict(X, tasks), other.predict(X, tasks))
        orders = [model.__stream_model__().population.recency.order.tolist() for model in (one, other)]
        assert orders[0] == orders[1]


def test_dictionaries_one_by_one_are_bounded_too():
    """Also by the calls that are prepared once a model has stayed the same for some time."""
    rng, recent = np.random.default_rng(0), ct.MultitaskPerceptron(max_tasks=3)
    seen = []
    for t in range(1500):
        task = int(rng.integers(3)) if t % 300 else 3 + t
        seen = [*(other for other in seen if other != task), task][-3:]
        recent.learn_one({"a": float(rng.standard_normal()), "one": 1.0}, bool(t % 2), task=task)
        assert sorted(recent.tasks_) == sorted(seen)
    assert recent.__stream_model__().fast_path is not None


def test_a_bound_that_is_set_later_forgets_what_is_too_much():
    stream = linear_stream(33, n=60)
    model = raw.MultitaskLogistic().fit(stream.X, stream.y, task=stream.task)
    assert len(model.tasks_) == 5
    model.set_params(max_tasks=2).partial_fit(stream.X[:1], stream.y[:1], [7])
    assert len(model.tasks_) == 2
    assert 7 in model.tasks_
    model.set_params(max_tasks=None).partial_fit(stream.X, stream.y, stream.task)
    assert len(model.tasks_) == 6


def test_a_bound_refuses_late_labels_and_files_without_an_order_of_tasks_and_changes_nothing():
    stream = linear_stream(34, n=30)
    model = raw.MultitaskLogistic(max_tasks=3).fit(stream.X, stream.y, task=stream.task)
    before = digest(model)
    validated = partial(ct.progressive_validation, model, stream.X, stream.y, task=stream.task, delay=3)
    for weight in (None, np.arange(30) % 3.0):
        with pytest.raises(ValueError, match="max_tasks=3 is not supported with delayed labels; leave out one of them"):
            validated(sample_weight=weight)
    assert digest(model) == before
    data, arrays = model.__dump__()
    for wrong in ([0, 1, 1], [0, 1], [0, 1, 3], [0.0, 1.0, 2.0]):
        with pytest.raises(ValueError, match="the file has no valid order of its 3 tasks"):
            raw.MultitaskLogistic(max_tasks=3).__restore__(data, {**arrays, "recency": np.array(wrong)})


# -- what is in memory and in the file ----------------------------------------------------------------------------------


FORGETTING = {
    "perceptron": lambda storage: ct.MultitaskPerceptron(average=storage == "dense", storage=storage),
    "sharing": lambda **options: raw.AdaptiveSharingClassifier(**options),
    "hierarchy": lambda **options: ct.MultitaskPerceptron(ct.Hierarchy("/", share=(0.3, 0.3)), half_life=50, **options),
}


@pytest.mark.parametrize(
    ("name", "storage"),
    but_slowly(list(product(FORGETTING, ["dense", "sparse"])), ("sharing", "sparse"), ("hierarchy", "sparse")),
)
def test_neither_name_nor_weights_are_in_the_file(name, storage, tmp_path):
    """A feature that the task alone has leaves no number behind that was not also of its groups."""
    rng = np.random.default_rng(0)
    tasks = ["fr/ann-the-forgotten", "it/bob", "it/eve", "fr/joe"]
    X, task = rng.standard_normal((120, 40)), np.array(tasks)[rng.integers(4, size=120)]
    X = sp.csr_array(X) if storage == "sparse" else X
    model = FORGETTING[name](storage=storage).fit(X, rng.choice([-1, 1], 120), task=task)
    own = own_numbers(model, "fr/ann-the-forgotten")
    assert own
    model.forget_task("fr/ann-the-forgotten").save(tmp_path / "model.coterie")
    saved = (tmp_path / "model.coterie").read_bytes()
    assert b"ann-the-forgotten" not in saved
    assert b"bob" in saved
    assert not [number for number in own if number.tobytes() in saved]


def own_numbers(model, task):
    """The weights in the rows of a task, of all tables of all members."""
    i, state = model.tasks_.index(task), model.state_
    tables = [member.model for member in getattr(state, "members", [state])]
    sizes = []
    for table in tables:
        if isinstance(table, MixedEffects):
            sizes += [number for number in table.pulls[i] if number]
            continue
        while not hasattr(table, "tasks"):
            table = table.model
        if table.levels.own[i]:
            sizes += [weight for weight in table.tasks.rows(state.known, state.features)[i] if weight]
    return sizes


@pytest.mark.parametrize("n_tasks", [3000, slow(100_000)])
def test_memory_is_that_of_the_most_tasks_however_many_come(n_tasks):
    """Tasks of ten records each come and go; the sparse rows of those that leave are used again."""
    rng, per_task = np.random.default_rng(1), 10
    n = n_tasks * per_task
    task = np.clip(np.arange(n) // per_task + rng.integers(-20, 20, n), 0, n_tasks - 1)
    X = sp.random_array((n, 200), density=0.03, rng=rng, format="csr")
    y, memory = rng.choice([-1, 1], n), []
    model = ct.MultitaskPerceptron(average=True, storage="sparse", max_tasks=100)
    for first in range(0, n, 3000):
        rows = slice(first, first + 3000)
        model.partial_fit(X[rows], y[rows], task[rows], classes=[-1, 1])
        memory.append(model.memory_)
    assert len(model.tasks_) == 100
    assert max(memory[3:]) < 1.6 * memory[2]
    free = ct.MultitaskPerceptron(average=True, storage="sparse")
    free.fit(X[:30_000], y[:30_000], task=task[:30_000])
    assert max(memory) < free.memory_ / 8


# -- any order of events ------------------------------------------------------------------------------------------------


@given(
    labels=st.lists(st.one_of(st.integers(-400, 400), st.text(max_size=2)), unique=True, min_size=1, max_size=60),
    picks=st.lists(st.integers(0, 10**6), max_size=30),
    whole=st.booleans(),
    asked=st.booleans(),
)
def test_an_index_forgets_labels_and_goes_on(labels, picks, whole, asked):
    """Whole numbers in a compiled table, and other labels in a dictionary."""
    if whole:
        labels = [*range(1000, 1300), *(label for label in labels if isinstance(label, int))]
    index, literal = Index(np.array(labels) if whole else labels), list(labels)
    for pick in picks:
        if not literal:
            break
        if asked:
            assert index.numbers == {label: n for n, label in enumerate(literal)}
        place = pick % len(literal)
        label = literal[place]
        index.drop(Dropped.plan([place], len(literal)))
        literal[place] = literal[-1]
        literal.pop()
        assert index.find([label]).tolist() == [-1]
        if pick % 3 == 0:
            index.add([label])
            literal.append(label)
    assert list(index.sequence) == literal == index.labels
    assert index.numbers == {label: n for n, label in enumerate(literal)}
    assert index.find(literal).tolist() == list(range(len(literal)))


# -- questions, late labels, commands -----------------------------------------------------------------------------------


def test_questions_about_a_task_are_forgotten_and_its_labels_still_count():
    model = ct.SelectiveSampling(raw.MultitaskLogistic(), ask=ct.updates.Always(), budget=6, window=100, per_task=2)
    for t, who in enumerate(["ann", "ann", "ann", "bob", "bob", "eve"]):
        assert model.wants_label({"a": t + 1.0}, task=who) == (t != 2)
        model.learn_one({"a": t + 1.0}, t % 2 == 0, task=who)
    model.forget_task("ann")
    questions = model.questions_
    assert questions.tasks.labels == ["eve", "bob"]
    assert questions.limits.held[:2].tolist() == [1, 2]
    assert questions.limits.ends[1] == 5
    assert model.wants_label({"a": 9.0}, task="ann")  # one that was never seen has its own share
    model.learn_one({"a": 9.0}, True, task="ann")
    assert not model.wants_label({"a": 10.0}, task="ann")  # the budget of six is used up
    for t in range(120):
        model.wants_label({"a": 11.0 + t}, task="joe")
    assert questions.limits.held.min() >= 0


def test_a_label_that_waits_is_learned_as_of_a_new_task_once_its_task_is_forgotten():
    """What was told of the record is charged all the same: experts are judged by it, over all tasks and on the new one."""
    stream = linear_stream(41, n=60)
    model = raw.AdaptiveSharingClassifier()
    inner = model.__stream_model__()
    predictions = inner.learn(stream.X, stream.y, stream.task, late=10).predictions.cut(50, 60)
    gone = model.tasks_[1]
    assert (stream.task[50:] == gone).any()
    model.forget_task(gone)
    assert gone not in model.tasks_
    before = model.state_.losses.overall.copy()
    inner.learn(stream.X[50:], stream.y[50:], stream.task[50:], predictions=predictions)
    assert set(model.tasks_) == set(range(5))
    wrong = (np.sign(predictions.experts) != stream.y[50:]).sum(axis=1)
    np.testing.assert_allclose(model.state_.losses.overall - before, wrong)


def test_a_command_forgets_tasks_of_a_saved_model(model, tmp_path):
    before, tasks = model.read_bytes(), ct.load(model).tasks_
    fewer = tmp_path / "fewer.coterie"
    result = terminal.run("forget", model, "--task", tasks[0], "--task", tasks[2], "--output", fewer).stdout
    assert result.startswith(f"Forgotten: {tasks[0]}, {tasks[2]}\n\nModel: {fewer} (")
    assert "3 tasks" in result
    assert model.read_bytes() == before
    assert set(ct.load(fewer).tasks_) == set(tasks) - {tasks[0], tasks[2]}
    assert terminal.run("forget", model, "--task", tasks[1], "--quiet").stdout == ""
    assert tasks[1] not in ct.load(model).tasks_
    result = terminal.run_json("forget", model, "--task", tasks[0])
    assert result["forgotten"] == [tasks[0]]
    assert result["tasks"] == 3


def test_a_command_refuses_tasks_and_models_and_changes_nothing(model, tmp_path):
    before, tasks = model.read_bytes(), ct.load(model).tasks_
    message = terminal.refused("forget", model, "--task", tasks[0], "--task", "nobody")
    assert "task 'nobody' was never seen; tasks_ lists the 5 known tasks" in message
    message = terminal.refused("forget", model, "--task", tasks[0], "--output", tmp_path / "no" / "m.coterie")
    assert "there is no folder" in message
    assert model.read_bytes() == before
    ct.batch.MultitaskKernelRidge().fit([[1.0], [2.0]], [1.0, 2.0]).save(tmp_path / "ridge.coterie")
    message = terminal.refused("forget", tmp_path / "ridge.coterie", "--task", "0")
    assert "contains a batch model (MultitaskKernelRidge); refit it without the records of the task" in message


def test_names_are_given_as_they_are_or_as_they_are_printed(tmp_path):
    path, X = tmp_path / "m.coterie", [[1.0], [-1.0], [2.0], [3.0]]
    raw.MultitaskLogistic().fit(X, [0, 1, 0, 1], task=["a\nb", "c\nd", "c\\nd", "e"]).save(path)
    output = terminal.run("forget", path, "--task", r"a\nb", "--task", r"c\nd").stdout
    assert output.startswith("Forgotten: a\\nb, c\\nd\n")
    assert ct.load(path).tasks_ == ["e", "c\nd"]  # the one that is called so, not the one printed so
    raw.MultitaskLogistic().fit(X[:2], [0, 1], task=[7, 8]).save(path)
    terminal.run("forget", path, "--task", "7")
    assert ct.load(path).tasks_ == [8]
    model = raw.MultitaskLogistic()
    for y, task in enumerate((1, "1")):
        model.learn_one({"a": 1.0}, y, task=task)
    before = content(model, path)
    output = terminal.refused("forget", path, "--task", "1")
    assert output == f"{path}: '1' is ambiguous: 1 and '1' are both printed so; use Python to select one"
    assert path.read_bytes() == before
    output = terminal.refused("forget", tmp_path / "no.coterie", "--task", "a", "--output", tmp_path / "nn.coterie")
    assert output == f"there is no file {tmp_path / 'no.coterie'}"  # the model is missing, and not its place


REFUSED = {
    "AdaptiveSharingClassifier(max_tasks=0)": "max_tasks must be",
    "MultitaskKernelPerceptron(max_tasks=2)": "has no parameter 'max_tasks'",
    "AdaptiveSharingClassifier(max_tasks=2) --delay 3": "--max-tasks is not supported with --delay",
    "MultitaskPerceptron(TaskGraph([('a','b')]),max_tasks=2)": "max_tasks",
}


def test_a_command_learns_with_a_bound_and_refuses_those_that_cannot_be(clicks, tmp_path):
    model, learn = tmp_path / "two.coterie", ("learn", clicks, *terminal.WHO, "-q")
    terminal.run(*learn, "--learner", "AdaptiveSharingClassifier(max_tasks=2)", "--output", model)
    assert (ct.load(model).max_tasks, len(ct.load(model).tasks_)) == (2, 2)
    for options, message in REFUSED.items():
        assert message in terminal.refused(*learn, "--learner", *options.split())
